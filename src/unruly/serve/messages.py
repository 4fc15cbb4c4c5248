"""Requests and answers as typed values: in Hugging Face's form, ours, or the Open Inference Protocol's.

Requests are checked against the limits; an error has a status, a kind for programs and a sentence for people. The
protocol (version 2, paths `/v2/…`, https://github.com/kserve/open-inference-protocol) takes texts as a tensor of BYTES
and gives labels and probabilities as tensors; a model goes by the name of its file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray

import unruly
from unruly.errors import first_line
from unruly.model.predictions import Predictions
from unruly.rules.matching import lacking
from unruly.texts.columns import without_surrogates
from unruly.wording import did_you_mean


@dataclass(frozen=True)
class Limits:
    """How much one request may ask, and how much may wait."""

    body: int = 10_000_000  # bytes of one request
    texts: int = 1_000  # of one request
    characters: int = 100_000  # of one text
    waiting: int = 4_000  # texts that wait for a batch; more are turned away with 429
    batch: int = 256  # texts predicted together
    batch_characters: int = 500_000  # predicted together, unless one request has more
    explanations: int = 16  # that wait
    connections: int = 800  # open at once, and requests answered at once, by each worker
    seconds: float = (
        30.0  # for a client to send the head, and the body, and for requests to end when stopping
    )


class Problem(Exception):
    """Raised anywhere in the server; becomes a JSON error.

    >>> Problem(422, "no_text", "texts is empty: send at least one").to_plain()
    {'error': 'texts is empty: send at least one', 'error_type': 'no_text'}
    """

    def __init__(
        self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message
        self.headers = dict(headers or {})

    def to_plain(self) -> dict[str, Any]:
        """As JSON has it, in the fields that Hugging Face's servers and the Open Inference Protocol share."""
        return {"error": self.message, "error_type": self.kind}


def refused(message: str, kind: str = "invalid_request") -> Problem:
    """The request is JSON, but not of a form that is understood, or too much."""
    return Problem(422, kind, message)


def full(seconds: int) -> Problem:
    """Too much is waiting."""
    after = f"{seconds} second{'' if seconds == 1 else 's'}"
    return Problem(
        429,
        "full",
        f"too many texts are waiting: try again after {after}",
        {"Retry-After": str(seconds)},
    )


def too_slow(part: str, limits: Limits) -> Problem:
    """A part of the request, its head or its body, did not come in time; the connection is of no more use.

    >>> too_slow("body", Limits()).message
    'the body of the request was not sent within 30 seconds'
    """
    message = f"the {part} of the request was not sent within {limits.seconds:g} seconds"
    return Problem(408, "too_slow", message, {"Connection": "close"})


def crowded() -> Problem:
    """Too many requests are being answered already."""
    return Problem(
        503,
        "too_many_connections",
        "too many requests are open: try again after 1 second",
        {"Retry-After": "1", "Connection": "close"},
    )


TEXT = "text"  # the key of a document's text
OPTIONS = (
    "options"  # a key that Hugging Face's clients send beside the parameters; without effect here
)
TOP_K = "top_k"
UNUSED = ("function_to_apply", "truncation", "return_all_scores")  # parameters without effect here
WORDS, NEIGHBOURS = 8, 5  # what an explanation shows, unless asked otherwise
MOST_SHOWN = 100


@dataclass(frozen=True, eq=False)
class Asked:
    """Documents to predict: texts and, where rules read other columns, these."""

    texts: Sequence[str | None]  # None: a document whose text is missing
    columns: pl.DataFrame | None = None


@dataclass(frozen=True)
class HuggingFace:
    """An answer is wanted as Hugging Face's servers give it."""

    one: bool  # a text alone, not a list
    top_k: int | None  # how many classes, the likeliest first; None: all


@dataclass(frozen=True)
class Own:
    """An answer is wanted in our own, fuller form."""


@dataclass(frozen=True)
class ExplainRequest:
    """One document to explain."""

    asked: Asked
    words: int
    neighbours: int


