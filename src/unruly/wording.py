"""Words for messages: numbers with their nouns, lists, and suggestions for misspelt words."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from unruly.errors import InputError

LONGEST_PIECE = 60  # characters of a word, or of what a rule matched
_MOST_PIECES = 12  # that a rule matched in a text


def plural(n: int, one: str, many: str = "") -> str:
    """A number with its noun, singular or plural.

    >>> plural(1, "document"), plural(2000, "document"), plural(2, "class", "classes")
    ('1 document', '2,000 documents', '2 classes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names with commas between them; of many, only the first.

    >>> listed(["a", "b", "c"], most=2), listed([]), listed(["two\\nlines"])
    ('a, b and 1 more', 'none', "'two\\\\nlines'")
    """
    known = [name if name.isprintable() else repr(name) for name in names]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return (", ".join(known[:most]) + more) or "none"


def reason_with(reason: str, matched: Sequence[str]) -> str:
    """Why a rule voted, and the words that it matched.

    >>> reason_with("keywords: borrow, hold and 5 more", ["hold"]), reason_with("length 1 to 3", [])
    ('keywords: borrow, hold and 5 more: “hold”', 'length 1 to 3')
    """
    pieces = [f"“{shortened(piece, LONGEST_PIECE)}”" for piece in matched[:_MOST_PIECES]]
    more = len(matched) - len(pieces)
    shown = ", ".join(pieces) + (f" and {more:,} more" if more else "")
    return f"{reason}: {shown}" if shown and reason else reason or shown


def free_name(wanted: str, taken: Container[str], between: str = " ") -> str:
    """The name, or the first one with a number that is not taken.

    >>> free_name("links", ["links", "links 2"]), free_name("label", [])
    ('links 3', 'label')
    """
    number, found = 2, wanted
    while found in taken:
        found, number = f"{wanted}{between}{number}", number + 1
    return found


def counted(names: Iterable[str], counts: Iterable[int]) -> str:
    """How many there are of each.

    >>> counted(["ham", "spam"], [1200, 3])
    'ham 1,200, spam 3'
    """
    return ", ".join(f"{name} {count:,}" for name, count in zip(names, counts, strict=True))


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """The rows of a table as lines, columns as wide as they need to be; those in `left` begin at the left.

    >>> aligned([("class", "F1"), ("ham", "0.912")])
    ['class     F1', 'ham    0.912']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if c in left else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def shortened(text: str, most: int = 18) -> str:
    """A text on one line of at most `most` characters, cut between words if possible.

    >>> shortened("a very long name of a source"), shortened("two\\nlines")
    ('a very long name …', 'two lines')
    >>> shortened("words of a sentence", 17), shortened("unbreakable_names", 9)
    ('words of a …', 'unbreaka…')
    """
    line = " ".join(text[: 4 * most].split())
    if len(line) <= most:
        return line
    gap = line.rfind(" ", 0, most - 1)
    return line[: gap + 1 if gap > most // 2 else most - 1] + "…"


def duration(seconds: float) -> str:
    """A time as a person reads it.

    >>> duration(0.6), duration(3), duration(200), duration(9000)
    ('1 second', '3 seconds', '3 minutes', '2.5 hours')
    """
    if seconds < 90:
        return plural(max(round(seconds), 1), "second")
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def same_name(name: object, known: Iterable[str]) -> str | None:
    """The known name that one given by a person means: capitals matter only where two names differ by them.

    >>> (
    ...     same_name("Spam", ["ham", "spam"]),
    ...     same_name("a", ["A", "a"]),
    ...     same_name("aB", ["AB", "ab"]),
    ... )
    ('spam', 'a', None)
    """
    names, given = list(known), str(name)
    same = [own for own in names if own.casefold() == given.casefold()]
    return given if given in names else same[0] if len(same) == 1 else None


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is most like, or the only one of which it is a part; capitals do not matter.

    >>> nearest("Keyword", ["keywords", "pattern"]), nearest("x", ["keywords", "pattern"])
    ('keywords', None)
    >>> nearest("room", ["Room & Cleanliness", "Staff"])
    'Room & Cleanliness'
    """
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.casefold(), name)
    close = get_close_matches(str(word).casefold(), list(names), n=1)
    if close:
        return names[close[0]]
    part = [own for low, own in names.items() if str(word).casefold() in low.split()]
    return part[0] if len(part) == 1 else None


def did_you_mean(word: object, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion if a known word is near; else, after `otherwise`, all known words.

    >>> did_you_mean("keyword", ["keywords", "pattern"])
    "did you mean 'keywords'?"
    >>> did_you_mean("foo", ["keywords", "pattern"], "expected one of")
    'expected one of keywords, pattern'
    """
    names = list(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"{otherwise} {listed(names, most=40)}" if otherwise else ""


def near_file(path: Path) -> str:
    """A hint for a path that does not exist: the missing folder, or a similar name in it.

    >>> near_file(Path("/nowhere/comments.csv"))
    'the folder /nowhere does not exist'
    """
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    try:
        alike = (one.name for one in path.parent.iterdir() if nearest(path.stem, [one.stem]))
        near = nearest(path.name, sorted(alike))  # a common ending alone makes no name alike
    except OSError:  # a folder that may be entered and not listed
        return ""
    return "" if near is None else f"did you mean {listed([near])}?"


def index_of(name: str, known: Sequence[str], what: str) -> int:
    """The index of a name among the known ones; an error if it is not known.

    >>> index_of("spam", ("ham", "spam"), "class")
    1
    """
    if name not in known:
        raise InputError(f"there is no {what} {name!r}: {did_you_mean(name, known, 'there are')}")
    return known.index(name)


def known_name(name: str, known: Sequence[str], what: str) -> str:
    """The known name that one given by a person means; an error if it means none.

    >>> known_name("Spam", ("ham", "spam"), "class")
    'spam'
    """
    return known[index_of(same_name(name, known) or name, known, what)]
