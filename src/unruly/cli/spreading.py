"""What a run over many workers came to, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unruly.cli.screen import Screen
from unruly.wording import plural

if TYPE_CHECKING:
    from unruly.distributed.run import Spread


def show_spread(spread: Spread, screen: Screen) -> None:
    """One object, or a few lines."""
    screen.answer(
        {
            "output": str(spread.path),
            "documents": spread.documents,
            "covered": spread.covered,
            "missing": spread.missing,
            "skipped": spread.skipped,
            "labels": spread.labels,
            "broken": list(spread.broken),
            "workers": spread.workers,
            "parts": spread.parts,
            "resumed": spread.resumed,
            "cpu": spread.cpu,
        }
    )
    if spread.resumed:
        screen.remark(f"{plural(spread.resumed, 'part')} of {spread.parts:,} were done before")
    if spread.skipped:
        screen.remark(f"{plural(spread.skipped, 'row')} skipped as unusable")
    for words in spread.broken:
        screen.remark(f"left out: {words}")
    labels = ", ".join(f"{name} {count:,}" for name, count in spread.labels.items())
    told = f"{spread.path}: {plural(spread.documents, 'document')}"
    told += f" in {plural(spread.parts, 'part')} by {plural(spread.workers, 'worker')}"
    screen.remark(f"{told}: {labels}" if labels else told)
