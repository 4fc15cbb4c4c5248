"""Tokenizers that make much of little are refused; those of real models are not."""

from __future__ import annotations

import base64
import json
import string
from pathlib import Path
from typing import Any

import pytest

from unruly.errors import InputError
from unruly.features.static import Static
from unruly.features.static_tokenizer import LONGEST, check_tokenizer


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def tokenizer(*normalizers: dict[str, Any], **parts: Any) -> str:
    sequence = {"type": "Sequence", "normalizers": list(normalizers)}
    return json.dumps({"normalizer": sequence, "model": {"type": "WordPiece"}, **parts})


def char_map(*strings: bytes) -> dict[str, Any]:
    data = (8).to_bytes(4, "little") + b"\0" * 8 + b"\0".join(strings)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    "content",
    [
        tokenizer(replace("a", "a" * 50), replace("a", "a" * 50)),
        tokenizer(replace("a", "bb"), replace("b", "aa"), replace("a", "bb")),
        tokenizer(replace(" ", "y" * 1_000_000)),
        tokenizer(replace("(a+)+b", "", "Regex")),
        tokenizer({"type": "Prepend", "prepend": "y" * 1_000_000}),
        tokenizer({"type": "Sequence", "normalizers": [replace("(a|a)*$", "", "Regex")]}),
        tokenizer({"type": "Python"}),
        tokenizer(char_map(b"x" * 1_000_000)),
        tokenizer(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}}),
        tokenizer(model={"type": "Evil"}),
        tokenizer(pre_tokenizer="Split"),
        tokenizer({}),
        "[]",
        "",
    ],
)
def test_a_bomb_is_refused_in_one_line(content: str) -> None:
    with pytest.raises(InputError, match=r"^x: (the|its) tokenizer") as caught:
        check_tokenizer(content, "x")
    assert "\n" not in str(caught.value)


def test_what_real_models_have_is_taken() -> None:
    spaced = [replace(sign, f" {sign} ") for sign in string.punctuation]  # as model2vec writes
    check_tokenizer(tokenizer({"type": "Lowercase"}, *spaced, replace(r"\s+", " ", "Regex")), "x")
    check_tokenizer(tokenizer({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), "x")
    check_tokenizer(tokenizer(char_map(b"x" * LONGEST, b"", b"fi")), "x")


def test_a_bomb_in_a_folder_is_refused_too(static_folder: Path) -> None:
    path = static_folder / "tokenizer.json"
    plain = json.loads(path.read_text())
    plain["normalizer"] = replace("(a+)+b", "", "Regex")
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match="not on the list"):
        Static.open(static_folder)
