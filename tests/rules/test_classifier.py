"""`classifier`: a scikit-learn pipeline from a skops file, or a transformers model, as a source."""

from __future__ import annotations

import json
import os
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import unruly
from unruly.errors import RuleError
from unruly.model.storage import open_container, to_json, write_container
from unruly.rules import Classifier, Keywords
from unruly.rules.source import Rule, Source, source_from_plain, source_to_plain
from unruly.rules.sources import Sources

sklearn = pytest.importorskip("sklearn")
skops = pytest.importorskip("skops.io")

TEXTS = [f"please subscribe {i}" if i % 2 else f"a lovely song {i}" for i in range(40)]
NAMES = ["advert" if i % 2 else "talk" for i in range(40)]
MAP = {"advert": "spam", "talk": "ham"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    skops.dump(
        make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, NAMES),
        tmp_path / "c.skops",
    )
    return tmp_path


def sources(folder: Path, above: float = 0.0) -> Sources:
    other = Classifier("c.skops", MAP, above, folder=str(folder))
    rule = Source("words", [Rule("spam", Keywords(["subscribe"])), Rule("ham", Keywords(["song"]))])
    return Sources(["ham", "spam"], [rule, Source("other", [Rule(None, other)])])


def test_probabilities_are_soft_votes(saved: Path) -> None:
    votes = sources(saved).vote([*TEXTS, ""])
    assert votes.matrix[:40, 1].tolist() == [i % 2 for i in range(40)]
    assert np.allclose(votes.soft["other"][:40].sum(axis=1), 1, atol=1e-5)
    assert votes.matrix[40, 1] == -1
    assert votes.matches(1)[1].reason.startswith("classifier: c.skops (")
    assert not sources(saved, above=0.999).vote(TEXTS).voted[:, 1].any()


def test_a_probability_must_be_above_the_limit_and_not_at_it(tmp_path: Path) -> None:
    from sklearn.dummy import DummyClassifier

    texts, names = ["a", "b", "c", "d"], ["advert", "advert", "advert", "talk"]
    skops.dump(DummyClassifier().fit(texts, names), tmp_path / "c.skops")  # 0.75 for every text
    at, below = (sources(tmp_path, above).vote(texts) for above in (0.75, 0.7))
    assert not at.voted[:, 1].any()
    assert below.matrix[:, 1].tolist() == [1, 1, 1, 1]


def test_a_model_opens_it_only_when_it_is_named_and_the_same(saved: Path) -> None:
    model = unruly.WeakClassifier(encoder="lsa", cache=False).fit(TEXTS, sources=sources(saved))
    model.save(saved / "m.unruly")
    with pytest.raises(RuleError, match=r"source 'other' is the classifier c\.skops.*--functions"):
        unruly.load(saved / "m.unruly").predict(["a song"])
    again = unruly.load(saved / "m.unruly", functions=saved / "c.skops")
    assert np.array_equal(again.predict_proba(TEXTS[:4]), model.predict_proba(TEXTS[:4]))
    (saved / "elsewhere").mkdir()
    (saved / "elsewhere" / "c.skops").write_bytes(b"another")
    with pytest.raises(RuleError, match="not the classifier that the model was fitted with"):
        unruly.load(saved / "m.unruly", functions=saved / "elsewhere" / "c.skops")


def _lower(text: str) -> str:
    return text.lower()


