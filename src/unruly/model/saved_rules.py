"""Rules as a model file carries them: plain values and back, opening nothing that the caller did not name.

A model file may come from a stranger, so it carries only kinds of rule that need nothing else. Words of
keyword files, values of lookup tables, examples to be like and descriptions of classes are copied in when the
model is saved; the last two are compared with texts by the model's own encoder. Of a Python function
only its name, its file's name and that file's SHA-256 are kept, of a spaCy model its name; neither is
opened unless the caller names it again when loading. A prompt votes by the answers that are on this machine; nobody is
asked without the caller's word, and no key is named in the file. A rule of any other kind, or one that
names a file, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import unruly.rules as rules  # kinds by name, which import their modules when a model has such a rule
from unruly.errors import InputError, ModelFileError, RuleError, UnrulyWarning, Where, warn
from unruly.features.encoder import FittedSpace
from unruly.features.stack import Encoding
from unruly.files import sha256
from unruly.progress import SILENT, Progress
from unruly.rules.condition import (
    AllOf,
    AnyOf,
    Condition,
    Not,
    Place,
    Plain,
)
from unruly.rules.function import ALWAYS, Function, source_file
from unruly.rules.keywords import Keywords
from unruly.rules.matching import Evidence, Matcher, VoteCache, lacking
from unruly.rules.similar import Described, Similar
from unruly.rules.source import BESIDE, Rule, Source, condition_from_plain
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus
from unruly.votes.provenance import ColumnLacking
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import near_file, plural

# Kinds that are read from a model as from a project file: the table has all that they need.
_CARRIED = frozenset(
    ("keywords", "pattern", "sequence", "length", "polarity", "subjectivity", "vader", "field", "column")
)  # fmt: skip
_DEEPEST = 50  # conditions within conditions
_MOST = 2000  # conditions in one rule
_MOST_KNOWN = 16  # sets of sources without some of their columns


@dataclass(frozen=True)
class Absent(Condition):
    """In the place of a rule whose function or spaCy model was not named by the caller: it cannot vote."""

    kind: str  # "function", "entity", "encoder" or "classifier"
    name: str  # of the function or the classifier, the type of entity, or the rule in words
    file: str | None = None  # the function's file, or the spaCy model
    digest: str | None = None  # of the function's file, or the classifier
    map: tuple[tuple[str, str], ...] = ()  # of a classifier: from its classes to the task's
    above: float = 0.0  # likewise: the probability to be passed
    trusted: tuple[str, ...] = ()  # likewise: types that the file with this digest may hold
    alone: bool = False  # of texts compared by an encoder: whether the rule picks the class, as descriptions do

    @property
    def picks(self) -> bool:
        return self.kind in ("function", "classifier") or self.alone

    def mask(self) -> pl.Expr:
        return pl.lit(False)

    def vote(self, label: str | None, classes: tuple[str, ...]) -> pl.Expr:
        return pl.lit(None, dtype=pl.Int8)

    def reason(self) -> str:
        return f"{self.kind}: {self.name}"

    def meaning(self) -> Plain | None:
        return None

    def to_plain(self) -> dict[str, Any]:
        """As a model holds it."""
        if self.kind == "entity":
            return {"carried_entity": {"type": self.name, "model": self.file}}
        if self.kind == "encoder":
            alone = {"alone": True} if self.alone else {}
            return {"carried_encoder": {"name": self.name, **alone}}
        if self.kind == "classifier":
            mapped = [list(pair) for pair in self.map]
            more: dict[str, Any] = {"digest": self.digest, "map": mapped, "above": self.above}
            more |= {"trusted": list(self.trusted)} if self.trusted else {}
            return {"carried_classifier": {"name": self.name, **more}}
        facts = {"name": self.name, "file": self.file, "digest": self.digest}
        return {"carried_function": facts}

    def problem(self, source: str) -> str:
        """Why its source cannot vote, and what to do."""
        named = self.file or "rules.py"
        if self.kind == "encoder":
            return (
                f"source {source!r} ({self.name}) compares texts by another encoder than the model's, and the "
                "model does not carry it: fit with the same encoder, or give the votes"
            )
        if self.kind == "entity":
            return (
                f"source {source!r} needs the spaCy model {named}, and a model file opens nothing by "
                f"itself: allow it with --functions {named} or unruly.load(..., functions={named!r}), "
                "or give the votes"
            )
        if self.kind == "classifier":
            return (
                f"source {source!r} is the classifier {self.name}, and a model file opens nothing by itself: pass it with "
                f"--functions {self.name} or unruly.load(..., functions={self.name!r}), or give the votes"
            )
        origin = f" of {self.file}" if self.file else ""
        path = named if Path(named).is_file() else f"path/to/{named}"  # the first works as printed
        return (
            f"source {source!r} is the Python function {self.name}{origin}, and a model file carries no "
            f"code: pass the file with --functions {path} or unruly.load(..., functions=...), or give "
            "the votes"
        )


@dataclass(frozen=True)
class AllowedRules:
    """What the caller allows the rules of a model file to open: Python files, spaCy models and classifiers, by name.

    For encoders, `unruly.features.registry.AllowedEncoders`.
    """

    names: tuple[Path, ...] = ()

    @classmethod
    def of(cls, given: str | Path | Sequence[str | Path] | None) -> AllowedRules:
        """One name, several, or none.

        >>> AllowedRules.of([len])
        Traceback (most recent call last):
        ...
        unruly.errors.InputError: functions= names files, not a builtin_function_or_method object: give the path of the Python file that holds the functions, as in functions='rules.py'
        """
        if given is None:
            return cls()
        several: list[object] = [given]
        if isinstance(given, Sequence) and not isinstance(given, str):
            several = list(given)
        named = []
        for one in several:
            if not isinstance(one, str | Path):
                file = source_file(one) or "rules.py"
                raise InputError(
                    f"functions= names files, not a {type(one).__name__} object: give the path of the Python file "
                    f"that holds the functions, as in functions={file!r}"
                )
            named.append(Path(one))
        return cls(tuple(named))

    def function(self, wanted: Absent, place: Place) -> Condition:
        """The function from the file with the digest that the model remembers, if it was named."""
        files = [path for path in self.names if path.suffix == ".py" or path.is_file()]
        problem: RuleError | None = None  # of one of the files: another may have the function
        for path in files:
            if not path.is_file():
                hint = near_file(path)
                raise RuleError(
                    f"there is no such file{hint and ': ' + hint}", where=Where(str(path))
                )
            digest = sha256(path)
            if wanted.digest in (None, digest):
                table = {"function": {"file": path.name, "name": wanted.name}}
                there = replace(place, folder=path.parent, files=True)
                try:
                    function = Function.from_plain(table, there)
                except RuleError as error:
                    problem = error
                    continue
                if wanted.digest:
                    return function
                return replace(function, file=wanted.file, digest=None)  # given in Python
        if problem is not None:
            raise problem
        same = [path for path in files if path.name == Path(wanted.file or "").name]
        if same:
            raise RuleError(
                f"{same[0]}: not the file that the model was fitted with (its SHA-256 began with "
                f"{(wanted.digest or '')[:12]}): give that version, or fit again"
            )
        return wanted

    def classifier(self, wanted: Absent) -> Condition:
        """The classifier, if the caller named it and it is the one that the model was fitted with.

        What the model says is trusted is so only in that very file: without a digest, nothing is.
        """
        for path in self.names:
            if path.name == Path(wanted.name).name:
                found = rules.Classifier(str(path), dict(wanted.map), wanted.above)
                if wanted.digest is None:
                    return found
                if found.digest() != wanted.digest:
                    raise RuleError(
                        f"{path}: not the classifier that the model was fitted with: give that version, or fit again"
                    )
                return replace(found, trusted=wanted.trusted, only=wanted.digest)
        return wanted

    def entity(self, wanted: Absent) -> Condition:
        """The entity rule with the caller's own spaCy model of that name, if it was named."""
        for path in self.names:
            if path.name == wanted.file:
                return rules.Entity(wanted.name, str(path))
        return wanted


