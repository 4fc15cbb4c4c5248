"""What a new rule may look for: what a person would write, and no debris of the texts."""

from __future__ import annotations

import numpy as np
import pytest

from unruly.model.candidates import find_candidates
from unruly.rules.condition import Condition
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.texts.corpus import Corpus


def conditions(texts: list[str]) -> list[Condition]:
    found = find_candidates(Corpus.from_texts(texts), np.full((len(texts), 2), 0.5))
    return [found.condition(w) for w in range(found.found.shape[1])]


def words(texts: list[str]) -> set[str]:
    return {word for one in conditions(texts) if isinstance(one, Keywords) for word in one.words}


def families(texts: list[str]) -> set[str]:
    patterns = (one.pattern for one in conditions(texts) if isinstance(one, Pattern))
    return {pattern for pattern in patterns if pattern.endswith(r"\w*")}


@pytest.mark.parametrize(
    "debris",
    [
        "https://shop.example/item?ref=abc",
        "www.shop.example/item",
        "youtube.com/watch?v=xyz",
        "someone@mail.example",
        "<br /><br />",
        '<a href="http://x.example">',
        "&quot;&#39;",
        "quot;lt;b gt;",
        "#36;",
    ],
)
def test_links_and_markup_are_no_words(debris: str) -> None:
    texts = [f"{a} lovely {debris} song" for a in ("one", "two", "red", "blue")] + ["other"] * 6
    assert words(texts) <= {"lovely", "song", "lovely song", "b"}


def test_a_less_than_sign_is_no_tag() -> None:
    texts = [f"{a} love <3 this song > all" for a in ("one", "two", "red")] + ["other"] * 6
    assert {"love", "song"} <= words(texts)


def test_phrases_of_grammar_are_no_rules() -> None:
    texts = [f"{a}: if you look on my page that we have" for a in "abcd"] + ["other"] * 6
    found = words(texts)
    assert {"my", "you", "page", "look on my"} <= found
    assert not {"if you", "on my", "that we", "have", "we have"} & found


def test_phrases_begin_and_end_with_words_that_tell() -> None:
    texts = [f"{a} is the best in new york and family" for a in "abcd"] + ["other"] * 6
    found = {word for word in words(texts) if " " in word}
    assert found == {"best in new", "new york", "york and family"}


def test_a_family_is_named_by_all_that_its_words_share() -> None:
    texts = ["my channel", "two channels", "a channel", "these channels"] * 3
    texts += ["subscribe", "subscribing", "subscription", "subscribers"] * 3 + ["other"] * 24
    assert families(texts) == {
        r"\bchannel\w*",
        r"\bsubscri\w*",
        r"\bsubscrib\w*",
        r"\bsubscribe\w*",
    }


def test_one_word_with_nearly_all_documents_is_no_family() -> None:
    assert families(["shakira sings"] * 19 + ["shakiras"] + ["other"] * 24) == set()


def test_words_that_only_begin_alike_are_no_family() -> None:
    texts = ["internet", "international", "interviewing", "interdependent"] * 4
    assert r"\binter\w*" not in families(texts + ["other"] * 24)
