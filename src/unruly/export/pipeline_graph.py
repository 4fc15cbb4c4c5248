"""All of a minilm model but its tokenizer and its rules as one ONNX graph: token ids and votes in, probabilities out.

    x_l  = hidden layer l of the network                               (n, length, 384)
    f_l  = mean over tokens of x_l, at length 1, divided by its scale   (n, 384)
    p    = the two heads on f = (f_l side by side) and the votes        (n, m)

Texts of one batch have the same number of tokens: the network has no mask. The tokenizer (`tokenizer.json`) is no operator of
ONNX itself; Hugging Face's `tokenizers` reads it in any language that they have bindings for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.denoised import DenoisedModel
from unruly.export import onnx_graph
from unruly.extras import need
from unruly.features.encoder import TEXT
from unruly.features.minilm import MiniLM, runtime_library
from unruly.features.pretrained import token_ids
from unruly.features.stack import EncoderStack
from unruly.votes.votes import Votes

INPUTS = ("ids", "positions", "votes")


def minilm_of(stack: EncoderStack) -> MiniLM | None:
    """The encoder, where texts are read by minilm and nothing else."""
    if len(stack.parts) != 1 or stack.parts[0].view != TEXT:
        return None
    encoder = stack.parts[0].encoder
    return encoder if isinstance(encoder, MiniLM) else None


def build(model: DenoisedModel, encoder: MiniLM, scales: tuple[float, ...]) -> bytes:
    """The graph: ids (n, length) and positions (length,) int64, votes (n, k) int64, to two (n, m) float32."""
    onnx = need("onnx", extra="onnx", purpose="exports to ONNX")
    helper, kinds = onnx.helper, onnx.TensorProto
    network = onnx.load_from_string(encoder.graph())
    heads = onnx.load_from_string(onnx_graph.build(model))
    heads = onnx.compose.add_prefix(heads, "heads_", rename_inputs=False, rename_outputs=False)
    pooling, constants = _pooling(onnx, encoder.layers, scales)
    merged = helper.make_graph(
        [*network.graph.node, *pooling, *heads.graph.node],
        "unruly",
        [*network.graph.input, helper.make_tensor_value_info("votes", kinds.INT64, _shape(heads))],
        list(heads.graph.output),
        [*network.graph.initializer, *constants, *heads.graph.initializer],
    )
    made = helper.make_model(merged, opset_imports=list(network.opset_import), ir_version=10)
    return bytes(made.SerializeToString())


def _shape(heads: Any) -> list[str | int]:
    votes = next(given for given in heads.graph.input if given.name == "votes")
    return ["batch", votes.type.tensor_type.shape.dim[1].dim_value]


def _pooling(
    onnx: Any, layers: tuple[int, ...], scales: tuple[float, ...]
) -> tuple[list[Any], list[Any]]:
    """Nodes and constants from hidden layers to features."""
    node, array = onnx.helper.make_node, onnx.numpy_helper.from_array
    constants = [array(np.array([1], np.int64), "pool_axis")]
    nodes, found = [], []
    for layer, scale in zip(layers, scales, strict=True):
        names = [f"pool_{what}{layer}" for what in ("mean", "length", "unit", "scale", "out")]
        mean, length, unit, constant, out = names
        constants.append(array(np.float32(scale), constant))
        nodes += [
            node("ReduceMean", [f"x{layer}", "pool_axis"], [mean], keepdims=0),
            node("ReduceL2", [mean, "pool_axis"], [length], keepdims=1),
            node("Div", [mean, length], [unit]),
            node("Div", [unit, constant], [out]),
        ]
        found.append(out)
    nodes.append(node("Concat", found, ["features"], axis=1))
    return nodes, constants


def largest_difference(
    graph: bytes, encoder: MiniLM, texts: list[str], votes: Votes, expected: NDArray[np.float32]
) -> float:
    """The largest difference of a probability from the model's own, text by text."""
    runtime = runtime_library()
    options = runtime.SessionOptions()
    options.graph_optimization_level = (
        runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    )  # as the encoder runs
    session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    most = 0.0
    for row, ids in enumerate(token_ids(encoder.tokenizer, texts, encoder.max_tokens)):
        cast = votes.matrix[row : row + 1].astype(np.int64)
        given = {"ids": ids[None], "positions": np.arange(len(ids)), "votes": cast}
        (found,) = session.run(["probabilities"], given)
        most = max(most, float(np.abs(found[0] - expected[row]).max()))
    return most
