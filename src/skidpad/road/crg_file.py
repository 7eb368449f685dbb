"""OpenCRG files: blocks of text, then rows of numbers in text or in binary.

A block begins with `$NAME` and ends with a line that has `$` alone, both perhaps with a comment. A
line that begins with `$$` ends the text; behind it are the rows, with a column for each channel
that the block KD_DEFINITION lists. Small and capital letters are the same in names. `*` at the
beginning of a line and `!` within it begin comments.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..files import bytes_of, reading, referenced_file

__all__ = ["Channel", "CrgFile", "read_crg"]

_WIDEST = 72
"""Characters of a line of a block that count."""
_RECORD = 80
"""Characters of a line of numbers, and bytes to which binary ones are filled up."""
_TEXT = {"LRFI": 10, "LDFI": 20}
"""Characters of a number, by the format of the rows."""
_BINARY = {"KRBI": ">f4", "KDBI": ">f8"}
_OPTIONS = "ROAD_CRG_OPTS"
_NUMERIC = ("ROAD_CRG", _OPTIONS, "ROAD_CRG_MODS")
"""Blocks of names with numbers."""
_MOST_CHANNELS = 100_000
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][-+]?[0-9]+)?")


class Channel(NamedTuple):
    """A column of the rows, or a virtual one that only a start and an increment tell."""

    name: str
    unit: str
    line: int
    """Where the file defines it."""
    start: float = math.nan
    increment: float = math.nan


class Line(NamedTuple):
    """A line of a block without its comment."""

    number: int
    text: str


@dataclass(frozen=True, repr=False)
class CrgFile:
    """What an OpenCRG file holds, as it is written there."""

    path: Path
    comment: str
    """Text of the block CT."""
    header: dict[str, float]
    """Numbers of the block ROAD_CRG by name, in small letters."""
    options: dict[str, float]
    """Numbers of the block ROAD_CRG_OPTS."""
    modifiers: dict[str, float]
    """Numbers of the block ROAD_CRG_MODS."""
    lines: dict[str, int]
    """Line of each of these numbers."""
    virtual: tuple[Channel, ...]
    """Channels without a column."""
    channels: tuple[Channel, ...]
    """The column of each has its number."""
    rows: Array
    """Numbers (rows, channels); NaN where there is none."""

    def error(self, fault: str, line: int | None = None) -> InvalidValue:
        """An error about this file."""
        return _error(self.path, fault, line)

    __repr__ = brief_repr


def read_crg(path: str | os.PathLike[str]) -> CrgFile:
    """Read a file, with the rows of the one that it refers to if it has none itself."""
    file, target = _read(Path(os.fspath(path)))
    if target is None:
        return file
    inner, further = _read(referenced_file(file.path, target.text, target.number))
    if further is not None:
        raise file.error(f"refers to {inner.path}, which refers to a third file", target.number)
    # What the referring file says itself comes first, block by block.
    return CrgFile(
        path=inner.path,
        comment=inner.comment,
        header=inner.header,
        options=file.options or inner.options,
        modifiers=file.modifiers or inner.modifiers,
        lines=inner.lines,
        virtual=inner.virtual,
        channels=inner.channels,
        rows=inner.rows,
    )


def _error(path: Path, fault: str, line: int | None = None) -> InvalidValue:
    place = "" if line is None else f", line {line}"
    return InvalidValue(f"{path}{place}: {fault}")


def _read(path: Path) -> tuple[CrgFile, Line | None]:
    """A file, and the line that names another one with the rows."""
    with reading(path, "is no OpenCRG file"):
        content = bytes_of(path)
        blocks, begin, first = _blocks(path, content)
        numbers = {name: _numbers(path, name, blocks.get(name, [])) for name in _NUMERIC}
        target = next(iter(_plain(blocks.get("ROAD_CRG_FILE", []))), None)
        definition = list(_plain(blocks.get("KD_DEFINITION", [])))
        virtual, channels = (_channels(path, definition, mark) for mark in ("U:", "D:"))
        rows = np.empty((0, 0))
        if begin is not None and target is None:
            rows = _rows(path, content[begin:], first, definition, len(channels))
        elif target is None:
            raise _error(path, "has no rows of numbers: there is no line that begins with $$")
        header, options, modifiers = ({n: v for n, (v, _) in numbers[b].items()} for b in _NUMERIC)
        lines = {n: line for block in numbers.values() for n, (_, line) in block.items()}
        comment = "\n".join(line.text for line in blocks.get("CT", []))
        made = (path, comment, header, options, modifiers, lines, virtual, channels, rows)
        return CrgFile(*made), target


def _blocks(path: Path, content: bytes) -> tuple[dict[str, list[Line]], int | None, int]:
    """Lines of each block, where the rows begin in the content, and the number of their line."""
    blocks: dict[str, list[Line]] = {}
    inside: list[Line] | None = None
    at, number = 0, 0
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        text = content[at:end].decode("latin-1").rstrip("\r")[:_WIDEST]
        at, number = end + 1, number + 1
        mark = text.split("!")[0].split(" ")[0].rstrip()
        if text.startswith("$$") and inside is None:
            return blocks, at, number + 1
        if mark == "$":
            if inside is None:
                raise _error(path, "a block ends here that did not begin", number)
            inside = None
        elif text.startswith("$") and not text.startswith("$$"):
            if inside is not None:
                raise _error(path, f"{mark} begins inside of another block", number)
            inside = blocks.setdefault(mark[1:].upper(), [])
        elif inside is not None:
            inside.append(Line(number, text))
    if inside is not None:
        raise _error(path, "the file ends inside of a block", number)
    return blocks, None, number


def _plain(lines: list[Line]) -> Iterator[Line]:
    """Lines without comments, and without those that are nothing else."""
    for line in lines:
        text = "" if line.text.startswith("*") else line.text.split("!")[0].strip()
        if text:
            yield Line(line.number, text)


def _numbers(path: Path, block: str, lines: list[Line]) -> dict[str, tuple[float, int]]:
    numbers: dict[str, tuple[float, int]] = {}
    for line in _plain(lines):
        if block == _OPTIONS and not _is_number(line.text.partition("=")[2]):
            continue  # they do not change the road, and files have all kinds of them
        name, equals, value = line.text.partition("=")
        if not equals:
            raise _error(path, f"{line.text!r} must be a name, = and a number", line.number)
        numbers[name.strip().lower()] = _number(path, value, line.number), line.number
    return numbers


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip()) is not None


def _number(path: Path, text: str, line: int) -> float:
    stripped = text.strip()
    value = float(stripped.upper().replace("D", "E")) if _is_number(text) else math.nan
    if not math.isfinite(value):
        raise _error(path, f"{stripped!r} is no finite number", line)
    return value


def _channels(path: Path, definition: list[Line], mark: str) -> tuple[Channel, ...]:
    channels: list[Channel] = []
    for line in definition:
        if line.text[:2] != mark:
            continue
        name, *rest = (part.strip() for part in line.text[2:].split(","))
        unit, *numbers = rest or [""]
        values = (_number(path, n, line.number) if n else math.nan for n in numbers[:2])
        channels.append(Channel(" ".join(name.lower().split()), unit, line.number, *values))
    if len(channels) > _MOST_CHANNELS:
        raise _error(path, f"has {len(channels)} channels; allowed are {_MOST_CHANNELS}")
    return tuple(channels)


def _rows(path: Path, data: bytes, first: int, definition: list[Line], width: int) -> Array:
    kinds = [line for line in definition if line.text.startswith("#:")]
    if not kinds or width == 0:
        raise _error(path, "KD_DEFINITION must have a format (#:) and at least one channel (D:)")
    kind, line = kinds[-1].text[2:].strip().upper(), kinds[-1].number
    if kind in _BINARY:
        return _binary_rows(path, data, _BINARY[kind], width)
    if kind in _TEXT:
        return _text_rows(path, data, first, _TEXT[kind], width)
    allowed = ", ".join([*_TEXT, *_BINARY])
    raise _error(path, f"rows have the format {kind!r}; allowed are {allowed}", line)


def _binary_rows(path: Path, data: bytes, dtype: str, width: int) -> Array:
    size = np.dtype(dtype).itemsize
    numbers = np.frombuffer(data[: len(data) // size * size], dtype)
    count = len(numbers) // width
    if not np.isnan(numbers[count * width :]).all():
        raise _error(path, f"its last row has fewer than {width} numbers")
    with np.errstate(invalid="ignore"):
        rows = numbers[: count * width].reshape(count, width).astype(float)
    # Rows of nothing are what fills up the last record.
    full = np.flatnonzero(~np.isnan(rows).all(axis=1))
    return rows[: full[-1] + 1 if full.size else 0]


def _text_rows(path: Path, data: bytes, first: int, digits: int, width: int) -> Array:
    lines = data.decode("latin-1").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    per_line = _RECORD // digits
    per_row = -(-width // per_line)
    if len(lines) % per_row:
        raise _error(
            path,
            f"the last row has {len(lines) % per_row} of its {per_row} lines",
            first + len(lines) - 1,
        )
    rows = np.empty((len(lines) // per_row, width))
    for k, line in enumerate(lines):
        row, part = divmod(k, per_row)
        for j in range(part * per_line, min(width, (part + 1) * per_line)):
            begin = (j - part * per_line) * digits
            rows[row, j] = _entry(path, line[begin : begin + digits], first + k)
    return rows


def _entry(path: Path, text: str, line: int) -> float:
    """A number of a row; what begins with an asterisk stands for none."""
    stripped = text.strip()
    if stripped.startswith("*") or stripped.lower() == "nan":
        return math.nan
    return _number(path, text, line)
