"""World: vehicles, blocks and walls on a plane, stepped together."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ..control import keyboard
from ..core.checks import instance_of, steps_in
from ..core.files import counted
from ..core.progress import Choice, watching
from ..core.threads import Deferred
from ..errors import InvalidValue, SimulatorInUse
from ..geometry.pose import rotated
from ..random.streams import checked
from ..road.road import Road
from ..units import m, rad, s
from ..vehicles.wheeled.description import Description
from .contact.encounters import Encounters
from .contact.solids import MOST_EVENTS, Contact, ContactEvent, Moving
from .ground import Ground, warn_of_no_grip, warn_of_own_roads
from .motion import Bodies, Group, Halt, Halts, check_place, group_by_model, warn_of_long_steps
from .scene import Inventory, Scene
from .sensing import Sensing
from .vehicle import (
    BuiltVehicle,
    Following,
    WorldVehicle,
    built_vehicle,
    initial_motion,
    warn_of_overlaps,
)

OnDiverge = Literal["stop", "raise"]


class Snapshot(NamedTuple):
    """Complete state of a world at one moment."""

    steps: int
    """Number of steps since the start."""
    groups: list[Any]
    encounters: Any
    ground: Any
    sensing: Any
    stopped: Mapping[str, Halt]

    def __repr__(self) -> str:
        return f"<Snapshot of a world after {counted(self.steps, 'step')}>"


class World:
    """Simulation of a scene.

    Args:
        scene: the scene; `World.load` reads it from a world file.
        seed: seed of all random numbers.
        road: road under all bodies, in place of a road of the scene.
        on_diverge: what to do when the state of a vehicle becomes NaN or infinite, or when it runs
            away beyond 1e8 m: "stop" holds it alone where it last was, with a `WorldWarning` and an
            entry in `stopped`; "raise" raises `SimulationDiverged`.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        seed: int = 0,
        road: Road | None = None,
        on_diverge: OnDiverge = "stop",
    ) -> None:
        _check_on_diverge(on_diverge)
        hint = ": World.load reads a file" if isinstance(scene, (str, os.PathLike)) else ""
        instance_of("scene", scene, Scene, hint)
        scene = scene if road is None else scene.on_road(road)
        self._scene, self._seed, self._dt = scene, checked(seed), scene.timestep
        self._dt_ratio = _ratio(scene.timestep)
        self._user: int | None = None
        self._on_diverge: OnDiverge = on_diverge
        self.contact_events: deque[ContactEvent] = deque(maxlen=MOST_EVENTS)
        """Beginnings and ends of contacts, the latest last. When there are too many, the
        oldest are dropped; consume them with `popleft` or `clear`."""
        g = scene.settings.gravity
        self._built: dict[str, BuiltVehicle] = {
            spec.name: built_vehicle(spec, scene.compat, g, scene.road) for spec in scene.vehicles
        }
        warn_of_own_roads(self._built, scene.road)
        warn_of_no_grip(self._built, scene.road)
        self._set_up()
        warn_of_overlaps(scene, self._built, self._encounters.contacts.floors.meet)
        warn_of_long_steps(self._groups, self.dt)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        seed: int = 0,
        road: Road | None = None,
        on_diverge: OnDiverge = "stop",
        **options: Any,
    ) -> World:
        """World from an MVSim world file, on `road` if one is supplied; options as of
        `world.xml.load`."""
        from .xml.reader import load

        return cls(load(path, seed=seed, **options), seed=seed, road=road, on_diverge=on_diverge)

    @property
    def scene(self) -> Scene:
        """Scene of the world."""
        return self._scene

    @property
    def seed(self) -> int:
        """Seed of all random numbers; `reset` can change it."""
        return self._seed

    @property
    def dt(self) -> s:
        """Length of a step in s, set by the scene."""
        return self._dt

    @property
    def time(self) -> s:
        """Time since the start in s: the float nearest to the number of steps times `dt`."""
        return self._time_after(self._steps)

    def _time_after(self, steps: int) -> s:
        # Integer arithmetic avoids rounding: 560 steps of 0.005 s give 2.8 s, while 560 * 0.005 is
        # 2.8000000000000003.
        return steps * self._dt_ratio[0] / self._dt_ratio[1]

    @property
    def on_diverge(self) -> OnDiverge:
        """Reaction to a vehicle that cannot be simulated any further; see the class."""
        return self._on_diverge

    @on_diverge.setter
    def on_diverge(self, choice: OnDiverge) -> None:
        _check_on_diverge(choice)
        self._on_diverge = choice
        self._halts.raises = choice == "raise"

    @property
    def stopped(self) -> Mapping[str, Halt]:
        """Time and reason of each vehicle's stop, by name; see `on_diverge`."""
        return MappingProxyType(self._halts.by_name)

    def _set_up(self) -> None:
        scene = self.scene
        self._steps = 0
        vehicles = {name: built.vehicle for name, built in self._built.items()}
        self._groups = group_by_model(vehicles, self.dt)
        self._bodies = [Bodies(group) for group in self._groups]
        raises = self._on_diverge == "raise"
        self._halts = Halts(self._bodies, raises=raises, extent=_extent(scene))
        steps = {
            spec.name: keyboard.steps_of(it.kind, it.control.kind)
            if isinstance(it := spec.dynamics, Description)
            else keyboard.OWN
            for spec in scene.vehicles
        }
        self.vehicles: Mapping[str, WorldVehicle] = Inventory[WorldVehicle](
            "vehicle",
            {
                name: WorldVehicle(self, name, bodies, row, self._built[name], steps[name])
                for bodies in self._bodies
                for row, name in enumerate(bodies.group.names)
            },
        )
        """The vehicles by name."""
        self.contact_events.clear()
        self._encounters = Encounters(scene, self._built, self._bodies, self.contact_events)
        self._ground = Ground(scene, self._bodies, self._built, self.block)
        # In upstream all bodies are in one plane, whatever their height.
        if not self._ground.level and scene.compat != "upstream":
            self._encounters.separate_floors(self._ground)
        self._following = Following(scene, self.vehicles)
        self._start()
        self.sensing = Sensing(scene, self.seed)
        """Sensors and their latest readings."""

    def _start(self) -> None:
        for spec in self.scene.vehicles:
            vehicle = self.vehicles[spec.name]
            vehicle.bodies.put([vehicle.row], [initial_motion(spec)])
            if vehicle.built.set_point:
                vehicle.command(vehicle.built.set_point)
        for bodies in self._bodies:
            bodies.settle()

    def step(self) -> None:
        """Advance everything by one step of `dt`.

        A step that fails or is interrupted leaves the world unchanged. A step while another
        thread steps the world raises `SimulatorInUse`.
        """
        # The steps of vehicles can be undone, changes by the contact solver cannot.
        self._alone(self._deferred_step if self.movable else self._step)

    def _alone(self, work: Callable[[], None]) -> None:
        """Call `work` under the world's lock; raises while another thread holds it."""
        thread, user = threading.get_ident(), self._user
        # Python switches threads and handles signals at calls and in loops, so nothing interrupts
        # these assignments.
        if user is not None and user != thread:
            raise SimulatorInUse(
                "this world is in use by another thread: use one world per thread, or a lock "
                "around calls to it"
            )
        self._user = thread
        try:
            work()
        finally:
            self._user = user

    def _deferred_step(self) -> None:
        with Deferred():
            self._step()

    def _step(self) -> None:
        try:
            self._advance()
        except BaseException:
            for group in self._groups:
                if group.steps > self._steps:
                    group.take_back()
            raise

    def _advance(self) -> None:
        end = self._time_after(self._steps + 1)
        self._following.command(self.time)
        self._encounters.animate(self.time, self.dt)
        if self._ground.differs and self._ground.act(self.time) and not self._ground.level:
            self._encounters.look_at(self._ground)
        before = [group.step() for group in self._groups]
        for k, (bodies, states) in enumerate(zip(self._bodies, before, strict=True)):
            bodies.project(states)
            if self._ground.differs:
                self._ground.fly(k, states)
        self._encounters.solve(before, self.dt, end)
        if self._ground.differs:
            self._ground.push(self._encounters.pushed)
        if self._halts.due(self._steps):
            for name in self._halts.hold(end):
                self._carry(name)
            self._ground.push(self._halts.by_name)
        self._steps += 1
        self.sensing.sense(self)

    def run(self, duration: s, *, progress: Choice = None) -> None:
        """Advance by a time in s, a whole number of steps; for `progress` see
        `skidpad.core.progress`."""
        count = steps_in(duration, self.dt)
        self._alone(lambda: self._run(count, progress))

    def _run(self, count: int, progress: Choice) -> None:
        with Deferred() as interrupt, watching(count * self.dt, "s", "world", progress) as bar:
            for _ in range(count):
                self._step()
                bar.advance(self.dt)
                if interrupt:
                    interrupt.answer()

    def place(self, name: str, x: m, y: m, yaw: rad) -> None:
        """Teleport a vehicle, at rest, ignoring obstacles; commands and odometry stay.

        A vehicle on a joint cannot be placed. |x| and |y| may be up to 1e7 m, |yaw| up to 1e3 rad.
        """
        check_place(name, x, y, yaw, _extent(self.scene))
        self._alone(lambda: self._place(self.vehicles[name], Moving(x, y, yaw)))

    def _place(self, vehicle: WorldVehicle, moving: Moving) -> None:
        name = vehicle.name
        self._encounters.put(name, moving)
        vehicle.bodies.restart(vehicle.row, moving)
        self._halts.by_name.pop(name, None)
        self._ground.put(name, vehicle.built.height)
        self._carry(name)

    def _carry(self, name: str) -> None:
        """Reset the motion history of a vehicle that was stopped or teleported."""
        vehicle = self.vehicles[name]
        vehicle.bodies.jumps[vehicle.row] += 1
        self.sensing.carry(self, name)

    @property
    def groups(self) -> tuple[Group, ...]:
        """Vehicles by model, in the groups that are stepped together."""
        return tuple(self._groups)

    @property
    def movable(self) -> tuple[str, ...]:
        """Names of the moving blocks and actors; `block` returns their poses."""
        return self._encounters.movable

    @property
    def uncommanded(self) -> tuple[str, ...]:
        """Names of the vehicles without commands: at rest, without a path, all inputs at their
        defaults.
        """
        paths = {spec.name for spec in self.scene.vehicles if spec.path is not None}
        return tuple(
            name
            for name, it in self.vehicles.items()
            if name not in paths
            and it.input == type(it.input)()
            and not any(it.bodies.motion(it.row)[1])
        )

    @property
    def uneven(self) -> bool:
        """Whether the ground has heights, so that vehicles tilt."""
        return not self._ground.level

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts of the last step, one per pair of bodies."""
        return self._encounters.contacts.touches.contacts

    @property
    def new_contact_events(self) -> tuple[ContactEvent, ...]:
        """Beginnings and ends of contacts in the last step, including those removed from
        `contact_events`."""
        touches = self._encounters.contacts.touches
        return tuple(it for it in touches.new_events if it.time == self.time)

    @property
    def colliding(self) -> tuple[str, ...]:
        """Names of the vehicles that are `in_collision`."""
        return self._encounters.all_close(self.scene.settings.collision_threshold)

    def motion(self, *, in_world: bool = True) -> Any:
        """Poses x, y, yaw and velocities v_x, v_y, omega of all vehicles, (B, 6).

        Velocities are in world axes or, with `in_world=False`, in body axes. Rows are in the
        order of `vehicles`; the values are those of `WorldVehicle.truth`.
        """
        rows = [np.empty((0, 6))]
        for bodies in self._bodies:
            motion = bodies.motions
            if in_world:
                motion[:, 3], motion[:, 4] = rotated(motion[:, 3], motion[:, 4], motion[:, 2])
            rows.append(motion)
        return np.concatenate(rows)

    def attitudes(self) -> Any:
        """Height, pitch and roll of all vehicles, (B, 3), after the last step.

        Rows are in the order of `vehicles`.
        """
        lying = [np.column_stack(self._ground.lying(k)) for k in range(len(self._groups))]
        return np.concatenate([np.empty((0, 3)), *lying])

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle on its ground."""
        return self._ground.attitude(name)

    def is_flying(self, name: str) -> bool:
        """Whether all wheels of a vehicle are in the air."""
        return self._ground.is_flying(name)

    def odometry(self) -> Any:
        """Wheel odometry of all vehicles, (B, 5): x, y, yaw, v_x, omega.

        Rows are in the order of `vehicles`; the values are those of the sensor `odometry`.
        """
        return self.sensing.odometry(self)

    def in_collision(self, name: str) -> bool:
        """Whether a vehicle or block touches another body or is closer to it than the file's
        threshold."""
        return self._encounters.contacts.close(name, self.scene.settings.collision_threshold)

    def block(self, name: str) -> Moving:
        """Pose and velocity of a block or an actor, in world axes."""
        return self._encounters.contacts.at(name)

    def readings(self, name: str) -> Mapping[str, Any]:
        """Latest readings of a vehicle's sensors by name; None before the first."""
        return self.sensing.of(name)

    def snapshot(self) -> Snapshot:
        """State of the world for `restore`."""
        return Snapshot(
            self._steps,
            [group.snapshot() for group in self._groups],
            self._encounters.snapshot(),
            self._ground.snapshot(),
            self.sensing.snapshot(),
            dict(self._halts.by_name),
        )

    def restore(self, snapshot: Any) -> None:
        """Return to the state of a snapshot of this world.

        The impulses from which the contact solver starts are not part of a snapshot, so steps
        with contacts may differ slightly from those made before.
        """
        if not isinstance(snapshot, Snapshot):
            kind = type(snapshot).__qualname__
            raise InvalidValue(f"snapshot must be a result of World.snapshot, got a {kind}")
        self._alone(lambda: self._restore(snapshot))

    def _restore(self, snapshot: Any) -> None:
        steps, groups, encounters, ground, sensing, stopped = snapshot
        self._encounters.check(encounters)
        self._steps = steps
        for group, kept in zip(self._groups, groups, strict=True):
            group.restore(kept)
            group.steps = steps
        for bodies in self._bodies:
            bodies.jumps += 1
        self._encounters.restore(encounters)
        self._ground.restore(ground)
        self.sensing.restore(sensing, self)
        self._seed = self.sensing.seed
        self._halts.by_name = dict(stopped)

    def __reduce__(self) -> tuple[Any, ...]:
        """Support `pickle` and `copy`: the scene and the current state, as by `restore`."""
        made = partial(World, seed=self.seed, on_diverge=self.on_diverge)
        return made, (self.scene,), (self.snapshot(), tuple(self.contact_events))

    def __setstate__(self, state: tuple[Any, tuple[ContactEvent, ...]]) -> None:
        snapshot, events = state
        self.restore(snapshot)
        self.contact_events.extend(events)

    def reset(self, seed: int | None = None) -> None:
        """Restart, with the same random numbers or those of another seed."""
        chosen = self.seed if seed is None else checked(seed)
        self._alone(lambda: self._reset(chosen))

    def _reset(self, seed: int) -> None:
        self._seed = seed
        self._set_up()

    def _repr_html_(self) -> str:
        from ..view.plots.notebook import world_html

        return world_html(self)

    def __repr__(self) -> str:
        return (
            f"<World of {counted(len(self.vehicles), 'vehicle')}, "
            f"{counted(len(self.scene.blocks), 'block')}, "
            f"t = {self.time:.3f} s, steps of {self.dt * 1000:g} ms>"
        )


def _ratio(dt: s) -> tuple[int, int]:
    """Integer ratio equal to the step; exact, if possible, for a step given as a short decimal or
    as a rate."""
    simple = Fraction(dt).limit_denominator(1_000_000)
    fraction = simple if float(simple) == dt else Fraction(dt)
    return fraction.numerator, fraction.denominator


def _extent(scene: Scene) -> m:
    """Largest |x| or |y| at which a vehicle starts."""
    return max((abs(v) for spec in scene.vehicles for v in spec.pose[:2]), default=0.0)


def _check_on_diverge(choice: str) -> None:
    if choice not in ("stop", "raise"):
        raise InvalidValue(f"on_diverge = {choice!r} is unknown; allowed are 'stop', 'raise'")
