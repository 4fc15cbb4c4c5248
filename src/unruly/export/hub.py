"""An exported folder to the Hugging Face hub: only when asked to, to a repository that the user names.

A model file may hold beginnings of training texts, so a repository that is not there yet is made private.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from unruly.errors import InputError, first_line, need
from unruly.features.hub import OFFLINE_SWITCHES, offline
from unruly.progress import SILENT, Progress, stage

TOKEN = "HF_TOKEN"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


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
        if not _NAME.fullmatch(repository):
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
