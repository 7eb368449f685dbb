"""What the simple tyres have beside friction: radii, relaxation lengths, trail, rolling resistance.

Plausible values of a car tyre, not measured ones. All are constant: the laws of friction have what
depends on the load.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import maximum
from ...units import N_m, Nm, m, m_s, non_negative, one, positive
from ..low_speed import held_sign
from .contract import Contact, Radii, Relaxation

__all__ = ["Carcass"]


class Carcass(NamedTuple):
    """The tyre as a spring on which its wheel stands."""

    radius: Annotated[m, positive] = 0.3
    """Of the wheel without load."""
    C_z: Annotated[N_m, positive] = 2e5
    """Load over deflection."""
    sigma_x: Annotated[m, positive] = 0.2
    """Relaxation length along the wheel."""
    sigma_y: Annotated[m, positive] = 0.4
    """Relaxation length across the wheel."""
    rolling: Annotated[one, non_negative] = 0.01
    """Rolling resistance over load."""
    v_rolling: Annotated[m_s, positive] = 0.1
    """Speed of the tread from which rolling resistance is whole; below it fades to 0 at rest."""

    def relaxation(self) -> Relaxation:
        """Relaxation lengths, the same under any load."""
        return Relaxation(self.sigma_x, self.sigma_y)

    def radii(self, at: Contact) -> Radii:
        """Radii at the load of this contact, whatever the spin.

        A third of the deflection is missing from the rolling radius, as of a belt that is bent and
        hardly squeezed.
        """
        deflection = maximum(at.F_z, 0.0) / self.C_z
        return Radii(
            self.radius, self.radius - deflection, self.radius - deflection * (1.0 / 3.0), self.C_z
        )

    def resistance(self, at: Contact) -> Nm:
        """Moment of the rolling resistance; it always opposes the spin."""
        load = maximum(at.F_z, 0.0)
        return (
            -self.rolling * load * self.radius * held_sign(at.omega * self.radius, self.v_rolling)
        )
