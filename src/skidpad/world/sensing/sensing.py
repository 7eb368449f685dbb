"""The sensors of a world: when each is read, what it shows, and its random numbers.

A sensor is read in the steps that begin a period or more after the one it was last read in, the
first time a period after the start; its stamp is the time at the end of the step. The random
numbers of a reading depend on the seed, the names of vehicle and sensor and the number of the
reading, and on nothing else.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from ...arrays import Array
from ...brief import listed
from ...errors import InvalidValue
from ...plane.pose import placed
from ...random import streams
from ...record import unknown_name
from ...sensing.lidar import Scan
from ...units import s
from ..ground.regions import Regions
from ..handle import Surroundings
from ..motion.bodies import Bodies
from ..scene import sensors as specs
from ..scene.scene import Scene
from .dead_reckoning import DeadReckoning, factors_of
from .instruments import Bumper, Instruments, WheelOdometry
from .not_simulated import not_simulated
from .sight import Sight, poses_of

ALWAYS = ("odometry", "bumper")
"""Sensors that every vehicle has, unless its file gives the name to another."""
_EARLY: s = 1e-6
"""How much too early a reading may be: times are sums of steps."""


def number_of(name: str) -> int:
    """A whole number of 32 bits for a vehicle, the same whatever others there are."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little")


@dataclass
class _Turn:
    """Sensors that are read together."""

    period: s
    last: s = 0.0
    count: int = 0
    """How often they have been read."""
    sensors: list[tuple[str, specs.Sensor]] = field(default_factory=list)
    """Names of their vehicles, empty for those that stand in the world, and what files say."""


class Sensing:
    """All sensors of a scene.

    Args:
        scene: what there is.
        seed: of the noise; any whole number.
    """

    def __init__(self, scene: Scene, seed: int = 0) -> None:
        self._scene, self.seed = scene, seed
        # What is wrong with them is said before anything runs.
        Regions(scene, "gps_no_coverage")
        self._latest: dict[tuple[str, str], Any] = {}
        self._names: dict[str, tuple[str, ...]] = {"": tuple(one.name for one in scene.sensors)}
        turns: dict[s, _Turn] = {}
        owned = [("", one) for one in scene.sensors]
        for spec in sorted(scene.vehicles, key=lambda spec: spec.name):
            names = [one.name for one in spec.sensors]
            self._names[spec.name] = tuple(dict.fromkeys([*names, *ALWAYS]))
            owned += [(spec.name, one) for one in spec.sensors]
        for owner, one in owned:
            if isinstance(one, specs.Laser | specs.Imu | specs.Gnss):
                turns.setdefault(one.period, _Turn(one.period)).sensors.append((owner, one))
        self._turns = list(turns.values())
        self._kinds = {
            (owner, one.name): one.kind if isinstance(one, specs.OwnSensor) else ""
            for owner, one in owned
        }
        """Which of those that every vehicle has, by owner and name; empty: none of them."""
        stand_ins = {(o, one.name): not_simulated(o, one, ALWAYS) for o, one in owned}
        self._missing = {key: it for key, it in stand_ins.items() if it is not None}
        self._at_work: _AtWork | None = None
        self.fresh: list[tuple[str, str, Any]] = []
        """Vehicle, name and reading of the sensors that were read in the last step."""

    def sense(self, world: Surroundings) -> None:
        """Read the sensors whose turn it is, at the end of a step of the world."""
        work = self._working(world)
        self.fresh = []
        for bodies, reckoning in work.reckoning:
            reckoning.note(bodies.poses)
        began = world.time - world.dt
        for turn in self._turns:
            if began >= turn.last + turn.period - _EARLY:
                self._read(turn, work, began - turn.last)
                turn.last = began
                turn.count += 1
        work.instruments.remember()

    def _working(self, world: Surroundings) -> _AtWork:
        if self._at_work is None:
            self._at_work = _AtWork(self._scene, self.seed, world)
        return self._at_work

    def odometry(self, world: Surroundings) -> Array:
        """Odometry x, y, yaw, v_x, omega of all vehicles, (B, 5), in the order of the world."""
        return self._working(world).odometry_of_all()

    def carry(self, world: Surroundings, vehicle: str) -> None:
        """Let a vehicle have been put where it is now: wheels and inertial units felt
        nothing of it."""
        self._working(world).carry(vehicle)

    def _read(self, turn: _Turn, work: _AtWork, elapsed: s) -> None:
        lasers: dict[tuple[Any, ...], list[tuple[str, specs.Laser]]] = {}
        for owner, one in turn.sensors:
            if isinstance(one, specs.Laser):
                rays = (one.fov, one.nrays, one.angle_std_noise)
                ranges = (one.max_range, one.bodies_visible, one.range_std_noise)
                lasers.setdefault((one.name, *rays, *ranges), []).append((owner, one))
                continue
            reading = work.instruments.read(owner, one, turn.count, elapsed)
            if reading is not None:
                self._keep(owner, one.name, reading)
        for group in lasers.values():
            for (owner, one), scan in zip(group, work.scans(group, turn.count), strict=True):
                self._keep(owner, one.name, scan)

    def _keep(self, owner: str, name: str, reading: Any) -> None:
        self._latest[owner, name] = reading
        self.fresh.append((owner, name, reading))

    def of(self, vehicle: str) -> Mapping[str, Any]:
        """Latest readings of a vehicle's sensors by name; None of one that has none yet.

        The name "" has those that stand in the world.
        """
        if vehicle not in self._names:
            raise InvalidValue(unknown_name("World", vehicle, list(self._names), "vehicle"))
        return _Readings(self, vehicle)

    def names(self, vehicle: str) -> tuple[str, ...]:
        """Names of the sensors of a vehicle."""
        return self._names[vehicle]

    def latest(self, vehicle: str, sensor: str) -> Any:
        """The latest reading of a sensor, None if there is none yet; see `NotSimulated`."""
        if (vehicle, sensor) in self._missing:
            return self._missing[vehicle, sensor]
        kind = self._kinds.get((vehicle, sensor), sensor)
        if self._at_work is None or kind not in ALWAYS or not vehicle:
            return self._latest.get((vehicle, sensor))
        return (
            self._at_work.bumper(vehicle) if kind == "bumper" else self._at_work.odometry(vehicle)
        )

    def snapshot(self) -> Any:
        """Everything that changes, and the seed."""
        turns = [(turn.last, turn.count) for turn in self._turns]
        work = None if self._at_work is None else self._at_work.snapshot()
        return self.seed, turns, dict(self._latest), work

    def restore(self, snapshot: Any, world: Surroundings) -> None:
        """Put back what `snapshot` gave, in the world that it was taken in."""
        seed, turns, latest, work = snapshot
        for turn, (last, count) in zip(self._turns, turns, strict=True):
            turn.last, turn.count = last, count
        self._latest, self.fresh = dict(latest), []
        if work is None or seed != self.seed:
            self._at_work = None
        self.seed = seed
        if work is not None:
            self._at_work = self._at_work or _AtWork(self._scene, seed, world)
            self._at_work.restore(work)


