"""Seed keywords of each class: from the rules, or from the votes where no rules are known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from unruly.errors import InputError
from unruly.rules.condition import AllOf, AnyOf, Condition
from unruly.rules.field import PartWords
from unruly.rules.keywords import Keywords, WordSequence
from unruly.rules.pattern import Pattern
from unruly.rules.sources import Sources
from unruly.votes.votes import Votes
from unruly_lab.peers.vocabulary import UNKNOWN, Vocabulary, tokens

Seeds = tuple[tuple[str, ...], ...]  # for each class, its words

# Parts of a regular expression that are no plain words: what must not follow or stand before, escapes,
# character classes, numbers of repeats, the marks that open a group.
_NO_WORDS = re.compile(
    r"\(\?<?![^)]*\)|\\.|\[[^\]]*\]|\{[^}]*\}|\(\?(?:P?<\w+>|<?=|>|[a-zA-Z-]*:|[a-zA-Z-]+\))"
)
_PLAIN = re.compile(r"[^\W\d_]{2,}(?![?*+\w])")


def seeds_from_rules(sources: Sources) -> Seeds:
    """The words that the rules of each class look for, in the order of the rules.

    Taken are keywords, the words of sequences, and the plain words of patterns; inside `all`, `any`
    and parts of a relation too, inside `not` never. A phrase gives its words one by one, and nothing
    when one of them is a stop word ("than the film" tells nothing of films). A word that rules of two classes look for is a seed of neither. A class whose rules have
    no words (a length, say) gets none.

    >>> from unruly.rules.source import Rule
    >>> from unruly.rules.source import Source
    >>> spam = Source("spam", [Rule("spam", Keywords(["my", "fast cash", "to you"]))])
    >>> link = Source("link", [Rule("spam", Pattern(r"https?://|sub(scribe)?\\b|\\bwin\\b"))])
    >>> song = Source("song", [Rule("ham", AnyOf((Keywords(["song"]), Keywords(["my"]))))])
    >>> seeds_from_rules(Sources(["ham", "spam"], [spam, link, song]))
    (('song',), ('fast', 'cash', 'sub', 'scribe', 'win'))
    """
    found: list[dict[str, None]] = [{} for _ in sources.classes]
    for source in sources.sources:
        for rule in source.rules:
            if isinstance(rule.label, str):
                number = tuple(sources.classes).index(rule.label)
                found[number] |= dict.fromkeys(_words(rule.when))
    return _of_one_class(found)


def with_words_of_votes(
    seeds: Seeds,
    texts: Iterable[str],
    cast: NDArray[np.integer[Any]],
    *,
    sure: float = 0.98,
    least: int = 3,
    explained: float = 0.5,
) -> Seeds:
    """The seeds, and the words that k sources look for, found by their votes (n, k).

    A keyword source votes wherever one of its words stands, so its words are those whose documents it
    votes on alike, at least a share of `sure` of them. They are taken greedily, each for `least` documents or more
    that no word before it explains. A source whose words explain less than a share of `explained` of its
    votes looks for something else, and gives none.

    >>> texts = [
    ...     "a goal",
    ...     "one goal",
    ...     "goal or not",
    ...     "a film",
    ...     "bank",
    ...     "the bank",
    ...     "no bank",
    ...     "a song",
    ... ]
    >>> cast = np.array([[0], [0], [0], [-1], [1], [1], [1], [-1]])
    >>> with_words_of_votes(((), ("profit",)), texts, cast)
    (('goal',), ('profit', 'bank'))
    """
    places: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        for word in dict.fromkeys(tokens(text)):
            places.setdefault(word, []).append(row)
    rows = {w: np.array(at) for w, at in places.items() if len(at) >= least and _telling(w)}
    found = [dict.fromkeys(own) for own in seeds]
    for said in cast.T:  # (n,): of one source
        words = [_explaining(rows, said == r, sure, least) for r in range(len(seeds))]
        reached = np.concatenate([rows[w] for own in words for w in own] or [np.empty(0, int)])
        if len(np.unique(reached)) >= explained * max((said >= 0).sum(), 1):
            for own, more in zip(found, words, strict=True):
                own |= dict.fromkeys(more)
    return _of_one_class(found)


def _explaining(
    rows: dict[str, NDArray[np.int64]], voted: NDArray[np.bool_], sure: float, least: int
) -> list[str]:
    """The words whose documents get this vote, those that explain most first."""
    open_, words = voted.copy(), []
    left = {w: at for w, at in rows.items() if voted[at].mean() >= sure}
    while left:
        best = max(left, key=lambda w: int(open_[left[w]].sum()))
        if open_[left[best]].sum() < least:
            break
        words.append(best)
        open_[left.pop(best)] = False
    return words


def _of_one_class(found: Sequence[dict[str, None]]) -> Seeds:
    """For each class its words that are no other's."""
    return tuple(
        tuple(word for word in own if not any(word in other for other in found if other is not own))
        for own in found
    )


