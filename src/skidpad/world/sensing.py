"""Sensors of a world: schedule, readings, random numbers, and ray casting for lasers.

A sensor is read in the first step that begins at least one period after the step of its previous
reading (for the first reading: after the start). Its stamp is the time at the end of that step. The
random numbers of a reading depend only on the seed, the names of vehicle and sensor, and the index
of the reading.

`Sensing` has the schedule and the latest readings; `Instruments` computes them, with the models of
`skidpad.sensors`, while the world runs; `Sight` has the ranges of lasers to fixed walls, grids and
blocks, and to moving bodies.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import cos, nan, sin
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core.arrays import Array
from ..core.files import listed
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..geometry.geodesy import Origin, Place, from_utm, place_in_world, utm_zone
from ..geometry.maps.map import border_segments
from ..geometry.polygon import edges_at, moved_edges
from ..geometry.pose import placed, rotated, unrotated
from ..geometry.raycast.scene import Scene as Walls
from ..random import streams
from ..sensors.lidar import Scan
from ..sensors.motion import Motion, Mounting
from ..sensors.navigation import GnssReading, Imu, antenna_motion
from ..units import m, m_s, m_s2, rad, rad_s, s
from . import scene as specs
from .contact.solids import Part, is_climbed, standing_parts
from .ground import Regions, down
from .motion import mean_acceleration
from .scene import OccupancyGrid, Scene, VehicleSpec
from .vehicle import Surroundings

CIRCLE = np.array([(cos(a), sin(a)) for a in np.arange(16) * np.pi / 8.0])
"""Outline of an actor of radius 1."""

_AT_A_TIME = 32
"""Lasers whose surroundings are gathered together, few enough for the CPU's inner caches."""


