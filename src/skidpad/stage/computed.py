"""Pose and velocity of vehicles whose state does not have the pose as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..body import body_of, own_fields
from ..model import Vehicle
from .layout import POSE, Named

_VELOCITY = (
    Named("v_x", "m/s", "output"),
    Named("v_y", "m/s", "output"),
    Named("omega", "rad/s", "output"),
)


class ComputedMotion:
    """What the body of vehicles of one model adds to the channels that their records give.

    Nothing for most; a mass that moves along a path gets the pose that its body says, and a
    velocity to go with it.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._body = body_of(vehicle, "a picture")
        fields = own_fields(vehicle.State, lambda x: self._body.pose(x, vehicle.params))
        self.pose = tuple(f or n.name for f, n in zip(fields, POSE, strict=True))
        """Names of the channels with x, y and yaw."""
        self._missing = [k for k, field in enumerate(fields) if field is None]
        self.named = [*(POSE[k] for k in self._missing), *(_VELOCITY if self._missing else ())]
        """The channels that are added."""

    def values(self, x: Any, u: Any, p: Any) -> list[Array]:
        """The values of `named`, from records of arrays of one shape."""
        if not self.named:
            return []
        pose, velocity = self._body.pose(x, p), self._body.velocity(x, u, p)
        return list(np.broadcast_arrays(*(pose[k] for k in self._missing), *velocity))
