"""Which parts are read for which runs, which runs have none, and which parts are to be merged.

Parts may overlap: a chunk was done twice, or a merge died between writing the merged part and
removing those it was made from. All have the same numbers, so any of them may be read.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .parts import Part

LEVEL = 64
"""Parts that become one; 64 of those become one again."""
LARGEST = 128 << 20
"""Bytes of a part that is large enough to stay as it is."""


class Segment(NamedTuple):
    """Runs that are read from one part."""

    begin: int
    end: int
    part: Part


def covering(
    parts: Iterable[Part], names: Iterable[str], begin: int, end: int | None
) -> list[Segment]:
    """What to read, in order and without overlaps, for the runs that have all of the columns."""
    wanted = frozenset(names)
    able = sorted(
        (part for part in parts if wanted <= part.columns), key=lambda part: (part.begin, -part.end)
    )
    segments: list[Segment] = []
    for part in able:
        low, high = max(begin, part.begin), part.end if end is None else min(end, part.end)
        if low < high:
            segments.append(Segment(low, high, part))
            begin = high
    return segments


def gaps(segments: Sequence[Segment], begin: int, end: int) -> list[tuple[int, int]]:
    """Ranges between segments."""
    missing: list[tuple[int, int]] = []
    for segment in segments:
        if segment.begin > begin:
            missing.append((begin, segment.begin))
        begin = segment.end
    if begin < end:
        missing.append((begin, end))
    return missing


def superseded(parts: Sequence[Part], names: Iterable[str]) -> list[Part]:
    """Parts whose runs others have with all columns: they are needed no more."""
    columns = frozenset(names)
    segments = covering(parts, columns, 0, None)
    used = {segment.part for segment in segments}
    return [part for part in parts if part not in used and _is_covered(part, segments)]


def _is_covered(part: Part, segments: Sequence[Segment]) -> bool:
    first = bisect_right(segments, part.begin, key=lambda segment: segment.end)
    last = bisect_left(segments, part.end, key=lambda segment: segment.begin)
    return not gaps(segments[first:last], part.begin, part.end)


def next_group(segments: Sequence[Segment]) -> list[Segment]:
    """Neighbours that should become one part now; none if all is well.

    At each level, parts of less than 64, 64², ... pieces are put together when they have so many
    pieces together, or are large. A piece is written again once at each level.
    """
    pieces = sum(segment.part.pieces for segment in segments)
    fine = LEVEL
    while fine <= pieces or fine == LEVEL:
        group = _group_of(segments, fine)
        if group:
            return group
        fine *= LEVEL
    return []


def _group_of(segments: Sequence[Segment], fine: int) -> list[Segment]:
    group: list[Segment] = []
    pieces = size = 0
    for segment in segments:
        part = segment.part
        stays = part.pieces >= fine or part.size >= LARGEST
        if stays or (group and group[-1].end != segment.begin):
            group, pieces, size = [], 0, 0
        if stays:
            continue
        group.append(segment)
        pieces, size = pieces + part.pieces, size + part.size
        if len(group) > 1 and (pieces >= fine or size >= LARGEST):
            return group
    return []
