"""Settings for all tests: slowness is no failure, Ctrl-C works in what tests start, and one browser serves a file."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from tests import chromium

settings.register_profile("unruly", deadline=None)
settings.load_profile("unruly")

# Where tests run in the background the signal is ignored, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for a file of tests."""
    driver = chromium.started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()
