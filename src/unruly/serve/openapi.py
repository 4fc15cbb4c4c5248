"""The OpenAPI document of a server, and the documentation page that is made from it.

The page is one HTML file that loads nothing from elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import unruly
from unruly.html import escape
from unruly.learner import Decider
from unruly.model.fitted import Fitted
from unruly.serve.messages import MOST_SHOWN, OPTIONS, TOP_K, UNUSED, Limits, version_of
from unruly.serve.service import ServeSettings

Schema = dict[str, Any]

_ERRORS = {
    "400": "The body is not JSON.",
    "401": "The bearer token is missing or wrong.",
    "408": "The body came too slowly.",
    "413": "The body is too large.",
    "421": "The request names another host.",
    "422": "The body is JSON, but not a request that is understood, or too much of one.",
    "429": "Too much is waiting: try again after the seconds in Retry-After.",
    "503": "Too many requests are open: try again after the seconds in Retry-After.",
}


@dataclass(frozen=True)
class Shown:
    """What the examples show of a model: its classes, a vote that a source may cast, and the columns that its rules read."""

    classes: tuple[str, ...]
    vote: tuple[str, str] | None = None  # source and class
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, fitted: Fitted) -> Shown:
        """Of a model; a vote of the first rule that names one class."""
        rules = fitted.rules
        if rules is None:
            return cls(fitted.classes)
        named = ((one.name, rule.label) for one in rules.sources.sources for rule in one.rules)
        plain = ((name, label) for name, label in named if isinstance(label, str))
        return cls(fitted.classes, next(plain, None), rules.reads)


def document(settings: ServeSettings, shown: Shown, checksum: str) -> dict[str, Any]:
    """OpenAPI 3.1, with the model's own classes, sources and columns in the examples."""
    described = "Text classification by a model that unruly learnt from rules."
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": settings.name, "version": unruly.__version__, "description": described},
        "paths": {
            **_own_paths(shown),
            **_state_paths(),
            **_v2_paths(settings.name, version_of(checksum)),
        },
        "components": {"schemas": _schemas(settings, shown.classes)},
    }
    if settings.token is not None:
        bearer = {"type": "http", "scheme": "bearer"}
        found["components"]["securitySchemes"] = {"token": bearer}
        found["security"] = [{"token": []}]
    return found


_TEXT = "a text to classify"  # of the examples


def _own_paths(shown: Shown) -> Schema:
    """Predictions and explanations."""
    asked, given = _asked(shown.columns), _answers(shown)
    alone = {"one": {"value": [given["one"]["value"]]}}
    first = {"one": asked["one"]}
    hub = "Predict, answered as huggingface_hub's InferenceClient expects"
    why = {"text": {"value": {"text": _TEXT, "words": 5}}}
    predict = ("PredictRequest", "PredictAnswer")
    return {
        "/predict": {"post": _post("Predict one text or many", *predict, asked, given)},
        "/": {
            "post": _post(hub, *predict, first, alone),
            "get": _get("The documentation page", "text/html"),
        },
        "/explain": {
            "post": _post(
                "Explain why one text gets its label", "ExplainRequest", "Explanation", why, {}
            )
        },
    }


def _asked(columns: Sequence[str]) -> dict[str, Schema]:
    """The examples; documents with further columns where rules read some."""
    found: dict[str, Schema] = {
        "one": {"summary": "Hugging Face: one text", "value": {"inputs": _TEXT}},
        "many": {
            "summary": "Hugging Face: many, the likeliest class of each",
            "value": {"inputs": [_TEXT, "another text"], "parameters": {TOP_K: 1}},
        },
        "own": {
            "summary": "unruly: which sources voted, and what decided",
            "value": {"texts": [_TEXT]},
        },
    }
    if columns:
        found["documents"] = {
            "summary": "ours, with other columns that rules read",
            "value": {"documents": [{"text": _TEXT, **dict.fromkeys(columns, 3)}]},
        }
    return found


def _answers(shown: Shown) -> dict[str, Schema]:
    """What the examples are answered with, as if little were known of the text."""
    vote, share = shown.vote, round(1 / len(shown.classes), 3)
    first = shown.classes[0] if vote is None else vote[1]
    label = {"label": first, "score": share}
    others = (name for name in shown.classes if name != first)
    own = {
        "label": first,
        "confidence": share,
        "probabilities": dict.fromkeys(shown.classes, share),
        "decided_by": "classifier" if vote is None else "both",
        "votes": [] if vote is None else [{"source": vote[0], "label": vote[1]}],
    }
    return {
        "one": {"value": [{"label": name, "score": share} for name in (first, *others)]},
        "many": {"value": [[label], [label]]},
        "own": {"value": {"predictions": [own]}},
    }


def _state_paths() -> Schema:
    """The server and its model."""
    return {
        "/health/live": {"get": _get("Is the process up?", "Health", token=False)},
        "/health/ready": {"get": _get("Is the model ready?", "Health", token=False)},
        "/info": {"get": _get("Classes, rules, gold ledger, versions, checksum", "Info")},
        "/metrics": {"get": _get("Prometheus metrics", "text/plain")},
        "/docs": {"get": _get("The documentation page", "text/html")},
        "/openapi.json": {"get": _get("This document", "Anything")},
    }


