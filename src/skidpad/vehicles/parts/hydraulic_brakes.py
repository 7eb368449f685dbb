"""Brakes: wheel torques as inputs, or a pedal with hydraulic circuits and discs."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import clip, maximum
from ...units import Allowed, Nm, Pa, m, m2, non_negative, one, positive, s
from .actuators import lag

fraction = Annotated[one, Allowed(0.0, 1.0)]


class BrakeTorques(NamedTuple):
    """Four brake torques as inputs, one for each wheel, without lag."""


class BrakePressures(NamedTuple):
    """Pressures of the two brake circuits."""

    p_brake_f: Pa = 0.0
    """Pressure at the front discs."""
    p_brake_r: Pa = 0.0
    """Pressure at the rear discs."""


class PedalInputs(NamedTuple):
    """Inputs of brake pedal and handbrake."""

    brake: fraction = 0.0
    """Position of the brake pedal, 0 to 1."""
    handbrake: fraction = 0.0
    """Position of the handbrake lever, 0 to 1; it acts on the rear wheels without lag."""


class Disc(NamedTuple):
    """Disc brake with the torque faces mu A r p."""

    mu: Annotated[one, non_negative] = 0.4
    """Friction coefficient of the pads."""
    area: Annotated[m2, non_negative] = 0.0023
    """Piston area on one side of the disc."""
    radius: Annotated[m, positive] = 0.11
    """Effective friction radius."""
    faces: Annotated[one, non_negative] = 2.0
    """Number of friction faces of the disc."""

    def gain(self) -> float:
        """Torque per pressure, in m³."""
        return self.faces * self.mu * self.area * self.radius


class HydraulicBrakes(NamedTuple):
    """Hydraulic brakes: pedal, two circuits with a balance between them, discs, handbrake."""

    p_max: Annotated[Pa, non_negative] = 10e6
    """Mean pressure of the two circuits at full pedal."""
    balance: fraction = 0.55
    """Share of the front circuit in the sum of both pressures."""
    t_lag: Annotated[s, positive] = 0.05
    """Time constant of the pressures."""
    parking: Annotated[Nm, non_negative] = 1500.0
    """Torque of the handbrake on each rear wheel."""
    front: Disc = Disc()
    """Disc of each front wheel."""
    rear: Disc = Disc(area=0.0012)
    """Disc of each rear wheel."""

    States = BrakePressures
    Inputs = PedalInputs

    def targets(self, pedal: one) -> tuple[Pa, Pa]:
        """Target pressures of the front and the rear circuit."""
        total = 2.0 * self.p_max * clip(pedal, 0.0, 1.0)
        return self.balance * total, (1.0 - self.balance) * total

    def rates(self, x: Any, u: Any) -> BrakePressures:
        """Rates of the pressures towards those that the pedal demands."""
        front, rear = self.targets(u.brake)
        return BrakePressures(
            lag(x.p_brake_f, front, self.t_lag), lag(x.p_brake_r, rear, self.t_lag)
        )

    def torques(self, x: Any, u: Any) -> tuple[Nm, Nm, Nm, Nm]:
        """Largest brake torque on each wheel, at least 0."""
        front = self.front.gain() * maximum(x.p_brake_f, 0.0)
        hand = self.parking * clip(u.handbrake, 0.0, 1.0)
        rear = self.rear.gain() * maximum(x.p_brake_r, 0.0) + hand
        return front, front, rear, rear

    def peaks(self) -> tuple[Nm, Nm]:
        """Torque of a front and of a rear wheel at full pedal."""
        front, rear = self.targets(1.0)
        return self.front.gain() * front, self.rear.gain() * rear

    def pedal(self, torque: Nm, handbrake: one) -> PedalInputs:
        """Inputs that give a total brake torque on all wheels."""
        front, rear = self.peaks()
        return PedalInputs(
            clip(torque * (1.0 / (2.0 * (front + rear))), 0.0, 1.0), clip(handbrake, 0.0, 1.0)
        )

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each input, by name."""
        return {"brake": (0.0, 1.0), "handbrake": (0.0, 1.0)}
