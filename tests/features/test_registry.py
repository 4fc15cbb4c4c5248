"""What a user may write for `encoder`; saved encoders come back, what is damaged is refused, and nothing foreign is opened."""

from __future__ import annotations

import builtins
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from unruly.errors import InputError, ModelFileError, SettingsError
from unruly.features import minilm
from unruly.features.custom import PrecomputedFeatures
from unruly.features.encoder import Encoder, import_path
from unruly.features.hub import Transformer
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.registry import (
    AllowedEncoders,
    encoder_from,
    encoder_from_bytes,
    encoder_to_bytes,
    refused,
)
from unruly.features.stack import PLAN, EncoderStack
from unruly.features.static import Static
from unruly.findings import EncoderFallback
from unruly.texts.corpus import Corpus


def kinds(spec: object, folder: Path | None = None) -> list[type]:
    return [type(encoder) for encoder in encoder_from(spec, folder).encoders]


def test_names() -> None:
    assert kinds("lsa") == [Lsa]
    assert kinds(["minilm", "lsa"]) == [MiniLM, Lsa]
    assert kinds(("lsa", {"name": "lsa", "dim": 3})) == [Lsa, Lsa]


def test_options() -> None:
    assert encoder_from({"name": "minilm", "layer": 5}).encoders[0] == MiniLM(layers=(5,))
    both = {"name": "minilm", "layer": [2, 6], "max_tokens": 64, "threads": 1}
    assert encoder_from(both).encoders[0] == MiniLM(layers=(2, 6), max_tokens=64, threads=1)
    options = {"name": "transformer", "model": "some/model", "pooling": "cls", "layer": 3}
    expected = Transformer("some/model", pooling="cls", layer=3)
    assert encoder_from(options).encoders[0] == expected


def test_paths_start_at_the_project(static_folder: Path) -> None:
    home = static_folder.parent
    np.save(home / "mine.npy", np.ones((2, 3)))
    assert kinds("tiny", home) == [Static]
    assert kinds(str(static_folder)) == [Static]
    assert kinds({"name": "static", "model": "tiny"}, home) == [Static]
    assert kinds("mine.npy", home) == [PrecomputedFeatures]
    assert kinds({"name": "features", "path": "mine.npy"}, home) == [PrecomputedFeatures]
    assert kinds({"name": "features", "column": "vector"}) == [PrecomputedFeatures]


def test_arrays_encoders_and_what_was_made_before() -> None:
    assert kinds(np.ones((2, 3))) == [PrecomputedFeatures]
    assert kinds(Lsa()) == [Lsa]
    made = encoder_from("lsa")
    assert encoder_from(made) is made


def test_names_on_the_hub() -> None:
    assert kinds("bert-base-uncased") == [Transformer]
    assert kinds("sentence-transformers/all-mpnet-base-v2") == [Transformer]


def test_auto_takes_the_best_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "available", lambda: True)
    assert kinds("auto") == [MiniLM, Lsa]
    assert encoder_from("auto").name == "minilm layer 4+6 + lsa"
    assert encoder_from("auto").notes() == ()
    monkeypatch.setattr(minilm, "available", lambda: False)
    assert kinds("auto") == [Lsa]


def test_auto_says_when_it_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "available", lambda: False)
    fallback = (EncoderFallback("lsa", "minilm", "minilm"),)
    assert encoder_from("auto").notes() == fallback
    assert encoder_from("auto").fit(Corpus.from_texts(["a b", "b c"])).notes() == fallback
    assert encoder_from("lsa").notes() == ()


