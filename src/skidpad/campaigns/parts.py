"""Parts of a campaign: the runs of a range, one after the other, in a file.

A part says of itself which runs it has, in its name and inside, and has a digest of every column.
So nothing else is needed to know what is done, and whether it is what was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..errors import InvalidValue
from .experiment import Column

RUNS = "runs"
"""The folder that parts lie in."""
_NAME = re.compile(r"part-(\d{12,18})-(\d{12,18})\.parquet")


class UnreadablePart(InvalidValue):
    """A file is not the part that it should be: cut off, changed, or of something else."""


class Part(NamedTuple):
    """What is known of a part without reading its runs."""

    begin: int
    end: int
    columns: frozenset[str]
    """Without the numbers of the runs."""
    pieces: int
    """Parts that it was merged from; 1 of one that was written as it is."""
    size: int
    """In bytes."""
    footer: str
    """Digest of the end of the file, which has the digests of all columns."""

    @property
    def file(self) -> str:
        """In its place."""
        return f"{RUNS}/{part_name(self.begin, self.end)}"


def part_name(begin: int, end: int) -> str:
    """The file of a range of runs."""
    return f"part-{begin:012d}-{end:012d}.parquet"


def range_of(name: str) -> tuple[int, int] | None:
    """The runs of a file of this name; None if it is no part's."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    begin, end = int(match[1]), int(match[2])
    return (begin, end) if begin < end and part_name(begin, end) == name else None


class ColumnDigest:
    """A digest of numbers that does not know how they were cut; all NaN are the same."""

    def __init__(self) -> None:
        self._hash = sha256()

    def add(self, values: AnyArray) -> None:
        """The next ones."""
        if values.dtype == np.float64:
            values = np.where(np.isnan(values), np.nan, values)
        self._hash.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)

    def text(self) -> str:
        """Of all up to here."""
        return self._hash.hexdigest()


def checked_columns(
    columns: Sequence[Column], arrays: Mapping[str, Any], rows: int
) -> dict[str, AnyArray]:
    """Values of a part as they are kept; raises for what does not fit."""
    for name in arrays:
        if all(name != column.name for column in columns):
            raise InvalidValue(f"{name}: the campaign has no such column")
    return {column.name: _checked(column, arrays, rows) for column in columns}


def _checked(column: Column, arrays: Mapping[str, Any], rows: int) -> AnyArray:
    if column.name not in arrays:
        raise InvalidValue(f"{column.name}: a part must have this column")
    values = np.asarray(arrays[column.name])
    kinds = "b" if column.kind == "truth" else "fiu"
    if values.shape != (rows,) or values.dtype.kind not in kinds:
        contents = "true or false" if column.kind == "truth" else "real numbers"
        raise InvalidValue(
            f"{column.name}: {values.dtype} of shape {values.shape} must be {contents} of shape "
            f"({rows},)"
        )
    return values if kinds == "b" else np.asarray(values, np.float64)
