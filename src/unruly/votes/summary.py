"""The source table: what each source covers, where it stands against the others, and how often it is right.

The columns are Snorkel's, in Snorkel's order (`LFAnalysis.lf_summary`): shares are of all documents.
"Emp. Acc." is the share of a source's votes that are right, where gold is known; a source that never
voted there has none.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from unruly.extras import need
from unruly.plural import plural
from unruly.votes.interval import Interval


@dataclass(frozen=True)
class Score:
    """Votes checked against gold; documents without gold do not count."""

    correct: int
    incorrect: int
    interval: Interval | None  # 95 %, None when nothing could be checked

    @property
    def accuracy(self) -> float | None:
        """The share that is right, None when nothing could be checked."""
        checked = self.correct + self.incorrect
        return self.correct / checked if checked else None


@dataclass(frozen=True)
class SourceSummary:
    """One row of the table. Shares are of all documents."""

    source: str
    j: int | None  # the source's column, None for the total
    polarity: tuple[int, ...]  # the classes it votes for
    coverage: float  # documents with a vote
    overlaps: float  # with a vote of another source, too
    conflicts: float  # with a different vote of another source
    score: Score | None  # None without gold


@dataclass(frozen=True)
class MajoritySummary:
    """What plain majority vote makes of the votes; ties are counted apart, never broken."""

    coverage: float  # documents with a vote, tied ones included
    ties: float  # documents where two classes or more lead
    tied: int  # tied documents, with known gold where gold is given
    score: Score | None  # of the documents with one winner


@dataclass(frozen=True)
class Summary:
    """One row for each source, a total row, and majority vote.

    >>> from unruly.votes.votes import Votes
    >>> votes = Votes.from_array([[0, -1], [0, 1], [-1, -1], [0, 0]], classes=["ham", "spam"])
    >>> print(votes.summary(gold=[0, 1, 1, 0]))
    source    j  Polarity  Coverage  Overlaps  Conflicts  Correct  Incorrect  Emp. Acc.   95 % interval
    source_0  0  [0]          0.750     0.500      0.250        2          1      0.667  [0.208, 0.939]
    source_1  1  [0, 1]       0.500     0.500      0.250        2          0      1.000  [0.342, 1.000]
    total        [0, 1]       0.750     0.500      0.250        4          1      0.800  [0.507, 1.000]
    Polarity: 0 = ham, 1 = spam
    majority vote: coverage 0.750, ties 0.250; of the 2 documents with one winner and gold, 1.000 right [0.342, 1.000]
    """

    documents: int
    classes: tuple[str, ...]
    sources: tuple[SourceSummary, ...]
    total: SourceSummary
    majority: MajoritySummary

    @property
    def scored(self) -> bool:
        """Whether gold was given."""
        return self.total.score is not None

    def to_frame(self) -> pl.DataFrame:
        """The table in polars, the total as its last row."""
        rows = (*self.sources, self.total)
        columns: dict[str, pl.Series] = {
            "source": pl.Series([row.source for row in rows], dtype=pl.String)
        }
        columns |= {
            "j": pl.Series([row.j for row in rows], dtype=pl.Int64),
            "Polarity": pl.Series([list(r.polarity) for r in rows], dtype=pl.List(pl.Int64)),
            "Coverage": pl.Series([row.coverage for row in rows], dtype=pl.Float64),
            "Overlaps": pl.Series([row.overlaps for row in rows], dtype=pl.Float64),
            "Conflicts": pl.Series([row.conflicts for row in rows], dtype=pl.Float64),
        }
        scores = [row.score for row in rows if row.score is not None]
        if scores:
            ends = [score.interval for score in scores]
            columns |= {
                "Correct": pl.Series([score.correct for score in scores], dtype=pl.Int64),
                "Incorrect": pl.Series([score.incorrect for score in scores], dtype=pl.Int64),
                "Emp. Acc.": pl.Series([score.accuracy for score in scores], dtype=pl.Float64),
                "95% low": pl.Series([end and end.low for end in ends], dtype=pl.Float64),
                "95% high": pl.Series([end and end.high for end in ends], dtype=pl.Float64),
            }
        return pl.DataFrame(columns)

    def to_pandas(self) -> Any:
        """The table in pandas with source names as its index, as Snorkel gives it; no total row."""
        pandas = need("pandas", extra="peers", purpose="pandas tables")
        frame = self.to_frame().head(len(self.sources))
        columns = {name: frame[name].to_list() for name in frame.columns if name != "source"}
        return pandas.DataFrame(columns, index=frame["source"].to_list())

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings."""
        plain: dict[str, Any] = asdict(self)
        for row in (*plain["sources"], plain["total"], plain["majority"]):
            if row["score"] is not None:
                row["score"]["accuracy"] = Score(**row["score"]).accuracy
        return plain

    def to_json(self) -> str:
        """The same as one JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows as strings, for any kind of screen."""
        header = ["source", "j", "Polarity", "Coverage", "Overlaps", "Conflicts"]
        if self.scored:
            header += ["Correct", "Incorrect", "Emp. Acc.", "95 % interval"]
        return header, [_cells(row) for row in (*self.sources, self.total)]

    def legend(self) -> str:
        """What the numbers under Polarity mean, in a line; empty where classes are named by them."""
        if all(name == str(r) for r, name in enumerate(self.classes)):
            return ""
        return "Polarity: " + ", ".join(f"{r} = {name}" for r, name in enumerate(self.classes))

    def majority_line(self) -> str:
        """Majority vote in one sentence."""
        vote = self.majority
        line = f"majority vote: coverage {vote.coverage:.3f}, ties {vote.ties:.3f}"
        if vote.score is None:
            return line
        checked = vote.score.correct + vote.score.incorrect
        right = (
            f", {_share(vote.score.accuracy)} right {_interval(vote.score.interval)}"
            if checked
            else ""
        )
        return f"{line}; of the {plural(checked, 'document')} with one winner and gold{right}"

    def __str__(self) -> str:
        header, rows = self.cells()
        widths = [max(len(line[c]) for line in [header, *rows]) for c in range(len(header))]
        lines = []
        for line in [header, *rows]:
            padded = [
                cell.ljust(width) if c in (0, 2) else cell.rjust(width)
                for c, (cell, width) in enumerate(zip(line, widths, strict=True))
            ]
            lines.append("  ".join(padded).rstrip())
        return "\n".join([*lines, *filter(None, [self.legend()]), self.majority_line()])

    def _repr_html_(self) -> str:
        from html import escape

        header, rows = self.cells()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
        )
        told = "; ".join(filter(None, [self.legend(), self.majority_line()]))
        caption = f"<caption>{escape(told)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(row: SourceSummary) -> list[str]:
    cells = [row.source, "" if row.j is None else str(row.j), str(list(row.polarity))]
    cells += [_share(row.coverage), _share(row.overlaps), _share(row.conflicts)]
    if row.score is not None:
        cells += [str(row.score.correct), str(row.score.incorrect)]
        cells += [_share(row.score.accuracy), _interval(row.score.interval)]
    return cells


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"[{interval.low:.3f}, {interval.high:.3f}]"
