"""What is named is not what a command needs: a pipe, a folder, a model, a misspelt name, a place that is closed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Done, Unruly, command_line

from unruly.errors import UnrulyError
from unruly.project.project import Project

HEAD = '[task]\nclasses = ["ham", "spam"]\n[data]\ntrain = "texts.csv"\ntext = "text"\n'
SOURCE = '[[source]]\nname = "a"\nrule = [{ label = "spam", keywords = ["free"] }]\n'
CLOSED = "-dac_override,-dac_read_search,-net_bind_service"  # what makes root a user like others


def one_line(done: Done, *says: str) -> None:
    assert done.code == 2, done.out + done.err
    assert done.err.count("\n") == 1, done.err
    assert done.err.startswith("error: ")
    for words in says:
        assert words in done.err, done.err


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "texts.csv").write_text("text\nfree cash\nnice song\n")
    (folder / "unruly.toml").write_text(HEAD + SOURCE)
    return folder


@pytest.mark.parametrize(
    ("header", "says"),
    [("text,text,x", "two columns are named 'text'"), ("text,x,x", "two columns are named 'x'")],
)
def test_two_columns_of_one_name(
    unruly: Unruly, project: Path, fitted: Path, header: str, says: str
) -> None:
    (project / "texts.csv").write_text(f"{header}\nfree,song,1\n")
    one_line(unruly("check", project), "line 1", says)
    data = project / "texts.csv"
    one_line(unruly("predict", fitted, data, "--text", "text", "-o", "out.csv"), says)


def test_a_link_to_nothing_is_an_empty_file(unruly: Unruly, project: Path, fitted: Path) -> None:
    (project / "texts.csv").unlink()
    (project / "texts.csv").symlink_to(os.devnull)
    one_line(unruly("check", project), "the file is empty")
    one_line(unruly("predict", fitted, os.devnull, "-o", "out.csv"), "the file is empty")


def test_a_pipe_is_no_file(unruly: Unruly, project: Path, fitted: Path, tmp_path: Path) -> None:
    (project / "texts.csv").unlink()
    os.mkfifo(project / "texts.csv")
    for command in (
        ("check", project),
        ("predict", fitted, project / "texts.csv", "-o", "out.csv"),
    ):
        one_line(unruly(*command), "a pipe or a device", "standard input")
    os.mkfifo(tmp_path / "pipe.unruly")
    one_line(unruly("explain", "pipe.unruly", "hello"), "a pipe or a device, not a model file")
    (project / "unruly.toml").unlink()
    os.mkfifo(project / "unruly.toml")
    one_line(unruly("check", project), "unruly.toml is not a file")


def test_a_pipe_is_no_output_and_stays(
    unruly: Unruly, spam: Path, fitted: Path, tmp_path: Path
) -> None:
    for name, command in {
        "out.csv": ("predict", fitted, spam / "comments.csv"),
        "new.unruly": ("fit", spam),
        "page.html": ("report", fitted, spam),
    }.items():
        os.mkfifo(tmp_path / name)
        one_line(unruly(*command, "-o", name), f"{name}: cannot write there: it is a pipe")
        assert (tmp_path / name).is_fifo()


def test_a_project_file_that_is_a_folder(unruly: Unruly, tmp_path: Path) -> None:
    (tmp_path / "odd" / "unruly.toml").mkdir(parents=True)
    for name in ("odd", "odd/unruly.toml"):
        one_line(unruly("check", name), "unruly.toml is not a file, but a folder")


@pytest.mark.parametrize(
    "command",
    ["check", "label", "studio --no-open", "suggest", "show", "worth", "fit -o x.unruly"],
)
def test_a_model_where_a_project_is_needed(unruly: Unruly, fitted: Path, command: str) -> None:
    name, *rest = command.split()
    one_line(
        unruly(name, fitted, *rest), "this is a model, but a project", "pass the project's folder"
    )


def test_classes_that_differ_by_a_space(unruly: Unruly, project: Path) -> None:
    text = (HEAD + SOURCE).replace('"ham", "spam"', '"ham", "ham "').replace('"spam"', '"ham "')
    (project / "unruly.toml").write_text(text)
    one_line(unruly("check", project), "unruly.toml:2", "'ham ' begins or ends with a space")


def test_a_column_whose_name_has_two_lines(unruly: Unruly, project: Path, fitted: Path) -> None:
    (project / "texts.csv").write_text('"te\nxt",x\nfree,1\nsong,2\n')
    one_line(unruly("check", project), "there is no column 'text'", r"did you mean 'te\nxt'?")
    (project / "unruly.toml").write_text(HEAD.replace('text = "text"', r'text = "te\nxt"') + SOURCE)
    assert unruly("vote", project, "-o", "votes.csv").code == 0
    done = unruly("predict", fitted, project / "texts.csv", "-o", "out.csv")
    assert (done.code, done.err.splitlines()[0]) == (0, r"text column: 'te\nxt'")


def words_file(project: Path) -> tuple[str | Path, ...]:
    (project / "words.txt").write_text("free\n")
    rule = SOURCE.replace('keywords = ["free"]', 'keywords_file = "word.txt"')
    (project / "unruly.toml").write_text(HEAD + rule)
    return ("check", project)


def data_file(project: Path) -> tuple[str | Path, ...]:
    (project / "unruly.toml").write_text(HEAD.replace("texts.csv", "text.csv") + SOURCE)
    return ("check", project)


@pytest.mark.parametrize(
    ("make", "meant"),
    [
        (words_file, "words.txt"),
        (data_file, "texts.csv"),
        (lambda project: ("check", project.with_name("projcet")), "project"),
        (lambda project: ("studio", project.with_name("projcet"), "--no-open"), "project"),
        (lambda project: ("explain", project / "text.unruly", "hello"), "texts.unruly"),
        (lambda project: ("label", project, "--import", project / "text.csv"), "texts.csv"),
    ],
)
def test_a_misspelt_name(
    unruly: Unruly, project: Path, make: Callable[[Path], tuple[str | Path, ...]], meant: str
) -> None:
    (project / "texts.unruly").write_text("")
    one_line(unruly(*make(project)), "there is no ", f"{meant}?")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("train = comments.csv", 'text needs quotes: "comments.csv"'),
        ("classes = [ham, spam]", 'text needs quotes: "ham"'),
        ("quiet = True", "write true in small letters"),
        ("train =", "a value is missing after the ="),
        ('train = "x', "must end with one on the same line"),
        ('train = "C:\\users"', "use single quotes, or double it"),
        ('classes = ["ham" "spam"]', "a comma between its items"),
        (
            "prior = { shares = [0.9, 0.1],\nexact = true }",
            "what stands in { } must be on one line",
        ),
    ],
)
def test_a_slip_in_toml(unruly: Unruly, project: Path, line: str, says: str) -> None:
    (project / "unruly.toml").write_text(f"[task]\n{line}\n")
    one_line(unruly("check", project), "unruly.toml:2: not valid TOML", says)


@pytest.mark.parametrize("command", ["serve", "studio"])
def test_a_port_in_use(unruly: Unruly, spam: Path, fitted: Path, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        what = (fitted,) if command == "serve" else (spam, "--no-open")
        one_line(unruly(command, *what, "--port", str(port)), f"port {port} is in use")


def closed(folder: Path, *args: str | Path, answers: str = "") -> Done:
    """A command in a process that may not write where its user may not, even if that is root."""
    line = command_line([str(arg) for arg in args])
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may do everything, and setpriv is not installed")
        line = ["setpriv", f"--bounding-set={CLOSED}", *line]
    done = subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, "UNRULY_CACHE": str(folder / ".cache")},
        input=answers,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_read_only_project(spam: Path, tmp_path: Path) -> None:
    spam.chmod(0o555)
    done = closed(tmp_path, "label", "spam", "-n", "2", answers="spam\nham\n")
    one_line(done, "spam/labels.csv: cannot write there: the folder spam is read-only")
    assert done.out == ""  # before anything is asked
    assert closed(tmp_path, "suggest", "spam", "-q").code == 0
    done = closed(tmp_path, "suggest", "spam", "--accept", "1")
    one_line(done, "spam/unruly.toml: cannot write there")
    one_line(closed(tmp_path, "suggest", "spam", "--refuse", "1"), "spam/refused.jsonl")
    spam.chmod(0o755)


def test_a_port_of_the_system(fitted: Path, tmp_path: Path) -> None:
    done = closed(tmp_path, "serve", fitted, "--port", "1")
    one_line(done, "port 1 is not open to you: choose one above 1023")


@pytest.mark.parametrize("name", ["a" * 5000, r"a\u0000b"], ids=["long", "with a NUL"])
@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("texts.csv", "{name}.csv") + SOURCE,
        HEAD + 'labels = "{name}.csv"\n' + SOURCE,
        HEAD + '[encoder]\nname = "{name}"\n' + SOURCE,
        HEAD + '[encoder]\nname = "{name}.npy"\n' + SOURCE,
        HEAD + SOURCE.replace('keywords = ["free"]', 'keywords_file = "{name}"'),
        HEAD
        + SOURCE.replace(
            'keywords = ["free"]', 'lookup = {{ file = "{name}", columns = ["text"] }}'
        ),
    ],
    ids=["train", "labels", "encoder", "features", "keywords", "lookup"],
)
def test_a_name_that_no_file_can_have(project: Path, text: str, name: str) -> None:
    (project / "unruly.toml").write_text(
        text.replace("{name}", name).replace("{{", "{").replace("}}", "}")
    )
    with pytest.raises(UnrulyError, match="the name of a file") as caught:
        Project.read(project).fit()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_an_output_is_never_an_input(
    unruly: Unruly, project: Path, fitted: Path, tmp_path: Path
) -> None:
    words, functions = project / "words.txt", project / "rules.py"
    words.write_text("song\n")
    functions.write_text("")
    (project / "labels.csv").write_text("id,label\n")
    (project / "unruly.toml").write_text(
        HEAD
        + SOURCE
        + '[[source]]\nname = "b"\nrule = [{ label = "ham", keywords_file = "words.txt" }]\n'
    )
    model = tmp_path / "model.csv"
    shutil.copy(fitted, model)
    (tmp_path / "link.csv").symlink_to(project / "texts.csv")
    texts = project / "texts.csv"
    parts = tmp_path / "parts"
    parts.mkdir()
    pl.DataFrame({"text": ["free cash"]}).write_parquet(parts / "1.parquet")
    files = [project / "unruly.toml", texts, words, project / "labels.csv", tmp_path / "link.csv"]
    cases: list[tuple[str | Path, ...]] = [("fit", project, "-o", file) for file in files]
    cases += [(command, project, "-o", texts) for command in ("vote", "show")]
    cases += [
        ("predict", fitted, texts, "-o", texts),
        ("predict", fitted, project, "--split", "train", "-o", tmp_path / "link.csv"),
        ("predict", fitted, parts, "-o", parts / "1.parquet"),
        ("predict", model, texts, "-o", model),
        ("predict", fitted, texts, "-o", tmp_path / "out.csv", "--skipped", texts),
        ("predict", fitted, texts, "-o", tmp_path / "out.csv", "--skipped", tmp_path / "out.csv"),
        ("encode", fitted, parts, "-o", parts / "1.parquet"),
        ("report", model, "-o", model),
        ("report", fitted, project, "-o", texts),
        ("report", fitted, "--functions", functions, "-o", functions),
    ]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for case in cases:
        one_line(unruly(*case), "cannot write there: this ", "choose another")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_rows_without_a_text_are_said_wherever_documents_are_read(
    unruly: Unruly, spam: Path, fitted: Path
) -> None:
    rows = 'comment,is_spam\nplease subscribe,1\n,0\n"",0\n" ",0\na lovely song,0\n'
    (spam / "comments.csv").write_text(rows)
    for args in (
        ("vote", spam, "-o", "votes.csv"),
        ("evaluate", fitted, spam / "comments.csv", "--label", "is_spam"),
        ("report", fitted, spam, "-o", "page.html"),
        ("predict", fitted, spam / "comments.csv", "-o", "out.csv"),
        ("encode", fitted, spam / "comments.csv", "-o", "features.parquet"),
    ):
        done = unruly(*args)
        assert done.code == 0, done.err
        assert "3 rows without a text" in done.err, args
    assert "of comments.csv (3 without a text)" in Path("page.html").read_text()
    done = unruly("predict", fitted, spam / "comments.csv", "-o", "out.csv", "--missing", "empty")
    assert "3 rows without a text: left empty" in done.err
    assert pl.read_csv("out.csv")["label"].null_count() == 3


def test_a_label_column_that_is_not_there_is_refused_by_report(
    unruly: Unruly, spam: Path, fitted: Path
) -> None:
    for data in (spam, spam / "comments.csv"):
        done = unruly("report", fitted, data, "--label", "spam", "-o", "page.html")
        assert done.code == 2
        assert "there is no column 'spam' (asked for by label" in done.err
        assert "did you mean 'is_spam'?" in done.err
    assert not Path("page.html").exists()
