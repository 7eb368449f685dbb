"""Set-points by keys: w and s faster and slower, a and d to the left and right, space to stop.

Each key press changes the set-points by a fixed step; holding none changes nothing. The records of
the controllers of wheeled robots have rules of their own, which are upstream's. Other inputs are
known by their names: w and s change `velocity`, or `acceleration` if there is none, or all torques
`tau_...`; a and d change `steer` or `curvature`; space sets what w and s change to 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi
from typing import Any

from ..errors import InvalidValue
from ..units import Nm, m_s, m_s2, per_m, rad, rad_s
from .wheeled import FrontSteerInput, FrontTorques, MotorTorque, SideTorques, TwistInput

__all__ = ["Steps", "pressed", "steps_of"]

KEYS = ("w", "s", "a", "d", " ")
DEGREE: rad = pi / 180.0


@dataclass(frozen=True)
class Steps:
    """How far one key press goes."""

    v: m_s = 0.1
    omega: rad_s = 2.0 * DEGREE
    steer: rad = DEGREE
    torque: Nm = 1.0
    acceleration: m_s2 = 0.1
    curvature: per_m = 0.02


OWN = Steps(torque=5.0)
"""Of vehicles that upstream does not have."""


def steps_of(kind: str, controller: str) -> Steps:
    """The steps that MVSim takes for a kind of vehicle and its controller; `OWN` for others."""
    if not kind.startswith(("differential", "ackermann")):
        return OWN
    if kind.startswith("differential"):
        return Steps(torque=0.05)
    return Steps() if controller == "twist_ideal" else Steps(omega=DEGREE)


def pressed(set_point: Any, key: str, steps: Steps | None = None, steer_max: float = inf) -> Any:
    """The set-points after a key press.

    `steer_max` limits the steering angle in rad, or the curvature in 1/m where that is commanded.
    """
    change = _CHANGES.get(type(set_point), _by_names)
    if key.lower() not in KEYS:
        raise InvalidValue(f"key {key!r} is unknown; allowed are {', '.join(map(repr, KEYS))}")
    key = key.lower()
    ahead = {"w": 1.0, "s": -1.0}.get(key, 0.0)
    left = {"a": 1.0, "d": -1.0}.get(key, 0.0)
    return change(set_point, ahead, left, key == " ", steps or Steps(), steer_max)


def _by_names(u: Any, ahead: float, left: float, stop: bool, by: Steps, most: float) -> Any:
    """A press for any record whose names say what drives and what steers."""
    fields: tuple[str, ...] = getattr(u, "_fields", ())
    torques = [name for name in fields if name.startswith("tau_")]
    known = (("velocity",), by.v), (("acceleration",), by.acceleration), (torques, by.torque)
    drives, step = next(
        ((names, step) for names, step in known if names and set(names) <= set(fields)), ((), 0.0)
    )
    if not drives:
        has = f": it has {', '.join(fields)}" if fields else ""
        raise InvalidValue(f"{type(u).__name__} has no keys{has}")
    new = {name: 0.0 if stop else getattr(u, name) + ahead * step for name in drives}
    for name, step in (("steer", by.steer), ("curvature", by.curvature)):
        if left and name in fields:
            new[name] = max(-most, min(most, getattr(u, name) + left * step))
    return u._replace(**new)


def _twist(u: TwistInput, ahead: float, left: float, stop: bool, by: Steps, most: rad) -> Any:
    return TwistInput() if stop else TwistInput(u.v + ahead * by.v, u.omega + left * by.omega)


def _front_steer(
    u: FrontSteerInput, ahead: float, left: float, stop: bool, by: Steps, most: rad
) -> Any:
    return FrontSteerInput(0.0 if stop else u.v + ahead * by.v, _steered(u.steer, left, by, most))


def _sides(u: SideTorques, ahead: float, left: float, stop: bool, by: Steps, most: rad) -> Any:
    if stop:
        return SideTorques()
    return SideTorques(
        u.tau_left + (ahead - left) * by.torque, u.tau_right + (ahead + left) * by.torque
    )


def _front(u: FrontTorques, ahead: float, left: float, stop: bool, by: Steps, most: rad) -> Any:
    left_torque, right_torque = (
        0.0 if stop else tau + ahead * by.torque for tau in (u.tau_fl, u.tau_fr)
    )
    return FrontTorques(left_torque, right_torque, _steered(u.steer, left, by, most))


def _motor(u: MotorTorque, ahead: float, left: float, stop: bool, by: Steps, most: rad) -> Any:
    torque = 0.0 if stop else u.tau + ahead * by.torque
    return MotorTorque(torque, _steered(u.steer, left, by, most))


def _steered(steer: rad, left: float, by: Steps, most: rad) -> rad:
    return max(-most, min(most, steer + left * by.steer)) if left else steer


_CHANGES: dict[type, Callable[..., Any]] = {
    TwistInput: _twist,
    FrontSteerInput: _front_steer,
    SideTorques: _sides,
    FrontTorques: _front,
    MotorTorque: _motor,
}
