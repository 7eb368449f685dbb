"""The single-track cars of commonroad-vehicle-models: KS, KST and ST.

`commonroad_ks` is kinematic, seen from its rear axle, and its wheels do not slip. `commonroad_kst`
pulls a trailer from its rear axle, which turns towards the tractor with v sin(hitch) / l_trailer.
Going backwards it folds up sooner or later, as real ones do; at `hitch_max` it is held.

`commonroad_st` is dynamic, on linear tyres. Its state holds speed and slip angle instead of two
velocities, and angles are taken as small: the force across an axle is its stiffness times (steering
angle - beta - l omega / v). That has no meaning at rest, so a slow car follows its wheels; see
`tyres.low_speed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import pi
from typing import Annotated, Any, NamedTuple

from ...core.body import Velocity
from ...core.model import Model, NoDisturbance
from ...core.record import extended
from ...ops import abs, cos, logical_and, sin, where
from ...tyres.low_speed import dynamic_share, led, mixed
from ...units import (
    Allowed,
    N,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    rad_s2,
    s,
)
from ..parts.disturbance import additive
from ..parts.kinematics import (
    Acceleration,
    body_acceleration,
    centre_track_rolling,
    following,
    path_acceleration,
    pose_rate,
    rolling,
    rolling_rate,
)
from ..parts.load_transfer import AxleLoads, floored_speed, on_road, pitch_loads
from .body import (
    rear_axle_body,
    seen_from_the_mass,
    seen_from_the_rear,
    slipping_body,
    with_trailer,
)
from .records import (
    BMW_320I,
    TRUCK_WITH_TRAILER,
    VEHICLE_MODELS,
    AxleOutputs,
    CarInput,
    CarParams,
    CommonRoadFactory,
    Limited,
    limited,
    upstream_rolling_rate,
)


class KsState(NamedTuple):
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


class KsOutputs(NamedTuple):
    """Accelerations of the centre of mass, and the turn."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""


def ks_derivative(x: KsState, u: CarInput, w: NoDisturbance, p: CarParams) -> KsState:
    """Time derivative of the state."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    pose = rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
    return KsState(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw)


def turn(v: m_s, steer: rad, acting: Limited, l_f: m, l_r: m) -> KsOutputs:
    """Accelerations where the mass is, not where the reference point is, and the yaw rate."""
    omega, omega_rate = following(v, acting.a, steer, acting.steer_rate, l_f + l_r)
    a = body_acceleration(Acceleration(acting.a, l_r * omega_rate), v, l_r * omega, omega)
    return KsOutputs(a.x, a.y, omega)


def ks_outputs(x: KsState, u: CarInput, w: NoDisturbance, p: CarParams) -> KsOutputs:
    """Accelerations under the commands that act."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    return turn(x.v, x.steer, acting, p.l_f, p.l_r)


KS_MODEL = additive(
    Model(
        name="commonroad_ks",
        State=KsState,
        Input=CarInput,
        Params=CarParams,
        Outputs=KsOutputs,
        derivative=ks_derivative,
        outputs=ks_outputs,
        body=rear_axle_body(seen_from_the_rear),
        summary="CommonRoad KS: kinematic single track, rear axle",
    )
)

commonroad_ks = CommonRoadFactory(KS_MODEL, sets=(1, 2, 3, 4))


@extended
class KstState(KsState):
    """Pose of the tractor's rear axle, speed, steering angle and hitch angle."""

    hitch: rad = 0.0
    """Heading of the trailer less that of the tractor."""


class KstParams(NamedTuple):
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


def hitch_rate(x: KstState, omega: rad_s, p: KstParams) -> rad_s:
    """Rate of the hitch angle of a trailer that does not slip, beyond no limit."""
    return -x.v * sin(x.hitch) * (1.0 / p.l_trailer) - omega


def folding(x: KstState, free: rad_s, p: KstParams) -> rad_s:
    """The rate within the limit: at `hitch_max` the trailer comes back but folds no further."""
    stopped = logical_and(abs(x.hitch) >= p.hitch_max, free * x.hitch > 0.0)
    return where(stopped, 0.0, free)


