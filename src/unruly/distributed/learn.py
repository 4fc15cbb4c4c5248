"""`fit` on a cluster: documents are drawn, matched and encoded by the workers; one machine learns from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from unruly.distributed.cluster import Cluster, Work, connected
from unruly.distributed.run import HERE, Columns, Counts, PartWork, Placement, planned, work_through
from unruly.errors import InputError
from unruly.features.cache import FeatureCache
from unruly.features.encoder import Encoder
from unruly.features.minilm import MiniLM
from unruly.features.registry import AllowedEncoders, encoder_from_bytes, encoder_to_bytes
from unruly.progress import SILENT, Progress, stage
from unruly.project import SAMPLE
from unruly.project.project import Project
from unruly.statistics import sample_rows
from unruly.texts.corpus import Corpus
from unruly.texts.frame_table import parquet_files
from unruly.texts.stream import CorpusStream
from unruly.votes.files import read_votes, write_votes
from unruly.votes.votes import Votes

if TYPE_CHECKING:
    from unruly.model.weak_classifier import WeakClassifier

TEXTS = 1_000  # encoded by one worker at a time
NUMBER = "unruly_row"  # a column of drawn documents: their numbers among all


def fit(
    project: str | Path | Project,
    folder: str | Path,
    *,
    sample: int = SAMPLE,
    excerpts: bool = True,
    placement: Placement = HERE,
    progress: Progress = SILENT,
) -> WeakClassifier:
    """Learn from a sample of the project's training documents, which may be a folder of Parquet files.

    Drawn at random by the project's seed, all that people labelled included. Without `excerpts` the model keeps no
    beginnings of training texts. `folder` must be seen by all workers
    under this name; it is made, and removed at the end.
    """
    opened = project if isinstance(project, Project) else Project.read(project)
    if opened.file is None:
        raise InputError("workers read the project from its file: write it, and name the folder")
    if sample < 1:
        raise InputError(f"a sample of {sample} documents: at least one is needed")
    model, workspace = opened.classifier(), Path(folder).absolute()
    if any(encoder.aligned for encoder in model.encoder.encoders):
        raise InputError(
            "features that come in the order of the documents cannot be drawn from: name a column of the documents"
        )
    if not excerpts:
        model.set_params(keep_documents=0)
    workspace.mkdir(parents=True)
    try:
        with connected(placement.address, placement.workers) as cluster:
            corpus, votes = _drawn(cluster, opened, workspace, sample, placement, progress)
            model.set_params(cache=ClusterFeatures(workspace / "_encoded", cluster=cluster))
            labels = opened.labels(corpus)
            clean = labels if labels.labels else None
            model.fit(corpus, votes, sources=opened.sources, clean=clean, progress=progress)
            model.set_params(cache=True)
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return model


def _drawn(
    cluster: Cluster,
    project: Project,
    workspace: Path,
    sample: int,
    placement: Placement,
    progress: Progress,
) -> tuple[Corpus, Votes]:
    """The documents that are learnt from, and the votes on them."""
    data = project.data
    skip = data.on_bad_row == "skip"
    plan = planned(data.path("train", project.folder), placement.part_rows, skip)
    columns = Columns(data.text, data.id, "skip" if skip else "keep")
    plan.check(columns)
    drawn = workspace / "_drawn.parquet"
    pl.DataFrame({"row": sample_rows(plan.rows, sample, project.seed)}).write_parquet(drawn)
    labelled = tuple(project.label_file().standing())
    home = str(project.folder.resolve())
    job = DrawJob(str(workspace), columns, home, str(drawn), labelled)
    work_through(cluster, job, plan, workspace, progress, "drawing documents and matching rules")
    corpus = Corpus.read(
        workspace,
        text=data.text,
        id=data.id or NUMBER,
        label=_label(workspace, data.label),
        classes=project.classes,
    )
    votes = Votes.concat([read_votes(votes_file(path)) for path in parquet_files(workspace)])
    whole = len(corpus) >= plan.rows
    return (corpus if whole else replace(corpus, drawn_from=plan.rows)), votes


def _label(workspace: Path, label: str | None) -> str | None:
    """The label column, where the documents have it."""
    return label if label in pl.read_parquet_schema(parquet_files(workspace)[0]) else None


@dataclass(frozen=True)
class DrawJob:
    """Draws documents by number, and those that people labelled, and votes on them by a project's rules."""

    folder: str
    columns: Columns
    project: str
    drawn: str  # a Parquet file: the numbers that were drawn, of all documents, in order
    labelled: tuple[str, ...]  # ids

    def begin(self) -> PartWork:
        """Read the rules and the numbers."""
        sources = Project.read(self.project).sources
        drawn = pl.read_parquet(self.drawn)["row"].to_numpy()

        def write(stream: CorpusStream, target: Path) -> Counts:
            rows = list(stream.picked(drawn, self.labelled))
            frame = pl.concat(part.frame for part in rows)
            if frame.height:
                number = pl.Series(NUMBER, np.concatenate([part.numbers for part in rows]))
                frame.with_columns(number).write_parquet(target)
                corpus = Corpus.read(target, text=stream.layout.text, id=stream.layout.id or NUMBER)
                write_votes(sources.vote(corpus), votes_file(target))
            return {"documents": frame.height, "skipped": 0}

        return PartWork(self.folder, self.columns, write)


