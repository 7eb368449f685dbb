"""CommonRoad's kinematic cars, whose wheels do not slip.

`commonroad_ks` is the kinematic single track KS, seen from its rear axle. `commonroad_kst` (KST)
pulls a trailer from its rear axle, which turns towards the tractor with v sin(hitch) / l_trailer.
Going backwards it folds up sooner or later, as real ones do; at `hitch_max` it is held.
`commonroad_kinematic_bicycle` is the `KinematicBicycle` of commonroad-control, moved by
acceleration and steering rate. Its reference point is the centre of mass, and `v` the speed of that
point, so the yaw rate is v sin(beta) / l_r.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi
from typing import Annotated, Any, NamedTuple

from ...core.model import Model, NoDisturbance
from ...ops import abs, cos, logical_and, sin, where
from ...units import Allowed, m, m_s, m_s2, non_negative, positive, rad, rad_s
from ..parts.disturbance import additive
from ..parts.kinematics import (
    Acceleration,
    body_acceleration,
    centre_track_rolling,
    drift_rate,
    following,
    path_acceleration,
    pose_rate,
    rolling,
)
from .body import rear_axle_body, rolling_body, seen_from_the_rear, with_trailer
from .records import (
    TRUCK_WITH_TRAILER,
    VEHICLE_MODELS,
    BicycleInput,
    CarInput,
    CommonRoadFactory,
    Limited,
    limited,
)
from .records import BicycleParams as kinematic_bicycle_Params
from .records import CarParams as ks_Params


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


def derivative(x: State, u: CarInput, w: NoDisturbance, p: ks_Params) -> State:
    """Time derivative of the state."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    pose = rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
    return State(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw)


def turn(v: m_s, steer: rad, acting: Limited, l_f: m, l_r: m) -> Outputs:
    """Accelerations where the mass is, not where the reference point is, and the yaw rate."""
    omega, omega_rate = following(v, acting.a, steer, acting.steer_rate, l_f + l_r)
    a = body_acceleration(Acceleration(acting.a, l_r * omega_rate), v, l_r * omega, omega)
    return Outputs(a.x, a.y, omega)


def outputs(x: State, u: CarInput, w: NoDisturbance, p: ks_Params) -> Outputs:
    """Accelerations under the commands that act."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    return turn(x.v, x.steer, acting, p.l_f, p.l_r)


MODEL = additive(
    Model(
        name="commonroad_ks",
        State=State,
        Input=CarInput,
        Params=ks_Params,
        Outputs=Outputs,
        derivative=derivative,
        outputs=outputs,
        body=rear_axle_body(seen_from_the_rear),
        summary="CommonRoad KS: kinematic single track, rear axle",
    )
)

commonroad_ks = CommonRoadFactory(MODEL, sets=(1, 2, 3, 4))


class KstState(NamedTuple):
    """Pose of the tractor's rear axle, speed, steering angle and hitch angle."""

    x: m = 0.0
    """Position of the middle of the tractor's rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the tractor's rear axle in the world frame."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""
    v: m_s = 0.0
    """Velocity of the tractor's rear axle, negative in reverse."""
    yaw: rad = 0.0
    """Heading of the tractor from the world x axis, positive to the left, not wrapped."""
    hitch: rad = 0.0
    """Heading of the trailer less that of the tractor."""


