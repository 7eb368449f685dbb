"""Records of `ackermann_truck`, and the limits that its parameters set."""

from __future__ import annotations

from math import radians
from typing import Annotated, NamedTuple

from ..components.ackermann import base_curvature_limit, rear_curvature_limit, steer_of
from ..units import Allowed, m, m_s, m_s2, non_negative, one, per_m, per_s, positive, rad, rad_s

wheel_limit = Annotated[rad, Allowed(0.0, radians(89.9))]
"""How far a wheel can be turned."""


class State(NamedTuple):
    """Pose, steering and speed of the middle of the rear axle."""

    x: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    steer: rad = 0.0
    """Angle of a wheel in the middle of the front axle, positive to the left."""
    v_x: m_s = 0.0
    """Velocity of the rear axle along the truck, forward positive."""


class Input(NamedTuple):
    """Commands, of the base point; each is cut to the limits of the truck."""

    velocity: m_s = 0.0
    """Speed asked for, forward positive."""
    acceleration: Annotated[m_s2, non_negative] = 1000.0
    """Magnitude of the acceleration to get there with; by default whatever the limits allow."""
    curvature: per_m = 0.0
    """Curvature of the path asked for, positive to the left."""


class Params(NamedTuple):
    """Parameters of the truck; the numbers are those of upstream's `model.yaml`."""

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
    """Fastest speed of the base point in reverse."""
    v_max: Annotated[m_s, positive] = 0.8
    """Fastest speed of the base point forward."""
    a_max: Annotated[m_s2, non_negative] = 1.0
    """Largest acceleration of the base point while its speed grows, either direction."""
    d_max: Annotated[m_s2, non_negative] = 2.0
    """Largest deceleration of the base point while its speed falls, either direction."""
    gear_ratio: Annotated[one, positive] = 0.08421
    """Turns of a wheel per turn of the motor."""
    v_tolerance: Annotated[m_s, non_negative] = 0.0
    """Difference from its goal within which the speed is left as it is."""
    steer_tolerance: Annotated[rad, non_negative] = 0.0
    """Difference from its goal within which the steering is left as it is."""


class Outputs(NamedTuple):
    """Frames of the truck in the world, and how its points and wheels move."""

    x_base: m
    """Position of the base point in the world frame."""
    y_base: m
    """Position of the base point in the world frame."""
    v_base: m_s
    """Speed of the base point along its path, negative in reverse."""
    v_y_base: m_s
    """Velocity of the base point across the truck, positive to the left; along it, it is v_x."""
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
    """Largest angle of the wheel in the middle of the front axle that the wheels allow."""
    rear = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return steer_of(rear, p.wheel_base)
