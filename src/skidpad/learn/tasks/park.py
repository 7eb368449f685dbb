"""Park: back a truck with its trailer into a bay, and stop there.

The world's frame is that of the bay: the origin lies in the middle of its end wall, x points out of
it into the yard.

A yard with a bay to park in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from math import pi, sin
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from ...control.car import wrapped
from ...core import record
from ...core.body import Body, Point, Pose, Velocity, body_of
from ...core.checks import not_negative, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...geometry.polygon import line_edges
from ...geometry.pose import towed
from ...ops import abs, logical_and, logical_or, maximum, smooth_hypot, where
from ...units import Allowed, m, m_s, one, rad
from ...vehicles.commonroad.kinematic import commonroad_kst
from ...view.stage import Polygon
from ..task import Lidar, Pace, Start, Task, Unit, box, pace_of, unit_poses, units_of

GAP = 0.03
"""Between the end wall of a bay and the tail of what is parked, over the length of the vehicle."""
DEPTH = 0.75
"""Of a bay, over the length of the last unit."""
YARD = 2.5
"""Depth of the yard before the bay, and its width, over the length of the vehicle."""
STARTS = (0.1, 0.65)
"""How far out of the bay the last unit starts, over the length of the vehicle."""
_LINE_POINTS = 32


class Bay(NamedTuple):
    """A bay in a yard, in its own frame: from the middle of its end wall, x out of it."""

    length: m
    """Of the vehicle, all its units one behind the other."""
    depth: m
    """From the end wall to the yard."""
    half_width: m
    """Of the bay."""
    reach: m
    """Depth of the yard, and its width."""
    goal: m
    """Where the axle of the last unit is to stand."""
    starts: tuple[m, m]
    """Where that axle starts, along x."""

    @classmethod
    def of(cls, units: Sequence[Unit], room: m | None) -> Bay:
        """For a vehicle, with so much room beside it; six tenths of its width if None."""
        corners = [np.concatenate([np.array(part) for part in unit.parts]) for unit in units]
        last, tail = corners[-1], -float(corners[-1][:, 0].min())
        half = max(float(np.abs(each[:, 1]).max()) for each in corners)
        length = sum(float(np.ptp(each[:, 0])) for each in corners)
        depth, goal = DEPTH * float(np.ptp(last[:, 0])), GAP * length + tail
        # There it is out of the bay whichever way it points.
        out = depth + float(np.hypot(tail, half))
        starts = (out + STARTS[0] * length, out + STARTS[1] * length)
        half += 0.6 * half if room is None else 0.5 * room
        return cls(length, depth, half, YARD * length, goal, starts)

    def track(self) -> Track:
        """Its walls and those of the yard; the line leads from the end wall straight out."""
        far, b, y = self.depth + self.reach, self.half_width, 0.5 * self.reach
        border: list[Point] = [
            (0.0, -b), (self.depth, -b), (self.depth, -y), (far, -y),
            (far, y), (self.depth, y), (self.depth, b), (0.0, b), (0.0, -b),
        ]  # fmt: skip
        centre = np.linspace((0.0, 0.0), (far, 0.0), _LINE_POINTS)
        width, walls = np.full(_LINE_POINTS, b), line_edges(np.array(border))
        return Track(centre, width, width, closed=False, walls=walls, name="bay")


ASIDE = 0.1
"""How far beside the bay's axis the last unit starts, over the length of the vehicle."""
ASKEWEST: rad = 0.5
_SMOOTH: m = 1e-3


class ParkParams(NamedTuple):
    """What counts."""

    goal: m = 5.0
    """Where the axle of the last unit is to stand, from the end wall; `park` knows."""
    parked: one = 20.0
    """Gained by standing in the bay."""
    crash: one = 20.0
    """Lost by touching a wall or folding up; a metre nearer to the goal is worth 1."""
    arm: m = 4.0
    """What a radian of the last unit or of a hitch is worth, in metres."""
    near: m = 0.3
    """How far from its goal it may stand, along the bay and across it."""
    aligned: rad = 0.05
    """How far askew."""
    slow: m_s = 0.1
    """At what speed it stands."""
    folded: rad = 1.2
    """Angle of a hitch at which it has jack-knifed."""


class ParkMemory(NamedTuple):
    """What is remembered from period to period."""

    potential: m = 0.0
    """How near to the goal it was; see `potential`."""


class Parking(NamedTuple):
    """The last unit in the bay's frame, and how the vehicle moves; hitches come behind it."""

    x: Annotated[m, Allowed(-10.0, 90.0)]
    """Of the axle of the last unit, beyond its goal."""
    y: Annotated[m, Allowed(-50.0, 50.0)]
    """Of the axle of the last unit, to the left of who looks out of the bay."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Of the last unit; 0 looks straight out of the bay, positive is to the left."""
    v: Annotated[m_s, Allowed(-5.0, 5.0)]
    """Of the vehicle, negative in reverse."""
    steer: Annotated[rad, Allowed(-1.6, 1.6)]
    """Angle of its front wheels, positive to the left; 0 of one that does not steer."""


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
    """The task of backing into a bay: a metre nearer to the goal is worth 1, standing there 20;
    touching a wall and folding up cost as much and end the episode.

    What is rewarded on the way is the change of a potential (see `potential`), so that detours earn
    nothing.

    Args:
        vehicle: what is parked, with any number of trailers; `commonroad_kst`, a truck with its
            semi-trailer, if None.
        lidar: a `Lidar`, or the number of rays of one; None for none. It does not see trailers.
        randomised: distributions of parameters, see `Task.randomised`.
        params: what counts, where it differs from `ParkParams`.
        pace: fastest speed, in m/s.
        room: of the bay beyond the width of the vehicle, in m; six tenths of that if None.
        aside: how far beside the bay's axis the last unit starts, at most, in m; a tenth of the
            length of the vehicle if None.
        askew: its angle at the start, and that of each hitch, at most, in rad.
        options: further fields of the `Task`.
    """
    truck = commonroad_kst() if vehicle is None else vehicle
    body, units = body_of(truck, "parking"), units_of(truck)
    bay = Bay.of(units, None if room is None else positive("room", room, "m"))
    Observation = observation_of(len(units) - 1)
    settings: dict[str, Any] = {
        "name": "park", "draws": _draws(bay, len(units), aside, askew), "dt": 0.1, "substeps": 5,
        "duration": 90.0, "randomised": randomised or {}, "successes": ("parked",), **options,
    }  # fmt: skip
    return Task(
        vehicle=truck,
        Observation=Observation,
        observe=partial(observed, body, units, Observation),
        reward=partial(rewarded, units),
        ended=partial(finished, units),
        start=partial(begun, body, units),
        Memory=ParkMemory,
        remember=partial(remembered, units),
        marks=partial(marked, units),
        Action=Pace,
        act=pace_of(truck, positive("pace", pace, "m/s")),
        Params=ParkParams,
        params={"goal": bay.goal, **(params or {})},
        tracks=(bay.track(),),
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        **settings,
    )


