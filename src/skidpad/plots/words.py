"""What quantities and their units are called in print; names are those of vehicles' records."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

DEGREES = {"rad": "°", "rad/s": "°/s", "rad/s²": "°/s²"}
"""Angles are in radians everywhere but on screen."""
GREEK = {
    "alpha": "α",
    "beta": "β",
    "delta": "δ",
    "kappa": "κ",
    "mu": "μ",
    "omega": "ω",
    "tau": "τ",
}
WORDS = {
    "x": "Position",
    "y": "Position",
    "yaw": "Heading",
    "v": "Speed",
    "v_x": "Velocity forward",
    "v_y": "Velocity to the left",
    "omega": "Yaw rate",
    "beta": "Slip angle",
    "steer": "Steering angle",
    "a_x": "Acceleration forward",
    "a_y": "Acceleration to the left",
    "a_long": "Acceleration forward",
    "a_lat": "Acceleration to the left",
}
_SYMBOLLESS = frozenset({"yaw", "steer", "a_long", "a_lat"})
"""Names that are words, which would only be said twice."""


def factor(unit: str) -> float:
    """What a value in this SI unit is multiplied by for the screen."""
    return float(np.rad2deg(1.0)) if unit in DEGREES else 1.0


def on_screen(values: Array, unit: str) -> Array:
    """Values in the unit of the screen."""
    return np.rad2deg(values) if unit in DEGREES else values


def screen_unit(unit: str) -> str:
    """The unit of the screen for an SI unit."""
    return DEGREES.get(unit, unit)


def symbol(name: str) -> str:
    """A name as a symbol of print: F_z_fl is F with the index z,fl."""
    letter, _, index = name.partition("_")
    letter = GREEK.get(letter, letter)
    upright = letter if len(letter) == 1 else f"\\mathrm{{{letter}}}"
    lower = index.replace("_", ",")
    return f"${upright}_{{\\mathrm{{{lower}}}}}$" if index else f"${upright}$"


def literal(text: str) -> str:
    """A text from outside: a dollar in somebody's title is a dollar."""
    return text.replace("$", r"\$")


def titled(name: str, unit: str) -> str:
    """Heading of a quantity: its words and symbol, or its name where it has no words; its unit."""
    words = WORDS.get(name)
    if words is None:
        heading = literal(name)
    else:
        heading = words if name in _SYMBOLLESS else f"{words} {symbol(name)}"
    return f"{heading} [{screen_unit(unit)}]" if unit else heading


def axis_label(name: str, unit: str) -> str:
    """Label of an axis: words, symbol and unit."""
    heading = titled(name, unit)
    return heading[0].lower() + heading[1:] if name in WORDS else heading