def seeds_from_votes(
    texts: Iterable[str],
    votes: Votes,
    *,
    count: int = 10,
    min_documents: int = 5,
    smoothing: float = 0.5,
) -> Seeds:
    """The `count` words most characteristic of documents that sources vote for each class.

    With d_wr of the n_r documents that most of their votes name class r containing word w, and the
    same for all other covered documents (d_w', n'), the score is the smoothed log-odds ratio over
    its standard error (Monroe, Colaresi and Quinn, 2008, with a flat prior):

        z = [ logit((d_wr + s) / (n_r + 2s)) - logit((d_w' + s) / (n' + 2s)) ]
            / sqrt( 1/(d_wr + s) + 1/(d_w' + s) )

    Words in fewer than `min_documents` covered documents, stop words and words with z <= 0 are passed
    over. Documents without a single winner count for no class.

    >>> texts = ["lovely song", "lovely tune", "click page", "visit page", "so lovely", "page"]
    >>> votes = Votes.from_array([[0], [0], [1], [1], [0], [1]])
    >>> seeds_from_votes(texts, votes, min_documents=2)
    (('lovely',), ('page',))
    """
    counts = votes.counts()  # (n, m)
    top = counts.max(axis=1, keepdims=True)
    alone = ((counts == top) & (top > 0)).sum(axis=1) == 1
    label = np.where(alone, counts.argmax(axis=1), -1)  # (n,)
    lists = [tokens(text) for text in texts]
    vocabulary = Vocabulary.learn(lists)
    ids = vocabulary.encode(lists)
    rows = np.repeat(np.arange(ids.n), ids.lengths)
    table = csr_matrix((np.ones(len(rows)), (rows, ids.ids)), shape=(ids.n, len(vocabulary)))
    contains = table.sign()  # (n, V)
    total = np.asarray(contains[alone].sum(axis=0)).ravel()  # (V,)
    usable = total >= min(min_documents, max(int(alone.sum()), 1))
    usable[: UNKNOWN + 2] = False
    usable &= np.array([_telling(word) for word in vocabulary.words])
    seeds = []
    for r in range(votes.m):
        own = np.asarray(contains[label == r].sum(axis=0)).ravel()  # (V,)
        n_own, n_other = int((label == r).sum()), int((alone & (label != r)).sum())
        s = smoothing
        odds = np.log((own + s) / (n_own - own + s))
        others = np.log((total - own + s) / (n_other - (total - own) + s))
        z = (odds - others) / np.sqrt(1 / (own + s) + 1 / (total - own + s))
        z = np.where(usable, z, -np.inf)
        best = np.argsort(-z, kind="stable")[:count]
        seeds.append(tuple(vocabulary.words[i] for i in best if z[i] > 0 and own[i] > 0))
    return tuple(seeds)


def complete_seeds(
    given: Seeds | None, texts: Sequence[str], votes: Votes
) -> tuple[Seeds, tuple[str, ...]]:
    """The given seeds, and for classes without one that occurs in the texts, seeds from the votes.

    Also shown, for each class, is where its seeds are from: "rules" or "votes".
    """
    if given is not None and len(given) != votes.m:
        raise InputError(f"there are keywords for {len(given)} classes, but {votes.m} classes")
    seen = {word for text in texts for word in tokens(text)}
    cleaned = _in_texts(given or ((),) * votes.m, seen)
    if all(cleaned):
        return cleaned, ("rules",) * votes.m
    voted = seeds_from_votes(texts, votes)
    for r, name in enumerate(votes.classes):
        if not cleaned[r] and not voted[r]:
            raise InputError(
                f"the class {name!r} has no seed keyword that occurs in the texts, and no source's votes "
                "to take one from: write a keyword rule for it"
            )
    seeds = tuple(cleaned[r] or voted[r] for r in range(votes.m))
    return seeds, tuple("rules" if cleaned[r] else "votes" for r in range(votes.m))


def _in_texts(seeds: Seeds, seen: set[str]) -> Seeds:
    """Single words that occur; the words of a phrase one by one."""
    return tuple(
        tuple(dict.fromkeys(w for phrase in own for w in _split(phrase) if w in seen))
        for own in seeds
    )


def _words(condition: Condition) -> list[str]:
    match condition:
        case Keywords():
            return [word for phrase in condition.words for word in _split(phrase)]
        case WordSequence():
            phrases = [*condition.first, *condition.then]
            return [w for phrase in phrases for w in _split(phrase) if _telling(w)]
        case Pattern():
            rest = _NO_WORDS.sub(" ", condition.pattern)
            return [w for w in _PLAIN.findall(rest.lower()) if _telling(w)]
        case PartWords():
            return _words(condition.test)
        case AllOf() | AnyOf():
            return [word for part in condition.conditions for word in _words(part)]
        case _:
            return []


def _split(phrase: str) -> list[str]:
    """A single word as it is, even a stop word; a phrase only if each of its words tells something."""
    words = tokens(phrase)
    return words if len(words) == 1 or all(map(_telling, words)) else []


def _telling(word: str) -> bool:
    return word not in ENGLISH_STOP_WORDS and word[0].isalpha() and len(word) > 2
