"""One file, whole or not at all; a single changed byte is noticed."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unruly.errors import ModelFileError
from unruly.model.storage import FORMAT, MANIFEST, open_container, to_json, write_container

MEMBERS = {
    "model.json": to_json({"classes": ["ham", "spam"]}),
    "encoder/part0.safetensors": bytes(range(256)),
}
VERSIONS = {"unruly": "0.1.0"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "spam.unruly"
    write_container(path, MEMBERS, VERSIONS)
    return path


def test_what_is_written_is_read(file: Path) -> None:
    container = open_container(file)
    assert container.read_json("model.json") == {"classes": ["ham", "spam"]}
    assert container.versions == VERSIONS
    assert dict(container.members) == MEMBERS


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


@pytest.mark.parametrize(
    ("number", "remedy"), [(FORMAT + 1, "pip install --upgrade"), (1, "fit the model again")]
)
def test_another_format_is_named_with_the_remedy(tmp_path: Path, number: int, remedy: str) -> None:
    manifest = json.dumps({"format": number, "versions": {"unruly": "9.9"}}).encode()
    path = crafted(tmp_path, [(MANIFEST, manifest)])
    with pytest.raises(ModelFileError, match=rf"unruly 9\.9 in model format {number}.*{remedy}"):
        open_container(path)


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


def test_what_was_read_stays_as_it_was(file: Path) -> None:
    container = open_container(file)
    file.write_bytes(b"something else")
    assert container.read_json("model.json") == {"classes": ["ham", "spam"]}


def test_a_missing_member_is_named(file: Path) -> None:
    with pytest.raises(ModelFileError, match=r"rules\.json is missing"):
        open_container(file).read("rules.json")


# --- Files made to do harm. Every one of them has a checksum that is right. ---

GOOD = (MANIFEST, to_json({"format": FORMAT, "versions": VERSIONS}))


def signed(data: bytes) -> bytes:
    """The bytes of a zip whose comment has been put right."""
    return data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()


def crafted(
    folder: Path,
    members: Sequence[tuple[str, bytes]],
    change: Callable[[zipfile.ZipInfo], None] = lambda entry: None,
    after: Callable[[bytes], bytes] = lambda data: data,
) -> Path:
    """A file with these members, as only an attacker would write it."""
    path = folder / "crafted.unruly"
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = b"0" * 64
        for name, data in members:
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.filename = entry.orig_filename = name  # as it is, whatever it holds
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            change(entry)
            archive.writestr(entry, data)
    path.write_bytes(signed(after(path.read_bytes())))
    return path


def test_a_crafted_file_without_harm_is_read(tmp_path: Path) -> None:
    path = crafted(tmp_path, [GOOD, *sorted(MEMBERS.items())])
    assert dict(open_container(path).members) == MEMBERS


@pytest.mark.parametrize(
    "name",
    [
        "encoder//tmp/evil.json",
        "encoder/../../evil.json",
        "../evil.json",
        "/etc/evil.json",
        "//server/share/evil.json",
        "encoder/../model.json",
        "encoder/./part0.json",
        "./model.json",
        "encoder\\..\\..\\evil.json",
        "C:\\evil.json",
        "C:evil.json",
        "encoder/part0/evil.json",
        "other/part0.json",
        "encoder/",
        "encoder/.json",
        ".hidden.json",
        "~/evil.json",
        "$HOME.json",
        "evil.py",
        "evil.pkl",
        "evil.json.py",
        "EVIL.json",
        "evil.json\n",
        "ev\x00il.json",
        "evil.json ",
        "ｅvil.json",
        "\u202elive.json",
        "a" * 300 + ".json",
        "",
    ],
)
def test_a_member_of_another_name_is_refused(tmp_path: Path, name: str) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = crafted(inside, [GOOD, *sorted(MEMBERS.items()), (name, b"{}")])
    with pytest.raises(ModelFileError, match=r"crafted\.unruly: (refused|not a whole)"):
        open_container(path)
    assert [p.name for p in tmp_path.rglob("*")] == ["inside", "crafted.unruly"]


def link(entry: zipfile.ZipInfo) -> None:
    if entry.filename == "model.json":
        entry.external_attr = 0o120777 << 16


def deflated(entry: zipfile.ZipInfo) -> None:
    if entry.filename == "model.json":
        entry.compress_type = zipfile.ZIP_DEFLATED


def extra(entry: zipfile.ZipInfo) -> None:
    if entry.filename == "model.json":
        entry.extra = struct.pack("<HH4s", 0x7075, 4, b"abcd")


@pytest.mark.parametrize(
    ("change", "message"),
    [(link, "not a plain file"), (deflated, "is compressed"), (extra, "of another program")],
)
def test_a_member_of_another_sort_is_refused(
    tmp_path: Path, change: Callable[[zipfile.ZipInfo], None], message: str
) -> None:
    path = crafted(tmp_path, [GOOD, *sorted(MEMBERS.items())], change)
    with pytest.raises(ModelFileError, match=message):
        open_container(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = crafted(tmp_path, [GOOD, ("model.json", b"{}"), ("model.json", b"[]")])
    with pytest.raises(ModelFileError, match=r"model\.json is there twice"):
        open_container(path)


def test_too_many_members_are_refused(tmp_path: Path) -> None:
    path = crafted(tmp_path, [GOOD, *((f"m{i}.json", b"{}") for i in range(300))])
    with pytest.raises(ModelFileError, match="301 members"):
        open_container(path)


def overlapping(data: bytes) -> bytes:
    """All entries of the table of contents point at the first member's bytes."""
    central = data.index(b"PK\x01\x02")
    out = bytearray(data)
    while (central := data.find(b"PK\x01\x02", central + 1)) >= 0:
        out[central + 42 : central + 46] = struct.pack("<I", 0)
    return bytes(out)


