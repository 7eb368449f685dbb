"""What the ground does to the vehicles of a group, told in the words of their models.

A body's `on_ground` says how a model is told of slopes and friction. Slopes do nothing to a model
without one: it drives on them as on level ground.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import record
from ...body import Down, GroundUnder
from ..errors import WorldWarning
from ..motion.bodies import Bodies


def down(pitch: Any, roll: Any) -> Down:
    """Where down is for vehicles that lie so; pitch positive nose down, roll right side down."""
    return Down(np.sin(pitch), 0.0 - np.cos(pitch) * np.sin(roll))


def tell(bodies: Bodies, ground: GroundUnder) -> None:
    """Write what the ground does into inputs and disturbances of the vehicles of a group."""
    if bodies.body.on_ground is None:
        return
    u, w = bodies.body.on_ground(bodies.x, bodies.u, bodies.w, ground, bodies.p)
    _write(bodies.u, u)
    _write(bodies.w, w)


def _write(columns: Any, values: Any) -> None:
    for column, value in zip(record.flatten(columns), record.flatten(values), strict=True):
        if value is not column:
            column[:] = value


def warn_of_those_not_told(groups: Sequence[Bodies]) -> None:
    """Name the vehicles whose models slopes do nothing to."""
    without = [
        f"{name} ({bodies.group.model.name})"
        for bodies in groups
        if bodies.body.on_ground is None
        for name in bodies.group.names
    ]
    if without:
        warnings.warn(
            "slopes do not pull at vehicles whose models take neither a force nor an acceleration: "
            + ", ".join(without),
            WorldWarning,
            stacklevel=6,
        )
