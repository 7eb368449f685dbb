"""What a slope does to vehicles: which way is down for them, and how their models are told.

The component of gravity along the vehicle acts through whatever its model has for that: the
direction itself (wheeled robots), a force at the centre of mass (`four_wheel`, `formula_student`),
or an acceleration among its inputs (command-driven models that know of slopes). A model without any
of these drives on a slope as on level ground.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...units import m_s2, rad
from ..motion.groups import Group


class Down(NamedTuple):
    """The unit vector downwards in body axes, without its part across the ground, (B,) each."""

    x: Array
    """Positive downhill ahead."""
    y: Array
    """Positive downhill to the left."""


def down(pitch: Array | rad, roll: Array | rad) -> Down:
    """Where down is for vehicles that lie so; pitch positive nose down, roll right side down."""
    return Down(np.sin(pitch), 0.0 - np.cos(pitch) * np.sin(roll))


def pull_of(group: Group, gravity: m_s2) -> Callable[[Down], None] | None:
    """What tells the vehicles of a group about a slope; None if their model cannot be told."""
    disturbances = {name: k for k, name in enumerate(group.model.Disturbance._fields)}
    inputs = {name: k for k, name in enumerate(group.model.Input._fields)}
    if "slope_x" in disturbances:
        return _set(group.disturbances, disturbances["slope_x"], disturbances["slope_y"], 1.0)
    masses = [getattr(vehicle.params, "m", None) for vehicle in group.vehicles]
    if "F_x" in disturbances and None not in masses:
        weight = gravity * np.array(masses)
        return _set(group.disturbances, disturbances["F_x"], disturbances["F_y"], weight)
    if "slope" in inputs:
        return _set(group.inputs, inputs["slope"], None, gravity)
    return None


def _set(
    columns: Array, along: int, across: int | None, factor: Array | float
) -> Callable[[Down], None]:
    def pull(to: Down) -> None:
        columns[:, along] = factor * to.x
        if across is not None:
            columns[:, across] = factor * to.y

    return pull
