"""Modifiers of OpenCRG files: scaling, what stands where there is no height, and position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..plane.pose import moved as turned_and_moved
from .crg_numbers import CrgRoad

__all__ = ["PlacedLine", "placed", "scaled", "without_gaps"]

_AXES = ("x", "y", "z", "phi")


class PlacedLine(NamedTuple):
    """The reference line at each row."""

    x: Array
    y: Array
    z: Array
    heading: Array
    """From row to row."""


def scaled(road: CrgRoad) -> CrgRoad:
    """The road with lengths, widths, heights, slopes and curvature scaled as its file says."""
    factors = road.file.modifiers
    length, width = (_positive(road, f"scale_{name}") for name in ("length", "width"))
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


def _positive(road: CrgRoad, name: str) -> float:
    value = road.file.modifiers.get(name, 1.0)
    if not value > 0.0:
        raise road.file.error(f"{name} = {value:g} must be greater than 0", road.file.lines[name])
    return value


def without_gaps(road: CrgRoad, modifiers: Mapping[str, float]) -> CrgRoad:
    """The road with heights at its sides where the file has none.

    They are those of the outermost column of the row that has one, unless a modifier says that they
    are 0 or stay without.
    """
    mode, offset = modifiers.get("grid_nan_mode", 2.0), modifiers.get("grid_nan_offset", 0.0)
    if mode not in (0.0, 1.0, 2.0):
        line = road.file.lines.get("grid_nan_mode")
        raise road.file.error(f"grid_nan_mode = {mode:g} must be 0, 1 or 2", line)
    there = np.isfinite(road.z)
    if not there.any(axis=1).all():
        row = int(np.flatnonzero(~there.any(axis=1))[0]) + 1
        raise road.file.error(f"row {row} has no height at all")
    first = np.argmax(there, axis=1)[:, None]
    last = road.z.shape[1] - 1 - np.argmax(there[:, ::-1], axis=1)[:, None]
    column = np.arange(road.z.shape[1])[None, :]
    beside = (column < first) | (column > last)
    if not (there | beside).all():
        row = int(np.flatnonzero(~(there | beside).all(axis=1))[0]) + 1
        raise road.file.error(f"row {row} has a gap between its heights")
    if mode == 0.0:
        return road
    nearest = np.take_along_axis(road.z, np.clip(column, first, last), axis=1)
    filling = (nearest if mode == 2.0 else 0.0) + offset
    return replace(road, z=np.where(beside, filling, road.z))


def placed(road: CrgRoad, modifiers: Mapping[str, float]) -> PlacedLine:
    """The reference line where modifiers put it: turned, then moved.

    Either a point of the road is put to a place and a direction, or the line by offsets.
    """
    line = PlacedLine(*road.line, road.heading)
    known = {f"refpoint_{name}" for name in (*_AXES, "u", "v", "u_fraction", "v_fraction")}
    if known & set(modifiers):
        return _by_point(road, line, modifiers)
    offsets = [modifiers.get(f"refline_offset_{axis}", 0.0) for axis in _AXES]
    centre = [modifiers.get(f"refline_rotcenter_{axis}", line[k][0]) for k, axis in enumerate("xy")]
    return _turned(line, offsets[3], *centre, *offsets[:3])


def _turned(
    line: PlacedLine, turn: float, x: float, y: float, dx: float, dy: float, dz: float
) -> PlacedLine:
    """The line turned about a point and moved; as it is, to the last bit, if neither is asked."""
    if turn == 0.0:
        return line._replace(x=line.x + dx, y=line.y + dy, z=line.z + dz)
    c, s = np.cos(turn), np.sin(turn)
    xs, ys = turned_and_moved(c, s, x + dx, y + dy, line.x - x, line.y - y)
    return PlacedLine(xs, ys, line.z + dz, line.heading + turn)


def _by_point(road: CrgRoad, line: PlacedLine, modifiers: Mapping[str, float]) -> PlacedLine:
    length = road.step * (len(line.x) - 1)
    u = modifiers.get("refpoint_u", road.start + modifiers.get("refpoint_u_fraction", 0.0) * length)
    u += modifiers.get("refpoint_u_offset", 0.0)
    share = modifiers.get("refpoint_v_fraction")
    v = 0.0 if share is None else road.v[0] + share * (road.v[-1] - road.v[0])
    v = modifiers.get("refpoint_v", v) + modifiers.get("refpoint_v_offset", 0.0)
    row = (u - road.start) / road.step
    segment = int(np.clip(np.floor(row) - 1.0, 0, len(line.heading) - 1))
    x, y = _point(line, row, v)
    z = _height(road, line, row, v)
    to = [modifiers.get(f"refpoint_{axis}", 0.0) for axis in _AXES]
    turn = to[3] - float(line.heading[segment])
    return _turned(line, turn, x, y, to[0] - x, to[1] - y, to[2] - z)


def _point(line: PlacedLine, row: float, v: float) -> tuple[float, float]:
    """x and y of a place of the road: between the cross sections of the rows around it."""
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
    """Height of a place of the road."""
    rows = np.arange(len(line.x))
    at = [np.interp(row, rows, column) for column in road.z.T]
    own = np.interp(v, road.v, at) + np.interp(row, rows, road.bank) * np.clip(v, *road.v[[0, -1]])
    return float(own + np.interp(row, rows, line.z))