def votes_file(documents: Path) -> Path:
    """The file with the votes on drawn documents, beside them."""
    return documents.with_name(f"_votes-{documents.name}")


@dataclass(frozen=True)
class ClusterFeatures(FeatureCache):
    """A feature cache that lets the workers encode, and keeps the features until the end."""

    cluster: Cluster | None = None
    known: dict[tuple[str | None, int], NDArray[np.float32]] = field(
        default_factory=dict, compare=False
    )

    def fitted(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> Encoder:
        """Fitted by this machine: the statistics are small."""
        return encoder.fit(texts, progress)

    def encode(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress = SILENT
    ) -> NDArray[np.float32]:
        """(n texts, width), made by the workers; a class of the user's own encodes here."""
        if ":" in encoder.kind:
            return encoder.encode(texts, progress)
        key = encoder.identity, hash(tuple(texts))
        if key not in self.known:
            self.known[key] = self._by_workers(encoder, texts, progress)
        return self.known[key]

    def _by_workers(
        self, encoder: Encoder, texts: Sequence[str], progress: Progress
    ) -> NDArray[np.float32]:
        assert self.cluster is not None
        workspace = self.folder / str(len(self.known))
        workspace.mkdir(parents=True)
        plan, tensors = encoder_to_bytes(encoder)
        (workspace / "encoder.json").write_bytes(plan)
        (workspace / "encoder.safetensors").write_bytes(tensors)
        starts = range(0, len(texts), TEXTS)
        for start in starts:
            some = pl.Series("text", texts[start : start + TEXTS], dtype=pl.String)
            some.to_frame().write_parquet(workspace / f"{start}.parquet")
        items = [{"start": start} for start in starts]
        found: dict[int, NDArray[np.float32]] = {}
        with stage(progress, f"encoding with {encoder.name}", len(texts), "texts"):
            for answer in self.cluster.map(EncodeTexts(str(workspace)), items):
                start = answer["start"]
                found[start] = np.load(workspace / f"{start}.npy", allow_pickle=False)
                progress.advance(len(found[start]))
        return np.concatenate([found[start] for start in starts])


@dataclass(frozen=True)
class EncodeTexts:
    """Encodes files of texts in a folder that all workers see."""

    folder: str

    def begin(self) -> Work:
        """Read the encoder; one that names models may open or download them, for this user chose it."""
        workspace = Path(self.folder)
        plan = (workspace / "encoder.json").read_bytes()
        tensors = (workspace / "encoder.safetensors").read_bytes()
        model = dict(json.loads(plan)["state"]).get("model")
        named = AllowedEncoders.of([name for name in (model, MiniLM.kind) if isinstance(name, str)])
        encoder = encoder_from_bytes(plan, tensors, named, self.folder)

        def work(item: dict[str, Any]) -> dict[str, Any]:
            start = item["start"]
            texts = pl.read_parquet(workspace / f"{start}.parquet")["text"].to_list()
            with (workspace / f".{start}.npy").open("wb") as file:
                np.save(file, encoder.encode(texts))
            (workspace / f".{start}.npy").rename(workspace / f"{start}.npy")
            return item

        return work
