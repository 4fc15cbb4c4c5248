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
