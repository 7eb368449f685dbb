"""Bodies of cars whose states have the usual fields; a shape and a driver complete them.

Both kinds have x, y and yaw of the reference point and the steering angle `steer`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.body import (
    Acceleration,
    Body,
    Demand,
    Geometry,
    GroundUnder,
    Limits,
    Pose,
    Velocity,
    car_geometry,
)
from ...units import N, kg, m, rad
from .kinematics import Acceleration as PlaneAcceleration
from .kinematics import body_acceleration, following, yaw_rate

CENTRE_OF_MASS, REAR_AXLE = "centre of mass", "middle of the rear axle"
ShapeOf = Callable[[Any], Geometry]
LimitsOf = Callable[[Any], Limits]
CommandOf = Callable[[Any, Demand, Any], Any]


def pose(x: Any, p: Any) -> Pose:
    """`Body.pose` of a state with x, y and yaw."""
    return Pose(x.x, x.y, x.yaw)


def steer(x: Any, u: Any, p: Any) -> rad:
    """`Body.steer` of a state with the angle of the front wheels."""
    return x.steer


def sliding_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """`Body.velocity` of a state with v_x, v_y and omega of the reference point."""
    return Velocity(x.v_x, x.v_y, x.omega)


def sliding_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """`Body.acceleration` of a state with v_x, v_y and omega of the reference point."""
    a = body_acceleration(PlaneAcceleration(rate.v_x, rate.v_y), x.v_x, x.v_y, x.omega)
    return Acceleration(a.x, a.y, rate.omega)


def sliding_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """`Body.placed` of a state with v_x, v_y and omega: in any motion; actuators stay."""
    return x._replace(**pose._asdict(), **velocity._asdict())


def weight_along(ground: GroundUnder, mass: kg) -> dict[str, N]:
    """Disturbances by which gravity along the ground pulls at the centre of mass."""
    if ground.down is None:
        return {}
    weight = ground.g * mass
    return {"F_x": weight * ground.down.x, "F_y": weight * ground.down.y}


def geometry_about_axles(p: Any, **others: Any) -> Geometry:
    """The geometry of a car whose middle is that of its axles, seen from its centre of mass."""
    middle = 0.5 * (p.l_f - p.l_r)
    return car_geometry(
        front_axle=p.l_f,
        rear_axle=-p.l_r,
        front=middle + 0.5 * p.length,
        rear=middle - 0.5 * p.length,
        width=p.width,
        height=p.height,
        mass=p.m,
        inertia=p.I_z,
        centre_of_mass=(0.0, 0.0),
        **others,
    )


def sliding_car(*, geometry: ShapeOf, limits: LimitsOf, command: CommandOf, **others: Any) -> Body:
    """The body of a car whose state has v_x, v_y and omega of its centre of mass.

    `others` are further functions of the `Body`, or other ones in place of those here.
    """
    usual: dict[str, Any] = {
        "reference": CENTRE_OF_MASS,
        "pose": pose,
        "velocity": sliding_velocity,
        "acceleration": sliding_acceleration,
        "placed": sliding_placed,
        "steer": steer,
    }
    return Body(**usual | others, geometry=geometry, limits=limits, command=command)


def rolling_car(
    *,
    wheel_base: Callable[[Any], m],
    geometry: ShapeOf,
    limits: LimitsOf,
    command: CommandOf,
    speed: str = "v_x",
    **others: Any,
) -> Body:
    """The body of a car whose rear axle, the reference point, rolls straight ahead.

    `speed` is the field of the state with the velocity of the rear axle; `wheel_base(p)` and the
    steering angle say how the car turns. `others` as in `sliding_car`.
    """

    def velocity(x: Any, u: Any, p: Any) -> Velocity:
        v = getattr(x, speed)
        return Velocity(v, 0.0 * v, yaw_rate(v, x.steer, wheel_base(p)))

    def acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
        v, a = getattr(x, speed), getattr(rate, speed)
        omega, omega_rate = following(v, a, x.steer, rate.steer, wheel_base(p))
        return Acceleration(a, v * omega, omega_rate)

    def placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
        """Sideways and in turning it moves as its wheels roll."""
        return x._replace(**pose._asdict(), **{speed: velocity.v_x})

    usual: dict[str, Any] = {
        "reference": REAR_AXLE,
        "pose": pose,
        "velocity": velocity,
        "acceleration": acceleration,
        "placed": placed,
        "steer": steer,
    }
    return Body(**usual | others, geometry=geometry, limits=limits, command=command)
