"""What users pass in, made plain: documents or features, votes, and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, warn
from unruly.features.encoder import Features
from unruly.rules.source import Source
from unruly.texts.columns import CORPUS_OF, label_numbers, text_named_by
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes, is_table
from unruly.wording import plural

Labels = ArrayLike | Sequence[Any] | Mapping[Any, Any] | pl.Series
NEARLY_ALL = 0.9  # of the documents: votes on so many, for every class, look like true labels
_TELLING = 10  # documents, below which sources that agree throughout mean nothing


@dataclass(frozen=True, eq=False)
class Documents:
    """n documents: texts to be encoded, or features that are already there."""

    corpus: Corpus | None
    features: Features | None  # given as they are when there is no corpus
    index: Any = None  # the pandas index, where pandas came in
    columns: tuple[str, ...] | None = None  # of a frame of features, where all have names

    @classmethod
    def of(cls, given: object, text: str | None = None) -> Documents:
        """Tell texts from features by their kind; `text` is the column of a file or a frame that holds the texts.

        >>> Documents.of(["call me", "nice song"]).n
        2
        >>> Documents.of([[0.5, 1.0], [0.25, 0.0]]).features.width
        2
        """
        if isinstance(given, Documents):
            return given
        if isinstance(given, Features):
            return cls(None, given)
        if isinstance(given, str):
            raise InputError(
                "expected a list of texts or a file's Path, got one string: wrap it in a list"
            )
        if hasattr(given, "toarray"):
            raise InputError(
                "sparse features cannot be used: make them dense and short first, "
                "with sklearn.decomposition.TruncatedSVD for example"
            )
        index = _pandas_index(given)
        array = _numbers(given)
        if array is not None:
            return cls(None, Features.from_array(array), index, _names(given))
        with text_named_by(CORPUS_OF):
            return cls(Corpus.of(given, text=text), None, index)

    @classmethod
    def one(cls, given: object, text: str | None = None) -> Documents:
        """A batch of one: a text, a corpus of one, or one row of features.

        >>> Documents.one("call me").n
        1
        """
        if isinstance(given, str):
            given = [given]
        elif isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "fiub":
            given = given[None, :]
        documents = cls.of(given, text)
        if documents.n != 1:
            raise InputError(
                f"explain takes one document at a time, not {documents.n}: a text, or one row of a frame, "
                "frame.iloc[[0]]"
            )
        return documents

    @property
    def n(self) -> int:
        """How many documents."""
        if self.corpus is not None:
            return len(self.corpus)
        assert self.features is not None
        return self.features.n

    @property
    def ids(self) -> pl.Series:
        """(n,): the user's ids, or row numbers."""
        if self.corpus is not None:
            return self.corpus.ids
        return pl.Series("id", range(self.n), dtype=pl.Int64)


def _numbers(given: object) -> NDArray[np.float32] | None:
    """A matrix of numbers, or None when it is something else."""
    if isinstance(given, Corpus):
        return None
    if hasattr(given, "to_numpy") and hasattr(given, "columns"):  # a frame
        found = getattr(given, "dtypes")  # noqa: B009
        kinds = found if isinstance(found, list) else list(found)
        if not all(_numeric(kind) for kind in kinds):
            return None
        return np.asarray(given.to_numpy(), dtype=np.float32)
    if hasattr(given, "__array__") or _looks_like_rows(given):
        try:
            array = np.asarray(given)
        except ValueError:
            raise InputError(
                "the features are not a matrix: give each document one number for each feature"
            ) from None
        if array.dtype.kind == "c":
            raise InputError("Complex data not supported: features must be real numbers")
        if array.dtype.kind == "O" and array.ndim == 2:
            array = _as_numbers(array)
        if array.dtype.kind in "fiub" and array.ndim == 1 and array.size:
            raise InputError(
                "one row of numbers is not a matrix of features. Reshape your data: X.reshape(1, -1) is one "
                "document"
            )
        if array.dtype.kind in "fiub" and array.ndim != 1:
            if array.ndim == 2 and not array.shape[1]:
                raise InputError(
                    f"0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
                )
            return array.astype(np.float32)
    return None


