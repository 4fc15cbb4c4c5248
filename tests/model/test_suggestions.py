"""New rules: they go with a class, are new, say what they rest on, and obey refusals and labels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from unruly import WeakClassifier
from unruly.errors import InputError
from unruly.model.candidates import likely_gold
from unruly.model.suggestions import PerhapsGold, Refused, RuleSuggestion, suggest_rules
from unruly.progress import SILENT
from unruly.rules.field import Field
from unruly.rules.function import Document, labeling_function
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.columns import LABEL_NAMES
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CLASSES = ("ham", "spam")
HAM = ("lovely", "voice", "chorus", "guitar")
SPAM = ("subscribe", "cheap", "winner", "channel")
FILLER = [a + b for a in "bcdfghkm" for b in ("ano", "elu", "iri", "oma")]
Case = tuple[Corpus, Sources, Votes, NDArray[np.int64]]


def _pairs(words: tuple[str, ...]) -> list[str]:
    """The first word beside each other one: a second source, which confirms a rule for the first."""
    return [f"{words[0]} {word}" for word in words[1:]]


@pytest.fixture(scope="module")
def case() -> Case:
    """600 texts of two classes; rules know one word of each class, in two sources."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 600)
    texts = [
        " ".join([*rng.choice(FILLER, 6), *rng.choice((HAM, SPAM)[r], 2, replace=False)])
        for r in gold.tolist()
    ]
    sources = Sources(
        CLASSES,
        [
            Source("praise", [Rule("ham", Keywords(["lovely"]))]),
            Source("advert", [Rule("spam", Keywords(["subscribe"]))]),
            Source("praise again", [Rule("ham", Keywords(_pairs(HAM)))]),
            Source("advert again", [Rule("spam", Keywords(_pairs(SPAM)))]),
        ],
    )
    corpus = Corpus.from_texts(texts)
    return corpus, sources, sources.vote(corpus), gold