@dataclass(frozen=True)
class SavedRules:
    """The rules of a model, which vote on new documents as they did on the training documents.

    With the cache of the votes that they were fitted on, documents that were matched then are not matched again.
    """

    sources: Sources
    cache: VoteCache | None = field(default=None, compare=False, repr=False)
    # Columns of the training documents beside the text, where functions may read them.
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, sources: Sources, keep: bool) -> SavedRules:
        """The sources, their votes kept in the user's cache or not."""
        return cls(sources, VoteCache.default() if keep else None)

    @classmethod
    def behind(cls, votes: object) -> SavedRules | None:
        """The rules behind votes that still know them, else None."""
        matcher = getattr(getattr(votes, "provenance", None), "matcher", None)
        if matcher is None:
            return None
        return cls(Sources(matcher.classes, matcher.sources), matcher.cache)

    def within(self, encoder: Encoding | None) -> SavedRules:
        """The same rules, whose comparisons of texts go by the model's encoder where it is the same as theirs."""
        if encoder is None:
            return self
        return replace(self, sources=self._with(lambda when: _with_encoder(when, encoder)))

    def trained_on(self, corpus: Corpus | None, votes: Votes | None = None) -> SavedRules:
        """The same rules, which know what columns the training documents had, where functions may read them.

        The votes may have been cast on more columns than the documents have that are fitted: on a frame, of which the
        column of texts is learnt from.
        """
        if not any(isinstance(one, Function) for _, one in _conditions(self.sources)):
            return self
        made = None if votes is None else votes.provenance
        known = (
            *(() if corpus is None else corpus.columns.columns),
            *(() if made is None else made.columns),
        )
        others = (column for column in known if column not in ALWAYS)
        return replace(self, columns=tuple(dict.fromkeys(others)))

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns beside the text that its rules read; functions may read all that there were in training."""
        classes = tuple(self.sources.classes)
        known = (c for source in self.sources.sources for c in source.needs(classes).all_columns)
        return tuple(dict.fromkeys([*known, *self.columns]))

    def check_complete(self) -> None:
        """Refuse rules that cannot vote because the caller has not named what they need."""
        for source, one in _conditions(self.sources):
            if isinstance(one, Absent):
                raise RuleError(one.problem(source.name))

    def hosts(self) -> tuple[str, ...]:
        """The other machines that its prompts would send texts to."""
        from unruly.rules.prompt import prompt_of

        prompts = [prompt_of(source) for source in self.sources.sources]
        away = [p.endpoint.host for p in prompts if p is not None and not p.endpoint.local]
        return tuple(dict.fromkeys(away))

    def with_key(self, key_env: str | None) -> Sources:
        """The sources, whose prompts find their key in this environment variable; as they are without one."""
        if key_env is None:
            return self.sources
        return self._with(lambda when: _with_key(when, key_env))

    def _with(self, changed: Callable[[Condition], Condition]) -> Sources:
        """The sources, with another condition in the place of each rule's."""
        sources = [
            Source(s.name, [replace(rule, when=changed(rule.when)) for rule in s.rules])
            for s in self.sources.sources
        ]
        return Sources(self.sources.classes, sources)

    def vote(self, corpus: Corpus, progress: Progress = SILENT) -> Votes:
        """Each source's votes on these documents.

        A source that reads a column which these documents do not have abstains, with a warning: votes that a vendor gave
        on the training documents are not to be had for new ones. A function's source abstains where the function asks
        for it, if the training documents had it; else the function has a mistake, which is an error.
        """
        self.check_complete()
        there = {*corpus.columns.columns, corpus.texts.name}
        silent = self._silent(there)
        absent = tuple(column for column in self.columns if column not in there)
        sources = self._voting(tuple(silent), absent)
        votes = sources.vote(corpus, progress, self.cache) if sources.names else None
        everywhere = np.ones(len(corpus), dtype=np.bool_)
        wholly = (ColumnLacking(name, column, everywhere) for name, column in silent.items())
        facts = (*wholly, *(() if votes is None else lacking(votes)))
        if not facts:
            assert votes is not None
            return votes
        _warn_lacking(facts, corpus)
        return self._with_silent(votes, facts, corpus)

    def _silent(self, there: set[str]) -> dict[str, str]:
        """The sources that are known to read a column which is not there, and that column."""
        classes = tuple(self.sources.classes)
        found: dict[str, str] = {}
        for source in self.sources.sources:
            for column in source.needs(classes).all_columns:
                if column not in there:
                    found.setdefault(source.name, column)
        return found

    def _voting(self, silent: tuple[str, ...], absent: tuple[str, ...]) -> Sources:
        """All sources but the silent ones; their functions may ask for columns that are absent."""
        if not silent and not absent:
            return self.sources
        found = self._known.get((silent, absent))  # a server votes on one text after the other
        if found is None:
            forgiving = self._with(lambda when: _without(when, absent))
            voting = [source for source in forgiving.sources if source.name not in silent]
            found = Sources(self.sources.classes, voting)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[silent, absent] = found
        return found

    @cached_property
    def _known(self) -> dict[tuple[tuple[str, ...], tuple[str, ...]], Sources]:
        return {}

    def _with_silent(
        self, votes: Votes | None, facts: tuple[ColumnLacking, ...], corpus: Corpus
    ) -> Votes:
        """The votes with the columns of sources that are silent, and with why they are."""
        names, classes = self.sources.names, tuple(self.sources.classes)
        matrix = np.full((len(corpus), len(names)), ABSTAIN, dtype=np.int8)
        if votes is None:
            known = Evidence(Matcher((), classes), corpus, lacking=facts)
            return Votes(matrix, names, classes, corpus.ids.alias("id"), provenance=known)
        assert isinstance(votes.provenance, Evidence)
        matrix[:, [names.index(name) for name in votes.sources]] = votes.matrix
        known = replace(votes.provenance, lacking=facts)
        return replace(votes, matrix=matrix, sources=names, provenance=known)

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it; the contents of files are copied in."""
        sources = [
            {"name": source.name, "rule": [_rule_to_plain(rule) for rule in source.rules]}
            for source in self.sources.sources
        ]
        plain = {"classes": list(self.sources.classes), "sources": sources}
        return {**plain, "columns": list(self.columns)} if self.columns else plain

    @classmethod
    def from_plain(
        cls, plain: Mapping[str, Any], allowed: AllowedRules, encoder: Encoding | None = None
    ) -> SavedRules:
        """Back from JSON, opening nothing but what is allowed; `encoder` is the model's."""
        space = None if encoder is None else FittedSpace(encoder.first)
        classes = tuple(plain["classes"])
        sources = []
        anywhere = Place(lambda path: Where(), classes, Path("."), files=False, space=space)
        for source in plain["sources"]:
            place = anywhere.named(Where(source=str(source["name"])))
            rules = [_rule_from_plain(rule, place, allowed) for rule in source["rule"]]
            sources.append(Source(source["name"], rules))
        if not sources:
            raise ValueError("rules without a source")
        columns = anywhere.texts(plain.get("columns", ()))
        return cls(Sources(classes, sources), columns=columns)


