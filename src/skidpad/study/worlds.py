"""What drives the vehicles of a world in a campaign.

`drive` is a function of the world and the time, called before every step, or says for vehicles by
name what each does:

* a mapping of inputs, held from the start on;
* a `Demand`, which is turned into inputs at every step;
* a `Controlled`, which makes a controller of the vehicle at the start of a run:
  `Controlled(stanley.policy, (path,))`; or a `Policy` whose function can be imported;
* a function of the vehicle and the time.

A class in place of a function is made anew for every run, so that what it remembers is its own.

What of a scene differs between the runs of a campaign, by name.

| name | what it sets |
|---|---|
| `vehicle.NAME.x`, `.y`, `.yaw` | where a vehicle starts, in m and rad |
| `vehicle.NAME.v` | its speed at the start, along itself |
| `vehicle.NAME.PARAMETER` | a parameter of its model, such as `vehicle.r1.friction.mu` |
| `vehicle.NAME.command.FIELD` | an input that it is commanded from the start on |
| `block.NAME.x`, `.y`, `.yaw` | where a block stands |
| `block.NAME.mass`, `.ground_friction`, `.lateral_friction`, `.restitution` | what it is like |
| `actor.NAME.walking_speed`, `.running_speed` | how fast somebody walks |
| `variable.NAME` | a variable that the world file is read with |

What is kept of the run of a world: numbers and truths told from where everything was.

metrics = {
    "hit": collided("r1"),
    "gap": nearest("r1", "crate"),
    "arrived": time_to_reach("r1", 8.0, 0.0, 0.5),
    "spread": spread,  # a function of one's own that takes a WorldRun
}

Takes down where everything is while a world runs, for metrics.

The world of a campaign before its runs: read once, known by all that its files say.

Worlds as the experiment of a campaign: a scene that is stepped once per run.

    runs = WorldRuns(
        "yard.world.xml", duration=10.0, drive={"r1": Demand(v=1.0)},
        metrics={"hit": collided("r1"), "gap": nearest("r1", "crate")},
    )
    Campaign(experiment=runs, factors={"block.crate.y": Range(-1.0, 1.0)}, ...)

`world_factors` says what factors may set, `world_driving` what may drive, `world_metrics` what may
be kept.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, is_dataclass, replace
from dataclasses import fields as world_setup_fields
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
from ..core.checks import must_be, steps_in
from ..core.files import brief_repr
from ..core.model import Constant, Vehicle, pickled_fields
from ..core.policy import Policy
from ..core.record import is_record_type, unknown_name
from ..errors import InvalidValue
from ..geometry.polygon import distances, enclosed, hull, ring_edges
from ..geometry.pose import points_to_body, points_to_world
from ..random.streams import of_run
from ..run.kept import Kept
from ..run.trajectory import Trajectory
from ..units import Allowed, Unit, kg, m, m_s, non_negative, positive, rad, s
from ..units import one as world_factors_one
from ..vehicles import wheeled
from ..world import xml
from ..world.contact.touches import ContactEvent
from ..world.scene import (
    ActorSpec,
    BlockSpec,
    OccupancyGrid,
    OwnDynamics,
    Scene,
    Shape,
    VehicleSpec,
    Velocity,
)
from ..world.vehicle import WorldVehicle
from ..world.world import World
from .experiment import (
    FAILED,
    FAILURES,
    Column,
    Resources,
    Rows,
    function_identity,
    only_adds,
    plain,
)
from .rollout_kernel import unit_of

__all__ = [
    "Controlled",
    "WorldMetric",
    "WorldRun",
    "collided",
    "collision_time",
    "final",
    "measured",
    "nearest",
    "reached",
    "time_to_reach",
    "travelled",
]

Pilot = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Controlled(Constant):
    """A controller that is made for the vehicle of a run."""

    make: Callable[..., Policy]
    """Called with the vehicle, these arguments and settings: `controllers.stanley.policy`."""
    arguments: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: Any = None
    """What the policy is told: a record or mapping, or a function of time that returns one."""

    __repr__ = brief_repr


def pilots(drive: Any, world: World) -> list[Pilot]:
    """What is to be called with the time before every step of a run; commands that are held are
    given here."""
    if drive is None:
        return []
    if not isinstance(drive, Mapping):
        act = drive() if isinstance(drive, type) else drive
        return [lambda t: act(world, t)]
    candidates = (_pilot(one, world.vehicles[name], world) for name, one in drive.items())
    return [pilot for pilot in candidates if pilot is not None]


def _pilot(one: Any, vehicle: WorldVehicle, world: World) -> Pilot | None:
    if isinstance(one, Demand):
        return lambda t: vehicle.drive(one)
    if isinstance(one, Mapping) or is_record_type(type(one)):
        vehicle.command(one)
        return None
    if isinstance(one, (Policy, Controlled)):
        policy, told = (
            (one, None) if isinstance(one, Policy) else (_made(one, vehicle), one.reference)
        )
        control = policy.controller(world.dt, reference=told)
        return lambda t: vehicle.command(control(t, vehicle.state))
    act = one() if isinstance(one, type) else one
    return lambda t: act(vehicle, t)


def _made(one: Controlled, vehicle: WorldVehicle) -> Policy:
    return one.make(vehicle.vehicle, *one.arguments, **one.settings)


def check_drive(drive: Any, world: World) -> None:
    """Raise for vehicles that are not there and for what cannot drive one."""
    if drive is None or (callable(drive) and not isinstance(drive, Mapping)):
        return
    if not isinstance(drive, Mapping):
        raise InvalidValue(
            f"drive must be a function of the world and the time or say for vehicles by name what "
            f"each does, got {drive!r}"
        )
    for name, one in drive.items():
        if name not in world.vehicles:
            raise InvalidValue(unknown_name("drive", str(name), tuple(world.vehicles), "vehicle"))
        record = isinstance(one, Mapping) or is_record_type(type(one))
        if not (record or callable(one) or isinstance(one, (Policy, Controlled))):
            raise InvalidValue(
                f"drive of {name} must be inputs, a Demand, a Controlled, a Policy or a function, "
                f"got {one!r}"
            )


def drive_identity(drive: Any) -> Any:
    """What drives, as plain values."""
    if drive is None:
        return None
    if not isinstance(drive, Mapping):
        return function_identity("drive", drive)
    return {name: _identity(f"drive of {name}", one) for name, one in sorted(drive.items())}


def _identity(what: str, one: Any) -> Any:
    if isinstance(one, Policy):
        act = function_identity(what, one.act)
        return {"policy": one.name, "params": plain(one.params), "act": act}
    if isinstance(one, Controlled):
        told = one.reference
        return {
            "made_by": function_identity(what, one.make),
            "arguments": plain(one.arguments),
            "settings": plain(one.settings),
            "reference": function_identity(what, told) if callable(told) else plain(told),
        }
    if isinstance(one, Mapping) or is_record_type(type(one)):
        return {"inputs" if isinstance(one, Mapping) else type(one).__name__: plain(one)}
    return function_identity(what, one)


class Setting(NamedTuple):
    """A number that may differ between runs."""

    unit: str
    allowed: Allowed


class _Start(NamedTuple):
    """Of a vehicle or a block."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    v: m_s = 0.0


