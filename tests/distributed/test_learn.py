"""A fit by many workers gives what one process gives on the same sample."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.distributed.conftest import ROWS, Here, Place

from unruly.distributed.learn import fit
from unruly.distributed.run import Placement
from unruly.errors import InputError
from unruly.findings import LearntFromSample
from unruly.project.project import Project

SMALL = Placement(part_rows=30)


@pytest.mark.parametrize("sample", [ROWS, 250])
def test_the_model_is_that_of_one_process(
    here: Here, made: Place, tmp_path: Path, sample: int
) -> None:
    project = Project.read(made.project)
    spread = fit(project, tmp_path / "room", sample=sample, placement=SMALL)
    alone = project.fit(sample=sample, score=False).model
    texts = pl.read_parquet(made.data)["comment"].to_list()
    np.testing.assert_allclose(spread.predict_proba(texts), alone.predict_proba(texts), atol=1e-5)
    notes = [note for note in spread.summary_.notes if isinstance(note, LearntFromSample)]
    assert notes == ([] if sample == ROWS else [LearntFromSample(sample, ROWS)])
    assert notes == [n for n in alone.summary_.notes if isinstance(n, LearntFromSample)]
    assert not (tmp_path / "room").exists()
    spread.save(tmp_path / "m.unruly")


def test_labelled_documents_are_always_drawn(here: Here, made: Place, tmp_path: Path) -> None:
    labels = made.project / "labels.csv"
    labels.write_text("id,label\n7,ham\n211,spam\n")
    try:
        model = fit(made.project, tmp_path / "room", sample=20, placement=SMALL)
    finally:
        labels.unlink()
    assert "2" in str(model.ledger_)
    assert model.summary_.documents in (20, 21, 22)


def test_no_training_text_is_kept_when_none_may_be(here: Here, made: Place, tmp_path: Path) -> None:
    kept, bare = (
        fit(made.project, tmp_path / f"room{e}", sample=50, excerpts=e, placement=SMALL)
        for e in (True, False)
    )
    assert kept.explain("a lovely song").neighbours
    assert not bare.explain("a lovely song").neighbours


def test_an_empty_sample_is_refused(here: Here, made: Place, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one is needed"):
        fit(made.project, tmp_path / "room", sample=0)
