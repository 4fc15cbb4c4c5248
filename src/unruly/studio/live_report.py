"""The report's verdict and charts, for the model that is shown, on a sample of the documents."""

from __future__ import annotations

from dataclasses import dataclass

from unruly.features.cache import Cache
from unruly.report.charts.confidence import calibration_chart, confidence_chart
from unruly.report.charts.matrices import agreement_map, confusion_chart
from unruly.report.charts.sources import bubble_chart
from unruly.report.charts.training import training_curves
from unruly.report.facts import Facts, gather
from unruly.report.markup import Chart
from unruly.report.verdict import Verdict, verdict
from unruly.sampling import sample_rows
from unruly.studio.training import Trainer

SAMPLE = 5_000  # documents that the charts are drawn from


@dataclass(frozen=True)
class LiveReport:
    """What the report would begin with."""

    verdict: Verdict
    charts: tuple[Chart, ...]
    documents: int  # that they are drawn from


def live_report(trainer: Trainer) -> LiveReport | None:
    """The verdict on the shown model; None without one."""
    model, state = trainer.current, trainer.workspace.state
    if model is None:
        return None
    rows = sample_rows(state.n, SAMPLE)
    test = state.project.corpus("test") if state.project.data.test else None
    facts = gather(
        model.path.name,
        trainer.opened(model)._fitted(),
        state.corpus.take(rows),
        test,
        cache=Cache(),
    )
    return LiveReport(verdict(facts), _charts(facts), len(rows))


def _charts(facts: Facts) -> tuple[Chart, ...]:
    scores = facts.evaluation
    found = [
        bubble_chart(facts.sources),
        agreement_map(facts.pairs),
        confidence_chart(facts.confidence),
        calibration_chart(
            facts.confidence, None if scores is None else scores.everything.model.calibration_error
        ),
        None
        if scores is None
        else confusion_chart(scores.everything.model.confusion, facts.classes),
        training_curves(facts.history),
    ]
    return tuple(chart for chart in found if chart is not None)
