"""What every picture shares: a figure without global state, quiet axes, the same SVG bytes for the same figure."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from unruly.extras import need

Figure = Any  # matplotlib is imported late, and optional
Axes = Any


@dataclass(frozen=True)
class Style:
    """How the pictures of one place look, and what they are for."""

    ink: str  # letters
    soft: str  # spines and ticks
    grid: str
    paper: str  # behind the figure; "none" lets through what lies below
    letters: float  # points
    purpose: str  # said where matplotlib is missing

    def module(self, name: str) -> Any:
        """A part of matplotlib."""
        return need(name, extra="report", purpose=self.purpose)

    def figure(self, width: float, height: float) -> Figure:
        """An empty figure of so many points, no global state behind it."""
        made = self.module("matplotlib.figure")
        return made.Figure(figsize=(width / 72, height / 72), layout="constrained")

    def quiet(self, ax: Axes) -> Axes:
        """Axes without a box: two quiet spines, a light grid."""
        ax.grid(color=self.grid, linewidth=0.8)
        ax.set_axisbelow(True)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_color(self.soft)
        ax.tick_params(colors=self.soft, labelcolor=self.ink, labelsize=self.letters - 1, length=3)
        ax.xaxis.label.set(color=self.ink, size=self.letters)
        ax.yaxis.label.set(color=self.ink, size=self.letters)
        return ax

    def svg(self, figure: Figure, name: str) -> str:
        """The figure as an SVG file: letters stay letters, no date, the same bytes for the same figure."""
        buffer = io.StringIO()
        with self.module("matplotlib").rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
            figure.savefig(
                buffer,
                format="svg",
                facecolor=self.paper,
                transparent=self.paper == "none",
                metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
            )
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", buffer.getvalue(), flags=re.DOTALL)
        return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