def larger(data: bytes) -> bytes:
    """The last entry claims four gigabytes."""
    central = data.rindex(b"PK\x01\x02")
    out = bytearray(data)
    out[central + 20 : central + 28] = struct.pack("<II", 2**32 - 2, 2**32 - 2)
    return bytes(out)


@pytest.mark.parametrize("after", [overlapping, larger])
def test_sizes_that_are_not_true_are_refused(
    tmp_path: Path, after: Callable[[bytes], bytes]
) -> None:
    path = crafted(tmp_path, [GOOD, *sorted(MEMBERS.items())], after=after)
    with pytest.raises(ModelFileError, match="overlap, or are larger than the file"):
        open_container(path)


BOMB = """
import re, sys
from pathlib import Path
from unruly.errors import ModelFileError
from unruly.model.storage import open_container
try:
    open_container(sys.argv[1])
except ModelFileError as error:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
    print("refused" in str(error), int(peak[1]) // 1024)
"""


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.unruly"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"0" * 64
        archive.writestr(GOOD[0], GOOD[1])
        with archive.open("model.json", "w") as member:
            for _ in range(1_000):
                member.write(bytes(1_000_000))
    path.write_bytes(signed(path.read_bytes()))
    assert path.stat().st_size < 2_000_000
    command = [sys.executable, "-c", BOMB, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    refused, megabytes = done.stdout.split()
    assert refused == "True"
    assert int(megabytes) < 500


@pytest.mark.parametrize(
    "manifest",
    [
        b"[]",
        b"{}",
        b'{"format": "2"}',
        b'{"format": 2}',
        b'{"format": 2, "versions": []}',
        b'{"format": true, "versions": {}}',
        b"[" * 200_000,
        b"\xff\xfe",
        b"1" * 10_000,
    ],
)
def test_a_senseless_manifest_is_refused(tmp_path: Path, manifest: bytes) -> None:
    with pytest.raises(ModelFileError, match=r"crafted\.unruly"):
        open_container(crafted(tmp_path, [(MANIFEST, manifest)]))


def test_json_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    path = crafted(tmp_path, [GOOD, ("model.json", b"[" * 200_000)])
    with pytest.raises(ModelFileError, match=r"model\.json is not JSON"):
        open_container(path).read_json("model.json")


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b'["\\ud800"]', "surrogates not allowed"),
        (b'{"\\uDC00x": 1}', "surrogates not allowed"),
        (b"[NaN]", "NaN is no number"),
        (b"-Infinity", "-Infinity is no number"),
        (b"[1" + b"0" * 40 + b"]", "is too large"),
    ],
)
def test_values_that_unruly_never_writes_are_refused(
    tmp_path: Path, value: bytes, what: str
) -> None:
    path = tmp_path / "odd.unruly"
    write_container(path, {"model.json": value}, VERSIONS)
    with pytest.raises(ModelFileError, match=f"model.json is not JSON that unruly wrote: .*{what}"):
        open_container(path).read_json("model.json")


def test_a_text_that_only_looks_like_half_a_character_is_read(tmp_path: Path) -> None:
    path, value = tmp_path / "even.unruly", ["\\ud800", "\U0001f600", 2**128 - 1, -1.5e300]
    write_container(path, {"model.json": to_json(value)}, VERSIONS)
    assert open_container(path).read_json("model.json") == value


@pytest.mark.parametrize("name", ["../a.json", "manifest.json", "a.txt"])
def test_such_names_are_never_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not a name for a member"):
        write_container(tmp_path / "a.unruly", {name: b"{}"}, VERSIONS)
