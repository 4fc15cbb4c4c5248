"""The real server: answers equal the library's, every limit has its status, and it starts and stops in order."""

from __future__ import annotations

import json
import logging
import logging.config
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
from tests.serve.conftest import Answer, Running, Start, wait_for

import unruly
from unruly.errors import InputError
from unruly.serve.server import LOGGING, listening, log

TEXTS = ["check out my channel", "what a lovely song", "", "☃ ça va?", "subscribe " * 50]


def test_predictions_are_the_librarys(server: Running, model: Path) -> None:
    loaded = unruly.load(model)
    expected = loaded.predictions(TEXTS, cached=False)
    own = server.post("/predict", {"texts": TEXTS}).json["predictions"]
    assert [found["label"] for found in own] == expected.labels
    shares = [[found["probabilities"][name] for name in loaded.class_names] for found in own]
    assert np.abs(np.array(shares) - expected.proba).max() < 1e-5
    assert [found["decided_by"] for found in own] == expected.decided_by
    assert [[vote["source"] for vote in found["votes"]] for found in own] == expected.voters


def test_hugging_face_shapes(server: Running) -> None:
    one = server.post("/predict", {"inputs": TEXTS[0]}).json
    assert {"label", "score"} == set(one[0])
    assert [found["score"] for found in one] == sorted((f["score"] for f in one), reverse=True)
    many = server.post("/predict", {"inputs": TEXTS, "parameters": {"top_k": 1}}).json
    assert many[0] == one[:1]
    assert [len(found) for found in many] == [1] * len(TEXTS)


def test_a_missing_text_has_no_label_and_spoils_no_other(server: Running) -> None:
    names = ("unruly_missing_total", "unruly_uncovered_total", "unruly_confidence_count")
    before = [server.metric(name) for name in names]
    alone = server.post("/predict", {"texts": TEXTS[:1]}).json["predictions"]
    found = server.post("/predict", {"texts": [TEXTS[0], None]}).json["predictions"]
    assert found[:1] == alone
    nothing = {"label": None, "confidence": None, "probabilities": None, "decided_by": None}
    assert found[1] == {**nothing, "votes": []}
    documents = [{"text": None, "likes": 1}]
    assert server.post("/predict", {"documents": documents}).json["predictions"] == [found[1]]
    ranked = server.post("/predict", {"inputs": [None, TEXTS[0]]}).json
    assert ranked == [[], server.post("/predict", {"inputs": TEXTS[0]}).json]
    changes = [server.metric(name) - old for name, old in zip(names, before, strict=True)]
    assert changes == [3, 0, 4]


def test_hugging_faces_own_client(server: Running) -> None:
    hub = pytest.importorskip("huggingface_hub")
    client = hub.InferenceClient(f"http://127.0.0.1:{server.port}")
    found = client.text_classification(TEXTS[0])
    assert [(one.label, one.score) for one in found] == [
        (one["label"], one["score"]) for one in server.post("/predict", {"inputs": TEXTS[0]}).json
    ]


def test_open_inference_protocol(server: Running) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [2], "data": TEXTS[:2]}
    answer = server.post("/v2/models/spam/infer", {"id": "7", "inputs": [tensor]}).json
    labels, shares = answer["outputs"]
    own = server.post("/predict", {"texts": TEXTS[:2]}).json["predictions"]
    assert answer["id"] == "7"
    assert labels["data"] == [found["label"] for found in own]
    assert shares["shape"] == [2, 2]
    assert shares["data"][:2] == list(own[0]["probabilities"].values())
    assert server.get("/v2/models/spam").json["inputs"][0]["datatype"] == "BYTES"
    assert server.get("/v2/models/spam/ready").json["ready"] is True
    assert server.get("/v2/models/other").status == 404
    wrong = {**tensor, "shape": "3"}
    for inputs in ([], [wrong], [{**tensor, "datatype": "FP32"}], [tensor, tensor], "text"):
        assert server.post("/v2/models/spam/infer", {"inputs": inputs}).status == 422
    only = {"inputs": [tensor], "outputs": [{"name": "label"}]}
    assert len(server.post("/v2/models/spam/infer", only).json["outputs"]) == 1
    assert server.post("/v2/models/spam/infer", {**only, "outputs": [{"name": "x"}]}).status == 422


