"""Speed control: proportional and integral action on torque, with limits and anti-windup."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..ops import clip, logical_and, logical_or, where
from ..units import N, Nm, Unit, m_s, non_negative, s

__all__ = ["Memory", "Params", "torque"]

Nm_s_m = Annotated[float, Unit("N·m/(m/s)", length=1, mass=1, time=-1)]
"""Torque per speed error."""


class Params(NamedTuple):
    """Gains and limits. Torques are those of one wheel; positive drives forward."""

    k_p: Annotated[Nm_s_m, non_negative]
    """Torque per speed error."""
    k_i: Annotated[N, non_negative]
    """Growth of the torque per second and speed error, N·m/s per m/s: a force in SI."""
    tau_min: Nm
    """Smallest torque asked for; negative brakes."""
    tau_max: Nm
    """Largest torque asked for."""


class Memory(NamedTuple):
    """What the controller remembers."""

    integral: Nm = 0.0
    """Torque that the integral action has gathered."""


def torque(p: Params, memory: Memory, v: m_s, v_target: m_s, dt: s) -> tuple[Nm, Memory]:
    """Torque target for the coming `dt` and the memory after it.

    The integral rests while the torque is at a limit and the error would push it further beyond.
    """
    error = v_target - v
    demand = p.k_p * error + memory.integral
    pushing = logical_or(
        logical_and(demand > p.tau_max, error > 0.0), logical_and(demand < p.tau_min, error < 0.0)
    )
    gathered = memory.integral + where(pushing, 0.0 * error, p.k_i * error * dt)
    return clip(demand, p.tau_min, p.tau_max), Memory(gathered)
