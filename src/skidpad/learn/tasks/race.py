"""Racing task: drive as far along the track as possible without touching its walls.

Racing task for several cars on one track, which see and hit each other.

They start from a grid, one behind the other, alternately on the left and on the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Body, Pose, Velocity, body_of
from ...core.checks import positive, whole
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import Line
from ...geometry.maps.track import Track
from ...geometry.polygon import rectangle
from ...geometry.pose import rotated, to_body
from ...ops import clip, floor, logical_and, logical_or, where
from ...units import Allowed, m, m_s, one, per_m, rad, rad_s, s
from ...vehicles.formula import four_wheel
from ..course import (
    Course,
    Place,
    PlaceMemory,
    borders_at,
    curvature_ahead,
    place_of,
    point_at,
    track_point,
)
from ..programs import touch_each_other
from ..task import Lidar, Other, Start, Task, listed_tracks, units_of

AHEAD: tuple[m, ...] = (3.0, 6.0, 10.0, 15.0, 20.0, 30.0)
"""Distances ahead at which the curvature of the track is observed."""
CRAWL: m_s = 0.5
"""Speed along the track below which a vehicle counts as standing."""


class RaceParams(NamedTuple):
    """Weights of the racing reward."""

    crash: one = 10.0
    """Cost of touching a wall, leaving the track or standing; a metre is worth 1."""
    patience: s = 5.0
    """Longest allowed time of standing or driving backwards."""


class RaceMemory(NamedTuple):
    stood: s = 0.0
    """Time since the vehicle last moved along the track."""


class Steered(NamedTuple):
    """Part of the observation that concerns the vehicle itself."""

    steer: Annotated[rad, Allowed(-1.6, 1.6)]
    """Steering angle of the front wheels, positive to the left; 0 without steered wheels."""


class RaceObservation(NamedTuple):
    """Observation on any track; the curvature ahead is appended."""

    v_x: Annotated[m_s, Allowed(-10.0, 60.0)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-15.0, 15.0)]
    """Lateral velocity, positive to the left."""
    omega: Annotated[rad_s, Allowed(-6.0, 6.0)]
    """Yaw rate, positive to the left."""
    n: Annotated[m, Allowed(-20.0, 20.0)]
    """Offset from the centre line, positive to the left."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading relative to the line, positive to the left."""
    left: Annotated[m, Allowed(0.0, 20.0)]
    """Distance from the centre line to the left border."""
    right: Annotated[m, Allowed(0.0, 20.0)]
    """Distance from the centre line to the right border."""


ROOM: one = 0.15
"""Largest offset of a start from the centre line, relative to the distance to the border."""


def race(
    vehicle: Vehicle | None = None,
    *,
    tracks: Track | Sequence[Track] | None = None,
    lidar: Lidar | int | None = None,
    randomised: Mapping[str, Any] | None = None,
    crash: one = 10.0,
    patience: s = 5.0,
    ahead: Sequence[m] = AHEAD,
    **options: Any,
) -> Task:
    """The task of lapping tracks: a metre of progress is worth 1, touching a wall ends the episode.

    Leaving the track, and standing or driving backwards for longer than `patience`, end it too;
    each costs as much as touching a wall. An episode also ends at the end of an open track, at no
    cost.

    Args:
        vehicle: the vehicle; `four_wheel` if None.
        tracks: one or more tracks; each episode starts anywhere on one of them.
        lidar: a `Lidar`, or its number of rays; None for no lidar.
        randomised: distributions of parameters, see `Task.randomised`.
        crash: cost of touching a wall, leaving the track or standing.
        patience: longest allowed time of standing or driving backwards, in s.
        ahead: distances in m at which the curvature of the track is observed.
        options: further fields of the `Task`.
    """
    car = four_wheel() if vehicle is None else vehicle
    courses = tracks_of(tracks)
    check_room(car, courses)
    hints = {**record_hints(observation_of(tuple(ahead))), **record_hints(Steered)}
    Observation = record.define("Observation", hints, doc="Observation.")
    rules = _Racing(body_of(car, "a race"), Observation, tuple(ahead))
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.3, 0.3]}, "v": {"range": [1.0, 8.0]}}
    settings: dict[str, Any] = {
        "name": "race", "draws": draws, "Params": RaceParams, "Memory": RaceMemory,
        "params": {"crash": crash, "patience": patience}, "remember": rules.remember,
        "randomised": randomised or {}, "successes": ("duration", "end_of_track"), **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        tracks=courses,
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        **settings,
    )


