"""A comparison as tables and sentences: for the screen, for Markdown, and for a CSV file."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

from unruly.files import written_whole
from unruly.ledger import GoldUse
from unruly.statistics import Share
from unruly.wording import plural
from unruly_lab.compare.comparison import Comparison, Row

Cells = list[tuple[str, ...]]
Table = tuple[tuple[str, ...], Cells]
NOTHING = "–"
ENDINGS = (".json", ".md", ".csv")


def tables(comparison: Comparison) -> list[Table]:
    """All tables: scores where there is gold, what can be measured without it, and who agrees with whom."""
    found = [gold_table(comparison)] if comparison.scored_on is not None else []
    found.append(behaviour_table(comparison))
    if len(comparison.ran) > 1:
        found.append(agreement_table(comparison))
    return found


def gold_table(comparison: Comparison) -> Table:
    """One row for each system: accuracy and F1 in per cent; why a system failed stands below."""
    columns = _class_columns(comparison)
    header = ("system", "accuracy", "macro F1", *columns)
    rows = []
    for row in comparison.rows:
        shares = [NOTHING] * (len(header) - 1)
        if row.gold is not None:
            found = [row.gold.accuracy, row.gold.macro_f1, *row.gold.f1[: len(columns)]]
            shares = [_share(share) for share in found]
        rows.append((row.entry.title, *shares))
    return header, rows


def behaviour_table(comparison: Comparison) -> Table:
    """One row for each system: what needs no gold, what it cost, and what gold it was given."""
    unseen = ("held-out votes",) if comparison.hidden else ()
    header = ("system", "stability", "follows majority", *unseen, "CPU s", "gold used")
    return header, [_behaviour(row, bool(comparison.hidden)) for row in comparison.rows]


def agreement_table(comparison: Comparison) -> Table:
    """Who gives how many of the same answers as whom, in per cent; columns go by the rows' numbers."""
    ran = comparison.ran
    header = ("same predictions, %", *(str(place + 1) for place in range(len(ran))))
    rows = []
    for place, row in enumerate(ran):
        shares = [f"{100 * share:.0f}" for share in comparison.agreement[place].tolist()]
        rows.append((f"{place + 1} {row.entry.title}", *shares))
    return header, rows


def sentences(comparison: Comparison) -> tuple[str, ...]:
    """What to know beside the tables."""
    c = comparison
    shown = [
        f"{plural(c.documents, 'document')}, {c.covered:,} of them with a vote; features: {c.encoder}; "
        f"{plural(c.seeds, 'seed')}"
    ]
    if c.scored_on is None:
        shown.append(
            "no gold labels: nothing here shows which method is right. Low stability and low agreement call "
            "for a closer look; held-out votes also reward learning the votes' mistakes"
        )
    else:
        shown.append(f"accuracy and F1 on {c.scored_on}, with 95 % intervals")
    if c.repeats:
        what = "repeats a training document" if c.repeats == 1 else "repeat training documents"
        shown.append(f"{c.repeats:,} of the scored documents {what}")
    shown.append(
        "stability: predictions that two fits have in common; follows majority: predictions that are the class with most "
        "votes, where there is one"
    )
    if c.hidden:
        shown.append(
            f"held-out votes: mean log-likelihood of the votes on {plural(c.hidden, 'document')} that were "
            f"held out of training; a uniform guess gives {math.log(1 / len(c.classes)):.3f}"
        )
    else:
        shown.append("held-out votes: not measured, too few documents have votes")
    shown += [f"{row.entry.name} did not run: {row.failure}" for row in c.failed]
    return (*shown, str(c.ledger))


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write everything as .json, the tables and sentences as .md, or a row for each system as .csv."""
    match path.suffix.lower():
        case ".json":
            text = json.dumps(comparison.to_plain(), ensure_ascii=False, indent=2, allow_nan=False)
        case ".csv":
            text = _csv(comparison)
        case _:
            text = _markdown(comparison)
    with written_whole(path) as part:
        part.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="")


def _class_columns(comparison: Comparison) -> list[str]:
    """F1 of each class where there are two; with more, the macro F1 has to do."""
    two = len(comparison.classes) == 2
    return [f"F1 {name}" for name in comparison.classes] if two else []


def _behaviour(row: Row, unseen: bool) -> tuple[str, ...]:
    shown = (NOTHING if row.unseen is None else f"{row.unseen:.3f}",) if unseen else ()
    seconds = NOTHING if row.seconds is None else f"{row.seconds:.1f}"
    gold = gold_words(row.gold_used)
    return (
        row.entry.title,
        _percent(row.stability),
        _percent(row.majority),
        *shown,
        seconds,
        "did not run" if row.failure is not None else gold,
    )


def gold_words(uses: Sequence[GoldUse]) -> str:
    """What true labels were used for, in a cell.

    >>> from unruly.ledger import Use
    >>> gold_words([GoldUse(Use.TRAINING, 30, "clean labels")]), gold_words([])
    ('30 for training', 'none')
    """
    return "; ".join(map(_use, uses)) or "none"


def _use(used: GoldUse) -> str:
    return f"{used.labels:,} for {used.use.value}"


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{share:.1%}"


def _share(share: Share) -> str:
    """Short enough that many fit beside each other: `93.4 (91–95)`, in per cent."""
    if math.isnan(share.value):
        return NOTHING
    return f"{100 * share.value:.1f} ({100 * share.low:.0f}–{100 * share.high:.0f})"


def _markdown(comparison: Comparison) -> str:
    drawn = [_markdown_table(*table) for table in tables(comparison)]
    shown = "\n".join(f"- {text}" for text in sentences(comparison))
    return "\n\n".join([*drawn, shown])


def _markdown_table(header: Sequence[str], rows: Cells) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(
        "| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines
    )


def _csv(comparison: Comparison) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    f1 = [f"f1_{name}" for name in comparison.classes]
    scores = [
        f"{name}{end}" for name in ("accuracy", "macro_f1", *f1) for end in ("", "_low", "_high")
    ]
    others = ("stability", "follows_majority", "unseen_votes", "cpu_seconds", "parameters")
    writer.writerow(["system", *scores, *others, "gold_used", "failure"])
    for row in comparison.rows:
        shares = [row.gold.accuracy, row.gold.macro_f1, *row.gold.f1] if row.gold else []
        numbers = [_number(x) for share in shares for x in (share.value, share.low, share.high)]
        numbers += [""] * (len(scores) - len(numbers))
        rest = [row.stability, row.majority, row.unseen, row.seconds, row.parameters]
        writer.writerow(
            [
                row.entry.name,
                *numbers,
                *map(_number, rest),
                "; ".join(map(_use, row.gold_used)),
                row.failure or "",
            ]
        )
    return buffer.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"
