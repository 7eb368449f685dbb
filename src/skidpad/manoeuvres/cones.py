"""Cones, and whether a vehicle strikes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..units import m
from .case_run import CaseRun
from .step_response import first_time
from .subject import Subject

__all__ = ["CONE", "Box", "box_of", "peak_between", "reach", "struck", "value_at", "width_needed"]

CONE: m = 0.114
"""Radius of the base of a cone of 325 mm, as Formula Student has them."""


class Box(NamedTuple):
    """The rectangle about a vehicle, seen from its centre of mass."""

    rear: m
    front: m
    right: m
    left: m

    @property
    def width(self) -> m:
        """Across the vehicle."""
        return self.left - self.right


def box_of(car: Subject) -> Box:
    """That of a vehicle with its own parameters."""
    corners = np.concatenate([np.array(outline) for outline in car.geometry.outlines])
    (rear, right), (front, left) = (
        edge - np.array(car.geometry.centre_of_mass)
        for edge in (corners.min(axis=0), corners.max(axis=0))
    )
    return Box(float(rear), float(front), float(right), float(left))


def reach(car: Subject, radius: m) -> tuple[m, m]:
    """How far a vehicle without slip reaches out of a circle, which its centre of mass drives
    along, and how far inside of it."""
    box, l_r = box_of(car), float(car.l_r[0])
    rear_axle = np.sqrt(max(radius**2 - l_r**2, 0.0))
    farthest = max(abs(box.front + l_r), abs(box.rear + l_r))
    outside = np.hypot(rear_axle + box.left, farthest) - radius
    return float(outside), float(radius - rear_axle - box.right)


def struck(car: Subject, run: CaseRun, cones: Array, until: m = np.inf) -> NDArray[np.bool_]:
    """Which cones, at places (n, 2), each variant drives over, (n, V).

    A cone is struck when the rectangle about the vehicle reaches its base. What happens after a
    distance along the path, `until`, does not count.
    """
    box = box_of(car)
    c, s = np.cos(run["yaw"]), np.sin(run["yaw"])
    # Where the origin of the world is, seen from the vehicle.
    ahead, aside = run["x"] * c + run["y"] * s, run["y"] * c - run["x"] * s
    counts = run["progress"] <= until if until < np.inf else True
    hit = np.zeros((len(cones), run.variants), dtype=bool)
    for k, (x, y) in enumerate(cones.tolist()):
        along, across = x * c + y * s - ahead, y * c - x * s - aside
        out_x = np.maximum(np.maximum(along - box.front, box.rear - along), 0.0)
        out_y = np.maximum(np.maximum(across - box.left, box.right - across), 0.0)
        hit[k] = (counts & (out_x * out_x + out_y * out_y < CONE * CONE)).any(axis=0)
    return hit


def peak_between(run: CaseRun, name: str, begin: m, end: m) -> Array:
    """The largest magnitude of a signal while the centre of mass is between two x, (V,)."""
    there = (run["x"] >= begin) & (run["x"] <= end)
    return np.where(there, np.abs(run[name]), 0.0).max(axis=0)


def value_at(run: CaseRun, name: str, x: m) -> Array:
    """A signal where the centre of mass first comes to x, (V,); NaN where it never does."""
    times = first_time(run.t, run["x"], x)
    pairs = zip(times, run[name].T, strict=True)
    return np.array([np.interp(time, run.t, own) for time, own in pairs])


def width_needed(car: Subject, least: m, most: m) -> str:
    """Why a vehicle does not fit a course for widths, a sentence; empty if it does."""
    width = box_of(car).width
    if least <= width <= most:
        return ""
    return f"{car.name} is {width:.2f} m wide; the course is one for {least:g} m to {most:g} m"
