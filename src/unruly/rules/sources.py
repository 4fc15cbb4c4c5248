"""All the sources of a task: they vote, and check their rules' own examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.errors import RuleError, UnrulyError
from unruly.findings import ExampleFailure
from unruly.progress import SILENT, Progress, stage
from unruly.rules.column import Column, NumbersInColumns
from unruly.rules.function import is_rule_function
from unruly.rules.matching import (
    SOFT,
    UNASKED,
    Evidence,
    Matcher,
    MatchFrame,
    VoteCache,
    given_up,
    warn_given_up,
)
from unruly.rules.regular_expressions import words_of
from unruly.rules.source import Rule, Source
from unruly.texts.columns import CORPUS_OF, text_named_by
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, MOST_CLASSES, Votes
from unruly.wording import listed, plural

if TYPE_CHECKING:
    from unruly.prompts.asking import Asked, Plan


@dataclass(frozen=True, init=False)
class Sources:
    """The classes of a task, and the sources that vote for them.

    >>> from unruly.rules.keywords import Keywords
    >>> from unruly.rules.source import Rule
    >>> sources = Sources(
    ...     ["ham", "spam"], [Source("subscribe", [Rule("spam", Keywords(["subscribe"]))])]
    ... )
    >>> votes = sources.vote(Corpus.from_texts(["Subscribe!", "nice song"]))
    >>> votes.matrix.tolist()
    [[1], [-1]]
    >>> votes.matches(0)[0].spans
    ((0, 9),)

    A function marked with `@unruly.rule` or `@unruly.labeling_function`, or Snorkel's own, is a
    source as it is. Sources alone, without classes, have those that their rules name; functions
    alone have "0" and "1".

    >>> from unruly.rules.function import labeling_function
    >>> @labeling_function()
    ... def shouting(x):
    ...     return 1 if x.text.isupper() else -1
    >>> Sources([shouting]).vote(["BUY NOW", "nice song"]).matrix.tolist()
    [[1], [-1]]
    """

    classes: Sequence[str]
    sources: Sequence[Source]  # those that vote
    with_disabled: Sequence[Source]  # all of them, in the order given

    def __init__(
        self,
        classes: Sequence[str] | Sequence[Source | Callable[[Any], object]],
        sources: Sequence[Source | Callable[[Any], object]] | None = None,
    ) -> None:
        if sources is None:
            given = tuple(_as_source(item) for item in classes)
            names = _classes_named(given)
        else:
            given = tuple(_as_source(item) for item in sources)
            names = tuple(classes)  # type: ignore[arg-type]
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "sources", tuple(source for source in given if source.enabled))
        object.__setattr__(self, "with_disabled", given)
        self._check()

    def _check(self) -> None:
        if not 2 <= len(self.classes) <= MOST_CLASSES:
            few = "name the class of the other documents, too"
            remedy = few if len(self.classes) < 2 else "put rare ones into one class"
            raise RuleError(
                f"a task needs 2 to {MOST_CLASSES} classes, not {len(self.classes)}: {remedy}"
            )
        if len(set(self.classes)) != len(self.classes):
            twice = next(c for c in self.classes if self.classes.count(c) > 1)
            raise RuleError(f"the class {twice!r} is listed twice")
        names = [source.name for source in self.with_disabled]
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise RuleError(f"two sources are named {twice!r}: give each source its own name")
        for source in self.with_disabled:
            source.rule_votes(tuple(self.classes))

    def __repr__(self) -> str:
        return f"Sources({listed(self.classes)}: {plural(len(self.sources), 'source')}, {listed(self.names)})"

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in the order of the votes' columns."""
        return tuple(source.name for source in self.sources)

    @property
    def disabled(self) -> tuple[str, ...]:
        """The names of the sources that are left out."""
        return tuple(source.name for source in self.with_disabled if not source.enabled)

    def index(self, name: str) -> int:
        """The place of a source among all, disabled ones too: its number in the project file."""
        return [source.name for source in self.with_disabled].index(name)

    def words(self) -> tuple[str, ...]:
        """The words and phrases that the rules of all sources look for, in lower case, each once.

        >>> from unruly.rules.keywords import Keywords
        >>> from unruly.rules.source import Rule
        >>> advert = Source("advert", [Rule("spam", Keywords(["Subscribe", "check out"]))])
        >>> Sources(["ham", "spam"], [advert]).words()
        ('subscribe', 'check out')
        """
        return words_of(word for source in self.sources for word in source.reads())

    def vote(
        self, documents: object, progress: Progress = SILENT, cache: VoteCache | None = None
    ) -> Votes:
        """Match every rule against every document: a corpus, a list of texts, a frame, a file.

        With a cache (`VoteCache.default()` is the command line's), only sources that are new or edited
        are matched; without one, nothing is read or written.
        """
        with text_named_by(CORPUS_OF):
            corpus = Corpus.of(documents)
        numbers = self._numbers_in_columns()
        votes = self._cast(corpus, progress, cache)
        warn_given_up(given_up(votes))
        numbers.note(corpus, votes)
        numbers.warn()
        return votes

    def _cast(self, corpus: Corpus, progress: Progress, cache: VoteCache | None) -> Votes:
        if not self.sources:
            raise RuleError(
                "all sources are disabled: enable at least one"
                if self.with_disabled
                else "there are no sources: write at least one [[source]] with a rule"
            )
        matcher = self._matcher(cache)
        matched = matcher.run(MatchFrame.of(corpus), progress)
        cast = matched.votes
        matrix = np.empty((len(corpus), len(self.sources)), dtype=np.int8)
        for j, name in enumerate(self.names):
            matrix[:, j] = cast[name].to_numpy()
        soft = {
            name: _probabilities(cast[SOFT + name], len(self.classes))
            for name in self.names
            if SOFT + name in cast.columns
        }
        unasked = {
            name: cast[UNASKED + name].to_numpy()
            for name in self.names
            if UNASKED + name in cast.columns and cast[UNASKED + name].any()
        }
        if corpus.missing is not None:  # without a text, every rule abstains
            matrix[corpus.missing] = ABSTAIN
            for shares in soft.values():
                shares[corpus.missing] = np.nan
        return Votes(
            matrix=matrix,
            sources=self.names,
            classes=tuple(self.classes),
            ids=corpus.ids.alias("id"),
            soft=soft,
            provenance=Evidence(matcher, corpus, matched.given_up, matched.lacking),
            unasked=unasked,
        )

    def ask(
        self, documents: object, progress: Progress = SILENT, cache: VoteCache | None = None
    ) -> tuple[Asked, ...]:
        """Ask the language models among the sources, as far as their budgets go; `vote` then has their answers.

        This is the one call that sends texts anywhere, and it sends them where the prompts say.
        """
        from unruly.rules.prompt import ask

        return ask(self, Corpus.of(documents), progress, cache)

    def plan(self, documents: object, cache: VoteCache | None = None) -> tuple[Plan, ...]:
        """What `ask` would send and cost, without sending anything."""
        from unruly.rules.prompt import plans

        return plans(self, Corpus.of(documents), cache)

    def vote_stream(
        self,
        batches: Iterable[Corpus],
        progress: Progress = SILENT,
        cache: VoteCache | None = None,
        rows: int | None = None,
    ) -> Iterator[Votes]:
        """The votes of one batch of documents after the other, as `Corpus.scan` gives them.

        A batch is freed before the next is read: the votes do not keep their documents, so they have no `matches`.
        """
        numbers = self._numbers_in_columns()
        with stage(progress, "matching rules", rows, "texts"):
            for batch in batches:
                votes = self._cast(batch, SILENT, cache)
                warn_given_up(given_up(votes))
                numbers.note(batch, votes)
                yield replace(votes, provenance=None)
                progress.advance(len(batch))
        numbers.warn()

    def _numbers_in_columns(self) -> NumbersInColumns:
        """To be told of all documents, batch by batch."""
        rules = {s.name: s.rules[0].when for s in self.sources if len(s.rules) == 1}
        found = {name: when for name, when in rules.items() if isinstance(when, Column)}
        return NumbersInColumns({name: c.column for name, c in found.items() if not c.map})

    def rule_counts(
        self, documents: object, cache: VoteCache | None = None
    ) -> tuple[RuleCount, ...]:
        """How often each rule matches and decides, for the sources that have several rules.

        >>> from unruly.rules.keywords import Keywords
        >>> rules = [Rule("ham", Keywords(["song"])), Rule("spam", Keywords(["my song"]))]
        >>> sources = Sources(["ham", "spam"], [Source("song", rules)])
        >>> [(c.rule, c.matches, c.decides) for c in sources.rule_counts(["my song", "a song"])]
        [(1, 2, 2), (2, 1, 0)]
        """
        corpus = Corpus.of(documents)
        several = [source for source in self.sources if len(source.rules) > 1]
        rules = [
            (source.name, i, rule) for source in several for i, rule in enumerate(source.rules)
        ]
        alone = tuple(Source(str(j), [rule]) for j, (_, _, rule) in enumerate(rules))
        if not alone:
            return ()
        cast = Matcher(alone, tuple(self.classes), cache).run(MatchFrame.of(corpus)).votes
        silent = np.zeros(len(corpus), np.bool_) if corpus.missing is None else corpus.missing
        found, earlier = [], silent
        for j, (name, i, _) in enumerate(rules):
            matched = (cast[str(j)].to_numpy() != ABSTAIN) & ~silent  # (n,)
            earlier = silent if i == 0 else earlier  # where a rule of the same source has decided
            decided = matched & ~earlier
            found.append(RuleCount(name, i + 1, int(matched.sum()), int(decided.sum())))
            earlier = earlier | matched
        return tuple(found)

    def check_examples(self) -> list[ExampleFailure]:
        """The rules' own examples that do not hold; none when all is well."""
        return [f for source in self.sources for f in failures(source, tuple(self.classes))]

    def _matcher(self, cache: VoteCache | None) -> Matcher:
        return self._bare if cache is None else replace(self._bare, cache=cache)

    @cached_property
    def _bare(self) -> Matcher:
        return Matcher(tuple(self.sources), tuple(self.classes))


