"""`unruly check`: the source table, the examples, and the exit code."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.cli.conftest import Unruly

from unruly.cli.check import saves


def test_the_source_table(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam)
    assert (done.code, done.err) == (0, "")
    header = done.out.strip().splitlines()[0].split()
    assert header[:6] == ["source", "j", "Polarity", "Coverage", "Overlaps", "Conflicts"]
    for name in ("subscribe", "about_the_song", "short", "total", "majority vote"):
        assert name in done.out
    assert "Polarity: 0 = ham, 1 = spam" in done.out
    assert "examples: 14 of 14 as expected" in done.out
    assert "\x1b" not in done.out


def test_json_is_one_object_with_all_figures(unruly: Unruly, spam: Path) -> None:
    done = unruly("check", spam, "--json")
    plain = json.loads(done.out)
    assert plain["holds"] is True
    assert plain["failures"] == []
    assert len(plain["summary"]["sources"]) == 8
    assert plain["summary"]["documents"] == 73
    assert 0 < plain["summary"]["majority"]["score"]["accuracy"] < 1


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
    assert "unruly.toml:47: source 'money', rule 1" in unruly("check", spam).err
    spoilt(spam, "enabled = false", 'enabled = "no"')
    assert "enabled: expected true or false, found 'no'" in unruly("check", spam).err


def test_rules_that_all_abstain_fail_first(unruly: Unruly, spam: Path) -> None:
    (spam / "unruly.toml").write_text(ONE.format(word="zzzz"))
    done = unruly("check", spam)
    assert done.code == 1
    assert done.out.startswith("no rule matches any document, so there is nothing to learn from")
    plain = json.loads(unruly("check", spam, "--json").out)
    assert plain["learnable"] is False


def test_rules_for_one_class_fail_and_silent_ones_are_named(unruly: Unruly, spam: Path) -> None:
    (spam / "unruly.toml").write_text(ONE.format(word="subscribe"))
    done = unruly("check", spam)
    assert done.code == 1
    first, second = done.out.splitlines()[:2]
    assert first == "all votes are for spam, so no other class can be learnt: add rules for ham"
    assert second == "b matches no document: check the rules, or remove them"
    plain = json.loads(unruly("check", spam, "--json").out)
    assert (plain["only_class"], plain["never_vote"]) == ("spam", ["b"])


def test_a_class_that_no_vote_is_for_is_said_first(unruly: Unruly, spam: Path) -> None:
    project = ONE.format(word="subscribe").replace('["ham", "spam"]', '["ham", "spam", "phish"]')
    rules = project.replace('"zzz"', '"song"')
    last = rules.rindex('label = "spam"')
    (spam / "unruly.toml").write_text(rules[:last] + 'label = "ham"' + rules[last + 14 :])
    done = unruly("check", spam)
    assert done.code == 0
    assert done.out.startswith("no vote is for phish: add rules")
    assert json.loads(unruly("check", spam, "--json").out)["unnamed"] == ["phish"]
    (spam / "unruly.toml").write_text(
        rules[:last] + 'label = ["ham", "phish"]' + rules[last + 14 :]
    )
    assert "no vote is for" not in unruly("check", spam).out


def test_empty_and_repeated_texts_are_counted(unruly: Unruly, spam: Path) -> None:
    comments = (spam / "comments.csv").read_text()
    first = comments.splitlines()[1]
    (spam / "comments.csv").write_text(comments + f"{first}\n{first}\n" + '" ",0\n')
    done = unruly("check", spam)
    assert done.code == 0
    assert "1 of 76 texts is empty" in done.out
    assert "2 of 76 texts repeat an earlier one" in done.out
    assert json.loads(unruly("check", spam, "--json").out)["texts"] == {
        "blank": 1,
        "duplicates": 2,
        "skipped": 0,
        "broken": [],
    }


def test_a_star_at_the_end_of_a_keyword_is_spoken_of(unruly: Unruly, spam: Path) -> None:
    rules = (spam / "unruly.toml").read_text()
    assert "a star is taken" not in unruly("check", spam).out
    (spam / "unruly.toml").write_text(rules.replace('"cash"', '"cash", "rich*", "f***"', 1))
    said = unruly("check", spam).out
    assert "keyword 'rich*' of money: a star is taken as it stands" in said
    assert r"write pattern = '\brich'" in said
    assert json.loads(unruly("check", spam, "--json").out)["starred"] == [["money", "rich*"]]


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


def test_a_label_column_that_is_not_there_is_said(unruly: Unruly, spam: Path) -> None:
    toml = spam / "unruly.toml"
    toml.write_text(toml.read_text().replace('"is_spam"', '"department"'))
    done = unruly("check", spam)
    assert done.code == 0
    assert "no labels in a column 'department'" in done.out + done.err
    assert json.loads(unruly("check", spam, "--json").out)["no_labels"] == "department"