class LackingWarning(UnrulyWarning):
    """Sources abstain because documents lack a column that they read."""


def _warn_lacking(facts: Sequence[ColumnLacking], corpus: Corpus) -> None:
    """Say which sources abstain, and for want of what."""
    first, names = facts[0], {fact.source for fact in facts}
    more = f" (and {plural(len(names) - 1, 'other source')})" if len(names) > 1 else ""
    warn(
        f"the source {first.source!r}{more} abstains: no column {first.column!r} in {corpus.name}",
        LackingWarning,
    )


def _without(condition: Condition, absent: tuple[str, ...]) -> Condition:
    """The condition, where a function may ask for columns that are absent."""
    return replace(condition, absent=absent) if isinstance(condition, Function) else condition


def _with_key(condition: Condition, key_env: str) -> Condition:
    if not isinstance(condition, rules.Prompt):
        return condition
    return replace(condition, endpoint=replace(condition.endpoint, key_env=key_env))


def _with_encoder(condition: Condition, encoder: Encoding) -> Condition:
    """The condition with the model's encoder in place of an equal one, and all that it has learnt written out."""
    match condition:
        case AllOf(conditions=parts):
            return AllOf(tuple(_with_encoder(part, encoder) for part in parts))
        case AnyOf(conditions=parts):
            return AnyOf(tuple(_with_encoder(part, encoder) for part in parts))
        case Not(condition=part):
            return Not(_with_encoder(part, encoder))
        case Similar(space=space) | Described(space=space) if space is not None:
            if space.identity is not None and space.identity == encoder.first().identity:
                return replace(condition.resolved(), space=FittedSpace(encoder.first))
    return condition


