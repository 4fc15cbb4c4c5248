"""What the user knows of the class balance: words, numbers or a table in, one share for each class out.

The project file (`prior = ...`), the command line (`--prior`) and Python (`class_prior=`) all take the
same forms, and all are read here. Label models take one more, "learn", which is not a statement.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from unruly.errors import SettingsError
from unruly.wording import did_you_mean, plural, same_name

ROUNDING = 0.02  # how far from 1 shares may sum, as 0.33, 0.33, 0.33
ROUGH = 0.1  # the same where they are said to be rough, as in "about half, a quarter and 1 in 5"
FORMS = '"uniform", "votes", one number for each class as in [0.9, 0.1], or words as in "spam is about 1 in 8"'
_SMALL = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_NUMBERS = {name: number for number, name in enumerate(_SMALL, start=1)}
_NUMBERS |= {"twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100, "thousand": 1000}
_PARTS = {"half": 2, "a half": 2, "a third": 3, "a quarter": 4, "a fifth": 5, "a tenth": 10}
_NUMBER = r"(?:[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan|inf)"
_COUNT = rf"(?:{_NUMBER}|{'|'.join(_NUMBERS)})"
_AMOUNT = (
    rf"(?:(?P<part>{_COUNT})\s*(?:in|of|out\s+of|/)\s*(?P<whole>{_COUNT})"
    rf"|(?P<percent>{_NUMBER})\s*(?:%|percent|per\s+cent)"
    rf"|(?P<share>{_NUMBER})"
    rf"|(?P<name_of_part>{'|'.join(_PARTS)}))"
)
_HEDGE = r"(?:(?P<hedge>about|around|roughly|approximately|approx\.?|nearly|some|~|≈|exactly)\s*)?"
_VERB = r"(?:\s+(?:is|are|makes?\s+up|has|have)\b|\s*[=:])?"
_AFTER_CLASS = rf"{_VERB}(?:\s+|(?<=[=:]))\s*{_HEDGE}{_AMOUNT}"
_BEFORE_CLASS = rf"{_HEDGE}{_AMOUNT}(?:\s+of\s+(?:the\s+|all\s+)?\w+)?(?:\s+(?:is|are))?\s+"
_CLASS_FIRST = re.compile(rf"(?P<name>.+?){_AFTER_CLASS}", re.IGNORECASE)
_CLASS_LAST = re.compile(rf"{_BEFORE_CLASS}(?P<name>.+)", re.IGNORECASE)
_BETWEEN = r"\s*[,;]\s*(?:and\s+)?|\s+and\s+"  # two classes and their amounts
_END = re.compile(r"[.\s]*")
_ALONE = re.compile(_AMOUNT, re.IGNORECASE)
_REST_EVEN = re.compile(
    r"(?:all\s+)?(?:the\s+)?(?:rest|others?)(?:\s+(?:is|are))?(?:\s+shared)?\s+(?:equal|equally|even|evenly|alike)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StatedBalance:
    """The share of each class as the user states it, in the order of the classes; together 1.

    `exact` means counted, not guessed: the model then holds to it. Without shares, the votes' own
    shares are asked for.

    >>> parse_prior("spam is about 1 in 8", ["ham", "spam"])
    StatedBalance(shares=(0.875, 0.125), exact=False)
    >>> parse_prior("votes", ["ham", "spam"]).of_votes
    True
    """

    shares: tuple[float, ...]  # (m,), each above 0; empty: those of the votes
    exact: bool = False
    # Classes without a stated share: the votes divide what is left for them.
    left_open: tuple[int, ...] = field(default=(), repr=False)
    # What rough shares added up to, where that was not 1.
    added_up_to: float | None = field(default=None, repr=False, compare=False)

    @property
    def of_votes(self) -> bool:
        """Whether the votes' own shares are asked for."""
        return not self.shares

    def to_plain(self) -> str | list[float] | dict[str, object]:
        """As TOML and JSON hold it; `parse_prior` reads it again."""
        if self.of_votes:
            return "votes"
        more: dict[str, object] = {"exact": True} if self.exact else {}
        if self.left_open:
            more["left_open"] = list(self.left_open)
        return {"shares": list(self.shares), **more} if more else list(self.shares)

    def with_votes(self, voted: Sequence[float]) -> tuple[float, ...]:
        """(m,): the shares, after the votes' own (m,) have divided what was left open; these alone where asked for.

        >>> parse_prior({"a": 0.5}, "abc").with_votes([0.5, 0.375, 0.125])
        (0.5, 0.375, 0.125)
        """
        if self.of_votes:
            return tuple(voted)
        cast = math.fsum(voted[c] for c in self.left_open)
        if not cast:
            return self.shares
        rest = math.fsum(self.shares[c] for c in self.left_open)
        return tuple(
            rest * voted[c] / cast if c in self.left_open else share
            for c, share in enumerate(self.shares)
        )

    def in_words(self, classes: Sequence[str]) -> str:
        """As `--prior` takes it; names of classes stand in quotation marks where they could be misread.

        >>> parse_prior({"b": 0.2}, "abc").in_words("abc"), parse_prior([1, 3], "ab").in_words("ab")
        ('b is 0.2', '0.25, 0.75')
        >>> parse_prior({"half": 0.2}, ("half", "b", "c")).in_words(("half", "b", "c"))
        'half is 0.2'
        >>> parse_prior({"exactly": 0.2}, ("exactly", "b", "c")).in_words(("exactly", "b", "c"))
        '"exactly" is 0.2'
        """
        exactly = "exactly " if self.exact else ""
        if self.of_votes:
            return "votes"
        if not self.left_open:
            return exactly + ", ".join(map(str, self.shares))
        stated = [c for c in range(len(classes)) if c not in self.left_open]
        plain = exactly + "; ".join(f"{classes[c]} is {self.shares[c]}" for c in stated)
        try:
            if parse_prior(plain, classes) == self:
                return plain
        except SettingsError:
            pass
        return exactly + "; ".join(f"{_quoted(classes[c])} is {self.shares[c]}" for c in stated)