class Sight:
    """Ranges along rays in the current world."""

    def __init__(self, scene: Scene, world: Surroundings) -> None:
        # Blocks that vehicles drive onto are treated like moving bodies: a laser within their
        # outline does not see them.
        moving = [
            b
            for b in scene.blocks
            if not b.intangible and (b.animation or not b.static or is_climbed(b, scene))
        ]
        passed = {b.name for b in moving}
        grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
        # One grid is ray-cast cell by cell; further grids are reduced to their borders.
        borders = [border_segments(grid) for grid in grids[1:]]
        bodies = [
            edges_at([part.outline], (pose.x, pose.y, pose.yaw))
            for name, parts, pose in standing_parts(scene)
            if name not in passed
            for part in parts
        ]
        first = grids[0] if grids else None
        nothing = np.empty((0, 4))
        self._map = Walls(np.concatenate([nothing, *borders]), first)
        # Upstream casts rays on maps and bodies separately, and applies angle errors only to maps.
        self._apart = scene.compat == "upstream"
        both = [nothing, *bodies] if self._apart else [nothing, *borders, *bodies]
        self._walls = Walls(np.concatenate(both), None if self._apart else first)
        self._world = world
        self._vehicles = sorted(world.vehicles)
        self._others: list[str] = []
        outlines = [_outlines(world.vehicles[name].built.parts) for name in self._vehicles]
        for block in moving:
            self._others.append(block.name)
            outlines.append([np.array(block.shape.outline)])
        for actor in scene.actors:
            self._others.append(actor.name)
            outlines.append([actor.collision_radius * CIRCLE])
        edges = [edges_at(them) for them in outlines]
        self._edges = np.concatenate([nothing, *edges])
        counts = [len(e) for e in edges]
        self._owner = np.repeat(np.arange(len(edges)), counts)
        self._begin = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._radii = np.array([np.hypot(e[:, 0], e[:, 1]).max() for e in edges])
        handles = enumerate(world.vehicles[name] for name in self._vehicles)
        self._towing = [(k, it) for k, it in handles if it.built.geometry.trailer is not None]
        for k, vehicle in self._towing:
            self._radii[k] = vehicle.built.radius
        self._number = {name: k for k, name in enumerate(self._vehicles)}

    def ranges(
        self, poses: Array, owners: Sequence[str], angles: Array, laser: specs.Laser, jitter: Any
    ) -> Array:
        """Ranges (B, rays) in m from poses (B, 3); inf where nothing is within the laser's range.

        `owners` are the vehicles that carry the lasers; a laser does not see its own vehicle.
        `jitter` (B, rays) is the deviation of each ray from its nominal angle, in rad, or None.
        """
        reach = laser.max_range
        if laser.bodies_visible and not self._apart:
            return self._of_all(poses, owners, angles, reach, jitter)
        mapped = self._map.scan(poses, angles, max_range=reach, jitter=jitter)
        if not laser.bodies_visible:
            return mapped
        return np.minimum(self._of_all(poses, owners, angles, reach, None), mapped)

    def _of_all(
        self, poses: Array, owners: Sequence[str], angles: Array, max_range: m, jitter: Any
    ) -> Array:
        """Ranges (B, rays) in m to the nearest of walls, maps and moving bodies."""
        places = self._places()
        self._turn_trailers()
        edges = moved_edges(self._edges, places[self._owner])
        out = np.empty((len(poses), len(angles)))
        how: dict[str, Any] = {"max_range": max_range, "threads": 1}
        for begin in range(0, len(poses), _AT_A_TIME):
            part = slice(begin, begin + _AT_A_TIME)
            movers = self._movers(places, edges, poses[part], owners[part], max_range)
            own = None if jitter is None else jitter[part]
            self._walls.scan(poses[part], angles, out[part], movers=movers, jitter=own, **how)
        return out

    def _movers(
        self, places: Array, edges: Array, poses: Array, owners: Sequence[str], max_range: m
    ) -> Array | None:
        """Edges (B, m, 4) of the moving bodies that each laser could see."""
        if not len(edges):
            return None
        apart = np.hypot(*(poses[:, None, :2] - places[None, :, :2]).transpose(2, 0, 1))
        near = apart <= max_range + self._radii
        for row, name in enumerate(owners):
            if name in self._number:
                near[row, self._number[name]] = False
        facing, counts = np.empty((len(poses), len(edges), 4)), np.empty(len(poses), np.int64)
        from ..geometry.raycast.drawing import gather_facing  # here, since it imports numba

        most = gather_facing(edges, self._begin, near, poses, facing, counts)
        return facing[:, :most]

    def _turn_trailers(self) -> None:
        """Update the edges of trailers for their current angles."""
        for k, vehicle in self._towing:
            bodies, trails = vehicle.bodies, [p for p in vehicle.built.turning if p.trails]
            fields = [field for part in trails for field in part.fields]
            (angles,) = bodies.fields(fields, [vehicle.row], bodies.group.state)
            outlines, next_angle = _outlines(vehicle.built.parts), iter(angles)
            for part in trails:
                own = [next(next_angle) for _ in part.fields]
                outlines[part.number] = np.array(part.outline(*own))
            self._edges[self._begin[k] : self._begin[k + 1]] = edges_at(outlines)

    def _places(self) -> Array:
        """Poses of all moving bodies, in the order of the edges' owners."""
        own = poses_of(self._world, self._vehicles)
        others = [self._world.block(name)[:3] for name in self._others]
        return np.concatenate([own, np.array(others).reshape(-1, 3)])


def poses_of(world: Surroundings, names: Sequence[str]) -> Array:
    """Poses x, y, yaw (n, 3) of vehicles."""
    poses = np.empty((len(names), 3))
    handles = [world.vehicles[name] for name in names]
    for bodies in {id(v.bodies): v.bodies for v in handles}.values():
        at = [k for k, v in enumerate(handles) if v.bodies is bodies]
        poses[at] = bodies.poses[[handles[k].row for k in at]]
    return poses


def _outlines(parts: Sequence[Part]) -> list[Array]:
    return [np.array(part.outline, dtype=float) for part in parts]


SPREAD = 0.02
"""Standard deviation of odometry scale factors that the file does not set."""
_MOST = 256
"""Most buffered steps before odometry is integrated."""
RENDERED = (specs.Lidar3d, specs.Camera, specs.RgbdCamera)
"""Sensors that need a renderer."""
_EARLY: s = 1e-6
"""Tolerance of the reading times, as times are sums of steps."""


class InertialReading(NamedTuple):
    """Reading of an inertial unit, along the axes of the sensor."""

    f_x: m_s2
    """Specific force along the sensor's x axis."""
    f_y: m_s2
    """Specific force along the sensor's y axis."""
    f_z: m_s2
    """Specific force along the sensor's z axis; 9.81 at rest on level ground."""
    omega_x: rad_s
    """Angular rate about the sensor's x axis."""
    omega_y: rad_s
    """Angular rate about the sensor's y axis."""
    omega_z: rad_s
    """Angular rate about the sensor's z axis."""
    roll: rad
    """Roll of the vehicle, positive with the right side down; NaN if not measured."""
    pitch: rad
    """Pitch of the vehicle, positive with the nose down."""
    yaw: rad
    """Heading of the vehicle from the world's x axis, positive to the left."""
    stamp: s