def believed(gold: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(np.eye(2)[gold] > 0, 0.85, 0.15)


def single(found: tuple[RuleSuggestion, ...], label: str) -> set[str]:
    lists = [s.rule.when for s in found if s.label == label]
    return {word for one in lists if isinstance(one, Keywords) for word in one.words}


def clear(found: tuple[RuleSuggestion, ...]) -> tuple[RuleSuggestion, ...]:
    return tuple(one for one in found if not one.guess)


def guesses(found: tuple[RuleSuggestion, ...]) -> tuple[RuleSuggestion, ...]:
    return tuple(one for one in found if one.guess)


def test_they_go_with_a_class_and_are_new(case: Case) -> None:
    corpus, rules, votes, gold = case
    found = suggest_rules(corpus, votes, believed(gold), rules=rules)
    assert single(found, "ham") >= {"voice", "chorus", "guitar"}
    assert single(found, "spam") >= {"cheap", "winner", "channel"}
    assert not {"lovely", "subscribe"} & (single(found, "ham") | single(found, "spam"))
    for one in found:
        cast = Sources(CLASSES, [Source("s", [one.rule])]).vote(corpus)
        assert one.documents == int(cast.covered.sum())
        assert one.uncovered == int((cast.covered & ~votes.covered).sum())
        assert one.accuracy.low <= one.accuracy.value <= one.accuracy.high
        assert one.measured is None
        assert all(match.label == one.label for match in one.fits)
        assert all(match.label != one.label for match in one.misfits)
        assert len(one.fits) <= 3
        assert len(one.misfits) <= 3


def test_other_columns_are_looked_at(case: Case) -> None:
    corpus, rules, votes, gold = case
    frame = pl.DataFrame({"text": corpus.texts, "origin": np.where(gold == 1, "bot", "web")})
    wider = Corpus.from_frame(frame, text="text")
    found = suggest_rules(wider, votes, believed(gold), rules=rules)
    fields = [(s.label, s.rule.when) for s in found if isinstance(s.rule.when, Field)]
    assert fields
    assert set(fields) <= {
        ("ham", Field("origin", equal="web")),
        ("spam", Field("origin", equal="bot")),
    }


def test_what_was_refused_is_not_suggested_again(case: Case) -> None:
    corpus, rules, votes, gold = case
    first = suggest_rules(corpus, votes, believed(gold), rules=rules, n=1)[0]
    again = suggest_rules(
        corpus, votes, believed(gold), rules=rules, refused=[Refused.of(first.rule)]
    )
    assert first.rule not in [s.rule for s in again]


@pytest.mark.parametrize(
    "condition",
    [
        {"function": {"file": "run.py", "name": "f"}},
        {"keywords_file": "/etc/passwd"},
        {"keywords": ["cash"], "match": "part"},
        {"keywords": []},
        {"pattern": "(", "ignore_case": True},
        {"pattern": "cash", "engine": "python"},
        {},
    ],
)
def test_a_condition_in_a_file_of_refusals_is_compared_and_never_run(
    case: Case, condition: dict[str, object]
) -> None:
    corpus, rules, votes, gold = case
    refused = Refused("spam", condition)  # type: ignore[arg-type]  # as somebody may write it
    again = suggest_rules(corpus, votes, believed(gold), rules=rules, refused=[refused], n=3)
    assert again == suggest_rules(corpus, votes, believed(gold), rules=rules, n=3)


def test_labels_count_more_than_the_model(case: Case) -> None:
    """The model has `cheap` wrong; labels of its documents put that right."""
    corpus, rules, votes, gold = case
    cheap = corpus.texts.str.contains("cheap").to_numpy()
    wrong = np.where(cheap, 0, gold)
    guessed = suggest_rules(corpus, votes, believed(wrong), rules=rules)
    assert "cheap" in single(guesses(guessed), "ham")
    labels = np.where(cheap, gold, -1)
    found = suggest_rules(corpus, votes, believed(wrong), rules=rules, labels=labels)
    assert "cheap" in single(found, "spam")
    one = next(s for s in found if s.condition == "keywords: cheap")
    assert one.measured is not None
    assert one.measured.value == 1.0


def test_a_handful_of_labels_outweighs_the_model_on_many_matches(case: Case) -> None:
    """The model has `cheap` wrong on a hundred documents and more; of ten labels on them none is for its class."""
    corpus, rules, votes, gold = case
    cheap = corpus.texts.str.contains("cheap").to_numpy()
    assert cheap.sum() > 100
    wrong = believed(np.where(cheap, 0, gold))
    labels = np.full(len(gold), -1)
    labels[np.flatnonzero(cheap)[:10]] = 1
    rule = [Rule("ham", Keywords(["cheap"]))]
    (before,) = suggest_rules(corpus, votes, wrong, rules=rules, candidates=rule)
    assert before.accuracy.value == pytest.approx(0.85)
    assert not suggest_rules(corpus, votes, wrong, rules=rules, candidates=rule, labels=labels)
    labels[np.flatnonzero(cheap)[1:10]] = -1  # one is left
    (after,) = suggest_rules(corpus, votes, wrong, rules=rules, candidates=rule, labels=labels)
    assert after.accuracy.value == pytest.approx(0.85 * 11 / 12, abs=0.02)  # 1 against about 11


def test_a_class_that_the_votes_on_its_matches_do_not_bear_out_is_a_guess(case: Case) -> None:
    """The model takes texts with `cheap` for ham, and no rule for ham has ever voted on one."""
    corpus, rules, votes, gold = case
    cheap = corpus.texts.str.contains("cheap").to_numpy()
    wrong = believed(np.where(cheap, 0, gold))
    assert not (votes.matrix[cheap] == 0).any()
    found = suggest_rules(corpus, votes, wrong, rules=rules)
    assert "cheap" in single(guesses(found), "ham")
    assert single(clear(found), "ham") >= {"voice", "chorus", "guitar"}
    proposed = [Rule("ham", Keywords(["cheap"]))]
    (one,) = suggest_rules(corpus, votes, wrong, rules=rules, candidates=proposed)
    assert one.guess


def test_guesses_for_a_class_without_votes_are_not_crowded_out() -> None:
    """Only spam has votes, and so all that is clear is for spam: ham is guessed at all the same, and early."""
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 2, 600)
    texts = [
        " ".join([*rng.choice(FILLER, 4), *rng.choice((HAM, SPAM)[r], 2, replace=False)])
        for r in gold.tolist()
    ]
    corpus = Corpus.from_texts(texts)
    lists = (["subscribe"], _pairs(SPAM))
    rules = Sources(CLASSES, [Source(w[0], [Rule("spam", Keywords(w))]) for w in lists])
    found = suggest_rules(corpus, rules.vote(corpus), believed(gold), rules=rules, n=6)
    assert single(clear(found), "spam")
    assert single(guesses(found), "ham")
    assert "ham" in {one.label for one in found[:2]}


