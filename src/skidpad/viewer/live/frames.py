"""Frames: the numbers of one moment as bytes. docs/live.md has the layout."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidValue

KIND = 1
PAUSED, RECORDING, DIVERGED = 1, 2, 4
"""Flags."""

_HEAD = struct.Struct("<BBH4xd")
_COUNT = struct.Struct("<H")
_SCAN = struct.Struct("<HH")


class Ranges(NamedTuple):
    """What a lidar measured."""

    scan: int
    """Which scan of the stage."""
    ranges: NDArray[Any]
    """In m."""


class Moment(NamedTuple):
    """What a frame holds."""

    sequence: int
    flags: int
    time: float
    """Of the world, in s."""
    row: NDArray[Any]
    """One number for each channel of the stage."""
    scans: Sequence[Ranges]


class Frame:
    """A moment, made into bytes once for all who get it.

    Args:
        moment: with the latest scan of every lidar.
        new: which of these scans were not in the frame before.
        last: whether there may be no other frame for a while, so that nobody may miss it.
        heard: whose message, by its time, is the first frame to show what it did.
    """

    def __init__(
        self,
        moment: Moment,
        new: frozenset[int],
        *,
        last: bool = False,
        heard: tuple[int, float] | None = None,
    ) -> None:
        self._moment, self._new = moment, new
        self.last, self.heard = last, heard

    @cached_property
    def whole(self) -> bytes:
        """With all scans, for those who have not seen the frame before."""
        return encoded(self._moment)

    @cached_property
    def changed(self) -> bytes:
        """With new scans only."""
        kept = [one for one in self._moment.scans if one.scan in self._new]
        return encoded(self._moment._replace(scans=kept))


def encoded(moment: Moment) -> bytes:
    """The bytes of a frame."""
    head = _HEAD.pack(KIND, moment.flags, moment.sequence & 0xFFFF, moment.time)
    parts = [head, np.asarray(moment.row, "<f4").tobytes(), _COUNT.pack(len(moment.scans))]
    for scan, ranges in moment.scans:
        parts += [_SCAN.pack(scan, len(ranges)), np.asarray(ranges, "<f4").tobytes()]
    return b"".join(parts)


def decoded(data: bytes, channels: int) -> Moment:
    """What `encoded` was given, for a stage with so many channels."""
    try:
        kind, flags, sequence, time = _HEAD.unpack_from(data)
        at = _HEAD.size + 4 * channels
        row = np.frombuffer(data, "<f4", channels, _HEAD.size)
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        scans: list[Ranges] = []
        for _ in range(count):
            scan, size = _SCAN.unpack_from(data, at)
            at += _SCAN.size
            scans.append(Ranges(scan, np.frombuffer(data, "<f4", size, at)))
            at += 4 * size
    except (struct.error, ValueError) as error:
        raise InvalidValue(f"a frame of {len(data)} bytes is cut short: {error}") from error
    if kind != KIND or at != len(data):
        raise InvalidValue(
            f"{len(data)} bytes of kind {kind} are no frame of {channels} channels, "
            f"which has kind {KIND} and here {at} bytes"
        )
    return Moment(sequence, flags, time, row, scans)
