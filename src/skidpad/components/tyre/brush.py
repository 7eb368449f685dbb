"""The brush: elastic bristles under a parabola of pressure, which stick first and slide behind.

Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 3.2, after Fiala. Bristles enter the patch
upright, are bent by the theoretical slip sigma = (kappa, tan alpha) / |1 + kappa| as they pass
through it, and slide where friction under the pressure there no longer holds them. With
theta = 2 c a² / (3 mu F_z) and t = theta |sigma|, up to t = 1 where all of them slide,

    |F| = mu F_z (3 t - 3 t² + t³)            trail = a/3 (1 - t)³ / (1 - t + t²/3)

and the force points against the sliding. The patch is that of a round tyre on a flat road, its
length as the root of the load, so the stiffness 2 c a² is in proportion to the load.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import maximum, minimum, smooth_hypot, sqrt, tan
from ...units import N, Pa, m, one, positive
from ..low_speed import above_zero
from .carcass import Carcass
from .contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from .similarity import TINY

__all__ = ["BrushTyre"]

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
        """No say."""
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
