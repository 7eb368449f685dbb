"""Functions at the top of a module, as users of campaigns have them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from skidpad import units as si
from skidpad.core.arrays import Array
from skidpad.random import Draw
from skidpad.run.trajectory import Trajectory
from skidpad.run.trajectory_table import Column

GRAVITY = 9.81


def _grip(mu: Any) -> Any:
    return GRAVITY * mu


def stopping(v: si.m_s, mu: Annotated[si.one, si.positive], draw: Draw) -> dict[str, Any]:
    """Distance and time of braking with a grip that scatters; nobody brakes above 60 m/s."""
    if np.any(v > 60.0):
        raise ValueError("too fast")
    grip = _grip(mu) * (1.0 + 0.05 * draw.normal()[:, 0])
    return {"distance": v**2 / (2.0 * grip), "long": v / grip > 4.0}


def scalar_stopping(v: float, mu: float = 0.8, draw: Draw | None = None) -> float:
    """The same distance without noise, of one run."""
    assert isinstance(v, float)
    if v > 60.0:
        raise ZeroDivisionError
    return v * v / (2.0 * GRAVITY * mu)


def sums(a: float, run: Array) -> Array:
    """Depends on the other rows by rounding alone: the sum over all columns of a table."""
    wide = np.asarray(a)[:, None] * np.linspace(0.1, 1.3, 257)
    return np.asarray(wide.sum(axis=1) + 0.0 * np.sin(wide).sum())


def giving_up(a: float) -> dict[str, Any]:
    """Says itself, or by a NaN, that it failed, and that it was high nevertheless."""
    return {"y": np.where(a > 0.8, np.nan, a), "high": np.asarray(a) > 0.3}


def giving_up_itself(a: float) -> dict[str, Any]:
    """The same with numbers of all runs."""
    return {"y": a, "high": np.asarray(a) > 0.3, "failed": np.asarray(a) > 0.8}


def stop_replay(v: float, mu: float) -> Trajectory:
    """Motion while braking."""
    t = np.linspace(0.0, v / (GRAVITY * mu), 11)
    return Trajectory(t, (Column("v", si.Unit("m/s"), "state", v - GRAVITY * mu * t),), "stop")
