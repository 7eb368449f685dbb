"""What upstream's program does otherwise: `simulator_2d` of robotics-laboratory/truck, 332ff42.

Used under compat="upstream" only. docs/errata.md has the list, with the evidence.

Upstream's clock: both the nanoseconds and the steps of an advance are cut, and the rest lost.

Upstream's commands: kept as they were turned into rear-axle ones at the moment they came.

Upstream's IMU: centripetal acceleration with its sign twice, from a lever arm turned round.

With the steering exactly straight the centre of rotation is infinitely far away and all three
accelerations are NaN.

Upstream's lidar: each segment is swept from ray to ray between the bearings of its ends.

Rays past the last one wrap to the first as if the rays filled the circle. Where they do not, a
segment across the first ray is written to the wrong rays, and one whose ends are both out of view
is not seen at all.

Upstream's surroundings: bare segments, seen by its lidar and touched by its box.

Upstream's map file: rings of positions that are not negative, and no edge that is not written.

Reading a file that it rejects leaves upstream without a map.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr, json_of, reading
from ...errors import InvalidValue
from ...geometry.maps.map import Map
from ...units import m_s, m_s2, per_m, rad, s
from ...vehicles.parts.kinematics import (
    Twist,
    curvature_of,
    rear_curvature_limit,
    rear_ratio,
    twist_at,
)
from ...vehicles.truck import Actuation, Params, RearCommand, State, body_point, curvature_limit
from .model_file import AngularVelocity, LidarModel, Pose, SpecificForce, TruckModel
from .sensors import BASE, IMU, LIDAR

__all__ = [
    "TruncatingClock",
    "UpstreamSurroundings",
    "imu",
    "load",
]


class TruncatingClock:
    """Counts each advance for itself: T = 0.0005 s moves the clock but not the truck."""

    __repr__ = brief_repr

    def __init__(self, step: s) -> None:
        self._steps_per_second = 1.0 / step
        self.time_ns = 0

    def steps_in(self, seconds: s) -> int:
        """Whole steps in the time alone."""
        return int(seconds * self._steps_per_second)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """The clock moves by the whole time, whatever happened in it."""
        whole = int(seconds)
        self.time_ns += 1_000_000_000 * whole + int((seconds - whole) * 1e9)


def stored_command(
    velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params
) -> RearCommand:
    """The command as upstream stores it, floored where a maximum was meant.

    The acceleration becomes at least the limit of the manoeuvre that the truck is in when the
    command comes; if it is in none, what was given is stored, and 0 if nothing was. It is not
    looked at again when the manoeuvre changes.
    """
    if acceleration is None:
        acceleration = _selected(velocity, curvature, x, p)
    most = curvature_limit(p)
    curvature = max(-most, min(most, curvature))
    ratio = rear_ratio(curvature, p.base_to_rear)
    rear_velocity = max(p.v_min, min(p.v_max, velocity)) * ratio
    floor = _limit(_manoeuvre(rear_velocity, x, p), p)
    stored = ratio * max(acceleration, floor)
    return RearCommand(rear_velocity, min(stored, p.a_max), min(stored, p.d_max), curvature / ratio)


def _selected(velocity: m_s, curvature: per_m, x: State, p: Params) -> m_s2:
    """The acceleration of a command without one, from what was asked for before any limit."""
    if abs(curvature) * p.base_to_rear > 1.0:
        return 0.0  # the program gets NaN here, which no comparison holds for
    rear = velocity * rear_ratio(curvature, p.base_to_rear)
    return _limit(_manoeuvre(rear, x, p), p)


def _manoeuvre(velocity: m_s, x: State, p: Params) -> int:
    """1 to gain speed, -1 to lose it, 0 to keep it."""
    signs = _sign(velocity, p.v_tolerance) * _sign(x.v_x, p.v_tolerance)
    goal = 0.0 if signs < 0 else velocity
    return _sign(abs(goal) - abs(x.v_x), p.v_tolerance)


def _limit(manoeuvre: int, p: Params) -> m_s2:
    return {1: p.a_max, -1: p.d_max, 0: 0.0}[manoeuvre]


def _sign(value: float, tolerance: float) -> int:
    return int(value > tolerance) - int(value < -tolerance)


def rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    """Rear-axle speed after a reset: the rear axle's curvature is taken for the base point's."""
    sine = curvature_of(steer, p.wheel_base) * p.base_to_rear
    return velocity * math.sqrt(1.0 - sine * sine) if abs(sine) <= 1.0 else math.nan


def reported_steer_limit(p: Params) -> rad:
    """The middle steering limit that upstream's model tells; its engine does not use it.

    It takes the angle of a curvature and a length, where the angle of their product was meant.
    """
    rear = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return math.atan2(rear, p.wheel_base)


GRAVITY = 9.81
"""In m/s²."""


def imu(
    model: TruckModel,
) -> Callable[[State, Twist, Actuation], tuple[AngularVelocity, SpecificForce]]:
    """What the IMU shows at a state, with the twist of the rear axle and what acts next."""
    # The base seen from the IMU, where the IMU seen from the base was meant.
    reversed_pose = model.frames.pose(BASE, seen_from=IMU)
    to_imu: Array = reversed_pose.rotation
    ahead, left = reversed_pose.translation[:2].tolist()
    b = model.params.base_to_rear

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        force = np.array([act.v_x.rate, 0.0, GRAVITY])
        force[:2] += _centripetal(rear, ahead, left, b)
        # tf2 multiplies row by row, so that NaN reaches every component.
        return (
            AngularVelocity(*(to_imu @ np.array([0.0, 0.0, rear.omega])).tolist()),
            SpecificForce(*(to_imu @ force).tolist()),
        )

    return reading


def _centripetal(rear: Twist, ahead: float, left: float, b: float) -> Array:
    if rear.curvature == 0.0:
        return np.array([np.nan, np.nan])
    at = twist_at(rear, ahead + b, left)
    to_centre = np.array([-ahead, 1.0 / rear.curvature - left])
    return to_centre / np.hypot(*to_centre) * (at.velocity**2 * at.curvature)


NOTHING = np.finfo(np.float32).max
"""Range of a ray that hits nothing, in m."""


def scan(segments: Array, pose: Pose, lidar: LidarModel, tolerance: float) -> NDArray[np.float32]:
    """Ranges in m of all rays of a lidar at a pose; the range limits are not looked at."""
    rays = int(lidar.spans)
    ranges = np.full(rays, NOTHING, dtype=np.float32)
    first = pose.yaw + lidar.angle_min
    for segment in segments:
        ends = (segment.reshape(2, 2) - (pose.x, pose.y)).tolist()
        swept = _swept(ends, first, lidar.angle_increment, rays, tolerance)
        if swept is None:
            continue
        # Directions go on past the last ray, while the places of the ranges wrap.
        directions: Array = first + lidar.angle_increment * swept.astype(np.float64)
        at = swept % rays
        ranges[at] = np.minimum(ranges[at], _hit(ends, directions, tolerance))
    return ranges


def _swept(
    ends: list[Any], first: float, increment: float, rays: int, tolerance: float
) -> NDArray[np.int64] | None:
    """Numbers of the rays that are tried on a segment, or None if it is skipped."""
    (x0, y0), (x1, y1) = ends
    leftwards = math.atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1) > 0.0
    begin, end = (_bearing(x, y, first) / increment for x, y in ends)
    if leftwards:
        begin = _raised(begin, tolerance)
    else:
        end = _raised(end, tolerance)
    start, stop = int(begin), int(end)
    if start >= rays and stop >= rays:
        return None
    start, stop = min(start, rays - 1), min(stop, rays - 1)
    sign = 1 if leftwards else -1
    count = (sign * (stop - start)) % rays + 1
    return start + sign * np.arange(count)


def _bearing(x: float, y: float, first: float) -> float:
    """Angle of a point from the first ray, from 0 to below 2π."""
    c, s = math.cos(first), math.sin(first)
    return math.atan2(c * y - s * x, c * x + s * y) % math.tau


def _raised(value: float, tolerance: float) -> float:
    """The next multiple of the tolerance; meant was the next whole number."""
    return math.ceil(value / tolerance) * tolerance


def _hit(ends: list[Any], directions: Array, tolerance: float) -> NDArray[np.float32]:
    """Ranges of rays in some directions to one segment, seen from the lidar."""
    (x0, y0), (x1, y1) = ends
    c, s = np.cos(directions), np.sin(directions)
    across = (x1 - x0) * s - (y1 - y0) * c
    crosses = np.abs(across) >= tolerance
    divisor = np.where(crosses, across, 1.0)
    t = ((x1 - x0) * y0 - (y1 - y0) * x0) / divisor
    u = (c * y0 - s * x0) / divisor
    hits = crosses & (t >= -tolerance) & (u >= -tolerance) & (u <= 1.0 + tolerance)
    return np.where(hits, np.abs(t), NOTHING).astype(np.float32)


def box(x: State, p: Params) -> Array:
    """Corners of the box in the world, from the rear right one counter-clockwise, (4, 2)."""
    half = 0.5 * p.width
    body = np.array([[0.0, -half], [p.length, -half], [p.length, half], [0.0, half]])
    c, s = np.cos(x.yaw), np.sin(x.yaw)
    return body @ np.array([[c, s], [-s, c]]) + (x.x, x.y)


def touches(x: State, segments: Array, p: Params, tolerance: float) -> bool:
    """Whether one of three edges of a box that begins at the rear axle meets a segment.

    The closing edge of the box, at its tail, is lost; neither a truck within an obstacle nor an
    obstacle under the truck is looked for.
    """
    corners = box(x, p)
    return any(bool(_meet(corners[k], corners[k + 1], segments, tolerance).any()) for k in range(3))


def _meet(a: Array, b: Array, segments: Array, tolerance: float) -> Array:
    """Which segments meet the one from a to b; ends and collinear overlaps count."""
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
    """The segments of a map."""

    __repr__ = brief_repr

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        if map.grid is not None:
            raise InvalidValue(
                f"map {map.name!r} has a grid; under compat='upstream' there are segments only"
            )
        self._segments = map.segments
        self._model, self._tolerance = model, tolerance
        # The rear axle seen from the lidar, in a file that has the axle ahead of the base: the two
        # faults cancel as long as that file and the wheel base agree.
        offset = model.frames.pose("rear_axle", seen_from=LIDAR).translation
        self._ahead, self._left = offset[:2].tolist()

    def scan(self, x: State) -> NDArray[Any]:
        """Ranges in m, float32; the rotation of the lidar on the truck is not looked at."""
        place = body_point(x, self._ahead, self._left)
        pose = Pose(place.x, place.y, x.yaw)
        return scan(self._segments, pose, self._model.lidar, self._tolerance)

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """The ranges as they are, beyond the range limits or negative by noise."""
        return ranges

    def touches(self, x: State) -> bool:
        """Whether the box meets a segment."""
        return touches(x, self._segments, self._model.params, self._tolerance)

    def first_contact(self, path: Array) -> int | None:
        """Only the last state is looked at."""
        return len(path) - 2 if self.touches(State(*path[-1].tolist())) else None


def load(path: str | Path) -> Map:
    """The edges between the positions of all rings; a ring that is not closed stays open."""
    with reading(path, "is not a map of the truck's"):
        content = json_of(path)
        rings = [
            np.array(ring, dtype=float)[:, :2]
            for feature in content["features"]
            for ring in feature["geometry"]["coordinates"]
        ]
    for ring in rings:
        _check(path, ring)
    edges = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    segments: Any = np.concatenate(edges) if edges else np.empty((0, 4))
    return Map(segments=segments, name=Path(path).stem)


def _check(path: str | Path, ring: Any) -> None:
    bad = np.argwhere(~(ring >= 0.0))
    if bad.size:
        k = int(bad[0, 0])
        raise InvalidValue(
            f"map {path}: vertex {k} at {ring[k].tolist()} m must not be negative, by upstream's "
            "rule"
        )
