"""Arena: a world with pilots and everything drivers can do to it, without clock and network.

An `Arena` is a world, a `Pilot` for each vehicle (keys, the controller of its file, or a line
follower), parameters that can be changed during the run, and obstacles dropped into the world.
`playground` is the default world of `skidpad serve`: a track of cones and objects to run into.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import atan, atan2, ceil, cos, dist, hypot, isfinite, pi, sin
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
from ...geometry.line import Line, lengths, smooth_loop, vertices
from ...geometry.polygon import rectangle
from ...geometry.pose import to_body
from ...units import Allowed, m, one, rad, s
from ...world.scene import (
    BlockSpec,
    Laser,
    OwnDynamics,
    PropertyRegion,
    Scene,
    Settings,
    Shape,
    TimedPath,
    VehicleSpec,
    WallSpec,
)
from ...world.scene import Pose as ScenePose
from ...world.vehicle import Route, WorldVehicle
from ...world.world import World
from ..stage import Line as GroundLine
from ..stage import Ranges, Stage, as_points, shape_of
from ..stages import WorldStage

MOST = 200
"""Most obstacles dropped into one world."""
CONE_RADIUS: m = 0.15
BOX_SIDE: m = 0.8
_CLEAR: m = 0.1
"""Least distance of a dropped obstacle from everything else."""


def cone(name: str, x: m, y: m, colour: str = "#ff7f0e") -> BlockSpec:
    """Traffic cone: light, and easily pushed over the ground."""
    corners = [k * pi / 3.0 for k in range(6)]
    outline = tuple((CONE_RADIUS * cos(a), CONE_RADIUS * sin(a)) for a in corners)
    shape = Shape(outline, (outline,), 0.0, 0.35)
    touch: Any = {"ground_friction": 0.6, "restitution": 0.1}
    return BlockSpec(name, ScenePose(x, y), shape, mass=1.5, **touch, color=colour)


def box(name: str, x: m, y: m, yaw: float = 0.0, colour: str = "#b5803f") -> BlockSpec:
    """Box that can be pushed."""
    half = 0.5 * BOX_SIDE
    outline = rectangle(-half, half, -half, half)
    shape, at = Shape(outline, (outline,), 0.0, BOX_SIDE), ScenePose(x, y, yaw=yaw)
    return BlockSpec(name, at, shape, mass=12.0, ground_friction=0.5, color=colour)


_KINDS = {"cone": cone, "box": box}


def obstacle(world: World, kind: str, x: m, y: m, count: int) -> BlockSpec:
    """Obstacle at a free place; `count` numbers the dropped obstacles."""
    if kind not in _KINDS:
        raise InvalidValue(unknown_name("the protocol", kind[:40], list(_KINDS), "obstacle"))
    if count >= MOST:
        raise InvalidValue(f"there are {count} dropped obstacles already; reset clears them")
    taken = {one.name for one in (*world.scene.vehicles, *world.scene.blocks, *world.scene.actors)}
    number = next(n for n in range(1, len(taken) + 2) if f"{kind} {n}" not in taken)
    block = _KINDS[kind](f"{kind} {number}", x, y)
    radii = {one.name: one.shape.radius for one in world.scene.blocks}
    others = [
        *((name, one.truth, one.built.radius) for name, one in world.vehicles.items()),
        *((name, world.block(name), radii.get(name, 0.5)) for name in world.movable),
    ]
    for name, at, radius in others:
        if hypot(at.x - x, at.y - y) < block.shape.radius + _CLEAR + radius:
            raise InvalidValue(f"too near to {name} to drop something there")
    return block


_SHARE: one = 0.5
"""Share of the available grip and braking that is used."""
_AHEAD: s = 0.45
"""Preview time of the point steered for."""
_SETTLING: s = 0.4
"""Time constant of the approach to the line's speed."""
_SPACING: m = 0.5
_REACH: m = 10.0
"""Half length of the search for the nearest point, about the previous one."""
_CLOSED: one = 1.0
"""Gap between the ends below which a line is a loop, as a multiple of its longest segment."""


