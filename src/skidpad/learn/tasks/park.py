"""Parking task: back a truck with its trailer into a bay, and stop there.

The world frame is that of the bay: the origin is the middle of its end wall, and x points out of
it into the yard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from math import pi, sin
from typing import Annotated, Any, NamedTuple

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
from ...vehicles.commonroad.single_track import commonroad_kst
from ...view.stage import Polygon
from ..task import Lidar, Pace, Start, Task, Unit, box, pace_of, unit_poses, units_of
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
    Observation = observation_of(len(units) - 1)
    settings: dict[str, Any] = {
        "name": "park", "draws": _draws(bay, len(units), aside, askew), "dt": 0.1, "substeps": 5,
        "duration": 90.0, "randomised": randomised or {}, "successes": ("parked",), **options,
    }  # fmt: skip
    return Task(
        vehicle=truck,
        Observation=Observation,
        observe=partial(observe, body, units, Observation),
        reward=partial(reward, units),
        ended=partial(end_reasons, units),
        start=partial(start, body, units),
        Memory=ParkMemory,
        remember=partial(remember, units),
        marks=partial(marks, units),
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
    """Record class: `Parking`, then hitch angles in rad, positive if the trailer turns left."""
    hints = record_hints(Parking)
    hints |= {f"hitch_{k}": Annotated[rad, Allowed(-3.2, 3.2)] for k in range(trailers)}
    return record.define("Parking", hints, doc="Observation.")


def observe(
    body: Body, units: Sequence[Unit], Observation: type, x: Any, u: Any, p: Any, pose: Pose, q: Any
) -> Any:
    last = unit_poses(units, pose, x)[-1]
    steer = 0.0 if body.steer is None else body.steer(x, u, p)
    own = (last.x - q.goal, last.y, wrapped(last.yaw), body.speed_of(x, u, p), steer)
    return Observation(*own, *hitches(units, x))


def hitches(units: Sequence[Unit], x: Any) -> list[Any]:
    """Hitch angles in rad, from the state."""
    leaves = record.flatten(x)
    return [leaves[unit.angle] for unit in units[1:]]


def marks(units: Sequence[Unit], q: ParkParams) -> list[Polygon]:
    corners = [corner for part in units[-1].parts for corner in part]
    (back, front), (right, left) = ((min(side), max(side)) for side in zip(*corners, strict=True))
    return [box("goal", q.goal + 0.5 * (back + front), 0.0, front - back, left - right)]


def potential(units: Sequence[Unit], x: Any, pose: Pose, q: ParkParams) -> m:
    """Potential of the parking reward in m, at most 0, and 0 at the goal.

    Minus the distance of the last unit from its goal, minus its heading and the hitch angles, each
    times a lever arm.
    """
    last = unit_poses(units, pose, x)[-1]
    away = smooth_hypot(last.x - q.goal, last.y, _SMOOTH)
    turned = abs(wrapped(last.yaw))
    for hitch in hitches(units, x):
        turned = turned + abs(hitch)
    return -(away + q.arm * turned)


def remember(units: Sequence[Unit], x: Any, pose: Pose, q: ParkParams) -> ParkMemory:
    return ParkMemory(potential(units, x, pose, q))


def parked(units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, q: ParkParams) -> Any:
    """Whether the last unit has stopped at its goal."""
    last = unit_poses(units, pose, x)[-1]
    off = maximum(abs(last.x - q.goal), abs(last.y))
    there = logical_and(off < q.near, abs(wrapped(last.yaw)) < q.aligned)
    return logical_and(there, abs(velocity.v_x) < q.slow)


def failures(units: Sequence[Unit], x: Any, contact: Any, q: ParkParams) -> dict[str, Any]:
    """Reasons for failure: contact with a wall, or a jack-knifed hitch."""
    folds = [abs(hitch) > q.folded for hitch in hitches(units, x)]
    return {"contact": contact > 0.5, **({"folded": reduce(logical_or, folds)} if folds else {})}


def reward(
    units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, contact: Any, m: Any, q: Any
) -> Any:
    """Change of the potential, plus the reward or cost of an end."""
    won = where(parked(units, x, pose, velocity, q), q.parked, 0.0)
    failed = reduce(logical_or, failures(units, x, contact, q).values())
    end = where(failed, -q.crash, won)
    return potential(units, x, pose, q) - m.potential + end


def end_reasons(
    units: Sequence[Unit], x: Any, pose: Pose, velocity: Velocity, contact: Any, q: Any
) -> dict[str, Any]:
    """Reasons for the end: parked, or failed."""
    return {**failures(units, x, contact, q), "parked": parked(units, x, pose, velocity, q)}


def start(body: Body, units: Sequence[Unit], x: Any, p: Any, q: ParkParams, d: Any) -> Start:
    """Start at rest in front of the bay, with an offset and an angle."""
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
