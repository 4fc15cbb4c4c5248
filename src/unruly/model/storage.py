"""A fitted model to one file and back: a zip of JSON and safetensors, never pickle.

`summary.json` holds what a person is told of the fit: classes, sources, method, class balance, notes and the use of
gold labels. `model.json` holds how it was made, `learner.json` and `learner.safetensors` what predicts, `rules.json`
the rules, `training.*` a sample of the training documents, `encoder/` the fitted encoder. What the summary holds stands
nowhere else; a learner keeps the few settings by which it predicts beside its arrays.

The members are stored without compression, in one order and with one timestamp, so that the same
members give the same bytes. `manifest.json` comes first and names the format and the versions. The
archive's comment is the SHA-256 of all bytes before it: a single changed byte anywhere is noticed.
Any zip tool opens the file, to look inside.

A checksum says that a file is whole, not who made it. So a file is read into memory and never unpacked
to a disk; it may hold only what `write_container` writes: names of a narrow form, each once, stored as
they are, one after another, and together no larger than the file.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

import unruly
from unruly.errors import ModelFileError, SettingsError, Where
from unruly.features.registry import AllowedEncoders, named_by_file
from unruly.features.stack import Encoding
from unruly.files import written_whole
from unruly.learner import Learner
from unruly.model.fitted import Fitted, Neighbourhood, TrainedLabels
from unruly.model.saved_rules import AllowedRules, SavedRules
from unruly.model.summary import FitSummary
from unruly.prior import parse_prior
from unruly.settings import SEED_BITS, SETTINGS
from unruly.wording import near_file

FORMAT = 7  # 7: the default has a temperature of its own
MANIFEST = "manifest.json"
MOST_MEMBERS = 256
_NAME = re.compile(r"(?:encoder/)?[a-z][a-z0-9_]{0,40}\.(?:json|safetensors)", re.ASCII)
_WHEN = (1980, 1, 1, 0, 0, 0)
_RIGHTS = 0o644 << 16
_DIGEST = 64  # hexadecimal characters of a SHA-256
_PIECE = 1 << 20
_SETS = "sets."  # before a source's number: the classes of its partial votes
_SUMMARISED = (
    "classes",
    "sources",
    "balance",
    "gold_used",
    "notes",
)  # of a learner: in summary.json


def to_json(value: object) -> bytes:
    """JSON that is the same for the same value: sorted keys, UTF-8, no NaN."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    return text.encode("utf-8") + b"\n"


@dataclass(frozen=True)
class Container:
    """A file that was read whole, and found whole."""

    path: Path
    versions: Mapping[str, str]
    checksum: str  # SHA-256 of all bytes before the comment, in which it stands
    members: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def read(self, member: str) -> bytes:
        """The bytes of one member."""
        if member not in self.members:
            raise ModelFileError(f"damaged: {member} is missing", where=Where(str(self.path)))
        return self.members[member]

    def read_json(self, member: str) -> Any:
        """One member as JSON."""
        return _parsed(self.read(member), f"{self.path}: {member}")


def write_container(
    path: str | Path, members: Mapping[str, bytes], versions: Mapping[str, str]
) -> None:
    """Write all members into one file, whole or not at all."""
    manifest = to_json({"format": FORMAT, "versions": dict(versions)})
    for name in members:
        if name == MANIFEST or not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name for a member of a model file")
    with written_whole(path) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, strict_timestamps=True) as archive:
            archive.comment = b"0" * _DIGEST
            for name, data in [(MANIFEST, manifest), *sorted(members.items())]:
                archive.writestr(_entry(name), data)
        with part.open("r+b") as file:
            digest = _digest_before_comment(file, part.stat().st_size)
            file.seek(-_DIGEST, 2)
            file.write(digest.encode("ascii"))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=_WHEN)
    entry.create_system = 3  # the same bytes on every system
    entry.external_attr = _RIGHTS
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
    """Read a file, and check that it is whole, of a known format, and holds nothing but what belongs there."""
    place = Path(path)
    if not place.is_file():
        raise ModelFileError(_no_file(place), where=Where(str(place)))
    try:
        with place.open("rb") as file:
            with zipfile.ZipFile(file) as archive:  # before a file of another kind is read whole
                _check_entries(place, archive.infolist(), place.stat().st_size)
            file.seek(0)
            data = file.read()
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return _opened(place, data, archive)
    except (OSError, EOFError, ValueError, NotImplementedError, zipfile.BadZipFile):
        raise _not_whole(place) from None


