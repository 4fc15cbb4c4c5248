"""The model file: everything comes back, and the same model gives the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import load, save
from tests.model.planted import planted, quick, texts

import unruly
from unruly.errors import InputError, ModelFileError, RuleError, SettingsError, Where
from unruly.model.storage import open_container, text_column_of, to_json, write_container
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules.function import Function, rule
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.rules.tools import Length
from unruly.texts.corpus import Corpus


def test_everything_comes_back(model: WeakClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "spam.unruly")
    again = unruly.load(tmp_path / "spam.unruly")
    new = texts(30, seed=7)[0]
    np.testing.assert_array_equal(model.predict_proba(new), again.predict_proba(new))
    assert model.predictions(new).to_frame().equals(again.predictions(new).to_frame())
    assert again.classes_.tolist() == ["ham", "spam"]
    assert again.history_ == model.history_
    assert again.ledger_ == model.ledger_
    assert again.summary_ == model.summary_
    assert again.settings_ == model.settings_
    np.testing.assert_array_equal(again.reliability_, model.reliability_)
    assert str(again.explain(new[0])) == str(model.explain(new[0]))
    assert again.get_params()["encoder"] == {"name": "lsa", "dim": 16}


@pytest.fixture
def framed(sources: Sources, corpus: Corpus) -> WeakClassifier:
    """A model fitted on a frame with two columns of texts."""
    frame = pl.DataFrame({"note": corpus.texts, "other": corpus.texts.reverse()})
    made = quick().set_params(encoder={"name": "lsa", "dim": 16}, cache=False)
    return made.fit(Corpus.from_frame(frame, text="note"), sources=sources)


def changed_facts(path: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A model file with other facts in it."""
    container = open_container(path)
    facts = container.read_json("model.json")
    change(facts)
    members = {**container.members, "model.json": to_json(facts)}
    write_container(target, members, container.versions)
    return target


def test_the_text_column_is_remembered(
    tmp_path: Path, model: WeakClassifier, framed: WeakClassifier
) -> None:
    assert model.text_column is None  # fitted on a list
    framed.save(tmp_path / "a.unruly")
    again = unruly.load(tmp_path / "a.unruly")
    assert framed.text_column == again.text_column == "note"
    assert text_column_of(tmp_path / "a.unruly") == "note"
    new = pl.DataFrame({"other": ["x", "y"], "note": ["a lovely song", "subscribe"]})
    np.testing.assert_array_equal(again.predict_proba(new), again.predict_proba(new["note"]))
    assert again.explain(new.head(1)).text == "a lovely song"
    with pytest.raises(InputError, match="not obvious"):
        model.predict(new)


def test_a_text_column_that_is_not_a_name_is_refused(
    tmp_path: Path, framed: WeakClassifier
) -> None:
    framed.save(tmp_path / "a.unruly")
    bad = changed_facts(
        tmp_path / "a.unruly", tmp_path / "bad.unruly", lambda facts: facts.update(text_column=[1])
    )
    with pytest.raises(ModelFileError, match="its contents are not understood") as caught:
        unruly.load(bad)
    assert "\n" not in str(caught.value)


def test_a_loaded_model_saves_to_the_same_bytes(model: WeakClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "a.unruly")
    untouched = unruly.load(tmp_path / "a.unruly")
    untouched.save(tmp_path / "b.unruly")
    used = unruly.load(tmp_path / "a.unruly")
    used.predict(["a lovely song"])
    used.save(tmp_path / "c.unruly")
    first = (tmp_path / "a.unruly").read_bytes()
    assert first == (tmp_path / "b.unruly").read_bytes()
    assert first == (tmp_path / "c.unruly").read_bytes()


