"""`unruly suggest`: what it shows, accepts and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Unruly

from unruly.model.suggestions import RuleSuggestion
from unruly.project.file import parse_project
from unruly.project.project import Project
from unruly.project.suggestions import Suggestions, _places, read_refused, suggest
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule
from unruly.statistics import wilson

TOML = """\
# two sources, and a comment that stays
encoder = "lsa"
[task]
classes = ["ham", "spam"]
[data]
train = "texts.csv"
[[source]]
name = "praise"
rule = [{ label = "ham", keywords = ["lovely"] }]  # more to come
[[source]]
name = "advert"
rule = [{ label = "spam", keywords = ["subscribe"] }]
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """200 texts whose classes have four words each; rules know one."""
    rng = np.random.default_rng(0)
    filler = [a + b for a in "bcdfgh" for b in ("ano", "elu", "iri")]
    words = (("lovely", "voice", "chorus"), ("subscribe", "cheap", "winner"))
    lines = ["text"]
    for i in range(300):
        parts = [*rng.choice(filler, 5), *rng.choice(words[i % 2], 2, replace=False)]
        lines.append(" ".join(parts))
    folder = tmp_path / "planted"
    folder.mkdir()
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    (folder / "unruly.toml").write_text(TOML)
    return folder


def parsed(text: str) -> Project:
    return parse_project(text, Path("unruly.toml"))


def test_suggest_accept_refuse(unruly: Unruly, planted: Path) -> None:
    done = unruly("suggest", planted, "-n", "6", "--json")
    assert done.code == 0, done.err
    plain = json.loads(done.out)
    shown = [one["condition"] for one in plain["suggestions"]]
    assert {"keywords: cheap", "keywords: winner"} & set(shown)
    assert plain["fitted_now"] is True
    assert plain["labels"] == 0
    first, second = (str(i) for i in (1, 2))
    done = unruly("suggest", planted, "--accept", first, "--refuse", second)
    assert done.code == 0, done.err
    assert f"accepted: {shown[0]}" in done.out
    assert f"refused: {shown[1]}" in done.out
    text = (planted / "unruly.toml").read_text()
    assert "# two sources, and a comment that stays" in text
    assert "# more to come" in text
    before, after = (parsed(TOML), parsed(text))
    assert len(after.sources.words()) > len(before.sources.words()) or len(
        after.sources.names
    ) > len(before.sources.names)
    assert len(read_refused(planted)) == 1
    assert unruly("suggest", planted, "--accept", "3").code == 0  # the numbers still count
    text = (planted / "unruly.toml").read_text()
    twice = unruly("suggest", planted, "--accept", "4,1")
    assert twice.code == 2
    assert "suggestion 1 was accepted before" in twice.err
    assert (planted / "unruly.toml").read_text() == text
    again = json.loads(unruly("suggest", planted, "-n", "6", "--json").out)
    assert not {shown[0], shown[1], shown[2]} & {o["condition"] for o in again["suggestions"]}


def test_accepted_for_another_class(unruly: Unruly, planted: Path) -> None:
    shown = json.loads(unruly("suggest", planted, "-n", "2", "--json").out)["suggestions"][0]
    other = next(name for name in ("ham", "spam") if name != shown["rule"]["label"])
    done = unruly("suggest", planted, "--accept", f"1={other}")
    assert done.code == 0, done.err
    assert f"for {other}, in a new source" in done.out
    added = parsed((planted / "unruly.toml").read_text()).sources.sources[-1]
    assert added.rules[0].label == other


def test_the_screen(unruly: Unruly, planted: Path) -> None:
    done = unruly("suggest", planted, "-n", "3")
    assert "judged by a model fitted now, not saved; no true labels" in done.out
    assert " 1. " in done.out
    assert "without votes; about" in done.out
    assert "    + " in done.out
    assert "about your rules" in done.out
    assert "--accept 1" in done.err


def test_a_word_joins_a_list_and_not_a_rule_for_one_word(unruly: Unruly, planted: Path) -> None:
    toml = planted / "unruly.toml"
    shown = json.loads(unruly("suggest", planted, "-n", "2", "--json").out)["suggestions"]
    assert {one["into"]["rule"] for one in shown} == {None}
    toml.write_text(TOML.replace('["subscribe"]', '["subscribe", "spoons", "sporks"]'))
    shown = json.loads(unruly("suggest", planted, "-n", "2", "--json").out)["suggestions"]
    places = {one["rule"]["label"]: one["into"] for one in shown if "keywords" in one["rule"]}
    assert places["spam"] == {"source": "advert", "rule": 1}
    assert places["ham"]["rule"] is None