class LineFollower:
    """Path follower for one vehicle on one line.

    Args:
        line: points (n, 2) in the world, in m; a loop if its ends are near each other.
        can: capabilities of the vehicle.
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
        """Demand that follows the line from the pose of the vehicle."""
        can, line = self._can, self._course.line
        here = self._progress = self._nearest(pose)
        ahead = line.at(here + max(_AHEAD * now.v_x, can.wheel_base, 2.0 * _SPACING))
        curvature = arc(*to_body(pose, ahead.x, ahead.y), 1e-3)
        v = self._course.at(here).v
        a = (v - now.v_x) / _SETTLING
        a = min(max(a, -_SHARE * can.a_brake), _SHARE * can.a_drive)
        steer = min(max(atan(can.wheel_base * curvature), -can.steer_max), can.steer_max)
        # Also for vehicles that turn on the spot: a vehicle across the line has to turn before it
        # can go along it.
        omega = max(now.v_x, 0.2 * can.omega_max * can.wheel_base) * curvature
        return Demand(steer, a, v, min(max(omega, -can.omega_max), can.omega_max))

    def _nearest(self, pose: Pose) -> m:
        """Distance along the line to the nearest point: a global search first, then about the last
        one."""
        line, last = self._course.line, self._progress
        if last is None:
            return float(line.project(np.array([[pose.x, pose.y]])).s[0])
        return line.nearest_vertex(pose.x, pose.y, last - _REACH, last + _REACH)


KEYBOARD, FILE, PATH = "keyboard", "file", "path"


class Pilot:
    """Driver of one vehicle of a world.

    Args:
        vehicle: the vehicle to drive.
        path: the timed path that the world file gives for it, or None.
        lines: lines on the ground; the pilot can follow reference and centre lines.
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

    @property
    def controllers(self) -> list[str]:
        return [KEYBOARD, FILE, PATH] if self._lines else [KEYBOARD, FILE]

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Names, units and limits of the vehicle's inputs, for the hello message."""
        ranges, described = self._kind.limits.inputs, list[dict[str, Any]]()
        for leaf in record.fields(self._kind.Input):
            allowed = leaf.allowed or Allowed()
            low, high = ranges.get(leaf.name, (allowed.low, allowed.high))
            ends = {"low": _finite(low), "high": _finite(high)}
            described.append({"name": leaf.name, "unit": leaf.unit.symbol, **ends})
        return described

    def choose(self, controller: str) -> None:
        if controller not in self.controllers:
            known = self.controllers
            name = self._vehicle.name
            raise InvalidValue(unknown_name(name, controller[:40], known, "controller"))
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
        """Apply key positions, and make the keyboard the controller."""
        if self.controller != KEYBOARD:
            # Released keys do not take control of a vehicle away from its controller.
            if axes == Axes():
                return
            self.choose(KEYBOARD)
        self._axes = axes

    def let_go(self) -> None:
        """Release the keys: a vehicle under keyboard control stops."""
        self._axes = None

    def go_on_from(self, before: Pilot) -> None:
        """Take over the state of the pilot of the same vehicle in the world that is replaced."""
        self.controller, self._follower = before.controller, before._follower
        self._axes, self._memory = before._axes, before._memory

    @property
    def idle(self) -> bool:
        """Whether no command is needed before a step."""
        return self.controller == FILE and self._route is None

    def command(self, time: s) -> None:
        """Set the vehicle's inputs for the step that begins at `time`."""
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
        # Use the initial parameters: a heavier car gets the same inputs and is slower.
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
    """Least value, as a multiple of the initial one."""
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
"""Tunable parameters by dotted name, in display order. Dead times are excluded: the length of
the command queue is fixed at the start."""


class Tunable(NamedTuple):
    """A parameter that can be changed during the run."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    column: int
    """Column in the parameters of its group."""

    def describe(self, value: float) -> dict[str, Any]:
        """Description with its current value, for the hello message."""
        names = {"name": self.name, "label": self.label, "unit": self.unit}
        return {**names, "value": value, "low": self.low, "high": self.high}


def known_tunables(Params: type, values: Sequence[float]) -> dict[str, Tunable]:
    """Tunable parameters, by name, of a vehicle with these initial values."""
    leaves = {leaf.name: k for k, leaf in enumerate(record.fields(Params))}
    tunables: dict[str, Tunable] = {}
    for name, known in _KNOWN.items():
        column = leaves.get(name)
        if column is not None and (value := float(values[column])) > 0.0:
            leaf = record.fields(Params)[column]
            allowed = leaf.allowed or Allowed()
            low, high = max(known.low * value, allowed.low), min(known.high * value, allowed.high)
            tunables[name] = Tunable(name, known.label, leaf.unit.symbol, low, high, column)
    return tunables


_LONGEST_WARM_UP: s = 0.5


class Arena:
    """A running world with its pilots and its stage.

    Args:
        scene: the scene at the start.
        seed: seed of all random numbers.
        lines: lines on the ground, to be shown and followed.
        starts: initial controllers of some vehicles, by vehicle name.
        title: title of the view.
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
        # The pilots follow the paths; the world would follow them under any other controller, too.
        self._scene = replace(scene, vehicles=tuple(replace(v, path=None) for v in scene.vehicles))
        self._lines, self._title, self._seed = tuple(lines), title, seed
        self._starts = starts or {}
        self._drops: list[BlockSpec] = []
        self._begin(_start_world(self._scene, seed))
        self._warm_up()

    def _begin(self, world: World) -> None:
        self._show(world)
        self._tunables: dict[str, dict[str, Tunable]] = {
            name: known_tunables(one.model.Params, one.params[vehicle.row].tolist())
            for name, vehicle in world.vehicles.items()
            for one in [vehicle.bodies.group]
        }
        self._pilots = self._new_pilots()
        for name, controller in self._starts.items():
            self._pilots[name].choose(controller)
        self._told_stopped: set[str] = set()

    def _warm_up(self) -> None:
        """Compile everything that the first steps need, then return to the start."""
        world, start = self.world, self.world.snapshot()
        sensors = [one for spec in self._scene.vehicles for one in spec.sensors]
        longest = min(max((one.period for one in sensors), default=0.0), _LONGEST_WARM_UP)
        # A world that cannot run reports its error at the first real step.
        with suppress(SkidpadError):
            for _ in range(ceil(longest / world.dt) + 2):
                world.step()
            self.row()
        world.restore(start)

    def _show(self, world: World) -> None:
        """Make a world the current one."""
        self.world = world
        """The current world; replaced when obstacles are added or removed."""
        self.view = WorldStage(world, self._title, self._lines)
        """Source of the channel values of the stage."""
        self.stage: Stage = self.view.stage

    def _new_pilots(self) -> dict[str, Pilot]:
        vehicles = self.world.vehicles.items()
        return {name: Pilot(one, self._paths[name], self._lines) for name, one in vehicles}

    @property
    def vehicles(self) -> list[dict[str, Any]]:
        """Descriptions of the vehicles for the hello message, drivable ones first."""
        entries: list[dict[str, Any]] = []
        for name, pilot in self._pilots.items():
            handle = self.world.vehicles[name]
            row, tunables = handle.bodies.group.params[handle.row], self._tunables[name].values()
            params = [one.describe(float(row[one.column])) for one in tunables]
            driver = {"controller": pilot.controller, "controllers": pilot.controllers}
            entries.append({"name": name, **driver, "inputs": pilot.inputs, "params": params})
        # First the vehicle driven by keys, then the drivable ones, then the rest, each group in the
        # order of the world.
        return sorted(
            entries,
            key=lambda one: (one["controller"] != KEYBOARD, KEYBOARD not in one["controllers"]),
        )

    def step(self) -> None:
        for pilot in self._pilots.values():
            if not pilot.idle:
                pilot.command(self.world.time)
        self.world.step()

    def drive(self, vehicle: str, axes: Axes) -> bool:
        """Apply the keys to a vehicle and release all others; returns whether its controller
        changed."""
        mine = self._pilot(vehicle)
        before = mine.controller
        mine.drive(axes)
        for pilot in self._pilots.values():
            if pilot is not mine:
                pilot.let_go()
        return mine.controller != before

    def let_go(self) -> None:
        for pilot in self._pilots.values():
            pilot.let_go()

    def choose(self, vehicle: str, controller: str) -> None:
        self._pilot(vehicle).choose(controller)

    def tune(self, vehicle: str, name: str, value: float) -> None:
        """Change a parameter, with effect from the next step."""
        self._pilot(vehicle)
        handle, known = self.world.vehicles[vehicle], self._tunables[vehicle]
        if name not in known:
            raise InvalidValue(unknown_name(vehicle, name[:40], list(known), "parameter"))
        one = known[name]
        if not one.low <= value <= one.high:
            shown = f"{value:g} {one.unit}".removesuffix(" 1")
            raise InvalidValue(f"{name} = {shown} must be from {one.low:g} to {one.high:g}")
        handle.bodies.group.params[handle.row, one.column] = value

    def drop(self, kind: str, x: m, y: m) -> None:
        """Drop an obstacle into the world, which replaces the stage."""
        block = obstacle(self.world, kind, x, y, len(self._drops))
        old = self.world
        scene = replace(old.scene, blocks=(*old.scene.blocks, block))
        world = World(scene, seed=old.seed, on_diverge=old.on_diverge)
        # The new obstacle is at its start; everything else keeps its state.
        kept = old.snapshot()
        bodies, *contacts = kept.encounters
        bodies = {**world.snapshot().encounters[0], **bodies}
        world.restore(kept._replace(encounters=(bodies, *contacts)))
        for mine, former in zip(world.groups, old.groups, strict=True):
            mine.params[:] = former.params
        self._drops.append(block)
        before = self._pilots
        self._show(world)
        self._pilots = self._new_pilots()
        for name, pilot in self._pilots.items():
            pilot.go_on_from(before[name])

    def reset(self) -> bool:
        """Restart without the dropped obstacles; returns whether the stage was replaced."""
        changed = bool(self._drops)
        self._drops.clear()
        self._begin(_start_world(self._scene, self._seed))
        return changed

    def diagnosis(self, error: Exception) -> str | None:
        """Names of the vehicles that diverged, or None if the error is not a divergence."""
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
        """Messages about vehicles stopped since the last call; the others continue."""
        stopped = self.world.stopped
        for name in stopped.keys() - self._told_stopped:
            time, reason = stopped[name]
            yield f"{name} was stopped at t = {time:.2f} s: {reason}. Reset to start again."
        self._told_stopped = set(stopped)

    def scans(self) -> list[tuple[Ranges, bool]]:
        """Latest scan of each lidar, and whether it is new since the last call."""
        return self.view.scans_now()

    def row(self) -> NDArray[np.float64]:
        """Current values of the stage's channels."""
        return self.view.row()

    def _pilot(self, vehicle: str) -> Pilot:
        if vehicle not in self._pilots:
            known = list(self._pilots)
            raise InvalidValue(unknown_name("the world", vehicle[:40], known, "vehicle"))
        return self._pilots[vehicle]


