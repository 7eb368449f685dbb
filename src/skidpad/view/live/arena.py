"""A world with pilots: everything that drivers can do to it, without clock and network.

An `Arena` is a world, a `Pilot` for each vehicle (keys, what its file says, or a follower of a
line), parameters that can be changed while it runs, and obstacles that are dropped into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import atan, ceil, cos, dist, hypot, isfinite, pi, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...control.car import Abilities, abilities_of
from ...control.keyboard import Axes, Memory, demand_of_keys, demand_to_stop
from ...control.pure_pursuit import arc
from ...control.speed import Course, Grip
from ...core import record
from ...core.body import Demand, Outline, Pose, Velocity
from ...core.record import unknown_name
from ...errors import InvalidValue, SimulationDiverged, SkidpadError
from ...geometry.line import Line, lengths, vertices
from ...geometry.pose import to_body
from ...units import Allowed, m, one, s
from ...world.motion.groups import Group
from ...world.scene import BlockSpec, Scene, Shape, TimedPath
from ...world.scene import Pose as ScenePose
from ...world.vehicle import Route, WorldVehicle
from ...world.world import World
from ..stage import Line as GroundLine
from ..stage import Ranges, Stage
from ..stages import WorldStage

MOST = 200
"""Dropped into one world."""
CONE_RADIUS: m = 0.15
BOX_SIDE: m = 0.8
_CLEAR: m = 0.1
"""Least distance of what is dropped from what is there."""


def cone(name: str, x: m, y: m, colour: str = "#ff7f0e") -> BlockSpec:
    """A traffic cone: light, and easily pushed over the ground."""
    corners = [k * pi / 3.0 for k in range(6)]
    outline = tuple((CONE_RADIUS * cos(a), CONE_RADIUS * sin(a)) for a in corners)
    return BlockSpec(
        name,
        ScenePose(x, y),
        Shape(outline, (outline,), 0.0, 0.35),
        mass=1.5,
        ground_friction=0.6,
        restitution=0.1,
        color=colour,
    )


def box(name: str, x: m, y: m, yaw: float = 0.0, colour: str = "#b5803f") -> BlockSpec:
    """A box: something to push."""
    half = 0.5 * BOX_SIDE
    outline: Outline = ((-half, -half), (half, -half), (half, half), (-half, half))
    return BlockSpec(
        name,
        ScenePose(x, y, yaw=yaw),
        Shape(outline, (outline,), 0.0, BOX_SIDE),
        mass=12.0,
        ground_friction=0.5,
        color=colour,
    )


_KINDS = {"cone": cone, "box": box}


def obstacle(world: World, kind: str, x: m, y: m, count: int) -> BlockSpec:
    """An obstacle at a place where there is nothing, as number `count` of those dropped."""
    if kind not in _KINDS:
        raise InvalidValue(unknown_name("the protocol", kind[:40], list(_KINDS), "obstacle"))
    if count >= MOST:
        raise InvalidValue(f"there are {count} dropped obstacles already; reset clears them")
    taken = {one.name for one in (*world.scene.vehicles, *world.scene.blocks, *world.scene.actors)}
    number = next(n for n in range(1, len(taken) + 2) if f"{kind} {n}" not in taken)
    block = _KINDS[kind](f"{kind} {number}", x, y)
    _check_clear(world, block)
    return block


def _check_clear(world: World, block: BlockSpec) -> None:
    """Raise if the block would stand in a vehicle or in another block that can be pushed."""
    own, x, y = block.shape.radius + _CLEAR, block.pose.x, block.pose.y
    for name, vehicle in world.vehicles.items():
        at = vehicle.truth
        if hypot(at.x - x, at.y - y) < own + vehicle.built.radius:
            raise InvalidValue(f"too near to {name} to drop something there")
    blocks = {one.name: one for one in world.scene.blocks}
    for name in world.movable:
        at = world.block(name)
        other = blocks[name].shape.radius if name in blocks else 0.5
        if hypot(at.x - x, at.y - y) < own + other:
            raise InvalidValue(f"too near to {name} to drop something there")


def with_blocks(world: World, blocks: Sequence[BlockSpec]) -> World:
    """A world with more blocks that continues from the state of another one, with its
    parameters."""
    scene: Scene = replace(world.scene, blocks=(*world.scene.blocks, *blocks))
    grown = World(scene, seed=world.seed, on_diverge=world.on_diverge)
    # What is new stands as at its start, all else as it was.
    kept = world.snapshot()
    bodies, *contacts = kept.encounters
    bodies = {**grown.snapshot().encounters[0], **bodies}
    grown.restore(kept._replace(encounters=(bodies, *contacts)))
    for mine, before in zip(grown.groups, world.groups, strict=True):
        mine.params[:] = before.params
    return grown


_SHARE: one = 0.5
"""Share of what tyres and brakes hold."""
_AHEAD: s = 0.45
"""How far ahead the point is that is steered for, in time."""
_SETTLING: s = 0.4
"""Time constant in which the speed approaches that of the line."""
_SPACING: m = 0.5
_REACH: m = 10.0
"""The nearest point is looked for so far about the last one."""
_CLOSED: one = 1.0
"""Distance of the ends below which a line is a loop, as a multiple of its longest piece."""


class LineFollower:
    """Follows one line with one vehicle.

    Args:
        line: points (n, 2) in the world, in m; a loop if its ends are near each other.
        can: what the vehicle can do.
    """

    def __init__(self, line: ArrayLike, can: Abilities) -> None:
        self._can = can
        points = vertices(line, "line")
        gap = dist(points[0], points[-1])
        closed = len(points) > 2 and gap <= _CLOSED * float(lengths(points).max())
        if closed and gap == 0.0:
            points = points[:-1]
        even = Line.through(points, closed=closed).resampled(_SPACING)
        grip = Grip(
            _SHARE * can.a_turn, _SHARE * can.a_drive, _SHARE * can.a_brake, 0.9 * can.v_max
        )
        self._course = Course.fastest(even.vertices, grip, closed=closed, v_end=0.0)
        self._progress: m | None = None

    def demand(self, pose: Pose, now: Velocity) -> Demand:
        """Demand that leads along the line from where the vehicle is."""
        can, line = self._can, self._course.line
        here = self._progress = self._nearest(pose)
        ahead = line.at(here + max(_AHEAD * now.v_x, can.wheel_base, 2.0 * _SPACING))
        curvature = arc(*to_body(pose, ahead.x, ahead.y), 1e-3)
        v = self._course.at(here).v
        a = (v - now.v_x) / _SETTLING
        a = min(max(a, -_SHARE * can.a_brake), _SHARE * can.a_drive)
        steer = min(max(atan(can.wheel_base * curvature), -can.steer_max), can.steer_max)
        # On the spot too: a vehicle across the line has to turn before it can go along it.
        omega = max(now.v_x, 0.2 * can.omega_max * can.wheel_base) * curvature
        return Demand(steer, a, v, min(max(omega, -can.omega_max), can.omega_max))

    def _nearest(self, pose: Pose) -> m:
        """Distance along the line to the nearest point: of all at first, then about the last."""
        line, last = self._course.line, self._progress
        if last is None:
            return float(line.project(np.array([[pose.x, pose.y]])).s[0])
        return line.nearest_vertex(pose.x, pose.y, last - _REACH, last + _REACH)


KEYBOARD, FILE, PATH = "keyboard", "file", "path"


class Pilot:
    """Drives one vehicle of a world.

    Args:
        vehicle: the vehicle to drive.
        path: the path with times that the world file gives for it, or None.
        lines: lines on the ground; it can follow reference and centre lines.
    """

    def __init__(
        self, vehicle: WorldVehicle, path: TimedPath | None, lines: Sequence[GroundLine]
    ) -> None:
        self._vehicle, self._dt = vehicle, vehicle.bodies.group.dt
        self._kind = vehicle.vehicle
        self._can = abilities_of(self._kind)
        self._route = None if path is None else Route(path)
        self._lines = [line for line in lines if line.kind in ("reference", "centre")]
        self._follower: LineFollower | None = None
        self._axes: Axes | None = None
        self._memory = Memory()
        self.controller = FILE
        """Name of what drives it now."""

    @property
    def controllers(self) -> list[str]:
        """Names of the controllers that it may have."""
        return [KEYBOARD, FILE, PATH] if self._lines else [KEYBOARD, FILE]

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Names, units and limits of its inputs, for the hello message."""
        ranges, described = self._kind.limits.inputs, list[dict[str, Any]]()
        for leaf in record.fields(self._kind.Input):
            allowed = leaf.allowed or Allowed()
            low, high = ranges.get(leaf.name, (allowed.low, allowed.high))
            ends = {"low": _finite(low), "high": _finite(high)}
            described.append({"name": leaf.name, "unit": leaf.unit.symbol, **ends})
        return described

    def choose(self, controller: str) -> None:
        """Let another controller drive from now on."""
        if controller not in self.controllers:
            known = self.controllers
            name = self._vehicle.name
            raise InvalidValue(record.unknown_name(name, controller[:40], known, "controller"))
        if controller == self.controller:
            return
        self.controller, self._axes = controller, None
        self._memory = Memory(v=self._vehicle.truth.v_x)
        if controller == FILE:
            start = self._vehicle.built.set_point
            self._vehicle.command(record.build(self._kind.Input, start or None))
        if controller == PATH:
            self._follower = LineFollower(self._nearest_line().points, self._can)

    def drive(self, axes: Axes) -> None:
        """Hold keys, which makes the keyboard the controller."""
        if self.controller != KEYBOARD:
            # Letting go of keys in one vehicle is no reason to take another from its controller.
            if axes == Axes():
                return
            self.choose(KEYBOARD)
        self._axes = axes

    def let_go(self) -> None:
        """Let the keys go: a vehicle that they drove stops."""
        self._axes = None

    def go_on_from(self, before: Pilot) -> None:
        """Drive as another pilot did, in a world that has taken the place of theirs."""
        self.controller, self._follower = before.controller, before._follower
        self._axes, self._memory = before._axes, before._memory

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do before a step."""
        return self.controller == FILE and self._route is None

    def command(self, time: s) -> None:
        """Give the vehicle its inputs for the step that begins at a time."""
        pose, now = self._vehicle.bodies.motion(self._vehicle.row)
        if self.controller == PATH and self._follower is not None:
            demand = self._follower.demand(pose, now)
        elif self.controller == KEYBOARD and self._axes is not None:
            demand, self._memory = demand_of_keys(
                self._axes, self._memory, now, self._can, self._dt
            )
        elif self.controller == KEYBOARD:
            demand, self._memory = demand_to_stop(self._memory, now, self._can, self._dt)
        elif self._route is not None:
            demand = self._route.demand(time, pose, now, self._can.wheel_base)
        else:
            return
        # With the parameters of the start: a heavier car is driven alike, and slower for it.
        command = self._kind.body.command(self._vehicle.state, demand, self._kind.params)
        self._vehicle.bodies.group.inputs[self._vehicle.row] = record.flatten(command)

    def _nearest_line(self) -> GroundLine:
        x, y, *_ = self._vehicle.truth
        return min(self._lines, key=lambda line: min(hypot(a - x, b - y) for a, b in line.points))


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


class _Known(NamedTuple):
    label: str
    low: one
    """Smallest value, as a multiple of the one the vehicle starts with."""
    high: one


_KNOWN: dict[str, _Known] = {
    "m": _Known("mass", 0.5, 3.0),
    "body.chassis_mass": _Known("mass", 0.5, 3.0),
    "tyre.D": _Known("friction", 0.1, 1.5),
    "tyres.tyre.lateral.D": _Known("friction across", 0.1, 1.5),
    "tyres.tyre.longitudinal.D": _Known("friction along", 0.1, 1.5),
    "tyres.tyre.lateral.mu": _Known("friction across", 0.1, 1.5),
    "tyres.tyre.longitudinal.mu": _Known("friction along", 0.1, 1.5),
    "friction.mu": _Known("friction", 0.1, 1.5),
    "tyre.B": _Known("tyre stiffness", 0.2, 2.0),
    "friction.C_alpha": _Known("tyre stiffness across", 0.2, 2.0),
    "friction.C_s": _Known("tyre stiffness along", 0.2, 2.0),
    "C_f": _Known("front tyre stiffness", 0.2, 2.0),
    "C_r": _Known("rear tyre stiffness", 0.2, 2.0),
    "I_z": _Known("yaw inertia", 0.5, 3.0),
    "body.I_z": _Known("yaw inertia", 0.5, 3.0),
    "z_cg": _Known("height of the centre of mass", 0.0, 2.0),
    "body.com_z": _Known("height of the centre of mass", 0.0, 2.0),
    "C_down": _Known("downforce", 0.0, 3.0),
    "C_r0": _Known("driving resistance", 0.0, 3.0),
    "friction.C_rr": _Known("rolling resistance", 0.0, 5.0),
    "t_steer": _Known("steering lag", 0.25, 10.0),
    "acc_time_constant": _Known("lag of the drive", 0.25, 10.0),
    "vel_time_constant": _Known("lag of the drive", 0.25, 10.0),
    "steer_time_constant": _Known("steering lag", 0.25, 10.0),
}
"""By dotted name; the order is that of the list shown. Dead times are not among them: the queue of
commands has its length from the start."""


class Tunable(NamedTuple):
    """A parameter that can be changed."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    column: int
    """Column of the parameters of its group."""

    def describe(self, value: float) -> dict[str, Any]:
        """For the hello message."""
        return {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "value": value,
            "low": self.low,
            "high": self.high,
        }


