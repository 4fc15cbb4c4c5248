from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from unruly.errors import RuleError
from unruly.rules.condition import Condition
from unruly.rules.field import Field, Lookup, Part, PartWords, SameLastName
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

FRAME = pl.DataFrame(
    {
        "text": ["a", "b", "c", "d"],
        "stars": [5, 3, 1, None],
        "kind": ["pro", "user", None, "5"],
        "paid": [True, False, True, None],
    }
)


def fired(condition: Condition, frame: pl.DataFrame = FRAME) -> list[bool]:
    sources = Sources(["no", "yes"], [Source("f", [Rule("yes", condition)])])
    return [bool(v) for v in sources.vote(Corpus.from_frame(frame, text="text")).voted[:, 0]]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Field("stars", equal=3), [False, True, False, False]),
        (Field("kind", equal="pro"), [True, False, False, False]),
        (Field("kind", equal=5), [False, False, False, True]),
        (Field("paid", equal=True), [True, False, True, False]),
        (Field("kind", among=["pro", "user"]), [True, True, False, False]),
        (Field("stars", among=[1, 5]), [True, False, True, False]),
        (Field("stars", low=3), [True, True, False, False]),
        (Field("stars", low=1, high=3), [False, True, True, False]),
    ],
)
def test_tests_on_columns(condition: Field, expected: list[bool]) -> None:
    assert fired(condition) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Field("stars", low=4.0), "column stars: at least 4"),
        (Field("stars", low=1.5, high=2), "column stars: at least 1.5 and at most 2"),
        (Field("stars", equal=3), "column stars: 3"),
        (Field("country", among=["DE", "FR", "US", "GB"]), "column country: DE, FR, US and 1 more"),
        (Field("paid", equal=True), "column paid: true"),
    ],
)
def test_the_reason_is_written_as_a_reader_would(condition: Field, expected: str) -> None:
    assert condition.reason() == expected


def test_a_wrong_column_is_named_with_a_suggestion() -> None:
    with pytest.raises(RuleError, match=r"source 'f', rule 1: .*'star'.*did you mean 'stars'"):
        fired(Field("star", equal=1))


def test_a_range_of_words_is_an_error_and_not_a_silence() -> None:
    with pytest.raises(RuleError, match=r"source 'f', rule 1, row id 0: "):
        fired(Field("kind", low=1))


def test_a_cell_that_is_not_a_number_is_named_by_its_row() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c"], "text": ["x"] * 3, "stars": ["5", "4,567", "n/a"]})
    sources = Sources(["no", "yes"], [Source("f", [Rule("yes", Field("stars", low=4))])])
    with pytest.raises(
        RuleError,
        match=r"rule 1, row id 'b': the column 'stars' holds '4,567', .*2 rows .*\"abstain\"",
    ):
        sources.vote(Corpus.from_frame(frame, text="text", id="id"))


def test_numbers_may_have_a_decimal_comma() -> None:
    cells = ["42,33", "1.234,56", "-0,5", "500", None]
    frame = pl.DataFrame({"text": ["x"] * len(cells), "paid": cells})
    assert fired(Field("paid", low=42.33), frame) == [True, True, False, True, False]
    assert fired(Field("paid", equal=-0.5), frame) == [False, False, True, False, False]


def test_an_empty_cell_is_no_number_and_others_may_abstain() -> None:
    frame = pl.DataFrame({"text": ["x"] * 4, "stars": ["5", "", " ", None]})
    assert fired(Field("stars", low=4), frame) == [True, False, False, False]
    odd = pl.DataFrame({"text": ["x"] * 3, "stars": ["5", "n/a", "2"]})
    assert fired(Field("stars", low=4, others="abstain"), odd) == [True, False, False]


def test_others_go_with_bounds_and_are_kept_in_the_project_file() -> None:
    table = {"field": {"column": "stars", "max": 1.0, "others": "abstain"}}
    source = source_from_plain({"name": "f", "rule": [{"label": "yes", **table}]}, ["no", "yes"])
    assert source.rules[0].when == Field("stars", high=1, others="abstain")
    assert source.rules[0].when.to_plain() == table
    with pytest.raises(RuleError, match="goes with min or max"):
        Field("stars", equal=1, others="abstain")


def test_one_test_only() -> None:
    with pytest.raises(RuleError, match="needs one test"):
        Field("stars")
    with pytest.raises(RuleError, match="needs one test"):
        Field("stars", equal=1, low=0)
    with pytest.raises(RuleError, match="no number"):
        Field("stars", low=2, high=1)
    with pytest.raises(RuleError, match="empty"):
        Field("stars", among=[])


