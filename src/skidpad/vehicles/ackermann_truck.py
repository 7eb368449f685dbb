"""`ackermann_truck`: a small truck steered by speed and curvature, with limited rates.

The state is that of the middle of the rear axle, which rolls without slip. Commands are of the base
point, which lies `base_to_rear` ahead of it on the centre line. The default numbers and the rules
for speed and steering are those of the `simulator_2d` package of robotics-laboratory/truck (commit
332ff42); docs/errata.md lists where its program is put right.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..components.ackermann import (
    Twist,
    curvature_of,
    front_wheels,
    motor_rate,
    rear_ratio,
    steer_of,
    twist_at,
    wheel_spin,
)
from ..components.actuator import limited
from ..components.rate_limit import Approach, approach, landed
from ..components.runge_kutta import rk4
from ..components.single_track import rolling
from ..model import Model, NoDisturbance, VehicleFactory
from ..ops import abs, clip, logical_and, logical_or, maximum, minimum, where
from ..plane.pose import to_world
from ..units import m, m_s, m_s2, per_m, rad, rad_s, s
from .ackermann_truck_body import TRUCK
from .ackermann_truck_records import Input, Outputs, Params, State, curvature_limit


class RearCommand(NamedTuple):
    """What the rear axle is to do."""

    velocity: m_s = 0.0
    """Speed asked for, forward positive."""
    acceleration: m_s2 = 0.0
    """Magnitude of the acceleration while the speed grows."""
    deceleration: m_s2 = 0.0
    """Magnitude of the acceleration while the speed falls."""
    curvature: per_m = 0.0
    """Curvature of the path asked for, positive to the left."""


class SteerCommand(NamedTuple):
    """The same with the angle that gives the curvature."""

    velocity: m_s = 0.0
    """As in `RearCommand`."""
    acceleration: m_s2 = 0.0
    """As in `RearCommand`."""
    deceleration: m_s2 = 0.0
    """As in `RearCommand`."""
    steer: rad = 0.0
    """Angle asked for of a wheel in the middle of the front axle, positive to the left."""


class Actuation(NamedTuple):
    """What speed and steering do during one step."""

    v_x: Approach
    v_x_goal: m_s
    steer: Approach
    steer_goal: rad


class Point(NamedTuple):
    """A point in the world frame."""

    x: m
    y: m


def rear_command(u: Input, p: Params) -> RearCommand:
    """A command of the base point within the limits, as one of the rear axle."""
    curvature = limited(u.curvature, curvature_limit(p))
    ratio = rear_ratio(curvature, p.base_to_rear)
    return RearCommand(
        clip(u.velocity, p.v_min, p.v_max) * ratio,
        minimum(u.acceleration, p.a_max) * ratio,
        minimum(u.acceleration, p.d_max) * ratio,
        curvature / ratio,
    )


def actuation(x: State, c: RearCommand, p: Params, dt: s) -> Actuation:
    """What speed and steering do in the step of `dt` that starts at `x`."""
    return steered_actuation(x, steer_command(c, p), p, dt)


def steer_command(c: RearCommand, p: Params) -> SteerCommand:
    """A command of the rear axle with an angle in place of the curvature."""
    steer = steer_of(c.curvature, p.wheel_base)
    return SteerCommand(c.velocity, c.acceleration, c.deceleration, steer)


def steered_actuation(x: State, c: SteerCommand, p: Params, dt: s) -> Actuation:
    """What speed and steering do in the step of `dt` that starts at `x`.

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
    """The state after `dt` under a command of the rear axle, on the goals that it reaches."""
    act = actuation(x, c, p, dt)
    after = rolled(x, act, p, dt)
    return after._replace(
        steer=landed(after.steer, act.steer_goal, act.steer.lands),
        v_x=landed(after.v_x, act.v_x_goal, act.v_x.lands),
    )


def rolled(x: State, act: Actuation, p: Params, dt: s) -> State:
    """The state after one step of classical Runge-Kutta; it reaches its goals up to rounding.

    The rates of speed and steering are those of the start of the step.
    """

    def rates(at: State) -> State:
        pose = rolling(at.yaw, at.v_x, at.steer, p.wheel_base)
        return State(*pose, act.steer.rate, act.v_x.rate)

    return rk4(rates, x, dt)


def update(x: State, u: Input, w: NoDisturbance, p: Params, dt: s) -> State:
    """The state after `dt` under a command of the base point."""
    return driven(x, rear_command(u, p), p, dt)


def body_point(x: State, ahead: m, left: m) -> Point:
    """A point of the body, given from the middle of the rear axle, in the world frame."""
    return Point(*to_world((x.x, x.y, x.yaw), ahead, left))


def outputs(x: State, u: Input, w: NoDisturbance, p: Params) -> Outputs:
    """Frames and motion of base point and wheels."""
    rear = Twist(curvature_of(x.steer, p.wheel_base), x.v_x)
    half: Any = 0.5 * p.track
    base = twist_at(rear, p.base_to_rear, 0.0 * half)
    front = front_wheels(rear.curvature, p.wheel_base, p.track)
    return Outputs(
        *body_point(x, p.base_to_rear, 0.0 * half),
        v_base=base.velocity,
        v_y_base=rear.omega * p.base_to_rear,
        omega=rear.omega,
        curvature=rear.curvature,
        curvature_base=base.curvature,
        steer_fl=front.left,
        steer_fr=front.right,
        **_spins(rear, p),
        motor=motor_rate(base.velocity, p.wheel_radius, p.gear_ratio),
        **_wheel_frames(x, p, half),
        yaw_fl=x.yaw + front.left,
        yaw_fr=x.yaw + front.right,
    )


def _spins(rear: Twist, p: Params) -> dict[str, rad_s]:
    spin = wheel_spin(rear, p.wheel_base, p.track, p.wheel_radius)
    return {f"omega_{wheel}": value for wheel, value in spin._asdict().items()}


def _wheel_frames(x: State, p: Params, half: m) -> dict[str, m]:
    ahead = p.wheel_base
    places = {
        "fl": (ahead, half),
        "fr": (ahead, -half),
        "rl": (0.0 * ahead, half),
        "rr": (0.0 * ahead, -half),
    }
    frames: dict[str, m] = {}
    for wheel, place in places.items():
        frames[f"x_{wheel}"], frames[f"y_{wheel}"] = body_point(x, *place)
    return frames


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


def _rear_update(x: State, u: RearCommand, w: NoDisturbance, p: Params, dt: s) -> State:
    return driven(x, u, p, dt)


REAR_MODEL = Model(
    name="ackermann_truck_rear",
    State=State,
    Input=RearCommand,
    Params=Params,
    update=_rear_update,
    summary="The truck under commands of its rear axle, worked out once per command",
)


def _summed_update(x: State, u: SteerCommand, w: NoDisturbance, p: Params, dt: s) -> State:
    act = steered_actuation(x, u, p, dt)
    return rolled(x, act, p, dt)._replace(
        steer=_summed(x.steer, act.steer_goal, act.steer, dt),
        v_x=_summed(x.v_x, act.v_x_goal, act.v_x, dt),
    )


def _summed(value: Any, goal: Any, way: Approach, dt: s) -> Any:
    """The value after a step, with upstream's roundings.

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
