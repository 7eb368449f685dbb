"""Learning tasks: pure functions for observation, reward and episodes, next to the vehicle's own.

A `Task` is compiled together with its vehicle. Its functions name their arguments, like those of a
policy, and are called with these:

| name | what it is | which functions may have it |
|---|---|---|
| `x`, `p` | state and parameters of the vehicle, its records | all |
| `u` | input of the vehicle | all but `start`, `act` |
| `a` | the action, a record of the task's `Action` | all but `start` |
| `m` | the memory of the task, its `Memory` | all but `start`, `act` |
| `q` | the parameters of the task, its `Params` | all |
| `pose`, `velocity` | of the vehicle's reference point, from its body | all but `start`, `act` |
| `place` | its position on the track, a `Place` | the same, if there are tracks |
| `course` | the track itself, a `Course` | `start` |
| `agent` | index of the vehicle in its world, from 0 | `start` |
| `contact` | 1.0 if it touches a wall or another vehicle, else 0.0 | as `pose` |
| `ranges` | of its lidar, a tuple in m | as `pose`, if there is a lidar |
| `others` | the other vehicles of its world, a tuple of `Other` | as `pose` |
| `time` | since the start of the episode, in s | all but `start`, `act` |
| `d` | values of `draws` in this episode, a record | `start` |
| `e` | values of `noise` in this period, a record | all but `start`, `act` |
| `dt` | the control period in s | all |

`marks`, which only serves rendering, takes `m` and `q` alone. The functions are built from
`skidpad.ops` and arithmetic; they have no state and no `if` on a value.

The module also has the actions `Drive` (normalised steering and acceleration) and `Pace`
(normalised steering and speed, for manoeuvring), the `Lidar`, the units of a vehicle with trailers,
and the polygons that images show on the ground.
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
"""Acceleration at full drive action for a vehicle without a limit; also its upper bound."""


class Drive(NamedTuple):
    """Action of most tasks: steering and acceleration."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (for a robot, yaw rate), positive to the left."""
    drive: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest acceleration; if negative, of the largest braking deceleration."""


def drive_of(vehicle: Vehicle) -> Callable[[Any, Drive, Any], Any]:
    """Function for the input of a vehicle under a `Drive` action, within the limits of its body."""
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
    """Distribution placeholder for an episode parameter that the caller supplies.

    `Environments.reset(given={"params.m": 1400.0})` supplies it; see `random.factors.Factor`.
    """

    low: float = -inf
    high: float = inf

    def value(self, shares: Array) -> Array:
        """Return the supplied numbers (n,) unchanged."""
        return shares

    def traced(self, share: Any) -> Any:
        """Return the supplied number unchanged."""
        return share

    def identity(self) -> dict[str, Any]:
        """Identity of the distribution in files: `{"given": True}`."""
        return {"given": True}


GIVEN = Given()

_CORNERS = 24


def lane_of(track: Track) -> Polygon:
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
    """Named rectangle centred at (x, y), aligned with the axes of the world."""
    a, b = 0.5 * length, 0.5 * width
    return Polygon(((x - a, y - b), (x + a, y - b), (x + a, y + b), (x - a, y + b)), "region", name)


def disc(name: str, x: m, y: m, radius: m) -> Polygon:
    """Named disc centred at (x, y), as a polygon."""
    turns = [2.0 * pi * k / _CORNERS for k in range(_CORNERS)]
    ring = tuple((x + radius * cos(angle), y + radius * sin(angle)) for angle in turns)
    return Polygon(ring, "region", name)


@dataclass(frozen=True)
class Lidar:
    """Planar lidar with rays at equal angles; ranges are limited to `range`."""

    rays: int = 108
    """Number of rays."""
    view: rad = 1.5 * math.pi
    """Angle from the first ray, on the right, to the last, on the left."""
    range: m = 30.0
    """Maximum range, also returned by rays that hit nothing."""
    x: m = 0.0
    """Position forward of the vehicle's reference point."""
    y: m = 0.0
    """Position to the left of the vehicle's reference point."""
    noise: m = 0.0
    """Standard deviation of the noise on each range that hits something.

    Nearly normal, at most 3.5 standard deviations, sampled in every control period.
    """

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
        """Angles of the rays relative to the vehicle in rad, (rays,), positive to the left."""
        whole_turn = abs(self.view - 2.0 * math.pi) < 1e-9
        ends = np.linspace(-0.5, 0.5, self.rays, endpoint=not whole_turn)
        return self.view * ends


SEEN = ("x", "u", "p", "a", "m", "q", "pose", "velocity", "place", "contact", "ranges", "others",
        "time", "e", "dt")  # fmt: skip
"""Arguments available to the functions that are evaluated in every control period."""
MOST_DELAYS = 64
"""Longest delay of an action in control periods: each adds a set of fields to the state."""
ASKED = {
    "observe": SEEN, "reward": SEEN, "ended": SEEN, "remember": SEEN, "disturb": SEEN,
    "start": ("x", "p", "q", "course", "d", "dt", "agent"), "act": ("x", "a", "p", "q", "dt"),
    "marks": ("m", "q"),
}  # fmt: skip
"""Arguments that each function may have."""


