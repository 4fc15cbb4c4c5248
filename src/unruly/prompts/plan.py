"""What asking would cost, known before anything is sent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unruly.prompts.asking import Asking
from unruly.prompts.budget import Cost
from unruly.prompts.store import AnswerStore
from unruly.wording import duration, plural


@dataclass(frozen=True)
class Plan:
    """Of one source. Tokens, money and time are likely figures; the budget holds for the most they can be."""

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
        """Who gets to see the texts; "" where they stay here."""
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


def plan(asking: Asking, store: AnswerStore) -> Plan:
    """What a run would do, without sending anything."""
    different = {question.key: question for question in asking.questions}
    known = store.get(different)
    spent = store.spent(asking.identity)
    total, calls = Cost(), 0
    todo = [question for key, question in different.items() if key not in known]
    for question in todo:
        likely = asking.price.cost(question.likely_input, question.likely_output)
        if not asking.budget.allows(spent + total + asking.most(question)):
            break
        total, calls = total + likely, calls + 1
    each = store.usual_seconds(asking.questions[0].model) if asking.questions else None
    seconds = None if each is None else each * calls / asking.endpoint.in_flight
    if seconds is not None and asking.budget.minutes is not None:
        seconds = min(seconds, 60 * asking.budget.minutes)
    return Plan(
        source=asking.source,
        model=asking.questions[0].model if asking.questions else "",
        host=asking.endpoint.host,
        local=asking.endpoint.local,
        documents=len(asking.questions) if asking.texts is None else asking.texts,
        cached=len(known),
        calls=calls,
        left_out=len(todo) - calls,
        cost=total,
        seconds=seconds,
        spent=spent,
        texts=calls if asking.texts is None else asking.texts if calls else 0,
    )


def _money(sum_: float) -> str:
    """A sum as a person reads it, small ones included.

    >>> _money(12.5), _money(0.000534)
    ('12.50', '0.00053')
    """
    return f"{sum_:,.2f}" if sum_ >= 0.1 else f"{sum_:.2g}"
