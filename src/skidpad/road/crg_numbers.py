"""The numbers of a road in an OpenCRG file, checked against each other.

Reference line: points at equal steps of u, each from the one before along the heading of its row.
Height of the road: the grid, plus the height of the reference line (slopes summed up), plus v times
the cross slope. Between rows and columns all of that is bilinear, so it is one grid here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from .crg_file import CrgFile

__all__ = ["CrgRoad", "crg_road"]

_PHI, _SLOPE, _BANK = "reference line phi", "reference line slope", "reference line banking"
_AT, _NUMBERED = "long section at v =", "long section "
_DEFAULT_INCREMENT = 0.01
"""Of u and of v where a file tells none, in m."""
_TOLERANCE = 1e-4
"""Difference in m, or share of 1e-6, by which a file may contradict itself."""


@dataclass(frozen=True, repr=False)
class CrgRoad:
    """The numbers of a road along a reference line, before and after modifiers."""

    file: CrgFile
    start: float
    """u of the first row, in m."""
    step: float
    """From row to row, in m."""
    v: Array
    """Places of the columns, increasing, in m."""
    heading: Array
    """Of the line from row to row (rows - 1,), in rad."""
    z: Array
    """Heights (rows, columns) over the reference line and its cross slope, in m; NaN for none."""
    slope: Array
    """Of the line from row to row (rows - 1,)."""
    bank: Array
    """Cross slope at each row, positive when the left is high."""
    origin: tuple[float, float, float]
    """x, y and z of the line at the first row, in m."""
    end: tuple[float | None, float | None, float | None]
    """The same at the last row, where the file tells it."""

    @property
    def line(self) -> tuple[Array, Array, Array]:
        """x, y and z of the line at each row; what misses the end is spread over all rows."""
        steps = (np.cos(self.heading), np.sin(self.heading), self.slope)
        triples = zip(steps, self.origin, self.end, strict=True)
        x, y, z = (self._summed(self.step * s, first, last) for s, first, last in triples)
        return x, y, z

    def _summed(self, steps: Array, first: float, last: float | None) -> Array:
        sums = np.concatenate([[first], first + np.cumsum(steps)])
        if last is None:
            return sums
        missing = last - sums[-1]
        length = self.step * len(steps)
        if not abs(missing) <= max(1e-6 * length, _TOLERANCE) * (1.0 + 1e-9):
            raise self.file.error(
                f"the reference line ends {abs(missing):g} m beside the end that the header tells"
            )
        return sums + missing * np.arange(len(sums)) / len(steps)

    __repr__ = brief_repr


def crg_road(file: CrgFile) -> CrgRoad:
    """The numbers of the road in a file, checked against each other."""
    if len(file.rows) < 2:
        raise file.error(f"has {len(file.rows)} rows; a road needs at least 2")
    count = len(file.rows)
    start, step = _u(file, count)
    v, columns = _v(file)
    header = file.header
    origin = tuple(header.get(f"reference_line_start_{axis}", 0.0) for axis in "xyz")
    end = tuple(header.get(f"reference_line_end_{axis}") for axis in "xyz")
    return CrgRoad(
        file=file,
        start=start,
        step=step,
        v=v,
        heading=_along(file, _PHI, "rad", "phi", 1),
        z=file.rows[:, columns],
        slope=_along(file, _SLOPE, "m/m", "s", 1),
        bank=_along(file, _BANK, "m/m", "b", 0),
        origin=origin,  # type: ignore[arg-type]
        end=end,  # type: ignore[arg-type]
    )


def _agree(file: CrgFile, name: str, value: float) -> None:
    """Raise if the header tells another number than the rows and channels do."""
    told = file.header.get(name, value)
    if not abs(told - value) <= max(1e-6 * (abs(told) + abs(value)), _TOLERANCE):
        raise file.error(f"{name} = {told:g} does not fit {value:g} of its data", file.lines[name])


def _u(file: CrgFile, count: int) -> tuple[float, float]:
    """Coordinate of the first row and from row to row."""
    start = file.header.get("reference_line_start_u", 0.0)
    step = file.header.get("reference_line_increment", _DEFAULT_INCREMENT)
    line = file.lines.get("reference_line_increment")
    for channel in file.virtual:
        if channel.name == "reference line u" and channel.unit == "m":
            start = start if math.isnan(channel.start) else channel.start
            if not math.isnan(channel.increment):
                step, line = channel.increment, channel.line
    if not step > 0.0:
        raise file.error(f"the increment of u is {step:g} m; it must be greater than 0", line)
    _agree(file, "reference_line_start_u", start)
    _agree(file, "reference_line_increment", step)
    _agree(file, "reference_line_end_u", start + (count - 1) * step)
    return start, step


def _v(file: CrgFile) -> tuple[Array, list[int]]:
    """Places of the columns of heights, increasing, and which columns they are."""
    sections = [
        (k, channel)
        for k, channel in enumerate(file.channels)
        if channel.name.startswith(_NUMBERED)
    ]
    if len(sections) < 2:
        raise file.error(f"has {len(sections)} long sections; a road needs at least 2")
    listed = [channel.name.startswith(_AT) for _, channel in sections]
    if any(listed) and not all(listed):
        raise file.error("has long sections at v = and others by number", sections[0][1].line)
    places: list[float] = []
    for _, channel in sections:
        if channel.unit != "m":
            raise file.error(f"the unit {channel.unit!r} of a long section must be m", channel.line)
        text = channel.name[len(_AT if all(listed) else _NUMBERED) :]
        try:
            places.append(float(text))
        except ValueError:
            raise file.error(f"{channel.name!r} has no number", channel.line) from None
    order = np.argsort(places, kind="stable")
    v = np.array(places)[order]
    if not all(listed):
        v = _numbered(file, v)
    if not (np.isfinite(v).all() and (np.diff(v) > 0.0).all()):
        raise file.error("two long sections are at the same place", sections[0][1].line)
    _agree(file, "long_section_v_right", float(v[0]))
    _agree(file, "long_section_v_left", float(v[-1]))
    return v, [sections[int(k)][0] for k in order]


def _numbered(file: CrgFile, numbers: Array) -> Array:
    count = len(numbers)
    if not (np.abs(numbers - np.arange(1, count + 1)) < 1e-3).all():
        raise file.error(f"long sections by number must have the numbers from 1 to {count}")
    step = file.header.get("long_section_v_increment", _DEFAULT_INCREMENT)
    if not step > 0.0:
        line = file.lines["long_section_v_increment"]
        raise file.error(f"long_section_v_increment = {step:g} m must be greater than 0", line)
    first = file.header.get("long_section_v_right", -0.5 * step * (count - 1))
    return first + step * np.arange(count, dtype=np.float64)


def _along(file: CrgFile, name: str, unit: str, short: str, skip: int) -> Array:
    """Numbers along the line, from a channel or the same for all rows; the first `skip` rows of a
    channel do not count."""
    count = len(file.rows) - skip
    begin, finish = (f"reference_line_{side}_{short}" for side in ("start", "end"))
    channel = next((k for k, c in enumerate(file.channels) if c.name == name), None)
    if channel is None:
        value = file.header.get(begin, 0.0)
        if abs(file.header.get(finish, value) - value) > 1e-6:
            raise file.error(f"{finish} differs from {begin}, but there is no channel {name!r}")
        return np.full(count, value)
    definition = file.channels[channel]
    if definition.unit != unit:
        raise file.error(f"the unit {definition.unit!r} of {name} must be {unit}", definition.line)
    values = file.rows[skip:, channel]
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0]) + skip + 1
        raise file.error(f"{name} has no number in row {row}", definition.line)
    return values
