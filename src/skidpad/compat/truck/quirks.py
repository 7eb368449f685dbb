"""Errors of `simulator_2d` (robotics-laboratory/truck, 332ff42) and their repairs, as one table.

Each `Quirk` at the end of the module names its row in docs/errata.md, where the evidence is, and
holds both forms; `Engine` takes the upstream one under compat="upstream". The repaired sensors are
in `sensors`, the upstream ones here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, json_of, reading
from ...errors import InvalidValue
from ...geometry.maps.map import Map
from ...geometry.pose import rotated
from ...units import m_s, m_s2, per_m, rad, s
from ...vehicles.parts.kinematics import (
    Twist,
    curvature_of,
    rear_curvature_limit,
    rear_ratio,
    speed_ratio,
    twist_at,
)
from ...vehicles.truck import (
    REAR_MODEL,
    SUMMED_MODEL,
    Actuation,
    Input,
    Params,
    RearCommand,
    State,
    body_point,
    curvature_limit,
    rear_command,
    steer_command,
    steer_limit,
)
from .model_file import AngularVelocity, LidarModel, Pose, SpecificForce, TruckModel, Velocity
from .sensors import (
    BASE,
    IMU,
    LIDAR,
    CarryingClock,
    Clock,
    ExactSurroundings,
    Reading,
    Surroundings,
    imu,
)


class TruncatingClock:
    """Drops the rest of each advance: 0.0005 s moves the clock but not the truck."""

    __repr__ = brief_repr

    def __init__(self, step: s) -> None:
        self._steps_per_second = 1.0 / step
        self.time_ns = 0

    def steps_in(self, seconds: s) -> int:
        """Whole steps in this advance alone."""
        return int(seconds * self._steps_per_second)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """Add the whole time, also after a collision."""
        whole = int(seconds)
        self.time_ns += 1_000_000_000 * whole + int((seconds - whole) * 1e9)


def stored_command(
    velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params
) -> RearCommand:
    """The command as upstream stores it: for the rear axle, with a lower limit where an upper one
    was meant.

    The acceleration becomes at least the limit of the manoeuvre that the truck is in when the
    command arrives. Without a manoeuvre it is stored as it is, or as 0 if the command has none. A
    later change of the manoeuvre does not change it.
    """
    if acceleration is None:
        acceleration = 0.0  # the program gets NaN at the centre of rotation, which compares false
        if abs(curvature) * p.base_to_rear <= 1.0:
            rear = velocity * rear_ratio(curvature, p.base_to_rear)
            acceleration = _manoeuvre_limit(rear, x, p)
    most = curvature_limit(p)
    curvature = max(-most, min(most, curvature))
    ratio = rear_ratio(curvature, p.base_to_rear)
    rear_velocity = max(p.v_min, min(p.v_max, velocity)) * ratio
    stored = ratio * max(acceleration, _manoeuvre_limit(rear_velocity, x, p))
    return RearCommand(rear_velocity, min(stored, p.a_max), min(stored, p.d_max), curvature / ratio)


def _manoeuvre_limit(velocity: m_s, x: State, p: Params) -> m_s2:
    """The acceleration limit of speeding up or slowing down, whichever leads to a velocity of the
    rear axle; 0 at that velocity."""
    signs = _sign(velocity, p.v_tolerance) * _sign(x.v_x, p.v_tolerance)
    goal = 0.0 if signs < 0 else velocity
    return (0.0, p.a_max, p.d_max)[_sign(abs(goal) - abs(x.v_x), p.v_tolerance)]


def _sign(value: float, tolerance: float) -> int:
    return int(value > tolerance) - int(value < -tolerance)


GRAVITY: m_s2 = 9.81


def upstream_imu(model: TruckModel) -> Reading:
    """The readings of upstream's IMU: the centripetal acceleration has its sign twice and a
    reversed lever arm.

    With exactly straight steering the centre of rotation is at infinity and all accelerations are
    NaN.
    """
    # The base seen from the IMU, where the IMU seen from the base was meant.
    reversed_pose = model.frames.pose(BASE, seen_from=IMU)
    to_imu: Array = reversed_pose.rotation
    ahead, left = reversed_pose.translation[:2].tolist()
    b = model.params.base_to_rear

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        force = np.array([act.v_x.rate, 0.0, GRAVITY])
        if rear.curvature == 0.0:
            force[:2] = np.nan
        else:
            at = twist_at(rear, ahead + b, left)
            to_centre = np.array([-ahead, 1.0 / rear.curvature - left])
            force[:2] += to_centre / np.hypot(*to_centre) * (at.velocity**2 * at.curvature)
        # tf2 multiplies row by row, so that NaN reaches every component.
        return (
            AngularVelocity(*(to_imu @ np.array([0.0, 0.0, rear.omega])).tolist()),
            SpecificForce(*(to_imu @ force).tolist()),
        )

    return reading


NOTHING = np.finfo(np.float32).max
"""Range of a ray that hits nothing, in m."""


def upstream_scan(
    segments: Array, pose: Pose, lidar: LidarModel, tolerance: float
) -> NDArray[np.float32]:
    """Ranges in m of all rays of upstream's lidar at a pose, without range limits.

    Each segment (x, y, x, y) is swept from ray to ray between the bearings of its ends. Rays past
    the last one wrap to the first as if the rays filled the circle. If they do not, a segment
    across the first ray is written to the wrong rays, and one with both ends out of view is missed.
    """
    rays = int(lidar.spans)
    ranges = np.full(rays, NOTHING, dtype=np.float32)
    first = pose.yaw + lidar.angle_min
    for segment in segments:
        ends = (segment.reshape(2, 2) - (pose.x, pose.y)).tolist()
        swept = _tested_rays(ends, first, lidar.angle_increment, rays, tolerance)
        if swept is None:
            continue
        # Directions continue past the last ray, while the indices of the ranges wrap.
        directions: Array = first + lidar.angle_increment * swept.astype(np.float64)
        at = swept % rays
        ranges[at] = np.minimum(ranges[at], _ranges(ends, directions, tolerance))
    return ranges


def _tested_rays(
    ends: list[Any], first: float, increment: float, rays: int, tolerance: float
) -> NDArray[np.int64] | None:
    """Indices of the rays that are tested against a segment, or None if it is skipped."""
    (x0, y0), (x1, y1) = ends
    leftwards = math.atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1) > 0.0
    c, s = math.cos(first), math.sin(first)
    # Bearings from the first ray, from 0 to below 2π, counted in rays.
    bearings = [math.atan2(c * y - s * x, c * x + s * y) % math.tau / increment for x, y in ends]
    # One is rounded up to a multiple of the tolerance; a whole number was meant.
    raised = 0 if leftwards else 1
    bearings[raised] = math.ceil(bearings[raised] / tolerance) * tolerance
    start, stop = map(int, bearings)
    if start >= rays and stop >= rays:
        return None
    start, stop = min(start, rays - 1), min(stop, rays - 1)
    sign = 1 if leftwards else -1
    count = (sign * (stop - start)) % rays + 1
    return start + sign * np.arange(count)


def _ranges(ends: list[Any], directions: Array, tolerance: float) -> NDArray[np.float32]:
    """Ranges in m of rays in some directions to one segment, seen from the lidar."""
    (x0, y0), (x1, y1) = ends
    c, s = np.cos(directions), np.sin(directions)
    across = (x1 - x0) * s - (y1 - y0) * c
    crosses = np.abs(across) >= tolerance
    divisor = np.where(crosses, across, 1.0)
    t = ((x1 - x0) * y0 - (y1 - y0) * x0) / divisor
    u = (c * y0 - s * x0) / divisor
    hits = crosses & (t >= -tolerance) & (u >= -tolerance) & (u <= 1.0 + tolerance)
    return np.where(hits, np.abs(t), NOTHING).astype(np.float32)


def touches_upstream_box(x: State, segments: Array, p: Params, tolerance: float) -> bool:
    """Whether a segment meets one of three edges of upstream's box, which begins at the rear axle.

    The rear edge is missing, and neither a truck within an obstacle nor an obstacle under the truck
    is detected.
    """
    half = 0.5 * p.width
    body = np.array([[0.0, -half], [p.length, -half], [p.length, half], [0.0, half]])
    c, s = np.cos(x.yaw), np.sin(x.yaw)
    # Counter-clockwise from the rear right corner.
    corners = body @ np.array([[c, s], [-s, c]]) + (x.x, x.y)
    return any(bool(_meet(corners[k], corners[k + 1], segments, tolerance).any()) for k in range(3))


def _meet(a: Array, b: Array, segments: Array, tolerance: float) -> Array:
    """Whether each segment meets the one from a to b; ends and collinear overlaps count."""
    c, d = segments[:, :2], segments[:, 2:]
    side_c, side_d = _side(a, b, c, tolerance), _side(a, b, d, tolerance)
    side_a, side_b = _side(c, d, a, tolerance), _side(c, d, b, tolerance)
    crossing = (side_c != side_d) & (side_a != side_b)
    on_line = (
        ((side_c == 0) & _within(a, b, c))
        | ((side_d == 0) & _within(a, b, d))
        | ((side_a == 0) & _within(c, d, a))
        | ((side_b == 0) & _within(c, d, b))
    )
    return crossing | on_line


def _side(a: Array, b: Array, points: Array, tolerance: float) -> Array:
    """1 left of the line from a to b, -1 right of it, 0 on it."""
    along, to = b - a, points - a
    cross = along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]
    return np.where(np.abs(cross) < tolerance, 0.0, np.sign(cross))


def _within(a: Array, b: Array, points: Array) -> Array:
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.all((points >= low) & (points <= high), axis=-1)


class UpstreamSurroundings:
    """The segments of a map, as seen by upstream's lidar and touched by its box."""

    __repr__ = brief_repr

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        if map.grid is not None:
            raise InvalidValue(
                f"map {map.name!r} has a grid; under compat='upstream' there are segments only"
            )
        self._segments = map.segments
        self._model, self._tolerance = model, tolerance
        # The rear axle seen from the lidar, in a file that has the axle ahead of the base: the two
        # errors cancel as long as the file and the wheel base agree.
        offset = model.frames.pose("rear_axle", seen_from=LIDAR).translation
        self._ahead, self._left = offset[:2].tolist()

    def scan(self, x: State) -> NDArray[Any]:
        """Ranges in m, float32; the rotation of the lidar on the truck is ignored."""
        place = body_point(x, self._ahead, self._left)
        pose = Pose(place.x, place.y, x.yaw)
        return upstream_scan(self._segments, pose, self._model.lidar, self._tolerance)

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """The ranges unchanged, beyond the range limits or negative by noise."""
        return ranges

    def touches(self, x: State) -> bool:
        """Whether the box meets a segment."""
        return touches_upstream_box(x, self._segments, self._model.params, self._tolerance)

    def first_contact(self, path: Array) -> int | None:
        """The last step if the box meets a segment after it; the others are not checked."""
        return len(path) - 2 if self.touches(State(*path[-1].tolist())) else None


