"""The estimator: scikit-learn's manners, what it learns, and what it makes of people's labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted
from tests.denoising.planted import drawn, skewed
from tests.model.planted import WORDS, planted, quick, texts

import unruly
from unruly.errors import InputError, SettingsError
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Features
from unruly.labelling.answers import Labelled
from unruly.ledger import Use
from unruly.model.evaluation import GoldScorer, VotesScored, vote_agreement
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.settings import PaperSettings, Settings
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes


def test_the_constructor_only_keeps_what_it_is_given() -> None:
    odd = WeakClassifier(encoder=object, method="nonsense", seed=-5, keep_documents=-1)
    assert odd.method == "nonsense"
    with pytest.raises(SettingsError):
        odd.fit([[1.0]], [[0]])


def test_parameters_clone_and_single_settings() -> None:
    model = quick(7, hidden=16)
    twin = clone(model)
    assert twin is not model
    assert twin.get_params(deep=False) == model.get_params(deep=False)
    assert twin.set_params(settings__hidden=32) is twin
    assert twin.get_params()["settings__hidden"] == 32
    assert twin.get_params()["settings__epochs"] == 7
    assert model.get_params()["settings__hidden"] == 16
    with pytest.raises(SettingsError, match="no setting is called 'hiden': did you mean 'hidden'"):
        twin.set_params(settings__hiden=3)
    with pytest.raises(ValueError, match="colour"):
        twin.set_params(colour="red")


def test_settings_of_another_method_are_refused_with_a_hint() -> None:
    data = planted(n=40)
    for model, hint in [
        (WeakClassifier(settings=PaperSettings(epochs=5)), "set method='paper', or give Settings"),
        (
            WeakClassifier(method="paper", settings=Settings()),
            "set method='default', or give PaperSettings",
        ),
        (WeakClassifier(settings={"epochs": 5}), r"must be Settings\(...\)"),  # type: ignore[arg-type]
        (WeakClassifier(method="papr"), "did you mean 'paper'"),
        (WeakClassifier(method="paper", class_prior=[0.5, 0.5]), "class_prior is not used"),
        (WeakClassifier(seed=-1), "seed = -1"),
        (WeakClassifier(seed=2**128), "seed is too large: it may have 128 bits"),
    ]:
        with pytest.raises(SettingsError, match=hint):
            model.fit(data.features, data.votes)
    fitted = quick(5).set_params(seed=3).fit(data.features, data.votes)
    assert fitted.settings_ == fitted.settings
    assert len(fitted.history_) == 5


def test_a_single_setting_belongs_to_the_method() -> None:
    with pytest.raises(SettingsError, match="no setting is called 'epochs'"):
        WeakClassifier().set_params(settings__epochs=5)
    assert WeakClassifier().set_params(
        method="paper", settings__epochs=5
    ).settings == PaperSettings(epochs=5)


def test_a_wrong_prior_is_refused_by_fit_not_by_init() -> None:
    data = planted(n=20)
    for wrong in ([1, 2, 3], [0.9, 0.2], {"c9": 0.5}):
        with pytest.raises(SettingsError, match="prior"):
            WeakClassifier(class_prior=wrong).fit(data.features, data.votes)


def test_it_is_a_classifier_and_knows_when_it_is_fitted() -> None:
    data = planted(n=40)
    model = quick()
    assert is_classifier(model)
    with pytest.raises(NotFittedError, match="call fit"):
        model.predict(data.features)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError, match="call fit"):
        _ = model.fitted
    check_is_fitted(model.fit(data.features, data.votes))
    assert model.fitted.classes == ("c0", "c1")


def test_learned_attributes() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    assert model.classes_.tolist() == ["c0", "c1"]
    assert model.sources_ == data.votes.sources
    assert model.reliability_.sum() == pytest.approx(1)
    assert [epoch.number for epoch in model.history_] == list(range(1, 41))
    assert model.n_features_in_ == 8
    assert model.ledger_.gold_free
    assert model.encoder_ is None
    assert model.summary_.coverage == data.votes.coverage


def test_better_sources_get_more_reliability_and_the_text_fills_the_gaps() -> None:
    data = planted(n=400)
    model = quick().fit(data.features, data.votes)
    found = model.evaluate(data.features, data.gold, data.votes)
    assert found.everything.gain.low > 0
    assert found.uncovered is not None
    assert found.uncovered.model.accuracy.value > 0.85


def test_classes_go_by_number_when_only_a_matrix_is_given() -> None:
    data = planted()
    model = quick().fit(data.features, data.matrix)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(data.features).dtype.kind == "i"
    assert model.score(data.features, data.gold) > 0.85


def test_frames_lists_arrays_and_features_are_the_same_to_it() -> None:
    data = planted(n=60)
    names = [f"x{i}" for i in range(8)]
    frame = pl.DataFrame(data.features, schema=names)
    expected = quick().fit(data.features, data.votes).predict_proba(data.features)
    for given in (
        frame,
        frame.to_pandas(),
        data.features.tolist(),
        Features.from_array(data.features),
    ):
        model = quick().fit(given, data.votes)
        np.testing.assert_array_equal(model.predict_proba(given), expected)


def test_votes_change_answers_and_may_come_in_another_order() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    turned = Votes.from_array(
        data.matrix[:, ::-1], classes=data.votes.classes, sources=data.votes.sources[::-1]
    )
    straight = model.predict_proba(data.features, data.votes)
    np.testing.assert_array_equal(straight, model.predict_proba(data.features, turned))
    assert (straight != model.predict_proba(data.features)).any()


def test_classes_in_another_order_are_turned_round() -> None:
    data = planted()
    model = quick().fit(data.features, data.votes)
    flipped = np.where(data.matrix < 0, -1, 1 - data.matrix)
    other = Votes.from_array(flipped, classes=["c1", "c0"])
    np.testing.assert_array_equal(
        model.predict_proba(data.features, other), model.predict_proba(data.features, data.votes)
    )


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        (np.zeros((200, 4), dtype=int), "one column for each of the 5 sources"),
        (np.zeros((9, 5), dtype=int), "200 documents and votes on 9"),
        (Votes.from_array(np.zeros((200, 2)), classes=["c0", "c1"]), "only in the model"),
        (
            Votes.from_array(np.zeros((200, 5)), classes=["c0", "cx"]),
            "the votes are on the classes c0, cx",
        ),
    ],
)
def test_votes_that_do_not_fit_are_refused(votes: object, message: str) -> None:
    data = planted()
    model = quick(3).fit(data.features, data.votes)
    with pytest.raises(InputError, match=message):
        model.predict(data.features, votes)


def test_documents_and_votes_must_be_the_same_ones() -> None:
    data = planted(n=20)
    with pytest.raises(InputError, match="20 documents and votes on 19"):
        quick().fit(data.features, data.votes.take(np.arange(19)))
    for labels in (data.gold, data.gold.tolist(), pl.Series(data.gold)):
        with pytest.raises(
            InputError, match="If these are true labels, pass them as clean="
        ) as told:
            quick().fit(data.features, labels)
        assert "reshape" not in str(told.value)
    with pytest.raises(InputError, match="fit needs votes"):
        quick().fit(data.features)
    with pytest.raises(InputError, match="got one string"):
        quick().fit("one text", data.votes)


def test_other_features_are_refused_by_width() -> None:
    data = planted(n=20)
    model = quick(3).fit(data.features, data.votes)
    with pytest.raises(
        InputError, match="X has 7 features, but WeakClassifier is expecting 8 features"
    ):
        model.predict(data.features[:, :7])
    with pytest.raises(InputError, match="fitted on features, not on texts"):
        model.predict(["a text"])


def test_sparse_features_are_refused_with_the_remedy() -> None:
    from scipy.sparse import csr_matrix

    with pytest.raises(InputError, match="TruncatedSVD"):
        quick().fit(csr_matrix(np.eye(3)), [[0], [1], [0]])


def rules() -> Sources:
    return Sources(
        ["ham", "spam"],
        [Source(f"s{c}", [Rule(c, Keywords(WORDS[i][:2]))]) for i, c in enumerate(["ham", "spam"])],
    )


def test_sources_in_the_place_of_votes_cast_them() -> None:
    given, _ = texts(60)
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}, cache=False)
    by_place = clone(model).fit(given, rules())
    by_name = clone(model).fit(given, sources=rules())
    np.testing.assert_array_equal(by_place.predict_proba(given), by_name.predict_proba(given))
    assert by_place.predictions([WORDS[1][0]]).voters == [["sspam"]]  # it carries the rules
    with pytest.raises(InputError, match="sources are given twice"):
        clone(model).fit(given, rules(), sources=rules())


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        (list(rules().sources), r"rules, which have not voted yet: fit\(X, sources=Sources"),
        (len, "rules, which have not voted yet"),
        ([len], "rules, which have not voted yet"),
        (5, "a matrix of documents × sources .*not from 5"),
        ("votes", "not from 'votes'"),
        ([[0], [1, 0]], "the votes are not a matrix"),
    ],
)
def test_what_is_no_matrix_of_votes(votes: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quick().fit(np.zeros((2, 3)), votes)


def test_true_labels_in_one_column_are_not_taken_for_votes() -> None:
    data = planted(n=60)
    column = data.gold[:, None]
    for given in (column, column.tolist(), pd.DataFrame({"label": data.gold})):
        with pytest.raises(InputError, match=r"are these true labels\?.*clean="):
            quick().fit(data.features, given)
    with pytest.raises(ValueError, match=r"All the 3 fits failed"):
        cross_val_score(quick(), data.features, column, cv=3)
    one = Votes.from_array(column, sources=["annotator"])
    assert quick().fit(data.features, one).sources_ == ("annotator",)
    some = np.where(np.arange(60)[:, None] < 50, column, -1)
    assert quick().fit(data.features, some).ledger_.gold_free


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("one gap", "one column that names a class for nearly every document"),
        ("twice", "2 columns that name the same class for every document"),
        ("twice with gaps", "2 columns that name the same class for nearly every document"),
        ("one-hot", "in one-hot form"),
        ("dummies", "in one-hot form"),
    ],
)
def test_nor_in_other_forms(form: str, words: str) -> None:
    data = planted(n=60)
    gaps = np.where(np.arange(60) % 20 == 3, -1, data.gold)
    given = {
        "one gap": np.where(np.arange(60) == 3, -1, data.gold)[:, None],
        "twice": np.stack([data.gold, data.gold], axis=1),
        "twice with gaps": np.stack([data.gold, gaps], axis=1),
        "one-hot": np.eye(2, dtype=int)[data.gold],
        "dummies": pd.get_dummies(pd.Series(data.gold)),
    }[form]
    with pytest.raises(InputError, match=rf"{words}.*: are these true labels\?"):
        quick().fit(data.features, given)
    at_its_word = Votes.from_array(given, sources=[f"s{j}" for j in range(given.shape[1])])
    assert quick().fit(data.features, at_its_word).ledger_.gold_free


def test_sources_that_vote_on_everything_and_differ_are_votes() -> None:
    data = planted(n=60)
    wrong = np.where(np.arange(60) == 7, 1 - data.gold, data.gold)
    both = np.stack([data.gold, wrong], axis=1)
    assert quick().fit(data.features, both).ledger_.gold_free


def test_in_a_pipeline() -> None:
    data = planted()
    for votes in (data.votes, data.matrix):
        line = make_pipeline(StandardScaler(), quick()).fit(data.features, votes)
        said = line.predict(data.features)
        assert (np.unique(line.classes_, return_inverse=True)[0] == np.unique(said)).all()
        assert line.score(data.features, data.gold) > 0.85


def test_cross_validation_by_held_out_votes_and_by_gold() -> None:
    data = planted(n=120)
    for votes in (data.votes, data.matrix):
        with pytest.warns(VotesScored, match=r"not its accuracy.*vote_agreement.*GoldScorer"):
            said = cross_val_score(quick(), data.features, votes, cv=3)
        scores = cross_val_score(quick(), data.features, votes, cv=3, scoring=vote_agreement)
        np.testing.assert_array_equal(said, scores)
        assert ((scores > 0.6) & (scores < 0.95)).all()  # votes are right four times in five
    gold = cross_val_score(quick(), data.features, data.votes, scoring=GoldScorer(data.gold), cv=3)
    assert gold.mean() > 0.8
    predicted = cross_val_predict(quick(), data.features, data.votes, cv=3)
    assert predicted.shape == (120,)


def test_held_out_votes_score_a_pipeline_and_one_in_a_pipeline() -> None:
    data = planted(n=90)
    X, votes = data.features, data.votes
    scores = cross_val_score(quick(), X, votes, cv=3, scoring=vote_agreement)
    alone = make_pipeline(quick())
    nested = make_pipeline("passthrough", alone)
    for line in (alone, nested):
        said = cross_val_score(line, X, votes, cv=3, scoring=vote_agreement)
        np.testing.assert_array_equal(said, scores)
    scaled = make_pipeline(StandardScaler(), quick()).fit(X, votes)
    expected = scaled[-1].vote_agreement(scaled[0].transform(X), votes)
    assert vote_agreement(scaled, X, votes) == expected


def test_grid_search_without_gold() -> None:
    data = planted(n=90)
    search = GridSearchCV(quick(), {"settings__hidden": [2, 16]}, cv=2, scoring=vote_agreement)
    search.fit(data.features, data.votes)
    assert search.best_params_["settings__hidden"] in (2, 16)
    assert search.best_estimator_.settings_.hidden == search.best_params_["settings__hidden"]
    assert search.best_estimator_.ledger_.gold_free


@pytest.mark.parametrize("share", [0.005, 0.1, 0.5, 1.0])
def test_clean_labels_of_any_share_are_used_and_entered(share: float) -> None:
    data = planted(n=400)
    rows = np.random.default_rng(0).permutation(400)[: max(1, round(share * 400))]
    clean = np.full(400, -1)
    clean[rows] = data.gold[rows]
    model = quick().fit(data.features, data.votes, clean=clean)
    assert model.ledger_.used_for(Use.TRAINING) == len(rows)
    assert not model.ledger_.gold_free
    assert model.score(data.features, data.gold) > 0.85


def test_clean_labels_by_name_by_number_and_by_id_are_the_same() -> None:
    data = planted(n=60)
    names: list[str | None] = [None] * 60
    numbers = np.full(60, -1)
    by_id = {}
    for row in (3, 14, 15, 59):
        names[row] = f"c{data.gold[row]}"
        numbers[row] = data.gold[row]
        by_id[row] = names[row]
    first, *others = (
        quick().fit(data.features, data.votes, clean=clean).predict_proba(data.features)
        for clean in (names, numbers, by_id, pl.Series(names), pl.Series(names).to_pandas())
    )
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize(
    ("clean", "message"),
    [
        (["c0"] * 19, "there are 19 for 20 documents: give one for each, None where .*, or a map"),
        ({99: "c0"}, "there is no document with the id 99"),
        (["c7"] + [None] * 19, "clean labels, row 0: the label 'c7' is not a class"),
        (np.zeros((20, 2)), "not an array of shape"),
    ],
)
def test_clean_labels_that_do_not_fit_are_refused(clean: object, message: str) -> None:
    data = planted(n=20)
    with pytest.raises(InputError, match=message):
        quick().fit(data.features, data.votes, clean=clean)  # type: ignore[arg-type]


def test_gold_selects_the_epoch_only_when_given_and_asked_for() -> None:
    data, other = planted(n=100), planted(n=80, seed=5)
    valid = (other.features, other.votes, other.gold)
    with pytest.raises(InputError, match="nothing uses them"):
        quick().fit(data.features, data.votes, valid=valid)
    with pytest.raises(InputError, match="needs validation documents"):
        quick(selection="gold").fit(data.features, data.votes)
    model = quick(selection="gold").fit(data.features, data.votes, valid=valid)
    assert model.ledger_.used_for(Use.SELECTION) == 80
    kept = next(epoch for epoch in model.history_ if epoch.kept)
    assert kept.score == max(epoch.score or 0 for epoch in model.history_)


def test_calibration_by_clean_labels_is_entered() -> None:
    data = planted(n=200)
    model = quick(calibrate=True).fit(data.features, data.votes, clean=data.gold)
    assert model.ledger_.used_for(Use.CALIBRATION) == 40
    assert model.ledger_.used_for(Use.TRAINING) == 160
    told = model.evaluate(data.features, data.gold, data.votes).ledger
    assert told.used_for(Use.SCORING) == 200
    assert "calibration" in str(told)


def test_denoised_labels_are_better_than_majority_vote() -> None:
    data = planted(n=300)
    model = quick().fit(data.features, data.votes)
    soft = model.denoise()
    assert soft.shape == (300, 2)
    np.testing.assert_allclose(soft.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(soft, model.denoise(votes=data.votes))
    np.testing.assert_array_equal(soft, model.denoise(data.features, data.matrix))
    found = model.evaluate(data.features, data.gold, data.votes)
    assert (soft.argmax(axis=1) == data.gold).mean() > found.everything.majority.accuracy.value
    fewer = data.matrix.copy()
    fewer[:, 0] = -1
    assert (model.denoise(votes=fewer) != soft).any()


def test_sample_weights_in_score() -> None:
    data = planted(n=50)
    model = quick().fit(data.features, data.votes)
    right = model.predictions(data.features).numbers == data.gold
    assert model.score(data.features, data.gold, sample_weight=right) == 1.0


def test_its_picture_shows_what_is_not_usual() -> None:
    assert repr(WeakClassifier()) == "WeakClassifier()"
    shown = repr(WeakClassifier(seed=3, method="paper", settings=PaperSettings(hidden=7)))
    assert shown == "WeakClassifier(method='paper', seed=3, settings=PaperSettings(hidden=7))"


def test_public_names() -> None:
    assert unruly.WeakClassifier is WeakClassifier
    assert unruly.GoldScorer is GoldScorer
    assert unruly.vote_agreement is vote_agreement
    assert callable(unruly.load)


def test_the_report_from_python(model: WeakClassifier, corpus: Corpus, tmp_path: Path) -> None:
    page = model.report(tmp_path / "page.html", corpus)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") or text.lower().startswith("<!doctype html>")
    assert "advert" in text
    alone = model.report(tmp_path / "alone.html")
    assert "advert" in alone.read_text(encoding="utf-8")


def test_ask_gives_ids_with_probabilities() -> None:
    features, votes, truth = drawn(300, [0.8, 0.7, 0.7])
    model = WeakClassifier(seed=0).fit(features, votes)
    asked = model.ask(10)
    assert repr(asked).startswith(f"Questions(10 documents by balance: {asked.ids[0]}, ")
    assert len(asked.ids) == len(set(asked.ids)) == 10
    assert all(chance is not None and 0 < chance < 1 for chance in asked.probabilities)
    assert model.ask(10).ids == asked.ids
    known = {votes.ids[q.row]: int(truth[q.row]) for q in asked}
    assert not set(model.ask(10, labels=known).ids) & set(asked.ids)
    assert len(model.ask(5, "doubt", features, votes)) == 5
    with pytest.raises(InputError, match="pass the documents as X=corpus, votes=votes"):
        model.ask(5, features, votes)  # type: ignore[arg-type]


def test_a_loaded_model_says_how_documents_are_passed(
    model: WeakClassifier, tmp_path: Path
) -> None:
    model.save(tmp_path / "model.unruly")
    loaded = unruly.load(tmp_path / "model.unruly")
    for call in (loaded.ask, loaded.denoise):
        with pytest.raises(InputError, match="pass them, X=corpus, votes=votes"):
            call()


def test_a_row_of_a_frame_that_lost_its_columns_is_not_one_document(model: WeakClassifier) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": ["click my channel"], "note": ["first"]})
    with pytest.raises(InputError, match=r"one row of a frame, frame\.iloc\[\[0\]\]"):
        model.explain(frame.iloc[0])
    assert model.explain(frame.iloc[[0]]).label == model.predict(["click my channel"])[0]


def test_labels_drawn_by_the_model_make_it_better() -> None:
    features, votes, truth = skewed(600, 0.15, [0.75, 0.7, 0.7, 0.65], signal=0.3)
    plain = WeakClassifier(seed=0).fit(features, votes)
    numbers, weights = np.full(votes.n, -1), np.zeros(votes.n)
    for question in plain.ask(40):
        numbers[question.row] = truth[question.row]
        weights[question.row] = 1 / (question.probability or 1)
    labels = Labelled(numbers, weights, numbers >= 0, (), "labels.csv")
    told = WeakClassifier(seed=0).fit(features, votes, clean=labels)
    rest = numbers < 0

    def right(model: WeakClassifier) -> float:
        return float((model.predictions(features, votes).numbers == truth)[rest].mean())

    assert right(told) > right(plain)
    assert str(told.ledger_) == (
        "gold labels: 40 for training (labels.csv), 40 for prior (labels.csv), "
        "40 for calibration (labels.csv)"
    )
    preview = plain.preview_labels(labels)
    assert np.array_equal(preview, told.denoise())
    assert right(plain) == right(WeakClassifier(seed=0).fit(features, votes))  # left as it was
    judged = plain.estimate_accuracy(labels)
    assert judged.held_out == 0
    assert judged.accuracy.low <= right(plain) <= judged.accuracy.high
    assert told.estimate_accuracy(labels).held_out == 5


def test_labels_that_came_later_judge_the_model_as_it_is(tmp_path: Path) -> None:
    """Trained on few labels and judged by many: the interval is about that model, not about one trained on all."""
    held, better = 0, 0
    for seed in range(5):
        features, votes, truth = skewed(600, 0.08, [0.75, 0.7, 0.7], seed=seed, signal=0.3)
        rng = np.random.default_rng(seed)
        rows = rng.permutation(votes.n)[:82]
        few, many = np.full(votes.n, -1), np.full(votes.n, -1)
        few[rows[:2]], many[rows] = truth[rows[:2]], truth[rows]
        model = WeakClassifier(seed=0).fit(features, votes, clean=few)
        right = (model.predictions(features, votes).numbers == truth)[many < 0].mean()
        if not seed:
            model.save(tmp_path / "m.unruly")
            model = unruly.load(tmp_path / "m.unruly")
        found = model.estimate_accuracy(many, features, votes)
        assert (found.labels, found.trained, found.held_out) == (82, 2, 2)
        held += found.accuracy.low <= right <= found.accuracy.high
        all_of_them = WeakClassifier(seed=0).fit(features, votes, clean=many)
        better += all_of_them.estimate_accuracy(many).accuracy.low > right
    assert held >= 4
    assert better >= 2  # what was told before, of a model that does not exist


def test_labels_that_were_chosen_teach_but_do_not_tell_the_balance() -> None:
    features, votes, truth = drawn(300, [0.8, 0.7, 0.7])
    numbers = np.full(300, -1)
    numbers[:20] = truth[:20]
    chosen = Labelled(numbers, np.zeros(300), numbers >= 0, (), "labels.csv")
    model = WeakClassifier(seed=0).fit(features, votes, clean=chosen)
    assert str(model.ledger_) == "gold labels: 20 for training (labels.csv)"
    assert np.isfinite(model.denoise()).all()


def test_the_papers_method_is_judged_too() -> None:
    features, votes, truth = drawn(150, [0.8, 0.7, 0.7])
    numbers = np.full(150, -1)
    numbers[:30] = truth[:30]
    model = WeakClassifier(method="paper", settings=PaperSettings(epochs=3), seed=0)
    model.fit(features, votes, clean=numbers)
    found = model.estimate_accuracy(numbers)
    assert found.held_out == 5
    assert found.labels == 30


def test_labels_of_other_documents_are_refused() -> None:
    features, votes, _ = drawn(60, [0.8, 0.7])
    model = WeakClassifier(seed=0).fit(features, votes)
    with pytest.raises(InputError, match="they must be the same"):
        model.estimate_accuracy(Labelled.alike(np.zeros(9, np.int64)))
    with pytest.raises(InputError, match="they must be the same"):
        model.fit(features, votes, clean=Labelled.alike(np.zeros(9, np.int64)))


def test_a_folder_is_never_replaced_by_a_file(
    model: WeakClassifier, corpus: Corpus, tmp_path: Path
) -> None:
    folder = tmp_path / "spam.csv"
    folder.mkdir()
    (folder / "mine.txt").write_text("years of work")
    votes = Votes.from_array([[0], [1]])
    writes = (
        lambda: model.save(folder),
        lambda: model.report(folder, corpus),
        lambda: votes.write(folder),
        lambda: votes.write(folder.rename(folder.with_suffix(".parquet"))),
    )
    for write in writes:
        with pytest.raises(InputError, match="it is a folder: pass a file"):
            write()
    assert (tmp_path / "spam.parquet" / "mine.txt").read_text() == "years of work"
    assert len(list(tmp_path.glob("*.csv"))) == 0


def test_a_report_does_not_take_the_place_of_its_documents(
    model: WeakClassifier, tmp_path: Path
) -> None:
    data = tmp_path / "new.csv"
    data.write_text("text\na lovely song\n")
    with pytest.raises(InputError, match="one of the inputs"):
        model.report(data, data)
    assert data.read_text() == "text\na lovely song\n"


def two_sources() -> Sources:
    spam, ham = Rule("spam", Keywords(WORDS[1][:3])), Rule("ham", Keywords(WORDS[0][:3]))
    return Sources(["ham", "spam"], [Source("s", [spam]), Source("h", [ham])])


@pytest.mark.parametrize("method", ["default", "paper"])
def test_documents_without_text_and_votes_get_the_same_everywhere(method: str) -> None:
    """What predicts, denoises and asks treats blank documents alike: they get the class shares."""
    corpus = Corpus.from_texts([*texts(60)[0], " ", ""])
    rules = two_sources()
    model = WeakClassifier("lsa", method=method, cache=False).fit(corpus, sources=rules)
    votes = rules.vote(corpus)
    predicted = model.predict_proba(corpus)
    np.testing.assert_array_equal(predicted[-1], predicted[-2])
    np.testing.assert_allclose(predicted[-1].sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(model.denoise(), predicted, rtol=1e-5)
    np.testing.assert_allclose(model.denoise(corpus, votes), predicted, rtol=1e-5)
    balance = model.summary_.shares
    if balance is not None:
        np.testing.assert_allclose(predicted[-1], balance, rtol=1e-6)


def test_labels_that_were_trained_on_are_held_out_whatever_other_columns_there_are() -> None:
    told, _ = texts(60)
    frame = pl.DataFrame({"text": ["nothing"] * 60, "note": told})
    corpus = Corpus.from_frame(frame, text="note")
    rules = two_sources()
    labels = ["spam", "ham"] * 5 + [None] * 50
    model = WeakClassifier("lsa", cache=False).fit(corpus, sources=rules, clean=labels)
    found = model.estimate_accuracy(labels, frame)
    assert (found.trained, found.held_out) == (10, 5)


def test_numbers_of_numpy_and_a_cache_of_ones_own_are_saved(tmp_path: Path) -> None:
    task = planted(60)
    model = WeakClassifier(cache=FeatureCache(tmp_path))
    model.set_params(seed=np.int64(3), keep_documents=np.int64(5))
    model.fit(task.features, task.votes).save(tmp_path / "m.unruly")
    again = unruly.load(tmp_path / "m.unruly")
    assert (again.seed, again.keep_documents, again.cache) == (3, 5, True)


@pytest.mark.parametrize("option", ["seed", "keep_documents"])
@pytest.mark.parametrize("value", [True, -1, 1.5, "2"])
def test_a_number_that_is_none_is_refused_before_any_work(option: str, value: object) -> None:
    task = planted(20)
    with pytest.raises(SettingsError, match=f"{option} = {value!r}: must be a whole number"):
        WeakClassifier().set_params(**{option: value}).fit(task.features, task.votes)


def test_the_name_of_a_series_of_texts_is_remembered() -> None:
    told, _ = texts(60)
    model = WeakClassifier("lsa", cache=False)
    model.fit(pd.Series(told, name="docstring"), sources=two_sources())
    frame = pd.DataFrame({"doc": ["no words"] * 60, "docstring": told})
    assert (model.predict(frame) == model.predict(told)).all()
    assert model.text_column == "docstring"


def test_votes_on_the_training_documents_in_another_order_are_refused() -> None:
    data = planted(n=60)
    named = replace(data.votes, ids=pl.Series("id", [f"d{i}" for i in range(60)]))
    model = WeakClassifier(seed=0).fit(data.features, named)
    assert (model.denoise(votes=named) == model.denoise()).all()
    with pytest.raises(
        InputError, match="row 0: the document's id is 'd0', but the votes are on 'd59'"
    ):
        model.denoise(votes=named.take(np.arange(60)[::-1]))