def test_the_version_in_service_goes_by_its_name_and_others_are_not_there(server: Running) -> None:
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": TEXTS[:1]}
    plain, infer = "/v2/models/spam", {"inputs": [tensor]}
    (version,) = server.get(plain).json["versions"]
    named = f"{plain}/versions/{version}"
    asked = 'unruly_requests_total{path="/v2/models/{name}/versions/{version}/infer",status="200"}'
    before = server.metric(asked)
    for ending in ("", "/ready"):
        assert server.get(named + ending).json == server.get(plain + ending).json
    answer = server.post(f"{named}/infer", infer).json
    assert (answer["model_version"], answer) == (
        version,
        server.post(f"{plain}/infer", infer).json,
    )
    assert server.metric(asked) == before + 1
    for wrong in (f"{plain}/versions/1", f"/v2/models/other/versions/{version}"):
        kind = "unknown_version" if wrong.endswith("1") else "unknown_model"
        answers = [server.get(wrong), server.get(f"{wrong}/ready")]
        for refused in [*answers, server.post(f"{wrong}/infer", infer)]:
            assert (refused.status, refused.json["error_type"]) == (404, kind)


def test_explain_is_the_librarys(server: Running, model: Path) -> None:
    found = server.post("/explain", {"text": TEXTS[0], "words": 3, "neighbours": 1}).json
    expected = unruly.load(model).explain(TEXTS[0], words=3, neighbours=1)
    assert found == json.loads(json.dumps(expected.to_plain()))


def test_health_info_and_metrics(server: Running, model: Path) -> None:
    for path in ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready"):
        assert server.get(path).json["status"] == "ok"
    info = server.get("/info").json
    assert info["classes"] == ["ham", "spam"]
    assert info["checksum"] == model.read_bytes()[-64:].decode()
    assert info["gold_free"] is True
    assert {rule["source"] for rule in info["rules"]} == set(info["sources"])
    before = server.metric("unruly_uncovered_total")
    answer = server.post("/predict", {"texts": ["zzz zzz zzz zzz zzz zzz zzz zzz"]})
    assert answer.json["predictions"][0]["votes"] == []
    assert server.metric("unruly_uncovered_total") == before + 1
    assert server.metric('unruly_requests_total{path="/predict",status="200"}') >= 1


def test_bad_requests_are_json_errors_and_the_server_goes_on(server: Running) -> None:
    million = "a" * 1_000_000
    cases = [
        (b"{not json", 400, "invalid_json"),
        (b'{"inputs": NaN}', 400, "invalid_json"),
        (b'{"inputs": null}', 422, "invalid_request"),
        (b'{"texts": [null, 1]}', 422, "invalid_request"),
        (json.dumps({"inputs": million}).encode(), 422, "text_too_long"),
        (json.dumps({"inputs": ["a"] * 101}).encode(), 422, "too_many_texts"),
        (b'{"inputs": "' + b"a" * 50_000_000 + b'"}', 413, "body_too_large"),
    ]
    for body, status, kind in cases:
        answer = server.post("/predict", body)
        assert (answer.status, answer.json["error_type"]) == (status, kind)
        assert answer.headers["content-type"] == "application/json"
    assert (server.get("/nix").status, server.get("/predict").status) == (404, 405)
    assert "/predict does not take GET: use POST" in str(server.get("/predict").json)
    assert server.get("/nix").json["error_type"] == "not_found"
    assert server.metric('unruly_errors_total{kind="body_too_large"}') == 1
    assert server.post("/predict", {"inputs": TEXTS[0]}).status == 200


def test_a_body_without_end_is_cut_off(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        pieces = (b"100000\r\n" + b"a" * 0x100000 + b"\r\n") * 500
        with pytest.raises(OSError):
            client.sendall(pieces)
    assert server.get("/health/live").status == 200


def test_expect_continue_is_refused_before_the_body(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 50000000\r\n\r\n"
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 413")


def test_clients_that_hang_up_or_crawl_harm_nobody(server: Running) -> None:
    body = json.dumps({"texts": TEXTS}).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    for sent in (head, head + body[:20], head + body):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(sent)  # and gone, without reading
    crawling = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
    for client in crawling:
        client.sendall(head + body[:5])
    assert server.post("/predict", {"inputs": TEXTS[0]}).status == 200
    for client in crawling:
        client.sendall(body[5:])
    for client in crawling:
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.close()


def test_a_crowd_of_slow_clients_leaves_room_for_others(start: Start, model: Path) -> None:
    resource = pytest.importorskip("resource")
    few = (300, 300)  # files that the server may have open
    running = start(
        model, "--log", "none", limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)
    )
    assert "at most 76 connections at once, not 800" in "".join(running.said)
    for sent in (
        b"",
        b"POST /pre",
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ):
        slow = []
        for _ in range(400):
            slow.append(socket.create_connection(("127.0.0.1", running.port), timeout=60))
            with suppress(OSError):  # it was cut to make room
                slow[-1].sendall(sent)
        assert running.get("/health/live").status == 200
        full = running.post("/predict", {"inputs": TEXTS[0]})
        assert full.status == (503 if sent.endswith(b"{") else 200)
        for client in slow:
            client.close()
    assert (full.json["error_type"], full.headers["retry-after"]) == ("too_many_connections", "1")
    wait_for(lambda: running.post("/predict", {"inputs": TEXTS[0]}).status == 200, "room again")
    code, said = running.stop()
    assert (code, "Error" in said) == (0, False), said[:2000]


def test_many_clients_at_once_get_their_own_answers(server: Running) -> None:
    texts = [
        f"{'subscribe to my channel' if n % 2 else 'lovely song'} number {n}" for n in range(64)
    ]
    alone = [server.post("/predict", {"texts": [text]}).json for text in texts[:8]]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda text: server.post("/predict", {"texts": [text]}).json, texts))
    assert found[:8] == alone
    assert {one["predictions"][0]["label"] for one in found[1::2]} == {"spam"}


