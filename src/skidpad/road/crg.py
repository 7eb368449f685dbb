"""OpenCRG files: reader, and the surface of the road.

A file is blocks of text, then rows of numbers in text or in binary. A block begins with `$NAME` and
ends with a line that has `$` alone, both optionally with a comment. A line that begins with `$$`
ends the text; the rows follow, with a column for each channel that the block KD_DEFINITION lists.
Names are not case-sensitive. `*` at the beginning of a line and `!` within it begin comments.

Reference line: points at equal steps of u, each from the one before along the heading of its row.
Height of the road: the grid, plus the height of the reference line (slopes summed up), plus v times
the cross slope. Between rows and columns all of that is bilinear, so it is one grid here. The
modifiers of a file scale the road, fill in missing heights, and move the line.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.files import brief_repr, bytes_of, reading, referenced_file
from ..errors import InvalidValue
from ..geometry.pose import moved
from .curved import StraightLine, curved_line, line_road

_WIDEST = 72
"""Significant characters of a line of a block."""
_RECORD = 80
"""Characters of a line of numbers, and bytes to which binary ones are padded."""
_TEXT = {"LRFI": 10, "LDFI": 20}
"""Characters of a number, by the format of the rows."""
_BINARY = {"KRBI": ">f4", "KDBI": ">f8"}
_OPTIONS = "ROAD_CRG_OPTS"
_NUMERIC = ("ROAD_CRG", _OPTIONS, "ROAD_CRG_MODS")
"""Blocks of names with numbers."""
_MOST_CHANNELS = 100_000
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eEdD][-+]?[0-9]+)?")


class Channel(NamedTuple):
    """A channel of an OpenCRG file: a column of the rows, or a virtual column with start and
    increment.
    """

    name: str
    unit: str
    line: int
    """Line number of the channel's definition in the file."""
    start: float = math.nan
    increment: float = math.nan


class Line(NamedTuple):
    """A text line of a block, without its comment."""

    number: int
    text: str


@dataclass(frozen=True, repr=False)
class CrgFile:
    """Content of an OpenCRG file, unprocessed."""

    path: Path
    comment: str
    """Text of the block CT."""
    header: dict[str, float]
    """Numbers of the block ROAD_CRG by lower-case name."""
    options: dict[str, float]
    """Numbers of the block ROAD_CRG_OPTS."""
    modifiers: dict[str, float]
    """Numbers of the block ROAD_CRG_MODS."""
    lines: dict[str, int]
    """Line number of each of these numbers."""
    virtual: tuple[Channel, ...]
    """Channels without a column."""
    channels: tuple[Channel, ...]
    """Channels of the columns, in order."""
    rows: Array
    """Values (rows, channels); NaN where missing."""

    def error(self, fault: str, line: int | None = None) -> InvalidValue:
        return _error(self.path, fault, line)

    __repr__ = brief_repr

    def row_places(self) -> tuple[float, float]:
        """Coordinate u of the first row, and the spacing of rows, in m."""
        start = self.header.get("reference_line_start_u", 0.0)
        step = self.header.get("reference_line_increment", _DEFAULT_INCREMENT)
        line = self.lines.get("reference_line_increment")
        for channel in self.virtual:
            if channel.name == "reference line u" and channel.unit == "m":
                start = start if math.isnan(channel.start) else channel.start
                if not math.isnan(channel.increment):
                    step, line = channel.increment, channel.line
        if not step > 0.0:
            raise self.error(f"the increment of u is {step:g} m; it must be greater than 0", line)
        _agree(self, "reference_line_start_u", start)
        _agree(self, "reference_line_increment", step)
        _agree(self, "reference_line_end_u", start + (len(self.rows) - 1) * step)
        return start, step

    def column_places(self) -> tuple[Array, list[int]]:
        """Coordinates v of the height columns in m, increasing, and the indices of these
        columns.
        """
        sections = [
            (k, channel)
            for k, channel in enumerate(self.channels)
            if channel.name.startswith(_NUMBERED)
        ]
        if len(sections) < 2:
            raise self.error(f"has {len(sections)} long sections; a road needs at least 2")
        listed = [channel.name.startswith(_AT) for _, channel in sections]
        if any(listed) and not all(listed):
            raise self.error("has both long sections at v = and numbered ones", sections[0][1].line)
        places: list[float] = []
        for _, channel in sections:
            if channel.unit != "m":
                raise self.error(
                    f"the unit {channel.unit!r} of a long section must be m", channel.line
                )
            text = channel.name[len(_AT if all(listed) else _NUMBERED) :]
            try:
                places.append(float(text))
            except ValueError:
                raise self.error(f"{channel.name!r} has no number", channel.line) from None
        order = np.argsort(places, kind="stable")
        v = np.array(places)[order]
        if not all(listed):
            v = _numbered(self, v)
        if not (np.isfinite(v).all() and (np.diff(v) > 0.0).all()):
            raise self.error("two long sections have the same position", sections[0][1].line)
        _agree(self, "long_section_v_right", float(v[0]))
        _agree(self, "long_section_v_left", float(v[-1]))
        return v, [sections[int(k)][0] for k in order]