class Start(NamedTuple):
    """Initial condition of an episode."""

    x: Any
    """State of the vehicle."""
    s: m = 0.0
    """Approximate distance along the centre line of the track."""
    m: Any = None
    """Initial memory of the task; the defaults of its `Memory` if None."""

    __repr__ = brief_repr


class Other(NamedTuple):
    """Pose and velocity of another vehicle in the same world."""

    pose: Pose
    velocity: Velocity


@dataclass(frozen=True)
class Task(Constant):
    """Learning task; see the module docstring for the arguments of its functions."""

    name: str
    """Name in error messages and files."""
    vehicle: Vehicle
    """Vehicle that is driven."""
    Observation: type
    """Observation of the agent: a NamedTuple with bounds in the annotations of its fields."""
    observe: Callable[..., Any]
    """Returns the observation, an `Observation`; values beyond the bounds are clipped."""
    reward: Callable[..., Any]
    """Returns the reward of a control period."""
    ended: Callable[..., Any]
    """Returns whether the episode terminates: one condition, or several by name.

    As in `{"contact": contact > 0.5, "goal": ...}`; the first that holds is the `end_reason` of
    `info`.
    """
    start: Callable[..., Any]
    """Returns the `Start` of an episode."""
    successes: tuple[str, ...] = ()
    """End reasons that mean success: names of `ended`, or "duration".

    They set `is_success` of `info`, which is absent if the tuple is empty.
    """
    tracks: tuple[Track, ...] = ()
    """Tracks; each episode takes place on one of them."""
    Action: type = Drive
    """Action of the agent: a NamedTuple with bounds in the annotations of its fields."""
    act: Callable[..., Any] | None = None
    """Returns the vehicle's input for the coming period; None if the action is a `Drive`."""
    Memory: type = Nothing
    """Memory of the task between control periods, a NamedTuple with defaults."""
    remember: Callable[..., Any] | None = None
    """Returns the memory after this period."""
    Params: type = Nothing
    """Parameters of the task, a NamedTuple with defaults."""
    params: Any = None
    """A `Params` record, or a mapping of the parameters that differ from their defaults."""
    disturb: Callable[..., Any] | None = None
    """Returns the disturbance of the coming period, the vehicle's `Disturbance`.

    If it has contact, ranges, others or noise among its arguments, it acts from the second
    period on.
    """
    marks: Callable[..., Any] | None = None
    """Returns the polygons (`skidpad.view.stage`) that images show on the ground next to walls.

    It is called with plain numbers. None for the lane of the track.
    """
    bounds: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Lowest and highest value of each observation field without bounds in its annotation."""
    draws: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions by name of values sampled for each episode, as factors of a campaign."""
    randomised: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions of parameters that vary between episodes: `params.NAME`,
    `disturbance.NAME`, `task.NAME` (of `Params`), and `delay` in whole control periods."""
    noise: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Distributions sampled in every period, by name of an observation field.

    The values are added to that field and passed to the functions as `e`.
    """
    lidar: Lidar | None = None
    """Lidar, whose ranges are appended to the observation."""
    agents: int = 1
    """Number of vehicles in a world, which collide and are visible to each other's lidars."""
    dt: s = 0.01
    """Control period."""
    substeps: int = 10
    """Integrator steps per control period."""
    integrator: str = "rk4"
    duration: s = 60.0
    """Maximum episode length, after which it is truncated, not terminated."""

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
        """Names of the arguments of one of its functions; () if the task does not have it."""
        callback = getattr(self, function)
        if callback is None:
            return ()
        allowed, what = allowed or ASKED[function], f"{self._label}: {function}"
        names = arguments(what, callback, allowed)
        record.check_names(what, names, allowed, "argument")
        for name in names:
            if name in ("place", "course") and not self.tracks:
                raise InvalidValue(f"{what} takes {name}, but there are no tracks")
            if name == "ranges" and self.lidar is None:
                raise InvalidValue(f"{what} takes ranges, but there is no lidar")
        return names

    def called(self, function: str, known: Mapping[str, Any]) -> Any:
        """Call one of its functions, with its arguments taken from `known`."""
        return getattr(self, function)(**{name: known[name] for name in self.asks(function)})

    @cached_property
    def reads_ranges(self) -> bool:
        """Whether one of its functions reads the lidar ranges."""
        return self._reads("ranges")

    @cached_property
    def reads_place(self) -> bool:
        """Whether one of its functions reads the place on the track, so that progress is known."""
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
        """Names of the parameters supplied by `reset(given=...)`."""
        factors = {**{f"draw.{name}": one for name, one in self.draws.items()}, **self.randomised}
        return tuple(name for name, one in factors.items() if isinstance(one, Given))

    @cached_property
    def delays(self) -> int:
        """Longest delay of an action in control periods."""
        factor: Factor | None = self.randomised.get("delay")
        return 0 if factor is None else int(factor.high)

    @property
    def limit(self) -> int:
        """Maximum episode length in control periods."""
        return max(1, round(self.duration / self.dt))

    def _check_randomised(self) -> None:
        model = self.vehicle.model
        kinds = {"params": model.Params, "disturbance": model.Disturbance, "task": self.Params}
        names = ["delay", *(f"{g}.{n}" for g, kind in kinds.items() for n in record.names(kind))]
        fields = record.names(self.Observation)
        record.check_names(f"{self._label}: bounds", self.bounds, fields)
        if not any("e" in self.asks(function) for function in ASKED):
            record.check_names(f"{self._label}: noise", self.noise, fields)
        record.check_names(f"{self._label}: randomised", self.randomised, names)
        for name, factor in self.randomised.items():
            if name.startswith("disturbance.") and self.disturb is not None:
                raise InvalidValue(
                    f"{self._label}: {name} is sampled, but disturb returns the whole "
                    "disturbance; sample a parameter of the task (task.NAME) that disturb reads"
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
    """One or several tracks as a tuple; raises for anything else."""
    listed = (tracks,) if isinstance(tracks, Track) else tracks
    if not isinstance(listed, Sequence) or not all(isinstance(one, Track) for one in listed):
        raise InvalidValue(
            "tracks must be a Track or several, as of skidpad.geometry.maps.read_track, "
            f"got {tracks!r:.60}"
        )
    return tuple(listed)


Parts = tuple[Outline, ...]
"""Outline as convex polygons, corners counter-clockwise."""


class Unit(NamedTuple):
    """Rigid unit of a vehicle: the vehicle itself, or a trailer behind the previous unit."""

    parts: Parts
    """Convex parts of its outline, in m from its reference point.

    The reference point of a trailer is the middle of its axle.
    """
    hitch_x: m = 0.0
    """Position of a trailer's hitch, forward of the previous unit's reference point."""
    drawbar: m = 0.0
    """Distance from the hitch back to the trailer's axle."""
    angle: int = -1
    """Index, in the flat state, of its heading relative to the previous unit."""

    @property
    def radius(self) -> m:
        """Largest distance of its outline from its reference point."""
        return max(hypot(x, y) for part in self.parts for x, y in part)


def units_of(vehicle: Vehicle) -> tuple[Unit, ...]:
    """Units of a vehicle: the vehicle itself and its trailers, in order."""
    geometry, names = vehicle.geometry, record.names(vehicle.model.State)
    trailers = (
        Unit(_parts(t.outlines), t.hitch_x, t.drawbar, names.index(t.angle))
        for t in geometry.trailers
    )
    return (Unit(_parts(geometry.outlines)), *trailers)


def unit_poses(units: Sequence[Unit], pose: Pose, x: Any) -> list[Pose]:
    """Poses of all units, from the pose and state of the vehicle, which may be symbols."""
    leaves, poses = record.flatten(x), [pose]
    for unit in units[1:]:
        poses.append(towed(poses[-1], unit.hitch_x, unit.drawbar, leaves[unit.angle]))
    return poses


def _parts(outlines: Sequence[Outline]) -> Parts:
    return tuple(part for outline in outlines for part in convex_parts(cleaned(outline)))


APPROACH: s = 0.3
"""Time constant of the speed for a vehicle commanded by acceleration."""
STEER: rad = 0.6
"""Steering angle at full action for a vehicle without a limit."""


class Pace(NamedTuple):
    """Action of manoeuvring tasks: steering and speed."""

    steer: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the largest steering angle (for a robot, yaw rate), positive to the left."""
    pace: Annotated[one, Allowed(-1.0, 1.0)]
    """Share of the task's maximum speed, negative in reverse."""


def pace_of(vehicle: Vehicle, v: m_s, omega: rad_s = 1.0) -> Callable[[Any, Pace, Any], Any]:
    """Function for the input of a vehicle under a `Pace` action.

    Full action is the speed `v` and, if the vehicle takes a yaw rate, the yaw rate `omega`, at
    most.
    """
    body = body_of(vehicle, "an action")
    return partial(_paced, body, body.limits(vehicle.params), v, omega)


def _paced(body: Body, limits: Limits, v: m_s, omega: rad_s, x: Any, a: Pace, p: Any) -> Any:
    steer_max = limits.steer_max if isfinite(limits.steer_max) else STEER
    demand = Demand(steer=steer_max * a.steer, v=v * a.pace, omega=omega * a.steer)
    # The velocity of a vehicle may depend on its input, as where that is the steering angle.
    now = body.speed_of(x, body.command(x, demand, p), p)
    gain = (demand.v - now) * (1.0 / APPROACH)
    return body.command(x, demand._replace(a=gain), p)
