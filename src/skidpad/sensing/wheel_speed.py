"""Wheel speed: how fast the wheels of a car turn, as a sensor at each hub or its encoder tells.

The wheels roll: a wheel turns as fast as its contact patch moves along it. The cars of this package
give forces at the wheels, not their spin, so slip along the wheel is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..body import body_of
from ..brief import brief_repr
from ..checks import must_be
from ..components.wheel import contact_velocities, in_wheel_frame
from ..errors import InvalidValue
from ..model import Vehicle
from ..ops import atan2, cos, sin
from ..units import m, non_negative, one, positive, rad, rad_s, s
from .knobs import PERFECT, Channel, checked_channel
from .motion import Motion
from .sensor import Sensor


class WheelSpeedReading(NamedTuple):
    """Rate of turn of each wheel, positive forward, and the pulses of its encoder."""

    fl: rad_s
    """Front left wheel."""
    fr: rad_s
    """Front right wheel."""
    rl: rad_s
    """Rear left wheel."""
    rr: rad_s
    """Rear right wheel."""
    ticks_fl: one = 0.0
    """Pulses of the front left wheel since the start, less those counted backwards; 0 without an
    encoder."""
    ticks_fr: one = 0.0
    """Pulses of the front right wheel."""
    ticks_rl: one = 0.0
    """Pulses of the rear left wheel."""
    ticks_rr: one = 0.0
    """Pulses of the rear right wheel."""
    stamp: s = 0.0
    """Time at which it was taken."""


class WheelAngles(NamedTuple):
    """Steering angles of the front wheels, positive to the left."""

    left: rad
    right: rad


def ackermann_angles(steer: rad, wheelbase: m, track: m) -> WheelAngles:
    """Angles with which both front wheels roll about the centre of the turn.

    `steer` is that of a wheel in the middle of the axle, below a right angle.
    """
    across, along = wheelbase * sin(steer), wheelbase * cos(steer)
    half = 0.5 * track * sin(steer)
    return WheelAngles(atan2(across, along - half), atan2(across, along + half))


@dataclass(frozen=True, kw_only=True)
class WheelSpeed(Sensor):
    """Speeds of the wheels fl, fr, rl, rr, in rad/s.

    With `ticks` the sensor counts pulses: a speed is those of a period over its length, and what is
    left of a pulse counts in the next one.
    """

    name: str = "wheel_speed"
    radius: float
    """Rolling radius of the wheels in m."""
    l_f: float
    """Distance from the body point to the front axle in m."""
    l_r: float
    """Distance from the body point to the rear axle in m."""
    track: float
    """Distance between the wheels of an axle in m."""
    steering: str = "parallel"
    """How the front wheels follow the steering angle: "parallel" both have it, as in the cars of
    this package; "ackermann" each rolls about the centre of the turn."""
    ticks: int | None = None
    """Pulses per turn of an encoder; None for a speed that is not counted."""
    channel: Channel = PERFECT
    """Errors of each wheel, independent of each other, in rad/s; before the encoder counts."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        must_be("WheelSpeed.radius", self.radius, positive, "m")
        must_be("WheelSpeed.track", self.track, non_negative, "m")
        must_be("WheelSpeed.l_f", self.l_f, non_negative, "m")
        must_be("WheelSpeed.l_r", self.l_r, non_negative, "m")
        if self.steering not in ("parallel", "ackermann"):
            raise InvalidValue(
                f"WheelSpeed.steering = {self.steering!r} is unknown; "
                "allowed are parallel, ackermann"
            )
        if self.ticks is not None and (type(self.ticks) is not int or self.ticks < 1):
            raise InvalidValue(
                f"WheelSpeed.ticks = {self.ticks!r} must be a whole number, at least 1, or None"
            )
        checked_channel("WheelSpeed.channel", self.channel)
        super().__post_init__()

    @classmethod
    def of(cls, vehicle: Vehicle, *, radius: float | None = None, **settings: Any) -> WheelSpeed:
        """The sensors of a vehicle's own wheels; `radius` is that of its geometry if not given."""
        body_of(vehicle, "a wheel speed sensor")
        shape = vehicle.geometry
        if not shape.wheels:
            raise InvalidValue(f"{vehicle.name!r} has no wheels: give WheelSpeed its geometry")
        own: dict[str, Any] = {
            "radius": shape.wheels[0].radius if radius is None else radius,
            "l_f": shape.front_axle,
            "l_r": 0.0 - shape.rear_axle,
            "track": shape.track,
        }
        return cls(**{**own, **settings})

    @property
    def Reading(self) -> type:
        """`WheelSpeedReading`."""
        return WheelSpeedReading

    @property
    def channels(self) -> tuple[Channel, ...]:
        """One per wheel."""
        return (self.channel,) * 4

    @property
    def looks_back(self) -> bool:
        """With an encoder: it counts over a period."""
        return self.ticks is not None

    def measure(self, truth: Motion) -> WheelSpeedReading:
        """The speeds without errors, for numbers, arrays and symbols."""
        v = contact_velocities(truth.v_x, truth.v_y, truth.omega, self.l_f, self.l_r, self.track)
        left, right = self._angles(truth.steer)
        front = (
            in_wheel_frame(velocity, cos(angle), sin(angle)).x
            for velocity, angle in ((v.fl, left), (v.fr, right))
        )
        return WheelSpeedReading(*(along / self.radius for along in (*front, v.rl.x, v.rr.x)))

    def _angles(self, steer: rad) -> WheelAngles:
        if self.steering == "parallel":
            return WheelAngles(steer, steer)
        return ackermann_angles(steer, self.l_f + self.l_r, self.track)

    def compared(self, truth: Motion, before: Motion, elapsed: Any) -> Sequence[Any]:
        """The speeds at a sample; for an encoder the mean since the one before."""
        now = self.measure(truth)[:4]
        if not self.looks_back:
            return now
        return [0.5 * (a + b) for a, b in zip(now, self.measure(before), strict=False)]

    def completed(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """Speeds and pulses, (n, fields); the angle turned is what carries over."""
        if self.ticks is None:
            return np.concatenate([read, np.zeros_like(read)], axis=-1), None
        start = np.zeros(read.shape[1:]) if own is None else own
        turned = read * (elapsed[:, :, None] * (self.ticks / (2.0 * pi)))
        turned[0] += start
        angle = np.cumsum(turned, axis=0)
        counted = np.floor(angle)
        pulses = np.diff(counted, axis=0, prepend=np.floor(start)[None])
        time = np.where(elapsed > 0.0, elapsed, 1.0)[:, :, None]
        speed = pulses * (2.0 * pi / self.ticks) / time
        return np.concatenate([speed, counted], axis=-1), angle[-1]
