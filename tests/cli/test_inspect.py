"""`unruly show`, `explain`, `diff` and `report`: documents behind a figure, why a text gets its label, what changed, one page."""

from __future__ import annotations

import io
import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.bad_projects import inverted, three_documents
from tests.cli.conftest import FIT, Unruly
from tests.report.written import section_of

from unruly.project.project import Project
from unruly.project.voting import vote_split


def test_the_numbers_are_those_of_the_table(unruly: Unruly, spam: Path) -> None:
    votes = vote_split(Project.read(spam)).votes
    uncovered = json.loads(unruly("show", spam, "--uncovered", "-n", "99", "--json").out)
    assert uncovered["total"] == int((~votes.covered).sum()) == len(uncovered["documents"])
    assert all(not one["votes"] for one in uncovered["documents"])
    for j, name in enumerate(votes.sources):
        found = json.loads(unruly("show", spam, "--source", name, "-n", "3", "--json").out)
        assert found["total"] == int((votes.matrix[:, j] >= 0).sum())
        assert len(found["documents"]) <= 3
        for one in found["documents"]:
            assert name in [vote["source"] for vote in one["votes"]]


def test_label_and_conflicts(unruly: Unruly, spam: Path) -> None:
    votes = vote_split(Project.read(spam)).votes
    first, other = votes.sources[:2]
    a, b = votes.matrix[:, 0], votes.matrix[:, 1]
    found = unruly("show", spam, "--source", first, "--conflicts-with", other, "--json").out
    assert json.loads(found)["total"] == int(((a >= 0) & (b >= 0) & (a != b)).sum())
    found = unruly("show", spam, "--label", "spam", "--json").out
    assert json.loads(found)["total"] == int((votes.matrix == 1).any(axis=1).sum())


def test_spans_are_marked_and_escapes_harmless(unruly: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text("comment,is_spam\nplease \x1b[2J subscribe now,1\nhi,0\n")
    done = unruly("show", spam, "--source", "subscribe")
    assert "\x1b" not in done.out
    assert "\\u001b[2J [subscribe] now" in done.out
    assert "sub 4 sub and 1 more: “subscribe”)" in done.out, "which of the words it was"
    assert "1 of 1 document" in done.err


def test_where_there_are_none_it_says_why(unruly: Unruly, spam: Path) -> None:
    text = "please subscribe to everything that we are going to publish here tomorrow evening"

    def told(*args: str) -> str:
        done = unruly("show", spam, *args)
        assert done.code == 0
        return done.err

    (spam / "comments.csv").write_text(f"comment,is_spam\n{text},1\n{text}!,1\n")
    assert told("--source", "subscribe", "--label", "ham") == (
        "No documents. subscribe never votes ham, only spam.\n"
    )
    assert (
        told("--source", "link")
        == "No documents. link never votes on these documents: change its rules, or disable it.\n"
    )
    assert told("--source", "subscribe", "--conflicts-with", "link") == (
        "No documents. link never votes on these documents: change its rules, or disable it.\n"
    )
    assert told("--label", "ham") == "No documents. No source votes ham.\n"
    assert told("--uncovered") == "No documents. All with a text have votes.\n"
    why = json.loads(unruly("show", spam, "--source", "link", "--json").out)["why_none"]
    assert why == {"kind": "silent_source", "source": "link", "missing": []}
    (spam / "comments.csv").write_text(
        "comment,is_spam\nsubscribe to my channel http://a.example,1\n"
    )
    assert told("--source", "subscribe", "--conflicts-with", "link") == (
        "No documents. subscribe and link never vote for different classes.\n"
    )


def test_every_line_of_a_text_is_indented(unruly: Unruly, spam: Path) -> None:
    (spam / "comments.csv").write_text('comment,is_spam\n"please\nsubscribe\n\nnow",1\n')
    assert "\n  please\n  [subscribe]\n\n  now\n  subscribe: spam" in unruly("show", spam).out


def test_to_a_file(unruly: Unruly, spam: Path) -> None:
    assert unruly("show", spam, "--uncovered", "-o", "left.csv").code == 0
    assert pl.read_csv("left.csv").columns == ["id", "text", "gold", "votes", "matched"]
    assert unruly("show", spam, "-o", "no/left.csv").code == 2


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_formulas_are_defused_when_asked(unruly: Unruly, spam: Path, ending: str) -> None:
    (spam / "comments.csv").write_text("comment,is_spam\n=1+1 subscribe,1\n＝1,0\n")
    quoted = ending != "jsonl"  # which no spreadsheet runs
    for options, mark in (((), ""), (("--defuse",), "'" if quoted else "")):
        assert unruly("show", spam, "-o", f"o.{ending}", *options).code == 0
        shown = Path(f"o.{ending}").read_text()
        assert f"{mark}=1+1" in shown
        assert f"{mark}＝1" in shown
        assert ("'" in shown) == bool(mark)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--source", "subscrib"], "there is no source 'subscrib': did you mean 'subscribe'?"),
        (["--label", "eggs"], "there is no class 'eggs'"),
        (["--conflicts-with", "subscribe"], "--conflicts-with needs --source"),
        (["--uncovered", "--label", "ham"], "ask for --uncovered alone"),
    ],
)
def test_what_makes_no_sense(unruly: Unruly, spam: Path, args: list[str], message: str) -> None:
    done = unruly("show", spam, *args)
    assert done.code == 2
    assert message in done.err