COMMAND = "command."
POSE = ("x", "y", "yaw")
OF_BLOCKS: dict[str, tuple[Any, Allowed]] = {
    "mass": (kg, positive),
    "ground_friction": (world_factors_one, non_negative),
    "lateral_friction": (world_factors_one, non_negative),
    "restitution": (world_factors_one, non_negative),
}
OF_ACTORS = ("walking_speed", "running_speed")


def settings_of(world: World) -> dict[str, Setting]:
    """All that may differ between runs of a world, by name."""
    start = {leaf.name: Setting(unit_of(leaf), Allowed()) for leaf in record.fields(_Start)}
    settings: dict[str, Setting] = {}
    for name, vehicle in world.vehicles.items():
        model = vehicle.vehicle.model
        own = {
            leaf.name: Setting(unit_of(leaf), leaf.allowed or Allowed())
            for leaf in record.fields(model.Params)
            # A road is one of the whole scene.
            if world.scene.road is None or not leaf.name.startswith("road.")
        }
        commands = {
            f"{COMMAND}{leaf.name}": Setting(unit_of(leaf), leaf.allowed or Allowed())
            for leaf in record.fields(model.Input)
        }
        settings |= {f"vehicle.{name}.{key}": one for key, one in (own | start | commands).items()}
    for block in world.scene.blocks:
        own = {key: Setting(_symbol(unit), allowed) for key, (unit, allowed) in OF_BLOCKS.items()}
        own |= {key: start[key] for key in POSE}
        settings |= {f"block.{block.name}.{key}": one for key, one in own.items()}
    for actor in world.scene.actors:
        settings |= {f"actor.{actor.name}.{key}": Setting("m/s", positive) for key in OF_ACTORS}
    return settings


