"""Labelled documents and exemplars for ImplyLoss: the user's own, or stand-ins from majority vote."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.labelmodels.majority_vote import majority_vote
from unruly.peers.system import Lesson
from unruly.training.clean_labels import UNKNOWN, Gold, checked
from unruly.votes.votes import Votes


@dataclass(frozen=True, eq=False)
class Labelled:
    """What ImplyLoss takes for labelled data."""

    labels: Gold  # (n,): -1 where there is none
    exemplars: NDArray[np.bool_]  # (n, k)
    gold: int  # how many of the labels are true ones

    @property
    def stand_ins(self) -> bool:
        """Whether majority vote stands in for a person."""
        return self.gold == 0


def labelled(lesson: Lesson) -> Labelled:
    """The clean labels and the exemplars that the lesson has; if it has none, the majority's.

    An exemplar is a labelled document: its label is its source's vote. Clean labels without exemplars
    get one for each source: the document with that label on which most sources agree. Without either,
    documents with a single winner are labelled with it, and exemplars are found among them likewise.
    """
    votes = lesson.documents.votes
    labels = checked(lesson.clean, votes.n, votes.m)
    if lesson.exemplars is not None and lesson.exemplars.any():
        exemplars = np.asarray(lesson.exemplars, np.bool_)
        labels = _with_exemplars(labels, exemplars, votes)
    elif (labels >= 0).any():
        exemplars = clearest(votes, labels)
    else:
        stand_ins = majority_vote(votes).astype(np.int64)
        return Labelled(stand_ins, clearest(votes, stand_ins), gold=0)
    return Labelled(labels, exemplars, gold=int((labels >= 0).sum()))


def clearest(votes: Votes, labels: Gold) -> NDArray[np.bool_]:
    """(n, k): for each source the one document that it labels rightly with the most votes ahead.

    >>> votes = Votes.from_array([[0, -1, 0], [1, 1, -1], [0, 0, 0]])
    >>> clearest(votes, np.array([0, 1, 0])).astype(int).tolist()
    [[0, 0, 0], [0, 0, 0], [1, 1, 1]]
    """
    found = np.zeros((votes.n, votes.k), np.bool_)
    if not votes.n:
        return found
    counts = votes.counts()  # (n, m)
    own = np.take_along_axis(counts, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    lead = 2 * own - counts.sum(axis=1)  # (n,): votes for the label less those against it
    right = votes.voted & (votes.matrix == labels[:, None])  # (n, k)
    for j in np.flatnonzero(right.any(axis=0)):
        rows = np.flatnonzero(right[:, j])
        found[rows[lead[rows].argmax()], j] = True
    return found


def _with_exemplars(labels: Gold, exemplars: NDArray[np.bool_], votes: Votes) -> Gold:
    """The labels, with those of the exemplars; an exemplar must be what its source says it is."""
    if exemplars.shape != votes.matrix.shape:
        raise InputError(
            f"exemplars have the shape {exemplars.shape}, but there are {votes.n} documents × {votes.k} sources"
        )
    full = labels.copy()
    for row, j in np.argwhere(exemplars).tolist():
        vote = int(votes.matrix[row, j])
        where = f"document {votes.ids[row]!r} is an exemplar of the source {votes.sources[j]!r}"
        if vote < 0:
            raise InputError(
                f"{where}, which does not vote on it: the rule must match its exemplar"
            )
        if full[row] not in (UNKNOWN, vote):
            raise InputError(
                f"{where}, which says {votes.classes[vote]}, but its label is {votes.classes[full[row]]}"
            )
        full[row] = vote
    return full
