"""`unruly encode`: the input's columns and order, and the features that the model reads; options of a cluster."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Unruly

from unruly.model.weak_classifier import load


def test_columns_and_order_are_kept_and_features_added(unruly: Unruly, fitted: Path) -> None:
    data = fitted.parent / "spam" / "comments.csv"
    done = unruly("encode", fitted, data, "-o", "out.parquet", "--json")
    assert done.code == 0, done.err
    plain = json.loads(done.out)
    before, after = pl.read_csv(data), pl.read_parquet("out.parquet")
    assert after.columns == [*before.columns, "features"]
    assert after["comment"].to_list() == before["comment"].to_list()
    expected = load(fitted).encode(before["comment"].to_list(), cached=False)
    np.testing.assert_array_equal(after["features"].to_numpy(), expected)
    assert plain["width"] == expected.shape[1]
    assert plain["documents"] == before.height


def test_other_formats_are_refused(unruly: Unruly, fitted: Path) -> None:
    done = unruly("encode", fitted, fitted.parent / "spam", "--split", "train", "-o", "out.csv")
    assert done.code == 2
    assert ".parquet" in done.err


@pytest.mark.parametrize("command", ["encode", "predict"])
def test_without_ray_the_extra_is_named(
    unruly: Unruly, fitted: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    pl.DataFrame({"text": ["a", "b"]}).write_parquet("data.parquet")
    done = unruly(command, fitted, "data.parquet", "-o", "out", "--engine", "ray")
    assert done.code == 2
    assert "pip install 'unruly[ray]'" in done.err
    assert not Path("out").exists()


def test_options_of_a_cluster_need_one(unruly: Unruly, fitted: Path) -> None:
    done = unruly("encode", fitted, "x.parquet", "-o", "out.parquet", "--workers", "2")
    assert done.code == 2
    assert "options of --engine ray" in done.err
    done = unruly("predict", fitted, "-", "--engine", "ray")
    assert done.code == 2
    assert "--engine ray reads and writes files" in done.err


def test_a_fit_says_what_it_was_learnt_from(unruly: Unruly, spam: Path) -> None:
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "--sample", "50", "--json")
    assert done.code == 0, done.err
    plain = json.loads(done.out)
    assert plain["documents"] == 50
    note = {"kind": "learnt_from_sample", "documents": 50, "of": 73}
    assert note in plain["notes"]
    assert "learnt from 50 of 73 documents" in str(load("m.unruly").summary_)
