"""A task: what a driver is to learn, as pure functions next to those of the vehicle.

A `Task` is compiled together with its vehicle. Its functions name their arguments, like those of a
policy, and are called with these:

| name | what it is | which functions may have it |
|---|---|---|
| `x`, `p` | state and parameters of the vehicle, its records | all |
| `u` | its input | all but `start`, `act` |
| `a` | the action, a record of the task's `Action` | all but `start` |
| `m` | the memory of the task, its `Memory` | all but `start` |
| `q` | the task's own numbers, its `Params` | all |
| `pose`, `velocity` | of the vehicle's reference point, from its body | all but `start`, `act` |
| `place` | where it is on its track, a `Place` | the same, if there are tracks |
| `course` | the track itself, a `Course` | `start` |
| `contact` | 1.0 if it touches a wall or another vehicle, else 0.0 | as `place` |
| `ranges` | of its lidar, a tuple in m | as `place`, if there is a lidar |
| `others` | the other vehicles of its world, a tuple of `Other` | as `place` |
| `time` | since the start of the episode, in s | all but `start`, `act` |
| `d` | values of `draws` in this episode, a record | `start` |
| `e` | values of `noise` in this period, a record | all but `start`, `act` |
| `dt` | the control period in s | all |

They are built from `skidpad.ops` and arithmetic, have no state and no `if` on a value.

The module also has the actions `Drive` (shares of steering and acceleration) and `Pace` (share of a
speed, for manoeuvring), the `Lidar`, the units of a vehicle with trailers, and the polygons that
pictures show on the ground.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import cos, hypot, inf, isfinite, pi, sin
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import integrate
from ..core import record
from ..core.arrays import Array
from ..core.body import Body, Demand, Limits, Outline, Pose, Velocity, body_of
from ..core.checks import finite, must_be, not_negative, positive, whole
from ..core.files import brief_repr
from ..core.model import Constant, Vehicle, arguments, vehicle_of
from ..core.policy import Nothing
from ..errors import InvalidValue
from ..geometry.maps.track import Track
from ..geometry.polygon import cleaned, convex_parts
from ..geometry.pose import towed
from ..ops import maximum, minimum
from ..random.factors import Factor, factor_of
from ..run.stability import AUTO
from ..units import Allowed, m, m_s, m_s2, one, rad, rad_s, s
from ..view.stage import Polygon

GRIP: m_s2 = 10.0
"""Acceleration of a full share for a vehicle that sets no limit."""


class Drive(NamedTuple):
    """The action of most tasks: steering and acceleration."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (of the yaw rate of a robot), positive to the left."""
    drive: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest acceleration, or, negative, of the brakes."""


def drive_of(vehicle: Vehicle) -> Callable[[Any, Drive, Any], Any]:
    """The input of a vehicle for a `Drive`, within the limits of its body."""
    body = body_of(vehicle, "an action")
    return partial(_driven, body.command, body.limits(vehicle.params))


def _driven(command: Any, limits: Limits, x: Any, a: Drive, p: Any) -> Any:
    steer_max: rad = limits.steer_max if isfinite(limits.steer_max) else 0.6
    ahead = min(abs(limits.a_max), GRIP) or GRIP
    back = min(abs(limits.a_min), GRIP) or GRIP
    fast = limits.v_max if isfinite(limits.v_max) else 20.0
    slow = limits.v_min if isfinite(limits.v_min) else 0.0
    turning = limits.omega_max if isfinite(limits.omega_max) else 1.0
    demand = Demand(
        steer=steer_max * a.steer,
        a=ahead * maximum(a.drive, 0.0) + back * minimum(a.drive, 0.0),
        v=fast * maximum(a.drive, 0.0) + abs(slow) * minimum(a.drive, 0.0),
        omega=turning * a.steer,
    )
    return command(x, demand, p)


@dataclass(frozen=True)
class Given:
    """An episode parameter that the caller supplies instead of a distribution that is sampled.

    `Environments.reset(given={"params.m": 1400.0})` supplies it; see `random.factors.Factor`.
    """

    low: float = -inf
    high: float = inf

    def value(self, shares: Array) -> Array:
        """The numbers themselves, (n,)."""
        return shares

    def traced(self, share: Any) -> Any:
        """The number itself."""
        return share

    def identity(self) -> dict[str, Any]:
        """`{"given": True}`."""
        return {"given": True}


GIVEN = Given()

_CORNERS = 24


def lane_of(track: Track) -> Polygon:
    """The ground between the borders of a track."""
    centre: Array = track.centre
    ahead = np.roll(centre, -1, axis=0) - np.roll(centre, 1, axis=0)
    if not track.closed:
        ahead[0], ahead[-1] = centre[1] - centre[0], centre[-1] - centre[-2]
    aside = np.column_stack([-ahead[:, 1], ahead[:, 0]]) / np.hypot(*ahead.T)[:, None]
    left, right = centre + track.left[:, None] * aside, centre - track.right[:, None] * aside
    if track.closed:
        left, right = np.vstack([left, left[:1]]), np.vstack([right, right[:1]])
    ring: list[tuple[m, m]] = [(x, y) for x, y in np.concatenate([left, right[::-1]]).tolist()]
    return Polygon(tuple(ring), "lane")


def box(name: str, x: m, y: m, length: m, width: m) -> Polygon:
    """A rectangle along the axes of the world, by its middle, with a name."""
    a, b = 0.5 * length, 0.5 * width
    return Polygon(((x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b)), "region", name)


def disc(name: str, x: m, y: m, radius: m) -> Polygon:
    """A circle with a name."""
    turns = [2.0 * pi * k / _CORNERS for k in range(_CORNERS)]
    ring = tuple((x + radius * cos(angle), y + radius * sin(angle)) for angle in turns)
    return Polygon(ring, "region", name)


@dataclass(frozen=True)
class Lidar:
    """Rays from a point of the vehicle at equal angles; anything beyond the range reads as the
    range."""

    rays: int = 108
    """Number of rays."""
    view: rad = 1.5 * math.pi
    """From the first ray, on the right, to the last, on the left."""
    range: m = 30.0
    """Longest distance."""
    x: m = 0.0
    """Position forward of the reference point of the vehicle."""
    y: m = 0.0
    """Position to the left of the reference point."""
    noise: m = 0.0
    """Standard deviation of each range that meets something: nearly normal, at most 3.5 standard
    deviations, drawn in every control period."""

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rays", whole("rays", self.rays, "at least 2", least=2))
        put(self, "view", positive("view", self.view, "rad"))
        put(self, "range", positive("range", self.range, "m"))
        put(self, "noise", not_negative("noise", self.noise, "m"))
        put(self, "x", finite("x", self.x, "m"))
        put(self, "y", finite("y", self.y, "m"))
        if self.view > 2.0 * math.pi:
            raise InvalidValue(f"view = {self.view:g} rad must be at most 2π")

    @cached_property
    def angles(self) -> Array:
        """Angles of the rays on the vehicle in rad, (rays,), positive to the left."""
        whole_turn = abs(self.view - 2.0 * math.pi) < 1e-9
        ends = np.linspace(-0.5, 0.5, self.rays, endpoint=not whole_turn)
        return self.view * ends


SEEN = ("x", "u", "p", "a", "m", "q", "pose", "velocity", "place", "contact", "ranges", "others",
        "time", "e", "dt")  # fmt: skip
"""Arguments that the functions of a moment may have."""
MOST_DELAYS = 64
"""Longest delay of an action in control periods: each is a set of fields of the state."""
ASKED = {
    "observe": SEEN,
    "reward": SEEN,
    "ended": SEEN,
    "remember": SEEN,
    "disturb": SEEN,
    "start": ("x", "p", "q", "course", "d", "dt", "agent"),
    "act": ("x", "a", "p", "q", "dt"),
    "marks": ("m", "q"),
}
"""Arguments that each function may have."""


class Start(NamedTuple):
    """The start of an episode."""

    x: Any
    """State of the vehicle."""
    s: m = 0.0
    """Approximate distance along the centre line of the track."""
    m: Any = None
    """Memory of the task; the defaults of its `Memory` if None."""

    __repr__ = brief_repr


class Other(NamedTuple):
    """Another vehicle of the same world."""

    pose: Pose
    velocity: Velocity


@dataclass(frozen=True)
class Task(Constant):
    """A learning task; see the module text for the arguments of its functions."""

    name: str
    """Name in errors and files."""
    vehicle: Vehicle
    """The vehicle."""
    Observation: type
    """The driver's observation, a NamedTuple with the bounds of its fields in their annotations."""
    observe: Callable[..., Any]
    """Returns the observation, an `Observation`; values beyond the bounds are clipped."""
    reward: Callable[..., Any]
    """Returns the reward of a control period."""
    ended: Callable[..., Any]
    """Whether the episode terminates: one truth, or several by name, as in
    `{"contact": contact > 0.5, "goal": ...}`; the first that holds is the `end_reason` of `info`.
    """
    start: Callable[..., Any]
    """Returns the `Start` of an episode."""
    successes: tuple[str, ...] = ()
    """Reasons that count as success, names of `ended` or "duration": `is_success` of `info`, which
    is absent without such reasons."""
    tracks: tuple[Track, ...] = ()
    """The tracks; each episode is on one of them."""
    Action: type = Drive
    """The driver's action, a NamedTuple with the bounds of its fields in their annotations."""
    act: Callable[..., Any] | None = None
    """Returns the input of the vehicle for the coming period; None for an action that is a `Drive`.
    """
    Memory: type = Nothing
    """Memory of the task from period to period, a NamedTuple with defaults."""
    remember: Callable[..., Any] | None = None
    """Returns the memory after this period."""
    Params: type = Nothing
    """Numbers of the task, a NamedTuple with defaults."""
    params: Any = None
    """A `Params` record, or a mapping of those that differ from their defaults."""
    disturb: Callable[..., Any] | None = None
    """Returns the disturbance of the coming period, the vehicle's `Disturbance`. One with contact,
    ranges, others or noise among its arguments acts from the second period on."""
    marks: Callable[..., Any] | None = None
    """Returns the polygons of `skidpad.view.stage`, of plain numbers, that pictures show on the
    ground next to walls; the lane of the track if None."""
    bounds: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Lowest and highest value of observations without bounds in their annotation."""
    draws: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions by name of values drawn for each episode, as the factors of a campaign."""
    randomised: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions of parameters that differ between episodes: `params.NAME`, `disturbance.NAME`,
    `task.NAME` (of `Params`), and `delay` in whole control periods."""
    noise: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions drawn in every period: added to the observation of that name, and passed as
    `e`."""
    lidar: Lidar | None = None
    """A lidar, whose ranges follow the observation."""
    agents: int = 1
    """Number of vehicles that share a world, and see and hit each other."""
    dt: s = 0.01
    """Control period."""
    substeps: int = 10
    """Steps of the integrator in a period."""
    integrator: str = "rk4"
    duration: s = 60.0
    """Longest time of an episode, after which it is truncated, not terminated."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "vehicle", vehicle_of(self.vehicle))
        body_of(self.vehicle, "a task")
        put(self, "dt", positive("dt", self.dt, "s"))
        put(self, "duration", positive("duration", self.duration, "s"))
        put(self, "substeps", whole("substeps", self.substeps, "at least 1", least=1))
        put(self, "agents", whole("agents", self.agents, "at least 1", least=1))
        put(self, "successes", tuple(self.successes))
        put(self, "tracks", listed_tracks(self.tracks))
        if self.lidar is not None and not isinstance(self.lidar, Lidar):
            raise InvalidValue(f"{self._label}: lidar must be a Lidar, got {self.lidar!r:.60}")
        if self.integrator != AUTO:
            integrate.get(self.integrator)
        for kind in ("Observation", "Action", "Memory", "Params"):
            if not record.is_record_type(getattr(self, kind)):
                raise InvalidValue(f"{self._label}: {kind} must be a typing.NamedTuple class")
        if self.act is None:
            put(self, "act", drive_of(self.vehicle))
        put(self, "params", record.build(self.Params, self.params))
        for name in ("draws", "randomised", "noise"):
            factors = {key: factor_of(key, value) for key, value in getattr(self, name).items()}
            put(self, name, factors)
        self._check_randomised()
        for name, allowed in ASKED.items():
            self.asks(name, allowed)
        assert all(isfinite(b) for b in (*self.lowest, *self.highest))

    @property
    def _label(self) -> str:
        return f"task {self.name!r}"

    def asks(self, function: str, allowed: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Names of the arguments of one of its functions; () without that function."""
        callback = getattr(self, function)
        if callback is None:
            return ()
        allowed, what = allowed or ASKED[function], f"{self._label}: {function}"
        names = arguments(what, callback, allowed)
        for name in names:
            if name not in allowed:
                raise InvalidValue(record.unknown_name(what, name, allowed, noun="argument"))
            if name in ("place", "course") and not self.tracks:
                raise InvalidValue(f"{what} asks for {name}, but there are no tracks")
            if name == "ranges" and self.lidar is None:
                raise InvalidValue(f"{what} asks for ranges, but there is no lidar")
        return names

    def called(self, function: str, known: Mapping[str, Any]) -> Any:
        """The result of one of its functions, with its arguments from `known`."""
        return getattr(self, function)(**{name: known[name] for name in self.asks(function)})

    @cached_property
    def reads_ranges(self) -> bool:
        """Whether one of its functions reads the lidar itself."""
        return self._reads("ranges")

    @cached_property
    def reads_place(self) -> bool:
        """Whether one of its functions reads the place on the track, so that there is progress."""
        return self._reads("place")

    def _reads(self, argument: str) -> bool:
        functions = ("observe", "reward", "ended", "remember", "disturb")
        return any(argument in self.asks(function) for function in functions)

    @cached_property
    def lowest(self) -> tuple[float, ...]:
        """Lower bounds of the observation."""
        return tuple(low for low, _ in self._bounds)

    @cached_property
    def highest(self) -> tuple[float, ...]:
        """Upper bounds of the observation."""
        return tuple(high for _, high in self._bounds)

    @cached_property
    def _bounds(self) -> list[tuple[float, float]]:
        bounds: list[tuple[float, float]] = []
        for leaf in record.fields(self.Observation):
            allowed = leaf.allowed
            known = (allowed.low, allowed.high) if allowed else None
            low, high = self.bounds.get(leaf.name, known or (float("nan"), float("nan")))
            if not (isfinite(low) and isfinite(high) and low < high):
                raise InvalidValue(
                    f"{self._label}: Observation.{leaf.name} has no bounds; annotate it, as in "
                    "Annotated[m_s, Allowed(-5.0, 30.0)], or give bounds={" + repr(leaf.name) + ": "
                    "(lowest, highest)}"
                )
            bounds.append((float(low), float(high)))
        return bounds

    @cached_property
    def given(self) -> tuple[str, ...]:
        """Names of the episode parameters that `reset(given=...)` supplies."""
        factors = {**{f"draw.{name}": one for name, one in self.draws.items()}, **self.randomised}
        return tuple(name for name, one in factors.items() if isinstance(one, Given))

    @cached_property
    def delays(self) -> int:
        """Longest delay of an action in control periods."""
        factor: Factor | None = self.randomised.get("delay")
        return 0 if factor is None else int(factor.high)

    @property
    def limit(self) -> int:
        """Control periods of the longest episode."""
        return max(1, round(self.duration / self.dt))

    def _check_randomised(self) -> None:
        model = self.vehicle.model
        kinds = {"params": model.Params, "disturbance": model.Disturbance, "task": self.Params}
        names = ["delay", *(f"{g}.{n}" for g, kind in kinds.items() for n in record.names(kind))]
        fields = record.names(self.Observation)
        for name in self.bounds:
            if name not in fields:
                raise InvalidValue(record.unknown_name(f"{self._label}: bounds", name, fields))
        noise_is_read = any("e" in self.asks(function, ASKED[function]) for function in ASKED)
        for name in self.noise:
            if name not in fields and not noise_is_read:
                raise InvalidValue(record.unknown_name(f"{self._label}: noise", name, fields))
        for name, factor in self.randomised.items():
            if name not in names:
                raise InvalidValue(record.unknown_name(f"{self._label}: randomised", name, names))
            if name.startswith("disturbance.") and self.disturb is not None:
                raise InvalidValue(
                    f"{self._label}: {name} is drawn, but disturb says what all of the disturbance "
                    "is; draw one of the numbers of the task (task.NAME) that disturb reads"
                )
            if isinstance(factor, Given):
                continue
            if name == "delay":
                whole_ends = factor.low % 1.0 == 0.0 == factor.high % 1.0
                if not (whole_ends and factor.low >= 0.0 and factor.high <= MOST_DELAYS):
                    raise InvalidValue(
                        f"{self._label}: delay is from {factor.low:g} to {factor.high:g}; it must "
                        f"be whole control periods of {self.dt:g} s, from 0 to {MOST_DELAYS}"
                    )
                continue
            group, _, path = name.partition(".")
            leaf = next(one for one in record.fields(kinds[group]) if one.name == path)
            for end in (factor.low, factor.high):
                must_be(f"{self._label}: randomised {name}", end, leaf.allowed or Allowed())


