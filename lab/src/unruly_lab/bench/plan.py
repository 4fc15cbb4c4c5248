"""What is to be run: experiments × data sets × methods × seeds, the most informative first.

`--quick` trains for a short time and tries few values: its figures are for a first look, not for quoting.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace

from unruly_lab.bench.datasets import Folder
from unruly_lab.bench.measuring import KEYWORD_METHODS, Keywords, origin
from unruly_lab.bench.paper_figures import CLEAN_SHARES, RANGES, Chosen, Ranges
from unruly_lab.bench.runs import AUTO, GIVEN, Failure, Outcome, Run, Setting
from unruly_lab.bench.trials import STUDY, Trial, changes, propose, scored
from unruly_lab.peers.systems import SYSTEMS, entry

QUICK_SHARES = (0.02, 0.2, 1.0)
QUICK_RANGES = Ranges(
    hidden=(32, 128, 512), learning_rate=(0.001, 0.02, 0.05), c1=(0.1, 0.5), c3=(0.1, 0.5)
)
QUICK_SEEDS, QUICK_TRIALS = 2, 8

_PAPER: tuple[Setting, ...] = (("epochs", 100),)
_DENOISING: tuple[Setting, ...] = (("settings.epochs", 100),)
_ULMFIT: tuple[Setting, ...] = (
    ("epochs", 4),
    ("classifier_tokens", 100_000),
    ("language.epochs", 5),
    ("language.tokens", 100_000),
)
QUICK: dict[str, tuple[Setting, ...]] = {
    **dict.fromkeys(
        ("paper", "paper-voters", "rule-only", "neural-only", "neural-self", "rule-neural"), _PAPER
    ),
    "bert-mlp-denoised": _DENOISING,
    "ulmfit": _ULMFIT,
    "ulmfit-denoised": (*_ULMFIT, *_DENOISING),
    **dict.fromkeys(
        ("westclass", "westclass-published"),
        (("beta", 300), ("pretrain_epochs", 12), ("rounds", 8), ("batches", 20)),
    ),
}


PAPER, DEFAULT = "paper", "default"
CLEAN_METHODS = (PAPER, DEFAULT, "bert-mlp-gold")
# They keep no epoch, so validation labels have nothing to choose.
WITHOUT_EPOCHS = (
    "majority-vote",
    "weighted-vote",
    "one-coin",
    "dawid-skene",
    "matrix-completion",
    "denoiser",
    DEFAULT,
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
        """All work, in the order in which it should be done: one seed of everything before the next."""
        return (*map(_alone, self.runs()), *(self._trials(base) for base in self.searches()))

    def runs(self) -> tuple[Run, ...]:
        """The runs that are known beforehand: all but the search's trials."""
        bases = {folder.name: self._base(folder) for folder in self.folders}
        every = [
            run
            for seed in range(self.seeds)
            for base in bases.values()
            for run in self._of(replace(base, seed=seed, draw=seed if self.rows else None))
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
            draw=0 if self.rows else None,  # each seed draws its own documents
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
            encoder=AUTO if method == DEFAULT and base.encoder != GIVEN else base.encoder,
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


def _alone(run: Run) -> Chain:
    yield run
