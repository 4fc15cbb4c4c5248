"""Which documents to label, and the session that asks about them; each answer is on disk before the next question.

    balance       spread over predicted classes and confidences: for class shares and all else (see `draw`)
    random        all documents with equal probability
    doubt         the smallest margin between the two likeliest classes
    source:NAME   at random among the documents that a source votes on, to check it
    class:NAME    at random among the documents predicted as a class
    contested     those set aside: people gave different labels, or one that is no class (see `contested`)

`balance` and `random` can draw any document, so their estimates hold for all (see `answers`). `balance` is systematic
sampling with unequal probabilities:

    u_i = 1 - sum_y q_iy^2                         how doubtful the prediction is: the variance that a label removes
    s_i = sqrt(u_i + 0.1)                          Neyman's allocation (1934); 0.1: predictions may be wrong where they are sure
    P(i) ~ 3/4 s_i / sum s + 1/4 s_i / (H sum of s over i's predicted class)        H: the classes that are predicted

P(i), cut at 1, sums to the labels that are asked for. Documents are laid end to end in the order of predicted class
and confidence, each as long as its P(i), and a comb with teeth at distance 1 and a random offset picks those that it hits
(Madow, 1949). So each is drawn with exactly its P(i), and the draw is spread over classes and confidences like a
stratified one. Its inverse as a weight keeps every estimate unbiased. A quarter goes evenly to the predicted
classes, so that one which is hardly ever predicted is drawn as well.

    session = Session(LabelFile.open("labels.csv"), ask(votes, n=20), by="ada")
    while (question := session.question) is not None:
        session = session.answer("spam")          # or .undo(), .answer(CANNOT_TELL), .answer(SKIPPED)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.denoising.balance import vote_shares
from unruly.errors import InputError
from unruly.findings import Contradiction, UnknownClass
from unruly.labelling.answers import drawn_as, labelled, places_of, written_id
from unruly.labelling.label_file import AGAIN, NO_CLASS, SKIPPED, WITHDRAWN, Answer, LabelFile
from unruly.statistics import Float64
from unruly.texts.columns import UNKNOWN
from unruly.votes.sparse import SparseVotes
from unruly.votes.votes import Votes
from unruly.wording import did_you_mean, known_name, listed, plural

KINDS = ("balance", "doubt", "random", "source:NAME", "class:NAME", "contested")
Proba = NDArray[np.floating[Any]]
_WRONG = 0.1  # variance of a label where the prediction is sure
_EVENLY = 0.25  # of the labels, over the predicted classes


@dataclass(frozen=True)
class Question:
    """A document to label."""

    row: int
    id: object
    probability: float | None  # with which it was drawn; None: not at random
    why: str  # how it was drawn, as labels.csv has it

    @property
    def again(self) -> bool:
        """Whether the document has answers already, which this one settles."""
        return self.why.startswith(AGAIN)


@dataclass(frozen=True)
class Questions:
    """Documents to label, in the order to show them."""

    by: str
    items: tuple[Question, ...]

    def __repr__(self) -> str:
        return f"Questions({plural(len(self.items), 'document')} by {self.by}: {listed(map(str, self.ids))})"

    def __iter__(self) -> Iterator[Question]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def ids(self) -> list[object]:
        """The documents' ids."""
        return [question.id for question in self.items]

    @property
    def probabilities(self) -> list[float | None]:
        """With what probability each was drawn."""
        return [question.probability for question in self.items]