def test_last_names() -> None:
    pairs = pl.DataFrame(
        {
            "text": ["Ann Lee met Bo Lee", "Ann Lee met Bo Orr", "Lee met Lee"],
            "entity1": ["Ann Lee", "Ann Lee", "Lee"],
            "entity2": ["Bo Lee", "Bo Orr", "Lee"],
        }
    )
    assert fired(SameLastName(), pairs) == [True, False, False]
    with pytest.raises(RuleError, match="no column 'entity1'"):
        fired(SameLastName())


def test_a_number_that_is_none_satisfies_no_bound() -> None:
    frame = pl.DataFrame({"stars": [5.0, float("nan"), float("inf"), None]})
    for rule, expected in [
        (Field("stars", low=4), [True, False, True, False]),
        (Field("stars", high=6), [True, False, False, False]),
        (Field("stars", low=4, high=6), [True, False, False, False]),
    ]:
        assert frame.select(rule.mask()).to_series().to_list() == expected


RELATION = pl.DataFrame(
    {
        "text": ["His wife Ann Lee met é husband Bo Orr in sunny York"],
        "title": ["A Wedding"],
        "entity1": ["Ann Lee"],
        "entity2": ["Bo Orr"],
    }
)


def part_vote(condition: PartWords, frame: pl.DataFrame = RELATION) -> Votes:
    sources = Sources(["no", "yes"], [Source("p", [Rule("yes", condition)])])
    return sources.vote(Corpus.from_frame(frame, text="text"))


@pytest.mark.parametrize(
    ("part", "words", "word", "expected"),
    [
        ("between", None, "husband", True),
        ("between", None, "wife", False),
        ("before", None, "his", True),
        ("before", 1, "his", False),
        ("before", 1, "wife", True),
        ("after", 1, "york", False),
        ("after", None, "york", True),
        ("around", 1, "wife", True),
        ("around", 1, "husband", True),
        ("around", 1, "york", False),
        ("left1", 1, "wife", True),
        ("left2", 1, "husband", True),
        ("left2", 1, "met", False),
        ("left2", None, "wife", True),
        ("right1", 1, "met", True),
        ("right2", 1, "in", True),
    ],
)
def test_parts(part: Part, words: int | None, word: str, expected: bool) -> None:
    assert bool(part_vote(PartWords(Keywords([word]), part, words=words)).voted[0, 0]) == expected


def test_spans_are_those_of_the_whole_text() -> None:
    (match,) = part_vote(PartWords(Keywords(["husband"]), "between")).matches(0)
    start, end = match.spans[0]
    assert RELATION["text"][0][start:end] == "husband"


def test_spans_where_the_data_brings_its_own_tokens() -> None:
    frame = pl.DataFrame(
        {
            "text": ["Ann, ex-wife of Bo"],
            "entity1": ["Ann"],
            "entity2": ["Bo"],
            "tokens": [["Ann", ",", "ex-wife", "of", "Bo"]],
            "span1_tok": [[0, 0]],
            "span2_tok": [[4, 4]],
        }
    )
    (match,) = part_vote(PartWords(Keywords(["ex-wife"]), "between"), frame).matches(0)
    assert match.spans == ((5, 12),)


def test_words_in_another_column() -> None:
    assert part_vote(PartWords(Keywords(["wedding"]), column="title")).voted[0, 0]
    assert part_vote(PartWords(Pattern("^A"), column="title")).voted[0, 0]
    assert not part_vote(PartWords(Pattern("^a"), column="title")).voted[0, 0]


def test_an_entity_that_is_not_found_does_not_match() -> None:
    frame = RELATION.with_columns(entity2=pl.lit("Nobody"))
    assert not part_vote(PartWords(Keywords(["met"]), "between"), frame).voted.any()


def test_what_does_not_go_together() -> None:
    with pytest.raises(RuleError, match="either a part"):
        PartWords(Keywords(["a"]))
    with pytest.raises(RuleError, match="words must be"):
        PartWords(Keywords(["a"]), "between", words=2)
    with pytest.raises(RuleError, match="linear engine only"):
        PartWords(Pattern("a", engine="python"), "between")


def test_a_column_of_bytes_is_refused_by_name() -> None:
    frame = pl.DataFrame({"text": ["a", "b"], "raw": [b"\xff", b"x"]})
    sources = Sources(["ham", "spam"], [Source("f", [Rule("spam", Field("raw", low=1))])])
    with pytest.raises(RuleError, match="the column 'raw' holds bytes"):
        sources.vote(Corpus.from_frame(frame))


