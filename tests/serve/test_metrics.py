"""Metrics: Prometheus's own parser reads what we write, and workers' counts add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import parser

from unruly.serve.metrics import FAMILIES, Metrics, SharedCounters, summed


def read(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """By Prometheus's own parser: name and labels to value."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in parser.text_string_to_metric_families(text)
        for sample in family.samples
    }


@given(st.text(max_size=20), st.lists(st.floats(0, 100), max_size=20))
def test_prometheus_reads_it(label: str, values: list[float]) -> None:
    metrics = Metrics()
    metrics.add("unruly_predictions_total", 2, {"label": label})
    metrics.observe("unruly_request_seconds", values, {"path": "/predict"})
    found = read(metrics.text({"unruly_texts_waiting": 3}))
    assert found["unruly_predictions_total", (("label", label.replace("\r", " ")),)] == 2
    assert found["unruly_texts_waiting", ()] == 3
    path = ("path", "/predict")
    assert found["unruly_request_seconds_count", (path,)] == len(values)
    assert found["unruly_request_seconds_sum", (path,)] == pytest.approx(sum(values))
    for bound in (*FAMILIES["unruly_request_seconds"].buckets, float("inf")):
        le = "+Inf" if bound == float("inf") else f"{bound:g}"
        count = found["unruly_request_seconds_bucket", (("le", le), path)]
        assert count == sum(value <= bound for value in values)


def test_workers_add_up_and_the_dead_keep_their_counts(tmp_path: Path) -> None:
    shared = SharedCounters(tmp_path)
    (tmp_path / "1.json").write_text(json.dumps({"counted": {"a": 5}, "now": {"b": 1}}))
    (tmp_path / "999999999.json").write_text(json.dumps({"counted": {"a": 7}, "now": {"b": 9}}))
    (tmp_path / "2.json").write_text("{half")
    shared.leave({"a": 100}, {})  # our own is not among the others
    assert summed(shared.others()) == {"a": 12, "b": 1}
