"""How a car without wheel spin is told to drive and brake: by a force or by an acceleration.

Which of the two is the class of the record `drive` among the parameters of the car.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import abs, clip, smooth_step, where
from ..units import Allowed, N, kg, m_s, m_s2, non_negative, one, rad

__all__ = ["AccelerationCommand", "AccelerationInput", "ForceCommand", "ForceInput", "front_share"]

non_positive = Allowed(high=0.0)


class ForceInput(NamedTuple):
    """Targets of steering and of the force along the wheels."""

    steer: rad = 0.0
    """Target angle of the front wheels, positive to the left."""
    F_drive: N = 0.0
    """Target force of drive and brakes, forward positive; at rest a negative one drives back."""


class AccelerationInput(NamedTuple):
    """Targets of steering and of the force along the wheels over the mass."""

    steer: rad = 0.0
    """Target angle of the front wheels, positive to the left."""
    a_drive: m_s2 = 0.0
    """Target force of drive and brakes over the mass, forward positive. Resistance comes on top."""


class ForceCommand(NamedTuple):
    """The input is a force."""

    F_max: Annotated[N, non_negative] = 6e3
    """Largest force of the drive (estimate)."""
    F_min: Annotated[N, non_positive] = -15e3
    """Largest force of the brakes, or of the drive backwards, negative (estimate)."""

    Input = ForceInput

    def force(self, u: Any, mass: kg) -> N:
        """The force that an input asks for, within the limits."""
        return clip(u.F_drive, self.F_min, self.F_max)

    def input(self, steer: rad, force: N, mass: kg) -> ForceInput:
        """The input that asks for a force, within the limits."""
        return ForceInput(steer, clip(force, self.F_min, self.F_max))

    def limits(self, mass: kg) -> tuple[m_s2, m_s2]:
        """Lowest and highest force over the mass."""
        return self.F_min / mass, self.F_max / mass

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the input, by its name."""
        return {"F_drive": (self.F_min, self.F_max)}


class AccelerationCommand(NamedTuple):
    """The input is a force over the mass of the car."""

    a_max: Annotated[m_s2, non_negative] = 5.0
    """Most of the drive (estimate)."""
    a_min: Annotated[m_s2, non_positive] = -12.0
    """Most of the brakes, or of the drive backwards, negative (estimate)."""

    Input = AccelerationInput

    def force(self, u: Any, mass: kg) -> N:
        """The force that an input asks for, within the limits."""
        return mass * clip(u.a_drive, self.a_min, self.a_max)

    def input(self, steer: rad, force: N, mass: kg) -> AccelerationInput:
        """The input that asks for a force, within the limits."""
        return AccelerationInput(steer, clip(force * (1.0 / mass), self.a_min, self.a_max))

    def limits(self, mass: kg) -> tuple[m_s2, m_s2]:
        """Lowest and highest force over the mass."""
        return self.a_min, self.a_max

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the input, by its name."""
        return {"a_drive": (self.a_min, self.a_max)}


def front_share(force: N, v_x: m_s, drive_front: one, brake_front: one, v_brake: m_s) -> one:
    """Share of the front axle in a force: that of the brakes where it is against the motion.

    From rest every force is one of the drive; it becomes one of the brakes up to `v_brake`.
    """
    against = where(force > 0.0, -v_x, v_x)
    braking = smooth_step(against, 0.0 * v_brake, v_brake)
    return drive_front + (brake_front - drive_front) * braking


def drag(v_x: m_s, C_drag: Any) -> N:
    """Air drag along the car, against its motion."""
    return (-0.5 * C_drag) * (v_x * abs(v_x))
