"""The single-track cars of commonroad-vehicle-models: KS, KST, ST and STD.

`commonroad_ks` is kinematic, with the rear axle as reference point, and its wheels do not slip.
`commonroad_kst` pulls a trailer hitched at its rear axle, which aligns with the tractor at the rate
v sin(hitch) / l_trailer. In reverse it jackknifes sooner or later, as real ones do; the hitch angle
stops at `hitch_max`.

`commonroad_st` is dynamic, on linear tyres. Its state holds speed and slip angle instead of two
velocities, and angles are taken as small: the lateral force of an axle is its stiffness times
(steering angle - beta - l omega / v). This is undefined at rest, so at low speed the car moves as
its wheels roll; see `tyres.contract`.

`commonroad_std` drifts: it has spinning wheels on Pacejka tyres. Engine and brakes turn the wheels,
and the tyre force follows from their slip against the road. An axle stands for a left and a right
tyre that are mirror images, so their lateral pulls (conicity, ply steer) cancel.

Functions named `upstream`, or with that argument, compute what `commonroad-vehicle-models` 3.0.2
does, with its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import pi
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.body import Body, Geometry, Pose, Trailer, Velocity, Wheel, box
from ...core.model import Model
from ...core.record import extended
from ...ops import abs, atan, atan2, cos, logical_and, logical_or, maximum, sin, sqrt, tanh, where
from ...tyres.contract import dynamic_share, led, mixed
from ..parts import kinematics
from ..parts.actuators import fraction
from ..parts.assembly import rolling_car, sliding_car
from ..parts.load_transfer import (
    Force,
    floored_speed,
    in_wheel_frame,
    on_road,
    pitch_loads,
    smooth_slip_angle,
)
from ..parts.load_transfer import Velocity as WheelVelocity
from ..parts.spinning_wheel import (
    axle_torques,
    longitudinal_slip,
    on_wheel,
    spin_rate,
    upstream_slip,
)
from . import cars
from .tyre import UPSTREAM_TYRE, Coefficients, Slip, axle_force, tyre_force


class KsState(NamedTuple):
    """Pose of the rear axle, speed and steering angle. ISO 8855: x forward, y left."""

    x: si.m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: si.m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    steer: si.rad = 0.0
    """Steering angle, positive to the left."""
    v: si.m_s = 0.0
    """Velocity of the rear axle, negative in reverse."""
    yaw: si.rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""


class KsOutputs(NamedTuple):
    """Accelerations of the centre of mass, and the yaw rate."""

    a_x: si.m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: si.m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    omega: si.rad_s
    """Yaw rate, positive to the left."""


def ks_motion(x: Any, u: cars.CarInput, p: Any) -> cars.Motion:
    """State rates and limited commands of a car whose rear axle rolls."""
    acting = cars.limit_commands(u, x.steer, x.v, p)
    pose = kinematics.rolling(x.yaw, x.v, x.steer, p.l_f + p.l_r)
    return cars.Motion(KsState(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw), acting)


def ks_shown(x: Any, now: cars.Motion, p: Any) -> KsOutputs:
    """Acceleration of the centre of mass (not of the reference point), and the yaw rate."""
    a, wheelbase = now.acting.a, p.l_f + p.l_r
    omega, omega_rate = kinematics.following(x.v, a, x.steer, now.acting.steer_rate, wheelbase)
    at = kinematics.body_acceleration(
        kinematics.Acceleration(a, p.l_r * omega_rate), x.v, p.l_r * omega, omega
    )
    return KsOutputs(at.x, at.y, omega)


def rear_axle_body(geometry: Callable[[Any], Geometry]) -> Body:
    """Body of KS or KST, whose rear axle rolls without slip."""
    return rolling_car(
        wheel_base=lambda p: p.l_f + p.l_r,
        speed="v",
        geometry=geometry,
        limits=cars.limits,
        command=cars.car_command,
        on_ground=cars.on_slope("v"),
    )


KS_MODEL = cars.car_model(
    "commonroad_ks",
    KsState,
    cars.CarParams,
    KsOutputs,
    ks_motion,
    ks_shown,
    body=rear_axle_body(lambda p: cars.sized(p, rear=True)),
    summary="CommonRoad KS: kinematic single track, rear axle",
)

commonroad_ks = cars.CommonRoadFactory(KS_MODEL, sets=(1, 2, 3, 4))

TRAILER_TAIL = 0.3
"""Share of a trailer's length behind its axle."""
TRUCK_WHEEL: si.m = 0.5
TRUCK_TYRE: si.m = 0.3
"""Wheel radius and width of the truck and its trailer."""
TRUCK_HEIGHT: si.m = 3.9


