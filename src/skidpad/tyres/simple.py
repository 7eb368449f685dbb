"""Simple tyres: linear with saturation, brush, and the Magic Formula with few parameters.

`LinearTyre` is the simplest that distinguishes grip from sliding. In `LoadSensitiveTyre` grip and
stiffness grow less than proportionally to the load, in `ProportionalTyre` proportionally.
`MagicFormula` is the lateral law of bicycle models: it has a peak friction coefficient `D` and
`friction(alpha)`, the lateral force per load at a slip angle, with the sign of `alpha`, never above
`D`, smooth at 0.

Combined slip uses similarity: slips are divided by the slip at which a linear tyre would reach its
largest force. In these normalised slips every curve has slope 1 at 0 and maximum 1, and so has the
curve over the length of the vector of both (Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section
4.2). The force is parallel to that vector while most of the tread sticks, and turns towards the
direction opposite to sliding as it slides: the force of a locked wheel opposes the velocity of its
patch. It therefore opposes the sliding in each direction, dissipates energy, and stays inside the
ellipse of the two largest forces.

`BrushTyre` has elastic bristles under a parabolic pressure, which stick in front and slide at the
rear (section 3.2, after Fiala). Bristles enter the patch upright, are bent by the theoretical slip
sigma = (kappa, tan alpha) / |1 + kappa| as they pass through it, and slide where friction under the
local pressure no longer holds them. With theta = 2 c a² / (3 mu F_z) and t = theta |sigma|, up to
t = 1 where all of them slide,

    |F| = mu F_z (3 t - 3 t² + t³)            trail = a/3 (1 - t)³ / (1 - t + t²/3)

and the force opposes the sliding. The patch is that of a round tyre on a flat road, its length
proportional to the square root of the load, so the stiffness 2 c a² is proportional to the load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from ..ops import cos, maximum, minimum, sin, smooth_hypot, smooth_step, sqrt, tan
from ..units import Allowed, N, N_rad, Pa, m, non_negative, one, positive, rad
from .contract import (
    Carcass,
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    TyreForces,
    above_zero,
)
from .magic_formula.coefficients import bent

Curve = Callable[[one], one]
"""Force over largest force at a normalised slip of at least 0; slope 1 at 0, never above 1."""

TINY: one = 1e-6
"""Grip below which a road counts as frictionless, and smallest normalised slip in divisions."""


STICKS: one = 1.0
SLIDES: one = 4.0
"""Normalised slips between which the force turns from the direction of the deflection to the
direction opposite to sliding."""


class Normal(NamedTuple):
    """Normalised slip: directions of deflection and sliding, with the signs of `Contact`."""

    x: one
    y: one
    """Direction (x, y) of the deflection, times the share of the contact that sticks."""
    length: one
    """Length of the normalised slip, never 0; too long by less than 1e-6."""
    slide_x: one
    slide_y: one
    """Direction (slide_x, slide_y) of the sliding, a vector of length 1."""
    slides: one
    """Share of the tread that slides."""


class Direction(NamedTuple):
    """Friction curve along or across the wheel."""

    mu: one
    """Largest force over load on the road on which the tyre was measured."""
    curve: Curve


def normal_slip(stiff_x: one, stiff_y: one, at: Contact) -> Normal:
    """Normalised slip of a contact, from stiffness over largest force along and across the wheel.

    On a road with less grip the largest force occurs at less slip: the stiffness is the tyre's own.
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


def magic_curve(C: one, E: one) -> Curve:
    """Magic Formula's sine over normalised slip: shape factor `C`, curvature factor `E`."""

    def curve(length: one) -> one:
        return sin(C * bent(length / C, E))

    return curve


ON_THE_LEFT = property(
    lambda tyre: 1.0,
    doc="1 (left), although the side does not matter: the tyre is its own mirror image.",
)
NO_PRESSURE = property(lambda tyre: 0.0, doc="0, as the model ignores pressure.")


def relaxation_of_carcass(self: Any, at: Contact) -> Relaxation:
    """Relaxation lengths, the same under any load."""
    return self.carcass.relaxation()


def radii_of_carcass(self: Any, at: Contact) -> Radii:
    """Radii at the load of this contact."""
    return self.carcass.radii(at)


