"""For `mkdocs build`: links to files of the repository become words, because the site does not have these files."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(r"(?<!!)\[([^\]]+)\]\(\.\./([^)\s]+)\)")


def on_page_markdown(markdown: str, page: object, config: object, files: object) -> str:
    """What mkdocs calls with each page; on hovering, the words say which file is meant.

    >>> text = "fast ([log](../lab/LOG.md)), see [labels](labels.md)"
    >>> on_page_markdown(text, page=None, config=None, files=None)
    'fast (<span title="lab/LOG.md in the repository">log</span>), see [labels](labels.md)'
    """
    return _OUTSIDE.sub(r'<span title="\2 in the repository">\1</span>', markdown)
