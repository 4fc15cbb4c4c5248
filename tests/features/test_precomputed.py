"""Features of the user's own: every way in, and every way in which they can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unruly.errors import InputError
from unruly.features.custom import PrecomputedFeatures
from unruly.features.stack import EncoderStack
from unruly.texts.corpus import Corpus

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)
TEXTS = ["a", "b", "c"]


def test_from_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "f.npy", ROWS.astype(np.float64))
    found = PrecomputedFeatures.from_file(tmp_path / "f.npy")
    assert np.array_equal(found.encode(TEXTS), ROWS)
    assert found.encode(TEXTS).dtype == np.float32
    assert found.width == 2


@pytest.mark.parametrize("kind", [pl.List(pl.Float64), pl.Array(pl.Float32, 2), pl.List(pl.Int64)])
def test_from_a_list_column_in_parquet(tmp_path: Path, kind: pl.DataType) -> None:
    frame = pl.DataFrame({"id": TEXTS, "vector": pl.Series(ROWS.tolist()).cast(kind)})
    frame.write_parquet(tmp_path / "f.parquet")
    assert np.array_equal(PrecomputedFeatures.from_file(tmp_path / "f.parquet").encode(TEXTS), ROWS)
    assert np.array_equal(
        PrecomputedFeatures.from_file(tmp_path / "f.parquet", "vector").encode(TEXTS), ROWS
    )


def test_from_a_column_of_the_documents() -> None:
    corpus = Corpus.from_frame(pl.DataFrame({"text": TEXTS, "vector": ROWS.tolist()}))
    stack = EncoderStack((PrecomputedFeatures(column="vector"),)).fit(corpus)
    features = stack.encode(corpus)
    np.testing.assert_allclose(features.matrix() * stack.parts[0].scales[0], ROWS, rtol=1e-6)
    assert stack.encode(corpus.take([2])).matrix().shape == (1, 2)
    with pytest.raises(InputError, match="no column 'vector' with features"):
        stack.encode(Corpus.from_texts(TEXTS))
    wider = pl.DataFrame({"text": TEXTS, "vector": [[1.0, 2.0, 3.0]] * 3})
    with pytest.raises(InputError, match="3 features a document, but the model has 2"):
        stack.encode(Corpus.from_frame(wider))
    with pytest.raises(InputError, match="'vector' does not hold lists of numbers"):
        stack.encode(Corpus.from_frame(pl.DataFrame({"text": TEXTS, "vector": TEXTS})))


def test_the_wrong_number_of_rows() -> None:
    with pytest.raises(InputError, match="3 rows of features for 2 texts: give one row for each"):
        PrecomputedFeatures.from_array(ROWS).encode(["a", "b"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused_with_the_row(bad: float) -> None:
    rows = ROWS.copy()
    rows[1, 1] = bad
    with pytest.raises(InputError, match="row 1: a feature is NaN or infinite"):
        PrecomputedFeatures.from_array(rows)


def test_rows_of_different_lengths(tmp_path: Path) -> None:
    pl.DataFrame({"v": [[1.0, 2.0], [3.0], [4.0, 5.0]]}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="row 1: 1 features, where other rows have 2"):
        PrecomputedFeatures.from_file(tmp_path / "f.parquet")


def test_a_null_row(tmp_path: Path) -> None:
    pl.DataFrame({"v": [[1.0, 2.0], None, [4.0, 5.0]]}).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="row 1"):
        PrecomputedFeatures.from_file(tmp_path / "f.parquet")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file of features"):
        PrecomputedFeatures.from_file(tmp_path / "f.npy")
    (tmp_path / "f.npy").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="not a plain NumPy array"):
        PrecomputedFeatures.from_file(tmp_path / "f.npy")
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not a plain NumPy array"):
        PrecomputedFeatures.from_file(tmp_path / "o.npy")
    (tmp_path / "f.csv").write_text("1,2")
    with pytest.raises(InputError, match=r"from \.npy or \.parquet, not '\.csv'"):
        PrecomputedFeatures.from_file(tmp_path / "f.csv")


def test_columns_that_are_not_lists(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [[1.0]], "b": [[2.0]], "c": [3.0]})
    frame.write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match=r"2 list columns \(a, b\): name one"):
        PrecomputedFeatures.from_file(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="'c' is not a list column"):
        PrecomputedFeatures.from_file(tmp_path / "f.parquet", "c")


def test_arrays_that_are_no_matrix() -> None:
    with pytest.raises(InputError, match="1-dimensional"):
        PrecomputedFeatures.from_array([1.0, 2.0])
    with pytest.raises(InputError, match="features must be numbers"):
        PrecomputedFeatures.from_array([["a"], ["b"]])


def test_saved_without_rows() -> None:
    loaded = PrecomputedFeatures.from_state(PrecomputedFeatures.from_array(ROWS).state())
    assert loaded.width == 2
    with pytest.raises(InputError, match="features of your own, not texts alone"):
        loaded.encode(TEXTS)
