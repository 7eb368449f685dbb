"""Kinematics of planar rigid bodies and of cars without tyre slip.

First pose, rotating body frame and kinetic energy; then Ackermann steering: the middle of the rear
axle moves straight ahead, and all wheels roll about one point on the line of that axle. Curvature
is that of the path of the respective point, positive to the left. Positions are relative to the
middle of the rear axle: x forward, y left. The centre of mass of such a car moves at the slip angle
beta to the left of the heading.
"""

from __future__ import annotations

from math import pi
from typing import NamedTuple

from ...geometry.pose import rotated
from ...ops import atan, atan2, cos, maximum, minimum, sin, sqrt, tan
from ...units import J, kg, kg_m2, m, m_s, m_s2, one, per_m, per_s, rad, rad_s, rad_s2


class PoseRate(NamedTuple):
    """Time derivative of a planar pose, in the world frame."""

    x: m_s
    y: m_s
    yaw: rad_s


def pose_rate(yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> PoseRate:
    """World-frame velocity of the centre of mass from its body-frame velocity."""
    return PoseRate(*rotated(v_x, v_y, yaw), omega)


class Acceleration(NamedTuple):
    """Acceleration of the centre of mass over ground, resolved in the body frame.

    This is what an accelerometer at the centre of mass shows; it is not (v_x', v_y').
    """

    x: m_s2
    y: m_s2


def velocity_rate(a: Acceleration, v_x: m_s, v_y: m_s, omega: rad_s) -> Acceleration:
    """Rates (v_x', v_y') of the body-frame velocity, which also change because the frame turns."""
    return Acceleration(a.x + v_y * omega, a.y - v_x * omega)


def body_acceleration(rate: Acceleration, v_x: m_s, v_y: m_s, omega: rad_s) -> Acceleration:
    """Acceleration over ground from body-frame velocity rates; inverse of `velocity_rate`."""
    return Acceleration(rate.x - v_y * omega, rate.y + v_x * omega)


def kinetic_energy(v_x: m_s, v_y: m_s, omega: rad_s, m: kg, I_z: kg_m2) -> J:
    """Kinetic energy of the body, `I_z` about its centre of mass."""
    return 0.5 * (m * (v_x * v_x + v_y * v_y) + I_z * omega * omega)


class Twist(NamedTuple):
    """Motion of a point of the body: curvature of its path, and velocity."""

    curvature: per_m
    """Curvature of the point's path, positive to the left."""
    velocity: m_s
    """Speed of the point, with the sign of the rear axle's speed: negative in reverse."""

    @property
    def omega(self) -> rad_s:
        """Yaw rate, the same at every point of the body."""
        return self.curvature * self.velocity


class FrontWheels(NamedTuple):
    """Steering angles of the front wheels, positive to the left."""

    left: rad
    right: rad


class WheelSpin(NamedTuple):
    """Spin of each wheel about its axle, positive when it rolls forward."""

    fl: rad_s
    fr: rad_s
    rl: rad_s
    rr: rad_s


def steer_of(curvature: per_m, wheel_base: m) -> rad:
    """Angle of a virtual wheel in the middle of the front axle for a curvature of the rear axle."""
    return atan(wheel_base * curvature)


def curvature_of(steer: rad, wheel_base: m) -> per_m:
    """Curvature of the rear axle's path for an angle of the virtual front wheel in the middle."""
    return tan(steer) * (1.0 / wheel_base)


def front_wheels(curvature: per_m, wheel_base: m, track: m) -> FrontWheels:
    """Angles of both front wheels at which they roll about the turning centre of the rear axle."""
    sideways = 0.5 * track * curvature
    ahead = wheel_base * curvature
    return FrontWheels(atan2(ahead, 1.0 - sideways), atan2(ahead, 1.0 + sideways))


def speed_ratio(curvature: per_m, x: m, y: m) -> one:
    """Speed of a point of the body relative to the speed of the rear axle, whose path has this
    curvature."""
    along = 1.0 - curvature * y
    across = curvature * x
    return sqrt(along * along + across * across)


def twist_at(rear: Twist, x: m, y: m) -> Twist:
    """Twist of a point of the body from the twist of the rear axle.

    The point moves at the angle atan2(curvature x, 1 - curvature y) to the heading.
    """
    ratio = speed_ratio(rear.curvature, x, y)
    return Twist(rear.curvature / ratio, rear.velocity * ratio)


def rear_ratio(base_curvature: per_m, base_to_rear: m) -> one:
    """Speed of the rear axle relative to the speed of the base point ahead of it, for a curvature
    of the base point's path.

    The curvature of such a point is always less than 1 / base_to_rear.
    """
    sine = base_curvature * base_to_rear
    return sqrt(1.0 - sine * sine)


def wheel_spin(rear: Twist, wheel_base: m, track: m, radius: m) -> WheelSpin:
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
    """Motor revolutions per second; `gear_ratio` is turns of a wheel per turn of the motor."""
    return velocity / (2.0 * pi * radius * gear_ratio)


def rear_curvature_limit(inner: rad, outer: rad, wheel_base: m, track: m) -> per_m:
    """Largest curvature of the rear axle's path within the angle limits of the wheels.

    `inner` is the largest angle of a wheel towards the middle of the car, `outer` away from it. In
    a turn the wheel on the outside turns inwards, the one on the inside outwards.
    """
    half = 0.5 * track
    t_inner, t_outer = tan(inner), tan(outer)
    # Beyond an inner angle of atan(2 wheel_base / track) that wheel limits nothing.
    far_side = maximum(wheel_base - half * t_inner, 1e-9 * wheel_base)
    return minimum(t_inner / far_side, t_outer / (wheel_base + half * t_outer))


def base_curvature_limit(rear_limit: per_m, base_to_rear: m, most: per_m) -> per_m:
    """Largest curvature of the base point's path that the wheels allow, at most `most`."""
    return minimum(rear_limit / speed_ratio(rear_limit, base_to_rear, 0.0 * base_to_rear), most)


class NoSlip(NamedTuple):
    """Motion of a car whose wheels do not slip."""

    beta: rad
    """Slip angle at the centre of mass, positive when it moves to the left of the heading."""
    omega: rad_s
    """Yaw rate, positive to the left."""


class NoSlipRate(NamedTuple):
    """Rates of `NoSlip` under a steering rate and an acceleration."""

    beta: rad_s
    omega: rad_s2


class Following(NamedTuple):
    """Yaw rate of a car that rolls without slip, and its rate."""

    omega: rad_s
    omega_rate: rad_s2


def drift(steer: rad, l_f: m, l_r: m) -> rad:
    """Slip angle at the centre of mass for a steering angle, without tyre slip."""
    return atan(tan(steer) * (l_r * (1.0 / (l_f + l_r))))


def drift_rate(steer: rad, steer_rate: rad_s, l_f: m, l_r: m) -> rad_s:
    """Rate of `drift` at a steering rate: k steer' / (cos² + k² sin²) with k = l_r / L."""
    k = l_r * (1.0 / (l_f + l_r))
    c, s = cos(steer), k * sin(steer)
    return k * steer_rate / (c * c + s * s)


def centre_track_yaw_acceleration(
    v: m_s, a: m_s2, beta: rad, beta_rate: rad_s, steer: rad, steer_rate: rad_s, wheel_base: m
) -> rad_s2:
    """Rate of the yaw rate v cos(beta) tan(steer) / L; `a` is the rate of v."""
    c, s, t = cos(beta), sin(beta), tan(steer)
    turning = (a * c - v * s * beta_rate) * t + v * c * steer_rate * (1.0 + t * t)
    return turning * (1.0 / wheel_base)


def centre_track_rolling(v: m_s, steer: rad, l_f: m, l_r: m) -> NoSlip:
    """Slip angle and yaw rate of a car that rolls without slip at the speed `v`."""
    beta = drift(steer, l_f, l_r)
    return NoSlip(beta, v * cos(beta) * tan(steer) * (1.0 / (l_f + l_r)))


def rolling_rate(v: m_s, a: m_s2, steer: rad, steer_rate: rad_s, l_f: m, l_r: m) -> NoSlipRate:
    """Rates of slip angle and yaw rate of `centre_track_rolling`."""
    beta = drift(steer, l_f, l_r)
    beta_rate = drift_rate(steer, steer_rate, l_f, l_r)
    omega_rate = centre_track_yaw_acceleration(v, a, beta, beta_rate, steer, steer_rate, l_f + l_r)
    return NoSlipRate(beta_rate, omega_rate)


def following(v_x: m_s, a: m_s2, steer: rad, steer_rate: rad_s, wheel_base: m) -> Following:
    """Yaw rate and yaw acceleration of a car that rolls without slip at `v_x`."""
    by_wheelbase, t = 1.0 / wheel_base, tan(steer)
    return Following(
        v_x * t * by_wheelbase,
        (a * t + v_x * steer_rate * (1.0 + t * t)) * by_wheelbase,
    )


def path_acceleration(v: m_s, beta: rad, a: m_s2, turning: rad_s) -> Acceleration:
    """Acceleration over ground, in the body frame, of a point moving at `v` towards `beta`.

    `a` is the rate of v, `turning` that of the direction of travel over ground: yaw' + beta'.
    """
    return Acceleration(*rotated(a, v * turning, beta))


def yaw_rate(v_x: m_s, steer: rad, wheel_base: m) -> rad_s:
    """Yaw rate of a car that rolls at `v_x` with its front wheels at `steer`."""
    # tan would cost as much as sine and cosine together, because of its last-digit accuracy.
    return v_x * sin(steer) / (cos(steer) * wheel_base)


def rolling(yaw: rad, v_x: m_s, steer: rad, wheel_base: m) -> PoseRate:
    """World-frame velocity of the middle of the rear axle, and the yaw rate, of a rolling car."""
    return pose_rate(yaw, v_x, 0.0 * v_x, yaw_rate(v_x, steer, wheel_base))
