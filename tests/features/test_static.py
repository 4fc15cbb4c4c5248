"""static: the mean of token vectors, as model2vec gives it, from a folder or not at all.

Tokenizers that make much of little are refused; those of real models are not.
"""

from __future__ import annotations

import base64
import json
import shutil
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from tests.features.conftest import WORDS

from unruly.errors import InputError, MissingExtraError, SettingsError
from unruly.features.static import FEW, LONGEST, Static, check_tokenizer

model2vec = pytest.importorskip("model2vec")
TEXTS = ["a good film", "not good, the bad songs", "unheard of", "", "עברית 😀 good"]


def test_a_text_is_the_mean_of_its_tokens(static_folder: Path) -> None:
    vectors = load_file(static_folder / "model.safetensors")["embeddings"]
    mean = vectors[[6, 1, 3]].mean(axis=0)  # a, good, film
    found = Static.open(static_folder).encode(["A good film zzz"])  # the unknown word is left out
    np.testing.assert_allclose(found[0], mean / np.linalg.norm(mean), rtol=1e-5)


def test_as_model2vec_reads_the_folder(static_folder: Path) -> None:
    texts = [*TEXTS, "good " * 3_000]
    theirs = model2vec.StaticModel.from_pretrained(str(static_folder)).encode(texts)
    np.testing.assert_allclose(Static.open(static_folder).encode(texts), theirs, atol=1e-6)


PIECES = [
    *WORDS,
    "GOOD",
    "good.",
    "(bad)",
    "[UNK]",
    "café",
    "e\u0301",
    "ΣΑΣ",
    "我喜欢",
    "😀",
    "\x00",
    "\x85",
    "\u00a0",
    "x" * 101,
]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50
)
@given(
    pieces=st.lists(
        st.sampled_from(PIECES) | st.characters(codec="utf-8") | st.sampled_from(" \n\t"),
        max_size=60,
    ),
    max_tokens=st.sampled_from([1, 3, 512]),
)
def test_many_texts_give_the_bits_of_model2vec(
    static_folder: Path, pieces: list[str], max_tokens: int
) -> None:
    static = Static.open(static_folder, max_tokens=max_tokens)
    texts = ["".join(pieces[start:]) for start in range(len(pieces))] + [" ".join(pieces)] * FEW
    theirs = model2vec.StaticModel.from_pretrained(str(static_folder), max_length=max_tokens)
    assert np.array_equal(static.encode(texts), theirs.encode(texts))


def test_words_beyond_those_that_are_remembered(
    static_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unruly.features.static.REMEMBERED", 2)
    static = Static.open(static_folder)
    many = ["a good film", "the bad songs"] * FEW
    assert np.array_equal(static.encode(many), static.encode(many))
    assert np.array_equal(static.encode(many)[:2], static.encode(many[:2]))


def test_added_tokens_are_found_before_words(static_folder: Path) -> None:
    path = static_folder / "tokenizer.json"
    plain = json.loads(path.read_text())
    plain["added_tokens"] = [
        {
            "id": 0,
            "content": "[UNK]",
            "special": True,
            "normalized": False,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
        }
    ]
    path.write_text(json.dumps(plain))
    texts = ["good [UNK]good", "[unk] good", "a film"] * FEW
    theirs = model2vec.StaticModel.from_pretrained(str(static_folder)).encode(texts)
    assert np.array_equal(Static.open(static_folder).encode(texts), theirs)


def test_weights_and_mapping(static_folder: Path) -> None:
    plain = Static.open(static_folder).vectors
    weight = np.linspace(0.5, 2, len(plain))
    backwards = np.arange(len(plain))[::-1].copy()
    tensors = {"embeddings": plain, "weights": weight, "mapping": backwards}
    save_file(tensors, static_folder / "model.safetensors")
    expected = plain[::-1] * weight[:, None].astype(np.float32)
    np.testing.assert_allclose(Static.open(static_folder).vectors, expected, rtol=1e-6)


def test_the_same_bits_in_any_company(static_folder: Path, odd_texts: list[str]) -> None:
    static = Static.open(static_folder)
    texts = [*TEXTS, *odd_texts]
    together = static.encode(texts)
    assert np.isfinite(together).all()
    assert np.array_equal(together, np.concatenate([static.encode([text]) for text in texts]))
    assert not together[3].any()  # the empty text


def test_saved_whole(static_folder: Path) -> None:
    static = Static.open(static_folder, max_tokens=7)
    before, identity = static.encode(TEXTS), static.identity
    state = static.state()
    shutil.rmtree(static_folder)
    loaded = Static.from_state(state)
    assert np.array_equal(loaded.encode(TEXTS), before)
    assert loaded.identity == identity


def test_a_folder_that_lacks_a_file(static_folder: Path) -> None:
    (static_folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"not a Model2Vec folder: tokenizer\.json is missing"):
        Static.open(static_folder)


def test_damaged_weights(static_folder: Path) -> None:
    (static_folder / "model.safetensors").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="damaged"):
        Static.open(static_folder)


