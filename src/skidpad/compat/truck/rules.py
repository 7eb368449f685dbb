"""Where the engine and the program it follows part: each repair beside what it repairs.

docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, sin
from pathlib import Path
from typing import Any

from ...components.ackermann import Twist, curvature_of, speed_ratio
from ...model import Model
from ...plane.maps import Map
from ...plane.pose import rotated
from ...units import m_s, m_s2, per_m, rad, s
from ...vehicles.ackermann_truck import (
    REAR_MODEL,
    SUMMED_MODEL,
    Input,
    Params,
    RearCommand,
    State,
    rear_command,
    steer_command,
)
from ...vehicles.ackermann_truck_records import steer_limit
from . import imu, surroundings, upstream
from .clock import CarryingClock, Clock
from .imu import Reading
from .model_file import TruckModel
from .records import Velocity
from .surroundings import Surroundings
from .upstream import commands


@dataclass(frozen=True)
class Rules:
    """The points on which the two modes differ."""

    clock: Callable[[s], Clock]
    """Time and inner steps, from the length of a step."""
    model: Model
    """How the truck moves under its input."""
    held: Callable[[RearCommand, Params], tuple[float, ...]]
    """That input, from what the rear axle is asked."""
    nothing: Any
    """The command before the first one."""
    kept: Callable[[m_s, m_s2 | None, per_m, State, Params], Any]
    """A command of the base point as it is kept; no acceleration: one is selected."""
    rear: Callable[[Any, Params], RearCommand]
    """What a kept command asks of the rear axle."""
    steer_limit: Callable[[Params], rad]
    """Largest middle steering angle, as it is told."""
    target_speed: Callable[[Any, Params], m_s]
    """Speed commanded, as the motor is said to turn for it."""
    rear_speed: Callable[[m_s, rad, Params], m_s]
    """Speed of the rear axle for one of the base point at a steering angle, after a reset."""
    base_velocity: Callable[[State, Twist, Params], Velocity]
    """Velocity of the base point in the world, from its twist."""
    imu: Callable[[TruckModel], Reading]
    load: Callable[[str | Path], Map]
    """The map in a file."""
    surroundings: Callable[[Map, TruckModel, float], Surroundings]
    """What lidar and body meet, from map, truck and tolerance."""
    empties_map: bool
    """Whether a map file that cannot be read takes the present map away."""
    along_the_way: bool
    """Whether the body is checked at every inner step, or only where an advance ends."""
    checks_starts: bool
    """Whether a reset beyond the limits of steering and speed is an error."""
    precision: float
    """Difference from its goal within which speed or steering stays, in m/s and rad; by default."""


def _kept(velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params) -> Input:
    """As given: the limits of the manoeuvre are looked up at every inner step."""
    if acceleration is None:
        return Input(velocity, curvature=curvature)
    return Input(velocity, acceleration, curvature)


def _commanded_speed(u: Input, p: Params) -> m_s:
    return max(p.v_min, min(p.v_max, u.velocity))


def _rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    curvature = curvature_of(steer, p.wheel_base)
    return velocity / speed_ratio(curvature, p.base_to_rear, 0.0)


def _velocity(x: State, base: Twist, p: Params) -> Velocity:
    """Of the point itself, which swings out as the truck turns."""
    across = base.omega * p.base_to_rear
    return Velocity(*rotated(x.v_x, across, x.yaw))


def _upstream_velocity(x: State, base: Twist, p: Params) -> Velocity:
    """The speed of the point, along the heading of the truck."""
    return Velocity(cos(x.yaw) * base.velocity, sin(x.yaw) * base.velocity)


REPAIRED = Rules(
    clock=CarryingClock,
    model=REAR_MODEL,
    held=lambda c, p: c,
    nothing=Input(),
    kept=_kept,
    rear=rear_command,
    steer_limit=steer_limit,
    target_speed=_commanded_speed,
    rear_speed=_rear_speed,
    base_velocity=_velocity,
    imu=imu.imu,
    load=Map.load,
    surroundings=surroundings.ExactSurroundings,
    empties_map=False,
    along_the_way=True,
    checks_starts=True,
    precision=0.0,
)
UPSTREAM = Rules(
    clock=upstream.TruncatingClock,
    model=SUMMED_MODEL,
    held=steer_command,
    nothing=RearCommand(),
    kept=commands.stored_command,
    rear=lambda u, p: u,
    steer_limit=commands.reported_steer_limit,
    target_speed=lambda u, p: u.velocity,
    rear_speed=commands.rear_speed,
    base_velocity=_upstream_velocity,
    imu=upstream.imu,
    load=upstream.load,
    surroundings=upstream.UpstreamSurroundings,
    empties_map=True,
    along_the_way=False,
    checks_starts=False,
    precision=1e-8,
)
