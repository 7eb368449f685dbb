"""Whether a vehicle can be in the state it is started in: its steering, and its speed."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any, NamedTuple

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
    looks = [_Look("velocity along the vehicle", "m/s", speed, *ends, SLACK)]
    if model.body.steer is not None:
        angle, end = model.body.steer(x, u, p), limits.steer_max
        looks.append(_Look("steering angle", "rad", angle, -end, end, INNER_WHEEL))
    # A GPU is asked once for all of them.
    if bool(np.any(reduce(operator.or_, (look.outside for look in looks)))):
        raise next(look for look in looks if bool(np.any(look.outside))).mistake(of)


class _Look(NamedTuple):
    """Something about a start, or about each of many, that must lie between two ends."""

    what: str
    unit: str
    value: Any
    low: float
    high: float
    slack: float

    @property
    def outside(self) -> Any:
        low = self.low - self.slack * abs(self.low)
        return (self.value < low) | (self.value > self.high + self.slack * abs(self.high))

    def mistake(self, of: str) -> InvalidValue:
        """The error for the first that is outside."""
        place = int(np.argmax(self.outside)) if np.ndim(self.value) else 0
        bad = float(np.atleast_1d(self.value)[place])
        return InvalidValue(
            f"the start{of.format(place)} has a {self.what} of {bad:g} {self.unit}; allowed is "
            f"from {self.low:g} to {self.high:g} {self.unit}"
        )
