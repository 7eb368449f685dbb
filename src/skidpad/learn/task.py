"""A task: what a driver is to learn, as pure functions beside those of the vehicle.

A `Task` is compiled together with its vehicle. Its functions name what they need, like those of a
policy, and are called with it:

| name | what it is | who may ask |
|---|---|---|
| `x`, `p` | state and parameters of the vehicle, its records | all |
| `u` | its input | all but `start`, `act` |
| `a` | the action, a record of the task's `Action` | all but `start` |
| `m` | what the task remembers, its `Memory` | all but `start` |
| `q` | the task's own numbers, its `Params` | all |
| `pose`, `velocity` | of the vehicle's reference point, from its body | all but `start`, `act` |
| `place` | where it is on its track, a `Place` | the same, if there are tracks |
| `course` | the track itself, a `Course` | `start` |
| `contact` | 1.0 if it touches a wall or another vehicle, else 0.0 | as `place` |
| `ranges` | of its lidar, a tuple in m | as `place`, if there is a lidar |
| `others` | the other vehicles of its world, a tuple of `Other` | as `place` |
| `time` | since the start of the episode, in s | all but `start`, `act` |
| `d` | what `draws` drew for this episode, a record | `start` |
| `e` | what `noise` drew for this period, a record | all but `start`, `act` |
| `dt` | the control period in s | all |

They are built from `skidpad.ops` and arithmetic, remember nothing and have no `if` on a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

from .. import integrate, record
from ..body import Pose, Velocity, body_of
from ..brief import brief_repr
from ..checks import must_be, positive, vehicle_of, whole
from ..errors import InvalidValue
from ..model import Vehicle
from ..plane.maps.track import Track
from ..policy import Nothing
from ..random.factors import Factor, factor_of
from ..run.stability import AUTO
from ..signature import Constant, arguments
from ..units import Allowed, m, s
from .actions import Drive, drive_of
from .given import Given
from .lidar import Lidar

SEEN = ("x", "u", "p", "a", "m", "q", "pose", "velocity", "place", "contact", "ranges", "others",
        "time", "e", "dt")  # fmt: skip
"""What the functions of a moment may ask for."""
MOST_DELAYS = 64
"""Control periods that an action may act late: each is a set of fields of the state."""
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
"""What each function may ask for."""


class Start(NamedTuple):
    """How an episode begins."""

    x: Any
    """State of the vehicle."""
    s: m = 0.0
    """About where on the track that is: along its centre line."""
    m: Any = None
    """What the task remembers; the defaults of its `Memory` if None."""

    __repr__ = brief_repr


class Other(NamedTuple):
    """Another vehicle of the same world."""

    pose: Pose
    velocity: Velocity


@dataclass(frozen=True)
class Task(Constant):
    """What is to be learned; see the module text for what its functions are given."""

    name: str
    """Name in errors and files."""
    vehicle: Vehicle
    """What is driven."""
    Observation: type
    """What the driver sees, a NamedTuple. The bounds of a field are what its annotation allows."""
    observe: Callable[..., Any]
    """The observation, an `Observation`. What is beyond the bounds is cut off."""
    reward: Callable[..., Any]
    """Of a control period."""
    ended: Callable[..., Any]
    """Whether the episode is over for good: one truth, or several by name, as in
    `{"contact": contact > 0.5, "goal": ...}`; the first that holds is the `end_reason` of `info`.
    """
    start: Callable[..., Any]
    """How an episode begins, a `Start`."""
    successes: tuple[str, ...] = ()
    """Reasons that count as success, names of `ended` or "duration": `is_success` of `info`, which
    has none of it if there are no such reasons."""
    tracks: tuple[Track, ...] = ()
    """Where it is driven; each episode is on one of them."""
    Action: type = Drive
    """What the driver does, a NamedTuple. The bounds of a field are what its annotation allows."""
    act: Callable[..., Any] | None = None
    """The input of the vehicle for the coming period; None for an action that is a `Drive`."""
    Memory: type = Nothing
    """What the task remembers from period to period, a NamedTuple with defaults."""
    remember: Callable[..., Any] | None = None
    """The memory after this period."""
    Params: type = Nothing
    """Numbers of the task, a NamedTuple with defaults."""
    params: Any = None
    """A `Params` record, or a mapping of those that differ from their defaults."""
    disturb: Callable[..., Any] | None = None
    """The disturbance of the coming period, the vehicle's `Disturbance`. One that asks for contact,
    ranges, others or noise acts from the second period on."""
    marks: Callable[..., Any] | None = None
    """What pictures show on the ground beside walls: polygons of `skidpad.stage`, of plain numbers;
    the lane of the track if None."""
    bounds: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Lowest and highest value of observations whose annotation says none."""
    draws: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What an episode begins with: names and distributions, as the factors of a campaign."""
    randomised: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What differs between episodes: `params.NAME`, `disturbance.NAME` or `task.NAME` (of `Params`)
    and a distribution; `delay` in whole control periods."""
    noise: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Drawn in every period: added to the observation of that name, and told as `e`."""
    lidar: Lidar | None = None
    """A lidar, whose ranges come behind the observation."""
    agents: int = 1
    """Vehicles that share a world, and see and hit each other."""
    dt: s = 0.01
    """Control period."""
    substeps: int = 10
    """Steps of the integrator in a period."""
    integrator: str = "rk4"
    duration: s = 60.0
    """Longest time of an episode; who drives that long is cut off, not ended."""

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
        """Names of the arguments that one of its functions has to be given; () if there is none."""
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

    def called(self, function: str, told: Mapping[str, Any]) -> Any:
        """One of its functions, with what it asks for."""
        return getattr(self, function)(**{name: told[name] for name in self.asks(function)})

    @cached_property
    def reads_ranges(self) -> bool:
        """Whether one of its functions reads the lidar itself."""
        return self._reads("ranges")

    @cached_property
    def reads_place(self) -> bool:
        """Whether one of its functions reads the place on the track, so that progress has a
        meaning."""
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
        """Names of what is drawn by nobody: `reset(given=...)` says it."""
        factors = {**{f"draw.{name}": one for name, one in self.draws.items()}, **self.randomised}
        return tuple(name for name, one in factors.items() if isinstance(one, Given))

    @cached_property
    def delays(self) -> int:
        """Control periods that an action may act late, at most."""
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
                self._check_delay(factor)
                continue
            group, _, path = name.partition(".")
            leaf = next(one for one in record.fields(kinds[group]) if one.name == path)
            for end in (factor.low, factor.high):
                must_be(f"{self._label}: randomised {name}", end, leaf.allowed or Allowed())

    def _check_delay(self, factor: Factor) -> None:
        whole_ends = factor.low % 1.0 == 0.0 == factor.high % 1.0
        if not (whole_ends and factor.low >= 0.0 and factor.high <= MOST_DELAYS):
            raise InvalidValue(
                f"{self._label}: delay is from {factor.low:g} to {factor.high:g}; it must be whole "
                f"control periods of {self.dt:g} s, from 0 to {MOST_DELAYS}"
            )


def listed_tracks(tracks: Any) -> tuple[Track, ...]:
    """One track or several as a tuple; raises for what is none."""
    listed = (tracks,) if isinstance(tracks, Track) else tracks
    if not isinstance(listed, Sequence) or not all(isinstance(one, Track) for one in listed):
        raise InvalidValue(
            "tracks must be a Track or several, as of skidpad.plane.maps.read_track, "
            f"got {tracks!r:.60}"
        )
    return tuple(listed)
