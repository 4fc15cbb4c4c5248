"""The published data sets: WRENCH on the Hugging Face hub, one folder or one zip file for each."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from unruly.bench.datasets import SPLITS
from unruly.errors import InputError
from unruly.extras import need
from unruly.files import written_whole
from unruly.progress import SILENT, Progress, stage

REPOSITORY = "jieyuz2/WRENCH"
FILES = (*(f"{split}.json" for split in SPLITS), "label.json", "meta.json")


def download(data: Path, name: str, progress: Progress = SILENT) -> Path:
    """Fetch one data set into `data`/`name`, whole or not at all; the folder."""
    hub: Any = need("huggingface_hub", extra="hub", purpose="published data sets")
    listed = _reached(lambda: hub.list_repo_files(REPOSITORY, repo_type="dataset"))
    wanted = files_of(listed, name)
    data.mkdir(parents=True, exist_ok=True)
    target = data / name
    with (
        stage(progress, f"fetching {name}", len(wanted), "file"),
        written_whole(target) as part,
    ):
        part.mkdir()
        for file in wanted:
            got = Path(
                _reached(lambda f=file: hub.hf_hub_download(REPOSITORY, f, repo_type="dataset"))
            )
            _put(got, part / PurePosixPath(file).name)
            progress.advance(1)
    return target


def files_of(listed: Sequence[str], name: str) -> tuple[str, ...]:
    """The files of one data set among all of the repository.

    >>> files_of(["a/imdb/train.json", "a/imdb/notes.txt", "a/yelp.zip"], "imdb")
    ('a/imdb/train.json',)
    >>> files_of(["a/imdb/train.json", "a/yelp.zip"], "trec")
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: jieyuz2/WRENCH has no data set 'trec': it has imdb, yelp
    """
    paths = [PurePosixPath(file) for file in listed]
    inside = [p for p in paths if p.parent.name == name and p.name in FILES]
    zipped = [p for p in paths if p.name == f"{name}.zip"]
    if found := inside or zipped[:1]:
        return tuple(map(str, found))
    known = {p.parent.name for p in paths if p.name == "train.json"}
    known |= {p.stem for p in paths if p.suffix == ".zip"}
    raise InputError(f"{REPOSITORY} has no data set {name!r}: it has {', '.join(sorted(known))}")


def _put(got: Path, to: Path) -> None:
    """A JSON file as it is; of a zip file the JSON files, wherever they stand in it."""
    if to.suffix != ".zip":
        shutil.copyfile(got, to)
        return
    with zipfile.ZipFile(got) as archive:
        for member in archive.namelist():
            if (base := PurePosixPath(member).name) in FILES:
                (to.parent / base).write_bytes(archive.read(member))


def _reached(ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # the library has many errors, all meaning that it is not to be had
        first = " ".join(str(error).split())[:160]
        raise InputError(
            f"{REPOSITORY} cannot be reached on the Hugging Face hub ({first}): with a network, run again; "
            "else copy the folders from another machine"
        ) from None
