"""Tasks with a goal: back a truck into a bay, or drive a robot through a room.

`park` backs a truck with its trailer into a bay and stops there. The world frame is that of the
bay: the origin is the middle of its end wall, and x points out of it into the yard.

`navigate` drives a robot to a goal among obstacles, using its lidar. The rooms are random; starts
and goals are positions that the robot can reach from each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import pi, sin
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...control.car import wrapped
from ...core import record
from ...core.arrays import Array, Mask
from ...core.body import Body, Point, Pose, Velocity, body_of
from ...core.checks import not_negative, positive, whole
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...geometry.polygon import line_edges, rectangle, stacked_edges
from ...geometry.pose import to_body, towed
from ...ops import abs, logical_and, logical_or, maximum, smooth_hypot, where
from ...random.streams import checked, names_as_words, shares
from ...units import Allowed, m, m_s, one, rad, rad_s
from ...vehicles import wheeled
from ...vehicles.commonroad.single_track import commonroad_kst
from ...view.stage import Polygon
from ..course import Course, track_point
from ..task import Lidar, Pace, Start, Task, Unit, box, disc, pace_of, unit_poses, units_of
from .race import record_hints

GAP = 0.03
"""Gap between the end wall and the tail of a parked vehicle, over the vehicle's length."""
DEPTH = 0.75
"""Depth of a bay, over the length of the last unit."""
YARD = 2.5
"""Depth and width of the yard in front of the bay, over the length of the vehicle."""
STARTS = (0.1, 0.65)
"""Range of the last unit's distance from the bay at the start, over the vehicle's length."""
_LINE_POINTS = 32


class Bay(NamedTuple):
    """Bay and yard, in the bay's frame: origin in the middle of the end wall, x outwards."""

    length: m
    """Length of the vehicle with all its units."""
    depth: m
    """Depth of the bay, from the end wall to the yard."""
    half_width: m
    """Half the width of the bay."""
    reach: m
    """Depth and width of the yard."""
    goal: m
    """Goal of the last unit's axle, along x."""
    starts: tuple[m, m]
    """Range of the start positions of that axle, along x."""

    @classmethod
    def of(cls, units: Sequence[Unit], room: m | None) -> Bay:
        """Bay for a vehicle, wider than it by `room` in m, or by 0.6 of its width if None."""
        corners = [np.concatenate([np.array(part) for part in unit.parts]) for unit in units]
        last, tail = corners[-1], -float(corners[-1][:, 0].min())
        half = max(float(np.abs(each[:, 1]).max()) for each in corners)
        length = sum(float(np.ptp(each[:, 0])) for each in corners)
        depth, goal = DEPTH * float(np.ptp(last[:, 0])), GAP * length + tail
        # There the last unit is out of the bay at any heading.
        out = depth + float(np.hypot(tail, half))
        starts = (out + STARTS[0] * length, out + STARTS[1] * length)
        half += 0.6 * half if room is None else 0.5 * room
        return cls(length, depth, half, YARD * length, goal, starts)

    def track(self) -> Track:
        """Track with the walls of bay and yard; its line leads from the end wall straight out."""
        far, b, y = self.depth + self.reach, self.half_width, 0.5 * self.reach
        border: list[Point] = [
            (0.0, -b), (self.depth, -b), (self.depth, -y), (far, -y),
            (far, y), (self.depth, y), (self.depth, b), (0.0, b), (0.0, -b),
        ]  # fmt: skip
        centre = np.linspace((0.0, 0.0), (far, 0.0), _LINE_POINTS)
        width, walls = np.full(_LINE_POINTS, b), line_edges(np.array(border))
        return Track(centre, width, width, closed=False, walls=walls, name="bay")


ASIDE = 0.1
"""Largest offset of the last unit at the start, over the vehicle's length."""
ASKEWEST: rad = 0.5
_SMOOTH: m = 1e-3