def function_files(sources: Sources, folder: Path) -> tuple[Path, ...]:
    """The Python files that rules name: what is to be allowed where a model of theirs is loaded."""
    files = (one.file for _, one in _conditions(sources) if isinstance(one, Function))
    return tuple(dict.fromkeys(folder / file for file in files if file))


def code_files(sources: Sources) -> tuple[str, ...]:
    """The names of the Python files that the functions of a model are in, which carries no code."""
    found: list[str | None] = []
    for _, one in _conditions(sources):
        if isinstance(one, Function):
            found.append(one.file or source_file(one.function))
        elif isinstance(one, Absent) and one.kind == "function":
            found.append(one.file)
    return tuple(dict.fromkeys(Path(file).name for file in found if file))


def _conditions(sources: Sources) -> Iterator[tuple[Source, Condition]]:
    """Every condition of the sources' rules, those inside others too, with its source."""
    for source in sources.sources:
        for rule in source.rules:
            for one in _conditions_in(rule.when):
                yield source, one


def _conditions_in(condition: Condition) -> Iterator[Condition]:
    """A condition, and all conditions inside it."""
    yield condition
    match condition:
        case AllOf(conditions=parts) | AnyOf(conditions=parts):
            for part in parts:
                yield from _conditions_in(part)
        case Not(condition=part):
            yield from _conditions_in(part)


