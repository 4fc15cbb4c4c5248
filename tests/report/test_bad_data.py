"""The report of models that were really fitted, on projects where they do badly: every sentence must hold there."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.bad_projects import inverted, one_bad_word, one_class_each, three_documents
from tests.report.written import section_of

from unruly.findings import Conflict, SharesUnknown, SilentSource, WeakSource, WeakWord
from unruly.ledger import Use
from unruly.model.critique import DisableSource, DropWord, remedy_of
from unruly.model.weak_classifier import WeakClassifier
from unruly.project.project import Project
from unruly.project.suggestions import suggest
from unruly.report.facts import SUGGESTIONS, Facts, gather
from unruly.report.page import page
from unruly.sentences import sentence


@dataclass(frozen=True, eq=False)
class Bad:
    """A project, its model, and the facts of the report."""

    project: Project
    model: WeakClassifier
    facts: Facts

    @property
    def page(self) -> str:
        return page(self.facts)


def made(folder: Path) -> Bad:
    project = Project.read(folder)
    model = project.fit().model
    return Bad(project, model, gather("m", model.fitted, project.corpus("train")))


@pytest.fixture(scope="module")
def upside_down(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return made(inverted(tmp_path_factory.mktemp("inverted") / "p"))


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return made(inverted(tmp_path_factory.mktemp("stated") / "p", prior=(0.5, 0.5)))


@pytest.fixture(scope="module")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return made(one_bad_word(tmp_path_factory.mktemp("skewed") / "p"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return made(three_documents(tmp_path_factory.mktemp("three") / "p"))


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return made(one_class_each(tmp_path_factory.mktemp("weather") / "p"))


def test_the_model_is_as_bad_as_these_tests_need(upside_down: Bad) -> None:
    assert upside_down.facts.evaluation is not None
    assert upside_down.facts.evaluation.everything.model.accuracy.high < 0.2


def test_suggestions_are_those_of_the_command_that_has_no_gold(upside_down: Bad) -> None:
    own = {(s.label, s.condition) for s in upside_down.facts.suggestions}
    plain = suggest(upside_down.project, 15, upside_down.model)
    assert own == {(s.label, s.condition) for s in plain.suggestions if not s.guess}
    scored = [s for s in upside_down.facts.suggestions if s.measured is not None]
    assert any(
        s.measured.high < s.accuracy.low for s in scored if s.measured
    )  # really contradicted
    assert all(s.changed is not None for s in scored)


def test_with_labels_by_hand_the_report_says_what_the_command_says(tmp_path: Path) -> None:
    folder = inverted(tmp_path / "p")
    read = Project.read(folder).corpus("train")
    assert read.gold is not None
    lines = [f"t{row},{('dull', 'fun')[read.gold[row]]}" for row in range(60)]
    (folder / "labels.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    project = Project.read(folder)
    model, corpus = project.fit().model, replace(read, gold=None)
    facts = gather("m", model.fitted, corpus, labels=project.labels(corpus))
    plain = suggest(project, SUGGESTIONS, model)
    assert facts.critique == plain.critique
    assert facts.suggestions == tuple(one for one in plain.suggestions if not one.guess)
    measured = {c.source for c in facts.critique if isinstance(c, WeakSource) and c.measured}
    assert measured >= {"north", "south"}
    assert facts.ledger.used_for(Use.ADVICE)
    fitted = {n.source for n in model.summary_.notes if isinstance(n, WeakSource) and n.measured}
    assert fitted <= measured
    assert "north" in fitted
    assert "enough labels by hand are measured on these" in page(facts)


def test_gold_that_judges_sources_is_a_use_of_its_own(upside_down: Bad) -> None:
    uses = {entry.use: entry.labels for entry in upside_down.facts.ledger.entries}
    assert uses == {Use.SCORING: 500, Use.ADVICE: 500}
    text = section_of(upside_down.page, "advice")
    assert "because of these scores, score the next model on other labels" in " ".join(text.split())


def test_an_estimate_that_is_measured_to_be_wrong_is_called_so(upside_down: Bad) -> None:
    below = [n for n in upside_down.facts.summary.notes if isinstance(n, WeakSource)]
    assert {note.source for note in below} == {"cheer", "gloom"}  # the two that are right
    verdict = section_of(upside_down.page, "verdict")
    for name in ("cheer", "gloom"):
        assert re.search(
            rf"{name} is right on 100\.0% .* of its votes \(measured on .*, but was estimated at \d+\.\d% .*: the model is wrong",
            verdict,
        )
    assert "disable it" not in verdict
    named = {c.source for c in upside_down.facts.critique if isinstance(c, WeakSource)}
    assert named == {"north", "south", "east", "spring", "summer"}


def test_no_more_is_promised_of_new_documents(upside_down: Bad) -> None:
    verdict = section_of(upside_down.page, "verdict")
    assert "Expect less" not in verdict
    assert "ptimistic" not in verdict
    assert "on new ones the figures may differ" in verdict
    assert re.search(
        r"Always predicting dull would be right on \d\d\.\d%: more than the model", verdict
    )


def test_the_weight_of_a_source_lies_among_its_weights_on_documents(upside_down: Bad) -> None:
    for weights in upside_down.facts.weights:
        assert weights.mean is not None
        assert weights.quantiles[0] <= weights.mean <= weights.quantiles[-1]
    text = section_of(upside_down.page, "weights")
    assert "a source that is taken to be mostly wrong count against their class" in text


def test_explanations_call_a_share_what_it_is(upside_down: Bad) -> None:
    told = str(upside_down.model.explain("merry north"))
    cheer = next(line for line in told.splitlines() if line.startswith("cheer"))
    odds, accuracy = cheer.split()[2:4]
    assert float(odds.removeprefix("×").removesuffix("-")) < 0.5  # it moves much, against its class
    assert int(accuracy.removesuffix("%")) < 20
    assert "overall" not in told


def test_without_probabilities_nothing_is_said_to_stay_as_it_is(upside_down: Bad) -> None:
    facts = gather("m", upside_down.model.fitted)
    assert facts.suggestions
    assert all(s.changed is None for s in facts.suggestions)
    assert "predictions changed" not in section_of(page(facts), "advice")


def test_three_documents_are_not_judged(tiny: Bad) -> None:
    assert not [n for n in tiny.facts.summary.notes if isinstance(n, WeakSource)]
    advice = section_of(tiny.page, "advice")
    assert "Not judged: no source has 20 votes." in advice
    assert "Not judged: no word has 20 votes." in advice
    assert "+" in advice  # what a source adds is measured, on three labels
    assert tiny.facts.ledger.used_for(Use.ADVICE) == 3


def test_that_sources_of_one_class_disagree_is_no_news(weather: Bad) -> None:
    assert "agreement" not in re.findall(r'<section id="(\w+)">', weather.page)
    assert 'href="#agreement"' not in weather.page
    assert "overlaps" in section_of(weather.page, "sources")
    conflicts = [c for c in weather.facts.critique if isinstance(c, Conflict)]
    assert conflicts
    assert all(c.opposed and c.conflicts < c.votes for c in conflicts)
    advice = section_of(weather.page, "advice")
    assert re.search(
        r"votes for \w+ and \w+ words for \w+ on the same \d+ documents, \d\d% of", advice
    )


def test_no_list_is_to_be_dropped_as_a_whole(upside_down: Bad, weather: Bad) -> None:
    for bad in (upside_down, weather):
        weak = [c for c in bad.facts.critique if isinstance(c, WeakWord)]
        assert all(c.accuracy.high < c.others.low for c in weak)


@pytest.mark.parametrize("which", ["stated", "weather"])
def test_a_source_has_the_estimate_of_its_fit(which: str, request: pytest.FixtureRequest) -> None:
    bad: Bad = request.getfixturevalue(which)
    lines = {line.name: line for line in bad.model.summary_.sources}
    weak = [
        c
        for c in bad.model.critique_rules(bad.project.corpus("train"))
        if isinstance(c, WeakSource)
    ]
    weak += [c for c in suggest(bad.project, 1).critique if isinstance(c, WeakSource)]
    for one in weak:
        assert one.accuracy == lines[one.source].estimated
    assert bool(weak) == (which == "stated")


@pytest.mark.parametrize("which", ["upside_down", "weather", "skewed"])
def test_where_shares_are_assumed_no_estimate_asks_to_drop_or_to_disable(
    which: str, request: pytest.FixtureRequest
) -> None:
    bad: Bad = request.getfixturevalue(which)
    assert bad.model.summary_.known_shares is None
    for found in (
        bad.model.critique_rules(bad.project.corpus("train")),
        suggest(bad.project, 1).critique,
        suggest(bad.project, 1, bad.model).critique,
        gather("m", bad.model.fitted).critique,
    ):
        assert found[0] == SharesUnknown()
        asked = [remedy_of(one) for one in found]
        assert not [one for one in asked if isinstance(one, DropWord | DisableSource)]
    ungraded = page(gather("m", bad.model.fitted))
    text = section_of(ungraded, "advice")
    assert "Class shares are not known, and estimated accuracies depend on them" in text
    assert "is right on half of them or more" not in text
    assert "disable it" not in text.split("What each source adds")[0]


def test_no_source_is_to_be_disabled_on_a_page_that_says_it_adds_points(
    upside_down: Bad, stated: Bad, weather: Bad, skewed: Bad
) -> None:
    for bad in (upside_down, stated, weather, skewed):
        adding = {r.source for r in bad.facts.removals if r.adds is not None and r.adds.value > 0}
        assert adding
        for one in bad.facts.critique:
            remedy = remedy_of(one)
            assert not isinstance(remedy, DisableSource) or remedy.source not in adding
            if "disable" in sentence(one):
                assert isinstance(one, WeakSource | SilentSource)
                assert one.source not in adding


def test_at_random_has_one_meaning(
    upside_down: Bad, stated: Bad, weather: Bad, skewed: Bad
) -> None:
    for bad in (upside_down, stated, weather, skewed):
        assert bad.facts.suggestions or bad is not upside_down
        for text in (bad.page, page(gather("m", bad.model.fitted))):
            assert not re.search(r"(?<!drawn )at random", text)
            assert "on random documents" not in text
