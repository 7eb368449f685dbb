"""The parameters of the simulator around the model, under the names they have upstream.

Measurement noise: one stream of normal numbers per channel, the same for the same seed.

A stream depends on the seed and the name of its channel alone, so that what one channel draws does
not shift another. The numbers are drawn in blocks for speed; the length of a block does not show.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from ...core.checks import finite
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...random import streams
from ...units import m, m_s, rad

BLOCK = 1024
"""Numbers drawn at a time per channel: a few µs, paid once in so many ticks."""


class Deviations(NamedTuple):
    """Standard deviations of the measurement noise, by upstream's parameters."""

    position: m = 0.01
    """pos_noise_stddev: of x and of y, independent of each other."""
    velocity: m_s = 0.01
    """vel_noise_stddev: one draw, shared by odometry and velocity report."""
    angle: rad = 0.0001
    """rpy_noise_stddev: of yaw only; roll and pitch get none."""
    steer: rad = 0.0001
    """steer_noise_stddev."""


class Sample(NamedTuple):
    """The noise of one tick."""

    x: m
    y: m
    velocity: m_s
    yaw: rad
    steer: rad


def fresh_seed() -> int:
    """A seed from the operating system."""
    return secrets.randbits(64)


def normals(seed: int, channel: str, block: int = BLOCK) -> Iterator[np.ndarray]:
    """Blocks of standard normal numbers of one channel, without end."""
    for first in count(step=block):
        yield streams.normals(seed, channel, np.arange(first, first + block))[:, 0, 0]


def samples(
    seed: int, deviations: Deviations, block: int = BLOCK
) -> Iterator[tuple[float, float, float, float, float]]:
    """The noise of one tick after another, each a tuple in the order of `Sample`."""
    d = deviations
    return zip(
        _scaled(seed, "planning.x", d.position, block),
        _scaled(seed, "planning.y", d.position, block),
        _scaled(seed, "planning.velocity", d.velocity, block),
        # The program draws the angle as a 32-bit float, the others as 64-bit ones.
        _scaled(seed, "planning.yaw", d.angle, block, np.float32),
        _scaled(seed, "planning.steer", d.steer, block),
        strict=True,
    )


def _scaled(
    seed: int, channel: str, deviation: float, block: int, kind: type = np.float64
) -> Iterator[float]:
    blocks = normals(seed, channel, block)
    return chain.from_iterable((deviation * drawn).astype(kind).tolist() for drawn in blocks)


SOURCES = ("ORIGIN", "INITIAL_POSE_TOPIC")
"""Values of initialize_source."""


@dataclass(frozen=True)
class Settings:
    """Parameters of the node; defaults are those of upstream's source, not of its YAML files."""

    simulated_frame_id: str = "base_link"
    """Frame of the vehicle."""
    origin_frame_id: str = "odom"
    """Frame of positions."""
    initialize_source: str = "INITIAL_POSE_TOPIC"
    """ORIGIN: start at x = y = yaw = 0. INITIAL_POSE_TOPIC: wait for `initial_pose`."""
    timer_sampling_time_ms: float = 25
    """Nominal period of the ticks in ms; dead times are counted in it under compat="upstream"."""
    initial_engage_state: bool = True
    """Whether the vehicle moves before `engage` is called. Upstream has no default."""
    add_measurement_noise: bool = False
    pos_noise_stddev: m = 0.01
    vel_noise_stddev: m_s = 0.01
    rpy_noise_stddev: rad = 0.0001
    steer_noise_stddev: rad = 0.0001
    x_stddev: m = 0.0001
    """Written at (x, x) of the odometry's covariance as it is."""
    y_stddev: m = 0.0001
    """Written at (y, y) of the odometry's covariance as it is."""
    enable_road_slope_simulation: bool = False
    """Whether gravity acts along a sloping road. The pitch is reported either way."""
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
    """The settings among many parameters; what is absent or None has its default."""
    chosen = {name: values[name] for name in NAMES if values.get(name) is not None}
    read = Settings(**{name: _checked(name, value) for name, value in chosen.items()})
    # Upstream waits for a pose under any other name, too.
    if read.initialize_source not in SOURCES and compat is None:
        raise InvalidValue(
            f"initialize_source = {read.initialize_source!r} is unknown; "
            f"allowed are {', '.join(SOURCES)}"
        )
    return read


def size(name: str, value: Any) -> float:
    """A period or standard deviation as a float; raises unless it is finite and not negative."""
    number = finite(name, value)
    if number < 0.0:
        raise InvalidValue(f"{name} = {value} must not be negative")
    return number


def _checked(name: str, value: Any) -> Any:
    if name.endswith("_stddev"):
        return size(name, value)
    if name == "timer_sampling_time_ms":
        if size(name, value) == 0.0:
            raise InvalidValue(f"{name} = {value} ms must be greater than 0")
        return value
    kind = type(getattr(Settings, name))
    if not isinstance(value, kind):
        raise InvalidValue(f"{name} = {value!r} must be a {kind.__name__}")
    return value