def tunables_of(group: Group, row: int) -> dict[str, Tunable]:
    """Tunable parameters, by name, of a vehicle that still has the parameters it starts with."""
    return known_tunables(group.model.Params, group.params[row].tolist())


def known_tunables(Params: type, values: Sequence[float]) -> dict[str, Tunable]:
    """Tunable parameters, by name, of a vehicle that starts with these values."""
    leaves = {leaf.name: k for k, leaf in enumerate(record.fields(Params))}
    tunables: dict[str, Tunable] = {}
    for name, known in _KNOWN.items():
        if name not in leaves:
            continue
        column = leaves[name]
        value = float(values[column])
        if value > 0.0:
            leaf = record.fields(Params)[column]
            allowed = leaf.allowed or Allowed()
            low, high = max(known.low * value, allowed.low), min(known.high * value, allowed.high)
            tunables[name] = Tunable(name, known.label, leaf.unit.symbol, low, high, column)
    return tunables


def tune(group: Group, row: int, known: dict[str, Tunable], name: str, value: float) -> None:
    """Change a parameter; it acts from the next step on."""
    if name not in known:
        raise InvalidValue(
            record.unknown_name(group.names[row], name[:40], list(known), "parameter")
        )
    one = known[name]
    if not one.low <= value <= one.high:
        shown = f"{value:g} {one.unit}".removesuffix(" 1")
        raise InvalidValue(f"{name} = {shown} must be from {one.low:g} to {one.high:g}")
    group.params[row, one.column] = value


