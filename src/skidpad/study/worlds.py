"""Worlds as experiments of campaigns: a scene that is simulated once per run.

    runs = WorldRuns(
        "yard.world.xml", duration=10.0, drive={"r1": Demand(v=1.0)},
        metrics={"hit": worlds.collided("r1"), "gap": worlds.nearest("r1", "crate")},
    )
    Campaign(experiment=runs, factors={"block.crate.y": Range(-1.0, 1.0)}, ...)

`drive` is a function of the world and the time, called before every step, or a mapping from names
of vehicles to how each is driven:

* a mapping of inputs, constant from the start;
* a `Demand`, which is converted to inputs at every step;
* a `Controlled`, which makes a controller of the vehicle at the start of a run:
  `Controlled(stanley.policy, (path,))`; or a `Policy` whose function can be imported;
* a function of the vehicle and the time.

A class in place of a function is instantiated for every run, so that runs share no state.

Factors set numbers of the scene by name:

| name | what it sets |
|---|---|
| `vehicle.NAME.x`, `.y`, `.yaw` | start pose of a vehicle, in m and rad |
| `vehicle.NAME.v` | its speed at the start, along its longitudinal axis |
| `vehicle.NAME.PARAMETER` | a parameter of its model, such as `vehicle.r1.friction.mu` |
| `vehicle.NAME.command.FIELD` | an input that is commanded from the start |
| `block.NAME.x`, `.y`, `.yaw` | pose of a block |
| `block.NAME.mass`, `.ground_friction`, `.lateral_friction`, `.restitution` | its properties |
| `actor.NAME.walking_speed`, `.running_speed` | speeds of a pedestrian |
| `variable.NAME` | a variable of the world file |

Metrics are functions of a `WorldRun`, the recorded motion of everything in the world: those of this
module, such as `collided` and `time_to_reach`, or functions of the user.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass, replace
from hashlib import sha256
from math import cos, pi, sin
from typing import Any, NamedTuple, get_type_hints
from uuid import uuid4

import numpy as np

from .. import integrate
from ..compile.lower import lower
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Demand, Outline
from ..core.checks import number, steps_in
from ..core.files import brief_repr
from ..core.lazy import RecentCache
from ..core.model import Constant, Vehicle, pickled_fields
from ..core.policy import Policy
from ..core.record import is_record_type, unknown_name
from ..errors import InvalidValue
from ..geometry.polygon import distances, enclosed, hull, ring_edges
from ..geometry.pose import points_to_body, points_to_world
from ..random.streams import of_run
from ..run.trajectory import Trajectory
from ..units import Allowed, m, m_s, non_negative, positive, rad, s
from ..vehicles import wheeled
from ..vehicles.wheeled.description import Description
from ..world import xml
from ..world.contact.solids import ContactEvent
from ..world.scene import (
    BlockSpec,
    OccupancyGrid,
    OwnDynamics,
    Scene,
    VehicleSpec,
    Velocity,
)
from ..world.vehicle import WorldVehicle
from ..world.world import World
from .experiment import (
    FAILED,
    FAILURES,
    Column,
    ExperimentBase,
    Resources,
    Rows,
    Setting,
    function_identity,
    plain,
)

Pilot = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Controlled(Constant):
    """A controller that is made anew for the vehicle of each run."""

    make: Callable[..., Policy]
    """Factory of the policy, such as `control.stanley.policy`; called with the vehicle,
    `arguments` and `settings`."""
    arguments: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: Any = None
    """Reference of the policy: a record or mapping, or a function of time that returns one."""

    __repr__ = brief_repr


def pilots(drive: Any, world: World) -> list[Pilot]:
    """Functions to call with the time in s before every step of a run. Constant inputs are set at
    once."""
    if drive is None:
        return []
    if not isinstance(drive, Mapping):
        act = drive() if isinstance(drive, type) else drive
        return [lambda t: act(world, t)]
    made: list[Pilot] = []
    for name, one in drive.items():
        vehicle = world.vehicles[name]
        if not isinstance(one, Demand) and (isinstance(one, Mapping) or is_record_type(type(one))):
            vehicle.command(one)
        else:
            made.append(_pilot(one, vehicle, world))
    return made


def _pilot(one: Any, vehicle: WorldVehicle, world: World) -> Pilot:
    if isinstance(one, Demand):
        return lambda t: vehicle.drive(one)
    if isinstance(one, (Policy, Controlled)):
        if isinstance(one, Policy):
            policy, reference = one, None
        else:
            policy = one.make(vehicle.vehicle, *one.arguments, **one.settings)
            reference = one.reference
        control = policy.controller(world.dt, reference=reference)
        return lambda t: vehicle.command(control(t, vehicle.state))
    act = one() if isinstance(one, type) else one
    return lambda t: act(vehicle, t)


def _identity(what: str, one: Any) -> Any:
    """How one vehicle is driven, as plain values."""
    if isinstance(one, Policy):
        act = function_identity(what, one.act)
        return {"policy": one.name, "params": plain(one.params), "act": act}
    if isinstance(one, Controlled):
        reference = one.reference
        as_function = callable(reference)
        return {
            "made_by": function_identity(what, one.make),
            "arguments": plain(one.arguments),
            "settings": plain(one.settings),
            "reference": function_identity(what, reference) if as_function else plain(reference),
        }
    if isinstance(one, Mapping) or is_record_type(type(one)):
        return {"inputs" if isinstance(one, Mapping) else type(one).__name__: plain(one)}
    return function_identity(what, one)


class _Start(NamedTuple):
    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    v: m_s = 0.0


COMMAND = "command."
POSE = ("x", "y", "yaw")
OF_BLOCKS = {
    "mass": Setting("kg", positive),
    "ground_friction": Setting("", non_negative),
    "lateral_friction": Setting("", non_negative),
    "restitution": Setting("", non_negative),
}
OF_ACTORS = ("walking_speed", "running_speed")


def settings_of(world: World) -> dict[str, Setting]:
    """Units and ranges by name of all factors of a world."""
    start = {leaf.name: Setting.of(leaf) for leaf in record.fields(_Start)}
    settings: dict[str, Setting] = {}
    for name, vehicle in world.vehicles.items():
        model = vehicle.vehicle.model
        own = {
            leaf.name: Setting.of(leaf)
            for leaf in record.fields(model.Params)
            # The road belongs to the whole scene.
            if world.scene.road is None or not leaf.name.startswith("road.")
        }
        inputs = record.fields(model.Input)
        commands = {f"{COMMAND}{leaf.name}": Setting.of(leaf) for leaf in inputs}
        settings |= {f"vehicle.{name}.{key}": one for key, one in (own | start | commands).items()}
    for block in world.scene.blocks:
        own = OF_BLOCKS | {key: start[key] for key in POSE}
        settings |= {f"block.{block.name}.{key}": one for key, one in own.items()}
    for actor in world.scene.actors:
        settings |= {f"actor.{actor.name}.{key}": Setting("m/s", positive) for key in OF_ACTORS}
    return settings


def _own(values: Mapping[str, float], kind: str, name: str) -> dict[str, float]:
    prefix = f"{kind}.{name}."
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def _params(own: Mapping[str, float]) -> dict[str, float]:
    others = (*POSE, "v")
    return {k: v for k, v in own.items() if k not in others and not k.startswith(COMMAND)}


def _vehicle(spec: VehicleSpec, own: Mapping[str, float], scene: Scene) -> VehicleSpec:
    place = {key: own[key] for key in POSE if key in own}
    spec = replace(spec, pose=spec.pose._replace(**place)) if place else spec
    if "v" in own:
        spec = replace(spec, velocity=Velocity(own["v"], 0.0, 0.0, "body"))
    if not (params := _params(own)):
        return spec
    dynamics = spec.dynamics
    if isinstance(dynamics, OwnDynamics):
        parameters = {**dynamics.parameters, **params}
        return replace(spec, dynamics=replace(dynamics, parameters=parameters))
    if isinstance(dynamics, Description):
        vehicle = wheeled.vehicle(dynamics, scene.compat).with_params(params)
        shape = spec.shape
        if shape is not None and shape.made_from == "default":
            # The shape of a robot applies to the plain vehicle too.
            shape = replace(shape, made_from="shape")
        return replace(spec, dynamics=vehicle, shape=shape)
    return replace(spec, dynamics=dynamics.with_params(params))


def _block(spec: BlockSpec, own: Mapping[str, float]) -> BlockSpec:
    place = {key: own[key] for key in POSE if key in own}
    like = {key: own[key] for key in OF_BLOCKS if key in own}
    return replace(spec, pose=spec.pose._replace(**place), **like) if own else spec


FIELDS = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "v_y": "m/s", "omega": "rad/s"}
"""Columns of a vehicle's motion, with units."""


