"""A model as an ONNX graph: the default's two heads alone, or all of a minilm model but its tokenizer and its rules.

The heads take features and votes and give probabilities; -1 is an abstention. Classes that no vote names have the
probability 0, as in the model.

    lp = log softmax(sum_e w_e log softmax(scale_e (x_e - centre_e) W_e + bias_e))        the text
    ev = sum over sources of log_likelihoods[j, vote_j]                                   the denoiser
    p  = softmax((tau lp + b) / t),   softmax((tau lp + ev + b) / t)                     the classifier, both

The equations of `denoising.denoised`. The whole of a minilm model takes token ids in the place of features:

    x_l  = hidden layer l of the network                               (n, length, 384)
    f_l  = mean over tokens of x_l, at length 1, divided by its scale   (n, 384)
    p    = the two heads on f = (f_l side by side) and the votes        (n, m)

Texts of one batch have the same number of tokens: the network has no mask. Rules and the tokenizer are not ONNX operators;
Hugging Face's `tokenizers` reads `tokenizer.json` in any language that it has bindings for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.denoised import DenoisedModel
from unruly.errors import need
from unruly.features.encoder import TEXT, Features
from unruly.features.minilm import MiniLM, runtime_library, token_ids
from unruly.features.stack import EncoderStack
from unruly.progress import SILENT, Progress
from unruly.votes.votes import Votes

OPSET = 17
OUTPUTS = ("probabilities", "classifier")


def build(model: DenoisedModel) -> bytes:
    """The graph: features (n, d) float32 and votes (n, k) int64 to two (n, m) float32."""
    onnx = need("onnx", extra="onnx", purpose="exports to ONNX")
    graph = Graph(onnx)
    text = graph.classifier(model)  # (n, y): lp, of the named classes
    evidence = graph.evidence(model)  # (n, y)
    sharp = graph.node("Mul", text, graph.constant(np.float64(model.tau)))
    shifted = graph.node("Add", sharp, graph.constant(np.asarray(model.b, np.float64)))
    both = graph.node("Add", shifted, evidence)
    temperature = graph.constant(np.float64(model.temperature))
    shifted, both = (graph.node("Div", one, temperature) for one in (shifted, both))
    graph.output("probabilities", graph.node("Softmax", both, axis=-1), model)
    graph.output("classifier", graph.node("Softmax", shifted, axis=-1), model)
    return graph.finished(sum(model.widths), len(model.sources), len(model.classes))


class Graph:
    """The nodes so far; every method gives the name of what it adds."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: NDArray[Any] | np.generic) -> str:
        """A number or an array."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, *inputs: str, name: str = "", **options: object) -> str:
        """One operator."""
        made = name or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [made], **options))
        return made

    def double(self, value: str) -> str:
        """The same in double precision, as the model has it where it adds logarithms."""
        return self.node("Cast", value, to=self.onnx.TensorProto.DOUBLE)

    def classifier(self, model: DenoisedModel) -> str:
        """(n, y): lp."""
        total, start = None, 0
        for text, weight in zip(model.texts, model.weights, strict=True):
            stop = start + len(text.centre)
            places = [self.constant(np.array([at], np.int64)) for at in (start, stop, 1)]
            block = self.node("Slice", "features", *places)
            centred = self.node("Sub", block, self.constant(text.centre))
            scaled = self.node("Mul", centred, self.constant(np.float32(text.scale)))
            product = self.node("MatMul", scaled, self.constant(text.weights))
            logits = self.node("Add", product, self.constant(text.bias))
            opinion = self.node("LogSoftmax", self.double(logits), axis=-1)
            weighed = self.node("Mul", opinion, self.constant(np.float64(weight)))
            total = weighed if total is None else self.node("Add", total, weighed)
            start = stop
        assert total is not None
        return self.node("LogSoftmax", total, axis=-1)

    def evidence(self, model: DenoisedModel) -> str:
        """(n, y): ev, from votes as class numbers."""
        k, c, y = (
            model.log_likelihoods.shape
        )  # sources, named classes that are voted for, named classes
        column = self.node("Unsqueeze", "votes", self.constant(np.array([2], np.int64)))
        cast = self.node("Equal", column, self.constant(model.named.astype(np.int64)))  # (n, k, c)
        flat = self.node(
            "Reshape", self.double(cast), self.constant(np.array([-1, k * c], np.int64))
        )
        return self.node("MatMul", flat, self.constant(model.log_likelihoods.reshape(k * c, y)))

    def output(self, name: str, values: str, model: DenoisedModel) -> None:
        """(n, m): every class in its place, 0 where it is not named."""
        spread = np.zeros((len(model.named), len(model.classes)))
        spread[np.arange(len(model.named)), model.named] = 1
        full = self.node("MatMul", values, self.constant(spread))
        self.node("Cast", full, name=name, to=self.onnx.TensorProto.FLOAT)

    def finished(self, width: int, sources: int, classes: int) -> bytes:
        """The checked graph, as the bytes of a file."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        taken = [
            helper.make_tensor_value_info("features", kinds.FLOAT, ["n", width]),
            helper.make_tensor_value_info("votes", kinds.INT64, ["n", sources]),
        ]
        given = [
            helper.make_tensor_value_info(name, kinds.FLOAT, ["n", classes]) for name in OUTPUTS
        ]
        graph = helper.make_graph(self.nodes, "unruly", taken, given, self.constants)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        made.ir_version = 8  # as old as the operators allow
        self.onnx.checker.check_model(made, full_check=True)
        return bytes(made.SerializeToString())


