"""What new kinds of source add beside the published rules: descriptions, examples, partial votes, another classifier.

    python lab/benchmarks/sources.py --data DIR [--static FOLDER] [--only agnews yelp] [--encoders minilm lsa static]
                                     [--kinds partial classifier] [--seeds 3] [--share 0.1] [--each] [--json]

DIR holds data sets in WRENCH's layout, FOLDER a Model2Vec model (potion-base-8M). Each class has a one-line description and three examples, written once from
the names of the classes, without looking at a document; so are the partial rules ("one of these classes") of agnews and
trec. The classifier is a scikit-learn pipeline that was trained on the true labels of other reviews: imdb's for yelp,
yelp's for imdb. Language models are not measured: none could be reached. `own` is the accuracy of the new source's own votes on the
training documents that it votes on, with its coverage; `test` the accuracy of the default fitted on the votes, mean
and range over seeds, which draw the documents. At most 2,000 training and 800 test documents, so that minilm takes
minutes.

Fitting sees no gold. But two constants of the library, the sharpness of `describe` and the averaging of an encoder's
layers, were chosen by the gold labels of 1,200 training documents each of agnews and yelp (lab/LOG.md), so that
`describe` is optimistic on these two; imdb and trec had no part in it. `unlike` is `similar` with the examples of the other classes as
counter-examples, made because of what trec showed; `examples` has the examples in the place of the descriptions, one soft source for all classes.

`--each` takes the examples of one class at a time, to tell which of them help and which hurt: how common the class
is, how often its source votes and is right, what the default estimates of that, and the test accuracy of the rules
with this source alone, and with all others but it. `--share` is the share of the documents that `similar` fires on.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from unruly import Corpus, Rule, Source, Sources, TextSpace, Votes, WeakClassifier
from unruly.rules import Classifier, Described, Keywords, Pattern, Similar
from unruly.votes.files import read_wrench_votes

TRAIN, TEST = 2_000, 800
SHARE = 0.1  # of the documents that a class's examples are to fire on
ENCODERS: dict[str, dict[str, object]] = {
    "minilm": {"name": "minilm", "max_tokens": 128},
    "lsa": {"name": "lsa"},
    "static": {"name": "static"},
}

DESCRIPTIONS = {
    "agnews": {
        "World": "world news: politics, governments, war, elections and diplomacy",
        "Sports": "sports: games, teams, players, matches and championships",
        "Business": "business: companies, markets, the economy, earnings and oil prices",
        "Sci/Tech": "science and technology: software, computers, the internet, space and research",
    },
    "yelp": {
        "negative": "a bad experience: rude staff, terrible food, slow service, disappointed",
        "positive": "a great experience: delicious food, friendly staff, highly recommended, loved it",
    },
    "imdb": {
        "negative": "a bad film: boring, badly acted, a waste of time",
        "positive": "a great film: moving, well acted, worth watching",
    },
    "trec": {
        "DESC": "a question about a definition, a reason or how something is done",
        "ENTY": "a question about a thing: an animal, a food, a colour, a product or an invention",
        "HUM": "a question about a person or a group of people: who",
        "ABBR": "a question about an abbreviation: what do the letters stand for",
        "LOC": "a question about a place: where, which country, city or mountain",
        "NUM": "a question about a number: how many, how much, when, what year",
    },
}
EXAMPLES = {
    "agnews": {
        "World": [
            "The president met foreign ministers to end the fighting",
            "Dozens were killed when a bomb exploded in the capital",
            "Voters went to the polls in the first election since the war",
        ],
        "Sports": [
            "The striker scored twice as the team won the final",
            "She beat the defending champion in straight sets",
            "The quarterback threw three touchdowns in the win",
        ],
        "Business": [
            "Shares fell after the company reported lower quarterly profit",
            "Oil prices rose to a record high",
            "The two banks agreed on a merger worth billions",
        ],
        "Sci/Tech": [
            "The company released a new version of its software",
            "Scientists launched a probe to study the planet",
            "A new virus spreads over the internet",
        ],
    },
    "yelp": {
        "negative": [
            "The food was cold and the waiter was rude, never again",
            "We waited an hour and nobody cared, terrible service",
            "Overpriced and disappointing, I want my money back",
        ],
        "positive": [
            "Wonderful food and friendly staff, we will be back",
            "Best place in town, I love it here",
            "Everything was delicious and the service was great",
        ],
    },
    "imdb": {
        "negative": [
            "The plot makes no sense and the acting is terrible",
            "I was bored from beginning to end, do not waste your time",
            "One of the worst films that I have ever seen",
        ],
        "positive": [
            "A wonderful film with great performances",
            "I loved every minute of it, a masterpiece",
            "Funny, touching and beautifully made, highly recommended",
        ],
    },
    "trec": {
        "DESC": ["What is a prism ?", "Why is the sky blue ?", "How do you bake bread ?"],
        "ENTY": [
            "What is the largest animal ?",
            "What colour is a ruby ?",
            "What sport is played on ice ?",
        ],
        "HUM": ["Who wrote the play ?", "Who was the first president ?", "What company makes it ?"],
        "ABBR": [
            "What does NASA stand for ?",
            "What is the abbreviation for ounce ?",
            "What does CD mean ?",
        ],
        "LOC": [
            "Where is the river ?",
            "What country borders France ?",
            "What is the capital of Peru ?",
        ],
        "NUM": ["How many people live there ?", "When did the war end ?", "How far is the moon ?"],
    },
}

# "One of these classes", or "not this one": what few words can tell.
PARTIAL: dict[str, list[Rule]] = {
    "agnews": [
        Rule(("World", "Business"), Keywords(["government", "minister", "oil", "trade", "deal"])),
        Rule(
            ("Business", "Sci/Tech"),
            Keywords(["internet", "online", "microsoft", "google", "company"]),
        ),
        Rule(("Sci/Tech", "World"), Keywords(["study", "scientists", "researchers"])),
        Rule(("Sports", "World"), Keywords(["win", "beat", "victory", "defeat"])),
        Rule(None, Keywords(["shares", "profit", "percent"]), not_label="Sports"),
        Rule(None, Keywords(["team", "players", "software"]), not_label="World"),
    ],
    "trec": [
        Rule(("DESC", "NUM"), Pattern(r"^how\b", ignore_case=True)),
        Rule(("HUM", "ENTY"), Pattern(r"^(who|whom|whose|name)\b", ignore_case=True)),
        Rule(("LOC", "ENTY", "HUM"), Pattern(r"^(where|which|in what)\b", ignore_case=True)),
        Rule(("DESC", "ENTY", "ABBR"), Pattern(r"^what (is|are|does|do)\b", ignore_case=True)),
        Rule(("LOC", "ENTY"), Keywords(["city", "country", "state", "river"])),
        Rule(None, Keywords(["first", "largest", "most"]), not_label="DESC"),
    ],
}
ELSEWHERE = {"yelp": "imdb", "imdb": "yelp"}  # the reviews that a classifier was trained on


@dataclass(frozen=True)
class Row:
    """One set of sources on one data set with one encoder."""

    data: str
    encoder: str
    sources: str
    own: float | None  # accuracy of the new source's votes, training documents
    coverage: float  # of all sources together
    test: float  # mean over seeds
    low: float
    high: float


@dataclass(frozen=True)
class Each:
    """The examples of one class beside the rules; means over seeds."""

    data: str
    encoder: str
    label: str
    common: float  # the class's share of the training documents
    elsewhere: float  # the class's share of the rules' votes
    votes: float  # on this share of the training documents
    votes_test: float  # and of the test documents
    right: float  # of its votes on training documents
    right_test: float
    estimated: float  # what the default makes of it
    rules: float  # test accuracy of the rules alone
    added: float  # with this source
    all: float  # with the examples of all classes
    all_but: float  # with those of all other classes

    def __str__(self) -> str:
        return (
            f"{self.data:8}{self.encoder:8}{self.label:10} class {self.common:.3f} of the documents, {self.elsewhere:.3f} of the "
            f"rules' votes; votes on {self.votes:.3f} (test {self.votes_test:.3f}), right {self.right:.3f} (test "
            f"{self.right_test:.3f}), estimated {self.estimated:.3f}; test: rules {self.rules:.3f}, with it {self.added:.3f}, "
            f"with all {self.all:.3f}, with all but it {self.all_but:.3f}"
        )


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="data sets in WRENCH's layout")
    parser.add_argument(
        "--only", nargs="*", default=list(DESCRIPTIONS), help="some of the data sets"
    )
    parser.add_argument("--encoders", nargs="*", choices=list(ENCODERS))
    parser.add_argument("--static", type=Path, help="a Model2Vec model, for the encoder static")
    parser.add_argument(
        "--kinds", nargs="*", help="some of the kinds, as `unlike`, `partial` or `classifier`"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--share", type=float, default=SHARE, help="that `similar` fires on")
    parser.add_argument("--each", action="store_true", help="the examples of each class alone")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    if args.static is not None:
        ENCODERS["static"]["model"] = str(args.static)
    known = [name for name in ENCODERS if name != "static" or args.static is not None]
    rows: list[Row | Each] = []
    for name in args.only:
        for encoder in args.encoders or known:
            if args.each:
                for each in one_by_one(args.data / name, name, encoder, args.seeds, args.share):
                    print(each, flush=True)
                    rows.append(each)
                continue
            for row in table(args.data / name, name, encoder, args.seeds, args.share, args.kinds):
                own = "     " if row.own is None else f"{row.own:.3f}"
                print(
                    f"{row.data:8}{row.encoder:8}{row.sources:28} own {own}  coverage {row.coverage:.3f}  "
                    f"test {row.test:.3f} [{row.low:.3f}, {row.high:.3f}]",
                    flush=True,
                )
                rows.append(row)
    if args.json:
        print(json.dumps({"gold": "for scoring only", "rows": [asdict(row) for row in rows]}))


def table(
    folder: Path, name: str, encoder: str, seeds: int, share: float, kinds: list[str] | None
) -> list[Row]:
    """The published rules, each new source, and both together."""
    measured: dict[str, list[tuple[float | None, float, float]]] = {}
    for seed in range(seeds):
        train, rules, test, test_rules = drawn(folder, seed)
        space = TextSpace(ENCODERS[encoder], train, kept=True)
        compared = new_sources(name, train.classes or (), space, share)
        compared |= more_sources(folder, name, train.classes or (), seed)
        for label, made in compared.items():
            if kinds and label not in ("rules", *kinds):
                continue
            if made is None:
                votes, test_votes = rules, test_rules
            else:
                votes, test_votes = made.vote(train), made.vote(test)
            own = None if made is None else own_accuracy(votes, train)
            measured.setdefault(label, []).append(
                (own, votes.coverage, score(encoder, seed, train, votes, test, test_votes))
            )
            if made is not None:
                both, test_both = beside(rules, votes), beside(test_rules, test_votes)
                measured.setdefault(f"rules + {label}", []).append(
                    (own, both.coverage, score(encoder, seed, train, both, test, test_both))
                )
    return [row(name, encoder, label, runs) for label, runs in measured.items()]


def one_by_one(folder: Path, name: str, encoder: str, seeds: int, share: float) -> list[Each]:
    """The examples of each class alone, and of all others."""
    runs: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        for label, figures in each_class(folder, name, encoder, seed, share).items():
            runs.setdefault(label, []).append(figures)
    return [Each(name, encoder, label, *np.mean(found, axis=0)) for label, found in runs.items()]


def each_class(
    folder: Path, name: str, encoder: str, seed: int, share: float
) -> dict[str, list[float]]:
    """The figures of `Each`, in its order, by class."""
    train, rules, test, test_rules = drawn(folder, seed)
    classes = train.classes or ()
    made = new_sources(name, classes, TextSpace(ENCODERS[encoder], train, kept=True), share)
    assert made["similar"] is not None
    assert train.gold is not None
    cast, test_cast = made["similar"].vote(train), made["similar"].vote(test)

    def tried(chosen: list[int]) -> float:
        votes, test_votes = columns(cast, chosen), columns(test_cast, chosen)
        beside_rules = beside(rules, votes), test, beside(test_rules, test_votes)
        return score(encoder, seed, train, *beside_rules)

    everybody = list(range(len(classes)))
    alone, whole = tried([]), tried(everybody)
    model = WeakClassifier(encoder=ENCODERS[encoder], seed=seed).fit(train, beside(rules, cast))
    known = model.summary_.estimated
    new = model.summary_.sources[-len(classes) :]
    estimates = [known[one.name].value if one.name in known else 0.0 for one in new]
    return {
        label: [
            float((train.gold == c).mean()),
            float((rules.matrix[rules.voted] == c).mean()),
            float(cast.voted[:, c].mean()),
            float(test_cast.voted[:, c].mean()),
            own_accuracy(columns(cast, [c]), train) or 0.0,
            own_accuracy(columns(test_cast, [c]), test) or 0.0,
            estimates[c],
            alone,
            tried([c]),
            whole,
            tried([other for other in everybody if other != c]),
        ]
        for c, label in enumerate(classes)
    }


def columns(votes: Votes, chosen: list[int]) -> Votes:
    """Some of the sources."""
    names = tuple(votes.sources[j] for j in chosen)
    return Votes(votes.matrix[:, chosen], names, votes.classes, votes.ids)


def drawn(folder: Path, seed: int) -> tuple[Corpus, Votes, Corpus, Votes]:
    """Documents of both splits, drawn by the seed, with the published rules' votes."""
    found: list[Corpus | Votes] = []
    for split, most in (("train", TRAIN), ("test", TEST)):
        corpus, votes = Corpus.from_wrench(folder, split), read_wrench_votes(folder, split)
        rows = np.sort(np.random.default_rng(seed).permutation(len(corpus))[:most])
        found += [corpus.take(rows), votes.take(rows)]
    train, rules, test, test_rules = found
    assert isinstance(train, Corpus)
    assert isinstance(rules, Votes)
    assert isinstance(test, Corpus)
    assert isinstance(test_rules, Votes)
    return train, rules, test, test_rules