def test_the_same_seed_and_data_give_the_same_file_in_another_process(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom tests.model.test_storage import fit_and_save\nfit_and_save(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    fit_and_save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def fit_and_save(path: str | Path) -> None:
    model = quick(15, batch_size=32).set_params(encoder={"name": "lsa", "dim": 8}, cache=False)
    model.fit(texts()[0], planted(n=120).votes, clean={3: "c0"}).save(path)


def test_another_seed_gives_another_file(tmp_path: Path) -> None:
    data = planted(n=40)
    for seed in (0, 1):
        model = quick(3).set_params(seed=seed).fit(data.features, data.votes)
        model.save(tmp_path / f"{seed}.unruly")
    assert (tmp_path / "0.unruly").read_bytes() != (tmp_path / "1.unruly").read_bytes()


def test_no_member_is_pickle_or_code(model: WeakClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "spam.unruly")
    with zipfile.ZipFile(tmp_path / "spam.unruly") as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert names[0] == "manifest.json"
    assert {name.rsplit(".", 1)[-1] for name in names} <= {"json", "safetensors", "txt"}
    assert {"model.json", "rules.json", "learner.safetensors", "summary.json"} <= set(names)


def test_a_fact_stands_in_one_member_only(model: WeakClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "spam.unruly")
    container = open_container(tmp_path / "spam.unruly")
    names = {"model.json", "learner.json", "summary.json", "rules.json"}
    members = {name: set(container.read_json(name)) for name in names}
    once = {"classes", "sources", "balance", "notes", "ledger", "gold_used", "method"}
    assert once & members["model.json"] == set()
    assert once & members["learner.json"] == set()
    assert once & members["rules.json"] == {"sources"}  # the rules themselves
    assert once - members["summary.json"] == {"gold_used"}  # the ledger's
    again = unruly.load(tmp_path / "spam.unruly")
    assert list(again.classes_) == list(model.classes_)
    assert again.sources_ == model.sources_
    assert again.ledger_ == model.ledger_


def test_loading_brings_no_heavy_library_and_leaves_the_encoder(
    model: WeakClassifier, tmp_path: Path
) -> None:
    model.save(tmp_path / "spam.unruly")
    code = (
        "import sys, unruly\n"
        "model = unruly.load(sys.argv[1])\n"
        "print(sorted({'torch', 'sklearn', 'pandas'} & set(sys.modules)), model.encoder_._stack)\n"
        "model.predict(['a lovely song'])\n"
        "print('torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "spam.unruly")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["[]", "None", "False"]


def test_a_damaged_file_is_refused_and_a_failed_save_leaves_the_old_one(
    model: WeakClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spam.unruly"
    model.save(path)
    good = path.read_bytes()
    bad = tmp_path / "bad.unruly"
    bad.write_bytes(good[: len(good) // 2])
    with pytest.raises(ModelFileError, match="damaged, truncated"):
        unruly.load(bad)

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("unruly.model.storage._digest_before_comment", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(path)
    assert path.read_bytes() == good
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.unruly", "spam.unruly"]


def test_contents_that_are_not_understood_are_told_in_one_line(
    model: WeakClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "spam.unruly"
    model.save(path)
    container = open_container(path)
    members = {name: container.read(name) for name in container.members if name != "manifest.json"}
    write_container(path, {**members, "model.json": to_json({"classes": []})}, container.versions)
    with pytest.raises(ModelFileError, match="whole, but its contents are not understood"):
        unruly.load(path)


def rewritten(model: WeakClassifier, path: Path, changes: dict[str, bytes]) -> Path:
    """The model's file with some members replaced, its checksum right."""
    model.save(path)
    found = open_container(path)
    write_container(path, {**found.members, **changes}, found.versions)
    return path


def of(model: WeakClassifier, path: Path, member: str) -> Any:
    model.save(path)
    data = open_container(path).read(member)
    return dict(load(data)) if member.endswith(".safetensors") else json.loads(data)


@pytest.mark.parametrize(
    ("member", "name", "value"),
    [
        ("training.safetensors", "labels", np.full(40, 9, dtype=np.int16)),
        ("training.safetensors", "votes", np.full((40, 3), 5, dtype=np.int8)),
        ("training.safetensors", "directions", np.zeros((0, 3), dtype=np.float16)),
        ("training.safetensors", "directions", np.zeros(3, dtype=np.float16)),
        ("training.safetensors", "digests", np.zeros(3, dtype=np.float32)),
        ("training.safetensors", "labelled", np.zeros(3, dtype=np.uint64)),
        ("training.safetensors", "labelled_as", np.zeros(0, dtype=np.int64)),
        ("training.safetensors", "labelled_weights", np.zeros(2)),
    ],
)
def test_arrays_that_do_not_fit_are_refused_when_loading(
    model: WeakClassifier, tmp_path: Path, member: str, name: str, value: np.ndarray
) -> None:
    path = tmp_path / "m.unruly"
    tensors = of(model, path, member) | {name: value}
    with pytest.raises(ModelFileError, match="contents are not understood"):
        unruly.load(rewritten(model, path, {member: save(tensors)}))


@pytest.mark.parametrize("snippets", [[], ["one"], [7] * 40, [None] * 40])
def test_beginnings_of_texts_that_do_not_fit_are_refused_when_loading(
    model: WeakClassifier, tmp_path: Path, snippets: list[object]
) -> None:
    path = tmp_path / "m.unruly"
    changed = to_json({**of(model, path, "training.json"), "snippets": snippets})
    with pytest.raises(ModelFileError, match="contents are not understood"):
        unruly.load(rewritten(model, path, {"training.json": changed}))


def test_rules_without_a_source_are_refused_when_loading(
    model: WeakClassifier, tmp_path: Path
) -> None:
    path = tmp_path / "m.unruly"
    nothing: list[object] = [[], {}, ""]
    for none in nothing:
        changed = to_json({**of(model, path, "rules.json"), "sources": none})
        with pytest.raises(ModelFileError, match="contents are not understood"):
            unruly.load(rewritten(model, path, {"rules.json": changed}))


def test_every_array_of_the_learner_is_checked(model: WeakClassifier, tmp_path: Path) -> None:
    path = tmp_path / "m.unruly"
    for name, array in of(model, path, "learner.safetensors").items():
        tensors = of(model, path, "learner.safetensors")
        wrong = np.full_like(array, np.nan) if array.dtype.kind == "f" else array - 2**40
        for other in (array[:0], wrong):
            changed = save({**tensors, name: np.ascontiguousarray(other)})
            rewritten(model, path, {"learner.safetensors": changed})
            with suppress(ModelFileError):  # or it is harmless
                unruly.load(path).explain("a lovely song")


def test_a_summary_that_cannot_be_shown_is_refused(model: WeakClassifier, tmp_path: Path) -> None:
    path = tmp_path / "m.unruly"
    summary = of(model, path, "summary.json") | {"heads_agree": {"a": []}, "documents": "many"}
    with pytest.raises(ModelFileError, match="contents are not understood"):
        unruly.load(rewritten(model, path, {"summary.json": json.dumps(summary).encode()}))


@pytest.mark.parametrize(
    "spec", ["someone/bert", {"name": "static", "model": "/tmp/x"}, ["lsa", "./x.npy"]]
)
def test_an_encoder_that_only_the_file_names_is_not_opened_to_fit_again(
    model: WeakClassifier, tmp_path: Path, corpus: Corpus, spec: object
) -> None:
    path = tmp_path / "m.unruly"
    facts = of(model, path, "model.json")
    facts["parameters"]["encoder"] = spec
    loaded = unruly.load(rewritten(model, path, {"model.json": json.dumps(facts).encode()}))
    with pytest.raises(SettingsError, match="opened only when you name it"):
        loaded.fit(corpus, np.tile([[0, 1]], (len(corpus), 1)))
    loaded.save(tmp_path / "again.unruly")
    assert open_container(tmp_path / "again.unruly").read_json("model.json") == facts


def test_the_manifest_has_versions(model: WeakClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "spam.unruly")
    container = open_container(tmp_path / "spam.unruly")
    assert container.versions["unruly"] == unruly.__version__
    assert set(container.versions) == {"unruly", "python", "numpy"}


def test_training_documents_are_no_longer_there_to_denoise(
    model: WeakClassifier, corpus: Corpus, tmp_path: Path
) -> None:
    model.save(tmp_path / "spam.unruly")
    again = unruly.load(tmp_path / "spam.unruly")
    with pytest.raises(InputError, match=r"pass them, X=corpus, votes=votes"):
        again.denoise()
    np.testing.assert_array_equal(again.denoise(X=corpus), model.denoise())


RULES = """
import unruly

@unruly.rule
def shouting(row):
    return "spam" if row.text.isupper() else None
"""


@pytest.fixture
def shouting(tmp_path: Path, corpus: Corpus) -> Path:
    """A model with a rule function, saved; its rules stand in rules.py beside it."""
    from unruly.rules.source import source_from_plain

    (tmp_path / "rules.py").write_text(RULES)
    plain = {
        "name": "loud",
        "rule": [{"function": {"file": "rules.py", "name": "shouting"}}],
    }
    keywords = {"name": "praise", "rule": [{"label": "ham", "keywords": ["lovely", "great"]}]}
    classes = ["ham", "spam"]
    sources = Sources(classes, [source_from_plain(t, classes, tmp_path) for t in (plain, keywords)])
    loud = Corpus.from_texts([*corpus.texts[:40], "CLICK MY LINK", "MY CHANNEL"])
    model = quick(5).set_params(encoder={"name": "lsa", "dim": 8}).fit(loud, sources=sources)
    model.save(tmp_path / "loud.unruly")
    return tmp_path / "loud.unruly"


def test_code_is_never_carried_and_runs_only_from_a_file_that_is_named(shouting: Path) -> None:
    assert b"isupper" not in shouting.read_bytes()
    alone = unruly.load(shouting)
    with pytest.raises(
        RuleError, match=r"source 'loud' is the Python function shouting of rules.py"
    ):
        alone.predict(["BUY NOW"])
    silent = np.full((1, 2), -1)
    assert alone.predict(["BUY NOW"], silent).shape == (1,)  # votes given: no rules needed
    whole = unruly.load(shouting, functions=shouting.with_name("rules.py"))
    assert whole.predictions(["BUY NOW"]).voters == [["loud"]]
    whole.save(shouting.with_name("again.unruly"))
    alone.save(shouting.with_name("alone.unruly"))
    assert shouting.with_name("again.unruly").read_bytes() == shouting.read_bytes()
    assert shouting.with_name("alone.unruly").read_bytes() == shouting.read_bytes()


def test_another_version_of_the_functions_is_refused(shouting: Path) -> None:
    file = shouting.with_name("rules.py")
    file.write_text(RULES + "\n# edited\n")
    with pytest.raises(RuleError, match="not the file that the model was fitted with"):
        unruly.load(shouting, functions=file)
    with pytest.raises(RuleError, match="there is no such file"):
        unruly.load(shouting, functions=[shouting.with_name("nowhere.py")])


def test_a_function_given_in_python_is_found_again_by_name(tmp_path: Path, corpus: Corpus) -> None:
    @rule
    def shouting(row: object) -> str | None:
        return "spam" if str(getattr(row, "text", "")).isupper() else None

    loud = Corpus.from_texts([*corpus.texts[:20], "CLICK MY LINK"])
    quiet = Source("quiet", [Rule("ham", Length(min_words=3))])
    sources = Sources(["ham", "spam"], [Source("loud", [Rule(None, Function(shouting))]), quiet])
    model = quick(3).set_params(encoder={"name": "lsa", "dim": 4}).fit(loud, sources=sources)
    model.save(tmp_path / "loud.unruly")
    (tmp_path / "mine.py").write_text(RULES)
    again = unruly.load(tmp_path / "loud.unruly", functions=str(tmp_path / "mine.py"))
    assert again.predictions(["BUY", "buy"]).voters == [["loud"], []]


def test_an_error_about_a_model_file_carries_its_place(tmp_path: Path) -> None:
    for name in ("none.unruly", "text.unruly"):
        path = tmp_path / name
        if name == "text.unruly":
            path.write_text("not a model")
        with pytest.raises(ModelFileError) as caught:
            unruly.load(path)
        assert caught.value.where == Where(str(path))
        assert str(caught.value).startswith(f"{path}: ")
