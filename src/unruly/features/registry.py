"""Encoders by name: from what a user writes for `encoder`, and from the bytes that a model file holds.

A user writes a name, a path, a table, an array, or a list of these. A model file may come from anywhere, so nothing in it
is trusted: it is JSON and safetensors, never pickle or code, and its values are checked. What it names outside the file (a
model on the hub or in a folder, a class of the user's own) is opened only if the user names it too (`AllowedEncoders`).
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from unruly.errors import InputError, ModelFileError, SettingsError
from unruly.features.encoder import Encoder, State, import_path
from unruly.files import check_name
from unruly.findings import EncoderFallback
from unruly.wording import did_you_mean, listed

# Encoders and their libraries are imported where one is made, so that looking at a file costs nothing.
if TYPE_CHECKING:
    from unruly.features.stack import EncoderStack

ARRAY = "$array"  # in JSON, in place of an array: its name among the tensors
_DEEPEST = 20  # values inside values
# What reading an encoder that is not as it was written may raise.
_DAMAGED = (AttributeError, LookupError, OverflowError, RecursionError, SafetensorError, TypeError, ValueError)  # fmt: skip
_OLD_NAMES = (
    r"(?:albert|bert|distilbert|distilroberta|electra|gpt2|roberta|t5|xlm|xlnet)(?:-[\w.-]+)?"
)


def names_class(named: str) -> bool:
    """Whether it is `FILE.py:CLASS`, an encoder of the user's own.

    >>> names_class("shapes.py:Shape"), names_class("shapes.py"), names_class("owner/bert")
    (True, False, False)
    """
    return re.fullmatch(r".+\.py:[^\W\d]\w*", named) is not None


def encoder_from(spec: object = "auto", folder: Path | None = None) -> EncoderStack:
    """The encoders that `spec` asks for. Relative paths start at `folder`, the project's own.

    A name (`auto`, `lsa`, `minilm`), a path (a Model2Vec or transformers folder, a file of features),
    the name of a model on the hub, a table with a `name` and options, an array of features, an
    encoder, or a list of these.

    >>> encoder_from("lsa").name
    'lsa'
    >>> encoder_from([{"name": "lsa", "dim": 64}, "lsa"]).encoders[0].dim
    64
    >>> encoder_from({"name": "lsa", "dims": 64})
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: encoder lsa: there is no option 'dims': did you mean 'dim'?
    """
    from unruly.features.stack import EncoderStack

    if isinstance(spec, EncoderStack):
        return spec
    items = spec if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]
    encoders = tuple(one for item in items for one in _one(item, folder))
    asked = any(isinstance(item, str) and item == "auto" for item in items)
    plain = asked and not any(one.kind == "minilm" for one in encoders)
    better = EncoderFallback("lsa", "minilm", "minilm") if plain else None
    return EncoderStack(encoders, fallback=better)


def best_offline() -> tuple[Encoder, ...]:
    """`auto`: the best encoders that this machine can run without a network, never none.

    minilm with lsa if minilm's weights and libraries are installed, else lsa alone, which needs nothing. Together they
    are better than either (see the table in the documentation).
    """
    from unruly.features import minilm
    from unruly.features.lsa import Lsa

    return (minilm.MiniLM(), Lsa()) if minilm.available() else (Lsa(),)


def _one(spec: object, folder: Path | None) -> tuple[Encoder, ...]:
    """One item of the list; `auto` may be two encoders."""
    from unruly.features.custom import CustomEncoder, PrecomputedFeatures, is_custom

    if isinstance(spec, str | Path):
        return _named(str(spec), {}, folder)
    if isinstance(spec, Mapping):
        if not isinstance(name := spec.get("name"), str):
            raise SettingsError(
                f'encoder: a table needs a name, as in {{ name = "minilm" }}, not {dict(spec)}'
            )
        return _named(name, {key: spec[key] for key in spec if key != "name"}, folder)
    if isinstance(spec, NamedByFile):
        raise SettingsError(
            f"encoder: the model file names {spec.spec!r}, which is opened only when you name it as well: "
            "set_params(encoder=...)",
            option="encoder",
        )
    if isinstance(spec, np.ndarray):
        return (PrecomputedFeatures.from_array(spec),)
    if isinstance(spec, CustomEncoder) or _is_ours(spec):
        return (spec,)
    if is_custom(spec):
        return (CustomEncoder(spec() if isinstance(spec, type) else spec),)
    raise SettingsError(
        "encoder: expected a name, a path, a table, a list, or an object with the methods fit and encode, "
        f"not {type(spec).__name__}"
    )


def _is_ours(spec: object) -> TypeGuard[Encoder]:
    """Whether it is an encoder of one of our kinds."""
    kind = _KINDS.get(str(getattr(spec, "kind", "")))
    return kind is not None and isinstance(spec, kind.load())


def _named(name: str, options: Mapping[str, Any], folder: Path | None) -> tuple[Encoder, ...]:
    given = _Options(name, options, folder)
    if name == "auto":
        given.only()
        return best_offline()
    if names_class(name):
        from unruly.features.custom import CustomEncoder, class_named

        given.only()
        path, own = class_named(name, folder)
        return (CustomEncoder(own(), path=path),)
    if name in _KINDS:
        return (_KINDS[name].make(given),)
    return (_from_place(given),)


@dataclass(frozen=True)
class _Options:
    """What a user writes beside the name of an encoder."""

    name: str
    values: Mapping[str, Any]
    folder: Path | None  # that relative paths start from

    def called(self, kind: str, key: str) -> _Options:
        """The options of an encoder of this kind that was named by its path, which becomes the option `key`."""
        return _Options(kind, {**self.values, key: self.name}, self.folder)

    def only(self, *known: str) -> None:
        for option in self.values:
            if option not in known:
                hint = did_you_mean(option, known, "it takes")
                raise SettingsError(
                    f"encoder {self.name}: there is no option {option!r}: {hint}", option=option
                )

    def whole(self, option: str, default: int) -> int:
        value = self.values.get(option, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(option, "a whole number")
        return value

    def flag(self, option: str) -> bool | None:
        value = self.values.get(option)
        if value not in (None, True, False):
            raise self.wrong(option, "true or false")
        return value

    def wrong(self, option: str, must: str) -> SettingsError:
        return SettingsError(
            f"encoder {self.name}: {option} must be {must}, not {self.values[option]!r}",
            option=option,
        )

    def text(self, option: str, needed: str) -> str:
        value = self.values.get(option)
        if not isinstance(value, str):
            raise InputError(f"encoder {self.name}: {option} is missing: give {needed}")
        return value

    def path(self, name: str) -> Path:
        try:
            place = Path(check_name(name)).expanduser()
        except InputError as error:
            raise SettingsError(f"encoder: {error.message}") from None
        except RuntimeError:
            user = name.partition("/")[0]
            raise SettingsError(
                f"encoder {name}: {user} has no home folder here: write the path out"
            ) from None
        return place if self.folder is None or place.is_absolute() else self.folder / place


def _from_place(given: _Options) -> Encoder:
    """A file of features, a Model2Vec folder, a transformers folder, or a name on the hub."""
    name, place = given.name, given.path(given.name)
    if place.suffix in (".npy", ".parquet", ".pq"):
        return _KINDS["features"].make(given.called("features", "path"))
    if place.is_dir():
        kind = "static" if _is_static(place) else "transformer"
        return _KINDS[kind].make(given.called(kind, "model"))
    if "/" not in name and not _may_be_on_hub(name):
        hint = did_you_mean(name, [*_KINDS, "auto"], "it may be one of")
        raise SettingsError(
            f"encoder: there is no encoder {name!r}, nor a folder of that name: {hint}; a model on the "
            "Hugging Face hub is named owner/name"
        )
    kind = "static" if name.startswith(("minishlab/", "potion")) else "transformer"
    return _KINDS[kind].make(given.called(kind, "model"))


def _may_be_on_hub(name: str) -> bool:
    """Whether a name without an owner may be a model: downloaded already, or one of the old names of the hub."""
    from unruly.features import hub

    known = re.fullmatch(_OLD_NAMES, name) is not None or name.startswith("potion-")
    return known or hub.cached(name, ("config.json",)) is not None


def _is_static(folder: Path) -> bool:
    from unruly.features.static import FILES

    whole = all((folder / file).is_file() for file in FILES)
    return whole and '"model2vec"' in (folder / "config.json").read_text(encoding="utf-8")


def _lsa(given: _Options) -> Encoder:
    from unruly.features.lsa import Lsa

    given.only("dim", "chars", "max_terms", "max_runs", "seed")
    return Lsa(
        dim=given.whole("dim", Lsa.dim),
        chars=given.flag("chars"),
        max_terms=given.whole("max_terms", Lsa.max_terms),
        max_runs=given.whole("max_runs", Lsa.max_runs),
        seed=given.whole("seed", 0),
    )


def _minilm(given: _Options) -> Encoder:
    from unruly.features.minilm import MiniLM

    given.only("layer", "max_tokens", "threads")
    layer = given.values.get("layer", MiniLM.layers)
    several = isinstance(layer, Sequence) and not isinstance(layer, str)
    layers = tuple(layer) if several else (layer,)
    if not all(isinstance(one, int) for one in layers):
        raise given.wrong("layer", "a whole number or a list of them")
    return MiniLM(layers, given.whole("max_tokens", 256), given.whole("threads", 0))


def _static(given: _Options) -> Encoder:
    from unruly.features.static import Static

    given.only("model", "max_tokens")
    model = given.text("model", needed="the path or the hub name of a Model2Vec model")
    place = given.path(model)
    return Static.open(place if place.is_dir() else model, given.whole("max_tokens", 512))


def _transformer(given: _Options) -> Encoder:
    from unruly.features.hub import Transformer

    given.only("model", "pooling", "layer", "max_tokens")
    model = given.text("model", needed="the path or the hub name of a model")
    place = given.path(model)
    return Transformer(
        model=str(place) if place.is_dir() else model,
        pooling=given.values.get("pooling"),
        layer=given.whole("layer", -1),
        max_tokens=given.whole("max_tokens", 256),
    )


def _precomputed(given: _Options) -> Encoder:
    from unruly.features.custom import PrecomputedFeatures

    given.only("path", "column")
    column = given.values.get("column")
    if "path" not in given.values and column is not None:
        return PrecomputedFeatures(column=column, source=f"column {column}")
    path = given.text("path", needed="a .npy or .parquet file, or a column")
    return PrecomputedFeatures.from_file(given.path(path), column)


@dataclass(frozen=True)
class _Kind:
    """A kind of encoder: where its class is, and how one is made from options."""

    home: str  # below unruly.features
    name: str
    make: Callable[[_Options], Encoder]

    def load(self) -> Any:
        """The class."""
        return getattr(importlib.import_module(f"unruly.features.{self.home}"), self.name)


_KINDS = {
    "lsa": _Kind("lsa", "Lsa", _lsa),
    "minilm": _Kind("minilm", "MiniLM", _minilm),
    "static": _Kind("static", "Static", _static),
    "transformer": _Kind("hub", "Transformer", _transformer),
    "features": _Kind("custom", "PrecomputedFeatures", _precomputed),
}


@dataclass(frozen=True)
class AllowedEncoders:
    """What the caller allows the encoders of a model file to open: models by name, classes and objects of their own.

    `minilm` needs no permission where its weights are on this machine; with it, they may be downloaded.

    >>> AllowedEncoders.of(["bert-base-uncased"]).models
    frozenset({'bert-base-uncased'})
    """

    models: frozenset[str] = frozenset()
    own: Mapping[str, Any] = field(default_factory=dict)  # "module:Class": the class, or an object

    @classmethod
    def of(cls, encoders: object = None) -> AllowedEncoders:
        """From the argument `encoders`: None, a name, a class, an object, a mapping, or a list of these.

        A name is that of a model, or `FILE.py:CLASS`.
        """
        if encoders is None:
            return cls()
        if isinstance(encoders, AllowedEncoders):
            return encoders
        if isinstance(encoders, str):
            if not names_class(encoders):
                return cls(models=frozenset([encoders]))
            from unruly.features.custom import class_named

            return cls(own=dict([class_named(encoders)]))
        if isinstance(encoders, Mapping):
            return cls(own=dict(encoders))
        if isinstance(encoders, Sequence):
            parts = [cls.of(item) for item in encoders]
            models = frozenset(name for part in parts for name in part.models)
            return cls(models, {name: made for part in parts for name, made in part.own.items()})
        return cls(own={import_path(encoders): encoders})


def named_in(spec: object, folder: Path) -> tuple[Path, ...]:
    """What a project's `encoder` names and a model file does not carry: models by name or folder, and `FILE.py:CLASS`.

    >>> named_in(
    ...     ["lsa", "owner/bert", {"name": "transformer", "model": "gpt2"}, "own.py:Mine"],
    ...     Path("spam"),
    ... )
    (PosixPath('owner/bert'), PosixPath('gpt2'), PosixPath('spam/own.py:Mine'))
    """
    items = spec if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]
    names = [i.get("model", i.get("name")) if isinstance(i, Mapping) else i for i in items]
    found = []
    for name in names:
        if isinstance(name, str) and name != "auto" and name not in _KINDS:
            place = folder / name
            if place.is_dir() or names_class(name):
                found.append(place)
            elif not place.is_file():  # else features
                found.append(Path(name))
    return tuple(found)


@dataclass(frozen=True)
class NamedByFile:
    """An encoder that a model file names and the user does not: shown, but never opened.

    >>> named_by_file(["auto", {"name": "lsa", "dim": 64}], AllowedEncoders())
    ['auto', {'name': 'lsa', 'dim': 64}]
    >>> named_by_file("someone/bert", AllowedEncoders())
    NamedByFile(spec='someone/bert')
    """

    spec: Any


def named_by_file(spec: Any, allowed: AllowedEncoders) -> Any:
    """The `encoder` argument that a model file states, if it may be used again; else as `NamedByFile`."""
    if isinstance(spec, str) and spec in allowed.own:
        return allowed.own[spec]
    items = spec if isinstance(spec, list) else [spec]
    names = [item.get("name") if isinstance(item, Mapping) else item for item in items]
    known = {"auto", "lsa", *allowed.models}
    if "minilm" in names:
        from unruly.features import minilm

        known |= {"minilm"} if minilm.is_here() else set()
    return spec if all(isinstance(n, str) and n in known for n in names) else NamedByFile(spec)


def refusal(text: bytes, allowed: AllowedEncoders) -> str | None:
    """Why this encoder may not be opened, or None; checked before anything is opened.

    >>> refusal(b'{"kind": "transformer", "state": {"model": "someone/bert"}}', AllowedEncoders())
    "it reads texts with the model 'someone/bert', which is opened only when you name it as well: encoders='someone/bert' in Python, --encoder someone/bert at a command"
    """
    try:
        kept = json.loads(text)
        kind, model = str(kept["kind"]), str(dict(kept["state"]).get("model"))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None  # damaged: reading it says how
    if kind == "transformer" and model not in allowed.models:
        return (
            f"it reads texts with the model {model!r}, which is opened only when you name it as well: "
            f"encoders={model!r} in Python, --encoder {quote(model)} at a command"
        )
    if ":" in kind and kind not in allowed.own:
        given = f" (you named {listed(allowed.own)})" if allowed.own else ""
        name = kind.rpartition(":")[2].rpartition(".")[2]
        return (
            f"it reads texts with the encoder {kind!r}, a class that is not unruly's, so give it as well{given}: "
            f"encoders={{{kind!r}: {name}}} in Python, --encoder FILE.py:{name} at a command"
        )
    return None


def refused(files: Mapping[str, bytes], allowed: AllowedEncoders) -> str | None:
    """The same of a whole stack's files."""
    texts = [data for name, data in sorted(files.items()) if name.endswith(".json")]
    return next((why for text in texts if (why := refusal(text, allowed))), None)