def test_token_log_and_end(start: Start, model: Path) -> None:
    running = start(model, "--token-env", "OUR_TOKEN", environment={"OUR_TOKEN": "s3cret"})
    assert running.get("/health/ready").status == 200
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret"}):
        refused = running.ask("POST", "/predict", {"inputs": "hello there"}, headers)
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert running.get("/info", headers).status == 401
    for scheme in ("Bearer", "bearer", "BEARER "):
        bearer = {"Authorization": f"{scheme} s3cret"}
        assert running.post("/predict", {"inputs": "hello there"}, bearer).status == 200
    code, said = running.stop()
    assert code == 0
    assert "POST /predict 200" in said
    assert "texts=1" in said
    assert "error=unauthorized" in said
    assert "hello" not in said  # no text of a document
    assert "s3cret" not in said
    assert said.rstrip().endswith("stopped")


def test_a_web_page_whose_name_points_here_reads_nothing(start: Start, model: Path) -> None:
    running = start(model, "--allow-host", "models.example")
    body = {"text": "check out my channel"}
    for name in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "a@b", "[::1"):
        host = {"Host": f"{name}:{running.port}"}
        refused = running.ask("POST", "/explain", body, host)
        assert (refused.status, refused.json["error_type"]) == (421, "wrong_host")
        assert running.get("/info", host).status == 421
    for name in ("localhost", "127.0.0.1", "[::1]", "models.example"):
        assert running.ask("POST", "/explain", body, {"Host": f"{name}:80"}).status == 200


def test_texts_are_logged_when_asked_for(start: Start, model: Path) -> None:
    running = start(model, "--log", "texts")
    running.post("/predict", {"inputs": "hello\nthere \x1b[2J"})
    _, said = running.stop(signal.SIGINT)
    assert r'["hello\nthere \u001b[2J"]' in said


def test_stopping_finishes_what_was_taken(start: Start, model: Path) -> None:
    running = start(model, "--log", "none", "--max-waiting", "100000")
    body = {"texts": ["a text of some length, to be predicted " * 20] * 300}
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(running.post, "/predict", body) for _ in range(8)]
        wait_for(lambda: running.metric("unruly_texts_waiting") >= 600, "a queue")
        code, said = running.stop()
        answers = [each.result() for each in asked]
    assert code == 0, said
    assert [answer.status for answer in answers] == [200] * 8
    assert all(len(answer.json["predictions"]) == 300 for answer in answers)


def test_a_full_queue_is_429(start: Start, model: Path) -> None:
    running = start(model, "--log", "none", "--max-waiting", "1000")
    body = {"texts": ["a text of some length, to be predicted " * 50] * 1000}
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: running.post("/predict", body), range(6)))
    statuses = {answer.status for answer in answers}
    assert statuses == {200, 429}
    turned = next(answer for answer in answers if answer.status == 429)
    assert int(turned.headers["retry-after"]) >= 1
    assert turned.json["error_type"] == "full"


def test_a_replaced_model_loses_no_request(
    start: Start, tmp_path: Path, model: Path, other_model: Path
) -> None:
    path = tmp_path / "spam.unruly"
    shutil.copy(model, path)
    running = start(path, "--log", "none")
    first, second = (p.read_bytes()[-64:].decode()[:12] for p in (model, other_model))

    def ask(_: int) -> Answer:
        return running.post("/predict", {"inputs": TEXTS[0]})

    seen = list[Answer]()
    with ThreadPoolExecutor(4) as pool:
        seen += pool.map(ask, range(20))
        (tmp_path / "part").write_bytes(b"damaged")
        os.replace(tmp_path / "part", path)
        wait_for(lambda: _failed(running), "the damaged file to be refused")
        seen += pool.map(ask, range(20))
        shutil.copy(other_model, tmp_path / "part")
        os.replace(tmp_path / "part", path)
        while seen[-1].headers["x-model"] != second and len(seen) < 20_000:
            seen += pool.map(ask, range(8))
    assert {answer.status for answer in seen} == {200}
    assert [answer.headers["x-model"] for answer in seen[:40]] == [first] * 40
    assert seen[-1].headers["x-model"] == second
    assert running.get("/info").json["not_in_service"] is None


