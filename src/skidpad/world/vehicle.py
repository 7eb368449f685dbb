"""One vehicle of a world, as its user sees it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from ..control import keyboard
from ..core import record
from ..core.body import Demand
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..run.arguments import AngleEnd, angle_ends, check_row
from ..units import m, m_s, rad, rad_s, s
from .contact.solids import Moving
from .motion.build import BuiltVehicle
from .motion.groups import Bodies, check_sizes


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
    """What a vehicle and its sensors may ask of the world around them."""

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
        """Its State record."""
        group = self.bodies.group
        return record.unflatten(group.model.State, group.state[self.row].tolist())

    @property
    def params(self) -> Any:
        """Its Params record, as it is now."""
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
        """What it is commanded, an Input record."""
        group = self.bodies.group
        return record.unflatten(group.model.Input, group.inputs[self.row].tolist())

    def command(self, command: Any = None, /, **fields: float) -> Any:
        """Command it from now on; returns the Input record. What is not named stays.

        An angle of more than twice what its actuator can do is refused: degrees? So is any number
        beyond 1e7 in SI units.
        """
        group = self.bodies.group
        inputs = record.build(group.model.Input, command, base=self.input, **fields)
        check_sizes(f"input of {self.name}", inputs)
        row = record.flatten(inputs)
        check_row(self._angles, row)
        group.inputs[self.row] = row
        return inputs

    def drive(self, demand: Demand) -> Any:
        """Command what brings about a demand from where it is now; returns the Input record."""
        if not isinstance(demand, Demand):
            raise InvalidValue(f"demand must be a Demand, got a {type(demand).__qualname__}")
        check_sizes(f"demand for {self.name}", demand)
        return self.command(self.bodies.body.command(self.state, demand, self.params))

    def press(self, key: str) -> Any:
        """Change what it is commanded as one press of a key does; returns the Input record.

        w and s: faster and slower, a and d: to the left and right, space: stop; by how much, see
        `controllers.keyboard`. Inputs stay within the vehicle's limits.
        """
        inputs = keyboard.pressed(self.input, key, self._steps)
        ranges = self.bodies.body.limits(self.params).inputs
        within = {
            name: min(max(getattr(inputs, name), low), high) for name, (low, high) in ranges.items()
        }
        return self.command(inputs._replace(**within))

    def outputs(self) -> Any:
        """Its Outputs record: odometry, loads and slip of a wheeled vehicle."""
        return self.bodies.group.outputs(self.row)

    @property
    def sensors(self) -> Mapping[str, Any]:
        """Latest readings of its sensors by name; None of one that has none yet.

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
