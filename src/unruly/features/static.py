"""`static`: a Model2Vec model. Every token has one vector; a text is the mean of its tokens' vectors.

The library model2vec encodes thousands of texts a second. The model is a folder with `config.json`, `model.safetensors`
and `tokenizer.json`, or the name of one on the Hugging Face hub.

Most of the time goes into tokenising. Where a tokenizer reads each word by itself, as BERT's do, the distinct words of some
thousand texts are tokenised once each: the same bits as model2vec's, in a fraction of the time.

The tokenizer is JSON of the library `tokenizers`. Its regular expressions can backtrack without limit, its replacements
can make gigabytes of a short text, and its models can take the cube of a word's length. So `check_tokenizer` allows only known
parts, whose time and memory grow with the text, and `_needed` leaves out those that give a text no tokens.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file
from scipy.sparse import csr_matrix

from unruly.errors import InputError, SettingsError, need, panics_of
from unruly.features import hub
from unruly.features.encoder import CHUNK, SentenceEncoder, State, readable
from unruly.progress import SILENT, Progress, stage

MOST_TOKENS = 1_000_000  # of a text
FILES = ("config.json", "model.safetensors", "tokenizer.json")
TYPES = frozenset(
    (
        "BertNormalizer", "BertPreTokenizer", "BertProcessing", "BPE", "ByteFallback", "ByteLevel", "CharDelimiterSplit",
        "Digits", "Fuse", "Lowercase", "Metaspace", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend",
        "Punctuation", "Replace", "RobertaProcessing", "Sequence", "Split", "Strip", "StripAccents", "TemplateProcessing",
        "Unigram", "UnicodeScripts", "Whitespace", "WhitespaceSplit", "WordLevel", "WordPiece", "BPEDecoder",
    )
)  # fmt: skip
# Expressions of widely used tokenizers, none of which can backtrack far.
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
LONGEST = 64  # characters that one character may become in a map of characters, or that stand before a text
STEPS = 64  # of a tokenizer, all parts together
ONCE = ("ByteLevel", "Precompiled")  # steps that make a text longer each time they are taken
LONGEST_WORD = 200  # characters: WordPiece takes the cube of it for a word that it does not know
LONGEST_PIECE = 128  # characters: Unigram takes so many steps for each character of a text
FEW = 32  # texts: with fewer, distinct words are not collected
REMEMBERED = 100_000  # words whose tokens are kept
# Pieces between ASCII blanks and punctuation, where BERT's tokenizers always cut.
WORD = r"[^ !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]"
_DEEPEST = 20


@dataclass(frozen=True, eq=False)
class Static(SentenceEncoder):
    """The mean of static token vectors."""

    vectors: NDArray[np.float32]  # (tokens, width), each times its weight
    tokenizer: str  # JSON, as the `tokenizers` library writes it
    unit: bool = True  # features at unit length
    max_tokens: int = 512
    source: str = "static"
    kind: ClassVar[str] = "static"

    def __post_init__(self) -> None:
        if not 1 <= self.max_tokens <= MOST_TOKENS:
            raise SettingsError(
                f"static: max_tokens must lie between 1 and {MOST_TOKENS}, not {self.max_tokens}",
                option="max_tokens",
            )
        check_tokenizer(self.tokenizer, self.name)
        _check_numbers(json.loads(self.tokenizer), len(self.vectors), self.name)

    @classmethod
    def open(cls, where: str | Path, max_tokens: int = 512) -> Static:
        """Read a Model2Vec folder, or one in the Hugging Face cache or on the hub."""
        folder = _folder(str(where))
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        try:
            tensors = load_file(folder / "model.safetensors")
        except SafetensorError as error:
            raise InputError(f"{folder / 'model.safetensors'}: damaged: {error}") from None
        if "embeddings" not in tensors:
            raise InputError(f"{folder}: not a Model2Vec model: its weights have no 'embeddings'")
        return cls(
            vectors=_weighted(tensors),
            tokenizer=(folder / "tokenizer.json").read_text(encoding="utf-8"),
            unit=bool(config.get("normalize", False)),
            max_tokens=max_tokens,
            source=folder.name if Path(where).is_dir() else str(where),
        )

    @property
    def name(self) -> str:
        """Short and human."""
        return f"static {self.source}"

    @cached_property
    def identity(self) -> str | None:
        """The vectors, the tokenizer and the options."""
        digest = hashlib.sha256(self.vectors.tobytes() + self.tokenizer.encode())
        digest.update(repr((self.unit, self.max_tokens)).encode())
        return f"static-{digest.hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return int(self.vectors.shape[1])

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width); zeros for a text without a known token."""
        out = np.zeros((len(texts), self.width), dtype=np.float32)
        with stage(progress, f"encoding with {self.name}", len(texts), "texts"):
            for start in range(0, len(texts), CHUNK):
                part = readable(texts[start : start + CHUNK], self.max_tokens)
                with panics_of("tokenizers", self.name):
                    out[start : start + len(part)] = (
                        self._by_words(part)
                        if self._wordwise and len(part) >= FEW
                        else self._model.encode(part, use_multiprocessing=False)
                    )
                progress.advance(len(part))
        return out

    def _by_words(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, width): what the library gives, with each distinct word tokenised once."""
        model, cut = self._model, self.max_tokens * self._model.median_token_length
        read = pl.Series([text[:cut] for text in texts], dtype=pl.String)
        if self._special and read.str.contains_any(self._special).any():
            return np.asarray(model.encode(texts, use_multiprocessing=False))
        lists = read.str.extract_all(WORD)
        word, words = lists.explode(), lists.list.len().to_numpy()
        distinct = word.drop_nulls().unique()
        number = word.cast(pl.Enum(distinct)).drop_nulls().to_physical().to_numpy()  # (words,)
        ids = self._tokens(distinct.to_list())
        size = np.array([len(one) for one in ids], dtype=np.int64)  # (distinct words,)
        token = np.fromiter(chain.from_iterable(ids), np.int64, int(size.sum()))
        row = np.repeat(np.arange(len(texts)), words)  # (words,)
        row, token = np.repeat(row, size[number]), token[_spans(size, number)]  # (tokens,)
        place = np.arange(len(row)) - np.searchsorted(row, row)  # of a token in its text
        kept = (place < self.max_tokens) & (token != model.unk_token_id)
        starts = np.searchsorted(row[kept], np.arange(len(texts) + 1))
        counts = csr_matrix(
            (np.ones(int(kept.sum()), np.float32), token[kept], starts),
            shape=(len(texts), len(self.vectors)),
        )
        mean = (counts @ self.vectors) / np.maximum(np.diff(starts), 1).astype(np.float32)[:, None]
        if self.unit:
            mean /= np.linalg.norm(mean, axis=1, keepdims=True) + 1e-32
        return np.asarray(mean, dtype=np.float32)

    def _tokens(self, words: Sequence[str]) -> list[list[int]]:
        """The token ids of each word; those of the first words are remembered."""
        known = self._known
        new = [word for word in words if word not in known]
        found = self._model.tokenizer.encode_batch_fast(new, add_special_tokens=False)
        fresh = dict(zip(new, (encoding.ids for encoding in found), strict=True))
        known.update(islice(fresh.items(), max(0, REMEMBERED - len(known))))
        return [known[word] if word in known else fresh[word] for word in words]

    @cached_property
    def _known(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _special(self) -> list[str]:
        """Tokens that the tokenizer looks for before it looks for words."""
        return [str(token["content"]) for token in json.loads(self.tokenizer)["added_tokens"]]

    @cached_property
    def _wordwise(self) -> bool:
        """Whether a text's tokens are those of its words and punctuation marks, each by itself."""
        plain = json.loads(self.tokenizer)
        kinds = [(plain.get(part) or {}).get("type") for part in PARTS[:2]]
        added = plain.get("added_tokens", [])
        return kinds == ["BertNormalizer", "BertPreTokenizer"] and not any(
            token["normalized"] for token in added
        )

    def state(self) -> State:
        """All of it: a model file does not depend on a folder elsewhere."""
        return {
            "vectors": self.vectors,
            "tokenizer": self.tokenizer,
            "unit": self.unit,
            "max_tokens": self.max_tokens,
            "source": self.source,
        }

    @classmethod
    def from_state(cls, state: State) -> Static:
        """The encoder that `state` was taken of, checked."""
        found = cls(
            vectors=_checked(state["vectors"]),
            tokenizer=str(state["tokenizer"]),
            unit=bool(state["unit"]),
            max_tokens=int(state["max_tokens"]),
            source=str(state["source"]),
        )
        _ = found._model  # checked now, not at the first text
        return found

    @cached_property
    def _model(self) -> Any:
        """The library's own model; it refuses a tokenizer that does not fit the vectors."""
        library = need("model2vec", extra="static", purpose="static features")
        tokenizers = need("tokenizers", extra="static", purpose="static features")
        try:
            with panics_of("tokenizers", self.name):
                tokenizer = tokenizers.Tokenizer.from_str(_needed(self.tokenizer))
        except Exception as error:  # the library raises nothing more precise
            raise InputError(f"{self.name}: its tokenizer cannot be read: {error}") from None
        return library.StaticModel(
            self.vectors, tokenizer, normalize=self.unit, max_length=self.max_tokens
        )


