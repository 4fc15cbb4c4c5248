"""All the numbers of a report, gathered before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.features.cache import FeatureCache
from unruly.findings import ClassBalance, Critique, WeakWord, finding_to_plain
from unruly.labelling.answers import Labelled
from unruly.labelling.estimates import AccuracyEstimate
from unruly.labelmodels.majority_vote import majority_vote
from unruly.learner import Epoch, Heads
from unruly.ledger import Ledger, Use
from unruly.model.critique import VoteJudge, critique_rules
from unruly.model.evaluation import Evaluation
from unruly.model.fitted import Fitted, digests_of
from unruly.model.fitting import accuracy_by_labels
from unruly.model.inputs import Documents, corpus_gold
from unruly.model.predictions import Predictions
from unruly.model.saved_rules import code_files
from unruly.model.suggestions import RuleSuggestion, suggest_rules
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress, stage
from unruly.report.accuracy import Confidence, Noise, VoteCount, by_votes, confidence_of, noise
from unruly.report.documents import ExcerptedDocument, documents_to_show
from unruly.report.sources import SourceFacts, Weights, source_facts, source_weights
from unruly.report.verdict import Removal, removals
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.summary import Pairs, count_pairs
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import plural

SUGGESTIONS = 15  # new rules that the page shows


@dataclass(frozen=True)
class CountedOn:
    """The documents behind some figures.

    >>> str(CountedOn(600, "d.csv")), str(CountedOn(1, None))
    ('the 600 documents of d.csv', 'the 1 training document that the model keeps')
    >>> str(CountedOn(600, "d.csv", of=9000))
    '600 of the 9,000 documents of d.csv, drawn at random'
    >>> str(CountedOn(600, "d.csv", missing=2))
    'the 600 documents of d.csv (2 without a text)'
    """

    documents: int
    file: str | None  # None: those that the model keeps
    of: int | None = None  # how many the file has, where these are a sample
    missing: int = 0  # how many have no text

    def __str__(self) -> str:
        if self.file is None:
            return f"the {plural(self.documents, 'training document')} that the model keeps"
        if self.of is not None:
            return f"{self.documents:,} of the {plural(self.of, 'document')} of {self.file}, drawn at random"
        gaps = f" ({self.missing:,} without a text)" if self.missing else ""
        return f"the {plural(self.documents, 'document')} of {self.file}{gaps}"


@dataclass(frozen=True)
class ScoredOn:
    """The true labels behind some figures.

    >>> str(ScoredOn(600, "d.csv"))
    'the 600 true labels of d.csv'
    """

    labels: int
    file: str
    counted_from_one: bool = False  # whether they seem to be, where class numbers start at 0

    def __str__(self) -> str:
        return f"the {plural(self.labels, 'true label')} of {self.file}"


@dataclass(frozen=True, eq=False)
class Answers:
    """n documents with their votes, the answers of both heads, and gold where there is any."""

    name: str  # the file's name
    corpus: Corpus
    votes: Votes
    heads: Heads
    gold: NDArray[np.int64] | None  # (n,): -1 where unknown; None when no document has any

    @property
    def predicted(self) -> NDArray[np.intp]:
        """(n,): the class that each document is given."""
        return self.heads.predicted

    @property
    def counted(self) -> CountedOn:
        """What figures that are counted on these documents are counted on."""
        return CountedOn(self.votes.n, self.name, missing=self.corpus.missing_count)

    @property
    def scored(self) -> ScoredOn | None:
        """What figures that are measured on these documents are measured on."""
        if self.gold is None:
            return None
        known = int((self.gold >= 0).sum())
        return ScoredOn(known, self.name, self.corpus.counted_from_one)


@dataclass(frozen=True, eq=False)
class KeyFigures:
    """What the verdict and the main charts show; None or empty where the given data cannot tell."""

    model: str  # the model's file
    classes: tuple[str, ...]
    summary: FitSummary
    ledger: Ledger  # of the model, and of this report's scoring
    history: tuple[Epoch, ...]
    documents: CountedOn  # behind the counts of votes, weights and advice
    answers_on: CountedOn  # behind confidence and what each source adds
    scored_on: ScoredOn | None  # behind the evaluation, and all that is measured
    evaluation: Evaluation | None
    labels: int  # by hand, that were given
    by_labels: AccuracyEstimate | None  # from these; None where none was drawn from all documents
    never_predicted: tuple[str, ...]  # classes that no document is given
    with_majority: float | None  # documents with a clear majority of votes that get its class
    sources: tuple[SourceFacts, ...]
    pairs: Pairs
    confidence: Confidence | None
    code: tuple[str, ...]  # the Python files that its rules need and the model does not carry

    @property
    def scoring(self) -> str:
        """The command that adds what only true labels tell."""
        code = "".join(f" --functions {quote(file)}" for file in self.code)
        return f"unruly report MODEL test.csv --label COLUMN{code} -o report.html"

    @property
    def balance(self) -> ClassBalance | None:
        """The class shares that the fit used, where it used any."""
        return self.summary.balance


@dataclass(frozen=True, eq=False)
class Facts(KeyFigures):
    """What the whole page shows: beside the key figures, what takes longer to work out."""

    noise_on: ScoredOn | None
    removals: tuple[Removal, ...]
    weights: tuple[Weights, ...]
    noise: tuple[Noise, ...]
    by_votes: tuple[VoteCount, ...]
    shown: tuple[ExcerptedDocument, ...]
    critique: tuple[Critique, ...]
    suggestions: tuple[RuleSuggestion, ...]
    rules_known: bool  # whether the model carries its rules

    def to_plain(self) -> dict[str, Any]:
        """The gist, as JSON has it."""
        return {
            "model": self.model,
            "documents": vars(self.documents),
            "scored_on": None if self.scored_on is None else vars(self.scored_on),
            "evaluation": self.evaluation.to_plain() if self.evaluation else None,
            "labels": self.labels,
            "accuracy_by_labels": self.by_labels.to_plain() if self.by_labels else None,
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
            "balance": None if self.balance is None else finding_to_plain(self.balance),
            "notes": [finding_to_plain(note) for note in self.summary.notes],
            "critique": [finding_to_plain(one) for one in self.critique],
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
    labels: Labelled | None = None,
    cache: FeatureCache | None = None,
    progress: Progress = SILENT,
) -> Facts:
    """Apply the model to documents (preferably its training documents) and score it on `scored`.

    Without documents, the sample of training documents in the model file is used. Votes are
    only needed where the model carries no rules of its own. `labels` are people's labels of the
    documents: without gold they estimate the accuracy, and advice counts them in place of the model's answers.
    """
    if documents is None:
        return _from_sample(model, fitted)
    seen = answers(fitted, documents, votes, cache, progress)
    held_out = None if scored is None else answers(fitted, scored, scored_votes, cache, progress)
    figures = _key_figures(model, fitted, seen, held_out, labels, cache, progress)
    with stage(progress, "judging the rules", 3, "steps"):
        return _all_facts(figures, fitted, seen, _scored(seen, held_out), labels, progress)


def key_figures(
    model: str,
    fitted: Fitted,
    documents: Corpus,
    scored: Corpus | None = None,
    *,
    labels: Labelled | None = None,
    cache: FeatureCache | None = None,
) -> KeyFigures:
    """The same as far as the verdict and the main charts need it: seconds where all of it takes a minute."""
    seen = answers(fitted, documents, cache=cache)
    held_out = None if scored is None else answers(fitted, scored, cache=cache)
    return _key_figures(model, fitted, seen, held_out, labels, cache)


def _scored(seen: Answers, held_out: Answers | None) -> Answers:
    """The documents that are scored: those held out, where they have true labels."""
    return seen if held_out is None or held_out.gold is None else held_out


def answers(
    fitted: Fitted,
    corpus: Corpus,
    given: Votes | None = None,
    cache: FeatureCache | None = None,
    progress: Progress = SILENT,
) -> Answers:
    """Take the given votes, else those of the model's own rules, and apply both heads."""
    found = fitted.predictions(Documents.of(corpus), given, cache, progress)
    known = corpus.gold is not None and bool((corpus.gold >= 0).any())
    return Answers(
        name=Path(corpus.name).name,
        corpus=corpus,
        votes=found.votes,
        heads=found.heads,
        gold=corpus_gold(corpus, fitted.classes, fitted.numbered) if known else None,
    )


