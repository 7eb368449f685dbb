"""Whether steps are too long for the controllers of wheeled robots.

A controller that acts once in a step and a body that answers it are a loop: with long steps or
large gains it swings, and what swings grows until the wheels slide. Looked at in straight driving,
by differences of the step itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...body import Velocity, Wish
from ...units import m_s, one, s
from .update import Assembly

SPEED: m_s = 1.0
"""At which it is looked."""
GROWS: one = 1.001
"""Growth in a step above which something swings; poses and integrals keep what they have, 1."""
_SHIFT = 1e-6
"""By which states are moved to see what becomes of it."""
_MOST_HALVES = 12


def growth(model: Any, params: Array, dt: s) -> Array:
    """The largest growth in one step of any small deviation from driving straight, (B,).

    Args:
        model: of a wheeled robot.
        params: rows of its parameters (B, np).
        dt: length of the step.
    """
    p = record.unflatten(model.Params, list(params.T[:, None, :]))
    w, u, x = _driving(model, p)
    x = model.update(x, u, w, p, dt)
    at = np.stack(np.broadcast_arrays(*record.flatten(x)))[:, 0, :]
    count = len(at)
    # State, which of its fields is moved, vehicle.
    moved = at[:, None, :] + _SHIFT * np.eye(count)[:, :, None]
    back = at[:, None, :] - _SHIFT * np.eye(count)[:, :, None]
    after, before = (_flat(model, u, w, p, states, dt) for states in (moved, back))
    slopes = (after - before) / (2.0 * _SHIFT)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    return np.abs(np.linalg.eigvals(slopes.transpose(2, 0, 1))).max(axis=1)


def longest_calm(model: Any, params: Array, dt: s) -> s:
    """The longest of dt / 2, dt / 4, … with which nothing grows, for one row of parameters."""
    for halves in range(1, _MOST_HALVES):
        shorter = dt * 0.5**halves
        if growth(model, params[None], shorter)[0] <= GROWS:
            return shorter
    return 0.0


def _driving(model: Any, p: Any) -> tuple[Any, Any, Any]:
    """Disturbance, input and state in straight driving, its wheels rolling."""
    parts: Assembly = model.update.__self__
    x = record.at_rest(model.State)
    x = model.body.placed(x, model.body.pose(x, p), Velocity(SPEED, 0.0, 0.0), p)
    wheels = zip(parts.kind.wheels, parts.wheels(p), strict=True)
    x = x._replace(**{f"spin_{name}": SPEED / wheel.radius for name, wheel in wheels})
    return record.build(model.Disturbance), model.body.command(x, Wish(v=SPEED), p), x


def _flat(model: Any, u: Any, w: Any, p: Any, states: Array, dt: s) -> Array:
    with np.errstate(all="ignore"):
        after = model.update(record.unflatten(model.State, list(states)), u, w, p, dt)
    return np.stack(np.broadcast_arrays(*record.flatten(after), states[0])[:-1])