def changed_scene(scene: Scene, values: Mapping[str, float]) -> Scene:
    """The scene with the values of a run."""
    if not values:
        return scene
    return replace(
        scene,
        vehicles=tuple(
            _vehicle(spec, _own(values, "vehicle", spec.name), scene) for spec in scene.vehicles
        ),
        blocks=tuple(_block(spec, _own(values, "block", spec.name)) for spec in scene.blocks),
        actors=tuple(_actor(spec, _own(values, "actor", spec.name)) for spec in scene.actors),
    )


def commanded(scene: Scene, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """What vehicles are commanded at the start of a run, by vehicle and field."""
    told: dict[str, dict[str, float]] = {}
    for spec in scene.vehicles:
        own = _own(values, "vehicle", spec.name)
        first: dict[str, float] = {}
        # A robot whose parameters are changed is a plain vehicle, which has no set point.
        if isinstance(spec.dynamics, wheeled.Description) and _params(own):
            first |= spec.dynamics.control.set_point
        told[spec.name] = first | {
            key.removeprefix(COMMAND): value
            for key, value in own.items()
            if key.startswith(COMMAND)
        }
    return {name: fields for name, fields in told.items() if fields}


def _own(values: Mapping[str, float], kind: str, name: str) -> dict[str, float]:
    """Values of one thing."""
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
    if isinstance(dynamics, wheeled.Description):
        vehicle = wheeled.vehicle(dynamics, scene.compat).with_params(params)
        return replace(spec, dynamics=vehicle, shape=_said(spec.shape))
    return replace(spec, dynamics=dynamics.with_params(params))


def _said(shape: Shape | None) -> Shape | None:
    """The shape of a robot, which counts also where it is the usual one."""
    usual = shape is not None and shape.made_from == "default"
    return replace(shape, made_from="shape") if shape is not None and usual else shape


def _block(spec: BlockSpec, own: Mapping[str, float]) -> BlockSpec:
    place = {key: own[key] for key in POSE if key in own}
    like = {key: own[key] for key in OF_BLOCKS if key in own}
    return replace(spec, pose=spec.pose._replace(**place), **like) if own else spec


def _actor(spec: ActorSpec, own: Mapping[str, float]) -> ActorSpec:
    return replace(spec, **own) if own else spec


def _symbol(unit: Any) -> str:
    mark = next(mark for mark in unit.__metadata__ if isinstance(mark, Unit))
    return "" if mark.symbol == "1" else mark.symbol


FIELDS = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "v_y": "m/s", "omega": "rad/s"}
"""Columns of a vehicle's motion, with units."""


