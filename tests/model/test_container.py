"""One file, whole or not at all; a single changed byte is noticed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unruly.errors import ModelFileError
from unruly.model.container import FORMAT, MANIFEST, open_container, to_json, write_container

MEMBERS = {
    "model.json": to_json({"classes": ["ham", "spam"]}),
    "encoder/a/w.bin": bytes(range(256)),
}
VERSIONS = {"unruly": "0.1.0"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "spam.unruly"
    write_container(path, MEMBERS, VERSIONS)
    return path


def test_what_is_written_is_read(file: Path, tmp_path: Path) -> None:
    container = open_container(file)
    assert container.read_json("model.json") == {"classes": ["ham", "spam"]}
    assert container.versions == VERSIONS
    target = tmp_path / "out"
    target.mkdir()
    container.unpack("encoder", target)
    assert (target / "a" / "w.bin").read_bytes() == MEMBERS["encoder/a/w.bin"]
    assert list(target.iterdir()) == [target / "a"]


def test_the_same_members_give_the_same_bytes(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.unruly"
    write_container(again, dict(reversed(MEMBERS.items())), VERSIONS)
    assert again.read_bytes() == file.read_bytes()


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_changed_byte_is_noticed(file: Path, data: st.DataObject) -> None:
    good = file.read_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    flip = data.draw(st.integers(1, 255))
    bad = file.with_name("bad.unruly")
    bad.write_bytes(good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])
    with pytest.raises(ModelFileError, match=r"bad\.unruly"):
        open_container(bad)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_truncated_or_padded_files_are_refused(file: Path, data: st.DataObject) -> None:
    good = file.read_bytes()
    bad = file.with_name("bad.unruly")
    bad.write_bytes(good[: data.draw(st.integers(0, len(good) - 1))])
    with pytest.raises(ModelFileError, match="not a whole unruly model"):
        open_container(bad)
    bad.write_bytes(good + data.draw(st.binary(min_size=1, max_size=9)))
    with pytest.raises(ModelFileError):
        open_container(bad)


def test_a_newer_format_is_named_with_the_remedy(file: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.unruly"
    with zipfile.ZipFile(newer, "w") as archive:
        manifest = {"format": FORMAT + 1, "versions": {"unruly": "9.9"}}
        archive.writestr(MANIFEST, json.dumps(manifest))
    with pytest.raises(
        ModelFileError, match=r"unruly 9\.9 in model format 2.*pip install --upgrade"
    ):
        open_container(newer)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: None, "no such file"),
        (lambda p: p.mkdir(), "a folder"),
        (lambda p: p.write_bytes(b""), "not a whole unruly model"),
        (lambda p: p.write_text("text,label\n"), "not a whole unruly model"),
    ],
)
def test_other_things_are_refused(tmp_path: Path, make: object, message: str) -> None:
    path = tmp_path / "thing"
    assert callable(make)
    make(path)
    with pytest.raises(ModelFileError, match=message):
        open_container(path)


def test_any_other_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(ModelFileError, match="not a whole unruly model"):
        open_container(path)


def test_a_file_that_changes_after_opening_is_noticed(file: Path) -> None:
    container = open_container(file)
    write_container(file, {**MEMBERS, "model.json": to_json({"classes": ["a", "b"]})}, VERSIONS)
    with pytest.raises(ModelFileError, match=r"model\.json has changed"):
        container.read("model.json")
    file.unlink()
    with pytest.raises(ModelFileError, match="can no longer be read"):
        container.read("model.json")


def test_a_missing_member_is_named(file: Path) -> None:
    with pytest.raises(ModelFileError, match=r"rules\.json is missing"):
        open_container(file).read("rules.json")
