"""`commonroad_std`: single track for drifting, CommonRoad's STD: spinning wheels on Pacejka tyres.

Engine and brakes turn the wheels, whose slip against the road pushes the car. An axle stands for a
left and a right tyre that are mirror images, so the pulls of the two to the side cancel. At the
end: the motion as `commonroad-vehicle-models` 3.0.2 computes it, errors included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, NamedTuple

from ...core.body import Velocity as BodyVelocity
from ...core.model import Model, NoDisturbance
from ...core.record import extended
from ...ops import atan, cos, logical_or, maximum, sin, tanh, where
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
from ..parts.kinematics import centre_track_rolling, path_acceleration, pose_rate, rolling_rate
from ..parts.load_transfer import (
    Force,
    Velocity,
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
from .body import on_spinning_wheels, slipping_body, spinning_limits
from .records import (
    BMW_320I,
    VEHICLE_MODELS,
    CarInput,
    CarParams,
    CommonRoadFactory,
    Limited,
    limited,
    steering_rate,
    torque_limited,
    upstream_rolling_rate,
)
from .tyre import Coefficients, Quirks, Slip, axle_force, tyre_force

share = Annotated[one, Allowed(0.0, 1.0)]
"""A pure number from 0 to 1."""


class State(NamedTuple):
    """Pose, speed, slip angle, steering angle and wheel spin. ISO 8855: x forward, y left."""

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
    omega_f: rad_s = 0.0
    """Spin of the front wheels, positive rolls forward."""
    omega_r: rad_s = 0.0
    """Spin of the rear wheels, positive rolls forward."""


@extended
class Params(CarParams):
    """Masses, wheels, tyres and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    m: Annotated[kg, positive] = BMW_320I["m"]
    """Mass."""
    I_z: Annotated[kg_m2, positive] = BMW_320I["I_z"]
    """Yaw inertia about the centre of mass."""
    h_s: Annotated[m, non_negative] = BMW_320I["h_s"]
    """Height at which acceleration moves load between the axles: that of the sprung mass."""
    R_w: Annotated[m, positive] = BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[kg_m2, positive] = BMW_320I["I_w"]
    """Inertia of a wheel about its axle; of an axle's two under compat="upstream"."""
    brake_split: share = BMW_320I["brake_split"]
    """Share of the brakes' torque on the front axle."""
    engine_split: share = BMW_320I["engine_split"]
    """Share of the engine's torque on the front axle."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[m_s, non_negative] = 0.1
    """Speed up to which the car follows its wheels."""
    v_dyn: Annotated[m_s, positive] = 2.0
    """Speed from which it follows its tyre forces alone; above v_kin. The spin of the wheels then
    settles with up to 3500 1/s, less at other speeds: RK4 needs steps below 0.8 ms, Radau not."""
    t_kin: Annotated[s, positive] = 0.02
    """Time in which a slow car and its wheels get into line."""
    omega_lock: Annotated[rad_s, positive] = 3.0
    """Spin below which a brake holds its wheel rather than slows it."""
    tyre: Coefficients = Coefficients()
    """The tyres, two on each axle."""


class Outputs(NamedTuple):
    """Accelerations, slip, forces and loads of the axles; forces in the axes of the wheels."""

    a_x: m_s2
    """Acceleration of the centre of mass over ground, along the car."""
    a_y: m_s2
    """Acceleration of the centre of mass over ground, across the car, positive to the left."""
    alpha_f: rad
    """Slip angle of the front wheels, positive when their tyres push to the left."""
    alpha_r: rad
    """Slip angle of the rear wheels, positive when their tyres push to the left."""
    kappa_f: one
    """Longitudinal slip of the front wheels, positive when they drive."""
    kappa_r: one
    """Longitudinal slip of the rear wheels, positive when they drive."""
    F_x_f: N
    """Force along the front wheels."""
    F_x_r: N
    """Force along the rear wheels."""
    F_y_f: N
    """Force across the front wheels, positive to the left."""
    F_y_r: N
    """Force across the rear wheels, positive to the left."""
    F_z_f: N
    """Load on the front axle."""
    F_z_r: N
    """Load on the rear axle."""


WHEELS = 2.0
"""Wheels on an axle."""


class Tyres(NamedTuple):
    """Slip, force and load of both axles; forces in the axes of the wheels."""

    front: Slip
    rear: Slip
    force_f: Force
    force_r: Force
    F_z_f: N
    F_z_r: N


class Sliding(NamedTuple):
    """Rates of speed, yaw rate and slip angle under the tyre forces."""

    v: m_s2
    omega: rad_s2
    beta: rad_s


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    rate: State
    tyres: Tyres


def wheel_velocities(x: State, p: Params) -> tuple[Velocity, Velocity]:
    """Velocity over ground of the front and rear wheels, each in its own frame."""
    v_x, v_y = x.v * cos(x.beta), x.v * sin(x.beta)
    front = in_wheel_frame(Velocity(v_x, v_y + p.l_f * x.omega), cos(x.steer), sin(x.steer))
    return front, Velocity(v_x, v_y - p.l_r * x.omega)


def wheel_slip(w: Velocity, omega: rad_s, p: Params) -> Slip:
    """Slip of a wheel that moves with `w` and spins with `omega`, at any speed and either way."""
    alpha = -smooth_slip_angle(w, p.v_dyn)
    return Slip(longitudinal_slip(omega, w.x, p.R_w, p.v_dyn), alpha, 0.0)


def tyres(x: State, a: m_s2, p: Params) -> Tyres:
    """Slip and force of both axles at an acceleration that moves load between them."""
    w_f, w_r = wheel_velocities(x, p)
    front, rear = wheel_slip(w_f, x.omega_f, p), wheel_slip(w_r, x.omega_r, p)
    F_z_f, F_z_r = map(on_road, pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.h_s))
    force_f, force_r = axle_force(front, F_z_f, p.tyre), axle_force(rear, F_z_r, p.tyre)
    return Tyres(front, rear, force_f, force_r, F_z_f, F_z_r)


def sliding(x: State, force_f: Force, force_r: Force, by_speed: float, p: Params) -> Sliding:
    """Rates under the tyre forces; `by_speed` is 1/v."""
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


def motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates and forces at any speed, forwards and backwards."""
    steer_rate = steering_rate(u.steer_rate, x.steer, p.steer_max, p.steer_rate_max)
    acting = Limited(steer_rate, torque_limited(u.a, x.v, p.R_w * engine_spin(x, p), p))
    now = tyres(x, acting.a, p)
    speed = floored_speed(x.v, p.v_dyn)
    slide = sliding(x, now.force_f, now.force_r, x.v / (speed * speed), p)
    share = dynamic_share(x.v, p)
    line = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    line_rate = rolling_rate(x.v, acting.a, x.steer, acting.steer_rate, p.l_f, p.l_r)
    beta = mixed(share, x.beta, line.beta)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), mixed(share, x.omega, line.omega))
    spin_f, spin_r = spins(x, acting.a, now, share, p)
    rate = State(
        pose.x,
        pose.y,
        acting.steer_rate,
        mixed(share, slide.v, acting.a),
        pose.yaw,
        mixed(share, slide.omega, led(x.omega, line.omega, line_rate.omega, p.t_kin)),
        mixed(share, slide.beta, line_rate.beta),
        spin_f,
        spin_r,
    )
    return Motion(rate, now)


