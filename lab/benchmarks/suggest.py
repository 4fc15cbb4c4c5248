"""What thirty suggested rules are worth, when somebody who knows the truth accepts the good ones.

    python lab/benchmarks/suggest.py --data DIR [--datasets youtube,...] [--documents 3000] [--steps 30]
                                     [--seeds 2] [--walks 1] [--lists] [--prior] [--rough] [--labels 20] [--relabel]
                                     [--describe minilm | --describe DIR] [--good 0.6] [--errors]
                                     [--no-random] [--json]

Starts: `names`, one rule for each class with the words of its name; `third`, a random third of the data set's own
rules (--seeds of them). With --describe, minilm or a folder of static word vectors, the encoders are that one and lsa
throughout, and `names` also has the source that `[task.describe]` makes where each class is described by its name. At each step a model is fitted on the rules so far, `suggest_rules` ranks new ones without
gold, and an oracle with the training gold accepts the best whose precision is 60 % (--good) or more; those above it in the
list are refused. `random` accepts, as often, a random word of the same frequency for its commonest class, with the
same oracle. `errors` is the usual way without suggestions: 100 random training documents are labelled, and each new rule is a word
of a document that the model gets wrong, the one that goes most with its class on these 100, under the same oracle;
the labels are read, not trained on. Accepted rules are sources of their own; with --lists, words for one class are one source.

Printed are test accuracy of the default and coverage of the training documents after so many accepted rules, the
accuracy on the training documents after the last, how many suggestions were read for each accepted one, and beside them majority vote and the default on all published
rules. `top` are the first twenty suggestions: their precision, how many are precise enough for the oracle, how many are
commoner in another class, and how many have their true precision in the interval shown, in whole percents. Encoder lsa. Gold of training documents is the oracle's alone, and that of the 100 for `errors`; gold of test
documents is for scoring. With --prior the true class shares are stated, with --rough the same with each class's odds
off by a factor of up to two, as a user who guesses them would; with --labels so many training documents are labelled before
the first rule, drawn as `unruly label` draws them while there is no model. With --relabel the oracle accepts a rule for the
class in which its precision is 60 % or more, also where that is not the one suggested. Each of --walks has documents, rough
shares, labels and folds of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from _options import wrench_parser
from balance import perturbed
from unruly import TextSpace, WeakClassifier
from unruly.labelling.answers import Labelled, labelled
from unruly.labelling.label_file import Answer, LabelFile
from unruly.labelling.sampling import ask
from unruly.model.candidates import GRAMMAR
from unruly.model.suggestions import Refused, suggest_rules
from unruly.project.suggestions import with_stand_in
from unruly.rules.condition import Table
from unruly.rules.keywords import Keywords
from unruly.rules.similar import DESCRIBE, described_source
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.statistics import sample_rows
from unruly.texts.corpus import Corpus
from unruly.votes.majority import majority_shares
from unruly.votes.votes import Votes

SETS = ("youtube", "yelp", "agnews", "sms")
SHOWN = (0, 1, 2, 5, 10, 15, 20, 25, 30)
GOOD = 0.6  # precision from which the oracle accepts, unless another is asked for
READ = 20  # suggestions that are read before the oracle gives up
LABELLED = 100  # documents in which errors are read
_WORD = re.compile(r"(?u)\b[^\W\d_][\w'’]+\b")


@dataclass(frozen=True, eq=False)
class Split:
    """Documents with their published votes and gold."""

    corpus: Corpus
    votes: Votes
    gold: NDArray[np.int64]

    @classmethod
    def read(cls, folder: Path, split: str, most: int, seed: int) -> Split:
        corpus, votes = Corpus.from_wrench(folder, split), Votes.from_wrench(folder, split)
        rows = sample_rows(len(corpus), most, seed)
        corpus, votes = corpus.take(rows), votes.take(rows)
        return cls(corpus, votes, np.asarray(corpus.gold, np.int64))


@dataclass(frozen=True, eq=False)
class Task:
    """One data set, and where its rules begin."""

    train: Split
    test: Split
    columns: tuple[int, ...]  # published sources to begin with
    names: bool  # whether to begin with the names of the classes
    lists: bool
    prior: tuple[float, ...] | None = None  # the class shares, where they are stated
    labels: int = 0  # training documents with a label by hand
    relabel: bool = False  # whether a rule may be accepted for another class
    meaning: Table | None = None  # the encoder that compares documents with the names
    good: float = GOOD
    seed: int = 0  # of the walk

    @cached_property
    def described(self) -> Source | None:
        """The source that compares documents with the names of the classes."""
        if self.meaning is None or not self.names:
            return None
        about = {c: " ".join(_WORD.findall(c.lower())) or c for c in self.classes}
        return described_source(about, TextSpace(self.meaning, self.train.corpus, kept=True))

    @property
    def classes(self) -> tuple[str, ...]:
        return self.train.votes.classes

    def votes(self, split: Split, rules: Sequence[Rule]) -> Votes:
        """The votes of the start and of these rules."""
        sources: list[Source] = []
        if self.names:
            named = [(c, _WORD.findall(c.lower())) for c in self.classes]
            sources += [Source(f"name {c}", [Rule(c, Keywords(w))]) for c, w in named if w]
        if self.lists:
            for label in self.classes:
                own = [rule for rule in rules if rule.label == label]
                sources += [Source(f"list {label}", own)] if own else []
        else:
            sources += [Source(f"rule {i}", [rule]) for i, rule in enumerate(rules)]
        if self.described is not None:
            sources.append(self.described)
        matrix = split.votes.matrix[:, list(self.columns)]
        names = [split.votes.sources[j] for j in self.columns]
        soft: Mapping[str, NDArray[np.float32]] = {}
        if sources:
            cast = Sources(self.classes, sources).vote(split.corpus)
            matrix, names = np.column_stack([matrix, cast.matrix]), [*names, *cast.sources]
            soft = cast.soft
        return Votes(matrix, tuple(names), self.classes, split.votes.ids, soft)

    @cached_property
    def clean(self) -> Labelled | None:
        """Labels by hand, drawn by the votes of the start."""
        if not self.labels:
            return None
        ids = self.train.corpus.ids.to_list()
        asked = ask(self.votes(self.train, ()), n=self.labels, seed=self.seed)
        answers = tuple(
            Answer(str(q.id), self.classes[self.train.gold[q.row]], "", "", q.why, q.probability)
            for q in asked
        )
        return labelled(LabelFile(Path("labels.csv"), answers), ids, self.classes)

    @property
    def known(self) -> NDArray[np.int64] | None:
        """(n,): the labels by hand, -1 elsewhere."""
        return None if self.clean is None else self.clean.numbers

    def accuracy(self, rules: Sequence[Rule]) -> tuple[float, float]:
        """Accuracy of the default on test and training documents, in percent."""
        votes = self.votes(self.train, rules)
        named = np.unique(votes.matrix[votes.voted])
        if len(named) < 2:
            guess = int(named[0]) if len(named) else 0
            right = [split.gold == guess for split in (self.test, self.train)]
            return 100 * float(right[0].mean()), 100 * float(right[1].mean())
        model = classifier(self).fit(self.train.corpus, votes, clean=self.clean)
        held_out = model.predictions(self.test.corpus, self.votes(self.test, rules)).numbers
        own = model.predictions(self.train.corpus, votes).numbers
        right = [held_out == self.test.gold, own == self.train.gold]
        return 100 * float(right[0].mean()), 100 * float(right[1].mean())

    def accepted(self, rule: Rule) -> Rule:
        """The rule as the oracle would have it."""
        others = [replace(rule, label=c) for c in self.classes if c != rule.label]
        return max([rule, *others], key=self.precision) if self.relabel else rule

    def precision(self, rule: Rule) -> float:
        """Of a rule on the training documents."""
        cast = Sources(self.classes, [Source("s", [rule])]).vote(self.train.corpus)
        rows = np.flatnonzero(cast.covered)
        return float((self.train.gold[rows] == cast.matrix[rows, 0]).mean()) if len(rows) else 0.0


@dataclass
class Walk:
    """Rules accepted one after the other, and what they come to."""

    rules: list[Rule] = field(default_factory=list)
    read: int = 0
    moved: int = 0  # accepted for another class
    accuracy: dict[int, float] = field(default_factory=dict)
    training: dict[int, float] = field(default_factory=dict)  # accuracy on training documents
    coverage: dict[int, float] = field(default_factory=dict)

    def note(self, task: Task, step: int) -> None:
        """Measure where that is shown."""
        if step in SHOWN:
            self.accuracy[step], self.training[step] = task.accuracy(self.rules)
            votes = task.votes(task.train, self.rules)
            hard = [j for j, name in enumerate(votes.sources) if name != DESCRIBE]
            self.coverage[step] = 100 * float(votes.voted[:, hard].any(axis=1).mean())


def classifier(task: Task) -> WeakClassifier:
    meaning = [] if task.meaning is None else [task.meaning]
    return WeakClassifier(
        [*meaning, "lsa"], class_prior=task.prior, keep_documents=0, seed=task.seed
    )


def posteriors(task: Task, rules: Sequence[Rule]) -> tuple[Votes, NDArray[np.float32]]:
    """The votes so far and the model's view of the training documents."""
    votes = task.votes(task.train, rules)
    absent = [r for r in range(votes.m) if not (votes.matrix == r).any()]
    cast = with_stand_in(votes, absent[0]) if len(absent) == 1 else votes
    model = classifier(task).fit(task.train.corpus, cast, clean=task.clean)
    return votes, model.predictions(task.train.corpus, cast).proba


