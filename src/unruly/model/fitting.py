"""From documents and votes to a fitted model: encode, train by the method chosen, and summarise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, SettingsError
from unruly.features.encoder import Features
from unruly.features.stack import Encoding
from unruly.findings import (
    BlankTexts,
    DocumentsUnasked,
    LearntFromSample,
    Note,
    PartialVotesUnused,
    WeakSource,
)
from unruly.labelling.answers import Labelled
from unruly.labelling.estimates import AccuracyEstimate, estimate_accuracy, hold_out
from unruly.labelmodels.label_model import refuse_one_class
from unruly.labelmodels.majority_vote import class_wins
from unruly.learner import Gold, Heads, Learner
from unruly.ledger import Ledger
from unruly.model.critique import weak_by_labels
from unruly.model.fitted import (
    SNIPPET,
    Fitted,
    ModelInputs,
    Neighbourhood,
    TrainedLabels,
    class_shares,
    digests_of,
    plain_ids,
    unit_length,
    votes_on,
    without_text,
)
from unruly.model.inputs import (
    Documents,
    aligned,
    corpus_gold,
    labels_of,
    refuse_true_labels,
    votes_of,
    warn_of_zeros,
)
from unruly.model.saved_rules import SavedRules
from unruly.model.summary import FitSummary, summarise
from unruly.prior import StatedBalance, unused_by_paper
from unruly.progress import SILENT, Progress
from unruly.rules.matching import given_up
from unruly.settings import MethodSettings, PaperSettings
from unruly.statistics import sample_rows
from unruly.texts.columns import UNKNOWN
from unruly.texts.corpus import Corpus
from unruly.votes.votes import ABSTAIN, Votes
from unruly.wording import plural, shortened

if TYPE_CHECKING:
    from unruly.features.cache import FeatureCache


@dataclass(frozen=True, eq=False)
class FitRequest:
    """All that a fit is asked for."""

    documents: Documents
    votes: Votes  # on these documents
    numbered: bool  # classes go by number: only a matrix of votes was given
    method: str
    settings: MethodSettings
    seed: int
    encoder: Encoding | None  # fitted; None when features are given
    rules: SavedRules | None
    balance: StatedBalance | None
    labels: Labelled | None  # true ones, of some documents
    valid: Any  # documents with true labels, as `WeakClassifier.fit` takes them; None without
    keep_documents: int
    cache: FeatureCache | None


def fit(
    request: FitRequest, progress: Progress = SILENT
) -> tuple[Fitted, ModelInputs, NDArray[np.uint64]]:
    """Encode, train, and summarise: the fitted model, its training documents as it saw them, and their digests."""
    votes, labels, settings = request.votes, request.labels, request.settings
    if isinstance(settings, PaperSettings) and request.balance is not None:
        raise SettingsError(unused_by_paper("class_prior"), option="class_prior")
    _refuse_one_class(votes, labels)
    features = _features(request, request.documents, progress)
    corpus = request.documents.corpus
    learner = train(
        settings,
        features,
        votes,
        seed=request.seed,
        balance=request.balance,
        clean=None if labels is None else labels.numbers,
        label_weights=None if labels is None else labels.weights,
        valid=_validation(request, progress),
        progress=progress,
    )
    wins = class_wins(votes)  # (m,)
    majority = tuple((wins / max(wins.sum(), 1)).tolist())
    seen = ModelInputs(features, votes, without_text(request.documents))
    heads = seen.heads(learner, class_shares(learner, majority))
    digests = digests_of(request.documents)
    origin = "" if labels is None else labels.origin
    ledger = Ledger.of(replace(use, origin=use.origin or origin) for use in learner.gold_used)
    fitted = Fitted(
        learner=learner,
        settings=settings,
        seed=request.seed,
        stated=request.balance,
        numbered=request.numbered,
        blocks=tuple((block.name, block.values.shape[1]) for block in features.blocks),
        encoder=request.encoder,
        rules=None if request.rules is None else _carried(request.rules, request),
        summary=_summary(request, learner, heads, features.width, ledger),
        neighbourhood=_neighbourhood(request, features, heads),
        digests=np.unique(digests),
        labels=TrainedLabels.of(labels, digests),
        majority=majority,
        text_column=None if corpus is None else corpus.text_column,
        id_column=None if corpus is None else corpus.id_column,
        feature_names=request.documents.columns,
    )
    return fitted, seen, digests


def _carried(rules: SavedRules, request: FitRequest) -> SavedRules:
    """The rules as the model carries them."""
    return rules.within(request.encoder).trained_on(request.documents.corpus, request.votes)


def _summary(
    request: FitRequest, learner: Learner, heads: Heads, width: int, ledger: Ledger
) -> FitSummary:
    encoder, votes, labels = request.encoder, request.votes, request.labels
    summary = summarise(
        learner,
        heads,
        votes,
        encoder=encoder.name if encoder else plural(width, "given feature"),
        method=request.method,
        balance=learner.balance,
        notes=(
            *learner.notes,
            *(encoder.notes() if encoder else ()),
            *given_up(votes),
            *_unasked(votes),
            *(_partial(votes) if isinstance(request.settings, PaperSettings) else ()),
            *_about_texts(request.documents.corpus),
        ),
        ledger=ledger,
    )
    weak = () if labels is None else weak_by_labels(votes, labels.numbers, summary.estimated)
    named = {one.source for one in weak}
    others = [n for n in summary.notes if not (isinstance(n, WeakSource) and n.source in named)]
    return replace(summary, notes=(*others, *weak))


def _refuse_one_class(votes: Votes, labels: Labelled | None) -> None:
    """Refuse votes and labels that all name one class: every model would predict it everywhere."""
    named = votes.counts().max(axis=0, initial=0) > 0  # (m,)
    if labels is not None:
        named[labels.numbers[labels.numbers >= 0]] = True
    otherwise = ", or give true labels that name another class"
    refuse_one_class(named, votes.classes, otherwise)


def train(
    settings: MethodSettings,
    features: Features,
    votes: Votes,
    *,
    seed: int,
    balance: StatedBalance | None,
    clean: Gold | None,
    label_weights: NDArray[np.float64] | None,
    valid: tuple[Features, Votes, NDArray[np.int64]] | None = None,
    progress: Progress,
) -> Learner:
    """Train by the method that the settings belong to."""
    if isinstance(settings, PaperSettings):
        from unruly.paper.cotraining import cotrain

        return cotrain(
            features, votes, settings, seed=seed, clean=clean, valid=valid, progress=progress
        )
    from unruly.denoising.fit import denoise

    return denoise(
        features,
        votes,
        settings,
        seed=seed,
        balance=balance,
        clean=clean,
        label_weights=label_weights,
        progress=progress,
    )


def refitted(
    fitted: Fitted,
    seen: ModelInputs,
    rows: NDArray[np.intp] | None,
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    progress: Progress = SILENT,
) -> NDArray[np.float32]:
    """(r, m): what a learner predicts of some rows (r,), or of all, that is trained as this model's was, but on these and
    with these labels (r,).

    The paper's method then neither selects an epoch by gold nor calibrates: there are no validation labels.
    """
    settings = fitted.settings
    if isinstance(settings, PaperSettings):
        selection = "votes" if settings.selection == "gold" else settings.selection
        settings = replace(settings, selection=selection, calibrate=False)
    part = seen if rows is None else seen.take(rows)
    learner = train(
        settings,
        part.features,
        part.votes,
        seed=fitted.seed,
        balance=fitted.stated,
        clean=labels,
        label_weights=weights,
        progress=progress,
    )
    return part.heads(learner, class_shares(learner, fitted.majority)).combined


def accuracy_by_labels(
    fitted: Fitted,
    digests: NDArray[np.uint64],
    seen: ModelInputs,
    labels: Labelled,
    progress: Progress = SILENT,
) -> AccuracyEstimate:
    """The accuracy of a model on documents with these digests (n,), from the labels of some.

    Labels that it was not trained on judge it as it is. Those that it was trained on are held out in turn, and it is
    fitted again on the others of these.
    """
    held_out, trained = None, fitted.labels.among(digests, labels.numbers)
    rows = labels.rows[trained.numbers[labels.rows] != UNKNOWN]
    if len(rows):
        held_out = hold_out(
            partial(refitted, fitted, seen),
            trained,
            rows,
            unlabelled=labels.numbers == UNKNOWN,
            seed=fitted.seed,
            progress=progress,
        )
    return estimate_accuracy(seen.heads(fitted.learner, fitted.shares).combined, labels, held_out)


def cast_votes(
    documents: Documents, votes: Any, rules: SavedRules | None, progress: Progress = SILENT
) -> tuple[Votes, bool]:
    """The votes to learn from, given or cast by the rules; and whether classes go by number."""
    if votes is not None:
        cast, numbered = votes_of(votes, documents.ids)
        if rules is not None:
            cast = aligned(cast, tuple(rules.sources.classes), rules.sources.names)
        elif not isinstance(votes, Votes):
            refuse_true_labels(cast)
            if numbered:
                warn_of_zeros(cast)
        return cast, numbered and rules is None
    if rules is None or documents.corpus is None:
        raise InputError("fit needs votes: a Votes, a matrix, or texts with sources=")
    return rules.vote(documents.corpus, progress), False


def _features(request: FitRequest, documents: Documents, progress: Progress) -> Features:
    if documents.features is not None:
        return documents.features
    assert documents.corpus is not None
    if request.encoder is None:
        raise InputError("features are given for training, but texts for validation: give features")
    return request.encoder.features(documents.corpus, request.cache, progress)


def _validation(
    request: FitRequest, progress: Progress
) -> tuple[Features, Votes, NDArray[np.int64]] | None:
    """Validation documents as training takes them; refused where nothing uses their labels."""
    settings, valid = request.settings, request.valid
    if valid is None:
        return None
    if not isinstance(settings, PaperSettings):
        raise InputError(
            'valid= chooses an epoch, or calibrates, with method="paper" only: set it, or give true labels as '
            "clean="
        )
    if settings.selection != "gold" and not settings.calibrate:
        raise InputError(
            'validation labels are given, but nothing uses them: set selection="gold" or calibrate=True in '
            "PaperSettings, or score with evaluate() after fitting"
        )
    classes, sources = request.votes.classes, request.votes.sources
    given = None
    if isinstance(valid, Corpus):
        documents, gold = Documents.of(valid), corpus_gold(valid, classes, request.numbered)
    elif isinstance(valid, tuple) and len(valid) in (2, 3):
        documents = Documents.of(valid[0])
        gold = labels_of(valid[-1], classes, documents.ids, "validation labels")
        given = votes_of(valid[1], documents.ids)[0] if len(valid) == 3 else None
    else:
        raise InputError("valid must be a corpus with gold labels, (X, gold), or (X, votes, gold)")
    votes = votes_on(documents, given, request.rules, classes, sources, progress)
    return _features(request, documents, progress), votes, gold


def _unasked(votes: Votes) -> tuple[DocumentsUnasked, ...]:
    """Sources that were not asked about everything."""
    return tuple(
        DocumentsUnasked(source, int(missing.sum()), votes.n)
        for source, missing in votes.unasked.items()
        if missing.any()
    )


def _partial(votes: Votes) -> tuple[PartialVotesUnused, ...]:
    """Sources with votes for one of several classes."""
    unused = votes.voted & (votes.hard == ABSTAIN)  # (n, k)
    counts = zip(votes.sources, unused.sum(axis=0).tolist(), strict=True)
    return tuple(PartialVotesUnused(source, count) for source, count in counts if count)


def _about_texts(corpus: Corpus | None) -> Iterator[Note]:
    """Notes on texts: half or more are blank (probably the wrong column), or they are a sample of more."""
    if corpus is None:
        return
    blank = corpus.missing_count
    if blank and 2 * blank >= len(corpus):
        yield BlankTexts(blank, len(corpus))
    if corpus.drawn_from is not None:
        yield LearntFromSample(len(corpus), corpus.drawn_from)


def _neighbourhood(request: FitRequest, features: Features, heads: Heads) -> Neighbourhood:
    """A sample of the training documents, for explanations."""
    rows = sample_rows(features.n, request.keep_documents, request.seed)
    corpus = request.documents.corpus
    return Neighbourhood(
        directions=unit_length(features.take(rows).matrix()).astype(np.float16),
        votes=request.votes.matrix[rows],
        sets={j: sets[rows] for j, sets in request.votes.sets.items()},
        labels=heads.predicted[rows].astype(np.int16),
        ids=plain_ids(request.documents.ids.gather(rows.tolist())),
        snippets=None
        if corpus is None
        else tuple(shortened(text, SNIPPET) for text in corpus.texts.gather(rows.tolist())),
    )
