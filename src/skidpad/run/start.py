"""Whether a vehicle can be in the state it is started in: its steering, and its speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import record
from ..errors import InvalidValue
from ..model import Vehicle

SLACK = 1e-6
"""Share of a limit that a start may be beyond it: single precision rounds by less."""
INNER_WHEEL = 0.25
"""The same of steering, whose limit may be that of a wheel in the middle: the one on the inside of
a bend is turned further."""


def check_start(vehicle: Vehicle, start: Any, of: str = "") -> None:
    """Raise if the wheels of a start are turned further than they go, or it is too fast.

    The start is a state record, or an array (B, nx) of them, where `of` says " of vehicle {}". A
    vehicle without a body has no such limits, and one that reproduces a program starts as that.
    """
    model, p = vehicle.model, vehicle.params
    if model.body is None or model.reproduces:
        return
    many = not isinstance(start, model.State)
    x = record.unflatten(model.State, list(start.T)) if many else start
    u, limits = record.at_rest(model.Input), vehicle.limits
    speed, ends = model.body.speed_of(x, u, p), (limits.v_min, limits.v_max)
    _within("velocity along the vehicle", "m/s", speed, of, *ends, SLACK)
    if model.body.steer is not None:
        angle, end = model.body.steer(x, u, p), limits.steer_max
        _within("steering angle", "rad", angle, of, -end, end, INNER_WHEEL)


def _within(
    what: str, unit: str, value: Any, of: str, low: float, high: float, slack: float
) -> None:
    # Arrays of a GPU have these operations too; only the verdict is fetched.
    outside = (value < low - slack * abs(low)) | (value > high + slack * abs(high))
    if not bool(np.any(outside) if isinstance(outside, (bool, np.ndarray)) else outside.any()):
        return
    place = int(np.argmax(outside)) if np.ndim(outside) else 0
    bad = float(np.atleast_1d(value)[place])
    raise InvalidValue(
        f"the start{of.format(place)} has a {what} of {bad:g} {unit}; allowed is from {low:g} to "
        f"{high:g} {unit}"
    )
