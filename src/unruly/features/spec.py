"""From what a user writes for `encoder` to encoders: a name, a path, a table, an array, a list."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unruly.errors import InputError, SettingsError
from unruly.facts import EncoderFallback
from unruly.features import minilm, pretrained
from unruly.features.custom import CustomEncoder, PrecomputedFeatures, is_custom
from unruly.features.encoder import Encoder
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.saving import NamedByFile
from unruly.features.stack import EncoderStack
from unruly.features.static import FILES as STATIC_FILES
from unruly.features.static import Static
from unruly.features.transformer import Transformer
from unruly.files import check_name
from unruly.wording import did_you_mean

Options = Mapping[str, Any]
_OURS = (Lsa, MiniLM, Static, Transformer, PrecomputedFeatures, CustomEncoder)
_OLD_NAMES = (
    r"(?:albert|bert|distilbert|distilroberta|electra|gpt2|roberta|t5|xlm|xlnet)(?:-[\w.-]+)?"
)


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
    if isinstance(spec, EncoderStack):
        return spec
    items = spec if isinstance(spec, Sequence) and not isinstance(spec, str) else [spec]
    encoders = tuple(one for item in items for one in _one(item, folder))
    asked = any(isinstance(item, str) and item == "auto" for item in items)
    plain = asked and not any(isinstance(one, MiniLM) for one in encoders)
    better = EncoderFallback("lsa", "minilm", "minilm") if plain else None
    return EncoderStack(encoders, fallback=better)


def best_offline() -> tuple[Encoder, ...]:
    """`auto`: the best encoders that this machine can run without a network, never none.

    minilm with lsa where minilm's weights and libraries are installed, else lsa alone, which needs nothing. Both see the
    text differently, and together they beat either (see the table in the documentation).
    """
    return (MiniLM(), Lsa()) if minilm.available() else (Lsa(),)


def _one(spec: object, folder: Path | None) -> tuple[Encoder, ...]:
    """One item of the list; `auto` may be two encoders."""
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
    if isinstance(spec, _OURS):
        return (spec,)
    if is_custom(spec):
        return (CustomEncoder(spec() if isinstance(spec, type) else spec),)
    raise SettingsError(
        f"encoder: expected a name, a path, a table or a list, not {type(spec).__name__}"
    )


def _named(name: str, options: Options, folder: Path | None) -> tuple[Encoder, ...]:
    if name == "auto":
        _known(name, options, ())
        return best_offline()
    if name in _MAKERS:
        return (_MAKERS[name](options, folder),)
    return (_from_place(name, options, folder),)


def _from_place(name: str, options: Options, folder: Path | None) -> Encoder:
    """A file of features, a Model2Vec folder, a transformers folder, or a name on the hub."""
    place = _path(name, folder)
    if place.suffix in (".npy", ".parquet", ".pq"):
        return _precomputed({**options, "path": name}, folder)
    if place.is_dir():
        static = all((place / file).is_file() for file in STATIC_FILES) and _is_static(place)
        return (_static if static else _transformer)({**options, "model": name}, folder)
    if "/" not in name and not _may_be_on_hub(name):
        hint = did_you_mean(name, [*_MAKERS, "auto"], "it may be one of")
        raise SettingsError(
            f"encoder: there is no encoder {name!r}, nor a folder of that name: {hint}; a model on the "
            "Hugging Face hub is named owner/name"
        )
    if name.startswith(("minishlab/", "potion")):
        return _static({**options, "model": name}, folder)
    return _transformer({**options, "model": name}, folder)


def _may_be_on_hub(name: str) -> bool:
    """Whether a name without an owner is a model: downloaded already, or one of those that have none."""
    known = re.fullmatch(_OLD_NAMES, name) is not None or name.startswith("potion-")
    return known or pretrained.cached(name, ("config.json",)) is not None


def _is_static(folder: Path) -> bool:
    return '"model2vec"' in (folder / "config.json").read_text(encoding="utf-8")


def _lsa(options: Options, folder: Path | None) -> Encoder:
    _known("lsa", options, ("dim", "chars", "max_terms", "max_runs", "seed"))
    return Lsa(
        dim=_whole("lsa", options, "dim", Lsa.dim),
        chars=_flag("lsa", options, "chars"),
        max_terms=_whole("lsa", options, "max_terms", Lsa.max_terms),
        max_runs=_whole("lsa", options, "max_runs", Lsa.max_runs),
        seed=_whole("lsa", options, "seed", 0),
    )


def _minilm(options: Options, folder: Path | None) -> Encoder:
    _known("minilm", options, ("layer", "max_tokens", "threads"))
    layer = options.get("layer", MiniLM.layers)
    layers = (
        tuple(layer) if isinstance(layer, Sequence) and not isinstance(layer, str) else (layer,)
    )
    if not all(isinstance(one, int) for one in layers):
        raise SettingsError(
            f"encoder minilm: layer must be a whole number or a list of them, not {layer!r}",
            option="layer",
        )
    return MiniLM(
        layers=layers,
        max_tokens=_whole("minilm", options, "max_tokens", 256),
        threads=_whole("minilm", options, "threads", 0),
    )


def _static(options: Options, folder: Path | None) -> Encoder:
    _known("static", options, ("model", "max_tokens"))
    model = _text(
        "static", options, "model", needed="the path or the hub name of a Model2Vec model"
    )
    place = _path(model, folder)
    return Static.open(
        place if place.is_dir() else model, _whole("static", options, "max_tokens", 512)
    )


def _transformer(options: Options, folder: Path | None) -> Encoder:
    _known("transformer", options, ("model", "pooling", "layer", "max_tokens"))
    model = _text("transformer", options, "model", needed="the path or the hub name of a model")
    place = _path(model, folder)
    return Transformer(
        model=str(place) if place.is_dir() else model,
        pooling=options.get("pooling"),
        layer=_whole("transformer", options, "layer", -1),
        max_tokens=_whole("transformer", options, "max_tokens", 256),
    )


def _precomputed(options: Options, folder: Path | None) -> Encoder:
    _known("features", options, ("path", "column"))
    column = options.get("column")
    if "path" not in options and column is not None:
        return PrecomputedFeatures(column=column, source=f"column {column}")
    path = _text("features", options, "path", needed="a .npy or .parquet file, or a column")
    return PrecomputedFeatures.from_file(_path(path, folder), column)


_MAKERS: dict[str, Callable[[Options, Path | None], Encoder]] = {
    "lsa": _lsa,
    "minilm": _minilm,
    "static": _static,
    "transformer": _transformer,
    "features": _precomputed,
}


def _known(name: str, options: Options, known: tuple[str, ...]) -> None:
    for option in options:
        if option not in known:
            hint = did_you_mean(option, known, "it takes")
            raise SettingsError(
                f"encoder {name}: there is no option {option!r}: {hint}", option=option
            )


def _whole(name: str, options: Options, option: str, default: int) -> int:
    value = options.get(option, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise SettingsError(
            f"encoder {name}: {option} must be a whole number, not {value!r}", option=option
        )
    return value


def _flag(name: str, options: Options, option: str) -> bool | None:
    value = options.get(option)
    if value not in (None, True, False):
        raise SettingsError(
            f"encoder {name}: {option} must be true or false, not {value!r}", option=option
        )
    return value


def _text(name: str, options: Options, option: str, needed: str) -> str:
    value = options.get(option)
    if not isinstance(value, str):
        raise InputError(f"encoder {name}: {option} is missing: give {needed}")
    return value


def _path(name: str, folder: Path | None) -> Path:
    try:
        place = Path(check_name(name)).expanduser()
    except InputError as error:
        raise SettingsError(f"encoder: {error.message}") from None
    except RuntimeError:
        user = name.partition("/")[0]
        raise SettingsError(
            f"encoder {name}: {user} has no home folder here: write the path out"
        ) from None
    return place if folder is None or place.is_absolute() else folder / place
