"""The motion of `commonroad_mb`: a body on two suspended axles with four spinning wheels.

Equations as facts from `commonroad-vehicle-models` 3.0.2 (`vehicle_dynamics_mb`), which goes back
to the vehicle dynamics model of the US Department of Transportation. Wheels are in the order fr,
fl, rr, rl, that of the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...components.axle import Force, Friction, steered
from ...components.centre_track import following
from ...components.commonroad_limits import Limited, steering_rate, torque_limited
from ...components.driven_wheel import axle_torques, longitudinal_slip, on_wheel
from ...components.low_speed import dynamic_share, led, mixed
from ...components.magic_formula import Slip, right_tyre_force, tyre_force
from ...components.rigid_body import PoseRate, pose_rate
from ...components.suspended_axle import (
    Axle,
    AxleParams,
    Body,
    Pair,
    Suspension,
    axle_moment,
    body_moment,
    suspension,
)
from ...components.wheel import Velocity, in_wheel_frame, smooth_slip_angle
from ...ops import cos, sin
from ...units import N, Nm, kg_m2, m_s, m_s2, one, rad_s, rad_s2
from .mb_records import Params, State
from .records import CarInput


class Parts(NamedTuple):
    """The car taken apart: its body, its axles and the forces between them."""

    body: Body
    front: Axle
    rear: Axle
    hold_f: Suspension
    hold_r: Suspension


class Wheel(NamedTuple):
    """Slip of a wheel and the force of the road on it, in its axes."""

    slip: Slip
    force: Force


class Planar(NamedTuple):
    """Rates of the motion over ground."""

    v_x: m_s2
    v_y: m_s2
    omega: rad_s2


class Suspended(NamedTuple):
    """Rates of the velocities of body and axles against each other."""

    lean_rate: rad_s2
    squat_rate: rad_s2
    drop_rate: m_s2
    front: AxleRate
    rear: AxleRate


class AxleRate(NamedTuple):
    """Rates of the velocities of an axle."""

    lean_rate: rad_s2
    v_y: m_s2
    drop_rate: m_s2


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    rate: State
    wheels: Sequence[Wheel]
    parts: Parts


def shift_rates(x: State, p: Params) -> tuple[m_s, m_s]:
    """How fast the body moves to the left of the front and of the rear axle."""
    return x.v_y + p.l_f * x.omega - x.v_y_f, x.v_y - p.l_r * x.omega - x.v_y_r


def take_apart(x: State, p: Params, *, upstream: bool = False) -> Parts:
    """Positions of body and axles, and the forces of tyres, springs and joints between them."""
    rate_f, rate_r = shift_rates(x, p)
    body = Body(x.lean, x.lean_rate, x.squat, x.squat_rate, x.drop, x.drop_rate, p.h_s)
    front = Axle(x.lean_f, x.lean_rate_f, x.drop_f, x.drop_rate_f, x.shift_f, rate_f)
    rear = Axle(x.lean_r, x.lean_rate_r, x.drop_r, x.drop_rate_r, x.shift_r, rate_r)
    half = 0.5 * p.m_s * p.g * (1.0 / (p.l_f + p.l_r))
    joint = (p.R_w, p.K_zt, p.K_ras, p.K_rad)
    return Parts(
        body,
        front,
        rear,
        suspension(front, body, p.l_f, half * p.l_r, *joint, p.front, upstream=upstream),
        suspension(rear, body, -p.l_r, half * p.l_f, *joint, p.rear, upstream=upstream),
    )


class Corner(NamedTuple):
    """How a wheel moves over ground, in the axes of the car."""

    hub: Velocity
    contact: Velocity
    """The same where the tyre meets the road, which a leaning axle moves sideways."""


def corners(x: State, p: Params) -> list[Corner]:
    """The motion of each wheel."""
    four: list[Corner] = []
    for across, lean_rate, drop, axle in (
        (x.v_y + p.l_f * x.omega, x.lean_rate_f, x.drop_f, p.front),
        (x.v_y - p.l_r * x.omega, x.lean_rate_r, x.drop_r, p.rear),
    ):
        at_road = across - lean_rate * (p.R_w - drop)
        turning = 0.5 * axle.track * x.omega
        for along in (x.v_x + turning, x.v_x - turning):
            four.append(Corner(Velocity(along, across), Velocity(along, at_road)))
    return four


def steering(x: State) -> list[tuple[one, one]]:
    """Cosine and sine of the steering angle of each wheel."""
    c, s = cos(x.steer), sin(x.steer)
    return [(c, s), (c, s), (1.0, 0.0), (1.0, 0.0)]


def spins_of(x: State) -> tuple[rad_s, rad_s, rad_s, rad_s]:
    """Spin of each wheel."""
    return x.omega_fr, x.omega_fl, x.omega_rr, x.omega_rl


def of_wheels(now: Parts, what: str) -> list[Any]:
    """A pair of the suspension, `load` or `camber`, for each wheel."""
    return [*getattr(now.hold_f, what), *getattr(now.hold_r, what)]


def wheels(x: State, now: Parts, p: Params) -> list[Wheel]:
    """Slip and force of each wheel, at any speed and either way."""
    four: list[Wheel] = []
    loads, cambers = of_wheels(now, "load"), of_wheels(now, "camber")
    for k, (corner, (c, s), omega) in enumerate(
        zip(corners(x, p), steering(x), spins_of(x), strict=True)
    ):
        kappa = longitudinal_slip(omega, in_wheel_frame(corner.hub, c, s).x, p.R_w, p.v_dyn)
        alpha = -smooth_slip_angle(in_wheel_frame(corner.contact, c, s), p.v_dyn)
        # A wheel that leans to the left is turned backwards about the forward axis.
        slip = Slip(kappa, alpha, -cambers[k])
        force = right_tyre_force if k % 2 == 0 else tyre_force
        four.append(Wheel(slip, force(slip, loads[k], p.tyre)))
    return four


class OnAxle(NamedTuple):
    """Forces of the two tyres of an axle on the car, in its axes."""

    x: N
    y: N
    difference: N
    """Longitudinal force on the right less that on the left."""
    across: Pair
    """Lateral force of each wheel, in its own axes."""


def on_axles(x: State, forces: Sequence[Force]) -> tuple[OnAxle, OnAxle]:
    """Forces on the front and on the rear axle."""
    pair: list[OnAxle] = []
    turned = [
        steered(Friction(f.x, f.y), c, s) for f, (c, s) in zip(forces, steering(x), strict=True)
    ]
    for k in (0, 2):
        right, left = turned[k], turned[k + 1]
        across = Pair(forces[k].y, forces[k + 1].y)
        pair.append(OnAxle(right.x + left.x, right.y + left.y, right.x - left.x, across))
    return pair[0], pair[1]


def yaw_and_lean(front: OnAxle, rear: OnAxle, now: Parts, p: Params) -> tuple[rad_s2, rad_s2]:
    """Angular accelerations of the car about the vertical and of its body about the forward axis.

    The product of inertia couples them.
    """
    yaw = (
        p.l_f * front.y
        - p.l_r * rear.y
        + 0.5 * p.front.track * front.difference
        + 0.5 * p.rear.track * rear.difference
    )
    lean = body_moment(now.hold_f, p.front) + body_moment(now.hold_r, p.rear)
    return (
        _coupled(yaw, lean, p.I_z, p.I_x_s, p.I_xz_s),
        _coupled(lean, yaw, p.I_x_s, p.I_z, p.I_xz_s),
    )


def _coupled(own: Any, other: Any, I_own: kg_m2, I_other: kg_m2, I_xz: kg_m2) -> rad_s2:
    share = I_xz * (1.0 / I_other)
    return (own + share * other) * (1.0 / (I_own - share * I_xz))


def planar(x: State, front: OnAxle, rear: OnAxle, now: Parts, p: Params) -> Planar:
    """Rates of the motion over ground under the tyre forces."""
    c, s = cos(x.lean), sin(x.lean)
    joints = now.hold_f.joint + now.hold_r.joint
    return Planar(
        (front.x + rear.x) * (1.0 / p.m) + x.omega * x.v_y,
        (joints * c + springs(now) * s) * (1.0 / p.m_s) - x.omega * x.v_x,
        yaw_and_lean(front, rear, now, p)[0],
    )


def springs(now: Parts) -> N:
    """Force of all four springs on the body."""
    return sum(of_wheels(now, "spring")[1:], of_wheels(now, "spring")[0])


def pitch_moment(x: State, along: N, spinning: Nm, now: Parts, p: Params) -> Nm:
    """Moment on the body about the axis across, positive raises its nose.

    `along` are the forces of all tyres along the car. They act on the ground and accelerate body
    and axles, each at its own height. `spinning` is what turns the wheels faster, which reacts.
    """
    c, s = cos(x.lean), sin(x.lean)
    lift_f = (now.hold_f.spring.right + now.hold_f.spring.left) * c - now.hold_f.joint * s
    lift_r = (now.hold_r.spring.right + now.hold_r.spring.left) * c - now.hold_r.joint * s
    heights = (
        p.m_s * (p.h_s - x.drop) + p.front.m * (p.R_w - x.drop_f) + p.rear.m * (p.R_w - x.drop_r)
    )
    return p.l_f * lift_f - p.l_r * lift_r + along * heights * (1.0 / p.m) + spinning


def suspended(x: State, front: OnAxle, rear: OnAxle, squat: Nm, now: Parts, p: Params) -> Suspended:
    """Rates of what body and axles do against each other; `squat` is the moment of pitch."""
    c, s = cos(x.lean), sin(x.lean)
    joints = now.hold_f.joint + now.hold_r.joint
    return Suspended(
        yaw_and_lean(front, rear, now, p)[1],
        squat * (1.0 / p.I_y_s),
        p.g - (springs(now) * c - joints * s) * (1.0 / p.m_s),
        _axle_rate(x, front, now.front, now.hold_f, p, p.front),
        _axle_rate(x, rear, now.rear, now.hold_r, p, p.rear),
    )


def _axle_rate(
    x: State, force: OnAxle, axle: Axle, hold: Suspension, p: Params, own: AxleParams
) -> AxleRate:
    c, s = cos(x.lean), sin(x.lean)
    spring = hold.spring.right + hold.spring.left
    load = hold.load.right + hold.load.left
    by_mass = 1.0 / own.m
    moment = axle_moment(axle, hold, force.across, force.y, p.R_w, p.K_lt, own)
    return AxleRate(
        moment * (1.0 / own.I),
        (force.y - hold.joint * c - spring * s) * by_mass - x.omega * x.v_x,
        p.g - (load + hold.joint * s - spring * c) * by_mass,
    )


def motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates and forces at any speed, forwards and backwards."""
    steer_rate = steering_rate(u.steer_rate, x.steer, p.steer_max, p.steer_rate_max)
    acting = Limited(steer_rate, torque_limited(u.a, x.v_x, p.R_w * engine_spin(x, p), p))
    now = take_apart(x, p)
    rolling = wheels(x, now, p)
    share = dynamic_share(x.v_x, p)
    line = following(x.v_x, acting.a, x.steer, acting.steer_rate, p.l_f + p.l_r)
    slide = planar(x, *on_axles(x, [wheel.force for wheel in rolling]), now, p)
    v_y_rate = led(x.v_y, p.l_r * line.omega, p.l_r * line.omega_rate, p.t_kin)
    over_ground = Planar(
        mixed(share, slide.v_x, acting.a),
        mixed(share, slide.v_y, v_y_rate),
        mixed(share, slide.omega, led(x.omega, line.omega, line.omega_rate, p.t_kin)),
    )
    # A car that follows its wheels needs no tyre forces, so body and axles feel none.
    forces = [Force(share * w.force.x, share * w.force.y) for w in rolling]
    front, rear = on_axles(x, forces)
    turning = net_torques(x, acting.a, rolling, p)
    spinning = share * (turning[0] + turning[1] + turning[2] + turning[3])
    squat = pitch_moment(x, front.x + rear.x, spinning, now, p)
    pose = pose_rate(
        x.yaw,
        x.v_x,
        mixed(share, x.v_y, p.l_r * line.omega),
        mixed(share, x.omega, line.omega),
    )
    rate = assembled(
        x,
        pose,
        acting.steer_rate,
        over_ground,
        suspended(x, front, rear, squat, now, p),
        spin_rates(x, turning, share, p),
        p,
    )
    return Motion(rate, rolling, now)


