"""All the numbers of a report, gathered before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.facts import BalanceOrigin, ClassBalance, Ledger, Use, note_to_plain
from unruly.features.cache import Cache
from unruly.learner import Epoch, Heads
from unruly.model.advice import (
    Critique,
    Pairs,
    advice_to_plain,
    count_pairs,
    critique_rules,
)
from unruly.model.evaluation import Evaluation, evaluate
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents, corpus_gold
from unruly.model.suggestions import RuleSuggestion, suggest_rules
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.report.accuracy import Confidence, Noise, VoteCount, by_votes, confidence_of, noise
from unruly.report.advice import Removal, removals
from unruly.report.documents import ShownDocument, documents_to_show
from unruly.report.sources import SourceFacts, Weights, source_facts, source_weights
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import plural

SUGGESTIONS = 15  # new rules that the page shows


@dataclass(frozen=True, eq=False)
class Answers:
    """n documents with their votes, the answers of both heads, and gold where there is any."""

    name: str  # the file's name
    corpus: Corpus
    votes: Votes
    heads: Heads
    gold: NDArray[np.int64] | None  # (n,): -1 where unknown; None when no document has any
    repeats: NDArray[np.bool_]  # (n,): which are also training documents

    @property
    def predicted(self) -> NDArray[np.intp]:
        """(n,): the class that each document is given."""
        return self.heads.predicted


@dataclass(frozen=True, eq=False)
class Facts:
    """What the page shows; None or empty where the given data cannot tell."""

    model: str  # the model's file
    classes: tuple[str, ...]
    summary: FitSummary
    ledger: Ledger  # of the model, and of this report's scoring
    history: tuple[Epoch, ...]
    documents: str  # what the votes below were counted on, in words
    scored_on: str | None  # what the gold below belongs to, in words
    noise_on: str | None
    evaluation: Evaluation | None
    never_predicted: tuple[str, ...]  # classes that no document is given
    with_majority: float | None  # documents with a clear majority of votes that get its class
    sources: tuple[SourceFacts, ...]
    removals: tuple[Removal, ...]
    pairs: Pairs
    weights: tuple[Weights, ...]
    noise: tuple[Noise, ...]
    by_votes: tuple[VoteCount, ...]
    confidence: Confidence | None
    shown: tuple[ShownDocument, ...]
    critique: tuple[Critique, ...]
    suggestions: tuple[RuleSuggestion, ...]
    rules_known: bool  # whether the model carries its rules

    @property
    def balance(self) -> ClassBalance | None:
        """The class shares that the fit used, where it used any."""
        return self.summary.balance

    def to_plain(self) -> dict[str, Any]:
        """The gist, as JSON has it."""
        return {
            "model": self.model,
            "documents": self.documents,
            "scored_on": self.scored_on,
            "evaluation": self.evaluation.to_plain() if self.evaluation else None,
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
            "balance": None if self.balance is None else note_to_plain(self.balance),
            "notes": [note_to_plain(note) for note in self.summary.notes],
            "critique": [advice_to_plain(one) for one in self.critique],
            "suggestions": [one.to_plain() for one in self.suggestions],
        }


def gather(
    model: str,
    fitted: Fitted,
    documents: Corpus | None = None,
    scored: Corpus | None = None,
    *,
    votes: Votes | None = None,
    scored_votes: Votes | None = None,
    cache: Cache | None = None,
    progress: Progress = SILENT,
) -> Facts:
    """Apply the model to documents (preferably its training documents) and score it on `scored`.

    Without documents, the sample of training documents in the model file is used. Votes are
    only needed where the model carries no rules of its own.
    """
    if documents is None:
        return _from_sample(model, fitted)
    seen = answers(fitted, documents, votes, cache, progress)
    held_out = seen if scored is None else answers(fitted, scored, scored_votes, cache, progress)
    if held_out.gold is None and seen.gold is not None:
        held_out = seen
    return _from_answers(model, fitted, seen, held_out)


def answers(
    fitted: Fitted,
    corpus: Corpus,
    given: Votes | None = None,
    cache: Cache | None = None,
    progress: Progress = SILENT,
) -> Answers:
    """Take the given votes, else those of the model's own rules, and apply both heads."""
    documents = Documents.of(corpus)
    found = fitted.predictions(documents, given, cache, progress)
    known = corpus.gold is not None and bool((corpus.gold >= 0).any())
    return Answers(
        name=Path(corpus.name).name,
        corpus=corpus,
        votes=found.votes,
        heads=found.heads,
        gold=corpus_gold(corpus, fitted.classes, fitted.numbered) if known else None,
        repeats=fitted.repeats(documents),
    )


