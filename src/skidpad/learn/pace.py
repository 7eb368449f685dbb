"""Driving slowly, as in a yard or a room: an action that says how fast, either way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Annotated, Any, NamedTuple

from ..body import Body, Limits, Wish, body_of
from ..model import Vehicle
from ..units import Allowed, m_s, one, rad, rad_s, s

APPROACH: s = 0.3
"""Time constant with which a vehicle that is told accelerations comes to its pace."""
STEER: rad = 0.6
"""Full steering of a vehicle that sets no limit."""


class Pace(NamedTuple):
    """What a driver does who manoeuvres."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (of the yaw rate of a robot), positive to the left."""
    pace: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the speed of the task, negative in reverse."""


def pace_of(vehicle: Vehicle, v: m_s, omega: rad_s = 1.0) -> Callable[[Any, Pace, Any], Any]:
    """The input of a vehicle for a `Pace`: at most the speed `v` and, for one that is told it, the
    yaw rate `omega`."""
    body = body_of(vehicle, "an action")
    return partial(_paced, body, body.limits(vehicle.params), v, omega)


def _paced(body: Body, limits: Limits, v: m_s, omega: rad_s, x: Any, a: Pace, p: Any) -> Any:
    steer_max = limits.steer_max if isfinite(limits.steer_max) else STEER
    told = Wish(steer=steer_max * a.steer, v=v * a.pace, omega=omega * a.steer)
    # Who steers by an input needs one to know its velocity; who is told one does not.
    now = body.speed_of(x, body.command(x, told, p), p)
    gain = (told.v - now) * (1.0 / APPROACH)
    return body.command(x, told._replace(a=gain), p)
