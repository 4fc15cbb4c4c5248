"""all-MiniLM-L6-v2 as an ONNX graph in 8-bit integers, made from its weights.

A batch holds texts of one length only, so there is no padding and no mask. Every matrix product is

    x W + b ≈ (rowmax(|x|)/127 · colmax(|W|)/127) · (round(127 x/rowmax) @ round(127 W/colmax)) + b

with one scale for each row of activations (each token) and each column of weights. Integer sums are
exact and a row's scale is its own, so a text's features do not depend on the texts beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from unruly.extras import need

LAYERS = 6
HIDDEN = 384
HEADS = 12
FORMAT = 1  # raise it when the graph changes: built graphs are kept on disk by this number
_MICROSOFT = "com.microsoft"

Array = NDArray[Any]


def build(weights: Path, layers: tuple[int, ...]) -> bytes:
    """The graph that gives the named hidden layers (6 is the last)."""
    onnx = need("onnx", extra="minilm", purpose="minilm features")
    graph = _Graph(onnx, load_file(weights))
    graph.embed()
    for layer in range(max(layers)):
        graph.layer(layer)
    return graph.finished(layers)


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

    def embed(self) -> None:
        """x0 = norm(word + position + token type 0)."""
        e = "embeddings."
        place = self.weights[e + "position_embeddings.weight"]
        kind = self.weights[e + "token_type_embeddings.weight"][:1]
        words = self.keep("words", self.weights[e + "word_embeddings.weight"])
        self.add("Gather", [words, "ids"], "word")  # (b, l, 384)
        self.add("Gather", [self.keep("places", place + kind), "positions"], "place")  # (l, 384)
        self.norm("word", "place", e + "LayerNorm", "x0")

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

    def finished(self, layers: tuple[int, ...]) -> bytes:
        """The whole model: token ids (b, l) and positions (l,) in; hidden layers (b, l, 384) out."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        inputs = [
            helper.make_tensor_value_info("ids", kinds.INT64, ["batch", "length"]),
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