def _spans(size: NDArray[np.int64], which: NDArray[Any]) -> NDArray[np.int64]:
    """The positions covered by the spans `which`, of consecutive spans of these sizes.

    >>> _spans(np.array([2, 3]), np.array([1, 0, 1])).tolist()
    [2, 3, 4, 0, 1, 2, 3, 4]
    """
    taken = size[which]
    first = np.cumsum(size) - size
    return np.repeat(first[which] - np.cumsum(taken) + taken, taken) + np.arange(taken.sum())


def _folder(where: str) -> Path:
    """The folder itself, or the hub's copy."""
    if Path(where).is_dir():
        if lacking := [name for name in FILES if not (Path(where) / name).is_file()]:
            raise InputError(f"{where}: not a Model2Vec folder: {lacking[0]} is missing")
        return Path(where)
    found = None
    if where.count("/") <= 1 and not where.startswith((".", "/", "~")):
        found = hub.cached(where, FILES) or hub.downloaded(where, FILES)
    if found is None:
        raise InputError(
            f"static: {where} is neither a folder nor to be had as a model: looked here, in "
            f"{hub.hub_folder()} and on the Hugging Face hub: give the path of a Model2Vec folder, "
            'or use encoder = "lsa", which needs nothing'
        )
    return found


def _checked(vectors: NDArray[Any]) -> NDArray[np.float32]:
    """(tokens, width) of finite numbers."""
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not np.isfinite(vectors).all():
        raise InputError("static: the vectors are not a table of finite numbers")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _weighted(tensors: dict[str, NDArray[Any]]) -> NDArray[np.float32]:
    """One vector for each token id: mapped and weighted, if the model has a mapping and weights."""
    vectors = np.asarray(tensors["embeddings"], dtype=np.float32)
    if "mapping" in tensors:
        vectors = vectors[tensors["mapping"]]
    if "weights" in tensors:
        vectors = vectors * np.asarray(tensors["weights"], dtype=np.float32)[:, None]
    return np.ascontiguousarray(vectors, dtype=np.float32)