def largest_difference(
    graph: bytes, model: DenoisedModel, features: Features, votes: Votes
) -> float:
    """The largest difference between the graph's probabilities and the model's on these documents."""
    runtime = runtime_library(extra="onnx", purpose="exports to ONNX")
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    given = {"features": features.matrix(), "votes": votes.matrix.astype(np.int64)}
    heads = model.heads(features, votes)
    found = session.run(list(OUTPUTS), given)
    pairs = zip(found, (heads.combined, heads.classifier), strict=True)
    return max(float(np.abs(ours - theirs).max()) for ours, theirs in pairs)


def minilm_of(stack: EncoderStack) -> MiniLM | None:
    """The encoder, where texts are read by minilm and nothing else."""
    if len(stack.parts) != 1 or stack.parts[0].view != TEXT:
        return None
    encoder = stack.parts[0].encoder
    return encoder if isinstance(encoder, MiniLM) else None


def build_pipeline(model: DenoisedModel, encoder: MiniLM, scales: tuple[float, ...]) -> bytes:
    """The graph: ids (n, length) and positions (length,) int64, votes (n, k) int64, to two (n, m) float32."""
    onnx = need("onnx", extra="onnx", purpose="exports to ONNX")
    helper, kinds = onnx.helper, onnx.TensorProto
    network = onnx.load_from_string(encoder.whole_graph())
    heads = onnx.load_from_string(build(model))
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


def pipeline_difference(
    graph: bytes,
    encoder: MiniLM,
    texts: list[str],
    votes: Votes,
    expected: NDArray[np.float32],
    progress: Progress = SILENT,
) -> float:
    """The largest difference of a probability from the model's own, text by text."""
    runtime = runtime_library()
    options = runtime.SessionOptions()
    level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # as the encoder runs
    options.graph_optimization_level = level
    session = runtime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    most = 0.0
    for row, ids in enumerate(token_ids(encoder.tokenizer, texts, encoder.max_tokens)):
        cast = votes.matrix[row : row + 1].astype(np.int64)
        given = {"ids": ids[None], "positions": np.arange(len(ids)), "votes": cast}
        (found,) = session.run(["probabilities"], given)
        most = max(most, float(np.abs(found[0] - expected[row]).max()))
        progress.advance(1)
    return most