def suggested(task: Task, steps: int) -> Walk:
    """Accept what is suggested."""
    walk, refused = Walk(), list[Refused]()
    walk.note(task, 0)
    while len(walk.rules) < steps:
        votes, view = posteriors(task, walk.rules)
        own = [Source(str(i), [rule]) for i, rule in enumerate(walk.rules)]
        rules = Sources(task.classes, own) if own else None
        corpus = task.train.corpus
        found = suggest_rules(
            corpus,
            votes,
            view,
            n=READ,
            rules=rules,
            labels=task.known,
            refused=refused,
            least=0.0,
        )
        for one in found:
            walk.read += 1
            rule = task.accepted(one.rule)
            if task.precision(rule) >= task.good:
                walk.rules.append(rule)
                walk.moved += rule.label != one.rule.label
                break
            refused.append(Refused.of(one.rule))
        else:
            break
        walk.note(task, len(walk.rules))
    return walk


def at_random(task: Task, like: Walk, seed: int) -> Walk:
    """As many random words of the same frequencies, each for its commonest class."""
    rng, walk = np.random.default_rng(seed), Walk()
    walk.note(task, 0)
    holding: dict[str, list[int]] = {}
    for row, text in enumerate(task.train.corpus.texts.to_list()):
        for word in set(_WORD.findall(text.lower())):
            holding.setdefault(word, []).append(row)
    words = sorted(holding)
    counts = np.array([len(holding[word]) for word in words])
    for one in like.rules:
        wanted = _documents(task, one)
        near = np.argsort(np.abs(np.log(counts / max(wanted, 1))) + 1e-6 * rng.random(len(words)))
        for w in rng.permutation(near[:60]):
            walk.read += 1
            classes = np.bincount(task.train.gold[holding[words[w]]], minlength=len(task.classes))
            rule = Rule(task.classes[int(classes.argmax())], Keywords((words[w],)))
            if rule not in walk.rules and task.precision(rule) >= task.good:
                walk.rules.append(rule)
                break
        walk.note(task, len(walk.rules))
    return walk


