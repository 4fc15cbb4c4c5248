"""The Open Inference Protocol (version 2): texts as a tensor of BYTES in, labels and probabilities as tensors out.

https://github.com/kserve/open-inference-protocol; paths `/v2/…`, a model goes by the name of its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import unruly
from unruly.serve.messages import Answers, Asked, predict_request, refused, whole_number
from unruly.serve.settings import Limits

OUTPUTS = ("label", "probabilities")


def server_metadata() -> dict[str, Any]:
    """`GET /v2`."""
    return {"name": "unruly", "version": unruly.__version__, "extensions": []}


def model_metadata(name: str, checksum: str, classes: int) -> dict[str, Any]:
    """`GET /v2/models/NAME`."""
    return {
        "name": name,
        "versions": [checksum[:12]],
        "platform": "unruly",
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
        "outputs": [
            {"name": "label", "datatype": "BYTES", "shape": [-1]},
            {"name": "probabilities", "datatype": "FP32", "shape": [-1, classes]},
        ],
    }


def infer_request(plain: Mapping[str, Any], limits: Limits) -> Asked:
    """`POST /v2/models/NAME/infer`: one input, a vector of texts; their number is that of the data, not the shape.

    >>> tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["call me"]}
    >>> infer_request({"inputs": [tensor]}, Limits()).texts
    ['call me']
    """
    inputs = plain.get("inputs")
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise refused("inputs must be a list of one tensor, the texts")
    tensor = inputs[0]
    if not isinstance(tensor.get("name"), str):
        raise refused("the input has no name: any string will do")
    if tensor.get("datatype") != "BYTES":
        raise refused("the datatype of the input must be BYTES: texts as JSON strings")
    data = tensor.get("data")
    if not isinstance(data, list):
        raise refused("the input has no data: a list of texts is needed")
    data = [row[0] if isinstance(row, list) and len(row) == 1 else row for row in data]
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(whole_number(n) is not None for n in shape):
        raise refused(f"the shape of the input must be a list of whole numbers: [{len(data)}]")
    return predict_request({"texts": data}, limits)[0]


def infer_answer(plain: Mapping[str, Any], answers: Answers, name: str) -> dict[str, Any]:
    """The answer, with the request's id where it has one, and the outputs that it asks for."""
    number = len(answers.each)
    tensors = {
        "label": {
            "name": "label",
            "datatype": "BYTES",
            "shape": [number],
            "data": [answers.classes[answer.number] for answer in answers.each],
        },
        "probabilities": {
            "name": "probabilities",
            "datatype": "FP32",
            "shape": [number, len(answers.classes)],
            "data": [share for answer in answers.each for share in answer.probabilities],
            "parameters": {"classes": list(answers.classes)},
        },
    }
    found = {"model_name": name, "model_version": answers.checksum[:12]}
    own = {"id": plain["id"]} if isinstance(plain.get("id"), str) else {}
    return {**found, **own, "outputs": [tensors[key] for key in wanted_outputs(plain)]}


def wanted_outputs(plain: Mapping[str, Any]) -> tuple[str, ...]:
    """Those that the request names; all where it names none."""
    asked = plain.get("outputs")
    if not asked:
        return OUTPUTS
    if not isinstance(asked, list) or not all(isinstance(one, dict) for one in asked):
        raise refused("outputs must be a list of objects with a name")
    for one in asked:
        if one.get("name") not in OUTPUTS:
            raise refused("an output is not known: there are label and probabilities")
    return tuple(one["name"] for one in asked)