def check_tokenizer(content: str, where: str) -> None:
    """Refuse a tokenizer whose time or memory could grow much faster than the text.

    >>> check_tokenizer('{"normalizer": {"type": "Lowercase"}, "model": {"type": "BPE"}}', "x")
    >>> step = '{"type": "Replace", "pattern": {"Regex": "(a+)+b"}, "content": ""}'
    >>> check_tokenizer('{"normalizer": %s}' % step, "x")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: x: the tokenizer has the pattern '(a+)+b', which is not on the list of known ones: use another model
    """
    try:
        plain = json.loads(content)
        parts = {part: list(_steps(plain[part])) for part in PARTS if plain.get(part)}
        for part, steps in parts.items():
            _check_steps(part, steps, where)
        _check_model(plain["model"], where)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{where}: its tokenizer.json is not a tokenizer ({error})") from None
    if sum(map(len, parts.values())) > STEPS:
        raise _refused(where, f"has more than {STEPS} steps")


def _needed(content: str) -> str:
    """The tokenizer without what a text's own tokens do not need: special tokens, padding, and the way back to texts."""
    unused = dict.fromkeys(("truncation", "padding", "post_processor", "decoder"))
    return json.dumps(json.loads(content) | unused)


def _check_numbers(tokenizer: Mapping[str, Any], vectors: int, where: str) -> None:
    """Refuse token ids far beyond the vectors: the library allocates memory for all ids below the largest."""
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, Mapping) else None
    numbers = list(vocabulary.values()) if isinstance(vocabulary, Mapping) else []
    added = tokenizer.get("added_tokens")
    numbers += [token.get("id") for token in added or () if isinstance(token, Mapping)]
    most = 2 * (vectors + len(numbers))
    odd = [n for n in numbers if not isinstance(n, int) or not 0 <= n <= most]
    if odd:
        raise InputError(
            f"{where}: the tokenizer gives a token the number {str(odd[0])[:20]}, but there are "
            f"{vectors:,} vectors: use another model"
        )


