"""Brakes: wheel torques as inputs, or a pedal that presses discs through oil."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import clip, maximum
from ...units import Allowed, Nm, Pa, m, m2, non_negative, one, positive, s
from .actuators import lag

fraction = Annotated[one, Allowed(0.0, 1.0)]


class BrakeTorques(NamedTuple):
    """Four brake torques that act as their inputs, one for each wheel."""


class BrakePressures(NamedTuple):
    """Pressures in the two circuits."""

    p_brake_f: Pa = 0.0
    """At the front discs."""
    p_brake_r: Pa = 0.0
    """At the rear discs."""


class PedalInputs(NamedTuple):
    """How a driver brakes."""

    brake: fraction = 0.0
    """How far the pedal is pressed."""
    handbrake: fraction = 0.0
    """How far the parking brake is pulled, which acts on the rear wheels at once."""


class Disc(NamedTuple):
    """A disc brake: torque = faces mu A r p."""

    mu: Annotated[one, non_negative] = 0.4
    """Friction of the pads."""
    area: Annotated[m2, non_negative] = 0.0023
    """Area of the pistons that press on one side of the disc."""
    radius: Annotated[m, positive] = 0.11
    """Radius at which the pads rub, effectively."""
    faces: Annotated[one, non_negative] = 2.0
    """Sides of the disc that pads press on."""

    def gain(self) -> float:
        """Torque per pressure, in m³."""
        return self.faces * self.mu * self.area * self.radius


class HydraulicBrakes(NamedTuple):
    """A pedal, two circuits with a balance between them, discs, and a parking brake."""

    p_max: Annotated[Pa, non_negative] = 10e6
    """Mean pressure of the circuits under a full pedal."""
    balance: fraction = 0.55
    """Share of the front circuit in the sum of both pressures."""
    t_lag: Annotated[s, positive] = 0.05
    """Time constant of the pressures."""
    parking: Annotated[Nm, non_negative] = 1500.0
    """Torque of the parking brake on each rear wheel."""
    front: Disc = Disc()
    """At each front wheel."""
    rear: Disc = Disc(area=0.0012)
    """At each rear wheel."""

    States = BrakePressures
    Inputs = PedalInputs

    def targets(self, pedal: one) -> tuple[Pa, Pa]:
        """Pressures that the circuits go to, front and rear."""
        total = 2.0 * self.p_max * clip(pedal, 0.0, 1.0)
        return self.balance * total, (1.0 - self.balance) * total

    def rates(self, x: Any, u: Any) -> BrakePressures:
        """How the pressures follow the pedal."""
        front, rear = self.targets(u.brake)
        return BrakePressures(
            lag(x.p_brake_f, front, self.t_lag), lag(x.p_brake_r, rear, self.t_lag)
        )

    def torques(self, x: Any, u: Any) -> tuple[Nm, Nm, Nm, Nm]:
        """What each wheel can be held with, at least 0."""
        front = self.front.gain() * maximum(x.p_brake_f, 0.0)
        hand = self.parking * clip(u.handbrake, 0.0, 1.0)
        rear = self.rear.gain() * maximum(x.p_brake_r, 0.0) + hand
        return front, front, rear, rear

    def peaks(self) -> tuple[Nm, Nm]:
        """Torque of a front and of a rear wheel under a full pedal."""
        front, rear = self.targets(1.0)
        return self.front.gain() * front, self.rear.gain() * rear

    def pedal(self, torque: Nm, handbrake: one) -> PedalInputs:
        """The inputs that give a torque on all wheels together."""
        front, rear = self.peaks()
        return PedalInputs(
            clip(torque * (1.0 / (2.0 * (front + rear))), 0.0, 1.0), clip(handbrake, 0.0, 1.0)
        )

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the inputs."""
        return {"brake": (0.0, 1.0), "handbrake": (0.0, 1.0)}
