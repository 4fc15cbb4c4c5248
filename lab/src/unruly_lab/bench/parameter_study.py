"""The parameter study: accuracy as c1, c3, the learning rate and the hidden size are varied one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unruly_lab.bench import paper_figures as paper
from unruly_lab.bench.pictures import Panel, along, panels, svg_of
from unruly_lab.bench.runs import Outcome
from unruly_lab.bench.tables import (
    NOTHING,
    Cells,
    Spread,
    Variant,
    cells,
    conditions,
    datasets,
    gold_words,
    markdown,
    page,
    several_encoders,
    titled_with_gold,
)
from unruly_lab.bench.trials import PARAMETERS, curve

NAMES = {"c1": "c1", "c3": "c3", "learning_rate": "learning rate", "hidden": "hidden size"}
TITLE = "Parameter study"
Curves = dict[str, dict[str, dict[float, Spread]]]  # parameter, data set, value


def curves(outcomes: Sequence[Outcome]) -> dict[str, Curves]:
    """For each choice of the epoch (its title): accuracy over the seeds along each parameter."""
    found = cells(outcomes, "parameters", ("paper",))
    named = several_encoders(found)
    return {
        titled_with_gold(variant.title(named), _all(found[variant])): _curves(found, variant)
        for variant in found
    }


def _all(by_dataset: Mapping[str, Sequence[Outcome]]) -> list[Outcome]:
    return [o for several in by_dataset.values() for o in several]


def _curves(found: Cells, variant: Variant) -> Curves:
    return {
        parameter: {
            dataset: {
                value: Spread.of(o.accuracy for o in several)
                for value, several in curve(found[variant][dataset], parameter).items()
            }
            for dataset in datasets(found)
            if dataset in found[variant]
        }
        for parameter in PARAMETERS
    }


def table(outcomes: Sequence[Outcome]) -> str | None:
    """One block for each parameter, its values downwards."""
    found = cells(outcomes, "parameters", ("paper",))
    if not found:
        return None
    named = several_encoders(found)
    titled = {w.title(named): [o for d in c.values() for o in d] for w, c in found.items()}
    default = paper.DEFAULTS
    return page(
        TITLE,
        "Test accuracy of the paper's method in per cent, mean ± standard deviation over seeds; one parameter "
        f"varied, the others at the paper's defaults (c1 {default.c1:g}, c3 {default.c3:g}, learning rate "
        f"{default.learning_rate:g}, hidden size {default.hidden}, marked *). The paper shows its curves as "
        "pictures, without figures; it says that accuracy is stable unless a loss weight is too large and, on "
        "spouse, the learning rate too small or the hidden size too large. The paper chose these defaults with gold in "
        "view." + _one_seed(found, named),
        *(
            part
            for title, by_parameter in curves(outcomes).items()
            for part in (f"{title}:", *(_block(*one) for one in by_parameter.items()))
        ),
        "\n".join(f"- {said}" for said in _sentences(curves(outcomes))),
        gold_words(titled),
        conditions([o for several in titled.values() for o in several]),
    )


def _one_seed(found: Cells, named: bool) -> str:
    """Where the curves of a line are of one seed, and so what they cannot tell."""
    told = []
    for variant, by_dataset in found.items():
        seeds = {name: {o.run.seed for o in several} for name, several in by_dataset.items()}
        alone = [name for name in datasets(found) if len(seeds.get(name, ())) == 1]
        line = f" ({variant.title(named)})" if len(found) > 1 else ""
        told += [f"{', '.join(alone)}{line}"] if alone else []
    if not told:
        return ""
    return (
        f" **One seed** on {'; '.join(told)}: what moves there from one value to the next is the parameter and chance "
        "together."
    )


def _block(parameter: str, by_dataset: dict[str, dict[float, Spread]]) -> str:
    values = sorted({value for line in by_dataset.values() for value in line})
    default = getattr(paper.DEFAULTS, parameter)
    body = [
        (
            f"{value:g}{' *' if value == default else ''}",
            *(str(line.get(value, NOTHING)) for line in by_dataset.values()),
        )
        for value in values
    ]
    return markdown((NAMES[parameter], *by_dataset), body)


def _sentences(found: dict[str, Curves]) -> list[str]:
    """How far accuracy moves along each parameter, and where it is best and worst."""
    said = []
    for title, by_parameter in found.items():
        for parameter, by_dataset in by_parameter.items():
            parts = [_range(dataset, line) for dataset, line in by_dataset.items() if len(line) > 1]
            if parts:
                said.append(f"{title}, {NAMES[parameter]}: {'; '.join(parts)}.")
    return said


def _range(dataset: str, line: dict[float, Spread]) -> str:
    best = max(line, key=lambda value: line[value].mean)
    worst = min(line, key=lambda value: line[value].mean)
    moved = line[best].percent - line[worst].percent
    return (
        f"{dataset} moves by {moved:.1f} points, from {line[worst].percent:.1f} at {worst:g} to "
        f"{line[best].percent:.1f} at {best:g}"
    )


LOGARITHMIC = ("learning_rate", "hidden")
LETTERED = dict(zip(NAMES, "abcd", strict=True))


def chart(outcomes: Sequence[Outcome]) -> str | None:
    """A curve for each data set; dotted: the paper's default; error bars are ± sd over seeds."""
    found = curves(outcomes)
    if not found:
        return None
    sets = {title: list(by_parameter["c1"]) for title, by_parameter in found.items()}
    named = [name for names in sets.values() for name in names]
    repeats = len(set(named)) < len(named)  # then the curves themselves must say which method
    drawing = panels([_panel(p, found, repeats) for p in NAMES], across=2)
    if not repeats:  # which method this is, and what gold took part
        along(drawing, "; ".join(_under(title, names, len(sets)) for title, names in sets.items()))
    return svg_of(drawing, "parameter-study")


def _under(title: str, names: Sequence[str], several: int) -> str:
    return f"{', '.join(names)}: {title}" if several > 1 else title


def _panel(parameter: str, found: dict[str, Curves], repeats: bool) -> Panel:
    drawn = {
        f"{dataset}, {title}" if repeats else dataset: list(line.items())
        for title, by_parameter in found.items()
        for dataset, line in by_parameter[parameter].items()
    }
    values = sorted({value for points in drawn.values() for value, _ in points})
    ticks = {v: f"{v:g}" for v in values} if parameter in LOGARITHMIC else None
    return Panel(
        f"({LETTERED[parameter]}) {NAMES[parameter]}",
        drawn,
        NAMES[parameter],
        log=parameter in LOGARITHMIC,
        ticks=ticks,
        mark=getattr(paper.DEFAULTS, parameter),
    )
