"""Driving resistance: rolling, linear and quadratic terms lumped into one force along body x."""

from __future__ import annotations

from ..ops import abs, tanh
from ..units import N, N_s2_m2, N_s_m, m_s

__all__ = ["downforce", "resistance"]


def resistance(v_x: m_s, C_r0: N, C_r1: N_s_m, C_r2: N_s2_m2, v_0: m_s) -> N:
    """Force along body x that opposes `v_x`, odd in `v_x`.

    `v_0` is the speed over which the constant term fades to zero at standstill.
    """
    speed = abs(v_x)
    return -(C_r0 + speed * (C_r1 + speed * C_r2)) * tanh(v_x * (1.0 / v_0))


def downforce(v_x: m_s, C_down: N_s2_m2) -> N:
    """Aerodynamic load, positive downwards."""
    return (0.5 * C_down) * (v_x * v_x)
