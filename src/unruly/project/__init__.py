"""Projects: the project file, `unruly.toml`, to and from Python objects."""

from __future__ import annotations

FILE_NAME = "unruly.toml"
SPLITS = ("train", "valid", "test")  # of its data
SAMPLE = 200_000  # training documents that are learnt from, unless another number is asked for
