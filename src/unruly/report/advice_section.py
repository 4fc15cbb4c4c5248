"""What to do next, as a section of the page: sources to mend, words for new rules, what each source adds."""

from __future__ import annotations

from unruly.report.charts.words import percent, points_words
from unruly.report.facts import Facts
from unruly.report.markup import escape, paragraph, section, side_by_side, table


def advice_section(facts: Facts) -> str:
    """What to do next."""
    given = facts.advice
    parts = []
    for title, tips, none in (
        ("Sources that hurt", given.hurting, "None found."),
        ("Redundant sources", given.redundant, "None found."),
        (
            "Classes with thin coverage",
            given.thin,
            "None: every class has votes of several sources.",
        ),
    ):
        told = "".join(f"<li><b>{escape(t.subject)}</b>: {escape(t.says)}</li>" for t in tips)
        parts.append(
            f"<div><h3>{escape(title)}</h3>"
            + (f"<ul>{told}</ul>" if told else paragraph(none))
            + "</div>"
        )
    return section("advice", "Advice", side_by_side(*parts), _words(facts), _adds(facts))


def _words(facts: Facts) -> str:
    head = "<h3>Words that would make good next rules</h3>"
    if not facts.words:
        return head + paragraph(
            "No word stands out for one class beyond those that rules know already."
        )
    told = (
        "They go with one class in the model's own answers, no rule knows them yet, and those that reach documents "
        "without votes come first. The model judges itself here: look at a word before you trust it."
    )
    header = ("word", "class", "documents", "without votes", "share of the class", "usual share")
    rows = [
        (
            w.word,
            w.label,
            f"{w.documents:,}",
            f"{w.uncovered:,}",
            percent(w.share, 0),
            percent(w.usual, 0),
        )
        for w in facts.words
    ]
    return head + paragraph(told) + table(header, rows, kind="next")


def _adds(facts: Facts) -> str:
    if not facts.adds:
        return ""
    told = (
        "Each source is silenced in turn and the model asked again. Nothing is trained anew, so what the text "
        "classifier has learnt from the source stays."
    )
    scored = facts.evaluation is not None
    header = ["source", "answers that change without it", *(["what it adds to accuracy"] * scored)]
    rows = [
        [name, percent(s.changed), *([points_words(s.adds) if s.adds else "–"] * scored)]
        for name, s in facts.adds.items()
    ]
    return "<h3>What each source adds</h3>" + paragraph(told) + table(header, rows)
