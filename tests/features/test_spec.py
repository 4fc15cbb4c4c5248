"""What a user may write for `encoder`, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError, SettingsError
from unruly.facts import EncoderFallback
from unruly.features import minilm
from unruly.features.custom import PrecomputedFeatures
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.spec import encoder_from
from unruly.features.static import Static
from unruly.features.transformer import Transformer
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
        (3, "expected a name, a path, a table or a list, not int"),
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
