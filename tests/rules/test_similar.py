"""`similar` and `describe`: rules that compare texts by meaning, from the project file to a saved model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unruly
from unruly.cli.main import run
from unruly.errors import InputError, ProjectError, RuleError
from unruly.features.encoder import TextSpace
from unruly.project.project import Project
from unruly.project.voting import check_project
from unruly.rules import Described, Not, Similar
from unruly.rules.matching import VoteCache
from unruly.rules.source import Rule, Source, source_from_plain
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

PARCEL = [
    "where is my parcel",
    "the parcel never arrived",
    "my parcel is late",
    "parcel lost again",
]
MONEY = [
    "refund the charge",
    "wrong charge on the invoice",
    "refund my invoice",
    "charge was wrong",
]
TEXTS = [
    f"{text} {word}" for word in ("please", "now", "today", "friends") for text in PARCEL + MONEY
]
HEAD = """
encoder = "lsa"
[task]
classes = ["shipping", "billing"]
[data]
train = "train.csv"
id = "id"
label = "label"
"""
RULES = """
[[source]]
name = "like"
rule = [{ label = "shipping", similar = { to = ["my parcel never arrived"], above = 0.05 } }]
[[source]]
name = "money"
rule = [{ label = "billing", keywords = ["refund", "charge"] }]
"""
DESCRIBE = """
[task.describe]
shipping = "where is my parcel, it never arrived"
billing = "refund a wrong charge on the invoice"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / ".cache"))
    gold = ["shipping" if "parcel" in text else "billing" for text in TEXTS]
    pl.DataFrame({"id": range(100, 100 + len(TEXTS)), "text": TEXTS, "label": gold}).write_csv(
        tmp_path / "train.csv"
    )
    return tmp_path


def project(folder: Path, text: str) -> Project:
    (folder / "unruly.toml").write_text(text)
    return Project.read(folder)


def is_parcel(votes: unruly.Votes, j: int = 0) -> list[bool]:
    return [
        (v == 0) == ("parcel" in text) for v, text in zip(votes.matrix[:, j], TEXTS, strict=True)
    ]


def test_similar_votes_by_the_encoder_and_is_explained_by_the_nearest_example(folder: Path) -> None:
    found = project(folder, HEAD + RULES)
    votes = found.sources.vote(found.corpus())
    assert np.mean(is_parcel(votes)) > 0.8
    why = {m.source: m.reason for m in votes.matches(1)}["like"]
    assert why.startswith("like “my parcel never arrived” (0.")


def test_files_and_ids_are_examples_too(folder: Path) -> None:
    (folder / "like.txt").write_text("my parcel never arrived\n")
    by_file = RULES.replace('to = ["my parcel never arrived"]', 'file = "like.txt"')
    by_ids = RULES.replace('to = ["my parcel never arrived"]', "ids = [101, 109]")
    whole = project(folder, HEAD + RULES)
    same = project(folder, HEAD + by_file)
    assert (
        same.sources.vote(same.corpus()).matrix.tolist()
        == whole.sources.vote(whole.corpus()).matrix.tolist()
    )
    near = project(folder, HEAD + by_ids)
    votes = near.sources.vote(near.corpus())
    assert votes.matrix[1, 0] == 0
    assert "like “the parcel never arrived please” (1.00)" in votes.matches(1)[0].reason
    lost = project(folder, HEAD + by_ids.replace("101", "7"))
    with pytest.raises(InputError, match="no training document with the id 7"):
        lost.sources.vote(near.corpus())


def test_calibrated_fires_on_about_the_stated_share(folder: Path) -> None:
    found = project(folder, HEAD + RULES.replace("above = 0.05", "calibrated = 0.25"))
    votes = found.sources.vote(found.corpus())
    assert 0.15 <= votes.voted[:, 0].mean() <= 0.3


def test_calibrated_is_a_share_or_a_flag_for_the_usual_one(folder: Path) -> None:
    def cast(limit: str) -> list[int]:
        found = project(folder, HEAD + RULES.replace("above = 0.05", limit))
        found.write(folder / "again.toml")
        assert Project.read(folder / "again.toml") == found
        return [int(vote) for vote in found.sources.vote(found.corpus()).matrix[:, 0]]

    assert cast("calibrated = true") == cast("calibrated = 0.05")
    assert cast("calibrated = false, above = 0.05") == cast("above = 0.05")
    assert 1 <= sum(vote == 0 for vote in cast("calibrated = true")) <= 3  # of 32: about 5 %
    reason = Similar(["a"], calibrated=True).reason()
    assert reason == "similar to 1 example (the nearest 5.0%)"


