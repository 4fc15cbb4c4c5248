"""One file with everything in it: a zip of JSON and safetensors that cannot be half-written.

The members are stored without compression, in one order and with one timestamp, so that the same
members give the same bytes. `manifest.json` comes first and names the format, the versions, and the
size and SHA-256 of every member. The archive's comment is the SHA-256 of all bytes before it: a
single changed byte anywhere is noticed. Any zip tool opens the file, to look inside.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from unruly.errors import ModelFileError
from unruly.files import written_whole

FORMAT = 1
MANIFEST = "manifest.json"
_WHEN = (1980, 1, 1, 0, 0, 0)
_DIGEST = 64  # hexadecimal characters of a SHA-256
_PIECE = 1 << 20


def to_json(value: object) -> bytes:
    """JSON that is the same for the same value: sorted keys, UTF-8, no NaN."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    return text.encode("utf-8") + b"\n"


@dataclass(frozen=True)
class Container:
    """An opened file: its manifest is known to be sound; members are read when asked for."""

    path: Path
    versions: Mapping[str, str]
    sizes: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def read(self, member: str) -> bytes:
        """The bytes of one member, checked against its digest."""
        if member not in self.sizes:
            raise ModelFileError(f"{self.path}: damaged: {member} is missing")
        try:
            with zipfile.ZipFile(self.path) as archive:
                data = archive.read(member)
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise ModelFileError(f"{self.path}: {member} can no longer be read: {error}") from None
        if hashlib.sha256(data).hexdigest() != self.digests[member]:
            raise ModelFileError(f"{self.path}: {member} has changed since the model was loaded")
        return data

    def read_json(self, member: str) -> Any:
        """One member as JSON."""
        return json.loads(self.read(member))

    def unpack(self, folder: str, target: Path) -> None:
        """Write all members below `folder/` into an existing empty folder."""
        for member in self.sizes:
            if member.startswith(f"{folder}/"):
                place = target / member.removeprefix(f"{folder}/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(self.read(member))


def write_container(
    path: str | Path, members: Mapping[str, bytes], versions: Mapping[str, str]
) -> None:
    """Write all members into one file, whole or not at all."""
    manifest = {
        "format": FORMAT,
        "versions": dict(versions),
        "members": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in sorted(members.items())
        },
    }
    with written_whole(path) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, strict_timestamps=True) as archive:
            archive.comment = b"0" * _DIGEST
            for name, data in [(MANIFEST, to_json(manifest)), *sorted(members.items())]:
                archive.writestr(_entry(name), data)
        with part.open("r+b") as file:
            digest = _digest_before_comment(file, part.stat().st_size)
            file.seek(-_DIGEST, 2)
            file.write(digest.encode("ascii"))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_WHEN)
    entry.create_system = 3  # the same bytes on every system
    entry.external_attr = 0o644 << 16
    return entry


def _digest_before_comment(file: BinaryIO, size: int) -> str:
    """SHA-256 of the file up to its comment."""
    digest, left = hashlib.sha256(), size - _DIGEST
    file.seek(0)
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest()


def open_container(path: str | Path) -> Container:
    """Check that a file is whole and of a known format, and open it."""
    place = Path(path)
    if not place.is_file():
        what = "a folder, not a model file" if place.is_dir() else "there is no such file"
        raise ModelFileError(
            f"{place}: {what}: name a file made by `unruly fit -o` or model.save()"
        )
    manifest = _manifest(place)
    if manifest is not None and manifest["format"] > FORMAT:
        made = manifest.get("versions", {}).get("unruly", "a newer version")
        raise ModelFileError(
            f"{place}: written by unruly {made} in model format {manifest['format']}, but this version "
            f"reads formats up to {FORMAT}: pip install --upgrade unruly"
        )
    if manifest is None or not _whole(place):
        raise ModelFileError(
            f"{place}: not a whole unruly model: it is damaged, truncated, or another kind of file; "
            "copy it again or fit the model again"
        )
    members = manifest["members"]
    return Container(
        path=place,
        versions=manifest["versions"],
        sizes={name: entry["bytes"] for name, entry in members.items()},
        digests={name: entry["sha256"] for name, entry in members.items()},
    )


def _manifest(place: Path) -> dict[str, Any] | None:
    """The manifest, or None when there is none to be read."""
    try:
        with zipfile.ZipFile(place) as archive:
            manifest = json.loads(archive.read(MANIFEST))
    except (OSError, KeyError, ValueError, EOFError, NotImplementedError, zipfile.BadZipFile):
        return None
    sound = isinstance(manifest, dict) and isinstance(manifest.get("format"), int)
    return manifest if sound else None


def _whole(place: Path) -> bool:
    size = place.stat().st_size
    with place.open("rb") as file:
        digest = _digest_before_comment(file, size)
        return file.read(_DIGEST + 1) == digest.encode("ascii")