def engine_spin(x: State, p: Params) -> rad_s:
    """Spin at which the engine turns its wheels, through an open differential."""
    return p.engine_split * x.omega_f + (1.0 - p.engine_split) * x.omega_r


def spins(x: State, a: m_s2, now: Tyres, share: one, p: Params) -> tuple[rad_s2, rad_s2]:
    """Angular accelerations of the front and the rear wheels."""
    # What slows the car, either way, comes from the brakes; at rest the engine sets it going.
    torque = axle_torques(a, a * x.v < 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    w_f, w_r = wheel_velocities(x, p)
    rates: list[rad_s2] = []
    for axle_torque, omega, force, w in (
        (torque.front, x.omega_f, now.force_f, w_f),
        (torque.rear, x.omega_r, now.force_r, w_r),
    ):
        net_torque = on_wheel(axle_torque, torque.braking, omega, p.omega_lock)
        slipping = spin_rate(net_torque, force.x, p.R_w, WHEELS * p.I_w)
        rolls = (w.x * (1.0 / p.R_w) - omega) * (1.0 / p.t_kin)
        rates.append(mixed(share, slipping, rolls))
    return rates[0], rates[1]


def rolling_wheels(x: State, p: Params) -> State:
    """The state with wheels that roll, if both were given as standing."""
    w_f, w_r = wheel_velocities(x, p)
    moving = logical_or(x.omega_f != 0.0, x.omega_r != 0.0)
    return x._replace(
        omega_f=where(moving, x.omega_f, w_f.x * (1.0 / p.R_w)),
        omega_r=where(moving, x.omega_r, w_r.x * (1.0 / p.R_w)),
    )


QUIRKS = Quirks(shift_in_sine=True, ply_by_camber=True, drive_reversed=True)


def upstream_motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates, mixed with those of a car without slip around 2 v_kin; in reverse no tyre acts."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    now = upstream_tyres(x, acting.a, p)
    fast = x.v > p.v_kin
    slide = sliding(x, now.force_f, now.force_r, 1.0 / where(fast, x.v, p.v_kin), p)
    share = slip_share(x, p)
    line_rate = upstream_rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, *upstream_velocity(x, u, p))
    spin_f, spin_r = upstream_spins(x, acting.a, now, share, p)
    rate = State(
        pose.x,
        pose.y,
        acting.steer_rate,
        mixed(share, slide.v, acting.a),
        pose.yaw,
        mixed(share, slide.omega, line_rate.omega),
        mixed(share, where(fast, slide.beta, 0.0), line_rate.beta),
        spin_f,
        spin_r,
    )
    return Motion(rate, now)