def load_upstream_map(path: str | Path) -> Map:
    """A map of the edges between the positions of all rings; an open ring is not closed, negative
    coordinates are an error."""
    with reading(path, "is not a map of the truck's"):
        content = json_of(path)
        rings = [
            np.array(ring, dtype=float)[:, :2]
            for feature in content["features"]
            for ring in feature["geometry"]["coordinates"]
        ]
    for ring in rings:
        bad = np.argwhere(~(ring >= 0.0))
        if bad.size:
            k = int(bad[0, 0])
            raise InvalidValue(
                f"map {path}: vertex {k} at {ring[k].tolist()} m must not be negative, by "
                "upstream's rule"
            )
    edges = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    segments: Any = np.concatenate(edges) if edges else np.empty((0, 4))
    return Map(segments=segments, name=Path(path).stem)


T = TypeVar("T")


class Quirk(NamedTuple, Generic[T]):
    """An error of the upstream program and its repair."""

    row: str
    """The row of docs/errata.md that describes the error and the evidence for it."""
    right: T
    """The repaired form."""
    upstream: T
    """The form of the program, under compat="upstream"."""

    def choose(self, compat: str | None) -> T:
        """The form for a value of `compat`."""
        return self.upstream if compat else self.right


def _input(velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params) -> Any:
    """A command of the base point as it is; limits of the manoeuvre apply at every inner step."""
    if acceleration is None:
        return Input(velocity, curvature=curvature)
    return Input(velocity, acceleration, curvature)


