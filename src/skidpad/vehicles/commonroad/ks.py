"""`commonroad_ks`: kinematic single track, CommonRoad's KS, seen from its rear axle."""

from __future__ import annotations

from typing import NamedTuple

from ...components.additive_disturbance import additive
from ...components.centre_track import following
from ...components.commonroad_limits import Limited, limited
from ...components.rigid_body import Acceleration, body_acceleration
from ...components.single_track import rolling
from ...model import Model, NoDisturbance
from ...units import m, m_s, m_s2, rad, rad_s
from .body import rear_axle_body, seen_from_the_rear
from .factory import CommonRoadFactory
from .records import CarInput
from .records import CarParams as Params


class State(NamedTuple):
    """Pose of the rear axle, speed and steering angle. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""
    v: m_s = 0.0
    """Velocity of the rear axle, negative in reverse."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""


class Outputs(NamedTuple):
    """Accelerations of the centre of mass, and the turn."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""


def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
    """Time derivative of the state."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    pose = rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
    return State(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw)


def turn(v: m_s, steer: rad, acting: Limited, l_f: m, l_r: m) -> Outputs:
    """Accelerations where the mass is, not where the reference point is, and the yaw rate."""
    omega, omega_rate = following(v, acting.a, steer, acting.steer_rate, l_f + l_r)
    a = body_acceleration(Acceleration(acting.a, l_r * omega_rate), v, l_r * omega, omega)
    return Outputs(a.x, a.y, omega)


def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
    """Accelerations under the commands that act."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    return turn(x.v, x.steer, acting, p.l_f, p.l_r)


MODEL = additive(
    Model(
        name="commonroad_ks",
        State=State,
        Input=CarInput,
        Params=Params,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        body=rear_axle_body(seen_from_the_rear),
        summary="CommonRoad KS: kinematic single track, rear axle",
    )
)

commonroad_ks = CommonRoadFactory(MODEL, sets=(1, 2, 3, 4))
