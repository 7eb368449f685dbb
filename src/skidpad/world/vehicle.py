"""User interface of one vehicle of a world, and vehicles that follow a path by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import atan, copysign, fmod, hypot
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..control import keyboard
from ..control.pure_pursuit import arc
from ..core import record
from ..core.body import Demand, Pose, Velocity
from ..core.checks import instance_of
from ..core.model import Vehicle
from ..geometry.line import arc_length
from ..geometry.pose import to_body
from ..run.arguments import AngleEnd, angle_ends, check_row
from ..units import m, m_s, rad, rad_s, s
from .contact.solids import Moving
from .motion.build import BuiltVehicle
from .motion.groups import Bodies, check_sizes
from .scene import Scene, TimedPath


class Truth(NamedTuple):
    """True pose and velocity of a vehicle."""

    x: m
    y: m
    z: m
    yaw: rad
    pitch: rad
    roll: rad
    v_x: m_s
    """Longitudinal velocity."""
    v_y: m_s
    """Lateral velocity, positive to the left."""
    omega: rad_s


class Surroundings(Protocol):
    """Interface of a world to its vehicles and sensors; see `World`."""

    @property
    def time(self) -> s: ...
    @property
    def dt(self) -> s: ...
    @property
    def vehicles(self) -> Mapping[str, WorldVehicle]: ...
    def block(self, name: str) -> Moving: ...
    def attitude(self, name: str) -> tuple[m, rad, rad]: ...
    def is_flying(self, name: str) -> bool: ...
    def in_collision(self, name: str) -> bool: ...
    def readings(self, name: str) -> Mapping[str, Any]: ...


class WorldVehicle:
    """A vehicle of a world; `bodies` and `row` locate its state."""

    def __init__(
        self,
        world: Surroundings,
        name: str,
        bodies: Bodies,
        row: int,
        built: BuiltVehicle,
        steps: keyboard.Steps = keyboard.OWN,
    ) -> None:
        self._world, self.name = world, name
        self.bodies, self.row = bodies, row
        self.built = built
        self._steps = steps

    @property
    def vehicle(self) -> Vehicle:
        """Model and initial parameters."""
        return self.built.vehicle

    @cached_property
    def _angles(self) -> tuple[AngleEnd, ...]:
        return angle_ends(self.vehicle)

    @property
    def state(self) -> Any:
        """State record of the vehicle."""
        return self.bodies.group.record("State", self.row)

    @property
    def params(self) -> Any:
        """Current Params record of the vehicle."""
        return self.bodies.group.record("Params", self.row)

    @property
    def truth(self) -> Truth:
        """Pose and velocity of its reference point."""
        (x, y, yaw), velocity = self.bodies.motion(self.row)
        z, pitch, roll = self._world.attitude(self.name)
        return Truth(x, y, z, yaw, pitch, roll, *velocity)

    @property
    def input(self) -> Any:
        """Current Input record of the vehicle."""
        return self.bodies.group.record("Input", self.row)

    def command(self, command: Any = None, /, **fields: float) -> Any:
        """Set its command from now on; returns the Input record. Fields that are not named stay.

        An angle beyond twice the range of its actuator is rejected, as it may be in degrees; so is
        any number beyond 1e7 in SI units.
        """
        group = self.bodies.group
        inputs = record.build(group.model.Input, command, base=self.input, **fields)
        check_sizes(f"input of {self.name}", inputs)
        row = record.flatten(inputs)
        check_row(self._angles, row)
        group.inputs[self.row] = row
        return inputs

    def drive(self, demand: Demand) -> Any:
        """Set its command to meet a demand from its current state; returns the Input record."""
        instance_of("demand", demand, Demand)
        check_sizes(f"demand for {self.name}", demand)
        return self.command(self.bodies.body.command(self.state, demand, self.params))

    def press(self, key: str) -> Any:
        """Change its command as one key press does; returns the Input record.

        w and s: faster and slower, a and d: to the left and right, space: stop; `control.keyboard`
        has the steps. Inputs stay within the vehicle's limits.
        """
        inputs = keyboard.pressed(self.input, key, self._steps)
        ranges = self.bodies.body.limits(self.params).inputs
        within = {
            name: min(max(getattr(inputs, name), low), high) for name, (low, high) in ranges.items()
        }
        return self.command(inputs._replace(**within))

    def outputs(self) -> Any:
        """Outputs record of the vehicle, such as loads and slip of its wheels."""
        return self.bodies.group.outputs(self.row)

    @property
    def sensors(self) -> Mapping[str, Any]:
        """Latest readings of its sensors by name; None before the first.

        A sensor that is not simulated has a `NotSimulated`, which is false and gives the reason.
        """
        return self._world.readings(self.name)

    @property
    def in_collision(self) -> bool:
        """Whether it touches something or is closer to it than the file's collision_threshold."""
        return self._world.in_collision(self.name)

    def __repr__(self) -> str:
        t = self.truth
        return f"<{self.name}: x = {t.x:.2f} m, y = {t.y:.2f} m, yaw = {t.yaw:.2f} rad>"