class ParkParams(NamedTuple):
    """Goal of the parking task, and weights of its reward."""

    goal: m = 5.0
    """Goal of the last unit's axle, as distance from the end wall; `park` computes it."""
    parked: one = 20.0
    """Reward for stopping in the bay."""
    crash: one = 20.0
    """Cost of touching a wall or jack-knifing; a metre nearer to the goal is worth 1."""
    arm: m = 4.0
    """Weight of the last unit's heading and of each hitch angle, in m per rad."""
    near: m = 0.3
    """Largest distance from the goal that counts as parked, along the bay and across it."""
    aligned: rad = 0.05
    """Largest heading of the last unit that counts as parked."""
    slow: m_s = 0.1
    """Speed below which the vehicle counts as stopped."""
    folded: rad = 1.2
    """Hitch angle at which the vehicle counts as jack-knifed."""


class ParkMemory(NamedTuple):
    potential: m = 0.0
    """Potential one control period ago; see `potential`."""


class Parking(NamedTuple):
    """Observation of the last unit in the bay's frame; hitch angles are appended."""

    x: Annotated[m, Allowed(-10.0, 90.0)]
    """Position of the last unit's axle along the bay, relative to its goal."""
    y: Annotated[m, Allowed(-50.0, 50.0)]
    """Position of the last unit's axle, positive to the left when looking out of the bay."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading of the last unit; 0 straight out of the bay, positive to the left."""
    v: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Speed of the vehicle, negative in reverse."""
    steer: Annotated[rad, Allowed(-1.6, 1.6)]
    """Steering angle of the front wheels, positive to the left; 0 without steered wheels."""


def park(
    vehicle: Vehicle | None = None,
    *,
    lidar: Lidar | int | None = None,
    randomised: Mapping[str, Any] | None = None,
    params: Mapping[str, float] | None = None,
    pace: m_s = 2.0,
    room: m | None = None,
    aside: m | None = None,
    askew: rad = 0.2,
    **options: Any,
) -> Task:
    """The task of backing into a bay: a metre nearer to the goal is worth 1, stopping there 20;
    touching a wall and jack-knifing cost as much and end the episode.

    The reward on the way is the change of a potential (see `potential`), so that detours earn
    nothing.

    Args:
        vehicle: the vehicle, with any number of trailers; `commonroad_kst`, a truck with its
            semi-trailer, if None.
        lidar: a `Lidar`, or its number of rays; None for no lidar. It does not see trailers.
        randomised: distributions of parameters, see `Task.randomised`.
        params: weights that differ from `ParkParams`.
        pace: maximum speed in m/s.
        room: width of the bay minus the width of the vehicle in m; 0.6 of the vehicle's width if
            None.
        aside: largest offset of the last unit from the bay's axis at the start in m; a tenth of the
            vehicle's length if None.
        askew: largest heading of the last unit and largest hitch angle at the start, in rad.
        options: further fields of the `Task`.
    """
    truck = commonroad_kst() if vehicle is None else vehicle
    body, units = body_of(truck, "parking"), units_of(truck)
    bay = Bay.of(units, None if room is None else positive("room", room, "m"))
    hints = record_hints(Parking)
    hints |= {f"hitch_{k}": Annotated[rad, Allowed(-3.2, 3.2)] for k in range(len(units) - 1)}
    Observation = record.define("Parking", hints, doc="Observation.")
    rules = _Parking(body, units, Observation)
    settings: dict[str, Any] = {
        "name": "park", "draws": _parking_draws(bay, len(units), aside, askew),
        "dt": 0.1, "substeps": 5,
        "duration": 90.0, "randomised": randomised or {}, "successes": ("parked",), **options,
    }  # fmt: skip
    return Task(
        vehicle=truck,
        Observation=Observation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        Memory=ParkMemory,
        remember=rules.remember,
        marks=rules.marks,
        Action=Pace,
        act=pace_of(truck, positive("pace", pace, "m/s")),
        Params=ParkParams,
        params={"goal": bay.goal, **(params or {})},
        tracks=(bay.track(),),
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        **settings,
    )


def _parking_draws(bay: Bay, units: int, aside: m | None, askew: rad) -> dict[str, Any]:
    side = ASIDE * bay.length if aside is None else not_negative("aside", aside, "m")
    turn = not_negative("askew", askew, "rad")
    if turn > ASKEWEST:
        raise InvalidValue(f"askew = {askew:g} rad must be at most {ASKEWEST:g}")
    widest = 0.5 * bay.reach - bay.length * sin(min(units * turn, 0.5 * pi)) - bay.half_width
    if side > widest:
        raise InvalidValue(
            f"aside = {side:g} m must be at most {widest:.1f} m, to stay in the yard"
        )
    angles = ["heading", *(f"hitch_{k}" for k in range(units - 1))]
    return {
        "ahead": {"range": list(bay.starts)},
        "aside": _either_way(side),
        **{name: _either_way(turn) for name in angles},
    }


def _either_way(most: float) -> Any:
    return {"range": [-most, most]} if most > 0.0 else 0.0


class _Parking(NamedTuple):
    """Functions of the task `park`, with the values that they share."""

    body: Body
    units: Sequence[Unit]
    Observation: type

    def observe(self, x: Any, u: Any, p: Any, pose: Pose, q: Any) -> Any:
        last = unit_poses(self.units, pose, x)[-1]
        steer = 0.0 if self.body.steer is None else self.body.steer(x, u, p)
        own = (last.x - q.goal, last.y, wrapped(last.yaw), self.body.speed_of(x, u, p), steer)
        return self.Observation(*own, *self.hitches(x))

    def hitches(self, x: Any) -> list[Any]:
        """Hitch angles in rad, from the state."""
        leaves = record.flatten(x)
        return [leaves[unit.angle] for unit in self.units[1:]]

    def marks(self, q: ParkParams) -> list[Polygon]:
        corners = [corner for part in self.units[-1].parts for corner in part]
        (back, front), (right, left) = (
            (min(side), max(side)) for side in zip(*corners, strict=True)
        )
        return [box("goal", q.goal + 0.5 * (back + front), 0.0, front - back, left - right)]

    def potential(self, x: Any, pose: Pose, q: ParkParams) -> m:
        """Potential of the parking reward in m, at most 0, and 0 at the goal.

        Minus the distance of the last unit from its goal, minus its heading and the hitch angles,
        each times a lever arm.
        """
        last = unit_poses(self.units, pose, x)[-1]
        away = smooth_hypot(last.x - q.goal, last.y, _SMOOTH)
        turned = abs(wrapped(last.yaw))
        for hitch in self.hitches(x):
            turned = turned + abs(hitch)
        return -(away + q.arm * turned)

    def remember(self, x: Any, pose: Pose, q: ParkParams) -> ParkMemory:
        return ParkMemory(self.potential(x, pose, q))

    def parked(self, x: Any, pose: Pose, velocity: Velocity, q: ParkParams) -> Any:
        """Whether the last unit has stopped at its goal."""
        last = unit_poses(self.units, pose, x)[-1]
        off = maximum(abs(last.x - q.goal), abs(last.y))
        there = logical_and(off < q.near, abs(wrapped(last.yaw)) < q.aligned)
        return logical_and(there, abs(velocity.v_x) < q.slow)

    def failures(self, x: Any, contact: Any, q: ParkParams) -> dict[str, Any]:
        """Reasons for failure: contact with a wall, or a jack-knifed hitch."""
        folds = [abs(hitch) > q.folded for hitch in self.hitches(x)]
        return {
            "contact": contact > 0.5,
            **({"folded": reduce(logical_or, folds)} if folds else {}),
        }

    def reward(self, x: Any, pose: Pose, velocity: Velocity, contact: Any, m: Any, q: Any) -> Any:
        """Change of the potential, plus the reward or cost of an end."""
        won = where(self.parked(x, pose, velocity, q), q.parked, 0.0)
        failed = reduce(logical_or, self.failures(x, contact, q).values())
        end = where(failed, -q.crash, won)
        return self.potential(x, pose, q) - m.potential + end

    def end_reasons(
        self, x: Any, pose: Pose, velocity: Velocity, contact: Any, q: Any
    ) -> dict[str, Any]:
        """Reasons for the end: parked, or failed."""
        return {**self.failures(x, contact, q), "parked": self.parked(x, pose, velocity, q)}

    def start(self, x: Any, p: Any, q: ParkParams, d: Any) -> Start:
        """Start at rest in front of the bay, with an offset and an angle."""
        at = Pose(d.ahead, d.aside, d.heading)
        leaves = list(record.flatten(x))
        for k in reversed(range(len(self.units) - 1)):
            unit, angle = self.units[k + 1], getattr(d, f"hitch_{k}")
            leaves[unit.angle] = angle
            # Seen from the trailer, the unit ahead hangs at its drawbar.
            at = towed(at, unit.drawbar, unit.hitch_x, -angle)
        folded = record.unflatten(type(x), leaves)
        placed = self.body.placed(folded, at, Velocity(0.0, 0.0, 0.0), p)
        return Start(placed, at.x, ParkMemory(self.potential(placed, at, q)))


SIZES: tuple[m, m] = (0.3, 1.0)
"""Range of the radii of posts and half edges of boxes."""
MARGIN: m = 0.1
"""Smallest distance between the robot and an obstacle at the start."""
CELL: m = 1.0
"""Edge length of the cells of a room."""
SIDES = 12
"""Number of corners of a post's polygon, which lie on its circle."""
_LINE_WIDTH: m = 0.001
"""Width of the track's loop, too narrow to be visible: the robot need not follow it."""
_FEWEST = 16
_Cell = tuple[int, int]


