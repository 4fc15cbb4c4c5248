"""Settings for all tests: hypothesis never fails a test for being slow on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unruly", deadline=None)
settings.load_profile("unruly")