def observation_of(ahead: tuple[m, ...]) -> type:
    """`RaceObservation` followed by the curvature in 1/m at some distances ahead, positive to the
    left."""
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-1.5, 1.5)] for k in range(len(ahead))}
    hints = {**record_hints(RaceObservation), **bent}
    return record.define("Observation", hints, doc="Observation.")


def record_hints(kind: type) -> dict[str, Any]:
    """Fields of a record class with their annotations, `Annotated` included."""
    from typing import get_type_hints

    return get_type_hints(kind, include_extras=True)


def observe(Observation: type, ahead: tuple[m, ...], place: Place, velocity: Velocity) -> Any:
    bends = [curvature_ahead(place, distance) for distance in ahead]
    own = (velocity.v_x, velocity.v_y, velocity.omega)
    return Observation(*own, place.n, place.heading, place.left, place.right, *bends)


class _Racing(NamedTuple):
    """Functions of the task `race`, with the values that they share."""

    body: Body
    Observation: type
    ahead: tuple[m, ...]

    def observe(self, place: Place, velocity: Velocity, x: Any, u: Any, p: Any) -> Any:
        """Race observation with the steering angle, as wheels turn at a limited rate."""
        steer = self.body.steer(x, u, p) if self.body.steer else 0.0 * place.s
        return self.Observation(
            *observe(observation_of(self.ahead), self.ahead, place, velocity), steer
        )

    @staticmethod
    def reward(place: Place, contact: Any, m: RaceMemory, q: RaceParams) -> Any:
        """Progress of the period in m, minus the cost of a crash, leaving the track or standing."""
        out = logical_or(gone(place, contact), m.stood > q.patience)
        return place.gained - where(out, q.crash, 0.0)

    @staticmethod
    def end_reasons(place: Place, contact: Any, m: RaceMemory, q: RaceParams) -> dict[str, Any]:
        """Reasons for the end: contact, off the track, standing, or the end of an open track."""
        return {
            "contact": has_crashed(contact),
            "off_track": place.off_track,
            "standing": m.stood > q.patience,
            "end_of_track": place.at_end,
        }

    @staticmethod
    def remember(place: Place, m: RaceMemory, dt: s) -> RaceMemory:
        """Memory with the standing time after this period."""
        return RaceMemory(where(place.v_s > CRAWL, 0.0, m.stood + dt))

    def start(self, x: Any, p: Any, course: Course, d: Any) -> Start:
        """Start anywhere on the track, near its middle and in its direction."""
        s = d.s * course.length
        left, right = borders_at(course, s)
        pose = track_point(course, s, clip(d.n, -ROOM * right, ROOM * left))
        return Start(self.body.placed(x, pose, Velocity(d.v, 0.0, 0.0), p), s)


def gone(place: Place, contact: Any) -> Any:
    """Whether there is a contact or the vehicle has left the track."""
    return logical_or(has_crashed(contact), place.off_track)


def has_crashed(contact: Any) -> Any:
    return contact > 0.5


def check_room(vehicle: Vehicle, tracks: Sequence[Track]) -> None:
    """Raise if a track is somewhere narrower than the vehicle."""
    geometry = body_of(vehicle, "a race").geometry(vehicle.params)
    across = [y for outline in geometry.outlines for _, y in outline]
    width = max(across) - min(across)
    for k, track in enumerate(tracks):
        widths = track.left + track.right
        at = int(widths.argmin())
        if not widths[at] > width:
            x, y = track.centre[at]
            raise InvalidValue(
                f"tracks[{k}] ({track.name}) is {widths[at]:.2f} m wide at ({x:.1f}, {y:.1f}) m; "
                f"{vehicle.name!r} is {width:.2f} m wide and needs more"
            )