def slip_share(x: State, p: Params) -> one:
    """How much of the motion is slip."""
    return 0.5 * (1.0 + tanh((x.v - 2.0 * p.v_kin) * (2.0 / p.v_kin)))


def upstream_velocity(x: State, u: CarInput, p: Params) -> BodyVelocity:
    """How the car moves over ground: a slow one turns as its wheels point, and slips as it does."""
    line = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    omega = mixed(slip_share(x, p), x.omega, line.omega)
    return BodyVelocity(x.v * cos(x.beta), x.v * sin(x.beta), omega)


def upstream_tyres(x: State, a: m_s2, p: Params) -> Tyres:
    """Slip and force of both axles; wheels never roll backwards."""
    w_f, w_r = wheel_velocities(x, p)
    v_y = x.v * sin(x.beta)
    front = _slip(x, v_y + p.l_f * x.omega, x.steer, w_f, x.omega_f, p)
    rear = _slip(x, v_y - p.l_r * x.omega, 0.0, w_r, x.omega_r, p)
    F_z_f, F_z_r = pitch_loads(a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    return Tyres(front, rear, _force(front, F_z_f, p), _force(rear, F_z_r, p), F_z_f, F_z_r)


def _slip(x: State, across: float, steer: rad, w: WheelVelocity, omega: rad_s, p: Params) -> Slip:
    """Slip of a wheel whose axle moves with `across` to the left of the car."""
    fast = x.v > p.v_kin
    along = where(fast, x.v * cos(x.beta), p.v_kin)
    alpha = where(fast, atan(across / along) - steer, 0.0)
    return Slip(upstream_slip(omega, maximum(w.x, p.v_kin), p.R_w), alpha, 0.0)


def _force(slip: Slip, F_z: N, p: Params) -> Force:
    return tyre_force(slip, F_z, p.tyre, QUIRKS)


def upstream_spins(x: State, a: m_s2, now: Tyres, share: one, p: Params) -> tuple[rad_s2, rad_s2]:
    """Angular accelerations of the wheels, of which none may turn backwards."""
    torque = axle_torques(a, a <= 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    w_f, w_r = wheel_velocities(x, p)
    rates: list[rad_s2] = []
    for net_torque, omega, force, w in (
        (torque.front, x.omega_f, now.force_f, w_f),
        (torque.rear, x.omega_r, now.force_r, w_r),
    ):
        slipping = where(omega >= 0.0, spin_rate(net_torque, force.x, p.R_w, p.I_w), 0.0)
        rim = maximum(w.x, 0.0) * (1.0 / p.R_w) - maximum(omega, 0.0)
        rates.append(mixed(share, slipping, rim * (1.0 / p.t_kin)))
    return rates[0], rates[1]


def _model(move: Callable[[State, CarInput, Params], Motion]) -> Model:
    def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations of the motion, slip and forces."""
        now = move(x, u, p)
        t = now.tyres
        a = path_acceleration(x.v, x.beta, now.rate.v, now.rate.yaw + now.rate.beta)
        return Outputs(
            a.x, a.y, -t.front.alpha, -t.rear.alpha, t.front.kappa, t.rear.kappa,
            t.force_f.x, t.force_r.x, t.force_f.y, t.force_r.y, t.F_z_f, t.F_z_r,
        )  # fmt: skip

    return additive(
        Model(
            name="commonroad_std",
            State=State,
            Input=CarInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=slipping_body(on_spinning_wheels, limits=spinning_limits),
            mirror_odd={"omega_f": False, "omega_r": False},
            summary="CommonRoad STD: single track with spinning wheels, drifts",
        )
    )


MODEL = replace(_model(motion), settle=rolling_wheels, fills=("omega_f", "omega_r"))
UPSTREAM_MODEL = replace(
    _model(upstream_motion),
    body=slipping_body(on_spinning_wheels, upstream_velocity, spinning_limits),
    reproduces=VEHICLE_MODELS,
    exempt={
        "mirror": "one tyre per axle, which pulls to its side under drive or brake",
        "dimensions": "the vertical shift of the longitudinal force, in N, is added to an angle",
        "rest": "the same shift pushes a car at rest, and a slow car forgets no error of yaw rate",
    },
)

commonroad_std = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
