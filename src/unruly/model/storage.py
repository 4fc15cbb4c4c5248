"""A fitted model to one file and back: JSON and safetensors in a container, never pickle."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import unruly
from unruly.errors import ModelFileError, SettingsError
from unruly.facts import Ledger
from unruly.features.saving import Permitted, named_by_file
from unruly.features.stack import Encoding
from unruly.learner import Learner
from unruly.model.carried_rules import Allowed
from unruly.model.container import Container, open_container, to_json, write_container
from unruly.model.fitted import Fitted, Neighbourhood
from unruly.model.methods import SETTINGS
from unruly.model.rulebook import RuleBook
from unruly.model.summary import FitSummary
from unruly.prior import parse_prior

# What Python raises over values that are not what they ought to be.
NONSENSE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
Functions = str | Path | Sequence[str | Path] | None


@dataclass(frozen=True)
class Loaded:
    """What a file held: the model, and what the estimator was made with."""

    fitted: Fitted
    parameters: Mapping[str, Any]


def save(path: str | Path, fitted: Fitted, parameters: Mapping[str, Any]) -> None:
    """Write a model, whole or not at all; the same model gives the same bytes."""
    near = fitted.neighbourhood
    members = {
        "model.json": to_json(_facts(fitted, parameters)),
        "learner.json": to_json(fitted.learner.facts()),
        "learner.safetensors": _pack(fitted.learner.arrays()),
        "summary.json": to_json(fitted.summary.to_plain()),
        "training.json": to_json({"ids": near.ids, "snippets": near.snippets}),
        "training.safetensors": _pack(
            {
                "directions": near.directions,
                "votes": near.votes,
                "labels": near.labels,
                "digests": fitted.digests,
            }
        ),
    }
    if fitted.rules is not None:
        members["rules.json"] = to_json(fitted.rules.to_plain())
    if fitted.encoder is not None:
        members |= fitted.encoder.members()
    write_container(path, members, _versions())


def load(path: str | Path, functions: Functions = None, encoders: object = None) -> Loaded:
    """Read a model; its encoder is only read when a text is to be encoded.

    `functions` is the Python file with the rules of kind `function`, where the model has any: a model
    file carries their names and the file's digest, never code. `encoders` is what its texts are read with, where that
    is not unruly's own: a model's name, or a class.
    """
    container = open_container(path)
    try:
        return _loaded(container, functions, encoders)
    except (*NONSENSE, SafetensorError, SettingsError) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ModelFileError(
            f"{path}: the file is whole, but its contents are not understood ({what}): it was written by unruly {container.versions.get('unruly', '?')}, this is "
            f"{unruly.__version__}"
        ) from error


def _loaded(container: Container, functions: Functions, encoders: object) -> Loaded:
    facts = container.read_json("model.json")
    training = container.read_json("training.json")
    arrays = _unpack(container.read("training.safetensors"))
    learner = restore(
        facts["learner"],
        _unpack(container.read("learner.safetensors")),
        container.read_json("learner.json"),
    )
    snippets = training["snippets"]
    encoder = _encoding(container, facts["encoder"], encoders)
    fitted = Fitted(
        learner=learner,
        method=facts["method"],
        settings=SETTINGS[facts["method"]].from_plain(facts["settings"]),
        seed=facts["seed"],
        stated=parse_prior(facts["stated"], learner.classes),
        numbered=facts["numbered"],
        blocks=tuple((name, width) for name, width in facts["blocks"]),
        encoder=encoder,
        rules=_rules(container, functions, encoder),
        ledger=Ledger.from_plain(facts["ledger"]),
        summary=FitSummary.from_plain(container.read_json("summary.json")),
        neighbourhood=Neighbourhood(
            directions=arrays["directions"],
            votes=arrays["votes"],
            labels=arrays["labels"],
            ids=tuple(training["ids"]),
            snippets=None if snippets is None else tuple(snippets),
        ),
        digests=arrays["digests"],
        commonest=facts["commonest"],
    )
    fitted.check()
    return Loaded(fitted, _parameters(facts["parameters"], encoders))


def _parameters(plain: Mapping[str, Any], encoders: object) -> dict[str, Any]:
    """What the estimator was made with; an encoder of a name that only the file knows is not opened."""
    known = {"encoder", "class_prior", "keep_documents", "cache"}
    if set(plain) != known or type(plain["cache"]) is not bool:
        raise ValueError("the parameters are not those of a WeakClassifier")
    return {**plain, "encoder": named_by_file(plain["encoder"], Permitted.of(encoders))}


def restore(kind: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Learner:
    """The learner again, from a model file."""
    from unruly.denoising.denoised import DenoisedModel
    from unruly.paper.inference import CoTrained

    learners: dict[str, type[Learner]] = {"CoTrained": CoTrained, "DenoisedModel": DenoisedModel}
    if kind not in learners:
        raise ModelFileError(
            f"the model was trained by {kind!r}, which this version of unruly does not know"
        )
    return learners[kind].restore(arrays, facts)


def _facts(fitted: Fitted, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "classes": list(fitted.classes),
        "sources": list(fitted.sources),
        "method": fitted.method,
        "settings": fitted.settings.to_plain(),
        "seed": fitted.seed,
        "stated": None if fitted.stated is None else fitted.stated.to_plain(),
        "numbered": fitted.numbered,
        "blocks": [list(block) for block in fitted.blocks],
        "encoder": None if fitted.encoder is None else fitted.encoder.to_plain(),
        "ledger": fitted.ledger.to_plain(),
        "commonest": fitted.commonest,
        "learner": type(fitted.learner).__name__,
        "parameters": dict(parameters),
    }


def _versions() -> dict[str, str]:
    """What wrote the file; nothing that changes from run to run."""
    return {
        "unruly": unruly.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    return bytes(save_arrays({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def _unpack(data: bytes) -> dict[str, NDArray[Any]]:
    return dict(load_arrays(data))


def _encoding(
    container: Container, plain: Mapping[str, Any] | None, encoders: object
) -> Encoding | None:
    return (
        None
        if plain is None
        else Encoding.from_plain(plain, container.members, str(container.path), encoders)
    )


def _rules(container: Container, functions: Functions, encoder: Encoding | None) -> RuleBook | None:
    if "rules.json" not in container.members:
        return None
    return RuleBook.from_plain(container.read_json("rules.json"), Allowed.of(functions), encoder)