@pytest.mark.parametrize(("agreeing", "sure"), [(0, False), (2, False), (3, True), (20, True)])
def test_three_votes_for_a_class_make_it_clear(agreeing: int, sure: bool) -> None:
    """Forty texts with the word, by the model all spam; of copies of one text, one counts."""
    texts = [f"bargain {a} {b}" for a in FILLER[:8] for b in FILLER[8:13]]
    rest = [f"{a} {b}" for a in FILLER[:16] for b in FILLER[16:24]]
    corpus = Corpus.from_texts([*texts, *["bargain again and again"] * 5, *rest])
    matrix = np.full((len(corpus), 4), -1)
    matrix[:agreeing, [1, 3]] = 1
    matrix[-60:, [0, 2]] = 0
    matrix[-120:-60, [1, 3]] = 1
    p = np.full(len(corpus), 0.35)
    p[: len(texts) + 5] = 0.9
    votes = Votes.from_array(matrix, classes=CLASSES)
    found = suggest_rules(corpus, votes, np.stack([1 - p, p], axis=1))
    assert ("bargain" in single(clear(found), "spam")) == sure
    assert ("bargain" in single(guesses(found), "spam")) != sure


def test_votes_of_one_source_make_nothing_clear(case: Case) -> None:
    """Nobody confirms them, so the model may only repeat them; labels do."""
    corpus, rules, _, gold = case
    lone = Sources(CLASSES, rules.sources[:2])
    votes = lone.vote(corpus)
    found = suggest_rules(corpus, votes, believed(gold), rules=lone)
    assert found
    assert all(one.guess for one in found)
    assert clear(suggest_rules(corpus, votes, believed(gold), rules=lone, labels=gold))


def test_what_repeats_votes_for_its_class_is_left_out(case: Case) -> None:
    """`chorus` has votes for ham on two thirds of its matches, or on nearly all; then it says nothing new."""
    corpus, rules, _, gold = case
    chorus = [Rule("ham", Keywords(["chorus"]))]
    assert suggest_rules(corpus, rules.vote(corpus), believed(gold), rules=rules, candidates=chorus)
    more = [Source(word, [Rule("ham", Keywords([word]))]) for word in ("voice", "guitar")]
    wider = Sources(CLASSES, [*rules.sources, *more])
    votes = wider.vote(corpus)
    assert not suggest_rules(corpus, votes, believed(gold), rules=wider, candidates=chorus)


def test_what_reaches_only_documents_of_other_classes_is_a_guess(case: Case) -> None:
    """Where `voice` has no vote for ham yet, the model sees no ham: what votes say elsewhere does not help it."""
    corpus, rules, votes, gold = case
    voice = corpus.texts.str.contains("voice").to_numpy()
    fresh = voice & ~(votes.matrix == 0).any(axis=1)
    kept = np.flatnonzero(~fresh | (np.cumsum(fresh) % 3 == 0))
    posteriors = believed(np.where(fresh, 1, gold))[kept]
    rule = [Rule("ham", Keywords(["voice"]))]
    some, cast = corpus.take(kept), votes.take(kept)
    (wrong,) = suggest_rules(some, cast, posteriors, rules=rules, candidates=rule)
    assert wrong.guess
    (right,) = suggest_rules(some, cast, believed(gold)[kept], rules=rules, candidates=rule)
    assert not right.guess


def test_votes_for_both_classes_make_nothing_clear() -> None:
    """Five votes each way: the lower quartile of 54 % of ten documents is below the 46 % of ham."""
    texts = [f"bargain {a} {b}" for a in FILLER[:8] for b in FILLER[8:13]]
    corpus = Corpus.from_texts([*texts, *(f"{a} {b}" for a in FILLER[:16] for b in FILLER[16:24])])
    matrix = np.full((len(corpus), 2), -1)
    matrix[:5, 0], matrix[5:10, 1] = 0, 1
    p = np.where(np.arange(len(corpus)) < len(texts), 0.54, 0.2)
    posteriors = np.stack([1 - p, p], axis=1)
    votes = Votes.from_array(matrix, classes=CLASSES)
    assert "bargain" in single(guesses(suggest_rules(corpus, votes, posteriors)), "spam")


