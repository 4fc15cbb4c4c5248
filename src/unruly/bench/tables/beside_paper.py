"""Plain sentences made from the figures: how far ours are from the paper's, under which conditions, with what gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.run import GIVEN, Outcome, Run
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import in_order, shortened
from unruly.peers.systems import entry

SAME = 0.05  # points that the paper's own rounding hides
# They use the paper's hyper-parameters for its data sets, as the method itself or as the maker of labels.
TUNED = (
    "paper",
    "rule-only",
    "neural-only",
    "neural-self",
    "rule-neural",
    "bert-mlp-denoised",
    "ulmfit-denoised",
)


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


def differences(title: str, ours: Mapping[str, Spread], papers: Mapping[str, float]) -> str:
    """One sentence for a line of a table: every data set that both have; empty when there is none.

    >>> differences("MT", {"youtube": Spread.of([0.851])}, {"youtube": 86.7})
    "MT: youtube 1.6 points below the paper's 86.7."
    """
    said = [
        f"{dataset} {difference(spread.percent, papers[known])}"
        for dataset, spread in ours.items()
        if spread.n and (known := paper.known(dataset)) and known in papers
    ]
    return f"{title}: {', '.join(said)}." if said else ""


def conditions(outcomes: Iterable[Outcome]) -> str:
    """Where our measurement is not the paper's: documents, encoder, seeds. Facts of the data, no excuses."""
    every = list(outcomes)
    here = {o.run.dataset: o.documents for o in every}
    sizes = []
    for dataset in in_order(here):
        if (known := paper.known(dataset)) is not None:
            theirs = paper.STATISTICS[known]
            sizes.append(
                f"{dataset} {here[dataset][0]:,} / {here[dataset][2]:,} ({theirs.train:g}k / {theirs.test:g}k)"
            )
    encoders = sorted(
        {"the folder's own features" if o.run.encoder == GIVEN else o.run.encoder for o in every}
    )
    said = (
        f"Features: {', '.join(encoders)} here, bert-base-uncased in the paper; "
        f"{_seeds(every)} here, how many in the paper is not said."
    )
    if short := sum(shortened(o.run) for o in every):
        said += f" {short} of {len(every)} runs were trained in short (`--quick`): for a first look only."
    if sizes:
        said += f" Training / test documents here (in the paper): {'; '.join(sizes)}."
    return said


def _seeds(outcomes: Sequence[Outcome]) -> str:
    """How many seeds there are, and which methods have fewer on some data set."""
    found: dict[tuple[str, str], set[int]] = {}
    for o in outcomes:
        found.setdefault((o.run.method, o.run.dataset), set()).add(o.run.seed)
    most = max((len(seeds) for seeds in found.values()), default=0)
    fewer: dict[str, int] = {}
    for (method, _), seeds in found.items():
        if len(seeds) < most:
            fewer[method] = min(len(seeds), fewer.get(method, most))
    told = "one seed" if most == 1 else f"{most} seeds"
    rest = ", ".join(f"{entry(method).title} {least}" for method, least in fewer.items())
    return f"{told} (but {rest})" if rest else told


def gold_use(outcomes: Sequence[Outcome]) -> str:
    """What true labels the method was given for, in a few words."""
    purposes = sorted({use.partition(":")[0] for o in outcomes for use in o.gold_used})
    if any(_tuned(o.run) for o in outcomes):
        purposes.append("the paper's hyper-parameters")
    return ", ".join(purposes) or "nothing"


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
