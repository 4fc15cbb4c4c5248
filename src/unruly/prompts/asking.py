"""Asking a language model: several requests in flight, within a budget, with retries; every answer is stored.

The most that a request may cost (a token for each byte sent, and the longest answer) is reserved before it is sent:

    spent + reserved for all requests in flight + the most that the next may cost  <=  budget

The true cost replaces it when the answer arrives; a request that got lost counts in full.

- 429, 5xx, or no reply: the request is sent again after a pause that doubles. While a busy server (429, 503) answers other
  requests, that is no failed attempt. Retry-After holds for all workers; if it is too long, the run stops.
- 400, 413, 422: the request is tried without options that the server may not know (`Form`), and then given up.
- Several requests given up in a row, or no readable answer among the first: the run stops, keeps what it has and says why.
- Ctrl-C and SIGTERM: nothing more is sent, and answers in flight are waited for.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import FrameType
from typing import Any

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress, stage
from unruly.prompts.answers import AnswerStore, Budget, Completion, Cost, Price
from unruly.prompts.endpoint import Client, Endpoint, Form, Reply, Request, most_input, usual_input
from unruly.wording import duration, listed, plural

_NOT_NOW = (408, 409, 425, 429)  # and 5xx: worth another attempt
_BUSY = (429, 503)
_NOT_UNDERSTOOD = (400, 413, 415, 422)  # tried with fewer options, then given up
_HOPELESS = 20  # the run stops if so many first requests are all refused, or answers all unreadable
_ASK_MODELS = 5.0  # seconds to wait for the server's list of models
_LOOK = 0.05  # seconds between two reports of progress


@dataclass(frozen=True)
class RetryPolicy:
    """For a server that fails."""

    attempts: int = 5  # for one request
    first_pause: float = 0.5  # seconds; doubled from one attempt to the next
    longest_pause: float = 60.0
    longest_wait: float = 600.0  # that a server may ask for; beyond it the run stops
    failures: int = 5  # requests given up in a row, before the run stops
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the next attempt.

        >>> [RetryPolicy().pause(attempt, None) for attempt in range(3)]
        [0.5, 1.0, 2.0]
        >>> RetryPolicy().pause(0, retry_after=7.0)
        7.0
        """
        if retry_after is not None:
            return retry_after
        return min(self.first_pause * 2.0**attempt, self.longest_pause)


@dataclass(frozen=True)
class Plan:
    """What asking one source would send. Tokens, money and time are estimates; the budget holds in any case."""

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
        cost += (
            ", time not known before the first answers"
            if self.seconds is None
            else f", {duration(self.seconds)}"
        )
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


class Stop(StrEnum):
    """Why a run ended before everything was asked."""

    BUDGET = "budget"
    TIME = "time"  # the budget's minutes are over
    ERROR = "error"  # the server's, or an interrupt


@dataclass(frozen=True)
class Asked:
    """What a run came to, for one source."""

    source: str
    answered: int  # in this run
    cached: int  # before it
    unasked: int  # left when it ended
    spent: Cost  # all runs together
    stopped: Stop | None = None
    problem: str = ""  # what stopped it, else why the last request was given up
    models: tuple[str, ...] = ()  # names of models that answered, other than the one asked for
    without: tuple[str, ...] = ()  # what the server refuses, such as response_format
    unreadable: tuple[str, ...] = ()  # answers that cannot be read: the source abstains there
    cut_short: int = 0  # of these: the model was still reasoning

    @property
    def failed(self) -> bool:
        """Whether something is missing that the budget would have paid for."""
        return self.unasked > 0 and self.stopped not in (Stop.BUDGET, Stop.TIME)