def tracks_of(tracks: Track | Sequence[Track] | None) -> tuple[Track, ...]:
    """Tracks as a tuple; eight random ones, 3 to 4.75 m wide, if None."""
    return _default_tracks() if tracks is None else listed_tracks(tracks)


@cache
def _default_tracks() -> tuple[Track, ...]:
    from ...geometry.maps.track import random_track

    return tuple(random_track(seed, width=3.0 + 0.25 * seed) for seed in range(8))


MARGIN: m = 0.15
"""Margin around each vehicle at the start."""
_STEP: m = 0.1
"""Spacing of the positions at which a grid is checked."""


class Grid(NamedTuple):
    """Starting grid of several vehicles."""

    agents: int
    gap: m
    """Distance along the line from one vehicle to the next."""
    side: m
    """Offset from the line, to the left for the first vehicle."""

    @classmethod
    def of(cls, vehicle: Vehicle, tracks: Sequence[Track], agents: int, gap: m | None) -> Grid:
        """Starting grid of equal vehicles; raises if two of them could touch at the start."""
        corners = np.concatenate([np.array(part) for part in units_of(vehicle)[0].parts])
        low, high = corners.min(axis=0) - MARGIN, corners.max(axis=0) + MARGIN
        least = min(float(np.minimum(track.left, track.right).min()) for track in tracks)
        side = max(0.0, 0.5 * (least - float(high[1])))
        grid = cls(agents, 1.5 * float(high[0] - low[0]) if gap is None else gap, side)
        box = rectangle(low[0], high[0], low[1], high[1])
        for number, track in enumerate(tracks):
            grid.check(track, number, box)
        return grid

    def check(self, track: Track, number: int, box: tuple[tuple[m, m], ...]) -> None:
        """Raise if two boxes on the grid could touch anywhere on a track."""
        line = track.line
        span = self.agents * self.gap
        if span > line.length:
            raise InvalidValue(
                f"tracks[{number}] ({track.name}) is {line.length:.1f} m long; {self.agents} "
                f"vehicles with a gap of {self.gap:.2f} m need {span:.1f} m"
            )
        begin = 0.0 if track.closed else span - self.gap
        first = np.arange(begin, line.length, _STEP)
        poses = [self._poses(line, first, slot) for slot in range(self.agents)]
        for a, b in combinations(poses, 2):
            hits = np.flatnonzero(np.asarray(touch_each_other(a, b, (box,))) > 0.5)
            if hits.size:
                x, y = float(a.x[hits[0]]), float(a.y[hits[0]])
                raise InvalidValue(
                    f"gap = {self.gap:g} m is too short: on tracks[{number}] ({track.name}) "
                    f"vehicles could start in contact near ({x:.1f}, {y:.1f}) m"
                )

    def _poses(self, line: Line, first: Array, slot: int) -> Any:
        at = line.at((first - slot * self.gap) % line.length)
        n = float(self.offset(float(slot)))
        return Pose(at.x - n * np.sin(at.heading), at.y + n * np.cos(at.heading), at.heading)

    def slot(self, agent: Any, share: Any) -> Any:
        """Grid position of an agent, counted from 0 at the front; `share` rotates the order."""
        moved = agent + floor(share * float(self.agents))
        return moved - float(self.agents) * floor((moved + 0.5) / float(self.agents))

    def front(self, course: Course, share: Any) -> m:
        """Distance along the line of the front of the grid, in m."""
        back = (self.agents - 1) * self.gap * (1.0 - course.closed)
        return back + share * (course.length - back)

    def offset(self, slot: Any) -> m:
        """Offset of a grid position from the line in m, positive to the left."""
        return self.side * (1.0 - 2.0 * (slot - 2.0 * floor(0.5 * slot + 0.25)))


MOST_CARS = 8
"""Largest number of cars in a race."""
SIGHT: m = 50.0
"""Distance along the track up to which other cars are observed."""


