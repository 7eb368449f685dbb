"""The motion of `commonroad_mb` as `commonroad-vehicle-models` 3.0.2 computes it, errors
included."""

from __future__ import annotations

from ...body import Velocity
from ...components.axle import Force
from ...components.centre_track import rolling
from ...components.commonroad_limits import Limited, limited
from ...components.driven_wheel import axle_torques, spin_rate, upstream_slip
from ...components.magic_formula import Quirks, Slip, tyre_force
from ...components.rigid_body import pose_rate
from ...components.wheel import in_wheel_frame
from ...ops import abs, atan, cos, maximum, pow, sin, where
from ...units import N, Nm, m_s2, one, rad_s2
from .mb_motion import (
    Motion,
    Parts,
    Planar,
    Wheel,
    assembled,
    corners,
    of_wheels,
    on_axles,
    planar,
    spins_of,
    steering,
    suspended,
    take_apart,
)
from .mb_records import Params, State
from .records import CarInput
from .upstream import rolling_rate

QUIRKS = Quirks(shift_in_sine=True, ply_by_camber=True, drive_reversed=True)


def upstream_motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates; below v_kin the first six are those of a car without slip."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v_x, p)
    now = take_apart(x, p, upstream=True)
    four = wheels(x, now, p)
    front, rear = on_axles(x, [wheel.force for wheel in four])
    slide = planar(x, front, rear, now, p)
    slow = abs(x.v_x) < p.v_kin
    line_rate = rolling_rate(x.v_x, x.lean, x.steer, acting, p.l_f, p.l_r)
    over_ground = Planar(
        where(slow, acting.a, slide.v_x), slide.v_y, where(slow, line_rate.omega, slide.omega)
    )
    inside = suspended(x, front, rear, pitch_moment(x, front.x + rear.x, now, p), now, p)
    spins = spin_rates(x, acting, four, p)
    pose = pose_rate(x.yaw, *upstream_velocity(x, u, p))
    rate = assembled(x, pose, acting.steer_rate, over_ground, inside, spins, p)
    return Motion(rate, four, now)


def pitch_moment(x: State, along: N, now: Parts, p: Params) -> Nm:
    """Moment on the body, as if the body were all that the tyres accelerate."""
    return (
        p.l_f * (now.hold_f.spring.right + now.hold_f.spring.left)
        - p.l_r * (now.hold_r.spring.right + now.hold_r.spring.left)
        + along * (p.h_s - x.drop)
    )


def upstream_velocity(x: State, u: CarInput, p: Params) -> Velocity:
    """How the car moves over ground. In reverse the program moves it forwards."""
    slow, line = abs(x.v_x) < p.v_kin, rolling(x.v_x, x.steer, p.l_f, p.l_r)
    way: one = where(x.v_x < 0.0, -1.0, 1.0)
    return Velocity(
        where(slow, x.v_x * cos(line.beta), way * x.v_x),
        where(slow, x.v_x * sin(line.beta), way * x.v_y),
        where(slow, line.omega, x.omega),
    )


def wheels(x: State, now: Parts, p: Params) -> list[Wheel]:
    """Slip and force of each wheel; a wheel that rolls backwards has no slip that is a number."""
    slow = abs(x.v_x) < p.v_kin
    four: list[Wheel] = []
    loads, cambers = of_wheels(now, "load"), of_wheels(now, "camber")
    for k, (corner, (c, s), omega) in enumerate(
        zip(corners(x, p), steering(x), spins_of(x), strict=True)
    ):
        speed = maximum(in_wheel_frame(corner.hub, c, s).x, 0.0)
        steer = x.steer if k < 2 else 0.0
        alpha = atan(corner.contact.y * pow(corner.contact.x, -1.0)) - steer
        slip = Slip(
            where(slow, 0.0, upstream_slip(omega, speed, p.R_w)),
            where(slow, 0.0, alpha),
            cambers[k],
        )
        four.append(Wheel(slip, _force(slip, loads[k], p)))
    return four


def _force(slip: Slip, F_z: float, p: Params) -> Force:
    return tyre_force(slip, F_z, p.tyre, QUIRKS)


def spin_rates(x: State, acting: Limited, four: list[Wheel], p: Params) -> list[rad_s2]:
    """Angular acceleration of each wheel, of which none may turn backwards."""
    a: m_s2 = acting.a
    torque = axle_torques(a, a <= 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    each = (torque.front, torque.front, torque.rear, torque.rear)
    return [
        where(omega < 0.0, 0.0, spin_rate(0.5 * net_torque, wheel.force.x, p.R_w, p.I_w))
        for net_torque, omega, wheel in zip(each, spins_of(x), four, strict=True)
    ]
