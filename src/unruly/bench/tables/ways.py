"""Outcomes sorted for a table: by method, how its epoch was chosen, encoder and data set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from unruly.bench.paper_figures import DATASETS
from unruly.bench.parameter_study import PARAMETERS
from unruly.bench.run import GIVEN, Outcome, Run
from unruly.peers.systems import SYSTEMS, entry


@dataclass(frozen=True)
class Way:
    """One line of a table: the same method, used in the same way."""

    method: str
    selection: str  # "none" or "gold"
    encoder: str
    prior: bool = False  # the method was told the share of each class

    def title(self, encoders: bool = False) -> str:
        """As a table names it; with the encoder where there are several.

        >>> Way("paper", "gold", "minilm").title()
        "The paper's method, epoch by gold"
        """
        said = entry(self.method).title + (", epoch by gold" if self.selection == "gold" else "")
        said += ", prior given" if self.prior else ""
        return f"{said} ({self.encoder})" if encoders else said


Cells = dict[Way, dict[str, list[Outcome]]]


def cells(
    outcomes: Iterable[Outcome], experiment: str, methods: Collection[str] | None = None
) -> Cells:
    """The outcomes of one experiment, each list being the seeds of one cell.

    Where a cell was run on fewer documents (`--rows`) and on more, those on most count; where it was run
    in short (`--quick`) and in full, those in full.
    """
    chosen = [
        o
        for o in outcomes
        if o.run.experiment == experiment and (methods is None or o.run.method in methods)
    ]
    encoder = _encoder_beside_given(chosen)
    found: Cells = {}
    for o in sorted(chosen, key=_place):
        told = o.run.prior is not None
        way = Way(o.run.method, o.run.selection, encoder(o.run.encoder), told)
        found.setdefault(way, {}).setdefault(o.run.dataset, []).append(o)
    return {
        way: {dataset: _fullest(several) for dataset, several in by_dataset.items()}
        for way, by_dataset in found.items()
    }


def several_encoders(found: Cells) -> bool:
    """Whether titles must name the encoder."""
    return len({way.encoder for way in found}) > 1


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


def shortened(run: Run) -> bool:
    """Whether a run had less training than its method's own: what `--quick` does.

    >>> shortened(Run("imdb", "paper", settings=(("epochs", 100),)))
    True
    >>> shortened(Run("imdb", "paper", experiment="parameters", settings=(("c1", 0.5),)))
    False
    """
    return any(name not in PARAMETERS for name, _ in run.settings)


def _place(o: Outcome) -> tuple[int, bool, int]:
    names = [known.name for known in SYSTEMS]
    at = names.index(o.run.method) if o.run.method in names else len(names)
    return at, o.run.selection == "gold", o.run.seed


def _encoder_beside_given(outcomes: Sequence[Outcome]) -> Callable[[str], str]:
    """A folder's own features stand in the line of the one encoder that the others were run with."""
    named = {o.run.encoder for o in outcomes} - {GIVEN}
    only = named.pop() if len(named) == 1 else GIVEN
    return lambda encoder: only if encoder == GIVEN else encoder


def _fullest(several: Sequence[Outcome]) -> list[Outcome]:
    most = max(o.documents[0] for o in several)
    kept = [o for o in several if o.documents[0] == most]
    kept = [o for o in kept if not shortened(o.run)] or kept
    return list({replace(o.run, data=""): o for o in kept}.values())  # the latest of equals