def encoder_to_bytes(encoder: Encoder) -> tuple[bytes, bytes]:
    """An encoder as JSON and as safetensors."""
    tensors: dict[str, NDArray[Any]] = {}
    plain = _plain(dict(encoder.state()), tensors, f"the encoder {encoder.name}")
    text = json.dumps({"kind": encoder.kind, "state": plain}, ensure_ascii=True, sort_keys=True)
    return text.encode(), bytes(save(tensors))


def encoder_from_bytes(
    text: bytes, tensors: bytes, allowed: AllowedEncoders, where: str
) -> Encoder:
    """The encoder that `encoder_to_bytes` wrote; damage is a `ModelFileError`."""
    try:
        kept = json.loads(text)
        state = _restored(kept["state"], load(tensors))
        return _made(kept["kind"], state, allowed, where)
    except _DAMAGED as error:
        raise ModelFileError(
            f"{where}: an encoder cannot be read ({type(error).__name__}: {str(error)[:200]})"
        ) from None


def _made(kind: str, state: State, allowed: AllowedEncoders, where: str) -> Encoder:
    """The encoder that a file holds."""
    if kind in _KINDS and (kind != "transformer" or state["model"] in allowed.models):
        made: Encoder = _KINDS[kind].load().from_state(state)
        if kind == "minilm":
            return replace(made, network="minilm" in allowed.models)  # type: ignore[type-var]
        return made
    if kind in allowed.own:
        from unruly.features.custom import CustomEncoder

        return CustomEncoder.from_state(allowed.own[kind], state, kind)
    raise ModelFileError(f"{where}: an unknown kind of encoder, {kind!r}")


def _plain(value: Any, tensors: dict[str, NDArray[Any]], where: str, depth: int = 0) -> Any:
    """The value with arrays moved to `tensors`; refuses what JSON cannot hold."""
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
    """The `encoder` argument as JSON; an encoder object by its kind or class."""
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