def from_errors(task: Task, steps: int) -> Walk:
    """Rules from documents that the model gets wrong, among some that are labelled."""
    walk, refused = Walk(), set[tuple[str, str]]()
    walk.note(task, 0)
    rows = np.random.default_rng(11).permutation(len(task.train.gold))[:LABELLED]
    gold, texts = task.train.gold[rows], task.train.corpus.texts.to_list()
    words = [set(_WORD.findall(texts[row].lower())) - GRAMMAR for row in rows]
    while len(walk.rules) < steps:
        wrong = np.flatnonzero(posteriors(task, walk.rules)[1][rows].argmax(axis=1) != gold)
        rule = next(
            filter(None, (_from(task, walk, int(i), gold, words, refused) for i in wrong)), None
        )
        if rule is None:
            break
        walk.rules.append(rule)
        walk.note(task, len(walk.rules))
    return walk


def _from(
    task: Task,
    walk: Walk,
    i: int,
    gold: NDArray[np.int64],
    words: Sequence[set[str]],
    refused: set[tuple[str, str]],
) -> Rule | None:
    """A word of labelled document i for its class, the one that goes most with it on the labelled documents."""
    label = task.classes[gold[i]]

    def share(word: str) -> float:
        has = np.array([word in own for own in words])
        return float(((gold == gold[i]) & has).sum() + 1) / float(has.sum() + 2)

    for word in sorted(words[i], key=lambda word: (-share(word), word))[:3]:
        rule = Rule(label, Keywords((word,)))
        if (label, word) in refused or rule in walk.rules:
            continue
        walk.read += 1
        if task.precision(rule) >= task.good:
            return rule
        refused.add((label, word))
    return None