class Room(NamedTuple):
    """Square room with round obstacles (posts) and square ones (boxes)."""

    edge: m
    posts: Array
    """x, y and radius of each post in m, (n, 3)."""
    boxes: Array
    """x, y, half edge in m and angle in rad of each box, (n, 4)."""

    __repr__ = brief_repr

    @property
    def walls(self) -> Array:
        """Wall segments of the room and of all obstacles, (k, 4)."""
        half = 0.5 * self.edge
        rings = [np.array(rectangle(-half, half, -half, half))]
        rings += [_polygon(x, y, radius, SIDES, 0.0) for x, y, radius in self.posts.tolist()]
        rings += [
            _polygon(x, y, np.sqrt(2.0) * size, 4, angle + 0.25 * np.pi)
            for x, y, size, angle in self.boxes.tolist()
        ]
        return stacked_edges(rings)

    def clearance(self, points: Array) -> Array:
        """Distance in m of points (n, 2) to the nearest obstacle, (n,); boxes count as circles."""
        boxes = self.boxes[:, :3] * [1.0, 1.0, np.sqrt(2.0)]
        round_ones = np.concatenate([self.posts, boxes])
        gaps = 0.5 * self.edge - np.abs(points).max(axis=1)
        for x, y, radius in round_ones.tolist():
            gaps = np.minimum(gaps, np.hypot(points[:, 0] - x, points[:, 1] - y) - radius)
        return gaps


