"""Counters and histograms in Prometheus's text format, of one process or summed over several workers.

Every sample is one number under its full name, `unruly_requests_total{path="/predict",status="200"}`, so that the
metrics of several workers are the sums of equal names. prometheus_client does the same by files that are mapped
into memory and by a variable of the environment that must be set before its import; sixty lines do without.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from threading import Lock

from unruly.files import written_whole

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


Samples = dict[str, float]  # by full name


@dataclass(frozen=True)
class Family:
    """One metric."""

    kind: str  # counter, gauge or histogram
    help: str
    buckets: tuple[float, ...] = ()
    added: bool = True  # over workers; else it is what each of them says


FAMILIES = {
    "unruly_requests_total": Family("counter", "Requests answered, by path and status."),
    "unruly_request_seconds": Family("histogram", "Time from request to answer.", SECONDS),
    "unruly_requests_in_flight": Family("gauge", "Requests that are being answered."),
    "unruly_texts_waiting": Family("gauge", "Texts that wait for a batch."),
    "unruly_batch_texts": Family("histogram", "Texts predicted together.", SIZES),
    "unruly_batch_seconds": Family("histogram", "Time to predict one batch.", SECONDS),
    "unruly_predictions_total": Family("counter", "Texts predicted, by label."),
    "unruly_confidence": Family("histogram", "Probability of the predicted label.", SHARES),
    "unruly_uncovered_total": Family("counter", "Texts on which no source voted."),
    "unruly_missing_total": Family("counter", "Texts that were null."),
    "unruly_votes_total": Family("counter", "Votes of each source, by label."),
    "unruly_errors_total": Family("counter", "Requests that were not answered, by kind of error."),
    "unruly_connections_cut_total": Family(
        "counter", "Connections ended because of slow clients, or to make room, by reason."
    ),
    "unruly_reloads_total": Family(
        "counter", "Replaced or removed model files, by what became of them."
    ),
    "unruly_model_info": Family("gauge", "The model in service: 1.", added=False),
}


def labelled(name: str, labels: Mapping[str, str]) -> str:
    r"""A sample's full name.

    >>> labelled("unruly_errors_total", {"kind": 'a "quoted" word'})
    'unruly_errors_total{kind="a \\"quoted\\" word"}'
    """
    inner = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
    return f"{name}{{{inner}}}" if inner else name


def _escaped(value: str) -> str:
    bare = value.replace("\r", " ")  # a carriage return ends a line for some readers
    return bare.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


@dataclass
class Histogram:
    """Values counted by the first bucket that holds them."""

    name: str
    labels: Mapping[str, str]
    counts: list[int]  # one more than there are buckets
    total: float = 0.0

    def samples(self) -> Samples:
        """As Prometheus has it: buckets count all values up to their bound."""
        bounds = [f"{bound:g}" for bound in FAMILIES[self.name].buckets]
        up_to = accumulate(self.counts)
        found: Samples = {
            labelled(f"{self.name}_bucket", {**self.labels, "le": bound}): count
            for bound, count in zip([*bounds, "+Inf"], up_to, strict=True)
        }
        found[labelled(f"{self.name}_sum", self.labels)] = self.total
        found[labelled(f"{self.name}_count", self.labels)] = sum(self.counts)
        return found


class Metrics:
    """What one process has counted.

    >>> metrics = Metrics()
    >>> metrics.add("unruly_uncovered_total", 3)
    >>> metrics.text({}).splitlines()[-1]
    'unruly_uncovered_total 3'
    """

    def __init__(self) -> None:
        self._counters: Samples = {}
        self._histograms: dict[str, Histogram] = {}
        self._lock = Lock()

    def add(self, name: str, by: float = 1, labels: Mapping[str, str] | None = None) -> None:
        """Count."""
        key = labelled(name, labels or {})
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + by

    def observe(
        self, name: str, values: Iterable[float], labels: Mapping[str, str] | None = None
    ) -> None:
        """Enter values into a histogram."""
        own = labels or {}
        key, bounds = labelled(name, own), FAMILIES[name].buckets
        with self._lock:
            found = self._histograms.get(key)
            if found is None:
                found = self._histograms[key] = Histogram(name, own, [0] * (len(bounds) + 1))
            for value in values:
                found.counts[bisect_left(bounds, value)] += 1
                found.total += value

    def snapshot(self) -> Samples:
        """Everything counted so far."""
        with self._lock:
            parts = [histogram.samples() for histogram in self._histograms.values()]
            return summed([self._counters, *parts])

    def text(self, gauges: Samples, others: Iterable[Samples] = ()) -> str:
        """The page for Prometheus, with what other workers have counted added."""
        return rendered(summed([self.snapshot(), gauges, *others]))


def summed(parts: Iterable[Samples]) -> Samples:
    """Samples of the same name added up, or the largest of them where they say the same.

    >>> summed([{"a": 1}, {"a": 2, "b": 3}])
    {'a': 3, 'b': 3}
    >>> summed([{"unruly_model_info": 1}, {"unruly_model_info": 1}])
    {'unruly_model_info': 1}
    """
    total: Samples = {}
    for part in parts:
        for key, value in part.items():
            family = FAMILIES.get(_family(key))
            if family is None or family.added:
                total[key] = total.get(key, 0) + value
            else:
                total[key] = max(total.get(key, value), value)
    return total


def rendered(samples: Samples) -> str:
    """The samples in Prometheus's text format, family by family."""
    families: dict[str, list[str]] = {}
    for key, value in samples.items():
        families.setdefault(_family(key), []).append(f"{key} {value:.12g}")
    lines: list[str] = []
    for name in (name for name in FAMILIES if name in families):
        lines += [f"# HELP {name} {FAMILIES[name].help}", f"# TYPE {name} {FAMILIES[name].kind}"]
        lines += families[name]
    return "\n".join(lines) + "\n"


def _family(key: str) -> str:
    name = key.partition("{")[0]
    for ending in ("_bucket", "_sum", "_count"):
        if (found := name.removesuffix(ending)) in FAMILIES and found != name:
            return found
    return name


@dataclass(frozen=True)
class SharedCounters:
    """A folder where each worker writes its counters, so that any of them can answer /metrics for all."""

    folder: Path

    def leave(self, samples: Samples, gauges: Samples) -> None:
        """Write this worker's counters; a folder that cannot be written is ignored."""
        with suppress(OSError), written_whole(self.folder / f"{os.getpid()}.json") as part:
            part.write_text(json.dumps({"counted": samples, "now": gauges}), encoding="utf-8")

    def others(self) -> list[Samples]:
        """What the other workers left; of one that has ended, what it counted stays."""
        found: list[Samples] = []
        for path in sorted(self.folder.glob("*.json")):
            if path.stem == str(os.getpid()):
                continue
            with suppress(OSError, ValueError):
                left = json.loads(path.read_text(encoding="utf-8"))
                found += [left["counted"], left["now"] if _runs(int(path.stem)) else {}]
        return found


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
