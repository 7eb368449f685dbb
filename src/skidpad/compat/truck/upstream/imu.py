"""Upstream's IMU: centripetal acceleration with its sign twice, from a lever arm turned round.

With the steering exactly straight the centre of rotation is infinitely far away and all three
accelerations are NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....arrays import Array
from ....components.ackermann import Twist, twist_at
from ....vehicles.ackermann_truck import Actuation, State
from ..model_file import TruckModel
from ..mounting import BASE, IMU
from ..records import AngularVelocity, SpecificForce

GRAVITY = 9.81
"""In m/s²."""


def imu(
    model: TruckModel,
) -> Callable[[State, Twist, Actuation], tuple[AngularVelocity, SpecificForce]]:
    """What the IMU shows at a state, with the twist of the rear axle and what acts next."""
    # The base seen from the IMU, where the IMU seen from the base was meant.
    reversed_pose = model.frames.pose(BASE, seen_from=IMU)
    to_imu: Array = reversed_pose.rotation
    ahead, left = reversed_pose.translation[:2].tolist()
    b = model.params.base_to_rear

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        force = np.array([act.v_x.rate, 0.0, GRAVITY])
        force[:2] += _centripetal(rear, ahead, left, b)
        # tf2 multiplies row by row, so that NaN reaches every component.
        return (
            AngularVelocity(*(to_imu @ np.array([0.0, 0.0, rear.omega])).tolist()),
            SpecificForce(*(to_imu @ force).tolist()),
        )

    return reading


def _centripetal(rear: Twist, ahead: float, left: float, b: float) -> Array:
    if rear.curvature == 0.0:
        return np.array([np.nan, np.nan])
    at = twist_at(rear, ahead + b, left)
    to_centre = np.array([-ahead, 1.0 / rear.curvature - left])
    return to_centre / np.hypot(*to_centre) * (at.velocity**2 * at.curvature)