@pytest.fixture
def trusting(saved: Path) -> Path:
    """A model whose classifier holds a function that skops does not know and the project trusts."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    made = make_pipeline(TfidfVectorizer(preprocessor=_lower), LogisticRegression())
    skops.dump(made.fit(TEXTS, NAMES), saved / "c.skops")
    odd = skops.get_untrusted_types(file=saved / "c.skops")
    other = Classifier("c.skops", MAP, trusted=odd, folder=str(saved))
    words = Source("words", [Rule("spam", Keywords(["subscribe"]))])
    both = Sources(["ham", "spam"], [words, Source("other", [Rule(None, other)])])
    unruly.WeakClassifier(encoder="lsa", cache=False).fit(TEXTS, sources=both).save(saved / "m.unruly")  # fmt: skip
    return saved


def test_types_that_the_project_trusts_are_trusted_in_that_file_after_loading(
    trusting: Path,
) -> None:
    path, file = trusting / "m.unruly", trusting / "c.skops"
    model = unruly.load(path, functions=file)
    expected = model.predict_proba(TEXTS[:4])
    model.save(trusting / "again.unruly")  # by way of one that could not vote, too
    unruly.load(trusting / "again.unruly").save(trusting / "third.unruly")
    for name in ("again.unruly", "third.unruly"):
        again = unruly.load(trusting / name, functions=file)
        assert np.array_equal(again.predict_proba(TEXTS[:4]), expected)


def test_a_file_that_takes_the_place_of_a_trusted_one_is_not_opened(trusting: Path) -> None:
    model = unruly.load(trusting / "m.unruly", functions=trusting / "c.skops")
    data = (trusting / "c.skops").read_bytes()
    (trusting / "c.skops").write_bytes(data + b" ")
    with pytest.raises(RuleError, match="not the classifier that the model was fitted with"):
        model.predict(["a song"])
    with pytest.raises(RuleError, match="not the classifier that the model was fitted with"):
        unruly.load(trusting / "m.unruly", functions=trusting / "c.skops")


@pytest.mark.parametrize("digest", [None, ""])
def test_a_crafted_model_cannot_have_types_trusted(digest: str | None, trusting: Path) -> None:
    """It says what is trusted without saying in which file, and the caller names a file for another reason."""
    container = open_container(trusting / "m.unruly")
    members = dict(container.members)
    members.pop("manifest.json", None)
    plain = json.loads(members["rules.json"])
    carried = plain["sources"][1]["rule"][0]["when"]["carried_classifier"]
    assert carried["trusted"]
    carried["digest"] = digest
    members["rules.json"] = to_json(plain)
    write_container(trusting / "m.unruly", members, container.versions)
    model = unruly.load(trusting / "m.unruly", functions=trusting / "c.skops")
    with pytest.raises(RuleError, match="does not know to be harmless"):
        model.predict(["a song"])


def test_the_project_file_has_it(saved: Path) -> None:
    table = {"name": "o", "rule": [{"classifier": {"model": "c.skops", "map": MAP, "above": 0.5}}]}
    source = source_from_plain(table, ["ham", "spam"], saved)
    assert source_to_plain(source) == table


def test_classes_that_are_not_mapped_are_refused(saved: Path) -> None:
    bare = Classifier("c.skops", folder=str(saved))
    with pytest.raises(RuleError, match=r"knows the classes advert, talk.*add map"):
        Sources(["ham", "spam"], [Source("o", [Rule(None, bare)])]).vote(["x"])


def test_pickles_and_types_that_nobody_vouches_for_are_not_opened(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="is a pickle"):
        Classifier("model.pkl")
    (tmp_path / "p.skops").write_bytes(pickle.dumps([1]))
    with pytest.raises(RuleError, match="cannot be read as a skops file"):
        Sources(
            ["a", "b"], [Source("o", [Rule(None, Classifier("p.skops", folder=str(tmp_path)))])]
        ).vote(["x"])
    from sklearn.preprocessing import FunctionTransformer

    skops.dump(FunctionTransformer(_code), tmp_path / "f.skops")
    with pytest.raises(RuleError, match="does not know to be harmless"):
        Sources(
            ["a", "b"], [Source("o", [Rule(None, Classifier("f.skops", folder=str(tmp_path)))])]
        ).vote(["x"])


def test_a_pipeline_that_takes_no_texts_is_refused_in_a_line(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    skops.dump(LogisticRegression().fit(np.eye(2), ["a", "b"]), tmp_path / "n.skops")
    given = Classifier("n.skops", folder=str(tmp_path))
    with pytest.raises(
        RuleError, match=r"n\.skops cannot read texts.*save the whole pipeline"
    ) as found:
        Sources(["a", "b"], [Source("o", [Rule(None, given)])]).vote(["my private text"])
    assert "private" not in str(found.value)


def test_a_file_that_is_saved_again_is_read_again(saved: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    before = sources(saved).vote(TEXTS).matrix[:, 1]
    turned = [name for pair in zip(NAMES[1::2], NAMES[::2], strict=True) for name in pair]
    made = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(TEXTS, turned)
    skops.dump(made, saved / "c.skops")
    os.utime(saved / "c.skops", ns=(1, 1))
    assert (sources(saved).vote(TEXTS).matrix[:, 1] == 1 - before).all()


def _code(x: object) -> object:
    raise AssertionError("code from a file ran")


def saved_bert(folder: Path) -> Path:
    """A tiny untrained classifier as transformers saves it."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "song", "subscribe"]
    tokenizer = transformers.BertTokenizerFast(vocab={w: i for i, w in enumerate(words)})
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        id2label={0: "ham", 1: "spam"}, label2id={"ham": 0, "spam": 1},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder / "bert")
    tokenizer.save_pretrained(folder / "bert")
    assert json.loads((folder / "bert" / "config.json").read_text())["id2label"]["1"] == "spam"
    return folder / "bert"


def test_a_transformers_folder(tmp_path: Path) -> None:
    saved_bert(tmp_path)
    given = Classifier("bert", folder=str(tmp_path))
    votes = Sources(["ham", "spam"], [Source("o", [Rule(None, given)])]).vote(
        ["a song", "subscribe"] * 20
    )
    assert votes.voted.all()
    assert np.allclose(votes.soft["o"].sum(axis=1), 1, atol=1e-5)
    assert np.allclose(votes.soft["o"][0], votes.soft["o"][2], atol=1e-5)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("config.json", "AutoModelForSequenceClassification"),
        ("tokenizer_config.json", "AutoTokenizer"),
    ],
)
def test_a_transformers_folder_runs_no_code_of_its_own(
    file: str, kind: str, tmp_path: Path
) -> None:
    bert = saved_bert(tmp_path)
    proof = tmp_path / "it ran"
    (bert / "own.py").write_text(f"open({str(proof)!r}, 'w').close()\nclass Own: pass\n")
    about = json.loads((bert / file).read_text())
    own = {kind: ["own.Own", None] if kind == "AutoTokenizer" else "own.Own"}
    own |= {"AutoConfig": "own.Own"} if file == "config.json" else {}
    about |= {"model_type": "own", "tokenizer_class": "Own", "auto_map": own}
    (bert / file).write_text(json.dumps(about))
    source = Source("o", [Rule(None, Classifier("bert", folder=str(tmp_path)))])
    with suppress(RuleError):  # or it does without
        Sources(["ham", "spam"], [source]).vote(["a song"])
    assert not proof.exists()


def test_weights_that_are_a_pickle_are_not_opened(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    bert = saved_bert(tmp_path)
    (bert / "model.safetensors").unlink()
    torch.save({}, bert / "pytorch_model.bin")
    source = Source("o", [Rule(None, Classifier("bert", folder=str(tmp_path)))])
    with pytest.raises(RuleError, match="there is no classifier"):
        Sources(["ham", "spam"], [source]).vote(["a song"])
