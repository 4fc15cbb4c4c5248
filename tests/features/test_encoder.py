"""Features: blocks of one height, joined and taken apart.

Views: what encoders read of documents with two entities.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from unruly.errors import InputError
from unruly.features.encoder import (
    AROUND,
    BETWEEN,
    TAGGED,
    TEXT,
    WINDOW,
    Block,
    Features,
    term_views,
    text_views,
    thread_count,
    view_of,
)
from unruly.texts.corpus import Corpus

A = np.arange(6, dtype=np.float32).reshape(3, 2)
B = np.ones((3, 1), dtype=np.float32)


def test_blocks_side_by_side() -> None:
    features = Features((Block("a", A), Block("b", B)))
    assert (features.n, features.width) == (3, 3)
    assert np.array_equal(features.matrix(), np.hstack([A, B]))
    assert np.array_equal(features.take(np.array([2, 0])).matrix(), np.hstack([A, B])[[2, 0]])
    assert features.take(np.array([True, False, False])).n == 1


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least one block"):
        Features(())
    with pytest.raises(InputError, match=r"differ in their number of rows \(a: 3, b: 2\)"):
        Features((Block("a", A), Block("b", B[:2])))
    with pytest.raises(InputError, match="row 0: a feature is NaN"):
        Features.from_array(np.full((2, 2), np.nan, dtype=np.float32))


FRAME = pl.DataFrame(
    {
        "text": [
            "Last May Ann Lee married Bo Lee in York.",
            "Bo Lee and his wife, Ann Lee",
            "nobody is here",
            "Ann Lee Bo Lee",
        ],
        "entity1": ["Ann Lee"] * 4,
        "entity2": ["Bo Lee"] * 4,
    }
)
PAIRS = Corpus.from_frame(FRAME)


def test_plain_texts_are_read_as_they_are() -> None:
    corpus = Corpus.from_texts(["a", "b"])
    assert term_views(corpus) == text_views(corpus) == (TEXT,)
    assert view_of(corpus, TEXT).to_list() == ["a", "b"]


def test_between() -> None:
    found = view_of(PAIRS, BETWEEN).to_list()
    assert found == ["married", "and his wife,", "nobody is here", ""]


def test_around_hides_the_names() -> None:
    found = view_of(PAIRS, AROUND).to_list()
    assert found[0] == "Last May someone married someone in York."
    assert not any("Lee" in text for text in (found[0], found[1], found[3]))


def test_tags_tell_where_a_word_stood() -> None:
    found = view_of(PAIRS, TAGGED).to_list()
    assert found[0] == "l_last l_may entity_ b_married entity_ r_in r_york r_x2e"
    assert found[1] == "entity_ b_and b_his b_wife b_x2c entity_"
    assert found[3] == "entity_ entity_"


def test_windows_are_bounded() -> None:
    words = " ".join(["word"] * 50)
    frame = FRAME.head(1).with_columns(text=pl.lit(f"{words} Ann Lee wed Bo Lee {words}"))
    found = view_of(Corpus.from_frame(frame), TAGGED)[0]
    assert found.count("l_word") == found.count("r_word") == WINDOW


def test_lsa_reads_tags_and_others_sentences() -> None:
    assert term_views(PAIRS) == (BETWEEN, TAGGED)
    assert text_views(PAIRS) == (BETWEEN, AROUND)


@pytest.mark.parametrize(("told", "threads"), [("1", 1), ("3", 3), ("0", 7), ("4,2", 7), ("", 7)])
def test_a_worker_that_shares_its_cores_starts_no_more_threads_than_it_may(
    told: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert thread_count() == threads