def parse_prior(given: object, classes: Sequence[str]) -> StatedBalance | None:
    """The class balance that was stated; None where nothing was (None or "auto").

    It may be "uniform" or "votes"; a number for each class (shares that sum to 1, percentages that sum to
    100, or counts); a table of class to share, in which classes left out share the rest as the votes do (evenly
    without votes); the same in words; and any of these as exact. Rough words ("about", "a quarter", "1 in 7") may add up
    to 1 roughly.

    >>> ham_spam = ["ham", "spam"]
    >>> parse_prior((9, 1), ham_spam)
    StatedBalance(shares=(0.9, 0.1), exact=False)
    >>> parse_prior({"shares": {"spam": 0.1}, "exact": True}, ham_spam)
    StatedBalance(shares=(0.9, 0.1), exact=True)
    >>> parse_prior("exactly 0.9, 0.1", ham_spam)
    StatedBalance(shares=(0.9, 0.1), exact=True)
    >>> parse_prior({"spma": 0.1}, ham_spam)
    Traceback (most recent call last):
    ...
    unruly.errors.SettingsError: prior: there is no class 'spma': did you mean 'spam'?
    """
    if given is None:
        return None
    names = tuple(classes)
    if isinstance(given, StatedBalance):
        return replace(given, shares=_all(given.shares, names)) if given.shares else given
    if isinstance(given, str):
        return _from_words(given, names)
    if isinstance(given, Mapping):
        return _from_table(given, names)
    values = given.tolist() if hasattr(given, "tolist") else given  # an array, or a series
    if isinstance(values, Sequence):
        return StatedBalance(_all([_number(value) for value in values], names))
    raise _error(f"expected {FORMS}, found {type(given).__name__}")


def _from_table(given: Mapping[object, object], names: tuple[str, ...]) -> StatedBalance | None:
    if (
        "shares" in given
        and set(given) <= {"shares", "exact", "left_open"}
        and "shares" not in names
    ):
        exact = given.get("exact", False)
        if not isinstance(exact, bool):
            raise _error(f"exact must be true or false, not {exact!r}")
        inner = parse_prior(given["shares"], names)
        if inner is None or (inner.of_votes and exact):
            raise _error("exact needs shares, as in { shares = [0.9, 0.1], exact = true }")
        if exact and inner.added_up_to is not None:
            raise _not_one(inner.added_up_to)
        left_open = _numbers_of_classes(given.get("left_open", ()), names)
        return replace(inner, exact=inner.exact or exact, left_open=left_open or inner.left_open)
    stated: dict[str, float] = {}
    for name, value in given.items():
        amount = _ALONE.fullmatch(value.strip()) if isinstance(value, str) else None
        stated[_class(name, names)] = _amount(amount) if amount else _number(value)
    return StatedBalance(_some(stated, names), left_open=_left_open(stated, names))


