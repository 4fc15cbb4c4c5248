"""The sections of the page, one function each; those that lack data say what they would show."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.model.word_worth import WordLine, times
from unruly.plural import plural
from unruly.report.charts.agreement_map import agreement_map
from unruly.report.charts.bubble_chart import bubble_chart
from unruly.report.charts.calibration_chart import calibration_chart
from unruly.report.charts.chart import Chart
from unruly.report.charts.confidence_chart import confidence_chart
from unruly.report.charts.confusion_chart import confusion_chart
from unruly.report.charts.matched_chart import matched_chart
from unruly.report.charts.noise_chart import noise_chart
from unruly.report.charts.reliability_chart import reliability_chart
from unruly.report.charts.training_curves import training_curves
from unruly.report.charts.words import percent, share_words
from unruly.report.facts import Facts
from unruly.report.instructive import Instructive
from unruly.report.markup import (
    badge,
    escape,
    figure,
    highlighted,
    listed,
    paragraph,
    section,
    side_by_side,
    table,
)
from unruly.report.source_facts import estimated_how
from unruly.report.verdict import parts_table, verdict

GIVE_DATA = "unruly report MODEL --data PROJECT -o report.html"
GIVE_GOLD = "unruly report MODEL --data test.csv --label COLUMN -o report.html"
MOST_WORDS = 60  # rows of the table of words


def verdict_section(facts: Facts) -> str:
    """The verdict first."""
    found = verdict(facts)
    figures = ""
    if facts.evaluation is not None:
        header, rows = parts_table(facts.evaluation)
        figures = table(
            header, rows, "Accuracy with its 95 % interval; ties of majority vote count as shared."
        )
    return section(
        "verdict",
        "Verdict",
        f'<p class="headline {found.tone}">{escape(found.headline)}</p>',
        listed(found.sentences),
        figures,
        table(("the model", ""), _model_rows(facts), kind="words"),
    )


def sources_section(facts: Facts) -> str:
    """Sources as a table and as bubbles."""
    header = [
        "source",
        "votes for",
        "coverage",
        "overlaps",
        "conflicts",
        "reliability",
        "estimated accuracy",
    ]
    header += ["measured accuracy"] if facts.evaluation else []
    lack = (
        ""
        if facts.evaluation
        else _lacking(
            "With gold, the measured accuracy of every source would stand beside its estimate.",
            GIVE_GOLD,
        )
    )
    return section(
        "sources",
        "Sources",
        paragraph(
            f"Counted on {facts.documents}. Estimated accuracy: {estimated_how(facts.summary)}."
        ),
        _drawn(bubble_chart(facts.sources), "No source has voted, so there is nothing to draw."),
        table(header, [_source_row(facts, j) for j in range(len(facts.sources))]),
        lack,
        _word_table(facts.summary.words),
    )


def _word_table(words: Sequence[WordLine]) -> str:
    """What the words that make sources vote are worth; empty where the model does not tell them apart."""
    if not words:
        return ""
    told = "What a vote is worth by the word that made it: by what factor it moves the odds of its class."
    if len(words) > MOST_WORDS:
        words = sorted(words, key=lambda one: -one.votes)[:MOST_WORDS]
        told += f" The {MOST_WORDS} with most votes."
    rows = [[w.word, w.source, w.label, f"{w.votes:,}", times(w.odds)] for w in words]
    return table(["word", "source", "votes for", "votes", "odds"], rows, told)


def agreement_section(facts: Facts) -> str:
    """Who agrees and conflicts with whom."""
    chart = agreement_map(facts.pairs)
    return section(
        "agreement",
        "Agreement and conflict",
        _drawn(chart, "One source alone has nobody to agree with."),
    )


def reliability_section(facts: Facts) -> str:
    """Global reliability, and how it varies."""
    say = "Here each source's say would be drawn, overall and from document to document."
    if facts.documents and not facts.spreads:
        rows = [(s.name, f"{s.reliability:.3f}") for s in facts.sources]
        return section(
            "reliability",
            "Reliability",
            _lacking(say, GIVE_DATA),
            table(("source", "global reliability"), rows),
        )
    chart = reliability_chart(facts.spreads)
    alone = "No document has two votes, so no source's say can be set beside another's."
    return section("reliability", "Reliability", _drawn(chart, alone))


def noise_section(facts: Facts) -> str:
    """Wrong labels before and after, and accuracy by number of votes."""
    noise = noise_chart(facts.noise)
    before = "Here the share of wrong labels before and after denoising would stand."
    matched = matched_chart(facts.matched)
    by_number = "Here accuracy would be drawn by the number of sources that vote on a document."
    told = f"Noise is counted on {facts.noise_on}." if facts.noise_on and noise else ""
    return section(
        "noise",
        "Noise, before and after",
        paragraph(told) if told else "",
        side_by_side(_drawn(noise, before, GIVE_GOLD), _drawn(matched, by_number, GIVE_GOLD)),
    )


def training_section(facts: Facts) -> str:
    """Training curves."""
    nothing = "No network was trained (the guard took over, or the recipe does without), so there are no curves."
    return section("training", "Training", _drawn(training_curves(facts.history), nothing))


def confidence_section(facts: Facts) -> str:
    """Confidence and calibration."""
    error = facts.evaluation.everything.model.calibration_error if facts.evaluation else None
    histogram = "Here documents would be drawn by the model's confidence."
    meaning = "Here confidence would be held against accuracy."
    return section(
        "confidence",
        "Confidence and calibration",
        side_by_side(
            _drawn(confidence_chart(facts.slices), histogram, GIVE_DATA),
            _drawn(calibration_chart(facts.slices, error), meaning, GIVE_GOLD),
        ),
    )


def confusion_section(facts: Facts) -> str:
    """The confusion matrix."""
    chart, rows = None, []
    if facts.evaluation is not None:
        scores = facts.evaluation.everything.model
        chart = confusion_chart(scores.confusion, facts.classes)
        rows = [
            (c, f"{f:.3f}" if f == f else "–")
            for c, f in zip(facts.classes, scores.f1, strict=True)
        ]
    nothing = "Here true classes would be set against given ones."
    figures = table(("class", "F1"), rows) if rows else ""
    return section("confusion", "Confusion", _drawn(chart, nothing, GIVE_GOLD), figures)


def documents_section(facts: Facts) -> str:
    """The most instructive documents."""
    if not facts.instructive:
        nothing = (
            "Here the twenty most instructive documents would be shown, matched words highlighted."
        )
        return section("documents", "Instructive documents", _lacking(nothing, GIVE_DATA))
    groups = list(dict.fromkeys(document.group for document in facts.instructive))
    parts = [
        f"<h3>{escape(group[0].upper() + group[1:])}</h3>"
        + "".join(_document(d, facts) for d in facts.instructive if d.group == group)
        for group in groups
    ]
    told = f"Of {facts.documents}. Words that a rule matched are marked in the colour of the class it names."
    return section("documents", "Instructive documents", paragraph(told), *parts)


def _document(d: Instructive, facts: Facts) -> str:
    votes = "".join(
        f"<li>{badge(v.label, facts.classes)} {escape(v.source)} "
        f'<span class="soft">weight {v.weight:.2f}{"; " + escape(v.reason) if v.reason else ""}</span></li>'
        for v in d.voices
    )
    majority = " and ".join(d.majority)
    told = (
        f"majority: {escape(majority)}" + (" (tie)" if len(d.majority) > 1 else "")
        if majority
        else "no votes"
    )
    gold = ""
    if d.gold is not None:
        right = "right" if d.gold == d.label else "wrong"
        gold = f' <span class="{right}">gold: {escape(d.gold)} ({right})</span>'
    return (
        f'<article class="document"><p class="facts">{badge(d.label, facts.classes)} '
        f'{percent(d.confidence, 0)} <span class="soft">{told}; id {escape(d.id)}</span>{gold}</p>'
        f"<blockquote>{highlighted(d.pieces, facts.classes)}</blockquote>"
        + (f"<ul class='votes'>{votes}</ul>".replace("'", '"') if votes else "")
        + "</article>"
    )


def _source_row(facts: Facts, j: int) -> tuple[str, ...]:
    s = facts.sources[j]
    cells = [
        s.name,
        _few(s.labels, len(facts.classes)),
        percent(s.coverage),
        percent(s.overlaps),
        percent(s.conflicts),
    ]
    cells += [f"{s.reliability:.3f}", share_words(s.estimated)]
    if facts.evaluation:
        cells.append(share_words(s.measured))
    return tuple(cells)


def _few(labels: tuple[str, ...], m: int) -> str:
    """Class names, as long as there are few of them."""
    if len(labels) <= 3:
        return ", ".join(labels) or "–"
    if len(labels) == m:
        return f"all {m} classes"
    return f"{', '.join(labels[:2])} and {len(labels) - 2} more"


def _model_rows(facts: Facts) -> list[tuple[str, str]]:
    summary = facts.summary
    rows = [
        ("file", facts.model),
        (
            "training documents",
            f"{summary.documents:,}, of which {summary.covered:,} ({percent(summary.coverage)}) have votes",
        ),
        (
            "classes",
            ", ".join(
                f"{c} ({plural(n, 'answer')})"
                for c, n in zip(summary.classes, summary.labels, strict=True)
            ),
        ),
        ("method", f"{summary.method}, {plural(summary.epochs, 'epoch')}"),
        ("encoder", summary.encoder),
        ("gold labels", str(facts.ledger).removeprefix("gold labels: ")),
    ]
    if summary.prior is not None:
        shares = zip(summary.classes, summary.prior, strict=True)
        rows.append(("class prior held", ", ".join(f"{c} {percent(p)}" for c, p in shares)))
    return rows


def _drawn(chart: Chart | None, otherwise: str, command: str = "") -> str:
    return figure(chart) if chart is not None else _lacking(otherwise, command)


def _lacking(what: str, command: str = "") -> str:
    """What would stand here, and the command that brings it."""
    told = f"<br>To see it: <code>{escape(command)}</code>" if command else ""
    return f'<p class="lacking">{escape(what)}{told}</p>'