def read_crg(path: str | os.PathLike[str]) -> CrgFile:
    """Read an OpenCRG file; if it has no rows, read the rows of the file that it refers to."""
    file, target = _read(Path(os.fspath(path)))
    if target is None:
        return file
    inner, further = _read(referenced_file(file.path, target.text, target.number))
    if further is not None:
        raise file.error(f"refers to {inner.path}, which refers to a third file", target.number)
    # Blocks of the referring file take precedence.
    options, modifiers = file.options or inner.options, file.modifiers or inner.modifiers
    return replace(inner, options=options, modifiers=modifiers)


def _error(path: Path, fault: str, line: int | None = None) -> InvalidValue:
    place = "" if line is None else f", line {line}"
    return InvalidValue(f"{path}{place}: {fault}")


def _read(path: Path) -> tuple[CrgFile, Line | None]:
    """Content of a file, and the line that refers to another file with the rows."""
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
    """Lines of each block, offset of the rows in the content, and their line number."""
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
    """Lines without comments; lines with only a comment are left out."""
    for line in lines:
        text = "" if line.text.startswith("*") else line.text.split("!")[0].strip()
        if text:
            yield Line(line.number, text)


def _numbers(path: Path, block: str, lines: list[Line]) -> dict[str, tuple[float, int]]:
    numbers: dict[str, tuple[float, int]] = {}
    for line in _plain(lines):
        if block == _OPTIONS and not _is_number(line.text.partition("=")[2]):
            continue  # blocks that do not change the road are skipped
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
        raise _error(path, f"{stripped!r} is not a finite number", line)
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
    # Drop empty rows at the end, which only fill up the last record.
    full = np.flatnonzero(~np.isnan(rows).all(axis=1))
    return rows[: full[-1] + 1 if full.size else 0]