@dataclass(frozen=True, eq=False)
class Asking:
    """One source's requests, the most useful first."""

    source: str
    identity: str  # of the prompt: what its spending goes by
    endpoint: Endpoint
    requests: Sequence[Request]
    budget: Budget
    price: Price
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    texts: int | None = None  # documents in all requests together; None: one in each

    def most(self, request: Request) -> Cost:
        """The most that a request may cost."""
        return self.price.cost(most_input(request), request.max_tokens)

    def plan(self, store: AnswerStore) -> Plan:
        """What a run would do, without sending anything."""
        distinct = {request.key: request for request in self.requests}
        known, spent = store.get(distinct), store.spent(self.identity)
        todo = [request for key, request in distinct.items() if key not in known]
        total, calls = Cost(), 0
        for request in todo:
            if not self.budget.allows(spent + total + self.most(request)):
                break
            total += self.price.cost(usual_input(request), request.usual_output)
            calls += 1
        return Plan(
            source=self.source,
            model=self.requests[0].model if self.requests else "",
            host=self.endpoint.host,
            local=self.endpoint.local,
            documents=len(self.requests) if self.texts is None else self.texts,
            cached=len(known),
            calls=calls,
            left_out=len(todo) - calls,
            cost=total,
            seconds=self._seconds(calls, store),
            spent=spent,
            texts=calls if self.texts is None else self.texts if calls else 0,
        )

    def _seconds(self, calls: int, store: AnswerStore) -> float | None:
        mean = store.mean_seconds(self.requests[0].model) if self.requests else None
        if mean is None:
            return None
        seconds = mean * calls / self.endpoint.in_flight
        return seconds if self.budget.minutes is None else min(seconds, 60 * self.budget.minutes)

    def run(self, store: AnswerStore, progress: Progress = SILENT) -> Asked:
        """Ask what the store does not have, as far as the budget goes."""
        with store.alone(self.identity, self.source):
            return self._run(store, progress)

    def _run(self, store: AnswerStore, progress: Progress) -> Asked:
        distinct = list({request.key: request for request in self.requests}.values())
        known = store.get(request.key for request in distinct)
        todo = [request for request in distinct if request.key not in known]
        run = _Run(self, store, todo)
        if todo:
            self.endpoint.key()  # refused before anything is sent
            with stage(progress, f"asking {self.source}", len(todo), "requests"):
                run.go(progress)
        if run.fatal is not None:
            raise run.fatal
        unreadable = _unreadable(store, distinct)
        return Asked(
            source=self.source,
            answered=run.answered,
            cached=len(known),
            unasked=len(todo) - run.answered,
            spent=store.spent(self.identity),
            stopped=run.stopped if run.answered < len(todo) else None,
            problem=run.problem if run.answered < len(todo) else "",
            models=tuple(sorted(run.models)),
            without=run.form.without,
            unreadable=tuple(answer.content for answer in unreadable),
            cut_short=sum(answer.cut_short for answer in unreadable),
        )


def _unreadable(store: AnswerStore, requests: Sequence[Request]) -> list[Completion]:
    answers = store.get(request.key for request in requests)
    return [
        answers[request.key]
        for request in requests
        if request.key in answers and not request.understands(answers[request.key])
    ]


