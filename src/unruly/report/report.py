"""A report from a saved model and data to one HTML file."""

from __future__ import annotations

from pathlib import Path

from unruly.features.cache import Cache
from unruly.files import written_whole
from unruly.model.storage import Functions, load
from unruly.progress import SILENT, Progress
from unruly.report.facts import Facts, facts
from unruly.report.page import page
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


def report(
    model: str | Path,
    output: str | Path,
    documents: Corpus | None = None,
    scored: Corpus | None = None,
    *,
    votes: Votes | None = None,
    scored_votes: Votes | None = None,
    functions: Functions = None,
    progress: Progress = SILENT,
) -> Facts:
    """Write the report of a saved model, whole or not at all, and give the numbers in it.

    `documents` are what the model is asked about, its training documents best of all; `scored` are
    documents with gold labels that it is scored on, where `documents` carry none or these are to be held
    out. Gold is used for scoring only. Without any documents the report tells what the file alone knows.
    `votes` and `scored_votes` are the votes on these documents, for a model that carries no rules.
    """
    fitted = load(model, functions).fitted
    gathered = facts(
        Path(model).name,
        fitted,
        documents,
        scored,
        votes=votes,
        scored_votes=scored_votes,
        cache=Cache(),
        progress=progress,
    )
    text = page(gathered)
    with written_whole(output) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return gathered
