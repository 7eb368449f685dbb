"""What a world file says about a vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

from ...brief import brief_repr
from ...model import Vehicle
from ...units import m, non_negative, one, positive, rad_s, s
from ...vehicles.wheeled import Description
from .fields import NOWHERE, READ, Source, Tag
from .sensors import Sensor
from .shapes import AT_REST, Keyframe, Pose, Publish, Shape, Velocity, Visual


@dataclass(frozen=True)
class OwnDynamics:
    """One of skidpad's own vehicles: `<dynamics class="skidpad:NAME">`."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    """Parameters that differ from the defaults, by dotted name."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Odometry:
    """Factors on the increments of the odometry pose; None: drawn from N(1, 0.02²)."""

    x_multiplier: one | None = None
    y_multiplier: one | None = None
    yaw_multiplier: one | None = None


class TimedPoint(NamedTuple):
    """Where to be at a time."""

    time: s
    x: m
    y: m


@dataclass(frozen=True)
class TimedPath:
    """What a vehicle follows by itself: `<controller class="trajectory">`."""

    points: tuple[TimedPoint, ...]
    """Two or more, by time."""
    loop: Annotated[bool, READ] = True
    """Whether it starts again after its last point; if not, the vehicle stops there."""
    lookahead: Annotated[m, Tag("lookahead_distance"), positive] = 0.5
    """How far along the path, beyond the point of the time, the vehicle steers for."""
    omega_max: Annotated[rad_s, Tag("max_angular_speed"), non_negative] = 2.0
    """Largest yaw rate, for which the vehicle slows down; 0: none."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class VehicleSpec:
    """A vehicle of a scene."""

    name: str
    pose: Pose
    dynamics: Description | OwnDynamics | Vehicle
    """What moves it: wheels, friction, drivetrain and controller, a vehicle of skidpad's own by its
    name, or any vehicle with a body."""
    shape: Shape | None = None
    """Outline of its chassis for contacts; None: the file says nothing, and its own will do."""
    velocity: Velocity = AT_REST
    sensors: tuple[Sensor, ...] = ()
    odometry: Odometry = Odometry()
    visuals: tuple[Visual, ...] = ()
    animation: tuple[Keyframe, ...] = ()
    publish: Publish | None = None
    skip_elevation_adjust: bool = False
    log_path: str = ""
    auto_start_recording: bool = False
    class_name: str = ""
    """Its `vehicle:class`; empty: none."""
    path: TimedPath | None = None
    """What it follows, whatever it is commanded; None: commands."""
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr
