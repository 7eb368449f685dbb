"""The `sim_node` of the brains2 project over our own cars.

Topics, types, services and parameters are those of the program at commit c975b02;
docs/ros2_formula_student.md lists them, and what is put right unless compat="upstream" is asked
for.
"""

from __future__ import annotations

import time
from math import ceil
from typing import Any

from ...body import Pose
from ...brief import brief_repr
from ...checks import finite, one_of, positive
from ...errors import SkidpadError
from ...ros_messages import service_type
from ...run.simulator import Simulator
from ...units import s
from ...vehicles.brains2 import brains2
from ...vehicles.car_state import Input
from ...vehicles.formula_student import formula_student
from ..node import Node
from .brains2_messages import CarMessages, Diagnostics, Pictures
from .car_constants import car_constants, own_car
from .cone_track import START, cone_track
from .laps import LapClock
from .set_pose import serve_set_pose
from .watchdog import Watchdog

__all__ = ["NAME", "Brains2", "program"]

NAME = "sim_node"
"""What upstream calls its node."""
_EMPTY = "std_srvs/srv/Empty"
_STEP: s = 1.0001e-3
"""Longest inner step, upstream's but for rounding: whatever is commanded, it can be solved."""


class Brains2:
    """A Formula Student car on a cone track as a program of a node.

    Args:
        node: its node.
        compat: None, or "upstream" to repeat the program, errors included.
    """

    __repr__ = brief_repr

    def __init__(self, node: Node, *, compat: str | None = None) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._node = node
        upstream = compat is not None
        declare = node.parameters.declare
        self.period: s = 1.0 / declare("freq", 100.0, "Ticks in 1/s.", check=_must_be_rate)
        self.track = cone_track(
            declare("track_database", "", "Folder with the tracks; a made-up track if empty."),
            declare("track_name", "", "Track of the folder; alpha if empty."),
            declare("track_seed", 0, "Of a made-up track."),
        )
        for name, default in (("use_remote_meshes", False), ("remote_meshes_url", "")):
            declare(name, default, "Without effect: markers are boxes and cylinders.")
        constants = declare("car_constants", "", "A car_constants.yaml; the shipped car if empty.")
        car = brains2(car_constants(constants)) if upstream else formula_student(own_car(constants))
        self._upstream = upstream
        self.simulator = Simulator(
            car, self.period, "radau4" if upstream else "auto", substeps=ceil(self.period / _STEP)
        )
        """What is simulated."""
        self._input = Input()
        self.laps = LapClock(self.track.line)
        """Times of its laps."""
        self._messages = CarMessages(node)
        self._diagnostics = Diagnostics(node, self.track.name)
        geometry = self.simulator.vehicle.geometry
        self._pictures = Pictures(node, geometry, self.track, always=upstream)
        self._watchdog = Watchdog(node, self._stop)
        node.obey("/brains2/target_controls", "brains2/msg/Controls", self._command)
        node.serve("/brains2/reset", _EMPTY, self._serve_reset)
        node.serve("/brains2/publish_cones_markers", _EMPTY, self._serve_cones)
        serve_set_pose(node, "world", self._put)
        self._put(START)

    def tick(self) -> None:
        """Advance by the period and publish everything."""
        self._watchdog.look()
        began = time.perf_counter()
        try:
            state = self.simulator.step(self._target())
        except SkidpadError as error:
            self._diagnostics.send(time.perf_counter() - began, self.laps, error)
            raise
        runtime = time.perf_counter() - began
        # Upstream goes by the clock of the machine, which is another time when that is too slow.
        if self.laps.add(self.simulator.time, state.x, state.y):
            times = f"{self.laps.last:.3f} s (best: {self.laps.best:.3f} s)"
            self._node.log("info", f"lap completed in {times}")
        outputs = self.simulator.outputs()
        self._messages.send(state, outputs.a_x, outputs.a_y, self._braking)
        self._diagnostics.send(runtime, self.laps)
        self._pictures.send(state.steer)

    def reset(self) -> None:
        """Back to the start at rest, without a command; its state is published. Lap times stay."""
        self._put(START)
        self._messages.send(self.simulator.state, 0.0, 0.0, self._braking)

    def _put(self, pose: Pose) -> None:
        self.simulator.reset(x=pose.x, y=pose.y, yaw=pose.yaw)
        self._stop()
        self._watchdog.forget()
        self.laps.restart(self.simulator.time, pose.x, pose.y)

    def _command(self, message: Any) -> None:
        limits = self.simulator.vehicle.params
        self._input = Input(
            _within("delta", message.delta, limits.steer_max),
            _within("tau_fl", message.tau_fl, limits.tau_max),
            _within("tau_fr", message.tau_fr, limits.tau_max),
            _within("tau_rl", message.tau_rl, limits.tau_max),
            _within("tau_rr", message.tau_rr, limits.tau_max),
        )
        self._watchdog.heard()

    def _stop(self) -> None:
        self._input = Input()

    def _target(self) -> Any:
        """The command; torque brakes and does not drive backwards, as upstream has it (D20)."""
        steer, *torques = self._input
        drive = [max(torque, 0.0) for torque in torques]
        if not self._upstream:
            return self.simulator.vehicle.Input(steer, *drive, *self._braking)
        if self.simulator.state.v_x >= 0.0:
            return self._input
        return Input(steer, *drive)

    @property
    def _braking(self) -> tuple[float, ...]:
        """Torques of the brakes: of a command below 0 that is not upstream's."""
        return tuple(0.0 if self._upstream else max(-torque, 0.0) for torque in self._input[1:])

    def _serve_reset(self, request: Any) -> Any:
        self.reset()
        return service_type(_EMPTY).response.Record()

    def _serve_cones(self, request: Any) -> Any:
        self._pictures.send_cones()
        return service_type(_EMPTY).response.Record()


def program(node: Node, *, compat: str | None = None) -> Brains2:
    """The program of `skidpad ros2 brains2`."""
    return Brains2(node, compat=compat)


def _within(name: str, target: float, most: float) -> float:
    return max(-most, min(most, finite(name, target)))


def _must_be_rate(value: float) -> None:
    positive("freq", value, "1/s")