def _no_file(place: Path) -> str:
    remedy = "pass a file made with `unruly fit -o` or model.save()"
    if place.is_dir():
        return f"a folder, not a model file: {remedy}"
    if place.exists():
        return f"a pipe or a device, not a model file: {remedy}"
    return f"there is no such file: {near_file(place) or remedy}"


def is_model(path: Path) -> bool:
    """Whether the file is a model, by its first bytes."""
    if not path.is_file() or path.suffix.lower() in (".xlsx", ".npz", ".ods"):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


def _opened(place: Path, data: bytes, archive: zipfile.ZipFile) -> Container:
    entries = archive.infolist()
    _check_entries(place, entries, len(data))
    manifest = _parsed(archive.read(MANIFEST), f"{place}: {MANIFEST}")
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
        raise _not_whole(place)
    versions = manifest.get("versions")
    if not isinstance(versions, dict):
        raise _not_whole(place)
    if manifest["format"] != FORMAT:
        raise _other_format(place, manifest["format"], versions)
    digest = _digest_before_comment(BytesIO(data), len(data))
    if archive.comment != digest.encode("ascii") or data[-_DIGEST:] != archive.comment:
        raise _not_whole(place)
    members = {entry.filename: archive.read(entry) for entry in entries[1:]}
    return Container(place, versions, digest, members)


def _check_entries(place: Path, entries: list[zipfile.ZipInfo], size: int) -> None:
    """Refuse what `write_container` never writes, from the table of contents alone, before anything is read."""
    if not entries or entries[0].filename != MANIFEST:
        raise _not_whole(place)
    if len(entries) > MOST_MEMBERS:
        raise _refused(place, f"{len(entries)} members, where a model has at most {MOST_MEMBERS}")
    names = [entry.filename for entry in entries]
    for entry in entries:
        name = entry.orig_filename
        if not _NAME.fullmatch(name) or name != entry.filename:
            raise _refused(place, f"a member is called {name[:80]!r}")
        if names.count(name) > 1:
            raise _refused(place, f"{name} is there twice")
        if entry.external_attr != _RIGHTS:
            raise _refused(place, f"{name} is not a plain file")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise _refused(place, f"{name} is compressed")
        if entry.flag_bits or entry.extra:
            raise _refused(place, f"{name} is encrypted or has fields of another program")
    ends = [0, *(entry.header_offset + 30 + entry.file_size for entry in entries)]
    starts = [*(entry.header_offset for entry in entries), size]
    if starts[0] != 0 or any(start < end for start, end in zip(starts, ends, strict=True)):
        raise _refused(place, "its members overlap, or are larger than the file")


def _parsed(data: bytes, where: str) -> Any:
    try:
        value = json.loads(data, parse_constant=_no_number, parse_int=_whole)
        if b"\\ud" in data.lower():
            json.dumps(value, ensure_ascii=False).encode()  # refuses halves of characters
        return value
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{where} is not JSON that unruly wrote: {error}") from None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _whole(digits: str) -> int:
    """A whole number no larger than a seed may be."""
    value = int(digits)
    if value.bit_length() > SEED_BITS:
        raise ValueError(f"{digits[:20]}... is too large")
    return value


def _not_whole(place: Path) -> ModelFileError:
    return ModelFileError(
        "not a whole unruly model: it is damaged, truncated, or another kind of file; "
        "copy it again or fit the model again",
        where=Where(str(place)),
    )


