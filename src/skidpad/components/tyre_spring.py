"""A tyre as the spring and damper on which a wheel stands: it pushes at the road, cannot pull."""

from __future__ import annotations

from ..units import J, N, N_m, N_s_m, m, m_s
from .ramp import ramp, ramp_integral

__all__ = ["spring_energy", "spring_load"]


def spring_load(standing: N, pressed: m, rate: m_s, k: N_m, c: N_s_m, F_lift: N) -> N:
    """Load of a tyre that is pressed in by so much more than under `standing`, at a rate.

    Below `F_lift` it leaves the road, smoothly.
    """
    return ramp(standing + (k * pressed + c * rate), F_lift)


def spring_energy(standing: N, pressed: m, k: N_m, F_lift: N) -> J:
    """What its spring stores beyond a tyre in the air."""
    return ramp_integral(standing + k * pressed, F_lift) * (1.0 / k)
