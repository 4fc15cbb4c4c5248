"""Scores against gold labels, beside majority vote, for covered and uncovered documents; metrics; scikit-learn scorers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, UnrulyWarning, warn
from unruly.html import escape, html_table
from unruly.learner import Heads
from unruly.ledger import Ledger
from unruly.rules.matching import Evidence
from unruly.statistics import Share, paired_difference, wilson
from unruly.texts.corpus import Corpus
from unruly.votes.majority import majority_shares
from unruly.votes.provenance import PickedRows
from unruly.votes.votes import Votes
from unruly.wording import aligned, plural

Labels = NDArray[np.integer[Any]]
_FAR = 0.05  # difference of two shares of a class that is worth a line


def confusion(gold: Labels, predicted: Labels, m: int) -> NDArray[np.int64]:
    """(m, m): how many documents of each true class (row) were given each class (column).

    >>> confusion(np.array([0, 1, 1]), np.array([0, 1, 0]), m=2)
    array([[1, 0],
           [1, 1]])
    """
    flat = gold.astype(np.int64) * m + predicted.astype(np.int64)
    return np.bincount(flat, minlength=m * m).reshape(m, m)


def f1_scores(table: NDArray[np.integer[Any]] | NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """(m,): F1 of each class from a confusion matrix, `2 TP / (2 TP + FP + FN)`.

    NaN for a class that neither occurs nor is predicted: there is nothing to score.

    >>> f1_scores(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]])).round(3)
    array([0.667, 0.667,   nan])
    """
    hits = np.diag(table).astype(np.float64)
    total = table.sum(axis=0) + table.sum(axis=1)
    scores = np.full(len(hits), np.nan)
    np.divide(2 * hits, total, out=scores, where=total > 0)
    return scores


def macro_f1(table: NDArray[np.integer[Any]] | NDArray[np.floating[Any]]) -> float:
    """The mean of F1 over the classes that occur or are predicted, each counting the same.

    >>> macro_f1(np.array([[1, 0], [0, 3]]))
    1.0
    """
    scores = f1_scores(table)
    return float(np.nanmean(scores)) if np.isfinite(scores).any() else float("nan")


def calibration_error(gold: Labels, proba: NDArray[np.floating[Any]], bins: int = 15) -> float:
    """Expected calibration error: how far confidence is from accuracy, on average.

    ECE = Σ_b |b|/n · |accuracy(b) - mean confidence(b)|, over `bins` equal slices of confidence.

    Guo et al., On calibration of modern neural networks, ICML 2017.

    >>> sure_and_right = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> calibration_error(np.array([0, 1]), sure_and_right)
    0.0
    >>> calibration_error(np.array([1, 1]), sure_and_right)
    0.5
    """
    if not len(gold):
        return float("nan")
    confidence = proba.max(axis=1)  # (n,)
    right = proba.argmax(axis=1) == gold  # (n,)
    which = np.minimum((confidence * bins).astype(np.int64), bins - 1)  # (n,)
    gap = np.bincount(which, weights=right - confidence, minlength=bins)  # |b| · (acc - conf)
    return float(np.abs(gap).sum() / len(gold))


@dataclass(frozen=True, eq=False)
class Scores:
    """The figures of one set of answers on one set of documents."""

    documents: int
    accuracy: Share
    macro_f1: float
    f1: tuple[float, ...]  # one for each class; NaN where there is nothing to score
    confidence: tuple[float, ...] | None  # mean, of the documents that were given each class
    calibration_error: float | None  # None for majority vote, which gives no confidence
    confusion: NDArray[np.float64]  # (m, m): true class × given class

    @property
    def precision(self) -> tuple[float, ...]:
        """How many of the documents that were given each class have it; NaN where there are none."""
        return _shares_of_hits(self.confusion, axis=0)

    @property
    def recall(self) -> tuple[float, ...]:
        """How many of the documents of each class were given it; NaN where there are none."""
        return _shares_of_hits(self.confusion, axis=1)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it: NaN becomes null."""
        return {
            "documents": self.documents,
            "accuracy": _plain(self.accuracy.value),
            "accuracy_low": self.accuracy.low,
            "accuracy_high": self.accuracy.high,
            "macro_f1": _plain(self.macro_f1),
            "f1": [_plain(value) for value in self.f1],
            "precision": [_plain(value) for value in self.precision],
            "recall": [_plain(value) for value in self.recall],
            "confidence": None if self.confidence is None else [_plain(c) for c in self.confidence],
            "calibration_error": _plain(self.calibration_error),
            "confusion": self.confusion.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the documents (all, covered or uncovered): ours beside majority vote."""

    name: str
    model: Scores
    majority: Scores
    gain: Share  # accuracy gained over majority vote, with the interval of the paired difference

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "model": self.model.to_plain(),
            "majority_vote": self.majority.to_plain(),
            "gain": _plain(self.gain.value),
            "gain_low": self.gain.low,
            "gain_high": self.gain.high,
        }


@dataclass(frozen=True)
class BetterConstant:
    """A class whose constant prediction would be right more often than the model."""

    label: str
    accuracy: float

    def __str__(self) -> str:
        return f"Always predicting {self.label} would be right on {self.accuracy:.1%}: more than the model."


@dataclass(frozen=True)
class OtherShare:
    """A class whose share among the true labels clearly differs from the one that the model uses."""

    label: str
    used: float
    true: Share

    def __str__(self) -> str:
        return f"The model assumes that {self.used:.1%} of all documents are {self.label}; of the true labels here, {self.true} are."


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Figures against gold labels, with the ledger of all gold that was used."""

    classes: tuple[str, ...]
    everything: Part
    covered: Part | None  # None when there are no such documents
    uncovered: Part | None
    denoiser: Scores | None  # the two heads alone; the denoiser on covered documents
    classifier: Scores
    agreement: float | None  # of the two heads, on covered documents; None where there are none
    repeats: int  # documents that are also training documents
    unlabelled: int  # documents without a gold label, left out
    ledger: Ledger
    shares: tuple[float, ...] | None = None  # of the classes, as the model uses them

    @property
    def parts(self) -> tuple[Part, ...]:
        """All, covered and uncovered documents, those that there are."""
        return tuple(part for part in (self.everything, self.covered, self.uncovered) if part)

    @property
    def better_constant(self) -> BetterConstant | None:
        """The commonest true class, where always predicting it would do better than the model."""
        counts = self.everything.model.confusion.sum(axis=1)  # (m,)
        share = float(counts.max() / counts.sum())
        if share <= self.everything.model.accuracy.value:
            return None
        return BetterConstant(self.classes[int(counts.argmax())], share)

    @property
    def other_share(self) -> OtherShare | None:
        """The class whose true share is furthest from the model's, where that is clear and 5 points or more."""
        counts = self.everything.model.confusion.sum(axis=1)  # (m,)
        found = [
            OtherShare(name, used, wilson(float(count), float(counts.sum())))
            for name, used, count in zip(self.classes, self.shares or (), counts, strict=False)
        ]
        clear = [one for one in found if not one.true.low <= one.used <= one.true.high]
        far = [one for one in clear if abs(one.true.value - one.used) >= _FAR]
        return max(far, key=lambda one: abs(one.true.value - one.used), default=None)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        better, other = self.better_constant, self.other_share
        return {
            "classes": list(self.classes),
            "better_constant": None if better is None else vars(better),
            "other_share": None if other is None else asdict(other),
            **{part.name: part.to_plain() for part in self.parts},
            "denoiser": self.denoiser.to_plain() if self.denoiser else None,
            "classifier": self.classifier.to_plain(),
            "agreement": self.agreement,
            "repeats": self.repeats,
            "unlabelled": self.unlabelled,
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
        }

    def __repr__(self) -> str:
        whole = self.everything
        return (
            f"Evaluation(accuracy {whole.model.accuracy}, majority vote {whole.majority.accuracy.value:.1%}, "
            f"{plural(whole.model.documents, 'document')})"
        )

    def _repr_html_(self) -> str:
        rows = [
            (
                part.name,
                f"{part.model.documents:,}",
                part.model.accuracy,
                f"{part.majority.accuracy.value:.1%}",
                _three(part.model.macro_f1),
                _three(part.model.calibration_error),
            )
            for part in self.parts
        ]
        header = ["", "documents", "accuracy", "majority vote", "macro-F1", "calibration error"]
        told = (*self.sentences(), str(self.ledger))
        tables = html_table(header, rows) + html_table(*self._by_class())
        return tables + "".join(f"<p>{escape(line)}</p>" for line in told)

    def __str__(self) -> str:
        lines = [
            f"{'':12}{'documents':>10}{'accuracy':>27}{'macro-F1':>10}{'calibration error':>19}"
        ]
        for part in self.parts:
            lines.append(_row(part.name, part.model))
            lines.append(_row("  majority", part.majority))
        header, rows = self._by_class()
        lines += aligned([header, *rows])
        return "\n".join([*lines, *self.sentences(), str(self.ledger)])

    def _by_class(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """A header, and a row for each class, of all documents."""
        figures = self.everything.model
        header = ("class", "documents", "predicted", "precision", "recall", "F1", "mean confidence")
        columns = zip(
            self.classes,
            (f"{n:,.0f}" for n in figures.confusion.sum(axis=1)),
            (f"{n:,.0f}" for n in figures.confusion.sum(axis=0)),
            map(_three, figures.precision),
            map(_three, figures.recall),
            map(_three, figures.f1),
            map(_three, figures.confidence or ()),
            strict=True,
        )
        return header, list(columns)

    def sentences(self) -> list[str]:
        """The gain, and what speaks against the figures, for a person."""
        whole = self.everything
        lines = [
            f"{_points(whole.gain.value)} points ({_points(whole.gain.low)} to {_points(whole.gain.high)}) against "
            "majority vote, where documents without votes get the commonest class of the votes",
        ]
        lines += [str(one) for one in (self.better_constant, self.other_share) if one is not None]
        if self.repeats:
            some = (
                "repeats a training document" if self.repeats == 1 else "repeat training documents"
            )
            lines.append(
                f"{self.repeats:,} of {plural(whole.model.documents, 'document')} {some}: on new ones the figures may differ"
            )
        if self.unlabelled:
            out = (
                "has no gold label and was"
                if self.unlabelled == 1
                else "have no gold label and were"
            )
            lines.append(f"{plural(self.unlabelled, 'document')} {out} left out")
        return lines


def evaluate(
    heads: Heads,
    votes: Votes,
    gold: NDArray[np.integer[Any]],
    *,
    ledger: Ledger,
    commonest: int = 0,
    repeats: NDArray[np.bool_] | None = None,
    shares: tuple[float, ...] | None = None,
) -> Evaluation:
    """Score what the heads say of n documents against their gold labels (-1: none known).

    `commonest` is the class that majority vote gives to documents without votes; `repeats` marks
    documents that are also training documents; `shares` are the class shares that the model uses.
    """
    if len(gold) != votes.n:
        raise InputError(f"{plural(votes.n, 'document')}, but {plural(len(gold), 'gold label')}")
    known = gold >= 0
    if not known.any():
        raise InputError("no document has a gold label: there is nothing to score against")
    if int(gold.max()) >= votes.m:
        raise InputError(f"a gold label of {int(gold.max())} is not one of the {votes.m} classes")
    majority = majority_shares(votes, commonest)[known]
    truth, covered = gold[known].astype(np.int64), votes.covered[known]
    ours, denoiser = heads.combined[known], heads.denoiser[known]

    def part(name: str, rows: NDArray[np.bool_]) -> Part | None:
        return _part(name, truth[rows], ours[rows], majority[rows]) if rows.any() else None

    return Evaluation(
        classes=votes.classes,
        everything=_part("all", truth, ours, majority),
        covered=part("covered", covered),
        uncovered=part("uncovered", ~covered),
        denoiser=scores(truth[covered], denoiser[covered]) if covered.any() else None,
        classifier=scores(truth, heads.classifier[known]),
        agreement=heads.agreement(votes.covered),
        repeats=int(repeats[known].sum()) if repeats is not None else 0,
        unlabelled=int((~known).sum()),
        ledger=ledger,
        shares=shares,
    )


def scores(gold: NDArray[np.int64], proba: NDArray[np.floating[Any]]) -> Scores:
    """The figures of the likeliest class of each document.

    >>> figures = scores(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> figures.accuracy.value, figures.macro_f1, round(figures.calibration_error, 2)
    (1.0, 1.0, 0.15)
    """
    given, m = proba.argmax(axis=1), proba.shape[1]
    table = confusion(gold, given, m).astype(np.float64)
    sure = np.bincount(given, proba.max(axis=1), m) / np.maximum(np.bincount(given, minlength=m), 1)
    confidence = tuple(np.where(table.sum(axis=0) > 0, sure, np.nan).tolist())
    return _figures(table, confidence, calibration_error(gold, proba))


def _part(
    name: str,
    gold: NDArray[np.int64],
    ours: NDArray[np.floating[Any]],
    majority: NDArray[np.float64],
) -> Part:
    table = np.zeros((ours.shape[1], ours.shape[1]))
    np.add.at(table, gold, majority)  # rows: true class; columns: shares of the given classes
    right = ours.argmax(axis=1) == gold
    credit = majority[np.arange(len(gold)), gold]
    return Part(
        name, scores(gold, ours), _figures(table, None, None), paired_difference(right - credit)
    )


def _shares_of_hits(table: NDArray[np.float64], axis: int) -> tuple[float, ...]:
    total = table.sum(axis=axis)
    return tuple(np.where(total > 0, np.diag(table) / np.maximum(total, 1e-12), np.nan).tolist())


def _figures(
    table: NDArray[np.float64], confidence: tuple[float, ...] | None, error: float | None
) -> Scores:
    n = round(float(table.sum()))
    return Scores(
        documents=n,
        accuracy=wilson(float(np.trace(table)), n),
        macro_f1=macro_f1(table),
        f1=tuple(f1_scores(table).tolist()),
        confidence=confidence,
        calibration_error=error,
        confusion=table,
    )


def _plain(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _three(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def _row(name: str, figures: Scores) -> str:
    return (
        f"{name:12}{figures.documents:>10,}{figures.accuracy!s:>27}"
        f"{_three(figures.macro_f1):>10}{_three(figures.calibration_error):>19}"
    )


class GoldScorer:
    """Accuracy of each fold against gold labels that no fit has seen.

    scikit-learn splits `X` and the votes; the ids of the held-out votes tell which gold labels belong
    to them. `gold` is a corpus with gold labels, a map from ids to labels, or labels in the order of `ids`;
    without `ids`, of the documents, whose ids are row numbers unless a column of ids was named.

    >>> from sklearn.model_selection import cross_val_score
    >>> from unruly import Votes, WeakClassifier
    >>> X = np.tile(np.eye(2, dtype=np.float32), (10, 1))
    >>> votes = Votes.from_array(np.tile([[0, -1], [1, 1]], (10, 1)))
    >>> model = WeakClassifier(method="paper").set_params(settings__epochs=20)
    >>> cross_val_score(model, X, votes, scoring=GoldScorer([0, 1] * 10), cv=2)
    array([1., 1.])
    """

    def __init__(
        self, gold: ArrayLike | Mapping[Any, Any] | Corpus, ids: Iterable[Any] | None = None
    ) -> None:
        self.gold = gold
        self.ids = None if ids is None else list(ids)

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """The accuracy of a fitted estimator on held-out documents."""
        if not isinstance(y, Votes):
            raise InputError(
                "GoldScorer needs votes that know their documents' ids: pass Votes.from_array(matrix) as y"
            )
        known = self._by_id()
        return float(estimator.score(X, self._of(y) if known is None else _found(known, y.ids)))

    def _by_id(self) -> Mapping[Any, Any] | None:
        """The labels by id, where ids are known."""
        if isinstance(self.gold, Mapping):
            return self.gold
        if isinstance(self.gold, Corpus):
            if self.gold.gold is None:
                raise InputError("the corpus that GoldScorer was given has no gold labels")
            return dict(zip(self.gold.ids.to_list(), self.gold.gold.tolist(), strict=True))
        if self.ids is None:
            return None
        labels = np.asarray(self.gold).tolist()
        if len(labels) != len(self.ids):
            raise InputError(
                f"{plural(len(labels), 'gold label')}, but {plural(len(self.ids), 'id')}: one for each is needed"
            )
        return dict(zip(self.ids, labels, strict=True))

    def _of(self, votes: Votes) -> list[Any]:
        """Labels by row number: that of the documents the rules voted on, where there are as many labels; else the ids."""
        labels, rows = np.asarray(self.gold), votes.ids.to_list()
        if (known := _document_rows(votes, len(labels))) is not None:
            return list(labels[known].tolist())
        numbers = all(isinstance(row, int) and 0 <= row < len(labels) for row in rows)
        made = votes.provenance
        if not numbers or (isinstance(made, PickedRows) and made.row.tolist() != rows):
            raise InputError(
                "the votes' ids are not row numbers: give the gold labels as GoldScorer(corpus), as "
                "GoldScorer(gold, ids=votes.ids), or as a map from ids to labels"
            )
        return list(labels[rows].tolist())


def _document_rows(votes: Votes, documents: int) -> NDArray[np.int64] | None:
    """(n,): which of so many documents each row of votes is about; None where the votes do not know it."""
    if votes.provenance is None:
        return None
    picked = PickedRows.of(votes.provenance, votes.n)
    sizes = [len(part.corpus) for part in picked.parts if isinstance(part, Evidence)]
    if len(sizes) < len(picked.parts) or sum(sizes) != documents:
        return None
    starts = np.cumsum([0, *sizes[:-1]])
    return np.asarray(starts[picked.part] + picked.row, np.int64)


def _found(known: Mapping[Any, Any], ids: pl.Series) -> list[Any]:
    wanted = ids.to_list()
    if wanted and not any(key in known for key in wanted):
        raise InputError(
            f"no id of these votes, such as {wanted[0]!r}, is among the ids of the gold labels, such as "
            f"{next(iter(known), None)!r}: the two must be of one kind"
        )
    return [known.get(key) for key in wanted]


class VotesScored(UnrulyWarning):
    """A score is the agreement with votes, because votes were given where true labels are expected."""


def warn_of_votes() -> None:
    """Say what a score against votes is, and how to ask for either figure by name."""
    warn(
        "score was given votes, not true labels: the figure is the share of these votes that the classifier "
        "agrees with, not its accuracy. Ask for it with scoring=unruly.vote_agreement; for accuracy pass "
        "scoring=unruly.GoldScorer(gold)",
        VotesScored,
    )


def vote_agreement(estimator: Any, X: Any, y: Any) -> float:
    """How far held-out votes agree with the classifier: a scorer for cross-validation without gold.

    >>> from sklearn.model_selection import cross_val_score
    >>> from unruly import Votes, WeakClassifier
    >>> X = np.tile(np.eye(2, dtype=np.float32), (10, 1))
    >>> votes = Votes.from_array(np.tile([[0, -1], [1, 1]], (10, 1)))
    >>> model = WeakClassifier(method="paper").set_params(settings__epochs=20)
    >>> cross_val_score(model, X, votes, scoring=vote_agreement, cv=2)
    array([1., 1.])
    """
    while steps := getattr(estimator, "steps", None):  # a pipeline: what all but the last make of X
        X = estimator[:-1].transform(X) if len(steps) > 1 else X
        estimator = steps[-1][1]
    return float(estimator.vote_agreement(X, y))
