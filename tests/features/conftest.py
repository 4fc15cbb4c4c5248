"""What the tests of encoders share: a small static model and a cache of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from unruly.features import minilm

WORDS = ["[UNK]", "good", "bad", "film", "song", "##s", "a", "the", "not", ",", "עברית", "😀"]


@pytest.fixture
def static_folder(tmp_path: Path) -> Path:
    """A Model2Vec folder with a dozen tokens."""
    pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    folder = tmp_path / "tiny"
    folder.mkdir()
    model = tokenizers.models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
    save_file({"embeddings": vectors}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "normalize": True, "hidden_dim": 8}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture
def odd_texts() -> list[str]:
    """Texts that break careless code."""
    return [
        "",
        "   \n\t ",
        "\x00\x07 control \x1b[31m",
        "😀😀 👩‍👩‍👧 🏳️‍🌈",
        "שלום עולם, מה שלומך?",
        "مرحبا بالعالم",
        "我喜欢这部电影",
        "e\u0301 ﷽ \u202eabc",
        "lone \ud83d surrogate",
        "good " * 200_000,
        "x" * 1_000_000,
    ]


needs_minilm = pytest.mark.skipif(
    not minilm.available(), reason="the extra minilm is not installed"
)
