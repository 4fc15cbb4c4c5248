"""Lists that are typed as one word: names with commas between, shares by data set."""

from __future__ import annotations

from unruly.errors import InputError


def names_in(given: str) -> tuple[str, ...]:
    """Names with commas between, each once.

    >>> names_in("youtube, imdb,youtube")
    ('youtube', 'imdb')
    """
    return tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def among(given: str, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The same, all of them known; `what` says of what kind they are."""
    names = names_in(given)
    for name in names:
        if name not in known:
            raise InputError(f"no {what} is called {name!r}: there are {', '.join(known)}")
    if not names:
        raise InputError(f"no {what} is named: there are {', '.join(known)}")
    return names


def priors_in(given: tuple[str, ...], datasets: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """`spouse=0.9,0.1` as shares by data set."""
    found: dict[str, tuple[float, ...]] = {}
    for text in given:
        name, _, shares = text.partition("=")
        try:
            found[name] = tuple(float(share) for share in shares.split(","))
        except ValueError:
            raise InputError(
                f"--prior {text}: expected a data set and its class shares, as in spouse=0.9,0.1"
            ) from None
        if abs(sum(found[name]) - 1) > 1e-6 or min(found[name]) <= 0:
            raise InputError(f"--prior {text}: the shares must be above 0 and sum to 1")
        if name not in datasets:
            raise InputError(f"--prior {text}: {name!r} is not among the data sets")
    return found
