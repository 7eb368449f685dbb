"""Any vehicle as a node: its input, state and outputs as messages made from its records.

A vehicle with a body is also driven by `cmd_vel` and `drive` and tells `odom`, `/tf` and `imu`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from ... import record
from ...body import Pose, Velocity
from ...checks import positive
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.simulator import Simulator
from ...units import s
from ...vehicles import named
from ..node import Node
from .set_pose import planar_pose, serve_set_pose
from .vehicle_commands import Commands
from .vehicle_topics import BodyTopics, RecordTopics, stamp_of

__all__ = ["SingleVehicle", "program"]


class SingleVehicle:
    """The program of the node.

    Args:
        node: the node. Its parameters `params.NAME` and `initial.NAME` are those of the vehicle and
            the state that it begins with.
        vehicle: the vehicle, or the name of a registered one.
        compat: goes with Autoware's vehicles.
    """

    def __init__(self, node: Node, vehicle: Vehicle | str, *, compat: str | None = None) -> None:
        self._node = node
        own = named(vehicle, compat=compat) if isinstance(vehicle, str) else vehicle
        declare = node.parameters.declare
        self.period: s = declare(
            "period", 0.01, "Of a tick, in s.", check=_must_be_positive("period")
        )
        step = declare(
            "step", 0.001, "Longest step of the integrator, in s.", check=_must_be_positive("step")
        )
        integrator = declare("integrator", "auto", "How a step is made.")
        frame = declare("odom_frame_id", "odom", "The frame in which it moves.")
        base = declare("base_frame_id", "base_link", "The frame of the vehicle.")
        declare(
            "field_topics",
            False,
            "Whether every field has a topic of its own, a std_msgs/Float64 that all tools know.",
        )
        # Actuators stop at their ends: what comes over a network must not end the simulation.
        self.vehicle = own.with_params(_numbers(node, "params", own.params)).with_clipped_inputs()
        # A whole state, not names: wheels of which nothing is said then roll.
        State = self.vehicle.State
        self._start = record.build(State, _numbers(node, "initial", record.build(State)))
        self.simulator = Simulator(
            self.vehicle, self.period, integrator, substeps=_substeps(own, self.period, step)
        )
        self.simulator.reset(self._start)
        self._commands = Commands(node, self.vehicle)
        self._records = RecordTopics(node, self.vehicle, base)
        self._body = None
        if self.vehicle.model.body is not None:
            self._body = BodyTopics(node, self.vehicle, frame, base)
        node.subscribe(
            "initialpose",
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            lambda message: self.put(planar_pose(message, frame)),
        )
        serve_set_pose(node, frame, self.put)

    def tick(self) -> None:
        """One step, and what there is to tell of it."""
        simulator = self.simulator
        simulator.step(self._commands.input(simulator.state, simulator.input))
        stamp = stamp_of(self._node.clock.now())
        self._records.send(stamp, simulator)
        if self._body is not None:
            self._body.send(stamp, simulator)

    def reset(self) -> None:
        """Begin anew at the initial state, without commands."""
        self.simulator.reset(self._start)
        self._commands.forget()

    def put(self, pose: Pose) -> None:
        """Put the vehicle somewhere else, at rest; commands still count."""
        vehicle, simulator = self.vehicle, self.simulator
        body = vehicle.model.body
        if body is None:
            raise InvalidValue(f"{vehicle.name} has no body that could be put somewhere else")
        at_rest = Velocity(0.0, 0.0, 0.0)
        simulator.reset(body.placed(simulator.state, pose, at_rest, vehicle.params))
        self._commands.interrupted()


def program(node: Node, name: str, *, compat: str | None = None) -> SingleVehicle:
    """The program of `skidpad ros2 vehicle NAME`."""
    return SingleVehicle(node, name, compat=compat)


def _numbers(node: Node, group: str, default: Any) -> dict[str, float]:
    """Parameters for the leaves of a record, by dotted name."""
    leaves = zip(record.fields(type(default)), record.flatten(default), strict=True)
    return {
        leaf.name: node.parameters.declare(
            f"{group}.{leaf.name}", float(value), f"{leaf.doc} In {leaf.unit}."
        )
        for leaf, value in leaves
    }


def _substeps(vehicle: Vehicle, period: s, step: s) -> int | None:
    """Steps of the integrator in a tick; a discrete model knows its own.

    Short steps are explicit ones. An implicit one may have no solution where tyre forces turn
    around, as in a car that stops and goes back, and takes long to compile.
    """
    if not vehicle.model.continuous:
        return None
    return max(vehicle.model.substeps, ceil(period / step - 1e-9))


def _must_be_positive(name: str) -> Callable[[s], None]:
    def check(value: s) -> None:
        positive(name, value, "s")

    return check