def parsed(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body; NaN and infinity, which are not JSON, are refused.

    >>> parsed(b'{"inputs": "call me"}')
    {'inputs': 'call me'}
    """
    if not body.strip():
        raise Problem(400, "invalid_json", f"the body is empty: send {_FORMS}")
    try:
        found = json.loads(body, parse_constant=_no_constant, parse_int=_whole)
    except RecursionError:
        raise Problem(400, "invalid_json", "the body is nested too deeply") from None
    except ValueError as error:  # also of bytes that are not UTF-8
        raise Problem(400, "invalid_json", f"the body is not JSON: {first_line(error)}") from None
    if not isinstance(found, dict):
        raise refused(f"the body is {_kind(found)}, not an object: send {_FORMS}")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a value of JSON")


def _whole(digits: str) -> int:
    """A number that is not too long for Python, which would speak of its own settings."""
    if (size := len(digits.lstrip("-"))) > MOST_DIGITS:
        raise ValueError(f"a number has {size:,} digits, and at most {MOST_DIGITS} are read")
    return int(digits)


MOST_DIGITS = 640  # of a number: Python may be set to read no longer one
_FORMS = '{"inputs": "…"}, {"texts": ["…"]} or {"documents": [{"text": "…"}]}'


def predict_request(plain: Mapping[str, Any], limits: Limits) -> tuple[Asked, HuggingFace | Own]:
    """What `POST /predict` asks.

    >>> asked, form = predict_request({"inputs": "call me", "parameters": {"top_k": 1}}, Limits())
    >>> asked.texts, form
    (['call me'], HuggingFace(one=True, top_k=1))
    """
    if "inputs" in plain:
        _known(plain, ("inputs", "parameters", OPTIONS))
        inputs = plain["inputs"]
        one = isinstance(inputs, str)
        asked = Asked(_texts([inputs] if one else inputs, "inputs", limits))
        return asked, HuggingFace(one, _top_k(plain.get("parameters")))
    if "documents" in plain:
        _known(plain, ("documents",))
        return _documents(plain["documents"], limits), Own()
    if "texts" in plain or TEXT in plain:
        _known(plain, ("texts",) if "texts" in plain else (TEXT,))
        if "texts" in plain:
            return Asked(_texts(plain["texts"], "texts", limits)), Own()
        return Asked([_text(plain[TEXT], TEXT, limits)]), Own()
    raise _no_form(plain)


def explain_request(plain: Mapping[str, Any], limits: Limits) -> ExplainRequest:
    """What `POST /explain` asks: one text, or one document with other columns.

    >>> explain_request({"text": "call me", "words": 3}, Limits()).words
    3
    """
    place = next((key for key in (TEXT, "inputs", "document") if key in plain), None)
    if place is None:
        raise _no_form(plain, '{"text": "…"} or {"document": {"text": "…"}}')
    _known(plain, (place, "words", "neighbours"))
    given = plain[place]
    if place == "document":
        asked = _documents([given], limits)
    else:
        asked = Asked(_texts([given], place, limits))
    if asked.texts == [None]:
        raise refused(f"{place} has no text: there is nothing to explain", "no_text")
    return ExplainRequest(
        asked,
        _count(plain, "words", WORDS),
        _count(plain, "neighbours", NEIGHBOURS),
    )


def _no_form(plain: Mapping[str, Any], forms: str = _FORMS) -> Problem:
    found = ", ".join(repr(str(key)[:40]) for key in list(plain)[:5]) or "no key at all"
    return refused(f"there is no text in the request: send {forms}; found {found}")


def _known(plain: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in plain:
        if key not in keys:
            hint = did_you_mean(str(key)[:40], keys, "there are")
            raise refused(f"the key {str(key)[:40]!r} is not known: {hint}", "unknown_key")


def _texts(given: object, place: str, limits: Limits) -> list[str | None]:
    if not isinstance(given, list):
        raise refused(f"{place} is {_kind(given)}: send a text or a list of texts")
    _check_number(len(given), place, limits)
    return [
        _text_or_none(text, f"{place}[{row}]" if len(given) > 1 else place, limits)
        for row, text in enumerate(given)
    ]


def _text_or_none(given: object, place: str, limits: Limits) -> str | None:
    """A text, or None where it is missing: one of many must not spoil the others."""
    return None if given is None else _text(given, place, limits)


def _check_number(number: int, place: str, limits: Limits) -> None:
    if not number:
        raise refused(f"{place} is empty: send at least one text", "no_text")
    if number > limits.texts:
        raise refused(
            f"{place} has {number:,} texts, and at most {limits.texts:,} are taken at once: "
            "send them in several requests",
            "too_many_texts",
        )


def _text(given: object, place: str, limits: Limits) -> str:
    if not isinstance(given, str):
        raise refused(f"{place} is {_kind(given)}: every text must be a string")
    if len(given) > limits.characters:
        raise refused(
            f"{place} has {len(given):,} characters, and at most {limits.characters:,} are taken: "
            "send a part of it",
            "text_too_long",
        )
    return without_surrogates(given)


def _documents(given: object, limits: Limits) -> Asked:
    if not isinstance(given, list):
        raise refused(
            f'documents is {_kind(given)}: send a list of objects such as {{"text": "…"}}'
        )
    _check_number(len(given), "documents", limits)
    rows = [_row(document, row, limits) for row, document in enumerate(given)]
    names = list(dict.fromkeys(name for row in rows for name in row if name != TEXT))
    found = (_column(name, [row.get(name) for row in rows]) for name in names)
    columns = {column.name: column for column in found}
    return Asked([row[TEXT] for row in rows], pl.DataFrame(columns) if names else None)


def _row(document: object, row: int, limits: Limits) -> dict[str, Any]:
    place = f"documents[{row}]"
    if not isinstance(document, dict):
        raise refused(f'{place} is {_kind(document)}: send an object such as {{"text": "…"}}')
    if TEXT not in document:
        raise refused(f"{place} has no {TEXT!r}: every document needs one", "no_text")
    return {**document, TEXT: _text_or_none(document[TEXT], f"{place}.{TEXT}", limits)}


def _column(name: str, values: list[Any]) -> pl.Series:
    """A column; values of several kinds as the JSON that they are, for most columns are read by no rule."""
    try:
        return pl.Series(without_surrogates(name), values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        spelt = [None if value is None else json.dumps(value) for value in values]
        return pl.Series(without_surrogates(name), spelt, dtype=pl.String)


def _top_k(parameters: object) -> int | None:
    if parameters is None:
        return None
    if not isinstance(parameters, dict):
        raise refused(f"parameters is {_kind(parameters)}, not an object")
    _known(parameters, (TOP_K, *UNUSED))
    if parameters.get(TOP_K) is None:
        return None
    top_k = whole_number(parameters[TOP_K])
    if top_k is None or top_k < 1:
        raise refused(
            f"top_k is {_value(parameters[TOP_K])}: it must be a whole number from 1, or null for all"
        )
    return top_k


def _count(plain: Mapping[str, Any], key: str, usual: int) -> int:
    value = whole_number(plain.get(key, usual))
    if value is None or not 0 <= value <= MOST_SHOWN:
        found = _value(plain[key])
        raise refused(f"{key} is {found}: it must be a whole number from 0 to {MOST_SHOWN}")
    return value


def whole_number(value: object) -> int | None:
    """A whole number, also one that is written 3.0; None for all else."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _kind(value: object) -> str:
    """The kind of a value, without repeating what may be somebody's text."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def _value(value: object) -> str:
    """A number as it was sent, and the kind of all else.

    >>> _value(-1), _value("-1")
    ('-1', 'a string')
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value)[:20] if number else _kind(value)