def _rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    return velocity / speed_ratio(curvature_of(steer, p.wheel_base), p.base_to_rear, 0.0)


def _upstream_rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    # The curvature at the rear axle is taken for that at the base point.
    sine = curvature_of(steer, p.wheel_base) * p.base_to_rear
    return velocity * math.sqrt(1.0 - sine * sine) if abs(sine) <= 1.0 else math.nan


def _upstream_steer_limit(p: Params) -> rad:
    # The angle of a curvature and a length, where that of their product was meant.
    curvature = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return math.atan2(curvature, p.wheel_base)


def _base_velocity(x: State, base: Twist, p: Params) -> Velocity:
    return Velocity(*rotated(x.v_x, base.omega * p.base_to_rear, x.yaw))


def _upstream_base_velocity(x: State, base: Twist, p: Params) -> Velocity:
    return Velocity(math.cos(x.yaw) * base.velocity, math.sin(x.yaw) * base.velocity)


def _target_speed(u: Any, p: Params) -> m_s:
    return max(p.v_min, min(p.v_max, u.velocity))


NO_COMMAND = Quirk[Any]("T1", Input(), RearCommand())
"""The command before the first one."""
STORE = Quirk[Any]("T1", _input, stored_command)
"""The stored form of a command (velocity, acceleration or None, curvature) at a state."""
MODEL = Quirk("T2", REAR_MODEL, SUMMED_MODEL)
"""The motion of the truck under its input."""
REAR = Quirk[Any]("T3", rear_command, lambda u, p: u)
"""The command of the rear axle for a stored one."""
MODEL_INPUT = Quirk[Any]("T3", lambda c, p: c, steer_command)
"""The input of `MODEL` for a command of the rear axle."""
REAR_SPEED = Quirk("T4", _rear_speed, _upstream_rear_speed)
"""Speed of the rear axle after a reset, from that of the base point and the steering angle."""
CHECKS_STARTS = Quirk("T5", True, False)
"""Whether a reset beyond the limits of steering and speed is an error."""
CLOCK = Quirk[Callable[[s], Clock]]("T6", CarryingClock, TruncatingClock)
"""Time and number of inner steps, from the length of a step."""
BASE_VELOCITY = Quirk("T7", _base_velocity, _upstream_base_velocity)
"""Velocity of the base point in the world, from its twist."""
TARGET_SPEED = Quirk[Any]("T8", _target_speed, lambda u, p: u.velocity)
"""Speed of a stored command, from which the target of the motor is computed."""
STEER_LIMIT = Quirk("T9", steer_limit, _upstream_steer_limit)
"""Reported limit of the middle steering angle."""
SURROUNDINGS = Quirk[Callable[[Map, TruckModel, float], Surroundings]](
    "T10, T11, T13", ExactSurroundings, UpstreamSurroundings
)
"""The world seen by the lidar and met by the body, from map, truck and tolerance."""
IMU_READING = Quirk("T12", imu, upstream_imu)
"""The IMU of a truck."""
CHECKS_EVERY_STEP = Quirk("T13", True, False)
"""Whether contacts are looked for at every inner step, or only at the end of an advance."""
LOAD = Quirk[Callable[[str | Path], Map]]("T14", Map.load, load_upstream_map)
"""The map in a file."""
DROPS_MAP = Quirk("T14", False, True)
"""Whether a map file that cannot be read removes the present map."""
PRECISION = Quirk("", 0.0, 1e-8)
"""Default tolerance for reaching a speed or a steering angle, in m/s and rad; not an error."""
