"""Optional libraries: telemetry is off before they are imported, panics become one line."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from unruly.errors import InputError
from unruly.extras import need, panics_of


@pytest.mark.parametrize(
    ("library", "name", "value"),
    [("onnxruntime", "ORT_DISABLE_TELEMETRY", "1"), ("ray", "RAY_USAGE_STATS_ENABLED", "0")],
)
def test_telemetry_is_off(
    library: str, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "as it was")
    monkeypatch.setitem(sys.modules, library, SimpleNamespace())
    need(library, extra="some", purpose="tests")
    assert os.environ[name] == value


def test_a_panic_becomes_one_line() -> None:
    panic = type("PanicException", (BaseException,), {})
    expected = r"a\.parquet: polars cannot work with this \(oh\)"
    with pytest.raises(InputError, match=expected), panics_of("polars", "a.parquet"):
        raise panic("oh\nand more")