@pytest.mark.parametrize("name", ["lsaa", "tfidf", "word2vec", "MiniLM-L6", "bret-base"])
def test_a_misspelt_encoder_fails_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("asked the network"))
    with pytest.raises(SettingsError, match=f"there is no encoder '{name}', nor a folder"):
        encoder_from(name)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("minilmm", "no encoder 'minilmm', nor a folder of that name: did you mean 'minilm'?"),
        ({"name": "lsa", "dims": 3}, "no option 'dims': did you mean 'dim'?"),
        ({"name": "auto", "dim": 3}, "encoder auto: there is no option 'dim': it takes none"),
        ({"name": "lsa", "dim": "big"}, "dim must be a whole number, not 'big'"),
        ({"name": "lsa", "chars": "yes"}, "chars must be true or false"),
        ({"name": "minilm", "layer": 9}, "layer must lie between 1 and 6"),
        ({"name": "minilm", "layer": "last"}, "layer must be a whole number or a list"),
        ({"dim": 3}, "a table needs a name"),
        (
            3,
            "expected a name, a path, a table, a list, or an object with the methods fit and encode, not int",
        ),
        (
            {"name": "transformer", "model": "x", "pooling": "max"},
            "pooling must be 'mean' or 'cls'",
        ),
    ],
)
def test_settings_that_are_refused(spec: object, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        encoder_from(spec)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_input_that_is_refused() -> None:
    with pytest.raises(InputError, match="the list is empty"):
        encoder_from([])
    with pytest.raises(InputError, match="model is missing: give the path or the hub name"):
        encoder_from({"name": "static"})
    with pytest.raises(InputError, match=r"nowhere\.npy: there is no such file"):
        encoder_from("nowhere.npy")


def test_the_home_of_nobody_is_refused() -> None:
    with pytest.raises(SettingsError, match="~nobody-here has no home folder here"):
        encoder_from(["~nobody-here/model"])


CORPUS = Corpus.from_texts([f"a {'good' if i % 2 else 'bad'} film" for i in range(20)])
FITTED = EncoderStack((Lsa(dim=2), Lsa(dim=3, chars=True))).fit(CORPUS)


def read(files: dict[str, bytes], encoders: object = None) -> EncoderStack:
    return EncoderStack.from_members(files, AllowedEncoders.of(encoders), "model.unruly")


def test_the_same_encoder_twice_makes_the_same_bytes() -> None:
    again = EncoderStack(FITTED.encoders).fit(CORPUS)
    assert again.to_members() == FITTED.to_members()


@pytest.mark.parametrize(
    "encoder",
    [
        Lsa(dim=2).fit(["a b", "b c"]),
        MiniLM(layers=(3,)),
        PrecomputedFeatures.from_array(np.ones((2, 2))),
    ],
)
def test_every_kind_comes_back(encoder: Encoder) -> None:
    loaded = encoder_from_bytes(*encoder_to_bytes(encoder), AllowedEncoders(), "here")
    assert type(loaded) is type(encoder)
    assert loaded.name == encoder.name
    assert loaded.width == encoder.width


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plan: None, "the encoder cannot be read"),
        (lambda plan: {**plan, "format": 99}, "format 99, this version reads"),
        (lambda plan: {**plan, "parts": [{}]}, "the encoder cannot be read"),
        (lambda plan: {**plan, "parts": 3}, "the encoder cannot be read"),
        (lambda plan: altered(plan, scales=[0.0, 1.0]), "one scale above 0"),
        (lambda plan: altered(plan, scales=[1.0]), "one scale above 0"),
        (lambda plan: altered(plan, scales="12"), "needs .* scales"),
        (lambda plan: altered(plan, encoder=7), "the encoder cannot be read"),
        (lambda plan: altered(plan, encoder="../0"), "the encoder cannot be read"),
        (lambda plan: altered(plan, view=3), "a view"),
    ],
)
def test_a_senseless_plan(change: Callable[[dict[str, object]], object], message: str) -> None:
    files = FITTED.to_members()
    files[PLAN] = json.dumps(change(json.loads(files[PLAN]))).encode()
    with pytest.raises(ModelFileError, match=message) as caught:
        read(files)
    assert "\n" not in str(caught.value)


def altered(plan: dict[str, object], **values: object) -> dict[str, object]:
    parts = plan["parts"]
    assert isinstance(parts, list)
    return {**plan, "parts": [{**parts[0], **values}, *parts[1:]]}