def test_a_counter_example_that_is_nearer_keeps_the_rule_quiet(folder: Path) -> None:
    """`unlike` takes votes away and adds none; it is written, cached and saved like the rest."""
    wide = RULES.replace("above = 0.05", "above = -0.5")
    unlike = wide.replace("above = -0.5", 'unlike = ["refund my money"], above = -0.5')
    before = project(folder, HEAD + wide)
    cast = before.sources.vote(before.corpus(), cache=VoteCache.default())
    assert cast.voted[:, 0].all()
    found = project(folder, HEAD + unlike)
    found.write(folder / "again.toml")
    assert Project.read(folder / "again.toml") == found
    votes = found.sources.vote(found.corpus(), cache=VoteCache.default())
    assert np.mean(is_parcel(votes)) > 0.8
    assert 0 < votes.voted[:, 0].mean() < 1
    text = "the parcel never arrived please"
    assert found.sources.vote([text, "refund my money"]).matrix[:, 0].tolist() == [0, -1]
    reason = Similar(["a"], above=0.1, unlike=["b", "c"]).reason()
    assert reason == "similar to 1 example, unlike 2 (above 0.10)"


def test_the_same_examples_from_a_file_and_in_place_are_measured_once(folder: Path) -> None:
    (folder / "like.txt").write_text("my parcel\nrefund\n")
    rules = [
        Rule("billing", Similar(["my parcel", "refund"], above=0.05, file=file, space=space))
        for file in (None, "like.txt")
        for space in [TextSpace("lsa", Corpus.from_texts(TEXTS))]
    ]
    one, other = rules[0].when, rules[1].when
    assert one != other
    votes = Sources(["shipping", "billing"], [Source("s", rules)]).vote(TEXTS)
    assert votes.covered.any()


@pytest.mark.parametrize("unlike", ["", 'unlike = ["refund my money"], '])
def test_a_calibrated_threshold_is_that_of_the_training_documents_and_is_saved(
    folder: Path, unlike: str
) -> None:
    limit = f"{unlike}calibrated = 0.25"
    found = project(folder, HEAD + RULES.replace("above = 0.05", limit))
    cast = found.sources.vote(found.corpus())
    found.fit().model.save(folder / "m.unruly")
    again = unruly.load(folder / "m.unruly")
    one_by_one = [again.predictions([text]).votes.matrix[0, 0] for text in TEXTS[:6]]
    assert one_by_one == cast.matrix[:6, 0].tolist()


def test_votes_are_cached_and_the_encoder_is_part_of_the_key(folder: Path) -> None:
    found, cache = project(folder, HEAD + RULES), VoteCache(folder / "votes")
    first = found.sources.vote(found.corpus(), cache=cache)
    again = project(folder, HEAD + RULES)
    assert again.sources.vote(again.corpus(), cache=cache).matrix.tolist() == first.matrix.tolist()
    key = found.sources.sources[0].meaning()
    smaller = project(
        folder, (HEAD + RULES).replace('encoder = "lsa"', 'encoder = { name = "lsa", dim = 3 }')
    )
    assert smaller.sources.sources[0].meaning() != key


def test_describe_is_one_soft_source_and_enough_to_begin_with(folder: Path) -> None:
    found = project(folder, HEAD + DESCRIBE)
    assert found.sources.names == ("describe",)
    votes = found.sources.vote(found.corpus())
    assert votes.coverage == 1.0
    assert np.allclose(votes.soft["describe"].sum(axis=1), 1, atol=1e-5)
    assert np.mean(is_parcel(votes)) > 0.9
    assert votes.matches(0)[0].reason.startswith(
        "nearest to “where is my parcel, it never arrived” ("
    )
    fitted = found.fit()
    assert fitted.evaluation is not None
    assert fitted.model.predict(["the parcel is not here", "a wrong charge"]).tolist() == [
        "shipping",
        "billing",
    ]
    assert not votes.sets  # soft votes are not partial ones


def test_a_description_may_have_examples_and_the_nearest_line_counts(folder: Path) -> None:
    listed = DESCRIBE.replace(
        'shipping = "where is my parcel, it never arrived"',
        'shipping = ["my parcel never arrived", "where is the parcel"]',
    )
    found = project(folder, HEAD + listed)
    corpus = found.corpus()
    votes = found.sources.vote(corpus)
    assert np.mean(is_parcel(votes)) > 0.9
    reasons = {votes.matches(row)[0].reason.split("”")[0] for row in range(votes.n)}
    assert {"nearest to “my parcel never arrived", "nearest to “where is the parcel"} <= reasons
    found.write(folder / "again.toml")
    assert Project.read(folder / "again.toml") == found
    model = found.fit().model
    model.save(folder / "m.unruly")
    again = unruly.load(folder / "m.unruly")
    assert np.array_equal(again.predict_proba(TEXTS[:9]), model.predict_proba(TEXTS[:9]))


