"""A project fitted and scored: what `unruly fit` does between reading and writing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unruly.features.spec import encoder_from
from unruly.model.evaluation import Evaluation
from unruly.model.weak_classifier import WeakClassifier
from unruly.progress import SILENT, Progress
from unruly.project.blame import blamed_on_its_line
from unruly.project.project import Project
from unruly.rules.cache import Cache
from unruly.texts.corpus import Corpus

TRAIN_FILE = "the train file"
FLATTERS = (
    "this flatters: the model has learnt from these very documents, and new ones may fare worse; "
    'name others by test = "..." under [data]'
)


@dataclass(frozen=True, eq=False)
class FittedProject:
    """A fitted model, and its figures where there was gold to score against."""

    model: WeakClassifier
    scored_on: str | None
    evaluation: Evaluation | None

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **self.model.summary_.to_plain(),
            "scored_on": self.scored_on,
            "evaluation": self.evaluation.to_plain() if self.evaluation else None,
        }

    def __str__(self) -> str:
        lines = [str(self.model.summary_)]
        if self.evaluation is not None:
            lines += ["", f"against the gold labels of {self.scored_on}"]
            lines += [FLATTERS] if self.scored_on == TRAIN_FILE else []
            lines.append(str(self.evaluation))
        return "\n".join(lines)


def fit_project(
    project: Project, progress: Progress = SILENT, *, score: bool = True
) -> FittedProject:
    """Vote, fit, and score: on the test file, or without one on the training file's own labels."""
    corpus = project.corpus("train")
    with blamed_on_its_line(project):
        votes = project.sources.vote(corpus, progress, Cache.default())
    model = WeakClassifier(
        encoder=encoder_from(project.encoder, project.folder),
        class_prior=project.prior,
        settings=project.settings,
    )
    model.fit(
        corpus,
        votes,
        clean=project.clean_labels(corpus) if project.data.clean else None,
        valid=_validation(project),
        progress=progress,
    )
    documents = project.corpus("test") if project.data.test else corpus
    if not score or not _has_gold(documents):
        return FittedProject(model, None, None)
    scored_on = "the test file" if project.data.test else TRAIN_FILE
    return FittedProject(model, scored_on, model.evaluate(documents, progress=progress))


def _validation(project: Project) -> Corpus | None:
    """The validation file, only when the settings ask for its labels."""
    asked = project.settings.selection == "gold" or project.settings.calibrate
    return project.corpus("valid") if asked and project.data.valid else None


def _has_gold(corpus: Corpus) -> bool:
    return corpus.gold is not None and bool((corpus.gold >= 0).any())