@dataclass(frozen=True, eq=False)
class WorldRun:
    """Recorded motion of everything in the world during a run, and its contacts."""

    t: Array
    """Times in s, (T,), from the start to the end, one step apart."""
    motion: Mapping[str, Array]
    """Motion of vehicles by name, (T, 6): x, y in m, yaw in rad, and v_x, v_y, omega in vehicle
    axes."""
    places: Mapping[str, Array]
    """x, y in m and yaw in rad of blocks, walls and actors by name: (T, 3) if they move, else
    (1, 3)."""
    outlines: Mapping[str, Outline]
    """Outlines by name, in the frame of each pose."""
    events: tuple[ContactEvent, ...]
    """Starts and ends of contacts."""

    __repr__ = brief_repr

    def pose(self, name: str) -> Array:
        """x, y in m and yaw in rad of a vehicle, block, wall or actor over time, (T or 1, 3)."""
        if name in self.motion:
            return self.motion[name][:, :3]
        if name not in self.places:
            known = (*self.motion, *self.places)
            raise InvalidValue(unknown_name("the world", name, known, "thing"))
        return self.places[name]

    def series(self, name: str, field: str) -> Array:
        """A column of the motion of a vehicle over time, (T,)."""
        return self.motion[name][:, list(FIELDS).index(field)]


