"""Whatever is wrong with a project ends in one clear line, the right exit code, and no harm done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.conftest import Done, Unruly

HEAD = '[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "texts.csv"\ntext = "text"\n'
SOURCE = '[[source]]\nname = "a"\nrule = [{ label = "spam", keywords = ["free"] }]\n'
TEXTS = "id,text,label\nx,free cash,spam\ny,nice song,ham\n"


@dataclass(frozen=True)
class Case:
    """What is wrong, how to make it so, and what the one line must say."""

    name: str
    spoil: Callable[[Path], None]
    says: tuple[str, ...]
    code: int = 2


def case(
    name: str, *says: str, toml: str = HEAD + SOURCE, code: int = 2, **files: str | bytes
) -> Case:
    """`files`: what to write, by name, `__` for the dot."""

    def spoil(folder: Path) -> None:
        (folder / "unruly.toml").write_text(toml, encoding="utf-8")
        for file, content in files.items():
            raw = content.encode() if isinstance(content, str) else content
            (folder / file.replace("__", ".")).write_bytes(raw)

    return Case(name, spoil, says, code)


def rule(body: str) -> str:
    return f'{HEAD}[[source]]\nname = "a"\n[[source.rule]]\nlabel = "spam"\n{body}\n'


def looping(folder: Path) -> None:
    (folder / "unruly.toml").write_text(rule('keywords_file = "words.txt"'))
    (folder / "words.txt").symlink_to(folder / "words.txt")


RAISING = """\
from unruly import rule

@rule
def is_free(row):
    return "spam" if 1 / len(row.text.replace("nice song", "")) else None
