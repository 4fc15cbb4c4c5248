"""The model card: what the model is, what it learnt from, what is known of it, and how to use it; in Markdown."""

from __future__ import annotations

import unruly
from unruly.model.fitted import Fitted
from unruly.model.summary import SourceLine
from unruly.model.wording import sentence

_HEAD = """\
---
library_name: unruly
pipeline_tag: text-classification
tags:
- text-classification
- weak-supervision
---

# {name}

A text classifier for {classes}, learnt by [unruly](https://pypi.org/project/unruly) {version} from \
{sources} sources of votes that disagree, over {documents:,} documents. {gold}
"""
_USE = """\
## Use

```python
import unruly

model = unruly.load("{name}.unruly")
model.predict(["a text"])
```

```sh
unruly serve {name}.unruly --port 8080
curl -s localhost:8080/predict -d '{{"inputs": "a text"}}'
```
"""
_ONNX = """\
`model.onnx` gives the same probabilities from features ({width} numbers a document, of the encoder {encoder}) and votes \
({sources} class numbers, -1 for an abstention): on {checked:,} documents they differ by at most {difference:.1e}.
"""


def model_card(fitted: Fitted, name: str, checked: int | None, difference: float) -> str:
    """The text of README.md; `checked` documents were compared with the ONNX graph, None: there is none."""
    summary = fitted.summary
    head = _HEAD.format(
        name=name,
        classes=", ".join(f"`{_plain(c)}`" for c in fitted.classes),
        version=unruly.__version__,
        sources=len(fitted.sources),
        documents=summary.documents,
        gold=_gold(fitted),
    )
    parts = [head, _USE.format(name=name)]
    if checked is not None:
        parts.append(
            _ONNX.format(
                width=sum(width for _, width in fitted.blocks),
                encoder=summary.encoder,
                sources=len(fitted.sources),
                checked=checked,
                difference=difference,
            )
        )
    return "\n".join([*parts, _training(fitted), _sources(fitted), _limits(fitted)])


def _gold(fitted: Fitted) -> str:
    if fitted.ledger.gold_free:
        return "No true label was used to make it."
    return f"True labels that were used: {fitted.ledger}."


def _training(fitted: Fitted) -> str:
    summary = fitted.summary
    shares = ", ".join(
        f"{_plain(c)} {count:,}" for c, count in zip(summary.classes, summary.labels, strict=True)
    )
    lines = [
        "## Training",
        "",
        f"- documents: {summary.documents:,}, of which {summary.coverage:.1%} have a vote",
        f"- labels that the model gives them: {shares}",
        f"- encoder: {summary.encoder}; method: {summary.method}; seed: {fitted.seed}",
        f"- {fitted.ledger}",
    ]
    return "\n".join([*lines, ""])


def _sources(fitted: Fitted) -> str:
    head = [
        "## Sources",
        "",
        "| source | votes | coverage | estimated accuracy |",
        "|---|---|---|---|",
    ]
    rows = [
        f"| {_plain(line.name)} | {line.votes:,} | {line.coverage:.1%} | {_accuracy(line)} |"
        for line in fitted.summary.sources
    ]
    return "\n".join([*head, *rows, "", "Accuracy is estimated without true labels.", ""])


def _accuracy(line: SourceLine) -> str:
    if line.accuracy is None or line.accuracy_low is None or line.accuracy_high is None:
        return "-"
    return f"{line.accuracy:.1%} ({line.accuracy_low:.1%} to {line.accuracy_high:.1%})"


def _limits(fitted: Fitted) -> str:
    notes = [sentence(note) for note in fitted.summary.notes]
    lines = ["## Limits", "", "- Learnt from rules: what all rules get wrong, the model may, too."]
    return "\n".join([*lines, *(f"- {' '.join(note.split())}" for note in notes), ""])


def _plain(text: str) -> str:
    r"""A name that cannot break out of a table or begin a tag.

    >>> _plain("a|b\n<i>`c")
    "a\\|b &lt;i>'c"
    """
    one_line = " ".join(text.split())
    return one_line.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