@extended
class KstState(KsState):
    """Pose of the tractor's rear axle, speed, steering angle and hitch angle."""

    hitch: si.rad = 0.0
    """Hitch angle: heading of the trailer minus that of the tractor, positive to the left."""


class KstParams(NamedTuple):
    """Geometry and limits; by default CommonRoad's vehicle 4, a truck with its trailer."""

    l_f: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["l_f"]
    """Distance from the tractor's centre of mass to its front axle."""
    l_r: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["l_r"]
    """Distance from the tractor's centre of mass to its rear axle."""
    l_trailer: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["l_trailer"]
    """Distance from the tractor's rear axle, where the hitch is, to the trailer's axle."""
    hitch_max: Annotated[si.rad, si.positive] = 0.5 * pi
    """Largest hitch angle, either side."""
    steer_max: Annotated[si.rad, si.non_negative] = cars.TRUCK_WITH_TRAILER["steer_max"]
    """Largest steering angle, either side."""
    steer_rate_max: Annotated[si.rad_s, si.non_negative] = cars.TRUCK_WITH_TRAILER["steer_rate_max"]
    """Largest steering rate, either side."""
    a_max: Annotated[si.m_s2, si.non_negative] = cars.TRUCK_WITH_TRAILER["a_max"]
    """Largest acceleration, either way."""
    v_switch: Annotated[si.m_s, si.positive] = cars.TRUCK_WITH_TRAILER["v_switch"]
    """Speed above which engine power limits the forward acceleration."""
    v_min: Annotated[si.m_s, si.Allowed(high=0.0)] = cars.TRUCK_WITH_TRAILER["v_min"]
    """Largest speed in reverse, negative."""
    v_max: Annotated[si.m_s, si.positive] = cars.TRUCK_WITH_TRAILER["v_max"]
    """Largest speed forwards."""
    length: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["length"]
    """Length of the body; it does not influence the motion."""
    width: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["width"]
    """Width of the body; it does not influence the motion."""
    trailer_length: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["trailer_length"]
    """Length of the trailer; it does not influence the motion."""
    trailer_width: Annotated[si.m, si.positive] = cars.TRUCK_WITH_TRAILER["trailer_width"]
    """Width of the trailer; it does not influence the motion."""


class KstOutputs(NamedTuple):
    """Accelerations of the tractor, and pose of the trailer's axle."""

    a_x: si.m_s2
    """Acceleration of the tractor's centre of mass over ground, along the tractor."""
    a_y: si.m_s2
    """Acceleration of the tractor's centre of mass over ground, positive to the left."""
    omega: si.rad_s
    """Yaw rate of the tractor, positive to the left."""
    x_trailer: si.m
    """Position of the trailer's axle in the world frame."""
    y_trailer: si.m
    """Position of the trailer's axle in the world frame."""
    yaw_trailer: si.rad
    """Heading of the trailer."""


