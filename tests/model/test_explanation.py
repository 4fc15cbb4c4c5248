"""Explanations: every vote with its rule and span, both heads, neighbours and words."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.model.planted import planted, quick, texts

from unruly.errors import InputError
from unruly.model.explanation import explain, influential_words
from unruly.model.inputs import Documents
from unruly.model.weak_classifier import WeakClassifier
from unruly.paper.inference import CoTrained
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

TEXT = "the lovely voice of my channel"


def test_every_vote_has_its_rule_its_span_and_its_reliability(model: WeakClassifier) -> None:
    told = model.explain(TEXT)
    votes = {vote.source: vote for vote in told.votes}
    assert set(votes) == {"praise", "advert"}
    assert votes["advert"].label == "spam"
    assert votes["advert"].rule == 1
    assert votes["advert"].matched == ("channel",)
    assert TEXT[slice(*votes["praise"].spans[0])] == "lovely"
    assert "keywords" in votes["praise"].reason
    assert sum(vote.conditional for vote in told.votes) == pytest.approx(1, abs=1e-5)
    for vote in told.votes:
        assert vote.overall == model.reliability_[model.sources_.index(vote.source)]
    assert told.majority == ("ham", "spam")
    best = max(told.votes, key=lambda vote: vote.overall)
    assert told.pseudo_label == (best.label,)


def test_sources_of_equal_reliability_tie(model: WeakClassifier) -> None:
    fitted, documents = model.fitted, Documents.of([TEXT])
    votes = fitted.votes(documents, None)
    assert isinstance(fitted.learner, CoTrained)
    even = replace(fitted.learner, reliability=np.full(votes.k, 1 / votes.k))
    assert explain(replace(fitted, learner=even), documents, None).pseudo_label == ("ham", "spam")


def test_both_heads_and_the_decision_are_those_of_the_model(model: WeakClassifier) -> None:
    told = model.explain(TEXT)
    answers = model.predictions([TEXT])
    assert told.label == answers.labels[0]
    assert told.confidence == answers.confidence[0]
    assert told.decided_by == answers.decided_by[0]
    assert told.denoiser is not None
    assert dict(told.denoiser.probabilities)["ham"] == answers.heads.denoiser[0, 0]
    assert told.classifier.confidence == answers.heads.classifier[0].max()


def test_the_telling_words_are_those_that_the_classifier_hangs_on(model: WeakClassifier) -> None:
    told = model.explain("please subscribe to the video and click it", words=2)
    assert told.words[0].text == "subscribe"
    assert told.words[0].effect > abs(told.words[1].effect)
    without = model.explain("please  to the video and click it", words=0)
    spam = (
        dict(told.classifier.probabilities)["spam"] - dict(without.classifier.probabilities)["spam"]
    )
    found = next(word.effect for word in told.words if word.text == "subscribe")
    assert found == pytest.approx(spam, abs=1e-5)
    assert without.words == ()


def test_long_words_and_many_matches_are_cut_where_people_read(model: WeakClassifier) -> None:
    told = model.explain("subscribe " + "x" * 100_000)
    for shown in (str(told), told._repr_html_().rpartition("<table>")[2]):
        assert "x" * 59 + "…" in shown
        assert "x" * 60 not in shown
    assert json.dumps(told.to_plain()).count("x" * 100_000) == 2  # the text, and the word
    assert "“subscribe” and 28 more" in str(model.explain("subscribe " * 40))


def test_neighbours_are_training_documents_with_their_beginnings(
    model: WeakClassifier, corpus: Corpus
) -> None:
    told = model.explain(corpus.texts[5])
    assert len(told.neighbours) == 5
    first = told.neighbours[0]
    assert first.similarity > 0.99
    assert isinstance(first.id, int)
    assert corpus.texts[first.id] == first.text
    assert f"predicted {first.label}  (id {first.id})" in str(told)


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_near_to_nothing(model: WeakClassifier, text: str) -> None:
    told = model.explain(text)
    assert told.neighbours == ()
    assert "nearest training documents: none, because the text is empty" in str(told)
    assert told.decided_by == "prior"
    assert "by the class shares alone: there is neither a text nor a vote" in str(told)


def test_a_text_of_unknown_words_alone_is_near_to_nothing(model: WeakClassifier) -> None:
    told = model.explain("zzzz qqqq")
    assert all(near.similarity > 0 for near in told.neighbours)
    assert "the text is empty" not in str(told)


def test_text_json_and_object_tell_the_same(model: WeakClassifier) -> None:
    told = model.explain(TEXT)
    plain = json.loads(json.dumps(told.to_plain()))
    assert plain["label"] == told.label
    assert [vote["source"] for vote in plain["votes"]] == [vote.source for vote in told.votes]
    assert plain["votes"][0]["global_reliability"] == told.votes[0].overall
    assert plain["votes"][0]["odds"] == told.votes[0].odds
    lines = str(told).splitlines()
    assert lines[0].startswith(f"{told.label} (")
    assert any("“lovely”" in line for line in lines)
    assert any(line.startswith("majority vote: ham and spam tie; by reliability") for line in lines)
    assert lines[-1] == "gold labels: none used"


def test_votes_are_ordered_by_how_far_they_move_the_odds(sources: Sources, corpus: Corpus) -> None:
    told = WeakClassifier("lsa", cache=False).fit(corpus, sources=sources).explain(TEXT)
    moves = [abs(math.log(vote.odds or 1)) for vote in told.votes]
    assert len(moves) > 1
    assert moves == sorted(moves, reverse=True)
    lines = str(told).splitlines()
    assert lines[2].split() == ["source", "vote", "odds", "accuracy", "why"]
    assert f"together     {told.answer}: product of the two, class shares counted once" in lines
    assert "weight" not in str(told)


def test_the_paper_tells_no_odds(model: WeakClassifier) -> None:
    told = model.explain(TEXT)
    assert [vote.odds for vote in told.votes] == [None, None]
    assert "odds" not in str(told)


def test_a_document_without_votes(model: WeakClassifier) -> None:
    told = model.explain("please the video of it and this to my")
    assert told.votes == ()
    assert told.denoiser is None
    assert told.pseudo_label == ()
    assert told.majority == ()
    assert told.decided_by == "classifier"
    assert "no source votes on this document" in str(told)
    assert json.loads(json.dumps(told.to_plain()))["denoiser"] is None


def test_an_empty_text(model: WeakClassifier) -> None:
    told = model.explain("")
    assert told.words == ()
    assert told.votes == ()


def test_one_document_at_a_time(model: WeakClassifier) -> None:
    with pytest.raises(InputError, match="one document at a time, not 2"):
        model.explain(["a", "b"])


def test_features_are_explained_without_words_or_spans() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    told = model.explain(data.features[0], data.matrix[0])
    assert told.text is None
    assert told.words == ()
    assert all(vote.rule is None and vote.spans == () for vote in told.votes)
    assert len(told.votes) == (data.matrix[0] >= 0).sum()


def test_relation_data_is_explained_too() -> None:
    made, gold = texts(40)
    frame = pl.DataFrame(
        {
            "text": [f"Ann {text} Bo" for text in made],
            "entity1": ["Ann"] * 40,
            "entity2": ["Bo"] * 40,
            "span1": [[0, 3]] * 40,
            "span2": [[4 + len(text) + 1, 4 + len(text) + 3] for text in made],
        }
    )
    corpus = Corpus.from_frame(frame)
    votes = np.where(np.arange(40)[:, None] % 3 > 0, gold[:, None], -1)
    model = quick(10).set_params(encoder={"name": "lsa", "dim": 4}).fit(corpus, votes)
    told = model.explain(corpus.take([0]), votes[:1])
    assert len(told.words) == 8
    assert len(told.votes) == int(votes[0, 0] >= 0)


asked: list[int] = []


def by_length(texts: Sequence[str]) -> NDArray[np.float32]:
    asked.append(len(texts))
    share = np.array([len(text) for text in texts], dtype=np.float32) / 1000
    return np.column_stack([1 - share, share])


@given(st.text(max_size=200))
def test_spans_are_the_words(text: str) -> None:
    for word in influential_words(text, by_length, 1, count=50):
        assert text[word.start : word.end] == word.text
        assert word.text.strip() == word.text


def test_greatest_change_first_and_signs_kept() -> None:
    words = influential_words("a bbbb cc", by_length, 1)
    assert [word.text for word in words] == ["bbbb", "cc", "a"]
    assert words[0].effect == 0.004
    assert influential_words("a bbbb cc", by_length, 0)[0].effect == -0.004


def test_a_long_text_is_taken_in_runs_of_words() -> None:
    asked.clear()
    text = " ".join(["word"] * 5000)
    words = influential_words(text, by_length, 1, count=1000, most=100)
    assert asked == [101]
    assert len(words) == 100
    covered = sorted((word.start, word.end) for word in words)
    assert covered[0][0] == 0
    assert covered[-1][1] == len(text)
    assert sum(len(word.text.split()) for word in words) == 5000


def test_an_empty_text_has_no_words() -> None:
    assert influential_words("", by_length, 0) == ()
    assert influential_words(" \n ", by_length, 0) == ()


def test_punctuation_and_scripts_without_blanks() -> None:
    def words(text: str) -> list[str]:
        found = influential_words(text, by_length, 1, count=50)
        return [word.text for word in sorted(found, key=lambda word: word.start)]

    assert words("Don't stop!!! well-made.") == ["Don't", "stop", "!!!", "well-made"]
    assert words("歌が好き") == ["歌", "が", "好", "き"]
