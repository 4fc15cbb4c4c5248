"""Asking language models: about documents, whose answers become votes, and for new rules.

Documents that no rule covers come first, then those that rules disagree about, then the rest, as far as the budget goes.

Asked for rules, a model sees the classes and some of those documents. Only two kinds of rule come of its answers: keywords,
and patterns for the linear engine that are small enough to need no time limit. Everything else is rejected with a reason.
Whether a rule is any good is measured on the corpus (`unruly.model.suggestions`), and the user decides whether to keep it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress
from unruly.prompts.answers import AnswerStore
from unruly.prompts.asking import Asked, Asking, RetryPolicy
from unruly.prompts.budget import Budget, Plan, Price
from unruly.prompts.endpoint import Endpoint
from unruly.prompts.requests import Proposed, RuleRequest
from unruly.rules.cache import Cache
from unruly.rules.condition import Condition
from unruly.rules.describe import descriptions_of
from unruly.rules.expressions import read_expression
from unruly.rules.keywords import Keywords
from unruly.rules.matching import MatchFrame
from unruly.rules.pattern import SMALL, Pattern
from unruly.rules.prompt import Prompt, prompt_of
from unruly.rules.source import Rule
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.summary import tallies
from unruly.votes.votes import Votes
from unruly.wording import shortened

UNCOVERED, CONTESTED, AGREED = 0, 1, 2  # in the order in which documents are asked about

NAME = "suggestions"  # what plans and messages call requests for rules
DOCUMENTS = 24  # that a model is shown
EXCERPT = 400  # characters of each
MOST = 60  # items of one answer that are looked at
KNOWN = 50  # words of existing rules that a model is shown
LONGEST_KEYWORD, LONGEST_PATTERN = 80, 200  # characters


def ask(
    sources: Sources,
    corpus: Corpus,
    progress: Progress = SILENT,
    cache: Cache | None = None,
    retries: RetryPolicy | None = None,
) -> tuple[Asked, ...]:
    """Ask every prompt of the sources about these documents, within its budget; `vote` then reads the answers."""
    askings = list(_askings(sources, corpus, cache, retries or RetryPolicy()))
    if not askings:
        return ()
    with AnswerStore.default() as store:
        return tuple(asking.run(store, progress) for asking in askings)


def plans(sources: Sources, corpus: Corpus, cache: Cache | None = None) -> tuple[Plan, ...]:
    """What `ask` would send and cost; nothing is sent."""
    askings = list(_askings(sources, corpus, cache, RetryPolicy()))
    if not askings:
        return ()
    with AnswerStore.default() as store:
        return tuple(asking.plan(store) for asking in askings)


def _askings(
    sources: Sources, corpus: Corpus, cache: Cache | None, retries: RetryPolicy
) -> Iterator[Asking]:
    prompts = {s.name: prompt for s in sources.sources if (prompt := prompt_of(s)) is not None}
    if not prompts:
        return
    rows = _by_urgency(sources, corpus, cache)
    frame = MatchFrame.of(corpus.take(rows)).frame
    for name, prompt in prompts.items():
        missing = next((c for c in prompt.columns if c not in frame.columns), None)
        if missing is not None:
            raise RuleError(
                f"source {name!r}: the prompt names {{{missing}}}, which is no column of the data"
            )
        questions = prompt.questions(frame, tuple(sources.classes))
        yield Asking(
            name, prompt.identity, prompt.endpoint, questions, prompt.budget, prompt.price, retries
        )


def _by_urgency(sources: Sources, corpus: Corpus, cache: Cache | None) -> NDArray[np.int64]:
    """Row numbers of the documents that have a text, the most urgent first, else in their order."""
    order = np.argsort(urgency_by_rules(sources, corpus, cache), kind="stable")
    blank = (corpus.texts.str.strip_chars() == "").to_numpy()
    return np.asarray(order[~blank[order]])


def urgency_by_rules(
    sources: Sources, corpus: Corpus, cache: Cache | None = None
) -> NDArray[np.int64]:
    """(n,): `urgency` by the rules alone, for language models and class descriptions vote on everything."""
    rules = [s for s in sources.sources if prompt_of(s) is None and descriptions_of(s) is None]
    if not rules:
        return np.full(len(corpus), UNCOVERED)
    return urgency(Sources(sources.classes, rules).vote(corpus, cache=cache))


def urgency(votes: Votes) -> NDArray[np.int64]:
    """(n,): 0 where no source votes, 1 where votes have no class in common, else 2.

    >>> urgency(Votes.from_array([[0, 0], [-1, -1], [0, 1]])).tolist()
    [2, 0, 1]
    """
    found = np.full(votes.n, AGREED)
    for tally in tallies(votes):
        torn = tally.named.max(axis=1, initial=0) < tally.cast
        found[tally.rows] = np.where(tally.cast == 0, UNCOVERED, np.where(torn, CONTESTED, AGREED))
    return found


@dataclass(frozen=True)
class LanguageModel:
    """The model to ask for rules, and its budget; `spends_as` is the account that the spending goes to."""

    endpoint: Endpoint
    model: str
    budget: Budget = field(default_factory=Budget)
    price: Price = field(default_factory=Price)
    seed: int = 0
    spends_as: str = ""
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise RuleError("the language model needs a name")
        if not self.endpoint.local and not self.budget.limited:
            raise RuleError(
                f"{self.endpoint.host} is not this machine: give a budget, as in budget = {{ calls = 1000 }}"
            )
        if not self.spends_as:
            name = f"{NAME} {self.endpoint.url} {self.model}"
            own = blake2b(name.encode("utf-8", "replace"), digest_size=16).hexdigest()
            object.__setattr__(self, "spends_as", own)

    @classmethod
    def of(cls, prompt: Prompt) -> LanguageModel:
        """The one that a source asks, on that source's budget."""
        return cls(
            prompt.endpoint,
            prompt.model,
            prompt.budget,
            prompt.price,
            prompt.seed,
            prompt.identity,
        )


