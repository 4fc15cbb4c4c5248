"""Every error that a user can cause, each a single line that says what was found and what to do."""

from __future__ import annotations


class UnrulyError(Exception):
    """The one base of all errors that unruly raises on purpose.

    The message is one line: where (file, line, rule or row), what was found, and the remedy.
    """

    exit_code = 2


class InputError(UnrulyError):
    """A data file or a value given by the user cannot be used."""


class ProjectError(UnrulyError):
    """A project file (`unruly.toml`) is wrong."""


class RuleError(UnrulyError):
    """A rule is wrong, or failed on a document."""


class ExampleError(UnrulyError):
    """A rule contradicts its own examples."""

    exit_code = 1


class SettingsError(UnrulyError, ValueError):
    """A setting is out of its range."""


class ModelFileError(UnrulyError):
    """A saved model is damaged, truncated, or of a newer format."""


class NotFittedError(UnrulyError, ValueError, AttributeError):
    """A model is used before `fit`."""


class MissingExtraError(UnrulyError, ImportError):
    """An optional library is needed and not installed."""
