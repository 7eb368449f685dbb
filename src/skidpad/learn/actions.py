"""What a driver does: two shares, of steering and of accelerating, for any vehicle with a body."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Annotated, Any, NamedTuple

from ..body import Limits, Wish, body_of
from ..model import Vehicle
from ..ops import maximum, minimum
from ..units import Allowed, m_s2, one, rad

GRIP: m_s2 = 10.0
"""Acceleration of a full share for a vehicle that sets no limit."""


class Drive(NamedTuple):
    """What most drivers do."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (of the yaw rate of a robot), positive to the left."""
    drive: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest acceleration, or, negative, of the brakes."""


def drive_of(vehicle: Vehicle) -> Callable[[Any, Drive, Any], Any]:
    """The input of a vehicle for a `Drive`, within the limits of its body."""
    body = body_of(vehicle, "an action")
    return partial(_driven, body.command, body.limits(vehicle.params))


def _driven(command: Any, limits: Limits, x: Any, a: Drive, p: Any) -> Any:
    steer_max: rad = limits.steer_max if isfinite(limits.steer_max) else 0.6
    ahead = min(abs(limits.a_max), GRIP) or GRIP
    back = min(abs(limits.a_min), GRIP) or GRIP
    fast = limits.v_max if isfinite(limits.v_max) else 20.0
    slow = limits.v_min if isfinite(limits.v_min) else 0.0
    turning = limits.omega_max if isfinite(limits.omega_max) else 1.0
    wish = Wish(
        steer=steer_max * a.steer,
        a=ahead * maximum(a.drive, 0.0) + back * minimum(a.drive, 0.0),
        v=fast * maximum(a.drive, 0.0) + abs(slow) * minimum(a.drive, 0.0),
        omega=turning * a.steer,
    )
    return command(x, wish, p)
