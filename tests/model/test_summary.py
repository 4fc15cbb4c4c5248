"""The fit's summary."""

from __future__ import annotations

import json

from tests.model.planted import planted, quick

from unruly.model.summary import FitSummary


def test_the_summary_tells_the_votes_the_heads_and_the_gold() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    told = model.summary_
    answers = model.predictions(data.features, data.votes)
    assert told.documents == 200
    assert told.covered == data.votes.covered.sum()
    assert sum(told.labels) == 200
    same = answers.heads.denoiser.argmax(axis=1) == answers.heads.classifier.argmax(axis=1)
    assert told.agreement == same[data.votes.covered].mean()
    for j, line in enumerate(told.sources):
        cast = data.matrix[:, j] >= 0
        assert line.votes == cast.sum()
        assert line.coverage == cast.mean()
        assert line.reliability == model.reliability_[j]
        assert line.agreement == (data.matrix[cast, j] == answers.numbers[cast]).mean()
    lines = str(told).splitlines()
    assert lines[-1] == "gold labels: none used"
    assert all(any(line.startswith(name) for line in lines) for name in data.votes.sources)
    assert told.kept_epoch == told.epochs == 40


def test_the_summary_survives_json() -> None:
    data = planted()
    told = quick().fit(data.features, data.votes, clean={0: "c1"}).summary_
    plain = json.loads(json.dumps(told.to_plain(), allow_nan=False))
    assert FitSummary.from_plain(plain) == told
    assert "1 for training" in str(told)
