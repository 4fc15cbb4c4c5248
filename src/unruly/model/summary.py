"""What a fit came to: documents, coverage, each source's reliability, how far the two heads agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unruly.model.ledger import Ledger
from unruly.model.word_worth import WordLine, shown
from unruly.plural import plural
from unruly.training.heads import Heads, Learner
from unruly.votes.votes import Votes


@dataclass(frozen=True)
class SourceLine:
    """One source, as the summary shows it."""

    name: str
    votes: int
    coverage: float  # the share of documents that it votes on
    reliability: float  # global reliability, as estimated; all sources sum to 1
    agreement: float | None  # the share of its votes that the final labels bear out
    accuracy: float | None = None  # of its votes, as estimated, where the method estimates it
    accuracy_low: float | None = None  # the 95 % interval of that estimate
    accuracy_high: float | None = None

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


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
    prior: tuple[float, ...] | None  # the class prior that was held, where one was
    notes: tuple[str, ...]  # what the recipe noticed and did, a sentence each
    ledger: Ledger
    words: tuple[WordLine, ...] = ()  # that make sources vote, where the method tells them apart

    @property
    def coverage(self) -> float:
        """The share of documents with at least one vote."""
        return self.covered / self.documents if self.documents else 0.0

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
            "prior": None if self.prior is None else list(self.prior),
            "notes": list(self.notes),
            "words": [line.to_plain() for line in self.words],
            "ledger": self.ledger.to_plain(),
            "gold": str(self.ledger),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> FitSummary:
        """Back from JSON."""
        return cls(
            documents=plain["documents"],
            covered=plain["covered"],
            classes=tuple(plain["classes"]),
            labels=tuple(plain["labels"]),
            sources=tuple(SourceLine(**line) for line in plain["sources"]),
            agreement=plain["agreement"],
            encoder=plain["encoder"],
            epochs=plain["epochs"],
            kept_epoch=plain["kept_epoch"],
            method=plain["method"],
            prior=None if plain["prior"] is None else tuple(plain["prior"]),
            notes=tuple(plain["notes"]),
            ledger=Ledger.from_plain(plain["ledger"]),
            words=tuple(WordLine(**line) for line in plain.get("words", ())),
        )

    def __str__(self) -> str:
        shares = ", ".join(
            f"{c} {count:,}" for c, count in zip(self.classes, self.labels, strict=True)
        )
        heads = "no document is covered" if self.agreement is None else f"{self.agreement:.1%}"
        kept = "" if self.kept_epoch is None else f", epoch {self.kept_epoch} kept"
        lines = [
            f"documents   {self.documents:,}, of which {self.covered:,} ({self.coverage:.1%}) have votes",
            f"labels      {shares}",
            f"encoder     {self.encoder}",
            f"method      {self.method}, {plural(self.epochs, 'epoch')}{kept}",
            f"heads agree {heads} (on documents with votes)",
            *([] if self.prior is None else [f"class prior {_prior(self.classes, self.prior)}"]),
            *_table(self.sources),
            *shown(self.words),
            *self.notes,
            str(self.ledger),
        ]
        return "\n".join(lines)


def summarise(
    learner: Learner,
    heads: Heads,
    votes: Votes,
    *,
    encoder: str,
    method: str,
    prior: tuple[float, ...] | None,
    notes: tuple[str, ...],
    ledger: Ledger,
    words: tuple[WordLine, ...] = (),
) -> FitSummary:
    """The summary of a fit, from what the trained heads say of the training documents."""
    final = heads.predicted  # (n,)
    same = heads.denoiser.argmax(axis=1) == heads.classifier.argmax(axis=1)
    covered = votes.covered
    return FitSummary(
        documents=votes.n,
        covered=int(covered.sum()),
        classes=votes.classes,
        labels=tuple(np.bincount(final, minlength=votes.m).tolist()),
        sources=tuple(_line(j, learner, votes, final) for j in range(votes.k)),
        agreement=float(same[covered].mean()) if covered.any() else None,
        encoder=encoder,
        epochs=len(learner.history),
        kept_epoch=next((epoch.number for epoch in learner.history if epoch.kept), None),
        method=method,
        prior=prior,
        notes=notes,
        ledger=ledger,
        words=words,
    )


def _line(j: int, learner: Learner, votes: Votes, final: np.ndarray[Any, Any]) -> SourceLine:
    cast = votes.voted[:, j]
    count = int(cast.sum())
    borne_out = float((votes.matrix[cast, j] == final[cast]).mean()) if count else None
    estimate, low, high = estimated_accuracy(learner, j)
    return SourceLine(
        name=votes.sources[j],
        votes=count,
        coverage=count / votes.n if votes.n else 0.0,
        reliability=float(learner.reliability[j]),
        agreement=borne_out,
        accuracy=estimate,
        accuracy_low=low,
        accuracy_high=high,
    )


def estimated_accuracy(
    learner: Learner, j: int
) -> tuple[float, float, float] | tuple[None, None, None]:
    """The estimated accuracy of a source with its interval, where the method estimates it."""
    table = getattr(learner, "accuracy", None)  # (k, 3), NaN for a source that never voted
    if table is None or not np.isfinite(table[j]).all():
        return None, None, None
    return float(table[j, 0]), float(table[j, 1]), float(table[j, 2])


def _prior(classes: tuple[str, ...], prior: tuple[float, ...]) -> str:
    return ", ".join(f"{c} {share:.3f}" for c, share in zip(classes, prior, strict=True))


def _table(sources: tuple[SourceLine, ...]) -> list[str]:
    width = max([len(line.name) for line in sources] + [len("source")])
    estimates = any(line.accuracy is not None for line in sources)
    head = (
        f"{'source':{width}}  {'votes':>9}  {'coverage':>8}  {'reliability':>11}  {'borne out':>9}"
    )
    head += f"  {'estimated accuracy':>24}" if estimates else ""
    rows = [
        f"{line.name:{width}}  {line.votes:>9,}  {line.coverage:>8.1%}  {line.reliability:>11.3f}"
        f"  {_percent(line.agreement):>9}" + (f"  {_estimate(line):>24}" if estimates else "")
        for line in sources
    ]
    return [head, *rows]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _estimate(line: SourceLine) -> str:
    if line.accuracy is None:
        return "-"
    return f"{line.accuracy:.1%} ({_percent(line.accuracy_low)} to {_percent(line.accuracy_high)})"
