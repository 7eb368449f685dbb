"""`warehouse`: robots with differential drive and lidar at work between shelves.

Each robot drives through the aisles and stops occasionally to pick something. It detects obstacles
with its lidar: it slows down behind others and lets the picker pass. It pushes a tote that does not
move aside.

Streets run along x and y and meet in crossings; robots keep to the right. A crossing is reserved
for one robot at a time, which enters only if there is room behind it: no robot stops in a crossing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, cos, hypot, pi
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..units import m, m_s, rad, s
from ..world.vehicle import Truth, WorldVehicle
from ..world.world import World
from .shows import WorldShow

Crossing = tuple[int, int]
"""Column and row numbers of a crossing."""


class Grid(NamedTuple):
    """Streets of a hall: their coordinates, and the offset of the lanes from the middle."""

    xs: tuple[m, ...]
    """x coordinates in m of the streets along y."""
    ys: tuple[m, ...]
    """y coordinates in m of the streets along x."""
    beside_x: m
    """Distance in m of the lanes of streets along x from the middle."""
    beside_y: m

    def place(self, at: Crossing) -> tuple[m, m]:
        """Coordinates of a crossing, in m."""
        return self.xs[at[0]], self.ys[at[1]]

    def next_to(self, at: Crossing) -> list[Crossing]:
        """Crossings one street away."""
        i, j = at
        around = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        return [c for c in around if 0 <= c[0] < len(self.xs) and 0 <= c[1] < len(self.ys)]

    def lane(self, a: Crossing, b: Crossing) -> tuple[tuple[m, m], tuple[m, m]]:
        """Start and end of the lane from one crossing to the next, in m."""
        (x, y), (x_b, y_b) = self.place(a), self.place(b)
        if a[1] == b[1]:
            right = -self.beside_x if x_b > x else self.beside_x
            return (x, y + right), (x_b, y_b + right)
        right = self.beside_y if y_b > y else -self.beside_y
        return (x + right, y), (x_b + right, y_b)

    def corner(self, a: Crossing, b: Crossing, c: Crossing) -> tuple[m, m]:
        """Point in m where the route from a through b to c turns."""
        arriving, leaving = self.lane(a, b)[1], self.lane(b, c)[0]
        along_x = a[1] == b[1]
        straight = along_x == (b[1] == c[1])
        if straight:
            return leaving
        return (leaving[0], arriving[1]) if along_x else (arriving[0], leaving[1])


@dataclass
class Route:
    """An endless random route over a grid: the crossing behind, the one ahead and the next."""

    grid: Grid
    rng: np.random.Generator
    behind: Crossing
    ahead: Crossing
    after: Crossing = field(init=False)

    def __post_init__(self) -> None:
        self.after = self._chosen(self.behind, self.ahead)

    def _chosen(self, behind: Crossing, ahead: Crossing) -> Crossing:
        ways = [c for c in self.grid.next_to(ahead) if c != behind]
        weight = np.array([2.0 if c[1] == ahead[1] else 1.0 for c in ways])
        return ways[int(self.rng.choice(len(ways), p=weight / weight.sum()))]

    def pass_on(self) -> None:
        """Advance the route after the crossing ahead was passed."""
        self.behind, self.ahead = self.ahead, self.after
        self.after = self._chosen(self.behind, self.ahead)


class Crossings:
    """Reservations of crossings by robots."""

    def __init__(self) -> None:
        self.owner: dict[Crossing, str] = {}

    def take(self, at: Crossing, who: str) -> bool:
        """Reserve a crossing; returns whether the robot has it."""
        return self.owner.setdefault(at, who) == who

    def leave(self, at: Crossing, who: str) -> None:
        if self.owner.get(at) == who:
            del self.owner[at]


FILE = Path(__file__).parent / "worlds" / "warehouse.world.xml"
PERIOD: s = 0.05
HALL = Grid((-10.6, 0.0, 10.6), (-6.0, -3.0, 0.0, 3.0, 6.0), beside_x=0.45, beside_y=0.75)
SPEED: m_s = 1.3
PUSHING: m_s = 0.35
PATIENCE: s = 3.0
"""Waiting time in s after which a robot pushes an obstacle that does not move."""
LONG_PATIENCE: s = 8.0
"""Waiting time in s behind another robot, which may be waiting itself."""
STOP: m = 1.5
"""Distance in m before the middle of a crossing at which robots wait."""
CLEAR: m = 1.2
"""Distance in m behind the middle of a crossing from which it is released."""
ROOM: m = 2.2
"""Distance in m behind a crossing that must be free of other robots to enter it."""
PICKER: m = 3.4
"""Distance in m of the picker within which robots do not enter a crossing."""
PICKS = 0.35
"""Share of the aisles in which a robot stops."""


class Robot:
    def __init__(self, body: WorldVehicle, route: Route, rng: np.random.Generator) -> None:
        self.body, self.route, self.rng = body, route, rng
        self.left: Crossing | None = None
        """Crossing behind it that it still occupies."""
        self.pick_at: m | None = None
        """Distance in m of the next stop along the lane, from the crossing behind."""
        self.pause: s = 0.0
        self.blocked: s = 0.0

    def act(self, everybody: dict[str, Robot], crossings: Crossings, picker: tuple[m, m]) -> None:
        here = self.body.truth
        route, name = self.route, self.body.name
        to_go = self._to(here, route.ahead)
        if self.left is not None and self._to(here, self.left) > CLEAR:
            crossings.leave(self.left, name)
            self.left = None
        v = SPEED
        if to_go < STOP + 0.8 and not self._may_enter(everybody, crossings, picker):
            v = min(v, max(0.0, 1.5 * (to_go - STOP)))
        if to_go < hypot(*self._from_middle(route.ahead)) + 0.35:
            self.left = route.ahead
            route.pass_on()
            along_x = self.route.behind[1] == self.route.ahead[1]
            stops = along_x and self.rng.random() < PICKS
            self.pick_at = float(self.rng.uniform(3.0, 7.5)) if stops else None
        others = [other.body.truth for other in everybody.values() if other is not self]
        alone = all(hypot(t.x - here.x, t.y - here.y) > 1.6 for t in others)
        v = min(v, self._seen_free(here, PATIENCE if alone else LONG_PATIENCE))
        if self.pause > 0.0 or self._picking(here):
            v, self.pause = 0.0, max(0.0, self.pause - PERIOD)
        self._drive(here, v)

    def _to(self, here: Truth, at: Crossing) -> m:
        x, y = HALL.place(at)
        return hypot(x - here.x, y - here.y)

    def _from_middle(self, at: Crossing) -> tuple[m, m]:
        """Turning point of the route in m, relative to the middle of the crossing at `at`."""
        x, y = HALL.corner(self.route.behind, at, self.route.after)
        middle = HALL.place(at)
        return x - middle[0], y - middle[1]

    def _may_enter(
        self, everybody: dict[str, Robot], crossings: Crossings, picker: tuple[m, m]
    ) -> bool:
        at, name = self.route.ahead, self.body.name
        if crossings.owner.get(at) == name:
            return True
        x, y = HALL.place(at)
        if hypot(picker[0] - x, picker[1] - y) < PICKER:
            return False
        for other in everybody.values():
            if other is not self and (other.route.behind, other.route.ahead) == (
                at,
                self.route.after,
            ):
                there = other.body.truth
                if hypot(there.x - x, there.y - y) < ROOM:
                    return False
        return crossings.take(at, name)

    def _picking(self, here: Truth) -> bool:
        if self.pick_at is None or self._to(here, self.route.behind) < self.pick_at:
            return False
        self.pick_at, self.pause = None, float(self.rng.uniform(1.0, 2.5))
        return True

    def _seen_free(self, here: Truth, patience: s) -> m_s:
        """Speed in m/s that the obstacles in the lidar scan allow.

        A robot that has waited for longer than `patience`, in s, pushes.
        """
        scan = self.body.sensors["lidar"]
        if scan is None:
            return SPEED
        angle = np.linspace(-0.75 * pi, 0.75 * pi, len(scan.ranges))
        ranges = np.nan_to_num(scan.ranges, nan=99.0, posinf=99.0, neginf=0.0)
        ahead, left = ranges * np.cos(angle), ranges * np.sin(angle)
        # In a turn, obstacles straight ahead are ignored.
        reach = 3.0 if abs(self._turn(here)) < 0.35 else 0.5
        in_way = (np.abs(left) < 0.33) & (ahead > 0.0) & (ahead < reach)
        gap = float(ahead[in_way].min(initial=np.inf)) - 0.35
        v = max(0.0, min(SPEED, 1.4 * gap))
        waiting = abs(here.v_x) < 0.02 and v < 0.02
        self.blocked = self.blocked + PERIOD if waiting or self.blocked > patience else 0.0
        if self.blocked > patience:
            # Keep pushing until the obstacle is gone.
            self.blocked = 0.0 if gap > 0.6 else self.blocked
            return PUSHING
        return v

    def _drive(self, here: Truth, v: m_s) -> None:
        turn = self._turn(here)
        omega = max(-2.0, min(2.0, 2.2 * turn)) if v > 0.0 else 0.0
        # Sharp turns are made on the spot.
        self.body.command(v=v * max(0.0, cos(1.4 * turn)) if abs(turn) < 1.1 else 0.0, omega=omega)

    def _turn(self, here: Truth) -> rad:
        """Angle in rad to the goal point, positive to the left."""
        x, y = self._goal(here)
        turn = atan2(y - here.y, x - here.x) - here.yaw
        return (turn + pi) % (2.0 * pi) - pi

    def _goal(self, here: Truth) -> tuple[m, m]:
        """Goal point on the lane, 0.8 m ahead, or the corner if that is nearer."""
        route = self.route
        start, _ = HALL.lane(route.behind, route.ahead)
        x, y = HALL.corner(route.behind, route.ahead, route.after)
        if route.behind[1] == route.ahead[1]:
            step = 0.8 if x > start[0] else -0.8
            return (x if abs(x - here.x) < 0.8 else here.x + step), start[1]
        step = 0.8 if y > start[1] else -0.8
        return start[0], (y if abs(y - here.y) < 0.8 else here.y + step)


def show(seed: int) -> WorldShow:
    """Show of the hall; the seed determines the routes of the robots."""
    world = World.load(FILE, seed=seed)
    crossings = Crossings()
    robots: dict[str, Robot] = {}
    for k, (name, body) in enumerate(world.vehicles.items()):
        # Each robot starts in an aisle and drives out in its heading direction.
        here = body.truth
        row = int(np.argmin([abs(here.y - y) for y in HALL.ys]))
        west = 0 if here.x < 0.0 else 1
        ends = (west, row), (west + 1, row)
        behind, ahead = ends if cos(here.yaw) > 0.0 else ends[::-1]
        route = Route(HALL, np.random.default_rng([seed, k]), behind, ahead)
        robots[name] = Robot(body, route, np.random.default_rng([seed, k, 1]))

    def direct(world: World) -> None:
        picker = world.block("picker")
        for robot in robots.values():
            robot.act(robots, crossings, (picker.x, picker.y))

    return WorldShow(world, direct=direct, period=PERIOD, title="Warehouse", duration=45.0)
