"""One trial in a process of its own: how it ended, how long it took, how much memory, and what it opened.

The process is forked from one that has all libraries loaded, so that a trial costs milliseconds. An audit
hook notes every file that is opened, every process that is started and every connection that is made.
"""

from __future__ import annotations

import json
import math
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

OK, REFUSED, FAILED = "ok", "refused", "failed"
HANGS = 30
WATCHED = ("open", "subprocess.Popen", "os.system", "socket.connect", "exec", "ctypes.dlopen")


@dataclass(frozen=True)
class Trial:
    """What one trial came to."""

    outcome: str  # ok, refused or failed
    words: str  # the message, or the last lines of the traceback
    seconds: float  # of the processor: the machine may be busy
    megabytes: float  # beyond what the process had when it began
    touched: tuple[str, ...]  # events that were watched


def trial(work: Callable[[], str], seconds: float, megabytes: int = 0) -> Trial:
    """Run `work` in a fork. It gives a few words when all is well; an `UnrulyError` is a refusal.

    After `seconds` of the processor it is killed, and after HANGS times as many by the clock, for the machine may
    be busy; with `megabytes`, more memory than that cannot be had.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    start = time.perf_counter()
    child = os.fork()
    if not child:
        os.close(reading)
        os.setpgid(0, 0)
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        _inside(work, writing, megabytes)
    os.close(writing)
    answer, late = _answer(reading, start + HANGS * seconds)
    if late:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        what = "by the clock: it hangs" if late else "of the processor"
        return Trial(FAILED, f"over {seconds:g} seconds {what}", seconds, 0, ())
    if not answer:
        return Trial(FAILED, f"died: status {status}", 0, 0, ())
    outcome, words, took, used, touched = json.loads(answer)
    return Trial(outcome, words, took, used, tuple(touched))


def _answer(reading: int, deadline: float) -> tuple[bytes, bool]:
    """All that is written until the pipe is closed, and whether the time was over first."""
    found = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while (left := deadline - time.perf_counter()) > 0:
            if select.select([pipe], [], [], left)[0]:
                piece = pipe.read(1 << 16)
                if not piece:
                    return found, False
                found += piece
    return found, True


def _inside(work: Callable[[], str], writing: int, megabytes: int) -> None:
    """The forked process; does not return."""
    from unruly.errors import UnrulyError

    touched: dict[str, None] = {}

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event in WATCHED and len(touched) < 500:
            touched[f"{event} {str(arguments[0] if arguments else '')[:200]}"] = None

    before = _peak()
    if megabytes:
        size = _address_space() + megabytes * (1 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
    sys.addaudithook(note)
    try:
        outcome, words = OK, work()
    except UnrulyError as error:
        outcome, words = REFUSED, str(error)
        if "\n" in words:
            outcome, words = FAILED, f"more than one line: {words!r}"
    except BaseException as error:  # a panic of polars is no Exception
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome = FAILED
        words = f"{type(error).__name__}: {str(error)[:200]} ({where.filename}:{where.lineno})"
    answer = json.dumps([outcome, words, time.process_time(), _peak() - before, list(touched)])
    with os.fdopen(writing, "w") as pipe:
        pipe.write(answer)
    os._exit(0)


def _peak() -> float:
    """Megabytes of memory, at most, that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _address_space() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