class Params(NamedTuple):
    """Geometry and limits; CommonRoad's vehicle 4, a truck with its trailer, by default."""

    l_f: Annotated[m, positive] = TRUCK_WITH_TRAILER["l_f"]
    """Distance from the tractor's centre of mass to its front axle."""
    l_r: Annotated[m, positive] = TRUCK_WITH_TRAILER["l_r"]
    """Distance from the tractor's centre of mass to its rear axle."""
    l_trailer: Annotated[m, positive] = TRUCK_WITH_TRAILER["l_trailer"]
    """Distance from the tractor's rear axle, where the hitch is, to the trailer's axle."""
    hitch_max: Annotated[rad, positive] = 0.5 * pi
    """Largest hitch angle, either side."""
    steer_max: Annotated[rad, non_negative] = TRUCK_WITH_TRAILER["steer_max"]
    """Largest steering angle, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = TRUCK_WITH_TRAILER["steer_rate_max"]
    """Largest steering rate, either side."""
    a_max: Annotated[m_s2, non_negative] = TRUCK_WITH_TRAILER["a_max"]
    """Largest acceleration, either way."""
    v_switch: Annotated[m_s, positive] = TRUCK_WITH_TRAILER["v_switch"]
    """Speed above which the engine's power limits the acceleration forwards."""
    v_min: Annotated[m_s, Allowed(high=0.0)] = TRUCK_WITH_TRAILER["v_min"]
    """Fastest in reverse, negative."""
    v_max: Annotated[m_s, positive] = TRUCK_WITH_TRAILER["v_max"]
    """Fastest forwards."""
    length: Annotated[m, positive] = TRUCK_WITH_TRAILER["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[m, positive] = TRUCK_WITH_TRAILER["width"]
    """Width of the body; it does not influence the motion."""
    trailer_length: Annotated[m, positive] = TRUCK_WITH_TRAILER["trailer_length"]
    """Length of the trailer; it does not influence the motion."""
    trailer_width: Annotated[m, positive] = TRUCK_WITH_TRAILER["trailer_width"]
    """Width of the trailer; it does not influence the motion."""


class KstOutputs(NamedTuple):
    """Accelerations of the tractor, and where the trailer is."""

    a_x: m_s2
    """Acceleration of the tractor's centre of mass over ground, along the tractor."""
    a_y: m_s2
    """Acceleration of the tractor's centre of mass over ground, positive to the left."""
    omega: rad_s
    """Yaw rate of the tractor, positive to the left."""
    x_trailer: m
    """Position of the trailer's axle in the world frame."""
    y_trailer: m
    """Position of the trailer's axle in the world frame."""
    yaw_trailer: rad
    """Heading of the trailer."""


def hitch_rate(x: KstState, omega: rad_s, p: Params) -> rad_s:
    """Rate of the hitch angle of a trailer that does not slip, beyond no limit."""
    return -x.v * sin(x.hitch) * (1.0 / p.l_trailer) - omega


def folding(x: KstState, free: rad_s, p: Params) -> rad_s:
    """The rate within the limit: at `hitch_max` the trailer comes back but folds no further."""
    stopped = logical_and(abs(x.hitch) >= p.hitch_max, free * x.hitch > 0.0)
    return where(stopped, 0.0, free)


def upstream_folding(x: KstState, free: rad_s, p: Params) -> rad_s:
    """The rate as CommonRoad's program has it: beyond the limit the trailer stays for ever.

    The program also moves the state of its caller back to the limit, which a function cannot.
    """
    return where(abs(x.hitch) > p.hitch_max, 0.0, free)


def _model(rule: Any) -> Model:
    def derivative(x: KstState, u: CarInput, w: NoDisturbance, p: Params) -> KstState:
        """Time derivative of the state."""
        acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
        pose = rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
        hitch = rule(x, hitch_rate(x, pose.yaw, p), p)
        return KstState(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw, hitch)

    return additive(
        Model(
            name="commonroad_kst",
            State=KstState,
            Input=CarInput,
            Params=Params,
            Outputs=KstOutputs,
            derivative=derivative,
            outputs=kst_outputs,
            body=rear_axle_body(with_trailer),
            mirror_odd={"hitch": True},
            summary="CommonRoad KST: kinematic single track with a trailer",
        )
    )


def kst_outputs(x: KstState, u: CarInput, w: NoDisturbance, p: Params) -> KstOutputs:
    """The tractor's accelerations, which do not feel the trailer, and the trailer's pose."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    tractor = turn(x.v, x.steer, acting, p.l_f, p.l_r)
    yaw = x.yaw + x.hitch
    x_trailer = x.x - p.l_trailer * cos(yaw)
    y_trailer = x.y - p.l_trailer * sin(yaw)
    return KstOutputs(*tractor, x_trailer, y_trailer, yaw)


KST_MODEL = _model(folding)
UPSTREAM_MODEL = replace(_model(upstream_folding), reproduces=VEHICLE_MODELS)

commonroad_kst = CommonRoadFactory(
    KST_MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3, 4), own=("l_trailer",)
)


class KinematicBicycleState(NamedTuple):
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


class KinematicBicycleOutputs(NamedTuple):
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


def kinematic_bicycle_derivative(
    x: KinematicBicycleState, u: BicycleInput, w: NoDisturbance, p: kinematic_bicycle_Params
) -> KinematicBicycleState:
    """Time derivative of the state."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), omega)
    return KinematicBicycleState(pose.x, pose.y, u.a, pose.yaw, u.steer_rate)


def kinematic_bicycle_outputs(
    x: KinematicBicycleState, u: BicycleInput, w: NoDisturbance, p: kinematic_bicycle_Params
) -> KinematicBicycleOutputs:
    """Accelerations of the turning car."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    turning = omega + drift_rate(x.steer, u.steer_rate, p.l_f, p.l_r)
    a = path_acceleration(x.v, beta, u.a, turning)
    return KinematicBicycleOutputs(a.x, a.y, u.a, x.v * omega, omega, beta)


KINEMATIC_BICYCLE_MODEL = additive(
    Model(
        name="commonroad_kinematic_bicycle",
        State=KinematicBicycleState,
        Input=BicycleInput,
        Params=kinematic_bicycle_Params,
        Outputs=KinematicBicycleOutputs,
        derivative=kinematic_bicycle_derivative,
        outputs=kinematic_bicycle_outputs,
        body=rolling_body(),
        mirror_odd={"a_lat": True},
        summary="Car without slip under acceleration and steering rate",
    )
)

commonroad_kinematic_bicycle = CommonRoadFactory(KINEMATIC_BICYCLE_MODEL)