def _draws(bay: Bay, units: int, aside: m | None, askew: rad) -> dict[str, Any]:
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


def observation_of(trailers: int) -> type:
    """`Parking`, and the angle of each hitch in rad, positive where its trailer is turned left."""
    hints = get_type_hints(Parking, include_extras=True)
    hints |= {f"hitch_{k}": Annotated[rad, Allowed(-3.2, 3.2)] for k in range(trailers)}
    return record.define("Parking", hints, doc="What is seen.")


def observed(
    body: Body, units: Sequence[Unit], Observation: type, x: Any, u: Any, p: Any, pose: Pose, q: Any
) -> Any:
    """What is seen of a vehicle in the yard."""
    last = unit_poses(units, pose, x)[-1]
    steer = 0.0 if body.steer is None else body.steer(x, u, p)
    own = (last.x - q.goal, last.y, wrapped(last.yaw), body.speed_of(x, u, p), steer)
    return Observation(*own, *hitches(units, x))


def hitches(units: Sequence[Unit], x: Any) -> list[Any]:
    """Angles of all hitches in a state, in rad."""
    leaves = record.flatten(x)
    return [leaves[unit.angle] for unit in units[1:]]


def marked(units: Sequence[Unit], q: ParkParams) -> list[Polygon]:
    """Where the last unit is to stand, for pictures."""
    corners = [corner for part in units[-1].parts for corner in part]
    (back, front), (right, left) = ((min(side), max(side)) for side in zip(*corners, strict=True))
    return [box("goal", q.goal + 0.5 * (back + front), 0.0, front - back, left - right)]


def potential(units: Sequence[Unit], x: Any, pose: Pose, q: ParkParams) -> m:
    """How near to the goal a vehicle is: 0 there, and less by the distance of the last unit in m
    and by its angle and those of the hitches, each with the arm of a lever."""
    last = unit_poses(units, pose, x)[-1]
    away = smooth_hypot(last.x - q.goal, last.y, _SMOOTH)
    turned = abs(wrapped(last.yaw))
    for hitch in hitches(units, x):
        turned = turned + abs(hitch)
    return -(away + q.arm * turned)


def remembered(units: Sequence[Unit], x: Any, pose: Pose, q: ParkParams) -> ParkMemory:
    """How near to the goal it is now."""
    return ParkMemory(potential(units, x, pose, q))


def parked(units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, q: ParkParams) -> Any:
    """Whether the last unit stands at its goal."""
    last = unit_poses(units, pose, x)[-1]
    off = maximum(abs(last.x - q.goal), abs(last.y))
    there = logical_and(off < q.near, abs(wrapped(last.yaw)) < q.aligned)
    return logical_and(there, abs(velocity.v_x) < q.slow)


def failures(units: Sequence[Unit], x: Any, contact: Any, q: ParkParams) -> dict[str, Any]:
    """Whether a wall was touched, and whether a hitch has folded up."""
    folds = [abs(hitch) > q.folded for hitch in hitches(units, x)]
    return {"contact": contact > 0.5, **({"folded": reduce(logical_or, folds)} if folds else {})}


def rewarded(
    units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, contact: Any, m: Any, q: Any
) -> Any:
    """The change of the potential, and what the end is worth."""
    won = where(parked(units, x, pose, velocity, q), q.parked, 0.0)
    failed = reduce(logical_or, failures(units, x, contact, q).values())
    end = where(failed, -q.crash, won)
    return potential(units, x, pose, q) - m.potential + end


def finished(
    units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, contact: Any, q: Any
) -> dict[str, Any]:
    """Whether it is parked, or has failed."""
    return {**failures(units, x, contact, q), "parked": parked(units, x, pose, velocity, q)}


def begun(body: Body, units: Sequence[Unit], x: Any, p: Any, q: ParkParams, d: Any) -> Start:
    """Before the bay, a little aside and askew, at rest."""
    at = Pose(d.ahead, d.aside, d.heading)
    leaves = list(record.flatten(x))
    for k in reversed(range(len(units) - 1)):
        unit, angle = units[k + 1], getattr(d, f"hitch_{k}")
        leaves[unit.angle] = angle
        # Seen from the trailer, the unit ahead hangs at its drawbar.
        at = towed(at, unit.drawbar, unit.hitch_x, -angle)
    folded = record.unflatten(type(x), leaves)
    placed = body.placed(folded, at, Velocity(0.0, 0.0, 0.0), p)
    return Start(placed, at.x, ParkMemory(potential(units, placed, at, q)))
