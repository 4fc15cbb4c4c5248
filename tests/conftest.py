"""Settings for all tests: slowness is no failure, and Ctrl-C works in what tests start."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("unruly", deadline=None)
settings.load_profile("unruly")

# Where tests run in the background the signal is ignored, and what they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
