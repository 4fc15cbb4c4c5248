"""`classifier`: another trained classifier votes, scikit-learn's from a skops file or one of Hugging Face's.

A skops file is opened only if all types in it are known to skops as harmless or listed under `trusted`; pickle is never
read. Of a transformers model only safetensors weights are read, and no code is run.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError, first_line, need
from unruly.rules.column import refuse_label, soft_votes
from unruly.rules.condition import (
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    Row,
    Table,
    check_map,
    digest_of,
)

_BATCH = 32  # texts that a transformers model reads at a time


@dataclass(frozen=True)
class Classifier(Condition):
    """The classifier's probabilities are a soft vote if the largest is above `above`.

    `model` is a `.skops` file with a scikit-learn pipeline that takes texts, or a transformers model: a folder, or its
    name on the hub. `map` gives the task's class for each class of the classifier that has another name.
    """

    model: str
    map: Mapping[str, str] = field(default_factory=dict)
    above: float = 0.0
    trusted: Sequence[str] = ()  # types that a skops file may hold beside those that skops knows
    folder: str = field(default=".", compare=False)  # where a path in `model` starts from
    # The digest that a skops file must have to be opened, where a saved model says what is trusted in it.
    only: str | None = field(default=None, compare=False)
    picks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "trusted", tuple(self.trusted))
        if not 0 <= self.above < 1:
            raise RuleError(f"above = {self.above}: give a probability from 0 to 1")
        if Path(self.model).suffix in (".pkl", ".pickle", ".joblib"):
            raise RuleError(
                f"{self.model} is a pickle, which can run any code when it is opened: save the classifier with "
                "skops.io.dump(model, 'model.skops')"
            )

    def __hash__(self) -> int:
        return hash((self.model, tuple(self.map.items()), self.above, self.trusted))

    @property
    def path(self) -> Path:
        """Where the model is, if it is on this machine."""
        return Path(self.folder) / self.model

    @property
    def vote_column(self) -> str:
        """The column that holds its votes while rules are matched."""
        return f"__classifier:{digest_of(self.to_plain())}"

    def needs(self, classes: tuple[str, ...]) -> Needs:
        def meaning() -> Plain | None:
            own = self.meaning()
            return None if own is None else [own, list(classes)]

        votes = Measure(self.vote_column, partial(self._votes, classes), meaning=meaning)
        return Needs((), (votes,))

    def mask(self) -> pl.Expr:
        return pl.col(self.vote_column).struct.field("vote").is_not_null()

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a classifier")
        check_map(self.map, classes, "the map")
        return pl.col(self.vote_column).struct.field("vote")

    def soft(self, classes: tuple[str, ...]) -> pl.Expr:
        """The probabilities as a list, one number a class."""
        return pl.col(self.vote_column).struct.field("soft")

    def reason(self) -> str:
        return f"classifier: {Path(self.model).name}"

    def because(self, row: Row) -> str:
        """How sure it is."""
        found = row[self.vote_column]
        assert isinstance(found, Mapping)
        return f"{self.reason()} ({max(found['soft'] or [0.0]):.0%})"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {"model": self.model}
        plain |= {"map": dict(self.map)} if self.map else {}
        plain |= {"above": self.above} if self.above else {}
        return {"classifier": plain | ({"trusted": list(self.trusted)} if self.trusted else {})}

    def meaning(self) -> Plain | None:
        digest = self.digest()
        return None if digest is None else [self.to_plain(), digest]

    def digest(self) -> str | None:
        """SHA-256 of the model's files; None for a name on the hub."""
        if not self.path.exists():
            return None
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        return _digest((file.name, file.read_bytes()) for file in files if file.is_file())

    def _votes(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        texts = frame[TEXT].to_list()
        names, theirs = _probabilities(self, texts)  # (n, their classes)
        p = np.zeros((len(texts), len(classes)))
        for column, name in enumerate(names):
            p[:, self._number(name, names, classes)] += theirs[:, column]
        blank = np.array([not text.strip() for text in texts], dtype=np.bool_)
        return soft_votes(self.vote_column, p, blank | (p.max(axis=1) <= self.above))

    def _number(self, name: str, names: Sequence[str], classes: tuple[str, ...]) -> int:
        """The task's class for one of the classifier's."""
        target = self.map.get(name, name)
        if target not in classes:
            raise RuleError(
                f"{self.model} knows the classes {', '.join(names)}, and {name!r} is none of the task's: "
                f'add map = {{ "{name}" = "{classes[0]}" }}, or another class'
            )
        return classes.index(target)

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Classifier:
        """From the key `classifier`."""
        keys = ("model", "map", "above", "trusted")
        here, inner = place.section(table, "classifier", keys, needed=["model"])
        if not place.files:
            raise here.error("rules of a model file open no other model")
        model = here.at("model").text(inner["model"])
        if model.endswith(".skops"):
            here.at("model").file(model)
        with here.blamed():
            return cls(
                model,
                here.at("map").labels_by_name(inner.get("map", {})),
                here.at("above").number(inner.get("above", 0.0)),
                here.at("trusted").texts(inner.get("trusted", ())),
                str(place.folder),
            )


def _digest(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 of files by name and contents."""
    found = hashlib.sha256()
    for name, contents in files:
        found.update(name.encode() + hashlib.sha256(contents).digest())
    return found.hexdigest()


def _probabilities(
    classifier: Classifier, texts: list[str]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The names of the classifier's classes, and (n, classes)."""
    place = classifier.path
    if classifier.model.endswith(".skops"):
        trusted = tuple(classifier.trusted)
        model = _sklearn(str(place), place.stat().st_mtime_ns, trusted, classifier.only)
        names = tuple(str(name) for name in model.classes_)
        proba = _predicted(model, place.name, texts) if texts else np.zeros((0, len(names)))
    elif place.is_dir():
        names, proba = _by_transformer(str(place), _saved(place), texts)
    else:
        names, proba = _by_transformer(classifier.model, 0, texts)
    if len(names) < 2 or proba.shape != (len(texts), len(names)) or not np.isfinite(proba).all():
        raise RuleError(f"{classifier.model} gives no probabilities of two classes or more")
    return names, proba


def _predicted(model: Any, name: str, texts: list[str]) -> NDArray[np.float64]:
    try:
        return np.asarray(model.predict_proba(texts), np.float64)
    except Exception as error:  # other people's code may raise anything
        raise RuleError(
            f"{name} cannot read texts ({type(error).__name__}: {first_line(error)[:60]}): save the whole pipeline, from texts to "
            "probabilities"
        ) from None


def _saved(folder: Path) -> int:
    """When a file of the folder was last written."""
    return max((file.stat().st_mtime_ns for file in folder.iterdir()), default=0)


@functools.lru_cache(maxsize=4)
def _sklearn(path: str, saved: int, trusted: tuple[str, ...], only: str | None) -> Any:
    skops = need("skops.io", extra="sklearn", purpose="scikit-learn classifiers")
    try:
        contents = Path(path).read_bytes()  # once: what is checked is what is opened
        if only is not None and _digest([(Path(path).name, contents)]) != only:
            raise RuleError(
                f"{path}: not the classifier that the model was fitted with: give that version, or fit again"
            )
        odd = [name for name in skops.get_untrusted_types(data=contents) if name not in trusted]
        if odd:
            raise RuleError(
                f"{Path(path).name} holds {odd[0]}, which skops does not know to be harmless: if you do, add "
                f'trusted = ["{odd[0]}"]'
            )
        model = skops.loads(contents, trusted=list(trusted))
    except RuleError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise RuleError(
            f"{Path(path).name} cannot be read as a skops file ({type(error).__name__})"
        ) from None
    if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
        raise RuleError(
            f"{Path(path).name} is not a fitted classifier with probabilities: save a pipeline that takes texts and "
            "has predict_proba"
        )
    return model


def _by_transformer(
    name: str, saved: int, texts: list[str]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    torch = need("torch", extra="hub", purpose="Hugging Face classifiers")
    tokenizer, model = _transformer(name, saved)
    names = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))
    found = [np.zeros((0, len(names)))]
    for start in range(0, len(texts), _BATCH):
        batch = tokenizer(
            texts[start : start + _BATCH], truncation=True, padding=True, return_tensors="pt"
        )
        with torch.no_grad():
            logits = model(**batch).logits
        found.append(torch.softmax(logits.double(), dim=-1).numpy())
    return names, cast("NDArray[np.float64]", np.concatenate(found))


@functools.lru_cache(maxsize=2)
def _transformer(name: str, saved: int) -> tuple[Any, Any]:
    transformers = need("transformers", extra="hub", purpose="Hugging Face classifiers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        raise RuleError(
            f"there is no classifier {name!r}, neither a folder nor on the hub: {first_line(error)[:160]}"
        ) from None
    return tokenizer, model.eval()