def _as_source(given: object) -> Source:
    """A source, or a function that becomes one of its own name."""
    if isinstance(given, Source):
        return given
    if is_rule_function(given):
        return Source(str(getattr(given, "name", "function")), [given])  # type: ignore[list-item]
    raise RuleError(
        f"{given!r} is not a source: expected Source(name, rules), or a function marked with "
        "@unruly.rule or @unruly.labeling_function; the classes come first: Sources(classes, sources)"
    )


def _classes_named(sources: tuple[Source, ...]) -> tuple[str, ...]:
    """The classes that rules name, in their order; "0" and "1" where no rule names any."""
    rules = [rule for source in sources for rule in source.rules]
    labels = [(r.label,) if isinstance(r.label, str) else r.label or () for r in rules]
    excluded = [rule.not_label for rule in rules if rule.not_label is not None]
    named = dict.fromkeys([*(name for label in labels for name in label), *excluded])
    if len(named) == 1:
        raise RuleError(
            f"the rules name one class, {next(iter(named))!r}: name all, Sources(classes, sources)"
        )
    return tuple(named) or ("0", "1")


def _probabilities(lists: pl.Series, classes: int) -> NDArray[np.float32]:
    """(n, m), nan where the source abstains."""
    probabilities = np.full((len(lists), classes), np.nan, dtype=np.float32)
    given = lists.is_not_null().to_numpy()
    if given.any():
        probabilities[given] = lists.drop_nulls().explode().to_numpy().reshape(-1, classes)
    return probabilities