def listed_tracks(tracks: Any) -> tuple[Track, ...]:
    """One track or several as a tuple; raises for anything else."""
    listed = (tracks,) if isinstance(tracks, Track) else tracks
    if not isinstance(listed, Sequence) or not all(isinstance(one, Track) for one in listed):
        raise InvalidValue(
            "tracks must be a Track or several, as of skidpad.geometry.maps.read_track, "
            f"got {tracks!r:.60}"
        )
    return tuple(listed)


Parts = tuple[Outline, ...]
"""Convex polygons, counter-clockwise."""


class Unit(NamedTuple):
    """A rigid unit of a vehicle: the vehicle itself, or a trailer behind the unit before."""

    parts: Parts
    """Convex parts of its outline, in m from its reference point, which in a trailer is the middle
    of its axle."""
    hitch_x: m = 0.0
    """Hitch of a trailer, forward of the reference point of the unit before."""
    drawbar: m = 0.0
    """Distance from the hitch back to its axle."""
    angle: int = -1
    """Index of the state's leaf with its heading relative to the unit before."""

    @property
    def radius(self) -> m:
        """Largest distance of its outline from its reference point."""
        return max(hypot(x, y) for part in self.parts for x, y in part)


def units_of(vehicle: Vehicle) -> tuple[Unit, ...]:
    """The vehicle and its trailers, in order."""
    geometry, names = vehicle.geometry, record.names(vehicle.model.State)
    trailers = (
        Unit(_parts(t.outlines), t.hitch_x, t.drawbar, names.index(t.angle))
        for t in geometry.trailers
    )
    return (Unit(_parts(geometry.outlines)), *trailers)