def _key_figures(
    model: str,
    fitted: Fitted,
    seen: Answers,
    other: Answers | None,
    labels: Labelled | None,
    cache: FeatureCache | None,
    progress: Progress = SILENT,
) -> KeyFigures:
    held_out = _scored(seen, other)
    gold, evaluation, by_labels = held_out.gold, None, None
    if gold is not None:
        predictions = Predictions(held_out.heads, held_out.votes)
        documents = Documents.of(held_out.corpus)
        evaluation = fitted.evaluate(documents, predictions, gold, held_out.name)
    elif labels is not None and len(labels.rows):
        read = Documents.of(seen.corpus)
        encoded = fitted.inputs(read, seen.votes, cache, progress)
        by_labels = accuracy_by_labels(fitted, digests_of(read), encoded, labels, progress)
    sources = source_facts(fitted.summary, seen.votes, held_out.votes, gold)
    return KeyFigures(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=_ledger(fitted, evaluation, by_labels, held_out, sources),
        history=fitted.learner.history,
        documents=seen.counted,
        answers_on=held_out.counted,
        scored_on=held_out.scored,
        evaluation=evaluation,
        labels=0 if labels is None else labels.labels,
        by_labels=by_labels,
        never_predicted=_absent(fitted.classes, seen.predicted, held_out.predicted),
        with_majority=_with_majority(seen.votes, seen.predicted),
        sources=sources,
        pairs=count_pairs(seen.votes),
        confidence=confidence_of(held_out.heads.combined, held_out.votes, gold),
        code=_code(fitted),
    )


