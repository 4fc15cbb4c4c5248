"""Rules that a language model proposes: which documents it is shown, and what of its answers becomes a rule.

Only two kinds come of an answer: keywords, and patterns for the linear engine, small enough to need no watching. What
is anything else is turned away with the reason. Whether a rule is any good is for the corpus to say
(`unruly.model.suggestions`), and whether it is written down for the user.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress
from unruly.prompts.asking import Asked, Asking, Patience
from unruly.prompts.budget import Budget, Price
from unruly.prompts.endpoint import Endpoint
from unruly.prompts.plan import Plan, plan
from unruly.prompts.rule_request import Proposed, RuleRequest
from unruly.prompts.store import AnswerStore
from unruly.rules.asking import AGREED, CONTESTED, UNCOVERED, prompt_of
from unruly.rules.budget import SMALL
from unruly.rules.condition import Condition
from unruly.rules.describe import descriptions_of
from unruly.rules.expressions import read_expression
from unruly.rules.keywords import Keywords
from unruly.rules.pattern import Pattern
from unruly.rules.prompt import Prompt
from unruly.rules.source import Rule
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.wording import shortened

NAME = "suggestions"  # what plans and messages call the requests
DOCUMENTS = 24  # that a model is shown
EXCERPT = 400  # characters of each
MOST = 60  # items of one answer that are looked at
KNOWN = 50  # words of existing rules that a model is told
LONGEST_KEYWORD, LONGEST_PATTERN = 80, 200  # characters


@dataclass(frozen=True)
class LanguageModel:
    """Whom to ask for rules, and within which budget; `spends_as` is what spending goes by."""

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
class TurnedAway:
    """What a model proposed and cannot be a rule."""

    label: str
    said: str
    why: str


@dataclass(frozen=True)
class Proposals:
    """What a model proposed, before the corpus has been asked."""

    model: str
    host: str
    asked: Asked
    rules: tuple[Rule, ...]  # one word or one pattern each, no two alike
    turned_away: tuple[TurnedAway, ...]

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "model": self.model,
            "host": self.host,
            "asked": asdict(self.asked),
            "proposed": len(self.rules),
            "turned_away": [asdict(one) for one in self.turned_away],
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
    """Rows of documents that rules fight over or do not cover, half of each where there are, least certain first.

    `need` (n,) is their urgency, `posteriors` (n, m) what a model makes of them.

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


def requests(
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


def plan_proposals(llm: LanguageModel, wanted: Sequence[RuleRequest]) -> Plan:
    """What asking would cost; nothing is sent."""
    store = AnswerStore.default()
    try:
        return plan(_asking(llm, wanted, Patience()), store)
    finally:
        store.close()


def propose(
    llm: LanguageModel,
    wanted: Sequence[RuleRequest],
    progress: Progress = SILENT,
    patience: Patience | None = None,
) -> Proposals:
    """Ask, within the budget, and take from the answers what can be a rule."""
    store = AnswerStore.default()
    try:
        asked = _asking(llm, wanted, patience or Patience()).run(store, progress)
        answers = store.get(request.key for request in wanted)
    finally:
        store.close()
    said = [
        one
        for request in wanted
        if request.key in answers
        for one in (request.proposed(answers[request.key]) or ())[:MOST]
    ]
    rules: dict[str, Rule] = {}
    turned_away: list[TurnedAway] = []
    for one in said:
        try:
            rule = Rule(one.label, condition_of(one))
            rules.setdefault(f"{one.label} {rule.when.reason()}", rule)
        except RuleError as error:
            turned_away.append(TurnedAway(one.label, _harmless(str(one.said)), error.message))
    return Proposals(llm.model, llm.endpoint.host, asked, tuple(rules.values()), tuple(turned_away))


def _asking(llm: LanguageModel, wanted: Sequence[RuleRequest], patience: Patience) -> Asking:
    shown = max((len(request.texts) for request in wanted), default=0)
    return Asking(NAME, llm.spends_as, llm.endpoint, wanted, llm.budget, llm.price, patience, shown)


def condition_of(proposed: Proposed) -> Condition:
    r"""The condition that an item of an answer means; refused where it cannot be one.

    >>> condition_of(Proposed("spam", "keywords", " Check  Out ")).reason()
    'keywords: check out'
    >>> condition_of(Proposed("spam", "patterns", r"\d{5,}")).reason()
    'pattern: \\d{5,}'
    >>> condition_of(Proposed("spam", "patterns", "(a{1,500}){1,50}b"))
    Traceback (most recent call last):
    ...
    unruly.errors.RuleError: the pattern has 25001 parts with its repetitions written out, and at most 100 are taken
    """
    said = proposed.said
    if not isinstance(said, str) or not said.strip():
        raise RuleError("blank, or no text")
    longest = LONGEST_KEYWORD if proposed.kind == "keywords" else LONGEST_PATTERN
    if len(said) > longest:
        raise RuleError(f"longer than {longest} characters")
    if proposed.kind == "keywords":
        said = " ".join(said.lower().split())
    if not all(map(_printable, said)):
        raise RuleError("holds control characters")
    return Keywords([said]) if proposed.kind == "keywords" else _pattern(said)


def _pattern(said: str) -> Pattern:
    if (size := read_expression(said).size) > SMALL:
        raise RuleError(
            f"the pattern has {size} parts with its repetitions written out, and at most {SMALL} are taken"
        )
    pattern = Pattern(said, ignore_case=True)
    if pl.Series([""]).to_frame("t").select(pattern.on(pl.col("t"))).item():
        raise RuleError("the pattern matches every text")
    return pattern


def _harmless(said: str) -> str:
    """As a terminal may show it."""
    return shortened("".join(c if _printable(c) else " " for c in said[:500]), 80)


def _printable(character: str) -> bool:
    """No control character, nor one that reverses a line; joiners are part of many scripts."""
    return unicodedata.category(character)[0] != "C" or character in "\u200c\u200d"
