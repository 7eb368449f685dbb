"""`ackermann_truck`: a small truck steered by speed and curvature, with limited rates.

The state is that of the middle of the rear axle, which rolls without slip. Commands are for the
base point, which is `base_to_rear` ahead of it on the centre line. The default parameters and the
rules for speed and steering are those of the `simulator_2d` package of robotics-laboratory/truck
(commit 332ff42); docs/errata.md lists what is corrected here.

The module has the records of the truck, its limits, its body and its model.
"""

from __future__ import annotations

from dataclasses import replace
from math import radians
from typing import Annotated, Any, NamedTuple

from ..core.body import Demand, Geometry, Limits, car_geometry
from ..core.model import Model, NoDisturbance, VehicleFactory
from ..geometry.pose import to_world
from ..ops import abs, clip, logical_and, logical_or, maximum, minimum, where
from ..units import Allowed, m, m_s, m_s2, non_negative, one, per_m, per_s, positive, rad, rad_s, s
from .parts.actuators import Approach, approach, end_on_goal, limited, rk4
from .parts.assembly import rolling_car
from .parts.kinematics import (
    Twist,
    base_curvature_limit,
    curvature_of,
    front_wheels,
    motor_rate,
    rear_curvature_limit,
    rear_ratio,
    rolling,
    steer_of,
    twist_at,
    wheel_spin,
)

wheel_limit = Annotated[rad, Allowed(0.0, radians(89.9))]
"""Largest angle of a wheel."""


class State(NamedTuple):
    """Pose, steering and speed of the middle of the rear axle."""

    x: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    steer: rad = 0.0
    """Angle of a virtual wheel in the middle of the front axle, positive to the left."""
    v_x: m_s = 0.0
    """Velocity of the rear axle along the truck, forward positive."""


class Input(NamedTuple):
    """Commanded motion of the base point; each value is clipped to the limits of the truck."""

    velocity: m_s = 0.0
    """Speed demanded, forward positive."""
    acceleration: Annotated[m_s2, non_negative] = 1000.0
    """Magnitude of the acceleration to that speed; by default as the limits allow."""
    curvature: per_m = 0.0
    """Path curvature demanded, positive to the left."""


class Params(NamedTuple):
    """Parameters of the truck; by default those of upstream's `model.yaml`."""

    length: Annotated[m, positive] = 0.505
    """Length of the body."""
    width: Annotated[m, positive] = 0.313
    """Width of the body."""
    base_to_tail: Annotated[m, positive] = 0.2525
    """Distance from the base point back to the end of the body."""
    wheel_base: Annotated[m, positive] = 0.405
    """Distance between the axles."""
    track: Annotated[m, positive] = 0.213
    """Distance between the wheels of an axle."""
    base_to_rear: Annotated[m, non_negative] = 0.2025
    """Distance from the base point back to the rear axle."""
    wheel_radius: Annotated[m, positive] = 0.0525
    """Radius of the wheels."""
    wheel_width: Annotated[m, positive] = 0.058
    """Width of the wheels."""
    inner_max: wheel_limit = radians(40.0)
    """Largest angle of a front wheel towards the middle of the truck."""
    outer_max: wheel_limit = radians(40.0)
    """Largest angle of a front wheel away from the middle of the truck."""
    curvature_max: Annotated[per_m, non_negative] = 2.0
    """Largest curvature of the base point's path, either side; the wheels may allow less."""
    steer_rate_max: Annotated[rad_s, non_negative] = 2.0
    """Largest rate of the steering angle, either way."""
    v_min: Annotated[m_s, Allowed(high=0.0)] = -0.5
    """Largest speed of the base point in reverse, negative."""
    v_max: Annotated[m_s, positive] = 0.8
    """Largest speed of the base point forward."""
    a_max: Annotated[m_s2, non_negative] = 1.0
    """Largest acceleration of the base point while its speed grows, in either direction."""
    d_max: Annotated[m_s2, non_negative] = 2.0
    """Largest deceleration of the base point while its speed falls, in either direction."""
    gear_ratio: Annotated[one, positive] = 0.08421
    """Turns of a wheel per turn of the motor."""
    v_tolerance: Annotated[m_s, non_negative] = 0.0
    """Deviation from its goal within which the speed does not change."""
    steer_tolerance: Annotated[rad, non_negative] = 0.0
    """Deviation from its goal within which the steering does not change."""