DIGITS = 6  # of a probability


@dataclass(frozen=True)
class Answer:
    """The prediction for one document."""

    number: int  # of the likeliest class
    probabilities: Sequence[float]
    decided_by: str
    votes: Sequence[tuple[str, str]]  # source and class, or the classes of a partial vote
    lacking: Sequence[tuple[str, str]] = ()  # sources that abstain, each for want of a column


@dataclass(frozen=True, eq=False)
class Answers:
    """The predictions for some documents, in their order."""

    classes: tuple[str, ...]
    each: Sequence[Answer | None]  # None: the text was missing
    checksum: str  # of the model that answered

    @classmethod
    def of(
        cls, predictions: Predictions, checksum: str, missing: NDArray[np.bool_] | None = None
    ) -> Answers:
        """Predictions as plain values; `missing` (n,) are documents without a text."""
        proba = np.round(predictions.proba.astype(np.float64), DIGITS).tolist()
        cast = predictions.votes
        votes: list[list[tuple[str, str]]] = [[] for _ in proba]
        for row, j in np.argwhere(cast.voted).tolist():
            votes[row].append((cast.sources[j], cast.label(row, j)))
        wants: list[list[tuple[str, str]]] = [[] for _ in proba]
        for fact in lacking(cast):
            for row in np.flatnonzero(fact.rows).tolist():
                wants[row].append((fact.source, fact.column))
        numbers, deciders = predictions.numbers.tolist(), predictions.decided_by
        found = map(Answer, numbers, proba, deciders, votes, wants)
        each: list[Answer | None] = list(found)
        for row in [] if missing is None else np.flatnonzero(missing).tolist():
            each[row] = None
        return cls(predictions.classes, each, checksum)

    def part(self, start: int, stop: int) -> Answers:
        """Some of them only: those of one request."""
        return Answers(self.classes, self.each[start:stop], self.checksum)

    def to_plain(self, form: HuggingFace | Own) -> Any:
        """As JSON has it, in the form of the request."""
        if isinstance(form, Own):
            return {"predictions": [self._own(answer) for answer in self.each]}
        ranked = [self._ranked(answer, form.top_k) for answer in self.each]
        return ranked[0] if form.one else ranked

    def _ranked(self, answer: Answer | None, top_k: int | None) -> list[dict[str, Any]]:
        if answer is None:
            return []
        order = sorted(range(len(self.classes)), key=lambda c: -answer.probabilities[c])
        return [{"label": self.classes[c], "score": answer.probabilities[c]} for c in order[:top_k]]

    def _own(self, answer: Answer | None) -> dict[str, Any]:
        if answer is None:
            return {
                **dict.fromkeys(("label", "confidence", "probabilities", "decided_by")),
                "votes": [],
            }
        wants = [{"source": source, "column": column} for source, column in answer.lacking]
        return {
            "label": self.classes[answer.number],
            "confidence": answer.probabilities[answer.number],
            "probabilities": dict(zip(self.classes, answer.probabilities, strict=True)),
            "decided_by": answer.decided_by,
            "votes": [{"source": source, "label": label} for source, label in answer.votes],
            **({"lacking": wants} if wants else {}),
        }


