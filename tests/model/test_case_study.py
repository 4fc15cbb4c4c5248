"""The paper's case study with a review of our own: two votes for, one against, and the one prevails."""

from __future__ import annotations

import numpy as np

from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

GOOD = (
    "The soup was lovely and the staff were kind",
    "Fresh bread, warm room, we will be back",
    "Best noodles in town, friendly staff",
    "A delicious lunch and a quick table",
    "The cake was delicious, we loved it",
)
BAD = (
    "Cold soup and a rude waiter",
    "We waited an hour and the food was cold",
    "Never again, the table was dirty",
    "Overpriced and the waiter was rude",
    "The noodles were stale and we left hungry",
)
WHEN = ("", "on Monday", "with my parents", "near the station", "after work", "last week")
BESIDE = ("The room is pretty", "Parking was easy", "The music was nice", "The menu is long")
REVIEW = "The music was nice and parking was easy. But my noodles came cold."


def positive(*words: str) -> Rule:
    return Rule("positive", Keywords(words))


def negative(*words: str) -> Rule:
    return Rule("negative", Keywords(words))


SOURCES = Sources(
    ["negative", "positive"],
    [  # the first two praise what good and bad restaurants have alike: they are right half the time
        Source("decor", [positive("pretty", "nice", "music")]),
        Source("comfort", [positive("parking", "easy", "menu", "music")]),
        Source("food", [positive("lovely", "delicious", "fresh", "best"), negative("cold", "stale", "dirty")]),
        Source("service", [positive("kind", "friendly", "quick"), negative("rude", "waited", "never again")]),
    ],
)  # fmt: skip


def reviews(n: int = 240) -> Corpus:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(n):
        body = rng.choice(GOOD if rng.integers(2) else BAD)
        extra = [str(rng.choice(BESIDE)) for share in (0.6, 0.3) if rng.random() < share]
        made.append(". ".join([f"{body} {rng.choice(WHEN)}", *extra]))
    return Corpus.from_texts(made)


def test_a_review_with_two_positive_votes_is_turned_negative_by_reliability() -> None:
    corpus = reviews()
    votes = SOURCES.vote(corpus)
    model = WeakClassifier("lsa", seed=0, cache=False).fit(corpus, votes)
    told = model.explain(REVIEW)
    assert {vote.source: vote.label for vote in told.votes} == {
        "decor": "positive", "comfort": "positive", "food": "negative"
    }  # fmt: skip
    assert told.majority == ("positive",)
    assert told.pseudo_label == ()  # the paper's, which the default does not use
    assert told.denoiser is not None
    assert told.denoiser.label == "negative"
    assert told.label == "negative"
    assert told.votes[0].source == "food"
    assert told.votes[0].conditional > told.votes[1].conditional + told.votes[2].conditional
    assert told.words[0].text == "cold"
    assert told.words[0].effect > 0
