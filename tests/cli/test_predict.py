"""`unruly predict` and `encode`: the file that comes out."""

from __future__ import annotations

import json
import os
import platform
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.conftest import Unruly, command_line

from unruly.model.weak_classifier import WeakClassifier, load

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


@pytest.mark.parametrize("command", ["predict", "encode"])
def test_the_number_of_workers_changes_no_byte(unruly: Unruly, fitted: Path, command: str) -> None:
    table = pl.read_csv(fitted.parent / "spam" / "comments.csv")
    pl.concat([table] * 300).write_parquet("many.parquet")  # 21,900 rows: three batches
    for workers in ("1", "3"):
        out = f"{workers}.parquet"
        done = unruly(command, fitted, "many.parquet", "-o", out, "--workers", workers)
        assert done.code == 0, done.err
        assert "21,900 documents" in done.err
    assert Path("1.parquet").read_bytes() == Path("3.parquet").read_bytes()


def test_only_what_the_model_needs_is_imported(fitted: Path, tmp_path: Path) -> None:
    """One text is answered in less than a second, most of which is imports."""
    (tmp_path / "one.csv").write_text("comment\nsubscribe to my channel\n", encoding="utf-8")
    code = (
        "import sys\n"
        "from unruly.cli.main import run\n"
        f"assert run(['predict', {str(fitted)!r}, 'one.csv', '-o', 'out.csv']) == 0\n"
        "print(*sys.modules)"
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    unused = {
        "regex",
        "sklearn",
        "sqlite3",
        "ssl",
        "unruly.denoising.denoised",
        "unruly.features.minilm",
        "unruly.labelling",
        "unruly.model.evaluation",
        "unruly.model.explanation",
        "unruly.project.project",
        "unruly.prompts",
    }
    assert unused.isdisjoint(done.stdout.split())


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
    for given, first in ((csv, b"comment,stars,label"), (jsonl, jsonl[:35] + b',"label":')):
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


def test_answers_come_before_the_end_of_the_input(fitted: Path, tmp_path: Path) -> None:
    """A writer that waits for each answer before it goes on, as in a conversation, is not kept waiting."""
    room = tmp_path / "room"
    room.mkdir()
    running = subprocess.Popen(
        command_line(["predict", str(fitted), "-", "-q"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(room)},
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"id;comment\n")
    for number in range(3):
        running.stdin.write(b"%d;please subscribe\n" % number)
        running.stdin.flush()
        if not number:
            assert running.stdout.readline().startswith(b"id;comment;label;confidence")
        assert running.stdout.readline().startswith(b"%d;please subscribe;spam;" % number)
    assert not list(room.iterdir())  # nothing of it is kept on disk
    running.stdin.close()
    assert running.stdout.read() == b""
    running.stdout.close()
    assert running.wait(60) == 0


@pytest.mark.parametrize(
    ("args", "given"),
    [
        (["predict", "-", "-o", "out.parquet"], b"text\nplease subscribe\n"),
        (["encode", "-", "-o", "out.parquet"], b"text\nplease subscribe\n"),
        (["predict", "-"], b'[{"text": "please subscribe"}]'),
        (["predict", "in.parquet", "-o", "-"], b""),
    ],
)
def test_what_needs_a_temporary_file_leaves_none(
    fitted: Path, tmp_path: Path, args: list[str], given: bytes
) -> None:
    room = tmp_path / "room"
    room.mkdir()
    pl.DataFrame({"text": ["please subscribe"]}).write_parquet(tmp_path / "in.parquet")
    command, *rest = args
    environment = {**os.environ, "TMPDIR": str(room)}
    left = room / f"unruly-{platform.node()}-99999999-x"  # of a process that is no more
    left.mkdir()
    done = subprocess.run(
        command_line([command, str(fitted), *rest]),
        input=given,
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not [path for path in room.iterdir() if path.name.startswith(("unruly-", "tmp"))]


def test_without_an_output_it_asks_for_one(unruly: Unruly, fitted: Path) -> None:
    Path("texts.csv").write_text("text\nhello\n")
    done = unruly("predict", fitted, "texts.csv")
    assert done.code == 2
    assert "pass the file to write with -o" in done.err


def test_a_text_in_place_of_a_file_is_pointed_to_explain(unruly: Unruly, fitted: Path) -> None:
    for args in ((), ("-o", "out.csv")):
        done = unruly("predict", fitted, "I was charged twice", *args)
        assert done.code == 2
        assert "there is no such file; for one text: unruly explain" in done.err
        assert done.err.rstrip().endswith("'I was charged twice'")


def two_columns(**more: list[str]) -> Path:
    """A file in which two columns may hold the texts."""
    rows = {"title": ["a", "b"], "comment": ["please subscribe", "nice song"], **more}
    pl.DataFrame(rows).write_csv("two.csv")
    return Path("two.csv")


def test_the_column_of_the_training_texts_is_taken_again(unruly: Unruly, fitted: Path) -> None:
    """The starter's texts are in the column comment."""
    data = two_columns(text=["neither", "nor"])
    done = unruly("predict", fitted, data, "-o", "out.csv")
    assert done.code == 0, done.err
    assert "text column: comment, as in training\n" in done.err
    labels = pl.read_csv("out.csv")["label"].to_list()
    assert labels == ["spam", "ham"]
    named = unruly("predict", fitted, data, "-o", "out.csv", "--text", "title", "--json")
    assert (json.loads(named.out)["text"], "as in training" in named.err) == ("title", False)
    data.write_text("title,body\na,please subscribe\n")  # the column is not there
    refused = unruly("predict", fitted, data, "-o", "out.csv")
    assert "which column holds the text is not obvious: pass it with --text (one" in refused.err
    refused = unruly("explain", fitted, "--data", data, "--id", "0")
    assert "pass it with --text-column (one" in refused.err
    refused = unruly("diff", fitted, fitted, "--data", data)
    assert 'pass it with text = "..." in a project' in refused.err
    data.write_text("text,comment\nplease subscribe,7\n")  # it is, but holds numbers
    numbers = unruly("predict", fitted, data, "-o", "out.csv")
    assert "text column: text\n" in numbers.err


@pytest.mark.parametrize(
    "args",
    [
        ("predict", "two.csv", "-o", "out.csv"),
        ("encode", "two.csv", "-o", "out.parquet"),
        ("evaluate", "two.csv"),
        ("report", "two.csv", "-o", "out.html"),
        ("explain", "--data", "two.csv", "--id", "0"),
    ],
    ids=lambda args: args[0],
)
def test_every_command_knows_the_column(
    unruly: Unruly, fitted: Path, args: tuple[str, ...]
) -> None:
    two_columns(label=["spam", "ham"])
    command, *rest = args
    done = unruly(command, fitted, *rest, "--json")
    assert done.code == 0, done.err
    if command == "explain":
        assert json.loads(done.out)["text"] == "please subscribe"


def test_two_models_are_compared_on_their_column(unruly: Unruly, fitted: Path) -> None:
    done = unruly("diff", fitted, fitted, "--data", two_columns(), "--json")
    assert done.code == 0, done.err


def test_a_first_text_is_not_taken_for_a_header(unruly: Unruly, fitted: Path) -> None:
    Path("lines.csv").write_text("please subscribe to me\nnice song\n")
    done = unruly("predict", fitted, "lines.csv", "-o", "out.csv")
    assert done.code == 2
    assert "the only column is called 'please subscribe to me'" in done.err
    assert "put a line with a name, such as text, above it" in done.err
    named = unruly(
        "predict", fitted, "lines.csv", "-o", "out.csv", "--text", "please subscribe to me"
    )
    assert named.code == 0


def test_model_and_data_swapped(unruly: Unruly, fitted: Path) -> None:
    Path("texts.csv").write_text("text,label\nhello,ham\n")
    for args in (
        ("predict", "texts.csv", fitted, "-o", "o.csv"),
        ("evaluate", "texts.csv", fitted),
        ("report", "texts.csv", fitted, "-o", "r.html"),
        ("explain", "hello you", fitted),
        ("report", "texts.csv", fitted, "-o", "r.html"),
    ):
        done = unruly(*args)
        assert done.code == 2
        assert "swap them, MODEL comes first" in done.err


def test_rows_that_cannot_be_used(unruly: Unruly, fitted: Path) -> None:
    Path("null.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    kept = json.loads(unruly("predict", fitted, "null.jsonl", "-o", "k.csv", "--json").out)
    assert (kept["documents"], kept["missing"], kept["skipped"]) == (2, 1, 0)
    args = ("--skip-bad", "--skipped", "skipped.txt", "--json")
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
    shown = unruly("report", "own.unruly", folder, "-o", "own.html")
    assert shown.code == 0, shown.err
    alone = unruly("predict", "own.unruly", folder / "texts.csv", "-o", "out.csv")
    assert alone.code == 2
    assert "--functions path/to/rules.py" in alone.err


def test_rows_without_a_text_may_stay_without_a_label(unruly: Unruly, fitted: Path) -> None:
    Path("rows.csv").write_text("id,comment\n1,subscribe\n2,\n")
    done = unruly("predict", fitted, "rows.csv", "-o", "out.csv")
    assert "1 row without a text: labelled by the class shares\n" in done.err
    done = unruly("predict", fitted, "rows.csv", "-o", "out.csv", "--missing", "empty", "--json")
    assert "1 row without a text: left empty\n" in done.err
    assert done.code == 0
    assert json.loads(done.out)["labels"] == {"ham": 0, "spam": 1}
    assert Path("out.csv").read_text().splitlines()[2] == "2,,,,,,,"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_the_delimiter_of_a_file_is_kept(unruly: Unruly, fitted: Path, separator: str) -> None:
    cells = [["id", "comment"], ["007", '"please; subscribe, ""now"""'], ['"8"', "lovely"]]
    Path("in.csv").write_text("".join(separator.join(row) + "\r\n" for row in cells), newline="")
    assert unruly("predict", fitted, "in.csv", "-o", "out.csv", "--text", "comment").code == 0
    lines = Path("out.csv").read_bytes().decode().split("\r\n")
    for line, row in zip(lines, cells, strict=False):
        assert line.startswith(separator.join(row) + separator)
    done = unruly("predict", fitted, "in.csv", "-o", "-", "--text", "comment", "--defuse")
    assert done.out.startswith(separator.join(["id", "comment", "label"]))
    unruly("predict", fitted, "in.csv", "-o", "out.tsv", "--text", "comment")
    assert Path("out.tsv").read_text().startswith("id\tcomment\tlabel")


def test_formulas_are_defused_when_asked(unruly: Unruly, fitted: Path) -> None:
    Path("rows.csv").write_text("comment,note\nsubscribe,=1+1\n")
    for options, cell in (((), "=1+1"), (("--defuse",), "'=1+1")):
        assert unruly("predict", fitted, "rows.csv", "-o", "out.csv", *options).code == 0
        assert Path("out.csv").read_text().splitlines()[1].split(",")[1] == cell


def test_a_json_array_by_standard_input(fitted: Path, tmp_path: Path) -> None:
    command = command_line(["predict", str(fitted), "-", "-q"])
    for data, code, said in (
        (b'[{"comment": "subscribe"}]', 0, b""),
        (b'["subscribe", "nice song"]', 0, b""),
        (b'{"texts": ["subscribe"], "n": 1}\n["nice"]', 2, b"error: standard input"),
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
    assert "standard output is closed: pass the file to write with -o" in done.stderr


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
    (broken,) = plain["broken"]
    assert (broken["file"], broken["start"], broken["rows"]) == ("many/2.parquet", 0, None)
    assert broken["reason"].startswith("cannot be read as Parquet")
    assert (
        "left out: many/2.parquet"
        in unruly("predict", fitted, folder, "-o", "out.parquet", "--skip-bad").err
    )
    comments = pl.read_parquet("out.parquet")["comment"].to_list()
    assert comments[::2] == ["subscribe 0", "subscribe 1", "subscribe 3"]


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
    done = unruly("encode", fitted, "x.parquet", "-o", "out.parquet", "--address", "auto")
    assert done.code == 2
    assert "--address is an option of --engine ray" in done.err
    done = unruly("fit", "spam", "-o", "m.unruly", "--workers", "2")
    assert done.code == 2
    assert "--workers is an option of --engine ray" in done.err
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


def test_where_rules_gave_up_is_said_once_for_all_batches(
    unruly: Unruly, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unruly.model import predictions
    from unruly.rules import Keywords, Pattern
    from unruly.rules.source import Rule, Source
    from unruly.rules.sources import Sources

    bomb = Pattern(r"(a|aa)+\1c", engine="python", seconds=0.01)
    sources = [
        Source("bomb", [Rule("spam", bomb)]),
        Source("advert", [Rule("spam", Keywords(["subscribe"])), Rule("ham", Keywords(["song"]))]),
    ]
    texts = ["subscribe now", "lovely song"] * 10
    model = WeakClassifier(encoder={"name": "lsa", "dim": 4}, cache=False)
    model.fit(texts, sources=Sources(["ham", "spam"], sources)).save("slow.unruly")
    monkeypatch.setattr(
        predictions.predict_file,
        "__kwdefaults__",
        {
            **(predictions.predict_file.__kwdefaults__ or {}),
            "batch_rows": 2,
        },
    )
    Path("data.csv").write_text("text\n" + ("a" * 60 + "\nsong\n") * 3)
    done = unruly("predict", "slow.unruly", "data.csv", "-o", "out.csv", "--json")
    assert done.err.count("timed out") == 1, done.err
    assert "source 'bomb', rule 1 timed out on 3 documents (limit" in done.err
    (fact,) = json.loads(done.out)["given_up"]
    assert (fact["source"], fact["rule"], fact["documents"]) == ("bomb", 1, 3)


@pytest.mark.parametrize("name", ["comments.csv", "labels.csv"])
def test_no_file_of_a_project_is_written_over(
    unruly: Unruly, fitted: Path, spam: Path, name: str
) -> None:
    Path("new.csv").write_text("text\na song\n")
    (spam / "labels.csv").write_text("id,label\n0,spam\n")
    before = (spam / name).read_text()
    done = unruly("predict", fitted, "new.csv", "-o", spam / name)
    assert done.code == 2
    assert f"this is a file of the project {spam}: choose another" in done.err
    assert (spam / name).read_text() == before
    assert unruly("predict", fitted, "new.csv", "-o", spam / "out.csv").code == 0
    assert unruly("predict", fitted, "new.csv", "-o", spam / "out.csv").code == 0
