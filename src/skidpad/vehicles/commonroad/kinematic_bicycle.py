"""`commonroad_kinematic_bicycle`: a car without slip, moved by acceleration and steering rate.

The `KinematicBicycle` of commonroad-control. The reference point is the centre of mass, and `v` the
speed of that point, so the yaw rate is v sin(beta) / l_r.
"""

from __future__ import annotations

from typing import NamedTuple

from ...components.additive_disturbance import additive
from ...components.centre_track import drift_rate, path_acceleration, rolling
from ...components.rigid_body import pose_rate
from ...model import Model, NoDisturbance
from ...ops import cos, sin
from ...units import m, m_s, m_s2, rad, rad_s
from .body import rolling_body
from .factory import CommonRoadFactory
from .records import BicycleInput
from .records import BicycleParams as Params


class State(NamedTuple):
    """Pose, speed and steering angle. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    v: m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""


class Outputs(NamedTuple):
    """Accelerations and slip."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    a_long: m_s2
    """Acceleration along the path, as commanded: what `a_long_max` limits."""
    a_lat: m_s2
    """Centripetal acceleration of the turn that the steering angle asks for, v omega: what
    `a_lat_max` limits. A moving steering angle turns the path further; `a_y` has that too."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    beta: rad
    """Slip angle at the centre of mass, positive to the left."""


def derivative(x: State, u: BicycleInput, w: NoDisturbance, p: Params) -> State:
    """Time derivative of the state."""
    beta, omega = rolling(x.v, x.steer, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), omega)
    return State(pose.x, pose.y, u.a, pose.yaw, u.steer_rate)


def outputs(x: State, u: BicycleInput, w: NoDisturbance, p: Params) -> Outputs:
    """Accelerations of the turning car."""
    beta, omega = rolling(x.v, x.steer, p.l_f, p.l_r)
    turning = omega + drift_rate(x.steer, u.steer_rate, p.l_f, p.l_r)
    a = path_acceleration(x.v, beta, u.a, turning)
    return Outputs(a.x, a.y, u.a, x.v * omega, omega, beta)


MODEL = additive(
    Model(
        name="commonroad_kinematic_bicycle",
        State=State,
        Input=BicycleInput,
        Params=Params,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        body=rolling_body(),
        mirror_odd={"a_lat": True},
        summary="Car without slip under acceleration and steering rate",
    )
)

commonroad_kinematic_bicycle = CommonRoadFactory(MODEL)
