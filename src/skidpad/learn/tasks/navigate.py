"""Navigate: a robot among obstacles drives to a goal, by what its lidar shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import pi
from typing import Annotated, Any, NamedTuple

from ...body import Body, Pose, Velocity, body_of
from ...checks import positive, whole
from ...errors import InvalidValue
from ...model import Vehicle
from ...ops import smooth_hypot, where
from ...plane.pose import to_body
from ...stage.description import Polygon
from ...units import Allowed, m, m_s, one, rad_s
from ...vehicles import wheeled
from ..course import Course, track_point
from ..lidar import Lidar
from ..marks import disc
from ..pace import Pace, pace_of
from ..shape import units_of
from ..task import Start, Task
from .rooms import Room, random_room, room_track

LIDAR = Lidar(rays=36, view=2.0 * pi, range=10.0)
CANDIDATES = 3
"""Goals that are drawn; the farthest is taken."""
_SMOOTH: m = 1e-3


class NavigateParams(NamedTuple):
    """What counts."""

    arrived: one = 10.0
    """Gained at the goal; a metre nearer to it is worth 1."""
    crash: one = 10.0
    """Lost by touching something."""
    near: m = 0.5
    """Distance from the goal that counts as there."""


class NavigateMemory(NamedTuple):
    """The goal of the episode, and how far it was."""

    x: m = 0.0
    """Of the goal."""
    y: m = 0.0
    """Of the goal."""
    distance: m = 0.0
    """To the goal, a period ago."""


class Heading(NamedTuple):
    """The goal as the robot sees it, and how it moves; the lidar's ranges come behind it."""

    distance: Annotated[m, Allowed(0.0, 60.0)]
    """To the goal."""
    ahead: Annotated[one, Allowed(-1.0, 1.0)]
    """Cosine of the direction of the goal from that of the robot."""
    left: Annotated[one, Allowed(-1.0, 1.0)]
    """Sine of it, positive to the left."""
    v_x: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Velocity along the robot."""
    v_y: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Velocity across it, positive to the left."""
    omega: Annotated[rad_s, Allowed(-6.0, 6.0)]
    """Yaw rate, positive to the left."""


def navigate(
    vehicle: Vehicle | None = None,
    *,
    rooms: int | Sequence[Room] = 8,
    obstacles: int = 12,
    edge: m = 20.0,
    seed: int = 0,
    lidar: Lidar | int | None = LIDAR,
    randomised: Mapping[str, Any] | None = None,
    params: Mapping[str, float] | None = None,
    pace: m_s = 1.5,
    turning: rad_s = 1.5,
    **options: Any,
) -> Task:
    """The task of reaching a goal: a metre nearer to it is worth 1, arriving 10, and touching
    anything costs 10; both end the episode.

    Start and goal are free places of a room. There is a way from one to the other, wide enough for
    a robot that turns on the spot.

    Args:
        vehicle: what is driven; a differential robot on two wheels, told its speeds, if None.
        rooms: how many random ones, or the rooms themselves; each episode is in one of them.
        obstacles: in each random room; half of them are round.
        edge: of random rooms, in m.
        seed: of random rooms.
        lidar: a `Lidar`, or the number of rays of one; None for none.
        randomised: distributions of parameters, see `Task.randomised`.
        params: what counts, where it differs from `NavigateParams`.
        pace: fastest speed, in m/s.
        turning: fastest yaw rate of a robot that is told one, in rad/s.
        options: further fields of the `Task`.
    """
    robot = differential_robot() if vehicle is None else vehicle
    body = body_of(robot, "navigating")
    halls = _rooms(rooms, obstacles, edge, seed)
    radius = max(unit.radius for unit in units_of(robot))
    settings: dict[str, Any] = {
        "name": "navigate", "dt": 0.1, "substeps": 20, "duration": 60.0,
        "randomised": randomised or {}, "successes": ("goal",), **options,
    }  # fmt: skip
    return Task(
        vehicle=robot,
        Observation=Heading,
        observe=observed,
        reward=rewarded,
        ended=finished,
        start=partial(begun, body),
        Memory=NavigateMemory,
        remember=remembered,
        marks=marked,
        Action=Pace,
        act=pace_of(robot, positive("pace", pace, "m/s"), positive("turning", turning, "rad/s")),
        Params=NavigateParams,
        params=params,
        draws=_DRAWS,
        tracks=tuple(room_track(room, radius, k) for k, room in enumerate(halls)),
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        **settings,
    )


_DRAWS: dict[str, Any] = {
    "place": {"range": [0.0, 1.0]},
    **{f"goal_{k}": {"range": [0.0, 1.0]} for k in range(CANDIDATES)},
    "heading": {"range": [-pi, pi]},
}


def differential_robot() -> Vehicle:
    """MVSim's robot on two wheels, whose controller is told a speed and a yaw rate."""
    return wheeled.vehicle(wheeled.differential(control=wheeled.Control("twist_pid")))


def _rooms(rooms: int | Sequence[Room], obstacles: int, edge: m, seed: int) -> list[Room]:
    if not isinstance(rooms, int):
        if not rooms:
            raise InvalidValue("rooms is empty; at least 1 room is needed")
        return list(rooms)
    count = whole("rooms", rooms, "at least 1", least=1)
    many = whole("obstacles", obstacles, "at least 0", least=0)
    return [random_room(seed, k, many, positive("edge", edge, "m")) for k in range(count)]


def distance(pose: Pose, goal: Any) -> m:
    """From a pose to a goal with x and y, with a finite gradient there."""
    return smooth_hypot(goal.x - pose.x, goal.y - pose.y, _SMOOTH)


def marked(m: NavigateMemory, q: NavigateParams) -> list[Polygon]:
    """The goal, for pictures."""
    return [disc("goal", m.x, m.y, q.near)]


def observed(pose: Pose, velocity: Velocity, m: NavigateMemory) -> Heading:
    """The goal from the robot, and its velocity."""
    ahead, left = to_body(pose, m.x, m.y)
    far = distance(pose, m)
    return Heading(far, ahead / far, left / far, *velocity)


def rewarded(pose: Pose, contact: Any, m: NavigateMemory, q: NavigateParams) -> Any:
    """Metres that it came nearer, and what the end is worth."""
    now = distance(pose, m)
    won = where(now < q.near, q.arrived, 0.0)
    return m.distance - now + where(contact > 0.5, -q.crash, won)


def finished(pose: Pose, contact: Any, m: NavigateMemory, q: NavigateParams) -> dict[str, Any]:
    """Whether it has arrived or touched something."""
    return {"contact": contact > 0.5, "goal": distance(pose, m) < q.near}


def remembered(pose: Pose, m: NavigateMemory) -> NavigateMemory:
    """How far the goal is now."""
    return m._replace(distance=distance(pose, m))


def begun(body: Body, x: Any, p: Any, course: Course, d: Any) -> Start:
    """At a free place of the room, at rest, with the farthest of a few others as the goal."""
    s = d.place * course.length
    place = track_point(course, s)
    goal = track_point(course, d.goal_0 * course.length)
    for k in range(1, CANDIDATES):
        other = track_point(course, getattr(d, f"goal_{k}") * course.length)
        farther = distance(place, other) > distance(place, goal)
        goal = Pose(*(where(farther, new, old) for new, old in zip(other, goal, strict=True)))
    pose = place._replace(yaw=d.heading)
    placed = body.placed(x, pose, Velocity(0.0, 0.0, 0.0), p)
    return Start(placed, s, NavigateMemory(goal.x, goal.y, distance(pose, goal)))