def random_room(seed: int, number: int, obstacles: int, edge: m) -> Room:
    """Room with randomly placed posts and boxes, the same bit for bit on every machine."""
    words = names_as_words(("kind", "x", "y", "size", "angle"))
    counters = np.arange(obstacles, dtype=np.uint64) + np.uint64(number << 16)
    drawn = shares(
        "learn.room", np.full(obstacles, checked(seed) % 2**64, np.uint64), counters, words
    )
    kind, x, y, size, angle = drawn.T
    size = SIZES[0] + size * (SIZES[1] - SIZES[0])
    rows = np.column_stack([(x - 0.5) * edge, (y - 0.5) * edge, size, np.pi * angle])
    return Room(edge, rows[kind < 0.5, :3], rows[kind >= 0.5])


def room_track(room: Room, radius: m, number: int) -> Track:
    """Room as a track whose line is a loop through all positions that the robot can reach.

    Anywhere on it a robot of this radius has room to stand, whatever its heading.
    """
    half = CELL * np.floor(0.5 * room.edge / CELL)
    axis = np.arange(-half, half + 0.5 * CELL, CELL)
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    # The loop leaves a cell in the middle of an edge, a quarter of it aside.
    needed = radius + MARGIN + CELL * np.hypot(0.5, 0.25)
    free = room.clearance(cells.reshape(-1, 2)).reshape(cells.shape[:2]) >= needed
    loop = loop_through(free)
    if len(loop) < _FEWEST:
        raise InvalidValue(
            f"room {number} has {len(loop) // 4} cells of {CELL:g} m for a robot of {radius:.2f} m "
            f"radius that can be reached from each other; at least {_FEWEST // 4} are needed: "
            "fewer obstacles, or a larger edge"
        )
    centre = axis[0] + CELL * (0.5 * loop - 0.25)
    width = np.full(len(loop), _LINE_WIDTH)
    return Track(centre, width, width, walls=room.walls, name=f"room {number}")