COUPLES = pl.DataFrame(
    {
        "text": ["1", "2", "3", "4"],
        "entity1": ["Ann Lee", "Bo Orr", "Cy Poe", None],
        "entity2": ["Bo Orr", "Ann Lee", "Di Orr", "Bo Orr"],
    }
)


@pytest.fixture
def couples(tmp_path: Path) -> Path:
    path = tmp_path / "couples.csv"
    path.write_text("name,spouse\nAnn Lee,Bo Orr\nXi Poe,Yo Orr\n", encoding="utf-8")
    return path


def looked_up(rule: Lookup, frame: pl.DataFrame = COUPLES) -> list[bool]:
    return fired(rule, frame)


PAIR = ("entity1", "entity2")


def test_a_pair_counts_one_way_or_both(couples: Path) -> None:
    assert looked_up(Lookup(str(couples), PAIR)) == [True, False, False, False]
    assert looked_up(Lookup(str(couples), PAIR, either_order=True)) == [True, True, False, False]


def test_a_long_table_is_not_shown(couples: Path) -> None:
    assert "Orr" not in repr(Lookup(str(couples), PAIR))


def test_last_names_are_looked_up(couples: Path) -> None:
    assert looked_up(Lookup(str(couples), PAIR, last_names=True)) == [True, False, True, False]


def test_one_value_and_a_named_key(couples: Path) -> None:
    assert looked_up(Lookup(str(couples), ["entity2"], keys=["spouse"])) == [
        True,
        False,
        False,
        True,
    ]


def test_case_and_numbers(tmp_path: Path) -> None:
    (tmp_path / "brands.csv").write_text("brand\nACME\n7\n")
    frame = pl.DataFrame({"text": ["a", "b"], "brand": ["acme", " ACME "], "n": [7, 8]})
    path = str(tmp_path / "brands.csv")
    assert looked_up(Lookup(path, ["brand"]), frame) == [False, True]
    assert looked_up(Lookup(path, ["brand"], ignore_case=True), frame) == [True, True]
    assert looked_up(Lookup(path, ["n"]), frame) == [True, False]


def test_every_option_is_written(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\nAnn Lee,Bo Lee\n")
    path, entities = str(tmp_path / "pairs.csv"), ["entity1", "entity2"]
    full = Lookup(path, entities, ["a", "b"], True, True, True)
    written = full.to_plain()["lookup"]
    assert isinstance(written, dict)
    assert set(written) == set(Lookup.OPTIONS)


def test_the_file_is_relative_to_the_project_and_its_contents_are_the_meaning(
    couples: Path,
) -> None:
    table = {
        "name": "l",
        "rule": [{"label": "yes", "lookup": {"file": "couples.csv", "columns": list(PAIR)}}],
    }
    before = source_from_plain(table, ["no", "yes"], couples.parent)
    couples.write_text("name,spouse\nCy Poe,Di Orr\n", encoding="utf-8")
    after = source_from_plain(table, ["no", "yes"], couples.parent)
    assert before.meaning() != after.meaning()
    votes = Sources(["no", "yes"], [after]).vote(Corpus.from_frame(COUPLES, text="text"))
    assert votes.voted[:, 0].tolist() == [False, False, True, False]


def test_bad_tables(couples: Path, tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no 'wife'"):
        Lookup(str(couples), ["entity1"], keys=["wife"])
    with pytest.raises(RuleError, match="3 are needed"):
        Lookup(str(couples), ["a", "b", "c"])
    with pytest.raises(RuleError, match="two columns"):
        Lookup(str(couples), ["entity1"], either_order=True)
    table = {
        "name": "l",
        "rule": [{"label": "yes", "lookup": {"file": "none.csv", "columns": ["a"]}}],
    }
    with pytest.raises(RuleError, match=r"source 'l', rule 1: there is no file none\.csv"):
        source_from_plain(table, ["no", "yes"], tmp_path)


def test_a_broken_table_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("a,b\n1,2\n1,2,3\n", "utf-8")
    rule = {"label": "yes", "lookup": {"file": "pairs.csv", "columns": ["a"]}}
    with pytest.raises(RuleError, match=r"rule 1: .*pairs\.csv, line 3: 3 fields, but the header"):
        source_from_plain({"name": "s", "rule": [rule]}, ["no", "yes"], tmp_path)
