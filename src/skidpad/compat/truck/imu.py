"""The IMU of the truck: rigid-body readings at its mounting."""

from __future__ import annotations

from collections.abc import Callable

from ...components.ackermann import Twist, yaw_acceleration
from ...sensing.imu import Imu
from ...sensing.motion import Motion
from ...vehicles.ackermann_truck import Actuation, State
from .model_file import TruckModel
from .mounting import IMU, mounting_of
from .records import AngularVelocity, SpecificForce

Reading = Callable[[State, Twist, Actuation], tuple[AngularVelocity, SpecificForce]]
"""What the IMU shows at a state, with the twist of the rear axle and what acts next."""


def imu(model: TruckModel) -> Reading:
    """The readings of an IMU in the frame of the model file."""
    unit = Imu(mounting=mounting_of(model, IMU))
    wheel_base = model.params.wheel_base

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        a_x = act.v_x.rate
        turning = yaw_acceleration(x.v_x, x.steer, a_x, act.steer.rate, wheel_base)
        # The rear axle does not move sideways, so all of its lateral acceleration is centripetal.
        motion = Motion(
            v_x=x.v_x, omega=rear.omega, a_x=a_x, a_y=x.v_x * rear.omega, omega_rate=turning
        )
        shown = unit.measure(motion)
        return (
            AngularVelocity(shown.omega_x, shown.omega_y, shown.omega_z),
            SpecificForce(shown.f_x, shown.f_y, shown.f_z),
        )

    return reading
