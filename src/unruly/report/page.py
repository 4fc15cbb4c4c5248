"""The page: one HTML file with everything in it, which asks the network for nothing."""

from __future__ import annotations

from importlib.resources import files

from unruly.report.advice_section import advice_section
from unruly.report.facts import Facts
from unruly.report.markup import escape
from unruly.report.sections import (
    agreement_section,
    confidence_section,
    confusion_section,
    documents_section,
    noise_section,
    reliability_section,
    sources_section,
    training_section,
    verdict_section,
)

SECTIONS = {
    "verdict": ("Verdict", verdict_section),
    "sources": ("Sources", sources_section),
    "agreement": ("Agreement", agreement_section),
    "reliability": ("Reliability", reliability_section),
    "noise": ("Noise", noise_section),
    "confidence": ("Confidence", confidence_section),
    "training": ("Training", training_section),
    "confusion": ("Confusion", confusion_section),
    "documents": ("Documents", documents_section),
    "advice": ("Advice", advice_section),
}
# Sections that stand side by side where there is room.
TOGETHER = (("agreement", "reliability"), ("training", "confusion"))
# Nothing may be fetched, and nothing may run: the page holds the user's texts.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def page(facts: Facts) -> str:
    """The whole page; the same facts give the same bytes."""
    style = files("unruly.report").joinpath("report.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#{name}">{title}</a>' for name, (title, _) in SECTIONS.items())
    body = "\n".join(_groups({name: make(facts) for name, (_, make) in SECTIONS.items()}))
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
        if row is None:
            made.append(text)
        elif name == row[0]:
            wide = any('class="wide chart"' in sections[other] for other in row)
            inside = "\n".join(sections[other] for other in row)
            made.append(inside if wide else f'<div class="pair">{inside}</div>')
    return made
