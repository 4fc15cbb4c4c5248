"""JSON Lines and JSON arrays: every object a row, nothing lost, and what is no object named by its place."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError, Where
from unruly.texts.corpus import Corpus
from unruly.texts.json_table import _parsed_at_once
from unruly.texts.stream import CorpusStream, RowWriter


def read(folder: Path, lines: str, **options: Any) -> Corpus:
    path = folder / "x.jsonl"
    path.write_text(lines, encoding="utf-8")
    return Corpus.read(path, text="text", **options)


def test_an_array_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"text": "a", "n": 1}, {"text": null}, {"text": "b", "n": 2.5}]'
    )
    corpus = Corpus.read(tmp_path / "x.json")
    assert corpus.texts.to_list() == ["a", "", "b"]
    assert corpus.missing_count == 1


def test_an_array_of_texts(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('["nice", "subscribe"]')
    assert Corpus.read(tmp_path / "x.json").texts.to_list() == ["nice", "subscribe"]


@pytest.mark.parametrize("content", ["{}", "[1]", "[", '{"text": ["a"]}', "", "[]", "[" * 100_000])
def test_other_json_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError) as caught:
        Corpus.read(tmp_path / "x.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        (["1", "2.5", "null"], pl.Float64, [1.0, 2.5, None]),
        (["1234567890123456789", "1.5"], pl.String, ["1234567890123456789", "1.5"]),
        (["9" * 60, "1"], pl.String, ["9" * 60, "1"]),
        (["0", '"abc"'], pl.String, ["0", "abc"]),
        (["true", "1"], pl.String, ["true", "1"]),
        (['[1, "a"]'], pl.List(pl.String), [["1", "a"]]),
        (["[1, 2.5]", "[]"], pl.List(pl.Float64), [[1.0, 2.5], []]),
        (['{"a": 1}', '{"b": "x"}'], None, [{"a": 1, "b": None}, {"a": None, "b": "x"}]),
        (["{}"], pl.String, ["{}"]),
        (['["a"]', '{"b": 1}'], pl.String, ['["a"]', '{"b": 1}']),
        (["NaN", "3"], pl.Int64, [None, 3]),
        (["NaN", '"x"'], pl.String, [None, "x"]),
        (["1.5", "Infinity", "1e400"], pl.Float64, [1.5, float("inf"), float("inf")]),
        (['"caf\\u00e9 \\ud83d"', '"\\ud83d\\ude00"'], pl.String, ["café �", "😀"]),
        (["[" * 200 + "]" * 200], None, None),
    ],
)
def test_a_column_holds_all_values_under_its_key(
    values: list[str], kind: Any, found: list[Any] | None, tmp_path: Path
) -> None:
    lines = "".join(f'{{"text": "a", "v": {value}}}\n' for value in values)
    column = read(tmp_path, lines).columns["v"]
    assert kind is None or column.dtype == kind
    assert found is None or column.to_list() == found


def test_nan_is_a_missing_text_as_python_writes_it(tmp_path: Path) -> None:
    rows = [{"text": "a", "likes": 1.5}, {"text": float("nan"), "likes": float("nan")}]
    corpus = read(tmp_path, "".join(json.dumps(row) + "\n" for row in rows))
    assert corpus.texts.to_list() == ["a", ""]
    assert corpus.missing_count == 1


@pytest.mark.parametrize("bad", ["nan", "1" * 5_000, "[" * 100_000])
def test_a_value_that_cannot_be_read_names_its_line(bad: str, tmp_path: Path) -> None:
    lines = f'{{"text": "a"}}\n\n{{"text": "b", "n": {bad}}}\n{{"text": "c"}}\n'
    with pytest.raises(InputError) as caught:
        read(tmp_path, lines)
    assert caught.value.where == Where(str(tmp_path / "x.jsonl"), 3)
    corpus = read(tmp_path, lines, on_bad_row="skip")
    assert corpus.ids.to_list() == [0, 2]
    assert corpus.skipped[0].where == caught.value.where


def test_two_kinds_of_value_under_the_key_of_the_text_name_the_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'text' is \[\"a\", \"b\"\], not a string") as told:
        read(tmp_path, '{"text": null}\n{"text": ["a", "b"]}\n{"text": {"x": 1}}\n')
    assert told.value.where == Where(str(tmp_path / "x.jsonl"), 2)


@pytest.mark.parametrize(
    ("content", "texts", "bad"),
    [
        ('[{"text": "song"}, 3, null]', ["song"], {1: "3 is not an object", 2: "null is not"}),
        ('["a", 5, null, "b"]', ["a", "", "b"], {1: "5 is not a text"}),
        ('[{"text": {"a": 1}}, {"text": "b"}]', ["b"], {0: "'text' is {\"a\": 1}, not a string"}),
    ],
)
def test_a_bad_element_of_an_array_is_named_by_its_index(
    content: str, texts: list[str], bad: dict[int, str], tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    row, reason = next(iter(bad.items()))
    for mode in ("keep", "error"):
        with pytest.raises(InputError) as caught:
            Corpus.read(path, on_bad_row=mode)
        assert caught.value.where == Where(str(path), row=row)
        assert reason in str(caught.value)
    if "null," in content:
        assert "drop the row" not in str(caught.value)
    corpus = Corpus.read(path, on_bad_row="skip")
    assert [found.row for found in corpus.skipped if "missing" not in found.reason] == list(bad)
    assert corpus.texts.to_list() == [text for text in texts if text]


def test_null_among_texts_is_a_row_without_one(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('["a song", null, "", "lovely"]')
    corpus = Corpus.read(tmp_path / "x.json")
    assert corpus.texts.to_list() == ["a song", "", "", "lovely"]


def test_json_lines_that_are_called_json_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"text": "a", "n": 1}\n{"text": "b", "n": 2.5}\n')
    assert Corpus.read(tmp_path / "x.json").texts.to_list() == ["a", "b"]


def test_many_rare_keys_take_little_and_are_kept_as_they_are(tmp_path: Path) -> None:
    data, out = tmp_path / "x.jsonl", tmp_path / "out.jsonl"
    lines = [f'{{"text": "song", "k{i}": {i}.0}}' for i in range(4_000)]
    data.write_text("\n".join(lines))
    started = time.process_time()
    with pytest.warns(UserWarning, match="4,000 of 4,001 keys are each in fewer than 1 of 100"):
        stream = CorpusStream.open(data)
    assert list(stream.table.schema) == ["text"]
    writer = RowWriter(stream, out, {"added": pl.Int64()})
    writer.write((b, pl.DataFrame({"added": [1] * len(b.corpus)})) for b in stream.batches())
    assert time.process_time() - started < 5
    assert out.read_text().splitlines() == [f'{line[:-1]},"added":1}}' for line in lines]
    with pytest.raises(InputError, match=r"4,000 keys of .* are in few objects: write \.jsonl"):
        RowWriter(stream, tmp_path / "out.parquet", {"added": pl.Int64()})


def test_many_keys_inside_an_object_are_read_as_text(tmp_path: Path) -> None:
    lines = [json.dumps({"text": "a", "more": {f"k{i}": i}}) for i in range(3_000)]
    column = read(tmp_path, "\n".join(lines)).columns["more"]
    assert column.dtype == pl.String
    assert column[7] == '{"k7": 7}'


pieces = st.lists(
    st.sampled_from(['{"a":1}', "{", "}", '"-"', ",", "[", "]", '{"-":"-"}', " ", "1", '"a":']),
    max_size=6,
).map("".join)


@given(st.lists(pieces, min_size=1, max_size=4))
def test_lines_parsed_at_once_are_those_parsed_one_by_one(lines: list[str]) -> None:
    def alone(line: str) -> object:
        try:
            return json.loads(line)
        except ValueError:
            return None

    found = [alone(line) for line in lines]
    sound = all(isinstance(one, dict) for one in found)
    assert _parsed_at_once(lines) == (found if sound else None)
