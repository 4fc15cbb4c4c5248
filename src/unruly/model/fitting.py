"""From documents and votes to a fitted model, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.features.encoder import Features
from unruly.model.encoding import Encoding
from unruly.model.fitted import Fitted, commonest_vote, digests_of, plain_ids
from unruly.model.inputs import (
    Documents,
    aligned,
    check_rows,
    corpus_gold,
    labels_of,
    silence,
    votes_of,
)
from unruly.model.learning import Lesson, Prior, learn
from unruly.model.ledger import Ledger
from unruly.model.neighbours import Neighbourhood, sample_rows, snippet, unit_length
from unruly.model.rulebook import RuleBook
from unruly.model.summary import summarise
from unruly.model.word_worth import word_worths
from unruly.plural import plural
from unruly.progress import SILENT, Progress
from unruly.settings import Settings
from unruly.texts.corpus import Corpus
from unruly.training.heads import Heads, Learner
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.features.cache import Cache


@dataclass(frozen=True, eq=False)
class Validation:
    """Documents with true labels, for choosing the epoch or for calibration when that is asked for."""

    documents: Documents
    votes: Votes | None
    gold: NDArray[np.int64]  # (n,): -1 where unknown


def validation_of(valid: Any, classes: tuple[str, ...], numbered: bool) -> Validation:
    """Validation documents from a corpus with gold, `(X, gold)` or `(X, votes, gold)`."""
    if isinstance(valid, Corpus):
        return Validation(Documents.of(valid), None, corpus_gold(valid, classes, numbered))
    if not isinstance(valid, tuple) or len(valid) not in (2, 3):
        raise InputError("valid must be a corpus with gold labels, (X, gold), or (X, votes, gold)")
    documents = Documents.of(valid[0])
    gold = labels_of(valid[-1], classes, documents.ids, "validation labels")
    votes = votes_of(valid[1], documents.ids)[0] if len(valid) == 3 else None
    return Validation(documents, votes, gold)


def cast_votes(
    documents: Documents, votes: Any, rules: RuleBook | None, progress: Progress = SILENT
) -> tuple[Votes, bool]:
    """The votes to learn from, given or cast by the rules; and whether classes go by number."""
    if votes is not None:
        cast, numbered = votes_of(votes, documents.ids)
        if rules is not None:
            cast = aligned(cast, tuple(rules.sources.classes), rules.sources.names)
        return cast, numbered and rules is None
    if rules is None or documents.corpus is None:
        raise InputError("fit needs votes: a Votes, a matrix, or texts with sources=")
    return rules.vote(documents.corpus, progress), False


def encoding_of(
    encoder: Any,
    documents: Documents,
    votes: Votes | None,
    cache: Cache | None,
    progress: Progress = SILENT,
) -> Encoding | None:
    """The encoder, fitted to the texts; with votes it reads them without the rules' words too."""
    if documents.corpus is None:
        return None
    return Encoding.fitted(encoder, documents.corpus, cache, progress, votes=votes)


@dataclass(frozen=True, eq=False)
class Order:
    """All that a fit is asked for."""

    documents: Documents
    votes: Votes
    numbered: bool
    settings: Settings
    encoder: Encoding | None  # fitted; None when features are given
    rules: RuleBook | None
    prior: Prior
    clean: NDArray[np.int64] | None
    valid: Validation | None
    keep_documents: int
    cache: Cache | None


@dataclass(frozen=True, eq=False)
class Fit:
    """The fitted model, and what is known of the training documents besides."""

    fitted: Fitted
    features: Features
    heads: Heads