_LONGEST_WARM_UP: s = 0.5


class Arena:
    """A running world, its pilots and what there is to see of it.

    Args:
        scene: what there is at the start.
        seed: of all random numbers.
        lines: on the ground, to be shown and followed.
        starts: controllers of some vehicles at the start, by name.
        title: of what is shown.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        seed: int = 0,
        lines: Sequence[GroundLine] = (),
        starts: dict[str, str] | None = None,
        title: str = "",
    ) -> None:
        self._paths = {spec.name: spec.path for spec in scene.vehicles}
        # The pilots follow paths: a world would do so whatever else drives.
        self._scene = replace(scene, vehicles=tuple(replace(v, path=None) for v in scene.vehicles))
        self._lines, self._title, self._seed = tuple(lines), title, seed
        self._starts = starts or {}
        self._drops: list[BlockSpec] = []
        self._begin(_start_world(self._scene, seed))
        self._warm_up()

    def _begin(self, world: World) -> None:
        self._show(world)
        self._tunables: dict[str, dict[str, Tunable]] = {
            name: tunables_of(vehicle.bodies.group, vehicle.row)
            for name, vehicle in world.vehicles.items()
        }
        self._pilots = self._new_pilots()
        for name, controller in self._starts.items():
            self._pilots[name].choose(controller)
        self._told_stopped: set[str] = set()

    def _warm_up(self) -> None:
        """Let everything be compiled that the first steps need, and return to the start."""
        world, start = self.world, self.world.snapshot()
        sensors = [one for spec in self._scene.vehicles for one in spec.sensors]
        longest = min(max((one.period for one in sensors), default=0.0), _LONGEST_WARM_UP)
        # A world that cannot run says so when it does.
        with suppress(SkidpadError):
            for _ in range(ceil(longest / world.dt) + 2):
                world.step()
            self.row()
        world.restore(start)

    def _show(self, world: World) -> None:
        """Take a world as the one that runs."""
        self.world = world
        """The world as it is now; another one after obstacles came or went."""
        self.view = WorldStage(world, self._title, self._lines)
        """Its numbers."""
        self.stage: Stage = self.view.stage
        """The stage of the world."""

    def _new_pilots(self) -> dict[str, Pilot]:
        return {
            name: Pilot(vehicle, self._paths[name], self._lines)
            for name, vehicle in self.world.vehicles.items()
        }

    @property
    def vehicles(self) -> list[dict[str, Any]]:
        """The vehicles for the hello message; those that can be driven first."""
        entries: list[dict[str, Any]] = []
        for name, pilot in self._pilots.items():
            handle = self.world.vehicles[name]
            row = handle.bodies.group.params[handle.row]
            entries.append(
                {
                    "name": name,
                    "controller": pilot.controller,
                    "controllers": pilot.controllers,
                    "inputs": pilot.inputs,
                    "params": [
                        t.describe(float(row[t.column])) for t in self._tunables[name].values()
                    ],
                }
            )
        # Driven by keys, then drivable, then the rest, each as in the world.
        return sorted(
            entries,
            key=lambda one: (one["controller"] != KEYBOARD, KEYBOARD not in one["controllers"]),
        )

    def step(self) -> None:
        """Let the pilots act and advance by one step."""
        for pilot in self._pilots.values():
            if not pilot.idle:
                pilot.command(self.world.time)
        self.world.step()

    def drive(self, vehicle: str, axes: Axes) -> bool:
        """Hold the keys of a vehicle, and of no other; whether its controller changed."""
        mine = self._pilot(vehicle)
        before = mine.controller
        mine.drive(axes)
        for pilot in self._pilots.values():
            if pilot is not mine:
                pilot.let_go()
        return mine.controller != before

    def let_go(self) -> None:
        """Let the keys of all vehicles go."""
        for pilot in self._pilots.values():
            pilot.let_go()

    def choose(self, vehicle: str, controller: str) -> None:
        """Let a controller drive a vehicle."""
        self._pilot(vehicle).choose(controller)

    def tune(self, vehicle: str, name: str, value: float) -> None:
        """Change a parameter of a vehicle."""
        self._pilot(vehicle)
        handle = self.world.vehicles[vehicle]
        tune(handle.bodies.group, handle.row, self._tunables[vehicle], name, value)

    def drop(self, kind: str, x: m, y: m) -> None:
        """Put an obstacle into the world; the stage is another one afterwards."""
        block = obstacle(self.world, kind, x, y, len(self._drops))
        world = with_blocks(self.world, [block])
        self._drops.append(block)
        before = self._pilots
        self._show(world)
        self._pilots = self._new_pilots()
        for name, pilot in self._pilots.items():
            pilot.go_on_from(before[name])

    def reset(self) -> bool:
        """Start again without what was dropped; whether the stage is another one."""
        changed = bool(self._drops)
        self._drops.clear()
        self._begin(_start_world(self._scene, self._seed))
        return changed

    def diagnosis(self, error: Exception) -> str | None:
        """Which vehicles diverged, if that is what the error is about."""
        if not isinstance(error, SimulationDiverged):
            return None
        names = [
            group.names[row]
            for group in self.world.groups
            if isinstance(error.last_state, group.model.State)
            for row in error.vehicles
            if row < len(group.names)
        ]
        return f"The state of {', '.join(names) or 'a vehicle'} is no longer finite."

    def stopped(self) -> Iterator[str]:
        """Sentences about vehicles that were stopped since the last call; the others continue."""
        stopped = self.world.stopped
        for name in stopped.keys() - self._told_stopped:
            time, reason = stopped[name]
            yield f"{name} was stopped at t = {time:.2f} s: {reason}. Reset to start again."
        self._told_stopped = set(stopped)

    def scans(self) -> list[tuple[Ranges, bool]]:
        """The latest scan of each lidar that has one, and whether it is new since the last call."""
        return self.view.scans_now()

    def row(self) -> NDArray[np.float64]:
        """The numbers of this moment, by the channels of the stage."""
        return self.view.row()

    def _pilot(self, vehicle: str) -> Pilot:
        if vehicle not in self._pilots:
            known = list(self._pilots)
            raise InvalidValue(unknown_name("the world", vehicle[:40], known, "vehicle"))
        return self._pilots[vehicle]


def _start_world(scene: Scene, seed: int) -> World:
    """A world in which a vehicle that diverges is stopped alone, if there are others."""
    alone = len(scene.vehicles) == 1
    return World(scene, seed=seed, on_diverge="raise" if alone else "stop")
