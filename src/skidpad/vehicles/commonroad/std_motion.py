"""The motion of `commonroad_std`: what its wheels and tyres do to the car."""

from __future__ import annotations

from typing import NamedTuple

from ...components.axle import Force
from ...components.centre_track import rolling, rolling_rate
from ...components.commonroad_limits import Limited, steering_rate, torque_limited
from ...components.driven_wheel import axle_torques, longitudinal_slip, on_wheel, spin_rate
from ...components.low_speed import dynamic_share, led, mixed
from ...components.magic_formula import Slip, axle_force
from ...components.pitch_load import on_road, pitch_loads
from ...components.rigid_body import pose_rate
from ...components.wheel import Velocity, floored_speed, in_wheel_frame, smooth_slip_angle
from ...ops import cos, logical_or, sin, where
from ...units import N, m_s2, one, rad_s, rad_s2
from .records import CarInput
from .std_records import Params, State

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
    line = rolling(x.v, x.steer, p.l_f, p.l_r)
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