OUTPUTS = ("label", "probabilities")


def version_of(checksum: str) -> str:
    """What a model goes by beside its name: the beginning of its file's checksum.

    >>> version_of("0123456789abcdef")
    '0123456789ab'
    """
    return checksum[:12]


def server_metadata() -> dict[str, Any]:
    """`GET /v2`."""
    return {"name": "unruly", "version": unruly.__version__, "extensions": []}


def model_metadata(name: str, checksum: str, classes: int) -> dict[str, Any]:
    """`GET /v2/models/NAME`, also with its version."""
    return {
        "name": name,
        "versions": [version_of(checksum)],
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
    if None in data:
        raise refused("the data has a null, which a tensor cannot hold: leave it out")
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(whole_number(n) is not None for n in shape):
        raise refused(f"the shape of the input must be a list of whole numbers: [{len(data)}]")
    return predict_request({"texts": data}, limits)[0]


def infer_answer(plain: Mapping[str, Any], answers: Answers, name: str) -> dict[str, Any]:
    """The answer, with the request's id where it has one, and the outputs that it asks for."""
    each = [
        answer for answer in answers.each if answer is not None
    ]  # all of them: see `infer_request`
    number = len(each)
    tensors = {
        "label": {
            "name": "label",
            "datatype": "BYTES",
            "shape": [number],
            "data": [answers.classes[answer.number] for answer in each],
        },
        "probabilities": {
            "name": "probabilities",
            "datatype": "FP32",
            "shape": [number, len(answers.classes)],
            "data": [share for answer in each for share in answer.probabilities],
            "parameters": {"classes": list(answers.classes)},
        },
    }
    found = {"model_name": name, "model_version": version_of(answers.checksum)}
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