def similar_forces(
    tyre: Any, at: Contact, slip: Normal, along: Direction, across: Direction, load: N
) -> TyreForces:
    """Forces and moments of a tyre with a trail and a carcass, by similarity.

    The sliding part acts against the sliding, with the radius of the ellipse of both frictions in
    that direction. The trail falls with slip: Pacejka's cosine with shape factor 1.
    """
    load = at.mu * load
    mu_x, mu_y = along.mu * along.curve(slip.length), across.mu * across.curve(slip.length)
    radius = mu_x * mu_y / smooth_hypot(slip.slide_x * mu_y, slip.slide_y * mu_x, TINY)
    pulls = slip.slides * radius
    F_x = load * (slip.x * mu_x + pulls * slip.slide_x)
    F_y = -load * (slip.y * mu_y + pulls * slip.slide_y)
    trail = tyre.trail / sqrt(1.0 + slip.length * slip.length)
    moment = tyre.carcass.resistance(at)
    return TyreForces(F_x, F_y, 0.0 * moment, moment, -trail * F_y)


class LinearTyre(NamedTuple):
    """Tyre whose forces are linear in slip up to about 0.7 of the friction limit and stay at the
    limit beyond.

    Forces are proportional to load; camber has no effect. The defaults are plausible for a car
    tyre.
    """

    C_x: Annotated[one, positive] = 25.0
    """Longitudinal stiffness over load."""
    C_y: Annotated[one, positive] = 18.0
    """Cornering stiffness over load, in 1/rad."""
    mu_x: Annotated[one, positive] = 1.0
    """Largest friction coefficient along the wheel."""
    mu_y: Annotated[one, positive] = 1.0
    """Largest friction coefficient across the wheel."""
    trail: Annotated[m, non_negative] = 0.03
    """Pneumatic trail at small slip."""
    carcass: Carcass = Carcass()
    """Radii, vertical stiffness, relaxation lengths and rolling resistance."""

    measured_on, pressure = ON_THE_LEFT, NO_PRESSURE
    relaxation, radii = relaxation_of_carcass, radii_of_carcass

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments."""
        load = maximum(at.F_z, 0.0)
        slip = normal_slip(self.C_x / self.mu_x, self.C_y / self.mu_y, at)
        along = Direction(self.mu_x, saturating_curve)
        across = Direction(self.mu_y, saturating_curve)
        return similar_forces(self, at, slip, along, across, load)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slip stiffnesses, proportional to load and independent of the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(self.C_x * load, self.C_y * load)

    def peaks(self, at: Contact) -> Peaks:
        """Friction coefficients, the same under any load; forces approach them asymptotically."""
        return Peaks(at.mu * self.mu_x, at.mu * self.mu_y)


def saturating_curve(length: one) -> one:
    """Saturating curve length / (1 + length⁸)^⅛.

    It is 1 % below linear at 0.73, and 8 % below the corner of its two asymptotes.
    """
    l2 = length * length
    l4 = l2 * l2
    return length / sqrt(sqrt(sqrt(1.0 + l4 * l4)))


LOCKED: one = 0.01
"""Spin over free-rolling spin below which a wheel counts as locked."""
UPRIGHT: one = 1e-9
"""Smallest theoretical slip in divisions, relative to full sliding.