def with_trailer(p: KstParams) -> Geometry:
    """Geometry of KST: a tractor and its semi-trailer, whose axle is near its rear end."""
    half = 0.5 * p.trailer_width
    ahead = p.trailer_length - TRAILER_TAIL * p.trailer_length
    wheels = tuple(
        Wheel(f"t{side}", 0.0, sign * (half - 0.5 * TRUCK_TYRE), TRUCK_WHEEL, TRUCK_TYRE)
        for side, sign in (("l", 1.0), ("r", -1.0))
    )
    outline = box(ahead - p.trailer_length, ahead, p.trailer_width)
    trailer = Trailer(0.0, p.l_trailer, "hitch", (outline,), wheels)
    return replace(cars.sized(p, rear=True), trailer=trailer, height=TRUCK_HEIGHT)


def folding(x: KstState, free: si.rad_s, p: KstParams) -> si.rad_s:
    """Hitch rate with the limit: at `hitch_max` the trailer may return but folds no further."""
    stopped = logical_and(abs(x.hitch) >= p.hitch_max, free * x.hitch > 0.0)
    return where(stopped, 0.0, free)


def upstream_folding(x: KstState, free: si.rad_s, p: KstParams) -> si.rad_s:
    """Hitch rate as upstream computes it: beyond the limit the trailer stays for ever.

    The program also moves the state of its caller back to the limit, which a function cannot.
    """
    return where(abs(x.hitch) > p.hitch_max, 0.0, free)


def kst_shown(x: KstState, now: cars.Motion, p: KstParams) -> Sequence[float]:
    """Accelerations of the tractor, on which the trailer has no effect, and pose of the trailer."""
    tractor, yaw = ks_shown(x, now, p), x.yaw + x.hitch
    return *tractor, x.x - p.l_trailer * cos(yaw), x.y - p.l_trailer * sin(yaw), yaw


def _kst_model(fold: Callable[[KstState, si.rad_s, KstParams], si.rad_s], **others: Any) -> Model:
    def motion(x: KstState, u: cars.CarInput, p: KstParams) -> cars.Motion:
        tractor = ks_motion(x, u, p)
        # A trailer without slip, before the limit at `hitch_max`.
        free = -x.v * sin(x.hitch) * (1.0 / p.l_trailer) - tractor.rate.yaw
        return cars.Motion(KstState._make((*tractor.rate, fold(x, free, p))), tractor.acting)

    return cars.car_model(
        "commonroad_kst",
        KstState,
        KstParams,
        KstOutputs,
        motion,
        kst_shown,
        body=rear_axle_body(with_trailer),
        mirror_odd={"hitch": True},
        summary="CommonRoad KST: kinematic single track with a trailer",
        **others,
    )


KST_MODEL = _kst_model(folding)
KST_UPSTREAM_MODEL = _kst_model(upstream_folding, reproduces=cars.VEHICLE_MODELS)

commonroad_kst = cars.CommonRoadFactory(
    KST_MODEL, upstream=KST_UPSTREAM_MODEL, sets=(1, 2, 3, 4), own=("l_trailer",)
)


class StState(NamedTuple):
    """Pose, speed, slip angle and steering angle. ISO 8855: x forward, y left."""

    x: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    y: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: si.rad = 0.0
    """Steering angle, positive to the left."""
    v: si.m_s = 0.0
    """Speed of the centre of mass, negative in reverse."""
    yaw: si.rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: si.rad_s = 0.0
    """Yaw rate, positive to the left."""
    beta: si.rad = 0.0
    """Slip angle: direction of travel less heading, positive to the left."""


@extended
class DynamicParams(cars.CarParams):
    """Geometry, limits and masses; by default CommonRoad's vehicle 2, a BMW 320i."""

    m: Annotated[si.kg, si.positive] = cars.BMW_320I["m"]
    """Mass."""
    I_z: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_z"]
    """Yaw inertia about the centre of mass."""
    h_s: Annotated[si.m, si.non_negative] = cars.BMW_320I["h_s"]
    """Height that determines the load transfer between the axles: the height of the sprung mass."""