class WheelOdometry(NamedTuple):
    """Pose and velocity of a vehicle from its wheel odometry."""

    x: m
    """Displacement from the start, along the initial heading."""
    y: m
    """Displacement from the start, to the left of the initial heading."""
    yaw: rad
    """Rotation since the start, positive to the left, not wrapped."""
    v_x: m_s
    """Longitudinal velocity from the wheels."""
    omega: rad_s
    """Yaw rate from the wheels, positive to the left."""
    stamp: s


class Bumper(NamedTuple):
    touching: bool
    stamp: s


@dataclass(frozen=True)
class NotSimulated:
    """Placeholder for the reading of a sensor that is not simulated: false, and raises on use."""

    sensor: str
    """Class and name of the sensor, and its vehicle."""
    reason: str

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        # Python looks up special names when it copies and pickles an object.
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"there is no {name}: {self}")

    def __str__(self) -> str:
        return f"{self.sensor} is not simulated: {self.reason}"


def not_simulated(owner: str, sensor: Any, known: tuple[str, ...]) -> NotSimulated | None:
    """Placeholder for the reading of a sensor, or None if the sensor is simulated; `known` are the
    names of skidpad's own sensors."""
    of = f" of {owner}" if owner else ""
    if isinstance(sensor, RENDERED):
        kind = {kind: name for name, kind in specs.SENSORS.items()}[type(sensor)]
        return NotSimulated(f"{kind} {sensor.name}{of}", "it needs a renderer")
    if isinstance(sensor, specs.OwnSensor) and sensor.kind not in known:
        reason = f"skidpad has no sensor of this class; it has {', '.join(known)}"
        return NotSimulated(f"skidpad:{sensor.kind} {sensor.name}{of}", reason)
    return None


@dataclass
class _Turn:
    """Sensors that are read together."""

    period: s
    last: s = 0.0
    count: int = 0
    """Number of readings so far."""
    sensors: list[tuple[str, specs.Sensor]] = field(default_factory=list)
    """Vehicle names, empty for sensors fixed in the world, and sensor specs."""


