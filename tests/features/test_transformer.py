"""Transformers by path: a tiny BERT made here, its pooling, its layers, and a hub out of reach."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError, SettingsError
from unruly.features.transformer import Transformer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEXTS = ["a good film", "bad film", "a", "", "good bad good bad film film"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights."""
    place = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film"]
    (place / "vocab.txt").write_text("\n".join(words))
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=24,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(place)
    transformers.BertTokenizer(str(place / "vocab.txt")).save_pretrained(place)
    return place


def hidden(folder: Path, text: str, layer: int) -> np.ndarray:
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    network = transformers.AutoModel.from_pretrained(str(folder)).eval()
    with torch.inference_mode():
        states = network(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
    return np.asarray(states.hidden_states[layer][0].numpy())


@pytest.mark.parametrize("layer", [-1, 1])
def test_pooling(folder: Path, layer: int) -> None:
    mean = Transformer(str(folder), "mean", layer).encode(TEXTS)
    cls = Transformer(str(folder), "cls", layer).encode(TEXTS)
    states = hidden(folder, TEXTS[0], layer)
    np.testing.assert_allclose(mean[0], states.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(cls[0], states[0], atol=1e-5)


def test_the_folder_s_own_pooling(folder: Path) -> None:
    assert Transformer(str(folder)).name.endswith("(mean)")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    told = folder / "1_Pooling" / "config.json"
    told.write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert Transformer(str(folder)).name.endswith("(cls)")
    told.unlink()


def test_the_same_bits_in_any_company(folder: Path, odd_texts: list[str]) -> None:
    encoder = Transformer(str(folder), "mean")
    texts = [*TEXTS, *odd_texts]
    together = encoder.encode(texts)
    assert np.isfinite(together).all()
    assert np.array_equal(together, np.concatenate([encoder.encode([text]) for text in texts]))


def test_saved_and_loaded_bit_for_bit(folder: Path) -> None:
    encoder = Transformer(str(folder), "cls", max_tokens=16)
    loaded = Transformer.from_state(encoder.state())
    assert np.array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))
    with pytest.raises(InputError, match="differ from those that the model was fitted with"):
        Transformer.from_state({**encoder.state(), "identity": "another"})


def test_a_layer_that_is_not_there(folder: Path) -> None:
    with pytest.raises(SettingsError, match="layer 7 is not there: it has 2"):
        Transformer(str(folder), layer=7).encode(["a"])


def test_a_model_that_nobody_has_fails_in_seconds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[float] = []

    def ask(self: object, name: str, *, timeout: float) -> None:
        asked.append(timeout)
        raise OSError("no network")

    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", ask)
    monkeypatch.setattr(
        transformers.AutoModel, "from_pretrained", lambda *_, **__: pytest.fail("looked further")
    )
    with pytest.raises(InputError, match="on the Hugging Face hub"):
        Transformer("nobody/nothing").encode(["a"])
    assert asked == [5.0]


EVIL = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"


def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    shutil.copytree(folder, evil)
    config = json.loads((evil / "config.json").read_text())
    config |= {
        "model_type": "evil",
        "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},
    }
    (evil / "config.json").write_text(json.dumps(config))
    (evil / "evil.py").write_text(EVIL)
    with pytest.raises(InputError):
        Transformer(str(evil), "mean").encode(["a"])
    assert not list(tmp_path.rglob("*.ran"))


def test_a_hub_out_of_reach(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        InputError, match=r"no such model: looked for a folder .* encoder = \"auto\""
    ) as caught:
        Transformer("nobody/nothing").encode(["a"])
    assert "\n" not in str(caught.value)