class RaceOthersParams(NamedTuple):
    """Weights of the reward in a race against others."""

    crash: one = 10.0
    """Cost of touching a wall or another car; a metre of progress is worth 1."""
    rivalry: one = 0.5
    """Cost per metre of the other cars' mean progress."""


class Near(NamedTuple):
    """Observation of the nearest cars ahead and behind; `RaceOthers` appends it to that of the
    track."""

    ahead: Annotated[m, Allowed(0.0, SIGHT)]
    """Distance along the line to the nearest car ahead.

    If there is no car within sight, the largest value; the other fields are then 0.
    """
    ahead_n: Annotated[m, Allowed(-20.0, 20.0)]
    """Offset of the car ahead minus the vehicle's own, positive to the left."""
    ahead_v: Annotated[m_s, Allowed(-40.0, 40.0)]
    """Velocity along the line of the car ahead minus the vehicle's own."""
    behind: Annotated[m, Allowed(0.0, SIGHT)]
    """Distance along the line to the nearest car behind; if there is none, as for `ahead`."""
    behind_n: Annotated[m, Allowed(-20.0, 20.0)]
    """Offset of the car behind minus the vehicle's own, positive to the left."""
    behind_v: Annotated[m_s, Allowed(-40.0, 40.0)]
    """Velocity along the line of the car behind minus the vehicle's own."""
    rank: Annotated[one, Allowed(0.0, MOST_CARS - 1.0)]
    """Number of cars in front in the race, laps included."""


def race_others(
    vehicle: Vehicle | None = None,
    *,
    agents: int = 2,
    tracks: Track | Sequence[Track] | None = None,
    lidar: Lidar | int | None = None,
    randomised: Mapping[str, Any] | None = None,
    params: Mapping[str, float] | None = None,
    ahead: Sequence[m] = AHEAD,
    gap: m | None = None,
    **options: Any,
) -> Task:
    """The task of racing other cars: a metre of progress is worth 1, minus half the mean progress
    of the other cars; touching a wall or another car costs 10 and ends the race of all.

    Cars start on a grid anywhere on a track, in random order, at the same speed.

    Args:
        vehicle: the vehicle, the same for all; `four_wheel` if None.
        agents: number of cars, 2 to 8.
        tracks: one or more tracks; each race takes place on one of them.
        lidar: a `Lidar` for each car, or its number of rays; None for no lidar. It sees the other
            cars.
        randomised: distributions of parameters, see `Task.randomised`.
        params: weights that differ from `RaceOthersParams`.
        ahead: distances in m at which the curvature of the track is observed.
        gap: distance between grid positions in m; one and a half vehicle lengths if None.
        options: further fields of the `Task`.
    """
    car = four_wheel() if vehicle is None else vehicle
    if whole("agents", agents, "from 2 to 8", least=2) > MOST_CARS:
        raise InvalidValue(f"agents = {agents} must be from 2 to {MOST_CARS}")
    courses = tracks_of(tracks)
    check_room(car, courses)
    grid = Grid.of(car, courses, agents, None if gap is None else positive("gap", gap, "m"))
    hints = {**record_hints(observation_of(tuple(ahead))), **record_hints(Near)}
    Observation = record.define("Observation", hints, doc="Observation.")
    # Positions of the other cars; progress counts from the start of the agent's own car.
    places: dict[str, Any] = dict.fromkeys([f"car_{k}" for k in range(agents - 1)], PlaceMemory)
    Memory = record.define("Rivals", places, dict.fromkeys(places, PlaceMemory()), doc="Rivals.")
    rules = _RacingOthers(body_of(car, "a race"), grid, Memory, Observation, tuple(ahead))
    settings: dict[str, Any] = {
        "name": "race_others", "draws": _DRAWS, "randomised": randomised or {},
        "successes": ("duration", "end_of_track"), **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        Memory=Memory,
        remember=rules.remember,
        Params=RaceOthersParams,
        params=params,
        tracks=courses,
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        agents=agents,
        **settings,
    )


_DRAWS: dict[str, Any] = {
    "s": {"range": [0.0, 1.0]}, "first": {"range": [0.0, 1.0]}, "v": {"range": [1.0, 8.0]},
}  # fmt: skip


