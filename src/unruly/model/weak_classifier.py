"""`WeakClassifier`: a text classifier learnt from votes, with scikit-learn's manners.

It keeps to scikit-learn's protocol (parameters, tags, learned attributes with an underscore) without
inheriting from it: `clone`, `Pipeline`, `cross_val_score` and `GridSearchCV` take it as it is, and a saved
model is read without importing scikit-learn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unruly.errors import InputError, SettingsError, not_fitted
from unruly.features.registry import plain_spec
from unruly.features.stack import Encoding
from unruly.files import check_not_input
from unruly.learner import Epoch
from unruly.ledger import Ledger
from unruly.model import storage
from unruly.model.fitted import Fitted, ModelInputs, digests_of
from unruly.model.inputs import Documents, Labels, check_ids, check_rows, labels_of
from unruly.model.predictions import Predictions, checked_container, contained
from unruly.model.saved_rules import SavedRules
from unruly.model.storage import Functions
from unruly.model.summary import FitSummary
from unruly.prior import parse_prior
from unruly.progress import SILENT, Progress, usual_progress
from unruly.rules.sources import Sources
from unruly.settings import (
    SEED_BITS,
    MethodSettings,
    changed,
    deep_parameters,
    settings_for,
    shown,
    split_parameters,
)
from unruly.texts.columns import remembered
from unruly.texts.frame_table import files_of
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.features.cache import FeatureCache
    from unruly.findings import Critique
    from unruly.labelling.answers import Labelled
    from unruly.labelling.estimates import AccuracyEstimate
    from unruly.labelling.sampling import Questions
    from unruly.model.critique import VoteJudge
    from unruly.model.evaluation import Evaluation
    from unruly.model.explanation import Explanation
    from unruly.model.suggestions import Refused, RuleSuggestion
    from unruly.prompts.asking import Asked, Plan
    from unruly.rules.source import Rule
    from unruly.texts.corpus import Corpus

KEEP_DOCUMENTS = 2000
PARAMETERS = ("encoder", "method", "class_prior", "seed", "settings", "keep_documents", "cache")


class WeakClassifier:
    """Learns to classify documents from the votes of rules that disagree, without gold labels.

    `encoder` turns texts into features ("auto": the best that this machine can run offline); it is not
    used when features are given. `method` is "default", or "paper" for the method of Ren et al. (2020) as
    printed; `settings` are the options of that method, `unruly.Settings` or `unruly.PaperSettings`.
    `class_prior` is what you know of the class shares: "uniform", "votes", one number for each class, a
    map from class names, or words such as "spam is about 1 in 8". All randomness comes from `seed`.

    Up to `keep_documents` training documents (the beginning of each, its id and its features) are kept in
    the model, so that explanations can show the nearest ones; 0 keeps none. With `cache` the features and votes
    of texts are kept on disk (in `$UNRULY_CACHE`, else the user's cache folder) for the next time; a `FeatureCache` of
    your own keeps features elsewhere.

    After `fit`: `classes_` (the order of all probabilities), `sources_`, `reliability_` (k,),
    `history_`, `summary_`, `ledger_` (what gold was used, for what), `encoder_`, `settings_`;
    `n_features_in_` when features were given, and `feature_names_in_` when they were a frame.

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
        method: str = "default",
        class_prior: Any = None,
        seed: int = 0,
        settings: MethodSettings | None = None,
        keep_documents: int = KEEP_DOCUMENTS,
        cache: bool | FeatureCache = True,
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
        clean: Labels | Labelled | None = None,
        valid: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from documents (or their features) and the votes on them.

        `X` is a `Corpus`, a list of texts, a frame, a `Path`, or an (n, d) array of features. `votes`
        is a `Votes`, or an (n, k) matrix of class numbers with -1 for abstain. With `sources` (or with
        votes that still know the rules behind them) the model carries the rules and applies them to new
        texts; `votes` may then be left out. `fit(X, sources)` is the same, as in a `Pipeline`.

        `clean` holds the true labels of some documents: names or numbers in order with None or -1
        where unknown, a map from ids, or what `Project.labels` gives, which knows how they were drawn.
        `valid` is a corpus with gold, `(X, gold)` or `(X, votes, gold)`; only `method="paper"` uses it, and
        only with `selection="gold"` or `calibrate=True` in its settings. A bar shows the progress in
        notebooks; pass `unruly.progress.SILENT` for none.
        """
        from unruly.model import fitting  # what only fitting needs is not imported to predict

        progress = usual_progress() if progress is None else progress
        settings = self._checked_settings()
        documents = Documents.of(X)
        if isinstance(votes, Sources):
            if sources is not None:
                raise InputError("sources are given twice: leave one out")
            votes, sources = None, votes
        rules = (
            SavedRules.behind(votes)
            if sources is None
            else SavedRules.of(sources, self.cache is not False)
        )
        cast, numbered = fitting.cast_votes(documents, votes, rules, progress)
        check_rows(documents, cast)
        encoder = None
        if documents.corpus is not None:
            encoder = Encoding.fitted(self.encoder, documents.corpus, self._cache(), progress)
        request = fitting.FitRequest(
            documents=documents,
            votes=cast,
            numbered=numbered,
            method=self.method,
            settings=settings,
            seed=int(self.seed),
            encoder=encoder,
            rules=rules,
            balance=parse_prior(self.class_prior, cast.classes),
            labels=None if clean is None else _labelled(clean, cast),
            valid=valid,
            keep_documents=int(self.keep_documents),
            cache=self._cache(),
        )
        fitted, seen, digests = fitting.fit(request, progress)
        self._adopt(fitted)
        self._training: ModelInputs | None = seen
        self._training_digests: NDArray[np.uint64] | None = digests
        return self

    def ask_prompts(
        self,
        X: Any,
        key_env: str | None = None,
        progress: Progress = SILENT,
        *,
        hosts: Collection[str] = (),
    ) -> tuple[Asked, ...]:
        """Ask the language models among the model's sources about these documents, within their budgets.

        Nothing else that a model does sends a text anywhere: without this, prediction uses the answers that
        are on this machine already, and the other sources. `key_env` names the environment variable with
        the endpoint's key, which a loaded model does not know. A model file may come from a stranger, so texts
        and key go to this machine alone and to the `hosts` that you name.
        """
        fitted = self.fitted
        documents = fitted.documents(X)
        if fitted.rules is None or documents.corpus is None:
            return ()
        if unnamed := [host for host in fitted.rules.hosts() if host not in hosts]:
            raise InputError(
                f"the texts would go to {unnamed[0]}, which only the model names: allow it with "
                f"--endpoint {unnamed[0]} or hosts={unnamed[:1]!r}"
            )
        return fitted.rules.with_key(key_env).ask(documents.corpus, progress)

    def plan_prompts(self, X: Any) -> tuple[Plan, ...]:
        """What `ask_prompts` would send, where to, and what it would cost; nothing is sent."""
        fitted = self.fitted
        documents = fitted.documents(X)
        if fitted.rules is None or documents.corpus is None:
            return ()
        return fitted.rules.sources.plan(documents.corpus)

    def predict(self, X: Any, votes: Any = None) -> Any:
        """(n,): the class of each document; a pandas Series where X is pandas (see `set_output`)."""
        documents = self.fitted.documents(X)
        numbers = self.predictions(documents, votes).numbers
        labels = np.asarray(self.classes_[numbers])
        return contained(labels, None, self._container, documents.index)

    def predict_proba(self, X: Any, votes: Any = None) -> Any:
        """(n, m): the probability of each class, in the order of `classes_`; a DataFrame where X is pandas."""
        documents = self.fitted.documents(X)
        proba = self.predictions(documents, votes).proba
        names = self.classes_.tolist()
        return contained(proba, names, self._container, documents.index)

    def predictions(
        self,
        documents: Any,
        votes: Any = None,
        *,
        progress: Progress = SILENT,
        cached: bool = True,
    ) -> Predictions:
        """Everything about these documents: labels, confidence, who decided, which sources voted.

        Votes are taken as given; without them the model's own rules are applied to texts. With `cached=False`
        features that are on disk are read and none are kept there, as for a stream of documents that nobody reads twice.
        """
        cache = self._cache(read_only=not cached)
        fitted = self.fitted
        return fitted.predictions(fitted.documents(documents), votes, cache, progress)

    @property
    def feature_width(self) -> int:
        """How many numbers a document becomes before it is classified."""
        return self.fitted.width

    @property
    def concurrent(self) -> bool:
        """Whether threads that predict at once gain by it: neither rules nor encoders keep the others waiting."""
        return self.fitted.concurrent

    def encode(self, X: Any, *, cached: bool = True, progress: Progress = SILENT) -> Any:
        """(n, d): the features that the model reads of these documents, as float32; `cached` as in `predictions`."""
        cache = self._cache(read_only=not cached)
        fitted = self.fitted
        return fitted.features(fitted.documents(X), cache, progress).matrix()

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy against gold labels `y`, or those of the corpus when `y` is left out.

        Votes as `y`, which scikit-learn's cross-validation passes unless a scorer is named, are compared with
        `vote_agreement`, and a warning says so: raised errors would come out of it as NaN.
        """
        fitted = self.fitted
        documents = fitted.documents(X)
        if isinstance(y, Votes) or (y is not None and np.ndim(y) == 2):
            from unruly.model.evaluation import warn_of_votes

            warn_of_votes()
            return self.vote_agreement(documents, y)
        gold = fitted.gold(documents, y)
        right = (self.predictions(documents).numbers == gold)[gold >= 0]
        weight = None if sample_weight is None else np.asarray(sample_weight)[gold >= 0]
        return float(np.average(right, weights=weight))

    def vote_agreement(self, X: Any, votes: Any) -> float:
        """The share of these votes that name the class which the classifier predicts from the features.

        No gold is used: on held-out documents it compares settings when there are no true labels.
        """
        fitted = self.fitted
        return fitted.vote_agreement(fitted.documents(X), votes, self._cache())

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

        fitted = self.fitted
        documents = fitted.documents(X)
        gold = fitted.gold(documents, y)
        answers = self.predictions(documents, votes, progress=progress)
        name = Path(documents.corpus.name).name if documents.corpus is not None else ""
        return fitted.evaluate(documents, answers, gold, origin or name)

    def denoise(self, X: Any = None, votes: Any = None) -> NDArray[np.float32]:
        """(n, m): soft labels from votes and features together; of the training documents by default.

        `votes` alone are new ones on the training documents. A model that was loaded from a file no
        longer has these: pass them as `X`.
        """
        fitted, seen = self.fitted, self._inputs(X, votes)
        return seen.heads(fitted.learner, fitted.shares).combined

    def ask(
        self,
        n: int = 20,
        by: str = "balance",
        X: Any = None,
        votes: Any = None,
        *,
        labels: Labels | Labelled | None = None,
        seed: int = 0,
    ) -> Questions:
        """Which documents to label next; by default of the training documents.

        `by` is "balance" (spread over predicted classes and confidences, for everything), "doubt", "random",
        "source:NAME" or "class:NAME"; documents in `labels` are not asked about again. Each id comes with the
        probability with which it was drawn, which estimates from the labels need.
        """
        from unruly.labelling.sampling import ask

        if not isinstance(by, str):  # before any text is encoded
            raise InputError(
                'by says how documents are drawn, as in by="balance": pass the documents as X=corpus, votes=votes'
            )
        fitted, seen = self.fitted, self._inputs(X, votes)
        proba = seen.heads(fitted.learner, fitted.shares).combined
        answered = None if labels is None else _labelled(labels, seen.votes).answered
        return ask(seen.votes, proba, n, by, answered=answered, seed=seed)

    def estimate_accuracy(
        self,
        labels: Labels | Labelled,
        X: Any = None,
        votes: Any = None,
        *,
        progress: Progress = SILENT,
    ) -> AccuracyEstimate:
        """The accuracy on all documents from the labels of some, with an interval that knows how they were drawn.

        Labels of a `Project` (`project.labels(corpus)`) know; others count as drawn evenly. Labels that the model was
        trained on are held out in turn, and it is fitted again without them; all others judge it as it is.
        """
        from unruly.model.fitting import accuracy_by_labels

        fitted = self.fitted
        documents = None if X is None else fitted.documents(X)
        seen = self._inputs(documents, votes, progress)
        digests = self._training_digests if documents is None else digests_of(documents)
        assert digests is not None  # else `_inputs` has refused
        return accuracy_by_labels(fitted, digests, seen, _labelled(labels, seen.votes), progress)

    def preview_labels(
        self,
        labels: Labels | Labelled,
        X: Any = None,
        votes: Any = None,
        *,
        progress: Progress = SILENT,
    ) -> NDArray[np.float32]:
        """(n, m): the probabilities that a fit with these labels would give; the model stays as it is."""
        from unruly.model.fitting import refitted

        seen = self._inputs(X, votes, progress)
        known = _labelled(labels, seen.votes)
        return refitted(self.fitted, seen, None, known.numbers, known.weights, progress)

    def explain(
        self, X: Any, votes: Any = None, *, words: int = 8, neighbours: int = 5
    ) -> Explanation:
        """Why one document gets its label: a text, a corpus of one, or one row of features."""
        from unruly.model.explanation import explain

        fitted = self.fitted
        documents = Documents.one(X, remembered(fitted.text_column))
        return explain(fitted, documents, votes, words=words, neighbours=neighbours)

    def suggest_rules(
        self,
        X: Any,
        votes: Any = None,
        *,
        n: int = 20,
        labels: Labels | Labelled | None = None,
        refused: Collection[Refused] = (),
        candidates: Sequence[Rule] | None = None,
        progress: Progress = SILENT,
    ) -> tuple[RuleSuggestion, ...]:
        """New rules for these documents (the training documents, best of all), the best first.

        Ranked by the model's own probabilities; `labels` are true ones, as `fit` takes them, and
        count in their place. `candidates` are rules that somebody proposes:
        only these are ranked; without them, words and patterns are looked for in the texts. Where few votes or labels
        on its matches speak for a rule, it is a `guess`.
        """
        from unruly.model.suggestions import suggest_rules

        corpus, answers, known = self._judged(X, votes, labels, progress)
        return suggest_rules(
            corpus,
            answers.votes,
            answers.proba,
            n=n,
            rules=self.fitted.rule_sources,
            labels=known,
            refused=refused,
            candidates=candidates,
            progress=progress,
        )

    def critique_rules(
        self,
        X: Any,
        votes: Any = None,
        *,
        labels: Labels | Labelled | None = None,
        progress: Progress = SILENT,
    ) -> tuple[Critique, ...]:
        """What is wrong with the rules on these documents: weak words; weak, redundant and conflicting sources.

        Accuracies are estimated only where class shares are stated or known from labels. `labels` are true ones, and
        count in place of the model's answers.
        """
        from unruly.model.critique import critique_rules

        corpus, answers, known = self._judged(X, votes, labels, progress)
        rules, texts = self.fitted.rule_sources, corpus.texts.to_list()
        judge = self.judge(answers)
        return critique_rules(answers.votes, judge, texts=texts, rules=rules, labels=known)

    def judge(self, answers: Predictions) -> VoteJudge:
        """Estimates the accuracy of any votes on these documents, from the model's predictions for them."""
        from unruly.model.critique import VoteJudge

        fitted = self.fitted
        return VoteJudge.of(answers.proba, answers.votes, fitted.learner, fitted.summary)

    def _judged(
        self, X: Any, votes: Any, labels: Labels | Labelled | None, progress: Progress
    ) -> tuple[Corpus, Predictions, NDArray[np.int64] | None]:
        """Documents with texts, the model's answers, and (n,) true labels where any are given."""
        documents = self.fitted.documents(X)
        if documents.corpus is None:
            raise InputError("rules are about texts, and these are features: give the documents")
        answers = self.predictions(documents, votes, progress=progress)
        known = None if labels is None else _labelled(labels, answers.votes).numbers
        return documents.corpus, answers, known

    def report(
        self,
        path: str | Path,
        data: Any = None,
        test: Any = None,
        *,
        votes: Votes | None = None,
        test_votes: Votes | None = None,
        progress: Progress = SILENT,
    ) -> Path:
        """Write everything about the model into one HTML page.

        `data` are the documents to show, `test` those to score against gold labels where they differ.
        """
        from unruly.report.page import report  # a later room: only when asked for

        files = [files_of(given) for given in (data, test) if isinstance(given, Path)]
        check_not_input(Path(path), chain.from_iterable(files))
        fitted = self.fitted
        report(
            fitted,
            path,
            None if data is None else fitted.documents(data).corpus,
            None if test is None else fitted.documents(test).corpus,
            name=Path(path).stem,
            votes=votes,
            scored_votes=test_votes,
            progress=progress,
        )
        return Path(path)

    def save(self, path: str | Path) -> None:
        """Write everything into one file, whole or not at all; `unruly.load` reads it back."""
        storage.save(path, self.fitted, self._plain_parameters())

    @classmethod
    def load(cls, path: str | Path, functions: Functions = None, encoders: object = None) -> Self:
        """A model from its file."""
        loaded = storage.load(path, functions, encoders)
        fitted = loaded.fitted
        model = cls(
            **loaded.parameters, method=fitted.method, seed=fitted.seed, settings=fitted.settings
        )
        model._adopt(fitted)
        model._training = None
        model._training_digests = None
        return model

    @property
    def fitted(self) -> Fitted:
        """What was learned, apart from the parameters; scikit-learn's NotFittedError before `fit`."""
        fitted = getattr(self, "_fitted_model", None)
        if fitted is None:
            raise not_fitted("this WeakClassifier is not fitted yet: call fit(X, votes) first")
        assert isinstance(fitted, Fitted)
        return fitted

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes by name, in the order of the probabilities."""
        return self.fitted.classes

    @property
    def text_column(self) -> str | None:
        """The column that the training texts stood in, which new files and frames are looked into first; None: unknown."""
        return self.fitted.text_column

    @property
    def id_column(self) -> str | None:
        """The column that the ids of the training documents stood in; None: unknown, or rows were numbered."""
        return self.fitted.id_column

    @property
    def rule_columns_(self) -> tuple[str, ...]:
        """The columns beside the text that its rules read or, being functions, may read."""
        rules = self.fitted.rules
        return () if rules is None else rules.reads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep`, each setting as `settings__epochs` and so on."""
        own = {name: getattr(self, name) for name in PARAMETERS}
        return deep_parameters(own, self.settings, self.method) if deep else own

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `settings__epochs=64` replaces one setting, for grid searches."""
        whole, inner = split_parameters(params, PARAMETERS)
        for name, value in whole.items():
            setattr(self, name, value)
        if inner:
            self.settings = changed(self.settings, self.method, inner)
        return self

    def set_output(self, *, transform: str | None = None) -> Self:
        """What `predict` and `predict_proba` give: "default" for arrays, "pandas" or "polars".

        Until it is called, pandas comes out where pandas came in, and arrays otherwise.
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": checked_container(transform)}
        return self

    @property
    def _container(self) -> str | None:
        """What `set_output` asked for, under the name by which scikit-learn's `clone` copies it."""
        config: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return config.get("transform")

    def __repr__(self) -> str:
        own, usual = self.get_params(deep=False), WeakClassifier().get_params(deep=False)
        return f"WeakClassifier({shown(own, usual)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted_model")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, two_d_labels=True, single_output=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, string=True),
        )

    def _inputs(self, X: Any = None, votes: Any = None, progress: Progress = SILENT) -> ModelInputs:
        """Documents as the learner sees them; the training documents where no X is given."""
        fitted = self.fitted
        if X is not None:
            return fitted.inputs(fitted.documents(X), votes, self._cache(), progress)
        if self._training is None:
            raise InputError(
                "a loaded model no longer has its training documents: pass them, X=corpus, votes=votes"
            )
        if votes is None:
            return self._training
        given = fitted.votes(Documents(None, self._training.features), votes)
        check_ids(self._training.votes.ids, given.ids)
        return replace(self._training, votes=given)

    def _checked_settings(self) -> MethodSettings:
        """The settings of the method, and what else can be checked before any work."""
        for option in ("keep_documents", "seed"):
            value = getattr(self, option)
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if not whole or value < 0:
                raise SettingsError(
                    f"{option} = {value!r}: must be a whole number, 0 or more", option=option
                )
            if int(value).bit_length() > SEED_BITS:
                raise SettingsError(
                    f"{option} is too large: it may have {SEED_BITS} bits", option=option
                )
        return settings_for(self.method, self.settings)

    def _cache(self, read_only: bool = False) -> FeatureCache | None:
        if isinstance(self.cache, bool):
            if not self.cache:
                return None
            from unruly.features.cache import FeatureCache  # brings SciPy and scikit-learn, for lsa

            return FeatureCache(read_only=read_only)
        return replace(self.cache, read_only=True) if read_only else self.cache

    def _adopt(self, fitted: Fitted) -> None:
        """Set the learned attributes, which end in an underscore."""
        names = list(range(len(fitted.classes))) if fitted.numbered else list(fitted.classes)
        self._fitted_model = fitted
        self.classes_: NDArray[Any] = np.array(names)
        self.sources_: tuple[str, ...] = fitted.sources
        self.reliability_: NDArray[np.float64] = fitted.learner.reliability
        self.history_: tuple[Epoch, ...] = fitted.learner.history
        self.summary_: FitSummary = fitted.summary
        self.ledger_: Ledger = fitted.ledger
        self.settings_: MethodSettings = fitted.settings
        self.encoder_: Encoding | None = fitted.encoder
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if fitted.encoder is None:
            self.n_features_in_: int = fitted.width
        if fitted.feature_names is not None:
            self.feature_names_in_: NDArray[Any] = np.array(fitted.feature_names, dtype=object)

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters that the fitted model does not hold, as JSON can."""
        return {
            "encoder": plain_spec(self.encoder),
            "keep_documents": int(self.keep_documents),
            "cache": self.cache is not False,
        }


def _labelled(clean: Labels | Labelled, votes: Votes) -> Labelled:
    """Labels as a fit takes them; all of the same weight where nobody knows how they were drawn."""
    from unruly.labelling.answers import Labelled

    if not isinstance(clean, Labelled):
        return Labelled.alike(labels_of(clean, votes.classes, votes.ids, "clean labels"))
    if len(clean.numbers) != votes.n:
        raise InputError(
            f"labels of {len(clean.numbers):,} documents, but there are {votes.n:,}: they must be the same"
        )
    return clean


def load(path: str | Path, functions: Functions = None, encoders: object = None) -> WeakClassifier:
    """A saved model, ready to predict.

    `functions` is the Python file (or files) with the model's rules of kind `function`, where it has
    any: a model file carries no code, and only files named here are run.

    `encoders` is what reads the texts, where that is not unruly's own and so is never opened because a
    file says so: the name of a model (`"bert-base-uncased"`), an encoder class or object of yours, a mapping
    (`{"module:Class": MyEncoder}`), or a list of these.

    >>> import tempfile
    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.source import Rule
    >>> from unruly.rules.source import Source
    >>> from unruly.rules.sources import Sources
    >>> loved = Source("loved", [Rule("good", Keywords(["lovely", "great"]))])
    >>> hated = Source("hated", [Rule("bad", Keywords(["awful", "boring"]))])
    >>> words = ["film", "plot", "cast", "score", "scene", "ending"]
    >>> forms = ["a lovely {}", "great {}, great fun", "an awful {}", "boring {}, so awful", "a {}"]
    >>> texts = [text.format(word) for word in words for text in forms]
    >>> model = WeakClassifier("lsa", cache=False)
    >>> path = Path(tempfile.mkdtemp()) / "films.unruly"
    >>> model.fit(texts, sources=Sources(["bad", "good"], [loved, hated])).save(path)
    >>> again = load(path)
    >>> again.predict(["what a great film", "so boring"]).tolist()
    ['good', 'bad']
    >>> again.explain("what a great film").votes[0].matched
    ('great',)
    """
    return WeakClassifier.load(path, functions, encoders)