def loop_through(free: Mask) -> NDArray[np.int64]:
    """Closed loop through the quarters of all cells in the largest connected part of a lattice.

    Returns the indices of the quarters along both axes, (n, 2); n = 0 if no cell is free. The loop
    goes round a spanning tree of the cells (Gabriely and Rimon, 2001): the loops round two cells
    that the tree joins become one.
    """
    after: dict[_Cell, _Cell] = {}
    # Cells of the largest connected part, each with its parent in a spanning tree.
    left: dict[_Cell, None] = dict.fromkeys((i, j) for i, j in np.argwhere(free).tolist())
    largest: list[tuple[_Cell, _Cell | None]] = []
    while left:
        root, _ = left.popitem()
        tree: list[tuple[_Cell, _Cell | None]] = [(root, None)]
        for (i, j), _ in tree:
            for near in ((i + 1, j), (i, j + 1), (i - 1, j), (i, j - 1)):
                if near in left:
                    del left[near]
                    tree.append((near, (i, j)))
        largest = tree if len(tree) > len(largest) else largest
    for cell, _ in largest:
        a, b, c, d = (_quarter(cell, *side) for side in ((0, 0), (1, 0), (1, 1), (0, 1)))
        after |= {a: b, b: c, c: d, d: a}
    for cell, parent in largest:
        if parent is None:
            continue
        low, high = sorted((cell, parent))
        along = high[0] > low[0]
        leaving, beside = ((1, 0), (1, 1)) if along else ((1, 1), (0, 1))
        begin, end = ((0, 0), (0, 1)) if along else ((1, 0), (0, 0))
        after[_quarter(low, *leaving)] = _quarter(high, *begin)
        after[_quarter(high, *end)] = _quarter(low, *beside)
    loop: list[_Cell] = [next(iter(after))] if after else []
    while loop and after[loop[-1]] != loop[0]:
        loop.append(after[loop[-1]])
    return np.array(loop, dtype=np.int64).reshape(-1, 2)


def _quarter(cell: _Cell, i: int, j: int) -> _Cell:
    return 2 * cell[0] + i, 2 * cell[1] + j


def _polygon(x: m, y: m, radius: m, corners: int, angle: rad) -> Array:
    turn = angle + 2.0 * np.pi * np.arange(corners) / corners
    return np.column_stack([x + radius * np.cos(turn), y + radius * np.sin(turn)])


LIDAR = Lidar(rays=36, view=2.0 * pi, range=10.0)
CANDIDATES = 3
"""Number of goal candidates sampled, of which the farthest is used."""


class NavigateParams(NamedTuple):
    """Weights of the navigation reward."""

    arrived: one = 10.0
    """Reward for arriving; a metre nearer to the goal is worth 1."""
    crash: one = 10.0
    """Cost of touching anything."""
    near: m = 0.5
    """Distance from the goal that counts as arrived."""


class NavigateMemory(NamedTuple):
    """Memory of the navigation task: the goal of the episode, and its distance."""

    x: m = 0.0
    """x of the goal in the world frame."""
    y: m = 0.0
    """y of the goal in the world frame."""
    distance: m = 0.0
    """Distance to the goal one control period ago."""


