"""What is to be run: experiments × data sets × methods × seeds, the most telling first."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from unruly.bench.datasets import Folder
from unruly.bench.keywords import KEYWORD_METHODS, origin
from unruly.bench.making import Keywords
from unruly.bench.paper_figures import CLEAN_SHARES, RANGES, Chosen
from unruly.bench.parameter_study import STUDY, changes
from unruly.bench.quick import QUICK, QUICK_RANGES, QUICK_SHARES
from unruly.bench.run import GIVEN, Failure, Outcome, Run, Setting
from unruly.bench.search import Trial, propose, scored
from unruly.peers.systems import SYSTEMS, entry

PAPER = "paper"
CLEAN_METHODS = (PAPER, "default", "bert-mlp-gold")
# They keep no epoch, so validation labels have nothing to choose.
WITHOUT_EPOCHS = (
    "majority-vote",
    "weighted-vote",
    "one-coin",
    "dawid-skene",
    "matrix-completion",
    "denoiser",
    "default",
)

Chain = Generator[Run, Outcome | Failure, None]  # each run of it may depend on the ones before


@dataclass(frozen=True)
class Plan:
    """What was asked for."""

    folders: tuple[Folder, ...]
    methods: tuple[str, ...] = tuple(known.name for known in SYSTEMS)
    experiments: tuple[str, ...] = ("main",)
    encoder: str = "minilm"
    seeds: int = 5
    selections: tuple[str, ...] = ("none",)
    rows: int | None = None
    trials: int = 30  # of each search
    priors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # by data set
    keywords: Mapping[str, Keywords] = field(default_factory=dict)  # by data set
    quick: bool = False  # fewer epochs, fewer values

    def chains(self) -> tuple[Chain, ...]:
        """All work, in the order in which it is worth doing: one seed of everything before the next."""
        return (*map(_alone, self.runs()), *(self._trials(base) for base in self.searches()))

    def runs(self) -> tuple[Run, ...]:
        """The runs that are known beforehand: all but the search's trials."""
        bases = {folder.name: self._base(folder) for folder in self.folders}
        every = [
            run
            for seed in range(self.seeds)
            for base in bases.values()
            for run in self._of(replace(base, seed=seed))
        ]
        order = {name: place for place, name in enumerate(self.experiments)}
        return tuple(sorted(every, key=lambda run: order[run.experiment]))

    def searches(self) -> tuple[Run, ...]:
        """One run for each search; its trials are this run with other settings."""
        if "search" not in self.experiments or PAPER not in self.methods:
            return ()
        return tuple(
            self._run(self._base(folder), PAPER, experiment="search", selection=selection)
            for folder in self.folders
            for selection in self.selections
        )

    @property
    def size(self) -> int:
        """How many runs there are at most."""
        return len(self.runs()) + self.trials * len(self.searches())

    def _base(self, folder: Folder) -> Run:
        return Run(
            dataset=folder.name,
            method=PAPER,
            encoder=GIVEN if folder.brings_features else self.encoder,
            rows=self.rows,
            prior=self.priors.get(folder.name),
            data=folder.digest(),
        )

    def _of(self, base: Run) -> Iterator[Run]:
        """All runs of one data set and seed."""
        if "main" in self.experiments:
            yield from self._main(base)
        if "clean" in self.experiments:
            yield from self._clean(base)
        if "parameters" in self.experiments and PAPER in self.methods:
            yield from self._parameters(base)

    def _main(self, base: Run) -> Iterator[Run]:
        for method in self.methods:
            for selection in self.selections:
                if selection == "none" or method not in WITHOUT_EPOCHS:
                    clean = 1.0 if entry(method).needs_gold else None
                    yield self._run(base, method, selection=selection, clean=clean)

    def _clean(self, base: Run) -> Iterator[Run]:
        """True labels of a share of the training documents; the last selection asked for."""
        for clean in QUICK_SHARES if self.quick else CLEAN_SHARES:
            for method in CLEAN_METHODS:
                if method in self.methods:
                    chosen = "none" if method in WITHOUT_EPOCHS else self.selections[-1]
                    yield self._run(base, method, experiment="clean", selection=chosen, clean=clean)

    def _parameters(self, base: Run) -> Iterator[Run]:
        """One hyper-parameter at a time; the others stay at the paper's defaults."""
        for settings in changes(QUICK_RANGES if self.quick else STUDY):
            yield self._run(
                base, PAPER, settings, experiment="parameters", selection=self.selections[-1]
            )

    def _run(
        self,
        base: Run,
        method: str,
        settings: tuple[Setting, ...] = (),
        *,
        experiment: str = "main",
        selection: str = "none",
        clean: float | None = None,
    ) -> Run:
        words = self.keywords.get(base.dataset)
        return replace(
            base,
            method=method,
            experiment=experiment,
            selection=selection,
            clean=clean,
            settings=(*(QUICK.get(method, ()) if self.quick else ()), *settings),
            keywords=origin(words) if method in KEYWORD_METHODS else "",
        )

    def _trials(self, base: Run) -> Chain:
        """A search, trial by trial; it ends where one has no score, for the rest depends on it."""
        past: list[Trial] = []
        while len(past) < self.trials:
            chosen, drawn = propose(past, base.seed, RANGES)
            outcome = yield trial_run(base, chosen)
            if isinstance(outcome, Failure) or math.isnan(scored(outcome).objective):
                return
            past.append(Trial(len(past), chosen, drawn, scored(outcome)))


def trial_run(base: Run, chosen: Chosen) -> Run:
    """The run of one trial."""
    values: tuple[Setting, ...] = (
        ("hidden", chosen.hidden),
        ("learning_rate", chosen.learning_rate),
        ("c1", chosen.c1),
        ("c3", chosen.c3),
    )
    return replace(base, settings=(*base.settings, *values))


def installed() -> tuple[str, ...]:
    """All methods that this machine can run: one of them is another library's."""
    missing = {"snorkel-package"} if find_spec("snorkel") is None else set()
    return tuple(known.name for known in SYSTEMS if known.name not in missing)


def _alone(run: Run) -> Chain:
    yield run
