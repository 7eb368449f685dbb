"""A clutch that holds without creeping: shafts that twist, in series with friction that slips.

The twist follows the slip and, the more torque it carries, the more of the slip goes by (Dahl): it
is a spring for small slip, and a friction of full capacity for large. Half closed, by the share
`closed`, it feels that share of the slip and hands on that share of the torque, so that at every
closing what goes in and does not come out is stored in the twist or lost:

    torque = closed (k twist + damping),    twist' = closed slip - |closed slip| k twist / capacity
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ...ops import abs, maximum, minimum, smooth_step
from ...units import J, Nm, Nm_rad, Nm_s_rad, non_negative, one, positive, rad, rad_s, s
from .smooth import saturated

__all__ = ["Clutch", "ClutchTorque"]


class ClutchTorque(NamedTuple):
    """What a clutch does at one instant."""

    torque: Nm
    """From the engine to the gearbox."""
    twist_rate: rad_s


class Clutch(NamedTuple):
    """A clutch that closes by itself as the engine revs up, so that it never stalls."""

    capacity: Annotated[Nm, positive] = 350.0
    """Largest torque."""
    spin_engage: Annotated[rad_s, positive] = 110.0
    """Spin of the engine at which it begins to close."""
    spin_closed: Annotated[rad_s, positive] = 180.0
    """Spin of the engine from which on it is closed."""
    k: Annotated[Nm_rad, positive] = 500.0
    """Stiffness of clutch and shafts, seen from the engine."""
    damping: Annotated[Nm_s_rad, non_negative] = 2.0
    """Of that twist."""
    t_release: Annotated[s, positive] = 0.05
    """Time in which an open clutch untwists."""

    def closed(self, engine: rad_s, gear: one) -> one:
        """How far it is closed, 0 to 1; in neutral not at all."""
        return smooth_step(engine, self.spin_engage, self.spin_closed) * minimum(gear * gear, 1.0)

    def transmitted(self, twist: rad, closed: one, slip: rad_s) -> ClutchTorque:
        """Torque and rate of the twist; `slip` is what the engine is faster than the gearbox."""
        by_capacity = 1.0 / self.capacity
        spring, felt = self.k * twist, closed * slip
        spare = maximum(self.capacity - abs(spring), 0.0)
        damping = spare * saturated((self.damping * by_capacity) * felt)
        open_2 = (1.0 - closed) * (1.0 - closed)
        open_8 = (open_2 * open_2) * (open_2 * open_2)
        untwisting = open_8 * (1.0 / self.t_release) * twist
        rate = felt - abs(felt) * (spring * by_capacity) - untwisting
        return ClutchTorque(closed * (spring + damping), rate)

    def stored(self, twist: rad) -> J:
        """Energy of the twist."""
        return 0.5 * self.k * (twist * twist)