@extended
class StParams(DynamicParams):
    """Masses, tyres and limits; by default CommonRoad's vehicle 2, a BMW 320i."""

    C_f: Annotated[si.one, si.non_negative] = 21.92
    """Cornering stiffness of the front axle over its load, in 1/rad: -p_ky1 of the tyre."""
    C_r: Annotated[si.one, si.non_negative] = 21.92
    """Cornering stiffness of the rear axle over its load, in 1/rad."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[si.m_s, si.non_negative] = 0.1
    """Speed up to which the car moves as its wheels roll, without slip."""
    v_dyn: Annotated[si.m_s, si.positive] = 1.0
    """Speed from which the motion follows from tyre forces alone; above v_kin."""
    t_kin: Annotated[si.s, si.positive] = 0.02
    """Time constant with which the yaw rate of a slow car approaches the yaw rate of rolling
    wheels."""


class StForces(NamedTuple):
    """Slip, lateral force and load of both axles."""

    alpha_f: si.rad
    alpha_r: si.rad
    F_y_f: si.N
    F_y_r: si.N
    F_z_f: si.N
    F_z_r: si.N


class Turning(NamedTuple):
    """Rates of yaw rate and slip angle, the two states that respond to lateral tyre forces."""

    omega: si.rad_s2
    beta: si.rad_s


def slipping_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Velocity of ST and STD from speed and slip angle; at low speed, of a car whose wheels roll
    without slip."""
    share, line = dynamic_share(x.v, p), kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta = mixed(share, x.beta, line.beta)
    return Velocity(x.v * cos(beta), x.v * sin(beta), mixed(share, x.omega, line.omega))


def slipping_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """State of ST or STD at another pose and velocity; a car that moves backwards has a negative
    speed."""
    way = where(velocity.v_x < 0.0, -1.0, 1.0)
    along, across = way * velocity.v_x, way * velocity.v_y
    v = way * sqrt(along * along + across * across)
    return x._replace(**pose._asdict(), v=v, beta=atan2(across, along), omega=velocity.omega)


def slipping_body(**others: Any) -> Body:
    """Body of ST or STD."""
    usual: dict[str, Any] = {
        "velocity": slipping_velocity,
        "speed": lambda x, p: x.v,
        "acceleration": None,
        "placed": slipping_placed,
        "limits": cars.limits,
        "command": cars.car_command,
        "on_ground": cars.on_slope_ahead(lambda x, p: x.beta),
        "gravity": "g",
    }
    return sliding_car(**usual | others)


def _blended(x: Any, acting: cars.Limited, p: Any) -> tuple[si.one, kinematics.PoseRate, Turning]:
    """Weight of the tyre forces in the motion, rate of the pose, and yaw and slip rates of rolling
    wheels."""
    share, line = dynamic_share(x.v, p), kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    line_rate = kinematics.rolling_rate(x.v, acting.a, x.steer, acting.steer_rate, p.l_f, p.l_r)
    pose = kinematics.pose_rate(x.yaw, *slipping_velocity(x, None, p))
    omega_rate = led(x.omega, line.omega, line_rate.omega, p.t_kin)
    return share, pose, Turning(omega_rate, line_rate.beta)


def st_forces(x: StState, loads: Sequence[si.N], speed: si.m_s, p: StParams) -> StForces:
    """Linear tyre forces; `speed` is the divisor in the slip angles."""
    by_speed = 1.0 / speed
    alpha_f = (x.v * (x.steer - x.beta) - p.l_f * x.omega) * by_speed
    alpha_r = (p.l_r * x.omega - x.v * x.beta) * by_speed
    F_z_f, F_z_r = loads
    return StForces(
        alpha_f, alpha_r, p.C_f * alpha_f * F_z_f, p.C_r * alpha_r * F_z_r, F_z_f, F_z_r
    )


