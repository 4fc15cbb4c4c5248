"""Model files made to do harm: how many are refused, and whether any of them gets anywhere.

    python lab/benchmarks/hostile.py [--files 500 | --each] [--seed 0] [--json]

A small model is fitted and saved; from it files are crafted whose checksum is right: members with names that
lead out of a folder, rules that name Python files, word lists, tables and packages, encoders that name hubs,
classes and greedy tokenizers, patterns that explode, values and arrays that are not what they ought to be.
Each is loaded, asked to predict and explain, in a process of its own. It holds when the file is refused in one
line or answers, within SECONDS and MEGABYTES, having opened nothing but itself. Printed: the count of each kind.
With --each nothing is left to chance: every place in every JSON member gets each of a few plain values, and is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import random
import sys
import tempfile
import warnings
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

import unruly
from _trial import FAILED, Trial, trial
from unruly.model.storage import open_container
from unruly.project.new import make_starter

SECONDS = 1.0  # to load; the texts that are then predicted may take as long again for each rule
PATIENCE = 10.0
MEGABYTES = 500
TEXTS = ["subscribe to my channel", "a" * 3000, "what a lovely song " * 50, ""]
SECRET = "secret-of-the-user"
Members = dict[str, bytes]
Place = tuple[str | int, ...]
NASTY: tuple[Any, ...] = (
    None, True, -1, 0, 3, 10**6, 2**31, 2**63, 10**30, 1e308, -1e308, 0.5, "", "spam", "a\nb", "../x", "\x1b[2J",
    "/etc/passwd", "x" * 10_000, [], {}, [[]], [None], [0] * 1000, {"a": {"b": []}}, {"$array": "a0"},
    {"function": {"file": "rules.py", "name": "f"}}, {"$array": "none"}, [1e308] * 3, "NaN",
    float("nan"), 10**400, "\ud800",
)  # fmt: skip
PLAIN: tuple[Any, ...] = ([], {}, "", "x", 0, -1, 1.5, None, True, [[]], [0], ["x"])
FIRST = 3  # of a list, as many places are tried


@dataclass(frozen=True)
class Craft:
    """One way to make a file, from the members of a sound one."""

    kind: str
    make: Callable[[Members, random.Random, Path], bytes]


def main() -> None:
    """Craft, try, count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--each", action="store_true", help="every place of the JSON, instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object as the last line")
    args = parser.parse_args()
    counts, failures = survey(None if args.each else args.files, args.seed)
    files = sum(map(Counter.total, counts.values()))
    for kind, outcomes in sorted(counts.items()):
        print(f"{kind:12}" + ", ".join(f"{n} {what}" for what, n in sorted(outcomes.items())))
    print(f"{files} crafted model files, {len(failures)} failures")
    if args.json:
        print(json.dumps({"files": files, "failures": len(failures)}))
    raise SystemExit(bool(failures))