class _RacingOthers(NamedTuple):
    """Functions of the task `race_others`, with the values that they share."""

    body: Body
    grid: Grid
    Memory: Any
    Observation: type
    ahead: tuple[m, ...]

    def observe(self, place: Place, velocity: Velocity, others: Any, m: Any) -> Any:
        own = observe(observation_of(self.ahead), self.ahead, place, velocity)
        return self.Observation(*own, *nearest(place, others, m))

    def remember(self, place: Place, others: Sequence[Other], m: Any) -> Any:
        return self.Memory(*(at for _, at in _places(place, others, m)))

    @staticmethod
    def reward(place: Place, others: Sequence[Other], contact: Any, m: Any, q: Any) -> Any:
        """Progress of the period in m, minus a share of the other cars' progress and the cost of a
        crash."""
        theirs: Any = 0.0
        for other, _ in _places(place, others, m):
            theirs = theirs + other.gained
        lost = where(gone(place, contact), q.crash, 0.0)
        return place.gained - q.rivalry * theirs * (1.0 / len(others)) - lost

    @staticmethod
    def end_reasons(place: Place, contact: Any) -> dict[str, Any]:
        """Reasons for the end: a contact, off the track, or the end of an open track."""
        return {
            "contact": has_crashed(contact),
            "off_track": place.off_track,
            "end_of_track": place.at_end,
        }

    def start(self, x: Any, p: Any, course: Course, d: Any, agent: Any) -> Start:
        """Start on the grid, in the direction of the track."""
        front, slot = self.grid.front(course, d.s), self.grid.slot(agent, d.first)
        s = front - self.grid.gap * slot
        pose = track_point(course, s, self.grid.offset(slot))
        rivals: list[PlaceMemory] = []
        for k in range(self.grid.agents - 1):
            # Numbers of the other cars skip the agent's own number.
            its = self.grid.slot(where(agent > k + 0.5, float(k), k + 1.0), d.first)
            at = front - self.grid.gap * its
            laps = floor(at / course.length) * where(course.closed > 0.5, 1.0, 0.0)
            rivals.append(PlaceMemory(at - laps * course.length, self.grid.gap * (slot - its)))
        return Start(self.body.placed(x, pose, Velocity(d.v, 0.0, 0.0), p), s, self.Memory(*rivals))


def nearest(place: Place, others: Sequence[Other], m: Sequence[PlaceMemory]) -> Near:
    """Observation of the nearest cars, whose places along the line are in the memory."""
    zero = 0.0 * place.s
    near = Near(zero + SIGHT, zero, zero, zero + SIGHT, zero, zero, zero)
    for other, at in zip(others, m, strict=True):
        # Gap along the line to another car, and its relative offset and velocity.
        course = place.course
        point = point_at(course, at.s)
        _, n = to_body(point[:3], other.pose.x, other.pose.y)
        v, _ = rotated(other.velocity.v_x, other.velocity.v_y, other.pose.yaw - point.heading)
        gap = at.s - place.s
        # On a loop, the shorter way round.
        laps = floor(gap / course.length + 0.5) * where(course.closed > 0.5, 1.0, 0.0)
        gap, n, v = gap - laps * course.length, n - place.n, v - place.v_s
        ahead = logical_and(gap >= 0.0, gap < near.ahead)
        behind = logical_and(gap < 0.0, -gap < near.behind)
        near = Near(
            where(ahead, gap, near.ahead), where(ahead, n, near.ahead_n),
            where(ahead, v, near.ahead_v),
            where(behind, -gap, near.behind), where(behind, n, near.behind_n),
            where(behind, v, near.behind_v),
            near.rank + where(at.progress > place.progress, 1.0, 0.0),
        )  # fmt: skip
    return near


def _places(
    place: Place, others: Sequence[Other], m: Sequence[PlaceMemory]
) -> list[tuple[Place, PlaceMemory]]:
    pairs = zip(others, m, strict=True)
    return [place_of(place.course, at, other.pose, other.velocity) for other, at in pairs]