def _code(fitted: Fitted) -> tuple[str, ...]:
    return () if fitted.rule_sources is None else code_files(fitted.rule_sources)


def _all_facts(
    figures: KeyFigures,
    fitted: Fitted,
    seen: Answers,
    held_out: Answers,
    labels: Labelled | None,
    progress: Progress,
) -> Facts:
    by_hand = labels.numbers if labels is not None and labels.labels else None
    gold, texts = held_out.gold, seen.corpus.texts.to_list()
    noisy = seen if seen.gold is not None else held_out
    added = removals(held_out.votes, gold, fitted.commonest)
    progress.advance(1)
    critique = _critique(fitted, seen, gold, figures.sources, added, by_hand)
    progress.advance(1)
    suggestions = _clear(
        suggest_rules(
            seen.corpus,
            seen.votes,
            seen.heads.combined,
            n=SUGGESTIONS,
            rules=fitted.rule_sources,
            labels=by_hand,
            scored=seen.gold,
            progress=progress,
        )
    )
    progress.advance(1)
    checked = any(isinstance(c, WeakWord) and c.checked is not None for c in critique)
    uses = (
        (Use.SCORING, noisy, True),  # wrong labels; and the labels of documents that are shown
        (Use.ADVICE, held_out, any(r.adds is not None for r in added)),
        (Use.ADVICE, seen, checked or any(s.measured is not None for s in suggestions)),
    )
    ledger = figures.ledger
    for use, of, used in uses:
        if used and of.scored is not None:
            ledger = ledger.add(use, of.scored.labels, of.name)
    if labels is not None and labels.labels:
        ledger = ledger.add(Use.ADVICE, labels.labels, labels.origin)
    return Facts(
        **{**vars(figures), "ledger": ledger},
        noise_on=noisy.scored,
        removals=added,
        weights=source_weights(seen.votes, seen.heads),
        noise=() if noisy.gold is None else noise(noisy.votes, noisy.heads, noisy.gold),
        by_votes=()
        if gold is None
        else by_votes(held_out.votes, held_out.heads, gold, fitted.commonest),
        shown=documents_to_show(texts, seen.votes, seen.heads, seen.gold),
        critique=critique,
        suggestions=suggestions,
        rules_known=fitted.rule_sources is not None,
    )


