"""What the page says where the model does badly: every sentence must still hold."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.report.written import Written, answers_for, section_of, words

from unruly.findings import BalanceOrigin, ClassBalance, RepeatedSource, WeakSource
from unruly.report.page import page
from unruly.votes.votes import Votes

CLASSES = ["ham", "spam"]
N = 400


def cast_votes(
    gold: NDArray[np.int64], right: list[float], coverage: float = 0.5, seed: int = 0
) -> Votes:
    """One source for each accuracy, two classes."""
    rng = np.random.default_rng(seed)
    columns = [np.where(rng.random(len(gold)) < share, gold, 1 - gold) for share in right]
    matrix = np.where(rng.random((len(gold), len(right))) < coverage, np.stack(columns, axis=1), -1)
    names = [f"source {j}" for j in range(len(right))]
    return Votes.from_array(matrix, classes=CLASSES, sources=names)


def truth(spam: float = 0.5, n: int = N) -> NDArray[np.int64]:
    return (np.arange(n) < spam * n).astype(np.int64)


@pytest.fixture
def mostly_wrong() -> Written:
    """A source that votes for spam on 90 documents, 14 of which are (15.6%)."""
    gold = truth(0.4)
    votes = cast_votes(gold, [0.9, 0.85, 0.8])
    links = np.full(N, -1)
    links[:14] = 1
    links[N - 76 :] = 1
    matrix = np.column_stack([votes.matrix, links])
    accuracy = [(0.9, 0.85, 0.94), (0.85, 0.8, 0.9), (0.8, 0.74, 0.86), (0.156, 0.1, 0.24)]
    made = Votes.from_array(matrix, classes=CLASSES, sources=["a", "b", "c", "links"])
    stated = ClassBalance(tuple(CLASSES), (0.6, 0.4), BalanceOrigin.STATED)
    return Written(made, answers_for(gold.tolist(), 2), gold, accuracy, stated)


@pytest.mark.parametrize("gold", [True, False])
def test_a_source_that_is_mostly_wrong_is_named(mostly_wrong: Written, gold: bool) -> None:
    advice = section_of(page(mostly_wrong.facts(gold)), "advice")
    how = "measured on 90 votes" if gold else "estimated"
    assert "links is right on 15.6% (" in advice
    assert f"of its votes ({how})" in advice
    assert "is right on half of them or more" not in advice
    assert "none found" not in advice.lower()


def test_a_source_that_may_be_right_is_not_condemned(mostly_wrong: Written) -> None:
    unsure = replace(mostly_wrong, accuracy=[(0.494, 0.0, 1.0)] * 4)
    advice = section_of(page(unsure.facts(gold=False)), "advice")
    assert "a is right on 49.4% (0.0% to 100.0%) of its votes (estimated); chance level " in advice
    assert "read some of its matches before you change it" in advice
    assert "disable it" not in advice.split("Words that are weak in their list")[0]


def test_a_source_that_is_estimated_well_and_measured_badly_is_named(mostly_wrong: Written) -> None:
    trusted = replace(mostly_wrong, accuracy=[(0.9, 0.85, 0.94)] * 3 + [(0.715, 0.58, 0.85)])
    assert "links is right on 15.6%" in trusted.page()
    caption = section_of(page(trusted.facts()), "sources")
    assert re.search(r"[1-4] of 4 measured accuracies (lie|lies) outside the estimated", caption)
    without = trusted.page(gold=False)  # nobody can know, and nobody says so
    assert "links is right" not in without
    assert "None. Each of the 4 sources with 20 votes or more is right on half of them" in without
    assert "the model's own estimates, and wrong where the model is wrong" in without


def test_without_known_shares_no_source_is_called_right_or_wrong(mostly_wrong: Written) -> None:
    for balance in (None, ClassBalance(tuple(CLASSES), (0.5, 0.5), BalanceOrigin.ASSUMED)):
        assumed = replace(mostly_wrong, balance=balance)
        advice = section_of(page(assumed.facts(gold=False)), "advice")
        wrong, words_ = advice.split("Words that are weak in their list")
        assert "Class shares are not known, and estimated accuracies depend on them" in wrong
        assert "None" not in wrong
        assert "is right on" not in wrong
        assert "None" not in words_.split("Sources that repeat")[0]
        measured = section_of(page(assumed.facts()), "advice")
        assert "links is right on 15.6% (" in measured
        assert "Class shares are not known" not in measured  # all four are measured


def test_a_source_that_is_mostly_wrong_and_adds_points_is_not_to_be_disabled() -> None:
    """Of three classes its own is the likeliest on its documents, which no other source reaches."""
    gold = np.repeat([0, 1, 2], [45, 45, 310])
    lone = np.where(np.arange(N) < 100, 0, -1)
    other = np.where(np.arange(N) >= 100, 2, -1)
    votes = Votes.from_array(
        np.column_stack([lone, other]), classes=["a", "b", "c"], sources=["lone", "other"]
    )
    facts = Written(votes, answers_for(gold.tolist(), 3), gold).facts()
    assert facts.removals[0].adds is not None
    assert facts.removals[0].adds.value > 0
    weak = [c for c in facts.critique if isinstance(c, WeakSource)]
    assert [c.source for c in weak] == ["lone"]
    advice = section_of(page(facts), "advice").split("What each source adds")[0]
    assert "still adds" in advice or "before you change it" in advice
    assert "disable it" not in advice


@pytest.fixture
def wrong_balance() -> Written:
    """Nine tenths are ham; the model assumes one half, and answers so."""
    gold = truth(0.1)
    votes = cast_votes(gold, [0.85, 0.8, 0.8])
    rng = np.random.default_rng(1)
    answers = np.where(rng.random(N) < 0.55, gold, 1 - gold)
    shares = ClassBalance(tuple(CLASSES), (0.5, 0.5), BalanceOrigin.ASSUMED, depends=0.375)
    accuracy = [(0.7, 0.65, 0.75)] * 3
    return Written(votes, answers_for(answers.tolist(), 2), gold, accuracy, shares)


@pytest.mark.parametrize("gold", [True, False])
def test_an_assumed_balance_is_called_so_in_the_verdict(wrong_balance: Written, gold: bool) -> None:
    verdict = section_of(page(wrong_balance.facts(gold)), "verdict")
    assert "Class shares are not known; assumed: ham 50.0%, spam 50.0%" in verdict
    assert "37.5% of the predictions" in verdict
    assert "label 20 documents" in verdict
    sources = section_of(page(wrong_balance.facts(gold)), "sources")
    assert "rests on class shares that are assumed" in sources


def test_a_model_that_is_worse_than_majority_vote_is_called_so(wrong_balance: Written) -> None:
    text = wrong_balance.page()
    assert re.search(r"\d+\.\d points worse than majority vote", text)
    assert "points better than majority vote" not in text
    assert "Always predicting ham would be right on 90.0%: more than the model." in text


def test_better_than_majority_vote_and_below_the_commonest_class_is_no_praise(
    wrong_balance: Written,
) -> None:
    gold = wrong_balance.gold
    inverted = cast_votes(gold, [0.2, 0.2, 0.2])
    verdict = section_of(page(replace(wrong_balance, votes=inverted).facts()), "verdict")
    assert "points better than majority vote, but below the commonest class" in verdict
    assert "Always predicting ham would be right on 90.0%: more than the model." in verdict


def test_no_better_than_majority_vote_and_below_the_commonest_class_is_bad() -> None:
    gold = truth(0.1)
    votes = cast_votes(gold, [0.2], coverage=1.0)
    answers = answers_for(votes.matrix[:, 0].tolist(), 2)
    verdict = section_of(page(Written(votes, answers, gold).facts()), "verdict")
    headline = "No clear difference from majority vote, and below the commonest class"
    assert f" {headline} \n" in verdict


def test_a_source_that_repeats_another_and_helps_is_not_denied() -> None:
    """The echo breaks ties between the voice and the noise, each time in favour of the truth."""
    gold, early = truth(0.5), np.arange(N) % 2 == 0
    voice = np.where(early, gold, -1)
    echo = np.where(np.arange(N) % 4 == 0, gold, -1)
    noise = np.where(early, 1 - gold, gold)
    votes = Votes.from_array(
        np.column_stack([voice, echo, noise]), classes=CLASSES, sources=["voice", "echo", "noise"]
    )
    facts = Written(votes, answers_for(gold.tolist(), 2), gold).facts()
    assert not any(isinstance(one, RepeatedSource) for one in facts.critique)
    advice = section_of(page(facts), "advice")
    assert "none casts 85% of its votes with a larger one without adding to majority vote" in advice


def test_no_difference_on_some_documents_is_not_proof_of_none() -> None:
    gold = truth(0.5)
    votes = cast_votes(gold, [1.0], coverage=1.0)
    text = page(Written(votes, answers_for(gold.tolist(), 2), gold).facts())
    assert "+0.0 to +0.0" not in text
    assert "No clear difference from majority vote" in text


def test_a_lag_is_not_called_a_lead(wrong_balance: Written) -> None:
    votes = wrong_balance.votes
    majority = votes.counts().argmax(axis=1)
    good = np.where(votes.covered, majority, wrong_balance.gold)
    always_wrong = replace(wrong_balance, posteriors=answers_for((1 - good).tolist(), 2))
    text = section_of(page(always_wrong.facts()), "accuracy")
    assert "furthest behind majority vote" in text
    assert "ahead" not in text
    assert "lead" not in text


def test_a_guessed_share_is_never_stated_as_a_fact(wrong_balance: Written) -> None:
    for gold in (True, False):
        advice = section_of(page(wrong_balance.facts(gold)), "advice")
        assert "of all documents are" not in advice
        assert "such votes on any documents" not in advice or gold
    known = (
        replace(wrong_balance.balance, origin=BalanceOrigin.STATED)
        if wrong_balance.balance
        else None
    )
    low = [(0.2, 0.1, 0.3)] * 3
    stated = replace(wrong_balance, balance=known, accuracy=low).page(gold=False)
    assert re.search(r"chance level \d+%", stated)


def test_without_gold_no_accuracy_is_claimed(wrong_balance: Written) -> None:
    text = page(wrong_balance.facts(gold=False))
    verdict = section_of(text, "verdict")
    assert "Accuracy not measured" in verdict
    assert "the answers have not been checked" in verdict
    assert not re.search(r"better|worse|right on", verdict)
    for name in ("accuracy", "confusion"):
        assert "To see it:" in section_of(text, name)
    assert "measured accuracy" not in section_of(text, "sources").replace(
        "With true labels, the measured accuracy", ""
    )


def test_an_uncovered_majority_is_said_and_no_confidence_invented() -> None:
    gold = truth(0.3)
    votes = cast_votes(gold, [0.8, 0.8], coverage=0.1)
    unsure = Written(votes, answers_for([0] * N, 2, sure=0.55), gold)
    text = page(unsure.facts(gold=False))
    assert re.search(
        r"Only \d\d\.\d% of the training documents have a vote", section_of(text, "verdict")
    )
    shown = section_of(text, "documents")
    assert "No votes, but a confidence of 80%" not in shown
    assert "Votes, but a confidence below 80%" in shown
    assert "0 of 400 documents (0%) get their label with a confidence of 90% or more" in section_of(
        text, "confidence"
    )


def test_a_class_that_is_never_predicted_is_named() -> None:
    gold = truth(0.3)
    always = Written(cast_votes(gold, [0.8, 0.7]), answers_for([0] * N, 2), gold)
    verdict = section_of(page(always.facts()), "verdict")
    assert "spam is never predicted here, though it is the true class of 120 documents." in verdict
    assert "more than the model" not in verdict  # equal to the commonest class, not below it
    assert "spam is never predicted." in section_of(page(always.facts(gold=False)), "verdict")


def test_overconfidence_is_called_so() -> None:
    gold = truth(0.5)
    rng = np.random.default_rng(0)
    half = rng.integers(0, 2, N).tolist()
    coin = Written(cast_votes(gold, [0.6, 0.6]), answers_for(half, 2, sure=0.99), gold)
    text = section_of(page(coin.facts()), "confidence")
    assert re.search(r"overconfident by \d\d\.\d points", text)
    assert "underconfident by" not in text
    timid = replace(coin, posteriors=answers_for(gold.tolist(), 2, sure=0.6))
    assert "underconfident by 40.0 points" in section_of(page(timid.facts()), "confidence")


def channel_texts(holding: NDArray[np.int64]) -> list[str]:
    return [
        f"{text} channel" if i in set(holding.tolist()) else text for i, text in enumerate(words(N))
    ]


def test_a_word_is_not_suggested_for_a_class_that_most_of_its_documents_lack() -> None:
    """15% are spam, 35% of those with the word: more than usual, but most of them are ham."""
    gold = truth(0.15)
    holding = np.concatenate([np.arange(35), np.arange(200, 265)])
    written = Written(
        cast_votes(gold, [0.9]), answers_for(gold.tolist(), 2), gold, texts=channel_texts(holding)
    )
    for gold_known in (True, False):
        assert not [
            s for s in written.facts(gold_known).suggestions if s.condition == "keywords: channel"
        ]


def believed_spam(votes_agree: bool) -> Written:
    """Fifty texts with the word, all ham, that the model takes for spam; and so do the votes, or they do not."""
    gold = truth(0.25)
    holding = np.arange(150, 200)
    believed = np.where(np.isin(np.arange(N), holding), 1, gold)
    return Written(
        cast_votes(believed if votes_agree else gold, [0.9, 0.9], coverage=0.2),
        answers_for(believed.tolist(), 2),
        gold,
        texts=channel_texts(holding),
    )


def test_a_word_is_not_suggested_for_a_class_that_no_votes_speak_for() -> None:
    for gold_known in (True, False):
        found = believed_spam(votes_agree=False).facts(gold_known).suggestions
        assert not [s for s in found if s.condition == "keywords: channel"]


def test_true_labels_choose_no_rule_and_one_that_they_contradict_is_left_out() -> None:
    written = believed_spam(votes_agree=True)
    unchecked = [
        s for s in written.facts(gold=False).suggestions if s.condition == "keywords: channel"
    ]
    assert [s.label for s in unchecked] == [
        "spam"
    ]  # the model believes so, and the page says who says so
    text = section_of(page(written.facts(gold=False)), "advice")
    assert "The model may be wrong about a rule" in text
    facts = written.facts()
    assert [(s.label, s.condition, s.accuracy, s.changed) for s in facts.suggestions] == [
        (s.label, s.condition, s.accuracy, s.changed) for s in written.facts(gold=False).suggestions
    ]
    checked = next(s for s in facts.suggestions if s.condition == "keywords: channel")
    assert checked.measured is not None
    assert (checked.label, checked.measured.value, checked.measured.n) == ("spam", 0.0, 50)
    assert checked.accuracy.value == pytest.approx(0.9)  # the model's own belief
    text = section_of(page(facts), "advice")
    assert "keywords: channel" not in text
    assert "true labels contradict" in text


def test_what_a_source_adds_is_counted_where_it_can_be_seen() -> None:
    gold = np.arange(N) % 2
    matrix = np.full((N, 2), -1)
    matrix[:200, 0] = gold[:200]
    matrix[100:, 1] = gold[100:]
    votes = Votes.from_array(matrix, classes=CLASSES, sources=["left", "right"])
    facts = Written(votes, answers_for(gold.tolist(), 2), gold).facts()
    assert [(r.uncovered, r.changed) for r in facts.removals] == [(100, 0), (200, 0)]
    assert all(r.adds is not None and r.adds.value > 0 for r in facts.removals)
    text = section_of(page(facts), "advice")
    assert "100 (50%)" in text
    assert "disable it and fit again" in text


def test_no_votes_at_all_still_give_a_true_page() -> None:
    gold = truth(0.5)
    votes = Votes.from_array(np.full((N, 2), -1), classes=CLASSES, sources=["a", "b"])
    text = Written(votes, answers_for([0] * N, 2), gold).page(gold=False)
    assert "Only 0.0% of the training documents have a vote" in text
    assert "a never votes on these documents" in text
    assert "ham: no source votes for it" in text
    assert "No source has voted" in text


def test_a_balance_that_the_true_labels_contradict_is_told(wrong_balance: Written) -> None:
    verdict = section_of(page(wrong_balance.facts()), "verdict")
    assert (
        "The model assumes that 50.0% of all documents are ham; of the true labels here, 90.0%"
        in verdict
    )
    right = replace(
        wrong_balance, balance=ClassBalance(tuple(CLASSES), (0.9, 0.1), BalanceOrigin.STATED)
    )
    assert "goes by" not in section_of(page(right.facts()), "verdict")


def test_a_model_below_majority_vote_suggests_no_rule(wrong_balance: Written) -> None:
    believed = wrong_balance.posteriors.argmax(axis=1)
    texts = [f"{t} channel" if c else t for t, c in zip(words(N), believed, strict=True)]
    written = replace(wrong_balance, texts=texts)
    assert written.facts().suggestions
    advice = section_of(page(written.facts()), "advice")
    assert "None shown: they would be chosen by the model's answers, which are worse" in advice


def test_a_model_clearly_below_the_commonest_class_suggests_no_rule(wrong_balance: Written) -> None:
    """Better than majority vote, which is worse still."""
    votes = cast_votes(wrong_balance.gold, [0.2, 0.2, 0.2])
    believed = wrong_balance.posteriors.argmax(axis=1)
    texts = [f"{t} channel" if c else t for t, c in zip(words(N), believed, strict=True)]
    written = replace(wrong_balance, votes=votes, texts=texts)
    facts = written.facts()
    assert facts.suggestions
    assert facts.evaluation is not None
    assert facts.evaluation.everything.gain.low > 0
    advice = section_of(page(facts), "advice")
    assert "answers, which are worse than always predicting ham on" in advice
    assert "90.0% are ham)" in advice
    assert "keywords: channel" not in advice
    assert "keywords: channel" in section_of(page(written.facts(gold=False)), "advice")


def test_a_handful_of_documents_is_not_compared_by_votes() -> None:
    gold = truth(0.5, n=30)
    few = Written(cast_votes(gold, [0.8, 0.7, 0.9]), answers_for(gold.tolist(), 2), gold)
    text = section_of(page(few.facts()), "accuracy")
    assert "No number of votes has 20 documents, so none are compared." in text
    assert "furthest" not in text


def test_a_difference_within_the_interval_is_not_called_over_or_underconfidence() -> None:
    gold = truth(0.5, n=100)
    answers = np.where(np.arange(100) % 5 == 0, 1 - gold, gold).tolist()  # 80 % right
    near = Written(cast_votes(gold, [0.8]), answers_for(answers, 2, sure=0.75), gold)
    text = section_of(page(near.facts()), "confidence")
    assert "75.0% confident and 80.0% (71.1 to 86.7) right: no clear difference" in text
    assert "confident by" not in text


def test_sources_that_are_estimated_alike_have_no_worst() -> None:
    gold = truth(0.5)
    alike = Written(
        cast_votes(gold, [0.7, 0.7]), answers_for(gold.tolist(), 2), gold, [(0.9, 0.8, 1.0)] * 2
    )
    text = section_of(page(alike.facts()), "sources")
    assert "Estimated accuracy: 90.0% for each." in text


def test_sources_with_few_votes_are_named_as_not_judged(mostly_wrong: Written) -> None:
    rare = np.full(N, -1)
    rare[:4] = 0
    matrix = np.column_stack([mostly_wrong.votes.matrix, rare])
    accuracy = [*(mostly_wrong.accuracy or ()), (0.1, 0.0, 0.6)]
    names = ["a", "b", "c", "links", "rare"]
    for kept in (range(5), (0, 1, 2, 4)):  # beside a source that is named, and where none is
        votes = Votes.from_array(
            matrix[:, list(kept)], classes=CLASSES, sources=[names[j] for j in kept]
        )
        known = [accuracy[j] for j in kept]
        text = replace(mostly_wrong, votes=votes, accuracy=known).page()
        assert "Not judged, with fewer than 20 votes: rare." in text


def test_a_measured_figure_goes_before_a_wider_estimate() -> None:
    """16 checked votes, 6 of them right; the estimate is 80 %, anywhere from none to all."""
    gold = truth(0.5)
    loud = np.full(N, -1)
    loud[:6] = 1
    loud[N - 10 :] = 1
    loud[100:110] = 1
    checked = np.where(np.isin(np.arange(N), range(100, 110)), -1, gold)
    votes = cast_votes(gold, [0.9, 0.85])
    made = Votes.from_array(
        np.column_stack([votes.matrix, loud]), classes=CLASSES, sources=["a", "b", "loud"]
    )
    known = [(0.9, 0.85, 0.94), (0.85, 0.8, 0.9), (0.8, 0.0, 1.0)]
    text = Written(made, answers_for(gold.tolist(), 2), checked, known).page()
    assert "loud is right on 37.5% (18.5% to 61.4%) of its votes (measured on 16 votes)" in text


def test_weights_of_the_paper_never_count_against_a_class(mostly_wrong: Written) -> None:
    facts = mostly_wrong.facts()
    told = "votes of a source that is taken to be mostly wrong count against their class"
    assert told in section_of(page(facts), "weights")
    paper = replace(facts, summary=replace(facts.summary, method="paper"))
    assert told not in section_of(page(paper), "weights")
    assert "A large weight is not a high accuracy." in section_of(page(paper), "weights")
    assert "more reliable" not in page(facts)  # the model's trust is no fact


def test_labels_that_count_from_one_are_doubted_before_any_figure() -> None:
    gold = np.arange(60) % 3 + 1  # of four classes, never the first
    votes = Votes.from_array(np.stack([gold, gold], axis=1), classes=["a", "b", "c", "d"])
    facts = Written(votes, answers_for(gold.tolist(), 4), gold).facts()
    assert facts.scored_on is not None
    doubted = replace(facts, scored_on=replace(facts.scored_on, counted_from_one=True))
    doubt = "train.csv: the labels are 1 to 3, never 0. Class numbers start at 0"
    verdict = section_of(page(doubted), "verdict")
    assert verdict.index(doubt) < verdict.index("Accuracy:")
    assert doubt not in section_of(page(facts), "verdict")