class Outputs(NamedTuple):
    """Poses of base point and wheels in the world, and their motion."""

    x_base: m
    """Position of the base point in the world frame."""
    y_base: m
    """Position of the base point in the world frame."""
    v_base: m_s
    """Speed of the base point along its path, negative in reverse."""
    v_y_base: m_s
    """Lateral velocity of the base point, positive to the left; the longitudinal one is v_x."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    curvature: per_m
    """Curvature of the path of the rear axle, positive to the left."""
    curvature_base: per_m
    """Curvature of the path of the base point, positive to the left."""
    steer_fl: rad
    """Angle of the front left wheel from straight ahead, positive to the left."""
    steer_fr: rad
    """Angle of the front right wheel from straight ahead, positive to the left."""
    omega_fl: rad_s
    """Spin of the front left wheel, positive when it rolls forward."""
    omega_fr: rad_s
    """Spin of the front right wheel, positive when it rolls forward."""
    omega_rl: rad_s
    """Spin of the rear left wheel, positive when it rolls forward."""
    omega_rr: rad_s
    """Spin of the rear right wheel, positive when it rolls forward."""
    motor: per_s
    """Revolutions of the motor per second, from the speed of the base point."""
    x_fl: m
    """Position of the front left wheel in the world frame."""
    y_fl: m
    """Position of the front left wheel in the world frame."""
    yaw_fl: rad
    """Heading of the front left wheel in the world frame, not wrapped."""
    x_fr: m
    """Position of the front right wheel in the world frame."""
    y_fr: m
    """Position of the front right wheel in the world frame."""
    yaw_fr: rad
    """Heading of the front right wheel in the world frame, not wrapped."""
    x_rl: m
    """Position of the rear left wheel in the world frame; its heading is the truck's."""
    y_rl: m
    """Position of the rear left wheel in the world frame."""
    x_rr: m
    """Position of the rear right wheel in the world frame; its heading is the truck's."""
    y_rr: m
    """Position of the rear right wheel in the world frame."""


def curvature_limit(p: Params) -> per_m:
    """Largest curvature of the base point's path, either side."""
    rear = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return base_curvature_limit(rear, p.base_to_rear, p.curvature_max)


def steer_limit(p: Params) -> rad:
    """Largest angle of the virtual middle wheel that the front wheels allow."""
    rear = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return steer_of(rear, p.wheel_base)


def geometry(p: Params) -> Geometry:
    """Geometry from the parameters; the mass is estimated from the size."""
    rear = p.base_to_rear - p.base_to_tail
    front = p.length + rear
    shape = car_geometry(
        front_axle=p.wheel_base,
        rear_axle=0.0,
        front=front,
        rear=rear,
        width=p.width,
        height=0.6 * p.width,
        track=p.track,
        wheel_radius=p.wheel_radius,
        wheel_width=p.wheel_width,
        centre_of_mass=(0.5 * (front + rear), 0.0),
    )
    # Its outputs have the angle of each wheel.
    turned = (replace(w, steer=w.steer and f"steer_{w.name}") for w in shape.wheels)
    return replace(shape, wheels=tuple(turned))


def limits(p: Params) -> Limits:
    bend = float(curvature_limit(p))
    return Limits(
        steer_max=float(steer_limit(p)),
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.d_max,
        inputs={"velocity": (p.v_min, p.v_max), "curvature": (-bend, bend)},
    )


