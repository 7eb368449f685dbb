"""The driver of the demo as a policy, which a fleet compiles together with its cars."""

from __future__ import annotations

from ..policy import Policy
from ..units import s
from ..vehicles.car_state import Input, State
from . import driver


def act(x: State, m: driver.Memory, p: driver.Params, dt: s) -> tuple[Input, driver.Memory]:
    """Targets of the actuators for the coming `dt`, and what to remember."""
    return driver.drive(p, m, x, dt)


def driven_by(params: driver.Params) -> Policy:
    """The driver with these parameters."""
    return Policy(act, Memory=driver.Memory, Params=driver.Params, params=params, name="driver")
