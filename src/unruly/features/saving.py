"""Encoders as bytes and back: JSON and safetensors, never pickle, never code.

A model file may come from anywhere. So it is held to what needs nobody's trust: lsa, static and minilm are
made from values that are checked, and whatever names something outside the file is opened only when the
user names it too (`Permitted`): a model on the hub or in a folder, or a class of the user's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from unruly.errors import InputError, ModelFileError
from unruly.features.encoder import Encoder, State
from unruly.wording import listed

ARRAY = "$array"  # in JSON, in place of an array: its name among the tensors
_DEEPEST = 20  # values inside values


def import_path(value: object) -> str:
    """Where a class, or an object's class, is defined: "module:Class".

    >>> from fractions import Fraction
    >>> import_path(Fraction), import_path(Fraction(1))
    ('fractions:Fraction', 'fractions:Fraction')
    """
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}:{kind.__qualname__}"


@dataclass(frozen=True)
class Permitted:
    """What a model file may refer to, in the user's own words: models by name, encoders by class or object.

    >>> Permitted.of(["bert-base-uncased"]).models
    frozenset({'bert-base-uncased'})
    """

    models: frozenset[str] = frozenset()
    own: Mapping[str, Any] = field(default_factory=dict)  # "module:Class": the class, or an object

    @classmethod
    def of(cls, encoders: object = None) -> Permitted:
        """From the argument `encoders`: None, a model's name, a class, an object, a mapping, or a list of these."""
        if encoders is None:
            return cls()
        if isinstance(encoders, Permitted):
            return encoders
        if isinstance(encoders, str):
            return cls(models=frozenset([encoders]))
        if isinstance(encoders, Mapping):
            return cls(own=dict(encoders))
        if isinstance(encoders, Sequence):
            parts = [cls.of(item) for item in encoders]
            models = frozenset(name for part in parts for name in part.models)
            return cls(models, {name: made for part in parts for name, made in part.own.items()})
        return cls(own={import_path(encoders): encoders})


@dataclass(frozen=True)
class NamedByFile:
    """An encoder that a model file names and the user does not: kept to be shown, never opened.

    >>> named_by_file(["minilm", {"name": "lsa", "dim": 64}], Permitted())
    ['minilm', {'name': 'lsa', 'dim': 64}]
    >>> named_by_file("someone/bert", Permitted())
    NamedByFile(spec='someone/bert')
    """

    spec: Any


def named_by_file(spec: Any, permitted: Permitted) -> Any:
    """What a model file says that its encoder was asked for, as far as it may be asked for again."""
    if isinstance(spec, str) and spec in permitted.own:
        return permitted.own[spec]
    items = spec if isinstance(spec, list) else [spec]
    names = [item.get("name") if isinstance(item, Mapping) else item for item in items]
    known = {"auto", "lsa", "minilm", *permitted.models}
    return spec if all(isinstance(n, str) and n in known for n in names) else NamedByFile(spec)


def refusal(text: bytes, permitted: Permitted) -> str | None:
    """Why this encoder may not be opened, before anything of it is; None: it may.

    >>> refusal(b'{"kind": "transformer", "state": {"model": "someone/bert"}}', Permitted())
    "it reads texts with the model 'someone/bert', which is opened only when you name it as well: encoders='someone/bert'"
    """
    try:
        kept = json.loads(text)
        kind, model = str(kept["kind"]), str(dict(kept["state"]).get("model"))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None  # damaged: reading it says how
    if kind == "transformer" and model not in permitted.models:
        return (
            f"it reads texts with the model {model!r}, which is opened only when you name it as well: "
            f"encoders={model!r}"
        )
    if ":" in kind and kind not in permitted.own:
        given = f" (you named {listed(permitted.own)})" if permitted.own else ""
        return (
            f"it reads texts with the encoder {kind!r}, a class that is not unruly's, so give it "
            f"as well{given}: encoders={{{kind!r}: {kind.rpartition(':')[2].rpartition('.')[2]}}}"
        )
    return None


