"""`WeakClassifier`: a text classifier learnt from votes, with scikit-learn's manners.

It keeps to scikit-learn's protocol (parameters, tags, learned attributes with an underscore) without
inheriting from it: `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV` take it as it is, and a saved
model is read without importing scikit-learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, NotFittedError, SettingsError
from unruly.features.encoder import Features
from unruly.model import explaining, fitting, storage
from unruly.model.asking import named_votes, one_document, scoring_gold, vote_agreement
from unruly.model.class_prior import ClassPrior, checked_prior
from unruly.model.encoding import Encoding, plain_spec
from unruly.model.evaluation import Evaluation, evaluate
from unruly.model.explanation import Explanation
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents, check_rows, labels_of
from unruly.model.ledger import Ledger, Use
from unruly.model.parameters import (
    changed,
    classifier_tags,
    deep_parameters,
    settled,
    shown,
    split_parameters,
)
from unruly.model.prediction import Predictions
from unruly.model.rulebook import RuleBook
from unruly.model.storage import Functions
from unruly.model.summary import FitSummary
from unruly.progress import SILENT, Progress
from unruly.rules.sources import Sources
from unruly.settings import Settings
from unruly.training.heads import Epoch
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.features.cache import Cache

KEEP_DOCUMENTS = 2000
PARAMETERS = ("encoder", "method", "class_prior", "seed", "settings", "keep_documents", "cache")
Labels = ArrayLike | Sequence[Any] | Mapping[Any, Any]


class WeakClassifier:
    """Learns to classify documents from the votes of rules that disagree, without gold labels.

    `encoder` turns texts into features ("auto": the best that this machine can run offline); it is not
    used when features are given. `settings` holds every hyper-parameter; `method` and `seed` are short
    for those two settings. `class_prior` is "uniform", "votes", or one number for each class (a list,
    or a map from class names); None leaves the choice to the method. Up to `keep_documents` training
    documents (the beginning of each, its id and its features) are kept in the model, so that
    explanations can show the nearest ones; 0 keeps none. With `cache` the features of texts are kept on
    disk (in `$UNRULY_CACHE`, else the user's cache folder) and read back the next time.

    After `fit`: `classes_` (the order of all probabilities), `sources_`, `reliability_` (k,),
    `history_`, `summary_`, `ledger_` (what gold was used, for what), `encoder_`, `settings_`, and
    `n_features_in_` when features were given.

    >>> features = [[0.0, 1.0], [0.1, 0.9], [1.0, 0.0], [0.9, 0.2], [0.8, 0.1]]
    >>> votes = [[0, -1], [0, 0], [1, 1], [-1, 1], [-1, -1]]
    >>> model = WeakClassifier(method="paper").fit(features, votes)
    >>> model.predict(features)
    array([0, 0, 1, 1, 1])
    >>> model.predict_proba(features).shape
    (5, 2)
    >>> print(model.ledger_)
    gold labels: none used
    """

    _estimator_type = "classifier"  # what scikit-learn before 1.6 asks instead of tags

    def __init__(
        self,
        encoder: Any = "auto",
        *,
        method: str | None = None,
        class_prior: ClassPrior = None,
        seed: int | None = None,
        settings: Settings | None = None,
        keep_documents: int = KEEP_DOCUMENTS,
        cache: bool = True,
    ) -> None:
        self.encoder = encoder
        self.method = method
        self.class_prior = class_prior
        self.seed = seed
        self.settings = settings
        self.keep_documents = keep_documents
        self.cache = cache

    def fit(
        self,
        X: Any,
        votes: Any = None,
        *,
        sources: Sources | None = None,
        clean: Labels | None = None,
        valid: Any = None,
        progress: Progress = SILENT,
    ) -> Self:
        """Learn from documents (or their features) and the votes on them.

        `X` is a `Corpus`, a list of texts, a frame, a `Path`, or an (n, d) array of features. `votes`
        is a `Votes`, or an (n, k) matrix of class numbers with -1 for abstain. With `sources` (or with
        votes that still know the rules behind them) the model carries the rules and applies them to new
        texts; `votes` may then be left out.

        `clean` holds the true labels of some documents: names or numbers in order with None or -1
        where unknown, or a map from ids. They stay fixed during training. `valid` is a corpus with gold,
        `(X, gold)` or `(X, votes, gold)`; it is used only when the settings ask for it, by
        `selection="gold"` or `calibrate=True`.
        """
        settings = self._settings()
        documents = Documents.of(X)
        rules = RuleBook.behind(votes) if sources is None else RuleBook(sources)
        cast, numbered = fitting.cast_votes(documents, votes, rules, progress)
        check_rows(documents, cast)
        read_twice = cast if settings.method == "default" else None
        encoding = fitting.encoding_of(self.encoder, documents, read_twice, self._cache(), progress)
        order = fitting.Order(
            documents=documents,
            votes=cast,
            numbered=numbered,
            settings=settings,
            encoder=encoding,
            rules=rules,
            prior=checked_prior(self.class_prior, cast.classes),
            clean=None
            if clean is None
            else labels_of(clean, cast.classes, cast.ids, "clean labels"),
            valid=None if valid is None else fitting.validation_of(valid, cast.classes, numbered),
            keep_documents=self.keep_documents,
            cache=self._cache(),
        )
        result = fitting.fit(order, progress)
        self._adopt(result.fitted)
        self._training_features: Features | None = result.features
        self._training_votes: Votes | None = cast
        return self

    def predict(self, X: Any, votes: Any = None) -> NDArray[Any]:
        """(n,): the class of each document."""
        numbers = self.predictions(X, votes).numbers
        return np.asarray(self.classes_[numbers])

    def predict_proba(self, X: Any, votes: Any = None) -> NDArray[np.float32]:
        """(n, m): the probability of each class, in the order of `classes_`."""
        return self.predictions(X, votes).proba

    def predictions(
        self, documents: Any, votes: Any = None, *, progress: Progress = SILENT
    ) -> Predictions:
        """Everything said of these documents: labels, confidence, who decided, which sources voted.

        Votes are taken as given; without them the model's own rules are applied to texts.
        """
        fitted, given = self._fitted(), Documents.of(documents)
        return fitted.predictions(given, self._given_votes(given, votes), self._cache(), progress)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy against gold labels `y`; or, where `y` is votes, how far held-out votes agree.

        With a `Votes` or a vote matrix as `y` no gold is touched: the figure is the share of the votes
        cast that name the class which the classifier predicts from the features alone.
        `unruly.GoldScorer` scores cross-validation against gold.
        """
        documents = Documents.of(X)
        if isinstance(y, Votes) or (y is not None and np.ndim(y) == 2):
            return vote_agreement(self._fitted(), documents, y, self._cache())
        gold = scoring_gold(self._fitted(), documents, y)
        right = (self.predictions(documents).numbers == gold)[gold >= 0]
        weight = None if sample_weight is None else np.asarray(sample_weight)[gold >= 0]
        return float(np.average(right, weights=weight))

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        votes: Any = None,
        *,
        origin: str = "",
        progress: Progress = SILENT,
    ) -> Evaluation:
        """All figures against gold labels (those of the corpus when `y` is left out)."""
        fitted, documents = self._fitted(), Documents.of(X)
        gold = scoring_gold(fitted, documents, y)
        answers = self.predictions(documents, votes, progress=progress)
        name = Path(documents.corpus.name).name if documents.corpus is not None else ""
        return evaluate(
            answers.heads,
            answers.votes,
            gold,
            ledger=fitted.ledger.add(Use.SCORING, int((gold >= 0).sum()), origin or name),
            commonest=fitted.commonest,
            repeats=fitted.repeats(documents),
        )

    def denoise(self, votes: Any = None, X: Any = None) -> NDArray[np.float32]:
        """(n, m): soft labels for the training documents, from their votes and features together.

        Votes may be new ones on the same documents. A model that was loaded from a file no longer
        has the training documents: pass them as `X`.
        """
        fitted = self._fitted()
        if X is not None:
            documents = Documents.of(X)
            cast = fitted.votes(documents, self._given_votes(documents, votes))
            return fitted.learner.soft_labels(cast, fitted.features(documents, self._cache()))
        if self._training_features is None or self._training_votes is None:
            raise InputError(
                "a loaded model no longer has its training documents: pass them, denoise(votes, X=corpus)"
            )
        documents = Documents(None, self._training_features)
        given = self._training_votes if votes is None else self._given_votes(documents, votes)
        return fitted.learner.soft_labels(fitted.votes(documents, given), self._training_features)

    def explain(
        self, X: Any, votes: Any = None, *, words: int = 8, neighbours: int = 5
    ) -> Explanation:
        """Why one document gets its label: a text, a corpus of one, or one row of features."""
        documents, votes = one_document(X, votes)
        given = self._given_votes(documents, votes)
        return explaining.explain(
            self._fitted(), documents, given, words=words, neighbours=neighbours
        )

    def save(self, path: str | Path) -> None:
        """Write everything into one file, whole or not at all; `unruly.load` reads it back."""
        storage.save(path, self._fitted(), self._plain_parameters())

    @classmethod
    def load(cls, path: str | Path, functions: Functions = None) -> Self:
        """A model from its file."""
        loaded = storage.load(path, functions)
        model = cls(**loaded.parameters, settings=loaded.fitted.settings)
        model._adopt(loaded.fitted)
        model._training_features = None
        model._training_votes = None
        return model

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes by name, in the order of the probabilities."""
        return self._fitted().classes

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep`, each setting as `settings__hidden` and so on."""
        own = {name: getattr(self, name) for name in PARAMETERS}
        return deep_parameters(own, self.settings) if deep else own

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `settings__hidden=64` replaces one setting, for grid searches."""
        whole, inner = split_parameters(params, PARAMETERS)
        for name, value in whole.items():
            setattr(self, name, value)
        if inner:
            self.settings = changed(self.settings, inner)
        return self

    def __repr__(self) -> str:
        return (
            f"WeakClassifier({shown(self.get_params(deep=False), WeakClassifier().get_params())})"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted_model")

    def __sklearn_tags__(self) -> Any:
        return classifier_tags()

    def _settings(self) -> Settings:
        """The settings, with what was given beside them."""
        if self.keep_documents < 0:
            raise SettingsError(f"keep_documents = {self.keep_documents}: must be 0 or more")
        return settled(self.settings, self.method, self.seed)

    def _cache(self) -> Cache | None:
        from unruly.features.cache import Cache  # brings SciPy and scikit-learn, for lsa

        return Cache() if self.cache else None

    def _given_votes(self, documents: Documents, votes: Any) -> Votes | None:
        return named_votes(self._fitted(), documents, votes)

    def _fitted(self) -> Fitted:
        fitted = getattr(self, "_fitted_model", None)
        if fitted is None:
            raise NotFittedError("this WeakClassifier is not fitted yet: call fit(X, votes) first")
        assert isinstance(fitted, Fitted)
        return fitted

    def _adopt(self, fitted: Fitted) -> None:
        """Take a fitted model as one's own: everything that ends in an underscore."""
        names = list(range(len(fitted.classes))) if fitted.numbered else list(fitted.classes)
        self._fitted_model = fitted
        self.classes_: NDArray[Any] = np.array(names)
        self.sources_: tuple[str, ...] = fitted.sources
        self.reliability_: NDArray[np.float64] = fitted.learner.reliability
        self.history_: tuple[Epoch, ...] = fitted.learner.history
        self.summary_: FitSummary = fitted.summary
        self.ledger_: Ledger = fitted.ledger
        self.settings_: Settings = fitted.settings
        self.encoder_: Encoding | None = fitted.encoder
        if fitted.encoder is None:
            self.n_features_in_: int = sum(width for _, width in fitted.blocks)

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters that the settings do not hold, as JSON can."""
        prior = self._fitted().prior
        return {
            "encoder": plain_spec(self.encoder),
            "class_prior": list(prior) if isinstance(prior, tuple) else prior,
            "keep_documents": self.keep_documents,
            "cache": self.cache,
        }