def _rule_to_plain(rule: Rule) -> dict[str, Any]:
    """As JSON has it; the contents of files are copied in."""
    several = rule.label is not None and not isinstance(rule.label, str)
    plain = {
        "label": list(rule.label or ()) if several else rule.label,
        "when": _condition_to_plain(rule.when),
        "examples": list(rule.examples),
        "counter_examples": list(rule.counter_examples),
    }
    return plain if rule.not_label is None else {**plain, "not_label": rule.not_label}


def _condition_to_plain(condition: Condition) -> dict[str, Any]:
    """Condition to plain values; the contents of files are copied in."""
    match condition:
        case AllOf(conditions=parts):
            return {"all": [_condition_to_plain(part) for part in parts]}
        case AnyOf(conditions=parts):
            return {"any": [_condition_to_plain(part) for part in parts]}
        case Not(condition=part):
            return {"not": _condition_to_plain(part)}
        case Keywords():
            return dict(replace(condition, file=None).to_plain())
        case rules.Lookup():
            table = {**condition.to_plain()["lookup"], "file": Path(condition.file).name}  # type: ignore[dict-item]
            return {"carried_lookup": {**table, "known": sorted(condition.known)}}
        case Function():
            file = condition.file or source_file(condition.function)
            name = None if file is None else Path(file).name
            return Absent("function", condition.name, name, condition.digest).to_plain()
        case rules.Classifier():
            name, pairs = condition.model, tuple(condition.map.items())
            known = condition.only or condition.digest()
            short = name if known is None else Path(name).name  # a name on the hub stays whole
            trusted = tuple(condition.trusted)
            return Absent(
                "classifier", short, None, known, pairs, condition.above, trusted
            ).to_plain()
        case rules.Entity():
            return Absent("entity", condition.type, Path(condition.model).name).to_plain()
        case Absent():
            return condition.to_plain()
        case Similar(space=space) | Described(space=space) if not isinstance(space, FittedSpace):
            return Absent("encoder", condition.reason(), alone=condition.picks).to_plain()
        case Similar():
            like = condition.resolved()
            texts = {"to": list(like.to), "unlike": list(like.unlike)}
            return {"carried_similar": {**texts, "above": like.above}}
        case rules.Prompt():
            inner = dict(condition.to_plain()["prompt"])  # type: ignore[arg-type]
            inner.pop("key_env", None)  # whose key goes where is for the user to say
            return {"carried_prompt": {"prompt": inner, "about": dict(condition.descriptions)}}
        case Described():
            mean, deviation = condition.resolved().moments or ((), ())
            facts = {
                "classes": list(condition.descriptions),
                "descriptions": list(condition.descriptions.values()),
                "mean": list(mean),
                "deviation": list(deviation),
            }
            return {"carried_describe": facts}
    return dict(condition.to_plain())


def _rule_from_plain(plain: Mapping[str, Any], place: Place, allowed: AllowedRules) -> Rule:
    """Back from JSON, opening nothing but what is allowed."""
    if _count(plain["when"]) > _MOST:
        raise _refused(place, f"the model file holds a rule of more than {_MOST:,} conditions")
    return Rule(
        _label_from_plain(plain["label"], place),
        _condition_from_plain(plain["when"], place, allowed),
        place.texts(plain["examples"]),
        place.texts(plain["counter_examples"]),
        None if plain.get("not_label") is None else place.label(plain["not_label"]),
    )


def _count(plain: object) -> int:
    """How many conditions there are in one; counting ends soon after _MOST."""
    waiting, found = [plain], 0
    while waiting and found <= _MOST:
        found += 1
        table = waiting.pop()
        if isinstance(table, Mapping):
            inner = [table[key] for key in ("all", "any", "not") if key in table]
            waiting += [part for one in inner for part in (one if isinstance(one, list) else [one])]
    return found


