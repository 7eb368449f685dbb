"""Which way each wheel of a car points: steering linkage and toe, as cosines and sines."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..ops import cos, sin, sqrt
from ..plane.pose import turned
from ..units import m, one, rad

__all__ = ["Alignment", "Heading", "four_headings"]


class Heading(NamedTuple):
    """Cosine and sine of the angle of a wheel on the car, positive to the left."""

    c: one
    s: one


class Alignment(Protocol):
    """Parameters of the linkage."""

    @property
    def l_f(self) -> m:
        """Centre of mass to front axle."""
        ...

    @property
    def l_r(self) -> m:
        """Centre of mass to rear axle."""
        ...

    @property
    def track_f(self) -> m:
        """Between the front wheels."""
        ...

    @property
    def ackermann(self) -> one:
        """0: parallel wheels; 1: they point about one centre on the line of the rear axle."""
        ...

    @property
    def toe_f(self) -> rad:
        """Toe of the front wheels, positive in."""
        ...

    @property
    def toe_r(self) -> rad:
        """Toe of the rear wheels, positive in."""
        ...


def four_headings(steer: rad, p: Alignment) -> tuple[Heading, Heading, Heading, Heading]:
    """Headings of the wheels fl, fr, rl, rr at an angle of the wheel in the middle.

    With the share e of Ackermann's geometry the front wheels have tan(steer) / (1 -+ e b
    tan(steer)) with b = track / (2 wheelbase): one centre for e = 1, parallel for 0.
    """
    c, s = cos(steer), sin(steer)
    inwards = (p.ackermann * 0.5 * p.track_f * (1.0 / (p.l_f + p.l_r))) * s
    left, right = _unit(c - inwards, s), _unit(c + inwards, s)
    c_f, s_f, c_r, s_r = cos(p.toe_f), sin(p.toe_f), cos(p.toe_r), sin(p.toe_r)
    return (
        Heading(*turned(c_f, -s_f, *left)),
        Heading(*turned(c_f, s_f, *right)),
        Heading(c_r, -s_r),
        Heading(c_r, s_r),
    )


def _unit(x: one, y: one) -> Heading:
    by_length = 1.0 / sqrt(x * x + y * y)
    return Heading(x * by_length, y * by_length)