def survey(files: int | None, seed: int) -> tuple[dict[str, Counter[str]], list[str]]:
    """How each kind of file ended, and what went wrong; None: every place, in order."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        members = sound(room)
        os.chdir(room / "home")
        crafts = each(members) if files is None else islice(cycle(CRAFTS), files)
        for number, craft in enumerate(crafts):
            path = room / "home" / "crafted.unruly"
            path.write_bytes(craft.make(dict(members), random.Random(f"{seed} {number}"), room))
            found = trial(partial(_use, path), PATIENCE, MEGABYTES)
            fault = _fault(found, room)
            counts[craft.kind][FAILED if fault else found.outcome] += 1
            if (number + 1) % 50 == 0:
                print(f"{number + 1} files", file=sys.stderr, flush=True)
            if fault:
                failures.append(f"{number} ({craft.kind}): {fault}")
                print(f"FAILED {failures[-1]}", flush=True)
    return counts, failures


def sound(room: Path) -> Members:
    """The members of a small model; beside it lie the files that a hostile one would like to open.

    Only forks work with polars: its threads do not come along into a fork.
    """
    home = room / "home"
    home.mkdir()
    (home / "rules.py").write_text(
        f"open({str(room / 'ran')!r}, 'w').write('x')\ndef f(row): return None\n"
    )
    (home / "secret.txt").write_text(SECRET + "\n")
    (home / "secret.csv").write_text(f"who\n{SECRET}\n")
    os.environ["UNRULY_CACHE"] = str(room / "cache")
    made = trial(partial(_fit, room), 120)
    if made.outcome != "ok":
        raise SystemExit(f"no model to begin with: {made.words}")
    for library in (
        "sklearn.linear_model",
        "scipy.sparse.linalg",
        "unruly.features.stack",
        "unruly.denoising.fit",
    ):
        importlib.import_module(library)  # once for all forks
    container = open_container(room / "sound.unruly")
    with zipfile.ZipFile(room / "sound.unruly") as archive:
        return {"manifest.json": archive.read("manifest.json"), **container.members}


def _fit(room: Path) -> str:
    project = unruly.Project.read(make_starter(room / "spam"))
    corpus = project.corpus("train")
    model = unruly.WeakClassifier(encoder="lsa", cache=False)
    model.fit(corpus, project.sources.vote(corpus)).save(room / "sound.unruly")
    return "fitted"


def _use(path: Path) -> str:
    """Load the file and ask it everything."""
    model = unruly.load(path)
    print(model, model.summary_)
    answers = model.predict(TEXTS)
    model.explain(TEXTS[0])
    return str(len(answers))


def _fault(found: Trial, room: Path) -> str | None:
    """What is not as it should be, or None."""
    if found.outcome == FAILED:
        return found.words
    if found.outcome == "refused" and found.seconds > SECONDS:
        return f"refused after {found.seconds:.1f} s: {found.words}"
    if found.megabytes > MEGABYTES:
        return f"{found.megabytes:.0f} MB: {found.words}"
    if SECRET in found.words or (room / "ran").exists():
        (room / "ran").unlink(missing_ok=True)
        return f"code was run, or a file was read: {found.words}"
    strange = [event for event in found.touched if _strange(event, room)]
    left = sorted(path.name for path in (room / "home").iterdir())
    if left != ["crafted.unruly", "rules.py", "secret.csv", "secret.txt"]:
        return f"files were made: {left}"
    return f"{strange[0]}: {found.words}" if strange else None


def _strange(event: str, room: Path) -> bool:
    """Whether this was opened because the file said so: anything but itself and installed libraries."""
    kind, _, what = event.partition(" ")
    if kind == "exec" or kind == "subprocess.Popen":  # the watch over long texts is a process
        return kind != "exec" and "python" not in what
    if kind == "socket.connect":
        return True
    if what.startswith(str(Path(unruly.__file__).parent)):  # a module of ours, whatever its name
        return False
    return any(word in what for word in ("rules.py", "secret", "passwd", "evil"))


# --- How files are crafted -------------------------------------------------------------------------


def packed(
    members: list[tuple[str, bytes]], change: Callable[[zipfile.ZipInfo], None] | None = None
) -> bytes:
    """A zip of these members with the right checksum, whatever they are called."""
    buffer = BytesIO()
    warnings.simplefilter("ignore")  # names that are there twice
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * 64
        for name, data in members:
            entry = zipfile.ZipInfo("x", date_time=(1980, 1, 1, 0, 0, 0))
            entry.filename = entry.orig_filename = name
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            if change is not None:
                change(entry)
            archive.writestr(entry, data)
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def in_order(members: Members) -> list[tuple[str, bytes]]:
    rest = sorted((name, data) for name, data in members.items() if name != "manifest.json")
    return [("manifest.json", members["manifest.json"]), *rest]


def _named(members: Members, rng: random.Random, room: Path) -> bytes:
    """A member whose name leads out of any folder."""
    target = rng.choice(["x.json", "evil.py", "sitecustomize.py", ".bashrc", "part0.json"])
    start = rng.choice(
        ["encoder/../", "encoder/../../", "../", "/", f"encoder/{room}/", f"{room}/", "encoder//", "encoder\\..\\",
         "C:\\", "encoder/./", "encoder/\0", "encoder/part0.json/", "~/", "encoder/%2e%2e/", "Encoder/", "\u2024\u2024/"]
    )  # fmt: skip
    rest = [*in_order(members), (start + target, b"import os")]
    return packed(rest)


def _compressed(members: Members, rng: random.Random, room: Path) -> bytes:
    """Bombs, links, members twice, other fields."""
    listed = in_order(members)

    def change(entry: zipfile.ZipInfo) -> None:
        if entry.filename == "training.json" or rng.random() < 0.2:
            match rng.randrange(4):
                case 0:
                    entry.compress_type = rng.choice(
                        [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
                    )
                case 1:
                    entry.external_attr = rng.choice([0o120777 << 16, 0o040755 << 16, 0o4755 << 16])
                case 2:
                    entry.extra = b"\x01\x00\x08\x00" + rng.randbytes(8)
                case _:
                    entry.create_system = rng.randrange(20)

    if rng.random() < 0.3:
        listed.insert(rng.randrange(1, len(listed)), rng.choice(listed))
    if rng.random() < 0.3:
        listed[-1] = (listed[-1][0], b"\0" * 20_000_000)
    return packed(listed, change)


def _rules(members: Members, rng: random.Random, room: Path) -> bytes:
    """Carried rules that name files, code, packages or endless patterns."""
    plain = json.loads(members["rules.json"])
    condition: Any = rng.choice(
        [
            {"function": {"file": "rules.py", "name": "f"}},
            {"function": {"file": str(room / "home/rules.py"), "name": "f"}},
            {"carried_function": {"file": "rules.py", "name": "f", "digest": None}},
            {"keywords_file": "secret.txt"},
            {"keywords": ["a"], "keywords_file": "secret.txt"},
            {"lookup": {"file": "secret.csv", "columns": ["text"]}},
            {"carried_lookup": {"file": "secret.csv", "columns": ["text"], "known": []}},
            {"entity": {"type": "PERSON", "model": "evil"}},
            {"carried_entity": {"type": "PERSON", "model": "../evil"}},
            {
                "carried_classifier": {
                    "name": "secret.skops",
                    "digest": rng.choice([None, "", "0" * 64]),
                    "map": [],
                    "above": 0.0,
                    "trusted": ["os.system", "builtins.eval"],
                }
            },
            {"prompt": {"url": "http://127.0.0.1:9/", "model": "x"}},
            {"model": "evil.unruly"},
            {"pattern": "(a{1,500}){1,50}b"},
            {"pattern": "(((a{99}){99}){99}){99}", "engine": "python"},
            {"pattern": "(a+)+b", "engine": "python"},
            {"pattern": "(?R)", "engine": "python"},
            {"pattern": "(a|a)*b", "engine": "python", "seconds": 1e9},
            {"pattern": "(a+)+b", "engine": "python", "seconds": 1e400},
            {"pattern": "(?:" * 5000 + "a" + ")" * 5000, "engine": "python"},
            {"pattern": "[" * 15000},
            {
                "sequence": {
                    "first": ["a"],
                    "then": ["b"],
                    "within_chars": rng.choice([5000, 10**9]),
                }
            },
            {"sequence": {"first": ["a"] * 5000, "then": ["b"] * 5000, "within_words": 50}},
            {"keywords": [f"w{i}" for i in range(100_000)]},
            {"field": {"column": "text", "pattern": "(a{1,90}){1,90}b"}},
            {"column": {"name": "text", "map": {"a": "spam"}}},
            {"length": {"min_words": rng.choice([-5, 2**63, 10**400])}},
            {"vader": {"above": 0.1}},
            rng.choice(NASTY),
        ]
    )
    for _ in range(rng.choice([0, 0, 1, 3, 60, 3000])):
        condition = rng.choice(
            [{"not": condition}, {"all": [condition]}, {"any": [condition, condition]}]
        )
        if len(json.dumps(condition)) > 200_000:
            break
    plain["sources"][rng.randrange(len(plain["sources"]))]["rule"][0]["when"] = condition
    return packed(in_order({**members, "rules.json": json.dumps(plain).encode()}))


def _tokenizer(rng: random.Random) -> dict[str, Any]:
    """A tokenizer that makes much of little."""
    grow = [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 50}
        for _ in range(rng.choice([1, 6]))
    ]
    normalizer: Any = rng.choice(
        [
            None,
            {"type": "Sequence", "normalizers": grow},
            {"type": "Replace", "pattern": {"Regex": "(a+)+b"}, "content": "x"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "y" * 3_000_000},
            {"type": "Replace", "pattern": {"String": ""}, "content": "y" * 60},
            {"type": "Sequence", "normalizers": [step for _ in range(5) for step in _folded()]},
            {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 30},
        ]
    )
    split: Any = rng.choice(
        [
            {"type": "Whitespace"},
            {
                "type": "Split",
                "pattern": {"Regex": "(a+)+$b"},
                "behavior": "Isolated",
                "invert": False,
            },
        ]
    )
    vocabulary: dict[str, int] = {"[UNK]": 0, "a": 1, "song": rng.choice([2, 10**9])}
    model: Any = rng.choice(
        [
            {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
            {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[none]"},
            {
                "type": "WordPiece",
                "vocab": {"[UNK]": 0, "a": 1, "##a": 2},
                "unk_token": "[UNK]",
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 10**9,
            },
            {"type": "Unigram", "vocab": [["[UNK]", 0.0], ["a", -1.0], ["a" * 3000, -1.0]], "unk_id": 0},
        ]
    )  # fmt: skip
    text = {"Sequence": {"id": "A", "type_id": 0}}
    repeated = {"type": "TemplateProcessing", "single": [text] * 100_000, "pair": [text], "special_tokens": {}}  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": split, "post_processor": rng.choice([None, repeated]), "decoder": None, "model": model,
    }  # fmt: skip


def _folded() -> list[dict[str, Any]]:
    """Replacements that grow, and the steps that make of each what the next one replaces."""
    fold = {"type": "Lowercase"}
    return [
        {"type": "Replace", "pattern": {"String": "a"}, "content": "B" * 60}, fold,
        {"type": "Replace", "pattern": {"String": "b"}, "content": "A" * 60}, fold,
    ]  # fmt: skip


def _encoders(members: Members, rng: random.Random, room: Path) -> bytes:
    """Encoders that name a hub, a class, a folder, or bring a tokenizer of their own."""
    static = {
        "vectors": {"$array": "a0"},
        "tokenizer": json.dumps(_tokenizer(rng)),
        "unit": True,
        "max_tokens": rng.choice([512, 10**9]),
        "source": "x",
    }
    kind, state = rng.choice(
        [
            (
                "transformer",
                {
                    "model": "evil/model",
                    "pooling": "mean",
                    "layer": -1,
                    "max_tokens": 9,
                    "identity": "x",
                },
            ),
            (
                "transformer",
                {
                    "model": str(room / "home"),
                    "pooling": "cls",
                    "layer": 1,
                    "max_tokens": 9,
                    "identity": "",
                },
            ),
            ("os:system", {"command": "touch evil"}),
            ("rules:f", {}),
            ("subprocess:Popen", {"args": ["touch", "evil"]}),
            ("features", {"column": "text", "size": 10**12, "source": "secret.csv"}),
            ("minilm", {"layers": [6] * 100_000, "max_tokens": 256, "sha256": "x"}),
            ("static", static),
            ("static", static),
            ("static", static),
            (rng.choice(NASTY), {}),
        ]
    )
    first = json.dumps({"kind": kind, "state": state}).encode()
    vectors = save(
        {"a0": np.ones((3, int(json.loads(members["model.json"])["blocks"][0][1])), np.float32)}
    )
    changed = {**members, "encoder/part0.json": first}
    if kind == "static":
        changed["encoder/part0.safetensors"] = bytes(vectors)
        plan = json.loads(members["encoder/encoder.json"])
        plan["parts"] = [{**plan["parts"][0], "scales": [1.0], "mask": []}]
        changed["encoder/encoder.json"] = json.dumps(plan).encode()
    if rng.random() < 0.3:
        model = json.loads(members["model.json"])
        model["parameters"]["encoder"] = "evil/model"
        changed["model.json"] = json.dumps(model).encode()
    return packed(in_order(changed))


def _values(members: Members, rng: random.Random, room: Path) -> bytes:
    """JSON with other values in a few places."""
    names = [name for name in members if name.endswith(".json")]
    for _ in range(rng.choice([1, 1, 2, 5])):
        name = rng.choice(names)
        plain = json.loads(members[name])
        members[name] = json.dumps(_changed(plain, rng)).encode()
    return packed(in_order(members))


def each(members: Members) -> Iterator[Craft]:
    """A file for every place in every JSON member and each of PLAIN, and one without the place."""
    for name in sorted(name for name in members if name.endswith(".json")):
        whole = json.loads(members[name])
        for place in places(whole):
            others = [placed(whole, place, value) for value in PLAIN]
            for other in [*others, *([placed(whole, place)] if place else [])]:
                yield Craft(name, partial(_with_member, name, json.dumps(other).encode()))


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where something stands: keys of objects and numbers in lists, outermost first."""
    yield place
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*place, key))
    if isinstance(value, list):
        for at, part in enumerate(value[:FIRST]):
            yield from places(part, (*place, at))


