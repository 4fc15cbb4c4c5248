"""Budgets that hold: the most that a request may cost is reserved before it is sent.

    spent + reserved for all requests in flight + the most that the next may cost  <=  budget

The most is one token for each byte sent, and the longest answer. When the answer arrives, its true cost takes the place of
what was reserved; a request that got lost counts in full. `Plan` gives the likely cost before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from threading import Condition
from typing import Any

from unruly.errors import RuleError
from unruly.wording import duration, plural

MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """What requests cost."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.calls - other.calls, self.tokens - other.tokens, self.money - other.money)


@dataclass(frozen=True)
class Price:
    """Of a million tokens, in the currency of the budget."""

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        if self.input < 0 or self.output < 0:
            raise RuleError("price: a million tokens cannot cost less than 0")

    def cost(self, input_tokens: int, output_tokens: int) -> Cost:
        """Of one request.

        >>> Price(0.15, 0.6).cost(1000, 10)
        Cost(calls=1, tokens=1010, money=0.000156)
        """
        money = (input_tokens * self.input + output_tokens * self.output) / MILLION
        return Cost(1, input_tokens + output_tokens, round(money, 12))


@dataclass(frozen=True)
class Budget:
    """What one source may cost, all runs together; `minutes` is for one run. None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is not None and value < 0:
                raise RuleError(f"budget: {limit.name} = {value}: give 0 or more")

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return any(getattr(self, limit.name) is not None for limit in fields(self))

    def allows(self, cost: Cost) -> bool:
        """Whether so much may be spent."""
        limits = ((self.calls, cost.calls), (self.tokens, cost.tokens), (self.money, cost.money))
        return all(limit is None or spent <= limit + 1e-12 for limit, spent in limits)

    def to_plain(self) -> Mapping[str, float]:
        """As the project file has it."""
        given = ((limit.name, getattr(self, limit.name)) for limit in fields(self))
        return {name: value for name, value in given if value is not None}


class Account:
    """A budget that several threads spend from."""

    def __init__(self, budget: Budget, spent: Cost) -> None:
        self._budget, self._spent, self._reserved = budget, spent, Cost()
        self._changed = Condition()
        self._closed = False

    @property
    def spent(self) -> Cost:
        """What is spent for good."""
        return self._spent

    def reserve(self, most: Cost) -> bool:
        """Reserve what a request may cost; waits where requests in flight may turn out cheaper than reserved."""
        with self._changed:
            while not self._closed:
                if self._budget.allows(self._spent + self._reserved + most):
                    self._reserved += most
                    return True
                if not self._reserved.calls:
                    return False
                self._changed.wait(0.5)
            return False

    def settle(self, most: Cost, cost: Cost) -> None:
        """The true cost of a request takes the place of what was reserved for it."""
        with self._changed:
            self._reserved -= most
            self._spent += cost
            self._changed.notify_all()

    def close(self) -> None:
        """Spend no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


@dataclass(frozen=True)
class Plan:
    """What asking one source would send. Tokens, money and time are estimates; the budget is kept whatever they are."""

    source: str
    model: str
    host: str
    local: bool  # no text leaves the machine
    documents: int
    cached: int  # requests answered already
    calls: int  # requests to send, within the budget
    left_out: int  # requests beyond it
    cost: Cost  # of the calls
    seconds: float | None  # None: this model has not been asked yet
    spent: Cost  # by earlier runs
    texts: int  # documents that the calls show

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    @property
    def leaves(self) -> str:
        """Who gets to see the texts; "" where they stay on this machine."""
        if self.local or not self.calls:
            return ""
        return f"the texts of {plural(self.texts, 'document')} leave this machine for {self.host}"

    def __str__(self) -> str:
        cost = f", about {self.cost.tokens:,} tokens"
        cost += f", {_money(self.cost.money)} in money" if self.cost.money else ""
        cost += "" if self.seconds is None else f", {duration(self.seconds)}"
        beyond = f"; {self.left_out:,} beyond the budget" if self.left_out else ""
        first = (
            f"{self.source} ({self.model} at {self.host}): {plural(self.calls, 'request')} to send"
            f"{cost if self.calls else ''}; {self.cached:,} answered already{beyond}"
        )
        return f"{first}\n{self.leaves}" if self.leaves else first


def _money(amount: float) -> str:
    """An amount as a person reads it, small ones included.

    >>> _money(12.5), _money(0.000534)
    ('12.50', '0.00053')
    """
    return f"{amount:,.2f}" if amount >= 0.1 else f"{amount:.2g}"
