"""Tyre forces: the lateral Magic Formula and the friction limit it shares with drive and brake.

Which tyre a car has is the class of the record `tyre` among its parameters. A tyre has a peak
friction coefficient `D` and `friction(alpha)`, the lateral force per load at a slip angle: with the
sign of `alpha`, never above `D`, smooth at 0.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import atan, clip, maximum, sin, sqrt
from ..units import Allowed, N, N_rad, non_negative, one, positive, rad

__all__ = ["MagicFormula", "Use", "cornering_stiffness", "friction", "rough_use", "use"]


class MagicFormula(NamedTuple):
    """Lateral Magic Formula coefficients, constant over load and without offsets.

    The defaults are those of the brains2 project's car (`car_constants.yaml`, lateral set).
    """

    B: Annotated[one, positive] = 14.550048996411983
    """Stiffness factor. Cornering stiffness is `B * C * D * F_z`, in N/rad."""
    C: Annotated[one, Allowed(0.0, 2.0, open_low=True)] = 1.57
    """Shape factor. Above 1 the curve falls after its peak; above 2 it would change sign."""
    D: Annotated[one, non_negative] = 1.655492775
    """Peak friction coefficient."""
    E: Annotated[one, Allowed(high=1.0)] = 0.5464720000000001
    """Curvature factor. Above 1 the curve would fold back and change sign at large slip."""

    def friction(self, alpha: rad) -> one:
        """Lateral force per load at a slip angle, with the sign of `alpha` and never above `D`.

        Pacejka, Tyre and Vehicle Dynamics, 3rd ed., eq. 4.49 without offsets, divided by the load.
        """
        s = self.B * alpha
        return self.D * sin(self.C * atan(s - self.E * (s - atan(s))))


def friction(alpha: rad, tyre: Any) -> one:
    """Lateral force per load at a slip angle, for any tyre."""
    return tyre.friction(alpha)


def cornering_stiffness(F_z: N, p: MagicFormula) -> N_rad:
    """Slope of the lateral force over slip angle at zero slip, for a tyre under load `F_z`."""
    return p.B * p.C * p.D * F_z


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
