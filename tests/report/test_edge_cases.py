"""Odd models still get a page: few sources, many classes, nothing kept, the paper's method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.model.planted import quick
from tests.report.conftest import Made
from tests.report.test_page import ALWAYS

from unruly.errors import InputError
from unruly.model.storage import load
from unruly.model.weak_classifier import WeakClassifier
from unruly.report.facts import gather
from unruly.report.page import page
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

LSA = {"name": "lsa", "dim": 8}


def many_classes(n: int, m: int, k: int, gold: bool = True) -> tuple[Corpus, Votes]:
    """Texts that name their class, k noisy sources without rules."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, m, n)
    classes = [f"class {r} — “{'ab'[r % 2]}”" for r in range(m)]
    rows = [f"word{r} token{r} filler{rng.integers(0, 9)} text" for r in truth]
    votes = np.where(rng.random((n, k)) < 0.8, truth[:, None], rng.integers(0, m, (n, k)))
    matrix = np.where(rng.random((n, k)) < 0.4, votes, -1)
    frame = pl.DataFrame({"text": rows, "label": [classes[r] for r in truth]})
    corpus = Corpus.from_frame(frame, text="text", label="label" if gold else None, classes=classes)
    return corpus, Votes.from_array(matrix, classes=classes)


def saved(model: WeakClassifier, corpus: Corpus, votes: Votes, path: Path) -> Path:
    model.set_params(encoder=LSA, cache=False).fit(corpus, votes).save(path)
    return path


@pytest.mark.parametrize(("m", "k"), [(2, 1), (9, 4), (3, 45)])
def test_any_number_of_classes_and_sources(m: int, k: int, tmp_path: Path) -> None:
    corpus, votes = many_classes(120, m, k)
    fitted = load(saved(WeakClassifier(), corpus, votes, tmp_path / "m.unruly")).fitted
    text = page(gather("m", fitted, corpus, votes=votes))
    assert all(f'<section id="{name}">' in text for name in ALWAYS)
    assert len(text.encode()) < 3_000_000
    assert ("Which sources agree" in text) == (k > 1)


def test_the_papers_method_shows_its_curves(tmp_path: Path) -> None:
    corpus, votes = many_classes(120, 2, 4)
    fitted = load(saved(quick(), corpus, votes, tmp_path / "m.unruly")).fitted
    found = gather("m", fitted, corpus, votes=votes)
    assert "self-training</text>" in page(found)
    assert all(s.estimated is not None for s in found.sources)  # borne out, for want of an estimate


def test_a_model_that_keeps_no_documents(tmp_path: Path) -> None:
    corpus, votes = many_classes(120, 2, 4)
    fitted = load(saved(WeakClassifier(keep_documents=0), corpus, votes, tmp_path / "m")).fitted
    text = page(gather("m", fitted))
    assert "the 0 training documents that the model keeps" in text
    assert fitted.sources[0] in text


def test_documents_without_any_vote_are_scored_all_the_same(made: Made) -> None:
    frame = pl.DataFrame({"text": ["nothing to see", "nor here"], "label": ["ham", "ham"]})
    corpus = Corpus.from_frame(frame, text="text", label="label", classes=made.fitted.classes)
    found = gather("m", made.fitted, corpus)
    assert found.evaluation is not None
    assert found.evaluation.covered is None
    assert found.noise == ()
    assert "Only 2 true labels" in page(found)


def test_a_model_of_features_says_that_texts_are_no_use(tmp_path: Path) -> None:
    corpus, votes = many_classes(40, 2, 3)
    features = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    WeakClassifier().fit(features, votes).save(tmp_path / "m.unruly")
    fitted = load(tmp_path / "m.unruly").fitted
    assert all(f'<section id="{name}">' in page(gather("m", fitted)) for name in ALWAYS)
    with pytest.raises(InputError, match="fitted on features"):
        gather("m", fitted, corpus, votes=votes)