def _names(given: object) -> tuple[str, ...] | None:
    """The names of a frame's columns; None where it is no frame, or some have none."""
    names = tuple(getattr(given, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """An array of Python objects as numbers; as it was where they are texts."""
    if any(isinstance(value, str) for value in array[0].tolist()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"features must be numbers: {error}") from None


def _pandas_index(given: object) -> Any:
    kind = type(given)
    if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("DataFrame", "Series"):
        return getattr(given, "index", None)
    return None


def _numeric(kind: Any) -> bool:
    if isinstance(kind, pl.DataType):
        return kind.is_numeric()
    return getattr(kind, "kind", "O") in "fiub"


def _looks_like_rows(given: object) -> bool:
    return isinstance(given, Sequence) and len(given) > 0 and not isinstance(given[0], str)


def votes_of(given: object, ids: pl.Series | None = None) -> tuple[Votes, bool]:
    """The votes, and whether classes go by number because only a matrix was given."""
    if isinstance(given, Votes):
        return given, False
    if is_table(given):
        votes = Votes.from_array(given)  # type: ignore[arg-type]
        return votes, votes.classes == tuple(str(c) for c in range(votes.m))
    try:
        array = np.asarray(given)
    except ValueError:
        raise InputError(
            "the votes are not a matrix: give each document one value for each source"
        ) from None
    if any(callable(one) or isinstance(one, Source) for one in array.ravel()[:1]):
        raise InputError(
            "these are rules, which have not voted yet: fit(X, sources=Sources(classes, rules)), or "
            "Sources(classes, rules).vote(X)"
        )
    if array.ndim == 0:
        raise InputError(
            f"fit learns from votes, a matrix of documents × sources with -1 for abstain, not from {given!r:.80}"
        )
    if array.ndim == 1:
        raise InputError(
            "fit learns from votes, a matrix of documents × sources with -1 for abstain, and this is one "
            "value for each document. If these are true labels, pass them as clean= (some suffice), or keep "
            "them for evaluate(); votes come from rules: Sources(...).vote(texts)"
        )
    if array.dtype.kind == "f" and not np.array_equal(array, np.round(array)):
        raise InputError(
            "Unknown label type: continuous numbers are not votes: give class numbers, and -1 for abstain"
        )
    columns = getattr(given, "columns", None)  # of a frame: they name the sources
    return Votes.from_array(
        array,
        sources=None if columns is None else [str(column) for column in columns],
        ids=ids if ids is not None and len(ids) == len(array) else None,
    ), True


def refuse_true_labels(votes: Votes) -> None:
    """Ask about a bare matrix or frame that gives each document one class without a contradiction: true labels, most likely.

    Learnt from as votes, they would be gold that the ledger does not know of. A `Votes` is taken at its word.
    """
    if (found := _like_true_labels(votes.matrix)) is None:
        return
    raise InputError(
        f"the votes are {found}: are these true labels? Then pass them as clean= (some suffice), or keep them for "
        "evaluate(). If sources did vote like this, say so: Votes.from_array(votes, sources=[their names])"
    )


def warn_of_zeros(votes: Votes) -> None:
    """Ask about a bare matrix in which no source abstains and 0 occurs: in the matrices of many tools 0 is no vote.

    scikit-learn's `cross_val_predict` makes such a matrix of any votes when it is asked for probabilities.
    """
    if votes.k < 2 or votes.n < _TELLING or (votes.matrix == ABSTAIN).any():
        return
    if (votes.matrix == 0).any():
        warn(
            "no source abstains on any document, so 0 is taken for a class. If 0 means no vote, pass "
            "Votes.from_array(votes, abstain=0); if all sources vote everywhere, Votes.from_array(votes)"
        )


def _like_true_labels(matrix: NDArray[np.int8]) -> str | None:
    """What about a matrix looks like true labels; None where nothing does."""
    n, k = matrix.shape
    if not n or (k > 1 and n < _TELLING):
        return None
    given = matrix != ABSTAIN
    one_hot = given.all() and matrix.max() == 1 and (matrix.sum(axis=1) == 1).all()
    if one_hot and (matrix == 1).any(axis=0).sum() > 1:
        return "rows with one 1 and else 0, as labels in one-hot form are"
    lowest = np.where(given, matrix, matrix.max()).min(axis=1)
    if (given.mean(axis=0) < NEARLY_ALL).any() or (given & (matrix != lowest[:, None])).any():
        return None
    every = "every document" if given.all() else "nearly every document"
    if k == 1:
        return f"one column that names a class for {every}"
    return f"{k} columns that name the same class for {every}"


def check_rows(documents: Documents, votes: Votes) -> None:
    """Refuse votes on other documents than these."""
    if documents.n != votes.n:
        raise InputError(
            f"{plural(documents.n, 'document')} and votes on {votes.n:,}: they must be the same documents"
        )
    if not documents.n:
        raise InputError("there are no documents: give at least one")
    remedy = "" if documents.index is None else ", or set the index of the frame to their ids"
    check_ids(documents.ids, votes.ids, remedy)


def check_ids(ours: pl.Series, theirs: pl.Series, remedy: str = "") -> None:
    """Refuse votes with other ids than the documents (n,), or in another order; row numbers are no ids."""
    if _row_numbers(ours) or _row_numbers(theirs):
        return
    same = ours.dtype == theirs.dtype and bool((ours == theirs).all())
    if not same and ours.cast(pl.String).to_list() != theirs.cast(pl.String).to_list():
        row = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if str(a) != str(b))
        raise InputError(
            f"row {row}: the document's id is {ours[row]!r}, but the votes are on {theirs[row]!r}: "
            f"vote on these documents, in this order{remedy}"
        )


def _row_numbers(ids: pl.Series) -> bool:
    if not ids.dtype.is_integer() or not len(ids):
        return False
    return bool((ids == pl.Series(range(len(ids)), dtype=ids.dtype)).all())


def aligned(votes: Votes, classes: tuple[str, ...], sources: tuple[str, ...]) -> Votes:
    """The votes with the model's sources and classes, in the model's order."""
    if votes.sources == sources and votes.classes == classes:
        return votes
    if _unnamed(votes, classes, sources):
        return replace(votes, sources=sources, classes=classes)
    if set(votes.sources) != set(sources):
        missing = sorted(set(sources) - set(votes.sources)) or sorted(
            set(votes.sources) - set(sources)
        )
        raise InputError(
            f"the votes are of other sources than the model's {len(sources)}: {missing[0]!r} is only in "
            f"{'the model' if missing[0] in sources else 'the votes'}"
        )
    if set(votes.classes) != set(classes):
        raise InputError(
            f"the votes are on the classes {', '.join(votes.classes)}, the model's are {', '.join(classes)}"
        )
    columns = [votes.sources.index(name) for name in sources]
    number = np.array([classes.index(name) for name in votes.classes] + [ABSTAIN], dtype=np.int8)
    order = [votes.classes.index(name) for name in classes]
    return Votes(
        matrix=number[votes.matrix[:, columns]],  # -1 picks the last: abstain
        sources=sources,
        classes=classes,
        ids=votes.ids,
        soft={name: values[:, order] for name, values in votes.soft.items()},
        provenance=votes.provenance,
        unasked=votes.unasked,
    )


def _unnamed(votes: Votes, classes: tuple[str, ...], sources: tuple[str, ...]) -> bool:
    """Whether only a matrix was given, whose columns and numbers then are the model's."""
    numbers = tuple(str(c) for c in range(votes.m))
    columns = tuple(f"source_{j}" for j in range(votes.k))
    bare = votes.classes == numbers and votes.sources == columns
    return bare and votes.k == len(sources) and votes.m <= len(classes)


def silence(ids: pl.Series, classes: tuple[str, ...], sources: tuple[str, ...]) -> Votes:
    """No votes at all on these documents."""
    matrix = np.full((len(ids), len(sources)), ABSTAIN, dtype=np.int8)
    return Votes(matrix=matrix, sources=sources, classes=classes, ids=ids)


def labels_of(
    given: Labels,
    classes: tuple[str, ...],
    ids: pl.Series,
    what: str = "labels",
) -> NDArray[np.int64]:
    """(n,): class numbers, -1 where unknown, from names or numbers in order, or a map from ids.

    >>> labels_of(["spam", None, "ham"], ("ham", "spam"), pl.Series([7, 8, 9]))
    array([ 1, -1,  0])
    >>> labels_of({9: "ham"}, ("ham", "spam"), pl.Series([7, 8, 9]))
    array([-1, -1,  0])
    """
    if isinstance(given, Mapping):
        given = _by_id(given, ids, what)
    return label_numbers(given, classes, len(ids), what)


def _by_id(given: Mapping[Any, Any], ids: pl.Series, what: str) -> list[Any]:
    known = set(ids.to_list())
    for key in given:
        if key not in known:
            raise InputError(f"{what}: there is no document with the id {key!r}")
    return [given.get(key) for key in ids.to_list()]


def corpus_gold(
    corpus: Corpus | None, classes: tuple[str, ...], numbered: bool = False
) -> NDArray[np.int64]:
    """(n,): the gold labels that a corpus carries, in the model's numbers.

    They are matched by class name; by number when the model only knows its classes by number.
    """
    if corpus is None or corpus.gold is None:
        raise InputError(
            "there are no gold labels: give them, or name the label column of the data"
        )
    if numbered or corpus.classes is None or corpus.classes == classes:
        return corpus.gold.astype(np.int64)
    names = pl.Series([None if g < 0 else corpus.classes[g] for g in corpus.gold], dtype=pl.String)
    return labels_of(names, classes, corpus.ids, f"{corpus.name}, gold labels")
