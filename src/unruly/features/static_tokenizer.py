"""What the tokenizer of a static model may be made of: parts that take time and memory in proportion to the text.

A model file brings its tokenizer along, as JSON of the library `tokenizers`. Its regular expressions backtrack
without a limit, and its replacements can make gigabytes of a short text, so both are held to a list.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from unruly.errors import InputError

TYPES = frozenset(
    (
        "BertNormalizer", "BertPreTokenizer", "BertProcessing", "BPE", "ByteFallback", "ByteLevel", "CharDelimiterSplit",
        "Digits", "Fuse", "Lowercase", "Metaspace", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend",
        "Punctuation", "Replace", "RobertaProcessing", "Sequence", "Split", "Strip", "StripAccents", "TemplateProcessing",
        "Unigram", "UnicodeScripts", "Whitespace", "WhitespaceSplit", "WordLevel", "WordPiece", "BPEDecoder",
    )
)  # fmt: skip
# Of widely used tokenizers; none of them can backtrack far.
EXPRESSIONS = frozenset(
    (
        r"\s+",
        r"\s{2,}",
        r" {2,}",
        r"\p{N}",
        r"\p{N}{1,3}",
        r"[^\n]+|[\n]+",
        r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    )
)
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")
LONGEST = 64  # characters that one character may become
_DEEPEST = 20


def check_tokenizer(content: str, where: str) -> None:
    """Refuse a tokenizer that could take much longer, or much more memory, than its text is long.

    >>> check_tokenizer(
    ...     '{"normalizer": {"type": "Lowercase"}, "model": {"type": "WordPiece"}}', "x"
    ... )
    >>> step = '{"type": "Replace", "pattern": {"Regex": "(a+)+b"}, "content": ""}'
    >>> check_tokenizer('{"normalizer": %s}' % step, "x")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: x: the tokenizer has the pattern '(a+)+b', which is not on the list of known ones: use another model
    """
    try:
        plain = json.loads(content)
        steps = [step for part in PARTS if plain.get(part) for step in _steps(plain[part])]
        growing = [_checked(step, where) for step in steps]
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: its tokenizer.json is not a tokenizer ({error})") from None
    before = ""
    for pattern, text in (step for step in growing if step is not None):
        if len(text) > len(pattern) and set(pattern) & set(before):
            raise _refused(where, f"replaces {pattern!r} in what it has put in before")
        before += text if len(text) > len(pattern) else ""


def _steps(part: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The steps of a part, those within sequences too, in their order."""
    if depth > _DEEPEST:
        raise ValueError("steps too deep within each other")
    inner = [
        part[key]
        for key in ("normalizers", "pretokenizers", "processors", "decoders")
        if key in part
    ]
    if part["type"] != "Sequence" or not inner:
        yield part
    for steps in inner:
        for step in steps:
            yield from _steps(step, depth + 1)


def _checked(step: Mapping[str, Any], where: str) -> tuple[str, str] | None:
    """What a step replaces, and with what, if it replaces anything."""
    kind = step["type"]
    if kind not in TYPES:
        raise _refused(where, f"has a part of the kind {str(kind)[:60]!r}")
    text = str(step.get("content") or step.get("prepend") or step.get("replacement") or "")
    if len(text) > LONGEST:
        raise _refused(where, f"puts {len(text)} characters in the place of a few")
    if kind == "Precompiled":
        _check_map(base64.b64decode(step["precompiled_charsmap"]), where)
    pattern = step.get("pattern")
    if not isinstance(pattern, Mapping):
        return None
    if "Regex" in pattern and pattern["Regex"] not in EXPRESSIONS:
        raise _refused(where, f"has the pattern {str(pattern['Regex'])[:60]!r}")
    return str(pattern.get("String", " ")), text


def _check_map(data: bytes, where: str) -> None:
    """A map of characters as SentencePiece writes it: its size, a trie, and what it maps to, with zeros between."""
    size = int.from_bytes(data[:4], "little")
    longest = max(map(len, data[4 + size :].split(b"\0")), default=0)
    if len(data) < 4 + size or longest > 4 * LONGEST:
        raise _refused(where, "has a map of characters that makes much of little")


def _refused(where: str, what: str) -> InputError:
    return InputError(
        f"{where}: the tokenizer {what}, which is not on the list of known ones: use another model"
    )
