"""The model in service: which files are refused, and what a replaced one does."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from unruly.errors import InputError, ModelFileError
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.serve.service import ModelFile, load_served, rules_in_words


def test_ready_with_its_checksum(model: Path) -> None:
    served = load_served(model)
    assert served.checksum == model.read_bytes()[-64:].decode()
    assert served.stamp.bytes == model.stat().st_size


def test_missing_damaged_and_fitted_on_features(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no such file"):
        load_served(tmp_path / "none.unruly")
    damaged = tmp_path / "damaged.unruly"
    damaged.write_bytes(model.read_bytes()[:-200])
    with pytest.raises(ModelFileError, match="not a whole unruly model"):
        load_served(damaged)
    features = np.random.default_rng(0).normal(size=(20, 3))
    votes = np.tile([[0, -1], [1, 1]], (10, 1))
    WeakClassifier().fit(features, votes).save(tmp_path / "features.unruly")
    with pytest.raises(InputError, match="fitted on features"):
        load_served(tmp_path / "features.unruly")


def test_reload_takes_a_whole_file_and_keeps_the_old_one_otherwise(
    tmp_path: Path, model: Path, other_model: Path
) -> None:
    path = tmp_path / "spam.unruly"
    shutil.copy(model, path)
    first = load_served(path)
    file, told = ModelFile(path, (), first), list[str]()

    async def until(outcomes: int) -> None:
        watching = asyncio.create_task(file.watch(lambda outcome, _: told.append(outcome), 0.02))
        for _ in range(1000):
            await asyncio.sleep(0.02)
            if len(told) == outcomes:
                break
        watching.cancel()

    def replaced(data: bytes) -> None:
        part = tmp_path / "part"
        part.write_bytes(data)
        os.replace(part, path)

    replaced(b"no model at all")
    asyncio.run(until(1))
    assert told == ["failed"]
    assert (file.served.checksum, "not a whole" in str(file.problem)) == (first.checksum, True)
    replaced(other_model.read_bytes())
    asyncio.run(until(2))
    assert told == ["failed", "done"]
    assert str(file.problem) == "None"
    assert file.served.checksum == load_served(other_model).checksum != first.checksum
    path.unlink()  # gone: the model stays in service
    asyncio.run(asyncio.wait_for(asyncio.sleep(0.1), 5))
    assert file.served.checksum == load_served(other_model).checksum


def test_rules_in_words_name_every_class_of_a_partial_vote() -> None:
    texts = ["refund now", "a crash", "lovely", "angry crash"] * 5
    sources = Sources(
        ["praise", "billing", "bug"],
        [
            Source("refund", [Rule("billing", Keywords(["refund"]))]),
            Source("crash", [Rule(["billing", "bug"], Keywords(["crash"]))]),
            Source("angry", [Rule(None, Keywords(["angry"]), not_label="praise")]),
            Source("lovely", [Rule("praise", Keywords(["lovely"]))]),
        ],
    )
    fitted = WeakClassifier("lsa", cache=False).fit(texts, sources=sources)._fitted()
    assert [rule["label"] for rule in rules_in_words(fitted)] == [
        "billing",
        ["billing", "bug"],
        ["billing", "bug"],
        "praise",
    ]
