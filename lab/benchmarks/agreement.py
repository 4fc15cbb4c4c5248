"""The paper's rules as its appendix prints them, beside the votes that are stored with its data.

    python lab/benchmarks/agreement.py --data DIR

DIR holds the data sets in WRENCH's layout, one folder each. For every source: coverage and accuracy
of our votes and of the stored ones, and the share of documents on which both say the same,
abstentions included; then the same share with the keywords matched as substrings, and as tokens
between spaces, which is how some of the stored votes were made. Gold labels are used for scoring only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unruly import Corpus, Project, Source, Sources, UnrulyError, Votes
from unruly.rules import AllOf, AnyOf, Keywords, Not, PartWords, Pattern
from unruly.rules.condition import Condition

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DATA_SETS = ("youtube", "imdb", "yelp", "agnews", "spouse")
STORED = {"imdb": "weak_labels_8"}  # the votes of the authors' own script, eight sources
Change = Callable[[Keywords], Condition]


@dataclass(frozen=True)
class Row:
    """One source of one data set."""

    data: str
    source: str
    coverage: float = float("nan")
    stored_coverage: float = float("nan")
    accuracy: float = float("nan")
    stored_accuracy: float = float("nan")
    agreement: float = float("nan")
    as_substrings: float = float("nan")
    as_tokens: float = float("nan")
    problem: str = ""


def compare(data: str, folder: Path, split: str) -> list[Row]:
    """All sources of one data set."""
    project = Project.read(EXAMPLES / data)
    corpus = Corpus.from_wrench(folder, split)
    stored = Votes.from_wrench(folder, split, votes=STORED.get(data, "weak_labels"))
    return [
        _row(data, source, project.classes, corpus, stored) for source in project.sources.sources
    ]


def _row(data: str, source: Source, names: tuple[str, ...], corpus: Corpus, stored: Votes) -> Row:
    theirs = stored.matrix[:, stored.sources.index(source.name)]
    try:
        ours = _votes(source, names, corpus)
        others = [
            _votes(_changed(source, change), names, corpus) for change in (_substring, _tokens)
        ]
    except UnrulyError as error:
        return Row(data, source.name, problem=f"not run: {error}")
    return Row(
        data,
        source.name,
        coverage=float(np.mean(ours >= 0)),
        stored_coverage=float(np.mean(theirs >= 0)),
        accuracy=_accuracy(ours, corpus),
        stored_accuracy=_accuracy(theirs, corpus),
        agreement=float(np.mean(ours == theirs)),
        as_substrings=float(np.mean(others[0] == theirs)),
        as_tokens=float(np.mean(others[1] == theirs)),
    )


def _votes(source: Source, classes: tuple[str, ...], corpus: Corpus) -> NDArray[np.int8]:
    return Sources(classes, [source]).vote(corpus).matrix[:, 0]


def _accuracy(votes: NDArray[np.int8], corpus: Corpus) -> float:
    voted = votes >= 0
    if corpus.gold is None or not voted.any():
        return float("nan")
    return float(np.mean(votes[voted] == corpus.gold[voted]))


def _changed(source: Source, change: Change) -> Source:
    return Source(
        source.name, [replace(rule, when=_walk(rule.when, change)) for rule in source.rules]
    )


def _walk(condition: Condition, change: Change) -> Condition:
    """The same condition with its keywords changed."""
    if isinstance(condition, Keywords):
        return change(condition)
    if isinstance(condition, PartWords) and isinstance(condition.test, Keywords):
        test = change(condition.test)
        assert isinstance(test, Keywords | Pattern)
        return replace(condition, test=test)
    if isinstance(condition, AllOf):
        return AllOf(tuple(_walk(c, change) for c in condition.conditions))
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_walk(c, change) for c in condition.conditions))
    return Not(_walk(condition.condition, change)) if isinstance(condition, Not) else condition


def _substring(keywords: Keywords) -> Condition:
    return replace(keywords, match="substring")


def _tokens(keywords: Keywords) -> Condition:
    """Between white space, as `word in text.split()` finds it: "good." is not "good"."""
    inside = replace(keywords, match="substring").patterns()[0].removeprefix("(?i)")
    return Pattern(rf"(?:^|\s){inside}(?:\s|$)", ignore_case=True)


def show(rows: list[Row]) -> None:
    """A table for each data set."""
    for data in dict.fromkeys(row.data for row in rows):
        print(
            f"\n{data:<34}{'coverage':>16}{'accuracy':>16}{'agreement':>11}{'substrings':>12}{'tokens':>8}"
        )
        print(f"{'':<34}{'ours':>8}{'stored':>8}{'ours':>8}{'stored':>8}")
        for row in rows:
            if row.data == data:
                print(f"  {row.source:<32}{_cells(row)}")


def _cells(row: Row) -> str:
    if row.problem:
        return row.problem
    four = (row.coverage, row.stored_coverage, row.accuracy, row.stored_accuracy)
    three = f"{row.agreement:11.1%}{row.as_substrings:12.1%}{row.as_tokens:8.1%}"
    return "".join(f"{x:8.1%}" for x in four) + three


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="the folder of data sets")
    parser.add_argument("--split", default="train", choices=["train", "valid", "test"])
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    options = parser.parse_args()
    rows = [r for data in DATA_SETS for r in compare(data, options.data / data, options.split)]
    show(rows)
    differ = [r for r in rows if not r.problem and r.agreement < 0.97]
    print(
        f"\n{len(differ)} of {len(rows)} sources differ on more than 3 % of the documents: docs/paper-rules.md"
    )
    if options.json:
        listed = [{k: None if v != v else v for k, v in asdict(row).items()} for row in rows]
        print(json.dumps({"split": options.split, "sources": listed}))


if __name__ == "__main__":
    main()
