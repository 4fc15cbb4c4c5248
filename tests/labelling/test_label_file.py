"""`labels.csv`: appended, on disk at once, whatever hand or program has been at it."""

from __future__ import annotations

import codecs
import csv
import io
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError
from unruly.labelling.label_file import (
    COLUMNS,
    WITHDRAWN,
    Answer,
    LabelFile,
    LineLayout,
    can_append,
    completed,
    continued,
    decoded,
    moment,
    read_lines,
    timestamp,
)

words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12).map(
    str.strip
)
answers = st.builds(
    Answer,
    id=words.filter(
        lambda w: bool(w) and not w.startswith(("<<<<<<<", "|||||||", "=======", ">>>>>>>"))
    ),
    label=words.filter(bool),
    when=st.sampled_from(["", "2026-11-16T20:31:04.120Z", "2026-11-17T08:00:00Z", "soon"]),
    by=words,
    why=words,
    probability=st.none() | st.sampled_from([0.08, 0.5, 1.0]),
    note=words,
)
few = st.lists(
    st.builds(
        Answer,
        id=st.sampled_from("abc"),
        label=st.sampled_from(["ham", "spam", WITHDRAWN]),
        when=st.sampled_from(["", "2026-01-01", "2026-01-02", "2026-01-03"]),
        by=st.sampled_from(["", "ada", "bob"]),
    ),
    max_size=8,
)