def test_weights_of_something_else(static_folder: Path) -> None:
    save_file({"other": np.zeros(2)}, static_folder / "model.safetensors")
    with pytest.raises(InputError, match="no 'embeddings'"):
        Static.open(static_folder)


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        InputError, match=r"somebody/something .* looked here, in .* hub: .* encoder = \"lsa\""
    ):
        Static.open("somebody/something")


def test_a_copy_in_the_hub_s_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, static_folder: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    copy = tmp_path / "hub" / "models--somebody--something" / "snapshots" / "abc"
    shutil.copytree(static_folder, copy)
    assert Static.open("somebody/something").name == "static somebody/something"


def test_a_missing_library(static_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    static = Static.open(static_folder)
    monkeypatch.setitem(__import__("sys").modules, "model2vec", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'unruly\[static\]'"):
        static.encode(["good"])


def test_bad_options(static_folder: Path) -> None:
    with pytest.raises(SettingsError, match="max_tokens"):
        Static.open(static_folder, max_tokens=0)


def test_features_that_are_not_brought_to_unit_length(static_folder: Path) -> None:
    config = json.loads((static_folder / "config.json").read_text())
    (static_folder / "config.json").write_text(json.dumps({**config, "normalize": False}))
    static = Static.open(static_folder)
    np.testing.assert_allclose(static.encode(["good"])[0], static.vectors[1], rtol=1e-6)


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def tokenizer(*normalizers: dict[str, Any], **parts: Any) -> str:
    sequence = {"type": "Sequence", "normalizers": list(normalizers)}
    return json.dumps({"normalizer": sequence, "model": model("WordPiece"), **parts})


def model(kind: str, **options: Any) -> dict[str, Any]:
    return {"type": kind, "unk_token": "[UNK]", "vocab": {"[UNK]": 0}, **options}


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
        tokenizer(replace("", "b" * 60)),
        tokenizer(replace("a", "B" * 60), {"type": "Lowercase"}, replace("b", "A" * 60)),
        tokenizer(replace(" ", "!"), replace("!", " ! "), replace(" ", "!"), replace("!", " ! ")),
        tokenizer(replace(" ", "A"), {"type": "Lowercase"}, replace("a", " a ")),
        tokenizer(*[{"type": "Prepend", "prepend": "b" * 60}] * 3000),
        tokenizer(char_map(b"xx"), char_map(b"xx")),
        tokenizer(*[{"type": "ByteLevel"}] * 30),
        tokenizer(model=model("WordPiece", max_input_chars_per_word=10**9)),
        tokenizer(model=model("WordPiece", unk_token="[none]")),
        tokenizer(model=model("Unigram", unk_id=0, vocab=[["[UNK]", 0.0], ["a" * 3000, -1.0]])),
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


@pytest.mark.parametrize("number", [10**9, -1, "7"])
def test_a_token_far_beyond_the_vectors_is_refused(static_folder: Path, number: object) -> None:
    path = static_folder / "tokenizer.json"
    plain = json.loads(path.read_text())
    plain["model"]["vocab"]["film"] = number
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match=f"gives a token the number {number}, but there are"):
        Static.open(static_folder)


def test_what_real_models_have_is_taken() -> None:
    spaced = [replace(sign, f" {sign} ") for sign in string.punctuation]  # as model2vec writes
    check_tokenizer(tokenizer({"type": "Lowercase"}, *spaced, replace(r"\s+", " ", "Regex")), "x")
    check_tokenizer(tokenizer({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁")), "x")
    check_tokenizer(tokenizer(char_map(b"x" * LONGEST, b"", b"fi")), "x")
    check_tokenizer(tokenizer(replace("``", '"'), replace("''", '"'), {"type": "NFKD"}), "x")


def test_what_gives_a_text_no_tokens_is_left_out(static_folder: Path) -> None:
    path = static_folder / "tokenizer.json"
    before = Static.open(static_folder).encode(TEXTS)
    plain = json.loads(path.read_text())
    text = {"Sequence": {"id": "A", "type_id": 0}}
    plain["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [text] * 100_000,
        "pair": [text, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {},
    }
    plain["padding"] = {
        "strategy": {"Fixed": 500_000_000},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[UNK]",
    }
    path.write_text(json.dumps(plain))
    assert np.array_equal(Static.open(static_folder).encode(TEXTS), before)


def test_a_bomb_in_a_folder_is_refused_too(static_folder: Path) -> None:
    path = static_folder / "tokenizer.json"
    plain = json.loads(path.read_text())
    plain["normalizer"] = replace("(a+)+b", "", "Regex")
    path.write_text(json.dumps(plain))
    with pytest.raises(InputError, match="not on the list"):
        Static.open(static_folder)
