"""Words: how texts are cut into tokens, which tokens have a number, and networks over texts of like length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly_lab.peers.systems import Proba

PAD, UNKNOWN, END = 0, 1, 2  # the numbers of the tokens that stand for no word
SPECIAL = ("<pad>", "<unk>", "<end>")
# A sign of a script without blanks, a word with its apostrophes, a number, or ! and ?.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[!?]")


def tokens(text: str) -> list[str]:
    """The words of a text in small letters, its numbers, and its ! and ?.

    >>> tokens("Don't CLICK http://a.b/42 !!")
    ["don't", 'click', 'http', 'a', 'b', '42', '!', '!']
    """
    return _TOKEN.findall(text.lower())


@dataclass(frozen=True, eq=False)
class TokenIds:
    """The token numbers of n documents, one document after the other."""

    ids: NDArray[np.int64]
    starts: NDArray[np.int64]  # (n + 1,): document i is ids[starts[i] : starts[i + 1]]

    @property
    def n(self) -> int:
        """How many documents."""
        return len(self.starts) - 1

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """(n,): how many tokens each document has."""
        return np.diff(self.starts)

    def padded(self, rows: NDArray[np.int64], most: int, least: int = 1) -> NDArray[np.int64]:
        """(rows, longest): the first `most` tokens of some documents, filled up with `PAD`.

        >>> TokenIds(np.array([7, 8, 9]), np.array([0, 1, 3])).padded(np.array([0, 1]), most=5)
        array([[7, 0],
               [8, 9]])
        """
        kept = np.minimum(self.lengths[rows], most)  # (rows,)
        width = max(int(kept.max(initial=0)), least)
        where = np.arange(width)[None, :]  # (1, width)
        inside = where < kept[:, None]  # (rows, width)
        if not len(self.ids):
            return np.full(inside.shape, PAD, dtype=np.int64)
        index = np.where(inside, self.starts[rows][:, None] + where, 0)
        return np.where(inside, self.ids[index], PAD)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The words that are known, commonest first, after the three special tokens.

    >>> vocabulary = Vocabulary.learn([["a", "song"], ["a", "page"]], min_count=2)
    >>> vocabulary.words
    ('<pad>', '<unk>', '<end>', 'a')
    >>> vocabulary.encode([["a", "film"]]).ids
    array([3, 1])
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]  # (V,): how often each occurs where it was learnt; 0 for <pad>, <end>

    @classmethod
    def learn(
        cls,
        documents: Sequence[Sequence[str]],
        *,
        most: int = 20_000,
        min_count: int = 1,
        keep: Iterable[str] = (),
    ) -> Vocabulary:
        """The `most` commonest words with at least `min_count` occurrences, and `keep` where they occur."""
        found = Counter(chain.from_iterable(documents))
        if not found:
            raise InputError(
                "none of the texts has a word in it: there is nothing to learn a vocabulary from"
            )
        ranked = sorted(found, key=lambda word: (-found[word], word))
        frequent = [word for word in ranked[:most] if found[word] >= min_count]
        chosen = dict.fromkeys([*frequent, *(word for word in keep if found[word])])
        rest = found.total() - sum(found[word] for word in chosen)
        counts = [0, rest, 0, *(found[word] for word in chosen)]
        return cls((*SPECIAL, *chosen), np.array(counts, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, documents: Sequence[Sequence[str]]) -> TokenIds:
        """The numbers of the documents' words; `UNKNOWN` where a word has none."""
        lengths = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
        find = self.numbers.get
        every = (find(word, UNKNOWN) for word in chain.from_iterable(documents))
        ids = np.fromiter(every, dtype=np.int64, count=int(lengths.sum()))
        return TokenIds(ids, np.concatenate([[0], np.cumsum(lengths)]))


def answers_by_length(
    network: torch.nn.Module,
    corpus: TokenIds,
    m: int,
    *,
    together: int,
    most: int,
    least: int = 1,
) -> Proba:
    """(n, m): class probabilities in the corpus's order, from `together` documents at a time.

    Of each document the first `most` tokens are read; shorter batches are filled up to `least`.
    """
    proba = np.zeros((corpus.n, m))
    order = np.argsort(corpus.lengths, kind="stable")
    with torch.no_grad():
        for start in range(0, corpus.n, together):
            rows = order[start : start + together]
            ids = torch.from_numpy(corpus.padded(rows, most, least))
            proba[rows] = network(ids).double().softmax(dim=1).numpy()
    return proba