def _v2_paths(name: str, version: str) -> Schema:
    """The Open Inference Protocol."""
    model = {"name": "name", "in": "path", "required": True, "schema": {"const": name}}
    number = {"name": "version", "in": "path", "required": True, "schema": {"const": version}}
    served = "the version of it that is in service"
    return {
        "/v2": {"get": _get("Open Inference Protocol: the server", "Anything")},
        "/v2/health/live": {"get": _get("... is it up?", "Health", token=False)},
        "/v2/health/ready": {"get": _get("... is it ready?", "Health", token=False)},
        **_v2_model("/v2/models/{name}", "the model", [model]),
        **_v2_model("/v2/models/{name}/versions/{version}", served, [model, number]),
    }


def _v2_model(place: str, what: str, parameters: Sequence[Schema]) -> Schema:
    """The paths of a model in the Open Inference Protocol."""
    tensor = {"name": "text", "datatype": "BYTES", "shape": [1], "data": [_TEXT]}
    infer = _post(
        "... predict", "InferRequest", "Anything", {"one": {"value": {"inputs": [tensor]}}}, {}
    )
    ways = {
        place: {"get": _get(f"... {what}", "Anything")},
        f"{place}/ready": {"get": _get("... is it ready?", "Anything")},
        f"{place}/infer": {"post": infer},
    }
    return {path: {**way, "parameters": list(parameters)} for path, way in ways.items()}


def _post(
    summary: str,
    takes: str,
    gives: str,
    asked: Mapping[str, Any],
    answered: Mapping[str, Any],
) -> Schema:
    errors = {
        code: {"description": words, "content": _json("Error")} for code, words in _ERRORS.items()
    }
    if takes == "InferRequest":
        errors["404"] = {
            "description": "There is no such model, or version.",
            "content": _json("Error"),
        }
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": _json(takes, asked)},
        "responses": {"200": {"description": "OK", "content": _json(gives, answered)}, **errors},
    }


def _get(summary: str, gives: str, token: bool = True) -> Schema:
    content = {gives: {"schema": {"type": "string"}}} if "/" in gives else _json(gives)
    responses: Schema = {"200": {"description": "OK", "content": content}}
    if token:
        for code in ("401", "421", "503"):
            responses[code] = {"description": _ERRORS[code], "content": _json("Error")}
        responses["404"] = {
            "description": "There is no such model, or version.",
            "content": _json("Error"),
        }
        return {"summary": summary, "responses": responses}
    return {"summary": summary, "responses": responses, "security": []}


def _json(schema: str, examples: Mapping[str, Any] | None = None) -> Schema:
    found: Schema = {"schema": {"$ref": f"#/components/schemas/{schema}"}}
    if examples:
        found["examples"] = dict(examples)
    return {"application/json": found}


def _schemas(settings: ServeSettings, classes: Sequence[str]) -> dict[str, Schema]:
    label: Schema = {"type": "string", "enum": list(classes)}
    return {
        **_requests(settings.limits),
        **_predicted(label),
        "Explanation": _some(
            {"label": label, "confidence": _SHARE, "votes": _list({"type": "object"})}
        ),
        "Health": _object({"status": {"const": "ok"}, "model": _WORDS}),
        "Info": _some({"name": _WORDS, "classes": _list(_WORDS)}),
        "Anything": {"type": "object"},
        "Error": _object({"error": _WORDS, "error_type": _WORDS}),
    }


_WORDS: Schema = {"type": "string"}
_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_NULL: Schema = {"type": "null"}
_WITHOUT_EFFECT: Schema = {
    "description": "Taken, because clients of Hugging Face send it, and without effect."
}


def _requests(limits: Limits) -> dict[str, Schema]:
    text: Schema = {"type": "string", "maxLength": limits.characters}
    size: Schema = {"minItems": 1, "maxItems": limits.texts}
    some: Schema = {"anyOf": [text, _NULL]}  # null: a missing text
    many: Schema = {**_list(some), **size}
    count: Schema = {"type": "integer", "minimum": 0, "maximum": MOST_SHOWN}
    shown = {"words": count, "neighbours": count}
    alone: Schema = {**_list(text), "minItems": 1, "maxItems": 1}
    tensor = _some(
        {
            "name": _WORDS,
            "datatype": {"const": "BYTES"},
            "shape": _list({"type": "integer"}),
            "data": {**_list({"anyOf": [text, alone]}), **size},
        }
    )
    parameters = _object(
        {},
        {TOP_K: {"type": ["integer", "null"], "minimum": 1}}
        | dict.fromkeys(UNUSED, _WITHOUT_EFFECT),
    )
    beside: Schema = {
        "parameters": {**parameters, "type": ["object", "null"]},
        OPTIONS: _WITHOUT_EFFECT,
    }
    return {
        "PredictRequest": {
            "oneOf": [
                _object({"inputs": {"oneOf": [text, many]}}, beside),
                _object({"texts": many}),
                _object({"text": text}),
                _object({"documents": {**_list(_some({"text": some})), **size}}),
            ]
        },
        "ExplainRequest": {
            "oneOf": [
                _object({"text": text}, shown),
                _object({"inputs": text}, shown),
                _object({"document": _some({"text": text})}, shown),
            ]
        },
        "InferRequest": _some({"inputs": {**_list(tensor), "minItems": 1, "maxItems": 1}}),
    }


