"""Exports are driven by the command line as the commands' own tests do it."""

from __future__ import annotations

from tests.cli.conftest import fitted, unruly

__all__ = ["fitted", "unruly"]
