"""`commonroad_st`: single track on linear tyres, CommonRoad's ST.

The state holds speed and slip angle instead of two velocities, and angles are taken as small: the
force across an axle is its stiffness times (steering angle - beta - l omega / v). That has no
meaning at rest, so a slow car follows its wheels; see `components.low_speed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, NamedTuple

from ...body import Velocity
from ...components.additive_disturbance import additive
from ...components.centre_track import path_acceleration, rolling, rolling_rate
from ...components.commonroad_limits import limited
from ...components.low_speed import dynamic_share, led, mixed
from ...components.pitch_load import AxleLoads, on_road, pitch_loads
from ...components.rigid_body import pose_rate
from ...components.wheel import floored_speed
from ...model import Model, NoDisturbance
from ...ops import abs, cos, sin, where
from ...record import extended
from ...units import (
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
from .body import seen_from_the_mass, slipping_body
from .factory import VEHICLE_MODELS, CommonRoadFactory
from .records import AxleOutputs as Outputs
from .records import CarInput, CarParams
from .sets import BMW_320I
from .upstream import rolling_rate as upstream_rolling_rate


class State(NamedTuple):
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
class Params(CarParams):
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


class Forces(NamedTuple):
    """Slip, lateral force and load of both axles."""

    alpha_f: rad
    alpha_r: rad
    F_y_f: N
    F_y_r: N
    F_z_f: N
    F_z_r: N


class Turning(NamedTuple):
    """Rates of the two states that the tyres decide."""

    omega: rad_s2
    beta: rad_s


def forces(x: State, loads: AxleLoads, speed: m_s, p: Params) -> Forces:
    """Linear tyre forces; `speed` is what the velocity across an axle is compared with."""
    by_speed = 1.0 / speed
    alpha_f = (x.v * (x.steer - x.beta) - p.l_f * x.omega) * by_speed
    alpha_r = (p.l_r * x.omega - x.v * x.beta) * by_speed
    F_z_f, F_z_r = loads
    return Forces(alpha_f, alpha_r, p.C_f * alpha_f * F_z_f, p.C_r * alpha_r * F_z_r, F_z_f, F_z_r)


def sliding(x: State, force: Forces, speed: m_s, p: Params) -> Turning:
    """Rates under the tyre forces."""
    across = (force.F_y_f + force.F_y_r) * (1.0 / p.m)
    return Turning(
        (p.l_f * force.F_y_f - p.l_r * force.F_y_r) * (1.0 / p.I_z),
        across * x.v / (speed * speed) - x.omega,
    )


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    rate: State
    force: Forces


def motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates and forces at any speed, forwards and backwards."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    speed = floored_speed(x.v, p.v_dyn)
    loads = pitch_loads(acting.a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    force = forces(x, AxleLoads(*map(on_road, loads)), speed, p)
    slide = sliding(x, force, speed, p)
    share = dynamic_share(x.v, p)
    line = rolling(x.v, x.steer, p.l_f, p.l_r)
    line_rate = rolling_rate(x.v, acting.a, x.steer, acting.steer_rate, p.l_f, p.l_r)
    beta = mixed(share, x.beta, line.beta)
    pose = pose_rate(x.yaw, x.v * cos(beta), x.v * sin(beta), mixed(share, x.omega, line.omega))
    omega_rate = led(x.omega, line.omega, line_rate.omega, p.t_kin)
    rate = State(
        pose.x,
        pose.y,
        acting.steer_rate,
        acting.a,
        pose.yaw,
        mixed(share, slide.omega, omega_rate),
        mixed(share, slide.beta, line_rate.beta),
    )
    return Motion(rate, force)


def upstream_motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates as CommonRoad's program has them: kinematic below v_kin, and at -v as at v."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    slow = abs(x.v) < p.v_kin
    # Both branches are evaluated, so the one not taken needs a speed to divide by too.
    speed = where(slow, p.v_kin, x.v)
    loads = pitch_loads(acting.a, p.m, p.g, p.l_f, p.l_r, p.h_s)
    force = forces(x, loads, speed, p)
    slide = sliding(x, force, speed, p)
    line_rate = upstream_rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, *upstream_velocity(x, u, p))
    rate = State(
        pose.x,
        pose.y,
        acting.steer_rate,
        acting.a,
        pose.yaw,
        where(slow, line_rate.omega, slide.omega),
        where(slow, line_rate.beta, slide.beta),
    )
    return Motion(rate, force)


def upstream_velocity(x: State, u: CarInput, p: Params) -> Velocity:
    """How the car moves over ground: as its wheels point below v_kin."""
    slow, line = abs(x.v) < p.v_kin, rolling(x.v, x.steer, p.l_f, p.l_r)
    beta = where(slow, line.beta, x.beta)
    return Velocity(x.v * cos(beta), x.v * sin(beta), where(slow, line.omega, x.omega))


def _model(move: Callable[[State, CarInput, Params], Motion]) -> Model:
    def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations of the motion, slip and forces."""
        now = move(x, u, p)
        turning = now.rate.yaw + now.rate.beta
        return Outputs(*path_acceleration(x.v, x.beta, now.rate.v, turning), *now.force)

    return additive(
        Model(
            name="commonroad_st",
            State=State,
            Input=CarInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=slipping_body(seen_from_the_mass),
            summary="CommonRoad ST: single track on linear tyres",
        )
    )


MODEL = _model(motion)
UPSTREAM_MODEL = replace(
    _model(upstream_motion),
    body=slipping_body(seen_from_the_mass, upstream_velocity),
    reproduces=VEHICLE_MODELS,
    exempt={"rest": "below 0.1 m/s it integrates increments of the yaw rate and forgets no error"},
)

commonroad_st = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