The force depends on |slip|, so it has a slope at 0 but no second derivative.
"""


class BrushTyre(NamedTuple):
    """Brush tyre with equal bristles in all directions; default: a plausible car tyre."""

    mu: Annotated[one, positive] = 1.0
    """Friction coefficient of the rubber on the road."""
    c: Annotated[Pa, positive] = 4e6
    """Bristle stiffness: force over deflection, per metre of tread length."""
    a: Annotated[m, positive] = 0.1
    """Half length of the contact patch at the nominal load."""
    F_z0: Annotated[N, positive] = 4000.0
    """Nominal load."""
    carcass: Carcass = Carcass()
    """Radii, vertical stiffness, relaxation lengths and rolling resistance."""

    measured_on, pressure = ON_THE_LEFT, NO_PRESSURE
    relaxation, radii = relaxation_of_carcass, radii_of_carcass

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments."""
        load, friction = maximum(at.F_z, 0.0), self.mu * at.mu
        theta = self._stiffness_over_load() / (3.0 * self.mu * maximum(at.mu, TINY))
        bend = theta / above_zero(1.0 + at.kappa, LOCKED)
        x, y = bend * at.kappa, bend * tan(at.alpha)
        length = smooth_hypot(x, y, UPRIGHT)
        t = minimum(length, 1.0)
        force = friction * load * (3.0 + t * (t - 3.0)) * (t / length)
        F_x, F_y = force * x, -force * y
        left = 1.0 - t
        arm = self.half_length(load) * (left * left * left) / (3.0 + t * (t - 3.0))
        moment = self.carcass.resistance(at)
        return TyreForces(F_x, F_y, 0.0 * moment, moment, -arm * F_y)

    def half_length(self, F_z: N) -> m:
        """Half length of the contact patch under a load."""
        # The root alone would have an infinite slope at load 0.
        return self.a * sqrt(F_z / self.F_z0 + UPRIGHT)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slip stiffness 2 c a², proportional to load and independent of the grip of the road."""
        K = maximum(at.F_z, 0.0) * self._stiffness_over_load()
        return SlipStiffness(K, K)

    def peaks(self, at: Contact) -> Peaks:
        """Friction coefficients, the same in all directions and under any load."""
        return Peaks(at.mu * self.mu, at.mu * self.mu)

    def _stiffness_over_load(self) -> one:
        return 2.0 * self.c * self.a * self.a / self.F_z0


LEAST_SHARE: one = 0.1
"""Smallest share of the nominal friction, left under any load."""


class LoadSensitiveLaw(NamedTuple):
    """Force over slip in one direction, with load-dependent friction and stiffness.

    The curve falls after its peak, as C is above 1. Pacejka, Tyre and Vehicle Dynamics, 3rd ed.,
    section 4.3.1: friction as in eq. 4.E13, stiffness as in eq. 4.E25, both without camber,
    pressure and scale factors.
    """

    mu: Annotated[one, positive] = 1.0
    """Largest friction coefficient at the nominal load."""
    mu_fall: Annotated[one, non_negative] = 0.15
    """Share of the nominal friction that is lost at twice the nominal load."""
    K: Annotated[N, positive] = 80e3
    """Largest stiffness: force over slip (across the wheel, over slip angle in rad)."""
    F_K: Annotated[N, positive] = 8e3
    """Load at the largest stiffness; beyond it the stiffness falls."""
    C: Annotated[one, Allowed(1.0, 2.0)] = 1.4
    """Shape factor."""
    E: Annotated[one, Allowed(high=1.0)] = 0.0
    """Curvature factor."""

    def friction(self, F_z: N, F_z0: N) -> one:
        """Largest friction coefficient under a load; falls linearly, at most to a tenth."""
        return self.mu * maximum(1.0 - self.mu_fall * (F_z - F_z0) / F_z0, LEAST_SHARE)

    def stiffness_over_load(self, F_z: N) -> one:
        """Stiffness over load, finite at load 0: K sin(2 atan(F_z / F_K)) / F_z."""
        u = F_z / self.F_K
        return 2.0 * self.K / (self.F_K * (1.0 + u * u))


class LoadSensitiveTyre(NamedTuple):
    """Magic Formula tyre whose friction and stiffness grow less than proportionally to load.

    Combined slip is by similarity; camber has no effect. The defaults are plausible for a car tyre.
    """

    lateral: LoadSensitiveLaw = LoadSensitiveLaw()
    """Law of the lateral force over slip angle."""
    longitudinal: LoadSensitiveLaw = LoadSensitiveLaw(mu=1.1, K=130e3, F_K=10e3, C=1.6)
    """Law of the longitudinal force over longitudinal slip."""
    F_z0: Annotated[N, positive] = 4000.0
    """Nominal load."""
    trail: Annotated[m, non_negative] = 0.03
    """Pneumatic trail at small slip."""
    carcass: Carcass = Carcass()
    """Radii, vertical stiffness, relaxation lengths and rolling resistance."""

    measured_on, pressure = ON_THE_LEFT, NO_PRESSURE
    relaxation, radii = relaxation_of_carcass, radii_of_carcass

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments."""
        x, y, load = self.longitudinal, self.lateral, maximum(at.F_z, 0.0)
        mu_x, mu_y = x.friction(load, self.F_z0), y.friction(load, self.F_z0)
        slip = normal_slip(
            x.stiffness_over_load(load) / mu_x, y.stiffness_over_load(load) / mu_y, at
        )
        along = Direction(mu_x, magic_curve(x.C, x.E))
        across = Direction(mu_y, magic_curve(y.C, y.E))
        return similar_forces(self, at, slip, along, across, load)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slip stiffnesses under this load, independent of the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(
            load * self.longitudinal.stiffness_over_load(load),
            load * self.lateral.stiffness_over_load(load),
        )

    def peaks(self, at: Contact) -> Peaks:
        """Friction coefficients under this load and grip."""
        load = maximum(at.F_z, 0.0)
        return Peaks(
            at.mu * self.longitudinal.friction(load, self.F_z0),
            at.mu * self.lateral.friction(load, self.F_z0),
        )


