"""Patches of ground in the plane: rectangles, strips, and rectangles thrown at random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..brief import shown
from ..checks import finite, must_be, whole
from ..errors import InvalidValue
from ..plane.pose import to_body
from ..units import non_negative
from .draw import Draw

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A rectangle with a value of its own; its edges belong to it."""

    value: float
    """What holds on it: a coefficient of friction, or a factor on one."""
    x: float = 0.0
    """Its middle in the world frame, in m."""
    y: float = 0.0
    """Its middle in the world frame, in m."""
    length: float
    """Extent along its own x axis, in m; may be infinite."""
    width: float
    """Extent along its own y axis, in m; may be infinite."""
    yaw: float = 0.0
    """Direction of its x axis, positive to the left, in rad."""

    def __post_init__(self) -> None:
        for name in ("value", "x", "y", "yaw"):
            finite(f"Patch.{name}", getattr(self, name))
        for name in ("length", "width"):
            extent: Any = getattr(self, name)
            if not (isinstance(extent, (int, float)) and extent >= 0.0):
                raise InvalidValue(f"Patch.{name} = {extent!r} must be at least 0 m")
        must_be("Patch.value", self.value, non_negative)


def strip(value: float, begin: float, end: float, yaw: float = 0.0) -> Patch:
    """The ground between two parallel lines, `begin` and `end` in m along the direction `yaw` from
    the origin: with yaw = 0, all places with x from `begin` to `end`."""
    finite("begin", begin)
    finite("end", end)
    if not begin <= end:
        raise InvalidValue(f"begin = {begin:g} m must be at most end = {end:g} m")
    middle = 0.5 * (begin + end)
    return Patch(
        value=value,
        x=middle * math.cos(yaw),
        y=middle * math.sin(yaw),
        length=end - begin,
        width=math.inf,
        yaw=yaw,
    )


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Rectangles thrown at random, anew in every run; each quantity uniform in an interval."""

    count: int
    """Number of rectangles in a run."""
    value: Interval
    """What holds on them."""
    x: Interval
    """Where their middles lie in the world frame, in m."""
    y: Interval
    """Where their middles lie in the world frame, in m."""
    length: Interval
    """Extents along their own x axes, in m."""
    width: Interval
    """Extents along their own y axes, in m."""
    yaw: Interval = (0.0, 0.0)
    """Directions of their x axes, in rad."""

    def __post_init__(self) -> None:
        whole("Scatter.count", self.count, "a whole number, at least 1")
        for name in _DRAWN:
            least = 0.0 if name in ("value", "length", "width") else -math.inf
            _check_interval(f"Scatter.{name}", getattr(self, name), least)

    def placed(self, draw: Draw) -> Places:
        """The rectangles of each run."""
        u = draw.uniform(self.count * len(_DRAWN)).reshape(draw.count, self.count, len(_DRAWN))
        ends = ((k, *getattr(self, name)) for k, name in enumerate(_DRAWN))
        return Places._make((1.0 - u[:, :, k]) * low + u[:, :, k] * high for k, low, high in ends)


class Places(NamedTuple):
    """Rectangles of runs: arrays (runs, count), or (1, count) if all runs have the same."""

    value: Any
    x: Any
    y: Any
    length: Any
    width: Any
    yaw: Any


_DRAWN = Places._fields


def same_for_all(patches: tuple[Patch, ...]) -> Places:
    """Patches that lie where they lie in every run."""
    return Places._make(
        np.array([[getattr(patch, name) for patch in patches]], dtype=float) for name in _DRAWN
    )


def on_top(places: Places, x: Array, y: Array, below: Array) -> Array:
    """The value at a point of each run, (runs,); later rectangles lie on top of earlier ones."""
    out = below
    for k in range(places.x.shape[1]):
        pose = places.x[:, k], places.y[:, k], places.yaw[:, k]
        along, across = to_body(pose, x, y)
        on = np.abs(along) <= 0.5 * places.length[:, k]
        on &= np.abs(across) <= 0.5 * places.width[:, k]
        out = np.where(on, places.value[:, k], out)
    return out


def _check_interval(name: str, interval: Any, least: float) -> None:
    try:
        low, high = (float(end) for end in interval)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(interval)} must be an interval (low, high)") from None
    if not (math.isfinite(low) and math.isfinite(high) and least <= low <= high):
        bound = "" if least == -math.inf else f", low at least {least:g}"
        raise InvalidValue(
            f"{name} = {shown(interval)} must be finite with low at most high{bound}"
        )
