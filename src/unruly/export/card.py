"""The model card: what a model is, how it is used and was trained, and its limits, as Hugging Face's hub shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import unruly
from unruly.ledger import Use
from unruly.model.evaluation import Evaluation
from unruly.model.fitted import Fitted
from unruly.sentences import sentence
from unruly.wording import counted, plural

_HEAD = """\
---
library_name: unruly
pipeline_tag: text-classification
tags:
- text-classification
- weak-supervision
{results}---

# {name}

A text classifier for {classes}, learnt by [unruly](https://pypi.org/project/unruly) {version} from \
{sources} sources of votes that disagree, over {documents:,} documents. {gold}
"""
_USE = """\
## Use

```python
import unruly

model = unruly.load("{name}.unruly"{loaded})
model.predict(["a text"])
```

```sh
unruly serve {name}.unruly{served} --port 8080
curl -s localhost:8080/predict -d '{{"inputs": "a text"}}'
```
"""
_ONNX = """\
`model.onnx` gives the same probabilities from features ({width} numbers a document, of the encoder {encoder}) and votes \
({sources} class numbers, -1 for an abstention): {where} they differ by at most {difference:.1e}.
"""
_COLUMNS = """\
Beside the text, its rules read {columns}. For texts alone, the sources that need them abstain; give a frame with these \
columns to `predict`, and `{{"documents": [{{"text": "a text", …}}]}}` to the server.
"""
_RESULTS = """\
model-index:
- name: {name}
  results:
  - task:
      type: text-classification
    dataset:
      name: {data}
      type: {data}
    metrics:
    - type: accuracy
      value: {accuracy:.4f}
    - type: f1
      name: macro-F1
      value: {macro_f1:.4f}
"""
_UNSCORED = """\
## Evaluation

This model was exported without a score. With documents that have true labels, this adds one:

```text
unruly export {name}.unruly -o FOLDER --card --data FILE
```
"""


@dataclass(frozen=True)
class Compared:
    """How the ONNX graph was compared with the model.

    >>> Compared(73, True, 1e-7).where, Compared(1000, False, 1e-7).where
    ('on 73 training documents', 'on 1,000 rows of random numbers (the model keeps no texts)')
    """

    inputs: int
    documents: bool  # training documents that the model keeps; else random numbers
    difference: float  # the largest of a probability

    @property
    def where(self) -> str:
        """On what, in words."""
        if self.documents:
            return f"on {plural(self.inputs, 'training document')}"
        return f"on {self.inputs:,} rows of random numbers (the model keeps no texts)"


def model_card(
    fitted: Fitted,
    name: str,
    compared: Compared | None,
    functions: Sequence[str] = (),
    evaluation: Evaluation | None = None,
) -> str:
    """The text of README.md; `compared` None: there is no ONNX graph; `functions` are files beside it that rules need."""
    summary = fitted.summary
    head = _HEAD.format(
        name=name,
        results="" if evaluation is None else _results(name, evaluation),
        classes=", ".join(f"`{_plain(c)}`" for c in fitted.classes),
        version=unruly.__version__,
        sources=len(fitted.sources),
        documents=summary.documents,
        gold=_gold(fitted),
    )
    given = functions[0] if len(functions) == 1 else list(functions)
    use = _USE.format(
        name=name,
        loaded=f", functions={json.dumps(given)}" if functions else "",
        served="".join(f" --functions {quote(file)}" for file in functions),
    )
    parts = [head, use]
    if fitted.rules is not None and fitted.rules.reads:
        columns = ", ".join(f"`{_plain(column)}`" for column in fitted.rules.reads)
        parts.append(_COLUMNS.format(columns=columns))
    if compared is not None:
        parts.append(
            _ONNX.format(
                width=fitted.width,
                encoder=summary.encoder,
                sources=len(fitted.sources),
                where=compared.where,
                difference=compared.difference,
            )
        )
    scores = _UNSCORED.format(name=name) if evaluation is None else _scores(evaluation)
    return "\n".join([*parts, scores, _training(fitted), _sources(fitted), _limits(fitted)])


def _scored_on(evaluation: Evaluation) -> str:
    """The name of the file with the true labels."""
    uses = [entry for entry in evaluation.ledger.entries if entry.use is Use.SCORING]
    return uses[-1].origin or "documents with true labels"


def _results(name: str, evaluation: Evaluation) -> str:
    """As Hugging Face's hub reads them: JSON strings are strings of YAML as well."""
    figures = evaluation.everything.model
    return _RESULTS.format(
        name=json.dumps(name),
        data=json.dumps(_scored_on(evaluation)),
        accuracy=figures.accuracy.value,
        macro_f1=figures.macro_f1,
    )


def _scores(evaluation: Evaluation) -> str:
    """The figures on all documents, beside majority vote, and what speaks against them."""
    whole = evaluation.everything
    lines = [
        "## Evaluation",
        "",
        f"On {plural(whole.model.documents, 'document')} of `{_plain(_scored_on(evaluation))}`:",
        "",
        "| | accuracy (95% interval) | macro-F1 |",
        "|---|---|---|",
    ]
    for what, figures in (("this model", whole.model), ("majority vote", whole.majority)):
        lines.append(f"| {what} | {figures.accuracy} | {figures.macro_f1:.3f} |")
    told = [*evaluation.sentences(), str(evaluation.ledger)]
    return "\n".join([*lines, "", *(f"- {_plain(line)}" for line in told), ""])


def _gold(fitted: Fitted) -> str:
    if fitted.ledger.gold_free:
        return "No true label was used to make it."
    return f"True labels in it: {fitted.ledger.in_words()}."


def _training(fitted: Fitted) -> str:
    summary = fitted.summary
    shares = counted(map(_plain, summary.classes), summary.labels)
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
    estimates = bool(fitted.summary.estimated)
    trust = "estimated accuracy" if estimates else "reliability"
    head = ["## Sources", "", f"| source | votes | coverage | {trust} |", "|---|---|---|---|"]
    rows = []
    for line in fitted.summary.sources:
        name, votes, coverage, *_, figure = line.cells(estimates)
        rows.append(f"| {_plain(name)} | {votes} | {coverage} | {figure} |")
    labels = fitted.ledger.used_for(Use.TRAINING)
    gold = f"and {plural(labels, 'true label')}" if labels else "without true labels"
    how = (
        f"Accuracies are estimated by the text, the other sources and the class shares, {gold}, with 95% intervals."
        if estimates
        else "Reliabilities are the sources' weights in training, and sum to 1."
    )
    return "\n".join([*head, *rows, "", how, ""])


def _limits(fitted: Fitted) -> str:
    summary = fitted.summary
    notes = [*([] if summary.balance is None else [summary.balance]), *summary.notes]
    lines = ["## Limits", "", "- Learnt from rules: what all rules get wrong, the model may, too."]
    return "\n".join([*lines, *(f"- {_plain(sentence(note))}" for note in notes), ""])


def _plain(text: str) -> str:
    r"""A name that cannot break out of a table or begin a tag.

    >>> _plain("a|b\n<i>`c")
    "a\\|b &lt;i>'c"
    """
    one_line = " ".join(text.split())
    return one_line.replace("|", "\\|").replace("<", "&lt;").replace("`", "'")