def _refused(place: Path, why: str) -> ModelFileError:
    return ModelFileError(
        f"refused: {why}: unruly never writes such a file, so it is damaged or was made to do harm",
        where=Where(str(place)),
    )


def _other_format(place: Path, found: int, versions: Mapping[str, object]) -> ModelFileError:
    made = f"written by unruly {versions.get('unruly', '?')} in model format {found}"
    remedy = "pip install --upgrade unruly" if found > FORMAT else "fit the model again"
    return ModelFileError(
        f"{made}, but this version reads format {FORMAT}: {remedy}", where=Where(str(place))
    )


# What Python raises over values of the wrong kind.
MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)
Functions = str | Path | Sequence[str | Path] | None


@dataclass(frozen=True)
class Loaded:
    """What a file held: the model, and what the estimator was made with."""

    fitted: Fitted
    parameters: Mapping[str, Any]
    checksum: str  # that of the container


def save(path: str | Path, fitted: Fitted, parameters: Mapping[str, Any]) -> None:
    """Write a model, whole or not at all; the same model gives the same bytes."""
    near = fitted.neighbourhood
    members = {
        "model.json": to_json(_facts(fitted, parameters)),
        "learner.json": to_json(_learner_facts(fitted.learner)),
        "learner.safetensors": _pack(fitted.learner.arrays()),
        "summary.json": to_json(fitted.summary.to_plain()),
        "training.json": to_json({"ids": near.ids, "snippets": near.snippets}),
        "training.safetensors": _pack(_training_arrays(fitted)),
    }
    if fitted.rules is not None:
        rules = fitted.rules.to_plain()
        members["rules.json"] = to_json({name: rules[name] for name in rules if name != "classes"})
    if fitted.encoder is not None:
        members |= fitted.encoder.members()
    write_container(path, members, _versions())


def _training_arrays(fitted: Fitted) -> dict[str, NDArray[Any]]:
    near = fitted.neighbourhood
    return {
        "directions": near.directions,
        "votes": near.votes,
        "labels": near.labels,
        "digests": fitted.digests,
        "labelled": fitted.labels.digests,
        "labelled_as": fitted.labels.numbers,
        "labelled_weights": fitted.labels.weights,
        **{f"{_SETS}{j}": sets for j, sets in near.sets.items()},
    }


def load(path: str | Path, functions: Functions = None, encoders: object = None) -> Loaded:
    """Read a model; its encoder is only read when a text is to be encoded.

    `functions` is the Python file with the rules of kind `function`, where the model has any: a model
    file carries their names and the file's digest, never code. `encoders` is the encoder, where that is not
    unruly's own: a model's name, or a class. Commands name both in `functions`.
    """
    allowed = AllowedRules.of(functions)
    whole = (path.resolve() for path in allowed.names if path.is_dir())
    encoders = AllowedEncoders.of([*map(str, (*allowed.names, *whole)), encoders])
    container = open_container(path)
    try:
        return _loaded(container, allowed, encoders)
    except (*MALFORMED, SafetensorError, SettingsError) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ModelFileError(
            f"the file is whole, but its contents are not understood ({what}): it was written by unruly "
            f"{container.versions.get('unruly', '?')}, this is {unruly.__version__}",
            where=Where(str(path)),
        ) from error


def text_column_of(path: str | Path) -> str | None:
    """The column that a model was fitted on, where that is known, without the rest of the model."""
    facts = open_container(path).read_json("model.json")
    found = facts.get("text_column") if isinstance(facts, dict) else None
    return found if isinstance(found, str) else None