def _failed(running: Running) -> bool:
    return running.get("/info").json["not_in_service"] is not None


def test_several_workers_share_the_port_and_their_counts(start: Start, model: Path) -> None:
    running = start(model, "--workers", "2", "--log", "none")
    asked = 40
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(lambda _: running.post("/predict", {"inputs": TEXTS[0]}), range(asked))
        )
    assert {answer.status for answer in answers} == {200}
    name = 'unruly_requests_total{path="/predict",status="200"}'
    wait_for(lambda: running.metric(name) == asked, "all counts")
    page = running.get("/metrics").body.decode()
    assert re.findall(r"^unruly_model_info{.*} (\d+)$", page, re.M) == ["1"]
    code, said = running.stop()
    assert code == 0, said


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["none.unruly"], "none.unruly: there is no such file"),
        (["damaged.unruly"], "not a whole unruly model"),
        (["MODEL", "--token-env", "NOT_SET_ANYWHERE"], "not set"),
        (["MODEL", "--host", "256.1.1.1"], "no such address"),
        (["MODEL", "--workers", "0"], "workers"),
    ],
)
def test_what_cannot_start_says_so_in_one_line(
    tmp_path: Path, model: Path, args: list[str], words: str
) -> None:
    (tmp_path / "damaged.unruly").write_bytes(model.read_bytes()[:5000])
    done = _unruly(tmp_path, *(str(model) if arg == "MODEL" else arg for arg in args))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use(tmp_path: Path, model: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = _unruly(tmp_path, str(model), "--port", str(port))
    assert done.returncode == 2
    assert done.stderr == (
        f"error: port {port} is in use: stop what listens there, or choose another with --port\n"
    )


def _unruly(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unruly", "serve", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_keep_alive_serves_many_requests_on_one_connection(server: Running) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(5):
        connection.request("POST", "/predict", json.dumps({"inputs": TEXTS[0]}))
        assert connection.getresponse().read().startswith(b'[{"label"')
    connection.close()


def test_a_client_that_hangs_up_is_no_error_of_the_server(server: Running) -> None:
    gone = 'unruly_requests_total{path="/predict",status="499"}'
    before = server.metric(gone)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(
            b'POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"texts"'
        )
    wait_for(lambda: server.metric(gone) == before + 1, "the request to be counted")
    assert server.metric('unruly_requests_total{path="/predict",status="500"}') == 0


def test_texts_of_clients_that_are_gone_are_not_predicted(start: Start, model: Path) -> None:
    running = start(model, "--log", "none", "--max-waiting", "100000")
    texts = ["a text of some length, to be predicted " * 50] * 1000
    body = json.dumps({"texts": texts}).encode()
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    clients = [socket.create_connection(("127.0.0.1", running.port), timeout=60) for _ in range(8)]
    for client in clients:
        client.sendall(head + body)
    wait_for(lambda: running.metric("unruly_texts_waiting") >= 6000, "a queue")
    for client in clients:
        client.close()
    gone = 'unruly_requests_total{path="/predict",status="499"}'
    wait_for(lambda: running.metric(gone) >= 6, "the clients to be missed")
    assert running.post("/predict", {"inputs": TEXTS[0]}).status == 200
    assert running.metric("unruly_texts_waiting") == 0
    assert running.metric("unruly_batch_texts_sum") < 4000
    code, said = running.stop()
    assert (code, "bug" in said) == (0, False), said


def test_answers_are_sent_at_once() -> None:
    with listening("127.0.0.1", [0]) as made:  # asyncio sets TCP_NODELAY on such sockets only
        assert made.proto == socket.IPPROTO_TCP


def test_a_port_that_is_taken_is_passed_over_where_others_are_given() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with listening("127.0.0.1", [port, 0]) as made:
            assert made.getsockname()[1] != port
        with pytest.raises(InputError, match="is in use"), listening("127.0.0.1", [port]):
            pass


def test_the_log_is_harmless_to_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    log("a model \x1b[2J")
    logging.config.dictConfig(LOGGING)
    try:
        raise ValueError("a text \x1b]0;pwn\x07")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("a bug \x9b1m")
    err = capsys.readouterr().err
    assert r"a model \u001b[2J" in err
    assert r"a bug \u009b1m" in err
    assert r"ValueError: a text \u001b]0;pwn\u0007" in err
    assert not set(err) & set("\x1b\x07\x9b")
