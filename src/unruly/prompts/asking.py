"""The run that asks: several requests in flight, retries, a circuit breaker, and nothing paid for that is not kept.

Requests that a server turns away (429, 5xx) or that get lost are repeated after a pause that doubles, or as long as
Retry-After says, during which nobody asks; where that is too long, the run stops. After so many given up in a row the run stops, keeps what it has and
says why. On Ctrl-C and SIGTERM nothing more is sent, and the answers in flight are waited for.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from types import FrameType

from unruly.errors import RuleError
from unruly.progress import SILENT, Progress, stage
from unruly.prompts.answers import Spoken
from unruly.prompts.budget import Budget, Cost, Price, Purse
from unruly.prompts.endpoint import FORMS, Endpoint, Reply, Request
from unruly.prompts.store import AnswerStore
from unruly.wording import duration

TURNED_AWAY = (408, 409, 425, 429)  # and 5xx: not now
SPENT, OVER = "the budget is spent", "the minutes are over"  # why a run may end as planned
_SHAPE = (400, 415, 422)  # the request is not understood


@dataclass(frozen=True)
class Patience:
    """With a server that fails."""

    attempts: int = 5  # for one request
    first_pause: float = 0.5  # seconds; doubled from one attempt to the next
    longest_pause: float = 60.0
    longest_wait: float = 600.0  # that a server may ask for; beyond it the run stops
    failures: int = 5  # requests given up in a row, before the run stops
    sleep: Callable[[float], None] = field(default=time.sleep, compare=False)

    def pause(self, attempt: int, wanted: float | None) -> float:
        """Seconds before the next attempt, `wanted` being the server's own word.

        >>> [Patience().pause(attempt, None) for attempt in range(3)], Patience().pause(0, 7.0)
        ([0.5, 1.0, 2.0], 7.0)
        """
        return (
            wanted if wanted is not None else min(self.first_pause * 2**attempt, self.longest_pause)
        )


@dataclass(frozen=True)
class Asked:
    """What a run came to, for one source."""

    source: str
    answered: int  # in this run
    cached: int  # before it
    unasked: int  # left when it ended
    spent: Cost  # all runs together
    stopped: str = ""  # why it ended before everything was asked; "" where it did not
    models: tuple[str, ...] = ()  # that answered under another name than the one asked for
    forms: str = FORMS[0]  # how the server was asked in the end
    unreadable: tuple[str, ...] = ()  # answers that are none: of a prompt, they abstain

    @property
    def failed(self) -> bool:
        """Whether something is missing that the budget would have paid for."""
        return self.unasked > 0 and self.stopped not in (SPENT, OVER)


@dataclass(frozen=True, eq=False)
class Asking:
    """One source's questions, the most wanted first."""

    source: str
    identity: str  # of the prompt: what its spending goes by
    endpoint: Endpoint
    questions: Sequence[Request]
    budget: Budget
    price: Price
    patience: Patience = field(default_factory=Patience)
    texts: int | None = None  # documents that all requests show together; None: one each

    def run(self, store: AnswerStore, progress: Progress = SILENT) -> Asked:
        """Ask what the store does not have, as far as the budget goes."""
        different = list({question.key: question for question in self.questions}.values())
        known = store.get(question.key for question in different)
        todo = [question for question in different if question.key not in known]
        run = _Run(self, store, todo)
        if todo:
            self.endpoint.key()  # refused before anything is sent
            with stage(progress, f"asking {self.source}", len(todo), "requests"):
                run.go(progress)
        if run.fatal is not None:
            raise run.fatal
        return Asked(
            source=self.source,
            answered=run.answered,
            cached=len(known),
            unasked=len(todo) - run.answered,
            spent=store.spent(self.identity),
            stopped=run.stopped if run.answered < len(todo) else "",
            models=tuple(sorted(run.models)),
            forms=FORMS[run.form],
            unreadable=self._unreadable(store, different),
        )

    def _unreadable(self, store: AnswerStore, questions: Sequence[Request]) -> tuple[str, ...]:
        answers = store.get(question.key for question in questions)
        return tuple(
            answers[question.key].content
            for question in questions
            if question.key in answers and not question.understands(answers[question.key])
        )

    def most(self, question: Request) -> Cost:
        """The most that a request may cost."""
        return self.price.cost(question.most_input, question.max_tokens)


