"""One small model with its documents, and its report, made once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.model.planted import WORDS, texts

from unruly.model.fitted import Fitted
from unruly.model.storage import load
from unruly.model.weak_classifier import WeakClassifier
from unruly.report.facts import Answers, Facts, answers, gather
from unruly.report.page import page
from unruly.rules.keywords import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.texts.corpus import Corpus

CLASSES = ("ham", "<i>spam</i>")  # a class name that would be a tag if it were not escaped
ATTACK = '<script>alert("gotcha")</script> subscribe & click <img src=x onerror=alert(1)>'


def documents(n: int, seed: int) -> Corpus:
    """Short texts with gold, the last of them hostile."""
    import polars as pl

    made, gold = texts(n, seed)
    rows = [*made, ATTACK]
    frame = pl.DataFrame({"text": rows, "label": [CLASSES[g] for g in [*gold.tolist(), 1]]})
    return Corpus.from_frame(frame, text="text", label="label", classes=CLASSES, name="train.csv")


@dataclass(frozen=True, eq=False)
class Made:
    """A saved model and what it was made of."""

    path: Path
    train: Corpus
    test: Corpus
    fitted: Fitted


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("report")
    ham, spam = CLASSES
    sources = Sources(
        list(CLASSES),
        [
            Source("praise", [Rule(ham, Keywords(WORDS[0][:2]))]),
            Source("advert", [Rule(spam, Keywords(WORDS[1][:2])), Rule(ham, Keywords(["voice"]))]),
            Source("advert again", [Rule(spam, Keywords(WORDS[1][:2]))]),
            Source("<b>long</b>", [Rule(ham, Keywords(["video"]))]),
            Source("silent", [Rule(spam, Keywords(["nobody says this"]))]),
        ],
    )
    train, test = documents(160, 0), documents(60, 1)
    model = WeakClassifier(encoder={"name": "lsa", "dim": 16}, cache=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNRULY_CACHE", str(folder / "cache"))
        model.fit(train, sources.vote(train))
    model.save(folder / "spam.unruly")
    return Made(folder / "spam.unruly", train, test, load(folder / "spam.unruly").fitted)


@pytest.fixture(scope="session")
def seen(made: Made) -> Answers:
    return answers(made.fitted, made.train)


@pytest.fixture(scope="session")
def whole(made: Made) -> Facts:
    """The facts with documents and gold."""
    return gather("spam.unruly", made.fitted, made.train, made.test)


@pytest.fixture(scope="session")
def without_gold(made: Made) -> Facts:
    from dataclasses import replace

    return gather("spam.unruly", made.fitted, replace(made.train, gold=None))


@pytest.fixture(scope="session")
def alone(made: Made) -> Facts:
    """The facts that the file alone knows."""
    return gather("spam.unruly", made.fitted)


@pytest.fixture(scope="session")
def pages(whole: Facts, without_gold: Facts, alone: Facts) -> dict[str, str]:
    return {"whole": page(whole), "without gold": page(without_gold), "alone": page(alone)}
