"""The model in service: which files are refused, and what a replaced one does."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from unruly.errors import InputError, ModelFileError
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.weak_classifier import WeakClassifier
from unruly.rules import Keywords
from unruly.rules.source import Rule, Source
from unruly.rules.sources import Sources
from unruly.serve.messages import Answer, Answers, Asked, Limits, Own, Problem
from unruly.serve.metrics import Metrics
from unruly.serve.service import Batcher, ModelFile, load_served, rules_in_words, votes_by_label


def test_ready_with_its_checksum(model: Path) -> None:
    served = load_served(model)
    data = model.read_bytes()
    assert served.checksum == data[-64:].decode() == hashlib.sha256(data[:-64]).hexdigest()
    assert served.stamp.bytes == model.stat().st_size


def test_missing_damaged_and_fitted_on_features(tmp_path: Path, model: Path) -> None:
    with pytest.raises(ModelFileError, match="there is no such file"):
        load_served(tmp_path / "none.unruly")
    damaged = tmp_path / "damaged.unruly"
    damaged.write_bytes(model.read_bytes()[:-200])
    with pytest.raises(ModelFileError, match="not a whole unruly model"):
        load_served(damaged)
    features = np.random.default_rng(0).normal(size=(20, 3))
    votes = np.tile([[0, -1], [1, 1]], (10, 1))
    WeakClassifier().fit(features, votes).save(tmp_path / "features.unruly")
    with pytest.raises(InputError, match="fitted on features"):
        load_served(tmp_path / "features.unruly")


def test_reload_takes_a_whole_file_and_keeps_the_old_one_otherwise(
    tmp_path: Path, model: Path, other_model: Path
) -> None:
    path = tmp_path / "spam.unruly"
    shutil.copy(model, path)
    first = load_served(path)
    file, told = ModelFile(path, (), first), list[str]()

    async def until(outcomes: int) -> None:
        watching = asyncio.create_task(file.watch(lambda outcome, _: told.append(outcome), 0.02))
        for _ in range(1000):
            await asyncio.sleep(0.02)
            if len(told) == outcomes:
                break
        watching.cancel()

    def replaced(data: bytes) -> None:
        part = tmp_path / "part"
        part.write_bytes(data)
        os.replace(part, path)

    replaced(b"no model at all")
    asyncio.run(until(1))
    assert told == ["failed"]
    assert (file.served.checksum, "not a whole" in str(file.problem)) == (first.checksum, True)
    replaced(other_model.read_bytes())
    asyncio.run(until(2))
    assert told == ["failed", "done"]
    assert str(file.problem) == "None"
    assert file.served.checksum == load_served(other_model).checksum != first.checksum
    path.unlink()  # gone: the model stays in service, and that is said once
    asyncio.run(until(3))
    assert str(file.problem) == f"{path}: the file is gone"
    assert file.served.checksum == load_served(other_model).checksum
    replaced(model.read_bytes())
    asyncio.run(until(4))
    assert told == ["failed", "done", "missing", "done"]
    assert (file.problem, file.served.checksum) == (None, first.checksum)


@pytest.fixture(scope="module")
def partial() -> Fitted:
    """A model whose rules also vote for one of several classes."""
    texts = ["refund now", "a crash", "lovely", "angry crash"] * 5
    sources = Sources(
        ["praise", "billing", "bug"],
        [
            Source("refund", [Rule("billing", Keywords(["refund"]))]),
            Source("crash", [Rule(["billing", "bug"], Keywords(["crash"]))]),
            Source("angry", [Rule(None, Keywords(["angry"]), not_label="praise")]),
            Source("lovely", [Rule("praise", Keywords(["lovely"]))]),
        ],
    )
    return WeakClassifier("lsa", cache=False).fit(texts, sources=sources).fitted


def test_rules_in_words_name_every_class_of_a_partial_vote(partial: Fitted) -> None:
    assert [rule["label"] for rule in rules_in_words(partial)] == [
        "billing",
        ["billing", "bug"],
        ["billing", "bug"],
        "praise",
    ]


def test_answers_and_metrics_name_every_class_of_a_partial_vote(partial: Fitted) -> None:
    found = partial.predictions(Documents.of(["angry crash", "refund", "crash, refund"]))
    answers = Answers.of(found, "sum").to_plain(Own())["predictions"]
    crash = {"source": "crash", "label": "billing or bug"}
    refund = {"source": "refund", "label": "billing"}
    assert [answer["votes"] for answer in answers] == [
        [crash, {"source": "angry", "label": "billing or bug"}],
        [refund],
        [refund, crash],
    ]
    assert votes_by_label(found.votes) == {
        ("crash", "billing or bug"): 2,
        ("angry", "billing or bug"): 1,
        ("refund", "billing"): 2,
    }


class Echo:
    """A model that answers with the length of each text, holds until it is let go, and fails on "bad"."""

    def __init__(self) -> None:
        self.batches: list[list[str | None]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(self, asked: Asked) -> Answers:
        assert self.go.wait(30)
        self.batches.append(list(asked.texts))
        if "bad" in asked.texts:
            raise ValueError("bad text")
        each = [Answer(len(text or ""), (1.0,), "both", ()) for text in asked.texts]
        return Answers(("a",), each, "sum")


Work = Callable[[Batcher, Echo], Awaitable[None]]


def run(work: Work, limits: Limits | None = None) -> Echo:
    """Let a batcher run while `work` asks it."""
    echo = Echo()

    async def main() -> None:
        batcher = Batcher(echo, limits or Limits(), Metrics())
        running = asyncio.create_task(batcher.run())
        await work(batcher, echo)
        batcher.stop()
        await running
        assert batcher.waiting == 0

    asyncio.run(main())
    return echo


def lengths(answers: Answers) -> list[int]:
    return [answer.number for answer in answers.each if answer is not None]


async def held(batcher: Batcher, echo: Echo, others: list[Asked]) -> list[Answers | BaseException]:
    """Ask one text, and the others while it is predicted."""
    echo.go.clear()
    first = asyncio.create_task(batcher.ask(Asked(["first"])))
    await asyncio.sleep(0.05)
    tasks = [asyncio.create_task(batcher.ask(asked)) for asked in others]
    await asyncio.sleep(0.05)
    echo.go.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


def test_what_arrives_meanwhile_is_predicted_together_and_each_gets_its_own() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        asked = [Asked(["a" * n] * (n % 3 + 1)) for n in range(1, 20)]
        for n, answers in zip(range(1, 20), await held(batcher, echo, asked), strict=True):
            assert isinstance(answers, Answers)
            assert lengths(answers) == [n] * (n % 3 + 1)

    echo = run(work)
    assert len(echo.batches) == 2


def test_a_batch_stops_at_its_limits() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        await held(batcher, echo, [Asked(["a"] * 2) for _ in range(5)])
        await held(batcher, echo, [Asked(["b" * 30]) for _ in range(3)])

    echo = run(work, Limits(batch=4, batch_characters=70))
    sizes = [len(batch) for batch in echo.batches if batch != ["first"]]
    assert sizes == [4, 4, 2, 2, 1]


def test_documents_with_columns_go_alone() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        columns = pl.DataFrame({"likes": [3]})
        await held(batcher, echo, [Asked(["a"]), Asked(["b"], columns), Asked(["c"]), Asked(["d"])])

    assert run(work).batches == [["first"], ["a"], ["b"], ["c", "d"]]


def test_one_failure_spoils_nobody_else() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        found = await held(batcher, echo, [Asked(["a"]), Asked(["bad"]), Asked(["ccc"])])
        assert isinstance(found[1], ValueError)
        for place, length in ((0, 1), (2, 3)):
            answers = found[place]
            assert isinstance(answers, Answers)
            assert lengths(answers) == [length]

    run(work)


def test_full_is_429_with_a_time_to_come_back_and_never_when_idle() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        found = await held(batcher, echo, [Asked(["a"] * 3), Asked(["b"] * 3)])
        assert isinstance(found[0], Answers)
        refused = found[1]
        assert isinstance(refused, Problem)
        assert refused.status == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert len((await batcher.ask(Asked(["a"] * 9))).each) == 9

    run(work, Limits(waiting=5))


def test_the_time_to_come_back_is_that_of_the_batches_that_wait() -> None:
    """One slow text alone is no reason to send others away for a minute: a batch takes little longer than a text."""

    async def work(batcher: Batcher, echo: Echo) -> None:
        echo.go.clear()
        slow = asyncio.create_task(batcher.ask(Asked(["slow"])))
        await asyncio.sleep(0.5)
        echo.go.set()
        await slow
        refused = (await held(batcher, echo, [Asked(["a"] * 999), Asked(["b"])]))[1]
        assert isinstance(refused, Problem)
        assert int(refused.headers["Retry-After"]) < 60  # of a tenth of a second a text: 100

    run(work, Limits(waiting=1000))


def test_who_gave_up_is_not_predicted_and_the_rest_is() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        echo.go.clear()
        first = asyncio.create_task(batcher.ask(Asked(["first"])))
        await asyncio.sleep(0.05)
        gone = asyncio.create_task(batcher.ask(Asked(["gone"])))
        stays = asyncio.create_task(batcher.ask(Asked(["stays"])))
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.sleep(0)
        assert [entry.asked.texts for entry in batcher._queue] == [["stays"]]  # nothing is kept
        echo.go.set()
        await asyncio.gather(first, stays)
        with pytest.raises(asyncio.CancelledError):
            await gone

    assert run(work).batches == [["first"], ["stays"]]


def test_stopping_answers_what_waits() -> None:
    async def work(batcher: Batcher, echo: Echo) -> None:
        echo.go.clear()
        tasks = [asyncio.create_task(batcher.ask(Asked(["a"]))) for _ in range(5)]
        await asyncio.sleep(0.05)
        batcher.stop()
        echo.go.set()
        assert len(await asyncio.gather(*tasks)) == 5

    run(work)
