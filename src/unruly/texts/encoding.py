"""UTF-8, and a helpful word when a file is in something else."""

from __future__ import annotations

from unruly.errors import InputError

BOM = b"\xef\xbb\xbf"
WIDE = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def check_wide(start: bytes, name: str) -> None:
    """Refuse UTF-16 by its first bytes."""
    kind = WIDE.get(start[:2])
    if kind is None and start[:400].count(0) > len(start[:400]) // 4:
        kind = "UTF-16"
    if kind:
        raise InputError(
            f"{name}, line 1: the file is in {kind}, not UTF-8: convert it, e.g. {_convert(kind, name)}"
        )


def check_utf8(chunk: bytes, name: str, line: int) -> bool:
    """Whether the chunk (whole lines, the first of them number `line`) goes beyond ASCII.

    >>> check_utf8(b"plain", "a.csv", 1), check_utf8("café".encode(), "a.csv", 1)
    (False, True)
    >>> check_utf8(b"one\\ncaf\\xe9\\n", "a.csv", 1)
    Traceback (most recent call last):
    ...
    unruly.errors.InputError: a.csv, line 2: byte 0xE9 is not valid UTF-8; as Windows-1252 the line reads 'café': convert the file, e.g. iconv -f WINDOWS-1252 -t UTF-8 a.csv
    """
    if chunk.isascii():
        return False
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(chunk, error.start, name, line)) from None
    return True


def _not_utf8(chunk: bytes, at: int, name: str, line: int) -> str:
    start = chunk.rfind(b"\n", 0, at) + 1
    stop = chunk.find(b"\n", at)
    words = chunk[max(start, at - 20) : min(stop if stop >= 0 else len(chunk), at + 20)]
    here = line + chunk.count(b"\n", 0, at)
    reads = words.decode("cp1252", "replace").strip()
    mixed = not chunk[:at].isascii() or _other_lines_are_utf8(chunk[at:])
    remedy = (
        "other lines of the file are UTF-8, so the encodings are mixed: write that line again as UTF-8"
        if mixed
        else f"convert the file, e.g. {_convert('WINDOWS-1252', name)}"
    )
    return (
        f"{name}, line {here}: byte 0x{chunk[at]:02X} is not valid UTF-8; "
        f"as Windows-1252 the line reads {reads!r}: {remedy}"
    )


def _other_lines_are_utf8(rest: bytes) -> bool:
    """Whether some later line is UTF-8 beyond ASCII."""
    for line in rest.split(b"\n")[1:]:
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
        except UnicodeDecodeError:
            continue
        return True
    return False


def _convert(kind: str, name: str) -> str:
    return f"iconv -f {kind} -t UTF-8 {name}"