@dataclass(frozen=True)
class RuleCount:
    """On how many documents a rule matches, and on how many it decides: no earlier rule of its source matches."""

    source: str
    rule: int  # counted from 1
    matches: int
    decides: int


def failures(source: Source, classes: tuple[str, ...]) -> Iterator[ExampleFailure]:
    """The examples of one source that do not hold."""
    for number, rule in enumerate(source.rules, start=1):
        texts = [*rule.examples, *rule.counter_examples]
        if not texts:
            continue
        matched = _matched(source, number, rule, texts, classes)
        for i, (text, hit) in enumerate(zip(texts, matched, strict=True)):
            counter = i >= len(rule.examples)
            if hit == counter:
                yield ExampleFailure(source.where(number), text, counter)


def _matched(
    source: Source, number: int, rule: Rule, texts: list[str], classes: tuple[str, ...]
) -> list[bool]:
    """Whether the rule alone votes for its label (or for any class, if it picks the class itself)."""
    where = source.where(number)
    columns = rule.when.needs(classes).all_columns
    if columns:
        raise RuleError(
            f"the rule reads the column {columns[0]!r}, which an example does not have: "
            "drop the examples",
            where=where,
        )
    alone = Matcher((Source(source.name, [rule]),), classes)
    try:
        documents = MatchFrame.of(Corpus.from_texts(texts, name=str(where)))
        cast, _ = alone.rule_votes(alone.sources, alone.sources, documents)
    except UnrulyError as error:
        raise RuleError(error.message, where=where) from None  # it was alone, and so the first
    votes = cast.to_series().to_list()
    named = rule.named(classes)
    return [vote is not None and (not named or vote == named[0]) for vote in votes]