def _start_world(scene: Scene, seed: int) -> World:
    """A world in which a diverging vehicle is stopped alone, if there are others."""
    alone = len(scene.vehicles) == 1
    return World(scene, seed=seed, on_diverge="raise" if alone else "stop")


_CORNERS = (
    *((-30.0, -18.0), (-8.0, -19.5), (14.0, -18.0), (31.0, -15.0), (36.5, -4.0)),
    *((27.0, 2.5), (14.0, -2.0), (4.0, -4.5), (-4.0, 2.0), (3.0, 11.0), (0.0, 19.0)),
    *((-12.0, 20.0), (-22.0, 12.5), (-33.0, 8.0), (-38.5, -5.0)),
)
"""Points on the centre line of the track, counter-clockwise."""
_WIDTH: m = 5.0
_CONES_EVERY: m = 4.5
_HALF_X, _HALF_Y, _THICK = 47.0, 29.0, 0.5
"""Half lengths of the yard around the track, and thickness of its walls, in m."""
_LEFT, _RIGHT = "#2f6fde", "#e8b90c"
_PIT = ScenePose(-22.0, -25.0)
"""Waiting place of the car next to the straight."""
_GAP = (-14.0, 6.0)
"""Range of x without cones between the pit and the track, in m."""


class Playground(NamedTuple):
    """Arguments of an `Arena`."""

    scene: Scene
    lines: tuple[GroundLine, ...]
    starts: dict[str, str]
    title: str


