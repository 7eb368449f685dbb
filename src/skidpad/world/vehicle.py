"""One vehicle of a world, as its user sees it, and vehicles that follow a path by themselves."""

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
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.line import arc_length
from ..geometry.pose import to_body
from ..run.arguments import AngleEnd, angle_ends, check_row
from ..units import m, m_s, rad, rad_s, s
from .contact.solids import Moving
from .motion.build import BuiltVehicle
from .motion.groups import Bodies, check_sizes
from .scene import Scene, TimedPath


class Truth(NamedTuple):
    """Where a vehicle is and how it moves."""

    x: m
    y: m
    z: m
    yaw: rad
    pitch: rad
    roll: rad
    v_x: m_s
    """Along the vehicle."""
    v_y: m_s
    """Across it, positive to the left."""
    omega: rad_s


class Surroundings(Protocol):
    """The parts of a world that vehicles and sensors use."""

    @property
    def time(self) -> s:
        """Time since the start."""
        ...

    @property
    def dt(self) -> s:
        """Length of a step."""
        ...

    @property
    def vehicles(self) -> Mapping[str, WorldVehicle]:
        """The vehicles by name."""
        ...

    def block(self, name: str) -> Moving:
        """Pose and velocity of a block or an actor, in world axes."""
        ...

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle on its ground."""
        ...

    def is_flying(self, name: str) -> bool:
        """Whether a vehicle touches the ground with no wheel."""
        ...

    def in_collision(self, name: str) -> bool:
        """Whether something touches something or nearly does."""
        ...

    def readings(self, name: str) -> Mapping[str, Any]:
        """Latest readings of a vehicle's sensors."""
        ...


class WorldVehicle:
    """A vehicle that a world steps; `bodies` and `row` say where its state lies."""

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
        """Model and parameters, as the world began with them."""
        return self.built.vehicle

    @cached_property
    def _angles(self) -> tuple[AngleEnd, ...]:
        return angle_ends(self.vehicle)

    @property
    def state(self) -> Any:
        """State record of the vehicle."""
        group = self.bodies.group
        return record.unflatten(group.model.State, group.state[self.row].tolist())

    @property
    def params(self) -> Any:
        """Present Params record of the vehicle."""
        group = self.bodies.group
        return record.unflatten(group.model.Params, group.params[self.row].tolist())

    @property
    def truth(self) -> Truth:
        """Pose and velocity of its reference point."""
        (x, y, yaw), velocity = self.bodies.motion(self.row)
        z, pitch, roll = self._world.attitude(self.name)
        return Truth(x, y, z, yaw, pitch, roll, *velocity)

    @property
    def input(self) -> Any:
        """Present command of the vehicle, an Input record."""
        group = self.bodies.group
        return record.unflatten(group.model.Input, group.inputs[self.row].tolist())

    def command(self, command: Any = None, /, **fields: float) -> Any:
        """Command it from now on; returns the Input record. Fields that are not named stay.

        An angle beyond twice the range of its actuator is refused, as it may be in degrees; so is
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
        """Command it to meet a demand from its present state; returns the Input record."""
        if not isinstance(demand, Demand):
            raise InvalidValue(f"demand must be a Demand, got a {type(demand).__qualname__}")
        check_sizes(f"demand for {self.name}", demand)
        return self.command(self.bodies.body.command(self.state, demand, self.params))

    def press(self, key: str) -> Any:
        """Change its command as one press of a key does; returns the Input record.

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

        A sensor that is not simulated shows a `NotSimulated`, which is false and says why.
        """
        return self._world.readings(self.name)

    @property
    def in_collision(self) -> bool:
        """Whether it touches something or is nearer to it than the file's collision_threshold."""
        return self._world.in_collision(self.name)

    def __repr__(self) -> str:
        t = self.truth
        return f"<{self.name}: x = {t.x:.2f} m, y = {t.y:.2f} m, yaw = {t.yaw:.2f} rad>"


_ARRIVED: m = 1e-3
"""Distance of the point ahead below which it says nothing about the direction."""
_SPEED_TIME: s = 0.5
"""In which vehicles that are commanded an acceleration get to the speed of the path."""


class Route:
    """A path in time, and the motion that follows it.

    As upstream's `PoseTrajectoryFollower` (MVSim after 1.2): the speed is that of the path at the
    moment, and pure pursuit (Coulter, CMU-RI-TR-92-01) gives the yaw rate that leads on a circle
    through a point further along the path. The point is taken ahead of where the path is at the
    time, not of where the vehicle is, so that a vehicle inside of a corner does not skip a part of
    the path.
    """

    def __init__(self, path: TimedPath) -> None:
        self._path = path
        self._times, x, y = (
            np.array(column, dtype=float) for column in zip(*path.points, strict=True)
        )
        self._places = np.column_stack([x, y])
        self._lengths = arc_length(self._places)

    def twist(self, time: s, x: m, y: m, yaw: rad) -> tuple[m_s, rad_s]:
        """Speed and yaw rate for a vehicle at a pose."""
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
        """The demand that leads a vehicle along the path, for any kind of command."""
        v, omega = self.twist(time, *pose)
        steer = atan(wheel_base * omega / v) if v else 0.0
        return Demand(steer=steer, a=(v - velocity.v_x) / _SPEED_TIME, v=v, omega=omega)

    def _at(self, time: s) -> tuple[m, m_s]:
        """Length of the path so far and its speed at a time."""
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
        """The point of the path after a length of it."""
        total = float(self._lengths[-1])
        along = fmod(along, total) if self._path.loop else min(along, total)
        x, y = (float(np.interp(along, self._lengths, column)) for column in self._places.T)
        return x, y


class Following:
    """The vehicles of a world that follow paths."""

    def __init__(self, scene: Scene, vehicles: Mapping[str, WorldVehicle]) -> None:
        self._all = [
            (vehicles[spec.name], Route(spec.path))
            for spec in scene.vehicles
            if spec.path is not None
        ]

    def command(self, time: s) -> None:
        """Give each vehicle the motion that follows its path from where it is."""
        for vehicle, route in self._all:
            motion = vehicle.bodies.motion(vehicle.row)
            vehicle.drive(route.demand(time, *motion, vehicle.built.geometry.wheel_base))