def _critique(
    fitted: Fitted,
    seen: Answers,
    gold: NDArray[np.int64] | None,
    sources: Sequence[SourceFacts],
    added: Sequence[Removal],
    labels: NDArray[np.int64] | None,
) -> tuple[Critique, ...]:
    """What is wrong with the rules, by all that the page knows: gold of the scored documents, and labels by hand."""
    return critique_rules(
        seen.votes,
        VoteJudge.of(seen.heads.combined, seen.votes, fitted.learner, fitted.summary),
        texts=seen.corpus.texts.to_list(),
        rules=fitted.rule_sources,
        labels=labels,
        scored=seen.gold,
        measured={s.name: s.measured for s in sources if s.is_measured and s.measured is not None},
        adds={r.source: r.adds for r in added if r.adds is not None},
        shares=_shares(gold, fitted.classes),
    )


def _ledger(
    fitted: Fitted,
    evaluation: Evaluation | None,
    by_labels: AccuracyEstimate | None,
    held_out: Answers,
    sources: Sequence[SourceFacts],
) -> Ledger:
    """All uses of gold so far: in the model, for the key figures, and for advice on sources."""
    if evaluation is None:
        if by_labels is None:
            return fitted.ledger
        used = by_labels.gold
        return fitted.ledger.add(used.use, used.labels, used.origin)
    if not any(source.is_measured for source in sources) or held_out.scored is None:
        return evaluation.ledger
    return evaluation.ledger.add(Use.ADVICE, held_out.scored.labels, held_out.name)


def _from_sample(model: str, fitted: Fitted) -> Facts:
    """The facts from the model file alone: the fit, and the votes on the documents that it keeps."""
    near = fitted.neighbourhood
    votes = near.as_votes(fitted.classes, fitted.sources)
    predicted = near.labels.astype(np.int64)
    certain = np.eye(votes.m)[predicted]
    sources = source_facts(fitted.summary, votes)
    texts, rules = near.snippets, fitted.rule_sources
    absent = [c for c, n in zip(fitted.classes, fitted.summary.labels, strict=True) if not n]
    kept = CountedOn(votes.n, None)
    return Facts(
        model=model,
        classes=fitted.classes,
        summary=fitted.summary,
        ledger=fitted.ledger,
        history=fitted.learner.history,
        documents=kept,
        answers_on=kept,
        scored_on=None,
        noise_on=None,
        evaluation=None,
        labels=0,
        by_labels=None,
        never_predicted=tuple(absent),
        with_majority=_with_majority(votes, predicted),
        sources=sources,
        removals=removals(votes, None, fitted.commonest),
        pairs=count_pairs(votes),
        weights=(),
        noise=(),
        by_votes=(),
        confidence=None,
        code=_code(fitted),
        shown=(),
        critique=critique_rules(votes, VoteJudge.of(certain, votes, None, fitted.summary)),
        suggestions=() if texts is None else _from_labels(texts, votes, certain, rules),
        rules_known=rules is not None,
    )


def _from_labels(
    texts: Sequence[str], votes: Votes, certain: NDArray[np.float64], rules: Sources | None
) -> tuple[RuleSuggestion, ...]:
    """Suggestions where only the labels of documents are known: whether one would change, no probability tells."""
    found = suggest_rules(Corpus.from_texts(texts), votes, certain, n=SUGGESTIONS, rules=rules)
    return tuple(replace(one, changed=None) for one in _clear(found))


def _clear(found: Sequence[RuleSuggestion]) -> tuple[RuleSuggestion, ...]:
    """Guesses are for those who read before they accept: a page shows none."""
    return tuple(one for one in found if not one.guess)


def _shares(gold: NDArray[np.int64] | None, classes: Sequence[str]) -> Sequence[float] | None:
    """The class shares by gold, where there is any."""
    if gold is None:
        return None
    counts = np.bincount(gold[gold >= 0], minlength=len(classes))
    return [float(count) / int(counts.sum()) for count in counts]


def _absent(classes: tuple[str, ...], *predicted: NDArray[np.integer]) -> tuple[str, ...]:
    given = {int(r) for some in predicted for r in np.unique(some)}
    return tuple(name for r, name in enumerate(classes) if r not in given)


def _with_majority(votes: Votes, predicted: NDArray[np.integer]) -> float | None:
    """The share of documents with a clear majority that are given the majority's class."""
    majority = majority_vote(votes)
    rows = majority != ABSTAIN
    return float((majority == predicted)[rows].mean()) if rows.any() else None
