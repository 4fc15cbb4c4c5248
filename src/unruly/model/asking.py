"""What users ask a fitted model with, in the model's own classes and sources: votes, gold, one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents, corpus_gold, labels_of
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.features.cache import Cache


def named_votes(fitted: Fitted, documents: Documents, votes: Any) -> Votes | None:
    """Votes on new documents, with the model's names when only a matrix is given."""
    if votes is None or isinstance(votes, Votes):
        return votes
    array = np.asarray(votes)
    if array.ndim != 2 or array.shape[1] != len(fitted.sources):
        raise InputError(
            f"votes must be a matrix with one column for each of the {len(fitted.sources)} sources, "
            f"not of shape {array.shape}"
        )
    ids = documents.ids if len(array) == documents.n else None  # else refused, with both counts
    return Votes.from_array(array, classes=fitted.classes, sources=fitted.sources, ids=ids)


def scoring_gold(fitted: Fitted, documents: Documents, y: Any) -> NDArray[np.int64]:
    """(n,): the gold labels given, or those of the corpus; -1 where unknown, refused where all are."""
    if y is None:
        gold = corpus_gold(documents.corpus, fitted.classes, fitted.numbered)
    else:
        gold = labels_of(y, fitted.classes, documents.ids, "gold labels")
    if not (gold >= 0).any():
        raise InputError("no document has a gold label: there is nothing to score against")
    return gold


def vote_agreement(
    fitted: Fitted, documents: Documents, votes: Any, cache: Cache | None = None
) -> float:
    """The share of the votes cast that name the class which the classifier reads off the features."""
    cast = fitted.votes(documents, named_votes(fitted, documents, votes))
    heads = fitted.learner.heads(fitted.features(documents, cache), cast)
    said = heads.classifier.argmax(axis=1)  # (n,)
    if not cast.covered.any():
        raise InputError("none of these documents has a vote: there is nothing to agree with")
    return float((cast.matrix == said[:, None])[cast.voted].mean())


def one_document(X: Any, votes: Any) -> tuple[Documents, Any]:
    """One document and its votes as a batch of one: a text, a corpus of one, or one row of features.

    >>> documents, votes = one_document("call me", [1, -1])
    >>> documents.n, votes
    (1, [[1, -1]])
    """
    if isinstance(X, str):
        X = [X]
    elif isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "fiub":
        X = X[None, :]
    documents = Documents.of(X)
    if documents.n != 1:
        raise InputError(f"explain takes one document at a time, not {documents.n}")
    if votes is not None and not isinstance(votes, Votes) and np.ndim(votes) == 1:
        votes = [votes]
    return documents, votes
