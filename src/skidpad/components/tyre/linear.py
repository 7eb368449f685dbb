"""Force in proportion to slip until it saturates: the least that tells grip from sliding."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import maximum, sqrt
from ...units import Pa, m, non_negative, one, positive
from .carcass import Carcass
from .contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from .similarity import Direction, combined_friction, fading_trail, normal_slip

__all__ = ["LinearTyre", "saturating_curve"]


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
        """No say."""
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
