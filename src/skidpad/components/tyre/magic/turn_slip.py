"""Spin: what turning and camber do to a rolling wheel, eqs. 4.E75 to 4.E91."""

from __future__ import annotations

from typing import NamedTuple

from ....units import Nm, one, rad

__all__ = ["NO_SPIN", "Spin"]


class Spin(NamedTuple):
    """Factors by which spin changes the other equations."""

    zeta0: one
    zeta1: one
    zeta2: one
    zeta3: one
    zeta5: one
    zeta6: one
    S_H: rad
    """Shift of slip angle by spin."""
    D_r: Nm
    """Torque by spin."""


NO_SPIN = Spin(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
"""Spin that changes nothing."""
