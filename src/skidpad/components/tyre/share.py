"""How drive and brake use the friction of a tyre whose wheel spin is no state of the car."""

from __future__ import annotations

from typing import NamedTuple

from ...ops import clip, maximum, sqrt
from ...units import N, one

__all__ = ["Use", "rough_use", "use"]


class Use(NamedTuple):
    """How drive or brake uses the friction limit of a tyre, all as shares of that limit.

    The longitudinal force is limit * (firm + sliding). While the wheel grips, the force is `firm`
    and set by the motor; when it spins or locks, it is `sliding` and set by the load. At a slightly
    different load the force is firm * limit + sliding * (limit at that load), to first order.
    """

    firm: one
    sliding: one
    across: one
    """What is left for cornering: `sqrt(1 - (firm + sliding)²)`, above 0."""


def use(demand: N, limit: N, most: one, floor: N) -> Use:
    """Shares of the friction limit `limit` taken by a demanded longitudinal force.

    `most`, below 1, is the largest share. The share follows r = demand / limit up to about 0.7 and
    saturates at `most`: t - t⁹ / (9 t₁⁸) with t = r clipped to ±t₁ and t₁ = 9/8 most, where its
    slope is zero. One division, no corner; `most` < 1 keeps the slope of `across` finite. `floor`
    stands in for a limit below it, as of a wheel in the air.
    """
    end = most * (9.0 / 8.0)
    by_end = (8.0 / 9.0) / most
    t = clip(demand / maximum(limit, floor), -end, end)
    r2 = (t * by_end) * (t * by_end)
    r4 = r2 * r2
    bent = t * (r4 * r4)
    firm, sliding = t - bent, bent * (8.0 / 9.0)
    along = firm + sliding
    return Use(firm, sliding, sqrt(1.0 - along * along))


def rough_use(demand: N, limit: N, floor: N) -> Use:
    """`use` without its square root and bend: a first guess from loads that are a guess too."""
    along = clip(demand / maximum(limit, floor), -1.0, 1.0)
    return Use(along, 0.0 * along, 1.0 - 0.5 * (along * along))
