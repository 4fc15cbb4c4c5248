"""Supervised models on labels of majority vote and on denoised ones: BERT-MLP and ULMFiT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    F1_NOTE,
    Cells,
    Variant,
    accuracies,
    cells,
    conditions,
    datasets,
    gold_words,
    markdown,
    of_the_paper,
    page,
    papers_row,
    rows,
    sentence,
    several_encoders,
)

PAIRS = (("bert-mlp", "bert-mlp-denoised"), ("ulmfit", "ulmfit-denoised"))
METHODS = tuple(method for pair in PAIRS for method in pair)
LABELS = {
    "bert-mlp": "BERT-MLP, majority labels",
    "bert-mlp-denoised": "BERT-MLP, denoised labels",
    "ulmfit": "ULMFiT (miniature), majority labels",
    "ulmfit-denoised": "ULMFiT (miniature), denoised labels",
}
TITLE = "Supervised models on majority and on denoised labels"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Each model on both kinds of labels; None when none was trained on denoised ones."""
    found = of_the_paper(cells(outcomes, "main", METHODS))
    if not any(variant.method.endswith("-denoised") for variant in found):
        return None
    columns, named = datasets(found), several_encoders(found)
    in_pairs = sorted(
        found, key=lambda w: (w.encoder, w.selection == "gold", METHODS.index(w.method))
    )
    titled = {_title(variant, named): variant for variant in in_pairs}
    every = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    body, said = [], []
    for title, variant in titled.items():
        papers = papers_row(variant.method, paper.SUPERVISED)
        body += rows(title, found[variant], papers, columns, every)
        said.append(sentence(title, found[variant], papers))
    said += [
        _gain(variant, found, named) for variant in in_pairs if variant.method.endswith("-denoised")
    ]
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds; the denoised labels are those that "
        f"the paper's method gives the training documents. {F1_NOTE}",
        markdown(("model and labels", *columns), body),
        "\n".join(f"- {line}" for line in said if line),
        gold_words({t: [o for d in found[w].values() for o in d] for t, w in titled.items()}),
        conditions(every),
    )


def _title(variant: Variant, named: bool) -> str:
    said = LABELS[variant.method] + (", epoch by gold" if variant.selection == "gold" else "")
    said += ", softmax over voters" if variant.attention == "voters" else ""
    return f"{said} ({variant.encoder})" if named else said


def _gain(variant: Variant, found: Cells, named: bool) -> str:
    """What denoised labels bring over majority ones, ours and the paper's."""
    plain = replace(variant, method=variant.method.removesuffix("-denoised"), attention="")
    after, before = accuracies(found[variant]), accuracies(found.get(plain, {}))
    said = []
    for dataset in (d for d in after if d in before):
        gain = after[dataset].percent - before[dataset].percent
        known = paper.known(dataset)
        theirs = (
            paper.SUPERVISED[variant.method, known] - paper.SUPERVISED[plain.method, known]
            if known
            else None
        )
        said.append(
            f"{dataset} {gain:+.1f}" + ("" if theirs is None else f" (the paper {theirs:+.1f})")
        )
    return (
        f"{_title(variant, named)}, over majority labels, in points: {', '.join(said)}."
        if said
        else ""
    )