def playground() -> Playground:
    """World with a Formula Student car on a track of cones, a second car, a robot, boxes and
    ice."""
    middle = _middle()
    pitch = BOX_SIDE + 0.02
    places = [(24.0 + pitch * row, 19.0 + pitch * (k + 0.5 * row), 0.0)
              for row in range(4) for k in range(4 - row)]  # fmt: skip
    places += [(-17.0 + 1.6 * cos(a), -4.0 + 1.6 * sin(a), a) for a in np.arange(5) * 1.2566]
    crates = [box(f"crate {k + 1}", x, y, yaw) for k, (x, y, yaw) in enumerate(places)]
    scene = Scene(
        settings=Settings(timestep=0.005),
        vehicles=(
            _car("car", _PIT, lidar=True),
            _car("pace", _on(middle, 0.1)),
            _robot("robot", ScenePose(20.0, 14.0, yaw=pi)),
        ),
        blocks=(*_cones(middle), *crates),
        walls=_walls(),
        elements=(
            PropertyRegion("friction_mu", 0.25, x_min=-44.0, x_max=-30.0, y_min=15.0, y_max=26.0),
        ),
    )
    starts = {"car": KEYBOARD, "pace": PATH}
    return Playground(scene, (GroundLine(as_points(middle), "centre"),), starts, "Playground")


def _middle() -> NDArray[np.float64]:
    """Closed centre line of the track, a point every half metre, the first one repeated at the
    end."""
    points = smooth_loop(np.array(_CORNERS), 0.5)
    return np.vstack([points, points[:1]])


def _on(middle: NDArray[np.float64], share: float) -> ScenePose:
    """ScenePose on the track, in its direction, at a share of its length."""
    k = round(share * (len(middle) - 1))
    (x, y), (d_x, d_y) = middle[k].tolist(), (middle[k + 1] - middle[k]).tolist()
    return ScenePose(x, y, yaw=atan2(d_y, d_x))


def _cones(middle: NDArray[np.float64]) -> list[BlockSpec]:
    line = Line.through(middle[:-1], closed=True)
    blocks: list[BlockSpec] = []
    for side, colour, name in ((0.5, _LEFT, "left"), (-0.5, _RIGHT, "right")):
        edge = Line.through(line.beside(side * _WIDTH), closed=True)
        for x, y in edge.resampled(_CONES_EVERY).vertices.tolist():
            if not (y < -20.0 and _GAP[0] < x < _GAP[1]):
                blocks.append(cone(f"{name} {len(blocks) + 1}", x, y, colour))
    return blocks


def _car(name: str, pose: ScenePose, *, lidar: bool = False) -> VehicleSpec:
    from ...vehicles.twin_track.model import formula_student

    rays: Any = {"fov": 1.5 * pi, "nrays": 271, "max_range": 25.0}
    sensors = (Laser("lidar", ScenePose(0.9, 0.0, 0.3), period=0.05, **rays),) if lidar else ()
    # It collides with the box around body and wheels.
    car = shape_of(formula_student())
    x = [x for outline in car.outlines for x, _ in outline]
    half = max(abs(w.y) + 0.5 * w.width for w in car.wheels)
    box = rectangle(min(x), max(x), -half, half)
    shape = Shape(box, (box,), 0.1, 1.1, "default")
    return VehicleSpec(name, pose, OwnDynamics("formula_student"), shape, sensors=sensors)


def _robot(name: str, pose: ScenePose) -> VehicleSpec:
    """A small robot that can turn on the spot."""
    from ...vehicles import wheeled

    described = wheeled.differential(control=wheeled.Control("twist_pid"))
    outline: Outline = described.chassis.shape
    around: rad = 2.0 * pi * 359.0 / 360.0
    lidar = Laser("lidar", ScenePose(0.0, 0.0, 0.4), fov=around, nrays=180, max_range=12.0)
    shape = Shape(outline, (outline,), 0.05, 0.6)
    return VehicleSpec(name, pose, described, shape, sensors=(lidar,))


def _walls() -> tuple[WallSpec, ...]:
    x, y, t = _HALF_X, _HALF_Y, _THICK
    sides = {
        "south": ((-x - t, -y - t), (x + t, -y)),
        "north": ((-x - t, y), (x + t, y + t)),
        "west": ((-x - t, -y), (-x, y)),
        "east": ((x, -y), (x + t, y)),
    }
    return tuple(
        WallSpec(f"{name} wall", a, b, rectangle(a[0], b[0], a[1], b[1]), height=1.0, thickness=t)
        for name, (a, b) in sides.items()
    )