@dataclass(frozen=True, eq=False)
class WorldMetric(Constant):
    """A function of a `WorldRun`, with unit, kind and meaning of its column."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    """Further arguments of the function, after the run."""
    unit: str = ""
    kind: str = "number"
    meaning: str = ""
    things: tuple[str, ...] = ()
    """Names that must exist in the world; empty names are ignored."""

    __repr__ = brief_repr

    def __call__(self, run: WorldRun) -> Any:
        """Compute the metric of a run."""
        return self.function(run, *self.arguments)

    def column(self, name: str) -> Column:
        """Column of the metric under a name."""
        return Column(name, self.unit, self.meaning, self.kind)

    def identity(self) -> dict[str, Any]:
        """Import path and bytecode of the function, and its arguments."""
        own = function_identity("a metric", self.function)
        return {**own, "arguments": plain(self.arguments), "unit": self.unit, "kind": self.kind}


def metric_of(name: str, metric: Any) -> WorldMetric:
    """Convert a function of a run to a metric: a truth value if it is annotated to return bool."""
    if isinstance(metric, WorldMetric):
        return metric
    if not callable(metric):
        raise InvalidValue(f"metric {name} must be a function of a WorldRun, got {metric!r}")
    return measured(metric)


def measured(function: Callable[[WorldRun], Any], unit: str = "", meaning: str = "") -> WorldMetric:
    """Metric from a function of a `WorldRun`, with the unit of its result."""
    try:
        truth = get_type_hints(function).get("return") is bool
    except (NameError, TypeError):
        truth = False
    words = meaning or " ".join((function.__doc__ or "").split())
    return WorldMetric(function, (), unit, "truth" if truth else "number", words)


def collided(name: str, other: str = "") -> WorldMetric:
    """Whether a vehicle or block touched the object `other`, or any object if that is empty."""
    words = f"whether {name} touched {other or 'anything'}"
    return WorldMetric(_collided, (name, other), "", "truth", words, (name, other))


def collision_time(name: str, other: str = "") -> WorldMetric:
    """Time in s at which a vehicle or block first touched `other`, or any object if that is empty;
    NaN if never."""
    words = f"time at which {name} first touched {other or 'anything'}"
    return WorldMetric(_collision_time, (name, other), "s", "number", words, (name, other))


def nearest(name: str, other: str) -> WorldMetric:
    """Smallest distance in m between the outlines of two objects; 0 if they touched."""
    words = f"smallest gap between {name} and {other}"
    return WorldMetric(_nearest, (name, other), "m", "number", words, (name, other))


def reached(name: str, x: m, y: m, r: m) -> WorldMetric:
    """Whether the reference point of a vehicle or block entered a circle around (x, y)."""
    _check_circle(x, y, r)
    words = f"whether {name} was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_reached, (name, x, y, r), "", "truth", words, (name,))


def time_to_reach(name: str, x: m, y: m, r: m) -> WorldMetric:
    """Time in s at which the reference point of a vehicle or block first entered a circle around
    (x, y); NaN if never."""
    _check_circle(x, y, r)
    words = f"time at which {name} first was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_time_to_reach, (name, x, y, r), "s", "number", words, (name,))


def _check_circle(x: m, y: m, r: m) -> None:
    for name, value in (("x", x), ("y", y), ("r", r)):
        number(name, value, "m")


def final(name: str, field: str) -> WorldMetric:
    """Final x, y, yaw, v_x, v_y or omega of a vehicle; of a block only x, y or yaw."""
    if field not in FIELDS:
        raise InvalidValue(unknown_name("final", field, tuple(FIELDS), "field"))
    return WorldMetric(
        _final, (name, field), FIELDS[field], "number", f"{field} of {name} at the end", (name,)
    )


def travelled(name: str) -> WorldMetric:
    """Distance in m that a vehicle or block travels."""
    return WorldMetric(_travelled, (name,), "m", "number", f"length of the way of {name}", (name,))


def _collision_time(run: WorldRun, name: str, other: str) -> s:
    for event in run.events:
        pair = event.a, event.b
        if event.kind == "begin" and name in pair and (not other or other in pair):
            return event.time
    return np.nan


def _collided(run: WorldRun, name: str, other: str) -> bool:
    return not np.isnan(_collision_time(run, name, other))


def _time_to_reach(run: WorldRun, name: str, x: m, y: m, r: m) -> s:
    at = run.pose(name)
    inside = np.hypot(at[:, 0] - x, at[:, 1] - y) <= r
    return float(run.t[np.argmax(inside)]) if inside.any() else np.nan


def _reached(run: WorldRun, name: str, x: m, y: m, r: m) -> bool:
    return not np.isnan(_time_to_reach(run, name, x, y, r))


def _final(run: WorldRun, name: str, field: str) -> float:
    if name in run.motion:
        return float(run.series(name, field)[-1])
    place: tuple[m, m, rad] = tuple(run.pose(name)[-1].tolist())
    return place[list(FIELDS).index(field)]


def _travelled(run: WorldRun, name: str) -> m:
    at = run.pose(name)
    return float(np.hypot(*np.diff(at[:, :2], axis=0).T).sum())


def _nearest(run: WorldRun, name: str, other: str) -> m:
    if _collided(run, name, other):
        return 0.0
    first, second = (np.array(run.outlines[one], dtype=float) for one in (name, other))
    poses = np.broadcast_arrays(run.pose(name), run.pose(other))
    reach = np.hypot(*first.T).max() + np.hypot(*second.T).max()
    apart = np.hypot(*(poses[0] - poses[1])[:, :2].T)
    # Samples at which the centres are too far apart for the smallest gap are skipped.
    near = apart <= apart.min() + 2.0 * reach
    at, other_at = (pose[near].T[..., None] for pose in poses)
    return min(_gap(first, second, at, other_at), _gap(second, first, other_at, at))


def _gap(outline: Array, corners: Array, at: Any, other_at: Any) -> m:
    """Smallest distance of an outline from the corners of another, with poses (3, T, 1); 0 if a
    corner is inside."""
    seen = points_to_body(at, points_to_world(other_at, corners)).reshape(-1, 2)
    if enclosed(seen, outline).any():
        return 0.0
    return float(distances(seen, ring_edges(outline)).min())


CORNERS = 8
"""Number of corners of an actor's outline, the same as for contacts."""