class _Run:
    """The state that the workers of one run share."""

    def __init__(self, asking: Asking, store: AnswerStore, todo: Sequence[Request]) -> None:
        self.asking, self.store = asking, store
        self.left: Iterator[Request] = iter(todo)
        self.size = len(todo)
        self.purse = Purse(asking.budget, store.spent(asking.identity))
        self.lock = threading.Lock()
        self.done: SimpleQueue[bool] = SimpleQueue()  # one a request: whether it was answered
        self.answered = self.failed_in_a_row = self.form = 0
        self.stopped = ""
        self.fatal: RuleError | None = None
        self.models: set[str] = set()
        self.not_before = 0.0
        minutes = asking.budget.minutes
        self.deadline = None if minutes is None else time.monotonic() + 60 * minutes

    def go(self, progress: Progress) -> None:
        """Work until nothing is left, or something stops it; on an interrupt, wait for what is in flight."""
        count = min(self.asking.endpoint.in_flight, self.size)
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(count)]
        try:
            with _terminated_like_interrupted():
                for worker in workers:
                    worker.start()
                while any(worker.is_alive() for worker in workers):
                    self._count(progress, 0.05)
        except BaseException:
            self.stop("interrupted")
            for worker in workers:
                worker.join(self.asking.endpoint.seconds)
            raise
        self._count(progress, 0.0)

    def _count(self, progress: Progress, seconds: float) -> None:
        try:
            while True:
                if self.done.get(timeout=seconds or None, block=bool(seconds)):
                    progress.advance(1)
        except Empty:
            return

    def stop(self, why: str) -> None:
        """Send nothing more."""
        with self.lock:
            self.stopped = self.stopped or why
        self.purse.close()

    def _work(self) -> None:
        try:
            while not self.stopped:
                with self.lock:
                    question = next(self.left, None)
                if question is None:
                    return
                self._ask(question)
        except RuleError as error:
            self._end(error)
        except (
            Exception
        ) as error:  # a full disk, for example: it must reach the user, not a thread's grave
            self._end(RuleError(str(error)))

    def _end(self, error: RuleError) -> None:
        with self.lock:
            self.fatal = self.fatal or error
        self.stop(str(error))

    def _ask(self, question: Request) -> None:
        """One document, with as many attempts as patience has."""
        patience, attempt, problem = self.asking.patience, 0, ""
        while attempt < patience.attempts and not self.stopped:
            self._wait(self.not_before - time.monotonic())
            form = self.form
            found = self._send(question, form)
            if found is None:
                return
            if found.status == 200:
                return
            if found.status in _SHAPE and form < len(FORMS) - 1:
                with self.lock:
                    self.form = max(self.form, form + 1)
                continue
            if found.status and found.status not in TURNED_AWAY and found.status < 500:
                raise self._refusal(found)
            problem = found.problem or f"the server answers {found.status}"
            pause = patience.pause(attempt, found.retry_after)
            attempt += 1
            if pause > patience.longest_wait:
                self.stop(f"the server wants no request for {duration(pause)}")
                continue
            if found.retry_after is not None:  # the server's word is for everybody
                with self.lock:
                    self.not_before = max(self.not_before, time.monotonic() + pause)
            elif attempt < patience.attempts:
                self._wait(pause)
        if not self.stopped:
            self._given_up(problem)

    def _send(self, question: Request, form: int) -> Reply | None:
        """One attempt; None where it may not be made any more."""
        asking, most = self.asking, self.asking.most(question)
        if not self.purse.set_aside(most):
            self.stop(SPENT)
            return None
        seconds = asking.endpoint.seconds
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        if seconds <= 0 or self.stopped:
            self.purse.settle(most, Cost())
            self.stop(OVER)
            return None
        self.store.sent(question.key, asking.identity, question.model, most)
        begun = time.monotonic()
        reply = asking.endpoint.send(question, FORMS[form], seconds)
        if reply.status == 200:
            self._keep(question, reply, most, time.monotonic() - begun)
        elif reply.status or not reply.sent:
            self.store.refused(question.key, most)
            self.purse.settle(most, Cost())
        else:  # lost: it may have been paid for
            self.purse.settle(most, most)
        return reply

    def _keep(self, question: Request, reply: Reply, most: Cost, seconds: float) -> None:
        spoken = Spoken.of(reply.body)
        really = most
        if spoken.input_tokens is not None and spoken.output_tokens is not None:
            really = self.asking.price.cost(spoken.input_tokens, spoken.output_tokens)
        self.store.answered(question.key, spoken, most, really, seconds)
        self.purse.settle(most, really)
        with self.lock:
            self.answered += 1
            self.failed_in_a_row = 0
            if spoken.model not in ("", question.model):
                self.models.add(spoken.model)
        self.done.put(True)

    def _given_up(self, problem: str) -> None:
        with self.lock:
            self.failed_in_a_row += 1
            many = self.failed_in_a_row
        self.done.put(False)
        if many >= self.asking.patience.failures:
            self.stop(f"{many} requests in a row failed: {problem}")

    def _refusal(self, reply: Reply) -> RuleError:
        endpoint = self.asking.endpoint
        message = endpoint.explained(reply)
        if reply.status in (401, 403):
            key = endpoint.key_env or "none: name one with key_env"
            return RuleError(f"{endpoint.host} refuses the key ({reply.status}; {key}): {message}")
        return RuleError(f"{endpoint.host} answers {reply.status}: {message}")

    def _wait(self, seconds: float) -> None:
        """Sleep, but not past the end of the run."""
        if self.deadline is not None:
            seconds = min(seconds, self.deadline - time.monotonic())
        while seconds > 0 and not self.stopped:
            self.asking.patience.sleep(min(seconds, 0.2))
            seconds -= 0.2


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends the run as Ctrl-C does: in order. Elsewhere than in the main thread, nothing is changed."""
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