def test_changed_counts_the_predictions_that_one_more_vote_turns() -> None:
    texts = [f"bargain {a} {b}" for a in FILLER[:8] for b in FILLER[8:13]]
    corpus = Corpus.from_texts([*texts, *(f"{a} {b}" for a in FILLER[:16] for b in FILLER[16:24])])
    p = np.full(len(corpus), 0.2)
    p[: len(texts)] = 0.9
    p[:7] = 0.45  # ham as yet, and near to spam
    votes = Votes.from_array(np.full((len(corpus), 1), -1), classes=CLASSES)
    rule = [Rule("spam", Keywords(["bargain"]))]
    (one,) = suggest_rules(corpus, votes, np.stack([1 - p, p], axis=1), candidates=rule)
    assert one.changed == 7


def test_a_text_that_repeats_counts_once() -> None:
    rng = np.random.default_rng(1)
    rest = [" ".join(rng.choice(FILLER, 6)) for _ in range(200)]
    corpus = Corpus.from_texts(["click this link"] * 50 + rest)
    votes = Votes.from_array([[-1]] * 50 + [[0], [1]] * 100, classes=CLASSES)
    p = np.where(np.arange(250) < 50, 0.95, 0.5)
    found = suggest_rules(corpus, votes, np.stack([1 - p, p], axis=1))
    assert not [s for s in clear(found) if "click" in s.condition]


def test_matches_shown_do_not_repeat_each_other() -> None:
    copies = [f"a cheap offer number {i}!" for i in range(20)]
    others = [f"cheap {a}{b}" for a in "kl" for b in ("ano", "elu", "iri", "oma")]
    corpus = Corpus.from_texts([*copies, *others, *(f"song {text}" for text in FILLER)])
    votes = Votes.from_array(np.full((len(corpus), 1), -1), classes=CLASSES)
    spam = np.array(["cheap" in text for text in corpus.texts.to_list()])
    posteriors = np.where(spam[:, None], [0.1, 0.9], [0.9, 0.1])
    found = suggest_rules(corpus, votes, posteriors, n=3)
    shown = next(one for one in found if one.condition == "keywords: cheap").fits
    assert len(shown) == 3
    assert sum("offer" in one.text for one in shown) == 1


def test_soft_sources_cover_no_document(case: Case) -> None:
    """A source that compares every text with the classes leaves the rules' gaps open."""
    corpus, rules, votes, gold = case
    truth = np.eye(2, dtype=np.float32)[gold]
    column = gold.astype(np.int8)[:, None]
    beside = Votes(
        np.hstack([votes.matrix, column]),
        (*votes.sources, "describe"),
        CLASSES,
        votes.ids,
        {"describe": np.asarray(0.1 + 0.8 * truth, np.float32)},
    )
    plain = suggest_rules(corpus, votes, truth, rules=rules, n=5)
    found = suggest_rules(corpus, beside, truth, rules=rules, n=5)
    assert [one.rule for one in found] == [one.rule for one in plain]
    assert [one.uncovered for one in found] == [one.uncovered for one in plain]
    assert max(one.uncovered for one in found) > 0


def test_a_model_that_always_answers_alike_suggests_nothing(case: Case) -> None:
    corpus, rules, votes, _ = case
    always = np.tile([[1.0, 0.0]], (len(corpus), 1))
    assert suggest_rules(corpus, votes, always, rules=rules) == ()


@pytest.mark.parametrize("texts", [[], ["a", "b"]])
def test_a_handful_of_texts_gives_nothing(texts: list[str]) -> None:
    votes = Votes.from_array(np.zeros((len(texts), 1), np.int8), classes=CLASSES)
    assert suggest_rules(Corpus.from_texts(texts), votes, np.full((len(texts), 2), 0.5)) == ()


def test_the_same_every_time_and_plain_json(case: Case) -> None:
    corpus, rules, votes, gold = case
    runs = [suggest_rules(corpus, votes, believed(gold), rules=rules) for _ in range(2)]
    assert runs[0] == runs[1]
    assert repr(runs[0][0]).startswith(f"RuleSuggestion({runs[0][0].label}: keywords: ")
    assert len(repr(runs[0][0])) < 160  # no whole texts
    plain = json.loads(json.dumps([one.to_plain() for one in runs[0]], allow_nan=False))
    assert plain[0]["kind"] == "rule_suggestion"


def test_the_model_suggests_and_criticises(case: Case) -> None:
    corpus, rules, _, gold = case
    model = WeakClassifier("lsa", cache=False).fit(corpus, sources=rules, progress=SILENT)
    found = model.suggest_rules(corpus, n=8)
    right = [s for s in found if single((s,), s.label) & set((HAM, SPAM)[CLASSES.index(s.label)])]
    assert len(right) >= 3
    assert {c.kind for c in model.critique_rules(corpus)} >= {"repeated_source"}
    labelled = model.suggest_rules(corpus, labels=[CLASSES[r] for r in gold.tolist()])
    assert any(s.measured is not None for s in labelled)
    with pytest.raises(InputError, match="give the documents"):
        model.suggest_rules(np.zeros((2, 3)))


