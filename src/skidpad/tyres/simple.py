"""Simple tyres: linear until they saturate, brush, and the Magic Formula with few numbers.

`LinearTyre` is the least that distinguishes grip from sliding. In `LoadSensitiveTyre` grip and
stiffness grow less than the load, in `ProportionalTyre` in proportion to it. `MagicFormula` is the
lateral law of bicycles: it has a peak friction coefficient `D` and `friction(alpha)`, the lateral
force per load at a slip angle, with the sign of `alpha`, never above `D`, smooth at 0.

Combined slip by similarity: slips are divided by the slip at which a tyre that stayed linear would
reach its largest force. In these terms every curve has slope 1 at 0 and maximum 1, and so has the
curve over the length of the vector of both (Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section
4.2). The force points along that vector while most of the tread sticks, and more and more against
the sliding as it slides: that of a locked wheel against the velocity of its patch. So it opposes
the sliding in each direction, dissipates energy, and stays inside the ellipse of the two largest
forces.

`BrushTyre` has elastic bristles under a parabola of pressure, which stick first and slide behind
(section 3.2, after Fiala). Bristles enter the patch upright, are bent by the theoretical slip
sigma = (kappa, tan alpha) / |1 + kappa| as they pass through it, and slide where friction under the
pressure there no longer holds them. With theta = 2 c a² / (3 mu F_z) and t = theta |sigma|, up to
t = 1 where all of them slide,

    |F| = mu F_z (3 t - 3 t² + t³)            trail = a/3 (1 - t)³ / (1 - t + t²/3)

and the force points against the sliding. The patch is that of a round tyre on a flat road, its
length as the root of the load, so the stiffness 2 c a² is in proportion to the load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from ..ops import atan, cos, maximum, minimum, sin, smooth_hypot, smooth_step, sqrt, tan
from ..units import Allowed, N, N_rad, Pa, m, non_negative, one, positive, rad
from .contract import Carcass, Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from .low_speed import above_zero

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


class LinearTyre(NamedTuple):
    """Linear over slip up to about 0.7 of the friction, which it keeps at any larger slip.

    Forces are in proportion to load; camber has no effect. Plausible values of a car tyre.
    """

    C_x: Annotated[one, positive] = 25.0
    """Longitudinal stiffness over load."""
    C_y: Annotated[one, positive] = 18.0
    """Cornering stiffness over load, in 1/rad."""
    mu_x: Annotated[one, positive] = 1.0
    """Largest friction along the wheel."""
    mu_y: Annotated[one, positive] = 1.0
    """Largest friction across the wheel."""
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
        """Pressure is ignored."""
        return 0.0

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments."""
        load = maximum(at.F_z, 0.0)
        slip = normal_slip(self.C_x / self.mu_x, self.C_y / self.mu_y, at)
        along = Direction(self.mu_x, saturating_curve)
        across = Direction(self.mu_y, saturating_curve)
        F_x, F_y = combined_friction(slip, along, across, at.mu * load)
        moment = self.carcass.resistance(at)
        return TyreForces(F_x, F_y, 0.0 * moment, moment, -fading_trail(self.trail, slip) * F_y)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """In proportion to the load, whatever the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(self.C_x * load, self.C_y * load)

    def peaks(self, at: Contact) -> Peaks:
        """The same under any load; forces come near with slip and never get there."""
        return Peaks(at.mu * self.mu_x, at.mu * self.mu_y)

    def relaxation(self, at: Contact) -> Relaxation:
        """The same under any load."""
        return self.carcass.relaxation()

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact."""
        return self.carcass.radii(at)


def saturating_curve(length: one) -> one:
    """length / (1 + length⁸)^⅛: 1 % below linear at 0.73, 8 % below both lines at their corner."""
    l2 = length * length
    l4 = l2 * l2
    return length / sqrt(sqrt(sqrt(1.0 + l4 * l4)))


LOCKED: one = 0.01
"""Spin over that of free rolling below which a wheel counts as locked."""
UPRIGHT: one = 1e-9
"""Theoretical slip over that of full sliding which stands in for 0. The bend of the curve there
is in |slip|: the force has a slope at 0 and no curvature."""


class BrushTyre(NamedTuple):
    """Bristles alike in all directions. Plausible values of a car tyre."""

    mu: Annotated[one, positive] = 1.0
    """Friction of the rubber on the road."""
    c: Annotated[Pa, positive] = 4e6
    """Stiffness of the bristles: force over deflection, of a length of tread of 1 m."""
    a: Annotated[m, positive] = 0.1
    """Half of the length of the patch at the nominal load."""
    F_z0: Annotated[N, positive] = 4000.0
    """Nominal load."""
    carcass: Carcass = Carcass()
    """Radii, relaxation and rolling resistance."""

    @property
    def measured_on(self) -> one:
        """Either side: it is its own mirror image."""
        return 1.0

    @property
    def pressure(self) -> Pa:
        """Pressure is ignored."""
        return 0.0

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments."""
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
        """Half of the length of the patch under a load."""
        # The root alone would have an infinite slope at load 0.
        return self.a * sqrt(F_z / self.F_z0 + UPRIGHT)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """2 c a², in proportion to the load, whatever the grip of the road."""
        K = maximum(at.F_z, 0.0) * self._stiffness_over_load()
        return SlipStiffness(K, K)

    def peaks(self, at: Contact) -> Peaks:
        """The same in all directions and under any load."""
        return Peaks(at.mu * self.mu, at.mu * self.mu)

    def relaxation(self, at: Contact) -> Relaxation:
        """The same under any load."""
        return self.carcass.relaxation()

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact."""
        return self.carcass.radii(at)

    def _stiffness_over_load(self) -> one:
        return 2.0 * self.c * self.a * self.a / self.F_z0


