"""What a person reads of findings: one sentence each, the fact first, then what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import assert_never

from unruly.errors import Where
from unruly.findings import (
    AllCovered,
    BalanceOrigin,
    BlankTexts,
    ClassBalance,
    ClassesAlike,
    ClassesWithoutVotes,
    Conflict,
    Contradiction,
    Critique,
    DocumentsGivenUp,
    DocumentsUnasked,
    EncoderFallback,
    ExampleFailure,
    Finding,
    IdleRule,
    LabelNeverVoted,
    LabelProblem,
    LearntFromSample,
    NeverInConflict,
    NoLabels,
    NoVotes,
    OneClassVoted,
    PartialVotesUnused,
    ReadAsWindows1252,
    RepeatedSource,
    RepeatedTexts,
    SharesAgainstVotes,
    SharesUnknown,
    SilentSource,
    StarredKeyword,
    UncoveredClass,
    UnknownClass,
    UnknownId,
    UnreadableLine,
    UnspacedKeywords,
    WeakSource,
    WeakWord,
)
from unruly.statistics import Share
from unruly.wording import listed, plural

_MOST_SHARES = 12  # in one line
_FAR = 1.5  # times the stated odds: predicted shares further off are named
_MOST_IDLE = 8  # rules that decide nothing which are shown one by one
_EXAMPLES = 3  # that a line names
_MANY_CLASSES = 4  # with votes of one source each, from which one sentence tells of all


def sentence(found: Finding, project: Path | None = None) -> str:
    """One finding as a person reads it; commands in it name the project, where it is given.

    >>> sentence(BlankTexts(blank=9, documents=10))
    '9 of 10 texts are blank: check that this is the right text column.'
    >>> sentence(ClassesWithoutVotes(("news",)))
    'No source votes for news, so it is never predicted: add a rule for it.'
    >>> sentence(SilentSource("links"))
    'links never votes on these documents: change its rules, or disable it.'
    >>> sentence(RepeatedSource("a", "b", votes=40, share=0.9))
    '90% of the 40 votes of a are also votes of b: merge the two.'
    """
    match found:
        case ClassBalance():
            return _balance(found, project)
        case (
            ClassesWithoutVotes()
            | ClassesAlike()
            | SharesAgainstVotes()
            | NoVotes()
            | OneClassVoted()
        ):
            return _about_classes(found)
        case WeakSource():
            return _weak_source(found)
        case WeakWord():
            return _weak_word(found)
        case Conflict():
            return _conflict(found)
        case UncoveredClass():
            return _uncovered(found)
        case SharesUnknown():
            return (
                "Class shares are not known, and estimated accuracies depend on them, so no source and no word is "
                "judged by an estimate. New rules move the shares that are assumed, so that even good ones can make the "
                "model worse: first state `prior` under [task], or label 20 documents "
                f"({command('label', project)}), and fit again."
            )
        case RepeatedSource() if found.adds_nothing:
            return f"All {found.votes:,} votes of {found.source} are also votes of {found.other}: disable {found.source}."
        case RepeatedSource():
            return (
                f"{found.share:.0%} of the {found.votes:,} votes of {found.source} are also votes of "
                f"{found.other}: merge the two."
            )
        case SilentSource(source=source, missing=missing) if missing:
            return f"{source} never votes on these documents, and no source votes for {listed(missing)}: change its rules."
        case SilentSource(source=source):
            return f"{source} never votes on these documents: change its rules, or disable it."
        case (
            DocumentsUnasked()
            | DocumentsGivenUp()
            | IdleRule()
            | StarredKeyword()
            | UnspacedKeywords()
            | PartialVotesUnused()
        ):
            return _about_rules(found, project)
        case ExampleFailure(where=where, text=text, counter_example=counter):
            what = "matches its counter-example" if counter else "does not match its example"
            return f"{where} {what} {text!r}"
        case (
            ReadAsWindows1252()
            | BlankTexts()
            | RepeatedTexts()
            | NoLabels()
            | LearntFromSample()
            | EncoderFallback()
        ):
            return _about_data(found)
        case LabelNeverVoted() | NeverInConflict() | AllCovered():
            return _why_none(found)
        case UnreadableLine() | UnknownId() | UnknownClass() | Contradiction():
            return label_sentences([found], project)[0]
    assert_never(found)


def command(name: str, project: Path | None, options: str = "") -> str:
    """A command of ours as it is typed, which names the project where it is known.

    >>> command("label", None, "--by contested"), command("vote", Path("my films"))
    ('`unruly label PROJECT --by contested`', "`unruly vote 'my films'`")
    """
    words = ["unruly", name, "PROJECT" if project is None else quote(str(project))]
    return f"`{' '.join([*words, options] if options else words)}`"


def sentences(found: Sequence[Finding], project: Path | None = None) -> list[str]:
    """The findings as lines; sources that never vote share one, and of many alike a few are shown.

    >>> sentences([SilentSource("links"), SilentSource("caps")])
    ['links, caps never vote on these documents: change their rules, or disable them.']
    """
    silent = [one for one in found if isinstance(one, SilentSource)]
    idle = [one for one in found if isinstance(one, IdleRule)]
    starred = [one for one in found if isinstance(one, StarredKeyword)]
    left_out = [*silent[1:], *idle[_MOST_IDLE:], *starred[_EXAMPLES:]]
    lines = [
        _silent_sources(silent) if one in silent[:1] else sentence(one, project)
        for one in found
        if one not in left_out
    ]
    if more := len(idle[_MOST_IDLE:]):
        decide = "decides" if more == 1 else "decide"
        lines.append(f"{plural(more, 'more rule')} {decide} nothing: --json lists all.")
    if more := len(starred[_EXAMPLES:]):
        lines.append(f"{plural(more, 'more keyword')} with a star: --json lists all.")
    return lines


def critique_sentences(
    found: Sequence[Critique], project: Path | None = None
) -> list[tuple[Critique, str]]:
    """Each finding with its sentence; many classes with one source each share a sentence."""
    lone = [one for one in found if isinstance(one, UncoveredClass) and len(one.sources) == 1]
    if len(lone) < _MANY_CLASSES:
        return [(one, sentence(one, project)) for one in found]
    names = listed(one.label for one in lone)
    together = f"{names}: only one source votes for each, so no other can confirm a vote: add a second source for each."
    return [
        (one, together if one is lone[0] else sentence(one, project))
        for one in found
        if one is lone[0] or one not in lone
    ]


def likely_gold_sentence(column: str) -> str:
    """A column that no suggested rule reads, for it is called as gold is.

    >>> print(likely_gold_sentence("label"))
    the column label holds true labels by its name, so no rule may read it; if it holds something else, rename it
    """
    return (
        f"the column {column} holds true labels by its name, so no rule may read it; if it holds something else, "
        "rename it"
    )


def _silent_sources(silent: Sequence[SilentSource]) -> str:
    if len(silent) == 1:
        return sentence(silent[0])
    names = listed(one.source for one in silent)
    if missing := silent[0].missing:
        return f"{names} never vote on these documents, and no source votes for {listed(missing)}: change their rules."
    return f"{names} never vote on these documents: change their rules, or disable them."


def _about_classes(
    found: ClassesWithoutVotes | ClassesAlike | SharesAgainstVotes | NoVotes | OneClassVoted,
) -> str:
    match found:
        case NoVotes(text_column=column):
            read = "this" if column is None else repr(column)
            return f"No rule matches any document: check the rules, and that {read} is the right text column."
        case OneClassVoted(label=label, others=others):
            return f"All votes are for {label}, so no other class can be learnt: add rules for {listed(others)}."
        case ClassesWithoutVotes(classes=names):
            it, them = ("it is", "it") if len(names) == 1 else ("they are", "each of them")
            some = " or ".join(names) if len(names) < 4 else listed(names)
            return f"No source votes for {some}, so {it} never predicted: add a rule for {them}."
        case ClassesAlike(groups=groups):
            some = listed((" and ".join(group) for group in groups), 6)
            return f"No vote tells {some} apart: every rule names all of them or none. Add a rule for one alone."
        case SharesAgainstVotes(source=None):
            first, rules = f"{found.label} has votes", f"for {found.label}"
        case SharesAgainstVotes(source=source):
            first, rules = f"{source} votes for {found.label}", f"of {source}"
    return (
        f"{first} on {found.voted:.1%} of the documents, but its stated share is {found.share:.1%}: if that is right, at "
        f"most {found.share / found.voted:.0%} of these votes are. Check the share, and the rules {rules}."
    )


def _weak_source(found: WeakSource) -> str:
    first = _right_on(found)
    if found.chance is not None:
        first += f"; chance level {found.chance:.0%}"
    elif not found.clear:
        first += ", but may be right more often than wrong"
    if not found.clear:
        return f"{first}: read some of its matches before you change it."
    if found.adds is not None and found.useful:
        points = f"{100 * found.adds.value:.1f} points"
        return f"{first}, and still adds {points} to majority vote: change its rules."
    if found.above_chance:
        return f"{first}. By this figure its votes are evidence all the same: keep it, or make its rules more specific."
    if found.measured:
        return f"{first}: change its rules, or disable it."
    first += ": read some of its matches; if they are wrong, change its rules"
    if found.leaves is not None:
        return f"{first}. Keep it: without it, no two sources vote for {found.leaves}."
    return f"{first} or disable it."


def measured_sentence(estimated: WeakSource, measured: Share) -> str:
    """A source that is weak by an estimate, where its votes were checked as well: these count, in the words of any critique.

    >>> weak = WeakSource("links", 90, Share(0.3, 0.2, 0.4, 90))
    >>> measured_sentence(weak, Share(0.35, 0.25, 0.45, 80))
    'links is right on 35.0% (25.0% to 45.0%) of its votes (measured on 80 votes): change its rules, or disable it.'
    >>> measured_sentence(weak, Share(0.8, 0.7, 0.9, 80)).partition(", but ")[2]
    'was estimated at 30.0% (20.0% to 40.0%): the model is wrong about it, and about documents that it decides.'
    """
    found = replace(estimated, accuracy=measured, measured=True, leaves=None)
    if measured.low > estimated.accuracy.high:
        return (
            f"{_right_on(found)}, but was estimated at {estimated.accuracy}: the model is wrong about it, and about "
            "documents that it decides."
        )
    return _weak_source(found)


def _right_on(found: WeakSource) -> str:
    return f"{found.source} is right on {found.accuracy} of its votes ({_how(found)})"


def _how(found: WeakSource | WeakWord) -> str:
    votes = plural(round(found.accuracy.n), "vote")
    return f"measured on {votes}" if found.measured else "estimated"


def _weak_word(found: WeakWord) -> str:
    first = (
        f"{found.word!r} in {found.source}: right on {found.accuracy} of {found.votes:,} votes for "
        f"{found.label} ({_how(found)}); the rest of the list: {found.others}; by chance: {found.chance:.0%}"
    )
    if found.checked is not None:
        labels = plural(round(found.checked.n), "true label")
        first += f"; measured on {labels}: {found.checked.value:.1%}"
    if found.contradicted:
        return f"{first}. The true labels contradict the estimate: keep the word."
    if found.above_chance:
        return f"{first}. It is evidence all the same: keep the word, or make it more specific."
    if not found.clear:
        return f"{first}. Read some of its matches before you change it."
    if found.rival is not None:
        return (
            f"{first}. {found.rival} votes for another class on nearly all of them, and the estimate believes it: "
            "read some of its matches; if they are wrong, drop the word, or make it more specific."
        )
    return f"{first}. Drop the word, or make it more specific."


def _conflict(found: Conflict) -> str:
    shown = f" (documents {listed(found.examples)})" if found.examples else ""
    if found.opposed:
        return (
            f"{found.source} votes for {found.label} and {found.other} for {found.other_label} on the same "
            f"{plural(found.conflicts, 'document')}, {found.conflicts / max(found.votes, 1):.0%} of the votes of "
            f"{found.source}{shown}."
        )
    most = "" if found.times == found.conflicts else f"{plural(found.times, 'time')} "
    return (
        f"{found.source} and {found.other} disagree on {found.conflicts:,} of "
        f"{plural(found.documents, 'common document')}: {most}{found.label} against "
        f"{found.other_label}{shown}."
    )


def _uncovered(found: UncoveredClass) -> str:
    label, sources = found.label, found.sources
    if not sources:
        return f"{label}: no source votes for it. Write a rule that does."
    if len(sources) == 1:
        return f"{label}: only {sources[0]} votes for it, so no other can confirm a vote: add a second source."
    return (
        f"{label}: of {plural(found.predicted, 'document')} that the model gives this class, "
        f"{found.reached or 0:.0%} have a vote for it. Write rules that reach the others, if they are of this class."
    )


def _about_rules(
    found: DocumentsUnasked
    | DocumentsGivenUp
    | IdleRule
    | StarredKeyword
    | UnspacedKeywords
    | PartialVotesUnused,
    project: Path | None,
) -> str:
    match found:
        case DocumentsUnasked(documents=documents, of=every) if documents == every:
            return (
                f"{found.source} has not been asked yet: {command('vote', project)} asks, and "
                f"{command('vote', project, '--plan')} shows what that costs."
            )
        case DocumentsUnasked():
            return (
                f"{found.source} has not been asked about {found.documents:,} of {plural(found.of, 'document')}; these "
                f"are treated as missing, not as abstentions: {command('vote', project)} asks, as far as the budget goes."
            )
        case PartialVotesUnused(source=source, votes=votes):
            return (
                f"The method paper does not use {plural(votes, 'vote')} of {source}, which name several classes: "
                "the default method does."
            )
        case DocumentsGivenUp():
            remedy = (
                "simplify nested repetition in the pattern, or set seconds"
                if found.pattern
                else "make within_words or within_chars of the sequence smaller, or its lists of words shorter"
            )
            return (
                f"{Where(source=found.source, rule=found.rule)} timed out on {plural(found.documents, 'document')} "
                f"(limit {found.seconds:g} s for the source) and abstains there: {remedy}."
            )
        case IdleRule(where=where, matches=0):
            return f"{where} matches no document: correct it, or remove it."
        case IdleRule(where=where, matches=matches):
            on = "the one document" if matches == 1 else f"all {matches:,} documents"
            return (
                f"{where} never decides: an earlier rule of the source decides on {on} that it matches. Move it up, or "
                "remove it."
            )
        case StarredKeyword(source=source, word=word):
            return (
                f"{source} has the keyword {word!r}, whose star is an ordinary character: for all words that begin so, "
                f"write pattern = '\\b{word[:-1]}'."
            )
        case UnspacedKeywords(source=source, words=words):
            return (
                f"{source} looks for whole words, and {listed(map(repr, words))} {'is' if len(words) == 1 else 'are'} in a "
                'script without spaces between words: set match = "substring".'
            )
    assert_never(found)


def _about_data(
    found: ReadAsWindows1252
    | BlankTexts
    | RepeatedTexts
    | NoLabels
    | LearntFromSample
    | EncoderFallback,
) -> str:
    match found:
        case ReadAsWindows1252(file=file, line=line, reads=reads):
            return (
                f"{file} is not UTF-8: read as Windows-1252; line {line:,} then reads {reads!r}. If that looks wrong, convert "
                "the file to UTF-8."
            )
        case BlankTexts(blank=blank, documents=documents):
            first = (
                f"{blank:,} of {plural(documents, 'text')} {'is' if blank == 1 else 'are'} blank"
            )
            column = ": check that this is the right text column"
            return f"{first}{column if 2 * blank >= documents else ''}."
        case RepeatedTexts(repeats=repeats, documents=documents):
            verb = "repeats" if repeats == 1 else "repeat"
            return f"{repeats:,} of {plural(documents, 'text')} {verb} an earlier one."
        case NoLabels(column=column):
            return (
                f"There are no labels in a column {column!r}, so nothing is scored: correct label = ... under [data], or leave "
                "it out."
            )
        case LearntFromSample():
            return (
                f"The model was learnt from {found.documents:,} of {plural(found.of, 'document')}, drawn at random: "
                "--sample 0 learns from all, at more time and memory."
            )
        case EncoderFallback():
            return (
                f"Encoder {found.encoder} is used, because {found.better} is not installed: "
                f"pip install 'unruly[{found.extra}]' for better features."
            )
    assert_never(found)


def _why_none(found: LabelNeverVoted | NeverInConflict | AllCovered) -> str:
    """Why no document fits what was asked for.

    >>> _why_none(LabelNeverVoted("ham", "link", ("spam",)))
    'link never votes ham, only spam.'
    """
    match found:
        case LabelNeverVoted(label=label, source=None):
            return f"No source votes {label}."
        case LabelNeverVoted(label=label, source=source, others=others):
            return f"{source} never votes {label}, only {listed(others)}."
        case NeverInConflict(source=source, other=other, label=label):
            where = "" if label is None else f" where {source} votes {label}"
            return f"{source} and {other} never vote for different classes{where}."
        case AllCovered():
            return "All with a text have votes."


def label_sentences(problems: Sequence[LabelProblem], project: Path | None = None) -> list[str]:
    """One line for each kind of problem with labels.

    >>> label_sentences([UnknownId("7"), UnknownId("9")])
    ['2 labels set aside: their documents are not in the data (7, 9)']
    """
    lines = []
    if bad := [p for p in problems if isinstance(p, UnreadableLine)]:
        where = listed((str(p.line) for p in bad), _EXAMPLES)
        lines.append(f"{plural(len(bad), 'line')} ignored: not readable (line {where})")
    if gone := [p for p in problems if isinstance(p, UnknownId)]:
        ids = listed((p.id for p in gone), _EXAMPLES)
        what = "its document is" if len(gone) == 1 else "their documents are"
        lines.append(f"{plural(len(gone), 'label')} set aside: {what} not in the data ({ids})")
    if odd := [p for p in problems if isinstance(p, UnknownClass)]:
        names = listed(dict.fromkeys(p.label for p in odd), _EXAMPLES)
        lines.append(f"{plural(len(odd), 'label')} set aside: not a class of the project ({names})")
    if contradictions := [p for p in problems if isinstance(p, Contradiction)]:
        first = contradictions[0]
        shown = ", ".join(f"{by or 'unnamed'} {label}" for by, label in first.labels)
        lines.append(
            f"{plural(len(contradictions), 'document')} set aside until annotators agree ({first.id}: {shown}); "
            f"{command('label', project, '--by contested')} asks again"
        )
    return lines


def _balance(note: ClassBalance, project: Path | None) -> str:
    shares = shares_of(note.classes, note.shares)
    if note.origin is BalanceOrigin.STATED:
        first = f"Class shares: {shares}, as stated"
        if note.left_open == note.classes:
            first = f"Class shares: {shares}, those of the votes, as asked"
        elif note.left_open:
            stated = tuple(name for name in note.classes if name not in note.left_open)
            said, rest = (_some_shares(note, names) for names in (stated, note.left_open))
            first = f"Class shares: {said}, as stated; the rest from the votes: {rest}"
        if note.added_up_to is not None:
            first += f" (together {note.added_up_to:.0%}: scaled to 100%)"
        if 0.0 in note.shares:
            first += ", but for classes without votes, whose share the others get"
    elif note.origin is BalanceOrigin.LABELS:
        labels = plural(note.labels, "label")
        first = f"Class shares: {shares}, estimated from {labels}{_joined(note)}"
    else:
        first = f"Class shares are not known; assumed: {shares}"
    if note.depends is None:
        return f"{first}."
    other = "Similar" if note.origin is BalanceOrigin.STATED else "Other plausible"
    second = f"{other} shares would change {note.depends:.1%} of the predictions"
    if note.origin is BalanceOrigin.STATED and note.left_open != note.classes:
        away = _pulled_away(note)
        second += f". {away} If your shares are exact" if away else "; if your shares are exact"
        second += ", say so (exact = true, or exactly in --prior)"
    if note.origin is BalanceOrigin.ASSUMED:
        second += (
            ": state the shares (prior = [...] or --prior), or label 20 documents "
            f"({command('label', project)})"
        )
    elif note.origin is BalanceOrigin.LABELS:
        second += f"; more labels ({command('label', project)}) make it fewer"
    return f"{first}.\n{second}."


def _pulled_away(note: ClassBalance) -> str:
    """The classes that are predicted clearly more or less often than stated; empty where there are none."""

    def odds(share: float) -> float:
        return share / max(1 - share, 1e-9)

    pairs = zip(note.classes, note.predicted, note.shares, strict=True) if note.predicted else ()
    away = [
        f"{name} on {predicted:.1%}, not {share:.1%}"
        for name, predicted, share in pairs
        if name not in note.left_open
        and max(odds(predicted), odds(share)) > _FAR * min(odds(predicted), odds(share))
    ]
    return (
        f"Votes and texts speak against the stated shares: the model predicts {'; '.join(away)}."
        if away
        else ""
    )


def _some_shares(note: ClassBalance, names: tuple[str, ...]) -> str:
    share = dict(zip(note.classes, note.shares, strict=True))
    return shares_of(names, tuple(share[name] for name in names))


def _joined(note: ClassBalance) -> str:
    """What the labels were joined with, where it counts."""
    if note.before is None or note.weight < 0.005:
        return ""
    what = "the assumed shares" if note.before is BalanceOrigin.ASSUMED else "the shares stated"
    return f" ({1 - note.weight:.0%} of the weight) and {what} ({note.weight:.0%})"


def shares_of(classes: tuple[str, ...], shares: tuple[float, ...]) -> str:
    """Class shares in a line; of many classes the largest.

    >>> shares_of(("ham", "spam"), (0.875, 0.125))
    'ham 87.5%, spam 12.5%'
    """
    pairs = list(zip(classes, shares, strict=True))
    if len(pairs) > _MOST_SHARES:
        pairs.sort(key=lambda pair: -pair[1])
    return listed((f"{name} {share:.1%}" for name, share in pairs), _MOST_SHARES)