def _loaded(container: Container, allowed: AllowedRules, encoders: object) -> Loaded:
    facts = container.read_json("model.json")
    training = container.read_json("training.json")
    arrays = load_arrays(container.read("training.safetensors"))
    summary = FitSummary.from_plain(container.read_json("summary.json"))
    learner = restore(
        facts["learner"],
        load_arrays(container.read("learner.safetensors")),
        {**container.read_json("learner.json"), **_summarised(summary)},
    )
    snippets, encoder, rules = training["snippets"], None, None
    if facts["encoder"] is not None:
        place, members = str(container.path), container.members
        encoder = Encoding.from_plain(facts["encoder"], members, place, encoders)
    if "rules.json" in container.members:
        plain = {**container.read_json("rules.json"), "classes": list(learner.classes)}
        rules = SavedRules.from_plain(plain, allowed, encoder)
    fitted = Fitted(
        learner=learner,
        settings=SETTINGS[summary.method].from_plain(facts["settings"]),
        seed=facts["seed"],
        stated=parse_prior(facts["stated"], learner.classes),
        numbered=facts["numbered"],
        blocks=tuple((name, width) for name, width in facts["blocks"]),
        encoder=encoder,
        rules=rules,
        summary=summary,
        neighbourhood=Neighbourhood(
            directions=arrays["directions"],
            votes=arrays["votes"],
            sets={
                int(name.removeprefix(_SETS)): array.astype(np.bool_)
                for name, array in arrays.items()
                if name.startswith(_SETS)
            },
            labels=arrays["labels"],
            ids=tuple(training["ids"]),
            snippets=None if snippets is None else tuple(snippets),
        ),
        digests=arrays["digests"],
        labels=TrainedLabels(arrays["labelled"], arrays["labelled_as"], arrays["labelled_weights"]),
        majority=tuple(facts["majority"]),
        text_column=facts["text_column"],
        id_column=facts["id_column"],
        feature_names=_names(facts.get("feature_names")),
    )
    fitted.check()
    parameters = _parameters(facts["parameters"], encoders)
    stated = {"class_prior": facts["stated"]}
    return Loaded(fitted, {**parameters, **stated}, container.checksum)


def _names(plain: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if plain is None else tuple(plain)


def _parameters(plain: Mapping[str, Any], encoders: object) -> dict[str, Any]:
    """What the estimator was made with; an encoder of a name that only the file knows is not opened."""
    known = {"encoder", "keep_documents", "cache"}
    if set(plain) != known or type(plain["cache"]) is not bool:
        raise ValueError("the parameters are not those of a WeakClassifier")
    return {**plain, "encoder": named_by_file(plain["encoder"], AllowedEncoders.of(encoders))}


def restore(kind: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Learner:
    """The learner again, from a model file."""
    if kind == "DenoisedModel":
        from unruly.denoising.denoised import DenoisedModel

        return DenoisedModel.restore(arrays, facts)
    if kind == "CoTrained":
        from unruly.paper.inference import CoTrained

        return CoTrained.restore(arrays, facts)
    raise ModelFileError(
        f"the model was trained by {kind!r}, which this version of unruly does not know"
    )


def _learner_facts(learner: Learner) -> dict[str, Any]:
    """What the summary does not say."""
    return {name: value for name, value in learner.facts().items() if name not in _SUMMARISED}


def _summarised(summary: FitSummary) -> dict[str, Any]:
    """What the summary says, as a learner's facts have it."""
    plain = summary.to_plain()
    return {
        "classes": plain["classes"],
        "sources": [line["name"] for line in plain["sources"]],
        "balance": plain["balance"],
        "gold_used": plain["ledger"],
        "notes": plain["notes"],
    }


def _facts(fitted: Fitted, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "settings": fitted.settings.to_plain(),
        "seed": fitted.seed,
        "stated": None if fitted.stated is None else fitted.stated.to_plain(),
        "numbered": fitted.numbered,
        "blocks": [list(block) for block in fitted.blocks],
        "encoder": None if fitted.encoder is None else fitted.encoder.to_plain(),
        "majority": list(fitted.majority),
        "text_column": fitted.text_column,
        "id_column": fitted.id_column,
        "feature_names": fitted.feature_names,
        "learner": type(fitted.learner).__name__,
        "parameters": dict(parameters),
    }


def _versions() -> dict[str, str]:
    """What wrote the file; nothing that changes from run to run."""
    return {
        "unruly": unruly.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    return bytes(save_arrays({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