@dataclass(frozen=True, eq=False)
class WorldRun:
    """Where everything was in a run."""

    t: Array
    """Times in s, (T,), from the start to the end, a step apart."""
    motion: Mapping[str, Array]
    """Of vehicles by name, (T, 6): x, y, yaw, and v_x, v_y, omega along and across the vehicle."""
    places: Mapping[str, Array]
    """Of blocks, walls and actors by name: x, y, yaw, (T, 3) of what moves, (1, 3) of the rest."""
    outlines: Mapping[str, Outline]
    """Of everything that has one, as seen from its pose."""
    events: tuple[ContactEvent, ...]
    """Beginnings and ends of contacts."""

    __repr__ = brief_repr

    def pose(self, name: str) -> Array:
        """x, y, yaw of a thing over time, (T or 1, 3)."""
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
    """A function of a `WorldRun`, with what its column is."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    """Handed to it after the run."""
    unit: str = ""
    kind: str = "number"
    meaning: str = ""
    things: tuple[str, ...] = ()
    """Names that must be there."""

    __repr__ = brief_repr

    def __call__(self, run: WorldRun) -> Any:
        """What it tells of a run."""
        return self.function(run, *self.arguments)

    def column(self, name: str) -> Column:
        """Its column under a name."""
        return Column(name, self.unit, self.meaning, self.kind)

    def identity(self) -> dict[str, Any]:
        """The function and its arguments."""
        own = function_identity("a metric", self.function)
        return {**own, "arguments": plain(self.arguments), "unit": self.unit, "kind": self.kind}


def metric_of(name: str, metric: Any) -> WorldMetric:
    """A metric, or a function of a run as one: a truth if it is annotated to return a bool."""
    if isinstance(metric, WorldMetric):
        return metric
    if not callable(metric):
        raise InvalidValue(f"metric {name} must be a function of a WorldRun, got {metric!r}")
    return measured(metric)


def measured(function: Callable[[WorldRun], Any], unit: str = "", meaning: str = "") -> WorldMetric:
    """A function of one's own as a metric, with the unit of what it returns."""
    try:
        truth = get_type_hints(function).get("return") is bool
    except (NameError, TypeError):
        truth = False
    words = meaning or " ".join((function.__doc__ or "").split())
    return WorldMetric(function, (), unit, "truth" if truth else "number", words)


def collided(name: str, other: str = "") -> WorldMetric:
    """Whether a vehicle or block touched something, or one other thing."""
    words = f"whether {name} touched {other or 'anything'}"
    return WorldMetric(_collided, (name, other), "", "truth", words, _named(name, other))


def collision_time(name: str, other: str = "") -> WorldMetric:
    """When a vehicle or block first touched something, or one other thing; NaN if never."""
    words = f"time at which {name} first touched {other or 'anything'}"
    return WorldMetric(_collision_time, (name, other), "s", "number", words, _named(name, other))


def nearest(name: str, other: str) -> WorldMetric:
    """The smallest gap between the outlines of two things; 0 if they met."""
    words = f"smallest gap between {name} and {other}"
    return WorldMetric(_nearest, (name, other), "m", "number", words, (name, other))


def reached(name: str, x: m, y: m, r: m) -> WorldMetric:
    """Whether the reference point of a vehicle or block was within a circle."""
    words = f"whether {name} was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_reached, (name, x, y, r), "", "truth", words, (name,))


def time_to_reach(name: str, x: m, y: m, r: m) -> WorldMetric:
    """When it first was there; NaN if never."""
    words = f"time at which {name} first was within {r:g} m of ({x:g}, {y:g}) m"
    return WorldMetric(_time_to_reach, (name, x, y, r), "s", "number", words, (name,))


def final(name: str, field: str) -> WorldMetric:
    """x, y, yaw, v_x, v_y or omega of a vehicle at the end; of a block x, y or yaw."""
    if field not in FIELDS:
        raise InvalidValue(unknown_name("final", field, tuple(FIELDS), "field"))
    return WorldMetric(
        _final, (name, field), FIELDS[field], "number", f"{field} of {name} at the end", (name,)
    )


def travelled(name: str) -> WorldMetric:
    """Length of the way of a vehicle or block."""
    return WorldMetric(_travelled, (name,), "m", "number", f"length of the way of {name}", (name,))


def _named(*names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name)


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
    # Where they are farther apart than at best they can be, corners need not be looked at.
    near = apart <= apart.min() + 2.0 * reach
    at, beside = (pose[near].T[..., None] for pose in poses)
    return min(_gap(first, second, at, beside), _gap(second, first, beside, at))


def _gap(outline: Array, corners: Array, at: Any, beside: Any) -> m:
    """Smallest distance of corners from an outline, both with poses (3, T, 1); 0 from inside."""
    seen = points_to_body(at, points_to_world(beside, corners)).reshape(-1, 2)
    if enclosed(seen, outline).any():
        return 0.0
    return float(distances(seen, ring_edges(outline)).min())