def command(x: State, demand: Demand, p: Params) -> Input:
    """Convert a demand for the rear axle to speed and curvature of the base point."""
    steer = limited(demand.steer, steer_limit(p))
    base = twist_at(Twist(curvature_of(steer, p.wheel_base), demand.v), p.base_to_rear, 0.0)
    return Input(velocity=base.velocity, curvature=base.curvature)


TRUCK = rolling_car(
    wheel_base=lambda p: p.wheel_base, geometry=geometry, limits=limits, command=command
)


class RearCommand(NamedTuple):
    """Commanded motion of the rear axle."""

    velocity: m_s = 0.0
    """Speed demanded, forward positive."""
    acceleration: m_s2 = 0.0
    """Magnitude of the acceleration while the speed grows."""
    deceleration: m_s2 = 0.0
    """Magnitude of the acceleration while the speed falls."""
    curvature: per_m = 0.0
    """Path curvature demanded, positive to the left."""


class SteerCommand(NamedTuple):
    """Commanded motion of the rear axle, with a steering angle instead of a curvature."""

    velocity: m_s = 0.0
    """As in `RearCommand`."""
    acceleration: m_s2 = 0.0
    """As in `RearCommand`."""
    deceleration: m_s2 = 0.0
    """As in `RearCommand`."""
    steer: rad = 0.0
    """Angle demanded of the virtual middle wheel of the front axle, positive to the left."""


class Actuation(NamedTuple):
    """Changes of speed and steering during one step."""

    v_x: Approach
    v_x_goal: m_s
    steer: Approach
    steer_goal: rad


class Point(NamedTuple):
    """A point in the world frame."""

    x: m
    y: m


def body_point(x: State, ahead: m, left: m) -> Point:
    """World position of a point of the body, given relative to the middle of the rear axle."""
    return Point(*to_world((x.x, x.y, x.yaw), ahead, left))


def rear_command(u: Input, p: Params) -> RearCommand:
    """Convert a command of the base point, within the limits, to one of the rear axle."""
    curvature = limited(u.curvature, curvature_limit(p))
    ratio = rear_ratio(curvature, p.base_to_rear)
    return RearCommand(
        clip(u.velocity, p.v_min, p.v_max) * ratio,
        minimum(u.acceleration, p.a_max) * ratio,
        minimum(u.acceleration, p.d_max) * ratio,
        curvature / ratio,
    )


def actuation(x: State, c: RearCommand, p: Params, dt: s) -> Actuation:
    """Changes of speed and steering in a step of `dt` from `x`."""
    return steered_actuation(x, steer_command(c, p), p, dt)


def steer_command(c: RearCommand, p: Params) -> SteerCommand:
    """Convert a command of the rear axle to one with a steering angle."""
    steer = steer_of(c.curvature, p.wheel_base)
    return SteerCommand(c.velocity, c.acceleration, c.deceleration, steer)


def steered_actuation(x: State, c: SteerCommand, p: Params, dt: s) -> Actuation:
    """Changes of speed and steering in a step of `dt` from `x`.

    To reverse its direction the truck first stops.
    """
    near = p.v_tolerance
    opposite = logical_or(
        logical_and(c.velocity > near, x.v_x < -near),
        logical_and(c.velocity < -near, x.v_x > near),
    )
    v_goal = where(opposite, 0.0, c.velocity)
    growth = abs(v_goal) - abs(x.v_x)
    slower = where(growth < -near, c.deceleration, 0.0)
    limit = where(growth >= near, c.acceleration, slower)
    return Actuation(
        approach(x.v_x, v_goal, limit, dt, near),
        v_goal,
        approach(x.steer, c.steer, p.steer_rate_max, dt, p.steer_tolerance),
        c.steer,
    )


def driven(x: State, c: RearCommand, p: Params, dt: s) -> State:
    """State after `dt` under a command of the rear axle; goals that are reached are met exactly."""
    act = actuation(x, c, p, dt)
    after = rolled(x, act, p, dt)
    return after._replace(
        steer=end_on_goal(after.steer, act.steer_goal, act.steer.lands),
        v_x=end_on_goal(after.v_x, act.v_x_goal, act.v_x.lands),
    )


