"""The page: one HTML file with everything in it, which asks the network for nothing."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from unruly.facts import BalanceOrigin
from unruly.features.cache import Cache
from unruly.files import written_whole
from unruly.html import escape
from unruly.model.fitted import Fitted
from unruly.progress import SILENT, Progress
from unruly.report.accuracy import by_votes_chart, calibration_chart, confidence_chart, noise_chart
from unruly.report.advice import advice_section
from unruly.report.documents import documents_section
from unruly.report.facts import Facts, gather
from unruly.report.markup import (
    figure,
    figure_or,
    lacking,
    paragraph,
    percent,
    section,
    share_words,
    side_by_side,
    table,
)
from unruly.report.matrices import agreement_map, confusion_chart
from unruly.report.sources import SourceFacts, bubble_chart, weights_chart
from unruly.report.training_curves import training_curves
from unruly.report.verdict import verdict_section
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

GIVE_DATA = "unruly report MODEL --data PROJECT -o report.html"
GIVE_GOLD = "unruly report MODEL --data test.csv --label COLUMN -o report.html"
# Nothing may be fetched, and nothing may run: the page holds the user's texts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def report(
    fitted: Fitted,
    output: str | Path,
    documents: Corpus | None = None,
    scored: Corpus | None = None,
    *,
    name: str = "model",
    votes: Votes | None = None,
    scored_votes: Votes | None = None,
    progress: Progress = SILENT,
) -> Facts:
    """Write the report of a model, whole or not at all, and give the numbers in it.

    `documents` are what the model is applied to, preferably its training documents; `scored` are
    documents with true labels, where `documents` carry none or these are to be held out. True labels
    are used for scoring only. Without documents the report shows what the model file alone holds.
    `votes` and `scored_votes` are the votes on these documents, for a model that carries no rules.
    """
    facts = gather(
        name,
        fitted,
        documents,
        scored,
        votes=votes,
        scored_votes=scored_votes,
        cache=Cache(),
        progress=progress,
    )
    text = page(facts)
    with written_whole(output) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return facts


def page(facts: Facts) -> str:
    """The whole page; the same facts give the same bytes."""
    style = files("unruly.report").joinpath("report.css").read_text(encoding="utf-8")
    sections = {name: text for name, (_, make) in SECTIONS.items() if (text := make(facts))}
    links = "".join(f'<a href="#{name}">{SECTIONS[name][0]}</a>' for name in sections)
    body = "\n".join(_groups(sections))
    title = escape(f"{facts.model}: report")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        f'<link rel="icon" href="data:,">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n'
        f'<body>\n<header><h1>{escape(facts.model)}</h1><nav aria-label="Sections">{links}</nav></header>\n'
        f"<main>\n{body}\n</main>\n<footer>Made by unruly from the saved model and the data. "
        "It holds excerpts of the texts: share it as you would share them.</footer>\n</body>\n</html>\n"
    )


def _groups(sections: dict[str, str]) -> list[str]:
    """The sections in order, those that belong together in one row."""
    made = []
    for name, text in sections.items():
        row = next((pair for pair in TOGETHER if name in pair), None)
        if row is None or not sections.keys() >= set(row):
            made.append(text)
        elif name == row[0]:
            wide = any('class="wide chart"' in sections[other] for other in row)
            inside = "\n".join(sections[other] for other in row)
            made.append(inside if wide else f'<div class="pair">{inside}</div>')
    return made


def _sources(facts: Facts) -> str:
    header = ["source", "votes for", "coverage", "overlaps", "conflicts", "estimated accuracy"]
    header += ["measured accuracy"] if facts.evaluation else []
    rows = [_source_row(s, facts) for s in facts.sources]
    message = (
        "With true labels, the measured accuracy of every source is shown beside its estimate."
    )
    return section(
        "sources",
        "Sources",
        paragraph(f"Counted on {facts.documents}. {_estimates(facts)}"),
        figure_or(bubble_chart(facts.sources), "No source has voted, so there is nothing to draw."),
        table(header, rows),
        "" if facts.evaluation else lacking(message, GIVE_GOLD),
    )


def _estimates(facts: Facts) -> str:
    """What the estimated accuracies are, and what they rest on."""
    if all(line.accuracy is None for line in facts.summary.sources):
        return "Estimated accuracy: the share of its votes that are the final label. No true label is in it."
    message = "Estimated accuracy: by the text and the other sources, without true labels, with a 95% interval"
    if facts.balance is not None and facts.balance.origin is BalanceOrigin.ASSUMED:
        return message + "; it rests on class shares that are assumed, and is wrong where they are."
    return message + "."


def _source_row(s: SourceFacts, facts: Facts) -> list[str]:
    shares = [percent(s.coverage), percent(s.overlaps), percent(s.conflicts)]
    cells = [s.name, _few(s.labels, len(facts.classes)), *shares, share_words(s.estimated)]
    return [*cells, share_words(s.measured)] if facts.evaluation else cells


def _few(labels: tuple[str, ...], m: int) -> str:
    """Class names, as long as there are few of them."""
    if len(labels) <= 3:
        return ", ".join(labels) or "–"
    if len(labels) == m:
        return f"all {m} classes"
    return f"{', '.join(labels[:2])} and {len(labels) - 2} more"


def _agreement(facts: Facts) -> str:
    alone = "There is only one source, so there is nothing to compare."
    return section("agreement", "Agreement", figure_or(agreement_map(facts.pairs), alone))


def _weights(facts: Facts) -> str:
    if not facts.weights:
        message = "Not shown without documents: the weight of each source's votes from document to document."
        rows = [(s.name, f"{s.weight:.3f}") for s in facts.sources]
        body = lacking(message, GIVE_DATA) + table(("source", "weight overall"), rows)
        return section("weights", "Weights", body)
    alone = "No document has two votes, so no weight can be compared with another."
    return section("weights", "Weights", figure_or(weights_chart(facts.weights), alone))


def _accuracy(facts: Facts) -> str:
    noise = noise_chart(facts.noise)
    before = "Not shown without true labels: the share of wrong labels before and after denoising."
    after = "Not shown without true labels: accuracy by the number of votes on a document."
    if facts.evaluation is not None and noise is None:
        before = "No document with a vote has a true label, so noise cannot be counted."
    message = f"Noise is counted on {facts.noise_on}." if noise else ""
    return section(
        "accuracy",
        "Noise and accuracy",
        paragraph(message),
        side_by_side(
            figure_or(noise, before, GIVE_GOLD),
            figure_or(by_votes_chart(facts.by_votes), after, GIVE_GOLD),
        ),
    )


def _confidence(facts: Facts) -> str:
    error = facts.evaluation.everything.model.calibration_error if facts.evaluation else None
    histogram = "Not shown without documents: the model's confidence."
    meaning = "Not shown without true labels: confidence against accuracy."
    return section(
        "confidence",
        "Confidence and calibration",
        side_by_side(
            figure_or(confidence_chart(facts.confidence), histogram, GIVE_DATA),
            figure_or(calibration_chart(facts.confidence, error), meaning, GIVE_GOLD),
        ),
    )


def _training(facts: Facts) -> str:
    """Only where the method trains by epochs."""
    chart = training_curves(facts.history)
    return "" if chart is None else section("training", "Training", figure(chart))


def _confusion(facts: Facts) -> str:
    nothing = "Not shown without true labels: true classes against predicted ones."
    if facts.evaluation is None:
        return section("confusion", "Confusion", lacking(nothing, GIVE_GOLD))
    scores = facts.evaluation.everything.model
    rows = [
        (c, "–" if f != f else f"{f:.3f}") for c, f in zip(facts.classes, scores.f1, strict=True)
    ]
    chart = confusion_chart(scores.confusion, facts.classes)
    return section(
        "confusion", "Confusion", figure_or(chart, nothing), table(("class", "F1"), rows)
    )


SECTIONS: dict[str, tuple[str, Callable[[Facts], str]]] = {
    "verdict": ("Verdict", verdict_section),
    "sources": ("Sources", _sources),
    "agreement": ("Agreement", _agreement),
    "weights": ("Weights", _weights),
    "accuracy": ("Accuracy", _accuracy),
    "confidence": ("Confidence", _confidence),
    "training": ("Training", _training),
    "confusion": ("Confusion", _confusion),
    "documents": ("Documents", lambda facts: documents_section(facts, GIVE_DATA)),
    "advice": ("Advice", advice_section),
}
# Sections that stand side by side where there is room.
TOGETHER = (("agreement", "weights"), ("training", "confusion"))
