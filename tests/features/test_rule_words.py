"""The words that rules read are found from votes, and only they are blotted out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from numpy.typing import NDArray

from unruly.features.lsa import Lsa
from unruly.features.rule_words import rule_words, without
from unruly.features.saving import load_encoder, save_encoder
from unruly.features.several import Several
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import SILENT, Progress
from unruly.recipe.fitting import fit_recipe
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

WORDS = [f"word{i}" for i in range(60)]


def planted(n: int = 1500, seed: int = 0) -> tuple[list[str], Votes]:
    """Random texts; source 0 reads word1 and word2, source 1 reads word3, source 2 reads nothing."""
    rng = np.random.default_rng(seed)
    texts, votes = [], []
    for _ in range(n):
        words = rng.choice(WORDS, 6, replace=False).tolist()
        texts.append(" ".join(words))
        votes.append(
            [
                0 if "word1" in words or "word2" in words else -1,
                1 if "word3" in words else -1,
                int(rng.integers(0, 2)) if rng.random() < 0.5 else -1,
            ]
        )
    return texts, Votes.from_array(votes)


def test_exactly_the_rules_words_are_found() -> None:
    texts, votes = planted()
    assert sorted(rule_words(pl.Series(texts), votes)) == ["word1", "word2", "word3"]


def test_a_source_that_always_or_never_votes_has_no_words() -> None:
    texts, votes = planted()
    always = Votes.from_array(np.column_stack([np.zeros(votes.n), np.full(votes.n, -1)]))
    assert rule_words(pl.Series(texts), always) == ()


def test_few_documents_tell_nothing() -> None:
    texts, votes = planted(900)
    assert rule_words(pl.Series(texts), votes) == ()


def test_order_of_documents_and_a_silent_source_do_not_matter() -> None:
    texts, votes = planted()
    order = np.random.default_rng(1).permutation(len(texts))
    silent = Votes.from_array(np.column_stack([votes.matrix, np.full(votes.n, -1)]))
    expected = rule_words(pl.Series(texts), votes)
    assert rule_words(pl.Series(texts).gather(order), votes.take(order)) == expected
    assert rule_words(pl.Series(texts), silent) == expected


@bounded(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["Word1", "word10", "word2", "über", "x"]), max_size=8))
def test_whole_words_only_whatever_their_case(words: list[str]) -> None:
    left = without(pl.Series([" ".join(words)]), ("word1", "über"))[0].split()
    assert left == [word for word in words if word.lower() not in {"word1", "über"}]


def test_the_encoder_reads_twice_and_is_saved_once(tmp_path: Path) -> None:
    texts, votes = planted(1200)
    corpus = Corpus.from_texts(texts)
    both = Several((Lsa(dim=8, chars=False),)).fit(corpus).blotted(corpus, votes)
    features = both.encode(corpus)
    once = ["lsa", "lsa, idf^3"]
    again = [f"{name}, without the rules' words" for name in once]
    assert [block.name for block in features.blocks] == [*once, *again]
    assert features.says == (0.25,) * 4
    save_encoder(both, tmp_path / "saved")
    assert len(list((tmp_path / "saved").rglob("*.safetensors"))) == 1
    loaded = load_encoder(tmp_path / "saved").encode(corpus)
    assert all(
        np.array_equal(one.values, two.values)
        for one, two in zip(features.blocks, loaded.blocks, strict=True)
    )


def test_a_blotted_word_makes_no_difference_to_the_second_reading() -> None:
    texts, votes = planted(1200)
    corpus = Corpus.from_texts(texts)
    encoder = Several((Lsa(dim=8, chars=False),)).fit(corpus).blotted(corpus, votes)
    blocks = encoder.encode(Corpus.from_texts(["word9 word8", "word9 word8 word1"])).blocks
    for block in blocks:
        plain, with_word = block.values
        blotted = "without" in block.name
        assert np.allclose(plain, with_word, atol=1e-6) == blotted


def test_only_the_default_reads_twice() -> None:
    texts, votes = planted(1200)
    ours = WeakClassifier(encoder="lsa", cache=False).fit(Corpus.from_texts(texts), votes)
    paper = WeakClassifier(encoder="lsa", method="paper", settings=Settings(epochs=2), cache=False)
    paper.fit(Corpus.from_texts(texts), votes)
    assert ours.encoder_ is not None
    assert paper.encoder_ is not None
    one = Corpus.from_texts(["word1 word9"])
    assert len(ours.encoder_.features(one).blocks) == 4
    assert len(paper.encoder_.features(one).blocks) == 2
    told = "Found 3 words that sources vote by ("
    assert [note.startswith(told) for note in ours.encoder_.notes()] == [True]
    assert ours.encoder_.notes()[0] in str(ours.summary_)
    assert paper.encoder_.notes() == ()


class Letters:
    """An encoder that counts no words: how long a text is, and how many blanks it has."""

    name, identity, width = "letters", "letters", 2

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Letters:
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        counts = [[len(text), text.count(" ")] for text in texts]
        return np.array(counts, np.float32).reshape(len(texts), 2)

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def test_an_encoder_that_counts_no_words_reads_once_and_knows_them_all_the_same() -> None:
    texts, votes = planted(1200)
    corpus = Corpus.from_texts(texts)
    encoder = Several((Letters(),)).fit(corpus).blotted(corpus, votes)
    features = encoder.encode(Corpus.from_texts(["Word1 word9", "word10", ""]))
    assert [block.name for block in features.blocks] == ["letters"]
    assert features.held is not None
    assert sorted(features.held.words) == ["word1", "word2", "word3"]
    first = features.held.words.index("word1")
    assert features.held.holds.toarray()[:, first].tolist() == [1, 0, 0]
    assert features.held.holds.sum() == 1
    assert encoder.read_twice == ()


def test_what_is_known_of_words_is_saved(tmp_path: Path) -> None:
    texts, votes = planted(1200)
    corpus = Corpus.from_texts(texts)
    encoder = Several((Lsa(dim=8, chars=False),)).fit(corpus).blotted(corpus, votes)
    save_encoder(encoder, tmp_path / "encoder")
    again = load_encoder(tmp_path / "encoder")
    assert again.words == encoder.words
    one, other = (made.encode(corpus).held for made in (encoder, again))
    assert one is not None
    assert other is not None
    assert (one.holds != other.holds).nnz == 0
    plan = tmp_path / "encoder" / "encoder.json"
    old = json.loads(plan.read_text())
    del old["words"]
    plan.write_text(json.dumps({**old, "format": 2}))  # as it was written before
    assert load_encoder(tmp_path / "encoder").encode(corpus).held is None


def test_text_that_only_echoes_the_rules_is_not_believed_twice() -> None:
    """Three noisy keyword sources; other words tell the class: the second reading must help, not hurt."""
    rng = np.random.default_rng(0)
    n = 1500
    truth = rng.integers(0, 2, n)
    signs = [[f"pos{i}" for i in range(30)], [f"neg{i}" for i in range(30)]]
    texts, votes = [], []
    for label in truth:
        words = rng.choice(signs[label], 2).tolist() + rng.choice(signs[1 - label], 1).tolist()
        cast = []
        for j in range(3):
            said = label if rng.random() < 0.7 else 1 - label
            fires = rng.random() < 0.6
            cast.append(said if fires else -1)
            if fires:
                words.append(f"key{j}{said}")
        texts.append(" ".join(words))
        votes.append(cast)
    corpus, matrix = Corpus.from_texts(texts), Votes.from_array(votes)
    encoder = Several((Lsa(dim=32, chars=False),)).fit(corpus)

    def right(features_of: Several) -> float:
        features = features_of.encode(corpus)
        recipe = fit_recipe(features, matrix, Settings(), prior="uniform")
        return float((recipe.heads(features, matrix).predicted == truth).mean())

    assert right(encoder.blotted(corpus, matrix)) > right(encoder) + 0.01