TEXT = "check out my channel, lovely song"


def test_told_to_people(unruly: Unruly, fitted: Path) -> None:
    done = unruly("explain", fitted, TEXT)
    assert (done.code, done.err) == (0, "")
    for words in (
        "subscribe",
        "my channel",
        "denoiser",
        "classifier",
        "majority vote",
        "nearest",
        "gold labels",
        "here: the vote's share",  # what the columns mean
    ):
        assert words in done.out


def test_told_to_machines(unruly: Unruly, fitted: Path) -> None:
    plain = json.loads(
        unruly("explain", fitted, TEXT, "--json", "--words", "2", "--neighbours", "3").out
    )
    assert plain["label"] in ("ham", "spam")
    assert {vote["source"] for vote in plain["votes"]} == {
        "subscribe",
        "check_out",
        "about_the_song",
        "feeling",
    }
    assert len(plain["words"]) <= 2
    assert len(plain["neighbours"]) == 3


def test_a_text_from_standard_input(
    unruly: Unruly, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Please do subscribe to us\n"))
    plain = json.loads(unruly("explain", fitted, "-", "--json").out)
    assert [vote["source"] for vote in plain["votes"]] == ["subscribe"]


def test_an_unknown_model(unruly: Unruly) -> None:
    done = unruly("explain", "gone.unruly", TEXT)
    assert done.code == 2
    assert done.err.count("\n") == 1


def test_a_document_of_a_file(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    data = tmp_path / "new.csv"
    data.write_text("id,comment\na1,what a song\nb2,Please do subscribe to us\n")
    plain = json.loads(unruly("explain", fitted, "--data", data, "--id", "b2", "--json").out)
    assert [vote["source"] for vote in plain["votes"]] == ["subscribe"]
    missing = unruly("explain", fitted, "--data", data, "--id", "c3")
    assert missing.code == 2
    assert (
        "no document has the id 'c3' (ids are in column 'id', the first are a1, b2)" in missing.err
    )
    assert "pass one, or another column of ids with --id-column" in missing.err
    row = unruly("explain", fitted, "--data", data, "--id", "1")
    assert "no document has the id '1'" in row.err
    assert row.err.endswith("): the row with this number has the id 'b2'\n")
    assert "either a TEXT, or --data and --id" in unruly("explain", fitted).err


def _with_test_file(spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace("[data]", '[data]\ntest = "test.csv"\nid = "id"', 1))
    train = (spam / "comments.csv").read_text().splitlines()
    numbered = [f"{'id' if i == 0 else f'a{i}'},{line}" for i, line in enumerate(train)]
    (spam / "comments.csv").write_text("\n".join(numbered) + "\n")
    (spam / "test.csv").write_text("\n".join([numbered[0], f"b1,{train[2]}"]) + "\n")


def test_a_document_is_looked_for_in_all_files_of_a_project(
    unruly: Unruly, fitted: Path, spam: Path
) -> None:
    _with_test_file(spam)
    train = unruly("explain", fitted, "--data", spam, "--id", "a1")
    assert train.code == 0
    assert f"a1 is a document of {spam / 'comments.csv'}\n" in train.err
    test = unruly("explain", fitted, "--data", spam, "--id", "b1")
    assert (test.code, test.err) == (0, "")
    nowhere = unruly("explain", fitted, "--data", spam, "--id", "c1")
    assert nowhere.err.startswith(f"error: {spam / 'test.csv'}: no document has the id 'c1'")


def test_names_are_understood_whatever_their_capitals(unruly: Unruly, spam: Path) -> None:
    exact = unruly("show", spam, "--source", "link", "--label", "spam", "--json").out
    assert unruly("show", spam, "--source", "Link", "--label", "SPAM", "--json").out == exact
    assert (
        "there is no class 'spma': did you mean 'spam'?"
        in unruly("show", spam, "--label", "spma").err
    )
    none = unruly("show", spam, "--source", "Link", "--label", "HAM")
    assert "link never votes ham" in none.err


def test_show_one_document(unruly: Unruly, spam: Path) -> None:
    _with_test_file(spam)
    plain = json.loads(unruly("show", spam, "--id", "a2", "--json").out)
    assert [one["id"] for one in plain["documents"]] == ["a2"]
    assert "no document has the id 'b1': add --split test" in unruly("show", spam, "--id", "b1").err
    assert "the first ids there are a1, a2, a3" in unruly("show", spam, "--id", "x").err
    assert "ask for --id alone" in unruly("show", spam, "--id", "a2", "--uncovered").err


def test_the_name_of_a_file_is_explained_with_a_hint(unruly: Unruly, fitted: Path) -> None:
    Path("my test.csv").write_text("comment\nwhat a song\n")
    done = unruly("explain", fitted, "my test.csv")
    assert done.code == 0
    assert done.err == (
        "my test.csv is explained as a text; to explain a document of this file, use --data 'my test.csv' --id ID\n"
    )
    assert unruly("explain", fitted, "x" * 5000).err == ""
    assert unruly("explain", fitted, TEXT).err == ""


def test_one_text_needs_no_heavy_library(fitted: Path) -> None:
    """Importing scikit-learn alone takes longer than the answer may."""
    code = (
        "import sys\n"
        "from unruly.cli.main import run\n"
        f"assert run(['explain', {str(fitted)!r}, 'check out my channel', '-q']) == 0\n"
        "heavy = {'sklearn', 'pandas', 'scipy.stats', 'scipy.special', 'rich', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.strip() == "[]"
    assert after.ru_utime - before.ru_utime < 2.0  # 0.8 s of processor time on a plain machine


def test_a_document_by_its_own_column_of_ids(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    data = tmp_path / "tickets.csv"
    data.write_text("number,body,more\nT-1,subscribe to my channel,x\nT-2,lovely song,y\n")
    wanted = ("explain", fitted, "--data", data, "--id", "T-2")
    done = unruly(*wanted, "--id-column", "number", "--text-column", "body")
    assert done.code == 0
    assert "lovely" in done.out
    done = unruly(*wanted, "--text-column", "body")
    assert done.code == 2
    assert "ids are row numbers, the first are 0, 1" in done.err
    assert "--id-column" in done.err
    assert unruly("explain", fitted, "hello", "--id-column", "number").code == 2


def edited(spam: Path, tmp_path: Path) -> Path:
    other = tmp_path / "other"
    shutil.copytree(spam, other)
    toml = other / "unruly.toml"
    toml.write_text(toml.read_text().replace("max_words = 4", "max_words = 9"))
    return other


def test_nothing_changed(unruly: Unruly, spam: Path, fitted: Path) -> None:
    assert unruly("diff", spam, spam).out == "nothing changed\n"
    assert unruly("diff", fitted, fitted).out == "nothing changed\n"


def test_labels_by_hand_are_a_difference(unruly: Unruly, spam: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(spam, other)
    (other / "labels.csv").write_text("id,label\n0,spam\n1,ham\n2,(cannot tell)\n")
    out = unruly("diff", spam, other).out
    assert "labels by hand: 0 -> 2 (2 added)" in out
    (spam / "labels.csv").write_text("id,label\n0,ham\n1,Ham\n3,ham\n4,ham\n")
    plain = json.loads(unruly("diff", spam, other, "--json").out)
    assert plain["by_hand"] == {"before": 4, "after": 2, "added": 0, "removed": 2, "changed": 1}
    assert unruly("diff", spam, spam).out == "nothing changed\n"


def test_a_document_is_not_its_own_neighbour(unruly: Unruly, spam: Path, fitted: Path) -> None:
    lines = (spam / "comments.csv").read_text("utf-8").splitlines()
    near = json.loads(unruly("explain", fitted, "--data", spam, "--id", "5", "--json").out)
    assert 5 not in [one["id"] for one in near["neighbours"]]
    assert len(near["neighbours"]) == 5
    header, *rows = lines
    named = [f"{header},id", *(f"{row},c{i}" for i, row in enumerate(rows))]
    (spam / "comments.csv").write_text("\n".join(named) + "\n", "utf-8")
    again = json.loads(unruly("explain", fitted, "--data", spam, "--id", "c5", "--json").out)
    assert again["neighbours"] == near["neighbours"]
    typed = json.loads(unruly("explain", fitted, near["text"], "--json").out)
    assert typed["neighbours"][0]["id"] == 5


def test_an_edited_rule(unruly: Unruly, spam: Path, tmp_path: Path) -> None:
    plain = json.loads(unruly("diff", spam, edited(spam, tmp_path), "--json").out)
    changed = [source for source in plain["sources"] if source["kind"] == "edited"]
    assert len(changed) == 1
    assert changed[0]["votes_after"] > changed[0]["votes_before"]
    assert changed[0]["changed"] == changed[0]["votes_after"] - changed[0]["votes_before"]
    assert plain["covered_after"] >= plain["covered_before"]
    out = unruly("diff", spam, tmp_path / "other").out
    assert f"{changed[0]['source']}: edited" in out
    assert "of 73 documents of comments.csv get another majority vote" in out
    assert "another label" not in out  # no model was asked


def test_a_prior_that_was_not_stated_is_called_so(
    unruly: Unruly, spam: Path, tmp_path: Path
) -> None:
    other = edited(spam, tmp_path)
    file = spam / "unruly.toml"
    file.write_text(re.sub(r"(?m)^prior = .*$", "", file.read_text("utf-8")), "utf-8")
    out = unruly("diff", spam, other).out
    assert "prior: not stated -> spam is about 2 in 5" in out
    assert "None" not in out


def test_two_models(unruly: Unruly, spam: Path, fitted: Path, tmp_path: Path) -> None:
    other = edited(spam, tmp_path)
    assert unruly("fit", other, "-o", "new.unruly", *FIT, "--seed", "3", "-q").code == 0
    plain = json.loads(unruly("diff", fitted, "new.unruly", "--data", other, "--json").out)
    assert plain["settings"]["seed"] == [0, 3]
    assert sum(source["kind"] == "edited" for source in plain["sources"]) == 1
    assert 0 <= plain["labels"] <= 73


def test_two_models_on_a_file_of_its_own(
    unruly: Unruly, spam: Path, fitted: Path, tmp_path: Path
) -> None:
    other = edited(spam, tmp_path)
    assert unruly("fit", other, "-o", "new.unruly", *FIT, "-q").code == 0
    frame = pl.read_csv(spam / "comments.csv").head(40)
    frame.write_csv("few.csv")
    done = unruly("diff", fitted, "new.unruly", "--data", "few.csv")
    plain = json.loads(unruly("diff", fitted, "new.unruly", "--data", "few.csv", "--json").out)
    assert (plain["documents_before"], plain["documents_after"], plain["file"]) == (
        40,
        40,
        "few.csv",
    )
    assert plain["covered_before"] <= plain["covered_after"] <= 40
    edit = next(source for source in plain["sources"] if source["kind"] == "edited")
    votes = vote_split(Project.read(other)).votes
    assert edit["votes_after"] == int(
        (votes.matrix[:40, votes.sources.index(edit["source"])] >= 0).sum()
    )
    assert "of 40 documents of few.csv get another label" in done.out


def test_models_that_differ_by_the_balance_alone(unruly: Unruly, spam: Path) -> None:
    lsa = ("--encoder", "lsa", "-q")
    assert unruly("fit", spam, "-o", "old.unruly", *lsa).code == 0
    assert unruly("fit", spam, "-o", "new.unruly", *lsa, "--prior", "spam is 1 in 4").code == 0
    out = unruly("diff", "old.unruly", "new.unruly").out
    assert "class shares: " in out
    assert "ham 75.0%, spam 25.0% (stated)" in out
    assert "estimated accuracy " in out
    assert "reliability" not in out


def test_a_model_and_a_project(unruly: Unruly, spam: Path, fitted: Path) -> None:
    done = unruly("diff", fitted, spam)
    assert done.code == 2
    assert "compare two models, or two projects" in done.err


def test_a_project_gives_a_page_with_a_verdict(
    unruly: Unruly, fitted: Path, tmp_path: Path
) -> None:
    done = unruly("report", fitted, fitted.parent / "spam", "-o", "report.html", "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert told["output"] == "report.html"
    assert told["bytes"] == len(text.encode()) < 3_000_000
    assert text.startswith("<!doctype html>")
    again = unruly("report", fitted, fitted.parent / "spam", "-o", "again.html", "-q")
    assert again.code == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text, "same bytes"


def test_rows_that_cannot_be_used_are_skipped_where_that_is_asked_for(
    unruly: Unruly, fitted: Path
) -> None:
    Path("bad.csv").write_text("text,label\nlovely song,ham\nsubscribe now,spam\nbad,row,here\n")
    refused = unruly("report", fitted, "bad.csv", "-o", "r.html")
    assert (refused.code, "bad.csv, line 4: 3 fields" in refused.err) == (2, True)
    assert unruly("report", fitted, "bad.csv", "-o", "r.html", "--skip-bad", "-q").code == 0
    scored = unruly("evaluate", fitted, "bad.csv", "--skip-bad", "--json")
    assert json.loads(scored.out)["all"]["model"]["documents"] == 2, scored.err


def test_data_of_another_task_is_refused(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    three_documents(tmp_path / "films")
    for command in (
        ("report", fitted, "films", "-o", "r.html"),
        ("evaluate", fitted, "films", "--split", "train"),
    ):
        done = unruly(*command)
        assert done.code == 2
        assert "the model's classes are ham, spam, the project's dull, fun" in done.err
    assert not (tmp_path / "r.html").exists()


def test_labels_by_hand_tell_the_accuracy(unruly: Unruly, tmp_path: Path) -> None:
    inverted(tmp_path / "p", 200, gold=False)
    rows = pl.read_csv("p/texts.csv").head(30)
    fun = rows["text"].str.contains("spring|summer|merry|jolly|bright")
    labels = pl.DataFrame(
        {"id": rows["id"], "label": fun.replace_strict({True: "fun", False: "dull"})}
    )
    labels.write_csv("p/labels.csv")
    assert unruly("fit", "p", "-o", "m.unruly", "-q").code == 0
    told = json.loads(unruly("report", "m.unruly", "p", "-o", "r.html", "--json").out)
    own = json.loads(unruly("evaluate", "m.unruly", "p", "--labels", "--json").out)
    assert told["labels"] == 30
    assert told["accuracy_by_labels"] == {key: own[key] for key in told["accuracy_by_labels"]}
    page = Path("r.html").read_text("utf-8")
    share = own["accuracy"]
    assert f"Accuracy about {share:.0%} (" in page
    assert "From 30 labels by hand, held out in turn (5 refits)" in page
    for lie in ("No true labels", "without true labels", "Accuracy not measured"):
        assert lie not in page
    assert unruly("report", "m.unruly", "-o", "alone.html", "-q").code == 0
    page = Path("alone.html").read_text("utf-8")
    assert "the 30 labels that the model was trained on are not in the data that was given" in page
    assert "No true labels" not in page
    assert unruly("export", "m.unruly", "-o", "folder", "--card", "--no-onnx").code == 0
    card = Path("folder/README.md").read_text("utf-8")
    assert "by the text, the other sources and the class shares, and 30 true labels" in card
    assert "without true labels" not in card


def test_labels_that_tell_nothing_of_all_documents_are_called_so(
    unruly: Unruly, tmp_path: Path
) -> None:
    inverted(tmp_path / "p", 100, gold=False)
    lines = ["id,label,when,by,why,probability"]
    lines += [f"t{i},fun,2026-01-01T00:00:0{i},me,source:north#1,0.5" for i in range(3)]
    Path("p/labels.csv").write_text("\n".join(lines) + "\n")
    assert unruly("fit", "p", "-o", "m.unruly", "-q").code == 0
    assert unruly("report", "m.unruly", "p", "-o", "r.html", "-q").code == 0
    page = Path("r.html").read_text("utf-8")
    assert "3 labels by hand, but none comes from a random sample" in page


def test_json_holds_facts_and_no_prose(unruly: Unruly, fitted: Path) -> None:
    data = fitted.parent / "spam"
    told = json.loads(unruly("report", fitted, data, "-o", "r.html", "--json").out)
    on = {"documents": 73, "file": "comments.csv", "of": None, "missing": 0}
    assert told["documents"] == on
    assert told["scored_on"] == {"labels": 73, "file": "comments.csv", "counted_from_one": False}


def test_each_figure_names_the_documents_behind_it(unruly: Unruly, tmp_path: Path) -> None:
    folder = inverted(tmp_path / "p", 200)
    rows = pl.read_csv(folder / "texts.csv")
    rows.head(60).write_csv(folder / "test.csv")
    rows.tail(140).drop("truth").write_csv(folder / "texts.csv")
    file = folder / "unruly.toml"
    file.write_text(file.read_text().replace("[data]", '[data]\ntest = "test.csv"'))
    assert unruly("fit", "p", "-o", "m.unruly", "-q").code == 0
    assert unruly("report", "m.unruly", "p", "-o", "r.html", "-q").code == 0
    page = Path("r.html").read_text("utf-8")
    on = {name: section_of(page, name) for name in ("sources", "weights", "accuracy")}
    on |= {
        name: section_of(page, name) for name in ("confidence", "confusion", "documents", "advice")
    }
    counted, scored = "the 140 documents of texts.csv", "the 60 true labels of test.csv"
    for name in ("sources", "weights", "documents", "advice"):
        assert counted in on[name], name
    for name in ("sources", "accuracy", "confidence", "confusion", "advice"):
        assert scored in on[name], name
    assert "the 60 documents of test.csv" in on["confidence"]
    assert "Counted on the 60 documents of test.csv, for majority vote" in on["advice"]


def test_the_file_alone_gives_a_page_too(unruly: Unruly, fitted: Path, tmp_path: Path) -> None:
    done = unruly("report", fitted, "-o", "report.html", "-q")
    assert (done.code, done.out.strip(), done.err) == (0, "report.html", "")
    assert "MODEL PROJECT" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_open_shows_the_page(
    unruly: Unruly, fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert unruly("report", fitted, "-o", "report.html", "--open").code == 0
    assert opened == [(tmp_path / "report.html").as_uri()]


def test_bad_input_is_one_line_and_writes_nothing(
    unruly: Unruly, fitted: Path, tmp_path: Path
) -> None:
    for args in (
        ("report", "none.unruly", "-o", "r.html"),
        ("report", fitted, "-o", "no/such/folder/r.html"),
        ("report", fitted, "none.csv", "-o", "r.html"),
    ):
        done = unruly(*args)
        assert done.code == 2
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


def test_rows_without_a_text_are_counted_apart_from_uncovered_ones(
    unruly: Unruly, spam: Path
) -> None:
    before = json.loads(unruly("show", spam, "--uncovered", "-n", "99", "--json").out)
    table = pl.read_csv(spam / "comments.csv")
    text = Project.read(spam).corpus().text_column
    assert text is not None
    blank = table.head(3).with_columns(pl.lit("  ").alias(text))
    pl.concat([table, blank]).write_csv(spam / "comments.csv")
    after = json.loads(unruly("show", spam, "--uncovered", "-n", "99", "--json").out)
    assert (after["total"], after["blank"]) == (before["total"], 3)
    assert all(one["text"].strip() for one in after["documents"])
    told = unruly("show", spam, "--uncovered").err
    assert "; 3 rows without a text left out" in told


def test_a_report_of_a_new_file_goes_by_the_ids_of_training(
    unruly: Unruly, spam: Path, tmp_path: Path
) -> None:
    project = spam / "unruly.toml"
    project.write_text(project.read_text().replace("[data]", '[data]\nid = "number"', 1))
    table = pl.read_csv(spam / "comments.csv")
    known = table.with_columns(pl.format("T-{}", pl.int_range(pl.len()) + 500).alias("number"))
    known.write_csv(spam / "comments.csv")
    assert unruly("fit", spam, "-o", "m.unruly", "--encoder", "lsa", "-q").code == 0
    known.tail(40).write_csv(tmp_path / "new.csv")
    assert unruly("report", "m.unruly", "new.csv", "-o", "r.html", "-q").code == 0
    assert "id T-5" in (tmp_path / "r.html").read_text(encoding="utf-8")
    told = unruly("explain", "m.unruly", "--data", "new.csv", "--id", "T-540", "--json")
    assert told.code == 0
    twice = known.tail(40).with_columns(pl.lit("T-1").alias("number"))
    twice.write_csv(tmp_path / "twice.csv")  # no ids here: rows are numbered
    assert unruly("report", "m.unruly", "twice.csv", "-o", "r.html", "-q").code == 0
    assert "id T-1" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_json_lines_may_end_in_ndjson(unruly: Unruly, spam: Path, tmp_path: Path) -> None:
    done = unruly("show", spam, "-n", "2", "-o", tmp_path / "shown.ndjson")
    assert done.code == 0, done.err
    assert len(pl.read_ndjson(tmp_path / "shown.ndjson")) == 2