def unit_poses(units: Sequence[Unit], pose: Pose, x: Any) -> list[Pose]:
    """Poses of the units for a pose and a state of the vehicle, which may be symbols."""
    leaves, poses = record.flatten(x), [pose]
    for unit in units[1:]:
        poses.append(towed(poses[-1], unit.hitch_x, unit.drawbar, leaves[unit.angle]))
    return poses


def _parts(outlines: Sequence[Outline]) -> Parts:
    return tuple(part for outline in outlines for part in convex_parts(cleaned(outline)))


APPROACH: s = 0.3
"""Time constant with which a vehicle that takes accelerations reaches its pace."""
STEER: rad = 0.6
"""Full steering of a vehicle that sets no limit."""


class Pace(NamedTuple):
    """The action of manoeuvring tasks: steering and speed."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (of the yaw rate of a robot), positive to the left."""
    pace: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the speed of the task, negative in reverse."""


def pace_of(vehicle: Vehicle, v: m_s, omega: rad_s = 1.0) -> Callable[[Any, Pace, Any], Any]:
    """The input of a vehicle for a `Pace`: at most the speed `v` and, if the vehicle takes a yaw
    rate, at most `omega`."""
    body = body_of(vehicle, "an action")
    return partial(_paced, body, body.limits(vehicle.params), v, omega)


def _paced(body: Body, limits: Limits, v: m_s, omega: rad_s, x: Any, a: Pace, p: Any) -> Any:
    steer_max = limits.steer_max if isfinite(limits.steer_max) else STEER
    demand = Demand(steer=steer_max * a.steer, v=v * a.pace, omega=omega * a.steer)
    # The velocity of a vehicle may depend on its input, as where that is the steering angle.
    now = body.speed_of(x, body.command(x, demand, p), p)
    gain = (demand.v - now) * (1.0 / APPROACH)
    return body.command(x, demand._replace(a=gain), p)