class Sensing:
    """All sensors of a scene.

    Args:
        scene: the scene.
        seed: seed of the noise; any integer.
    """

    def __init__(self, scene: Scene, seed: int = 0) -> None:
        self._scene, self.seed = scene, seed
        # Invalid regions raise here, before anything runs.
        Regions(scene, "gps_no_coverage")
        self._latest: dict[tuple[str, str], Any] = {}
        self._names: dict[str, tuple[str, ...]] = {"": tuple(one.name for one in scene.sensors)}
        turns: dict[s, _Turn] = {}
        owned = [("", one) for one in scene.sensors]
        for spec in sorted(scene.vehicles, key=lambda spec: spec.name):
            names = [one.name for one in spec.sensors]
            self._names[spec.name] = tuple(dict.fromkeys([*names, *specs.OWN_SENSORS]))
            owned += [(spec.name, one) for one in spec.sensors]
        for owner, one in owned:
            if isinstance(one, specs.Laser | specs.Imu | specs.Gnss):
                turns.setdefault(one.period, _Turn(one.period)).sensors.append((owner, one))
        self._turns = list(turns.values())
        self._kinds = {
            (owner, one.name): one.kind if isinstance(one, specs.OwnSensor) else ""
            for owner, one in owned
        }
        """Class of one of skidpad's own sensors, by owner and name; empty for
        upstream's."""
        stand_ins = {(o, one.name): not_simulated(o, one, specs.OWN_SENSORS) for o, one in owned}
        self._missing = {key: it for key, it in stand_ins.items() if it is not None}
        self._at_work: Instruments | None = None
        self.fresh: list[tuple[str, str, Any]] = []
        """Vehicle, name and reading of the sensors that were read in the last step."""

    def sense(self, world: Surroundings) -> None:
        """Read the sensors that are due at the end of a step of the world."""
        work = self._working(world)
        self.fresh = []
        work.note()
        began = world.time - world.dt
        for turn in self._turns:
            if began >= turn.last + turn.period - _EARLY:
                self._read(turn, work, began - turn.last)
                turn.last = began
                turn.count += 1
        work.remember()

    def _working(self, world: Surroundings) -> Instruments:
        if self._at_work is None:
            self._at_work = Instruments(self._scene, self.seed, world)
        return self._at_work

    def odometry(self, world: Surroundings) -> Array:
        """Odometry x, y, yaw, v_x, omega of all vehicles, (B, 5), in the order of the world."""
        return self._working(world).odometry_of_all()

    def carry(self, world: Surroundings, vehicle: str) -> None:
        """Reset the motion history of a vehicle after a teleport, so that its odometry and inertial
        units do not register it."""
        self._working(world).carry(vehicle)

    def _read(self, turn: _Turn, work: Instruments, elapsed: s) -> None:
        lasers: dict[tuple[Any, ...], list[tuple[str, specs.Laser]]] = {}
        for owner, one in turn.sensors:
            if isinstance(one, specs.Laser):
                rays = (one.fov, one.nrays, one.angle_std_noise)
                ranges = (one.max_range, one.bodies_visible, one.range_std_noise)
                lasers.setdefault((one.name, *rays, *ranges), []).append((owner, one))
                continue
            reading = work.read(owner, one, turn.count, elapsed)
            if reading is not None:
                self._keep(owner, one.name, reading)
        for group in lasers.values():
            for (owner, one), scan in zip(group, work.scans(group, turn.count), strict=True):
                self._keep(owner, one.name, scan)

    def _keep(self, owner: str, name: str, reading: Any) -> None:
        self._latest[owner, name] = reading
        self.fresh.append((owner, name, reading))

    def of(self, vehicle: str) -> Mapping[str, Any]:
        """Latest readings of a vehicle's sensors by name; None before the first.

        The vehicle name "" stands for sensors fixed in the world.
        """
        if vehicle not in self._names:
            raise InvalidValue(unknown_name("World", vehicle, list(self._names), "vehicle"))
        return _Readings(self, vehicle)

    def names(self, vehicle: str) -> tuple[str, ...]:
        return self._names[vehicle]

    def latest(self, vehicle: str, sensor: str) -> Any:
        """Latest reading of a sensor, None before the first; see `NotSimulated`."""
        if (vehicle, sensor) in self._missing:
            return self._missing[vehicle, sensor]
        kind = self._kinds.get((vehicle, sensor), sensor)
        if self._at_work is None or kind not in specs.OWN_SENSORS or not vehicle:
            return self._latest.get((vehicle, sensor))
        read = self._at_work.bumper if kind == "bumper" else self._at_work.odometry
        return read(vehicle)

    def snapshot(self) -> Any:
        """Variable state of all sensors, and the seed."""
        turns = [(turn.last, turn.count) for turn in self._turns]
        work = None if self._at_work is None else self._at_work.snapshot()
        return self.seed, turns, dict(self._latest), work

    def restore(self, snapshot: Any, world: Surroundings) -> None:
        """Restore the state of a `snapshot` of the same world."""
        seed, turns, latest, work = snapshot
        for turn, (last, count) in zip(self._turns, turns, strict=True):
            turn.last, turn.count = last, count
        self._latest, self.fresh = dict(latest), []
        if work is None or seed != self.seed:
            self._at_work = None
        self.seed = seed
        if work is not None:
            self._at_work = self._at_work or Instruments(self._scene, seed, world)
            self._at_work.restore(work)


class _Readings(Mapping[str, Any]):
    """Mapping of one vehicle's readings, evaluated on access."""

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
        known = name in self._sensing.names(self._vehicle)
        return self[name] if known else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._sensing.names(self._vehicle))

    def __repr__(self) -> str:
        shown = (f"{name}: {type(reading).__name__}" for name, reading in self.items())
        return f"<readings of {self._vehicle or 'the world'}: {listed(list(shown)) or 'none'}>"

    def __len__(self) -> int:
        return len(self._sensing.names(self._vehicle))