def rolled(x: State, act: Actuation, p: Params, dt: s) -> State:
    """State after one classical Runge-Kutta step; goals are met up to rounding.

    Speed and steering change at the constant rates of `act`.
    """

    def rates(at: State) -> State:
        pose = rolling(at.yaw, at.v_x, at.steer, p.wheel_base)
        return State(*pose, act.steer.rate, act.v_x.rate)

    return rk4(rates, x, dt)


def update(x: State, u: Input, w: NoDisturbance, p: Params, dt: s) -> State:
    """State after `dt` under a command of the base point."""
    return driven(x, rear_command(u, p), p, dt)


def outputs(x: State, u: Input, w: NoDisturbance, p: Params) -> Outputs:
    rear = Twist(curvature_of(x.steer, p.wheel_base), x.v_x)
    half: Any = 0.5 * p.track
    base = twist_at(rear, p.base_to_rear, 0.0 * half)
    front = front_wheels(rear.curvature, p.wheel_base, p.track)
    spins = wheel_spin(rear, p.wheel_base, p.track, p.wheel_radius)
    axles = {"f": p.wheel_base, "r": 0.0 * p.wheel_base}
    frames: dict[str, m] = {}
    for wheel, side in (("fl", half), ("fr", -half), ("rl", half), ("rr", -half)):
        frames[f"x_{wheel}"], frames[f"y_{wheel}"] = body_point(x, axles[wheel[0]], side)
    return Outputs(
        *body_point(x, p.base_to_rear, 0.0 * half),
        v_base=base.velocity,
        v_y_base=rear.omega * p.base_to_rear,
        omega=rear.omega,
        curvature=rear.curvature,
        curvature_base=base.curvature,
        steer_fl=front.left,
        steer_fr=front.right,
        **{f"omega_{wheel}": spin for wheel, spin in spins._asdict().items()},
        motor=motor_rate(base.velocity, p.wheel_radius, p.gear_ratio),
        **frames,
        yaw_fl=x.yaw + front.left,
        yaw_fr=x.yaw + front.right,
    )


MODEL = Model(
    name="ackermann_truck",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    update=update,
    outputs=outputs,
    body=TRUCK,
    summary="Small truck with limited rates of speed and steering; rolls without slip",
)

ackermann_truck = VehicleFactory(MODEL)


REAR_MODEL = Model(
    name="ackermann_truck_rear",
    State=State,
    Input=RearCommand,
    Params=Params,
    update=lambda x, u, w, p, dt: driven(x, u, p, dt),
    summary="The truck under commands of its rear axle, worked out once per command",
)


def _summed_update(x: State, u: SteerCommand, w: NoDisturbance, p: Params, dt: s) -> State:
    act = steered_actuation(x, u, p, dt)
    return rolled(x, act, p, dt)._replace(
        steer=_summed(x.steer, act.steer_goal, act.steer, dt),
        v_x=_summed(x.v_x, act.v_x_goal, act.v_x, dt),
    )


def _summed(value: Any, goal: Any, way: Approach, dt: s) -> Any:
    """Value after a step, with upstream's rounding.

    It multiplies by the reciprocal of the step, which `maximum` keeps from becoming a quotient, and
    fuses no product with a sum, which `where` prevents.
    """
    rate = where(way.lands, (goal - value) * maximum(1.0 / dt, 0.0), way.rate)
    still = rate == 0.0
    total = where(still, 0.0, 3.0 * rate) + 2.0 * rate + rate
    return value + where(still, 0.0, total * (dt / 6.0))


SUMMED_MODEL = Model(
    name="ackermann_truck_summed",
    State=State,
    Input=SteerCommand,
    Params=Params,
    update=_summed_update,
    summary="The truck with the rounding of upstream's sums, which its IMU shows",
)
