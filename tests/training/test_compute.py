"""Where the work is done: a GPU if there is one, a clear refusal if one was asked for and is not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from unruly.errors import SettingsError
from unruly.features.encoder import Features
from unruly.settings import Settings
from unruly.training.compute import choose_device, computing
from unruly.training.cotraining import cotrain
from unruly.votes.votes import Votes


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_auto_falls_back_to_the_processor() -> None:
    assert choose_device("auto") == torch.device("cpu")
    features = Features.from_array(np.eye(4, dtype=np.float32))
    votes = Votes.from_array([[0, 0], [1, -1], [0, 1], [-1, 1]])
    short = replace(Settings.paper(), epochs=3, hidden=4)
    auto, cpu = (cotrain(features, votes, replace(short, device=d)) for d in ("auto", "cpu"))
    np.testing.assert_array_equal(auto.classifier.w1, cpu.classifier.w1)


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_gpu_that_is_not_there_is_refused_with_the_remedy(device: str) -> None:
    features = Features.from_array(np.eye(2, dtype=np.float32))
    votes = Votes.from_array([[0, 0], [1, -1]])
    message = f"device = '{device}': there is none on this machine; use auto or cpu"
    with pytest.raises(SettingsError, match=message):
        cotrain(features, votes, replace(Settings.paper(), device=device))


def test_auto_takes_a_gpu_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cuda")


def test_threads_are_those_asked_for_and_put_back_even_after_an_error() -> None:
    before = torch.get_num_threads()
    seen = []

    def fail() -> None:
        with computing(replace(Settings(), threads=before + 1)):
            seen.append(torch.get_num_threads())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [before + 1]
    assert torch.get_num_threads() == before
