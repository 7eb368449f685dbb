"""Who drives each vehicle: keys, what its file says, or a follower of a line."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot, isfinite
from typing import Any

from ... import record
from ...controllers.abilities import abilities_of
from ...controllers.driving import Axes, Memory, wish_of_keys, wish_to_stop
from ...errors import InvalidValue
from ...stage import Line
from ...units import Allowed, s
from ...world.handle import WorldVehicle
from ...world.motion.following import Route
from ...world.scene.vehicle import TimedPath
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
        self._vehicle, self._dt = vehicle, vehicle.bodies.group.dt
        self._kind = vehicle.vehicle
        self._can = abilities_of(self._kind)
        self._route = None if path is None else Route(path)
        self._lines = [line for line in lines if line.kind in ("reference", "centre")]
        self._follower: LineFollower | None = None
        self._axes: Axes | None = None
        self._memory = Memory()
        self.controller = FILE
        """Name of what drives it now."""

    @property
    def controllers(self) -> list[str]:
        """What can drive it."""
        return [KEYBOARD, FILE, PATH] if self._lines else [KEYBOARD, FILE]

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Names, units and limits of its inputs, for the hello message."""
        ranges, described = self._kind.limits.inputs, list[dict[str, Any]]()
        for leaf in record.fields(self._kind.Input):
            allowed = leaf.allowed or Allowed()
            low, high = ranges.get(leaf.name, (allowed.low, allowed.high))
            ends = {"low": _finite(low), "high": _finite(high)}
            described.append({"name": leaf.name, "unit": leaf.unit.symbol, **ends})
        return described

    def choose(self, controller: str) -> None:
        """Let another controller drive from now on."""
        if controller not in self.controllers:
            known = self.controllers
            name = self._vehicle.name
            raise InvalidValue(record.unknown_name(name, controller[:40], known, "controller"))
        if controller == self.controller:
            return
        self.controller, self._axes = controller, None
        self._memory = Memory(v=self._vehicle.truth.v_x)
        if controller == FILE:
            start = self._vehicle.built.set_point
            self._vehicle.command(record.build(self._kind.Input, start or None))
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
        self._axes, self._memory = before._axes, before._memory

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do before a step."""
        return self.controller == FILE and self._route is None

    def command(self, time: s) -> None:
        """Give the vehicle its inputs for the step that begins at a time."""
        pose, now = self._vehicle.bodies.motion(self._vehicle.row)
        if self.controller == PATH and self._follower is not None:
            wish = self._follower.wish(pose, now)
        elif self.controller == KEYBOARD and self._axes is not None:
            wish, self._memory = wish_of_keys(self._axes, self._memory, now, self._can, self._dt)
        elif self.controller == KEYBOARD:
            wish, self._memory = wish_to_stop(self._memory, now, self._can, self._dt)
        elif self._route is not None:
            wish = self._route.wish(time, pose, now, self._can.wheel_base)
        else:
            return
        # With the parameters of the start: a heavier car is driven alike, and slower for it.
        command = self._kind.body.command(self._vehicle.state, wish, self._kind.params)
        self._vehicle.bodies.group.inputs[self._vehicle.row] = record.flatten(command)

    def _nearest_line(self) -> Line:
        x, y, *_ = self._vehicle.truth
        return min(self._lines, key=lambda line: min(hypot(a - x, b - y) for a, b in line.points))


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None
