"""What every table shares: outcomes sorted into cells, figures over seeds, sentences, Markdown.

A cell is one method, used alike (epoch, encoder, prior), on one data set. Sentences are made from the
figures: how far ours are from the paper's, under which conditions, and with what gold.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from unruly.ledger import Use
from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.paper_figures import DATASETS
from unruly_lab.bench.runs import AUTO, GIVEN, Outcome, Run
from unruly_lab.bench.trials import PARAMETERS
from unruly_lab.peers.systems import SYSTEMS, entry

NOTHING = "–"
EMPTY = f"{NOTHING}: not run here, or not in the paper."


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the first column is words and stands to the left, the others are figures.

    >>> print(markdown(["method", "youtube"], [["a|b", "94.9"]]))
    | method | youtube |
    |:--|--:|
    | a\\|b | 94.9 |
    """
    lines = [header, [":--"] + ["--:"] * (len(header) - 1)]
    written = [_line(lines[0]), "|" + "|".join(lines[1]) + "|"]
    return "\n".join([*written, *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(title: str, *parts: str) -> str:
    """A section: its title, then its paragraphs; empty ones are left out.

    >>> page("Noise", "", "All is well.")
    '## Noise\\n\\nAll is well.\\n'
    """
    return "\n\n".join([f"## {title}", *(part for part in parts if part)]) + "\n"


@dataclass(frozen=True)
class Spread:
    """Mean and sample deviation over n runs; NaN where there is none. Shares, not per cent.

    >>> print(Spread.of([0.90, 0.92, 0.94]))
    92.0 ± 2.0
    >>> print(Spread.of([0.9]))
    90.0
    """

    mean: float
    deviation: float  # NaN for a single run
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Of the values that are numbers."""
        known = [value for value in values if not math.isnan(value)]
        if not known:
            return cls(math.nan, math.nan, 0)
        deviation = statistics.stdev(known) if len(known) > 1 else math.nan
        return cls(statistics.fmean(known), deviation, len(known))

    @property
    def percent(self) -> float:
        """The mean in per cent, as it is printed: one digit."""
        return round(100 * self.mean, 1)

    def __str__(self) -> str:
        if not self.n:
            return "–"
        shown = f"{self.percent:.1f}"
        return shown if math.isnan(self.deviation) else f"{shown} ± {100 * self.deviation:.1f}"


@dataclass(frozen=True)
class Variant:
    """One line of a table: the same method, used alike."""

    method: str
    selection: str  # "none" or "gold"
    encoder: str
    prior: bool = False  # the method was given the share of each class
    attention: str = ""  # of the paper's method where it is not as printed: "voters"

    def title(self, encoders: bool = False) -> str:
        """As a table names it; with the encoder where there are several.

        >>> Variant("paper", "gold", "minilm").title()
        "The paper's method, epoch by gold"
        """
        said = entry(self.method).title + (", epoch by gold" if self.selection == "gold" else "")
        said += ", prior given" if self.prior else ""
        said += ", softmax over voters" if self.attention == "voters" else ""
        return f"{said} ({self.encoder})" if encoders else said


ATTENTIONS = ("attention", "settings.attention")
Cells = dict[Variant, dict[str, list[Outcome]]]


def cells(
    outcomes: Iterable[Outcome], experiment: str, methods: Collection[str] | None = None
) -> Cells:
    """The outcomes of one experiment, each list being the seeds of one cell.

    Where a cell was run on fewer documents (`--rows`) and on more, those on most count; where it was run
    in short (`--quick`) and in full, those in full; where one draw served all seeds and where each drew its
    own, the latter.
    """
    named = [replace(o, run=over_voters(o.run)) for o in outcomes]
    chosen = [
        o
        for o in named
        if o.run.experiment == experiment and (methods is None or o.run.method in methods)
    ]
    encoder = _encoder_beside_given(chosen)
    found: Cells = {}
    for o in sorted(chosen, key=_place):
        shown = o.run.prior is not None
        variant = Variant(
            o.run.method, o.run.selection, encoder(o.run.encoder), shown, attention(o.run)
        )
        found.setdefault(variant, {}).setdefault(o.run.dataset, []).append(o)
    return {
        variant: {dataset: _fullest(by_dataset[dataset]) for dataset in in_order(by_dataset)}
        for variant, by_dataset in found.items()
    }


def several_encoders(found: Cells) -> bool:
    """Whether titles must name the encoder."""
    return len({variant.encoder for variant in found}) > 1


def datasets(found: Cells) -> tuple[str, ...]:
    """The data sets that occur: the paper's in its order, each with its variants, then others."""
    return in_order({dataset for by_dataset in found.values() for dataset in by_dataset})


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """The paper's data sets in its order, each with its variants, then others by name.

    >>> in_order(["trec", "spouse_bert", "spouse", "imdb"])
    ('imdb', 'spouse', 'spouse_bert', 'trec')
    """

    def place(name: str) -> tuple[int, str]:
        near = [at for at, known in enumerate(DATASETS) if name.startswith(known)]
        return (near[0] if near else len(DATASETS), name)

    return tuple(sorted(set(names), key=place))


def of_the_paper(found: Cells) -> Cells:
    """The cells on the paper's data sets; all of them where none of these was run."""
    return _only(found, [name for name in datasets(found) if paper.known(name)]) or found


def of_others(found: Cells) -> Cells:
    """The cells on other data sets, where the paper's were run, too: they stand apart."""
    others = [name for name in datasets(found) if not paper.known(name)]
    return _only(found, others) if len(others) < len(datasets(found)) else {}


def _only(found: Cells, names: Collection[str]) -> Cells:
    kept = {v: {d: several for d, several in c.items() if d in names} for v, c in found.items()}
    return {variant: by_dataset for variant, by_dataset in kept.items() if by_dataset}


def shortened(run: Run) -> bool:
    """Whether a run had less training than its method's own: what `--quick` does.

    >>> shortened(Run("imdb", "paper", settings=(("epochs", 100),)))
    True
    >>> shortened(Run("imdb", "paper", experiment="parameters", settings=(("c1", 0.5),)))
    False
    """
    return any(name not in (*PARAMETERS, *ATTENTIONS) for name, _ in run.settings)


def attention(run: Run) -> str:
    """Over whom the softmax of Eq. 1 ran, where it is not as printed.

    >>> attention(Run("imdb", "paper", settings=(("attention", "voters"),)))
    'voters'
    """
    return next((str(value) for name, value in run.settings if name in ATTENTIONS), "")


def over_voters(run: Run) -> Run:
    """The system `paper-voters` as the setting of the paper's method that it is, so that both are one line.

    >>> over_voters(Run("imdb", "paper-voters")).method
    'paper'
    """
    if run.method != "paper-voters":
        return run
    return replace(run, method="paper", settings=(*run.settings, (ATTENTIONS[0], "voters")))


def _place(o: Outcome) -> tuple[int, bool, str, int]:
    names = [known.name for known in SYSTEMS]
    at = names.index(o.run.method) if o.run.method in names else len(names)
    return at, o.run.selection == "gold", attention(o.run), o.run.seed


def _encoder_beside_given(outcomes: Sequence[Outcome]) -> Callable[[str], str]:
    """A folder's own features, and the default's, stand in the line of the one encoder of the other runs."""
    named = {o.run.encoder for o in outcomes} - {GIVEN, AUTO}
    if len(named) != 1:
        return lambda encoder: encoder
    only = named.pop()
    return lambda encoder: only if encoder in (GIVEN, AUTO) else encoder


def _fullest(several: Sequence[Outcome]) -> list[Outcome]:
    most = max(o.documents[0] for o in several)
    kept = [o for o in several if o.documents[0] == most]
    kept = [o for o in kept if not shortened(o.run)] or kept
    kept = [o for o in kept if not shared_draw(o)] or kept
    plain = {replace(o.run, data="", rows=None, draw=None): o for o in kept}
    return list(plain.values())  # the latest of equals


def drawn(o: Outcome) -> bool:
    """Whether it was trained on a part of the documents."""
    return o.run.rows is not None and o.documents[0] >= o.run.rows


def shared_draw(o: Outcome) -> bool:
    """Whether it was trained on a part of the documents, the same part for every seed."""
    return drawn(o) and o.run.draw is None


def most(outcomes: Iterable[Outcome]) -> tuple[int, int, int]:
    """Training, validation and test documents of the run that has most."""
    return max(o.documents for o in outcomes)


def fewer(several: Sequence[Outcome], beside: Iterable[Outcome]) -> str:
    """A mark for figures from fewer training documents than others on the same data set."""
    mine = [o for o in beside if several and o.run.dataset == several[0].run.dataset]
    return FEWER if mine and min(o.documents[0] for o in several) < most(mine)[0] else ""


FEWER = " †"
ENCODERS = {
    GIVEN: "the folder's own features",
    AUTO: "auto (unruly's default: minilm with lsa, as `unruly fit` reads texts)",
}
SAME = 0.05  # points that the paper's own rounding hides
# They use the paper's hyper-parameters for its data sets, as the method itself or as the maker of labels.
TUNED = (
    "paper",
    "paper-voters",
    "rule-only",
    "neural-only",
    "neural-self",
    "rule-neural",
    "bert-mlp-denoised",
    "ulmfit-denoised",
)
# Values of ours that were chosen while looking at gold labels, none of them test labels.
CHOSEN_WITH_GOLD = {
    "neuralqpp": "starting weights (agnews validation labels)",
    "default": "constants (gold labels of these data sets in view)",
}
IN_VIEW = (
    "sms",
    "trec",
    "yoruba",
)  # beside the paper's; other data sets had no part in the default


def difference(ours: float, papers: float) -> str:
    """One comparison in words; both in per cent.

    >>> difference(91.8, 94.9), difference(78.0, 77.0), difference(77.0, 77.0)
    ("3.1 points below the paper's 94.9", "1.0 point above the paper's 77.0", "the same as the paper's 77.0")
    """
    gap = round(ours - papers, 1)
    if abs(gap) < SAME:
        return f"the same as the paper's {papers:.1f}"
    points = "point" if abs(gap) == 1.0 else "points"
    return f"{abs(gap):.1f} {points} {'above' if gap > 0 else 'below'} the paper's {papers:.1f}"


def conditions(outcomes: Iterable[Outcome]) -> str:
    """Where our measurement is not the paper's: documents, encoder, seeds. Facts of the data, no excuses."""
    every = list(outcomes)
    sizes = []
    for dataset in in_order(o.run.dataset for o in every):
        if (known := paper.known(dataset)) is not None:
            theirs = paper.STATISTICS[known]
            train, _, test = most(o for o in every if o.run.dataset == dataset)
            sizes.append(f"{dataset} {train:,} / {test:,} ({theirs.train:g}k / {theirs.test:g}k)")
    encoders = sorted({ENCODERS.get(o.run.encoder, o.run.encoder) for o in every})
    said = (
        f"Features: {', '.join(encoders)} here, bert-base-uncased in the paper; "
        f"{_seeds(every)}; how many in the paper is not said."
    )
    if less := _less(every):
        said += f" †: fewer training documents than others have on that data set: {less}."
    said += _draws(every)
    if short := sum(shortened(o.run) for o in every):
        said += f" {short} of {len(every)} runs were trained in short (`--quick`): for a first look only."
    if sizes:
        said += f" Training / test documents here (in the paper): {'; '.join(sizes)}."
    return said


def _draws(outcomes: Sequence[Outcome]) -> str:
    """Where a part of the documents was drawn: whether the seeds share it, which ± must be read by."""
    seeds: dict[str, dict[int | None, set[int]]] = {}  # by data set and draw
    for o in filter(drawn, outcomes):
        seeds.setdefault(o.run.dataset, {}).setdefault(o.run.draw, set()).add(o.run.seed)
    shared = [name for name, draws in seeds.items() if max(map(len, draws.values())) > 1]
    own = [name for name, draws in seeds.items() if name not in shared and len(draws) > 1]
    said = ""
    if own:
        said += f" Each seed drew its own training documents on {', '.join(in_order(own))}."
    if shared:
        said += (
            f" One draw of training documents served all seeds on {', '.join(in_order(shared))}: "
            "± leaves the draw out."
        )
    return said


def _less(outcomes: Sequence[Outcome]) -> str:
    """The data sets on which some figures are from fewer training documents than others, and how many."""
    said = []
    for dataset in in_order(o.run.dataset for o in outcomes):
        sizes = sorted({o.documents[0] for o in outcomes if o.run.dataset == dataset})
        said += [f"{dataset} {n:,}" for n in sizes[:-1]]
    return ", ".join(said)


def _line_of(o: Outcome) -> str:
    run = over_voters(o.run)
    return Variant(run.method, run.selection, "", attention=attention(run)).title()


def _seeds(outcomes: Sequence[Outcome]) -> str:
    """How many seeds there are, and on which data sets some line has fewer."""
    found: dict[tuple[str, str], set[int]] = {}
    for o in outcomes:
        found.setdefault((o.run.dataset, _line_of(o)), set()).add(o.run.seed)
    top = max((len(seeds) for seeds in found.values()), default=0)
    short = in_order(dataset for (dataset, _), seeds in found.items() if len(seeds) < top)
    shown = "one seed here" if top == 1 else f"{top} seeds here"
    if not short:
        return shown
    return (
        f"{shown}, fewer for some lines on {', '.join(short)} (a figure without ± is of one seed)"
    )


USES = {
    Use.TRAINING: "training",
    Use.SELECTION: "choice of the epoch",
    Use.PRIOR: "class prior",
    Use.CALIBRATION: "calibration",
    Use.SCORING: "scoring",
}


def gold_use(outcomes: Sequence[Outcome]) -> str:
    """What true labels the method was given for, and what was chosen with gold in view, in a few words."""
    purposes = sorted({USES[used.use] for o in outcomes for used in o.gold_used})
    if any(_tuned(o.run) for o in outcomes):
        purposes.append("the paper's hyper-parameters")
    purposes += dict.fromkeys(
        CHOSEN_WITH_GOLD[o.run.method] for o in outcomes if _chosen_with_gold(o.run)
    )
    return ", ".join(purposes) or "nothing"


def in_view(dataset: str) -> bool:
    """Whether gold of a data set was in view when the default's constants were chosen.

    >>> in_view("spouse_bert"), in_view("trec"), in_view("tweets")
    (True, True, False)
    """
    return paper.known(dataset) is not None or dataset in IN_VIEW


def _chosen_with_gold(run: Run) -> bool:
    return run.method in CHOSEN_WITH_GOLD and (run.method != "default" or in_view(run.dataset))


class GoldMark(StrEnum):
    """How pictures mark a figure: the same facts as `gold_use`, in three grades."""

    NONE = "no gold"
    BEHIND = "settings chosen with gold in view"
    USED = "true labels used"


def gold_mark(outcomes: Sequence[Outcome]) -> GoldMark:
    """Whether true labels were given to the method, or stand behind values that it uses."""
    if any(o.gold_used for o in outcomes):
        return GoldMark.USED
    return GoldMark.NONE if gold_use(outcomes) == "nothing" else GoldMark.BEHIND


def titled_with_gold(title: str, outcomes: Sequence[Outcome]) -> str:
    """A title for a legend that says what gold took part."""
    used = gold_use(outcomes)
    return f"{title} (no gold)" if used == "nothing" else f"{title} (gold: {used})"


def gold_words(titled: Mapping[str, Iterable[Outcome]]) -> str:
    """What true labels were used for by each line, the paper's use beside it."""
    used: dict[str, list[str]] = {}
    for title, outcomes in titled.items():
        used.setdefault(gold_use(tuple(outcomes)), []).append(title)
    said = "; ".join(f"{purpose} ({', '.join(titles)})" for purpose, titles in used.items())
    return f"True labels were used here for: {said}. In the paper: {paper.GOLD}."


def _tuned(run: Run) -> bool:
    """Whether the paper's hyper-parameters for this data set were used: studies of them have their own."""
    studied = run.experiment in ("parameters", "search")
    return run.method in TUNED and not studied and paper.known(run.dataset) is not None


FAR = 0.2  # below accuracy: then the F1 of the poorest class is shown too
F1_NOTE = (
    f"F1 in brackets is that of the class that fares worst, shown where it is more than {100 * FAR:.0f} points "
    "below accuracy: there accuracy alone would flatter."
)


def papers_row(system: str, table: Mapping[paper.Cell, float]) -> dict[str, float]:
    """The paper's figures of one system, by data set."""
    return {dataset: value for (name, dataset), value in table.items() if name == system}


def cell(several: Sequence[Outcome], beside: Iterable[Outcome] = ()) -> str:
    """Mean ± deviation of accuracy, and the poorest class's F1 where accuracy alone would flatter.

    Figures from fewer training documents than others `beside` are marked.
    """
    accuracy = Spread.of(o.accuracy for o in several)
    if not accuracy.n:
        return NOTHING
    classes = range(min(len(o.f1) for o in several))
    means = [spread for c in classes if (spread := Spread.of(o.f1[c] for o in several)).n]
    poorest = min(means, key=lambda spread: spread.mean, default=accuracy)
    far = accuracy.mean - poorest.mean > FAR
    mark = fewer(several, beside)
    return f"{accuracy}{mark} (F1 {poorest.percent:.1f})" if far else f"{accuracy}{mark}"


def rows(
    title: str,
    by_dataset: Mapping[str, Sequence[Outcome]],
    papers: Mapping[str, float],
    columns: Sequence[str],
    beside: Sequence[Outcome] = (),
) -> list[tuple[str, ...]]:
    """Our row, and the paper's under it where it has figures for these data sets."""
    ours = (title, *(cell(by_dataset.get(column, ()), beside) for column in columns))
    theirs = [papers.get(paper.known(column) or "") for column in columns]
    if all(value is None for value in theirs):
        return [ours]
    below = ("*the paper*", *(NOTHING if v is None else f"*{v:.1f}*" for v in theirs))
    return [ours, below]


def gains(
    title: str,
    after: Mapping[str, Sequence[Outcome]],
    before: Mapping[str, Sequence[Outcome]],
    papers: Mapping[str, float],
    columns: Sequence[str],
) -> list[tuple[str, ...]]:
    """Points of one system over another on the same number of documents, and the paper's under ours."""
    ours = {
        d: _percent(after[d]) - _percent(before[d])
        for d in columns
        if d in after and d in before and after[d][0].documents[0] == before[d][0].documents[0]
    }
    shown = (title, *(f"{ours[d]:+.1f}" if d in ours else NOTHING for d in columns))
    theirs = [papers.get(paper.known(d) or "") for d in columns]
    if all(value is None for value in theirs):
        return [shown]
    return [shown, ("*the paper*", *(NOTHING if v is None else f"*{v:+.1f}*" for v in theirs))]


def _percent(several: Sequence[Outcome]) -> float:
    return Spread.of(o.accuracy for o in several).percent
