"""The hyper-parameter search: mean and deviation over trials, and the best found, with gold and without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import (
    BLUE,
    INK,
    ORANGE,
    RED,
    SOFT,
    Axes,
    axes,
    figure,
    heading,
    legend,
    svg_of,
)
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    NOTHING,
    Spread,
    cells,
    conditions,
    datasets,
    markdown,
    page,
    several_encoders,
)
from unruly_lab.bench.trials import GUIDED, UNIFORM, Trial, best, chosen_by, drawn_as, scored

TITLE = "Hyper-parameter search"
OBJECTIVES = {
    "gold": "accuracy on gold validation labels",
    "none": "held-out votes predicted, no gold",
}


@dataclass(frozen=True)
class Searched:
    """One search on one data set; the trials in the order in which they were made."""

    dataset: str
    selection: str  # "gold" or "none"
    encoder: str  # empty where there is only one
    trials: tuple[Trial, ...]
    attention: str = ""  # "voters" where the softmax of Eq. 1 is not as printed

    @property
    def uniform(self) -> tuple[Trial, ...]:
        """Those drawn uniformly from the paper's grid: an estimate of its mean and deviation."""
        return tuple(trial for trial in self.trials if trial.drawn == UNIFORM)

    @property
    def best(self) -> Trial:
        """By the objective, never by test accuracy."""
        return best(self.trials)

    @property
    def objective(self) -> str:
        """What the search went by, in words."""
        words = OBJECTIVES[self.selection]
        words += "; softmax over voters" if self.attention == "voters" else ""
        return f"{words} ({self.encoder})" if self.encoder else words


def searches(outcomes: Sequence[Outcome]) -> tuple[Searched, ...]:
    """Every search among the outcomes; those of several seeds are one after the other."""
    found = cells(outcomes, "search", ("paper",))
    named = several_encoders(found)
    return tuple(
        Searched(
            dataset,
            variant.selection,
            variant.encoder if named else "",
            _trials(found[variant][dataset]),
            variant.attention,
        )
        for dataset in datasets(found)
        for variant in found
        if dataset in found[variant]
    )


def _trials(several: Sequence[Outcome]) -> tuple[Trial, ...]:
    """Numbered from 0 within each seed."""
    found: list[Trial] = []
    made: Counter[int] = Counter()
    for o in several:
        number = made[o.run.seed]
        made[o.run.seed] += 1
        found.append(Trial(number, chosen_by(o.run), drawn_as(number), scored(o)))
    return tuple(found)


def uniform_spread(several: Sequence[Outcome]) -> Spread:
    """Test accuracy over the uniform trials of one search: how much the hyper-parameters matter."""
    return _spread([t.scored.test for t in _trials(several) if t.drawn == UNIFORM])


def _spread(values: Sequence[float | None]) -> Spread:
    return Spread.of(value for value in values if value is not None)


def table(outcomes: Sequence[Outcome]) -> str | None:
    """Means over trials beside the paper's; then the best choice of each search beside the paper's."""
    found = searches(outcomes)
    if not found:
        return None
    made = [o for o in outcomes if o.run.experiment == "search"]
    return page(
        TITLE,
        f"The paper tried all {paper.SEARCH_TRIALS:,} combinations of its ranges. Here the first trials and every "
        "second one after them are drawn uniformly from the same combinations, and the others are Optuna's "
        "choice. Accuracy in per cent, mean ± standard deviation over the uniform trials, so that it estimates "
        "the paper's mean over all.",
        markdown(
            (
                "data set",
                "search by",
                "uniform trials",
                "validation",
                "the paper",
                "test",
                "the paper",
            ),
            [_mean_row(one) for one in found],
        ),
        "The best trial of each search, chosen by what the search goes by and never by test accuracy:",
        markdown(
            (
                "data set",
                "search by",
                "trials",
                "hidden",
                "learning rate",
                "c1",
                "c3",
                "test",
                "the paper's choice",
            ),
            [_best_row(one) for one in found],
        ),
        "True labels were used here for: the objective and the choice of the epoch (validation labels, searches by "
        "gold); nothing (searches without gold; their validation accuracies are for the reader). In the paper: "
        f"{paper.GOLD}.",
        conditions(made),
    )


def _mean_row(one: Searched) -> tuple[str, ...]:
    known = paper.known(one.dataset)
    theirs = paper.SEARCH[known] if known else None
    valid = _spread([t.scored.valid for t in one.uniform])
    test = _spread([t.scored.test for t in one.uniform])
    return (
        one.dataset,
        one.objective,
        str(len(one.uniform)),
        str(valid),
        f"*{theirs.valid_mean:.1f} ± {theirs.valid_deviation:.1f}*" if theirs else NOTHING,
        str(test),
        f"*{theirs.test_mean:.1f} ± {theirs.test_deviation:.1f}*" if theirs else NOTHING,
    )


def _best_row(one: Searched) -> tuple[str, ...]:
    known, chosen = paper.known(one.dataset), one.best.chosen
    theirs = NOTHING
    if known:
        b = paper.BEST[known]
        theirs = f"*{b.hidden}, {b.learning_rate:g}, {b.c1:g}, {b.c3:g}: {paper.MAIN['paper', known]:.1f}*"
    shown = (f"{chosen.hidden}", f"{chosen.learning_rate:g}", f"{chosen.c1:g}", f"{chosen.c3:g}")
    test = _spread([one.best.scored.test])
    return (one.dataset, one.objective, str(len(one.trials)), *shown, str(test), theirs)


ALONG = {"gold": "validation accuracy (gold), %", "none": "held-out votes predicted, %"}


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A panel for each search; the ring is the trial that the search would take."""
    found = searches(outcomes)
    if not found:
        return None
    across = min(3, len(found))
    down = -(-len(found) // across)
    drawing = figure(230.0 * across, 220.0 * down + 30)
    for place, one in enumerate(found, 1):
        ax = axes(drawing, (down, across, place))
        _draw(ax, one)
        heading(ax, f"{one.dataset}, {'by gold' if one.selection == 'gold' else 'without gold'}")
        if (place - 1) % across == 0:
            ax.set_ylabel("test accuracy, %")
    legend(drawing, 4 if across == 3 else 2)
    return svg_of(drawing, "search")


def _draw(ax: Axes, one: Searched) -> None:
    for drawn, mark, colour in ((UNIFORM, "o", BLUE), (GUIDED, "^", ORANGE)):
        mine = [trial for trial in one.trials if trial.drawn == drawn]
        ax.plot(
            [_along(t) for t in mine],
            [100 * (t.scored.test or 0.0) for t in mine],
            mark,
            color=colour,
            markersize=4.5,
            alpha=0.8,
            label="drawn uniformly" if drawn == UNIFORM else "Optuna's choice",
        )
    best = one.best
    ring = {"markerfacecolor": "none", "markeredgecolor": RED, "markersize": 11}
    at = [_along(best)], [100 * (best.scored.test or 0.0)]
    ax.plot(*at, "o", markeredgewidth=1.8, label="taken", **ring)
    if known := paper.known(one.dataset):
        mean = paper.SEARCH[known].test_mean
        ax.axhline(mean, color=SOFT, linestyle="--", linewidth=1, label="the paper's mean")
    ax.set_xlabel(ALONG[one.selection], color=INK)


def _along(trial: Trial) -> float:
    return 100 * trial.scored.objective
