"""Seed keywords of a data set from a project file of rules, for the methods that need them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from unruly.bench.making import Keywords
from unruly.bench.paper_figures import known
from unruly.errors import InputError
from unruly.project.project import Project

KEYWORD_METHODS = ("westclass",)


def keywords_of(rules: Path | None, dataset: str, classes: tuple[str, ...]) -> Keywords:
    """The words of `rules/<dataset>/unruly.toml`, for each class; None where there is no such file."""
    if rules is None:
        return None
    names = (dataset, known(dataset) or dataset)
    found = [path for name in names if (path := rules / name / "unruly.toml").is_file()]
    if not found:
        return None
    from unruly.peers.seed_keywords import seeds_from_rules

    sources = Project.read(found[0]).sources
    if sorted(sources.classes) != sorted(classes):
        raise InputError(
            f"{found[0]}: its classes are {', '.join(sources.classes)}, but those of {dataset} are "
            f"{', '.join(classes)}: name them alike"
        )
    words = dict(zip(sources.classes, seeds_from_rules(sources), strict=True))
    return tuple(words[name] for name in classes)


def origin(keywords: Keywords) -> str:
    """How a run tells where its keywords are from; other words are another run.

    >>> origin(None), origin((("song",), ("subscribe",)))
    ('votes', 'rules 0ace4c2a')
    """
    if keywords is None:
        return "votes"
    return "rules " + hashlib.sha256(json.dumps(keywords).encode()).hexdigest()[:8]
