"""JSON arrays and Excel sheets are read; what is not one is refused in one line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from unruly.errors import InputError
from unruly.texts import frame_table
from unruly.texts.corpus import Corpus

SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def workbook(path: Path, rows: list[list[str]]) -> Path:
    """The least that is an Excel file."""
    cells = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{c}</t></is></c>' for c in row) + "</row>"
        for row in rows
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="one" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEET}"><sheetData>{cells}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def test_a_sheet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    path = workbook(
        tmp_path / "x.xlsx", [["text", "note"], ["subscribe", "007"], ["a song", "+49"]]
    )
    corpus = Corpus.read(path)
    assert corpus.texts.to_list() == ["subscribe", "a song"]
    assert corpus.columns["note"].to_list() == ["007", "+49"]


def test_an_array_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"text": "a", "n": 1}, {"text": null}, {"text": "b", "n": 2.5}]'
    )
    corpus = Corpus.read(tmp_path / "x.json")
    assert corpus.texts.to_list() == ["a", "", "b"]
    assert corpus.missing_count == 1


@pytest.mark.parametrize("content", ["{}", "[1]", "[", '{"text": ["a"]}', "", "[]", "[" * 100_000])
def test_other_json_is_refused_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError) as caught:
        Corpus.read(tmp_path / "x.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"PK\x03\x04 nothing", b"text\na\n"])
def test_a_damaged_workbook_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("fastexcel")
    (tmp_path / "x.xlsx").write_bytes(content)
    with pytest.raises(InputError) as caught:
        Corpus.read(tmp_path / "x.xlsx")
    assert "\n" not in str(caught.value)


def test_a_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel")
    path = workbook(tmp_path / "x.xlsx", [["text"], ["a"]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/more.xml", b" " * 3_000_000)
    monkeypatch.setattr(frame_table, "LARGEST", 1_000_000)
    with pytest.raises(InputError, match="read whole: save it as CSV or Parquet"):
        Corpus.read(path)


def test_a_number_that_no_column_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(f'[{{"text": "a", "n": 1}}, {{"text": "b", "n": {"9" * 60}}}]')
    with pytest.raises(InputError, match=r"x\.json: cannot be read as a table") as caught:
        Corpus.read(path)
    assert "\n" not in str(caught.value)