class Heading(NamedTuple):
    """Observation of the goal and the motion; the lidar ranges are appended."""

    distance: Annotated[m, Allowed(0.0, 60.0)]
    """Distance to the goal."""
    ahead: Annotated[one, Allowed(-1.0, 1.0)]
    """Cosine of the bearing of the goal relative to the heading."""
    left: Annotated[one, Allowed(-1.0, 1.0)]
    """Sine of the bearing of the goal relative to the heading, positive to the left."""
    v_x: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Lateral velocity, positive to the left."""
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

    Start and goal are free positions in a room, connected by a path wide enough for a robot that
    turns on the spot.

    Args:
        vehicle: the vehicle; a differential robot that takes speed and yaw rate if None.
        rooms: number of random rooms, or the rooms; each episode takes place in one of them.
        obstacles: number of obstacles in each random room; half of them are round.
        edge: edge length of random rooms in m.
        seed: seed of the random rooms.
        lidar: a `Lidar`, or its number of rays; None for no lidar.
        randomised: distributions of parameters, see `Task.randomised`.
        params: weights that differ from `NavigateParams`.
        pace: maximum speed in m/s.
        turning: largest yaw rate in rad/s of a robot that takes one.
        options: further fields of the `Task`.
    """
    robot = differential_robot() if vehicle is None else vehicle
    rules = _Navigating(body_of(robot, "navigating"))
    halls = _rooms(rooms, obstacles, edge, seed)
    radius = max(unit.radius for unit in units_of(robot))
    settings: dict[str, Any] = {
        "name": "navigate", "dt": 0.1, "substeps": 20, "duration": 60.0,
        "randomised": randomised or {}, "successes": ("goal",), **options,
    }  # fmt: skip
    return Task(
        vehicle=robot,
        Observation=Heading,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        Memory=NavigateMemory,
        remember=rules.remember,
        marks=rules.marks,
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
    """MVSim's two-wheeled differential robot, whose controller takes a speed and a yaw rate."""
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
    """Distance in m from a pose to a goal (x, y), with a finite gradient at the goal."""
    return smooth_hypot(goal.x - pose.x, goal.y - pose.y, _SMOOTH)


class _Navigating(NamedTuple):
    """Functions of the task `navigate`, with the values that they share."""

    body: Body

    @staticmethod
    def marks(m: NavigateMemory, q: NavigateParams) -> list[Polygon]:
        return [disc("goal", m.x, m.y, q.near)]

    @staticmethod
    def observe(pose: Pose, velocity: Velocity, m: NavigateMemory) -> Heading:
        ahead, left = to_body(pose, m.x, m.y)
        far = distance(pose, m)
        return Heading(far, ahead / far, left / far, *velocity)

    @staticmethod
    def reward(pose: Pose, contact: Any, m: NavigateMemory, q: NavigateParams) -> Any:
        """Decrease of the distance to the goal in m, plus the reward or cost of an end."""
        now = distance(pose, m)
        won = where(now < q.near, q.arrived, 0.0)
        return m.distance - now + where(contact > 0.5, -q.crash, won)

    @staticmethod
    def end_reasons(
        pose: Pose, contact: Any, m: NavigateMemory, q: NavigateParams
    ) -> dict[str, Any]:
        """Reasons for the end: a contact, or arrival at the goal."""
        return {"contact": contact > 0.5, "goal": distance(pose, m) < q.near}

    @staticmethod
    def remember(pose: Pose, m: NavigateMemory) -> NavigateMemory:
        return m._replace(distance=distance(pose, m))

    def start(self, x: Any, p: Any, course: Course, d: Any) -> Start:
        """Start at rest at a random free position; the goal is the farthest of a few other free
        positions."""
        s = d.place * course.length
        place = track_point(course, s)
        goal = track_point(course, d.goal_0 * course.length)
        for k in range(1, CANDIDATES):
            other = track_point(course, getattr(d, f"goal_{k}") * course.length)
            farther = distance(place, other) > distance(place, goal)
            goal = Pose(*(where(farther, new, old) for new, old in zip(other, goal, strict=True)))
        pose = place._replace(yaw=d.heading)
        placed = self.body.placed(x, pose, Velocity(0.0, 0.0, 0.0), p)
        return Start(placed, s, NavigateMemory(goal.x, goal.y, distance(pose, goal)))
