"""The Magic Formula with grip and stiffness that grow less than the load."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import maximum
from ...units import Allowed, N, Pa, m, non_negative, one, positive
from .carcass import Carcass
from .contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from .similarity import Direction, combined_friction, fading_trail, magic_curve, normal_slip

__all__ = ["LoadSensitiveLaw", "LoadSensitiveTyre"]

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
        """No say."""
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
