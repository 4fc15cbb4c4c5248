"""Generated support tickets: a newcomer's task, whose classes text separates and rules see through a haze.

    python lab/benchmarks/tickets.py [--documents 3000] [--seeds 5] [--encoder lsa] [--json]

Four classes with 55, 25, 15 and 5 % of the tickets. A ticket has words of its class, words of any ticket, and now and
then a word of another class; eleven keyword rules look for single words, some of them for words that every class
uses. Test accuracy in percent, mean over seeds, gold for scoring and for what the row names:
    MV         majority vote; documents without votes get the commonest class
    MVbal→LR   scikit-learn: LogisticRegression(class_weight="balanced") on the majority votes
    nothing    the default with nothing stated and no label
    rough      shares stated roughly: each class's odds off by a factor of up to two, ten random ways
    20 labels  drawn by `labelling.sampling` under the model with nothing stated
    exact      the true shares, stated as exact
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np

from balance import (
    Case,
    answers,
    balanced_regression,
    majority,
    perturbed,
    right,
    stated,
    with_labels,
)
from unruly.denoising.denoised import DenoisedModel
from unruly.denoising.fit import denoise
from unruly.features.registry import encoder_from
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.settings import Settings
from unruly.texts.corpus import Corpus

CLASSES = ("billing", "bug", "delivery", "praise")
SHARES = np.array([0.55, 0.25, 0.15, 0.05])
WORDS = (
    "invoice charge charged refund payment card price subscription renew receipt tax amount bank paid fee",
    "crash error freezes broken login screen button update version install reset loading blank slow fails",
    "parcel arrived courier tracking address late shipped box driver depot missing delivered package waiting door",
    "love great thanks brilliant happy wonderful perfect recommend amazing pleased excellent best enjoy delighted super",
)
COMMON = (
    "hello please account team order again today week since still could help need want know email phone tell "
    "product service customer support twice month number company website question answer problem nothing anyone"
)
RULES = (  # (source, class, words): the last four look for words that other classes use as much
    ("money", 0, "invoice refund payment"),
    ("charges", 0, "charge charged fee"),
    ("crashes", 1, "crash error freezes"),
    ("screens", 1, "screen button login"),
    ("parcels", 2, "parcel courier tracking"),
    ("late", 2, "late arrived missing"),
    ("kind", 3, "love great brilliant"),
    ("orders", 2, "order"),
    ("thanks", 3, "thanks help"),
    ("trouble", 1, "problem nothing"),
    ("accounts", 0, "account"),
)


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=3000, help="to learn from")
    parser.add_argument("--seeds", type=int, default=5, help="of the tickets")
    parser.add_argument("--encoder", default="lsa", help="as in lsa or minilm+lsa")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    rows = [measure(args.documents, args.encoder.split("+"), seed) for seed in range(args.seeds)]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    print("| " + " | ".join(mean) + " |\n|" + "---|" * len(mean))
    print("| " + " | ".join(f"{value:.1f}" for value in mean.values()) + " |")
    if args.json:
        print(json.dumps({"mean": mean, "rows": rows}))


def tickets(n: int, seed: int) -> Corpus:
    """n tickets with their true class."""
    rng = np.random.default_rng(seed)
    own, common = [words.split() for words in WORDS], COMMON.split()
    gold = rng.choice(len(CLASSES), n, p=SHARES)
    texts = []
    for y in gold:
        chosen = [*rng.choice(own[y], rng.integers(3, 6)), *rng.choice(common, rng.integers(5, 12))]
        if rng.random() < 0.4:
            chosen.append(rng.choice(own[rng.integers(len(CLASSES))]))
        texts.append(" ".join(rng.permutation(chosen)))
    return replace(Corpus.from_texts(texts), gold=gold.astype(np.int16), classes=CLASSES)


def sources() -> Sources:
    """The eleven rules."""
    return Sources(
        CLASSES,
        [Source(name, [Rule(CLASSES[y], Keywords(words.split()))]) for name, y, words in RULES],
    )


def measure(n: int, encoders: list[str], seed: int) -> dict[str, float]:
    """One row: accuracy in percent on 2,000 other tickets."""
    train, test = cases(n, encoders, seed)
    settings = Settings()
    plain = denoise(train.features, train.votes, settings)
    proba = plain.heads(train.features, train.votes).combined
    labelled, _ = with_labels(train, settings, proba, 20, seed)

    def accuracy(model: DenoisedModel) -> float:
        return right(answers(model, test), test)

    ways = [perturbed(SHARES, way) for way in range(10)]
    rough = [accuracy(stated(train, settings, shares)) for shares in ways]
    return {
        "MV": majority(test),
        "MVbal→LR": right(balanced_regression(train, test), test),
        "nothing": accuracy(plain),
        "rough": float(np.mean(rough)),
        "20 labels": accuracy(labelled),
        "exact": accuracy(stated(train, settings, SHARES, exact=True)),
    }


def cases(n: int, encoders: list[str], seed: int) -> tuple[Case, Case]:
    """n tickets to learn from and 2,000 to score on, encoded, with their votes."""
    train, test = tickets(n, 2 * seed), tickets(2000, 2 * seed + 1)
    stack = encoder_from(encoders).fit(train, None)
    made = []
    for corpus in (train, test):
        assert corpus.gold is not None
        gold = corpus.gold.astype(np.int64)
        made.append(Case("tickets", stack.encode(corpus, None), sources().vote(corpus), gold))
    return made[0], made[1]


if __name__ == "__main__":
    main()