LEAST_SHARE: one = 0.1
"""Share of the nominal friction that is left however large the load."""


class LoadSensitiveLaw(NamedTuple):
    """Force over slip in one direction. The curve turns down after its peak: C is above 1.

    Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 4.3.1: friction as in eq. 4.E13, stiffness
    as in eq. 4.E25, both without camber, pressure and scale factors.
    """

    mu: Annotated[one, positive] = 1.0
    """Largest friction at the nominal load."""
    mu_fall: Annotated[one, non_negative] = 0.15
    """Share of the nominal friction lost when the load is twice the nominal one."""
    K: Annotated[N, positive] = 80e3
    """Largest stiffness, force over slip (over slip in rad across the wheel)."""
    F_K: Annotated[N, positive] = 8e3
    """Load of the largest stiffness. Beyond it the stiffness falls."""
    C: Annotated[one, Allowed(1.0, 2.0)] = 1.4
    """Shape factor."""
    E: Annotated[one, Allowed(high=1.0)] = 0.0
    """Curvature factor."""

    def friction(self, F_z: N, F_z0: N) -> one:
        """Largest friction under a load; it falls in a straight line, to a tenth at the least."""
        return self.mu * maximum(1.0 - self.mu_fall * (F_z - F_z0) / F_z0, LEAST_SHARE)

    def stiffness_over_load(self, F_z: N) -> one:
        """Stiffness over load, finite at load 0: K sin(2 atan(F_z / F_K)) / F_z."""
        u = F_z / self.F_K
        return 2.0 * self.K / (self.F_K * (1.0 + u * u))


class LoadSensitiveTyre(NamedTuple):
    """Magic Formula in both directions under a load that makes the rubber grip less.

    Combined slip is by similarity; camber has no effect. Plausible values of a car tyre.
    """

    lateral: LoadSensitiveLaw = LoadSensitiveLaw()
    """Over slip angle."""
    longitudinal: LoadSensitiveLaw = LoadSensitiveLaw(mu=1.1, K=130e3, F_K=10e3, C=1.6)
    """Over longitudinal slip."""
    F_z0: Annotated[N, positive] = 4000.0
    """Nominal load."""
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
        """Pressure is ignored."""
        return 0.0

    def forces(self, at: Contact) -> TyreForces:
        """Steady forces and moments."""
        x, y, load = self.longitudinal, self.lateral, maximum(at.F_z, 0.0)
        mu_x, mu_y = x.friction(load, self.F_z0), y.friction(load, self.F_z0)
        slip = normal_slip(
            x.stiffness_over_load(load) / mu_x, y.stiffness_over_load(load) / mu_y, at
        )
        F_x, F_y = combined_friction(
            slip,
            Direction(mu_x, magic_curve(x.C, x.E)),
            Direction(mu_y, magic_curve(y.C, y.E)),
            at.mu * load,
        )
        moment = self.carcass.resistance(at)
        return TyreForces(F_x, F_y, 0.0 * moment, moment, -fading_trail(self.trail, slip) * F_y)

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Under this load, whatever the grip of the road."""
        load = maximum(at.F_z, 0.0)
        return SlipStiffness(
            load * self.longitudinal.stiffness_over_load(load),
            load * self.lateral.stiffness_over_load(load),
        )

    def peaks(self, at: Contact) -> Peaks:
        """Under this load and grip."""
        load = maximum(at.F_z, 0.0)
        return Peaks(
            at.mu * self.longitudinal.friction(load, self.F_z0),
            at.mu * self.lateral.friction(load, self.F_z0),
        )

    def relaxation(self, at: Contact) -> Relaxation:
        """The same under any load."""
        return self.carcass.relaxation()

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact."""
        return self.carcass.radii(at)


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
"""Lateral force per load at slip angles, of a tyre, on a road with a factor on the grip."""


def friction_on_road(alpha: Sequence[rad], tyre: Any, mu: one) -> list[one]:
    """Lateral force per load at some slip angles on a road with `mu` times the grip.

    Less grip lowers the peak and brings it to less slip; the slope at zero slip, which the tyre has
    from its carcass, stays: mu f(alpha / mu).
    """
    by_mu = 1.0 / maximum(mu, TINY)
    return [mu * friction(angle * by_mu, tyre) for angle in alpha]


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
        """Pressure is ignored."""
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
    """Largest `MagicFormula.friction`: D, or less if the sine does not reach its top (C < 1)."""
    return p.D * sin(QUARTER_TURN * minimum(p.C, 1.0))
