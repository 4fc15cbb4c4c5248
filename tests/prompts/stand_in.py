"""A stand-in for an OpenAI-compatible server, on loopback: it speaks the protocol, and misbehaves on request.

It answers "yes" where the question holds the word "subscribe", else "no"; asked for rules, it gives those in `rules`.
Run it to try prompts by hand, with the seconds that an answer takes; it prints its address, and GET tells what it saw:

    python tests/prompts/stand_in.py 0.2
"""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NO_RULES = '{"keywords": [], "patterns": []}'


@dataclass
class StandIn:
    """What the server does, and what it has seen."""

    schema: bool = True  # whether it knows response_format
    logprobs: bool = True  # whether it gives log-probabilities
    refuses: tuple[str, ...] = ()  # parts of a request that it names in a 400, as some do
    known_models: tuple[str, ...] = ()  # any other is a 404; (): all are known
    longest: int = 1 << 20  # characters of a question; a longer one is a 400
    model: str | None = None  # the name it answers under; None: the one asked for
    key: str | None = None  # that it wants to see
    seconds: float = 0.0  # that an answer takes
    rules: dict[str, str] = field(
        default_factory=dict
    )  # class -> what it says when asked for rules
    always: str = ""  # a misbehaviour for every request
    script: deque[str] = field(default_factory=deque)  # one for each of the next requests
    requests: int = 0
    delivered: int = 0  # answers sent
    billed: int = 0  # tokens of all answers, also of those that did not arrive
    paid: Counter[str] = field(default_factory=Counter)  # by idempotency key
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most_in_flight: int = 0
    _in_flight: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> StandIn:
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.stand_in = self
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        """Up to /v1."""
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    @property
    def texts(self) -> list[str]:
        """What it was asked, in order."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def seen(self) -> dict[str, float]:
        """Counts, and the CPU seconds of this process."""
        with self._lock:
            return {
                "requests": self.requests,
                "delivered": self.delivered,
                "paid": len(self.paid),
                "most_in_flight": self.most_in_flight,
                "cpu": time.process_time(),
            }

    def begin(self, body: dict[str, Any], headers: dict[str, str]) -> str:
        """Enter a request; gives the misbehaviour that it meets."""
        with self._lock:
            self.requests += 1
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            self.bodies.append(body)
            self.headers.append(headers)
            return self.script.popleft() if self.script else self.always

    def end(self) -> None:
        """A request is over."""
        with self._lock:
            self._in_flight -= 1

    def answer(self, body: dict[str, Any], how: str) -> dict[str, Any]:
        """A completion, as OpenAI writes it."""
        asked = body["messages"][-1]["content"]
        word = "yes" if "subscribe" in asked else "no"
        word = {"unsure": "unsure", "wrong": "perhaps"}.get(how, word)
        said = word if "response_format" not in body else json.dumps({"answer": word})
        if wanted := re.search(r'of the class "(.*)" and hardly', asked):
            said = said if how == "wrong" else self.rules.get(wanted[1], NO_RULES)
        said = said[: len(said) // 2] if how == "half" else said
        choice: dict[str, Any] = {"message": {"role": "assistant", **_message(how, said, word)}}
        if body.get("logprobs") and self.logprobs:
            choice["logprobs"] = {"content": _tokens(said, word)}
        size = sum(len(m["content"]) for m in body["messages"]) // 4
        usage = {"prompt_tokens": size, "completion_tokens": 5}
        return {"model": self.model or body["model"], "choices": [choice], "usage": usage}


def _message(how: str, said: str, word: str) -> dict[str, Any]:
    """The answer in the ways that servers and small models have."""
    odd: dict[str, dict[str, Any]] = {
        "parts": {
            "content": [{"type": "text", "text": said[:4]}, {"type": "text", "text": said[4:]}]
        },
        "think": {"content": f'<think>Is it {{"answer": "no"}}? or yes</think>\n{said}'},
        "thinking": {"content": "<think>The user wants to know whether"},
        "reasoning": {"content": "", "reasoning_content": "The user wants to know whether"},
        "reasoned": {"content": said, "reasoning": "yes and no"},
        "fence": {"content": f"```json\n{said}\n```"},
        "sentence": {"content": f"{word.title()}, because of what it says."},
        "both": {"content": "yes, or perhaps no"},
        "null": {"content": None},
        "refusal": {"content": None, "refusal": "I cannot help with that."},
    }
    return odd.get(how, {"content": said})


def _tokens(said: str, word: str) -> list[dict[str, Any]]:
    """The text in three tokens; the word is held for 80 %, and the other one for 20 %."""
    before, _, after = said.partition(word)
    other = "no" if word == "yes" else "yes"
    pieces = []
    for text in (before, word, after):
        if text:
            pieces.append({"token": text, "top_logprobs": [{"token": text, "logprob": -0.01}]})
            if text == word:
                pieces[-1]["top_logprobs"] = [
                    {"token": word, "logprob": math.log(0.8)},
                    {"token": other, "logprob": math.log(0.2)},
                ]
    return pieces


class _Server(ThreadingHTTPServer):
    stand_in: StandIn
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet where a client was killed; anything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        """What it has seen so far, and what it took."""
        if self.path == "/v1/models" and self.server.stand_in.known_models:
            return self._reply(
                200, {"data": [{"id": name} for name in self.server.stand_in.known_models]}
            )
        return self._reply(200, self.server.stand_in.seen())

    def do_POST(self) -> None:
        stand_in = self.server.stand_in
        size = int(self.headers["Content-Length"])
        data = self.rfile.read(size)
        if len(data) < size:  # the client was killed while it was sending
            self.close_connection = True
            return
        body = json.loads(data)
        how = stand_in.begin(body, dict(self.headers))
        try:
            self._misbehave(how, body)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            stand_in.end()

    def _misbehave(self, how: str, body: dict[str, Any]) -> None:
        stand_in = self.server.stand_in
        kind, _, detail = how.partition(":")
        if stand_in.key and self.headers.get("Authorization") != f"Bearer {stand_in.key}":
            return self._reply(
                401, {"error": {"message": f"wrong key {self.headers.get('Authorization')}"}}
            )
        if "response_format" in body and not stand_in.schema:
            return self._reply(400, {"error": "bad request"})
        given = {*body, *(f"{message['role']} role" for message in body["messages"])}
        if refused := next((part for part in stand_in.refuses if part in given), None):
            return self._reply(400, {"error": {"message": f"{refused.title()} is not supported"}})
        if self.path != "/v1/chat/completions":
            return self._reply(404, {"detail": "Not Found"})
        if stand_in.known_models and body["model"] not in stand_in.known_models:
            return self._reply(404, {"object": "error", "message": f"no model {body['model']}"})
        if len(body["messages"][-1]["content"]) > stand_in.longest:
            return self._reply(400, {"error": {"message": "maximum context length exceeded"}})
        if kind == "429":
            return self._reply(
                429, {"error": "slow down"}, {"Retry-After": detail} if detail else {}
            )
        if kind == "html":
            return self._send(200, b"<!doctype html><title>Web UI</title>", {})
        if kind == "error":  # as some gateways do
            return self._reply(200, {"error": {"message": "slow down", "code": int(detail)}})
        if kind.isdecimal():
            return self._reply(int(kind), {"error": {"message": "no"}}, {"Location": detail})
        if kind == "stall":
            time.sleep(float(detail))
        time.sleep(stand_in.seconds)
        answer = stand_in.answer(body, kind)
        data, usage = json.dumps(answer).encode(), answer["usage"]
        if kind == "repeat":  # the request's headers, in the answer
            data = data.replace(b"no", str(self.headers["Authorization"]).encode())
        with stand_in._lock:
            stand_in.paid[self.headers["Idempotency-Key"]] += 1
            stand_in.billed += sum(usage.values())
        if kind == "cut":  # the connection breaks in the middle of the reply
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()
            return None
        if kind == "drip":  # headers that never end
            while True:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: " if not detail else b"x")
                detail = "on"
                time.sleep(0.05)
        if kind == "close":
            self.close_connection = True
        self._send(200, data, {"Connection": "close"} if kind == "close" else {})
        with stand_in._lock:
            stand_in.delivered += 1
        return None

    def _reply(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), headers or {})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


if __name__ == "__main__":
    took = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
    with StandIn(seconds=took) as served:
        print(served.url, flush=True)
        while True:
            time.sleep(1)
