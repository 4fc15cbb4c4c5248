"""A rule that fails while it runs is named with its line in the project file, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from unruly.errors import UnrulyError
from unruly.project.project import Project
from unruly.project.table import Table

_RULE = re.compile(r"source (?P<quote>['\"])(?P<source>.+?)(?P=quote), rule (?P<rule>\d+)\b")


@contextmanager
def blamed_on_its_line(project: Project) -> Iterator[None]:
    """Put file and line in front of an error that begins with the name of a rule."""
    try:
        yield
    except UnrulyError as error:
        where = _where(project, str(error))
        if where is None:
            raise
        raise type(error)(f"{where}: {error}") from error.__cause__


def _where(project: Project, message: str) -> str | None:
    match = _RULE.match(message)
    if match is None or project.file is None or match["source"] not in project.sources.names:
        return None
    source = project.sources.names.index(match["source"])
    return Table.read(project.file).at("source", source, "rule", int(match["rule"]) - 1)