@given(st.lists(answers, min_size=1, max_size=5))
def test_what_is_written_is_read(written: list[Answer]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = LabelFile.open(Path(folder) / "labels.csv")
        for answer in written:
            file = file.append(answer)
        again = LabelFile.open(file.path)
    assert again.answers == tuple(written)
    assert not again.unreadable


@given(few, st.randoms())
def test_the_order_of_lines_does_not_matter(lines: list[Answer], chance: random.Random) -> None:
    shuffled = lines.copy()
    chance.shuffle(shuffled)
    here = LabelFile(Path("labels.csv"), tuple(lines)).standing()
    there = LabelFile(Path("labels.csv"), tuple(shuffled)).standing()
    assert here == there


def test_the_latest_answer_of_each_person_stands(tmp_path: Path) -> None:
    file = LabelFile.open(tmp_path / "labels.csv")
    for label in ("ham", WITHDRAWN, "spam"):
        file = file.append(Answer("a", label, file.now("a"), "ada"))
    file = file.append(Answer("a", "ham", file.now("a"), "bob"))
    assert [(a.by, a.label) for a in file.standing()["a"]] == [("ada", "spam"), ("bob", "ham")]
    file = file.append(Answer("a", WITHDRAWN, file.now("a"), "ada"))
    assert [a.by for a in file.standing()["a"]] == ["bob"]


def test_labels_of_one_time_stand_beside_each_other() -> None:
    file = LabelFile(
        Path("labels.csv"), (Answer("a", "ham"), Answer("a", "spam"), Answer("a", "ham"))
    )
    assert [a.label for a in file.standing()["a"]] == ["ham", "spam"]


@pytest.mark.parametrize(
    "data",
    [
        "id,label\n1,spam\n2,ham\n".encode("utf-8-sig"),
        b"id,label\r\n1,spam\r\n2,ham\r\n",
        b'"id","label"\r\n"1","spam"\r\n"2","ham"\r\n',
        b"id;label\n1;spam\n2;ham",
        b"Label\tID\nspam\t1\nham\t2\n",
        b'\n\nid,label,remarks\n1, spam ,"two\nlines"\n\n2,ham,\n',
        b"id,label\n1,spam\nid,label\n2,ham\n",
        b"<<<<<<< HEAD\nid,label\n1,spam\n=======\nid,label\n2,ham\n>>>>>>> theirs\n",
        b"id,label\n<<<<<<< HEAD\n1,spam\n||||||| base\n=======\n2,ham\n>>>>>>> theirs\n",
    ],
)
def test_files_from_elsewhere_are_read_and_continued(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(data)
    file = LabelFile.open(path)
    assert [(a.id, a.label) for a in file.answers] == [("1", "spam"), ("2", "ham")]
    new = Answer("3", "ham", timestamp(), "ada", "balance#12", 0.25, "a, b; c")
    file.append(new)
    again = LabelFile.open(path)
    assert again.answers == (*file.answers, new)
    assert not again.unreadable


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_file_of_excel_is_read_and_becomes_utf8(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes("id;label\r\n1;größe\r\n".encode(encoding))
    LabelFile.open(path).append(Answer("2", "größe"))
    assert [a.label for a in LabelFile.open(path).answers] == ["größe", "größe"]
    assert path.read_bytes().startswith(
        codecs.BOM_UTF8
    )  # without which Excel would take it for the old one
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == 3


def test_a_mixture_of_encodings_is_refused_before_it_is_written_for_good(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    data = "id,label\n1,größe\n".encode() + "2,größe\n".encode("cp1252")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"labels\.csv, line 3: .* the encodings are mixed"):
        LabelFile.open(path)
    with pytest.raises(InputError, match="the encodings are mixed"):
        LabelFile(path).append(Answer("3", "größe"))
    assert path.read_bytes() == data


@given(st.integers(1, 90))
def test_appending_survives_a_cut_last_line(cut: int) -> None:
    import tempfile

    first = Answer("1", "ham", "2026-11-16T20:31:04.120Z", "ada", "balance#12", 0.25)
    second = Answer("2", "spam", "2026-11-16T20:31:05.120Z", "ada", "balance#12", 0.25, 'a "b", c')
    third = Answer("3", "ham", "2026-11-16T20:31:06.120Z", "ada", "balance#12", 0.25)
    with tempfile.TemporaryDirectory() as folder:
        file = LabelFile.open(Path(folder) / "labels.csv").append(first).append(second)
        data = file.path.read_bytes()
        last = len(second.to_line())
        file.path.write_bytes(data[: len(data) - min(cut, last)])
        found = LabelFile.open(file.path).append(third)
        again = LabelFile.open(found.path)
    assert again.answers[0] == first
    assert again.answers[-1] == third
    assert len(again.answers) + len(again.unreadable) <= 3


def test_columns_may_go_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("key,is_spam\na,1\n")
    file = LabelFile.open(path, {"id": "key", "label": "is_spam"})
    assert file.answers == (Answer("a", "1"),)
    file.append(Answer("b", "0", by="ada"))
    again = LabelFile.open(path, {"id": "key", "label": "is_spam"})
    assert again.answers == (Answer("a", "1"), Answer("b", "0", by="ada"))
    assert path.read_text().startswith("key,is_spam,")


def test_a_line_without_id_or_label_is_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("id,label\n1,spam\n,ham\n3\n4,ham\n")
    file = LabelFile.open(path)
    assert [a.id for a in file.answers] == ["1", "4"]
    assert [bad.line for bad in file.unreadable] == [3, 4]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("labels.csv", b"text,label\na,b\n", "no column is called 'id'"),
        ("labels.csv", "id,label\n1,a\n".encode("utf-16-le"), "UTF-16LE"),
        ("labels.parquet", b"PAR1", "labels are kept as CSV"),
    ],
)
def test_what_is_no_file_of_labels_is_refused(
    tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message):
        LabelFile.open(tmp_path / name)


def test_one_column_is_asked_for_even_where_the_data_calls_it_otherwise(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("key,label\na,b\n")
    with pytest.raises(
        InputError, match=r"no column is called 'id' .*begins with id,label,"
    ) as told:
        LabelFile.open(tmp_path / "labels.csv", {"id": "doc_id"})
    assert "doc_id" not in str(told.value)


WHOLE = "id,label,when,by,why,probability,note\n"
ROW = "{},spam,2026-11-16T20:31:0{}.120Z,ada,balance#12,0.25,{}\n"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (WHOLE + ROW.format(1, 1, "") + ROW.format(2, 2, '"oops') + ROW.format(3, 3, ""), 3),
        (
            WHOLE + ROW.format(1, 1, '"oops') + ROW.format(2, 2, '"a note"') + ROW.format(3, 3, ""),
            2,
        ),
        (WHOLE + ROW.format(1, 1, '"oops') + ROW.format(2, 2, "") + ROW.format(3, 3, 'so""'), 2),
        (WHOLE + ROW.format(1, 1, "") + ROW.format(2, 2, '"oops'), 3),  # the last line, whole
        ('id,label\n"1,spam\n2,ham\n3,ham\n', 2),
        ('id,label,note\n1,spam,"oops\n2,ham,fine\n3,ham,"ok"\n', 2),
        ('"id";"label"\r\n"1";"spam\r\n"2";"ham"\r\n"3";"ham"\r\n', 2),
        ('id,label,note\n1,spam,\n2,ham,"a"\n3,ham,"b\n4,spam,\n5,ham,"\n', 4),
        ("id,label,note\n" + '1,spam,"oops\n' + "2,ham,\n" * 40_000, 2),
    ],
)
def test_a_quote_without_an_end_is_refused_and_nothing_changes(
    tmp_path: Path, data: str, line: int
) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(data.encode())
    with pytest.raises(InputError, match="a quote is opened in this line and not closed") as found:
        LabelFile.open(path)
    assert found.value.where is not None
    assert found.value.where.line == line
    with pytest.raises(InputError, match="not closed"):
        LabelFile(path).append(Answer("9", "ham"))
    assert path.read_bytes() == data.encode()