class RunLog:
    """Records one run: call `sample()` after every step and `run()` at the end.

    Contact events are taken out of the world, which discards the oldest when there are many.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        scene, moving = world.scene, world.movable
        self._t: list[float] = []
        self._motion: list[Array] = []
        self._moving: dict[str, list[tuple[float, ...]]] = {name: [] for name in moving}
        self._events: list[ContactEvent] = []
        still = [block for block in scene.blocks if block.name not in moving]
        self.places = {
            **{block.name: np.array([[*block.pose[:2], block.pose.yaw]]) for block in still},
            **{wall.name: np.zeros((1, 3)) for wall in scene.walls},
            **{name: np.empty((0, 3)) for name in moving},
        }
        """Poses by name of all objects other than vehicles."""
        self.sample()

    def sample(self) -> None:
        """Record the present state of the world."""
        world = self._world
        self._t.append(world.time)
        self._motion.append(world.motion(in_world=False))
        for name, places in self._moving.items():
            places.append(tuple(world.block(name)[:3]))
        if world.contact_events:
            self._events += world.contact_events
            world.contact_events.clear()

    def run(self) -> WorldRun:
        """The recorded run."""
        motion = np.stack(self._motion)
        vehicles = {name: motion[:, k] for k, name in enumerate(self._world.vehicles)}
        moved = {name: np.array(places) for name, places in self._moving.items()}
        places = {**self.places, **moved}
        return WorldRun(np.array(self._t), vehicles, places, self._outlines(), tuple(self._events))

    def _outlines(self) -> dict[str, Outline]:
        scene = self._world.scene
        outlines: dict[str, Outline] = {}
        for name, vehicle in self._world.vehicles.items():
            parts = vehicle.built.geometry.outlines
            corners = [corner for part in parts for corner in part]
            outlines[name] = parts[0] if len(parts) == 1 else hull(corners)
        outlines |= {block.name: block.shape.outline for block in scene.blocks}
        outlines |= {wall.name: wall.outline for wall in scene.walls}
        return outlines | {actor.name: _circle(actor.collision_radius) for actor in scene.actors}


def _circle(r: float) -> Outline:
    angles = (2.0 * pi * k / CORNERS for k in range(CORNERS))
    return tuple((r * cos(a), r * sin(a)) for a in angles)


VARIABLE = "variable."
NOT_SIMULATED = frozenset(
    ("source", "file", "warnings", "gui", "lights", "visuals", "color", "log_path", "variables")
)
"""Fields of a scene that do not influence the motion."""


@dataclass(frozen=True)
class WorldSetup:
    """A world before its runs, read once with all of its files."""

    definition: Any
    """A file, the text of a file, a scene, or a function that makes a world."""
    variables: Mapping[str, float]
    options: Mapping[str, Any]
    world: World
    """The world with default values and seed 0."""
    digest: str
    varies: bool
    """Whether the scene itself depends on the seed."""
    settings: Mapping[str, Setting]
    """Units and ranges by factor name."""
    programs: Mapping[str, str]
    """Digest of each vehicle's traced step, by vehicle."""

    def made(self, values: Mapping[str, float], seed: int) -> World | Scene:
        """World or scene of a run, before factors are set in the scene."""
        own = {k.removeprefix(VARIABLE): v for k, v in values.items() if k.startswith(VARIABLE)}
        if isinstance(self.definition, Scene) or not (
            own or self.varies or callable(self.definition)
        ):
            return self.world.scene
        return _instance(self.definition, {**self.variables, **own}, self.options, seed)


