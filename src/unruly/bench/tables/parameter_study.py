"""The parameter study: accuracy as c1, c3, the learning rate and the hidden size are varied one by one."""

from __future__ import annotations

from collections.abc import Sequence

from unruly.bench import paper_figures as paper
from unruly.bench.parameter_study import PARAMETERS, curve
from unruly.bench.run import Outcome
from unruly.bench.tables.beside_paper import conditions, gold_words
from unruly.bench.tables.markdown import NOTHING, markdown, page
from unruly.bench.tables.spread import Spread
from unruly.bench.tables.ways import Cells, Way, cells, datasets, several_encoders

NAMES = {"c1": "c1", "c3": "c3", "learning_rate": "learning rate", "hidden": "hidden size"}
TITLE = "Parameter study"
Curves = dict[str, dict[str, dict[float, Spread]]]  # parameter, data set, value


def curves(outcomes: Sequence[Outcome]) -> dict[str, Curves]:
    """For each way of choosing the epoch (its title): accuracy over the seeds along each parameter."""
    found = cells(outcomes, "parameters", ("paper",))
    named = several_encoders(found)
    return {way.title(named): _curves(found, way) for way in found}


def _curves(found: Cells, way: Way) -> Curves:
    return {
        parameter: {
            dataset: {
                value: Spread.of(o.accuracy for o in several)
                for value, several in curve(found[way][dataset], parameter).items()
            }
            for dataset in datasets(found)
            if dataset in found[way]
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
        "spouse, the learning rate too small or the hidden size too large.",
        *(
            part
            for title, by_parameter in curves(outcomes).items()
            for part in (f"{title}:", *(_block(*one) for one in by_parameter.items()))
        ),
        "\n".join(f"- {said}" for said in _sentences(curves(outcomes))),
        gold_words(titled),
        conditions([o for several in titled.values() for o in several]),
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
