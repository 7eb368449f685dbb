"""Combined slip by similarity: the curve of pure slip, along the vector of both slips.

Slips are divided by the slip at which a tyre that stayed linear would reach its largest force. In
these terms every curve has slope 1 at 0 and maximum 1, and so has the curve over the length of the
vector of both (Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 4.2). The force points along
that vector while most of the tread sticks, and more and more against the sliding as it slides: that
of a locked wheel against the velocity of its patch, wherever it points. So it is against the
sliding in each direction and takes energy, and inside the ellipse of the two largest forces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...ops import atan, cos, maximum, sin, smooth_hypot, smooth_step, sqrt
from ...units import N, m, one
from .contract import Contact

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


STICKS: one = 1.0
SLIDES: one = 4.0
"""Normalised slips up to which the force points as the tread deflects, and from which on it points
against the sliding."""


class Normal(NamedTuple):
    """Where the force points, with the signs of `Contact`, and how long the normalised slip is."""

    x: one
    y: one
    """Direction of the deflection, along the wheel and across, times the share that sticks."""
    length: one
    """Never 0, so that force over length is smooth; too long by less than 1e-6."""
    slide_x: one
    slide_y: one
    """Direction of the sliding, a vector of length 1."""
    slides: one
    """Share that slides."""


class Direction(NamedTuple):
    """Friction along or across the wheel."""

    mu: one
    """Largest force over the load on the road on which the tyre was measured."""
    curve: Curve


def normal_slip(stiff_x: one, stiff_y: one, at: Contact) -> Normal:
    """Normalised slip of a contact, from stiffness over largest force along and across.

    On a road with less grip the largest force comes at less slip: the stiffness is the tyre's.
    """
    by_mu = 1.0 / maximum(at.mu, TINY)
    x, y = stiff_x * at.kappa * by_mu, stiff_y * at.alpha * by_mu
    length = smooth_hypot(x, y, TINY)
    # The patch slides by kappa and tan(alpha), whose direction is finite also at a right angle.
    along, across = at.kappa * cos(at.alpha), sin(at.alpha)
    slides = smooth_step(length, STICKS, SLIDES)
    sticking, by_sliding = (1.0 - slides) / length, 1.0 / smooth_hypot(along, across, TINY)
    return Normal(
        sticking * x, sticking * y, length, by_sliding * along, by_sliding * across, slides
    )


def combined_friction(slip: Normal, along: Direction, across: Direction, load: N) -> tuple[N, N]:
    """Forces along and across the wheel under a load, which is that times the grip of the road.

    What slides is pulled against the sliding by the radius of the ellipse of both frictions there.
    """
    mu_x, mu_y = along.mu * along.curve(slip.length), across.mu * across.curve(slip.length)
    radius = mu_x * mu_y / smooth_hypot(slip.slide_x * mu_y, slip.slide_y * mu_x, TINY)
    pulls = slip.slides * radius
    return (
        load * (slip.x * mu_x + pulls * slip.slide_x),
        -load * (slip.y * mu_y + pulls * slip.slide_y),
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