def test_a_note_may_have_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    note = '"two ""big"", lines\nand, a third\n\n1\nspam, ham"'
    path.write_text(WHOLE + ROW.format(1, 1, note) + ROW.format(2, 2, ""))
    assert [a.id for a in LabelFile.open(path).append(Answer("3", "ham")).answers] == [
        "1",
        "2",
        "3",
    ]
    assert [a.id for a in LabelFile.open(path).answers] == ["1", "2", "3"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder"):
        LabelFile.open(tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        LabelFile.open(tmp_path / "nowhere" / "labels.csv").append(Answer("1", "a"))


def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="a pipe or a device: pass a file for the labels"):
        LabelFile.open(tmp_path / "labels.csv")


def test_what_others_append_meanwhile_stays(tmp_path: Path) -> None:
    ours = LabelFile.open(tmp_path / "labels.csv")
    theirs = LabelFile.open(tmp_path / "labels.csv")
    ours.append(Answer("1", "ham", by="ada"))
    theirs.append(Answer("2", "ham", by="bob"))
    assert [a.by for a in LabelFile.open(ours.path).answers] == ["ada", "bob"]


def test_merging_twice_adds_once(tmp_path: Path) -> None:
    file = LabelFile.open(tmp_path / "labels.csv").append(Answer("1", "ham"))
    others = [Answer("1", "ham"), Answer("2", "spam"), Answer("2", "spam")]
    file = file.merge(others)
    size = os.path.getsize(file.path)
    assert [a.id for a in file.answers] == ["1", "2"]
    assert file.merge(others) is file
    assert os.path.getsize(file.path) == size


def test_times_that_are_none_or_far_off_come_first() -> None:
    assert moment("yesterday") == moment("") == moment("9999-12-31")
    file = LabelFile(Path("labels.csv"), (Answer("1", "ham", "2200-01-01T00:00:00Z"),))
    assert moment(file.now("1")) > moment("2200-01-01T00:00:00Z") > moment(file.now("2"))


@given(st.dictionaries(st.sampled_from(COLUMNS), st.text(max_size=20)), st.sampled_from(",;\t"))
def test_a_line_is_one_line(values: dict[str, str], separator: str) -> None:
    line = LineLayout(separator=separator).line(values)
    assert line.count("\n") == 1
    assert len(next(csv.reader(io.StringIO(line, newline=""), delimiter=separator))) == len(COLUMNS)


def test_an_empty_file_gets_a_header() -> None:
    assert continued(b"", [{"id": "1", "label": "a"}], {}) == (
        b"id,label,when,by,why,probability,note\n1,a,,,,,\n"
    )


def test_a_cut_line_is_closed_first() -> None:
    whole = b"id,label,when,by,why,probability,note\n"
    assert continued(whole + b'1,a,,,,,"he', [{"id": "2", "label": "b"}], {}).startswith(b'"\n2,b')
    assert continued(whole + b"1,a", [{"id": "2", "label": "b"}], {}).startswith(b"\n2,b")


def test_missing_columns_are_added_and_conflicts_kept() -> None:
    data = b"<<<<<<< HEAD\nID;Label\n1;a\n=======\n2;b\n>>>>>>> theirs\n"
    assert not can_append(data, {})
    more = completed(data, {})
    assert can_append(more, {})
    assert [line.cells["label"] for line in read_lines(decoded(more), "labels.csv")] == ["a", "b"]


def test_a_completed_file_keeps_its_line_ends_and_its_byte_order_mark() -> None:
    data = b'\xef\xbb\xbf"ID";"Label"\r\n"3";"ham"\r\n'
    whole = completed(data, {})
    added = continued(whole, [{"id": "4", "label": "spam"}], {})
    assert (whole + added).count(b"\n") == (whole + added).count(b"\r\n") == 3
    assert (whole + added).count(b"\xef\xbb\xbf") == 1
    assert whole.startswith(b"\xef\xbb\xbf")