class Instruments:
    """Sensor models of a running world, with their internal state."""

    def __init__(self, scene: Scene, seed: int, world: Surroundings) -> None:
        self._scene, self._seed, self._world = scene, seed, world
        self._upstream = scene.compat == "upstream"
        self._uncovered = Regions(scene, "gps_no_coverage")
        geo = scene.georeference
        self._origin: Origin | None = None
        if geo is not None:
            x_axis = geo.world_to_enu_rotation
            self._origin = Origin(geo.latitude, geo.longitude, geo.height, x_axis)
        self._inertial = any(isinstance(x, specs.Imu) for v in scene.vehicles for x in v.sensors)
        self._sight: Sight | None = None
        self._streams: dict[tuple[str, str], streams.Stream] = {}
        self._units: dict[tuple[str, str], Imu] = {}
        groups = {id(v.bodies): v.bodies for v in world.vehicles.values()}
        self._groups = list(groups.values())
        self._at = {key: k for k, key in enumerate(groups)}
        vehicles = {spec.name: spec for spec in scene.vehicles}
        self._reckoning = [
            self._dead_reckoning([vehicles[name] for name in bodies.group.names])
            for bodies in self._groups
        ]
        self._bias: dict[tuple[str, str], Array] = {}
        """Bias of each inertial unit: three specific forces, then three rates."""
        self._motions: list[Array] = []
        """Poses and velocities of the groups at the end of the previous step, (B, 6)."""

    def _dead_reckoning(self, vehicles: Sequence[VehicleSpec]) -> DeadReckoning:
        start = np.array([(spec.pose.x, spec.pose.y, spec.pose.yaw) for spec in vehicles])
        numbers = [number_of(spec.name) for spec in vehicles]
        drawn = 1.0 + SPREAD * streams.normals(self._seed, "odometry", 0, numbers, 3)[0]
        odometries = (spec.odometry for spec in vehicles)
        factors = [(o.x_multiplier, o.y_multiplier, o.yaw_multiplier) for o in odometries]
        given = np.array(factors, dtype=float)
        return DeadReckoning(start, np.where(np.isnan(given), drawn, given))

    def note(self) -> None:
        """Record the vehicles' poses at the end of a step, for odometry."""
        for bodies, reckoning in zip(self._groups, self._reckoning, strict=True):
            reckoning.note(bodies.poses)

    def remember(self) -> None:
        """Record the vehicles' motion at the end of a step, for the accelerations of the next."""
        if self._inertial:
            self._motions = [bodies.motions for bodies in self._groups]

    def carry(self, name: str) -> None:
        """Set the recorded motion of a vehicle to its current one, after a teleport."""
        vehicle = self._world.vehicles[name]
        k, motion = self._at[id(vehicle.bodies)], vehicle.bodies.motions[vehicle.row]
        self._reckoning[k].carry(vehicle.row, motion[:3])
        if self._motions:
            self._motions[k][vehicle.row] = motion

    def read(self, owner: str, one: specs.Sensor, count: int, elapsed: s) -> Any:
        """Reading of an inertial unit or a GNSS receiver; None without a vehicle or a position fix.

        `count` is its index, `elapsed` the time since the previous one in s.
        """
        if not owner:
            return None
        if isinstance(one, specs.Imu):
            return self._inertial_reading(owner, one, count, elapsed)
        assert isinstance(one, specs.Gnss)
        return self._fix(owner, one, count)

    def _motion(self, owner: str) -> Motion:
        """Motion of a vehicle, with accelerations from differences over the last step."""
        vehicle, dt = self._world.vehicles[owner], self._world.dt
        x, y, z, yaw, pitch, roll, v_x, v_y, omega = vehicle.truth
        motion = Motion(
            x=x, y=y, z=z, roll=roll, pitch=pitch, yaw=yaw, v_x=v_x, v_y=v_y, omega=omega
        )
        if not self._motions:
            return motion
        before = self._motions[self._at[id(vehicle.bodies)]][vehicle.row]
        now = (x, y, yaw, v_x, v_y, omega)
        a_x, a_y, omega_rate = mean_acceleration(before.tolist(), now, dt)
        a_z = 0.0
        if self._world.is_flying(owner):
            # The vehicle falls, so the specific force of standing on the ground is absent.
            g = self._scene.settings.gravity
            fall_x, fall_y = down(pitch, roll)
            a_x, a_y, a_z = a_x + g * fall_x, a_y + g * fall_y, -g * cos(pitch) * cos(roll)
        return motion._replace(a_x=a_x, a_y=a_y, a_z=a_z, omega_rate=omega_rate)

    def _inertial_reading(
        self, owner: str, one: specs.Imu, count: int, elapsed: s
    ) -> InertialReading:
        motion = self._motion(owner)
        if (owner, one.name) not in self._units:
            # Upstream places every inertial unit at the reference point, aligned with the vehicle.
            mounting = Mounting() if self._upstream else mounting_of(one)
            unit = Imu(mounting=mounting, g=self._scene.settings.gravity)
            self._units[owner, one.name] = unit
        true = self._units[owner, one.name].measure(motion)[:6]
        drawn = self._normals(owner, f"{one.name}.inertial", count, 15)
        walk = _six(one.linear_acceleration_random_walk, one.angular_velocity_random_walk)
        white = _six(one.linear_acceleration_white_noise, one.angular_velocity_white_noise)
        # In upstream, biases walk by one step per reading, however long ago the previous reading
        # was.
        since = self._world.dt if self._upstream else elapsed
        bias = self._bias.get((owner, one.name), np.zeros(6)) + walk * since**0.5 * drawn[:6]
        self._bias[owner, one.name] = bias
        shown = (np.array(true) + bias + white * drawn[6:12]).tolist()
        attitude = (nan, nan, nan)
        if one.measure_orientation:
            noise = (one.orientation_std_noise * drawn[12:]).tolist()
            attitude = motion.roll + noise[0], motion.pitch + noise[1], motion.yaw + noise[2]
        return InertialReading._make((*shown, *attitude, self._world.time))

    def _fix(self, owner: str, one: specs.Gnss, count: int) -> GnssReading | None:
        if self._origin is None:
            return None
        motion = self._motion(owner)
        at = antenna_motion(motion, mounting_of(one).position).position
        if self._uncovered and self._uncovered.at(*self._looked_up(at)):
            return None
        drawn = self._normals(owner, f"{one.name}.fix", count, 3).tolist()
        spread = (one.horizontal_std_noise, one.horizontal_std_noise, one.vertical_std_noise)
        x, y, z = (v + s * d for v, s, d in zip(at, spread, drawn, strict=True))
        geo = self._scene.georeference
        if geo is not None and geo.world_is_utm:
            # UTM zones have equal width, as in upstream, without the exceptions around Norway.
            zone = geo.utm_zone or utm_zone(0.0, geo.longitude)
            place = Place(*from_utm(x, y, zone, geo.latitude < 0.0), geo.height + z)
        else:
            place = place_in_world(self._origin, x, y, z)
        return GnssReading(x, y, z, nan, nan, nan, nan, *place, self._world.time)

    def _looked_up(self, at: Any) -> tuple[m, m, m]:
        """Position at which the region of an antenna is looked up.

        Upstream looks up the point rotated into east and north axes, as if those of the regions
        were rotated, too.
        """
        geo = self._scene.georeference
        turn = geo.world_to_enu_rotation if self._upstream and geo is not None else 0.0
        return *rotated(at.x, at.y, turn), at.z

    def _normals(self, owner: str, channel: str, count: int, width: int) -> Array:
        stream = self._streams.get((owner, channel))
        if stream is None:
            number = number_of(owner)
            stream = streams.Stream(streams.normals, self._seed, channel, number, width)
            self._streams[owner, channel] = stream
        return stream.rows(np.array([count]))[0, 0]

    def scans(self, lasers: list[tuple[str, specs.Laser]], count: int) -> list[Scan]:
        """Scans of lasers that differ only in their mounting poses."""
        if self._sight is None:
            self._sight = Sight(self._scene, self._world)
        like = lasers[0][1]
        angles = np.linspace(-0.5 * like.fov, 0.5 * like.fov, like.nrays)
        if like.nrays == 1:
            angles[:] = 0.0
        owners = [owner for owner, _ in lasers]
        poses = self._poses(owners, [one for _, one in lasers])
        noisy = like.angle_std_noise > 0.0
        jitter = like.angle_std_noise * self._noise("angle", lasers, count) if noisy else None
        ranges = self._sight.ranges(poses, owners, angles, like, jitter)
        if like.range_std_noise > 0.0:
            # Noise does not make a range negative; infinite ranges stay infinite.
            noise = like.range_std_noise * self._noise("range", lasers, count)
            ranges = np.maximum(ranges + noise, 0.0)
        angles.flags.writeable = False
        return [Scan(row, self._world.time, angles) for row in ranges]

    def _noise(self, of: str, lasers: list[tuple[str, specs.Laser]], count: int) -> Array:
        """Standard normal numbers (B, rays) for lasers that differ only in their owners."""
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
        return Bumper(self._world.vehicles[vehicle].in_collision, self._world.time)

    def odometry(self, name: str) -> WheelOdometry:
        vehicle = self._world.vehicles[name]
        body = vehicle.bodies.body
        velocity = (body.odometry or body.velocity)(vehicle.state, vehicle.input, vehicle.params)
        poses = self._reckoning[self._at[id(vehicle.bodies)]].poses()
        x, y, yaw = poses[vehicle.row].tolist()
        v_x, omega = float(velocity.v_x), float(velocity.omega)
        return WheelOdometry(x, y, yaw, v_x, omega, self._world.time)

    def odometry_of_all(self) -> Array:
        """Odometry of all vehicles at once, (B, 5): x, y, yaw, v_x, omega."""
        rows = [np.empty((0, 5))]
        for bodies, reckoning in zip(self._groups, self._reckoning, strict=True):
            body = bodies.body
            velocity = (body.odometry or body.velocity)(bodies.x, bodies.u, bodies.p)
            table = np.empty((len(bodies.group.names), 5))
            table[:, :3] = reckoning.poses()
            table[:, 3], table[:, 4] = velocity.v_x, velocity.omega
            rows.append(table)
        return np.concatenate(rows)

    def snapshot(self) -> Any:
        memory = copy.deepcopy((self._bias, self._motions))
        return memory, [reckoning.snapshot() for reckoning in self._reckoning]

    def restore(self, snapshot: Any) -> None:
        memory, reckoned = snapshot
        self._bias, self._motions = copy.deepcopy(memory)
        for reckoning, before in zip(self._reckoning, reckoned, strict=True):
            reckoning.restore(before)


