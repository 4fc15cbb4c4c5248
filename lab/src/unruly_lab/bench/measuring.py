"""One run made: a method is fitted with the run's hyper-parameters, and everything that tables need is measured."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unruly import __version__
from unruly.errors import InputError
from unruly.learner import Gold
from unruly.model.evaluation import calibration_error, confusion, f1_scores, macro_f1
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.settings import PaperSettings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly_lab.bench.datasets import Dataset, Folder, Split
from unruly_lab.bench.paper_figures import MATCHED_ABOVE, known
from unruly_lab.bench.runs import Matched, Noise, Outcome, Run, Setting
from unruly_lab.compare.scores import without_votes
from unruly_lab.paper_settings import best_settings
from unruly_lab.peers.labels import share
from unruly_lab.peers.systems import Documents, Fitted, System, TrainingData, entry


def held_out_votes(fitted: Fitted, documents: Documents) -> float:
    """The share of hidden votes that the answer agrees with, each class counting the same; NaN without votes.

    Each source in turn falls silent, the documents on which it had voted are answered from their texts and
    the other votes, and the answers are held against what it had said. Votes for each class count alike
    because sources often speak for one class only, and a system that always answers with the class most
    voted for should not look good.

    Over 14 choices of hyper-parameters on each of three data sets, this followed gold validation accuracy more
    closely than the likelihood of all votes given the texts (rank correlations 0.74, 0.39 and -0.32 against 0.46,
    0.09 and -0.52 on youtube, yelp and spouse). Where the votes are mostly wrong, as on spouse, neither helps.
    """
    votes = documents.votes
    agreed, cast = np.zeros(votes.m), np.zeros(votes.m)
    for j in range(votes.k):
        rows = np.flatnonzero(votes.voted[:, j])
        if len(rows):
            said = votes.matrix[rows, j]
            right = _answers(fitted, documents.take(rows), j) == said
            agreed += np.bincount(said, weights=right, minlength=votes.m)
            cast += np.bincount(said, minlength=votes.m)
    voted = cast > 0
    return float((agreed[voted] / cast[voted]).mean()) if voted.any() else math.nan


def _answers(
    fitted: Fitted, asked: Documents, silent: int
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """(n,): the class that the system gives when this source says nothing."""
    hidden = np.arange(asked.votes.k)[None, :] == silent  # (1, k)
    proba = fitted.predict_proba(without_votes(asked, hidden))
    return np.asarray(proba.argmax(axis=1))


Keywords = tuple[tuple[str, ...], ...] | None


STUDIES = ("parameters", "search")  # these start from the paper's defaults, not from its best


def system_for(run: Run) -> System:
    """The method of a run, ready to fit.

    Where the paper's own method takes part (also as the maker of labels), it has the paper's values
    for the data set: its best, but in studies of hyper-parameters its defaults and its p.
    """
    system: Any = entry(run.method).build()
    name = known(run.dataset)
    own = getattr(system, "settings", None)
    if name is not None and isinstance(own, PaperSettings):
        best = best_settings(name)
        start = PaperSettings(p=best.p) if run.experiment in STUDIES else best
        system = replace(
            system, settings=replace(start, ablation=own.ablation, attention=own.attention)
        )
    tuned_system: System = tuned(system, run.settings)
    return tuned_system


def tuned(system: Any, settings: Sequence[Setting]) -> Any:
    """The system with other values; a name may lead inside, as `mlp.epochs` does.

    A plain name that the system does not have is looked for in its `settings`.

    >>> from unruly_lab.peers.paper import whole
    >>> tuned(whole(), [("c1", 0.3)]).settings.c1
    0.3
    """
    for name, value in settings:
        system = _with(system, name, value)
    return system


def _with(thing: Any, name: str, value: object) -> Any:
    outer, _, inner = name.partition(".")
    own = {f.name for f in fields(thing)} if is_dataclass(thing) else set()
    if outer not in own and "settings" in own and not inner:
        return replace(thing, settings=_with(thing.settings, name, value))
    if outer not in own:
        raise InputError(
            f"{type(thing).__name__} has no hyper-parameter {name!r}: it has {', '.join(sorted(own))}"
        )
    changed: dict[str, Any] = {
        outer: _with(getattr(thing, outer), inner, value) if inner else value
    }
    return replace(thing, **changed)


def make(
    run: Run, dataset: Dataset, keywords: Keywords = None, progress: Progress = SILENT
) -> Outcome:
    """Fit the method on one thread and score it.

    True labels reach the method only as the run says: `clean` ones of training documents, and with
    `selection` those of the validation documents. All else is for scoring.
    """
    data = training_data(run, dataset, keywords)
    with one_thread():
        cpu, clock = time.process_time(), time.perf_counter()
        fitted = system_for(run).fit(data, progress)
        spent = time.process_time() - cpu, time.perf_counter() - clock
        return measured(run, dataset, fitted, spent)


def training_data(run: Run, dataset: Dataset, keywords: Keywords = None) -> TrainingData:
    """What the method may see."""
    train, valid = dataset.train, dataset.valid
    if run.selection == "gold" and (valid is None or not (valid.gold >= 0).any()):
        raise InputError(f"{dataset.name}: no validation labels, so they cannot choose the epoch")
    if run.clean is not None and not (train.gold >= 0).any():
        raise InputError(f"{dataset.name}: no training labels, so none can be given as clean ones")
    if run.prior is not None and len(run.prior) != train.documents.votes.m:
        raise InputError(
            f"{dataset.name}: a prior of {len(run.prior)} shares, but {train.documents.votes.m} classes"
        )
    return TrainingData(
        documents=train.documents,
        seed=run.seed,
        prior=run.prior,
        clean=share(train.gold, run.clean, run.seed) if run.clean is not None else None,
        valid=(valid.documents, valid.gold) if valid and run.selection == "gold" else None,
        keywords=keywords if run.keywords.startswith("rules") else None,
    )


def measured(run: Run, dataset: Dataset, fitted: Fitted, spent: tuple[float, float]) -> Outcome:
    """The figures of a fitted method on all three splits."""
    proba, gold = _known(dataset.test, fitted.predict_proba(dataset.test.documents))
    answers = proba.argmax(axis=1)
    votes = dataset.test.documents.votes.take(dataset.test.gold >= 0)
    table = confusion(gold, answers, votes.m)
    train, p = dataset.train, matched_above(dataset.name)
    said = fitted.predict_proba(train.documents).argmax(axis=1)
    return Outcome(
        run=run,
        accuracy=float((answers == gold).mean()),
        f1=tuple(f1_scores(table).tolist()),
        macro_f1=macro_f1(table),
        ece=calibration_error(gold, proba),
        valid_accuracy=_accuracy(dataset.valid, fitted),
        held_out_votes=_held_out(run, dataset, fitted),
        cpu=spent[0],
        seconds=spent[1],
        parameters=fitted.parameters,
        gold_used=fitted.gold_used,
        documents=dataset.sizes,
        classes=votes.classes,
        by_matched=by_matched(votes, answers == gold),
        noise_before=majority_noise(train.documents.votes, train.gold, p),
        noise_after=noise(train.documents.votes, train.gold, said == train.gold, p),
        version=__version__,
        commit=commit(),
    )


@cache
def commit(folder: Path = Path(__file__).parent) -> str:
    """The commit of the checkout that holds this code, with + where source differs from it; else nothing."""
    if _git(folder, "ls-files", "--error-unmatch", ".") is None:
        return ""  # installed, perhaps inside of another checkout
    changed = _git(folder, "status", "--porcelain", "--", ":/src", ":/lab/src")
    return f"{_git(folder, 'rev-parse', '--short=12', 'HEAD')}{'+' if changed else ''}"


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None where it fails or is not there."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def by_matched(votes: Votes, right: NDArray[np.bool_]) -> tuple[Matched, ...]:
    """Documents by how many sources voted on them, and how many of them are right.

    >>> votes = Votes.from_array([[0, -1], [1, 1], [0, 1]])
    >>> by_matched(votes, np.array([True, True, False]))
    (Matched(sources=1, documents=1, right=1), Matched(sources=2, documents=2, right=1))
    """
    number = votes.voted.sum(axis=1)
    return tuple(
        Matched(int(count), int((number == count).sum()), int(right[number == count].sum()))
        for count in np.unique(number)
    )


def noise(votes: Votes, gold: Gold, credit: NDArray[np.generic], p: int = 0) -> Noise:
    """The share of wrong labels where the truth is known; `credit` is 1 for a right one.

    Matched documents are those with more than p votes, as the paper has it.
    """
    known = gold >= 0
    wrong = 1.0 - credit.astype(np.float64)
    number = votes.voted.sum(axis=1)  # (n,)
    groups = (known & (number > p), known & (number > 0), known)
    return Noise(*(float(wrong[group].mean()) if group.any() else math.nan for group in groups))


def majority_noise(votes: Votes, gold: Gold, p: int = 0) -> Noise:
    """The noise that majority vote may expect, ties and documents without votes by chance.

    >>> votes = Votes.from_array([[0, 1], [0, 0], [-1, -1], [1, -1]])
    >>> majority_noise(votes, np.array([0, 0, 1, 0]), p=1)
    Noise(matched=0.25, voted=0.5, all=0.5)
    """
    counts = votes.counts()
    top = counts == counts.max(axis=1, keepdims=True)  # (n, m); all classes where nobody voted
    credit = top[np.arange(votes.n), np.maximum(gold, 0)] / top.sum(axis=1)
    return noise(votes, gold, credit, p)


def matched_above(dataset: str) -> int:
    """p of the paper for a data set: documents with more votes are matched; 0 for others than its own.

    >>> matched_above("youtube"), matched_above("trec")
    (2, 0)
    """
    return MATCHED_ABOVE.get(known(dataset) or "", 0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Work on one thread: CPU seconds compare, and two runs do not slow each other down."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _known(
    split: Split, proba: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    return proba[split.gold >= 0], split.gold[split.gold >= 0]


def _accuracy(split: Split | None, fitted: Fitted) -> float:
    if split is None or not (split.gold >= 0).any():
        return math.nan
    proba, gold = _known(split, fitted.predict_proba(split.documents))
    return float((proba.argmax(axis=1) == gold).mean())


def _held_out(run: Run, dataset: Dataset, fitted: Fitted) -> float:
    """The score of a search without gold; elsewhere nobody asks for it."""
    if run.experiment != "search":
        return math.nan
    documents = (dataset.valid or dataset.train).documents
    return held_out_votes(fitted, documents)


KEYWORD_METHODS = ("westclass", "westclass-published")


def keywords_of(rules: Path | None, folder: Folder, classes: tuple[str, ...]) -> Keywords:
    """The words of `rules/<data set>/unruly.toml`, for each class; None where there is no such file.

    Where the data has votes of sources that the file does not have (the paper prints four of the nine of
    agnews), their words are found by those votes.
    """
    if rules is None:
        return None
    names = (folder.name, known(folder.name) or folder.name)
    found = [path for name in names if (path := rules / name / "unruly.toml").is_file()]
    if not found:
        return None
    from unruly_lab.peers.seed_keywords import seeds_from_rules, with_words_of_votes

    sources = Project.read(found[0]).sources
    if sorted(sources.classes) != sorted(classes):
        raise InputError(
            f"{found[0]}: its classes are {', '.join(sources.classes)}, but those of {folder.name} are "
            f"{', '.join(classes)}: name them alike"
        )
    words = dict(zip(sources.classes, seeds_from_rules(sources), strict=True))
    seeds = tuple(words[name] for name in classes)
    votes = Votes.from_wrench(folder.path, "train")
    written = {source.name for source in sources.sources}
    missing = [j for j, name in enumerate(votes.sources) if name not in written]
    if len(missing) in (0, votes.k):  # none of them: the names of one of the two tell nothing
        return seeds
    texts = Corpus.from_wrench(folder.path, "train").texts
    return with_words_of_votes(seeds, texts, votes.matrix[:, missing])


def origin(keywords: Keywords) -> str:
    """How a run tells where its keywords are from; other words are another run.

    >>> origin(None), origin((("song",), ("subscribe",)))
    ('votes', 'rules 0ace4c2a')
    """
    if keywords is None:
        return "votes"
    return "rules " + hashlib.sha256(json.dumps(keywords).encode()).hexdigest()[:8]
