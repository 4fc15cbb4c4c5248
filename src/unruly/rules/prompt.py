"""`prompt`: a language model is asked about the document, and its answer is the vote.

Voting never sends anything: it reads the answers that `unruly vote` (or `Sources.ask`) got and stored. Without an answer the
vote is missing, which is not an abstention; "unsure", and an answer that cannot be read, abstain.

As far as the budget goes, the model is asked first about documents that no rule covers, then about those on which rules
disagree, then about the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress
from unruly.prompts.answers import AnswerStore, Budget, Completion, Price
from unruly.prompts.asking import Asked, Asking, Plan, RetryPolicy
from unruly.prompts.endpoint import OWN_PARTS, UNSURE, Endpoint, Question
from unruly.rules.classifier import Classifier
from unruly.rules.column import refuse_label
from unruly.rules.condition import (
    TEXT,
    Condition,
    Measure,
    Needs,
    Place,
    Plain,
    Row,
    Table,
    is_no_class,
)
from unruly.rules.matching import MatchFrame, VoteCache
from unruly.rules.similar import descriptions_of, lines_of
from unruly.rules.source import Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.majority import conflicts
from unruly.votes.votes import Votes

KEYS = ("endpoint", "model", "ask", "answers", "budget", "price", "key_env", "in_flight", "seconds", "max_tokens", "seed", "extra")  # fmt: skip
MOST_TOKENS = 32_768  # of an answer, reasoning included
UNCOVERED, CONTESTED, AGREED = 0, 1, 2  # in the order in which documents are asked about
_GAP = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_OWN = ("text", "classes", "descriptions")  # what a template may name beside columns
_FIELDS = pl.Struct({"vote": pl.Int8, "soft": pl.List(pl.Float32), "asked": pl.Boolean, "said": pl.String, "read": pl.Boolean})  # fmt: skip


@dataclass(frozen=True)
class Prompt(Condition):
    """Asks `model` at `endpoint`; `answers` says which words mean which class.

    `ask` is a template with {text}, {classes}, {descriptions} and any column by its name. Without `answers`, the
    answers are the names of the classes. `extra` is sent as well, for what only some servers know, such as
    {"reasoning_effort": "none"}.
    """

    endpoint: Endpoint
    model: str
    ask: str
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # class -> words
    budget: Budget = field(default_factory=Budget)
    price: Price = field(default_factory=Price)
    max_tokens: int = 32
    seed: int = 0
    descriptions: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Plain] = field(default_factory=dict)
    picks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise RuleError("prompt needs the name of a model")
        if "{text}" not in self.ask and not self.columns:
            raise RuleError('ask must hold {text} or a column, as in ask = "Is this spam? {text}"')
        words = [word.casefold() for words in self.answers.values() for word in words]
        if UNSURE in words:
            raise RuleError(f'"{UNSURE}" is an answer already: it abstains')
        if len(set(words)) < len(words) or any(not word.strip() for word in words):
            raise RuleError("answers: every word belongs to one class, and none is blank")
        if self.budget.money is not None and not (self.price.input or self.price.output):
            raise RuleError(
                "a budget of money needs a price, as in price = { input = 0.15, output = 0.60 } for a million tokens"
            )
        if not self.endpoint.local and not self.budget.limited:
            raise RuleError(
                f"{self.endpoint.host} is not this machine: give a budget, as in budget = {{ calls = 1000 }}"
            )
        if not 1 <= self.max_tokens <= MOST_TOKENS:
            raise RuleError(f"max_tokens = {self.max_tokens}: give 1 to {MOST_TOKENS:,}")
        own = next((name for name in self.extra if name in OWN_PARTS), None)
        if own is not None:
            raise RuleError(f"extra: {own!r} is set already: leave it out")

    def __hash__(self) -> int:
        return hash(self.identity)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the template names."""
        names = [found.group(1) for found in _GAP.finditer(self.ask) if found.group(1) is not None]
        return tuple(dict.fromkeys(name for name in names if name not in _OWN))

    @property
    def identity(self) -> str:
        """The key of its answers and of what it has cost, whatever the endpoint."""
        parts: list[object] = [self.model, self.ask]
        parts += [sorted(self.answers.items()), self.max_tokens, self.seed]
        parts.append(sorted(self.descriptions.items()))
        parts += [dict(self.extra)] if self.extra else []
        text = json.dumps(parts, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def words(self, classes: tuple[str, ...]) -> dict[str, str]:
        """Answer -> class, in the order of the classes."""
        given = self.answers or {name: (name,) for name in classes}
        return {word: name for name in classes for word in given.get(name, ())}

    def questions(self, frame: pl.DataFrame, classes: tuple[str, ...]) -> list[Question]:
        """One for each document."""
        words = (*self.words(classes), UNSURE)
        known = self.descriptions
        about = "\n".join(
            f"{name}: {'; '.join(lines_of(known[name]))}" for name in classes if name in known
        )
        fixed = {"classes": ", ".join(classes), "descriptions": about}
        columns = {name: frame[name].to_list() for name in self.columns}
        return [
            Question(
                self.model,
                _rendered(
                    self.ask,
                    {**fixed, **{n: values[i] for n, values in columns.items()}, "text": text},
                ),
                words,
                self.seed,
                self.max_tokens,
                self.extra,
            )
            for i, text in enumerate(frame[TEXT].to_list())
        ]

    def needs(self, classes: tuple[str, ...]) -> Needs:
        replies = Measure(self.reply_column, partial(self._replies, classes), self.columns)
        return Needs(self.columns, (replies,))

    @property
    def reply_column(self) -> str:
        """The column that holds the replies while rules are matched."""
        return f"__prompt:{self.identity}"

    def _reply(self, part: str) -> pl.Expr:
        return pl.col(self.reply_column).struct.field(part)

    def _replies(self, classes: tuple[str, ...], frame: pl.DataFrame) -> pl.Series:
        questions = self.questions(frame, classes)
        answers: Mapping[str, Completion] = {}
        if AnswerStore.usual_path().is_file():
            with AnswerStore.default() as store:
                answers = store.get(question.key for question in questions)
        rows = [self._row(answers.get(question.key), classes) for question in questions]
        return pl.Series(self.reply_column, rows, dtype=_FIELDS)

    def _row(self, completion: Completion | None, classes: tuple[str, ...]) -> dict[str, object]:
        if completion is None:
            return {"vote": None, "soft": None, "asked": False, "said": None, "read": None}
        meant = self.words(classes)
        words = (*meant, UNSURE)
        word = completion.word(words)
        quiet = {"vote": None, "soft": None, "asked": True, "said": completion.content[:200]}
        if word is None or word == UNSURE:
            return {**quiet, "read": word is not None}
        shares = [0.0] * len(classes)
        for answer, p in (completion.probabilities(words) or {}).items():
            if answer != UNSURE:
                shares[classes.index(meant[answer])] += p
        if not any(shares):  # there are none, or only of doubt: then the word counts
            shares[classes.index(meant[word])] = 1.0
        total = sum(shares)
        shares = [p / total for p in shares]
        best = max(range(len(shares)), key=shares.__getitem__)
        return {"vote": best, "soft": shares, "asked": True, "said": word, "read": True}

    def mask(self) -> pl.Expr:
        return self._reply("vote").is_not_null()

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        refuse_label(label, "a prompt")
        odd = next((name for name in self.answers if name not in classes), None)
        if odd is not None:
            raise RuleError(f"answers: {odd!r} {is_no_class(odd, classes)}")
        return self._reply("vote")

    def soft(self, classes: tuple[str, ...]) -> pl.Expr:
        """The probabilities as a list, one number a class."""
        return self._reply("soft")

    def unasked(self) -> pl.Expr:
        """True where the model has not been asked yet."""
        return ~self._reply("asked")

    def reason(self) -> str:
        return f"prompt: {self.model}"

    def because(self, row: Row) -> str:
        """The model's answer."""
        found = row[self.reply_column]
        assert isinstance(found, Mapping)
        return f"{self.model} says “{found['said']}” ({max(found['soft'] or [0.0]):.0%})"

    def to_plain(self) -> Table:
        plain: dict[str, Plain] = {
            "endpoint": self.endpoint.url,
            "model": self.model,
            "ask": self.ask,
        }
        if self.answers:
            plain["answers"] = {name: list(words) for name, words in self.answers.items()}
        if self.budget.limited:
            plain["budget"] = dict(self.budget.to_plain())
        if self.price != Price():
            plain["price"] = {"input": self.price.input, "output": self.price.output}
        if self.endpoint.key_env is not None:
            plain["key_env"] = self.endpoint.key_env
        if self.extra:
            plain["extra"] = dict(self.extra)
        own: tuple[tuple[str, float, float], ...] = (
            ("in_flight", self.endpoint.in_flight, Endpoint.in_flight),
            ("seconds", self.endpoint.seconds, Endpoint.seconds),
            ("max_tokens", self.max_tokens, Prompt.max_tokens),
            ("seed", self.seed, Prompt.seed),
        )
        return {"prompt": plain | {name: value for name, value, default in own if value != default}}

    def meaning(self) -> None:
        return None  # its answers are kept, and more may arrive

    @classmethod
    def from_plain(cls, table: Mapping[str, object], place: Place) -> Prompt:
        """From the key `prompt`."""
        for secret in ("key", "api_key", "token"):
            if secret in place.at("prompt").table(table["prompt"]):
                raise place.at("prompt", secret).error(
                    f"{secret!r} in a file would be seen by others: put the key into an environment variable, and "
                    "name that with key_env"
                )
        here, inner = place.section(table, "prompt", KEYS, needed=["endpoint", "model", "ask"])
        there = here.at("answers")
        given = there.table(inner.get("answers", {}))
        answers = {there.at(c).label(c): there.at(c).texts(words) for c, words in given.items()}
        with here.blamed():
            return cls(
                endpoint=_endpoint(inner, here),
                model=here.at("model").text(inner["model"]),
                ask=here.at("ask").text(inner["ask"]),
                answers=answers,
                budget=_budget(inner.get("budget", {}), here.at("budget")),
                price=_price(inner.get("price", {}), here.at("price")),
                max_tokens=here.at("max_tokens").count(inner.get("max_tokens", cls.max_tokens)),
                seed=here.at("seed").count(inner.get("seed", cls.seed)),
                descriptions=dict(place.descriptions),
                extra=_extra(inner.get("extra", {}), here.at("extra")),
            )


def prompt_of(source: Source) -> Prompt | None:
    """The prompt that a source is made of, if it is."""
    when = source.rules[0].when
    return when if isinstance(when, Prompt) and len(source.rules) == 1 else None


def _rendered(template: str, values: Mapping[str, object]) -> str:
    """The template with every placeholder filled; braces in a text are no placeholders.

    >>> _rendered("{{json}} {text} by {author}", {"text": "a {author}", "author": "Ann"})
    '{json} a {author} by Ann'
    """

    def fill(found: re.Match[str]) -> str:
        name = found.group(1)
        if name is None:
            return found.group(0)[0]
        value = values[name]
        return "" if value is None else str(value)

    return _GAP.sub(fill, template)


def _endpoint(inner: Mapping[str, object], here: Place) -> Endpoint:
    return Endpoint(
        here.at("endpoint").text(inner["endpoint"]),
        here.at("key_env").text(inner["key_env"]) if "key_env" in inner else None,
        here.at("seconds").number(inner.get("seconds", Endpoint.seconds)),
        here.at("in_flight").count(inner.get("in_flight", Endpoint.in_flight)),
    )


def _budget(value: object, here: Place) -> Budget:
    table = here.table(value)
    here.only(table, ("calls", "tokens", "money", "minutes"), "budget")
    whole = {k: here.at(k).count(table[k]) for k in ("calls", "tokens") if k in table}
    other = {k: here.at(k).number(table[k]) for k in ("money", "minutes") if k in table}
    return Budget(whole.get("calls"), whole.get("tokens"), other.get("money"), other.get("minutes"))


def _extra(value: object, here: Place) -> Mapping[str, Plain]:
    table = here.table(value)
    try:
        json.dumps(table)
    except TypeError:
        raise here.error("extra holds something that JSON has not, such as a date") from None
    return cast("Mapping[str, Plain]", table)


def _price(value: object, here: Place) -> Price:
    table = here.table(value)
    here.only(table, ("input", "output"), "price")
    numbers = {k: here.at(k).number(table[k]) for k in table}
    return Price(numbers.get("input", 0.0), numbers.get("output", 0.0))


def ask(
    sources: Sources,
    corpus: Corpus,
    progress: Progress = SILENT,
    cache: VoteCache | None = None,
    retries: RetryPolicy | None = None,
    only: str | None = None,
) -> tuple[Asked, ...]:
    """Ask every prompt of the sources about these documents, within its budget; `vote` then reads the answers.

    `only` names the one source to ask; the others still say which documents come first.
    """
    askings = list(_askings(sources, corpus, cache, retries or RetryPolicy(), only))
    if not askings:
        return ()
    with AnswerStore.default() as store:
        return tuple(asking.run(store, progress) for asking in askings)


def plans(
    sources: Sources, corpus: Corpus, cache: VoteCache | None = None, only: str | None = None
) -> tuple[Plan, ...]:
    """What `ask` would send and cost; nothing is sent."""
    askings = list(_askings(sources, corpus, cache, RetryPolicy(), only))
    if not askings:
        return ()
    with AnswerStore.default() as store:
        return tuple(asking.plan(store) for asking in askings)


def _askings(
    sources: Sources,
    corpus: Corpus,
    cache: VoteCache | None,
    retries: RetryPolicy,
    only: str | None,
) -> Iterator[Asking]:
    prompts = {
        source.name: prompt
        for source in sources.sources
        if (prompt := prompt_of(source)) is not None and only in (None, source.name)
    }
    if not prompts:
        return
    rows = _by_urgency(sources, corpus, cache)
    frame = MatchFrame.of(corpus.take(rows)).frame
    for name, prompt in prompts.items():
        missing = next((c for c in prompt.columns if c not in frame.columns), None)
        if missing is not None:
            raise RuleError(
                f"source {name!r}: the prompt names {{{missing}}}, which is not a column of the data"
            )
        questions = prompt.questions(frame, tuple(sources.classes))
        yield Asking(
            name, prompt.identity, prompt.endpoint, questions, prompt.budget, prompt.price, retries
        )


def _by_urgency(sources: Sources, corpus: Corpus, cache: VoteCache | None) -> NDArray[np.int64]:
    """The rows with a text, the most urgent first; in their order where equally urgent."""
    order = np.argsort(urgency_by_rules(sources, corpus, cache), kind="stable")
    blank = (corpus.texts.str.strip_chars() == "").to_numpy()
    return np.asarray(order[~blank[order]])


def urgency_by_rules(
    sources: Sources, corpus: Corpus, cache: VoteCache | None = None
) -> NDArray[np.int64]:
    """(n,): `urgency` by rules alone: models and class descriptions vote on everything."""
    rules = [
        source
        for source in sources.sources
        if descriptions_of(source) is None
        and not any(isinstance(rule.when, Prompt | Classifier) for rule in source.rules)
    ]
    if not rules:
        return np.full(len(corpus), UNCOVERED)
    return urgency(Sources(sources.classes, rules).vote(corpus, cache=cache))


def urgency(votes: Votes) -> NDArray[np.int64]:
    """(n,): 0 where no source votes, 1 where votes have no class in common, else 2.

    >>> urgency(Votes.from_array([[0, 0], [-1, -1], [0, 1]])).tolist()
    [2, 0, 1]
    """
    voted = np.where(conflicts(votes), CONTESTED, AGREED)
    return np.where(votes.covered, voted, UNCOVERED)
