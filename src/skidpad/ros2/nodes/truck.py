"""The node of robotics-laboratory/truck's `simulator_2d` over our own engine.

Topics, types and parameters are those of the program at commit 332ff42; docs/ros2_truck.md lists
them, and what is put right unless compat="upstream" is asked for.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...body import Pose
from ...brief import brief_repr
from ...checks import not_negative, one_of, positive
from ...compat.truck import Engine, Noise
from ...units import s
from ..node import Node
from ..transport import Qos
from .set_pose import serve_set_pose
from .truck_messages import WORLD, TruckMessages
from .watchdog import Watchdog

__all__ = ["NAME", "Truck", "program"]

NAME = "simulator"
"""What upstream calls its node."""
_WAITING_COMMANDS = 100
"""More than the one that upstream keeps, so that lock-step loses none; in real time the newest of
those that came since the last tick counts in any case."""


class Truck:
    """The truck as a program of a node.

    Args:
        node: its node. The time of the program is simulated: give it a clock that is not the
            machine's.
        compat: None, or "upstream" to repeat the program, errors included.
    """

    __repr__ = brief_repr

    def __init__(self, node: Node, *, compat: str | None = None) -> None:
        one_of("compat", compat, (None, "upstream"))
        declare = node.parameters.declare
        self.period: s = declare(
            "update_period", 0.01, "Time of one tick in s.", check=_must_be_period
        )
        self._start = Pose(
            *(declare(f"initial_{name}", 0.0, "Of the base point.") for name in Pose._fields)
        )
        self.engine = _engine(node, compat)
        """What is simulated."""
        self.engine.reset_base(self._start)
        reliable = declare("qos", 0, _QOS, check=_must_be_reliability) != _BEST_EFFORT
        state = self.engine.state()
        self._messages = TruckMessages(
            node,
            self.engine.model.lidar,
            len(state.lidar_ranges),
            self.period,
            Qos(reliable, depth=1),
            upstream=compat is not None,
        )
        self._curvature = 0.0
        self._watchdog = Watchdog(node, self._stop)
        node.obey(
            "/control/command",
            "truck_msgs/msg/Control",
            self._command,
            Qos(reliable, depth=_WAITING_COMMANDS),
        )
        serve_set_pose(node, WORLD, self._put)
        self._messages.send(state)

    def tick(self) -> None:
        """Advance by the period and publish everything."""
        self._watchdog.look()
        self.engine.advance(self.period)
        self._messages.send(self.engine.state())

    def reset(self) -> None:
        """Back to the initial pose, at rest and without a command; its state is published."""
        self.engine.reset()
        self.engine.reset_base(self._start)
        self._watchdog.forget()
        self._messages.send(self.engine.state())

    def _command(self, message: Any) -> None:
        acceleration = message.acceleration if message.has_acceleration else None
        self.engine.set_base_control(message.velocity, acceleration, message.curvature)
        self._curvature = message.curvature
        self._watchdog.heard()

    def _stop(self) -> None:
        self.engine.set_base_control(0.0, self._curvature)

    def _put(self, pose: Pose) -> None:
        self.engine.reset_base(pose)


def program(node: Node, *, compat: str | None = None) -> Truck:
    """The program of `skidpad ros2 truck`."""
    return Truck(node, compat=compat)


_BEST_EFFORT = 2
_QOS = "Reliability by its number in rmw: 0 and 1 are reliable, 2 is best effort."


def _must_be_reliability(value: int) -> None:
    one_of("qos", value, (0, 1, _BEST_EFFORT))


def _must_be_period(value: s) -> None:
    positive("update_period", value, "s")


def _engine(node: Node, compat: str | None) -> Engine:
    declare = node.parameters.declare
    return Engine(
        declare("model_config", "", "A model.yaml; the default truck if empty.") or None,
        declare("map_config", "", "A map file; no obstacles if empty.") or None,
        compat=compat,
        integration_step=declare("integration_step", 0.001, "Inner step in s."),
        precision=declare("calculations_precision", 1e-8, "Tolerance of speed and steering."),
        noise={name: _noise(node, name, compat) for name in ("lidar", "gyro", "accel")},
        seed=declare("seed", 0, "Of the noise."),
    )


def _noise(node: Node, sensor: str, compat: str | None) -> Noise:
    def declare(name: str, default: Any, meaning: str) -> Any:
        return node.parameters.declare(f"sensor_noise.{sensor}.{name}", default, meaning)

    on = declare("enable", False, "Whether there is any.")
    mean = declare("mean", 0.0, "In the unit of the sensor.")
    variance = declare("variance", 0.0, "In the square of that unit.")
    not_negative(f"sensor_noise.{sensor}.variance", variance)
    # Upstream takes it for the standard deviation.
    return Noise(mean, variance if compat else sqrt(variance)) if on else Noise()