def sliding(x: StState, force: StForces, speed: si.m_s, p: StParams) -> Turning:
    """Rates of yaw rate and slip angle under the tyre forces."""
    across = (force.F_y_f + force.F_y_r) * (1.0 / p.m)
    return Turning(
        (p.l_f * force.F_y_f - p.l_r * force.F_y_r) * (1.0 / p.I_z),
        across * x.v / (speed * speed) - x.omega,
    )


def st_motion(x: StState, u: cars.CarInput, p: StParams, *, upstream: bool = False) -> cars.Motion:
    """State rates and forces, valid at any speed, forwards and in reverse.

    With `upstream` they are those of that program: kinematic below v_kin, and at -v as at v.
    """
    acting = cars.limit_commands(u, x.steer, x.v, p)
    loads: Sequence[si.N] = pitch_loads(acting.a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    if upstream:
        slow = abs(x.v) < p.v_kin
        # Both branches are evaluated, so the one not taken needs a speed to divide by too.
        speed = where(slow, p.v_kin, x.v)
        force = st_forces(x, loads, speed, p)
        slide = sliding(x, force, speed, p)
        line = cars.upstream_rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
        pose = kinematics.pose_rate(x.yaw, *st_upstream_velocity(x, u, p))
        turning = (where(slow, line.omega, slide.omega), where(slow, line.beta, slide.beta))
    else:
        speed = floored_speed(x.v, p.v_dyn)
        force = st_forces(x, [on_road(F_z) for F_z in loads], speed, p)
        slide = sliding(x, force, speed, p)
        share, pose, turn = _blended(x, acting, p)
        turning = mixed(share, slide.omega, turn.omega), mixed(share, slide.beta, turn.beta)
    rate = StState(pose.x, pose.y, acting.steer_rate, acting.a, pose.yaw, *turning)
    return cars.Motion(rate, force)


def st_upstream_velocity(x: StState, u: cars.CarInput, p: StParams) -> Velocity:
    """Velocity over ground as upstream computes it: below v_kin, of a car whose wheels roll without
    slip."""
    slow, line = abs(x.v) < p.v_kin, kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta = where(slow, line.beta, x.beta)
    return Velocity(x.v * cos(beta), x.v * sin(beta), where(slow, line.omega, x.omega))


def _over_ground(x: Any, rate: Any) -> kinematics.Acceleration:
    return kinematics.path_acceleration(x.v, x.beta, rate.v, rate.yaw + rate.beta)


def _st_model(
    move: Callable[[StState, cars.CarInput, StParams], cars.Motion], body: Body, **others: Any
) -> Any:
    return cars.car_model(
        "commonroad_st",
        StState,
        StParams,
        cars.AxleOutputs,
        move,
        lambda x, now, p: (*_over_ground(x, now.rate), *now.acting),
        body=body,
        summary="CommonRoad ST: single track on linear tyres",
        **others,
    )


ST_MODEL = _st_model(st_motion, slipping_body(geometry=cars.seen_from_the_mass))
ST_UPSTREAM_MODEL = _st_model(
    partial(st_motion, upstream=True),
    slipping_body(geometry=cars.seen_from_the_mass, velocity=st_upstream_velocity),
    reproduces=cars.VEHICLE_MODELS,
    exempt={"rest": "below 0.1 m/s it integrates increments of the yaw rate and forgets no error"},
)

commonroad_st = cars.CommonRoadFactory(ST_MODEL, upstream=ST_UPSTREAM_MODEL, sets=(1, 2, 3))


@extended
class StdState(StState):
    """Pose, speed, slip angle, steering angle and wheel spin. ISO 8855: x forward, y left."""

    omega_f: si.rad_s = 0.0
    """Spin of the front wheels, positive rolls forward."""
    omega_r: si.rad_s = 0.0
    """Spin of the rear wheels, positive rolls forward."""


@extended
class StdParams(DynamicParams):
    """Masses, wheels, tyres and limits; by default CommonRoad's vehicle 2, a BMW 320i."""

    R_w: Annotated[si.m, si.positive] = cars.BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_w"]
    """Inertia of a wheel about its axle; of both wheels of an axle under compat="upstream"."""
    brake_split: fraction = cars.BMW_320I["brake_split"]
    """Share of the brake torque on the front axle."""
    engine_split: fraction = cars.BMW_320I["engine_split"]
    """Share of the engine torque on the front axle."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[si.m_s, si.non_negative] = 0.1
    """Speed up to which the car moves as its wheels roll, without slip."""
    v_dyn: Annotated[si.m_s, si.positive] = 2.0
    """Speed from which the motion follows from tyre forces alone; above v_kin.

    The wheel spin then settles at rates up to 3500 1/s, less at other speeds: RK4 needs
    steps below 0.8 ms, Radau does not.
    """
    t_kin: Annotated[si.s, si.positive] = 0.02
    """Time constant with which a slow car and its wheels approach rolling without slip."""
    omega_lock: Annotated[si.rad_s, si.positive] = 3.0
    """Spin below which a brake holds its wheel rather than slowing it."""
    tyre: Coefficients = Coefficients()
    """The tyres, two on each axle."""


class StdOutputs(NamedTuple):
    """Accelerations, slip, forces and loads of the axles; forces in the axes of the wheels."""

    a_x: si.m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: si.m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    alpha_f: si.rad
    """Slip angle of the front wheels, positive when their tyres push to the left."""
    alpha_r: si.rad
    """Slip angle of the rear wheels, positive when their tyres push to the left."""
    kappa_f: si.one
    """Longitudinal slip of the front wheels, positive when they drive."""
    kappa_r: si.one
    """Longitudinal slip of the rear wheels, positive when they drive."""
    F_x_f: si.N
    """Force along the front wheels."""
    F_x_r: si.N
    """Force along the rear wheels."""
    F_y_f: si.N
    """Force across the front wheels, positive to the left."""
    F_y_r: si.N
    """Force across the rear wheels, positive to the left."""
    F_z_f: si.N
    """Load on the front axle."""
    F_z_r: si.N
    """Load on the rear axle."""


WHEELS = 2.0
"""Wheels of an axle."""


class StdAxle(NamedTuple):
    """Motion and slip of the wheels of an axle, and the forces of their tyres, in their axes."""

    v: WheelVelocity
    """Velocity over ground."""
    spin: si.rad_s
    slip: Slip
    force: Force
    F_z: si.N


class Sliding(NamedTuple):
    """Rates of speed, yaw rate and slip angle under the tyre forces."""

    v: si.m_s2
    omega: si.rad_s2
    beta: si.rad_s


def wheel_velocities(x: StdState, p: StdParams) -> tuple[WheelVelocity, WheelVelocity]:
    """Velocity over ground of the front and rear wheels, each in its own frame."""
    v_x, v_y = x.v * cos(x.beta), x.v * sin(x.beta)
    front = WheelVelocity(v_x, v_y + p.l_f * x.omega)
    front = in_wheel_frame(front, cos(x.steer), sin(x.steer))
    return front, WheelVelocity(v_x, v_y - p.l_r * x.omega)


def std_axles(x: StdState, a: si.m_s2, p: StdParams) -> list[StdAxle]:
    """Both axles, valid at any speed and in reverse; the acceleration `a` moves load."""
    moving = list(zip(wheel_velocities(x, p), (x.omega_f, x.omega_r), strict=True))
    slips: list[Slip] = []
    for v, spin in moving:
        alpha = -smooth_slip_angle(v, p.v_dyn)
        slips.append(Slip(longitudinal_slip(spin, v.x, p.R_w, p.v_dyn), alpha, 0.0))
    loads = [on_road(F_z) for F_z in pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.h_s)]
    columns = zip(moving, slips, loads, strict=True)
    return [StdAxle(*at, slip, axle_force(slip, F_z, p.tyre), F_z) for at, slip, F_z in columns]


def std_sliding(x: StdState, axles: Sequence[StdAxle], by_speed: float, p: StdParams) -> Sliding:
    """Rates of speed, yaw rate and slip angle under the tyre forces; `by_speed` is 1/v."""
    force_f, force_r = (axle.force for axle in axles)
    c, s = cos(x.steer - x.beta), sin(x.steer - x.beta)
    c_r, s_r = cos(x.beta), sin(x.beta)
    along = force_f.x * c - force_f.y * s + force_r.x * c_r + force_r.y * s_r
    across = force_f.y * c + force_f.x * s + force_r.y * c_r - force_r.x * s_r
    front = force_f.y * cos(x.steer) + force_f.x * sin(x.steer)
    by_mass = 1.0 / p.m
    return Sliding(
        along * by_mass,
        (p.l_f * front - p.l_r * force_r.y) * (1.0 / p.I_z),
        across * by_mass * by_speed - x.omega,
    )


def std_motion(
    x: StdState, u: cars.CarInput, p: StdParams, *, upstream: bool = False
) -> cars.Motion:
    """State rates and axles, valid at any speed, forwards and in reverse.

    With `upstream` they are those of that program: without tyre forces in reverse, blended with
    those of a car without slip around 2 v_kin; wheels never turn backwards.
    """
    line: kinematics.NoSlipRate | Turning
    if upstream:
        acting = cars.limit_commands(u, x.steer, x.v, p)
        axles = _upstream_axles(x, acting.a, p)
        fast = x.v > p.v_kin
        slide = std_sliding(x, axles, 1.0 / where(fast, x.v, p.v_kin), p)
        slide = slide._replace(beta=where(fast, slide.beta, 0.0))
        share = _slip_share(x, p)
        line = cars.upstream_rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
        pose = kinematics.pose_rate(x.yaw, *std_upstream_velocity(x, u, p))
        brakes = acting.a <= 0.0
    else:
        # The engine drives both axles through an open differential.
        engine = p.engine_split * x.omega_f + (1.0 - p.engine_split) * x.omega_r
        acting = cars.limit_torque_commands(u, x.steer, x.v, p.R_w * engine, p)
        axles = std_axles(x, acting.a, p)
        speed = floored_speed(x.v, p.v_dyn)
        slide = std_sliding(x, axles, x.v / (speed * speed), p)
        share, pose, line = _blended(x, acting, p)
        # A deceleration, in either direction, comes from the brakes; at rest the engine acts.
        brakes = acting.a * x.v < 0.0
    torque = axle_torques(acting.a, brakes, p.m, p.R_w, p.brake_split, p.engine_split)
    spins: list[si.rad_s2] = []
    for driving, axle in zip((torque.front, torque.rear), axles, strict=True):
        if upstream:
            free = spin_rate(driving, axle.force.x, p.R_w, p.I_w)
            slipping = where(axle.spin >= 0.0, free, 0.0)
            rim = maximum(axle.v.x, 0.0) * (1.0 / p.R_w) - maximum(axle.spin, 0.0)
        else:
            net_torque = on_wheel(driving, torque.braking, axle.spin, p.omega_lock)
            slipping = spin_rate(net_torque, axle.force.x, p.R_w, WHEELS * p.I_w)
            rim = axle.v.x * (1.0 / p.R_w) - axle.spin
        spins.append(mixed(share, slipping, rim * (1.0 / p.t_kin)))
    rate = (
        pose.x,
        pose.y,
        acting.steer_rate,
        mixed(share, slide.v, acting.a),
        pose.yaw,
        mixed(share, slide.omega, line.omega),
        mixed(share, slide.beta, line.beta),
        *spins,
    )
    return cars.Motion(StdState._make(rate), axles)


def rolling_wheels(x: StdState, p: StdParams) -> StdState:
    """Set both axles rolling without slip if neither spins."""
    moving = logical_or(x.omega_f != 0.0, x.omega_r != 0.0)
    front, rear = (
        where(moving, spin, v.x * (1.0 / p.R_w))
        for v, spin in zip(wheel_velocities(x, p), (x.omega_f, x.omega_r), strict=True)
    )
    return x._replace(omega_f=front, omega_r=rear)


def _slip_share(x: StdState, p: StdParams) -> si.one:
    """Weight of the dynamic rates in the blend with the kinematic ones, 0 to 1."""
    return 0.5 * (1.0 + tanh((x.v - 2.0 * p.v_kin) * (2.0 / p.v_kin)))


def std_upstream_velocity(x: StdState, u: cars.CarInput, p: StdParams) -> Velocity:
    """Velocity over ground as upstream computes it.

    A slow car has the kinematic yaw rate, but the slip angle of its state.
    """
    line = kinematics.centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    omega = mixed(_slip_share(x, p), x.omega, line.omega)
    return Velocity(x.v * cos(x.beta), x.v * sin(x.beta), omega)


def _upstream_axles(x: StdState, a: si.m_s2, p: StdParams) -> list[StdAxle]:
    """Slip and force of both axles as upstream computes them: wheels never roll backwards."""
    front, rear = wheel_velocities(x, p)
    v_y, fast = x.v * sin(x.beta), x.v > p.v_kin
    moving = (
        (front, x.omega_f, v_y + p.l_f * x.omega, x.steer),
        (rear, x.omega_r, v_y - p.l_r * x.omega, 0.0),
    )
    slips: list[Slip] = []
    for v, spin, across, steer in moving:
        along = where(fast, x.v * cos(x.beta), p.v_kin)
        alpha = where(fast, atan(across / along) - steer, 0.0)
        slips.append(Slip(upstream_slip(spin, maximum(v.x, p.v_kin), p.R_w), alpha, 0.0))
    columns = zip(moving, slips, pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.h_s), strict=True)
    return [
        StdAxle(*at[:2], slip, tyre_force(slip, F_z, p.tyre, UPSTREAM_TYRE), F_z)
        for at, slip, F_z in columns
    ]


def std_shown(x: StdState, now: cars.Motion, p: StdParams) -> Sequence[float]:
    """Accelerations, slip, forces and loads."""
    a, axles = _over_ground(x, now.rate), now.acting
    slips = (-axle.slip.alpha for axle in axles), (axle.slip.kappa for axle in axles)
    forces = (axle.force.x for axle in axles), (axle.force.y for axle in axles)
    loads = (axle.F_z for axle in axles)
    return *a, *(value for column in (*slips, *forces, loads) for value in column)


def _std_model(
    move: Callable[[Any, cars.CarInput, Any], cars.Motion], velocity: Any, **others: Any
) -> Model:
    return cars.car_model(
        "commonroad_std",
        StdState,
        StdParams,
        StdOutputs,
        move,
        std_shown,
        body=slipping_body(
            geometry=lambda p: cars.on_spinning_wheels(p, 1),
            velocity=velocity,
            limits=cars.spinning_limits,
        ),
        mirror_odd={"omega_f": False, "omega_r": False},
        summary="CommonRoad STD: single track with spinning wheels, drifts",
        **others,
    )


STD_MODEL = _std_model(
    std_motion, slipping_velocity, settle=rolling_wheels, fills=("omega_f", "omega_r")
)
STD_UPSTREAM_MODEL = _std_model(
    partial(std_motion, upstream=True),
    std_upstream_velocity,
    reproduces=cars.VEHICLE_MODELS,
    exempt={
        "mirror": "one tyre per axle, which pulls to its side under drive or brake",
        "dimensions": "the vertical shift of the longitudinal force, in N, is added to an angle",
        "rest": "the same shift pushes a car at rest, and a slow car forgets no error of yaw rate",
    },
)

commonroad_std = cars.CommonRoadFactory(STD_MODEL, upstream=STD_UPSTREAM_MODEL, sets=(1, 2, 3))