def test_a_blank_text_gets_no_vote(folder: Path) -> None:
    found = project(folder, HEAD + RULES + DESCRIBE)
    votes = found.sources.vote(Corpus.from_texts(["", " "]))
    assert not votes.voted.any()


def test_the_project_is_written_as_it_was_read(folder: Path) -> None:
    found = project(folder, HEAD + RULES.replace("above = 0.05", "calibrated = 0.25") + DESCRIBE)
    found.write(folder / "again.toml")
    assert Project.read(folder / "again.toml") == found
    assert "[task.describe]" in (folder / "again.toml").read_text()


def test_check_vote_fit_predict_and_explain(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project(folder, HEAD + RULES + DESCRIBE)
    assert check_project(folder).learnable
    model, out = str(folder / "m.unruly"), str(folder / "out.csv")
    assert run(["check", str(folder), "-q"]) == 0
    assert run(["vote", str(folder), "-q", "-o", str(folder / "v.parquet")]) == 0
    assert run(["fit", str(folder), "-q", "-o", model]) == 0
    assert run(["predict", model, str(folder / "train.csv"), "-q", "-o", out]) == 0
    capsys.readouterr()
    assert run(["explain", model, "my parcel never arrived, help", "--json"]) == 0
    votes = {v["source"]: v for v in json.loads(capsys.readouterr().out)["votes"]}
    assert votes["like"]["reason"].startswith("like “my parcel never arrived”")
    assert votes["describe"]["label"] == "shipping"
    assert run(["report", model, str(folder), "-q", "-o", str(folder / "r.html")]) == 0


def test_a_saved_model_carries_examples_thresholds_and_moments(folder: Path) -> None:
    text = HEAD + RULES.replace("above = 0.05", "calibrated = 0.4") + DESCRIBE
    model = project(folder, text).fit().model
    model.save(folder / "m.unruly")
    (folder / "train.csv").unlink()
    (folder / "unruly.toml").unlink()
    again = unruly.load(folder / "m.unruly")
    asked = ["my parcel", "a refund please", "hello"]
    assert np.array_equal(again.predict_proba(asked), model.predict_proba(asked))
    assert np.array_equal(
        again.predictions(asked).votes.matrix, model.predictions(asked).votes.matrix
    )
    again.save(folder / "twice.unruly")
    assert (folder / "twice.unruly").read_bytes() == (folder / "m.unruly").read_bytes()


def test_a_model_with_another_encoder_says_so_when_it_is_to_vote(folder: Path) -> None:
    found = project(folder, HEAD + RULES)
    corpus = found.corpus()
    model = unruly.WeakClassifier(encoder={"name": "lsa", "dim": 3}).fit(
        corpus, found.sources.vote(corpus)
    )
    model.save(folder / "m.unruly")
    again = unruly.load(folder / "m.unruly")
    with pytest.raises(RuleError, match=r"source 'like'.*another encoder"):
        again.predict(["my parcel"])


def test_a_model_with_another_encoder_than_its_descriptions_can_be_loaded(folder: Path) -> None:
    found = project(folder, HEAD + RULES.replace("like", "alike") + DESCRIBE)
    corpus = found.corpus()
    votes = found.sources.vote(corpus)
    model = unruly.WeakClassifier(encoder={"name": "lsa", "dim": 3}).fit(corpus, votes)
    model.save(folder / "m.unruly")
    again = unruly.load(folder / "m.unruly")  # the rule has no label: it picks the class
    assert np.array_equal(
        again.predict_proba(corpus, votes=votes), model.predict_proba(corpus, votes=votes)
    )
    with pytest.raises(RuleError, match=r"another encoder"):
        again.predict(["my parcel"])
    again.save(folder / "twice.unruly")
    assert (folder / "twice.unruly").read_bytes() == (folder / "m.unruly").read_bytes()


def test_rules_compare_texts_by_the_encoder_that_is_typed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = HEAD.replace('"lsa"', '{ name = "lsa", dim = 3 }')
    project(folder, other + RULES + DESCRIBE)
    model = str(folder / "m.unruly")
    assert run(["fit", str(folder), "-q", "--encoder", "lsa", "-o", model]) == 0
    capsys.readouterr()
    assert run(["explain", model, "my parcel never arrived, help", "--json"]) == 0
    votes = {v["source"]: v for v in json.loads(capsys.readouterr().out)["votes"]}
    assert {"like", "describe"} <= votes.keys()


def test_in_python_and_inside_other_conditions() -> None:
    space = unruly.TextSpace("lsa", Corpus.from_texts(TEXTS))
    like = Similar(["my parcel never arrived"], above=0.05, space=space)
    sources = Sources(
        ["shipping", "billing"],
        [
            Source("like", [Rule("shipping", like, examples=["parcel lost again today"])]),
            Source("else", [Rule("billing", Not(like))]),
        ],
    )
    assert not sources.check_examples()
    votes = sources.vote(TEXTS)
    assert (votes.voted.sum(axis=1) == 1).all()
    with pytest.raises(RuleError, match="similar needs an encoder"):
        Sources(["a", "b"], [Source("s", [Rule("a", Similar(["x"], above=0.1))])]).vote(["x"])


def test_an_encoder_of_given_features_cannot_read_examples(folder: Path) -> None:
    np.save(folder / "x.npy", np.zeros((len(TEXTS), 2), np.float32))
    found = project(folder, (HEAD + RULES).replace('"lsa"', '"x.npy"'))
    with pytest.raises((InputError, RuleError), match="knows its own documents only"):
        found.sources.vote(found.corpus())


@pytest.mark.parametrize(
    ("inner", "problem"),
    [
        ('{ to = ["x"] }', "either above = 0.6 or calibrated"),
        ('{ to = ["x"], above = 0.1, calibrated = 0.1 }', "either above"),
        ("{ to = [], above = 0.1 }", "needs examples"),
        ("{ above = 0.1 }", "needs examples"),
        ('{ to = [" "], above = 0.1 }', "blank"),
        ('{ to = ["x"], above = 2 }', "between -1 and 1"),
        ('{ to = ["x"], calibrated = 5 }', "between 0 and 1"),
        ('{ to = ["x"], calibrated = 0 }', "calibrated = 0.0: give a share between 0 and 1"),
        ('{ to = ["x"], calibrated = nan }', "between 0 and 1"),
        ('{ to = ["x"], calibrated = "yes" }', "expected a number, found str"),
        ('{ to = ["x"], calibrated = false }', "either above"),
        ('{ to = ["x"], calibrated = true, share = 0.1 }', "'share' is not a key of similar"),
        ('{ to = ["x"], above = true }', "expected a number, found bool"),
        ('{ to = ["x"], calibrated = true, above = 0.1 }', "either above"),
        ('{ to = ["x"], abve = 0.1 }', "did you mean 'above'"),
        ('{ file = "none.txt", above = 0.1 }', "there is no file"),
    ],
)
def test_mistakes_are_refused_with_their_line(folder: Path, inner: str, problem: str) -> None:
    text = HEAD + f'[[source]]\nname = "s"\nrule = [{{ label = "billing", similar = {inner} }}]\n'
    with pytest.raises(RuleError, match=problem) as caught:
        project(folder, text)
    assert caught.value.where is not None
    assert caught.value.where.line == 11


def test_descriptions_are_checked(folder: Path) -> None:
    with pytest.raises(ProjectError, match="'billing' has no description"):
        project(folder, HEAD + '[task.describe]\nshipping = "x"\n')
    with pytest.raises(ProjectError, match="unknown key 'biling'"):
        project(folder, HEAD + DESCRIBE.replace("billing", "biling"))
    with pytest.raises(ProjectError, match="rename this"):
        project(folder, HEAD + RULES.replace("like", "describe") + DESCRIBE)
    table = {"name": "s", "rule": [{"similar": {"to": ["x"], "above": 0.1}}]}
    with pytest.raises(RuleError, match="no label"):
        source_from_plain(table, ["a", "b"])
    with pytest.raises(RuleError, match="'b' has no description"):
        Sources(["a", "b"], [Source("d", [Rule(None, Described({"a": "x"}))])])


def test_votes_do_not_depend_on_the_batch(folder: Path) -> None:
    found = project(folder, HEAD + RULES + DESCRIBE)
    corpus = found.corpus()
    whole = found.sources.vote(corpus)
    parts = list(
        found.sources.vote_stream([corpus.take(range(5)), corpus.take(range(5, len(TEXTS)))])
    )
    joined = unruly.Votes.concat(parts)
    assert np.array_equal(joined.matrix, whole.matrix)
    assert np.allclose(joined.soft["describe"], whole.soft["describe"], atol=1e-5)
