"""Ackermann steering without slip: the rear axle, the four wheels and any point of the body.

The middle of the rear axle moves straight ahead, and all wheels roll about one point on the line of
that axle. Curvature is that of the path of the point it is said of, positive to the left. Points of
the body are given from the middle of the rear axle: x forward, y left.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

from ..ops import atan, atan2, maximum, minimum, sqrt, tan
from ..units import m, m_s, one, per_m, per_s, rad, rad_s, rad_s2


class Twist(NamedTuple):
    """Motion of one point of the body."""

    curvature: per_m
    """Curvature of its path, positive to the left."""
    velocity: m_s
    """Its speed, with the sign of the speed of the rear axle: negative in reverse."""

    @property
    def omega(self) -> rad_s:
        """Yaw rate, the same at every point of the body."""
        return self.curvature * self.velocity


class FrontWheels(NamedTuple):
    """Angles of the front wheels from straight ahead, positive to the left."""

    left: rad
    right: rad


class WheelSpin(NamedTuple):
    """Spin of each wheel about its axle, positive when it rolls forward."""

    fl: rad_s
    fr: rad_s
    rl: rad_s
    rr: rad_s


def steer_of(curvature: per_m, wheel_base: m) -> rad:
    """Angle of a wheel in the middle of the front axle that gives the rear axle this curvature."""
    return atan(wheel_base * curvature)


def curvature_of(steer: rad, wheel_base: m) -> per_m:
    """Curvature of the path of the rear axle at an angle of the wheel in the middle."""
    return tan(steer) * (1.0 / wheel_base)


def front_wheels(curvature: per_m, wheel_base: m, track: m) -> FrontWheels:
    """Angles at which both front wheels roll about the centre of the rear axle's curvature."""
    sideways = 0.5 * track * curvature
    ahead = wheel_base * curvature
    return FrontWheels(atan2(ahead, 1.0 - sideways), atan2(ahead, 1.0 + sideways))


def speed_ratio(curvature: per_m, x: m, y: m) -> one:
    """Speed of a point of the body over that of the rear axle, whose path has this curvature."""
    along = 1.0 - curvature * y
    across = curvature * x
    return sqrt(along * along + across * across)


def twist_at(rear: Twist, x: m, y: m) -> Twist:
    """Twist of a point of the body from that of the rear axle.

    The point moves at the angle atan2(curvature x, 1 - curvature y) to the heading.
    """
    ratio = speed_ratio(rear.curvature, x, y)
    return Twist(rear.curvature / ratio, rear.velocity * ratio)


def rear_ratio(base_curvature: per_m, base_to_rear: m) -> one:
    """Speed of the rear axle over that of the base point ahead of it, at a curvature of the base.

    No point so far ahead can have a curvature of 1 / base_to_rear or more.
    """
    sine = base_curvature * base_to_rear
    return sqrt(1.0 - sine * sine)


def rear_twist(base: Twist, base_to_rear: m) -> Twist:
    """Twist of the rear axle from that of the base point; the inverse of `twist_at`."""
    ratio = rear_ratio(base.curvature, base_to_rear)
    return Twist(base.curvature / ratio, base.velocity * ratio)


def wheel_spin(rear: Twist, wheel_base: m, track: m, radius: m) -> WheelSpin:
    """Spin of the wheels from the twist of the rear axle."""
    half = 0.5 * track
    ratios = (
        speed_ratio(rear.curvature, wheel_base, half),
        speed_ratio(rear.curvature, wheel_base, -half),
        1.0 - rear.curvature * half,
        1.0 + rear.curvature * half,
    )
    turning = rear.velocity / radius
    return WheelSpin(*(turning * ratio for ratio in ratios))


def motor_rate(velocity: m_s, radius: m, gear_ratio: one) -> per_s:
    """Revolutions of the motor per second; `gear_ratio` is turns of a wheel per turn of it."""
    return velocity / (2.0 * pi * radius * gear_ratio)


def rear_curvature_limit(inner: rad, outer: rad, wheel_base: m, track: m) -> per_m:
    """Largest curvature of the rear axle's path, either side, that the wheels can be turned to.

    `inner` is how far a wheel turns towards the middle of the car, `outer` how far away from it. In
    a turn the wheel on the far side turns inwards, the near one outwards.
    """
    half = 0.5 * track
    t_inner, t_outer = tan(inner), tan(outer)
    # Beyond an inner angle of atan(2 wheel_base / track) that wheel limits nothing.
    far_side = maximum(wheel_base - half * t_inner, 1e-9 * wheel_base)
    return minimum(t_inner / far_side, t_outer / (wheel_base + half * t_outer))


def base_curvature_limit(rear_limit: per_m, base_to_rear: m, most: per_m) -> per_m:
    """Largest curvature of the base point's path: what the wheels can do, and at most `most`."""
    return minimum(rear_limit / speed_ratio(rear_limit, base_to_rear, 0.0 * base_to_rear), most)


def yaw_acceleration(v_x: m_s, steer: rad, a_x: float, steer_rate: rad_s, wheel_base: m) -> rad_s2:
    """Rate of the yaw rate while speed changes with `a_x` (m/s²) and steering with `steer_rate`."""
    t = tan(steer)
    return (a_x * t + v_x * steer_rate * (1.0 + t * t)) * (1.0 / wheel_base)