def upstream_folding(x: KstState, free: rad_s, p: KstParams) -> rad_s:
    """The rate as CommonRoad's program has it: beyond the limit the trailer stays for ever.

    The program also moves the state of its caller back to the limit, which a function cannot.
    """
    return where(abs(x.hitch) > p.hitch_max, 0.0, free)


def _kst_model(rule: Any) -> Model:
    def derivative(x: KstState, u: CarInput, w: NoDisturbance, p: KstParams) -> KstState:
        """Time derivative of the state."""
        acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
        pose = rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
        hitch = rule(x, hitch_rate(x, pose.yaw, p), p)
        return KstState._make((pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw, hitch))

    return additive(
        Model(
            name="commonroad_kst",
            State=KstState,
            Input=CarInput,
            Params=KstParams,
            Outputs=KstOutputs,
            derivative=derivative,
            outputs=kst_outputs,
            body=rear_axle_body(with_trailer),
            mirror_odd={"hitch": True},
            summary="CommonRoad KST: kinematic single track with a trailer",
        )
    )


def kst_outputs(x: KstState, u: CarInput, w: NoDisturbance, p: KstParams) -> KstOutputs:
    """The tractor's accelerations, which do not feel the trailer, and the trailer's pose."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    tractor = turn(x.v, x.steer, acting, p.l_f, p.l_r)
    yaw = x.yaw + x.hitch
    x_trailer = x.x - p.l_trailer * cos(yaw)
    y_trailer = x.y - p.l_trailer * sin(yaw)
    return KstOutputs(*tractor, x_trailer, y_trailer, yaw)


KST_MODEL = _kst_model(folding)
KST_UPSTREAM_MODEL = replace(_kst_model(upstream_folding), reproduces=VEHICLE_MODELS)

commonroad_kst = CommonRoadFactory(
    KST_MODEL, upstream=KST_UPSTREAM_MODEL, sets=(1, 2, 3, 4), own=("l_trailer",)
)


class StState(NamedTuple):
    """Pose, speed, slip angle and steering angle. ISO 8855: x forward, y left."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: rad = 0.0
    """Steering angle, positive to the left."""
    v: m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    beta: rad = 0.0
    """Slip angle: direction of travel less heading, positive to the left."""


@extended
class StParams(CarParams):
    """Masses, tyres and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    m: Annotated[kg, positive] = BMW_320I["m"]
    """Mass."""
    I_z: Annotated[kg_m2, positive] = BMW_320I["I_z"]
    """Yaw inertia about the centre of mass."""
    h_s: Annotated[m, non_negative] = BMW_320I["h_s"]
    """Height at which acceleration moves load between the axles: that of the sprung mass."""
    C_f: Annotated[one, non_negative] = 21.92
    """Cornering stiffness of the front axle over its load, in 1/rad: -p_ky1 of the tyre."""
    C_r: Annotated[one, non_negative] = 21.92
    """Cornering stiffness of the rear axle over its load, in 1/rad."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[m_s, non_negative] = 0.1
    """Speed up to which the car follows its wheels."""
    v_dyn: Annotated[m_s, positive] = 1.0
    """Speed from which it follows its tyre forces alone; above v_kin."""
    t_kin: Annotated[s, positive] = 0.02
    """Time in which the yaw rate of a slow car gets into line with its wheels."""


class StForces(NamedTuple):
    """Slip, lateral force and load of both axles."""

    alpha_f: rad
    alpha_r: rad
    F_y_f: N
    F_y_r: N
    F_z_f: N
    F_z_r: N


class StTurning(NamedTuple):
    """Rates of the two states that the tyres decide."""

    omega: rad_s2
    beta: rad_s


def st_forces(x: StState, loads: AxleLoads, speed: m_s, p: StParams) -> StForces:
    """Linear tyre forces; `speed` is what the velocity across an axle is compared with."""
    by_speed = 1.0 / speed
    alpha_f = (x.v * (x.steer - x.beta) - p.l_f * x.omega) * by_speed
    alpha_r = (p.l_r * x.omega - x.v * x.beta) * by_speed
    F_z_f, F_z_r = loads
    return StForces(
        alpha_f, alpha_r, p.C_f * alpha_f * F_z_f, p.C_r * alpha_r * F_z_r, F_z_f, F_z_r
    )


