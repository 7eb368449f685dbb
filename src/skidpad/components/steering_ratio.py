"""What a driver turns: the front wheels themselves, or a steering wheel in front of a gear.

Which of them is the class of a car's record `steering`: `DirectSteering` or `SteeringWheel`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ..units import one, positive, rad

__all__ = ["DirectSteering", "SteeringWheel"]


class DirectSteering(NamedTuple):
    """The input is the angle of a wheel in the middle of the front axle."""

    def wheel_angle(self, turned: rad) -> rad:
        """Angle of the wheel in the middle, of the input."""
        return turned

    def input_angle(self, steer: rad) -> rad:
        """The input for an angle of the wheel in the middle."""
        return steer


class SteeringWheel(NamedTuple):
    """The input is the angle of a steering wheel, positive to the left."""

    ratio: Annotated[one, positive] = 16.0
    """Angle of the steering wheel over that of a wheel in the middle of the front axle."""

    def wheel_angle(self, turned: rad) -> rad:
        """Angle of the wheel in the middle, of the input."""
        return (1.0 / self.ratio) * turned

    def input_angle(self, steer: rad) -> rad:
        """The input for an angle of the wheel in the middle."""
        return self.ratio * steer
