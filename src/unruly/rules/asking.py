"""Which documents a language model is asked about first: those that no rule covers, then those that rules fight over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress
from unruly.prompts.asking import Asked, Asking, Patience
from unruly.prompts.plan import Plan, plan
from unruly.prompts.store import AnswerStore
from unruly.rules.cache import Cache
from unruly.rules.describe import descriptions_of
from unruly.rules.matching import MatchFrame
from unruly.rules.prompt import Prompt
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.tally import tallies
from unruly.votes.votes import Votes

UNCOVERED, CONTESTED, AGREED = 0, 1, 2


def prompt_of(source: Source) -> Prompt | None:
    """The prompt that a source is made of, if it is."""
    when = source.rules[0].when
    return when if isinstance(when, Prompt) and len(source.rules) == 1 else None


def ask(
    sources: Sources,
    corpus: Corpus,
    progress: Progress = SILENT,
    cache: Cache | None = None,
    patience: Patience | None = None,
) -> tuple[Asked, ...]:
    """Ask every prompt of the sources about these documents, as far as budgets go; votes then have the answers."""
    askings = list(_askings(sources, corpus, cache, patience or Patience()))
    if not askings:
        return ()
    store = AnswerStore.default()
    try:
        return tuple(asking.run(store, progress) for asking in askings)
    except RuleError as error:
        raise error from None
    finally:
        store.close()


def plans(sources: Sources, corpus: Corpus, cache: Cache | None = None) -> tuple[Plan, ...]:
    """What `ask` would send and cost; nothing is sent."""
    askings = list(_askings(sources, corpus, cache, Patience()))
    if not askings:
        return ()
    store = AnswerStore.default()
    try:
        return tuple(plan(asking, store) for asking in askings)
    finally:
        store.close()


def _askings(
    sources: Sources, corpus: Corpus, cache: Cache | None, patience: Patience
) -> Iterator[Asking]:
    prompts = {s.name: prompt for s in sources.sources if (prompt := prompt_of(s)) is not None}
    if not prompts:
        return
    rows = _wanted_first(sources, corpus, cache)
    frame = MatchFrame.of(corpus.take(rows)).frame
    for name, prompt in prompts.items():
        missing = next((c for c in prompt.columns if c not in frame.columns), None)
        if missing is not None:
            raise RuleError(
                f"source {name!r}: the prompt names {{{missing}}}, which is no column of the data"
            )
        questions = prompt.questions(frame, tuple(sources.classes))
        yield Asking(
            name, prompt.identity, prompt.endpoint, questions, prompt.budget, prompt.price, patience
        )


def _wanted_first(sources: Sources, corpus: Corpus, cache: Cache | None) -> NDArray[np.int64]:
    """Row numbers of the documents that have a text, the most wanted first, else in their order."""
    order = np.argsort(urgency_by_rules(sources, corpus, cache), kind="stable")
    blank = (corpus.texts.str.strip_chars() == "").to_numpy()
    return np.asarray(order[~blank[order]])


def urgency_by_rules(
    sources: Sources, corpus: Corpus, cache: Cache | None = None
) -> NDArray[np.int64]:
    """(n,): `urgency` by the sources that are neither a language model nor class descriptions, which speak of everything."""
    rules = [s for s in sources.sources if prompt_of(s) is None and descriptions_of(s) is None]
    if not rules:
        return np.full(len(corpus), UNCOVERED)
    return urgency(Sources(sources.classes, rules).vote(corpus, cache=cache))


def urgency(votes: Votes) -> NDArray[np.int64]:
    """(n,): 0 where no source votes, 1 where votes allow no class in common, else 2.

    >>> urgency(Votes.from_array([[0, 0], [-1, -1], [0, 1]])).tolist()
    [2, 0, 1]
    """
    found = np.full(votes.n, AGREED)
    for tally in tallies(votes):
        torn = tally.named.max(axis=1, initial=0) < tally.cast
        found[tally.rows] = np.where(tally.cast == 0, UNCOVERED, np.where(torn, CONTESTED, AGREED))
    return found
