"""Votes of a split, and errors of rules at work with the line where the rule is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from unruly.errors import InputError, MissingExtraError, RuleError, UnrulyError, Where
from unruly.findings import IdleRule, SharesAgainstVotes, SilentSource, finding_to_plain
from unruly.project.new import make_starter
from unruly.project.project import DataFiles, Project
from unruly.project.voting import Checked, check_project, vote_split
from unruly.rules.keywords import Keywords
from unruly.rules.matching import VoteCache
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.sentences import sentence

SOURCES = Sources(["ham", "spam"], [Source("free", [Rule("spam", Keywords(["free"]))])])


def project(folder: Path, data: DataFiles) -> Project:
    return Project(SOURCES, data, folder=folder)


@pytest.mark.parametrize("small", [0, 100_000])
def test_votes_gold_and_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr("unruly.project.voting.SMALL", small)
    (tmp_path / "a.csv").write_text("key,text,label\nq,free beer,spam\np,tea,\n")
    files = DataFiles(train="a.csv", text="text", id="key", label="label")
    voted = vote_split(project(tmp_path, files))
    assert voted.votes.matrix.tolist() == [[1], [-1]]
    assert voted.votes.ids.to_list() == ["q", "p"]
    assert voted.gold is not None
    assert voted.gold.tolist() == [1, -1]


@pytest.mark.parametrize("small", [0, 100_000])
def test_without_gold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr("unruly.project.voting.SMALL", small)
    (tmp_path / "a.csv").write_text("text\nfree beer\n")
    assert vote_split(project(tmp_path, DataFiles(train="a.csv"))).gold is None


def test_documents_without_votes_get_the_commonest_class_of_the_training_votes(
    tmp_path: Path,
) -> None:
    """As beside every model: one majority vote, whichever command shows it."""
    two = [
        Source("free", [Rule("spam", Keywords(["free"]))]),
        Source("tea", [Rule("ham", Keywords(["tea"]))]),
    ]
    (tmp_path / "a.csv").write_text("text\nfree beer\nfree wine\ntea\n")
    (tmp_path / "t.csv").write_text("text,label\ntea,ham\ntea time,ham\nfree,spam\nhello,ham\n")
    data = DataFiles(train="a.csv", test="t.csv", label="label")
    shared = Project(Sources(["ham", "spam"], two), data, folder=tmp_path)
    found = check_project(shared, "test").summary.majority
    assert found.commonest == "spam"
    assert found.accuracy is not None
    assert found.accuracy.value == 0.75
    alone = Project(Sources(["ham", "spam"], two), replace(data, train=None), folder=tmp_path)
    assert check_project(alone, "test").summary.majority.commonest == "ham"


def test_a_wrench_folder(tmp_path: Path) -> None:
    (tmp_path / "label.json").write_text('{"0": "ham", "1": "spam"}')
    row = {"label": 1, "weak_labels": [-1], "data": {"text": "free beer"}}
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.json").write_text(json.dumps({"0": row}))
    voted = vote_split(project(tmp_path, DataFiles(test=".")), "test")
    assert voted.votes.matrix.tolist() == [[1]]
    assert voted.gold is not None
    assert voted.gold.tolist() == [1]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.csv: there is no such file"):
        vote_split(project(tmp_path, DataFiles(train="a.csv")))


@pytest.fixture
def starter(tmp_path: Path) -> Project:
    return Project.read(make_starter(tmp_path / "spam"))


@pytest.mark.parametrize("kind", [RuleError, MissingExtraError])
def test_the_line_of_the_rule(starter: Project, kind: type[UnrulyError]) -> None:
    def fail() -> None:
        with starter.blamed():
            raise kind("no", where=Where(source="feeling", rule=2, id=7))

    with pytest.raises(kind) as caught:
        fail()
    where = caught.value.where
    assert where is not None
    assert where.line is not None
    assert where.file == str(starter.file)
    text = Path(where.file).read_text().splitlines()
    assert text[where.line - 1] == "[[source.rule]]"
    assert text[where.line] == 'label = "ham"'
    assert (
        str(caught.value) == f"{starter.file}:{where.line}: source 'feeling', rule 2, row id 7: no"
    )


@pytest.mark.parametrize(
    "where", [None, Where(file="comments.csv"), Where(source="nobody", rule=1)], ids=str
)
def test_other_errors_stay_as_they_are(starter: Project, where: Where | None) -> None:
    with pytest.raises(InputError) as caught, starter.blamed():
        raise InputError("broken", where=where)
    assert caught.value.where == where


def test_the_words_of_a_message_do_not_matter(starter: Project) -> None:
    with pytest.raises(InputError) as caught, starter.blamed():
        raise InputError("source 'feeling', rule 2: not what it seems")
    assert caught.value.where is None


def test_a_project_made_in_python_has_no_lines(starter: Project) -> None:
    with (
        pytest.raises(RuleError, match=r"^source 'short', rule 1: no$"),
        replace(starter, file=None).blamed(),
    ):
        raise RuleError("no", where=Where(source="short", rule=1))


TOML = """\
[task]
classes = ["ham", "spam"]
[data]
train = "comments.csv"
[[source]]
name = "a"
[[source.rule]]
label = "ham"
keywords = ["song"]
[[source.rule]]
label = "spam"
keywords = ["free"]
examples = [
    "free",
    "gratis",
]
[[source]]
name = "b"
rule = [{ label = "spam", keywords = ["win"], counter_examples = ["we win", "winner"] }]
"""


def test_the_starter_holds(tmp_path: Path) -> None:
    checked = check_project(make_starter(tmp_path / "spam"))
    assert checked.holds
    assert checked.examples == 14
    assert checked.summary.documents == 73


def test_each_failure_has_its_line(tmp_path: Path) -> None:
    folder = make_starter(tmp_path / "spam")
    (folder / "unruly.toml").write_text(TOML)
    checked = check_project(folder)
    assert not checked.holds
    assert checked.examples == 4
    assert [sentence(failure) for failure in checked.failures] == [
        f"{folder / 'unruly.toml'}:15: source 'a', rule 2 does not match its example 'gratis'",
        f"{folder / 'unruly.toml'}:19: source 'b', rule 1 matches its counter-example 'we win'",
    ]
    assert checked.to_plain()["failures"][1] == {
        "kind": "example_failure",
        "where": {"file": str(folder / "unruly.toml"), "line": 19, "rule": 1, "source": "b"},
        "text": "we win",
        "counter_example": True,
    }


def test_a_source_that_votes_for_a_class_far_more_often_than_it_occurs(tmp_path: Path) -> None:
    """By the stated prior alone: without one, nobody knows."""
    folder = make_starter(tmp_path / "spam")
    rules = 'keywords = ["song", "video", "love", "the", "a", "i"]'
    plain = TOML.replace('keywords = ["song"]', rules)
    (folder / "unruly.toml").write_text(plain)
    assert too_frequent(check_project(folder)) == []
    stated = plain.replace("[data]", "prior = { ham = 0.05 }\n[data]", 1)
    (folder / "unruly.toml").write_text(stated)
    checked = check_project(folder)
    (fact,) = too_frequent(checked)
    assert (fact.source, fact.label, fact.share) == ("a", "ham", 0.05)
    assert fact.voted > 0.1
    assert f"at most {0.05 / fact.voted:.0%} of these votes are" in sentence(fact)
    assert sentence(fact) in checked.lines()
    assert finding_to_plain(fact) in checked.to_plain()["findings"]


def too_frequent(checked: Checked) -> list[SharesAgainstVotes]:
    return [found for found in checked.findings if isinstance(found, SharesAgainstVotes)]


IDLE = """\
[task]
classes = ["ham", "spam"]
[data]
train = "a.csv"
[[source]]
name = "off"
enabled = false
rule = [{ label = "spam", keywords = ["x"] }, { label = "spam", keywords = ["y"] }]
[[source]]
name = "mood"
[[source.rule]]
label = "spam"
keywords = ["free"]
[[source.rule]]
label = "ham"
keywords = ["free beer"]
[[source.rule]]
label = "ham"
keywords = ["absinthe"]
[[source.rule]]
label = "ham"
keywords = ["tea"]
[[source]]
name = "silent"
rule = [{ label = "spam", keywords = ["x"] }, { label = "ham", keywords = ["y"] }]
"""


@pytest.mark.parametrize("small", [0, 100_000])
def test_rules_that_decide_nothing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int
) -> None:
    """Whether or not the file is read as a stream; a source that never votes is named as a whole."""
    monkeypatch.setattr("unruly.project.voting.SMALL", small)
    (tmp_path / "a.csv").write_text("text\nfree beer\nfree beer\ntea\n\n")
    toml = tmp_path / "unruly.toml"
    toml.write_text(IDLE)
    checked = check_project(tmp_path, cache=VoteCache(tmp_path / "cache"))
    assert checked.findings[:3] == (
        SilentSource("silent"),
        IdleRule(Where(file=str(toml), line=14, source="mood", rule=2), 2),
        IdleRule(Where(file=str(toml), line=17, source="mood", rule=3), 0),
    )
    assert checked.lines()[:3] == [
        "silent never votes on these documents: change its rules, or disable it.",
        f"{toml}:14: source 'mood', rule 2 never decides: an earlier rule of the source decides on all 2 "
        "documents that it matches. Move it up, or remove it.",
        f"{toml}:17: source 'mood', rule 3 matches no document: correct it, or remove it.",
    ]
    assert checked.to_plain()["findings"][1] == {
        "kind": "idle_rule",
        "where": {"source": "mood", "file": str(toml), "rule": 2, "line": 14},
        "matches": 2,
    }
    again = check_project(tmp_path, cache=VoteCache(tmp_path / "cache"))
    assert again.to_plain() == checked.to_plain()


def test_of_many_rules_that_decide_nothing_a_few_are_shown(tmp_path: Path) -> None:
    rules = [Rule("spam", Keywords([f"word{i}"])) for i in range(20)]
    sources = Sources(["ham", "spam"], [Source("many", rules)])
    (tmp_path / "a.csv").write_text("text\nword0\n")
    checked = check_project(Project(sources, DataFiles(train="a.csv"), folder=tmp_path))
    assert len([found for found in checked.findings if isinstance(found, IdleRule)]) == 19
    shown = [line for line in checked.lines() if line.startswith("source 'many', rule ")]
    assert len(shown) == 8
    assert "11 more rules decide nothing: --json lists all." in checked.lines()


def test_an_error_in_a_rule_names_the_rule(tmp_path: Path) -> None:
    """Also where its source has several, which are counted one by one."""
    (tmp_path / "a.csv").write_text("text\nfree beer\n")
    (tmp_path / "mine.py").write_text(
        "import unruly\n@unruly.rule\ndef broken(row):\n    return 1 / 0\n"
    )
    both = '{ label = "ham", keywords = ["tea"] }, { function = { file = "mine.py", name = "broken" } }'
    start = IDLE.index("[[source]]")
    (tmp_path / "unruly.toml").write_text(
        f'{IDLE[:start]}[[source]]\nname = "a"\nrule = [{both}]\n'
    )
    with pytest.raises(RuleError, match=r"source 'a', rule 2, row id 0: .* ZeroDivisionError"):
        check_project(tmp_path)