def new_sources(
    name: str, classes: tuple[str, ...], space: TextSpace, share: float
) -> dict[str, Sources | None]:
    """What is compared, by name; None: the published rules."""
    about = {c: DESCRIPTIONS[name][c] for c in classes}
    like = [similar_to(name, c, (), space, share) for c in classes]
    contrasted = [
        similar_to(name, c, [other for other in classes if other != c], space, share)
        for c in classes
    ]
    described = Source("describe", [Rule(None, Described(about, space=space))])
    lines = {c: "\n".join(EXAMPLES[name][c]) for c in classes}
    shown = Source("examples", [Rule(None, Described(lines, space=space))])
    return {
        "rules": None,
        "describe": Sources(classes, [described]),
        "similar": Sources(classes, like),
        "unlike": Sources(classes, contrasted),
        "examples": Sources(classes, [shown]),
        "describe + similar": Sources(classes, [described, *like]),
    }


def similar_to(
    name: str, label: str, others: Sequence[str], space: TextSpace, share: float
) -> Source:
    """The examples of a class, with those of others as counter-examples."""
    unlike = [example for other in others for example in EXAMPLES[name][other]]
    like = Similar(EXAMPLES[name][label], calibrated=share, unlike=unlike, space=space)
    return Source(f"like {label}", [Rule(label, like)])