def _condition_from_plain(
    plain: object, place: Place, allowed: AllowedRules, depth: int = 0
) -> Condition:
    """Plain values to condition. Every kind is on the list, or refused."""
    table = place.table(plain)
    kinds = [key for key in table if key not in BESIDE]
    if len(kinds) != 1 or depth > _DEEPEST:
        what = "conditions too deep within each other" if depth > _DEEPEST else "no condition"
        raise _refused(place, f"the model file holds {what}: {str(kinds)[:80]}")
    kind = kinds[0]
    match kind:
        case "all" | "any":
            listed = table[kind]
            if not isinstance(listed, Sequence) or isinstance(listed, str):
                raise _refused(place, f"{kind} holds no list of conditions")
            parts = tuple(_condition_from_plain(part, place, allowed, depth + 1) for part in listed)
            return AllOf(parts) if kind == "all" else AnyOf(parts)
        case "not":
            return Not(_condition_from_plain(table[kind], place, allowed, depth + 1))
        case _ if kind in _READERS:
            return _READERS[kind](place.table(table[kind]), place, allowed)
        case _ if kind in _CARRIED:
            return condition_from_plain(table, place)
    raise _refused(
        place,
        f"a rule of the kind {kind!r} does not belong in a model file, which opens no other "
        "file: do not trust this model, or fit it again",
    )


def _function(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    name, file, digest = (inner[key] for key in ("name", "file", "digest"))
    wanted = Absent("function", place.text(name), _optional(file), _optional(digest))
    return allowed.function(wanted, place)


def _entity(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    return allowed.entity(Absent("entity", place.text(inner["type"]), place.text(inner["model"])))


def _classifier(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    pairs = inner["map"]
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 for pair in pairs
    ):
        raise _refused(place, "the classifier's map is damaged")
    mapped = tuple((place.text(name), place.label(target)) for name, target in pairs)
    name, digest = place.text(inner["name"]), _optional(inner["digest"])
    above, trusted = place.number(inner["above"]), place.texts(inner.get("trusted", ()))
    return allowed.classifier(Absent("classifier", name, None, digest, mapped, above, trusted))


def _encoder(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    return Absent("encoder", place.text(inner["name"]), alone=inner.get("alone") is True)


def _similar(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    if not {"to", "above"} <= set(inner) <= {"to", "unlike", "above"}:
        raise _refused(place, "the examples to be like are not in the model file")
    examples, unlike = place.texts(inner["to"]), place.texts(inner.get("unlike", ()))
    return Similar(examples, place.number(inner["above"]), unlike=unlike, space=place.space)


def _prompt(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    if "key_env" in place.table(inner["prompt"]):
        raise _refused(place, "the model file names a key to send: do not trust it")
    about = place.table(inner["about"])
    known = {place.label(name): place.text(text) for name, text in about.items()}
    return rules.Prompt.from_plain({"prompt": inner["prompt"]}, replace(place, descriptions=known))


def _described(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    names = tuple(place.label(name) for name in place.texts(inner["classes"]))
    texts = place.texts(inner["descriptions"])
    moments = [inner["mean"], inner["deviation"]]
    listed = [part for part in moments if isinstance(part, list) and len(part) == len(names)]
    if len(texts) != len(names) or len(listed) != len(moments):
        raise _refused(place, "the descriptions of the classes are damaged")
    mean, deviation = (tuple(place.number(x) for x in part) for part in listed)
    return Described(dict(zip(names, texts, strict=True)), (mean, deviation), place.space)


def _lookup(inner: Mapping[str, object], place: Place, allowed: AllowedRules) -> Condition:
    known = place.texts(inner["known"])
    if not known or not set(inner) <= {*rules.Lookup.OPTIONS, "known"}:
        raise _refused(place, "the table to look up is not in the model file")
    return rules.Lookup.from_options(inner, place, frozenset(known))


# Kinds that a model has in another form than a project file.
_READERS: dict[str, Callable[[Mapping[str, object], Place, AllowedRules], Condition]] = {
    "carried_function": _function,
    "carried_entity": _entity,
    "carried_classifier": _classifier,
    "carried_encoder": _encoder,
    "carried_similar": _similar,
    "carried_prompt": _prompt,
    "carried_describe": _described,
    "carried_lookup": _lookup,
}


def _label_from_plain(value: object, place: Place) -> str | tuple[str, ...] | None:
    if isinstance(value, list):
        return tuple(place.label(item) for item in value)
    return None if value is None else place.label(value)


def _refused(place: Place, problem: str) -> ModelFileError:
    return ModelFileError(problem, where=place.rule)


def _optional(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
