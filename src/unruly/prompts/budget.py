"""Budgets that hold: what a request may cost at most is set aside before it is sent.

    spent + set aside for all requests in flight + the most that the next may cost  <=  budget

The most is one token a byte sent and all the tokens that an answer may have. When the answer is there, what it
really cost takes the place of what was set aside; a request that got lost counts with all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from threading import Condition

from unruly.errors import RuleError

MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Of requests."""

    calls: int = 0
    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.calls - other.calls, self.tokens - other.tokens, self.money - other.money)


@dataclass(frozen=True)
class Price:
    """Of a million tokens, in whatever currency the budget is in."""

    input: float = 0.0
    output: float = 0.0

    def __post_init__(self) -> None:
        if self.input < 0 or self.output < 0:
            raise RuleError("price: give what a million tokens cost, 0 or more")

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


class Purse:
    """A budget that several threads spend from."""

    def __init__(self, budget: Budget, spent: Cost) -> None:
        self._budget, self._spent, self._aside = budget, spent, Cost()
        self._changed = Condition()
        self._closed = False

    @property
    def spent(self) -> Cost:
        """What is spent for good."""
        return self._spent

    def set_aside(self, most: Cost) -> bool:
        """Set aside what a request may cost; waits where requests in flight may yet give some back."""
        with self._changed:
            while not self._closed:
                if self._budget.allows(self._spent + self._aside + most):
                    self._aside += most
                    return True
                if not self._aside.calls:
                    return False
                self._changed.wait(0.5)
            return False

    def settle(self, most: Cost, really: Cost) -> None:
        """What was set aside for a request becomes what it really cost."""
        with self._changed:
            self._aside -= most
            self._spent += really
            self._changed.notify_all()

    def close(self) -> None:
        """No more is spent."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
