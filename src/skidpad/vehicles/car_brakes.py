"""Brakes of the cars of `car_state`: negative torques that resist the motion of their wheels."""

from __future__ import annotations

from typing import Any

from ..components.wheel import contact_velocities, in_wheel_frame
from ..ops import cos, maximum, minimum, sin, sqrt
from ..units import m_s, one
from .car_state import State

V_HOLD: m_s = 0.05
"""Speed over which a brake sets in; a car that it holds creeps at a small part of this."""


def braking_state(x: State, p: Any) -> State:
    """The state with torques that act alike on the wheels, brakes against their motion."""
    fl, fr, rl, rr = (
        maximum(tau, 0.0) + minimum(tau, 0.0) * share
        for tau, share in zip(torques(x), rolling_shares(x, p), strict=True)
    )
    return x._replace(tau_fl=fl, tau_fr=fr, tau_rl=rl, tau_rr=rr)


def torques(x: State) -> tuple[Any, Any, Any, Any]:
    """Torque of each wheel."""
    return x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr


def rolling_shares(x: State, p: Any) -> list[one]:
    """How much of each wheel's motion over ground is along it, from -1 to 1; 0 at rest."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    moving = (in_wheel_frame(v.fl, c, s), in_wheel_frame(v.fr, c, s), v.rl, v.rr)
    return [w.x / sqrt(w.x * w.x + w.y * w.y + V_HOLD * V_HOLD) for w in moving]