QUARTER_TURN: rad = 1.5707963267948966


class MagicFormula(NamedTuple):
    """Lateral Magic Formula coefficients, constant over load and without offsets.

    The defaults are those of the car in the brains2 project (`car_constants.yaml`, lateral set).
    """

    B: Annotated[one, positive] = 14.550048996411983
    """Stiffness factor; the cornering stiffness is `B * C * D * F_z`, in N/rad."""
    C: Annotated[one, Allowed(0.0, 2.0, open_low=True)] = 1.57
    """Shape factor; above 1 the curve falls after its peak, above 2 it would change sign."""
    D: Annotated[one, non_negative] = 1.655492775
    """Peak friction coefficient."""
    E: Annotated[one, Allowed(high=1.0)] = 0.5464720000000001
    """Curvature factor; above 1 the curve would fold back and change sign at large slip."""

    def friction(self, alpha: rad) -> one:
        """Lateral force per load at a slip angle, with the sign of `alpha` and never above `D`.

        Pacejka, Tyre and Vehicle Dynamics, 3rd ed., eq. 4.49 without offsets, divided by the load.
        """
        return self.D * sin(self.C * bent(self.B * alpha, self.E))


def friction(alpha: rad, tyre: Any) -> one:
    """Lateral force per load at a slip angle in rad, for any tyre; it has the sign of `alpha`."""
    return tyre.friction(alpha)


def friction_on_road(alpha: Sequence[rad], tyre: Any, mu: one) -> list[one]:
    """Lateral forces per load at slip angles in rad, on a road with `mu` times the grip.

    Less grip lowers the peak and shifts it to less slip: mu f(alpha / mu). The slope at zero slip,
    which is due to the carcass, stays the same.
    """
    by_mu = 1.0 / maximum(mu, TINY)
    return [mu * friction(angle * by_mu, tyre) for angle in alpha]


def cornering_stiffness(F_z: N, p: MagicFormula) -> N_rad:
    """Cornering stiffness of a tyre under load `F_z`: slope of its lateral force at zero slip."""
    return p.B * p.C * p.D * F_z


class ProportionalTyre(NamedTuple):
    """Magic Formula tyre with forces proportional to load, without camber effects.

    Combined slip is by similarity. The lateral defaults are those of `MagicFormula`; for lack of a
    source, friction and stiffness along the wheel are the same.
    """

    lateral: MagicFormula = MagicFormula()
    """Law of the lateral force over slip angle."""
    longitudinal: MagicFormula = MagicFormula()
    """Law of the longitudinal force over longitudinal slip."""
    trail: Annotated[m, non_negative] = 0.03
    """Pneumatic trail at small slip."""
    carcass: Carcass = Carcass()
    """Radii, vertical stiffness, relaxation lengths and rolling resistance."""

    measured_on, pressure = ON_THE_LEFT, NO_PRESSURE
    relaxation, radii = relaxation_of_carcass, radii_of_carcass

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments."""
        x, y, load = self.longitudinal, self.lateral, maximum(at.F_z, 0.0)
        slip = normal_slip(x.B * x.C, y.B * y.C, at)
        along = Direction(x.D, magic_curve(x.C, x.E))
        across = Direction(y.D, magic_curve(y.C, y.E))
        return similar_forces(self, at, slip, along, across, load)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slip stiffnesses, proportional to load and independent of the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(
            cornering_stiffness(load, self.longitudinal), cornering_stiffness(load, self.lateral)
        )

    def peaks(self, at: Contact) -> Peaks:
        """Friction coefficients, the same under any load."""
        return Peaks(
            at.mu * largest_friction(self.longitudinal), at.mu * largest_friction(self.lateral)
        )


def largest_friction(p: MagicFormula) -> one:
    """Largest value of `MagicFormula.friction`: D, or less if the sine does not reach 1 (C < 1)."""
    return p.D * sin(QUARTER_TURN * minimum(p.C, 1.0))