def test_rules_are_suggested_beside_python_functions(case: Case) -> None:
    corpus, _, _, gold = case

    @labeling_function()
    def advert(x: Document) -> int:
        return 1 if "subscribe" in x.text else -1

    rules = Sources(CLASSES, [advert])
    found = suggest_rules(corpus, rules.vote(corpus), believed(gold), rules=rules)
    assert single(found, "spam") >= {"cheap", "winner", "channel"}


def with_column(case: Case, name: str, values: object) -> Corpus:
    return replace(case[0], columns=pl.DataFrame({name: values}))


def fields_of(found: tuple[RuleSuggestion, ...]) -> list[RuleSuggestion]:
    return [one for one in found if isinstance(one.rule.when, Field)]


def test_a_column_that_is_gold_by_its_name_is_no_rule(case: Case) -> None:
    _, sources, votes, gold = case
    named = [CLASSES[r] for r in gold.tolist()]
    for name in LABEL_NAMES:
        corpus = with_column(case, name, named)
        assert not fields_of(suggest_rules(corpus, votes, believed(gold), rules=sources))
        assert likely_gold(corpus) == name
    known = replace(with_column(case, "label", named), gold=gold.astype(np.int16), classes=CLASSES)
    assert likely_gold(known) is None
    both = replace(case[0], columns=pl.DataFrame({"gold": named, "label": named}))
    assert likely_gold(both) == "label"  # as `evaluate` and `report` choose


def test_a_column_that_tells_nearly_all_may_be_gold(case: Case) -> None:
    _, sources, votes, gold = case
    rng = np.random.default_rng(0)

    def told(values: object) -> list[PerhapsGold | None]:
        corpus = with_column(case, "true_class", values)
        found = fields_of(suggest_rules(corpus, votes, believed(gold), rules=sources))
        return [one.perhaps_gold for one in found]

    said = told([CLASSES[r].upper() if rng.random() < 0.8 else None for r in gold.tolist()])
    assert said
    assert all(one is not None and one.named for one in said)
    said = told(gold + 3)
    assert said[0] == PerhapsGold("true_class", False, 1.0)
    assert 'set label = "true_class" under [data]' in str(said[0])
    often = np.where(rng.random(600) < 0.9, gold, 1 - gold).tolist()
    corpus = with_column(case, "true_class", often)
    rule = Rule("spam", Field("true_class", equal=1))
    (fair,) = suggest_rules(corpus, votes, believed(gold), rules=sources, candidates=[rule])
    assert fair.perhaps_gold is None


def test_as_many_as_are_asked_for_where_there_are(case: Case) -> None:
    corpus, sources, votes, gold = case
    most = len(suggest_rules(corpus, votes, believed(gold), n=99, rules=sources))
    for n in range(1, most + 1):
        assert len(suggest_rules(corpus, votes, believed(gold), n=n, rules=sources)) == n


def test_partial_votes_cover_documents_and_soft_ones_do_not() -> None:
    letters = [a + b for a in "abcdef" for b in "uvwxyz"]
    corpus = Corpus.from_texts([f"cheap {a}" for a in letters] + [f"song {a}" for a in letters])
    shares = np.zeros((72, 3), np.float32)
    shares[:30] = [0, 0.5, 0.5]  # for spam or scam
    votes = Votes.from_array(
        [[1]] * 30 + [[-1]] * 42, classes=["ham", "spam", "scam"], sources=["either"]
    )
    posteriors = np.array([[0.1, 0.8, 0.1]] * 36 + [[0.8, 0.1, 0.1]] * 36)
    either = replace(votes, soft={"either": shares})
    (one, *_) = suggest_rules(
        corpus, either, posteriors, candidates=[Rule("spam", Keywords(["cheap"]))]
    )
    assert (one.documents, one.uncovered) == (36, 6)
    described = replace(votes, soft={"either": shares * np.array([0, 1.4, 0.6], np.float32)})
    (one, *_) = suggest_rules(
        corpus, described, posteriors, candidates=[Rule("spam", Keywords(["cheap"]))]
    )
    assert (one.documents, one.uncovered) == (36, 36)
