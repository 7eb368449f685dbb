"""Combined slip by similarity: the curve of pure slip, along the vector of both slips.

Slips are divided by the slip at which a tyre that stayed linear would reach its largest force. In
these terms every curve has slope 1 at 0 and maximum 1, and so has the curve over the length of the
vector of both (Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 4.2). The force points along
that vector: against the sliding in each direction, so it takes energy, and inside the ellipse of
the two largest forces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...ops import atan, maximum, sin, smooth_hypot, sqrt
from ...units import N, m, one

__all__ = [
    "Curve",
    "Direction",
    "Normal",
    "combined_friction",
    "fading_trail",
    "magic_curve",
    "normal_slip",
]

Curve = Callable[[one], one]
"""Force over largest force at a normalised slip of at least 0: slope 1 at 0, never above 1."""

TINY: one = 1e-6
"""Grip below which a road is without; and the normalised slip that stands in for 0."""


class Normal(NamedTuple):
    """Normalised slips, with the signs of `Contact`, and the length of their vector."""

    x: one
    y: one
    length: one
    """Never 0, so that force over length is smooth; too long by less than 1e-6."""


class Direction(NamedTuple):
    """Friction along or across the wheel."""

    peak: N
    """Largest force on the road on which the tyre was measured."""
    curve: Curve


def normal_slip(x: one, y: one, mu: one) -> Normal:
    """Normalised slips from slips times stiffness over largest force.

    On a road with less grip the largest force comes at less slip: the stiffness is the tyre's.
    """
    by_mu = 1.0 / maximum(mu, TINY)
    x, y = x * by_mu, y * by_mu
    return Normal(x, y, smooth_hypot(x, y, TINY))


def combined_friction(slip: Normal, along: Direction, across: Direction, mu: one) -> tuple[N, N]:
    """Forces along and across the wheel."""
    by_length = mu / slip.length
    return (
        along.peak * (by_length * slip.x) * along.curve(slip.length),
        -across.peak * (by_length * slip.y) * across.curve(slip.length),
    )


def magic_curve(C: one, E: one) -> Curve:
    """Sine of the Magic Formula over normalised slip: shape factor `C`, curvature factor `E`."""

    def curve(length: one) -> one:
        s = length / C
        return sin(C * atan(s - E * (s - atan(s))))

    return curve


def fading_trail(trail: m, slip: Normal) -> m:
    """Pneumatic trail, which shrinks as the tyre slides: Pacejka's cosine with shape factor 1."""
    return trail / sqrt(1.0 + slip.length * slip.length)
