"""The motion of `commonroad_std` as `commonroad-vehicle-models` 3.0.2 computes it, errors
included."""

from __future__ import annotations

from ...body import Velocity
from ...components.axle import Force
from ...components.centre_track import rolling
from ...components.commonroad_limits import limited
from ...components.driven_wheel import axle_torques, spin_rate, upstream_slip
from ...components.low_speed import mixed
from ...components.magic_formula import Quirks, Slip, tyre_force
from ...components.pitch_load import pitch_loads
from ...components.rigid_body import pose_rate
from ...components.wheel import Velocity as WheelVelocity
from ...ops import atan, cos, maximum, sin, tanh, where
from ...units import N, m_s2, one, rad, rad_s, rad_s2
from .records import CarInput
from .std_motion import Motion, Tyres, sliding, wheel_velocities
from .std_records import Params, State
from .upstream import rolling_rate

QUIRKS = Quirks(shift_in_sine=True, ply_by_camber=True, drive_reversed=True)


def upstream_motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates, mixed with those of a car without slip around 2 v_kin; in reverse no tyre acts."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v, p)
    now = tyres(x, acting.a, p)
    fast = x.v > p.v_kin
    slide = sliding(x, now.force_f, now.force_r, 1.0 / where(fast, x.v, p.v_kin), p)
    share = slip_share(x, p)
    line_rate = rolling_rate(x.v, x.beta, x.steer, acting, p.l_f, p.l_r)
    pose = pose_rate(x.yaw, *upstream_velocity(x, u, p))
    spin_f, spin_r = spins(x, acting.a, now, share, p)
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


def upstream_velocity(x: State, u: CarInput, p: Params) -> Velocity:
    """How the car moves over ground: a slow one turns as its wheels point, and slips as it does."""
    line = rolling(x.v, x.steer, p.l_f, p.l_r)
    omega = mixed(slip_share(x, p), x.omega, line.omega)
    return Velocity(x.v * cos(x.beta), x.v * sin(x.beta), omega)


def tyres(x: State, a: m_s2, p: Params) -> Tyres:
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


def spins(x: State, a: m_s2, now: Tyres, share: one, p: Params) -> tuple[rad_s2, rad_s2]:
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
