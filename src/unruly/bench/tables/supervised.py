"""Supervised models on labels of majority vote and on denoised ones: BERT-MLP and ULMFiT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unruly.bench import paper_figures as paper
from unruly.bench.run import Outcome
from unruly.bench.tables.accuracy_rows import F1_NOTE, accuracies, papers_row, rows, sentence
from unruly.bench.tables.beside_paper import conditions, gold_words
from unruly.bench.tables.markdown import markdown, page
from unruly.bench.tables.ways import Cells, Way, cells, datasets, several_encoders

PAIRS = (("bert-mlp", "bert-mlp-denoised"), ("ulmfit", "ulmfit-denoised"))
METHODS = tuple(method for pair in PAIRS for method in pair)
LABELS = {
    "bert-mlp": "BERT-MLP, majority labels",
    "bert-mlp-denoised": "BERT-MLP, denoised labels",
    "ulmfit": "ULMFiT, majority labels",
    "ulmfit-denoised": "ULMFiT, denoised labels",
}
TITLE = "Supervised models on majority and on denoised labels"


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Each model on both kinds of labels; None when none was trained on denoised ones."""
    found = cells(outcomes, "main", METHODS)
    if not any(way.method.endswith("-denoised") for way in found):
        return None
    columns, named = datasets(found), several_encoders(found)
    in_pairs = sorted(
        found, key=lambda w: (w.encoder, w.selection == "gold", METHODS.index(w.method))
    )
    titled = {_title(way, named): way for way in in_pairs}
    every = [o for by_dataset in found.values() for several in by_dataset.values() for o in several]
    body, said = [], []
    for title, way in titled.items():
        papers = papers_row(way.method, paper.SUPERVISED)
        body += rows(title, found[way], papers, columns)
        said.append(sentence(title, found[way], papers))
    said += [_gain(way, found, named) for way in in_pairs if way.method.endswith("-denoised")]
    return page(
        TITLE,
        "Test accuracy in per cent, mean ± standard deviation over seeds; the denoised labels are those that "
        f"the paper's method gives the training documents. {F1_NOTE}",
        markdown(("model and labels", *columns), body),
        "\n".join(f"- {line}" for line in said if line),
        gold_words({t: [o for d in found[w].values() for o in d] for t, w in titled.items()}),
        conditions(every),
    )


def _title(way: Way, named: bool) -> str:
    said = LABELS[way.method] + (", epoch by gold" if way.selection == "gold" else "")
    return f"{said} ({way.encoder})" if named else said


def _gain(way: Way, found: Cells, named: bool) -> str:
    """What denoised labels bring over majority ones, ours and the paper's."""
    plain = replace(way, method=way.method.removesuffix("-denoised"))
    after, before = accuracies(found[way]), accuracies(found.get(plain, {}))
    said = []
    for dataset in (d for d in after if d in before):
        gain = after[dataset].percent - before[dataset].percent
        known = paper.known(dataset)
        theirs = (
            paper.SUPERVISED[way.method, known] - paper.SUPERVISED[plain.method, known]
            if known
            else None
        )
        said.append(
            f"{dataset} {gain:+.1f}" + ("" if theirs is None else f" (the paper {theirs:+.1f})")
        )
    return (
        f"{_title(way, named)}, over majority labels, in points: {', '.join(said)}." if said else ""
    )