def _instance(
    definition: Any, variables: Mapping[str, float], options: Mapping[str, Any], seed: int
) -> World | Scene:
    if isinstance(definition, Scene):
        return definition
    if isinstance(definition, (str, os.PathLike)):
        how: dict[str, Any] = {**options, "seed": seed, "variables": dict(variables)}
        text = isinstance(definition, str) and definition.lstrip().startswith("<")
        return xml.loads(str(definition), **how) if text else xml.load(definition, **how)
    if not callable(definition):
        raise InvalidValue(
            f"world must be a file, the text of one, a Scene or a function, got {definition!r}"
        )
    made = definition(dict(variables), seed)
    if not isinstance(made, (World, Scene)):
        raise InvalidValue(f"{_source(definition)} must give a World or a Scene, got {made!r}")
    return made


def _source(definition: Any) -> str:
    if isinstance(definition, str) and definition.lstrip().startswith("<"):
        return "the text of the world"
    if isinstance(definition, (str, os.PathLike)):
        return os.fspath(definition)
    return getattr(definition, "__qualname__", "the scene")


def scene_digest(scene: Scene) -> str:
    """Digest of everything in a scene that affects the motion, wherever its files lie."""
    return "sha256:" + sha256(repr(_contents(scene)).encode()).hexdigest()


