"""Saved encoders: every kind comes back, and what is damaged is refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from unruly.errors import ModelFileError
from unruly.features.given import Given
from unruly.features.lsa import Lsa
from unruly.features.minilm import MiniLM
from unruly.features.saving import kind_of, load_encoder, load_one, save_encoder
from unruly.features.several import Several
from unruly.texts.corpus import Corpus

CORPUS = Corpus.from_texts([f"a {'good' if i % 2 else 'bad'} film" for i in range(20)])


def saved(folder: Path) -> Path:
    save_encoder(Several((Lsa(dim=2), Lsa(dim=3, chars=True))).fit(CORPUS), folder)
    return folder


def test_the_same_encoder_twice_makes_the_same_bytes(tmp_path: Path) -> None:
    one, two = saved(tmp_path / "one"), saved(tmp_path / "two")
    files = [path.relative_to(one) for path in one.rglob("*") if path.is_file()]
    assert files
    assert all((one / file).read_bytes() == (two / file).read_bytes() for file in files)


@pytest.mark.parametrize(
    "encoder",
    [Lsa(dim=2).fit(["a b", "b c"]), MiniLM(layers=(3,)), Given.from_array(np.ones((2, 2)))],
)
def test_every_kind_comes_back(encoder: Lsa | MiniLM | Given, tmp_path: Path) -> None:
    encoder.save(tmp_path)
    loaded = load_one(kind_of(encoder), tmp_path)
    assert type(loaded) is type(encoder)
    assert loaded.name == encoder.name
    assert loaded.width == encoder.width


def test_a_missing_plan(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="the encoder cannot be read"):
        load_encoder(tmp_path)


def test_a_newer_format(tmp_path: Path) -> None:
    plan = saved(tmp_path / "a") / "encoder.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "format": 99}))
    with pytest.raises(
        ModelFileError,
        match="format 99, this version reads 2 to 3: fit the model anew, or pip install",
    ):
        load_encoder(plan.parent)


def test_an_unknown_kind(tmp_path: Path) -> None:
    plan = saved(tmp_path / "a") / "encoder.json"
    plan.write_text(plan.read_text().replace('"lsa"', '"pickle"'))
    with pytest.raises(ModelFileError, match="unknown kind of encoder, 'pickle'"):
        load_encoder(plan.parent)


@pytest.mark.parametrize("name", ["lsa.json", "lsa.safetensors"])
def test_damaged_files(tmp_path: Path, name: str) -> None:
    file = saved(tmp_path / "a") / "block0" / name
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(ModelFileError, match="block0: the encoder cannot be read") as caught:
        load_encoder(tmp_path / "a")
    assert "\n" not in str(caught.value)