def test_a_model_judges(unruly: Unruly, planted: Path, tmp_path: Path) -> None:
    assert unruly("fit", planted, "-o", tmp_path / "m.unruly", "-q").code == 0
    done = unruly("suggest", planted, "--model", tmp_path / "m.unruly")
    assert "judged by the model; " in done.out


def test_a_class_without_rules(unruly: Unruly, planted: Path) -> None:
    text = TOML[: TOML.index('[[source]]\nname = "advert"')]
    (planted / "unruly.toml").write_text(text)
    done = unruly("suggest", planted)
    assert done.code == 0, done.err
    assert "no rule votes for spam: documents without votes stand in for it" in done.out
    assert re.search(r"\d\. spam: .*  guess: read its matches first", done.out)
    plain = json.loads(unruly("suggest", planted, "--json").out)
    assert plain["stand_in"] == "spam"
    assert [one["guess"] for one in plain["suggestions"] if one["rule"]["label"] == "spam"]
    assert all(one["guess"] for one in plain["suggestions"] if one["rule"]["label"] == "spam")
    assert plain["critique"][0]["kind"] == "shares_unknown"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--accept", "1"), "no suggestions were shown yet: run `unruly suggest "),
        (("--accept", "one"), "expected numbers with commas between"),
        (("--accept", ","), "expected numbers with commas between"),
        (("--accept", "1=hm"), "'hm' is not a class: did you mean 'ham'?"),
        (("--accept", "1", "--refuse", "1"), "suggestion 1 is both accepted and refused"),
    ],
)
def test_bad_input(unruly: Unruly, planted: Path, args: tuple[str, ...], message: str) -> None:
    done = unruly("suggest", planted, *args)
    assert done.code == 2
    assert message in done.err


def test_the_file_changed_meanwhile(unruly: Unruly, planted: Path) -> None:
    unruly("suggest", planted, "-n", "3")
    (planted / "unruly.toml").write_text(TOML + "\n# edited\n")
    done = unruly("suggest", planted, "--accept", "1")
    assert done.code == 2
    assert "unruly.toml has changed since the suggestions were shown" in done.err


def test_the_file_changed_while_suggestions_were_looked_for(
    unruly: Unruly, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are of the rules as they were at the start: a number could now name a word of another list."""

    def edited_meanwhile(*args: Any) -> Suggestions:
        found = suggest(*args)
        (planted / "unruly.toml").write_text(TOML.replace('"lovely"', '"voice"'))
        return found

    monkeypatch.setattr("unruly.project.suggestions.suggest", edited_meanwhile)
    assert unruly("suggest", planted, "-n", "3").code == 0
    done = unruly("suggest", planted, "--accept", "1")
    assert done.code == 2
    assert "unruly.toml has changed since the suggestions were shown" in done.err
    unruly("suggest", planted, "-n", "3")
    assert "there is no suggestion 99" in unruly("suggest", planted, "--accept", "99").err


def test_rules_that_match_nothing(unruly: Unruly, planted: Path) -> None:
    toml = TOML.replace("lovely", "zzz").replace("subscribe", "yyy")
    (planted / "unruly.toml").write_text(toml)
    done = unruly("suggest", planted)
    assert done.code == 2
    assert "no rule matches any document" in done.err


def test_a_spoilt_file_of_refusals(unruly: Unruly, planted: Path) -> None:
    (planted / "refused.jsonl").write_text("spam,nonsense\n")
    done = unruly("suggest", planted)
    assert done.code == 2
    assert "refused.jsonl, line 1: not a refused suggestion" in done.err


CRITICISED = """\
# what people like
[task]
classes = ["dull", "fun"]
[data]
train = "texts.csv"
id = "id"
[encoder]
name = "lsa"

[[source]]
name = "cheer"
[[source.rule]]
label = "fun"
# read from letters
keywords = [
  "merry",  # nearly always
  "grim",
]
examples = ["a grim day"]

[[source]]
name = "cheer again"
rule = [{ label = "fun", keywords = ["merry", "jolly"] }]

[[source]]
name = "gloom"
rule = [{ label = "dull", keywords = ["bleak", "drab", "grim"] }]

[[source]]
name = "silent"
rule = [{ label = "dull", keywords = ["xylophone"] }]
"""


@pytest.fixture
def criticised(tmp_path: Path) -> Path:
    """A list with a word of the other class, a source that repeats another, one that never votes."""
    rng = np.random.default_rng(1)
    filler = [a + b for a in "bcdfgh" for b in ("ano", "elu", "iri")]
    words = (("bleak", "drab", "grim", "bleak"), ("merry", "merry", "lively"))
    lines = ["id,text,label"]
    for i in range(500):
        telling = ["jolly"] if i % 50 == 1 else rng.choice(words[i % 2], 2)
        parts = [*rng.choice(filler, 4), *telling]
        lines.append(f"t{i},{' '.join(parts)},{('dull', 'fun')[i % 2]}")
    folder = tmp_path / "criticised"
    folder.mkdir()
    (folder / "texts.csv").write_text("\n".join(lines) + "\n")
    toml = CRITICISED.replace(
        'classes = ["dull", "fun"]', 'classes = ["dull", "fun"]\nprior = [0.5, 0.5]'
    )
    (folder / "unruly.toml").write_text(toml)
    return folder


def test_the_critique_can_be_acted_on(unruly: Unruly, criticised: Path) -> None:
    plain = json.loads(unruly("suggest", criticised, "-n", "2", "--json").out)
    offered = {one["remedy"]["kind"]: one for one in plain["critique"] if one["remedy"]}
    first = len(plain["suggestions"]) + 1
    assert sorted(one["number"] for one in offered.values()) == list(range(first, first + 3))
    word, merge, silent = (offered[k] for k in ("drop_word", "merge_source", "disable_source"))
    assert word["remedy"] == {"kind": "drop_word", "source": "cheer", "rule": 1, "word": "grim"}
    assert {merge["remedy"]["source"], merge["remedy"]["into"]} == {"cheer", "cheer again"}
    assert silent["remedy"]["source"] == "silent"
    shown = unruly("suggest", criticised, "-n", "2").out
    assert f"To drop 'grim' from cheer, accept {word['number']}." in " ".join(shown.split())
    done = unruly("suggest", criticised, "--accept", f"{word['number']},{silent['number']}")
    assert done.code == 0, done.err
    assert "accepted: drop 'grim' from cheer" in done.out
    assert "accepted: disable silent" in done.out
    assert "does not match its example 'a grim day'" in " ".join(done.err.split())
    text = (criticised / "unruly.toml").read_text()
    assert '# read from letters\nkeywords = [\n  "merry",  # nearly always\n]' in text
    project = parsed(text)
    assert project.sources.disabled == ("silent",)
    done = unruly("suggest", criticised, "--refuse", str(merge["number"]), "--json")
    assert json.loads(done.out)["refused"] == [{"remedy": merge["remedy"]}]
    again = json.loads(unruly("suggest", criticised, "-n", "2", "--json").out)
    offered_again = [one["remedy"] for one in again["critique"] if one["remedy"]]
    done_with = (word["remedy"], silent["remedy"], merge["remedy"])
    assert not [remedy for remedy in offered_again if remedy in done_with]


def test_a_merged_source(unruly: Unruly, criticised: Path) -> None:
    plain = json.loads(unruly("suggest", criticised, "-n", "1", "--json").out)
    merge = next(one for one in plain["critique"] if one["kind"] == "repeated_source")
    before = parsed((criticised / "unruly.toml").read_text())
    assert unruly("suggest", criticised, "--accept", str(merge["number"])).code == 0
    after = parsed((criticised / "unruly.toml").read_text())
    assert set(before.sources.names) - set(after.sources.names) == {merge["source"]}
    into = next(s for s in after.sources.sources if s.name == merge["other"])
    assert len(into.rules) == 2


def test_a_remedy_is_for_no_class(unruly: Unruly, criticised: Path) -> None:
    plain = json.loads(unruly("suggest", criticised, "-n", "1", "--json").out)
    number = next(one["number"] for one in plain["critique"] if one["remedy"])
    before = (criticised / "unruly.toml").read_bytes()
    done = unruly("suggest", criticised, "--accept", f"1,{number}=fun")
    assert done.code == 2
    assert "is for no class: leave =fun out" in done.err
    assert (criticised / "unruly.toml").read_bytes() == before, "none of them, not the first one"


def test_without_shares_nothing_is_to_be_dropped_or_disabled_by_an_estimate(
    unruly: Unruly, criticised: Path
) -> None:
    toml = criticised / "unruly.toml"
    toml.write_text(toml.read_text().replace("prior = [0.5, 0.5]\n", ""))
    plain = json.loads(unruly("suggest", criticised, "-n", "2", "--json").out)
    remedies = {one["remedy"]["kind"]: one["remedy"] for one in plain["critique"] if one["remedy"]}
    assert set(remedies) == {"merge_source", "disable_source"}
    assert remedies["disable_source"]["source"] == "silent"  # that is counted, not estimated
    assert plain["critique"][0]["kind"] == "shares_unknown"
    shown = unruly("suggest", criticised, "-n", "2").out
    assert "Class shares are not known, and estimated accuracies depend on them" in shown
    assert "even good ones can make the model worse: first state `prior`" in shown
    labels = [f"t{i},{('dull', 'fun')[i % 2]}" for i in range(20)]
    (criticised / "labels.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    plain = json.loads(unruly("suggest", criticised, "-n", "2", "--json").out)
    assert "shares_unknown" not in [one["kind"] for one in plain["critique"]]


def test_what_the_estimates_rest_on_is_told(unruly: Unruly, planted: Path) -> None:
    shown = unruly("suggest", planted, "-n", "2").out
    assert "Class shares are not known; assumed: ham" in shown
    file = planted / "unruly.toml"
    file.write_text(
        TOML.replace('classes = ["ham", "spam"]', 'classes = ["ham", "spam"]\nprior = [0.05, 0.95]')
    )
    done = unruly("suggest", planted, "-n", "2", "--json")
    kinds = [note["kind"] for note in json.loads(done.out)["notes"]]
    assert kinds == ["class_balance", "shares_against_votes"]
    assert "ham has votes on " in unruly("suggest", planted, "-n", "2").out


def test_a_list_that_is_mostly_wrong_gets_no_more_words(planted: Path) -> None:
    toml = planted / "unruly.toml"
    toml.write_text(TOML.replace('["subscribe"]', '["subscribe", "spoons", "sporks"]'))
    project = Project.read(planted)
    corpus = project.corpus("train")
    votes = project.vote(corpus)
    rule = Rule("spam", Keywords(["cheap"]))  # stands beside `subscribe` on a third of the texts
    found = [RuleSuggestion(rule, 1.0, 100, 50, 0, wilson(90, 100), None, 0.5, False, (), ())]
    for accuracy, into in ((wilson(80, 100), "advert"), (wilson(20, 100), "cheap")):
        places = _places(found, project, corpus, votes, [None, accuracy])
        assert [place.source for place in places] == [into]


def test_gold_by_its_name_is_no_rule_and_fewer_than_asked_are_mentioned(
    unruly: Unruly, planted: Path
) -> None:
    header, *lines = (planted / "texts.csv").read_text().splitlines()
    with_gold = [f"{line},{('ham', 'spam')[i % 2]}" for i, line in enumerate(lines)]
    (planted / "texts.csv").write_text("\n".join([f"{header},label", *with_gold]) + "\n")
    done = unruly("suggest", planted, "-n", "99")
    assert done.code == 0, done.err
    assert "the column label holds true labels by its name, so no rule may read it" in done.out
    assert "column label:" not in done.out
    assert "column " not in done.out.split("about your rules")[0].replace("the column label", "")
    shown = [line for line in done.out.splitlines() if "(into " in line]
    assert f"no more than {len(shown)}: nothing else goes with one class" in done.out
    assert "would change 1 label" not in done.out
    few = unruly("suggest", planted, "-n", "2")
    assert "no more than" not in few.out
    (planted / "texts.csv").write_text("\n".join([f"{header},true_class", *with_gold]) + "\n")
    done = unruly("suggest", planted)
    assert (
        "    ! the values of true_class are names of classes: if it holds true labels" in done.out
    )


def test_predictions_and_labels_by_hand_are_told_apart(unruly: Unruly, planted: Path) -> None:
    labels = [f"{i},{('ham', 'spam')[i % 2]}" for i in range(40)]
    (planted / "labels.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    done = unruly("suggest", planted)
    assert "40 labels by hand used" in done.out
    assert re.search(
        r"; would change [\d,]+ predictions?; right on \d+ of \d+ labels? by hand", done.out
    )