@dataclass(frozen=True)
class Rejected:
    """What a model proposed and cannot be a rule."""

    label: str
    text: str
    why: str


@dataclass(frozen=True)
class Proposals:
    """What a model proposed, before it is measured on the corpus."""

    model: str
    host: str
    asked: Asked
    rules: tuple[Rule, ...]  # one word or one pattern each, no two alike
    rejected: tuple[Rejected, ...]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "model": self.model,
            "host": self.host,
            "asked": asdict(self.asked),
            "proposed": len(self.rules),
            "rejected": [asdict(one) for one in self.rejected],
        }


def first_prompt(sources: Sources) -> Prompt | None:
    """The first language model among the sources."""
    return next((p for s in sources.sources if (p := prompt_of(s)) is not None), None)


def contested(
    corpus: Corpus,
    need: NDArray[np.int64],
    posteriors: NDArray[np.floating[Any]],
    most: int = DOCUMENTS,
) -> NDArray[np.intp]:
    """Rows of documents that rules disagree about or do not cover, half of each if possible, least certain first.

    `need` (n,) is their urgency, `posteriors` (n, m) their class probabilities by a model.

    >>> corpus = Corpus.from_texts(["a", "b", "c", "c", ""])
    >>> need = np.array([AGREED, CONTESTED, UNCOVERED, UNCOVERED, UNCOVERED])
    >>> contested(corpus, need, np.full((5, 2), 0.5)).tolist()
    [1, 2]
    """
    two = np.sort(posteriors, axis=1)[:, -2:]  # (n, 2)
    order = np.argsort(np.round(two[:, 1] - two[:, 0], 6), kind="stable")
    texts = corpus.texts.str.strip_chars()
    usable = (texts != "").to_numpy() & texts.is_first_distinct().to_numpy()
    torn, bare, agreed = (
        [i for i in order.tolist() if usable[i] and need[i] == level]
        for level in (CONTESTED, UNCOVERED, AGREED)
    )
    half = max(most // 2, most - len(bare))
    chosen = torn[:half] + bare[: most - len(torn[:half])]
    return np.asarray(chosen or agreed[:most], dtype=np.intp)


def rule_requests(
    llm: LanguageModel, sources: Sources, corpus: Corpus, rows: NDArray[np.intp]
) -> list[RuleRequest]:
    """One for each class, all with the same documents."""
    about = _descriptions(sources) | dict(llm.descriptions)
    texts = tuple(
        shortened(" ".join(text.split()), EXCERPT)
        for text in corpus.texts.gather(pl.Series(rows, dtype=pl.UInt32))
    )
    named = tuple((name, about.get(name, "")) for name in sources.classes)
    return [
        RuleRequest(llm.model, name, named, _words(sources, name), texts, llm.seed)
        for name in sources.classes
    ]


def _descriptions(sources: Sources) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in sources.with_disabled:
        prompt = prompt_of(source)
        found |= dict(descriptions_of(source) or {})
        found |= {} if prompt is None else dict(prompt.descriptions)
    return found


def _words(sources: Sources, label: str) -> tuple[str, ...]:
    """The words of rules for a class."""
    rules = (rule for source in sources.sources for rule in source.rules if rule.label == label)
    words = (word for rule in rules if isinstance(rule.when, Keywords) for word in rule.when.words)
    return tuple(dict.fromkeys(words))[:KNOWN]


def plan_proposals(llm: LanguageModel, requests: Sequence[RuleRequest]) -> Plan:
    """What `propose` would send and cost; nothing is sent."""
    with AnswerStore.default() as store:
        return _asking(llm, requests, RetryPolicy()).plan(store)


def propose(
    llm: LanguageModel,
    requests: Sequence[RuleRequest],
    progress: Progress = SILENT,
    retries: RetryPolicy | None = None,
) -> Proposals:
    """Ask, within the budget, and take from the answers what can be a rule."""
    with AnswerStore.default() as store:
        asked = _asking(llm, requests, retries or RetryPolicy()).run(store, progress)
        answers = store.get(request.key for request in requests)
    items = [
        item
        for request in requests
        if request.key in answers
        for item in (request.proposed(answers[request.key]) or ())[:MOST]
    ]
    rules: dict[str, Rule] = {}
    rejected: list[Rejected] = []
    for item in items:
        try:
            rule = Rule(item.label, condition_of(item))
            rules.setdefault(f"{item.label} {rule.when.reason()}", rule)
        except RuleError as error:
            rejected.append(Rejected(item.label, _safe_to_print(str(item.item)), error.message))
    return Proposals(llm.model, llm.endpoint.host, asked, tuple(rules.values()), tuple(rejected))


def _asking(llm: LanguageModel, requests: Sequence[RuleRequest], retries: RetryPolicy) -> Asking:
    shown = max((len(request.texts) for request in requests), default=0)
    return Asking(
        NAME, llm.spends_as, llm.endpoint, requests, llm.budget, llm.price, retries, shown
    )


def condition_of(proposed: Proposed) -> Condition:
    r"""The condition that an item of an answer means; refused where it cannot be one.

    >>> condition_of(Proposed("spam", "keywords", " Check  Out ")).reason()
    'keywords: check out'
    >>> condition_of(Proposed("spam", "patterns", r"\d{5,}")).reason()
    'pattern: \\d{5,}'
    >>> condition_of(Proposed("spam", "patterns", "(a{1,500}){1,50}b"))
    Traceback (most recent call last):
    ...
    unruly.errors.RuleError: the pattern has 25001 parts with its repetitions written out, and at most 100 are allowed
    """
    text = proposed.item
    if not isinstance(text, str) or not text.strip():
        raise RuleError("blank, or no text")
    longest = LONGEST_KEYWORD if proposed.kind == "keywords" else LONGEST_PATTERN
    if len(text) > longest:
        raise RuleError(f"longer than {longest} characters")
    if proposed.kind == "keywords":
        text = " ".join(text.lower().split())
    if not all(map(_printable, text)):
        raise RuleError("holds control characters")
    return Keywords([text]) if proposed.kind == "keywords" else _pattern(text)


def _pattern(text: str) -> Pattern:
    if (size := read_expression(text).size) > SMALL:
        raise RuleError(
            f"the pattern has {size} parts with its repetitions written out, and at most {SMALL} are allowed"
        )
    pattern = Pattern(text, ignore_case=True)
    if pl.Series([""]).to_frame("t").select(pattern.on(pl.col("t"))).item():
        raise RuleError("the pattern matches every text")
    return pattern


def _safe_to_print(text: str) -> str:
    """Short, and without what a terminal would obey."""
    return shortened("".join(c if _printable(c) else " " for c in text[:500]), 80)


def _printable(character: str) -> bool:
    """No control character, nor one that reverses a line; joiners are part of many scripts."""
    return unicodedata.category(character)[0] != "C" or character in "\u200c\u200d"