def refused(files: Mapping[str, bytes], permitted: Permitted) -> str | None:
    """The same of a whole stack's files."""
    texts = [data for name, data in sorted(files.items()) if name.endswith(".json")]
    return next((why for text in texts if (why := refusal(text, permitted))), None)


def encoder_to_bytes(encoder: Encoder) -> tuple[bytes, bytes]:
    """An encoder as JSON and as safetensors."""
    tensors: dict[str, NDArray[Any]] = {}
    plain = _plain(dict(encoder.state()), tensors, f"the encoder {encoder.name}")
    text = json.dumps({"kind": encoder.kind, "state": plain}, ensure_ascii=True, sort_keys=True)
    return text.encode(), bytes(save(tensors))


def encoder_from_bytes(text: bytes, tensors: bytes, permitted: Permitted, where: str) -> Encoder:
    """The encoder that `encoder_to_bytes` wrote; a mistake in it is a `ModelFileError`."""
    try:
        kept = json.loads(text)
        state = _restored(kept["state"], load(tensors))
        return _made(kept["kind"], state, permitted, where)
    except (
        AttributeError,
        IndexError,
        InputError,
        KeyError,
        OverflowError,
        RecursionError,
        SafetensorError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"{where}: an encoder cannot be read ({type(error).__name__}: {str(error)[:200]})"
        ) from None


def _made(kind: str, state: State, permitted: Permitted, where: str) -> Encoder:
    """The encoder; its library is imported here, so that looking at a file costs nothing."""
    from unruly.features.custom import CustomEncoder, PrecomputedFeatures
    from unruly.features.lsa import Lsa
    from unruly.features.minilm import MiniLM
    from unruly.features.static import Static
    from unruly.features.transformer import Transformer

    ours: dict[str, Callable[[State], Encoder]] = {
        Lsa.kind: Lsa.from_state,
        MiniLM.kind: MiniLM.from_state,
        Static.kind: Static.from_state,
        PrecomputedFeatures.kind: PrecomputedFeatures.from_state,
    }
    if kind in ours:
        return ours[kind](state)
    if kind == Transformer.kind and state["model"] in permitted.models:
        return Transformer.from_state(state)
    if kind in permitted.own:
        return CustomEncoder.from_state(permitted.own[kind], state, kind)
    raise ModelFileError(f"{where}: an unknown kind of encoder, {kind!r}")


def _plain(value: Any, tensors: dict[str, NDArray[Any]], where: str, depth: int = 0) -> Any:
    """The value with arrays taken out into `tensors`; anything that JSON has not is refused."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        name = f"a{len(tensors)}"
        tensors[name] = np.ascontiguousarray(value)
        return {ARRAY: name}
    if isinstance(value, np.generic):
        return value.item()
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {str(k): _plain(v, tensors, where, depth + 1) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [_plain(item, tensors, where, depth + 1) for item in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise InputError(
        f"{where} cannot be saved: state() holds a {type(value).__name__}: return numbers, texts, "
        "lists, mappings and NumPy arrays of numbers"
    )


def _restored(value: Any, tensors: Mapping[str, NDArray[Any]]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return tensors[value[ARRAY]]
        return {key: _restored(item, tensors) for key, item in value.items()}
    if isinstance(value, list):
        return [_restored(item, tensors) for item in value]
    return value


def plain_spec(spec: Any) -> Any:
    """What the encoder was asked for, as JSON can hold it; an encoder object goes by its kind or class."""
    if isinstance(spec, Mapping):
        return {str(key): plain_spec(value) for key, value in spec.items()}
    if isinstance(spec, list | tuple):
        return [plain_spec(part) for part in spec]
    if isinstance(spec, NamedByFile):
        return plain_spec(spec.spec)
    if hasattr(spec, "encoders"):
        return [plain_spec(part) for part in spec.encoders]
    if spec is None or isinstance(spec, str | int | float | bool):
        return spec
    own = getattr(spec, "kind", None)
    return own if isinstance(own, str) else import_path(spec)