CORNERS = 8
"""Of the outline of an actor, as contacts have it."""


class RunLog:
    """The log of one run: `sample()` after every step, `run()` at the end.

    Events of contacts are taken out of the world, where they would be dropped when there are many.
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
        """Of all things but vehicles."""
        self.sample()

    def sample(self) -> None:
        """Take down this moment."""
        world = self._world
        self._t.append(world.time)
        self._motion.append(world.motion(in_world=False))
        for name, places in self._moving.items():
            places.append(tuple(world.block(name)[:3]))
        if world.contact_events:
            self._events += world.contact_events
            world.contact_events.clear()

    def run(self) -> WorldRun:
        """All that was taken down."""
        motion = np.stack(self._motion)
        vehicles = {name: motion[:, k] for k, name in enumerate(self._world.vehicles)}
        moved = {name: np.array(places) for name, places in self._moving.items()}
        places = {**self.places, **moved}
        return WorldRun(np.array(self._t), vehicles, places, self._outlines(), tuple(self._events))

    def _outlines(self) -> dict[str, Outline]:
        scene = self._world.scene
        outlines = {
            name: _outline(v.built.geometry.outlines) for name, v in self._world.vehicles.items()
        }
        outlines |= {block.name: block.shape.outline for block in scene.blocks}
        outlines |= {wall.name: wall.outline for wall in scene.walls}
        return outlines | {actor.name: _circle(actor.collision_radius) for actor in scene.actors}


def _outline(parts: tuple[Outline, ...]) -> Outline:
    """Of a vehicle; around all of its parts where it has several."""
    return parts[0] if len(parts) == 1 else hull([corner for part in parts for corner in part])


def _circle(r: float) -> Outline:
    angles = (2.0 * pi * k / CORNERS for k in range(CORNERS))
    return tuple((r * cos(a), r * sin(a)) for a in angles)


VARIABLE = "variable."
NOT_SIMULATED = frozenset(
    ("source", "file", "warnings", "gui", "lights", "visuals", "color", "log_path", "variables")
)
"""Fields of a scene that no motion depends on."""


@dataclass(frozen=True)
class WorldSetup:
    """What the runs of a world have in common."""

    source: str
    """In messages."""
    definition: Any
    """A file, the text of one, a scene or a function that makes a world."""
    variables: Mapping[str, float]
    options: Mapping[str, Any]
    world: World
    """With the usual values, seed 0."""
    digest: str
    """Of its scene."""
    varies: bool
    """Whether the scene itself depends on the seed."""
    settings: Mapping[str, Setting]
    """What factors may set."""
    programs: Mapping[str, str]
    """Digests of the equations of the vehicles."""

    @property
    def grids(self) -> tuple[str, ...]:
        """Names that contacts give occupancy grids."""
        count = sum(isinstance(one, OccupancyGrid) for one in self.world.scene.elements)
        return tuple("grid" if k == 0 else f"grid_{k + 1}" for k in range(count))

    def made(self, values: Mapping[str, float], seed: int) -> World | Scene:
        """The world or scene of a run, before factors are set in the scene."""
        own = {k.removeprefix(VARIABLE): v for k, v in values.items() if k.startswith(VARIABLE)}
        if isinstance(self.definition, Scene) or not (
            own or self.varies or callable(self.definition)
        ):
            return self.world.scene
        return _world_setup_made(self.definition, {**self.variables, **own}, self.options, seed)


def world_setup(
    definition: Any,
    variables: Mapping[str, float],
    options: Mapping[str, Any],
    units: Mapping[str, str],
) -> WorldSetup:
    """The world as it usually is."""
    if isinstance(definition, Scene) and (variables or options):
        raise InvalidValue("variables and options are of a world file; a scene is read already")
    made = _world_setup_made(definition, variables, options, 0)
    world = made if isinstance(made, World) else World(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said just now
        again = (
            definition
            if isinstance(definition, Scene)
            else _world_setup_made(definition, variables, options, 1)
        )
    other = again.scene if isinstance(again, World) else again
    digest = scene_digest(world.scene)
    own = {f"{VARIABLE}{name}": Setting(units.get(name, ""), Allowed()) for name in variables}
    # What is set in the scene has to be set before the world is made of it.
    inside = {} if isinstance(made, World) else settings_of(world)
    return WorldSetup(
        source=_source(definition),
        definition=definition,
        variables=variables,
        options=options,
        world=world,
        digest=digest,
        varies=not isinstance(definition, Scene) and scene_digest(other) != digest,
        settings={**inside, **own},
        programs=_programs(world),
    )


def _world_setup_made(
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


def _programs(world: World) -> dict[str, str]:
    """By vehicle; traced once for each model."""
    known: dict[int, str] = {}
    digests: dict[str, str] = {}
    for name, vehicle in world.vehicles.items():
        model = vehicle.vehicle.model
        if id(model) not in known:
            step = Plant.of(vehicle.vehicle, integrate.get("rk4")).step
            known[id(model)] = lower(step, "float64").digest
        digests[name] = known[id(model)]
    return digests


def scene_digest(scene: Scene) -> str:
    """Of all that a scene says and that counts for motion, wherever its files lie."""
    return "sha256:" + sha256(repr(_told(scene)).encode()).hexdigest()


def _told(value: Any) -> Any:
    if isinstance(value, Vehicle):
        names, values = record.names(value.model.Params), record.flatten(value.params)
        params = plain(dict(zip(names, values, strict=True)))
        return ("Vehicle", value.name, params, plain(value.outlines))
    if is_dataclass(value) and not isinstance(value, type):
        kept = (one.name for one in world_setup_fields(value) if one.name not in NOT_SIMULATED)
        return (type(value).__name__, [(name, _told(getattr(value, name))) for name in kept])
    if isinstance(value, Mapping):
        return [(str(name), _told(part)) for name, part in sorted(value.items())]
    if isinstance(value, (list, tuple)):
        return [_told(part) for part in value]
    return plain(value)


MOST_SETUPS = 16
_SETUPS: Kept[WorldSetup] = Kept(MOST_SETUPS)
"""Worlds as they were read, by the marks of their experiments."""


@dataclass(frozen=True, eq=False)
class WorldRuns(Constant):
    """Runs of a world, each with the seed `random.of_run(seed, run)`."""

    world: str | os.PathLike[str] | Scene | Callable[[Mapping[str, float], int], World | Scene]
    """A world file, the text of one, a scene, or a function of one's own that takes `variables`
    and a seed and gives a world or a scene."""
    duration: float
    """In s, a whole number of steps."""
    _: KW_ONLY
    drive: Any = None
    """What drives; see `world_driving`. None: what the scene says."""
    metrics: Mapping[str, WorldMetric | Callable[..., Any]] = field(
        default_factory=dict[str, WorldMetric]
    )
    """Columns by name: functions of a `WorldRun`, ready ones in `world_metrics`."""
    variables: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a file or text is read with as variables, or a function is handed; the factor
    `variable.NAME` changes one."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How a file or text is read, as of `world.xml.load`."""
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of `variables`, for tables and reports."""
    replayed: str = ""
    """The vehicle whose trajectory a replay gives; the first if empty."""
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
        check_drive(self.drive, setup.world)
        things = (*setup.world.vehicles, *RunLog(setup.world).places, *setup.grids)
        for name, metric in metrics.items():
            for thing in metric.things:
                if thing not in things:
                    where = f"metric {name}"
                    raise InvalidValue(record.unknown_name(where, thing, things, "thing"))
        self.identity()

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a WorldRuns", self, "take functions from a module")

    def _setup(self) -> WorldSetup:
        """The world as it is read, once for all chunks of this process."""
        return _SETUPS.get(None, self._mark, self._read)

    def _read(self) -> WorldSetup:
        setup = world_setup(self.world, self.variables, self.options, self.units)
        if self._scene not in ("", setup.digest):
            raise InvalidValue(f"{setup.source} is not what it was when the campaign began")
        return setup

    @property
    def block(self) -> int:
        """Each run is a world of its own."""
        return 1

    @property
    def threaded(self) -> bool:
        """A world steps on one processor."""
        return False

    def factor_units(self) -> dict[str, str]:
        """Names that a factor may have, with units."""
        return {name: setting.unit for name, setting in self._setup().settings.items()}

    def columns(self) -> tuple[Column, ...]:
        """The metrics."""
        return tuple(metric.column(name) for name, metric in self._metrics.items())

    @property
    def _metrics(self) -> dict[str, WorldMetric]:
        made: Any = self.metrics
        return made

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for ends that cannot be meant: the worlds of all lower and of all upper ends must
        be there, and make a first step."""
        settings = self._setup().settings
        for name, pair in ends.items():
            for end in pair:
                must_be(f"factor {name}", end, settings[name].allowed, settings[name].unit)
        for side in (0, 1):
            values = {name: np.array([pair[side]]) for name, pair in ends.items()}
            start = self._start(Rows(np.zeros(1, dtype=np.int64), values, 0))
            for _ in start.steps(1):
                pass

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each; of runs that failed numbers are NaN and nothing is
        true."""
        self._setup()  # what is wrong with it is wrong with every run
        count, metrics = len(rows.runs), self._metrics
        out: dict[str, AnyArray] = {
            name: np.zeros(count, dtype=bool) if one.kind == "truth" else np.full(count, np.nan)
            for name, one in metrics.items()
        }
        failed = np.zeros(count, dtype=bool)
        for k in range(count):
            try:
                log = self.logged(rows.part(slice(k, k + 1)))
                values = {name: metric(log) for name, metric in metrics.items()}
            except FAILURES:
                failed[k] = True
                continue
            for name, value in values.items():
                out[name][k] = value
        return {**out, FAILED: failed}

    def logged(self, rows: Rows) -> WorldRun:
        """The one run of `rows` as metrics see it."""
        start = self._start(rows)
        log = RunLog(start.world)
        for _ in start.steps(steps_in(self.duration, start.world.dt)):
            log.sample()
        return log.run()

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows`: states and inputs of one vehicle, as far as they go."""
        return self._replayed(rows, None)

    def record(self, rows: Rows, path: str | os.PathLike[str], rate: float | None = 30.0) -> None:
        """Write the one run of `rows` to an MCAP file, everything of the world in it, with so many
        samples per second; None for every step."""
        from ..view.recording.world_recorder import WorldRecorder

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
                # The input that led here is that of the sample before.
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
        """The scene with all that its files say, the vehicles' Programs, drive and metrics."""
        setup = self._setup()
        made = not isinstance(self.world, (str, os.PathLike, Scene))
        return {
            "kind": "world",
            "scene": setup.digest,
            "function": function_identity("world", self.world) if made else None,
            "programs": dict(setup.programs),
            "variables": dict(self.variables),
            "dt": setup.world.dt,
            "duration": self.duration,
            "drive": drive_identity(self.drive),
            "metrics": {name: metric.identity() for name, metric in self._metrics.items()},
        }

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it only has other metrics beside those before."""
        return only_adds(self.identity(), before, "metrics")

    def _start(self, rows: Rows) -> _WorldRunsStart:
        """The one run of `rows`, at its beginning."""
        values = {name: float(column[0]) for name, column in rows.factors.items()}
        seed = of_run(rows.seed, int(rows.runs[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said once, when this was made
            made = self._setup().made(values, seed)
            if isinstance(made, World):
                made.on_diverge = "raise"
                return _WorldRunsStart(made, pilots(self.drive, made))
            world = World(changed_scene(made, values), seed=seed, on_diverge="raise")
        acting = pilots(self.drive, world)
        for name, fields in commanded(made, values).items():
            world.vehicles[name].command(fields)
        return _WorldRunsStart(world, acting)


class _WorldRunsStart(NamedTuple):
    """A run that is about to begin."""

    world: World
    pilots: Sequence[Callable[[float], None]]

    def steps(self, count: int) -> Iterator[None]:
        """Make steps, and stop after each."""
        for _ in range(count):
            for act in self.pilots:
                act(self.world.time)
            self.world.step()
            yield