def placed(whole: Any, place: Place, *value: Any) -> Any:
    """The whole with a value at this place, or with nothing there."""
    if not place:
        return value[0]
    first, *rest = place
    changed = whole.copy()
    if rest or value:
        changed[first] = placed(whole[first], tuple(rest), *value)
    else:
        del changed[first]
    return changed


def _with_member(name: str, data: bytes, members: Members, rng: random.Random, room: Path) -> bytes:
    return packed(in_order({**members, name: data}))


def _changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1 :] * rng.choice([1, 2])
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    return rng.choice(NASTY)


def _arrays(members: Members, rng: random.Random, room: Path) -> bytes:
    """Tensors of another shape, kind or content."""
    name = rng.choice([name for name in members if name.endswith(".safetensors")])
    tensors = dict(load(members[name]))
    for key in rng.sample(sorted(tensors), min(len(tensors), rng.choice([1, 1, 3]))):
        tensors[key] = _other(tensors[key], rng)
    members[name] = bytes(
        save({key: np.ascontiguousarray(array) for key, array in tensors.items()})
    )
    if rng.random() < 0.2:
        data = bytearray(members[name])
        data[rng.randrange(min(len(data), 400))] = rng.randrange(256)
        members[name] = bytes(data)
    return packed(in_order(members))


