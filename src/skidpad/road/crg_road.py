"""From an OpenCRG file to the record of its surface."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ..files import reading
from .crg_file import read_crg
from .crg_modifiers import placed, scaled, without_gaps
from .crg_numbers import CrgRoad, crg_road
from .laid_out import curved_line, laid_out
from .reference_line import StraightLine

__all__ = ["road_of_crg"]

_STRAIGHT = 1e-6 * math.pi
"""Change of heading of a line that is taken to be straight, in rad."""


def road_of_crg(path: str | os.PathLike[str], *, modifiers: bool = True) -> Any:
    """The record of the surface in an OpenCRG file, with the modifiers of the file or without."""
    file = read_crg(path)
    with reading(file.path, "is no road"), np.errstate(all="ignore"):
        return _surface(crg_road(file), modifiers)


def _surface(road: CrgRoad, modifiers: bool) -> Any:
    numbers = road.file.modifiers if modifiers else {}
    road = without_gaps(scaled(road) if modifiers else road, numbers)
    line = placed(road, numbers)
    heights = road.z + line.z[:, None] + road.bank[:, None] * road.v[None, :]
    extents = (*map(np.ptp, (line.x, line.y)), *np.abs(heights[np.isfinite(heights)])[:1])
    if not np.isfinite(extents).all():
        raise road.file.error("its numbers are too large for a road")
    if np.ptp(np.unwrap(line.heading)) < _STRAIGHT:
        yaw = float(line.heading[0])
        straight = StraightLine(road.start, float(line.x[0]), float(line.y[0]), yaw)
        return laid_out(straight, road.start, road.step, road.v, heights)
    reach = max(float(np.max(np.abs(road.v))), road.step)
    curved = curved_line(line.x, line.y, road.start, road.step, reach)
    return laid_out(curved, road.start, road.step, road.v, heights)