def fit(order: Order, progress: Progress = SILENT) -> Fit:
    """Encode, train, and gather what the model is to remember."""
    check_rows(order.documents, order.votes)
    features = _features(order, order.documents, progress)
    lesson = Lesson(
        features=features,
        votes=order.votes,
        settings=order.settings,
        clean=order.clean,
        valid=_valid(order, progress),
        prior=order.prior,
    )
    learner = learn(lesson, progress)
    heads = learner.heads(features, order.votes)
    ledger = Ledger().add_words(learner.gold_used)
    fitted = Fitted(
        learner=learner,
        settings=order.settings,
        prior=order.prior,
        numbered=order.numbered,
        blocks=tuple((block.name, block.values.shape[1]) for block in features.blocks),
        encoder=order.encoder,
        rules=order.rules,
        ledger=ledger,
        summary=summarise(
            learner,
            heads,
            order.votes,
            encoder=order.encoder.name
            if order.encoder
            else f"given, {plural(features.width, 'feature')}",
            method=order.settings.method,
            prior=_prior_held(learner),
            notes=(
                *_notes(learner),
                *(order.encoder.notes() if order.encoder else ()),
                *_blank(order.documents),
            ),
            ledger=ledger,
            words=word_worths(learner, features, order.votes),
        ),
        neighbourhood=_neighbourhood(order, features, heads),
        digests=np.unique(digests_of(order.documents)),
        commonest=commonest_vote(order.votes),
    )
    return Fit(fitted, features, heads)


def _blank(documents: Documents) -> tuple[str, ...]:
    """A warning where half of the texts or more say nothing: most likely the wrong column."""
    if documents.corpus is None:
        return ()
    texts = documents.corpus.texts
    blank = int((texts.str.strip_chars() == "").sum())
    if not blank or 2 * blank < len(texts):
        return ()
    return (
        f"{blank:,} of {plural(len(texts), 'text')} say nothing but blanks: is it the right column?",
    )


def _features(order: Order, documents: Documents, progress: Progress) -> Features:
    if documents.features is not None:
        return documents.features
    assert documents.corpus is not None
    if order.encoder is None:
        raise InputError("features are given for training, but texts for validation: give features")
    return order.encoder.features(documents.corpus, order.cache, progress)


def _valid(order: Order, progress: Progress) -> tuple[Features, Votes, NDArray[np.int64]] | None:
    """Validation documents as training takes them, or None when their labels are not to be used."""
    asked = order.settings.selection == "gold" or order.settings.calibrate
    if order.valid is None:
        return None
    if not asked:
        raise InputError(
            'validation labels are given, but nothing may use them: ask for selection="gold" or '
            "calibrate=True in the settings, or score with evaluate() after fitting"
        )
    documents, given = order.valid.documents, order.valid.votes
    classes, sources = order.votes.classes, order.votes.sources
    if given is not None:
        check_rows(documents, given)
        votes = aligned(given, classes, sources)
    elif order.rules is not None and documents.corpus is not None:
        votes = aligned(order.rules.vote(documents.corpus, progress), classes, sources)
    else:
        votes = silence(documents.ids, classes, sources)
    return _features(order, documents, progress), votes, order.valid.gold


def _neighbourhood(order: Order, features: Features, heads: Heads) -> Neighbourhood:
    """A sample of the training documents, for explanations."""
    rows = sample_rows(features.n, order.keep_documents, order.settings.seed)
    corpus = order.documents.corpus
    return Neighbourhood(
        directions=unit_length(features.take(rows).matrix()).astype(np.float16),
        votes=order.votes.matrix[rows],
        labels=heads.predicted[rows].astype(np.int16),
        ids=plain_ids(order.documents.ids.gather(rows.tolist())),
        snippets=None
        if corpus is None
        else tuple(snippet(text) for text in corpus.texts.gather(rows.tolist())),
    )


def _prior_held(learner: Learner) -> tuple[float, ...] | None:
    """The class prior that a recipe held fixed, where it had one."""
    held = getattr(learner, "prior", None)
    return None if held is None else tuple(float(share) for share in held)


def _notes(learner: Learner) -> tuple[str, ...]:
    """What a recipe noticed and did, a sentence each."""
    return tuple(str(note) for note in getattr(learner, "notes", ()))