def _other(array: np.ndarray, rng: random.Random) -> np.ndarray:
    match rng.randrange(8):
        case 0:
            return array[..., :-1]
        case 1:
            return array[:0]
        case 2:
            return array.reshape(-1)
        case 3:
            return np.concatenate([array, array])
        case 4:
            return np.full(array.shape, np.nan, dtype=np.float32)
        case 5:
            return np.full(array.shape, np.iinfo(np.int64).min, dtype=np.int64)
        case 6:
            return array.astype(rng.choice([np.float64, np.int8, np.uint64, np.bool_]))
        case _:
            return np.full(array.shape, 1e30, dtype=np.float32)


def _bytes(members: Members, rng: random.Random, room: Path) -> bytes:
    """Flipped, cut or repeated bytes of the whole file, its checksum put right."""
    body = bytearray(packed(in_order(members))[:-64])
    for _ in range(rng.choice([1, 3, 20])):
        at = rng.choice([rng.randrange(len(body)), len(body) - 1 - rng.randrange(900)])
        body[at] = rng.randrange(256)
    if rng.random() < 0.2:
        del body[rng.randrange(len(body)) :]
    return bytes(body) + hashlib.sha256(bytes(body)).hexdigest().encode()


CRAFTS = (
    Craft("names", _named),
    Craft("members", _compressed),
    Craft("rules", _rules),
    Craft("encoders", _encoders),
    Craft("values", _values),
    Craft("arrays", _arrays),
    Craft("bytes", _bytes),
)

if __name__ == "__main__":
    main()
