"""`unruly new`, `check` and `vote`: a starter that works, sound projects, broken ones, and the vote matrix."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Unruly, command_line

from unruly.cli.rules import saves
from unruly.distributed.run import ClusterRun
from unruly.project.project import Project
from unruly.project.voting import vote_split
from unruly.votes.files import read_votes


def test_labels_by_hand_score_the_sources(unruly: Unruly, spam: Path) -> None:
    project = spam / "unruly.toml"
    lines = project.read_text("utf-8").splitlines(keepends=True)
    project.write_text(
        "".join(line for line in lines if not line.startswith('label = "is_')), "utf-8"
    )
    assert "Emp. Acc." not in unruly("check", spam).out, "nothing is known of the classes"
    rows = pl.read_csv(spam / "comments.csv")
    voted = (
        rows.with_row_index("id")
        .filter(pl.col("comment").str.contains(r"(?i)\bsubscribe\b"))
        .head(4)
    )
    right = ["spam", "spam", "spam", "ham"]
    answers = [f"{own},{label}" for own, label in zip(voted["id"], right, strict=True)]
    (spam / "labels.csv").write_text("\n".join(["id,label", *answers, "999,ham"]) + "\n")
    done = unruly("check", spam)
    assert done.code == 0
    row = next(line.split() for line in done.out.splitlines() if line.split()[:1] == ["subscribe"])
    assert row[5:] == ["3", "1", "75.0%", "30.1%", "to", "95.4%"]
    assert "votes on documents with a label, of which labels.csv has 4" in done.out
    assert "labels.csv: 1 label set aside: its document is not in the data (999)" in done.out
    assert "documents with gold" not in done.out, "labels are no even sample of all documents"
    plain = json.loads(unruly("check", spam, "--json").out)
    assert (plain["labels"]["file"], plain["labels"]["labels"]) == ("labels.csv", 4)
    assert plain["labels"]["problems"][0]["kind"] == "unknown_id"
    score = next(
        one["score"] for one in plain["summary"]["sources"] if one["source"] == "subscribe"
    )
    assert (score["correct"], score["incorrect"]) == (3, 1)


def test_true_labels_of_the_data_go_before_labels_by_hand(unruly: Unruly, spam: Path) -> None:
    before = unruly("check", spam).out
    (spam / "labels.csv").write_text("id,label\n0,ham\n")
    assert unruly("check", spam).out == before
    assert json.loads(unruly("check", spam, "--json").out)["labels"] is None


def test_the_source_table(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam)
    assert (done.code, done.err) == (0, "")
    header = done.out.strip().splitlines()[0].split()
    assert header[:6] == ["source", "votes", "for", "Coverage", "Overlaps", "Conflicts"]
    for name in ("subscribe", "about_the_song", "short", "total", "majority vote"):
        assert name in done.out
    assert ["subscribe", "spam"] in [line.split()[:2] for line in done.out.splitlines()]
    covered = Project.read(spam).vote(Project.read(spam).corpus()).coverage
    assert f"majority vote: coverage {covered:.1%}, ties " in done.out  # as `fit` shows it
    assert "examples: 14 of 14 as expected" in done.out
    assert "\x1b" not in done.out


def test_json_is_one_object_with_all_figures(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam, "--json")
    plain = json.loads(done.out)
    assert plain["holds"] is True
    assert plain["failures"] == []
    assert len(plain["summary"]["sources"]) == 8
    assert plain["summary"]["documents"] == 73
    assert plain["summary"]["majority"]["commonest"] == "spam"
    scored = json.loads(unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "--json").out)
    everything = scored["evaluation"]["all"]["majority_vote"]
    assert plain["summary"]["majority"]["accuracy"]["value"] == pytest.approx(
        everything["accuracy"]
    )


def test_quiet_still_prints_the_results(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam, "--quiet")
    assert (done.code, done.err) == (0, "")
    assert "about_the_song" in done.out


def test_without_gold_nothing_is_scored(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('label = "is_spam"', "#"))
    done = unruly("check", spam)
    assert done.code == 0
    assert "Emp. Acc." not in done.out
    assert "Coverage" in done.out


def test_the_file_itself_may_be_named(real: Unruly, spam: Path) -> None:
    assert real("check", spam / "unruly.toml", "-q").code == 0


def spoilt(spam: Path, before: str, after: str) -> None:
    toml = spam / "unruly.toml"
    assert before in toml.read_text()
    toml.write_text(toml.read_text().replace(before, after))


ONE = """[task]
classes = ["ham", "spam"]
[data]
train = "comments.csv"
text = "comment"
[[source]]
name = "a"
rule = [{{ label = "spam", keywords = ["{word}"] }}]
[[source]]
name = "b"
rule = [{{ label = "spam", keywords = ["zzz"] }}]
"""


def test_a_disabled_source_is_left_out_and_said_so(unruly: Unruly, spam: Path) -> None:
    spoilt(spam, 'name = "link"', 'name = "link"\nenabled = false')
    done = unruly("check", spam)
    assert done.code == 0
    assert "link is disabled and left out" in done.out
    plain = json.loads(unruly("check", spam, "--json").out)
    assert plain["disabled"] == ["link"]
    assert len(plain["summary"]["sources"]) == 7
    spoilt(spam, "Earn money fast", "nothing of the kind")
    assert "unruly.toml:47: source 'money', rule 1" in unruly("check", spam).out
    spoilt(spam, "enabled = false", 'enabled = "no"')
    assert "enabled: expected true or false, found 'no'" in unruly("check", spam).err


def test_rules_that_all_abstain_fail_first(unruly: Unruly, spam: Path) -> None:
    (spam / "unruly.toml").write_text(ONE.format(word="zzzz"))
    done = unruly("check", spam)
    assert done.code == 1
    assert done.out.startswith("No rule matches any document: check the rules")
    told = unruly("check", spam, "--json")
    assert json.loads(told.out)["learnable"] is False
    assert told.err == done.err
    assert done.err.startswith(
        "error: nothing can be learnt from this project. No rule matches any document"
    )


def test_rules_for_one_class_fail_and_silent_ones_are_named(unruly: Unruly, spam: Path) -> None:
    (spam / "unruly.toml").write_text(ONE.format(word="subscribe"))
    done = unruly("check", spam)
    assert done.code == 1
    first, second = done.out.splitlines()[:2]
    assert first == "All votes are for spam, so no other class can be learnt: add rules for ham."
    assert second == (
        "b never votes on these documents, and no source votes for ham: change its rules."
    )
    plain = json.loads(unruly("check", spam, "--json").out)
    assert plain["findings"][:2] == [
        {"kind": "one_class_voted", "label": "spam", "others": ["ham"]},
        {"kind": "silent_source", "source": "b", "missing": ["ham"]},
    ]


def test_a_class_that_no_vote_is_for_is_said_first(unruly: Unruly, spam: Path) -> None:
    project = ONE.format(word="subscribe").replace('["ham", "spam"]', '["ham", "spam", "phish"]')
    rules = project.replace('"zzz"', '"song"')
    last = rules.rindex('label = "spam"')
    (spam / "unruly.toml").write_text(rules[:last] + 'label = "ham"' + rules[last + 14 :])
    done = unruly("check", spam)
    assert done.code == 0
    assert done.out.startswith("No source votes for phish, so it is never predicted: add a rule")
    first = json.loads(unruly("check", spam, "--json").out)["findings"][0]
    assert first == {"kind": "classes_without_votes", "classes": ["phish"]}
    (spam / "unruly.toml").write_text(
        rules[:last] + 'label = ["ham", "phish"]' + rules[last + 14 :]
    )
    assert "never predicted" not in unruly("check", spam).out


def test_empty_and_repeated_texts_are_counted(unruly: Unruly, spam: Path) -> None:
    comments = (spam / "comments.csv").read_text()
    first = comments.splitlines()[1]
    (spam / "comments.csv").write_text(comments + f"{first}\n{first}\n" + '" ",0\n')
    done = unruly("check", spam)
    assert done.code == 0
    assert "1 of 76 texts is blank" in done.out
    assert "2 of 76 texts repeat an earlier one" in done.out
    assert json.loads(unruly("check", spam, "--json").out)["texts"] == {
        "blank": 1,
        "duplicates": 2,
        "skipped": 0,
        "broken": [],
        "column": "comment",
    }


def test_whole_words_of_a_script_without_spaces_are_spoken_of(unruly: Unruly, spam: Path) -> None:
    rules = (spam / "unruly.toml").read_text()
    (spam / "unruly.toml").write_text(rules.replace('"cash"', '"cash", "免费", "a赚钱"', 1))
    said = unruly("check", spam).out
    assert "money looks for whole words, and '免费', 'a赚钱' are in a script without spaces" in said
    found = {"kind": "unspaced_keywords", "source": "money", "words": ["免费", "a赚钱"]}
    assert found in json.loads(unruly("check", spam, "--json").out)["findings"]
    fixed = rules.replace('"cash"', '"cash", "免费"', 1).replace(
        "keywords = [", 'match = "substring"\nkeywords = ['
    )
    (spam / "unruly.toml").write_text(fixed)
    assert "script without spaces" not in unruly("check", spam).out


def test_a_star_at_the_end_of_a_keyword_is_spoken_of(unruly: Unruly, spam: Path) -> None:
    rules = (spam / "unruly.toml").read_text()
    assert "whose star" not in unruly("check", spam).out
    (spam / "unruly.toml").write_text(rules.replace('"cash"', '"cash", "rich*", "f***"', 1))
    said = unruly("check", spam).out
    assert "money has the keyword 'rich*', whose star is an ordinary character" in said
    assert r"write pattern = '\brich'" in said
    starred = {"kind": "starred_keyword", "source": "money", "word": "rich*"}
    assert starred in json.loads(unruly("check", spam, "--json").out)["findings"]


def test_watching_checks_again_at_every_save(spam: Path, tmp_path: Path) -> None:
    looks = saves(spam)
    next(looks)
    (spam / "unruly.toml").write_text((spam / "unruly.toml").read_text() + "\n# edited\n")
    next(looks)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(next, looks)
        time.sleep(0.8)
        assert not waiting.done()
        (spam / "new.txt").write_text("a file more")
        waiting.result(timeout=10)


def test_watching_ends_by_an_interrupt_as_announced(spam: Path, tmp_path: Path) -> None:
    watching = subprocess.Popen(
        command_line(["check", str(spam), "--watch"]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "UNRULY_CACHE": str(tmp_path / "cache")},
    )
    assert watching.stderr is not None
    try:
        for line in watching.stderr:
            if "Ctrl-C ends it" in line:
                break
    finally:
        watching.send_signal(signal.SIGINT)
        _, errors = watching.communicate(timeout=30)
    assert (watching.returncode, errors) == (0, "stopped\n")


def test_a_label_column_that_is_not_there_is_said(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('"is_spam"', '"department"'))
    done = unruly("check", spam)
    assert done.code == 0
    assert "no labels in a column 'department'" in done.out + done.err
    found = json.loads(unruly("check", spam, "--json").out)["findings"]
    assert {"kind": "no_labels", "column": "department"} in found


def test_new_then_check(unruly: Unruly, tmp_path: Path) -> None:
    done = unruly("new", "spam")
    assert (done.code, done.out) == (0, "")
    assert done.err == "spam is ready: edit spam/unruly.toml, then run: unruly check spam\n"
    assert unruly("check", "spam").code == 0


def test_new_for_a_file_of_ones_own(unruly: Unruly, tmp_path: Path) -> None:
    (tmp_path / "tickets.csv").write_text("body text,state\nmy bill,open\nbug: crash,shut\n")
    done = unruly("new", "mine", "--data", "tickets.csv", "--classes", "bill, bug")
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [
        "tickets.csv: the texts are in the column body text (if it is another: --text); classes: bill, bug",
        "mine is ready: edit mine/unruly.toml, then run: unruly check mine",
    ]
    assert unruly("check", "mine").code == 0
    done = unruly("new", "other", "--classes", "bill,bug")
    assert done.code == 2
    assert done.err == "error: --classes is about your own texts: name their file, --data FILE\n"


def test_never_overwrites(unruly: Unruly, tmp_path: Path) -> None:
    unruly("new", "spam", "-q")
    (tmp_path / "spam" / "unruly.toml").write_text("mine")
    done = unruly("new", "spam")
    assert (done.code, done.err) == (2, "error: spam exists already: choose another name\n")
    assert (tmp_path / "spam" / "unruly.toml").read_text() == "mine"


def test_a_folder_that_is_not_there(unruly: Unruly) -> None:
    done = unruly("new", "nowhere/spam")
    assert done.code == 2
    assert "the folder nowhere does not exist" in done.err


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_the_file_holds_the_votes_of_the_library(unruly: Unruly, spam: Path, ending: str) -> None:
    done = unruly("vote", spam, "-o", f"votes.{ending}")
    assert done.code == 0
    assert done.out == ""
    assert "73 documents, 8 sources" in done.err
    project = Project.read(spam)
    expected = project.sources.vote(project.corpus())
    written = read_votes(Path(f"votes.{ending}"), project.classes)
    assert written.matrix.tolist() == expected.matrix.tolist()
    assert written.sources == expected.sources
    assert written.ids.to_list() == expected.ids.to_list()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_names_are_written_slice_by_slice(
    unruly: Unruly, spam: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    unruly("vote", spam, "-o", f"whole.{ending}")
    monkeypatch.setattr("unruly.votes.files.SLICE", 10)
    unruly("vote", spam, "-o", f"sliced.{ending}")
    assert Path(f"sliced.{ending}").read_bytes() == Path(f"whole.{ending}").read_bytes()


def test_the_users_ids_and_another_split(unruly: Unruly, spam: Path) -> None:
    (spam / "test.csv").write_text("key,comment\nzz,subscribe!\naa,nice\n")
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]\n", '[data]\ntest = "test.csv"\nid = "key"\n'))
    toml.write_text(toml.read_text().replace('label = "is_spam"  ', "#"))
    assert unruly("vote", spam, "--split", "test", "-o", "votes.csv", "-q").err == ""
    votes = pl.read_csv("votes.csv")
    assert votes["id"].to_list() == ["zz", "aa"]
    assert votes["subscribe"].to_list() == ["spam", None]


def test_json(unruly: Unruly, spam: Path) -> None:
    done = unruly("vote", spam, "-o", "votes.csv", "--json", "-q")
    assert json.loads(done.out)["documents"] == 73
    assert done.err == ""


def test_only_an_edited_source_is_matched_again(unruly: Unruly, spam: Path) -> None:
    unruly("vote", spam, "-o", "one.parquet")
    before = set(Path(".cache").rglob("*.votes"))
    assert len(before) == 8
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("max_words = 4", "max_words = 5"))
    unruly("vote", spam, "-o", "two.parquet")
    assert len(set(Path(".cache").rglob("*.votes")) - before) == 1
    unruly("vote", spam, "-o", "three.parquet", "--no-cache")
    assert Path("two.parquet").read_bytes() == Path("three.parquet").read_bytes()
    assert Path("one.parquet").read_bytes() != Path("two.parquet").read_bytes()


def test_a_long_file_is_read_as_a_stream_with_the_same_votes(
    spam: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project.read(spam)
    whole = vote_split(project)
    monkeypatch.setattr("unruly.project.voting.SMALL", 10)
    streamed = vote_split(project)
    assert streamed.votes.matrix.tolist() == whole.votes.matrix.tolist()
    assert streamed.votes.ids.to_list() == whole.votes.ids.to_list()
    assert streamed.gold is not None
    assert whole.gold is not None
    assert streamed.gold.tolist() == whole.gold.tolist()


def slow_project(folder: Path) -> Path:
    """A project whose one rule needs a minute for its documents, and says when it has begun."""
    folder.mkdir()
    (folder / "texts.csv").write_text("text\n" + "word\n" * 6000)
    (folder / "rules.py").write_text(
        "import time\nfrom pathlib import Path\nfrom unruly import rule\n\n@rule\ndef slow(row):\n"
        "    Path(__file__).with_name('begun').touch()\n    time.sleep(0.01)\n"
    )
    (folder / "unruly.toml").write_text(
        '[task]\nclasses = ["x", "y"]\n[data]\ntrain = "texts.csv"\n[[source]]\nname = "slow"\n'
        'rule = [{ function = { file = "rules.py", name = "slow" } }]\n'
    )
    return folder


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_it_stops_at_once_and_leaves_nothing_half_written(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    project = slow_project(tmp_path / "slow")
    (tmp_path / "votes.parquet").write_text("precious")
    run = subprocess.Popen(
        command_line(["vote", "slow", "-o", "votes.parquet"]),
        cwd=tmp_path,
        env={**os.environ, "UNRULY_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (project / "begun").exists():
        assert run.poll() is None, run.communicate()
        time.sleep(0.02)
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert run.returncode == code
    assert out == ""
    assert err == ("interrupted: nothing half-written is left\n" if code == 130 else "")
    assert (tmp_path / "votes.parquet").read_text() == "precious"
    left = {path.name for path in tmp_path.iterdir()} - {"cache"}
    assert left == {"slow", "votes.parquet"}


def test_on_a_terminal_a_bar_is_drawn_on_standard_error(tmp_path: Path) -> None:
    slow_project(tmp_path / "slow")
    ours, theirs = pty.openpty()
    run = subprocess.Popen(
        command_line(["vote", "slow", "-o", "votes.parquet"]),
        cwd=tmp_path,
        env={
            **os.environ,
            "UNRULY_CACHE": str(tmp_path / "cache"),
            "TERM": "xterm",
            "COLUMNS": "120",
        },
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    while b"measuring for source 'slow', rule 1" not in shown:
        shown += os.read(ours, 4096)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    while b"left" not in shown:
        shown += os.read(ours, 4096)
    os.close(ours)
    assert (run.returncode, out) == (130, b"")
    assert b"0/6,000" in shown
    assert b"\x1b[?25h" in shown, "the cursor stays hidden"
    assert b"interrupted: nothing half-written is left" in shown


def test_skipped_rows_are_listed_in_a_file(unruly: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text(
        "comment,is_spam\nlovely song,0\nsubscribe,1\nbad,row,here\n"
    )
    skip = ("--skip-bad", "--skipped")
    done = unruly("vote", spam, "-o", "v.csv", *skip, "left.txt")
    assert (done.code, "1 row skipped: " in done.err) == (0, True)
    assert "comments.csv, line 4: 3 fields" in Path("left.txt").read_text()
    done = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", *skip, "again.txt")
    assert (done.code, Path("again.txt").read_text()) == (0, Path("left.txt").read_text())
    refused = unruly("vote", spam, "-o", "v.csv", *skip, "v.csv")
    assert refused.code == 2


def test_formulas_among_votes_are_defused_when_asked(unruly: Unruly, spam: Path) -> None:
    file = spam / "unruly.toml"
    file.write_text(file.read_text().replace('name = "subscribe"', 'name = "=1+1"'))
    for options, mark in (((), ""), (("--defuse",), "'")):
        assert unruly("vote", spam, "-o", "votes.csv", *options).code == 0
        header = Path("votes.csv").read_text().splitlines()[0].split(",")
        assert f"{mark}=1+1" in header
    done = unruly("vote", spam, "-o", "votes", "--defuse", "--engine", "ray")
    assert "--skipped and --defuse cannot be used with --engine ray" in done.err


def test_a_cluster_skips_the_rows_that_the_project_skips(
    unruly: Unruly, spam: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def vote(
        project: Path, data: Path, out: Path, *, on_bad_row: str, **more: object
    ) -> ClusterRun:
        asked.append(on_bad_row)
        return ClusterRun(out, documents=0, workers=1, parts=0, resumed=0)

    monkeypatch.setattr("unruly.distributed.run.vote", vote)
    assert unruly("vote", spam, "-o", "votes", "--engine", "ray").code == 0
    spoilt(spam, "[data]", '[data]\non_bad_row = "skip"')
    assert unruly("vote", spam, "-o", "votes", "--engine", "ray").code == 0
    assert asked == ["keep", "skip"]


def test_a_broken_file_among_many_is_a_fact(unruly: Unruly, spam: Path) -> None:
    """In `check`, `vote` and `fit` alike: the file, from which row on, how many rows, and why."""
    comments = pl.read_csv(spam / "comments.csv")
    (spam / "many").mkdir()
    for number in range(3):
        comments.write_parquet(spam / "many" / f"{number}.parquet")
    (spam / "many" / "1.parquet").write_bytes(b"PAR1 and no more")
    spoilt(spam, '"comments.csv"', '"many"')
    skip = ("--skip-bad",)
    checked = json.loads(unruly("check", spam, "--json", *skip).out)
    voted = json.loads(unruly("vote", spam, "-o", "v.csv", "--json", *skip).out)
    fitted = unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "--json", *skip)
    (broken,) = voted["broken"]
    assert broken["file"] == str(spam / "many" / "1.parquet")
    assert (broken["start"], broken["rows"]) == (0, None)
    assert broken["reason"].startswith("cannot be read as Parquet")
    assert checked["texts"]["broken"] == voted["broken"]
    plain = json.loads(fitted.out)
    assert (plain["skipped"], plain["broken"]) == (0, voted["broken"])
    line = f"left out: {broken['file']}: cannot be read as Parquet"
    assert line in unruly("check", spam, *skip).out
    assert line in unruly("vote", spam, "-o", "v.csv", *skip).err
    assert line in fitted.err
