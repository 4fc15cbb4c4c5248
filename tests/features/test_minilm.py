"""minilm: the official weights or none, close to float32, the same bits in any company."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.features.conftest import needs_minilm

from unruly.errors import InputError, MissingExtraError, SettingsError
from unruly.features import hub, minilm
from unruly.features.minilm import (
    FILES,
    SHA256,
    TOKENIZER_SHA256,
    MiniLM,
    find_weights,
)
from unruly.features.registry import (
    AllowedEncoders,
    NamedByFile,
    encoder_from_bytes,
    encoder_to_bytes,
    named_by_file,
)

TEXTS = [
    "a good film",
    "a bad film",
    "the plot is thin but the actors save it",
    "the actors are thin but the plot saves it",
    "please subscribe to my channel !!!",
    "",
]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> MiniLM:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNRULY_CACHE", str(tmp_path_factory.mktemp("cache")))
        built = MiniLM(layers=(4, 6))
        built.encode(["warm"])
    return built


@needs_minilm
def test_close_to_float32(encoder: MiniLM) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = str(find_weights())
    network = transformers.AutoModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ours = encoder.encode(TEXTS)
    alike = []
    for row, text in enumerate(TEXTS):
        with torch.inference_mode():
            states = network(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        for block, layer in enumerate((4, 6)):
            exact = states.hidden_states[layer][0].mean(dim=0).numpy()
            found = ours[row, 384 * block : 384 * (block + 1)]
            alike.append(found @ exact / np.linalg.norm(exact))
            assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
    assert min(alike[:-2]) > 0.99
    assert min(alike) > 0.95  # the empty text: two tokens, whose errors do not average out


@needs_minilm
def test_the_same_bits_in_any_company(encoder: MiniLM, odd_texts: list[str]) -> None:
    texts = [*TEXTS, *odd_texts, *(f"text number {i} of a few" for i in range(30))]
    together = encoder.encode(texts)
    order = np.random.default_rng(0).permutation(len(texts))
    assert np.isfinite(together).all()
    assert np.array_equal(encoder.encode([texts[row] for row in order]), together[order])
    assert np.array_equal(np.concatenate([encoder.encode([text]) for text in texts]), together)


@needs_minilm
def test_saved_and_loaded_bit_for_bit(encoder: MiniLM) -> None:
    loaded = MiniLM.from_state(encoder.state())
    assert loaded.identity == encoder.identity
    assert np.array_equal(loaded.encode(TEXTS), encoder.encode(TEXTS))


@needs_minilm
def test_what_changes_the_features_changes_the_identity(encoder: MiniLM) -> None:
    others = [MiniLM(layers=(6,)), MiniLM(layers=(6, 4)), MiniLM(max_tokens=64)]
    assert len({encoder.identity, *(other.identity for other in others)}) == 4
    assert MiniLM(threads=1).identity == encoder.identity


@needs_minilm
def test_no_texts(encoder: MiniLM) -> None:
    assert encoder.encode([]).shape == (0, 768)


@needs_minilm
@pytest.mark.parametrize(
    ("name", "official"), [("model.safetensors", SHA256), ("tokenizer.json", TOKENIZER_SHA256)]
)
def test_files_with_the_wrong_hash_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, official: str
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    for file in FILES:
        shutil.copy(find_weights() / file, tmp_path / file)
    flip(tmp_path / name, -3)
    with pytest.raises(
        InputError, match=f"SHA-256 is .* not the official {official}, so the file is refused"
    ):
        MiniLM(folder=tmp_path).encode(["a"])


@needs_minilm
def test_word_vectors_that_changed_since_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    for file in FILES:
        shutil.copy(find_weights() / file, tmp_path / file)
    once = MiniLM(layers=(1,), folder=tmp_path).encode(["a film"])
    vectors = minilm.WordVectors.learn(tmp_path / "model.safetensors").table
    assert isinstance(vectors, np.memmap)
    token = MiniLM(folder=tmp_path).tokenizer.token_to_id("film")
    flip(tmp_path / "model.safetensors", vectors.offset + 4 * 384 * token)
    again = MiniLM(layers=(1,), folder=tmp_path)
    with pytest.raises(InputError, match=r"not the official .*, so the file is refused"):
        again.encode(["a film"])
    flip(tmp_path / "model.safetensors", vectors.offset + 4 * 384 * token)
    assert np.array_equal(MiniLM(layers=(1,), folder=tmp_path).encode(["a film"]), once)
    (tmp_path / "model.safetensors").write_bytes(b"{}")
    with pytest.raises(InputError, match=r"not the official .*, so the file is refused"):
        MiniLM(layers=(1,), folder=tmp_path).encode(["a film"])


@needs_minilm
def test_a_damaged_graph_is_built_again(
    encoder: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path))
    once = MiniLM(layers=(2,)).encode(TEXTS)
    (graph,) = tmp_path.rglob("*.graph")
    whole = graph.read_bytes()
    flip(graph, 1_000)
    assert np.array_equal(MiniLM(layers=(2,)).encode(TEXTS), once)
    assert graph.read_bytes() == whole


@needs_minilm
def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "file"))
    assert MiniLM(layers=(1,)).encode(["a"]).shape == (1, 384)


TELEMETRY = """
import os, sys
from unruly.features import minilm
assert "onnxruntime" not in sys.modules
calls = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            calls.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.meta_path.insert(0, Watch())
library = minilm.runtime_library()
print(calls, os.environ["ORT_DISABLE_TELEMETRY"])
"""


@needs_minilm
def test_telemetry_is_off_before_the_library_is_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [sys.executable, "-c", TELEMETRY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "['1'] 1"
    assert list(tmp_path.rglob("*")) == []  # no device id, no event database


def test_telemetry_is_switched_off_by_the_library_s_own_switch_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[str] = []
    library = SimpleNamespace(disable_telemetry_events=lambda: calls.append("off"))
    monkeypatch.setitem(sys.modules, "onnxruntime", library)
    minilm.runtime_library()
    assert calls == ["off"]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


def test_weights_that_are_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(hub, "in_wheel", lambda package, inside: None)
    with pytest.raises(
        InputError, match=r"looked for .*all-MiniLM.* in .*pip install 'unruly\[minilm\]'.*lsa"
    ):
        MiniLM().encode(["a"])
    assert not minilm.available()


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"minilm features need .*'unruly\[minilm\]'"):
        _ = MiniLM().identity
    assert not minilm.available()


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names that are looked up on the network, which fails; no weights are on this machine."""
    names: list[str] = []

    def fail(host: str, *args: object, **options: object) -> None:
        names.append(host)
        raise socket.gaierror("no network")

    for switch in hub.OFFLINE_SWITCHES:
        monkeypatch.setenv(switch, "0")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "in_wheel", lambda package, inside: None)
    return names


