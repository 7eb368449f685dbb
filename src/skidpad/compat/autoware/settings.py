"""Parameters of the simulator around the model, under upstream's names, and its measurement noise.

The noise has one stream of normal numbers per channel, which depends on the seed and the name of
the channel alone. The numbers are drawn in blocks for speed, whose length does not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...core.checks import not_negative, one_of, positive
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...random import streams
from ...units import m, m_s, rad

BLOCK = 1024
"""Numbers drawn at a time per channel, which takes a few µs."""


class Deviations(NamedTuple):
    """Standard deviations of the measurement noise, by upstream's parameters."""

    position: m = 0.01
    """pos_noise_stddev: for x and for y, independently."""
    velocity: m_s = 0.01
    """vel_noise_stddev: one draw, shared by odometry and velocity report."""
    angle: rad = 0.0001
    """rpy_noise_stddev: for yaw only, not for roll and pitch."""
    steer: rad = 0.0001
    """steer_noise_stddev."""


class Sample(NamedTuple):
    """The noise of one tick."""

    x: m
    y: m
    velocity: m_s
    yaw: rad
    steer: rad


def samples(
    seed: int, deviations: Deviations, block: int = BLOCK
) -> Iterator[tuple[float, float, float, float, float]]:
    """The noise of one tick after another, each a tuple in the order of `Sample`."""

    def channel(name: str, deviation: float, kind: type = np.float64) -> Iterator[float]:
        for first in count(step=block):
            ticks = np.arange(first, first + block)
            drawn = streams.normals(seed, f"planning.{name}", ticks)[:, 0, 0]
            yield from (deviation * drawn).astype(kind).tolist()

    d = deviations
    return zip(
        channel("x", d.position),
        channel("y", d.position),
        channel("velocity", d.velocity),
        # The program draws the angle as a 32-bit float, the others as 64-bit ones.
        channel("yaw", d.angle, np.float32),
        channel("steer", d.steer),
        strict=True,
    )


SOURCES = ("ORIGIN", "INITIAL_POSE_TOPIC")
"""Values of initialize_source."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node; the defaults are those of upstream's source, not its YAML files."""

    simulated_frame_id: str = "base_link"
    """Frame of the vehicle."""
    origin_frame_id: str = "odom"
    """Frame of positions."""
    initialize_source: str = "INITIAL_POSE_TOPIC"
    """ORIGIN: start at x = y = yaw = 0. INITIAL_POSE_TOPIC: wait for `initial_pose`."""
    timer_sampling_time_ms: float = 25
    """Nominal period of the ticks in ms; under compat="upstream" also the unit of dead times."""
    initial_engage_state: bool = True
    """Whether the vehicle moves before `engage` is called. Upstream has no default."""
    add_measurement_noise: bool = False
    pos_noise_stddev: m = 0.01
    vel_noise_stddev: m_s = 0.01
    rpy_noise_stddev: rad = 0.0001
    steer_noise_stddev: rad = 0.0001
    x_stddev: m = 0.0001
    """Entry (x, x) of the odometry's covariance, unsquared."""
    y_stddev: m = 0.0001
    """Entry (y, y) of the odometry's covariance, unsquared."""
    enable_road_slope_simulation: bool = False
    """Whether gravity acts along a sloping road; the pitch is reported in any case."""
    enable_pub_steer: bool = True
    """Whether the steering angle is reported."""

    __repr__ = brief_repr

    @property
    def period(self) -> float:
        """Nominal period of the ticks, in s."""
        return self.timer_sampling_time_ms / 1000.0

    @property
    def deviations(self) -> Deviations:
        """Standard deviations of the measurement noise."""
        return Deviations(
            self.pos_noise_stddev,
            self.vel_noise_stddev,
            self.rpy_noise_stddev,
            self.steer_noise_stddev,
        )


NAMES = tuple(field.name for field in fields(Settings))
"""Names of the parameters of the simulator around the model."""


def settings(values: Mapping[str, Any], compat: str | None) -> Settings:
    """The settings among many parameters; one that is absent or None has its default."""
    supplied = {name: values[name] for name in NAMES if values.get(name) is not None}
    for name, value in supplied.items():
        kind = type(getattr(Settings, name))
        if name.endswith("_stddev"):
            supplied[name] = not_negative(name, value)
        elif name == "timer_sampling_time_ms":
            positive(name, value, "ms")
        elif not isinstance(value, kind):
            raise InvalidValue(f"{name} = {value!r} must be a {kind.__name__}")
    # Upstream waits for a pose under any other name, too.
    if compat is None and "initialize_source" in supplied:
        one_of("initialize_source", supplied["initialize_source"], SOURCES)
    return Settings(**supplied)