"""

CASES = [
    case(
        "a class in capitals",
        "unruly.toml:9: source 'a', rule 1: 'Spam' is not a class: the classes are ham, spam; did you mean 'spam'?",
        toml=rule('keywords = ["free"]').replace('label = "spam"', 'label = "Spam"'),
    ),
    case(
        "a field by its name",
        "unruly.toml:10: source 'a', rule 1: 'name' is not a key of field; did you mean 'column'?",
        toml=rule('field = { name = "label", equal = "spam" }'),
    ),
    case(
        "missing file",
        "gone.csv",
        "there is no such file",
        toml=HEAD.replace("texts", "gone") + SOURCE,
    ),
    case("empty file", "texts.csv", "empty", texts__csv=""),
    case(
        "broken quote",
        "texts.csv",
        "line 3",
        "quote",
        "(or leave such rows out: --on-bad-row skip)",
        texts__csv='text\nfine\n"broken\nmore\n',
    ),
    case(
        "a comma too many",
        "texts.csv, line 3: 3 fields, but the header has 2",
        "(or leave such rows out: --on-bad-row skip)",
        texts__csv="text,label\na,spam\nb,c,spam\n",
    ),
    case(
        "wrong column",
        "texts.csv",
        "there is no column 'comment'",
        "columns are id, text, label",
        toml=HEAD.replace('text = "text"', 'text = "comment"') + SOURCE,
    ),
    case(
        "no column named",
        "texts.csv",
        'not obvious: pass it with text = "..." under [data] in unruly.toml (one of q, a)',
        toml=HEAD.replace('text = "text"\n', "") + SOURCE,
        texts__csv="q,a\nx,y\n",
    ),
    case(
        "mixed encodings",
        "texts.csv",
        "line 3",
        "UTF-8",
        texts__csv="text\ncafé\n".encode() + "café\n".encode("latin-1"),
    ),
    case(
        "null text",
        "texts.jsonl",
        "line 2",
        "missing",
        toml=HEAD.replace("csv", "jsonl") + SOURCE,
        texts__jsonl='{"text": "a"}\n{"text": null}\n',
    ),
    case(
        "text that is a number",
        "texts.jsonl",
        "line 2",
        "7",
        "(or leave such rows out: --on-bad-row skip)",
        toml=HEAD.replace("csv", "jsonl") + SOURCE,
        texts__jsonl='{"text": "a"}\n{"text": 7}\n',
    ),
    case(
        "duplicate ids",
        "texts.csv, line 3",
        "the id 'x' is taken already",
        toml=HEAD + 'id = "id"\n' + SOURCE,
        texts__csv="id,text\nx,a\nx,b\n",
    ),
    case(
        "unknown class in a rule",
        "unruly.toml:8: source 'a', rule 1: ",
        "'eggs' is not a class",
        toml=HEAD + SOURCE.replace('"spam"', '"eggs"'),
    ),
    case(
        "empty keyword list",
        "unruly.toml:10: source 'a', rule 1: ",
        "the list of keywords is empty",
        toml=rule("keywords = []"),
    ),
    case(
        "invalid regex",
        "unruly.toml:10: source 'a', rule 1: ",
        "at character 5",
        toml=rule("pattern = 'free(cash'"),
    ),
    case(
        "regex bomb for the linear engine",
        "unruly.toml:10: source 'a', rule 1: ",
        toml=rule("pattern = '(\\w{1000}){1000}'"),
    ),
    case(
        "missing file reference",
        "unruly.toml:10: source 'a', rule 1: ",
        "there is no file words.txt",
        toml=rule('keywords_file = "words.txt"'),
    ),
    Case(
        "cyclic file reference",
        looping,
        ("unruly.toml:10: source 'a', rule 1: ", "the link words.txt leads back to itself"),
    ),
    case(
        "two sources with one name",
        "unruly.toml:10: two sources are named 'a'",
        "unruly.toml:7",
        toml=HEAD + SOURCE + SOURCE,
    ),
    case(
        "one class only",
        "unruly.toml:2: one class only ('spam')",
        toml=HEAD.replace('"ham", ', "") + SOURCE,
    ),
    case("zero sources", "unruly.toml: no sources", toml=HEAD),
    case(
        "a rule function that raises",
        "unruly.toml:8: source 'a', rule 1, row id 1",
        "ZeroDivisionError",
        toml=f'{HEAD}[[source]]\nname = "a"\nrule = [{{ function = {{ file = "rules.py", name = "is_free" }} }}]\n',
        rules__py=RAISING,
    ),
    case(
        "a gold label that is not a class",
        "texts.csv, line 3",
        "the label 'eggs' is not a class",
        toml=HEAD + 'label = "label"\n' + SOURCE,
        texts__csv="text,label\na,spam\nb,eggs\n",
    ),
    case("not TOML", "unruly.toml:3: not valid TOML", toml="[task]\n\nclasses = ham\n"),
    case(
        "misspelt key", "unruly.toml:1: unknown key 'tsak': did you mean 'task'?", toml="[tsak]\n"
    ),
    case(
        "no data",
        'has no train file: set train = "..."',
        toml=HEAD.partition("[data]")[0] + SOURCE,
    ),
]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "texts.csv").write_text(TEXTS)
    (tmp_path / "votes.parquet").write_text("precious")
    return folder


def is_one_clear_line(done: Done, case: Case) -> None:
    assert done.code == case.code, done.err
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("error: ")
    for words in case.says:
        assert words in done.err, done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_vote_refuses_in_one_line_and_leaves_the_old_output(
    unruly: Unruly, project: Path, tmp_path: Path, case: Case
) -> None:
    case.spoil(project)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = unruly("vote", project, "-o", "votes.parquet", "-q", "--on-bad-row", "error")
    is_one_clear_line(done, case)
    assert done.out == ""
    assert (tmp_path / "votes.parquet").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == before


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_check_refuses_in_one_line(unruly: Unruly, project: Path, case: Case) -> None:
    case.spoil(project)
    is_one_clear_line(unruly("check", project, "-q", "--on-bad-row", "error"), case)


@pytest.mark.parametrize("case", [CASES[2], CASES[10], CASES[15]], ids=lambda case: case.name)
def test_the_same_in_a_process_of_its_own(
    real: Unruly, project: Path, tmp_path: Path, case: Case
) -> None:
    case.spoil(project)
    is_one_clear_line(real("vote", project, "-o", "votes.parquet", "--on-bad-row", "error"), case)
    assert (tmp_path / "votes.parquet").read_text() == "precious"


def test_a_missing_optional_library_names_the_extra(project: Path, tmp_path: Path) -> None:
    (project / "unruly.toml").write_text(rule("polarity = { above = 0.5 }"))
    code = (
        "import sys\nsys.modules['textblob'] = None\nfrom unruly.cli.main import main\n"
        f"main(['vote', {str(project)!r}, '-o', 'votes.parquet'])"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1, run.stderr
    assert "unruly.toml:8: source 'a', rule 1" in run.stderr
    assert "pip install 'unruly[sentiment]'" in run.stderr
    assert (tmp_path / "votes.parquet").read_text() == "precious"


def test_failed_examples(unruly: Unruly, project: Path) -> None:
    (project / "unruly.toml").write_text(
        rule('keywords = ["free"]\nexamples = ["free!", "gratis"]\ncounter_examples = ["so free"]')
    )
    done = unruly("check", project, "--on-bad-row", "error")
    assert done.code == 1
    assert done.err == "error: 2 examples failed: change the rule or the example\n"
    assert f"{project / 'unruly.toml'}:11: source 'a', rule 1 " in done.out
    assert done.out.count("'gratis'") == done.out.count("'so free'") == 1
    plain = json.loads(unruly("check", project, "--json").out)
    assert [failure["text"] for failure in plain["failures"]] == ["gratis", "so free"]
    assert [(f["where"]["file"], f["where"]["line"]) for f in plain["failures"]] == [
        (str(project / "unruly.toml"), 11),
        (str(project / "unruly.toml"), 12),
    ]


@pytest.mark.parametrize("output", ["votes.xlsx", "votes", "nowhere/votes.csv"])
def test_an_output_that_cannot_be_written(unruly: Unruly, project: Path, output: str) -> None:
    (project / "unruly.toml").write_text(HEAD + SOURCE)
    done = unruly("vote", project, "-o", output)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert output in done.err
