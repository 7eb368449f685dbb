"""Sensors of a recording besides lidars: kinds, where they sit, and their readings.

A reading is a row of numbers with the time at which it was taken; `COLUMNS` says which numbers a
kind has. A kind is also the role of its topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from ...core.arrays import Array
from ...core.files import brief_repr
from ...core.record import unknown_name
from ...errors import InvalidValue

SensorKind = Literal["imu", "gnss", "odometry", "bumper"]
KINDS: Mapping[SensorKind, str] = {
    "imu": "skidpad.Imu",
    "gnss": "foxglove.LocationFix",
    "odometry": "skidpad.Odometry",
    "bumper": "skidpad.Bumper",
}
"""Message types of sensors."""
COLUMNS: Mapping[SensorKind, tuple[tuple[str, str], ...]] = {
    "imu": (
        *((f"omega_{axis}", "rad/s") for axis in "xyz"),
        *((f"f_{axis}", "m/s²") for axis in "xyz"),
    ),
    "gnss": (("latitude", "deg"), ("longitude", "deg"), ("altitude", "m")),
    "odometry": (("x", "m"), ("y", "m"), ("yaw", "rad"), ("v_x", "m/s"), ("omega", "rad/s")),
    "bumper": (("touching", "1"),),
}
"""Names and units of the numbers of a reading."""
ORIENTATION = tuple((f"orientation_{axis}", "1") for axis in "xyzw")
"""Further numbers of an inertial unit that tells how the body is turned: a quaternion."""


class SensorMount(NamedTuple):
    """A sensor on a body."""

    name: str
    body: str
    kind: SensorKind = "imu"
    x: float = 0.0
    """Where it sits, in the frame of the body, in m."""
    y: float = 0.0
    z: float = 0.0
    roll: float = 0.0
    """How it is turned, in rad."""
    pitch: float = 0.0
    yaw: float = 0.0
    oriented: bool = False
    """Whether an inertial unit also measures how the body is turned."""
    deviations: tuple[float, float] = (0.0, 0.0)
    """Horizontal and vertical standard deviation of a satellite receiver, in m."""

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the numbers of a reading."""
        return COLUMNS[self.kind] + (ORIENTATION if self.oriented else ())


class SensorLog(NamedTuple):
    """Readings of a sensor besides lidars."""

    mount: SensorMount
    """Kind, name, body and place of the sensor."""
    times: Array
    """(n,) in s: when each reading was taken."""
    values: Array
    """(n, columns) as `columns` lists them."""

    __repr__ = brief_repr

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Names and units of the numbers: of an inertial unit rates, then specific forces along its
        own axes, then the quaternion of its body if it tells that."""
        return self.mount.columns

    def column(self, name: str) -> Array:
        """One number of all readings, (n,)."""
        names = [known for known, _ in self.columns]
        if name not in names:
            raise InvalidValue(unknown_name(self.mount.name, name, names, "column"))
        return self.values[:, names.index(name)]