class _Readings(Mapping[str, Any]):
    """Readings of one vehicle, looked up when asked for."""

    def __init__(self, sensing: Sensing, vehicle: str) -> None:
        self._sensing, self._vehicle = sensing, vehicle

    def __getitem__(self, name: str) -> Any:
        names = self._sensing.names(self._vehicle)
        if name not in names:
            raise InvalidValue(unknown_name(self._vehicle or "World", name, list(names), "sensor"))
        return self._sensing.latest(self._vehicle, name)

    def __contains__(self, name: object) -> bool:
        return name in self._sensing.names(self._vehicle)

    def get(self, name: str, default: Any = None) -> Any:
        """The reading of a sensor, or the default if there is no such sensor."""
        known = name in self._sensing.names(self._vehicle)
        return self[name] if known else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensing.names(self._vehicle))

    def __repr__(self) -> str:
        shown = (f"{name}: {type(reading).__name__}" for name, reading in self.items())
        return f"<readings of {self._vehicle or 'the world'}: {listed(list(shown)) or 'none'}>"

    def __len__(self) -> int:
        return len(self._sensing.names(self._vehicle))


class _AtWork:
    """What sensors need of a world that runs."""

    def __init__(self, scene: Scene, seed: int, world: Surroundings) -> None:
        self._scene, self._seed, self._world = scene, seed, world
        self.instruments = Instruments(scene, seed, world, number_of)
        self._sight: Sight | None = None
        by_bodies: dict[int, Bodies] = {id(v.bodies): v.bodies for v in world.vehicles.values()}
        specs = {spec.name: spec for spec in scene.vehicles}
        self.reckoning: list[tuple[Bodies, DeadReckoning]] = []
        for bodies in by_bodies.values():
            them = [specs[name] for name in bodies.group.names]
            start = np.array([(spec.pose.x, spec.pose.y, spec.pose.yaw) for spec in them])
            factors = factors_of(them, seed, [number_of(spec.name) for spec in them])
            self.reckoning.append((bodies, DeadReckoning(start, factors)))

    def scans(self, lasers: list[tuple[str, specs.Laser]], count: int) -> list[Scan]:
        """Scans of lasers that differ only in where they sit."""
        if self._sight is None:
            self._sight = Sight(self._scene, self._world)
        like = lasers[0][1]
        angles = np.linspace(-0.5 * like.fov, 0.5 * like.fov, like.nrays)
        if like.nrays == 1:
            angles[:] = 0.0
        owners = [owner for owner, _ in lasers]
        poses = self._poses(owners, [one for _, one in lasers])
        jitter = None
        if like.angle_std_noise > 0.0:
            jitter = like.angle_std_noise * self._noise("angle", lasers, count)
        ranges = self._sight.ranges(
            poses, owners, angles, like.max_range, like.bodies_visible, jitter
        )
        if like.range_std_noise > 0.0:
            # Nothing is nearer than the sensor; what is not seen stays so.
            noise = like.range_std_noise * self._noise("range", lasers, count)
            ranges = np.maximum(ranges + noise, 0.0)
        angles.flags.writeable = False
        return [Scan(row, self._world.time, angles) for row in ranges]

    def _noise(self, of: str, lasers: list[tuple[str, specs.Laser]], count: int) -> Array:
        """Normal numbers (B, rays) for the readings of lasers that differ only in their owners."""
        like = lasers[0][1]
        numbers = [number_of(owner) for owner, _ in lasers]
        return streams.normals(self._seed, f"{like.name}.{of}", count, numbers, like.nrays)[0]

    def _poses(self, owners: list[str], lasers: list[specs.Laser]) -> Array:
        """Poses (B, 3) of lasers in the world."""
        mounted = np.array([(one.pose.x, one.pose.y, one.pose.yaw) for one in lasers])
        at = np.zeros((len(owners), 3))
        carried = [k for k, owner in enumerate(owners) if owner]
        at[carried] = poses_of(self._world, [owners[k] for k in carried])
        return np.stack(placed(at.T, mounted.T), axis=1)

    def bumper(self, vehicle: str) -> Bumper:
        """Whether a vehicle touches something."""
        return Bumper(self._world.vehicles[vehicle].in_collision, self._world.time)

    def odometry(self, vehicle: str) -> WheelOdometry:
        """What a vehicle thinks of its own motion."""
        handle = self._world.vehicles[vehicle]
        pose = next(r.pose(handle.row) for b, r in self.reckoning if b is handle.bodies)
        body = handle.bodies.body
        velocity = (body.odometry or body.velocity)(handle.state, handle.input, handle.params)
        return WheelOdometry(*pose, float(velocity.v_x), float(velocity.omega), self._world.time)

    def odometry_of_all(self) -> Array:
        """As `odometry`, of all vehicles at once, (B, 5)."""
        rows = [np.empty((0, 5))]
        for bodies, reckoning in self.reckoning:
            body = bodies.body
            velocity = (body.odometry or body.velocity)(bodies.x, bodies.u, bodies.p)
            table = np.empty((len(bodies.group.names), 5))
            table[:, :3] = reckoning.poses()
            table[:, 3], table[:, 4] = velocity.v_x, velocity.omega
            rows.append(table)
        return np.concatenate(rows)

    def carry(self, vehicle: str) -> None:
        """Take where a vehicle is now as where it was before."""
        handle = self._world.vehicles[vehicle]
        motion = handle.bodies.motions[handle.row]
        for bodies, reckoning in self.reckoning:
            if bodies is handle.bodies:
                reckoning.carry(handle.row, motion[:3])
        self.instruments.carry(handle, motion)

    def snapshot(self) -> Any:
        """Everything that changes."""
        return copy.deepcopy(self.instruments.memory), [r.snapshot() for _, r in self.reckoning]

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        memory, reckoned = snapshot
        self.instruments.memory = copy.deepcopy(memory)
        for (_, reckoning), before in zip(self.reckoning, reckoned, strict=True):
            reckoning.restore(before)
