"""Brakes and drive held to a slip: the same law lets go of a wheel that locks or that spins.

Each wheel has a share of what the driver asks for. It shrinks while the wheel slips more than it
should and comes back slowly; beyond the target a part is taken back at once.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import clip, logical_or, maximum, where
from ...units import m_s, non_negative, one, per_s, positive, s
from .aid import Aid
from .wheels import WHEELS, Chassis, chassis, longitudinal_slips, speeds

__all__ = ["Memory", "Params", "anti_lock", "traction"]


class Params(NamedTuple):
    """How slip is held."""

    chassis: Chassis
    """Of the car."""
    slip: Annotated[one, positive]
    """Slip to hold, without its sign: a little below that of the largest force."""
    shrink: Annotated[per_s, positive]
    """Fastest loss of the share of a wheel."""
    grow: Annotated[per_s, positive]
    """Fastest growth of the share of a wheel."""
    at_once: Annotated[one, non_negative]
    """Share that is taken back at once for each time that the slip exceeds the target."""
    v_off: Annotated[m_s, positive]
    """Speed of the car below which brakes are left alone, and by which slip is measured at the
    least."""


class Memory(NamedTuple):
    """Share of each wheel in what the driver asks for."""

    fl: one = 1.0
    """Front left."""
    fr: one = 1.0
    """Front right."""
    rl: one = 1.0
    """Rear left."""
    rr: one = 1.0
    """Rear right."""


def next_share(share: one, slip: one, idle: Any, p: Params, dt: s) -> one:
    """Share after a step in which a wheel slips, all of it where there is nothing to do."""
    error = clip(1.0 - slip / p.slip, -1.0, 1.0)
    rate = where(error > 0.0, p.grow, p.shrink) * error
    return where(idle, 1.0, clip(share + rate * dt, 0.0, 1.0))


def left_of(asked: Any, share: one, slip: one, p: Params) -> Any:
    """What a wheel gets of what is asked for."""
    return asked * clip(share - p.at_once * maximum(slip / p.slip - 1.0, 0.0), 0.0, 1.0)


def keep_wheels_turning(x: Any, u: Any, m: Memory, p: Params, dt: s) -> tuple[Any, Memory]:
    """Lets go of brakes whose wheels lock."""
    kappas = longitudinal_slips(x, p.chassis, p.v_off)
    slow = x.v_x * x.v_x < p.v_off * p.v_off
    shares: list[one] = []
    brakes: dict[str, Any] = {}
    columns = zip(WHEELS, kappas, speeds(x, p.chassis), m, strict=True)
    for wheel, kappa, v, share in columns:
        asked, locking = getattr(u, f"brake_{wheel}"), where(v < 0.0, kappa, -kappa)
        idle = logical_or(asked <= 0.0, slow)
        shares.append(next_share(share, locking, idle, p, dt))
        brakes[f"brake_{wheel}"] = where(idle, asked, left_of(asked, shares[-1], locking, p))
    return u._replace(**brakes), Memory(*shares)


def keep_wheels_rolling(x: Any, u: Any, m: Memory, p: Params, dt: s) -> tuple[Any, Memory]:
    """Takes torque from wheels that spin, forwards or backwards."""
    kappas = longitudinal_slips(x, p.chassis, p.v_off)
    shares: list[one] = []
    torques: dict[str, Any] = {}
    for wheel, kappa, share in zip(WHEELS, kappas, m, strict=True):
        asked = getattr(u, f"tau_{wheel}")
        spinning = where(asked < 0.0, -kappa, kappa)
        shares.append(next_share(share, spinning, asked == 0.0, p, dt))
        torques[f"tau_{wheel}"] = left_of(asked, shares[-1], spinning, p)
    return u._replace(**torques), Memory(*shares)


def anti_lock(
    vehicle: Any,
    *,
    slip: one = 0.06,
    shrink: per_s = 30.0,
    grow: per_s = 6.0,
    at_once: one = 1.0,
    v_off: m_s = 2.0,
) -> Aid:
    """Anti-lock brakes: brakes let go of wheels that slip more than `slip`."""
    params = Params(chassis(vehicle), slip, shrink, grow, at_once, v_off)
    return Aid("anti_lock", keep_wheels_turning, params, Memory)


def traction(
    vehicle: Any,
    *,
    slip: one = 0.05,
    shrink: per_s = 10.0,
    grow: per_s = 3.0,
    at_once: one = 1.0,
    v_off: m_s = 2.0,
) -> Aid:
    """Traction control: the drive takes torque from wheels that slip more than `slip`."""
    params = Params(chassis(vehicle), slip, shrink, grow, at_once, v_off)
    return Aid("traction", keep_wheels_rolling, params, Memory)
