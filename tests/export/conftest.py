"""Two models to export; exports are driven by the command line as the commands' own tests do it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import fitted, unruly

from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources

__all__ = ["fitted", "unruly"]
TEXTS = ["a lovely film", "great, just great", "an awful film", "boring and awful", "a film"] * 8


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that carries its rules."""
    loved = Source("loved", [Rule("good", Keywords(["lovely", "great"]))])
    hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    path = tmp_path_factory.mktemp("films") / "films.unruly"
    model = WeakClassifier("lsa", cache=False)
    model.fit(TEXTS, sources=Sources(["bad", "good", "never"], [loved, hated])).save(path)
    return path


FUNCTIONS = """
import unruly

@unruly.rule
def dear(row):
    return "good" if row.stars > 3 else None
"""


@pytest.fixture
def starred(tmp_path: Path) -> Path:
    """A model whose function reads another column."""
    (tmp_path / "rules.py").write_text(FUNCTIONS)
    function = {"function": {"file": "rules.py", "name": "dear"}}
    classes = ("bad", "good")
    dear = source_from_plain({"name": "dear", "rule": [function]}, classes, tmp_path)
    hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    stars = [5 if "lovely" in text or "great" in text else 1 for text in TEXTS]
    frame = pl.DataFrame({"text": TEXTS, "stars": stars})
    model = WeakClassifier("lsa", cache=False).fit(frame, sources=Sources(classes, [dear, hated]))
    model.save(tmp_path / "stars.unruly")
    return tmp_path / "stars.unruly"