_ARRIVED: m = 1e-3
"""Distance of the look-ahead point below which its direction is undefined."""
_SPEED_TIME: s = 0.5
"""Time constant in which vehicles that take acceleration commands reach the speed of the
path."""


class Route:
    """A timed path, and the pure pursuit that follows it.

    As upstream's `PoseTrajectoryFollower` (MVSim after 1.2): the speed is the current speed of
    the path, and pure pursuit (Coulter, CMU-RI-TR-92-01) gives the yaw rate of the circle
    through a point further along the path. The look-ahead is measured from the path's point at
    the current time, not from the vehicle, so that a vehicle inside of a corner does not skip a
    part of the path.
    """

    def __init__(self, path: TimedPath) -> None:
        self._path = path
        self._times, x, y = (
            np.array(column, dtype=float) for column in zip(*path.points, strict=True)
        )
        self._places = np.column_stack([x, y])
        self._lengths = arc_length(self._places)

    def twist(self, time: s, x: m, y: m, yaw: rad) -> tuple[m_s, rad_s]:
        """Speed and yaw rate that steer a vehicle at a pose."""
        along, speed = self._at(time)
        if speed == 0.0:
            return 0.0, 0.0
        ahead, left = to_body((x, y, yaw), *self._point(along + self._path.lookahead))
        if hypot(ahead, left) < _ARRIVED:
            return speed, 0.0
        omega = speed * arc(ahead, left, _ARRIVED)
        limit = self._path.omega_max
        if limit > 0.0 and abs(omega) > limit:
            # Slower and not wider: the circle stays.
            return speed * limit / abs(omega), copysign(limit, omega)
        return speed, omega

    def demand(self, time: s, pose: Pose, velocity: Velocity, wheel_base: m) -> Demand:
        """Demand that leads a vehicle along the path, for any kind of command."""
        v, omega = self.twist(time, *pose)
        steer = atan(wheel_base * omega / v) if v else 0.0
        return Demand(steer=steer, a=(v - velocity.v_x) / _SPEED_TIME, v=v, omega=omega)

    def _at(self, time: s) -> tuple[m, m_s]:
        """Distance along the path and speed at a time."""
        first, last = self._times[0], self._times[-1]
        if self._path.loop:
            time = first + (time - first) % (last - first)
        elif time >= last:
            return float(self._lengths[-1]), 0.0
        time = max(time, first)
        leg = min(max(int(np.searchsorted(self._times, time)) - 1, 0), len(self._times) - 2)
        duration = self._times[leg + 1] - self._times[leg]
        length = self._lengths[leg + 1] - self._lengths[leg]
        share = (time - self._times[leg]) / duration
        return float(self._lengths[leg] + share * length), float(length / duration)

    def _point(self, along: m) -> tuple[m, m]:
        """Point of the path at a distance along it."""
        total = float(self._lengths[-1])
        along = fmod(along, total) if self._path.loop else min(along, total)
        x, y = (float(np.interp(along, self._lengths, column)) for column in self._places.T)
        return x, y


class Following:
    def __init__(self, scene: Scene, vehicles: Mapping[str, WorldVehicle]) -> None:
        self._all = [
            (vehicles[spec.name], Route(spec.path))
            for spec in scene.vehicles
            if spec.path is not None
        ]

    def command(self, time: s) -> None:
        """Command each vehicle to follow its path from its current pose."""
        for vehicle, route in self._all:
            motion = vehicle.bodies.motion(vehicle.row)
            vehicle.drive(route.demand(time, *motion, vehicle.built.geometry.wheel_base))