def _predicted(label: Schema) -> dict[str, Schema]:
    ranked = _list(_object({"label": label, "score": _SHARE}))
    named: Schema = {**_WORDS, "description": "A class, or the classes of a partial vote: a or b."}
    one = _object(
        {
            "label": {"anyOf": [label, _NULL]},  # null: the text is missing
            "confidence": {"anyOf": [_SHARE, _NULL]},
            "probabilities": {"type": ["object", "null"], "additionalProperties": _SHARE},
            "decided_by": {"enum": [*(one.word for one in Decider), None]},
            "votes": _list(_object({"source": _WORDS, "label": named})),
        },
        {"lacking": _list(_object({"source": _WORDS, "column": _WORDS}))},
    )
    return {
        "PredictAnswer": {"oneOf": [ranked, _list(ranked), _object({"predictions": _list(one)})]}
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _some(fields: Mapping[str, Schema]) -> Schema:
    """An object with at least these fields."""
    return {"type": "object", "properties": dict(fields), "required": list(fields)}


def _object(fields: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """An object with these fields and no others."""
    return {
        **_some(fields),
        "properties": {**fields, **(optional or {})},
        "additionalProperties": False,
    }


_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin:2rem 0 .3rem;font-size:1.1rem}code,pre,textarea{font:14px/1.45 ui-monospace,monospace}
pre{background:#f4f4f2;padding:.7rem;overflow-x:auto;border-radius:4px;white-space:pre-wrap}
textarea,input{width:100%;box-sizing:border-box}textarea{height:5rem}label{display:block;margin:.5rem 0 .2rem}
pre:empty{display:none}
pre.answer{margin-top:-.7rem;background:none;padding-top:0}button{font:inherit;padding:.3rem .9rem}
.way{display:inline-block;min-width:3.2rem;font-weight:600}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#191919}pre{background:#262626}}
"""
_SCRIPT = """
const get = id => document.getElementById(id);
get("ask").addEventListener("submit", async event => {
  event.preventDefault();
  const headers = {"Content-Type": "application/json"};
  const token = get("token");
  if (token && token.value) headers["Authorization"] = "Bearer " + token.value;
  const body = JSON.stringify({texts: [get("text").value]});
  try {
    const answer = await fetch("predict", {method: "POST", headers, body});
    get("answer").textContent = JSON.stringify(await answer.json(), null, 1);
  } catch (error) { get("answer").textContent = String(error); }
});
"""


def docs_page(document: Mapping[str, Any], address: str = "http://localhost:8080") -> str:
    """The page: a form to try the model, then every path with its examples, asked at this address.

    >>> "cdn" in docs_page(
    ...     {"info": {"title": "spam", "version": "1", "description": ""}, "paths": {}}
    ... )
    False
    """
    info = document["info"]
    title = escape(str(info["title"]))
    token = '<label for="token">bearer token</label><input id="token" type="password">'
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>{escape(str(info['description']))} unruly {escape(str(info['version']))}. ",
        'For programs: <a href="openapi.json">openapi.json</a>.</p>',
        '<form id="ask"><label for="text">a text</label><textarea id="text"></textarea>',
        token if "security" in document else "",
        '<p><button>predict</button></p><pre id="answer" aria-live="polite"></pre></form>',
        *_paths(document["paths"], address),
        f"<script>{_SCRIPT}</script></body></html>",
    ]
    return "".join(parts)


def _paths(paths: Mapping[str, Any], address: str) -> Iterator[str]:
    for path, ways in paths.items():
        for way in ("get", "post"):
            if way in ways:
                yield f'<h2><span class="way">{way.upper()}</span> <code>{escape(path)}</code></h2>'
                yield f"<p>{escape(ways[way]['summary'])}</p>"
                yield from _examples(address + _filled(path, ways), ways[way])


def _filled(path: str, ways: Mapping[str, Any]) -> str:
    """A path with the values that its parameters have here."""
    for one in ways.get("parameters", ()):
        path = path.replace(f"{{{one['name']}}}", quote(one["schema"]["const"], safe=""))
    return path


def _examples(url: str, way: Mapping[str, Any]) -> Iterator[str]:
    asked = _values(way.get("requestBody", {}))
    answered = _values(way["responses"]["200"])
    for name, example in asked.items():
        body = json.dumps(example["value"], ensure_ascii=False)
        if "summary" in example:
            yield f"<p>{escape(example['summary'])}</p>"
        command = f"curl -s {url} -d '{body}'"
        yield f"<pre>{escape(command)}</pre>"
        if name in answered:
            answer = json.dumps(answered[name]["value"], ensure_ascii=False)
            yield f'<pre class="answer">{escape(answer)}</pre>'


def _values(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = content.get("content", {}).get("application/json", {})
    examples: Mapping[str, Any] = found.get("examples", {})
    return examples