def _from_words(given: str, names: tuple[str, ...]) -> StatedBalance | None:
    text = given.strip()
    match text.casefold():
        case "auto":
            return None
        case "votes":
            return StatedBalance(())
        case "uniform":
            return StatedBalance((1 / len(names),) * len(names))
    exact = bool(re.match(r"exactly\b", text, re.IGNORECASE))
    text = re.sub(r"^exactly\b[\s:]*", "", text, flags=re.IGNORECASE)
    numbers = [_ALONE.fullmatch(part) for part in re.split(r"\s*[,;:]\s*|\s+", text.strip("[]() "))]
    if text and all(numbers):
        return StatedBalance(_all([_amount(n) for n in numbers if n], names), exact)
    stated: dict[str, float] = {}
    rough, open_ = False, True
    for name, amount in _clauses(text, names) or _split(text, names, given):
        if name is None:  # the rest is equal
            open_ = False
            continue
        if name in stated:
            raise _error(f"{given!r} states the class {name!r} twice: state each once")
        hedge = (amount["hedge"] or "").casefold()
        stated[name], exact = _amount(amount), exact or hedge == "exactly"
        rough = rough or bool(hedge or amount["whole"] or amount["name_of_part"])
    total = math.fsum(stated.values())
    scaled = len(stated) == len(names) and rough and not exact and _roughly_one(total)
    if scaled:
        stated = {name: share / total for name, share in stated.items()}
    return StatedBalance(
        _some(stated, names),
        exact,
        _left_open(stated, names) if open_ else (),
        total if scaled else None,
    )


def _roughly_one(total: float) -> bool:
    """Whether rough shares add up to 1 only roughly."""
    return ROUNDING < abs(total - 1) <= ROUGH + 1e-9


def _clauses(text: str, names: tuple[str, ...]) -> list[tuple[str | None, re.Match[str]]] | None:
    """Each class and its amount, where every name is spelt as the class is; None where one is not.

    Names are looked for before anything is split, the longest first: 'R and D' is one class, if there is such a class.
    """
    spelt: dict[str, str] = {}
    for spelling in (_quoted, str, "'{}'".format):
        for name in sorted(names, key=len, reverse=True):
            spelt.setdefault(spelling(name), name)
    name = rf"(?P<name>(?-i:{'|'.join(map(re.escape, spelt))}))"
    follows = rf"(?={_BETWEEN}|[.\s]*$)"
    forms = [
        re.compile(form + follows, re.IGNORECASE)
        for form in (name + _AFTER_CLASS, _BEFORE_CLASS + name, _REST_EVEN.pattern)
    ]
    found: list[tuple[str | None, re.Match[str]]] = []
    start = 0
    while True:
        clause = next((m for form in forms if (m := form.match(text, start))), None)
        if clause is None:
            return None
        found.append((spelt[clause["name"]] if "name" in clause.groupdict() else None, clause))
        if _END.fullmatch(text, clause.end()):
            return found if found[0][0] is not None else None
        between = re.compile(_BETWEEN, re.IGNORECASE).match(text, clause.end())
        assert between is not None  # that is what follows it
        start = between.end()


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _split(
    text: str, names: tuple[str, ...], given: str
) -> Iterator[tuple[str | None, re.Match[str]]]:
    """The same for names that may be misspelt, which the error then tells."""
    separators = r"\s*;\s*" if any("," in name for name in names) else _BETWEEN
    for number, clause in enumerate(re.split(separators, text.rstrip(". "))):
        rest = _REST_EVEN.fullmatch(clause.strip())
        yield (None, rest) if number and rest else _clause(clause, names, given)


