"""What quantities are called in print; their names are those of the vehicles' records."""

from __future__ import annotations

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


def titled(name: str) -> str:
    """Heading of a quantity: its words and symbol, or its name where it has no words."""
    words = WORDS.get(name)
    if words is None:
        return name
    return words if name in _SYMBOLLESS else f"{words} `{name}`"


def axis_label(name: str, unit: str) -> str:
    """Label of an axis: words, symbol and unit."""
    heading = titled(name)
    heading = heading[0].lower() + heading[1:] if name in WORDS else heading
    return f"{heading} [{unit}]"
