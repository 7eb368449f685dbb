"""How cars without wheel spin are driven: force or acceleration, gears, and how demands slow them.

Whether `single_track` takes a force or an acceleration is the class of the record `drive` among its
parameters. Gears are numbered as in Autoware, with the rule that a car moves only the way its gear
says.

A demand to slow down stops a vehicle and holds it; it does not turn the motion round. A vehicle
goes forward unless its driver demands a speed below 0; an acceleration against that direction slows
the vehicle, and nothing else.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

from ...core.body import Demand
from ...ops import abs, clip, logical_or, smooth_step, where
from ...units import Allowed, N, kg, m_s, m_s2, non_negative, one, rad, s
from .actuators import limited

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


class Gear(IntEnum):
    """Gear selector positions; the numbers are those of autoware_vehicle_msgs/GearCommand."""

    NONE = 0
    NEUTRAL = 1
    DRIVE = 2
    DRIVE_2 = 3
    DRIVE_3 = 4
    DRIVE_4 = 5
    DRIVE_5 = 6
    DRIVE_6 = 7
    DRIVE_7 = 8
    DRIVE_8 = 9
    DRIVE_9 = 10
    DRIVE_10 = 11
    DRIVE_11 = 12
    DRIVE_12 = 13
    DRIVE_13 = 14
    DRIVE_14 = 15
    DRIVE_15 = 16
    DRIVE_16 = 17
    DRIVE_17 = 18
    DRIVE_18 = 19
    REVERSE = 20
    REVERSE_2 = 21
    PARK = 22
    LOW = 23
    LOW_2 = 24


def is_reverse(gear: one) -> bool:
    """Whether the gear drives backwards."""
    return logical_or(gear == Gear.REVERSE.value, gear == Gear.REVERSE_2.value)


def is_locked(gear: one) -> bool:
    """Whether the drive train is locked or off: no pedal and no slope moves the car."""
    return logical_or(gear == Gear.NONE.value, gear == Gear.PARK.value)


def is_neutral(gear: one) -> bool:
    """Whether the engine is cut off but the wheels roll."""
    return gear == Gear.NEUTRAL.value


def drives_nowhere(gear: one) -> bool:
    """Whether the gear drives neither forwards nor backwards; so does a number without a name."""
    unnamed = gear > Gear.LOW_2.value
    return logical_or(gear < Gear.DRIVE.value, logical_or(gear == Gear.PARK.value, unnamed))


def forbids(gear: one, v_x: m_s) -> bool:
    """Whether the gear forbids this velocity: against its direction, or any if it has none."""
    against = where(is_reverse(gear), -v_x, v_x) < 0.0
    return logical_or(drives_nowhere(gear), against)


def driven_acceleration(a: m_s2, gear: one, slope: m_s2) -> m_s2:
    """Acceleration along x from `a` in the gear's direction and a slope; 0 when locked."""
    along = where(is_reverse(gear), -a, a) + slope
    return where(is_locked(gear), 0.0, along)


HOLD_TIME: s = 0.1
"""Time constant with which a vehicle without brakes comes to rest and is held there."""


def way_of(demand: Demand) -> one:
    """1 where a demand is to go forward, -1 where it is to go backward."""
    return where(demand.v < 0.0, -1.0, 1.0)


def slows(demand: Demand) -> one:
    """Whether a demand is to be slower."""
    return demand.a * way_of(demand) < 0.0


def demanded_acceleration(demand: Demand, v_x: m_s, t_hold: s = HOLD_TIME) -> m_s2:
    """The acceleration to ask of a vehicle that has no brakes for a demand, at a speed along it.

    One that slows becomes 0 with the speed, and as strong the other way where it rolls so.
    """
    return where(slows(demand), limited(-v_x * (1.0 / t_hold), abs(demand.a)), demand.a)
