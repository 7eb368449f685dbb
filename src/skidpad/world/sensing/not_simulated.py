"""What stands in for the reading of a sensor that is not simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from ..scene import sensors as specs

RENDERED = (specs.Lidar3d, specs.Camera, specs.RgbdCamera)
"""Sensors that need a renderer."""


@dataclass(frozen=True)
class NotSimulated:
    """In place of a reading; false where a truth value is wanted, and says so when it is used."""

    sensor: str
    """Class and name, and the vehicle that it is on."""
    reason: str

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        # Python asks for names of its own when it copies and pickles.
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no {name}: {self}")

    def __str__(self) -> str:
        return f"{self.sensor} is not simulated: {self.reason}"


def not_simulated(owner: str, sensor: Any, known: tuple[str, ...]) -> NotSimulated | None:
    """What to show of a sensor that is not simulated; None: it is. `known` are skidpad's own."""
    of = f" of {owner}" if owner else ""
    if isinstance(sensor, RENDERED):
        kind = {kind: name for name, kind in specs.SENSORS.items()}[type(sensor)]
        return NotSimulated(f"{kind} {sensor.name}{of}", "it needs a renderer")
    if isinstance(sensor, specs.OwnSensor) and sensor.kind not in known:
        reason = f"skidpad has no sensor of this class; it has {', '.join(known)}"
        return NotSimulated(f"skidpad:{sensor.kind} {sensor.name}{of}", reason)
    return None