def sliding(x: StState, force: StForces, speed: m_s, p: StParams) -> StTurning:
    """Rates under the tyre forces."""
    across = (force.F_y_f + force.F_y_r) * (1.0 / p.m)
    return StTurning(
        (p.l_f * force.F_y_f - p.l_r * force.F_y_r) * (1.0 / p.I_z),
        across * x.v / (speed * speed) - x.omega,
    )


class StMotion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    rate: StState
    force: StForces


def st_motion(x: StState, u: CarInput, p: StParams) -> StMotion:
    """Rates and forces at any speed, forwards and backwards."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    speed = floored_speed(x.v, p.v_dyn)
    loads = pitch_loads(acting.a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    force = st_forces(x, AxleLoads(*map(on_road, loads)), speed, p)
    slide = sliding(x, force, speed, p)
    share = dynamic_share(x.v, p)
    line = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    line_rate = rolling_rate(x.v, acting.a, x.steer, acting.steer_rate, p.l_f, p.l_r)
    beta = mixed(share, x.beta, line.beta)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), mixed(share, x.omega, line.omega))
    omega_rate = led(x.omega, line.omega, line_rate.omega, p.t_kin)
    rate = StState(
        pose.x,
        pose.y,
        acting.steer_rate,
        acting.a,
        pose.yaw,
        mixed(share, slide.omega, omega_rate),
        mixed(share, slide.beta, line_rate.beta),
    )
    return StMotion(rate, force)


def st_upstream_motion(x: StState, u: CarInput, p: StParams) -> StMotion:
    """Rates as CommonRoad's program has them: kinematic below v_kin, and at -v as at v."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    slow = abs(x.v) < p.v_kin
    # Both branches are evaluated, so the one not taken needs a speed to divide by too.
    speed = where(slow, p.v_kin, x.v)
    loads = pitch_loads(acting.a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    force = st_forces(x, loads, speed, p)
    slide = sliding(x, force, speed, p)
    line_rate = upstream_rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, *st_upstream_velocity(x, u, p))
    rate = StState(
        pose.x,
        pose.y,
        acting.steer_rate,
        acting.a,
        pose.yaw,
        where(slow, line_rate.omega, slide.omega),
        where(slow, line_rate.beta, slide.beta),
    )
    return StMotion(rate, force)


def st_upstream_velocity(x: StState, u: CarInput, p: StParams) -> Velocity:
    """How the car moves over ground: as its wheels point below v_kin."""
    slow, line = abs(x.v) < p.v_kin, centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta = where(slow, line.beta, x.beta)
    return Velocity(x.v * cos(beta), x.v * sin(beta), where(slow, line.omega, x.omega))


def _st_model(move: Callable[[StState, CarInput, StParams], StMotion]) -> Model:
    def derivative(x: StState, u: CarInput, w: NoDisturbance, p: StParams) -> StState:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: StState, u: CarInput, w: NoDisturbance, p: StParams) -> AxleOutputs:
        """Accelerations of the motion, slip and forces."""
        now = move(x, u, p)
        turning = now.rate.yaw + now.rate.beta
        return AxleOutputs(*path_acceleration(x.v, x.beta, now.rate.v, turning), *now.force)

    return additive(
        Model(
            name="commonroad_st",
            State=StState,
            Input=CarInput,
            Params=StParams,
            Outputs=AxleOutputs,
            derivative=derivative,
            outputs=outputs,
            body=slipping_body(seen_from_the_mass),
            summary="CommonRoad ST: single track on linear tyres",
        )
    )


ST_MODEL = _st_model(st_motion)
ST_UPSTREAM_MODEL = replace(
    _st_model(st_upstream_motion),
    body=slipping_body(seen_from_the_mass, st_upstream_velocity),
    reproduces=VEHICLE_MODELS,
    exempt={"rest": "below 0.1 m/s it integrates increments of the yaw rate and forgets no error"},
)

commonroad_st = CommonRoadFactory(ST_MODEL, upstream=ST_UPSTREAM_MODEL, sets=(1, 2, 3))