def _clause(clause: str, names: tuple[str, ...], given: str) -> tuple[str, re.Match[str]]:
    """One class, and its amount: 'spam is about 1 in 8'."""
    found = [m for form in (_CLASS_FIRST, _CLASS_LAST) if (m := form.fullmatch(clause.strip()))]
    if not found:
        named = clause.strip() != given.strip() and any(map(str.isalpha, clause))
        part = f"{clause!r} in " if named else ""
        raise _error(f"{part}{given!r} is not understood: expected {FORMS}")
    known = [m for m in found if same_name(m["name"].strip(" '\""), names) is not None]
    best = (known or found)[0]
    return _class(best["name"].strip(" '\""), names), best


def _amount(match: re.Match[str]) -> float:
    if match["whole"] is not None:
        part, whole = (_count(match[group]) for group in ("part", "whole"))
        if not whole > 0 or not part < whole:
            raise _error(f"{match['part']} in {match['whole']} is not a share: it must be below 1")
        return float(Fraction(part) / Fraction(whole))
    if match["percent"] is not None:
        return _read(match["percent"]) / 100
    if match["name_of_part"] is not None:
        return 1 / _PARTS[match["name_of_part"].casefold()]
    return _read(match["share"])


def _count(text: str) -> float:
    number = _NUMBERS.get(text.casefold())
    return _number(_read(text) if number is None else number)


def _read(text: str) -> float:
    """A number as it is written, perhaps with _ between its digits."""
    return float(text.replace("_", ""))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _error(f"expected a number for each class, found {type(value).__name__} {value!r}")
    if not (value > 0 and math.isfinite(value)):
        raise _error(f"every share must be above 0, not {value:g}")
    return float(value)


def _class(name: object, names: tuple[str, ...]) -> str:
    same = same_name(name, names)
    if same is None:
        raise _error(f"there is no class {name!r}: {did_you_mean(name, names, 'classes are')}")
    return same


def _some(stated: dict[str, float], names: tuple[str, ...]) -> tuple[float, ...]:
    """The shares of all classes; those left out divide the rest evenly, until votes are known."""
    for value in stated.values():
        _number(value)
    silent = [name for name in names if name not in stated]
    if not silent:
        return _all([stated[name] for name in names], names)
    if not stated:
        raise _error(f"the table is empty: expected {FORMS}")
    total = math.fsum(stated.values())  # whatever their order
    rest = 1 - total
    if rest <= 0:
        raise _error(
            f"the shares stated sum to {total:g}, which leaves nothing for "
            f"{', '.join(silent)}: lower them, or state a number for every class"
        )
    return tuple(stated.get(name, rest / len(silent)) for name in names)


def _left_open(stated: Mapping[str, float], names: tuple[str, ...]) -> tuple[int, ...]:
    """The classes left out, if there are several; a single one gets the whole rest."""
    silent = tuple(c for c, name in enumerate(names) if name not in stated)
    return silent if len(silent) > 1 else ()


def _numbers_of_classes(given: object, names: tuple[str, ...]) -> tuple[int, ...]:
    numbers = tuple(given) if isinstance(given, list | tuple) else (None,)
    if not all(type(c) is int and 0 <= c < len(names) for c in numbers):
        raise _error(f"left_open must be numbers of classes, not {given!r}")
    return tuple(int(c) for c in numbers)


def _all(values: Sequence[float], names: tuple[str, ...]) -> tuple[float, ...]:
    """One number for each class, as shares: counts, percentages, or shares already."""
    if len(values) != len(names):
        raise _error(
            f"{plural(len(values), 'number')} for {len(names)} classes: give one for each "
            f"({', '.join(names)})"
        )
    numbers = [_number(value) for value in values]
    total = math.fsum(numbers)
    whole = all(value.is_integer() for value in numbers)
    if not whole and not any(abs(total - unit) <= ROUNDING * unit for unit in (1, 100)):
        raise _not_one(total)
    return tuple(value / total for value in numbers)


def _not_one(total: float) -> SettingsError:
    return _error(
        f"the shares of the classes add up to {total:g}, not to 1: correct them, or give counts"
    )


def _error(message: str) -> SettingsError:
    return SettingsError(f"prior: {message}", option="prior")


def unused_by_paper(name: str) -> str:
    """What is said of a prior that is stated for the method paper.

    >>> unused_by_paper("--prior")
    '--prior is not used by the method paper: leave it out, or use the method default'
    """
    return f"{name} is not used by the method paper: leave it out, or use the method default"
