"""Notes about a fit and advice on rules as sentences for people: the fact first, then what to do."""

from __future__ import annotations

from typing import assert_never

from unruly.facts import (
    BalanceOrigin,
    BlankTexts,
    ClassBalance,
    ClassesWithoutVotes,
    DocumentsGivenUp,
    DocumentsUnasked,
    EncoderFallback,
    LearntFromSample,
    Note,
    SourceBelowChance,
)
from unruly.model.advice import (
    Conflict,
    Critique,
    RepeatedSource,
    SilentSource,
    UncoveredClass,
    WeakSource,
    WeakWord,
)
from unruly.wording import listed, plural

_MOST_SHARES = 12  # in one line


def sentence(note: Note) -> str:
    """One note as a person reads it.

    >>> sentence(BlankTexts(blank=9, documents=10))
    '9 of 10 texts are blank: check that this is the right text column.'
    >>> sentence(ClassesWithoutVotes(("news",)))
    'No source votes for news, so it is never predicted: add a rule for it.'
    """
    match note:
        case ClassBalance():
            return _balance(note)
        case ClassesWithoutVotes(classes=names):
            it, them = ("it is", "it") if len(names) == 1 else ("they are", "each of them")
            told = " or ".join(names) if len(names) < 4 else listed(names)
            return f"No source votes for {told}, so {it} never predicted: add a rule for {them}."
        case SourceBelowChance():
            return (
                f"{note.source} is estimated to be right on {note.accuracy:.0%} of its votes ({note.low:.0%} to "
                f"{note.high:.0%}), less than guessing by the class shares ({note.chance:.0%}): check its rules."
            )
        case BlankTexts(blank=blank, documents=documents):
            return (
                f"{blank:,} of {plural(documents, 'text')} {'is' if blank == 1 else 'are'} blank: check that this "
                "is the right text column."
            )
        case EncoderFallback():
            return (
                f"Encoder {note.encoder} is used, because {note.better} is not installed: "
                f"pip install 'unruly[{note.extra}]' for better features."
            )
        case DocumentsGivenUp():
            return (
                f"{note.source}, rule {note.rule}, gave up on {plural(note.documents, 'document')}, which took longer "
                f"than {note.seconds:g} s, and abstains there: write its pattern without repetition inside repetition, "
                "or set seconds."
            )
        case DocumentsUnasked():
            return (
                f"{note.source} was not asked about {note.documents:,} of {plural(note.of, 'document')}, which counts "
                "neither for nor against it: `unruly vote` asks, as far as the budget goes."
            )
        case LearntFromSample():
            return (
                f"The model was learnt from {note.documents:,} of {plural(note.of, 'document')}, drawn at random: "
                "--sample 0 learns from all, at more time and memory."
            )
    assert_never(note)


def _balance(note: ClassBalance) -> str:
    shares = shares_of(note.classes, note.shares)
    if note.origin is BalanceOrigin.STATED:
        first = f"Class shares: {shares}, as stated."
        if note.left_open:
            first = f"{first[:-1]}; {listed(note.left_open)} were not, and share the rest as the votes do."
    elif note.origin is BalanceOrigin.LABELS:
        first = f"Class shares: {shares}, estimated from {plural(note.labels, 'label')}."
    else:
        first = f"Class shares are not known; assumed: {shares}."
    if note.depends is None:
        return first
    second = f"Other plausible shares would change {note.depends:.1%} of the labels"
    if note.origin is BalanceOrigin.ASSUMED:
        second += (
            ": state the shares (prior = [...] or --prior), or label 20 documents (`unruly label`)"
        )
    return f"{first}\n{second}."


def shares_of(classes: tuple[str, ...], shares: tuple[float, ...]) -> str:
    """Class shares in a line; of many classes the largest.

    >>> shares_of(("ham", "spam"), (0.875, 0.125))
    'ham 87.5%, spam 12.5%'
    """
    pairs = list(zip(classes, shares, strict=True))
    if len(pairs) > _MOST_SHARES:
        pairs.sort(key=lambda pair: -pair[1])
    return listed((f"{name} {share:.1%}" for name, share in pairs), _MOST_SHARES)


def advice_sentence(advice: Critique) -> str:
    """One criticism of the rules as a person reads it.

    >>> advice_sentence(SilentSource("links"))
    'links never votes on these documents: check its rules, or remove it.'
    >>> advice_sentence(RepeatedSource("a", "b", votes=40, share=0.9))
    '90% of the 40 votes of a are also votes of b: it adds little.'
    """
    match advice:
        case WeakSource():
            how = "measured" if advice.measured else "estimated"
            first = f"{advice.source} is right on {advice.accuracy} of its votes ({how})"
            if advice.chance is not None and advice.accuracy.high <= advice.chance:
                first += f", no more than votes on random documents would be ({advice.chance:.0%})"
            elif advice.accuracy.high > 0.5:
                return f"{first}, and the interval includes half: read some of its matches before you change it."
            return f"{first}: change its rules, or remove it."
        case SilentSource(source=source):
            return f"{source} never votes on these documents: check its rules, or remove it."
        case WeakWord():
            how = "measured" if advice.measured else "estimated"
            rest = (
                f"; the other votes of {advice.source}: {advice.others.value:.0%}"
                if advice.others
                else ""
            )
            return (
                f"{advice.word!r} in {advice.source}: right on {advice.accuracy} of {advice.votes:,} votes for "
                f"{advice.label} ({how}{rest}). Drop the word, or make it more specific."
            )
        case RepeatedSource():
            return (
                f"{advice.share:.0%} of the {advice.votes:,} votes of {advice.source} are also votes of "
                f"{advice.other}: it adds little."
            )
        case Conflict():
            most = "" if advice.times == advice.conflicts else f"{plural(advice.times, 'time')} "
            shown = f" (documents {listed(advice.examples)})" if advice.examples else ""
            return (
                f"{advice.source} and {advice.other} disagree on {advice.conflicts:,} of "
                f"{plural(advice.documents, 'common document')}: {most}{advice.label} against "
                f"{advice.other_label}{shown}."
            )
        case UncoveredClass(label=label, sources=sources):
            if not sources:
                return f"{label}: no source votes for it. Write a rule that does."
            if len(sources) == 1:
                return f"{label}: only {sources[0]} votes for it, so no other source can confirm a vote."
            return (
                f"{label}: of {plural(advice.predicted, 'document')} that the model gives this class, "
                f"{advice.reached or 0:.0%} have a vote for it. Write rules that reach the others."
            )
    assert_never(advice)
