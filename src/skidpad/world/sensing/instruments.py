"""What inertial units and satellite receivers show in a world, and records of other readings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import cos, nan
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...plane.geodesy import Origin, Place, from_utm, place_in_world, utm_zone
from ...plane.pose import rotated
from ...random import streams
from ...sensing.gnss import GnssReading, antenna_motion
from ...sensing.imu import Imu
from ...sensing.motion import Motion
from ...sensing.mounting import Mounting
from ...units import m, m_s, m_s2, rad, rad_s, s
from ..ground.ground import down
from ..ground.regions import Regions
from ..handle import Surroundings, WorldVehicle
from ..motion.bodies import mean_acceleration
from ..scene import sensors as specs
from ..scene.scene import Scene


class InertialReading(NamedTuple):
    """What an inertial unit shows, along its own axes."""

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
    """Of the vehicle, positive with the right side down; NaN if the unit does not measure it."""
    pitch: rad
    """Of the vehicle, positive with the nose down."""
    yaw: rad
    """Of the vehicle, from the world's x axis, positive to the left."""
    stamp: s


class WheelOdometry(NamedTuple):
    """Where a vehicle thinks it is, and how fast its wheels say it moves."""

    x: m
    """From where it started, along its heading there."""
    y: m
    """From where it started, to the left of its heading there."""
    yaw: rad
    """From its heading at the start, positive to the left, not wrapped."""
    v_x: m_s
    """Along the vehicle, as the wheels tell it."""
    omega: rad_s
    """Positive to the left, as the wheels tell it."""
    stamp: s


class Bumper(NamedTuple):
    """Whether a vehicle touches something."""

    touching: bool
    stamp: s


@dataclass
class InstrumentMemory:
    """What instruments carry from one reading to the next."""

    bias: dict[tuple[str, str], Array] = field(default_factory=dict)
    """Of each inertial unit: of its three forces, then of its three rates."""
    motions: list[Array] = field(default_factory=list)
    """Poses and velocities of the groups of vehicles at the end of the step before, (B, 6)."""


