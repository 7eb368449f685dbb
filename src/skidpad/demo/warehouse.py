"""`warehouse`: robots with differential drive and lidar at work between shelves.

Each robot wanders through the aisles and stops now and then to pick something; whatever is in the
way it sees with its lidar: it slows down behind others and lets the picker pass. A tote that does
not move is pushed aside.

Streets run along x and y and meet in crossings; robots keep to the right. A crossing belongs to one
robot at a time, which takes it only when there is room behind it: no robot stops in a crossing.
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
"""Numbers of its column and row."""


class Grid(NamedTuple):
    """Streets: their places, and how far right of the middle one drives."""

    xs: tuple[m, ...]
    """Places of the streets along y."""
    ys: tuple[m, ...]
    """Places of the streets along x."""
    beside_x: m
    """Distance of the lanes of streets along x from the middle."""
    beside_y: m

    def place(self, at: Crossing) -> tuple[m, m]:
        """Where a crossing is."""
        return self.xs[at[0]], self.ys[at[1]]

    def next_to(self, at: Crossing) -> list[Crossing]:
        """Crossings one street away."""
        i, j = at
        around = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
        return [c for c in around if 0 <= c[0] < len(self.xs) and 0 <= c[1] < len(self.ys)]

    def lane(self, a: Crossing, b: Crossing) -> tuple[tuple[m, m], tuple[m, m]]:
        """Ends of the lane from one crossing to the next."""
        (x, y), (x_b, y_b) = self.place(a), self.place(b)
        if a[1] == b[1]:
            right = -self.beside_x if x_b > x else self.beside_x
            return (x, y + right), (x_b, y_b + right)
        right = self.beside_y if y_b > y else -self.beside_y
        return (x + right, y), (x_b + right, y_b)

    def corner(self, a: Crossing, b: Crossing, c: Crossing) -> tuple[m, m]:
        """Where one turns at b on the way from a to c."""
        arriving, leaving = self.lane(a, b)[1], self.lane(b, c)[0]
        along_x = a[1] == b[1]
        straight = along_x == (b[1] == c[1])
        if straight:
            return leaving
        return (leaving[0], arriving[1]) if along_x else (arriving[0], leaving[1])


@dataclass
class Route:
    """A walk without end over a grid: the crossing behind, the one ahead, the one after."""

    grid: Grid
    rng: np.random.Generator
    behind: Crossing
    ahead: Crossing
    after: Crossing = field(init=False)

    def __post_init__(self) -> None:
        self.after = self._chosen(self.behind, self.ahead)

    def _chosen(self, behind: Crossing, ahead: Crossing) -> Crossing:
        """Any way but back; into the aisles rather than along the corridors."""
        ways = [c for c in self.grid.next_to(ahead) if c != behind]
        weight = np.array([2.0 if c[1] == ahead[1] else 1.0 for c in ways])
        return ways[int(self.rng.choice(len(ways), p=weight / weight.sum()))]

    def pass_on(self) -> None:
        """The crossing ahead is passed."""
        self.behind, self.ahead = self.ahead, self.after
        self.after = self._chosen(self.behind, self.ahead)


class Crossings:
    """The robots that hold crossings."""

    def __init__(self) -> None:
        self.owner: dict[Crossing, str] = {}

    def take(self, at: Crossing, who: str) -> bool:
        """Whether a robot has a crossing now."""
        return self.owner.setdefault(at, who) == who

    def leave(self, at: Crossing, who: str) -> None:
        """Give a crossing free."""
        if self.owner.get(at) == who:
            del self.owner[at]


FILE = Path(__file__).parent / "worlds" / "warehouse.world.xml"
PERIOD: s = 0.05
HALL = Grid((-10.6, 0.0, 10.6), (-6.0, -3.0, 0.0, 3.0, 6.0), beside_x=0.45, beside_y=0.75)
SPEED: m_s = 1.3
PUSHING: m_s = 0.35
PATIENCE: s = 3.0
"""After so long before something that does not move, a robot pushes."""
LONG_PATIENCE: s = 8.0
"""The same behind another robot, which may be waiting itself."""
STOP: m = 1.5
"""Robots wait so far before the middle of a crossing."""
CLEAR: m = 1.2
"""So far behind it the crossing is free again."""
ROOM: m = 2.2
"""A robot enters a crossing if no other is nearer than this behind it."""
PICKER: m = 3.4
"""Robots do not enter a crossing while the picker is nearer than this."""
PICKS = 0.35
"""Share of the aisles in which a robot stops."""


class Robot:
    """One robot and its driver."""

    def __init__(self, body: WorldVehicle, route: Route, rng: np.random.Generator) -> None:
        self.body, self.route, self.rng = body, route, rng
        self.left: Crossing | None = None
        """The crossing that it still occupies."""
        self.pick_at: m | None = None
        """Where along the lane it stops next, from the crossing behind."""
        self.pause: s = 0.0
        self.blocked: s = 0.0

    def act(self, everybody: dict[str, Robot], crossings: Crossings, picker: tuple[m, m]) -> None:
        """Decide for the coming period."""
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
        """The corner that it turns at, from the middle of the crossing."""
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
        """Speed that what the lidar sees ahead allows."""
        scan = self.body.sensors["lidar"]
        if scan is None:
            return SPEED
        angle = np.linspace(-0.75 * pi, 0.75 * pi, len(scan.ranges))
        ranges = np.nan_to_num(scan.ranges, nan=99.0, posinf=99.0, neginf=0.0)
        ahead, left = ranges * np.cos(angle), ranges * np.sin(angle)
        # In a turn, what is straight ahead is not in the way.
        reach = 3.0 if abs(self._turn(here)) < 0.35 else 0.5
        in_way = (np.abs(left) < 0.33) & (ahead > 0.0) & (ahead < reach)
        gap = float(ahead[in_way].min(initial=np.inf)) - 0.35
        v = max(0.0, min(SPEED, 1.4 * gap))
        waiting = abs(here.v_x) < 0.02 and v < 0.02
        self.blocked = self.blocked + PERIOD if waiting or self.blocked > patience else 0.0
        if self.blocked > patience:
            # Pushes until the way is free.
            self.blocked = 0.0 if gap > 0.6 else self.blocked
            return PUSHING
        return v

    def _drive(self, here: Truth, v: m_s) -> None:
        """Towards the point of the lane ahead."""
        turn = self._turn(here)
        omega = max(-2.0, min(2.0, 2.2 * turn)) if v > 0.0 else 0.0
        # Sharp turns are made on the spot.
        self.body.command(v=v * max(0.0, cos(1.4 * turn)) if abs(turn) < 1.1 else 0.0, omega=omega)

    def _turn(self, here: Truth) -> rad:
        """Angle to the point that it drives to, positive to the left."""
        x, y = self._goal(here)
        turn = atan2(y - here.y, x - here.x) - here.yaw
        return (turn + pi) % (2.0 * pi) - pi

    def _goal(self, here: Truth) -> tuple[m, m]:
        """A point of its lane 0.8 m ahead; the corner when that is nearer."""
        route = self.route
        start, _ = HALL.lane(route.behind, route.ahead)
        x, y = HALL.corner(route.behind, route.ahead, route.after)
        if route.behind[1] == route.ahead[1]:
            step = 0.8 if x > start[0] else -0.8
            return (x if abs(x - here.x) < 0.8 else here.x + step), start[1]
        step = 0.8 if y > start[1] else -0.8
        return start[0], (y if abs(y - here.y) < 0.8 else here.y + step)


def show(seed: int) -> WorldShow:
    """The hall; the seed decides where robots go."""
    world = World.load(FILE, seed=seed)
    crossings = Crossings()
    robots = {
        name: Robot(body, _first_route(body, k, seed), np.random.default_rng([seed, k, 1]))
        for k, (name, body) in enumerate(world.vehicles.items())
    }

    def direct(world: World) -> None:
        picker = world.block("picker")
        for robot in robots.values():
            robot.act(robots, crossings, (picker.x, picker.y))

    return WorldShow(world, direct=direct, period=PERIOD, title="Warehouse", duration=45.0)


def _first_route(body: WorldVehicle, number: int, seed: int) -> Route:
    """From where a robot stands in an aisle, the way it points."""
    here = body.truth
    row = int(np.argmin([abs(here.y - y) for y in HALL.ys]))
    west = 0 if here.x < 0.0 else 1
    ends = (west, row), (west + 1, row)
    behind, ahead = ends if cos(here.yaw) > 0.0 else ends[::-1]
    return Route(HALL, np.random.default_rng([seed, number]), behind, ahead)