def _from_answers(model: str, fitted: Fitted, seen: Answers, held_out: Answers) -> Facts:
    gold, rules = held_out.gold, _rules(fitted)
    noisy = seen if seen.gold is not None else held_out
    sources = source_facts(fitted.summary, seen.votes, held_out.votes, gold)
    evaluation = None if gold is None else _evaluation(fitted, held_out, gold)
    texts = seen.corpus.texts.to_list()
    shown = documents_to_show(texts, seen.votes, seen.heads, seen.gold)
    return Facts(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=fitted.ledger if evaluation is None else evaluation.ledger,
        history=fitted.learner.history,
        documents=f"the {plural(seen.votes.n, 'document')} of {seen.name}",
        scored_on=None if gold is None else _gold_words(gold, held_out.name),
        noise_on=None if noisy.gold is None else _gold_words(noisy.gold, noisy.name),
        evaluation=evaluation,
        never_predicted=_absent(fitted.classes, seen.predicted, held_out.predicted),
        with_majority=_with_majority(seen.votes, seen.predicted),
        sources=sources,
        removals=removals(held_out.votes, gold, fitted.commonest),
        pairs=count_pairs(seen.votes),
        weights=source_weights([s.weight for s in sources], seen.votes, seen.heads),
        noise=() if noisy.gold is None else noise(noisy.votes, noisy.heads, noisy.gold),
        by_votes=()
        if gold is None
        else by_votes(held_out.votes, held_out.heads, gold, fitted.commonest),
        confidence=confidence_of(held_out.heads.combined, held_out.votes, gold),
        shown=shown,
        critique=critique_rules(
            seen.votes,
            seen.heads.combined,
            accuracies=[s.best_known for s in sources],
            measured=[s.name for s in sources if s.is_measured],
            shares=_known_shares(fitted.summary, gold),
            texts=texts,
            rules=rules,
            labels=seen.gold,
        ),
        suggestions=suggest_rules(
            seen.corpus,
            seen.votes,
            seen.heads.combined,
            n=SUGGESTIONS,
            rules=rules,
            labels=seen.gold,
        ),
        rules_known=rules is not None,
    )


def _from_sample(model: str, fitted: Fitted) -> Facts:
    """The facts from the model file alone: the fit, and the votes on the documents that it keeps."""
    near = fitted.neighbourhood
    votes = near.as_votes(fitted.classes, fitted.sources)
    predicted = near.labels.astype(np.int64)
    certain = np.eye(votes.m)[predicted]
    sources = source_facts(fitted.summary, votes)
    texts, rules = near.snippets, _rules(fitted)
    absent = [c for c, n in zip(fitted.classes, fitted.summary.labels, strict=True) if not n]
    return Facts(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=fitted.ledger,
        history=fitted.learner.history,
        documents=f"the {plural(votes.n, 'training document')} that the model keeps",
        scored_on=None,
        noise_on=None,
        evaluation=None,
        never_predicted=tuple(absent),
        with_majority=_with_majority(votes, predicted),
        sources=sources,
        removals=removals(votes, None, fitted.commonest),
        pairs=count_pairs(votes),
        weights=(),
        noise=(),
        by_votes=(),
        confidence=None,
        shown=(),
        critique=critique_rules(
            votes,
            certain,
            accuracies=[s.estimated for s in sources],
            shares=_known_shares(fitted.summary, None),
        ),
        suggestions=()
        if texts is None
        else suggest_rules(Corpus.from_texts(texts), votes, certain, n=SUGGESTIONS, rules=rules),
        rules_known=rules is not None,
    )


def _rules(fitted: Fitted) -> Sources | None:
    return None if fitted.rules is None else fitted.rules.sources


def _known_shares(summary: FitSummary, gold: NDArray[np.int64] | None) -> Sequence[float] | None:
    """The class shares where they are known: by gold, by the user, or by labels; never as assumed."""
    if gold is not None:
        counts = np.bincount(gold[gold >= 0], minlength=len(summary.classes))
        return [float(count) / int(counts.sum()) for count in counts]
    balance = summary.balance
    if balance is None or balance.origin is BalanceOrigin.ASSUMED:
        return None
    return balance.shares


def _evaluation(fitted: Fitted, held_out: Answers, gold: NDArray[np.int64]) -> Evaluation:
    return evaluate(
        held_out.heads,
        held_out.votes,
        gold,
        ledger=fitted.ledger.add(Use.SCORING, int((gold >= 0).sum()), held_out.name),
        commonest=fitted.commonest,
        repeats=held_out.repeats,
    )


def _gold_words(gold: NDArray[np.int64], name: str) -> str:
    return f"the {plural(int((gold >= 0).sum()), 'true label')} of {name}"


def _absent(classes: tuple[str, ...], *predicted: NDArray[np.integer]) -> tuple[str, ...]:
    given = {int(r) for some in predicted for r in np.unique(some)}
    return tuple(name for r, name in enumerate(classes) if r not in given)


def _with_majority(votes: Votes, predicted: NDArray[np.integer]) -> float | None:
    """The share of documents with a clear majority that are given the majority's class."""
    counts = votes.counts()
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    rows = votes.covered & clear
    return float((counts.argmax(axis=1) == predicted)[rows].mean()) if rows.any() else None
