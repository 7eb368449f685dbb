"""From a command, a gear and a slope to the input of a model, as the program translates them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import InvalidValue
from ...units import m_s2
from .messages import ActuationCommand, ControlCommand, Gear, single

Row = tuple[float, ...]
Translation = Callable[[Any, Gear | int, m_s2], Row]
"""From (command, gear, acceleration by slope) to the numbers of a model's input, in its order."""

# Looked up once: members of an enumeration are slow to find, and this runs at every tick.
_NONE, _REVERSE, _REVERSE_2 = Gear.NONE, Gear.REVERSE, Gear.REVERSE_2


def signed_acceleration(acceleration: m_s2, gear: Gear | int, slope: m_s2) -> m_s2:
    """Acceleration along the x axis of the vehicle, gravity included, as a 32-bit float.

    A command counts in the direction of the gear. In gear NONE nothing acts, gravity neither. The
    models without gears get the same number.
    """
    if gear is _NONE:
        return 0.0
    backward = gear is _REVERSE or gear is _REVERSE_2
    return single((-acceleration if backward else acceleration) + slope)


def _velocity(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return command[0], command[2]


def _acceleration(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return signed_acceleration(command[1], gear, slope), command[2]


def _geared(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return signed_acceleration(command[1], gear, slope), command[2], gear


def _pedal(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    # The model turns the sign by the gear itself, and the slope is not part of the dead time.
    return command[1], command[2], gear, slope


def _actuation(command: ActuationCommand, gear: Gear | int, slope: m_s2) -> Row:
    return *command, gear, slope


_TRANSLATIONS: dict[tuple[str, ...], Translation] = {
    ("velocity", "steer"): _velocity,
    ("acceleration", "steer"): _acceleration,
    ("acceleration", "steer", "gear"): _geared,
    ("acceleration", "steer", "gear", "slope"): _pedal,
    ("accel", "brake", "steer", "gear", "slope"): _actuation,
}


def translation(names: tuple[str, ...]) -> Translation:
    """How to fill an input with these fields."""
    if names not in _TRANSLATIONS:
        known = "; ".join(", ".join(row) for row in _TRANSLATIONS)
        raise InvalidValue(
            f"no command can be translated to the input {', '.join(names)}; known are {known}"
        )
    return _TRANSLATIONS[names]


def takes_actuation(names: tuple[str, ...]) -> bool:
    """Whether a model with these inputs is driven by pedals instead of accelerations."""
    return "accel" in names
