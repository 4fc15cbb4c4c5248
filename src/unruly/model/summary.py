"""The summary of a fit: coverage, each source's reliability, agreement of the two heads, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.findings import (
    BalanceOrigin,
    ClassBalance,
    Note,
    balance_from_plain,
    finding_to_plain,
    note_from_plain,
)
from unruly.html import html_table, with_code
from unruly.learner import Heads, Learner
from unruly.ledger import Ledger
from unruly.sentences import sentence
from unruly.statistics import Share
from unruly.votes.votes import Votes
from unruly.wording import aligned, counted, plural

AGREEMENT = "agreement: how many of its votes match the final label"
LEGEND = f"{AGREEMENT}; reliability: the source's share of all weight"  # of the paper's method
LEGEND_OF_ESTIMATES = (
    f"{AGREEMENT}; estimated accuracy: from the text, the other sources and the class shares below, with its 95% "
    "interval; unreliable where those are wrong"
)


@dataclass(frozen=True)
class SourceLine:
    """One source, as the summary shows it."""

    name: str
    votes: int
    coverage: float  # the share of documents that it votes on
    reliability: (
        float  # global reliability, all sources sum to 1; shown where no accuracy is estimated
    )
    agreement: float | None  # the share of its votes that agree with the model's labels
    estimated: (
        Share | None
    )  # accuracy of its votes; None without votes, or where the method estimates none

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        known = self.estimated
        return {
            "name": self.name,
            "votes": self.votes,
            "coverage": self.coverage,
            "reliability": self.reliability,
            "agreement": self.agreement,
            "accuracy": known and known.value,
            "accuracy_low": known and known.low,
            "accuracy_high": known and known.high,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SourceLine:
        """Back from JSON."""
        value, votes = plain["accuracy"], plain["votes"]
        return cls(
            name=plain["name"],
            votes=votes,
            coverage=plain["coverage"],
            reliability=plain["reliability"],
            agreement=plain["agreement"],
            estimated=None
            if value is None
            else Share(value, plain["accuracy_low"], plain["accuracy_high"], votes),
        )

    def cells(self, estimates: bool = True) -> tuple[str, ...]:
        """Its row in a table; the last cell is its estimated accuracy, or its reliability."""
        estimate = "-" if self.estimated is None else str(self.estimated)
        return (
            self.name,
            f"{self.votes:,}",
            f"{self.coverage:.1%}",
            "-" if self.agreement is None else f"{self.agreement:.1%}",
            estimate if estimates else f"{self.reliability:.3f}",
        )


@dataclass(frozen=True)
class FitSummary:
    """A fit in figures; `str` gives the lines that are printed at its end."""

    documents: int
    covered: int
    classes: tuple[str, ...]
    labels: tuple[int, ...]  # how many training documents were given each class
    sources: tuple[SourceLine, ...]
    agreement: float | None  # of the two heads, on covered documents; None when there are none
    encoder: str
    epochs: int
    kept_epoch: int | None
    method: str
    balance: ClassBalance | None  # the class shares that the fit used, where it used any
    notes: tuple[Note, ...]  # what the user should know
    ledger: Ledger

    @property
    def coverage(self) -> float:
        """The share of documents with at least one vote."""
        return self.covered / self.documents if self.documents else 0.0

    @property
    def estimated(self) -> dict[str, Share]:
        """The accuracies of the sources as the fit has estimated them, where it has."""
        return {line.name: line.estimated for line in self.sources if line.estimated is not None}

    @property
    def shares(self) -> tuple[float, ...] | None:
        """The class shares that the fit used, where it used any."""
        return None if self.balance is None else self.balance.shares

    @property
    def known_shares(self) -> tuple[float, ...] | None:
        """The same where they were stated, or rest on labels more than on what is assumed without any."""
        balance = self.balance
        if balance is None or balance.origin is BalanceOrigin.ASSUMED:
            return None
        assumed = balance.before is BalanceOrigin.ASSUMED and balance.weight > 0.5
        return None if assumed else balance.shares

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "documents": self.documents,
            "covered": self.covered,
            "coverage": self.coverage,
            "classes": list(self.classes),
            "labels": list(self.labels),
            "sources": [line.to_plain() for line in self.sources],
            "agreement": self.agreement,
            "encoder": self.encoder,
            "epochs": self.epochs,
            "kept_epoch": self.kept_epoch,
            "method": self.method,
            "balance": None if self.balance is None else finding_to_plain(self.balance),
            "notes": [finding_to_plain(note) for note in self.notes],
            "ledger": self.ledger.to_plain(),
            "gold_free": self.ledger.gold_free,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> FitSummary:
        """Back from JSON."""
        return cls(
            documents=plain["documents"],
            covered=plain["covered"],
            classes=tuple(plain["classes"]),
            labels=tuple(plain["labels"]),
            sources=tuple(SourceLine.from_plain(line) for line in plain["sources"]),
            agreement=plain["agreement"],
            encoder=plain["encoder"],
            epochs=plain["epochs"],
            kept_epoch=plain["kept_epoch"],
            method=plain["method"],
            balance=None if plain["balance"] is None else balance_from_plain(plain["balance"]),
            notes=tuple(note_from_plain(note) for note in plain["notes"]),
            ledger=Ledger.from_plain(plain["ledger"]),
        )

    def __repr__(self) -> str:
        return (
            f"FitSummary({plural(self.documents, 'document')}, {self.coverage:.1%} covered, "
            f"{plural(len(self.sources), 'source')}, {self.ledger})"
        )

    def _repr_html_(self) -> str:
        header, *rows = _cells(self.sources)
        labels = counted(self.classes, self.labels)
        table = html_table(header, rows, f"{plural(self.documents, 'document')}: {labels}")
        return table + "".join(
            f"<p>{with_code(line)}</p>" for line in (*self._sentences(), str(self.ledger))
        )

    def _sentences(self, project: Path | None = None) -> list[str]:
        """What the user should know, the class shares first."""
        balance = [] if self.balance is None else [self.balance]
        return [sentence(note, project) for note in (*balance, *self.notes)]

    def __str__(self) -> str:
        return "\n".join([*self.lines(), str(self.ledger)])

    def lines(self, project: Path | None = None) -> list[str]:
        """All but the use of gold labels, for a person; commands name the project, where it is given."""
        agree = (
            "no document has a vote"
            if self.agreement is None
            else f"votes and text predict the same class on {self.agreement:.1%} of the documents with votes"
        )
        kept = "" if self.kept_epoch is None else f", epoch {self.kept_epoch} kept"
        epochs = f", {plural(self.epochs, 'epoch')}{kept}" if self.epochs else ""
        return [
            f"documents   {self.documents:,}, of which {self.covered:,} ({self.coverage:.1%}) have votes",
            f"predicted   {_predicted(self.classes, self.labels)}",
            f"encoder     {self.encoder}",
            f"method      {self.method}{epochs}",
            f"heads       {agree}",
            *aligned(_cells(self.sources)),
            LEGEND if self.method == "paper" else LEGEND_OF_ESTIMATES,
            *self._sentences(project),
        ]


def summarise(
    learner: Learner,
    heads: Heads,
    votes: Votes,
    *,
    encoder: str,
    method: str,
    balance: ClassBalance | None,
    notes: tuple[Note, ...],
    ledger: Ledger,
) -> FitSummary:
    """The summary of a fit, from the predictions of both heads for the training documents."""
    final = heads.predicted  # (n,)
    agrees = votes.agrees(final)  # (n, k)
    return FitSummary(
        documents=votes.n,
        covered=int(votes.covered.sum()),
        classes=votes.classes,
        labels=tuple(np.bincount(final, minlength=votes.m).tolist()),
        sources=tuple(_line(j, learner, votes, agrees) for j in range(votes.k)),
        agreement=heads.agreement(votes.covered),
        encoder=encoder,
        epochs=len(learner.history),
        kept_epoch=next((epoch.number for epoch in learner.history if epoch.kept), None),
        method=method,
        balance=balance,
        notes=notes,
        ledger=ledger,
    )


def _line(j: int, learner: Learner, votes: Votes, agrees: NDArray[np.bool_]) -> SourceLine:
    cast = votes.voted[:, j]
    count = int(cast.sum())
    table = learner.accuracy
    estimated = None
    if table is not None and np.isfinite(table[j]).all():
        value, low, high = table[j].tolist()
        estimated = Share(value, low, high, count)
    return SourceLine(
        name=votes.sources[j],
        votes=count,
        coverage=count / votes.n if votes.n else 0.0,
        reliability=float(learner.reliability[j]),
        agreement=float(agrees[cast, j].mean()) if count else None,
        estimated=estimated,
    )


def _predicted(classes: tuple[str, ...], labels: tuple[int, ...]) -> str:
    """How many documents were given each class, and their share.

    >>> _predicted(("ham", "spam"), (15, 5))
    'ham 15 (75.0%), spam 5 (25.0%)'
    """
    total = max(sum(labels), 1)
    pairs = zip(classes, labels, strict=True)
    return ", ".join(f"{name} {count:,} ({count / total:.1%})" for name, count in pairs)


def _cells(sources: tuple[SourceLine, ...]) -> list[tuple[str, ...]]:
    """The header and a row for each source, with its estimated accuracy, or its reliability where none is estimated."""
    estimates = any(line.estimated is not None for line in sources)
    trust = "estimated accuracy" if estimates else "reliability"
    header = ("source", "votes", "coverage", "agreement", trust)
    return [header, *(line.cells(estimates) for line in sources)]
