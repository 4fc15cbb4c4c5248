"""Fitted encoders to a folder and back: JSON, safetensors and plain text, never pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from unruly.errors import ModelFileError
from unruly.features.encoder import Encoder
from unruly.features.given import Given
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.several import Part, Several
from unruly.features.static import Static
from unruly.features.transformer import Transformer

FORMAT = 3  # 3: the words that rules read are kept, else none are known
_OLDEST = 2
_KINDS: dict[str, Callable[[Path], Encoder]] = {
    "lsa": Lsa.load,
    "minilm": MiniLM.load,
    "static": Static.load,
    "transformer": Transformer.load,
    "features": Given.load,
}
_CLASSES: dict[type, str] = {
    Lsa: "lsa",
    MiniLM: "minilm",
    Static: "static",
    Transformer: "transformer",
    Given: "features",
}


def save_encoder(several: Several, folder: Path) -> None:
    """Write fitted encoders into a folder, which is made when missing: one sub-folder a block."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for number, part in enumerate(several.parts):
        like = [other.encoder for other in several.parts].index(part.encoder)
        if like == number:  # an encoder that reads twice is kept once
            inside = folder / f"block{number}"
            inside.mkdir()
            part.encoder.save(inside)
        kept.append(
            {
                "kind": kind_of(part.encoder),
                "view": part.view,
                "scales": part.scales,
                "like": like,
                "unread": part.unread,
            }
        )
    plan = {"format": FORMAT, "blocks": kept, "words": several.words}
    (folder / "encoder.json").write_text(json.dumps(plan), encoding="utf-8")


def load_encoder(folder: Path) -> Several:
    """Read what `save_encoder` wrote."""
    try:
        plan = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{folder}: the encoder cannot be read: {error}") from None
    if plan.get("format") not in range(_OLDEST, FORMAT + 1):
        raise ModelFileError(
            f"{folder}: the encoder has the format {plan.get('format')!r}, this version reads {_OLDEST} to {FORMAT}: "
            "fit the model anew, or pip install --upgrade unruly"
        )
    encoders: list[Encoder] = []
    for number, block in enumerate(plan["blocks"]):
        own = block["like"] == number
        encoders.append(
            _load(block["kind"], folder / f"block{number}") if own else encoders[block["like"]]
        )
    parts = tuple(
        Part(encoder, block["view"], tuple(block["scales"]), tuple(block["unread"]))
        for encoder, block in zip(encoders, plan["blocks"], strict=True)
    )
    one_each = {part.encoder.name: part.encoder for part in parts}
    return Several(tuple(one_each.values()), parts, tuple(plan.get("words", ())))


def kind_of(encoder: Encoder) -> str:
    """The name under which an encoder of this class is saved."""
    return _CLASSES[type(encoder)]


def load_one(kind: str, folder: Path) -> Encoder:
    """One encoder that its own `save` wrote."""
    return _KINDS[kind](folder)


def _load(kind: str, folder: Path) -> Encoder:
    if kind not in _KINDS:
        raise ModelFileError(f"{folder}: an unknown kind of encoder, {kind!r}: the file is damaged")
    try:
        return load_one(kind, folder)
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        raise ModelFileError(f"{folder}: the encoder cannot be read: {error}") from None