def ask(
    votes: Votes,
    proba: Proba | None = None,
    n: int = 20,
    by: str = "balance",
    *,
    answered: NDArray[np.bool_] | None = None,
    missing: NDArray[np.bool_] | None = None,
    seed: int = 0,
) -> Questions:
    """At most n documents that have no answer yet.

    `proba`, (n, m), are a model's predictions; without one, the vote shares are used. `missing`, (n,), are documents
    without a text: there is nothing to read. The random draw depends on `seed` and on how many documents are
    `answered` or missing, so that successive draws are independent.

    >>> votes = Votes.from_array([[0], [1], [-1], [1]], classes=["ham", "spam"], sources=["links"])
    >>> sorted(ask(votes, n=9, by="class:spam").ids)
    [1, 3]
    >>> ask(votes, n=2, by="random").probabilities
    [0.5, 0.5]
    """
    if n < 1:
        raise InputError(f"{n} documents: ask for at least one")
    likely = proba if proba is not None else from_votes(votes)
    among = np.ones(votes.n, np.bool_) if answered is None else ~answered
    among = among if missing is None else among & ~missing
    seed += int((~among).sum())
    kind, name = parsed_kind(by)
    if kind == "contested":
        raise InputError("contested documents are those of a file of labels: see `contested`")
    chance: NDArray[np.float64] | None
    if kind == "balance":
        drawn = draw(likely, n, seed=seed, among=among)
        rows, chance = drawn.rows, drawn.probability
    elif kind == "doubt":
        rows, chance = _doubtful(likely, n, among, seed), None
    else:
        if kind == "source":
            source = known_name(name, votes.sources, "source")
            among &= votes.matrix[:, votes.sources.index(source)] >= 0
        elif kind == "class":
            label = known_name(name, votes.classes, "class")
            among &= likely.argmax(axis=1) == votes.classes.index(label)
            if proba is None:
                among &= votes.covered  # votes predict nothing where there are none
        rows = np.random.default_rng(seed).permutation(np.flatnonzero(among))[:n]
        chance = np.full(len(rows), len(rows) / max(int(among.sum()), 1))
    why = f"{by}#{draw_token(votes.ids, rows)}"
    return Questions(
        by,
        tuple(
            Question(
                int(row), votes.ids[int(row)], None if chance is None else float(chance[i]), why
            )
            for i, row in enumerate(rows)
        ),
    )


def contested(
    file: LabelFile, ids: Sequence[object] | pl.Series, classes: Sequence[str], n: int = 20
) -> Questions:
    """At most n documents that have answers and yet no label: people disagree, or the label is not a class.

    An answer to such a question counts in place of all before it, and as drawn like these (see `drawn_as`).

    >>> from pathlib import Path
    >>> answers = Answer("4", "ham", by="ada"), Answer("4", "spam", by="bob"), Answer("5", "ham")
    >>> contested(LabelFile(Path("labels.csv"), answers), [4, 5], ["ham", "spam"]).ids
    [4]
    """
    standing, labels = file.standing(), labelled(file, ids, classes)
    odd = {p.id for p in labels.problems if isinstance(p, Contradiction | UnknownClass)}
    rows = sorted(row for row in places_of(ids, odd).values() if labels.numbers[row] == UNKNOWN)
    drawn = [drawn_as(standing[written_id(ids[row])]) for row in rows]
    items = [
        Question(row, ids[row], one.probability, AGAIN + one.draw)
        for row, one in zip(rows, drawn, strict=True)
    ]
    return Questions("contested", tuple(items[:n]))


def parsed_kind(by: str) -> tuple[str, str]:
    """How documents are drawn, and the source or class that it names.

    >>> parsed_kind("source:links")
    ('source', 'links')
    """
    kind, _, name = by.partition(":")
    known = [one.partition(":")[0] for one in KINDS]
    named = kind in ("source", "class")
    if named and not name:
        raise InputError(f"by = {by!r}: which {kind}? Name it, as in {kind}:NAME")
    if kind not in known or (name and not named):
        hint = "" if kind in known else did_you_mean(kind, known)
        raise InputError(f"by = {by!r}: {hint and hint + ' '}must be one of {', '.join(KINDS)}")
    return kind, name


def from_votes(votes: Votes) -> NDArray[np.float64]:
    """(n, m): the shares of the votes on each document; those of all votes where there are none."""
    sparse = SparseVotes.of(votes)
    return sparse.shares(vote_shares(sparse))


def draw_token(ids: pl.Series, rows: NDArray[np.intp]) -> str:
    """A short name for a draw: another for other documents."""
    drawn = "\n".join(str(ids[int(row)]) for row in rows)
    return f"{zlib.crc32(drawn.encode()):08x}"


