"""The schedule by hand, from the formula of Howard and Ruder (2018).

The language model: what it learns, drops, and writes down.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from unruly.errors import InputError, SettingsError
from unruly_lab.peers.language_model import (
    Dropouts,
    LanguageModel,
    LanguageTraining,
    SlantedTriangular,
    discriminative_rates,
    dropped,
    next_word_loss,
    open_language_model,
    sampled_next_word_loss,
)
from unruly_lab.peers.vocabulary import TokenIds, Vocabulary


def by_hand(t: int, steps: int, cut_frac: float, ratio: float, highest: float) -> float:
    cut = int(steps * cut_frac)
    p = t / cut if t < cut else 1 - (t - cut) / (cut * (1 / cut_frac - 1))
    return highest * (1 + p * (ratio - 1)) / ratio


@pytest.mark.parametrize("t", [0, 1, 99, 100, 101, 999])
def test_the_papers_formula(t: int) -> None:
    rate = 0.01 * SlantedTriangular(1000).share(t)
    assert rate == pytest.approx(by_hand(t, 1000, 0.1, 32, 0.01))


def test_the_rate_is_highest_at_the_cut_and_lowest_at_both_ends() -> None:
    plan = SlantedTriangular(400, cut_frac=0.25, ratio=10)
    rates = [plan.share(t) for t in range(401)]
    assert max(rates) == rates[100] == 1.0
    assert rates[0] == pytest.approx(0.1)
    assert rates[400] == pytest.approx(0.1)


@given(st.integers(1, 3000), st.floats(0.01, 0.9), st.floats(1, 100))
def test_the_rate_never_leaves_its_bounds(steps: int, cut_frac: float, ratio: float) -> None:
    plan = SlantedTriangular(steps, cut_frac, ratio)
    for t in {0, 1, steps // 2, steps - 1}:
        assert 1 / ratio - 1e-9 <= plan.share(t) <= 1 + 1e-9


def test_each_layer_learns_2_6_times_slower_than_the_one_above() -> None:
    rates = discriminative_rates(0.01, 4)
    assert rates[-1] == 0.01
    for lower, upper in pairwise(rates):
        assert upper / lower == pytest.approx(2.6)


@pytest.mark.parametrize(("cut", "ratio"), [(0.0, 32), (1.0, 32), (0.1, 0.5)])
def test_nonsense_is_refused(cut: float, ratio: float) -> None:
    with pytest.raises(SettingsError, match="must"):
        SlantedTriangular(10, cut, ratio)


NO_DROPOUT = Dropouts(scale=0.0)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def counting() -> tuple[TokenIds, Vocabulary]:
    """Texts that count on from a random number, modulo 8: the next word is sure, its share is not."""
    rng = np.random.default_rng(0)
    lists = [[f"w{(s + t) % 8}" for t in range(30)] for s in rng.integers(0, 8, 60)]
    vocabulary = Vocabulary.learn(lists)
    return vocabulary.encode(lists), vocabulary


@pytest.mark.parametrize("extra", [0, 4])
def test_it_learns_which_word_comes_next(extra: int) -> None:
    corpus, vocabulary = counting()
    model = LanguageModel(len(vocabulary), [16, 24, 16], generator())
    training = LanguageTraining(
        streams=16, steps=10, learning_rate=0.03, extra_words=extra, dropouts=NO_DROPOUT
    )
    with torch.no_grad():
        perplexity = training.run(model, corpus, vocabulary, generator())
    assert perplexity < 2.5  # by frequency alone: above 8


def test_the_torch_layer_is_the_reference() -> None:
    model = LanguageModel(9, [4, 6, 4], generator())
    ids = torch.tensor([[3, 4, 5, 6], [7, 8, 3, 4]])
    x = model.embedding[ids]
    for layer in model.stack:
        lstm = torch.nn.LSTM(x.shape[2], layer.size, batch_first=True)
        with torch.no_grad():
            for name in ("w_ih", "w_hh", "b_ih", "b_hh"):
                whole = name.replace("w_", "weight_").replace("b_", "bias_")
                getattr(lstm, f"{whole}_l0").copy_(getattr(layer, name))
        x = lstm(x)[0]
    assert torch.allclose(model(ids, model.start(2))[0], x, atol=1e-6)


def test_the_state_carries_a_text_on() -> None:
    model = LanguageModel(9, [4, 6, 4], generator())
    ids = torch.tensor([[3, 4, 5, 6, 7]])
    whole, _ = model(ids, model.start(1))
    first, state = model(ids[:, :2], model.start(1))
    rest, _ = model(ids[:, 2:], state)
    assert torch.allclose(torch.cat([first, rest], dim=1), whole, atol=1e-6)


def test_dropping_keeps_the_mean_and_is_drawn_from_the_generator() -> None:
    values = torch.ones(200, 200)
    some = dropped(values, 0.3, generator())
    assert float((some == 0).float().mean()) == pytest.approx(0.3, abs=0.02)
    assert float(some.mean()) == pytest.approx(1.0, abs=0.02)
    assert torch.equal(some, dropped(values, 0.3, generator()))
    model, ids = LanguageModel(9, [4, 6, 4], generator()), torch.tensor([[3, 4, 5]])
    plain = model(ids, model.start(1))[0]
    noisy = model(ids, model.start(1), Dropouts(scale=1.0), generator())[0]
    assert not torch.allclose(plain, noisy)


def test_a_sample_of_words_estimates_the_loss_over_all() -> None:
    g = generator()
    states, vectors = torch.randn(400, 8, generator=g) * 0.5, torch.randn(300, 8, generator=g) * 0.5
    share = torch.full((300,), 1 / 300)
    targets = torch.randint(0, 300, (400,), generator=g)
    bias = torch.zeros(300)
    whole = float(next_word_loss(states, targets, vectors, bias))
    sampled = sampled_next_word_loss(states, targets, vectors, bias, share, 50, g)
    assert float(sampled) == pytest.approx(whole, abs=0.05)
    few = [
        float(
            sampled_next_word_loss(
                states[i : i + 40], targets[i : i + 40], vectors, bias, share, 100, g
            )
        )
        for i in range(0, 400, 40)
    ]
    assert float(np.mean(few)) == pytest.approx(whole, abs=0.1)
    assert whole == pytest.approx(math.log(300), abs=0.5)


def test_a_saved_model_is_the_same_again(tmp_path: Path) -> None:
    _, vocabulary = counting()
    model = LanguageModel(len(vocabulary), [4, 6, 4], generator())
    model.save(tmp_path / "english", vocabulary)
    again, words = open_language_model(tmp_path / "english")
    assert words.words == vocabulary.words
    assert np.array_equal(words.counts, vocabulary.counts)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["english"]


def test_a_new_vocabulary_keeps_what_is_known() -> None:
    _, old = counting()
    new = Vocabulary.learn([["w3", "unheard"]])
    model = LanguageModel(len(old), [4, 6, 4], generator())
    other = model.adapted(old, new)
    assert torch.equal(other.embedding[new.numbers["w3"]], model.embedding[old.numbers["w3"]])
    mean = model.embedding.mean(dim=0)
    assert torch.allclose(other.embedding[new.numbers["unheard"]], mean)
    assert torch.equal(other.stack[0].w_hh, model.stack[0].w_hh)


def test_damaged_models_are_refused(tmp_path: Path) -> None:
    _, vocabulary = counting()
    folder = tmp_path / "model"
    with pytest.raises(InputError, match="not a saved language model"):
        open_language_model(folder)
    LanguageModel(len(vocabulary), [4, 4], generator()).save(folder, vocabulary)
    weights = load_file(folder / "weights.safetensors")
    save_file({k: v for k, v in weights.items() if k != "bias"}, folder / "weights.safetensors")
    with pytest.raises(InputError, match="no 'bias'"):
        open_language_model(folder)
    save_file({**weights, "bias": torch.zeros(2)}, folder / "weights.safetensors")
    with pytest.raises(InputError, match="do not fit"):
        open_language_model(folder)
    (folder / "weights.safetensors").write_bytes(b"no")
    with pytest.raises(InputError, match="damaged"):
        open_language_model(folder)
    plain = {"format": 1, "words": ["a"], "counts": [1]}
    (folder / "vocabulary.json").write_text(json.dumps(plain))
    with pytest.raises(InputError, match="to begin with"):
        open_language_model(folder)
    (folder / "vocabulary.json").write_text("{")
    with pytest.raises(InputError, match="not the vocabulary"):
        open_language_model(folder)


def test_the_ends_must_be_as_wide_as_the_vectors() -> None:
    with pytest.raises(InputError, match="as wide as its word vectors"):
        LanguageModel(9, [4, 6], generator())
