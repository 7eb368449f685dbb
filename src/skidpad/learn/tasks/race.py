"""Racing task: drive as far along the track as possible without touching its walls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Annotated, Any, NamedTuple

from ...core import record
from ...core.body import Body, Velocity, body_of
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...ops import clip, logical_or, where
from ...units import Allowed, m, m_s, one, per_m, rad, rad_s, s
from ...vehicles.formula import four_wheel
from ..course import Course, Place, borders_at, curvature_ahead, track_point
from ..task import Lidar, Start, Task, listed_tracks

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


class Seen(NamedTuple):
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
    body = body_of(car, "a race")
    courses = tracks_of(tracks)
    check_room(car, courses)
    hints = {**record_hints(observation_of(tuple(ahead))), **record_hints(Steered)}
    Observation = record.define("Observation", hints, doc="Observation.")
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.3, 0.3]}, "v": {"range": [1.0, 8.0]}}
    settings: dict[str, Any] = {
        "name": "race", "draws": draws, "Params": RaceParams, "Memory": RaceMemory,
        "params": {"crash": crash, "patience": patience}, "remember": remember,
        "randomised": randomised or {}, "successes": ("duration", "end_of_track"), **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=partial(observe_driving, Observation, tuple(ahead), body),
        reward=reward,
        ended=end_reasons,
        start=partial(start, body),
        tracks=courses,
        lidar=Lidar(lidar) if isinstance(lidar, int) else lidar,
        **settings,
    )


def observation_of(ahead: tuple[m, ...]) -> type:
    """Record class: `Seen`, then curvatures in 1/m at the distances ahead, positive left."""
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-1.5, 1.5)] for k in range(len(ahead))}
    return record.define("Observation", {**record_hints(Seen), **bent}, doc="Observation.")


def record_hints(kind: type) -> dict[str, Any]:
    """Fields of a record class with their annotations, `Annotated` included."""
    from typing import get_type_hints

    return get_type_hints(kind, include_extras=True)


def observe(Observation: type, ahead: tuple[m, ...], place: Place, velocity: Velocity) -> Any:
    bends = [curvature_ahead(place, distance) for distance in ahead]
    own = (velocity.v_x, velocity.v_y, velocity.omega)
    return Observation(*own, place.n, place.heading, place.left, place.right, *bends)


def observe_driving(
    Observation: type, ahead: tuple[m, ...], body: Body, place: Place, velocity: Velocity, x: Any,
    u: Any, p: Any,
) -> Any:  # fmt: skip
    """Race observation with the steering angle, as wheels turn at a limited rate."""
    steer = body.steer(x, u, p) if body.steer else 0.0 * place.s
    return Observation(*observe(observation_of(ahead), ahead, place, velocity), steer)


def reward(place: Place, contact: Any, m: RaceMemory, q: RaceParams) -> Any:
    """Progress of the period in m, minus the cost of a crash, leaving the track or standing."""
    out = logical_or(gone(place, contact), m.stood > q.patience)
    return place.gained - where(out, q.crash, 0.0)


def gone(place: Place, contact: Any) -> Any:
    """Whether there is a contact or the vehicle has left the track."""
    return logical_or(has_crashed(contact), place.off_track)


def end_reasons(place: Place, contact: Any, m: RaceMemory, q: RaceParams) -> dict[str, Any]:
    """Reasons for the end: contact, off the track, standing, or the end of an open track."""
    return {
        "contact": has_crashed(contact),
        "off_track": place.off_track,
        "standing": m.stood > q.patience,
        "end_of_track": place.at_end,
    }


def remember(place: Place, m: RaceMemory, dt: s) -> RaceMemory:
    """Memory with the standing time after this period."""
    return RaceMemory(where(place.v_s > CRAWL, 0.0, m.stood + dt))


def has_crashed(contact: Any) -> Any:
    return contact > 0.5


def start(body: Body, x: Any, p: Any, course: Course, d: Any) -> Start:
    """Start anywhere on the track, near its middle and in its direction."""
    s = d.s * course.length
    left, right = borders_at(course, s)
    pose = track_point(course, s, clip(d.n, -ROOM * right, ROOM * left))
    return Start(body.placed(x, pose, Velocity(d.v, 0.0, 0.0), p), s)


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