@pytest.mark.parametrize("name", ["part0.json", "part0.safetensors", PLAN])
def test_missing_and_damaged_files(name: str) -> None:
    files = FITTED.to_members()
    for bad in ({**files, name: files[name][:20]}, {k: v for k, v in files.items() if k != name}):
        with pytest.raises(ModelFileError, match=r"model\.unruly") as caught:
            read(bad)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "pickle"}, "an unknown kind of encoder, 'pickle'"),
        ({"kind": "os.system"}, "an unknown kind"),
        ({"kind": 3}, "an unknown kind"),
        ({"state": []}, "cannot be read"),
        ({"state": {"terms": [], "dim": 2}}, "cannot be read"),
        ({"state": {"$array": "a0"}}, "cannot be read"),
        ({"state": {"$array": "zz"}}, "cannot be read"),
    ],
)
def test_a_senseless_encoder(change: dict[str, object], message: str) -> None:
    files = FITTED.to_members()
    files["part0.json"] = json.dumps({**json.loads(files["part0.json"]), **change}).encode()
    with pytest.raises(ModelFileError, match=message):
        read(files)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("packed", lambda array: array[:-1]),
        ("packed", lambda array: array.astype(np.float32)),
        ("scale", lambda array: array * np.nan),
        ("scale", lambda array: array[:-1]),
        ("keys", lambda array: array[::-1].copy()),
        ("keys", lambda array: array.astype(np.int32)),
        ("idf", lambda array: array[:-1]),
        ("idf", lambda array: array * np.inf),
    ],
)
def test_arrays_that_do_not_fit(name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    text, tensors = encoder_to_bytes(FITTED.parts[0].encoder)
    state = json.loads(text)["state"]
    at = (state["axes"][0] | state["terms"][0])[name]["$array"]
    arrays = {**load(tensors)}
    arrays[at] = change(arrays[at])
    with pytest.raises(ModelFileError, match="lsa"):
        encoder_from_bytes(text, save(arrays), AllowedEncoders(), "here")


def test_tokens_beyond_the_vectors_are_refused(static_folder: Path) -> None:
    static = Static.open(static_folder)
    with pytest.raises(ValueError, match="does not match number of vectors"):
        Static.from_state({**static.state(), "vectors": static.vectors[:3]})


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_flipped_byte_is_an_error_of_ours_or_harmless(data: st.DataObject) -> None:
    files = FITTED.to_members()
    name = data.draw(st.sampled_from(sorted(files)))
    bad = bytearray(files[name])
    bad[data.draw(st.integers(0, len(bad) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        features = read({**files, name: bytes(bad)}).encode(CORPUS)
    except (ModelFileError, InputError):
        return
    assert features.n == len(CORPUS)


# --- What a file names is opened only when the user names it as well. ---


class Own:
    """An encoder of the user's."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def fit(self, texts: list[str]) -> Own:
        return self

    def encode(self, texts: list[str]) -> list[list[float]]:
        return [[self.factor * len(text), 1.0] for text in texts]

    def state(self) -> dict[str, object]:
        return {"factor": np.array([self.factor])}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Own:
        return cls(float(state["factor"][0]))


PATH = import_path(Own)


def own_files() -> dict[str, bytes]:
    from unruly.features.registry import encoder_from

    return encoder_from(Own(3.0)).fit(CORPUS).to_members()


@pytest.mark.parametrize("given_as", [Own, {PATH: Own}, [Own], Own(3.0), {PATH: Own(3.0)}])
def test_an_encoder_of_the_users_own_comes_back_when_it_is_named(given_as: object) -> None:
    loaded = read(own_files(), given_as)
    assert loaded.name == "Own"
    raw = loaded.parts[0].encoder.encode(["ab"])
    assert raw.tolist() == [[6.0, 1.0]]
    assert loaded.to_members() == own_files()


@pytest.mark.parametrize("given_as", [None, "bert-base-uncased", {"other:Class": Own}, Lsa])
def test_an_encoder_that_is_not_named_is_refused(
    given_as: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "__import__", refuse_import(builtins.__import__))
    with pytest.raises(ModelFileError, match=r"a class that is not unruly's, .*encoders=\{'") as e:
        read(own_files_as("evil_module:Own"), given_as)
    assert "evil_module:Own" in str(e.value)
    assert "evil_module" not in sys.modules


def own_files_as(path: str) -> dict[str, bytes]:
    files = own_files()
    files["part0.json"] = files["part0.json"].replace(PATH.encode(), path.encode())
    return files


def refuse_import(real: Callable[..., object]) -> Callable[..., object]:
    def guarded(name: str, *rest: object, **more: object) -> object:
        assert name not in ("evil_module", "transformers", "torch"), name
        return real(name, *rest, **more)

    return guarded


@pytest.mark.parametrize(
    "model", ["somebody/model", "/somewhere/else", "../up", "bert-base-uncased"]
)
@pytest.mark.parametrize("given_as", [None, "another/model", Own])
def test_a_model_that_is_not_named_is_refused(
    model: str, given_as: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = {"model": model, "pooling": "cls", "layer": -1, "max_tokens": 8, "identity": "x"}
    files = FITTED.to_members()
    files["part0.json"] = json.dumps({"kind": "transformer", "state": state}).encode()
    monkeypatch.setattr(builtins, "__import__", refuse_import(builtins.__import__))
    with pytest.raises(ModelFileError, match="opened only when you name it as well: encoders='"):
        read(files, given_as)


def test_what_is_permitted_is_not_refused() -> None:
    text = json.dumps({"kind": "transformer", "state": {"model": "a/b"}}).encode()
    assert refused({"part0.json": text}, AllowedEncoders.of("a/b")) is None
    assert refused({"part0.json": text}, AllowedEncoders.of(["c/d", "a/b", Own])) is None


def test_a_state_that_json_has_not_is_refused_when_saving() -> None:
    from unruly.features.custom import CustomEncoder

    class Odd(Own):
        def state(self) -> dict[str, object]:
            return {"a": object()}

    with pytest.raises(InputError, match=r"Odd cannot be saved: state\(\) holds a object"):
        encoder_to_bytes(CustomEncoder(Odd()).fit(["a"]))
