"""The class balance that a user states: one reader for words, numbers and tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import SettingsError
from unruly.prior import StatedBalance, parse_prior

TWO = ("ham", "spam")
THREE = ("World News", "sports", "tech")


@pytest.mark.parametrize("nothing", [None, "auto", " Auto "])
def test_nothing_stated(nothing: object) -> None:
    assert parse_prior(nothing, TWO) is None


@pytest.mark.parametrize(
    ("stated", "shares", "exact"),
    [
        ("uniform", (0.5, 0.5), False),
        ([0.9, 0.1], (0.9, 0.1), False),
        ((9, 1), (0.9, 0.1), False),
        (np.array([90, 10]), (0.9, 0.1), False),
        ([1, 1], (0.5, 0.5), False),
        ([87.5, 12.5], (0.875, 0.125), False),
        ([0.89, 0.1], (0.89 / 0.99, 0.1 / 0.99), False),  # rounded by hand
        ({"spam": 0.1}, (0.9, 0.1), False),
        ({"spam": 1, "ham": 9}, (0.9, 0.1), False),
        ({"spam": "1 in 8"}, (0.875, 0.125), False),
        ({"spam": "13%", "ham": "87 %"}, (0.87, 0.13), False),
        ({"shares": [0.9, 0.1]}, (0.9, 0.1), False),
        ({"shares": [0.9, 0.1], "exact": True}, (0.9, 0.1), True),
        ({"shares": "spam 10%", "exact": True}, (0.9, 0.1), True),
        ("0.9,0.1", (0.9, 0.1), False),
        ("0.9, 0.1", (0.9, 0.1), False),
        ("[0.9, 0.1]", (0.9, 0.1), False),
        ("9:1", (0.9, 0.1), False),
        ("90% 10%", (0.9, 0.1), False),
        ("exactly 0.9,0.1", (0.9, 0.1), True),
        ("spam is about 1 in 8", (0.875, 0.125), False),
        ("Spam is about 1 in 8".replace("Spam", "spam") + ".", (0.875, 0.125), False),
        ("spam is exactly 1 in 8", (0.875, 0.125), True),
        ("exactly spam 12.5%", (0.875, 0.125), True),
        ("spam 13%, ham 87%", (0.87, 0.13), False),
        ("spam 13% and ham 87%", (0.87, 0.13), False),
        ("ham 870, spam 130", (0.87, 0.13), False),
        ("spam = 0.13", (0.87, 0.13), False),
        ("spam: ~13 percent", (0.87, 0.13), False),
        ("about 13% is spam", (0.87, 0.13), False),
        ("one in four of the comments are spam", (0.75, 0.25), False),
        ("13% of the comments are spam", (0.87, 0.13), False),
        ("spam is 1/4", (0.75, 0.25), False),
        ("spam makes up a quarter", (0.75, 0.25), False),
        ("spam is half", (0.5, 0.5), False),
    ],
)
def test_ways_to_state_it(stated: object, shares: tuple[float, ...], exact: bool) -> None:
    found = parse_prior(stated, TWO)
    assert found is not None
    assert found.shares == pytest.approx(shares)
    assert found.exact is exact


@pytest.mark.parametrize(
    ("stated", "shares"),
    [
        ({"tech": 0.5}, (0.25, 0.25, 0.5)),
        ("World News is about 1 in 5", (0.2, 0.4, 0.4)),
        ("sports 20%, World News 30%", (0.3, 0.2, 0.5)),
        ("tech 1 in 10; sports 1 in 10", (0.8, 0.1, 0.1)),
    ],
)
def test_classes_that_are_left_out_share_the_rest(
    stated: object, shares: tuple[float, ...]
) -> None:
    found = parse_prior(stated, THREE)
    assert found is not None
    assert found.shares == pytest.approx(shares)


def test_the_votes_own_shares_stay_a_word() -> None:
    found = parse_prior("votes", TWO)
    assert found is not None
    assert found.of_votes
    assert found.to_plain() == "votes"


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ([0.9, -0.1], "above 0, not -0.1"),
        ([1, 0], "above 0, not 0"),
        ([math.nan, 0.5], "above 0, not nan"),
        ([math.inf, 0.5], "above 0, not inf"),
        ([0.9], "1 number for 2 classes"),
        ([0.3, 0.3, 0.4], "3 numbers for 2 classes"),
        ([], "0 numbers for 2 classes"),
        ([0.9, 0.2], "add up to 1.1, not to 1"),
        ({"spam": 0.5, "ham": 0.2}, "add up to 0.7, not to 1"),
        ("spam 13%, ham 80%", "add up to 0.93, not to 1"),
        ("spam about half, ham about a third", "add up to 0.833333, not to 1"),
        ("spam is exactly half, ham about 0.45", "add up to 0.95, not to 1"),
        ({"shares": "spam half, ham about 45%", "exact": True}, "add up to 0.95, not to 1"),
        ("spam about half, ham often", "'ham often' in 'spam about half, ham often' is not"),
        ({"spma": 0.1}, "no class 'spma': did you mean 'spam'"),
        ({"eggs": 0.1}, "no class 'eggs': classes are ham, spam"),
        ("eggs is 1 in 8", "no class 'eggs'"),
        ({"spam": 1.0}, "leaves nothing for ham"),
        ("spam 130%", "leaves nothing for ham"),
        ({"spam": 0}, "above 0, not 0"),
        ("spam -3%", "above 0, not -0.03"),
        ("spam nan", "above 0, not nan"),
        ("spam is 8 in 8", "must be below 1"),
        ("spam is 1 in 0", "above 0, not 0"),
        ("spam 1 in 8, spam 1 in 9", "twice"),
        ({}, "the table is empty"),
        ({"shares": [0.9, 0.1], "exact": "yes"}, "exact must be true or false"),
        ({"shares": "votes", "exact": True}, "exact needs shares"),
        ("often", "is not understood: expected"),
        ("", "is not understood: expected"),
        ([0.9, "0.1"], "expected a number for each class, found str"),
        ([True, False], "found bool"),
        (3, "found int"),
    ],
)
def test_what_is_refused(stated: object, message: str) -> None:
    with pytest.raises(SettingsError, match=r"^prior: ") as caught:
        parse_prior(stated, TWO)
    assert message in str(caught.value)
    assert caught.value.option == "prior"


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=6), st.booleans())
def test_shares_sum_to_one_and_are_read_again(counts: list[int], exact: bool) -> None:
    classes = [f"c{i}" for i in range(len(counts))]
    found = parse_prior({"shares": counts, "exact": exact}, classes)
    assert found is not None
    assert math.fsum(found.shares) == pytest.approx(1)
    assert parse_prior(found, classes) is not None
    again = parse_prior(found.to_plain(), classes)
    assert again is not None
    assert again.exact is exact
    assert again.shares == pytest.approx(found.shares)


@given(st.text(max_size=40))
def test_any_words_are_understood_or_refused(words: str) -> None:
    try:
        found = parse_prior(words, TWO)
    except SettingsError:
        return
    assert found is None or isinstance(found, StatedBalance)


def test_classes_that_nothing_is_stated_of_are_left_open() -> None:
    names = ["technical", "billing", "account", "praise"]
    stated = parse_prior("praise is about 1 in 20", names)
    assert stated is not None
    assert stated.left_open == (0, 1, 2)
    assert stated.shares[3] == pytest.approx(0.05)
    assert parse_prior(stated.to_plain(), names) == stated
    assert parse_prior({"technical": 0.5, "billing": 0.3, "account": 0.1}, names) is not None
    complete = parse_prior({"technical": 0.5, "billing": 0.3, "account": 0.1}, names)
    assert complete is not None
    assert complete.left_open == ()  # one class alone has what is left
    with pytest.raises(SettingsError, match="left_open"):
        parse_prior({"shares": [0.25] * 4, "left_open": [7]}, names)


def test_rough_words_that_add_up_to_one_roughly_are_scaled() -> None:
    names = ["delivery", "billing", "account", "technical", "cancel"]
    words = "delivery about half, billing a quarter, account 1 in 7, technical 10%, cancel 5%"
    found = parse_prior(words, names)
    assert found is not None
    total = 0.5 + 0.25 + 1 / 7 + 0.1 + 0.05
    assert found.shares == pytest.approx([x / total for x in (0.5, 0.25, 1 / 7, 0.1, 0.05)])
    assert found.added_up_to == pytest.approx(total)
    near = parse_prior("spam about 1 in 3, ham about 2 in 3", TWO)
    assert near is not None
    assert near.added_up_to is None  # nothing was scaled


def test_the_rest_may_be_said_to_be_equal() -> None:
    found = parse_prior("sports about 3 in 5, the rest equal", THREE)
    assert found is not None
    assert found.shares == pytest.approx((0.2, 0.6, 0.2))
    assert found.left_open == ()  # the votes have no say


def test_votes_divide_what_is_left_open() -> None:
    stated = parse_prior({"sports": 0.4}, THREE)
    assert stated is not None
    assert stated.with_votes([0.3, 0.6, 0.1]) == pytest.approx((0.45, 0.4, 0.15))
    assert stated.with_votes([0.0, 1.0, 0.0]) == pytest.approx((0.3, 0.4, 0.3))
    votes, complete = parse_prior("votes", THREE), parse_prior([0.2, 0.3, 0.5], THREE)
    assert votes is not None
    assert complete is not None
    assert votes.with_votes([0.3, 0.6, 0.1]) == (0.3, 0.6, 0.1)
    assert complete.with_votes([0.3, 0.6, 0.1]) == complete.shares


RESEARCH = ("R and D", "R", "D; law", "fees, taxes and fines")


@pytest.mark.parametrize(
    ("words", "shares"),
    [
        ("R and D is 0.2", {"R and D": 0.2}),
        ("R is 0.1 and R and D is 0.2", {"R": 0.1, "R and D": 0.2}),
        ("D; law is about 1 in 8; R 10%", {"D; law": 0.125, "R": 0.1}),
        ("13% is R and D, 10 % of the bills are fees, taxes and fines.", {"R and D": 0.13, "fees, taxes and fines": 0.1}),
        ("'R and D' = 0.2", {"R and D": 0.2}),
        ('"R and D": 20%, "R": 1_0 %', {"R and D": 0.2, "R": 0.1}),
    ],
)  # fmt: skip
def test_names_of_classes_are_read_before_anything_is_split(
    words: str, shares: dict[str, float]
) -> None:
    assert parse_prior(words, RESEARCH) == parse_prior(shares, RESEARCH)


NAMES = st.text(min_size=1, max_size=12) | st.lists(
    st.sampled_from(["a", "b", " and ", "; ", ", ", " is ", "0.2", "1 in 8", "half", '"', "'", "exactly ", "votes", "."]),
    min_size=1,
    max_size=5,
).map("".join)  # fmt: skip


@given(
    names=st.lists(NAMES, min_size=3, max_size=6, unique=True),
    exact=st.booleans(),
    data=st.data(),
)
def test_what_is_said_in_words_is_read_again(
    names: list[str], exact: bool, data: st.DataObject
) -> None:
    stated = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    parts = data.draw(st.lists(st.integers(1, 1000), min_size=len(stated), max_size=len(stated)))
    shares = {n: part / (sum(parts) + 7) for n, part in zip(stated, parts, strict=True)}
    if len(stated) == len(names):
        shares = {n: part / sum(parts) for n, part in zip(stated, parts, strict=True)}
    found = parse_prior({"shares": shares, "exact": exact}, names)
    assert found is not None
    again = parse_prior(found.in_words(names), names)
    assert again is not None
    assert (again.exact, again.left_open) == (exact, found.left_open)
    assert again.shares == pytest.approx(found.shares)


@pytest.mark.parametrize("words", ["spam is 1_0%", "spam is 1_ in 1_0", "spam is 0.1", "spam 10_%"])
def test_every_number_may_have_underscores(words: str) -> None:
    found = parse_prior(words, TWO)
    assert found is not None
    assert found.shares == pytest.approx((0.9, 0.1))


def test_classes_are_understood_whatever_their_capitals_and_by_a_part() -> None:
    names = ("Room & Cleanliness", "Staff", "Noise")
    stated = parse_prior("noise 20%, staff 30%, Room & Cleanliness 50%", names)
    assert stated is not None
    assert stated.shares == pytest.approx((0.5, 0.3, 0.2))
    with pytest.raises(SettingsError, match="'Room': did you mean 'Room & Cleanliness'"):
        parse_prior("Room 45%, Staff 55%", names)
