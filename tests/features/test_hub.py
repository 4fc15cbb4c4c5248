"""Models of the hub: where weights are looked for, that wrong ones are refused; a tiny BERT made here, its pooling, its layers."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unruly.errors import InputError, SettingsError
from unruly.features import hub
from unruly.features.encoder import batches, readable
from unruly.features.hub import Transformer
from unruly.texts.columns import without_surrogates

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


def snapshot(hub: Path, revision: str, *files: str) -> Path:
    folder = hub / "models--a--b" / "snapshots" / revision
    folder.mkdir(parents=True)
    for name in files:
        (folder / name).write_text("x")
    return folder


def test_the_hub_s_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert hub.hub_folder() == Path.home() / ".cache" / "huggingface" / "hub"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert hub.hub_folder() == tmp_path / "x" / "huggingface" / "hub"
    monkeypatch.setenv("HF_HOME", str(tmp_path / "y"))
    assert hub.hub_folder() == tmp_path / "y" / "hub"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "z"))
    assert hub.hub_folder() == tmp_path / "z"


def test_the_newest_copy_that_is_complete(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    old = snapshot(tmp_path, "old", "a", "b")
    new = snapshot(tmp_path, "new", "a", "b")
    newest = snapshot(tmp_path, "newest", "a")
    for age, folder in enumerate((newest, new, old)):
        os.utime(folder, (10_000 - age, 10_000 - age))
    assert hub.cached("a/b", ("a", "b")) == new
    assert hub.cached("a/b", ("a", "c")) is None


def test_a_folder_in_an_installed_package() -> None:
    found = hub.in_wheel("unruly", "features")
    assert found is not None
    assert (found / "hub.py").is_file()
    assert hub.in_wheel("unruly", "no_such_folder") is None


def test_nothing_is_downloaded_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: pytest.fail("looked further"))
    assert hub.downloaded("a/b", ("a",)) is None


def test_a_download_that_fails_is_no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("huggingface_hub")

    def fail(*_: object, **__: object) -> str:
        raise OSError("no network")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "0")
    monkeypatch.setattr(library, "snapshot_download", fail)
    monkeypatch.setattr(hub, "on_hub", lambda name: True)
    assert hub.downloaded("a/b", ("a",)) is None


def test_hashes(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"weights")
    right = hashlib.sha256(b"weights").hexdigest()
    hub.check_hash(tmp_path / "w", right)
    with pytest.raises(
        InputError, match=f"SHA-256 is {right}, not the official abc, so the file is refused"
    ):
        hub.check_hash(tmp_path / "w", "abc")


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 100))
def test_every_row_once_one_length_a_batch(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(row for batch in found for row in batch.tolist()) == list(range(len(lengths)))
    for batch in found:
        sizes = {lengths[row] for row in batch}
        assert len(sizes) == 1
        assert len(batch) == 1 or len(batch) * sizes.pop() <= budget


@given(st.text(alphabet=st.characters(), max_size=20))
def test_a_tokenizer_gets_what_the_server_and_a_json_file_would_give_it(text: str) -> None:
    [found] = readable([text], 512)
    found.encode()
    assert found == without_surrogates(text)
