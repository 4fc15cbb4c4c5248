"""From a file of documents to a file of predictions."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from errno import ENOSPC
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from tests.model.planted import texts
from threadpoolctl import threadpool_info

from unruly.errors import InputError, SettingsError
from unruly.model.predictions import (
    Predictions,
    encode_stream,
    predict_file,
    predict_stream,
)
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import Progress
from unruly.rules.function import Function, rule
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus


def stand_in(model: object) -> WeakClassifier:
    """What has the few members of a model that predicting a file needs."""
    return cast(WeakClassifier, model)


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
    ".parquet": pl.read_parquet,
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    made = texts(25, seed=3)[0]
    made[4] = 'she said, "lovely",\nthen left'
    frame = pl.DataFrame(
        {"stars": [i / 2 for i in range(25)], "comment": made, "key": [f"k{i}" for i in range(25)]}
    )
    frame.write_csv(tmp_path / "in.csv")
    return tmp_path / "in.csv"


def test_a_wrong_word_for_missing_texts_is_refused(model: WeakClassifier, data: Path) -> None:
    with pytest.raises(InputError, match="missing = 'emtpy': must be one of label, empty"):
        predict_file(model, data, data.with_name("out.csv"), missing="emtpy")  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", READERS)
def test_columns_and_order_are_kept_and_ours_added(
    model: WeakClassifier, data: Path, ending: str
) -> None:
    out = data.with_name(f"out{ending}")
    written = predict_file(model, data, out, text="comment", id="key", batch_rows=7)
    before, after = pl.read_csv(data), READERS[ending](out)
    assert after.columns[:3] == before.columns
    assert after.select(before.columns).equals(before)
    assert after.columns[3:] == [
        "label", "confidence", "probability_ham", "probability_spam", "decided_by", "sources"
    ]  # fmt: skip
    expected = model.predictions(before["comment"].to_list())
    assert after["label"].to_list() == expected.labels
    np.testing.assert_allclose(after["confidence"].to_numpy(), expected.confidence, atol=1e-6)
    assert after["decided_by"].to_list() == expected.decided_by
    voters = after["sources"].to_list()
    joined = [";".join(sorted(v)) for v in expected.voters]
    if ending == ".csv":
        assert [";".join(sorted((v or "").split("; "))) for v in voters] == joined
    else:
        assert [";".join(sorted(v)) for v in voters] == joined
    assert written.documents == 25
    assert written.covered == expected.votes.covered.sum()
    assert sum(written.labels.values()) == 25


def test_clashing_columns_get_another_name(model: WeakClassifier, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["a lovely song"], "label": ["mine"], "predicted_label": ["too"]})
    frame.write_ndjson(tmp_path / "in.jsonl")
    written = predict_file(model, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert (row["label"], row["predicted_label"], row["predicted_label_2"]) == (
        "mine",
        "too",
        "ham",
    )
    assert written.columns["label"] == "predicted_label_2"
    assert row["confidence"] > 0.5


def test_nested_columns_survive_where_they_can(model: WeakClassifier, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["a song", "my link"], "tags": [["a", "b"], []]})
    frame.write_parquet(tmp_path / "in.parquet")
    predict_file(model, tmp_path / "in.parquet", tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["tags"].to_list() == [["a", "b"], []]
    with pytest.raises(InputError, match=r"column 'tags' .* cannot: write \.jsonl or \.parquet"):
        predict_file(model, tmp_path / "in.parquet", tmp_path / "out.csv")


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.csv.gz"])
def test_other_endings_are_refused(model: WeakClassifier, data: Path, name: str) -> None:
    with pytest.raises(InputError, match="choose one of these endings"):
        predict_file(model, data, data.with_name(name))


def test_a_file_is_not_written_over_itself(model: WeakClassifier, data: Path) -> None:
    before = data.read_bytes()
    link = data.with_name("link.csv")
    link.symlink_to(data)
    for out in (data, link):
        with pytest.raises(InputError, match="one of the inputs"):
            predict_file(model, data, out, text="comment")
    assert data.read_bytes() == before


def test_a_stream_keeps_no_features(
    model: WeakClassifier, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "kept"))
    monkeypatch.setattr(model, "cache", True)
    predict_file(model, data, data.with_name("out.csv"), text="comment", batch_rows=10)
    assert not list(tmp_path.rglob("*.features"))


class Vowels:
    """An encoder whose features may be kept."""

    identity = "vowels"

    def fit(self, texts: Sequence[str]) -> Vowels:
        return self

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[text.count(letter) for letter in "aeiou"] for text in texts], np.float32)


def test_features_that_are_kept_already_are_read(
    sources: Sources,
    corpus: Corpus,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "kept"))
    model = WeakClassifier(Vowels()).fit(corpus, sources.vote(corpus))
    first, second = data.with_name("first.csv"), data.with_name("second.csv")
    predict_file(model, data, first, text="comment")
    model.predictions(Corpus.read(data, text="comment"))  # keeps them, as `evaluate` does
    kept = list(tmp_path.rglob("*.features"))

    def encode(*_: object) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr(Vowels, "encode", encode)
    predict_file(model, data, second, text="comment", batch_rows=10)
    assert second.read_bytes() == first.read_bytes()
    assert kept == list(tmp_path.rglob("*.features")) != []


def test_a_failure_half_way_leaves_the_old_file_and_no_other(
    model: WeakClassifier, data: Path
) -> None:
    class Failing:
        """Fails on the second batch."""

        class_names = ("ham", "spam")
        feature_width, concurrent = model.feature_width, False
        text_column = None
        batches = 0

        def predictions(
            self, documents: Corpus, *, progress: Progress, cached: bool
        ) -> Predictions:
            self.batches += 1
            if self.batches == 2:
                raise InputError("one clear line")
            return model.predictions(documents)

    out = data.with_name("out.parquet")
    out.write_text("the old file")
    with pytest.raises(InputError, match=r"^one clear line$"):
        predict_file(stand_in(Failing()), data, out, text="comment", batch_rows=10)
    assert out.read_text() == "the old file"
    assert sorted(path.name for path in data.parent.iterdir() if path.name != "cache") == [
        "in.csv", "out.parquet"
    ]  # fmt: skip


@pytest.mark.parametrize("ending", READERS)
def test_any_number_of_workers_writes_the_same_file(
    model: WeakClassifier, data: Path, ending: str
) -> None:
    bad = data.with_name("bad.csv")
    bad.write_text(data.read_text() + '9,"never, closed\n', encoding="utf-8")
    files = []
    for workers in (1, 2, 5):
        out = data.with_name(f"out{workers}{ending}")
        written = predict_file(
            model, bad, out, text="comment", id="key", batch_rows=4, on_bad_row="skip", workers=workers
        )  # fmt: skip
        files.append((out.read_bytes(), replace(written, path=None)))
    assert files[0] == files[1] == files[2]
    assert (files[0][1].documents, len(files[0][1].skipped)) == (25, 1)


def test_workers_work_at_once(model: WeakClassifier, data: Path) -> None:
    together = threading.Barrier(3, timeout=60)  # opens when three work at once

    class Waiting:
        """Answers only when three batches are asked for at once."""

        class_names, feature_width = model.class_names, model.feature_width
        text_column, concurrent = None, False

        def predictions(
            self, documents: Corpus, *, progress: Progress, cached: bool
        ) -> Predictions:
            together.wait()
            return model.predictions(documents, cached=cached)

    out = data.with_name("out.csv")
    written = predict_file(stand_in(Waiting()), data, out, text="comment", batch_rows=3, workers=3)
    assert written.documents == 25  # in nine batches
    with pytest.raises(SettingsError, match="0 workers: at least one"):
        predict_file(model, data, out, text="comment", workers=0)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_fails_first_in_the_file_is_told_whoever_meets_it(
    model: WeakClassifier, data: Path, workers: int
) -> None:
    class Failing:
        """Fails on every batch but the first, sooner on the later ones."""

        class_names, feature_width = model.class_names, model.feature_width
        text_column, concurrent = None, True

        def predictions(
            self, documents: Corpus, *, progress: Progress, cached: bool
        ) -> Predictions:
            first = documents.ids[0]
            if first != "k0":
                raise InputError(f"{first}: one clear line")
            return model.predictions(documents)

    out = data.with_name("out.parquet")
    with pytest.raises(InputError, match=r"^k10: one clear line$"):
        predict_file(
            stand_in(Failing()), data, out, text="comment", id="key", batch_rows=10, workers=workers
        )
    assert not out.exists()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("label")]


def test_threads_end_when_the_output_cannot_be_written_and_the_error_is_kept(
    model: WeakClassifier, data: Path
) -> None:
    class Full(BytesIO):
        """A disk without space, from the second batch on."""

        def write(self, part: Any, /) -> int:
            if b"k10" in bytes(part):
                raise OSError(ENOSPC, "No space left on device")
            return super().write(part)

    def blas_threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info()]

    before = blas_threads()
    stream = Corpus.scan(data, text="comment", id="key", batch_rows=5)
    with pytest.raises(OSError, match="No space left") as kept:
        predict_stream(model, stream, Full(), form=".csv", workers=2)
    assert kept.value.errno == ENOSPC  # the error, and so its traceback, is still here
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("label")]
    assert blas_threads() == before


def test_by_default_threads_work_only_where_they_help(
    model: WeakClassifier, sources: Sources, corpus: Corpus
) -> None:
    def shouting(row: Any) -> str | None:
        return "spam" if row.text.isupper() else None

    loud = Source("shouting", [Rule(None, Function(rule(shouting)))])
    both = Sources(sources.classes, [*sources.sources, loud])
    assert model.concurrent
    assert not WeakClassifier("lsa").fit(corpus, sources=both).concurrent
    assert not WeakClassifier(Vowels()).fit(corpus, sources.vote(corpus)).concurrent


def test_wide_features_are_made_of_fewer_rows_at_once(model: WeakClassifier, data: Path) -> None:
    sizes = list[int]()

    class Wide:
        """A model of ten million features, as a file of some megabytes may hold."""

        class_names = model.class_names
        feature_width, concurrent = 10_000_000, False
        text_column = None

        def predictions(
            self, documents: Corpus, *, progress: Progress, cached: bool
        ) -> Predictions:
            sizes.append(len(documents))
            return model.predictions(documents, cached=cached)

    predict_file(stand_in(Wide()), data, data.with_name("out.csv"), text="comment")
    assert set(sizes) <= {1, 2}


def test_a_missing_text_is_kept_counted_or_named_with_its_line(
    model: WeakClassifier, tmp_path: Path
) -> None:
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    data.write_text("text,stars\nfine,1\n,2\n")
    assert predict_file(model, data, out).missing == 1
    labelled = list(csv.DictReader(out.read_text().splitlines()))
    given = [float(labelled[1][f"probability_{name}"]) for name in model.classes_]
    # nothing is known of it but how common classes are
    assert given == pytest.approx(model.fitted.majority, abs=1e-6)
    assert model.summary_.shares is None, "the paper's method uses no class shares"
    assert labelled[1]["decided_by"] == "prior" != labelled[0]["decided_by"]
    assert [row["stars"] for row in csv.DictReader(out.read_text().splitlines())] == ["1", "2"]
    skipped = predict_file(model, data, out, on_bad_row="skip").skipped
    assert [bad.row for bad in skipped] == [1]
    assert [row["stars"] for row in csv.DictReader(out.read_text().splitlines())] == ["1"]
    out.unlink()
    with pytest.raises(InputError, match="line 3"):
        predict_file(model, data, out, on_bad_row="error")
    assert not out.exists()


TELLING = [
    "1234567890123456789",
    "12345678901234567890",
    "+4915112345678",
    "2.50",
    "1e5",
    "007",
    "-0",
]


def test_cells_that_look_like_numbers_are_not_touched(
    model: WeakClassifier, tmp_path: Path
) -> None:
    data, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = "".join(f"fine song,{cell},{cell}\n" for cell in TELLING)
    data.write_text(f"text,value, Odd name \n{rows}")
    predict_file(model, data, out)
    lines = out.read_text().splitlines()
    assert lines[0].startswith("text,value, Odd name ,label,")
    assert [line.split(",")[1:3] for line in lines[1:]] == [[cell, cell] for cell in TELLING]
    predict_file(model, data, tmp_path / "out.jsonl")
    kept = [json.loads(line)["value"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert kept == TELLING
    predict_file(model, data, tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet")["value"].to_list() == TELLING


def test_progress_is_told(model: WeakClassifier, data: Path) -> None:
    told = Told()
    out = data.with_name("out.csv")
    predict_file(model, data, out, text="comment", batch_rows=10, progress=told)
    assert told.finished["labelling"] == [25]


def test_progress_is_told_inside_a_batch(model: WeakClassifier, data: Path) -> None:
    told = Told()
    predict_file(model, data, data.with_name("out.csv"), text="comment", progress=told)
    assert told.finished["encoding with lsa"] == [25]
    told = Told()
    encode_stream(model, Corpus.scan(data, text="comment"), data.with_name("out.parquet"), told)
    assert told.finished["encoding with lsa"] == [25]


class Told:
    """What was done of each stage, by its name, once it is over."""

    def __init__(self) -> None:
        self.open: list[tuple[str, int]] = []
        self.finished: dict[str, list[int]] = {}

    def start(self, what: str, total: int | None, unit: str) -> None:
        self.open.append((what, 0))

    def advance(self, units: int, note: str = "") -> None:
        what, done = self.open.pop()
        self.open.append((what, done + units))

    def finish(self) -> None:
        what, done = self.open.pop()
        self.finished.setdefault(what, []).append(done)