class Account:
    """A budget that several threads spend from."""

    def __init__(self, budget: Budget, spent: Cost) -> None:
        self._budget, self._spent, self._reserved = budget, spent, Cost()
        self._changed = threading.Condition()
        self._closed = False

    @property
    def spent(self) -> Cost:
        """What is spent for good."""
        return self._spent

    def reserve(self, most: Cost) -> bool:
        """Reserve what a request may cost; waits if requests in flight may turn out cheaper."""
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
        """Replace what was reserved for a request by its true cost."""
        with self._changed:
            self._reserved -= most
            self._spent += cost
            self._changed.notify_all()

    def close(self) -> None:
        """Spend no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class _Run:
    """The state that the workers of one run share."""

    def __init__(self, asking: Asking, store: AnswerStore, todo: Sequence[Request]) -> None:
        self.asking, self.store = asking, store
        self.left: Iterator[Request] = iter(todo)
        self.size = len(todo)
        self.account = Account(asking.budget, store.spent(asking.identity))
        self.lock = threading.Lock()
        self.busy = 1  # workers, and the thread that starts them
        self.idle = threading.Event()  # set when none is left
        self.answered = self.read = self.refused = self.failed_in_a_row = 0
        self.form = Form()  # the one that the server has answered, once it has
        self.stopped: Stop | None = None
        self.problem = ""
        self.fatal: RuleError | None = None
        self.models: set[str] = set()
        self.not_before = 0.0
        minutes = asking.budget.minutes
        self.deadline = None if minutes is None else time.monotonic() + 60 * minutes

    def go(self, progress: Progress) -> None:
        """Work until nothing is left or something stops it; on an interrupt, wait for what is in flight."""
        count = min(self.asking.endpoint.in_flight, self.size)
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        try:
            with _terminated_like_interrupted():
                self._start(workers)
                self._watch(progress)
        except BaseException:
            self.stop(Stop.ERROR, "interrupted")
            # Not by join: before Python 3.13, an interrupted join may take a running thread for an ended one.
            self.idle.wait(self.asking.endpoint.seconds)
            raise

    def _start(self, workers: Sequence[threading.Thread]) -> None:
        try:
            for worker in workers:
                with self.lock:
                    self.busy += 1
                worker.start()
        finally:
            self._leave()

    def _leave(self) -> None:
        with self.lock:
            self.busy -= 1
            if not self.busy:
                self.idle.set()

    def _watch(self, progress: Progress) -> None:
        """Wait for the workers, and report what they have done."""
        shown, idle = 0, False
        while not idle:
            idle = self.idle.wait(_LOOK)
            if (answered := self.answered) > shown:
                progress.advance(answered - shown)
                shown = answered

    def stop(self, why: Stop, problem: str = "") -> None:
        """Send nothing more. The first reason counts."""
        with self.lock:
            if self.stopped is None:
                self.stopped, self.problem = why, problem or self.problem
        self.account.close()

    def _work(self) -> None:
        try:
            with closing(Client(self.asking.endpoint)) as client:
                while not self.stopped:
                    with self.lock:
                        request = next(self.left, None)
                    if request is None:
                        return
                    self._ask(client, request)
        except RuleError as error:
            self._fail(error)
        except Exception as error:  # such as a full disk: the user must see it
            self._fail(RuleError(str(error)))
        finally:
            self._leave()

    def _fail(self, error: RuleError) -> None:
        with self.lock:
            self.fatal = self.fatal or error
        self.stop(Stop.ERROR, str(error))

    def _ask(self, client: Client, request: Request) -> None:
        """One request, with as many attempts as the policy has."""
        retries, attempt, problem = self.asking.retries, 0, ""
        form, answered = self.form, self.answered
        while attempt < retries.attempts and not self.stopped:
            self._wait(self.not_before - time.monotonic())
            reply = self._send(client, request, form)
            if reply is None or reply.status == 200:
                return
            problem = reply.problem or f"{self.asking.endpoint.host} {_answers(reply)}"
            if reply.status in _NOT_UNDERSTOOD:
                lesser = form.less(reply.words())
                if lesser is None:
                    self._unanswerable(problem)
                    return
                form = lesser
                continue
            if reply.status and reply.status not in _NOT_NOW and reply.status < 500:
                raise self._refusal(client, request, reply)
            if reply.status in _BUSY and self.answered > answered:
                attempt, answered = 0, self.answered  # others got through: it will be our turn
            attempt += 1
            self._pause(attempt, reply)
        if not self.stopped:
            self._given_up(problem)

    def _pause(self, attempt: int, reply: Reply) -> None:
        """Before the next attempt; Retry-After is for all workers."""
        retries = self.asking.retries
        pause = retries.pause(attempt - 1, reply.retry_after)
        if pause > retries.longest_wait:
            self.stop(Stop.ERROR, f"the server wants no request for {duration(pause)}")
        elif reply.retry_after is not None:
            with self.lock:
                self.not_before = max(self.not_before, time.monotonic() + pause)
        elif attempt < retries.attempts:
            self._wait(pause)

    def _send(self, client: Client, request: Request, form: Form) -> Reply | None:
        """One attempt; None where none may be made any more."""
        asking, most = self.asking, self.asking.most(request)
        if not self.account.reserve(most):
            self.stop(Stop.BUDGET)
            return None
        seconds = asking.endpoint.seconds
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        if seconds <= 0 or self.stopped:
            self.account.settle(most, Cost())
            self.stop(Stop.TIME)
            return None
        self.store.sending(request.key, asking.identity, request.model, most)
        begun = time.monotonic()
        reply = client.send(request, form, seconds)
        completion = Completion.of(reply.body) if reply.status == 200 else None
        if completion is not None:
            self._keep(request, form, completion, most, time.monotonic() - begun)
            return reply
        reply = reply.without_answer() if reply.status == 200 else reply
        if reply.lost:  # it may have been paid for
            self.account.settle(most, most)
        else:
            self.store.refused(request.key, most)
            self.account.settle(most, Cost())
        return reply

    def _keep(
        self, request: Request, form: Form, completion: Completion, most: Cost, seconds: float
    ) -> None:
        cost = most
        if completion.input_tokens is not None and completion.output_tokens is not None:
            cost = self.asking.price.cost(completion.input_tokens, completion.output_tokens)
        self.store.answered(request.key, completion, most, cost, seconds)
        self.account.settle(most, cost)
        with self.lock:
            if not self.answered:
                self.form = form
            self.answered += 1
            self.failed_in_a_row = 0
            self.read += request.understands(completion)
            useless = self.answered >= _HOPELESS and not self.read
            if completion.model not in ("", request.model):
                self.models.add(completion.model)
        if useless:
            why = f"still reasoning at max_tokens = {request.max_tokens}: raise it"
            shown = why if completion.cut_short else f"such as {completion.content[:60]!r}"
            self.stop(Stop.ERROR, f"none of the first {_HOPELESS} answers can be read, {shown}")

    def _unanswerable(self, problem: str) -> None:
        """The server refuses this one request: the others may go through, unless none has."""
        with self.lock:
            self.problem = self.problem if self.stopped else problem
            self.refused += 1
            hopeless = self.refused >= _HOPELESS and not self.answered
        if hopeless:
            self.stop(Stop.ERROR, f"the first {self.refused} requests were refused: {problem}")

    def _given_up(self, problem: str) -> None:
        with self.lock:
            self.problem = self.problem if self.stopped else problem
            self.failed_in_a_row += 1
            many = self.failed_in_a_row
        if many >= self.asking.retries.failures:
            self.stop(Stop.ERROR, f"{many} requests in a row failed: {problem}")

    def _refusal(self, client: Client, request: Request, reply: Reply) -> RuleError:
        endpoint = self.asking.endpoint
        if reply.status in (401, 403):
            key = endpoint.key_env or "none: name one with key_env"
            return RuleError(
                f"{endpoint.host} refuses the key ({reply.status}; {key}): {reply.words()}"
            )
        if reply.status == 404:
            models = client.models(_ASK_MODELS)
            remedy = (
                f"it has the models {listed(models)}"
                if models and request.model not in models
                else f"check that it is right, {endpoint.url} and the model {request.model!r}"
            )
            return RuleError(f"{endpoint.host} {_answers(reply)}; {remedy}")
        return RuleError(f"{endpoint.host} {_answers(reply)}")

    def _wait(self, seconds: float) -> None:
        """Sleep, but not past the end of the run."""
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        while seconds > 0 and not self.stopped:
            self.asking.retries.sleep(min(seconds, 0.2))
            seconds -= 0.2


def _answers(reply: Reply) -> str:
    return f"answers {reply.status}: {reply.words()}"


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends the run as Ctrl-C does. Outside the main thread, nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
