"""The default's two heads as an ONNX graph: features and votes in, probabilities out.

    lp = log softmax(sum_e w_e log softmax(scale_e (x_e - centre_e) W_e + bias_e))        the classifier
    ev = sum over sources of opinion[j, vote_j]                                           the denoiser
    p  = softmax((tau lp + ev + b) / tau)

The equations of `denoising.denoised`. Texts become features by the model's encoder, and votes by its rules, which are
no operators of ONNX; -1 is an abstention. Classes that no vote names have the probability 0, as in the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.denoising.denoised import DenoisedModel
from unruly.extras import need
from unruly.features.encoder import Features
from unruly.features.minilm import runtime_library
from unruly.votes.votes import Votes

OPSET = 17
OUTPUTS = ("probabilities", "classifier")


def build(model: DenoisedModel) -> bytes:
    """The graph: features (n, d) float32 and votes (n, k) int64 to two (n, m) float32."""
    onnx = need("onnx", extra="onnx", purpose="exports to ONNX")
    graph = Graph(onnx)
    text = graph.classifier(model)  # (n, y): lp, of the named classes
    evidence = graph.evidence(model)  # (n, y)
    tau = graph.constant(np.float64(model.tau))
    sum_ = graph.node("Add", graph.node("Mul", tau, text), evidence)
    sum_ = graph.node("Add", sum_, graph.constant(np.asarray(model.b, np.float64)))
    tempered = graph.node("Div", sum_, graph.constant(np.float64(model.tau)))
    graph.output("probabilities", graph.node("Softmax", tempered, axis=-1), model)
    graph.output("classifier", graph.node("Exp", text), model)
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
        k, c, y = model.opinion.shape  # sources, named classes that are voted for, named classes
        column = self.node("Unsqueeze", "votes", self.constant(np.array([2], np.int64)))
        cast = self.node("Equal", column, self.constant(model.named.astype(np.int64)))  # (n, k, c)
        flat = self.node(
            "Reshape", self.double(cast), self.constant(np.array([-1, k * c], np.int64))
        )
        return self.node("MatMul", flat, self.constant(model.opinion.reshape(k * c, y)))

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
