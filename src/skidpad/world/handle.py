"""One vehicle of a world, as its user sees it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import record
from ..controllers import keyboard
from ..units import m, m_s, rad, rad_s
from .motion.bodies import Bodies
from .motion.build import Built
from .scene.scene import OwnDynamics

if TYPE_CHECKING:
    from .world import World


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


class WorldVehicle:
    """A vehicle that a world steps; `bodies` and `row` say where its state lies."""

    def __init__(self, world: World, name: str, bodies: Bodies, row: int, made: Built) -> None:
        self._world, self.name = world, name
        self.bodies, self.row = bodies, row
        self.built = made

    @property
    def state(self) -> Any:
        """Its State record."""
        group = self.bodies.group
        return record.unflatten(group.model.State, group.state[self.row].tolist())

    @property
    def truth(self) -> Truth:
        """Pose and velocity of its reference point."""
        x, y, yaw = self.bodies.poses[self.row].tolist()
        z, pitch, roll = self._world.attitude(self.name)
        return Truth(x, y, z, yaw, pitch, roll, *self.bodies.velocity(self.row))

    @property
    def input(self) -> Any:
        """What it is commanded, an Input record."""
        group = self.bodies.group
        return record.unflatten(group.model.Input, group.inputs[self.row].tolist())

    def command(self, given: Any = None, /, **fields: float) -> Any:
        """Command it from now on; returns the Input record. What is not given stays."""
        group = self.bodies.group
        wanted = record.build(group.model.Input, given, base=self.input, **fields)
        group.inputs[self.row] = record.flatten(wanted)
        return wanted

    def press(self, key: str) -> Any:
        """Change what it is commanded as one press of a key does; returns the Input record.

        w and s: faster and slower, a and d: to the left and right, space: stop; by how much, see
        `controllers.keyboard`.
        """
        params = self.built.vehicle.params
        limits = (
            getattr(params, name, None) for name in ("steer_max", "steer_lim", "curvature_max")
        )
        most = next((limit for limit in limits if limit is not None), inf)
        return self.command(keyboard.pressed(self.input, key, self._steps, most))

    @property
    def _steps(self) -> keyboard.Steps:
        spec = next(spec for spec in self._world.scene.vehicles if spec.name == self.name)
        if isinstance(spec.dynamics, OwnDynamics):
            return keyboard.OWN
        return keyboard.steps_of(spec.dynamics.kind, spec.dynamics.control.kind)

    def outputs(self) -> Any:
        """Its Outputs record: odometry, loads and slip of a wheeled vehicle."""
        return self.bodies.group.outputs(self.row)

    @property
    def sensors(self) -> Mapping[str, Any]:
        """Latest readings of its sensors by name; None of one that has none yet."""
        return self._world.sensing.of(self.name)

    @property
    def in_collision(self) -> bool:
        """Whether it touches something or is nearer to it than the file's collision_threshold."""
        return self._world.in_collision(self.name)

    def __repr__(self) -> str:
        t = self.truth
        return f"<{self.name}: x = {t.x:.2f} m, y = {t.y:.2f} m, yaw = {t.yaw:.2f} rad>"