def _doubtful(proba: Proba, n: int, among: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    """Documents with the smallest lead of the likeliest class, ties by chance."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(among))
    top = np.sort(proba[rows], axis=1)
    lead = top[:, -1] - top[:, -2]
    return np.asarray(rows[np.argsort(lead, kind="stable")[:n]])


@dataclass(frozen=True, eq=False)
class Drawn:
    """Documents to label, in the order in which to show them."""

    rows: NDArray[np.intp]  # (l,)
    probability: Float64  # (l,): with which each was drawn


def draw(
    proba: NDArray[np.floating[Any]],
    size: int,
    *,
    seed: int = 0,
    among: NDArray[np.bool_] | None = None,
) -> Drawn:
    """At most `size` documents by the predictions `proba` (n, m); `among` (n,): of these only.

    >>> proba = np.eye(2)[[0] * 90 + [1] * 10]
    >>> drawn = draw(proba, 10)
    >>> int((drawn.rows >= 90).sum()), sorted(set(drawn.probability.round(3).tolist()))
    (2, [0.089, 0.2])
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(proba)) if among is None else np.flatnonzero(among)
    q = np.asarray(proba[rows], np.float64)
    size = min(size, len(rows))
    if not size:
        return Drawn(np.empty(0, np.intp), np.empty(0))
    chance = inclusion(sizes(q), size)
    order = np.lexsort((rng.random(len(rows)), q.max(axis=1), q.argmax(axis=1)))
    ends = np.cumsum(chance[order])
    ends *= size / ends[-1]  # rounding
    teeth = np.floor(np.concatenate([[0.0], ends]) + rng.random())
    teeth[-1] = teeth[0] + size
    picked = rng.permutation(order[np.diff(teeth) > 0])
    return Drawn(rows[picked], chance[picked])


def sizes(q: Float64) -> Float64:
    """(n,): what the probabilities are in proportion to."""
    size = np.sqrt(1 - (q**2).sum(axis=1) + _WRONG)
    predicted = q.argmax(axis=1)
    total = np.bincount(predicted, weights=size, minlength=q.shape[1])
    alone = size / total[predicted] / (total > 0).sum()
    return np.asarray((1 - _EVENLY) * size / size.sum() + _EVENLY * alone)


def inclusion(sizes: Float64, n: int) -> Float64:
    """(l,): probabilities in proportion to the sizes, at most 1, that sum to n.

    >>> inclusion(np.array([1.0, 1.0, 8.0]), 2).tolist()
    [0.5, 0.5, 1.0]
    """
    chance = np.zeros(len(sizes))
    sure = np.zeros(len(sizes), np.bool_)
    while True:
        rest = n - sure.sum()
        chance = np.where(sure, 1.0, rest * sizes / max(float(sizes[~sure].sum()), 1e-300))
        more = ~sure & (chance >= 1)
        if not more.any():
            return chance
        sure |= more


@dataclass(frozen=True, eq=False)
class Session:
    """A file of labels, the questions, and the answers given so far.

    Nothing is kept in memory that is not in the file: a session that is killed loses the question on the screen, no more.
    """

    file: LabelFile
    questions: Questions
    by: str = ""  # who answers
    given: tuple[Answer, ...] = ()  # in this session, without those that were undone

    @property
    def question(self) -> Question | None:
        """The next document to label; one that somebody else has labelled meanwhile is passed over."""
        given = {answer.id for answer in self.given}
        known = self._labelled()
        for question in self.questions:
            own = written_id(question.id)
            if own not in given and (question.again or own not in known):
                return question
        return None

    def _labelled(self) -> set[str]:
        standing = self.file.standing()
        return {own for own, found in standing.items() if any(a.label != SKIPPED for a in found)}

    @property
    def labels(self) -> int:
        """How many of the answers name a class."""
        return sum(answer.label not in NO_CLASS for answer in self.given)

    def answer(self, label: str, note: str = "") -> Session:
        """Answer the question: a class, `CANNOT_TELL` or `SKIPPED`."""
        question = self.question
        if question is None:
            raise InputError("there is nothing left to label")
        file, own = self._file_now(), written_id(question.id)
        when = file.now(own)
        answer = Answer(own, label, when, self.by, question.why, question.probability, note)
        return replace(self, file=file.append(answer), given=(*self.given, answer))

    def undo(self) -> Session:
        """Undo the last answer; its document is the next question again."""
        if not self.given:
            raise InputError("there is no answer to undo")
        file, last = self._file_now(), self.given[-1]
        taken = replace(last, label=WITHDRAWN, when=file.now(last.id), note="")
        return replace(self, file=file.append(taken), given=self.given[:-1])

    def _file_now(self) -> LabelFile:
        """The file as it is now: others may have changed it. Where it is gone, the answers of this session are written again."""
        file = LabelFile.open(self.file.path, self.file.names)
        return file.append(*self.given) if self.given and not file.path.exists() else file

    def saved(self) -> Session:
        """The session with the file as it is now, and those of its answers that are in it."""
        file = self._file_now()
        there = {(answer.id, answer.by, answer.when) for answer in file.answers}
        given = tuple(a for a in self.given if (a.id, a.by, a.when) in there)
        return replace(self, file=file, given=given)
