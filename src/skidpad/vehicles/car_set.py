"""The numbers of a car, with what they are from: the sets of `two_track` and `single_track`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..components.drive_command import ForceCommand

__all__ = ["CarSet"]


@dataclass(frozen=True)
class CarSet:
    """The numbers of a car."""

    values: Mapping[str, float]
    """Parameters of `two_track`, by name."""
    front: Any
    """Tyre of the front wheels."""
    rear: Any
    """Tyre of the rear wheels."""
    power: float
    """Largest power at the wheels together, in W."""
    sources: str
    """Where the numbers are from."""
    slip: Any = None
    """The law of slip where the usual one does not fit; None: the usual one."""
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parts of `two_track` where the usual ones do not fit, by name."""

    def drive(self) -> ForceCommand:
        """What torques and brakes of the car are as forces along it."""
        radius = max(self.front.carcass.radius, self.rear.carcass.radius)
        shares = (self.values["drive_front"], self.values["brake_front"])
        drive, brake = (2.0 / (radius * max(share, 1.0 - share)) for share in shares)
        return ForceCommand(drive * self.values["tau_max"], -brake * self.values["brake_max"])
