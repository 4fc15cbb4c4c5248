"""The server's own documentation page: one HTML file, made from the OpenAPI document, that loads nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from unruly.html import escape

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin:2rem 0 .3rem;font-size:1.1rem}code,pre,textarea{font:14px/1.45 ui-monospace,monospace}
pre{background:#f4f4f2;padding:.7rem;overflow-x:auto;border-radius:4px;white-space:pre-wrap}
textarea,input{width:100%;box-sizing:border-box}textarea{height:5rem}label{display:block;margin:.5rem 0 .2rem}
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


def docs_page(document: Mapping[str, Any]) -> str:
    """The page: a form to try the model, then every path with its examples.

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
        *_paths(document["paths"]),
        f"<script>{_SCRIPT}</script></body></html>",
    ]
    return "".join(parts)


def _paths(paths: Mapping[str, Any]) -> Iterator[str]:
    for path, ways in paths.items():
        for way in ("get", "post"):
            if way in ways:
                yield f'<h2><span class="way">{way.upper()}</span> <code>{escape(path)}</code></h2>'
                yield f"<p>{escape(ways[way]['summary'])}</p>"
                yield from _examples(path, ways[way])


def _examples(path: str, way: Mapping[str, Any]) -> Iterator[str]:
    asked = _values(way.get("requestBody", {}))
    answered = _values(way["responses"]["200"])
    for name, example in asked.items():
        body = json.dumps(example["value"], ensure_ascii=False)
        if "summary" in example:
            yield f"<p>{escape(example['summary'])}</p>"
        lines = [f"curl -s localhost:8080{path} -d '{body}'"]
        if name in answered:
            lines.append(json.dumps(answered[name]["value"], ensure_ascii=False))
        yield f"<pre>{escape(chr(10).join(lines))}</pre>"


def _values(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = content.get("content", {}).get("application/json", {})
    examples: Mapping[str, Any] = found.get("examples", {})
    return examples