def _text_rows(path: Path, data: bytes, first: int, digits: int, width: int) -> Array:
    lines = data.decode("latin-1").splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    per_line = _RECORD // digits
    per_row = -(-width // per_line)
    if len(lines) % per_row:
        fault = f"the last row has {len(lines) % per_row} of its {per_row} lines"
        raise _error(path, fault, first + len(lines) - 1)
    rows = np.empty((len(lines) // per_row, width))
    for k, line in enumerate(lines):
        row, part = divmod(k, per_row)
        for j in range(part * per_line, min(width, (part + 1) * per_line)):
            begin = (j - part * per_line) * digits
            text = line[begin : begin + digits].strip()
            # Read a value that begins with an asterisk as a missing number.
            missing = text.startswith("*") or text.lower() == "nan"
            rows[row, j] = math.nan if missing else _number(path, text, first + k)
    return rows


_PHI, _SLOPE, _BANK = "reference line phi", "reference line slope", "reference line banking"
_AT, _NUMBERED = "long section at v =", "long section "
_DEFAULT_INCREMENT = 0.01
"""Default increment of u and of v, in m."""
_TOLERANCE = 1e-4
"""Tolerance in m for contradictions within a file, or 1e-6 of the value if that is larger."""


@dataclass(frozen=True, repr=False)
class CrgRoad:
    """Heights of an OpenCRG road along its reference line, with or without the file's modifiers."""

    file: CrgFile
    start: float
    """Coordinate u of the first row, in m."""
    step: float
    """Distance between rows, in m."""
    v: Array
    """Coordinates v of the columns, increasing, in m."""
    heading: Array
    """Heading of the line between rows, (rows - 1,), in rad."""
    z: Array
    """Heights (rows, columns) relative to the reference line and its cross slope, in m; NaN
    where missing."""
    slope: Array
    """Slope of the line between rows, (rows - 1,)."""
    bank: Array
    """Cross slope at each row, positive if the left side is higher."""
    origin: tuple[float, float, float]
    """x, y and z of the line at the first row, in m."""
    end: tuple[float | None, float | None, float | None]
    """x, y and z of the line at the last row in m, if the file has them."""

    @property
    def line(self) -> tuple[Array, Array, Array]:
        """x, y and z of the line at each row; the closing error is distributed over all rows."""
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
                f"the reference line ends {abs(missing):g} m from the end that the header states"
            )
        return sums + missing * np.arange(len(sums)) / len(steps)

    __repr__ = brief_repr

    @classmethod
    def of(cls, file: CrgFile) -> CrgRoad:
        """Road data of a file, checked for consistency."""
        if len(file.rows) < 2:
            raise file.error(f"has {len(file.rows)} rows; a road needs at least 2")
        start, step = file.row_places()
        v, columns = file.column_places()
        header = file.header
        origin = tuple(header.get(f"reference_line_start_{axis}", 0.0) for axis in "xyz")
        end = tuple(header.get(f"reference_line_end_{axis}") for axis in "xyz")
        channels = (_PHI, "rad", "phi", 1), (_SLOPE, "m/m", "s", 1), (_BANK, "m/m", "b", 0)
        heading, slope, bank = (_along(file, *channel) for channel in channels)
        z, ends = file.rows[:, columns], (origin, end)
        return cls(file, start, step, v, heading, z, slope, bank, *ends)  # type: ignore[arg-type]

    def positive_modifier(self, name: str) -> float:
        value = self.file.modifiers.get(name, 1.0)
        if not value > 0.0:
            raise self.file.error(
                f"{name} = {value:g} must be greater than 0", self.file.lines[name]
            )
        return value

    def without_gaps(self, modifiers: Mapping[str, float]) -> CrgRoad:
        """Fill in the missing heights at the sides of the road.

        Missing heights become the outermost existing height of the row, unless a modifier sets them
        to 0 or leaves them missing.
        """
        mode, offset = modifiers.get("grid_nan_mode", 2.0), modifiers.get("grid_nan_offset", 0.0)
        if mode not in (0.0, 1.0, 2.0):
            line = self.file.lines.get("grid_nan_mode")
            raise self.file.error(f"grid_nan_mode = {mode:g} must be 0, 1 or 2", line)
        there = np.isfinite(self.z)
        if not there.any(axis=1).all():
            row = int(np.flatnonzero(~there.any(axis=1))[0]) + 1
            raise self.file.error(f"row {row} has no height at all")
        first = np.argmax(there, axis=1)[:, None]
        last = self.z.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)[:, None]
        column = np.arange(self.z.shape[1])[None, :]
        outside = (column < first) | (column > last)
        if not (there | outside).all():
            row = int(np.flatnonzero(~(there | outside).all(axis=1))[0]) + 1
            raise self.file.error(f"row {row} has a gap between its heights")
        if mode == 0.0:
            return self
        nearest = np.take_along_axis(self.z, np.clip(column, first, last), axis=1)
        filling = (nearest if mode == 2.0 else 0.0) + offset
        return replace(self, z=np.where(outside, filling, self.z))

    def placed_line(self, modifiers: Mapping[str, float]) -> PlacedLine:
        """The reference line rotated, then moved, by the modifiers.

        Either a point of the road is placed at a position and direction, or the line is moved by
        offsets.
        """
        line = PlacedLine(*self.line, self.heading)
        known = {f"refpoint_{name}" for name in (*_AXES, "u", "v", "u_fraction", "v_fraction")}
        if known & set(modifiers):
            length = self.step * (len(line.x) - 1)
            u = modifiers.get(
                "refpoint_u", self.start + modifiers.get("refpoint_u_fraction", 0.0) * length
            )
            u += modifiers.get("refpoint_u_offset", 0.0)
            share = modifiers.get("refpoint_v_fraction")
            v = 0.0 if share is None else self.v[0] + share * (self.v[-1] - self.v[0])
            v = modifiers.get("refpoint_v", v) + modifiers.get("refpoint_v_offset", 0.0)
            row = (u - self.start) / self.step
            segment = int(np.clip(np.floor(row) - 1.0, 0, len(line.heading) - 1))
            x, y = _point(line, row, v)
            z = _height(self, line, row, v)
            to = [modifiers.get(f"refpoint_{axis}", 0.0) for axis in _AXES]
            turn = to[3] - float(line.heading[segment])
            return _turned(line, turn, x, y, to[0] - x, to[1] - y, to[2] - z)
        offsets = [modifiers.get(f"refline_offset_{axis}", 0.0) for axis in _AXES]
        centre = [
            modifiers.get(f"refline_rotcenter_{axis}", line[k][0]) for k, axis in enumerate("xy")
        ]
        return _turned(line, offsets[3], *centre, *offsets[:3])


def _agree(file: CrgFile, name: str, value: float) -> None:
    """Raise if the header of a file contradicts its rows and channels."""
    stated = file.header.get(name, value)
    if not abs(stated - value) <= max(1e-6 * (abs(stated) + abs(value)), _TOLERANCE):
        fault = f"{name} = {stated:g} does not fit {value:g} of its data"
        raise file.error(fault, file.lines[name])


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
    """Numbers along the line, from a channel or constant; the first `skip` rows of a channel are
    ignored."""
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


_AXES = ("x", "y", "z", "phi")
_STRAIGHT = 1e-6 * math.pi
"""Change of heading below which a line is straight, in rad."""


class PlacedLine(NamedTuple):
    """The reference line at each row."""

    x: Array
    y: Array
    z: Array
    heading: Array
    """Heading between rows, in rad."""


def _scaled(road: CrgRoad) -> CrgRoad:
    """The road with lengths, widths, heights, slopes and curvature scaled by the file's
    modifiers."""
    factors = road.file.modifiers
    length, width = (road.positive_modifier(f"scale_{name}") for name in ("length", "width"))
    curvature, slope = (factors.get(f"scale_{name}", 1.0) for name in ("curvature", "slope"))
    bends = np.diff(np.unwrap(road.heading))
    heading = road.heading[0] + np.concatenate([[0.0], np.cumsum(curvature * bends)])
    x, y, z = (
        None if last is None else first + length * (last - first)
        for first, last in zip(road.origin, road.end, strict=True)
    )
    if z is not None:
        z = road.origin[2] + slope * (z - road.origin[2])
    return replace(
        road,
        step=length * road.step,
        v=width * road.v,
        z=factors.get("scale_z_grid", 1.0) * road.z,
        slope=slope * road.slope,
        bank=factors.get("scale_banking", 1.0) * road.bank,
        heading=heading if curvature != 1.0 else road.heading,
        end=(x, y, z) if curvature == 1.0 else (None, None, z),
    )


def _turned(
    line: PlacedLine, turn: float, x: float, y: float, dx: float, dy: float, dz: float
) -> PlacedLine:
    """Rotate a line about a point and move it; without rotation and offset the line is unchanged to
    the bit.
    """
    if turn == 0.0:
        return line._replace(x=line.x + dx, y=line.y + dy, z=line.z + dz)
    c, s = np.cos(turn), np.sin(turn)
    xs, ys = moved(c, s, x + dx, y + dy, line.x - x, line.y - y)
    return PlacedLine(xs, ys, line.z + dz, line.heading + turn)


def _point(line: PlacedLine, row: float, v: float) -> tuple[float, float]:
    """x and y of a point of the road, interpolated between the cross sections of adjacent rows."""
    k = int(np.clip(np.floor(row), 0, len(line.heading) - 1))
    ends = np.stack([line.x, line.y], axis=-1)
    first, last = ends[k], ends[k + 1]
    normal = _left(last - first)
    sides = [
        _left(ends[min(j + 1, len(ends) - 1)] - ends[max(j - 1, 0)])
        if 0.0 <= row - k <= 1.0
        else normal
        for j in (k, k + 1)
    ]
    a, b = (end + v * n / (n @ normal) for end, n in zip((first, last), sides, strict=True))
    x, y = a + (row - k) * (b - a)
    return float(x), float(y)


def _left(vector: Array) -> Array:
    return np.array([-vector[1], vector[0]]) / np.hypot(*vector)


def _height(road: CrgRoad, line: PlacedLine, row: float, v: float) -> float:
    rows = np.arange(len(line.x))
    at = [np.interp(row, rows, column) for column in road.z.T]
    own = np.interp(v, road.v, at) + np.interp(row, rows, road.bank) * np.clip(v, *road.v[[0, -1]])
    return float(own + np.interp(row, rows, line.z))


def road_of_crg(path: str | os.PathLike[str], *, modifiers: bool = True) -> Any:
    """Surface record of an OpenCRG file, with or without the modifiers of the file."""
    file = read_crg(path)
    with reading(file.path, "is not a road"), np.errstate(all="ignore"):
        numbers = file.modifiers if modifiers else {}
        road = CrgRoad.of(file)
        road = (_scaled(road) if modifiers else road).without_gaps(numbers)
        line = road.placed_line(numbers)
        heights = road.z + line.z[:, None] + road.bank[:, None] * road.v[None, :]
        extents = (*map(np.ptp, (line.x, line.y)), *np.abs(heights[np.isfinite(heights)])[:1])
        if not np.isfinite(extents).all():
            raise file.error("its numbers are too large for a road")
        if np.ptp(np.unwrap(line.heading)) < _STRAIGHT:
            x, y, yaw = (float(values[0]) for values in (line.x, line.y, line.heading))
            reference = StraightLine(road.start, x, y, yaw)
        else:
            reach = max(float(np.max(np.abs(road.v))), road.step)
            reference = curved_line(line.x, line.y, road.start, road.step, reach)
        return line_road(reference, road.start, road.step, road.v, heights)
