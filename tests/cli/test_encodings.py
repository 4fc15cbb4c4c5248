"""A table that western Excel wrote goes through every command that reads one."""

from __future__ import annotations

import codecs
from pathlib import Path

from tests.cli.conftest import Unruly

GOOD, BAD = ("schön", "großartig", "prächtig"), ("schäbig", "fürchterlich", "enttäuschend")
WARNING = "warning: kunden.csv is not UTF-8: read as Windows-1252; line 2 then reads "


def table(rows: int = 60) -> str:
    """Semicolons, quotes and Windows line ends, as a German Excel saves them."""
    lines = ["Kundennr;Kommentar"]
    for row in range(rows):
        words = (GOOD, BAD)[row % 2]
        lines.append(f'K{row:03};"{words[row % 3]}; {words[row % 5 % 3]} – für {row} €"')
    return "".join(line + "\r\n" for line in lines)


def test_every_command_reads_windows_1252(unruly: Unruly, tmp_path: Path) -> None:
    (tmp_path / "kunden.csv").write_bytes(table().encode("cp1252"))
    made = unruly("new", "laden", "--data", "kunden.csv", "--classes", "gut,schlecht")
    assert made.code == 0
    assert made.err.count(WARNING) == 1
    assert "ids: Kundennr" in made.err
    project = tmp_path / "laden" / "unruly.toml"
    text = project.read_text("utf-8").replace('["gut"]', str(list(GOOD)).replace("'", '"'))
    text = text.replace('["schlecht"]', str(list(BAD)).replace("'", '"'))
    project.write_text(text + '\n[encoder]\nname = "lsa"\n', "utf-8")
    for args in (["check"], ["fit", "-o", "laden.unruly"], ["suggest"]):
        done = unruly(args[0], "laden", *args[1:])
        assert done.code == 0, done.err
        assert done.err.count(WARNING) == 1, args
    assert "Windows-1252" not in unruly("check", "laden", "--quiet").err
    (tmp_path / "answers.csv").write_bytes("id;label\nK000;gut\n".encode("utf-16"))
    assert unruly("label", "laden", "--import", "answers.csv").code == 0
    assert "K000" in (tmp_path / "laden" / "labels.csv").read_text("utf-8")


def test_predictions_are_utf8_with_rows_and_ids_as_they_were(
    unruly: Unruly, tmp_path: Path
) -> None:
    (tmp_path / "kunden.csv").write_bytes(table().encode("cp1252"))
    assert (
        unruly("new", "laden", "--data", "kunden.csv", "--classes", "schön,fürchterlich").code == 0
    )
    assert unruly("fit", "laden", "-o", "m.unruly", "--encoder", "lsa").code == 0
    (tmp_path / "unicode.tsv").write_bytes(table().replace(";", "\t").encode("utf-16"))
    for name, separator in (("kunden.csv", ";"), ("unicode.tsv", "\t")):
        out = tmp_path / f"out{Path(name).suffix}"
        done = unruly("predict", "m.unruly", name, "-o", out)
        assert done.code == 0, done.err
        assert out.read_bytes().startswith(codecs.BOM_UTF8)
        lines = out.read_bytes().decode("utf-8-sig").splitlines()
        before = table().replace(";", separator).splitlines()
        assert all(new.startswith(old + separator) for old, new in zip(before, lines, strict=True))
    assert "Windows-1252" not in done.err  # a byte-order mark leaves no doubt


def test_a_picture_is_no_table(unruly: Unruly, tmp_path: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde"
    (tmp_path / "x.csv").write_bytes(picture)
    done = unruly("new", "p", "--data", "x.csv", "--classes", "a,b")
    assert done.code == 2
    assert "x.csv: this is a picture (PNG), not a table of text" in done.err
    assert not (tmp_path / "p").exists()
