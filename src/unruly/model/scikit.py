"""scikit-learn's manners, kept without inheriting from it: parameters, tags, pandas out, scorers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, SettingsError
from unruly.model.methods import SETTINGS, MethodSettings
from unruly.options import Checked
from unruly.texts.corpus import Corpus
from unruly.votes.votes import PickedRows, Votes
from unruly.wording import did_you_mean, plural

INNER = "settings__"  # before the name of a single setting
CONTAINERS = ("default", "pandas", "polars")


def deep_parameters(
    parameters: Mapping[str, Any], settings: MethodSettings | None, method: str
) -> dict[str, Any]:
    """The parameters, and each setting of the method as `settings__epochs` and so on.

    >>> deep_parameters({"seed": 1}, None, "paper")["settings__hidden"]
    128
    """
    inside = settings or _defaults(method)
    single = {f"{INNER}{option.name}": getattr(inside, option.name) for option in inside.options()}
    return {**parameters, **single}


def split_parameters(
    given: Mapping[str, Any], known: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Whole parameters, and single settings without their prefix; unknown names are refused.

    >>> split_parameters({"seed": 1, "settings__hidden": 64}, known=("seed",))
    ({'seed': 1}, {'hidden': 64})
    """
    whole = {name: value for name, value in given.items() if not name.startswith(INNER)}
    for name in whole:
        if name not in known:
            raise SettingsError(
                f"no parameter is called {name!r}: {did_you_mean(name, known, 'there are')}; single settings "
                f"are {INNER}…",
                option=name,
            )
    inner = {name.removeprefix(INNER): value for name, value in given.items() if name not in whole}
    return whole, inner


def changed(
    settings: MethodSettings | None, method: str, inner: Mapping[str, Any]
) -> MethodSettings:
    """The settings with some of them replaced."""
    before = settings or _defaults(method)
    names = [option.name for option in before.options()]
    for name in inner:
        if name not in names:
            raise SettingsError(
                f"no setting is called {name!r}: {did_you_mean(name, names, 'there are')}",
                option=name,
            )
    return replace(before, **inner)


def _defaults(method: str) -> MethodSettings:
    return SETTINGS.get(method, SETTINGS["default"])()


def shown(parameters: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """What is not as usual, as it would be written in a call.

    >>> from unruly.paper.settings import PaperSettings
    >>> shown({"seed": 3, "settings": PaperSettings(hidden=7)}, {"seed": 0, "settings": None})
    'seed=3, settings=PaperSettings(hidden=7)'
    """
    pieces = []
    for name, value in parameters.items():
        if isinstance(value, Checked):
            plain = type(value)().to_plain()
            inside = [f"{k}={v!r}" for k, v in value.to_plain().items() if v != plain.get(k)]
            pieces.append(f"{name}={type(value).__name__}({', '.join(inside)})")
        elif value is not usual[name] and not _same(value, usual[name]):
            pieces.append(f"{name}={value!r}")
    return ", ".join(pieces)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and bool(np.all(one == other))


def classifier_tags() -> Any:
    """What scikit-learn asks of an estimator: a classifier of texts or features, with votes as target."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True, two_d_labels=True, single_output=False),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(two_d_array=True, string=True),
    )


def checked_container(name: str) -> str:
    """One of 'default' (arrays), 'pandas' and 'polars'."""
    if name not in CONTAINERS:
        raise SettingsError(
            f"set_output(transform={name!r}): must be {', '.join(CONTAINERS)}", option="transform"
        )
    return name


def contained(
    values: NDArray[Any], columns: Sequence[Any] | None, container: str | None, index: Any
) -> Any:
    """An answer in the container that was asked for; by default pandas where pandas came in."""
    if container == "polars":
        if columns is None:
            return pl.Series("label", values)
        return pl.DataFrame(values, schema=[str(name) for name in columns])
    if container == "pandas" or (container is None and index is not None):
        import pandas as pd

        if columns is None:
            return pd.Series(values, index=index, name="label")
        return pd.DataFrame(values, index=index, columns=list(columns))
    return values


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
        """Labels by row number. Where the votes know their rows, ids that only look like row numbers are told."""
        labels, rows = np.asarray(self.gold), votes.ids.to_list()
        numbers = all(isinstance(row, int) and 0 <= row < len(labels) for row in rows)
        made = votes.provenance
        if not numbers or (isinstance(made, PickedRows) and made.row.tolist() != rows):
            raise InputError(
                "the votes' ids are not row numbers: give the gold labels as GoldScorer(corpus), as "
                "GoldScorer(gold, ids=votes.ids), or as a map from ids to labels"
            )
        return list(labels[rows].tolist())


def _found(known: Mapping[Any, Any], ids: pl.Series) -> list[Any]:
    wanted = ids.to_list()
    if wanted and not any(key in known for key in wanted):
        raise InputError(
            f"no id of these votes, such as {wanted[0]!r}, is among the ids of the gold labels, such as "
            f"{next(iter(known), None)!r}: the two must be of one kind"
        )
    return [known.get(key) for key in wanted]


class VotesScored(UserWarning):
    """A score is the agreement with votes, because votes were given where true labels are expected."""


def warn_of_votes() -> None:
    """Say what a score against votes is, and how to ask for either figure by name."""
    warnings.warn(
        "score was given votes, not true labels: the figure is the share of these votes that the classifier "
        "agrees with, not its accuracy. Ask for it with scoring=unruly.vote_agreement; for accuracy pass "
        "scoring=unruly.GoldScorer(gold)",
        VotesScored,
        stacklevel=3,
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
    return float(estimator.vote_agreement(X, y))