def saved_and_loaded(permitted: AllowedEncoders) -> MiniLM:
    found = encoder_from_bytes(*encoder_to_bytes(MiniLM()), permitted, "a.unruly")
    assert isinstance(found, MiniLM)
    return found


@needs_minilm
def test_a_model_file_never_looks_for_weights_on_the_network(lookups: list[str]) -> None:
    with pytest.raises(InputError, match=r"no weights: .*encoders=\"minilm\"") as caught:
        saved_and_loaded(AllowedEncoders()).encode(["a"])
    assert "on the Hugging Face hub" not in str(caught.value)
    assert lookups == []


@needs_minilm
@pytest.mark.parametrize(
    "make",
    [MiniLM, lambda: saved_and_loaded(AllowedEncoders.of("minilm"))],
    ids=["fitted", "loaded"],
)
def test_who_names_it_lets_its_weights_be_looked_for(
    make: Callable[[], MiniLM], lookups: list[str]
) -> None:
    with pytest.raises(InputError, match="and on the Hugging Face hub"):
        make().encode(["a"])
    assert set(lookups) == {"huggingface.co"}


def test_a_model_file_that_names_it_does_not_look_for_its_weights_to_fit_again(
    lookups: list[str],
) -> None:
    for spec in ("minilm", ["lsa", {"name": "minilm", "layer": 6}]):
        assert named_by_file(spec, AllowedEncoders()) == NamedByFile(spec)
        assert named_by_file(spec, AllowedEncoders.of("minilm")) == spec
    assert lookups == []


def test_the_hub_s_cache_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "abc"
    copy.mkdir(parents=True)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for name in FILES:
        (copy / name).write_text("here")
    assert find_weights() == copy


def test_bad_options() -> None:
    with pytest.raises(SettingsError, match="between 1 and 6, not \\[7\\]"):
        MiniLM(layers=(7,))
    with pytest.raises(SettingsError, match="max_tokens"):
        MiniLM(max_tokens=2)
