"""What a wish to be slower is to a vehicle: it stops and stays, and does not turn round.

A vehicle goes forward unless its driver wishes for a speed below 0; against that way an
acceleration slows it, and nothing else.
"""

from __future__ import annotations

from ..body import Wish
from ..ops import abs, where
from ..units import m_s, m_s2, one, s
from .actuator import limited

__all__ = ["HOLD_TIME", "asked_acceleration", "slows", "way_of"]

HOLD_TIME: s = 0.1
"""Time constant with which a vehicle without brakes comes to rest and is held there."""


def way_of(wish: Wish) -> one:
    """1 where a wish is to go forward, -1 where it is to go backward."""
    return where(wish.v < 0.0, -1.0, 1.0)


def slows(wish: Wish) -> one:
    """Whether a wish is to be slower."""
    return wish.a * way_of(wish) < 0.0


def asked_acceleration(wish: Wish, v_x: m_s, t_hold: s = HOLD_TIME) -> m_s2:
    """The acceleration to ask of a vehicle that has no brakes for a wish, at a speed along it.

    One that slows becomes 0 with the speed, and as strong the other way where it rolls so.
    """
    return where(slows(wish), limited(-v_x * (1.0 / t_hold), abs(wish.a)), wish.a)
