"""The page: one HTML file with everything in it, which asks the network for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

from unruly.features.cache import FeatureCache
from unruly.files import check_no_folder, written_whole
from unruly.findings import BalanceOrigin
from unruly.html import (
    GOOD,
    HEIGHT,
    INK,
    MODEL,
    OTHER,
    SOFT,
    THIRD,
    WIDTH,
    Chart,
    Frame,
    count_ticks,
    escape,
    figure,
    figure_or,
    lacking,
    legend,
    line,
    paragraph,
    percent,
    picture,
    section,
    share_words,
    side_by_side,
    table,
)
from unruly.labelling.answers import Labelled
from unruly.learner import Epoch
from unruly.ledger import Use
from unruly.model.fitted import Fitted
from unruly.progress import SILENT, Progress
from unruly.report.accuracy import (
    by_votes_chart,
    calibration_chart,
    confidence_chart,
    confusion_chart,
    noise_chart,
)
from unruly.report.documents import documents_section
from unruly.report.facts import Facts, gather
from unruly.report.sources import SourceFacts, agreement_map, bubble_chart, weights_chart
from unruly.report.verdict import advice_section, verdict_section
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import plural

GIVE_DATA = "unruly report MODEL PROJECT -o report.html"
MOST_ROWS = 60  # of the numbers behind the training curves
Curve = tuple[str, str, list[tuple[int, float]]]  # name, colour, (epoch, value)
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
    labels: Labelled | None = None,
    progress: Progress = SILENT,
) -> Facts:
    """Write the report of a model, whole or not at all, and give the numbers in it.

    `documents` are what the model is applied to, preferably its training documents; `scored` are
    documents with true labels, where `documents` have none or others are to be scored. True labels score
    the model and its sources; the ledger says so. `labels` are people's labels of `documents`, which
    estimate the accuracy where there are no others. Without documents, the report shows what the model
    file alone holds. `votes` and `scored_votes` are for a model that carries no rules.
    """
    check_no_folder(Path(output))
    facts = gather(
        name,
        fitted,
        documents,
        scored,
        votes=votes,
        scored_votes=scored_votes,
        labels=labels,
        cache=FeatureCache(),
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
            inside = "\n".join(sections[other] for other in row)
            made.append(f'<div class="pair">{inside}</div>')
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
        paragraph(f"{_behind(facts)} {_estimates(facts)}"),
        figure_or(bubble_chart(facts.sources), "No source has voted, so there is nothing to draw."),
        table(header, rows),
        "" if facts.evaluation else lacking(message, facts.scoring),
    )


def _behind(facts: Facts) -> str:
    """The documents behind the figures of sources."""
    trained = f"the {plural(facts.summary.documents, 'training document')}"
    message = (
        f"Coverage, overlaps and conflicts: of {facts.documents}. Estimated accuracy: on {trained}."
    )
    if facts.scored_on is None:
        return message
    return f"{message} Measured accuracy: on {facts.scored_on}."


def _estimates(facts: Facts) -> str:
    """What the estimated accuracies are, and what they rest on."""
    if not facts.summary.estimated:
        return "The estimate is the share of its votes that are the final label."
    labels = facts.ledger.used_for(Use.TRAINING)
    gold = f"with {plural(labels, 'true label')}" if labels else "without true labels"
    message = f"The estimate uses the text and the other sources, {gold}, with a 95% interval"
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
    """Left out where agreement tells nothing; overlaps and conflicts are in the table of sources."""
    chart = agreement_map(facts.pairs)
    if chart is None:
        return ""
    counted = paragraph(f"Counted on {facts.documents}.")
    return section("agreement", "Agreement", counted, figure(chart))


def _weights(facts: Facts) -> str:
    if not facts.weights:
        message = (
            "Shown with documents: the weight of each source's votes from document to document."
        )
        body = lacking(message, GIVE_DATA)
        if facts.summary.method == "paper":
            rows = [(s.name, f"{s.reliability:.3f}") for s in facts.sources]
            body += table(("source", "reliability"), rows)
        return section("weights", "Weights", body)
    alone = "No document has two votes, so no weight can be compared with another."
    counted = paragraph(f"Counted on {facts.documents}.")
    chart = weights_chart(facts.weights, against=facts.summary.method != "paper")
    return section("weights", "Weights", counted, figure_or(chart, alone))


def _accuracy(facts: Facts) -> str:
    noise = noise_chart(facts.noise)
    before = "Shown for documents with a column of true labels: the share of wrong labels before and after denoising."
    after = "Shown for documents with a column of true labels: accuracy by the number of votes on a document."
    if facts.evaluation is not None and noise is None:
        before = "No document with a vote has a true label, so noise cannot be counted."
    message = f"Wrong labels are counted on {facts.noise_on}. " if noise else ""
    message += f"Accuracy is measured on {facts.scored_on}." if facts.scored_on else ""
    return section(
        "accuracy",
        "Noise and accuracy",
        paragraph(message),
        side_by_side(
            figure_or(noise, before, facts.scoring),
            figure_or(by_votes_chart(facts.by_votes), after, facts.scoring),
        ),
    )


def _confidence(facts: Facts) -> str:
    error = facts.evaluation.everything.model.calibration_error if facts.evaluation else None
    histogram = "Shown with documents: the model's confidence."
    meaning = "Shown for documents with a column of true labels: confidence against accuracy."
    return section(
        "confidence",
        "Confidence and calibration",
        paragraph(_confidence_on(facts)),
        side_by_side(
            figure_or(confidence_chart(facts.confidence), histogram, GIVE_DATA),
            figure_or(calibration_chart(facts.confidence, error), meaning, facts.scoring),
        ),
    )


def _confidence_on(facts: Facts) -> str:
    if facts.confidence is None:
        return ""
    message = f"Confidence is counted on {facts.answers_on}"
    return message + (f", calibration on {facts.scored_on}." if facts.scored_on else ".")


def _training(facts: Facts) -> str:
    """Only where the method trains by epochs."""
    chart = training_curves(facts.history)
    return "" if chart is None else section("training", "Training", figure(chart))


def training_curves(history: Sequence[Epoch]) -> Chart | None:
    """One line for each loss, a second panel for the score of the epochs; None without a history."""
    if not history:
        return None
    losses: list[Curve] = [
        ("denoiser", THIRD, [(e.number, e.l1) for e in history]),
        ("classifier", MODEL, [(e.number, e.l2) for e in history]),
        ("self-training", OTHER, [(e.number, e.l3) for e in history]),
        ("total", INK, [(e.number, e.total) for e in history]),
    ]
    drawn = [curve for curve in losses if any(value for _, value in curve[2])]
    scores: list[Curve] = [
        ("score", GOOD, [(e.number, e.score) for e in history if e.score is not None])
    ]
    kept = next((e.number for e in history if e.kept), None)
    ends = (history[0].number, history[-1].number)
    panels = [_panel(drawn, ends, kept, "loss", 0.0)]
    if scores[0][2]:
        panels.append(_panel(scores, ends, kept, "score", HEIGHT))
    return Chart(
        name="training",
        title="Training curves",
        description=_training_description(history),
        svg=picture(WIDTH, HEIGHT * len(panels), *panels),
        header=(
            "epoch",
            "denoiser",
            "classifier",
            "self-training",
            "total",
            "labels changed",
            "score",
        ),
        rows=tuple(_epoch_row(e) for e in _thinned(history)),
    )


def _panel(
    curves: Sequence[Curve], ends: tuple[int, int], kept: int | None, title: str, top: float
) -> str:
    values = [value for _, _, points in curves for _, value in points] or [0.0]
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.5
    first, last = ends if ends[0] < ends[1] else (ends[0] - 1, ends[1] + 1)
    frame = Frame.of((first, last), (low - margin, high + margin), left=60)
    marks = []
    if kept is not None:
        x = frame.x(kept)
        marks.append(line([(x, frame.y.end), (x, frame.y.start)], SOFT, 1, "1.5 2.5"))
    for _, colour, points in curves:
        marks.append(line([(frame.x(n), frame.y(v)) for n, v in points], colour, 1.5))
    inside = (
        frame.x_axis(count_ticks(frame.x), "epoch", grid=False)
        + frame.y_axis([(tick, f"{tick:g}") for tick in frame.y.ticks()], title)
        + "".join(marks)
        + legend([(name, colour, "line") for name, colour, _ in curves], frame.x.start)
    )
    return f'<g transform="translate(0 {top:g})">{inside}</g>'


def _thinned(history: Sequence[Epoch]) -> list[Epoch]:
    """Every so many epochs, and always the first, the last and the kept one."""
    step = -(-len(history) // MOST_ROWS)
    last = len(history) - 1
    return [e for i, e in enumerate(history) if i % step == 0 or i == last or e.kept]


def _epoch_row(e: Epoch) -> tuple[str, ...]:
    score = "–" if e.score is None else f"{e.score:.4f}"
    losses = [f"{value:.4f}" for value in (e.l1, e.l2, e.l3, e.total)]
    return (f"{e.number}{' (kept)' if e.kept else ''}", *losses, f"{e.changed:,}", score)


def _training_description(history: Sequence[Epoch]) -> str:
    first, last = history[0], history[-1]
    kept = next((e.number for e in history if e.kept), None)
    message = (
        f"The total loss goes from {first.total:.3f} to {last.total:.3f} in "
        f"{plural(len(history), 'epoch')}"
    )
    return message + ("." if kept is None else f"; epoch {kept} is kept (dotted line).")


def _confusion(facts: Facts) -> str:
    nothing = (
        "Shown for documents with a column of true labels: true classes against predicted ones."
    )
    if facts.evaluation is None:
        return section("confusion", "Confusion", lacking(nothing, facts.scoring))
    scores = facts.evaluation.everything.model
    rows = [
        (c, "–" if f != f else f"{f:.3f}") for c, f in zip(facts.classes, scores.f1, strict=True)
    ]
    chart = confusion_chart(scores.confusion, facts.classes)
    return section(
        "confusion",
        "Confusion",
        paragraph(f"Counted on {facts.scored_on}."),
        figure_or(chart, nothing),
        table(("class", "F1"), rows),
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
# Sections side by side, where there is room.
TOGETHER = (("agreement", "weights"), ("training", "confusion"))
