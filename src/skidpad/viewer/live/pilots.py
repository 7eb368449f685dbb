"""Who drives each vehicle: keys, what its file says, or a follower of a line."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Any

from ... import record
from ...errors import InvalidValue
from ...plane.pose import Pose
from ...stage import Line
from ...units import s
from ...world.handle import WorldVehicle
from ...world.motion.following import Route
from ...world.scene.vehicle import TimedPath
from .abilities import abilities_of
from .driving import Axes, Held, Motion, drivable, inputs_for, keyed, stopped
from .line_follower import LineFollower

KEYBOARD, FILE, PATH = "keyboard", "file", "path"


class Pilot:
    """What drives one vehicle of a world.

    Args:
        vehicle: as the world has it.
        path: what its file wants it to follow.
        lines: lines on the ground that it may follow.
    """

    def __init__(
        self, vehicle: WorldVehicle, path: TimedPath | None, lines: Sequence[Line]
    ) -> None:
        group = vehicle.bodies.group
        self._vehicle, self._state, self._inputs = vehicle, group.state, group.inputs
        self._row, self._dt = vehicle.row, group.dt
        self._fields = group.fields
        self._names = frozenset(record.names(group.model.Input))
        self._columns = {name: k for k, name in enumerate(record.names(group.model.Input))}
        self._can = abilities_of(vehicle.built.vehicle)
        self._route = None if path is None else Route(path)
        self._lines = [line for line in lines if line.kind in ("reference", "centre")]
        self._follower: LineFollower | None = None
        self._axes: Axes | None = None
        self._held = Held()
        self.controller = FILE
        """Name of what drives it now."""

    @property
    def controllers(self) -> list[str]:
        """What can drive it."""
        keys = drivable(self._names)
        return [KEYBOARD] * keys + [FILE] + [PATH] * bool(keys and self._lines)

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Names, units and limits of its inputs, for the hello message."""
        limits = {"steer": self._can.steer_max, "v": self._can.v_max, "omega": self._can.omega_max}
        found: list[dict[str, Any]] = []
        for leaf in record.fields(self._vehicle.bodies.group.model.Input):
            most = self._can.tau_max if leaf.name.startswith("tau") else limits.get(leaf.name)
            low, high = (None, None) if most is None else (-most, most)
            if most is None and leaf.allowed is not None:
                low, high = leaf.allowed.low, leaf.allowed.high
            found.append(
                {
                    "name": leaf.name,
                    "unit": leaf.unit.symbol,
                    "low": _finite(low),
                    "high": _finite(high),
                }
            )
        return found

    def choose(self, controller: str) -> None:
        """Let another controller drive from now on."""
        if controller not in self.controllers:
            known = self.controllers
            name = self._vehicle.name
            raise InvalidValue(record.unknown_name(name, controller[:40], known, "controller"))
        if controller == self.controller:
            return
        self.controller, self._axes = controller, None
        self._held = Held(v=self._motion().v_x)
        if controller == FILE:
            start = self._vehicle.built.set_point
            self._vehicle.command(record.build(self._vehicle.built.vehicle.Input, start or None))
        if controller == PATH:
            self._follower = LineFollower(self._nearest_line().points, self._can)

    def drive(self, axes: Axes) -> None:
        """Hold keys; whoever touches them drives."""
        if self.controller != KEYBOARD:
            # Letting go of keys in one vehicle is no reason to take another from its controller.
            if axes == Axes():
                return
            self.choose(KEYBOARD)
        self._axes = axes

    def let_go(self) -> None:
        """Nobody holds the keys: a vehicle that they drove stops."""
        self._axes = None

    def go_on_from(self, before: Pilot) -> None:
        """Drive as another pilot did, in a world that has taken the place of theirs."""
        self.controller, self._follower = before.controller, before._follower
        self._axes, self._held = before._axes, before._held

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do before a step."""
        return self.controller == FILE and self._route is None

    def command(self, time: s) -> None:
        """Give the vehicle its inputs for the step that begins at a time."""
        now = self._motion()
        if self.controller == PATH and self._follower is not None:
            wish = self._follower.wish(self._pose(), now)
        elif self.controller == KEYBOARD and self._axes is not None:
            wish, self._held = keyed(self._axes, self._held, now, self._can, self._dt)
        elif self.controller == KEYBOARD:
            wish, self._held = stopped(self._held, now, self._can, self._dt)
        elif self._route is not None:
            v, omega = self._route.twist(time, *self._pose())
            self._write({"v": v, "omega": omega})
            return
        else:
            return
        self._write(inputs_for(self._names, wish, now, self._can))

    def _write(self, values: dict[str, float]) -> None:
        row = self._inputs[self._row]
        for name, value in values.items():
            row[self._columns[name]] = value

    def _motion(self) -> Motion:
        state, at = self._state[self._row], self._fields
        return Motion(
            *(float(state[at[n]]) if n in at else 0.0 for n in ("v_x", "v_y", "omega", "steer"))
        )

    def _pose(self) -> Pose:
        state, at = self._state[self._row], self._fields
        return Pose(*(float(state[at[name]]) for name in ("x", "y", "yaw")))

    def _nearest_line(self) -> Line:
        x, y, _ = self._pose()
        return min(self._lines, key=lambda line: min(hypot(a - x, b - y) for a, b in line.points))


def _finite(value: float | None) -> float | None:
    return None if value is None or abs(value) == float("inf") else float(value)