def _steps(part: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The steps of a part in order, including those inside sequences."""
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


def _check_steps(part: str, steps: Sequence[Mapping[str, Any]], where: str) -> None:
    """Refuse a kind that is not on the list, and whatever makes a text much longer."""
    for step in steps:
        kind = step["type"]
        if kind not in TYPES:
            raise _refused(where, f"has a part of the kind {str(kind)[:60]!r}")
        text = str(step.get("content") or step.get("prepend") or step.get("replacement") or "")
        if len(text) > LONGEST:
            raise _refused(where, f"puts {len(text)} characters in the place of a few")
        if kind == "Precompiled":
            _check_map(base64.b64decode(step["precompiled_charsmap"]), where)
    _check_patterns([step for step in steps if isinstance(step.get("pattern"), Mapping)], where)
    kinds = [step["type"] for step in steps]
    twice = next((kind for kind in ONCE if kinds.count(kind) > 1), None)
    if twice is not None:
        raise _refused(where, f"has {twice} twice in its {part}")


def _check_patterns(steps: Sequence[Mapping[str, Any]], where: str) -> None:
    """Refuse an unknown expression, and replacements that make a text longer and longer.

    Blanks may be put around a character, as model2vec does. Anything else that grows, and anything that such blanks could
    become, would be replaced again by a later step, once Lowercase or NFKD have made of it what that step looks for.
    """
    pairs = []
    for pattern, text in ((step["pattern"], str(step.get("content", ""))) for step in steps):
        if "Regex" in pattern and pattern["Regex"] not in EXPRESSIONS:
            raise _refused(where, f"has the pattern {str(pattern['Regex'])[:60]!r}")
        pairs.append((str(pattern.get("String", " ")), text))
    growing = [(replaced, text) for replaced, text in pairs if len(text) > len(replaced)]
    for replaced, text in growing:
        if text.strip(" ") != replaced or not replaced or len(text) > len(replaced) + 2:
            raise _refused(where, f"puts {len(text)} characters in the place of {replaced[:60]!r}")
    rest = [text for replaced, text in pairs if len(text) <= len(replaced)]
    if growing and any(text not in ("", " ", "▁") for text in rest):
        raise _refused(where, f"puts blanks around {growing[0][0]!r} and replaces others")


def _check_model(model: Mapping[str, Any], where: str) -> None:
    """Refuse a model that takes longer, the longer a word is, or that has no token for what it does not know."""
    kind, vocabulary = model["type"], model.get("vocab", {})
    longest = int(model.get("max_input_chars_per_word", 100)) if kind == "WordPiece" else 0
    if longest > LONGEST_WORD:
        raise _refused(where, f"reads words of up to {longest:,} characters")
    if kind == "Unigram" and any(len(str(piece)) > LONGEST_PIECE for piece, _ in vocabulary):
        raise _refused(where, f"has a token of more than {LONGEST_PIECE} characters")
    if kind in ("WordPiece", "WordLevel") and model.get("unk_token", "[UNK]") not in vocabulary:
        raise _refused(where, "has no token for words that it does not know")


def _check_map(data: bytes, where: str) -> None:
    """Check a character map of SentencePiece: the size of a trie, the trie, and the replacements, separated by zeros."""
    size = int.from_bytes(data[:4], "little")
    longest = max(map(len, data[4 + size :].split(b"\0")), default=0)
    if len(data) < 4 + size or longest > 4 * LONGEST:
        raise _refused(where, "has a map of characters that makes much of little")


def _refused(where: str, what: str) -> InputError:
    return InputError(
        f"{where}: the tokenizer {what}, which is not on the list of known ones: use another model"
    )