class DeadReckoning:
    """Odometry poses of the vehicles of a group, from poses (B, 3) recorded in every step.

    Each step's motion in the vehicle frame is multiplied by its scale factors and added to the
    pose. To keep a world step cheap, poses are buffered, and many steps are integrated at once.
    """

    def __init__(self, start: Array, factors: Array) -> None:
        self._factors = factors
        self._noted: list[Array] = [start.copy()]
        # Upstream's odometry starts at the vehicle's own origin, wherever that is in the world.
        self._pose = np.zeros_like(start)

    def note(self, poses: Array) -> None:
        self._noted.append(poses)
        if len(self._noted) > _MOST:
            self._reckon()

    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3) from the start, yaw not wrapped; later calls overwrite the
        array."""
        self._reckon()
        return self._pose

    def carry(self, row: int, pose: Sequence[float]) -> None:
        """Account for a teleport, which does not change the odometry."""
        self._reckon()
        self._noted[-1][row] = pose

    def _reckon(self) -> None:
        if len(self._noted) < 2:
            return
        poses = np.array(self._noted)
        self._noted = [poses[-1]]
        moved = poses[1:] - poses[:-1]
        ahead, left = unrotated(moved[:, :, 0], moved[:, :, 1], poses[:-1, :, 2])
        # Poses and steps are stacked and summed one after the other, so that the bits do not depend
        # on when the pose is read.
        way = np.empty_like(poses)
        way[0] = self._pose
        k_x, k_y, k_yaw = self._factors.T
        way[1:, :, 2] = k_yaw * moved[:, :, 2]
        yaw = np.cumsum(way[:, :, 2], axis=0)
        way[1:, :, 0], way[1:, :, 1] = rotated(k_x * ahead, k_y * left, yaw[:-1])
        self._pose = np.cumsum(way, axis=0)[-1]

    def snapshot(self) -> Any:
        self._reckon()
        return self._noted[-1].copy(), self._pose.copy()

    def restore(self, snapshot: Any) -> None:
        last, pose = snapshot
        self._noted, self._pose = [last.copy()], pose.copy()


def mounting_of(one: specs.Sensor) -> Mounting:
    """Mounting of a sensor on its vehicle from the file."""
    p = one.pose
    return Mounting(p.x, p.y, p.z, p.roll, p.pitch, p.yaw)


def _six(forces: float, rates: float) -> Array:
    return np.array([forces] * 3 + [rates] * 3)


def number_of(name: str) -> int:
    """A 32-bit hash of a vehicle's name, independent of other vehicles."""
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest(), "little")