def engine_spin(x: State, p: Params) -> rad_s:
    """Spin at which the engine turns its wheels, through open differentials."""
    fr, fl, rr, rl = spins_of(x)
    return 0.5 * (p.engine_split * (fr + fl) + (1.0 - p.engine_split) * (rr + rl))


def net_torques(x: State, a: m_s2, rolling: Sequence[Wheel], p: Params) -> list[Nm]:
    """What turns each wheel faster: the torque of engine or brake less that of the road."""
    # What slows the car, either way, comes from the brakes; at rest the engine sets it going.
    torque = axle_torques(a, a * x.v_x < 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    each = (torque.front, torque.front, torque.rear, torque.rear)
    return [
        on_wheel(0.5 * axle_torque, torque.braking, omega, p.omega_lock) - p.R_w * wheel.force.x
        for axle_torque, omega, wheel in zip(each, spins_of(x), rolling, strict=True)
    ]


def spin_rates(x: State, turning: Sequence[Nm], share: one, p: Params) -> list[rad_s2]:
    """Angular acceleration of each wheel under what turns it; slow ones are led into rolling."""
    rates: list[rad_s2] = []
    for net_torque, omega, corner, (c, s) in zip(
        turning, spins_of(x), corners(x, p), steering(x), strict=True
    ):
        rolls = (in_wheel_frame(corner.hub, c, s).x * (1.0 / p.R_w) - omega) * (1.0 / p.t_kin)
        rates.append(mixed(share, net_torque * (1.0 / p.I_w), rolls))
    return rates


def assembled(
    x: State,
    pose: PoseRate,
    steer_rate: rad_s,
    over_ground: Planar,
    inside: Suspended,
    spins: Sequence[rad_s2],
    p: Params,
) -> State:
    """The derivative from its parts."""
    rate_f, rate_r = shift_rates(x, p)
    return State(
        x=pose.x, y=pose.y, steer=steer_rate, v_x=over_ground.v_x, yaw=pose.yaw,
        omega=over_ground.omega, lean=x.lean_rate, lean_rate=inside.lean_rate,
        squat=x.squat_rate, squat_rate=inside.squat_rate, v_y=over_ground.v_y,
        drop=x.drop_rate, drop_rate=inside.drop_rate,
        lean_f=x.lean_rate_f, lean_rate_f=inside.front.lean_rate, v_y_f=inside.front.v_y,
        drop_f=x.drop_rate_f, drop_rate_f=inside.front.drop_rate,
        lean_r=x.lean_rate_r, lean_rate_r=inside.rear.lean_rate, v_y_r=inside.rear.v_y,
        drop_r=x.drop_rate_r, drop_rate_r=inside.rear.drop_rate,
        omega_fr=spins[0], omega_fl=spins[1], omega_rr=spins[2], omega_rl=spins[3],
        shift_f=rate_f, shift_r=rate_r,
    )  # fmt: skip