def _documents(task: Task, rule: Rule) -> int:
    cast = Sources(task.classes, [Source("s", [rule])]).vote(task.train.corpus)
    return int(cast.covered.sum())


def third(votes: Votes, seed: int) -> tuple[int, ...]:
    """A third of the sources, two at least, that name two classes or more."""
    rng = np.random.default_rng(seed)
    while True:
        columns = np.sort(rng.choice(votes.k, max(2, votes.k // 3), replace=False))
        cast = votes.matrix[:, columns]
        if len(np.unique(cast[cast >= 0])) > 1:
            return tuple(columns.tolist())


def published(start: Task) -> dict[str, float]:
    """Majority vote and the default on all published rules, and the first twenty suggestions there."""
    train, test = start.train, start.test
    task = replace(start, columns=tuple(range(train.votes.k)), names=False)
    commonest = int(np.bincount(train.votes.matrix[train.votes.voted]).argmax())
    shares = majority_shares(test.votes, commonest)
    tested, trained = task.accuracy(())
    return {
        "majority": 100 * float(shares[np.arange(len(test.gold)), test.gold].mean()),
        "default": tested,
        "default on training documents": trained,
        "coverage": 100 * float(train.votes.covered.mean()),
        **first_twenty(task),
    }


def first_twenty(task: Task) -> dict[str, float]:
    """How good the first twenty suggestions are."""
    votes, view = posteriors(task, ())
    found = suggest_rules(task.train.corpus, votes, view, n=20, labels=task.known)
    if not found:
        return {"top": 0.0}
    precision = np.array([task.precision(one.rule) for one in found])
    inside = [
        round(o.accuracy.low, 2) <= round(p, 2) <= round(o.accuracy.high, 2)
        for o, p in zip(found, precision, strict=True)
    ]
    others = [replace(task, relabel=True).accepted(one.rule) != one.rule for one in found]
    return {
        "top": float(len(found)),
        "top precision": 100 * float(precision.mean()),
        "top good": 100 * float((precision >= GOOD).mean()),
        "top of another class": 100 * float(np.mean(others)),
        "top in interval": 100 * float(np.mean(inside)),
    }


def line(name: str, walk: Walk) -> str:
    cells = [
        f"{walk.accuracy[s]:5.1f}/{walk.coverage[s]:3.0f}" if s in walk.accuracy else "       –"
        for s in SHOWN
    ]
    each = walk.read / len(walk.rules) if walk.rules else float("nan")
    last = list(walk.training.values())[-1]
    return (
        f"  {name:<16}"
        + " ".join(f"{c:>9}" for c in cells)
        + f"   training {last:.1f}; read {each:.1f} for each, {walk.moved} moved"
    )


def meaning_of(given: str | None) -> Table | None:
    """The encoder that --describe names."""
    if given is None:
        return None
    return {"name": "minilm"} if given == "minilm" else {"name": "static", "model": given}


def measure(args: argparse.Namespace, name: str, seed: int) -> dict[str, object]:
    """Everything about one walk on a data set, printed as it is known."""
    train = Split.read(args.data / name, "train", args.documents, seed)
    test = Split.read(args.data / name, "test", args.documents, seed)
    shares = np.bincount(train.gold, minlength=train.votes.m) / len(train.gold)
    stated = perturbed(shares, seed) if args.rough else shares if args.prior else None
    start = Task(
        train,
        test,
        (),
        True,
        args.lists,
        None if stated is None else tuple(stated.tolist()),
        args.labels,
        args.relabel,
        meaning_of(args.describe),
        args.good,
        seed,
    )
    whole = published(start)
    print(f"{name}: " + ", ".join(f"{key} {value:.1f}" for key, value in whole.items()), flush=True)
    starts: list[tuple[str, tuple[int, ...], bool]] = [("names", (), True)] if args.names else []
    starts += [(f"third {s}", third(train.votes, s), False) for s in range(args.seeds)]
    found: dict[str, object] = {"published": whole}
    for label, columns, names in starts:
        task = replace(start, columns=columns, names=names)
        if not task.votes(train, ()).covered.any():
            print(f"  {label}: no votes", flush=True)
            continue
        first = first_twenty(task)
        print(f"  {label}: " + ", ".join(f"{k} {v:.1f}" for k, v in first.items()), flush=True)
        walk = suggested(task, args.steps)
        print(line(label, walk), flush=True)
        drawn = Walk() if args.no_random else at_random(task, walk, seed=0)
        if not args.no_random:
            print(line("  random", drawn), flush=True)
        errors = from_errors(task, args.steps) if args.errors else Walk()
        if args.errors:
            print(line("  errors", errors), flush=True)
        rules = [f"{rule.label}: {rule.when.reason()}" for rule in walk.rules]
        found[label] = {
            **first,
            "accuracy": walk.accuracy,
            "training": walk.training,
            "coverage": walk.coverage,
            "read": walk.read,
            "rules": rules,
            "random": {"accuracy": drawn.accuracy, "coverage": drawn.coverage, "read": drawn.read},
            "errors": {"accuracy": errors.accuracy, "coverage": errors.coverage},
        }
    return found


def main() -> None:
    """Measure what was asked for and print it."""
    parser = wrench_parser(__doc__, ",".join(SETS))
    parser.add_argument("--documents", type=int, default=3000, help="of each split, at most")
    parser.add_argument("--steps", type=int, default=30, help="rules to accept")
    parser.add_argument("--seeds", type=int, default=2, help="random thirds of the rules")
    parser.add_argument("--lists", action="store_true", help="accepted words join lists")
    parser.add_argument("--walks", type=int, default=1, help="of each start")
    parser.add_argument("--prior", action="store_true", help="state the true class shares")
    parser.add_argument("--rough", action="store_true", help="state them roughly")
    parser.add_argument("--labels", type=int, default=0, help="labels by hand")
    parser.add_argument("--no-names", dest="names", action="store_false", help="thirds alone")
    parser.add_argument("--relabel", action="store_true", help="rules for another class count")
    parser.add_argument("--describe", help="minilm, or a folder of static word vectors")
    parser.add_argument("--good", type=float, default=GOOD, help="precision that is accepted")
    parser.add_argument("--errors", action="store_true", help="rules from errors on labels beside")
    parser.add_argument("--no-random", action="store_true", help="without random words beside")
    args = parser.parse_args()
    began = time.process_time()
    print("accuracy/coverage after " + ", ".join(map(str, SHOWN)) + " accepted rules")
    found = {
        name: [measure(args, name, seed) for seed in range(args.walks)]
        for name in args.datasets.split(",")
    }
    print(f"{time.process_time() - began:.0f} CPU seconds")
    if args.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
