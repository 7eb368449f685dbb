"""The Magic Formula with grip in proportion to load.

The cars of `car_state` take their tyre by the class of the record `tyre` among their parameters. It
has a peak friction coefficient `D` and `friction(alpha)`, the lateral force per load at a slip
angle: with the sign of `alpha`, never above `D`, smooth at 0. `ProportionalTyre` is such a law in
both directions, for vehicles whose wheels spin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from ...ops import atan, maximum, minimum, sin
from ...units import Allowed, N, N_rad, Pa, m, non_negative, one, positive, rad
from .carcass import Carcass
from .contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from .similarity import TINY, Direction, combined_friction, fading_trail, magic_curve, normal_slip

__all__ = [
    "FrictionLaw",
    "MagicFormula",
    "ProportionalTyre",
    "cornering_stiffness",
    "friction",
    "friction_on_road",
    "softened_friction",
]

QUARTER_TURN: rad = 1.5707963267948966


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


FrictionLaw = Callable[[Sequence[rad], Any, one], list[one]]
"""Lateral force per load at slip angles, of a tyre, on a road with so many times the grip."""


def friction_on_road(alpha: Sequence[rad], tyre: Any, mu: one) -> list[one]:
    """Lateral force per load at some slip angles on a road with `mu` times the grip.

    Less grip lowers the peak and brings it to less slip; the slope at zero slip, which the tyre has
    from its carcass, stays: mu f(alpha / mu).
    """
    by_mu = 1.0 / maximum(mu, TINY)
    return [mu * friction(angle * by_mu, tyre) for angle in alpha]


def softened_friction(alpha: Sequence[rad], tyre: Any, mu: one) -> list[one]:
    """The whole curve times `mu`, its slope at zero slip too: what cars of version 0.1 had."""
    return [mu * friction(angle, tyre) for angle in alpha]


def cornering_stiffness(F_z: N, p: MagicFormula) -> N_rad:
    """Slope of the lateral force over slip angle at zero slip, for a tyre under load `F_z`."""
    return p.B * p.C * p.D * F_z


class ProportionalTyre(NamedTuple):
    """Magic Formula along and across the wheel, forces in proportion to load, no camber.

    Combined slip is by similarity. Defaults across are those of `MagicFormula`; along the wheel the
    friction is the same and the stiffness, in want of a source, too.
    """

    lateral: MagicFormula = MagicFormula()
    """Over slip angle."""
    longitudinal: MagicFormula = MagicFormula()
    """Over longitudinal slip."""
    trail: Annotated[m, non_negative] = 0.03
    """Pneumatic trail at small slip."""
    carcass: Carcass = Carcass()
    """Radii, relaxation and rolling resistance."""

    @property
    def measured_on(self) -> one:
        """Either side: it is its own mirror image."""
        return 1.0

    @property
    def pressure(self) -> Pa:
        """No say."""
        return 0.0

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments."""
        x, y, load = self.longitudinal, self.lateral, maximum(at.F_z, 0.0)
        slip = normal_slip(x.B * x.C, y.B * y.C, at)
        F_x, F_y = combined_friction(
            slip,
            Direction(x.D, magic_curve(x.C, x.E)),
            Direction(y.D, magic_curve(y.C, y.E)),
            at.mu * load,
        )
        moment = self.carcass.resistance(at)
        return TyreForces(F_x, F_y, 0.0 * moment, moment, -fading_trail(self.trail, slip) * F_y)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """In proportion to the load, whatever the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(
            cornering_stiffness(load, self.longitudinal), cornering_stiffness(load, self.lateral)
        )

    def peaks(self, at: Contact) -> Peaks:
        """The same under any load."""
        return Peaks(
            at.mu * largest_friction(self.longitudinal), at.mu * largest_friction(self.lateral)
        )

    def relaxation(self, at: Contact) -> Relaxation:
        """The same under any load."""
        return self.carcass.relaxation()

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact."""
        return self.carcass.radii(at)


def largest_friction(p: MagicFormula) -> one:
    """Most of `MagicFormula.friction`: D, or less if the sine does not come to its top (C < 1)."""
    return p.D * sin(QUARTER_TURN * minimum(p.C, 1.0))
