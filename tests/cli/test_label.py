"""`unruly label`, driven by a pipe and in a real terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

import pytest
from tests.cli.conftest import Done, Unruly, command_line

from unruly.labelling.label_file import LabelFile


@pytest.fixture
def label(tmp_path: Path) -> object:
    """Run `unruly label` with these answers on standard input."""
    environment = {**os.environ, "UNRULY_CACHE": str(tmp_path / ".cache")}

    def call(answers: str, *args: str | Path) -> Done:
        done = subprocess.run(
            command_line(["label", *map(str, args)]),
            input=answers,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return call


def labels_in(project: Path) -> list[str]:
    return [answer.label for answer in LabelFile.open(project / "labels.csv").answers]


def test_answers_from_a_pipe(label: Unruly, spam: Path) -> None:
    answers = "spam\nh\n+ not sure\nskip\n?\nundo\ncannot tell\nspam\n"
    done = label(answers, "spam", "-n", "5", "--by-whom", "ada")
    assert done.code == 0, done.err
    assert labels_in(spam) == [
        "spam",
        "ham",
        "(skipped)",
        "(cannot tell)",
        "(withdrawn)",
        "(cannot tell)",
        "spam",
    ]
    file = LabelFile.open(spam / "labels.csv")
    assert {answer.by for answer in file.answers} == {"ada"}
    assert file.answers[2].note == "not sure"
    assert "5 of 5" in done.out
    assert "3 labels added, 3 in all" in done.out
    assert done.out.index("-> spam; votes: ") < done.out.index("2 of 5")
    assert "votes" not in done.out[: done.out.index("-> spam")]
    assert "drawn by their votes" in done.err
    assert "labels are kept by row number" in done.err


def test_the_next_command_works_as_printed_where_names_have_blanks(
    label: Unruly, unruly: Unruly, spam: Path
) -> None:
    spam.rename(spam.with_name("my spam"))
    done = label("spam\n" * 3, "my spam", "-n", "3")
    assert done.code == 0, done.err
    command = done.err[done.err.index("next: ") + len("next: ") :].splitlines()[0]
    program, *words = shlex.split(command)
    assert program == "unruly"
    fitted = unruly(*words, "--encoder", "lsa")
    assert fitted.code == 0, fitted.err
    assert Path("my spam.unruly").is_file()
    assert "unruly explain 'my spam.unruly' " in fitted.err


def test_a_second_run_asks_about_others_and_the_balance_is_told(
    label: Unruly, unruly: Unruly, spam: Path
) -> None:
    assert unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "-q").code == 0
    first = label("spam\n" * 12, "spam", "-n", "12", "--model", "m.unruly", "--by", "random")
    assert first.code == 0, first.err
    assert "the share of" in first.out
    assert "more labels would make it" in first.out
    assert first.out.count("a fit with these labels would change") == 3  # after 5, 10 and 12
    assert "next: unruly fit spam -o m-2.unruly --encoder lsa\n" in first.err
    assert "model: " in first.out
    done = label("ham\n" * 99, "spam", "-n", "99", "--model", "m.unruly", "--json")
    plain = json.loads(done.out)
    assert plain["labels"] == 61
    assert plain["all_labels"] == 73
    assert plain["changed"] >= 0
    assert len(plain["balance"]["shares"]) == 2
    file = LabelFile.open(spam / "labels.csv")
    assert len({answer.id for answer in file.answers}) == 73
    again = label("", "spam")
    assert again.code == 0
    assert "nothing left to label" in again.out
    fit = unruly("fit", spam, "-o", "m2.unruly", "--encoder", "lsa")
    told = [f"73 for {use} (labels.csv)" for use in ("training", "prior", "calibration")]
    assert "gold labels: " + ", ".join(told) in fit.out
    judged = unruly("evaluate", "m2.unruly", spam, "--labels")
    assert judged.out.startswith("accuracy about ")
    assert "from 73 labels, held out in turn (5 refits)" in judged.out
    assert "73 for scoring (labels.csv)" in judged.out
    plain = json.loads(unruly("evaluate", "m.unruly", spam, "--labels", "--json").out)
    assert plain["labels"] == 73
    assert plain["held_out"] == 0
    both = unruly("evaluate", "m2.unruly", spam, "--labels", "--against", "m.unruly")
    assert both.out.startswith(judged.out.splitlines()[0])
    assert "difference on the same labels: " in both.out
    assert "rank the models by this difference" in both.out
    assert (
        both.out.count("accuracy about") == 1
    )  # the other's own estimate does not differ by the same
    assert "--against OTHER" in judged.err
    assert "--against OTHER" not in both.err
    told = json.loads(
        unruly("evaluate", "m2.unruly", spam, "--labels", "--against", "m.unruly", "--json").out
    )
    assert told["against"]["accuracy"] == plain["accuracy"]
    assert unruly("evaluate", "m2.unruly", spam, "--against", "m.unruly").code == 2


def test_ways_to_draw(label: Unruly, spam: Path) -> None:
    for by in (["doubt"], ["source:link"], ["source", "link"], ["class", "ham"]):
        done = label("ham\n", "spam", "--by", *by, "-n", "1")
        assert done.code == 0, done.err
    reasons = [answer.reason for answer in LabelFile.open(spam / "labels.csv").answers]
    assert reasons == ["doubt", "source:link", "source:link", "class:ham"]
    done = label("ham\nspam\n", "spam", "--by", "source", "link", "-n", "2")
    assert "link is right on 25.0% (4.6% to 69.9%), by 4 labelled documents" in done.out
    assert "share of" not in done.out, "labels of one source's documents tell nothing of the shares"
    told = json.loads(label("spam\n", "spam", "--by", "source", "link", "-n", "1", "--json").out)
    assert told["source"]["name"] == "link"
    assert (told["source"]["value"], told["source"]["n"]) == (0.4, 5)
    done = label("ham\n", "spam", "--by", "sorce:link")
    assert done.code == 2
    assert "by = 'sorce:link'" in done.err
    assert (
        "there is no source 'lnk': did you mean 'link'"
        in label("", "spam", "--by", "source:lnk").err
    )


def test_the_next_command_keeps_the_settings_and_the_model(
    label: Unruly, unruly: Unruly, spam: Path
) -> None:
    options = ["--encoder", "lsa", "--seed", "7", "--tau", "2.5", "--prior", "spam is 0.3"]
    assert unruly("fit", spam, "-o", "a.unruly", *options, "--no-excerpts", "-q").code == 0
    done = label("spam\nham\n", "spam", "-n", "2", "--model", "a.unruly")
    command = done.err[done.err.index("next: ") + len("next: ") :].splitlines()[0]
    assert command == (
        "unruly fit spam -o a-2.unruly --encoder lsa --tau 2.5 --seed 7 --prior '0.7, 0.3' --no-excerpts"
    )
    before = Path("a.unruly").read_bytes()
    assert unruly(*shlex.split(command)[1:], "-q").code == 0
    assert Path("a.unruly").read_bytes() == before
    told = unruly("diff", "a.unruly", "a-2.unruly").out
    assert "gold labels: none used -> 2 for training" in told
    assert not [
        line for line in told.splitlines() if line.split(":")[0] in ("encoder", "seed", "tau")
    ]
    done = label("spam\n", "spam", "-n", "1", "--model", "a-2.unruly")
    assert "next: unruly fit spam -o a-3.unruly " in done.err


def test_where_nothing_is_left_what_is_set_aside_is_told(label: Unruly, spam: Path) -> None:
    rows = "".join(f"{i},spam\n{i},ham\n" for i in range(73))
    (spam / "labels.csv").write_text(f"id,label\n{rows}")
    done = label("", "spam")
    assert done.code == 0
    assert done.out == "nothing left to label: spam/labels.csv has 0 labels\n"
    assert "`unruly label spam --by contested` asks again" in done.err
    plain = json.loads(label("", "spam", "--json").out)
    assert [plain["all_labels"], plain["problems"][0]["kind"]] == [0, "contradiction"]


def test_contested_documents_are_asked_about_again(
    label: Unruly, unruly: Unruly, spam: Path
) -> None:
    lines = "id,label,when,by\n0,spam,2026-01-01,ada\n0,ham,2026-01-02,bob\n1,eggs,2026-01-01,ada\n"
    (spam / "labels.csv").write_text(lines + "2,ham,2026-01-01,ada\n")
    done = label("ham\n", "spam", "-n", "1", "--by-whom", "bob")
    assert "`unruly label spam --by contested` asks again" in done.err
    assert "id 0" not in done.out
    done = label("skip\nspam\n", "spam", "--by", "contested", "--by-whom", "carol")
    assert done.code == 0, done.err
    assert "1 of 2, id 0" in done.out
    assert "before: ada spam, bob ham" in done.out
    assert done.out.index("-> (skipped)") < done.out.index("before: ada")
    assert "drawn by their votes" not in done.err
    done = label("spam\nundo\nham\n", "spam", "--by", "contested", "--by-whom", "carol")
    assert "1 of 1, id 0" in done.out
    assert "set aside" not in label("ham\n", "spam", "-n", "1").err
    done = label("", "spam", "--by", "contested")
    assert done.code == 0
    assert "nothing left to label with --by contested: spam/labels.csv has 5 labels" in done.out
    told = json.loads(unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "--json").out)
    assert told["problems"] == []


def test_who_sends_answers_by_a_pipe_sees_what_is_asked(spam: Path, tmp_path: Path) -> None:
    running = subprocess.Popen(
        command_line(["label", "spam", "-n", "2"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    shown = ""
    for answer, awaited in (("spam\n", "2 of 2"), ("ham\n", "2 labels added, 2 in all")):
        running.stdin.write(answer)
        running.stdin.flush()
        while awaited not in shown:
            line = running.stdout.readline()
            assert line, shown
            shown += line
    assert labels_in(spam) == ["spam", "ham"]
    assert running.wait(timeout=60) == 0  # though the pipe is still open
    running.stdin.close()
    running.stdout.close()


def test_what_a_pipe_holds_already_is_read_after_the_last_document(
    spam: Path, tmp_path: Path
) -> None:
    with subprocess.Popen(
        command_line(["label", "spam", "-n", "2"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=tmp_path,
        text=True,
    ) as running:
        assert running.stdin is not None
        running.stdin.write("spam\nham\nundo\nspam\n")
        running.stdin.flush()
        assert running.wait(timeout=60) == 0
    assert labels_in(spam) == ["spam", "ham", "(withdrawn)", "spam"]


def test_answers_after_the_last_document_are_mentioned(label: Unruly, spam: Path) -> None:
    assert "more answers than documents" in label("spam\n" * 3, "spam", "-n", "2").err
    assert "more answers than documents" not in label("spam\n" * 2, "spam", "-n", "2").err


def test_what_is_no_answer_stops_with_one_line_and_keeps_the_others(
    label: Unruly, spam: Path
) -> None:
    done = label("spam\nspma\nham\n", "spam")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("error: answer in line 2: 'spma' is not a class")
    assert labels_in(spam) == ["spam"]


def test_no_answer_at_all_is_one_line(label: Unruly, spam: Path) -> None:
    done = label("", "spam")
    assert done.code == 2
    assert "standard input is not a terminal and has no answers" in done.err.splitlines()[-1]
    assert not (spam / "labels.csv").exists()


@pytest.mark.parametrize(
    "by", [["--by", "sauce", "link"], ["--by=sauce", "link"], ["--by", "sauce"]]
)
def test_an_unknown_way_to_draw_is_named(label: Unruly, spam: Path, by: list[str]) -> None:
    done = label("", "spam", *by)
    assert done.code == 2
    assert done.err == (
        "error: by = 'sauce': did you mean 'source'? must be one of balance, doubt, random, source:NAME, class:NAME, "
        "contested\n"
    )
    assert "which source? Name it, as in source:NAME" in label("", "spam", "--by", "source").err


def test_import(label: Unruly, spam: Path, tmp_path: Path) -> None:
    data = "\ufeffid;label\r\n0;spam\r\n1;eggs\r\n999;ham\r\n2;ham\r\n2;spam\r\n"
    (tmp_path / "theirs.csv").write_text(data, newline="")
    done = label("", "spam", "--import", "theirs.csv")
    assert done.code == 0, done.err
    assert "3 answers added from theirs.csv" in done.out
    assert [line.split(":")[0] for line in done.err.splitlines()] == [
        "theirs.csv",
        "theirs.csv",
        "labels.csv",
    ]
    assert "0 answers added" in label("", "spam", "--import", "theirs.csv").out
    assert "there is no such file" in label("", "spam", "--import", "nowhere.csv").err
    for nothing in ("", "id,label\n"):
        (tmp_path / "empty.csv").write_text(nothing)
        done = label("", "spam", "--import", "empty.csv")
        assert (done.code, done.out) == (2, "")
        assert "empty.csv: there are no labels: expected the columns id and label" in done.err


def test_a_model_of_other_classes_is_refused(label: Unruly, unruly: Unruly, spam: Path) -> None:
    assert unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "-q").code == 0
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('["ham", "spam"]', '["ham", "spam", "scam"]'))
    done = label("ham\n", "spam", "--model", "m.unruly")
    assert done.code == 2
    assert "the model's classes are ham, spam, the project's ham, spam, scam" in done.err
    (spam / "labels.csv").write_text("id,label\n0,ham\n")
    done = unruly("evaluate", "m.unruly", spam, "--labels")
    assert done.code == 2
    assert "the model's classes are ham, spam, the project's ham, spam, scam" in done.err


def test_rows_without_a_text_are_not_asked_about(label: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text('comment,is_spam\n,0\n"subscribe to me",1\n,1\n')
    assert label("spam\n" * 9, "spam", "-n", "9").code == 0
    assert [answer.id for answer in LabelFile.open(spam / "labels.csv").answers] == ["1"]


def test_a_bad_row_stops_no_rule_by_meaning(unruly: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text(
        'comment,is_spam\n"subscribe to me",1\n1,2,3\n"lovely song",0\n"my channel",1\n'
    )
    toml = spam / "unruly.toml"
    rule = '[[source]]\nname = "like"\nrule = [{ label = "spam", similar = { to = ["subscribe"], above = 0.5 } }]\n'
    toml.write_text(toml.read_text() + '\n[encoder]\nname = "lsa"\n\n' + rule)
    done = unruly("vote", spam, "-o", "votes.csv", "--skip-bad")
    assert done.code == 0, done.err


def test_labels_without_a_project_or_a_label(unruly: Unruly, fitted: Path, spam: Path) -> None:
    done = unruly("evaluate", fitted, spam / "comments.csv", "--labels")
    assert done.code == 2
    assert "--labels are a project's labels" in done.err
    assert "no document has a label yet" in unruly("evaluate", fitted, spam, "--labels").err
    (spam / "labels.csv").write_text("id,label\nnobody,ham\n")
    done = unruly("evaluate", fitted, spam, "--labels")
    line = "labels.csv: 1 label set aside: its document is not in the data (nobody)"
    assert (done.code, done.err) == (2, f"error: {line}: no label is left to estimate from\n")
    assert line in unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa").err


@dataclass
class Terminal:
    """A process in a pseudo-terminal, and what it has shown so far."""

    pid: int
    handle: int
    shown: str = ""
    seen: int = field(default=0)

    def wait_for(self, text: str, seconds: float = 30) -> str:
        """Read until the text is shown, after what was waited for before."""
        end = time.monotonic() + seconds
        while text not in self.shown[self.seen :]:
            left = end - time.monotonic()
            assert left > 0, f"no {text!r} in {self.shown[self.seen :]!r}"
            if select.select([self.handle], [], [], left)[0]:
                try:
                    data = os.read(self.handle, 4096)
                except OSError:  # the process has ended
                    data = b""
                assert data, f"ended without {text!r}: {self.shown[self.seen :]!r}"
                self.shown += data.decode(errors="replace")
        place = self.shown.index(text, self.seen) + len(text)
        found, self.seen = self.shown[self.seen : place], place
        return found

    def type(self, keys: str) -> None:
        os.write(self.handle, keys.encode())

    def code(self, seconds: float = 30) -> int:
        """Wait for the end."""
        end = time.monotonic() + seconds
        while True:
            ready = select.select([self.handle], [], [], max(end - time.monotonic(), 0))[0]
            assert ready, f"it does not end: {self.shown[self.seen :]!r}"
            try:
                data = os.read(self.handle, 4096)
            except OSError:
                break
            if not data:
                break
            self.shown += data.decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[object]:
    """Run a command line in a terminal of this size."""
    started: list[Terminal] = []

    def call(args: Sequence[str], columns: int = 80, lines: int = 24, **more: str) -> Terminal:
        pid, handle = pty.fork()
        if not pid:
            os.chdir(tmp_path)
            environment = {**os.environ, "UNRULY_CACHE": str(tmp_path / ".cache"), "TERM": "xterm"}
            environment = {k: v for k, v in environment.items() if k not in ("NO_COLOR", "COLUMNS")}
            command = command_line(args)
            os.execvpe(command[0], command, environment | more)
        ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        started.append(Terminal(pid, handle))
        return started[-1]

    yield call
    for one in started:
        os.close(one.handle)


def test_keys_in_a_terminal(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "4", "--by", "source:about_the_song"])  # type: ignore[operator]
    head = screen.wait_for("[q] quit")
    assert "1 of 4" in head
    assert "votes: " not in head
    assert "\x1b[7m" in screen.shown  # matches are marked
    screen.type("s")
    assert "-> spam; votes: " in screen.wait_for("[q] quit")
    screen.type("\x1b[A")  # an arrow
    screen.wait_for("no such key: press one of these")
    screen.type("z")
    screen.wait_for("no such key: press one of these")
    screen.type("+")
    screen.wait_for("note: ")
    screen.type("so funny\n")
    screen.type("h")
    screen.wait_for("3 of 4")
    screen.type("<")
    screen.wait_for("undone: ham")
    screen.wait_for("[q] quit")
    screen.type("?")
    screen.wait_for("3 of 4")
    screen.wait_for("[q] quit")
    screen.type(" q")  # typed ahead
    assert screen.code() == 0
    assert labels_in(spam) == ["spam", "ham", "(withdrawn)", "(cannot tell)", "(skipped)"]
    assert LabelFile.open(spam / "labels.csv").answers[1].note == "so funny"
    assert "1 label added" in screen.shown


def test_keys_typed_before_the_first_document_are_no_answers(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "3"])  # type: ignore[operator]
    screen.type("sss")  # while the command starts
    screen.wait_for("[q] quit")
    screen.type("h")
    screen.wait_for("2 of 3")
    screen.wait_for("[q] quit")
    screen.type("q")
    assert screen.code() == 0
    assert labels_in(spam) == ["ham"]


def test_kill_9_loses_at_most_the_document_on_the_screen(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "9"])  # type: ignore[operator]
    for i in range(4):
        screen.wait_for(f"{i + 1} of 9")
        screen.wait_for("[q] quit")
        screen.type("sh"[i % 2])
    screen.wait_for("5 of 9")
    os.kill(screen.pid, signal.SIGKILL)
    assert screen.code() == -signal.SIGKILL
    assert labels_in(spam) == ["spam", "ham", "spam", "ham"]
    assert not LabelFile.open(spam / "labels.csv").unreadable
    again = terminal(["label", "spam", "-n", "9"])  # type: ignore[operator]
    again.wait_for("[q] quit")
    again.type("s")
    again.wait_for("2 of 9")
    again.type("\x03")
    assert again.code() == 130
    assert len(labels_in(spam)) == 5


def test_control_c_ends_it_while_it_waits_for_a_key(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "9"])  # type: ignore[operator]
    for key in "ss":
        screen.wait_for("[q] quit")
        screen.type(key)
    screen.wait_for("3 of 9")
    screen.wait_for("[q] quit")
    assert not select.select([screen.handle], [], [], 0.5)[0]
    screen.type("\x03")
    assert screen.code() == 130
    assert "2 answers kept in spam/labels.csv" in screen.shown
    assert labels_in(spam) == ["spam", "spam"]


def test_a_narrow_terminal_a_long_text_and_no_colour(terminal: object, spam: Path) -> None:
    words = " ".join(f"word{i}" for i in range(400))
    (spam / "comments.csv").write_text(f'comment,is_spam\n"subscribe {words} the end",1\n')
    screen = terminal(["label", "spam"], columns=30, lines=12, NO_COLOR="1")  # type: ignore[operator]
    screen.wait_for("1 of 1")
    first = screen.wait_for("more lines: > shows")
    assert "[subscribe]" in first
    assert "\x1b[" not in first
    assert all(len(line) <= 30 for line in first.replace("\r", "").splitlines())
    assert "word399" not in first
    screen.wait_for("[q] quit")
    for _ in range(200):
        screen.type(">")
        if "word399" in screen.wait_for("[q] quit"):
            break
    else:
        pytest.fail("the end never came")
    screen.type("q")
    assert screen.code() == 0
    lines = screen.shown.replace("\r", "").splitlines()
    erased = re.compile(r".*\x1b\[2K(\x1b\[\?25h)?")  # by bars, which are gone when they end
    assert all(len(erased.sub("", line)) <= 30 for line in lines)
    assert "labels would change" in lines  # words are whole


def test_many_classes_are_typed_as_numbers(terminal: object, spam: Path) -> None:
    toml = spam / "unruly.toml"
    classes = ", ".join(f'"c{i}"' for i in range(60))
    toml.write_text(toml.read_text().replace('["ham", "spam"]', f'["ham", "spam", {classes}]'))
    screen = terminal(["label", "spam", "-n", "2"])  # type: ignore[operator]
    assert "[02] spam" in screen.wait_for("[q] quit")
    screen.type("02")
    assert "[=] 62 classes" in screen.wait_for("[q] quit")
    screen.type("=")
    again = screen.wait_for("[q] quit")
    assert again.index("[62] c59") < again.index("2 of 2")  # the document is shown again
    screen.type("62")
    screen.wait_for("that was the last document: < undoes it, any other key ends")
    screen.type(" ")
    assert screen.code() == 0
    assert labels_in(spam) == ["spam", "c59"]


def test_the_last_answer_can_be_undone(terminal: object, label: Unruly, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "2"])  # type: ignore[operator]
    for key in "sh":
        screen.wait_for("[q] quit")
        screen.type(key)
    screen.wait_for("< undoes it")
    screen.type("<")
    screen.wait_for("undone: ham")
    screen.wait_for("2 of 2")
    screen.type("s")
    screen.wait_for("< undoes it")
    screen.type("q")
    assert screen.code() == 0
    assert labels_in(spam) == ["spam", "ham", "(withdrawn)", "spam"]
    (spam / "labels.csv").unlink()
    done = label("ham\nspam\nundo\nundo\nskip\nham\n", "spam", "-n", "2")
    assert done.code == 0, done.err
    assert labels_in(spam) == ["ham", "spam", "(withdrawn)", "(withdrawn)", "(skipped)", "ham"]


def test_a_long_list_of_classes_does_not_push_the_text_away(terminal: object, spam: Path) -> None:
    toml = spam / "unruly.toml"
    classes = ", ".join(f'"account number {i}"' for i in range(28))
    toml.write_text(toml.read_text().replace('["ham", "spam"]', f'["ham", "spam", {classes}]'))
    screen = terminal(["label", "spam", "-n", "2"], columns=40, lines=16)  # type: ignore[operator]
    shown = screen.wait_for("[=] 30 classes")
    assert shown.index("[01] ham") < shown.index("1 of 2")
    screen.wait_for("[q] quit")
    screen.type("=")
    again = screen.wait_for("[=] 30 classes")
    assert again.index("account number 27") < again.index("1 of 2")
    screen.wait_for("[q] quit")
    screen.type(">")
    screen.wait_for("this is the end of the text")
    screen.type("q")
    assert screen.code() == 0


def test_keys_that_take_many_lines_leave_room_for_the_text(terminal: object, spam: Path) -> None:
    toml = spam / "unruly.toml"
    classes = ", ".join(f'"a rather long name {i}"' for i in range(10))
    toml.write_text(toml.read_text().replace('["ham", "spam"]', f'["ham", "spam", {classes}]'))
    words = " ".join(f"word{i}" for i in range(400))
    (spam / "comments.csv").write_text(f'comment,is_spam\n"{words} the end",1\n')
    screen = terminal(["label", "spam"], columns=40, lines=24)  # type: ignore[operator]
    screen.wait_for("1 of 1")
    shown = screen.wait_for("[q] quit").replace("\r", "").splitlines()
    assert len(shown) <= 24
    assert shown[1].startswith("word0 ")


def test_a_terminal_without_a_cursor_has_its_own_width(terminal: object, spam: Path) -> None:
    words = " ".join(f"word{i}" for i in range(40))
    (spam / "comments.csv").write_text(f'comment,is_spam\n"{words} the end",1\n')
    screen = terminal(["label", "spam", "-q"], columns=50, lines=30, TERM="dumb")  # type: ignore[operator]
    shown = screen.wait_for("[q] quit").replace("\r", "").splitlines()
    assert max(map(len, shown)) <= 50
    assert shown[0].startswith("1 of 1")
    assert shown[1].startswith("word0 ")
    screen.type("q")
    assert screen.code() == 0


def test_a_project_that_changes_meanwhile(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "5"])  # type: ignore[operator]
    screen.wait_for("[q] quit")
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text() + "\n# a remark\n")
    screen.type("s")
    screen.wait_for("the rules have changed on disk")
    screen.wait_for("[q] quit")
    comments = spam / "comments.csv"
    comments.write_text(comments.read_text() + "one more,1\n")
    screen.type("s")
    screen.wait_for("the documents have changed on disk: start again (1 answer kept in")
    assert screen.code() == 2
    assert labels_in(spam) == ["spam"]


def test_a_file_of_labels_that_goes_meanwhile(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "5", "-q"])  # type: ignore[operator]
    for key in "sh":
        screen.wait_for("[q] quit")
        screen.type(key)
    screen.wait_for("3 of 5")
    (spam / "labels.csv").unlink()
    screen.wait_for("[q] quit")
    screen.type("s")
    screen.wait_for("4 of 5")
    assert labels_in(spam) == ["spam", "ham", "spam"]
    header, _, *rest = (spam / "labels.csv").read_text().splitlines(keepends=True)
    (spam / "labels.csv").write_text(header + "".join(rest))
    screen.wait_for("[q] quit")
    screen.type("q")
    screen.wait_for("2 labels added, 2 in all")
    assert screen.code() == 0


def test_a_project_that_goes_meanwhile(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "5"])  # type: ignore[operator]
    screen.wait_for("[q] quit")
    screen.type("s")
    screen.wait_for("2 of 5")
    screen.wait_for("[q] quit")
    shutil.rmtree(spam)
    screen.type("s")
    screen.wait_for("the documents are gone: start again (there is no spam/labels.csv)")
    assert screen.code() == 2


def test_classes_that_change_meanwhile(terminal: object, spam: Path) -> None:
    screen = terminal(["label", "spam", "-n", "5"])  # type: ignore[operator]
    screen.wait_for("[q] quit")
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('["ham", "spam"]', '["ham", "spam", "scam"]'))
    screen.type("s")
    screen.wait_for("the classes have changed on disk")
    assert screen.code() == 2
    assert not (spam / "labels.csv").exists()


def test_output_that_is_no_terminal(spam: Path, tmp_path: Path) -> None:
    parent, child = pty.openpty()
    done = subprocess.run(
        command_line(["label", "spam"]),
        stdin=child,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(parent)
    os.close(child)
    assert done.returncode == 2
    assert done.stderr.startswith("error: the output is not a terminal")
