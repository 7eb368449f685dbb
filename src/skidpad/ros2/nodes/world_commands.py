"""What others tell a robot to do: `cmd_vel`, and `drive` if it steers.

Set-points of speed and yaw rate are handed on as they are. Of vehicles that are driven by torques,
forces or accelerations the speed is regulated at every tick.
"""

from __future__ import annotations

from math import atan, copysign, inf, isfinite, tan
from typing import Any

from ...body import Wish
from ...controllers.abilities import abilities_of
from ...errors import InvalidValue
from ...units import m_s, m_s2, rad, rad_s, s
from ...world.handle import WorldVehicle
from ...world.motion.halts import LARGEST_INPUT
from ..clock import SECOND
from ..node import Node
from .world_names import RobotNames

OLDEST: s = 1.0
"""Age of a command after which the vehicle is to stop, as upstream has it."""
_TO_SPEED: s = 0.3
"""In which a vehicle whose speed is regulated here gets near what was asked for."""


class Commands:
    """Commands of one robot.

    Args:
        node: that hears them.
        names: of the robot.
        vehicle: what is driven.
    """

    def __init__(self, node: Node, names: RobotNames, vehicle: WorldVehicle) -> None:
        self._node, self._names = node, names
        kind = vehicle.vehicle
        self._can = abilities_of(kind)
        fields = kind.Input._fields
        self._columns = [fields.index(name) for name in ("v", "omega") if name in fields]
        self._regulated = not {"v", "velocity"} & set(fields)
        self._at: int | None = None
        """When the command came that holds, in ns."""
        self._wish: tuple[m_s, rad_s, rad, m_s2] | None = None
        """Speed, yaw rate, steering angle and largest acceleration that were asked for."""
        self._vehicle = vehicle
        self._twist_topic = node.name(names.topic("cmd_vel"))
        node.obey(names.topic("cmd_vel"), "geometry_msgs/msg/Twist", self._twist)
        if kind.body.steer is not None:
            topic = names.topic("drive")
            node.subscribe(topic, "ackermann_msgs/msg/AckermannDriveStamped", self._drive)

    def _twist(self, message: Any) -> None:
        self._take(message.linear.x, message.angular.z, None, inf)

    def _drive(self, message: Any) -> None:
        drive = message.drive
        most = drive.acceleration if drive.acceleration > 0.0 else inf
        speed, steer = drive.speed, drive.steering_angle
        if not isfinite(steer):
            raise InvalidValue(
                f"command of {self._names.vehicle}: steering_angle = {steer} rad must be "
                "finite; the one before holds"
            )
        steer = min(max(steer, -self._can.steer_max), self._can.steer_max)
        self._take(speed, speed * tan(steer) / self._can.wheel_base, steer, most)
        # Time that waits for commands goes on with either kind.
        self._node.commanded[self._twist_topic] += 1

    def _take(self, v: m_s, omega: rad_s, steer: rad | None, most: m_s2) -> None:
        if not (abs(v) <= LARGEST_INPUT and abs(omega) <= LARGEST_INPUT):
            raise InvalidValue(
                f"command of {self._names.vehicle}: speed {v} m/s, yaw rate {omega} rad/s must be "
                f"finite, up to {LARGEST_INPUT:g} either way; the one before holds"
            )
        self._at = self._node.clock.now()
        self._wish = v, omega, self._angle(v, omega) if steer is None else steer, most
        if not self._regulated:
            self._apply(v, omega, self._wish[2], 0.0)

    def _angle(self, v: m_s, omega: rad_s) -> rad:
        """The steering angle for a yaw rate; at rest, all that there is of it."""
        most = self._can.steer_max
        if v == 0.0 or omega == 0.0:
            return copysign(most, omega) if omega else 0.0
        return min(max(atan(self._can.wheel_base * omega / v), -most), most)

    def _apply(self, v: m_s, omega: rad_s, steer: rad, a: m_s2) -> None:
        vehicle = self._vehicle
        if len(self._columns) == 2:
            vehicle.bodies.group.inputs[vehicle.row, self._columns] = v, omega
        else:
            vehicle.drive(Wish(steer, a, v, omega))

    def act(self, now: int) -> None:
        """Stop a vehicle whose command is too old, and regulate its speed, at a time in ns."""
        if self._wish is None:
            return
        v, omega, steer, most = self._wish
        if self._at is not None and now - self._at > OLDEST * SECOND:
            self._at, self._wish = None, (0.0, 0.0, steer, inf)
            v, omega, most = 0.0, 0.0, inf
            if not self._regulated:
                self._apply(0.0, 0.0, steer, 0.0)
        if self._regulated:
            self._apply(v, omega, steer, self._acceleration(v, most))

    def _acceleration(self, v: m_s, most: m_s2) -> m_s2:
        can, vehicle = self._can, self._vehicle
        actual = vehicle.bodies.motion(vehicle.row)[1].v_x
        wanted = (v - actual) / _TO_SPEED
        brakes = wanted * actual < 0.0
        limit = min(can.a_brake if brakes else can.a_drive, most)
        return min(max(wanted, -limit), limit)

    def restart(self, vehicle: WorldVehicle) -> None:
        """Forget what was commanded; the vehicle of a world that began anew."""
        self._vehicle, self._at, self._wish = vehicle, None, None