def _contents(value: Any) -> Any:
    if isinstance(value, Vehicle):
        names, values = record.names(value.model.Params), record.flatten(value.params)
        params = plain(dict(zip(names, values, strict=True)))
        return ("Vehicle", value.name, params, plain(value.outlines))
    if is_dataclass(value) and not isinstance(value, type):
        kept = (one.name for one in fields(value) if one.name not in NOT_SIMULATED)
        return (type(value).__name__, [(name, _contents(getattr(value, name))) for name in kept])
    if isinstance(value, Mapping):
        return [(str(name), _contents(part)) for name, part in sorted(value.items())]
    if isinstance(value, (list, tuple)):
        return [_contents(part) for part in value]
    return plain(value)


MOST_SETUPS = 16
_SETUPS: RecentCache[WorldSetup] = RecentCache(MOST_SETUPS)
"""Worlds by `_mark`, the random identifier of their experiments."""


@dataclass(frozen=True, eq=False)
class WorldRuns(ExperimentBase, Constant):
    """Runs of a world, each with the seed `random.of_run(seed, run)`."""

    growing = ("metrics",)

    world: str | os.PathLike[str] | Scene | Callable[[Mapping[str, float], int], World | Scene]
    """A world file, its text, a scene, or a function of `variables` and a seed that returns a world
    or a scene."""
    duration: float
    """Length of a run in s, a whole number of steps."""
    _: KW_ONLY
    drive: Any = None
    """How vehicles are driven; see the docstring of this module. If None, by the drivers of the
    scene."""
    metrics: Mapping[str, WorldMetric | Callable[..., Any]] = field(
        default_factory=dict[str, WorldMetric]
    )
    """Metrics by column name: functions of a `WorldRun`, such as `collided`."""
    variables: Mapping[str, float] = field(default_factory=dict[str, float])
    """Variables for reading a file or text, or arguments of a function; the factor
    `variable.NAME` changes one."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of `world.xml.load` for a file or text."""
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    """Units of `variables`, for tables and reports."""
    replayed: str = ""
    """Name of the vehicle whose trajectory a replay returns; the first if empty."""
    _mark: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)
    _scene: str = field(default="", init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        metrics = {name: metric_of(name, one) for name, one in self.metrics.items()}
        object.__setattr__(self, "metrics", metrics)
        setup = self._setup()
        object.__setattr__(self, "_scene", setup.digest)
        steps_in(self.duration, setup.world.dt)
        if self.replayed not in ("", *setup.world.vehicles) or not setup.world.vehicles:
            known = tuple(setup.world.vehicles)
            raise InvalidValue(record.unknown_name("replayed", self.replayed, known, "vehicle"))
        self._check_drive(setup.world)
        count = sum(isinstance(one, OccupancyGrid) for one in setup.world.scene.elements)
        grids = ("grid" if k == 0 else f"grid_{k + 1}" for k in range(count))  # as in contacts
        things = (*setup.world.vehicles, *RunLog(setup.world).places, *grids)
        for name, metric in metrics.items():
            for thing in filter(None, metric.things):
                if thing not in things:
                    where = f"metric {name}"
                    raise InvalidValue(record.unknown_name(where, thing, things, "thing"))
        self.identity()

    def _check_drive(self, world: World) -> None:
        """Raise for vehicles that do not exist and for values that cannot drive a vehicle."""
        drive = self.drive
        if drive is None or (callable(drive) and not isinstance(drive, Mapping)):
            return
        if not isinstance(drive, Mapping):
            raise InvalidValue(
                "drive must be a function of the world and the time, or a mapping from vehicle "
                f"names to drivers, got {drive!r}"
            )
        for name, one in drive.items():
            if name not in world.vehicles:
                raise InvalidValue(
                    unknown_name("drive", str(name), tuple(world.vehicles), "vehicle")
                )
            inputs = isinstance(one, Mapping) or is_record_type(type(one))
            if not (inputs or callable(one) or isinstance(one, (Policy, Controlled))):
                raise InvalidValue(
                    f"drive of {name} must be inputs, a Demand, a Controlled, a Policy or a "
                    f"function, got {one!r}"
                )

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a WorldRuns", self, "take functions from a module")

    def _setup(self) -> WorldSetup:
        """World of this experiment, read once for all chunks of this process."""
        return _SETUPS.get(None, self._mark, self._read)

    def _read(self) -> WorldSetup:
        """Read the world with default values, and determine its factors and digests."""
        definition, variables, options = self.world, self.variables, self.options
        if isinstance(definition, Scene) and (variables or options):
            raise InvalidValue(
                "variables and options need a world file; a Scene has already been read"
            )
        made = _instance(definition, variables, options, 0)
        world = made if isinstance(made, World) else World(made)
        digest = scene_digest(world.scene)
        if self._scene not in ("", digest):
            raise InvalidValue(f"{_source(definition)} has changed since the campaign began")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # given above
            again = _instance(definition, variables, options, 1)
        other = again.scene if isinstance(again, World) else again
        # Settings of a scene apply before the world is made of it.
        settings = {} if isinstance(made, World) else settings_of(world)
        for name in variables:
            settings[f"{VARIABLE}{name}"] = Setting(self.units.get(name, ""), Allowed())
        programs: dict[int, str] = {}
        for vehicle in world.vehicles.values():
            if id(vehicle.vehicle.model) not in programs:  # vehicles of one model share a trace
                step = Plant.of(vehicle.vehicle, integrate.get("rk4")).step
                programs[id(vehicle.vehicle.model)] = lower(step, "float64").digest
        return WorldSetup(
            definition=definition,
            variables=variables,
            options=options,
            world=world,
            digest=digest,
            varies=not isinstance(definition, Scene) and scene_digest(other) != digest,
            settings=settings,
            programs={n: programs[id(v.vehicle.model)] for n, v in world.vehicles.items()},
        )

    def settings(self) -> Mapping[str, Setting]:
        """Units and ranges of the factors of the scene, and of the variables."""
        return self._setup().settings

    def columns(self) -> tuple[Column, ...]:
        """Columns of the metrics."""
        return tuple(metric.column(name) for name, metric in self._metrics.items())

    @property
    def _metrics(self) -> dict[str, WorldMetric]:
        made: Any = self.metrics
        return made

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factor values that are not allowed: the worlds with all smallest and with all
        largest values must exist and make a first step."""
        super().check(ends)
        for side in (0, 1):
            values = {name: np.array([pair[side]]) for name, pair in ends.items()}
            start = self._start(Rows(np.zeros(1, dtype=np.int64), values, 0))
            for _ in start.steps(1):
                pass

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Execute the runs one by one; returns all columns and `failed`, (n,) each."""
        self._setup()  # raises for faults that all runs share
        return super().evaluate(rows, resources)

    def evaluate_block(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Execute a single run; returns all metrics and `failed`, (1,) each."""
        log = self.logged(rows)
        values = {name: np.array([metric(log)]) for name, metric in self._metrics.items()}
        return {**values, FAILED: np.zeros(1, np.bool_)}

    def logged(self, rows: Rows) -> WorldRun:
        """Repeat the single run of `rows`; returns the record from which metrics are computed."""
        start = self._start(rows)
        log = RunLog(start.world)
        for _ in start.steps(steps_in(self.duration, start.world.dt)):
            log.sample()
        return log.run()

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows`; returns states and inputs of one vehicle, up to the
        run's end."""
        return self._replayed(rows, None)

    def record(self, rows: Rows, path: str | os.PathLike[str], rate: float | None = 30.0) -> None:
        """Write the single run of `rows` to an MCAP file with everything in the world, at `rate`
        samples per second; None for every step."""
        from ..view.recording.recorder import WorldRecorder

        self._replayed(rows, lambda world: WorldRecorder(world, path, rate=rate))

    def _replayed(self, rows: Rows, recorder: Callable[[World], Any] | None) -> Trajectory:
        start = self._start(rows)
        world = start.world
        vehicle = world.vehicles[self.replayed or next(iter(world.vehicles))]
        group, row = vehicle.bodies.group, vehicle.row
        states, inputs, error = [group.state[row].copy()], [group.inputs[row].copy()], None
        written = None if recorder is None else recorder(world)
        try:
            if written is not None:
                written.sample()
            for _ in start.steps(steps_in(self.duration, start.world.dt)):
                states.append(group.state[row].copy())
                # The input that led here belongs to the sample before.
                inputs[-1] = group.inputs[row].copy()
                inputs.append(inputs[-1])
                if written is not None:
                    written.sample()
        except FAILURES as reason:
            error = reason
        finally:
            if written is not None:
                written.close()
        model, t = vehicle.vehicle.model, world.dt * np.arange(len(states))
        both = (model.State, np.array(states)), (model.Input, np.array(inputs))
        return Trajectory.from_arrays(t, *both, name=vehicle.name, error=error)

    def identity(self) -> dict[str, Any]:
        """The scene with the contents of its files, the vehicles' Programs, drive and metrics."""
        setup = self._setup()
        made = not isinstance(self.world, (str, os.PathLike, Scene))
        drive = self.drive
        if isinstance(drive, Mapping):
            drive = {n: _identity(f"drive of {n}", one) for n, one in sorted(drive.items())}
        elif drive is not None:
            drive = function_identity("drive", drive)
        return {
            "kind": "world",
            "scene": setup.digest,
            "function": function_identity("world", self.world) if made else None,
            "programs": dict(setup.programs),
            "variables": dict(self.variables),
            "dt": setup.world.dt,
            "duration": self.duration,
            "drive": drive,
            "metrics": {name: metric.identity() for name, metric in self._metrics.items()},
        }

    def _start(self, rows: Rows) -> _Beginning:
        """Prepare the single run of `rows`."""
        values = {name: float(column[0]) for name, column in rows.factors.items()}
        seed = of_run(rows.seed, int(rows.runs[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # given once, when the experiment was made
            made = self._setup().made(values, seed)
            if isinstance(made, World):
                made.on_diverge = "raise"
                return _Beginning(made, pilots(self.drive, made))
            scene = made
            if values:
                vehicles = (
                    _vehicle(one, _own(values, "vehicle", one.name), made) for one in made.vehicles
                )
                blocks = (_block(one, _own(values, "block", one.name)) for one in made.blocks)
                actors = (replace(one, **_own(values, "actor", one.name)) for one in made.actors)
                scene = replace(
                    made, vehicles=tuple(vehicles), blocks=tuple(blocks), actors=tuple(actors)
                )
            world = World(scene, seed=seed, on_diverge="raise")
        acting = pilots(self.drive, world)
        for spec in made.vehicles:
            changes = _own(values, "vehicle", spec.name)
            inputs: dict[str, float] = {}
            # A robot whose parameters are changed is a plain vehicle, which has no set point.
            if isinstance(spec.dynamics, Description) and _params(changes):
                inputs |= spec.dynamics.control.set_point
            for key, value in changes.items():
                if key.startswith(COMMAND):
                    inputs[key.removeprefix(COMMAND)] = value
            if inputs:
                world.vehicles[spec.name].command(inputs)
        return _Beginning(world, acting)


class _Beginning(NamedTuple):
    """A run that is ready to start."""

    world: World
    pilots: Sequence[Callable[[float], None]]

    def steps(self, count: int) -> Iterator[None]:
        """Make a number of steps, yielding after each one."""
        for _ in range(count):
            for act in self.pilots:
                act(self.world.time)
            self.world.step()
            yield
