"""Gears as Autoware numbers them, and the rule that lets a car move only the way its gear says."""

from __future__ import annotations

from enum import IntEnum

from ..ops import logical_or, where
from ..units import m_s, m_s2, one

__all__ = [
    "Gear",
    "driven_acceleration",
    "drives_nowhere",
    "forbids",
    "is_locked",
    "is_neutral",
    "is_reverse",
]


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
