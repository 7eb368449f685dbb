"""A force within the circle of friction, the same in any direction."""

from __future__ import annotations

from typing import Any

from ..ops import maximum, sqrt
from ..units import N, kg, one

LEAST_FORCE2 = 1e-18
"""Square of a force (N) that no wheel needs to be limited to."""
TINY: one = 1e-12
"""Share that keeps a quotient finite where no force is wanted."""
STEPS = 4
"""Newton steps for the direction of a sliding wheel's force: some 1e-3 of it at worst."""


def within_circle(x: N, y: N, masses: tuple[kg, kg], most: N) -> tuple[N, N]:
    """The force no longer than `most` that points against the slip it leaves.

    (x, y) would leave none, and what is missing leaves slip by the masses that slip along and
    across. So the force is x / (1 + q masses[0]), y / (1 + q masses[1]), and as long as `most`: one
    equation for q. Newton's method for the reciprocal of the length (Moré and Sorensen 1983) needs
    few steps.
    """
    larger = 1.0 / maximum(*masses)
    along, across = masses[0] * larger, masses[1] * larger
    by_most = 1.0 / sqrt(maximum(most * most, LEAST_FORCE2))
    q: Any = 0.0 * most * by_most
    for _ in range(STEPS):
        soft_x, soft_y = 1.0 / (1.0 + q * along), 1.0 / (1.0 + q * across)
        F_x, F_y = x * soft_x, y * soft_y
        length2 = maximum(F_x * F_x + F_y * F_y, LEAST_FORCE2)
        falls = maximum(along * F_x * F_x * soft_x + across * F_y * F_y * soft_y, TINY * length2)
        q = maximum(q + (sqrt(length2) * by_most - 1.0) * length2 / falls, 0.0)
    return shortened(x / (1.0 + q * along), y / (1.0 + q * across), most)


def shortened(x: N, y: N, most: N) -> tuple[N, N]:
    """The force, shortened to `most` if it is longer."""
    most2 = maximum(most * most, LEAST_FORCE2)
    shorter = most / sqrt(maximum(x * x + y * y, most2))
    return shorter * x, shorter * y
