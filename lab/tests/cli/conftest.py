"""The product's own variants to run a command serve the laboratory's commands, too."""

from __future__ import annotations

from tests.cli.conftest import Done, Unruly, command_line, real, spam, unruly

__all__ = ["Done", "Unruly", "command_line", "real", "spam", "unruly"]
