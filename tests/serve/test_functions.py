"""Rule functions that fail on one text, or read a column: their senders are told, and nobody else suffers."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from tests.serve.conftest import Answer, Start, wait_for

from unruly.cli.main import run
from unruly.project.new import make_starter

RULES = """
import os
import time
import unruly

@unruly.rule
def touchy(x):
    if "boom" in x.text:
        raise RuntimeError("cannot bear it")
    if x.text == "wait":
        open(os.environ["BEGAN"], "w").close()
        while os.path.exists(os.environ["BEGAN"]):
            time.sleep(0.01)
    return "spam" if "!!!" in x.text else None

@unruly.rule
def loved(x):
    return "ham" if "?" in x.text and x.likes > 3 else None
"""
SOURCE = "".join(
    f'\n[[source]]\nname = "{name}"\nrule = [{{ function = {{ file = "rules.py", name = "{name}" }} }}]\n'
    for name in ("touchy", "loved")
)


@pytest.fixture
def touchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_starter(tmp_path / "spam")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNRULY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "spam" / "rules.py").write_text(RULES)
    with (tmp_path / "spam" / "unruly.toml").open("a") as project:
        project.write(SOURCE)
    comments = pl.read_csv(tmp_path / "spam" / "comments.csv").with_columns(likes=pl.lit(5))
    comments.write_csv(tmp_path / "spam" / "comments.csv")
    fit = ["--encoder", "lsa", "--method", "paper", "--epochs", "3", "-q"]
    assert run(["fit", "spam", "-o", "touchy.unruly", *fit]) == 0
    return tmp_path / "touchy.unruly"


def test_one_bad_text_spoils_its_own_request_alone(start: Start, touchy: Path) -> None:
    running = start(touchy, "--functions", touchy.parent / "spam" / "rules.py", "--log", "none")
    texts = ["boom" if n % 8 == 3 else f"text {n} !!!" for n in range(48)]

    def ask(text: str) -> Answer:
        return running.post("/predict", {"texts": [text]})

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, texts))
    for text, answer in zip(texts, answers, strict=True):
        assert answer.status == (422 if text == "boom" else 200)
        if text == "boom":
            assert answer.json["error_type"] == "cannot_predict"
            assert "touchy" in answer.json["error"]
        else:
            votes = answer.json["predictions"][0]["votes"]
            assert {"source": "touchy", "label": "spam"} in votes
    code, said = running.stop()
    assert (code, "bug" in said) == (0, False)


def test_who_comes_while_workers_end_is_refused_and_not_left_waiting(
    start: Start, touchy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = touchy.parent / "began"
    monkeypatch.setenv("BEGAN", str(began))
    rules = ("--functions", touchy.parent / "spam" / "rules.py")
    running = start(touchy, *rules, "--log", "none", "--workers", "2")

    def closed() -> bool:
        try:
            socket.create_connection(("127.0.0.1", running.port)).close()
        except ConnectionRefusedError:
            return True
        return False

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(running.post, "/predict", {"texts": ["wait"]})
        wait_for(began.exists, "the request to be taken")
        running.process.terminate()
        try:
            wait_for(closed, "the port to close")
        finally:
            began.unlink()
        assert asked.result().status == 200
    code, said = running.stop()
    assert code == 0, said


def test_what_a_request_lacks_is_said_and_is_no_reason_to_refuse_it(
    start: Start, touchy: Path
) -> None:
    running = start(touchy, "--functions", touchy.parent / "spam" / "rules.py", "--log", "none")
    assert "other columns (likes): requests that send documents" in "".join(running.said)
    assert running.get("/info").json["columns"] == ["likes"]
    lacking = [{"source": "loved", "column": "likes"}]
    found = running.post("/predict", {"texts": ["why?", "hello"]}).json["predictions"]
    assert [one.get("lacking") for one in found] == [lacking, None]
    documents = [{"text": "why?", "likes": 4}, {"text": "why?", "likes": 1}]
    found = running.post("/predict", {"documents": documents}).json["predictions"]
    assert [one.get("lacking") for one in found] == [None, None]
    voters = [{vote["source"] for vote in one["votes"]} for one in found]
    assert ["loved" in each for each in voters] == [True, False]
    assert running.post("/predict", {"inputs": "why?"}).status == 200
    assert running.post("/explain", {"text": "why?"}).json["lacking"] == lacking
    assert running.post("/explain", {"document": documents[0]}).json["lacking"] == []
