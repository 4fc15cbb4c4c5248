"""What systems are compared on: a project's documents, votes and features, and gold where there is any."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.cache import FeatureCache as FeatureCache
from unruly.features.registry import encoder_from
from unruly.features.stack import EncoderStack
from unruly.labelmodels.majority_vote import MajorityVote
from unruly.learner import Gold
from unruly.model.fitted import repeated
from unruly.model.weak_classifier import WeakClassifier
from unruly.prior import parse_prior
from unruly.progress import SILENT, Progress
from unruly.project.project import Project
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus, text_digests
from unruly.votes.votes import Votes
from unruly_lab.peers.systems import Documents


@dataclass(frozen=True, eq=False)
class Scored:
    """Documents with true labels, to score on and for nothing else."""

    documents: Documents
    gold: Gold  # (s,), all known
    origin: str
    repeats: int  # of them that repeat training documents; 0 where they are training documents


@dataclass(frozen=True, eq=False)
class ComparisonTask:
    """All that a comparison needs."""

    documents: Documents  # for training
    encoder: str
    prior: tuple[float, ...] | None = None
    classifier: WeakClassifier | None = None  # the default, as the project asks for it
    clean: Gold | None = None  # for training, where the project has clean labels
    keywords: tuple[tuple[str, ...], ...] | None = None
    scored: Scored | None = None
    taught: Gold | None = None  # for supervised systems: true labels that are not scored on


def task_of(project: Project, progress: Progress = SILENT) -> ComparisonTask:
    """Read, vote and encode. Clean labels are for training; other gold labels only for scoring."""
    corpus = project.corpus("train")
    votes = project.vote(corpus, progress)
    if not votes.covered.any():
        raise InputError("no rule matches any training document: there is nothing to compare")
    cache = FeatureCache()
    unfitted = encoder_from(project.encoder, project.folder)
    encoder = unfitted.fit(corpus, cache, progress)
    documents = Documents(corpus, votes, encoder.encode(corpus, cache, progress), unfitted)
    labels = project.labels(corpus)
    clean = labels.numbers if labels.labels else None
    scored = _test_file(project, corpus, encoder, progress)
    taught = _known(corpus) if scored is not None else None
    if scored is None:
        scored = _training_labels(documents, clean)
    return ComparisonTask(
        documents=documents,
        encoder=encoder.name,
        prior=_prior(project, votes),
        classifier=default_of(project),
        clean=clean,
        keywords=_keywords(project),
        scored=scored,
        taught=clean if taught is None else taught,
    )


def _known(corpus: Corpus) -> Gold | None:
    """(n,): the gold labels of a corpus; None if there are none."""
    if corpus.gold is None or not (corpus.gold >= 0).any():
        return None
    return np.asarray(corpus.gold, np.int64)


def _test_file(
    project: Project, training: Corpus, encoder: EncoderStack, progress: Progress
) -> Scored | None:
    if not project.data.test:
        return None
    corpus = project.corpus("test")
    gold = _known(corpus)
    if gold is None:
        return None
    corpus = corpus.take(gold >= 0)
    features = encoder.encode(corpus, FeatureCache(), progress)
    documents = Documents(corpus, project.vote(corpus, progress), features, encoder)
    twice = repeated(text_digests(corpus.texts), text_digests(training.texts))
    return Scored(documents, gold[gold >= 0], "the test file", int(twice.sum()))


def _training_labels(documents: Documents, clean: Gold | None) -> Scored | None:
    """Training documents with a gold label that is not used for training."""
    gold = _known(documents.corpus)
    if gold is None:
        return None
    rows: NDArray[np.intp] = np.flatnonzero(
        (gold >= 0) & (True if clean is None else clean == UNKNOWN)
    )
    if not len(rows):
        return None
    return Scored(documents.take(rows), gold[rows], "labelled training documents", 0)


def default_of(project: Project) -> WeakClassifier:
    """The default classifier with all that the project states, whatever method it asks for."""
    if project.method != "default":
        project = replace(project, method="default", settings=None)
    return project.classifier()


def _prior(project: Project, votes: Votes) -> tuple[float, ...] | None:
    """The prior that the project states, as numbers."""
    stated = parse_prior(project.prior, votes.classes)
    if stated is None:
        return None
    return stated.with_votes(MajorityVote().fit(votes).class_prior_.tolist())


def _keywords(project: Project) -> tuple[tuple[str, ...], ...]:
    from unruly_lab.peers.seed_keywords import seeds_from_rules

    return seeds_from_rules(project.sources)
