"""A world with pilots: everything that drivers can do to it, without clock and network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...controllers.driving import Axes
from ...errors import InvalidValue, SimulationDiverged, SkidpadError
from ...record import unknown_name
from ...stage import Line, Stage
from ...stage.world_stage import WorldStage
from ...units import m, s
from ...world.scene.scene import BlockSpec, Scene
from ...world.world import World
from .frames import Ranges
from .obstacles import dropped, with_blocks
from .pilots import KEYBOARD, Pilot
from .tunables import Tunable, tunables_of, tune

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
        lines: Sequence[Line] = (),
        starts: dict[str, str] | None = None,
        title: str = "",
    ) -> None:
        self._paths = {spec.name: spec.path for spec in scene.vehicles}
        # The pilots follow paths: a world would do so whoever else drives.
        self._scene = replace(scene, vehicles=tuple(replace(v, path=None) for v in scene.vehicles))
        self._lines, self._title, self._seed = tuple(lines), title, seed
        self._starts = starts or {}
        self._drops: list[BlockSpec] = []
        self._begin(_started(self._scene, seed))
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
        self._seen: dict[int, s] = {}
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
        """What there is to see."""

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
        return sorted(entries, key=_liveliness)

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
        """Nobody drives."""
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
        block = dropped(self.world, kind, x, y, len(self._drops))
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
        self._begin(_started(self._scene, self._seed))
        return changed

    def diagnosis(self, error: Exception) -> str | None:
        """What became of which vehicles, if that is what the error is about."""
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
        """Sentences about vehicles that were stopped since the last call; the others go on."""
        stopped = self.world.stopped
        for name in stopped.keys() - self._told_stopped:
            time, reason = stopped[name]
            yield f"{name} was stopped at t = {time:.2f} s: {reason}. Reset to start again."
        self._told_stopped = set(stopped)

    def scans(self) -> Iterator[tuple[Ranges, bool]]:
        """The latest scan of each lidar that has one, and whether it is new since the last call."""
        for index, reading in enumerate(self.view.readings()):
            if reading is not None:
                new = self._seen.get(index) != reading.stamp
                self._seen[index] = reading.stamp
                yield Ranges(index, reading.ranges), new

    def row(self) -> NDArray[np.float64]:
        """The numbers of this moment, by the channels of the stage."""
        return self.view.row()

    def _pilot(self, vehicle: str) -> Pilot:
        if vehicle not in self._pilots:
            known = list(self._pilots)
            raise InvalidValue(unknown_name("the world", vehicle[:40], known, "vehicle"))
        return self._pilots[vehicle]


def _started(scene: Scene, seed: int) -> World:
    """A world in which a vehicle that diverges is stopped alone, if there are others."""
    alone = len(scene.vehicles) == 1
    return World(scene, seed=seed, on_diverge="raise" if alone else "stop")


def _liveliness(vehicle: dict[str, Any]) -> tuple[bool, bool]:
    """Order: driven by keys, then drivable, then the rest, each as in the world."""
    return vehicle["controller"] != KEYBOARD, KEYBOARD not in vehicle["controllers"]