class Instruments:
    """The inertial units and satellite receivers of a world."""

    def __init__(
        self, scene: Scene, seed: int, world: Surroundings, number_of: Callable[[str], int]
    ) -> None:
        self._scene, self._seed, self._world = scene, seed, world
        self._number_of = number_of
        self._upstream = scene.compat == "upstream"
        self._uncovered = Regions(scene, "gps_no_coverage")
        geo = scene.georeference
        self._origin = (
            None
            if geo is None
            else Origin(geo.latitude, geo.longitude, geo.height, geo.world_to_enu_rotation)
        )
        self._inertial = any(isinstance(x, specs.Imu) for v in scene.vehicles for x in v.sensors)
        groups = {id(v.bodies): v.bodies for v in world.vehicles.values()}
        self._groups = list(groups.values())
        self._at = {key: k for k, key in enumerate(groups)}
        self._streams: dict[tuple[str, str], streams.Stream] = {}
        self._units: dict[tuple[str, str], Imu] = {}
        self.memory = InstrumentMemory()

    def remember(self) -> None:
        """Note how vehicles move at the end of a step, for the accelerations of the next."""
        if self._inertial:
            self.memory.motions = [bodies.motions for bodies in self._groups]

    def carry(self, vehicle: WorldVehicle, motion: Array) -> None:
        """Let a vehicle have moved so before too: it was put elsewhere, not accelerated."""
        if self.memory.motions:
            self.memory.motions[self._at[id(vehicle.bodies)]][vehicle.row] = motion

    def read(self, owner: str, one: specs.Sensor, count: int, elapsed: s) -> Any:
        """A reading; None where there is nothing to read.

        `count` is its number, `elapsed` the time since the one before in s.
        """
        if not owner:
            return None
        if isinstance(one, specs.Imu):
            return self._inertial_reading(owner, one, count, elapsed)
        assert isinstance(one, specs.Gnss)
        return self._fix(owner, one, count)

    def _motion(self, owner: str) -> Motion:
        """How a vehicle moves; its accelerations are differences over the last step."""
        vehicle, dt = self._world.vehicles[owner], self._world.dt
        x, y, z, yaw, pitch, roll, v_x, v_y, omega = vehicle.truth
        motion = Motion(
            x=x, y=y, z=z, roll=roll, pitch=pitch, yaw=yaw, v_x=v_x, v_y=v_y, omega=omega
        )
        if not self.memory.motions:
            return motion
        before = self.memory.motions[self._at[id(vehicle.bodies)]][vehicle.row]
        now = (x, y, yaw, v_x, v_y, omega)
        a_x, a_y, omega_rate = mean_acceleration(before.tolist(), now, dt)
        a_z = 0.0
        if self._world.is_flying(owner):
            # It falls: what is felt on the ground as specific force is gone.
            g = self._scene.settings.gravity
            fall_x, fall_y = down(pitch, roll)
            a_x, a_y, a_z = a_x + g * fall_x, a_y + g * fall_y, -g * cos(pitch) * cos(roll)
        return motion._replace(a_x=a_x, a_y=a_y, a_z=a_z, omega_rate=omega_rate)

    def _inertial_reading(
        self, owner: str, one: specs.Imu, count: int, elapsed: s
    ) -> InertialReading:
        motion = self._motion(owner)
        if (owner, one.name) not in self._units:
            # Upstream has every unit at the reference point and along the vehicle.
            mounting = Mounting() if self._upstream else mounting_of(one)
            unit = Imu(mounting=mounting, g=self._scene.settings.gravity)
            self._units[owner, one.name] = unit
        true = self._units[owner, one.name].measure(motion)[:6]
        drawn = self._normals(owner, f"{one.name}.inertial", count, 15)
        walk = _six(one.linear_acceleration_random_walk, one.angular_velocity_random_walk)
        white = _six(one.linear_acceleration_white_noise, one.angular_velocity_white_noise)
        # The bias of upstream's units walks for one step, however long ago the last reading was.
        since = self._world.dt if self._upstream else elapsed
        bias = self.memory.bias.get((owner, one.name), np.zeros(6)) + walk * since**0.5 * drawn[:6]
        self.memory.bias[owner, one.name] = bias
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
        x = at.x + one.horizontal_std_noise * drawn[0]
        y = at.y + one.horizontal_std_noise * drawn[1]
        z = at.z + one.vertical_std_noise * drawn[2]
        geo = self._scene.georeference
        if geo is not None and geo.world_is_utm:
            # Zones of one width: the wider ones around Norway are not upstream's.
            zone = geo.utm_zone or utm_zone(0.0, geo.longitude)
            place = Place(*from_utm(x, y, zone, geo.latitude < 0.0), geo.height + z)
        else:
            place = place_in_world(self._origin, x, y, z)
        return GnssReading(x, y, z, nan, nan, nan, nan, *place, self._world.time)

    def _looked_up(self, at: Any) -> tuple[m, m, m]:
        """Where an antenna is taken to be among the regions.

        Upstream asks for the point turned into the axes east and north, as if those of the regions
        were so too.
        """
        geo = self._scene.georeference
        turn = geo.world_to_enu_rotation if self._upstream and geo is not None else 0.0
        return *rotated(at.x, at.y, turn), at.z

    def _normals(self, owner: str, channel: str, count: int, width: int) -> Array:
        stream = self._streams.get((owner, channel))
        if stream is None:
            number = self._number_of(owner)
            stream = streams.Stream(streams.normals, self._seed, channel, number, width)
            self._streams[owner, channel] = stream
        return stream.rows(np.array([count]))[0, 0]


def mounting_of(one: specs.Sensor) -> Mounting:
    """Where a file puts a sensor on its vehicle."""
    p = one.pose
    return Mounting(p.x, p.y, p.z, p.roll, p.pitch, p.yaw)


def _six(forces: float, rates: float) -> Array:
    return np.array([forces] * 3 + [rates] * 3)
