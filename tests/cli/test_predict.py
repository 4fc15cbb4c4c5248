"""`unruly predict`: the input's columns and order, and what the model says."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly, command_line

ADDED = ["label", "confidence", "probability_ham", "probability_spam", "decided_by", "sources"]


def read(path: Path) -> pl.DataFrame:
    if path.suffix == ".jsonl":
        return pl.read_ndjson(path)
    return pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_and_order_are_kept(unruly: Unruly, fitted: Path, ending: str) -> None:
    data = fitted.parent / "spam" / "comments.csv"
    done = unruly("predict", fitted, data, "-o", f"out.{ending}")
    assert (done.code, done.out) == (0, ""), done.err
    assert "73 documents: ham" in done.err
    before, after = pl.read_csv(data), read(Path(f"out.{ending}"))
    assert after.columns == [*before.columns, *ADDED]
    assert after["comment"].to_list() == before["comment"].to_list()
    assert set(after["label"]) <= {"ham", "spam"}
    assert set(after["decided_by"]) <= {"both", "denoiser", "classifier"}
    assert (after["confidence"] >= 0.5 - 1e-6).all()
    total = after["probability_ham"] + after["probability_spam"]
    assert ((total - 1).abs() < 1e-3).all()


def test_a_project_stands_for_its_files(unruly: Unruly, fitted: Path) -> None:
    done = unruly(
        "predict", fitted, fitted.parent / "spam", "--split", "train", "-o", "out.csv", "--json"
    )
    plain = json.loads(done.out)
    assert plain["documents"] == 73
    assert sum(plain["labels"].values()) == 73
    assert pl.read_csv("out.csv").height == 73


def test_the_text_column_may_be_named(unruly: Unruly, fitted: Path) -> None:
    Path("two.csv").write_text("q,a\nplease do subscribe to us,one\nlovely song,two\n")
    refused = unruly("predict", fitted, "two.csv", "-o", "out.csv")
    assert refused.code == 2
    assert "which column holds the text is not obvious" in refused.err
    assert unruly("predict", fitted, "two.csv", "-o", "out.csv", "--text", "q").code == 0
    assert pl.read_csv("out.csv")["sources"].to_list() == [
        "subscribe",
        "about_the_song; feeling; short",
    ]


@pytest.mark.parametrize(
    ("model", "data", "out", "message"),
    [
        ("gone.unruly", "texts.csv", "out.csv", "gone.unruly: there is no such file"),
        ("broken.unruly", "texts.csv", "out.csv", "broken.unruly: not a whole unruly model"),
        ("spam.unruly", "gone.csv", "out.csv", "gone.csv: there is no such file"),
        ("spam.unruly", "texts.csv", "out.xlsx", "out.xlsx: cannot write '.xlsx' files"),
        ("spam.unruly", "texts.csv", "no/out.csv", "the folder no does not exist"),
        ("spam.unruly", "null.jsonl", "out.csv", "null.jsonl, line 2"),
    ],
)
def test_bad_input_is_one_line_and_the_old_output_stays(
    unruly: Unruly, fitted: Path, model: str, data: str, out: str, message: str
) -> None:
    Path("spam.unruly").write_bytes(fitted.read_bytes())
    Path("broken.unruly").write_bytes(fitted.read_bytes()[:-100])
    Path("texts.csv").write_text("text\nhello\n")
    Path("null.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    Path("out.csv").write_text("precious")
    done = unruly("predict", model, data, "-o", out, "--on-bad-row", "error")
    assert done.code == 2
    assert message in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert Path("out.csv").read_text() == "precious"
    assert not [path for path in Path().iterdir() if path.name.startswith(".out")]


def test_standard_input_to_standard_output(fitted: Path, tmp_path: Path) -> None:
    csv = b"comment,stars\nplease subscribe,007\nlovely song,2.50\n"
    jsonl = b'{"text": "please subscribe", "n": 1}\n{"text": "lovely song", "n": 2}\n'
    for given, first in ((csv, b"comment,stars,label"), (jsonl, b'{"text":"please subscribe"')):
        done = subprocess.run(
            command_line(["predict", str(fitted), "-"]),
            input=given,
            capture_output=True,
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(first)
        assert len(done.stdout.splitlines()) == len(given.splitlines())
        assert b"text column: " in done.stderr
        assert b"standard output: 2 documents" in done.stderr
    assert (
        b"007"
        in subprocess.run(
            command_line(["predict", str(fitted), "-"]), input=csv, capture_output=True, timeout=60
        ).stdout
    )


def test_without_an_output_it_asks_for_one(unruly: Unruly, fitted: Path) -> None:
    Path("texts.csv").write_text("text\nhello\n")
    done = unruly("predict", fitted, "texts.csv")
    assert done.code == 2
    assert "name the file to write by -o" in done.err


def test_model_and_data_swapped(unruly: Unruly, fitted: Path) -> None:
    Path("texts.csv").write_text("text,label\nhello,ham\n")
    for args in (
        ("predict", "texts.csv", fitted, "-o", "o.csv"),
        ("evaluate", "texts.csv", fitted),
    ):
        done = unruly(*args)
        assert done.code == 2
        assert "swap them, MODEL comes first" in done.err


def test_rows_that_cannot_be_used(unruly: Unruly, fitted: Path) -> None:
    Path("null.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    kept = json.loads(unruly("predict", fitted, "null.jsonl", "-o", "k.csv", "--json").out)
    assert (kept["documents"], kept["missing"], kept["skipped"]) == (2, 1, 0)
    args = ("--on-bad-row", "skip", "--skipped", "skipped.txt", "--json")
    left = json.loads(unruly("predict", fitted, "null.jsonl", "-o", "s.csv", *args).out)
    assert (left["documents"], left["skipped"]) == (1, 1)
    assert "line 2" in Path("skipped.txt").read_text()


def test_a_projects_own_functions_need_no_option(unruly: Unruly, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "rules.py").write_text(
        "import unruly\n\n@unruly.rule\ndef long(row):\n"
        "    return 'ham' if len(row['text']) > 20 else 'spam'\n"
    )
    (folder / "texts.csv").write_text("text\n" + "a rather long text of words\nshort\n" * 6)
    (folder / "unruly.toml").write_text(
        'encoder = "lsa"\n[task]\nclasses = ["ham", "spam"]\n'
        '[data]\ntrain = "texts.csv"\ntest = "texts.csv"\n'
        '[[source]]\nname = "long"\n'
        'rule = [{ function = { file = "rules.py", name = "long" } }]\n'
    )
    assert unruly("fit", folder, "-o", "own.unruly", "-q").code == 0
    done = unruly("predict", "own.unruly", folder, "-o", "out.csv")
    assert done.code == 0, done.err
    alone = unruly("predict", "own.unruly", folder / "texts.csv", "-o", "out.csv")
    assert alone.code == 2
    assert "--functions" in alone.err


def test_rows_without_a_text_may_stay_without_a_label(unruly: Unruly, fitted: Path) -> None:
    Path("rows.csv").write_text("id,comment\n1,subscribe\n2,\n")
    done = unruly("predict", fitted, "rows.csv", "-o", "out.csv", "--missing", "empty", "--json")
    assert done.code == 0
    assert json.loads(done.out)["labels"] == {"ham": 0, "spam": 1}
    assert Path("out.csv").read_text().splitlines()[2] == "2,,,,,,,"


def test_formulas_are_defused_when_asked(unruly: Unruly, fitted: Path) -> None:
    Path("rows.csv").write_text("comment,note\nsubscribe,=1+1\n")
    for options, cell in (((), "=1+1"), (("--defuse",), "'=1+1")):
        assert unruly("predict", fitted, "rows.csv", "-o", "out.csv", *options).code == 0
        assert Path("out.csv").read_text().splitlines()[1].split(",")[1] == cell


def test_a_json_array_by_standard_input(fitted: Path, tmp_path: Path) -> None:
    command = command_line(["predict", str(fitted), "-", "-q"])
    for data, code, said in (
        (b'[{"comment": "subscribe"}]', 0, b""),
        (b"comment\n", 2, b"error: standard input: there is a header"),
    ):
        done = subprocess.run(command, input=data, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == code
        assert done.stderr.startswith(said)
    assert b"/tmp" not in done.stderr


def test_predictions_are_not_lost_in_a_closed_output(fitted: Path, tmp_path: Path) -> None:
    data = fitted.parent / "spam" / "comments.csv"
    args = command_line(["predict", str(fitted), str(data), "-o", "-"])
    line = f"{' '.join(map(shlex.quote, args))} >&-"
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "standard output is closed: name the file to write by -o" in done.stderr


def test_a_broken_file_among_many_is_named_and_the_rest_is_done(
    unruly: Unruly, fitted: Path
) -> None:
    folder = Path("many")
    folder.mkdir()
    for number in range(4):
        pl.DataFrame({"comment": [f"subscribe {number}", "lovely song"]}).write_parquet(
            folder / f"{number}.parquet"
        )
    (folder / "2.parquet").write_bytes(b"PAR1 and no more")
    refused = unruly("predict", fitted, folder, "-o", "out.parquet")
    assert refused.code == 2
    assert "2.parquet: cannot be read as Parquet" in refused.err
    assert not Path("out.parquet").exists()
    done = unruly("predict", fitted, folder, "-o", "out.parquet", "--skip-bad", "--json")
    assert done.code == 0, done.err
    plain = json.loads(done.out)
    assert (plain["documents"], plain["skipped"]) == (6, 0)
    assert "many/2.parquet" in plain["broken"][0]
    assert (
        "left out: many/2.parquet"
        in unruly("predict", fitted, folder, "-o", "out.parquet", "--skip-bad").err
    )
    comments = pl.read_parquet("out.parquet")["comment"].to_list()
    assert comments[::2] == ["subscribe 0", "subscribe 1", "subscribe 3"]