def more_sources(
    folder: Path, name: str, classes: tuple[str, ...], seed: int
) -> dict[str, Sources | None]:
    """Partial rules and another classifier, where the data set has them."""
    found: dict[str, Sources | None] = {}
    if name in PARTIAL:
        rules = [Source(f"partial {i}", [rule]) for i, rule in enumerate(PARTIAL[name], start=1)]
        found["partial"] = Sources(classes, rules)
    if name in ELSEWHERE:
        model = trained_elsewhere(folder.parent / ELSEWHERE[name], seed)
        found["classifier"] = Sources(classes, [Source("other", [Rule(None, Classifier(model))])])
    return found


def trained_elsewhere(folder: Path, seed: int) -> str:
    """A skops file with a pipeline that learnt from the true labels of another data set."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from skops.io import dump

    corpus = drawn(folder, seed)[0]
    assert corpus.gold is not None
    assert corpus.classes is not None
    labels = [corpus.classes[c] for c in corpus.gold]
    made = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=500))
    path = Path(mkdtemp()) / f"{folder.name}.skops"
    dump(made.fit(corpus.texts.to_list(), labels), path)
    return str(path)


def beside(rules: Votes, new: Votes) -> Votes:
    """Two sets of sources on the same documents."""
    matrix = np.concatenate([rules.matrix, new.matrix], axis=1)
    return Votes(matrix, (*rules.sources, *new.sources), rules.classes, rules.ids, new.soft)


def own_accuracy(votes: Votes, corpus: Corpus) -> float | None:
    """The share of right votes among those cast."""
    assert corpus.gold is not None
    right = votes.agrees(corpus.gold.astype(np.int64))[votes.voted]
    return float(right.mean()) if right.size else None


def score(
    encoder: str, seed: int, train: Corpus, votes: Votes, test: Corpus, test_votes: Votes
) -> float:
    """Test accuracy of the default."""
    model = WeakClassifier(encoder=ENCODERS[encoder], seed=seed).fit(train, votes)
    assert test.gold is not None
    return float((model.predictions(test, test_votes).numbers == test.gold).mean())


def row(name: str, encoder: str, label: str, runs: list[tuple[float | None, float, float]]) -> Row:
    """Means over seeds."""
    own = [value for value, _, _ in runs if value is not None]
    tests = [value for _, _, value in runs]
    return Row(
        name,
        encoder,
        label,
        float(np.mean(own)) if own else None,
        float(np.mean([coverage for _, coverage, _ in runs])),
        float(np.mean(tests)),
        min(tests),
        max(tests),
    )


if __name__ == "__main__":
    main()
