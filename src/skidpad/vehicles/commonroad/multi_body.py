"""`commonroad_mb`: CommonRoad's multi-body car: a body on springs, two axles, four wheels.

29 states: besides the planar motion the body leans, squats and drops, each axle leans, drops and
moves sideways under it, and every wheel spins on a tyre of its own. Equations as facts from
`commonroad-vehicle-models` 3.0.2 (`vehicle_dynamics_mb`), which goes back to the vehicle dynamics
model of the US Department of Transportation. Wheels are in the order fr, fl, rr, rl, that of the
state. At the end: the motion as that program computes it, errors included.

The signs are upstream's, whose equations hold in axes with y to the right and z down as well as in
those of its output, with y to the left. Read with y to the left, what upstream calls the left wheel
is on the right, a positive roll angle has the left side down, a positive pitch angle the nose up,
and a positive height is below. The names here say so: lean, squat, drop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from ... import units
from ...core.body import Velocity as BodyVelocity
from ...core.model import Model, NoDisturbance
from ...core.record import extended
from ...ops import abs, atan, cos, logical_and, maximum, pow, sin, where
from ...tyres.low_speed import dynamic_share, led, mixed
from ...units import (
    N,
    N_m,
    N_s_m,
    Nm,
    kg,
    kg_m2,
    m,
    m_N,
    m_s,
    m_s2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    rad_s2,
)
from ..parts.disturbance import additive
from ..parts.kinematics import (
    Acceleration,
    PoseRate,
    body_acceleration,
    centre_track_rolling,
    following,
    pose_rate,
)
from ..parts.load_transfer import (
    Force,
    Friction,
    Velocity,
    in_wheel_frame,
    smooth_slip_angle,
    steered,
)
from ..parts.spinning_wheel import (
    axle_torques,
    longitudinal_slip,
    on_wheel,
    spin_rate,
    upstream_slip,
)
from .body import springs_body
from .drift import share
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
from .suspended_axle import (
    Axle,
    AxleParams,
    Body,
    Pair,
    Suspension,
    axle_moment,
    body_moment,
    suspension,
)
from .tyre import Coefficients, Quirks, Slip, right_tyre_force, tyre_force


def _axle(which: str) -> AxleParams:
    return AxleParams(**{name: BMW_320I[f"{which}.{name}"] for name in AxleParams._fields})


class State(NamedTuple):
    """Motion of the body, of both axles and of the four wheels, in upstream's order."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: rad = 0.0
    """Steering angle of the front wheels, positive to the left."""
    v_x: m_s = 0.0
    """Velocity along the car, forward positive."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    lean: rad = 0.0
    """Lean of the body, positive with its left side down: minus the roll angle of ISO 8855."""
    lean_rate: rad_s = 0.0
    """Rate of the body's lean."""
    squat: rad = 0.0
    """Squat of the body, positive with its nose up: minus the pitch angle of ISO 8855."""
    squat_rate: rad_s = 0.0
    """Rate of the body's squat."""
    v_y: m_s = 0.0
    """Velocity of the body across the car, positive to the left."""
    drop: m = 0.0
    """How far the body is below its height on unloaded tyres, positive downwards."""
    drop_rate: m_s = 0.0
    """Velocity of the body, positive downwards."""
    lean_f: rad = 0.0
    """Lean of the front axle."""
    lean_rate_f: rad_s = 0.0
    """Rate of the front axle's lean."""
    v_y_f: m_s = 0.0
    """Velocity of the front axle across the car, positive to the left."""
    drop_f: m = 0.0
    """How far the front tyres are pressed together, positive downwards."""
    drop_rate_f: m_s = 0.0
    """Velocity of the front axle, positive downwards."""
    lean_r: rad = 0.0
    """Lean of the rear axle."""
    lean_rate_r: rad_s = 0.0
    """Rate of the rear axle's lean."""
    v_y_r: m_s = 0.0
    """Velocity of the rear axle across the car, positive to the left."""
    drop_r: m = 0.0
    """How far the rear tyres are pressed together, positive downwards."""
    drop_rate_r: m_s = 0.0
    """Velocity of the rear axle, positive downwards."""
    omega_fr: rad_s = 0.0
    """Spin of the front right wheel, positive rolls forward; upstream's left front."""
    omega_fl: rad_s = 0.0
    """Spin of the front left wheel; upstream's right front."""
    omega_rr: rad_s = 0.0
    """Spin of the rear right wheel; upstream's left rear."""
    omega_rl: rad_s = 0.0
    """Spin of the rear left wheel; upstream's right rear."""
    shift_f: m = 0.0
    """How far the body is to the left of the front axle."""
    shift_r: m = 0.0
    """How far the body is to the left of the rear axle."""


MIRROR_ODD = {name: True for name in State._fields if name.startswith(("lean", "shift"))}
"""Fields of the state that a mirror turns round, besides those whose names tell."""


@extended
class Params(CarParams):
    """Masses, springs, tyres and limits; CommonRoad's vehicle 2, a BMW 320i, by default."""

    m: Annotated[kg, positive] = BMW_320I["m"]
    """Mass of the whole car."""
    m_s: Annotated[kg, positive] = BMW_320I["m_s"]
    """Mass of the body on its springs."""
    I_x_s: Annotated[kg_m2, positive] = BMW_320I["I_x_s"]
    """Inertia of the body about the forward axis."""
    I_y_s: Annotated[kg_m2, positive] = BMW_320I["I_y_s"]
    """Inertia of the body about the axis across."""
    I_z: Annotated[kg_m2, positive] = BMW_320I["I_z"]
    """Yaw inertia of the whole car."""
    I_xz_s: kg_m2 = BMW_320I["I_xz_s"]
    """Product of inertia of the body between lean and yaw."""
    h_s: Annotated[m, non_negative] = BMW_320I["h_s"]
    """Height of the body's centre of mass."""
    R_w: Annotated[m, positive] = BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[kg_m2, positive] = BMW_320I["I_w"]
    """Inertia of a wheel about its axle."""
    K_zt: Annotated[N_m, positive] = BMW_320I["K_zt"]
    """Vertical stiffness of a tyre."""
    K_lt: Annotated[m_N, non_negative] = BMW_320I["K_lt"]
    """How far a lateral force moves the contact patch of a tyre aside."""
    K_ras: Annotated[N_m, non_negative] = BMW_320I["K_ras"]
    """Lateral stiffness of the joint between an axle and the body."""
    K_rad: Annotated[N_s_m, non_negative] = BMW_320I["K_rad"]
    """Lateral damping of that joint."""
    brake_split: share = BMW_320I["brake_split"]
    """Share of the brakes' torque on the front axle."""
    engine_split: share = BMW_320I["engine_split"]
    """Share of the engine's torque on the front axle."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    v_kin: Annotated[m_s, non_negative] = 0.1
    """Speed up to which the car follows its wheels."""
    v_dyn: Annotated[m_s, positive] = 2.0
    """Speed from which it follows its tyre forces alone; above v_kin. The spin of a wheel then
    settles with 2300 1/s, less at other speeds: RK4 takes steps of 1 ms."""
    t_kin: Annotated[units.s, positive] = 0.02
    """Time in which a slow car and its wheels get into line."""
    omega_lock: Annotated[rad_s, positive] = 3.0
    """Spin below which a brake holds its wheel rather than slows it."""
    front: AxleParams = _axle("front")
    """The front axle."""
    rear: AxleParams = _axle("rear")
    """The rear axle."""
    tyre: Coefficients = Coefficients()
    """The tyre of a left wheel; those on the right are its mirror image."""


class Outputs(NamedTuple):
    """Accelerations, loads, slip and forces of the wheels; forces in the axes of the wheels."""

    a_x: m_s2
    """Acceleration of the car over ground, along it."""
    a_y: m_s2
    """Acceleration of the body over ground, across the car, positive to the left."""
    F_z_fl: N
    """Load on the front left tyre."""
    F_z_fr: N
    """Load on the front right tyre."""
    F_z_rl: N
    """Load on the rear left tyre."""
    F_z_rr: N
    """Load on the rear right tyre."""
    alpha_fl: rad
    """Slip angle of the front left wheel, positive when its tyre pushes to the left."""
    alpha_fr: rad
    """Slip angle of the front right wheel."""
    alpha_rl: rad
    """Slip angle of the rear left wheel."""
    alpha_rr: rad
    """Slip angle of the rear right wheel."""
    kappa_fl: one
    """Longitudinal slip of the front left wheel, positive when it drives."""
    kappa_fr: one
    """Longitudinal slip of the front right wheel."""
    kappa_rl: one
    """Longitudinal slip of the rear left wheel."""
    kappa_rr: one
    """Longitudinal slip of the rear right wheel."""
    F_x_fl: N
    """Force along the front left wheel."""
    F_x_fr: N
    """Force along the front right wheel."""
    F_x_rl: N
    """Force along the rear left wheel."""
    F_x_rr: N
    """Force along the rear right wheel."""
    F_y_fl: N
    """Force across the front left wheel, positive to the left."""
    F_y_fr: N
    """Force across the front right wheel."""
    F_y_rl: N
    """Force across the rear left wheel."""
    F_y_rr: N
    """Force across the rear right wheel."""


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


QUIRKS = Quirks(shift_in_sine=True, ply_by_camber=True, drive_reversed=True)


def upstream_motion(x: State, u: CarInput, p: Params) -> Motion:
    """Rates; below v_kin the first six are those of a car without slip."""
    acting = limited(u.steer_rate, u.a, x.steer, x.v_x, p)
    now = take_apart(x, p, upstream=True)
    four = upstream_wheels(x, now, p)
    front, rear = on_axles(x, [wheel.force for wheel in four])
    slide = planar(x, front, rear, now, p)
    slow = abs(x.v_x) < p.v_kin
    line_rate = upstream_rolling_rate(x.v_x, x.lean, x.steer, acting, p.l_f, p.l_r)
    over_ground = Planar(
        where(slow, acting.a, slide.v_x), slide.v_y, where(slow, line_rate.omega, slide.omega)
    )
    inside = suspended(x, front, rear, upstream_pitch_moment(x, front.x + rear.x, now, p), now, p)
    spins = upstream_spin_rates(x, acting, four, p)
    pose = pose_rate(x.yaw, *upstream_velocity(x, u, p))
    rate = assembled(x, pose, acting.steer_rate, over_ground, inside, spins, p)
    return Motion(rate, four, now)


def upstream_pitch_moment(x: State, along: N, now: Parts, p: Params) -> Nm:
    """Moment on the body, as if the body were all that the tyres accelerate."""
    return (
        p.l_f * (now.hold_f.spring.right + now.hold_f.spring.left)
        - p.l_r * (now.hold_r.spring.right + now.hold_r.spring.left)
        + along * (p.h_s - x.drop)
    )


def upstream_velocity(x: State, u: CarInput, p: Params) -> BodyVelocity:
    """How the car moves over ground. In reverse the program moves it forwards."""
    slow, line = abs(x.v_x) < p.v_kin, centre_track_rolling(x.v_x, x.steer, p.l_f, p.l_r)
    way: one = where(x.v_x < 0.0, -1.0, 1.0)
    return BodyVelocity(
        where(slow, x.v_x * cos(line.beta), way * x.v_x),
        where(slow, x.v_x * sin(line.beta), way * x.v_y),
        where(slow, line.omega, x.omega),
    )


def upstream_wheels(x: State, now: Parts, p: Params) -> list[Wheel]:
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


def upstream_spin_rates(x: State, acting: Limited, four: list[Wheel], p: Params) -> list[rad_s2]:
    """Angular acceleration of each wheel, of which none may turn backwards."""
    a: m_s2 = acting.a
    torque = axle_torques(a, a <= 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    each = (torque.front, torque.front, torque.rear, torque.rear)
    return [
        where(omega < 0.0, 0.0, spin_rate(0.5 * net_torque, wheel.force.x, p.R_w, p.I_w))
        for net_torque, omega, wheel in zip(each, spins_of(x), four, strict=True)
    ]


_BY_SIDE = (1, 0, 3, 2)
"""Places of fl, fr, rl, rr in the order of the state."""


def standing_tyres(p: Params) -> tuple[m, m]:
    """How far the front and the rear tyres of a car that stands are pressed together."""
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    by_tyres = 0.5 * p.g * (1.0 / p.K_zt)
    return (
        (p.m_s * p.l_r * by_wheelbase + p.front.m) * by_tyres,
        (p.m_s * p.l_f * by_wheelbase + p.rear.m) * by_tyres,
    )


def settled(x: State, p: Params) -> State:
    """Make a start state consistent.

    If the tyre deflections of both axles are 0, the tyres are put under static load; if all four
    wheel spins are 0, the wheels are set rolling at the speed of their hubs.
    """
    front, rear = standing_tyres(p)
    squat = (rear - front) * (1.0 / (p.l_f + p.l_r))
    aloft = logical_and(x.drop_f == 0.0, x.drop_r == 0.0)
    rims = [
        in_wheel_frame(corner.hub, c, s).x * (1.0 / p.R_w)
        for corner, (c, s) in zip(corners(x, p), steering(x), strict=True)
    ]
    spins = spins_of(x)
    still = logical_and(
        logical_and(spins[0] == 0.0, spins[1] == 0.0),
        logical_and(spins[2] == 0.0, spins[3] == 0.0),
    )
    fr, fl, rr, rl = (where(still, rim, omega) for rim, omega in zip(rims, spins, strict=True))
    return x._replace(
        squat=where(aloft, x.squat + squat, x.squat),
        drop=where(aloft, x.drop + front + p.l_f * squat, x.drop),
        drop_f=where(aloft, front, x.drop_f),
        drop_r=where(aloft, rear, x.drop_r),
        v_y_f=where(aloft, x.v_y + p.l_f * x.omega, x.v_y_f),
        v_y_r=where(aloft, x.v_y - p.l_r * x.omega, x.v_y_r),
        omega_fr=fr,
        omega_fl=fl,
        omega_rr=rr,
        omega_rl=rl,
    )


def _model(move: Callable[[State, CarInput, Params], Motion]) -> Model:
    def derivative(x: State, u: CarInput, w: NoDisturbance, p: Params) -> State:
        """Time derivative of the state."""
        return move(x, u, p).rate

    def outputs(x: State, u: CarInput, w: NoDisturbance, p: Params) -> Outputs:
        """Accelerations of the motion, loads, slip and forces."""
        now = move(x, u, p)
        a = body_acceleration(Acceleration(now.rate.v_x, now.rate.v_y), x.v_x, x.v_y, x.omega)
        loads = of_wheels(now.parts, "load")
        wheels = [now.wheels[k] for k in _BY_SIDE]
        return Outputs(
            *a,
            *(loads[k] for k in _BY_SIDE),
            *(-wheel.slip.alpha for wheel in wheels),
            *(wheel.slip.kappa for wheel in wheels),
            *(wheel.force.x for wheel in wheels),
            *(wheel.force.y for wheel in wheels),
        )

    return additive(
        Model(
            name="commonroad_mb",
            State=State,
            Input=CarInput,
            Params=Params,
            Outputs=Outputs,
            derivative=derivative,
            outputs=outputs,
            body=springs_body(),
            mirror_odd=MIRROR_ODD,
            summary="CommonRoad MB: multi-body car on springs, 29 states",
        )
    )


MODEL = replace(
    _model(motion), settle=settled, fills=("omega_fr", "omega_fl", "omega_rr", "omega_rl")
)
_BACKWARDS = "the slip of a wheel that rolls backwards is a quotient by 0, and so NaN"
UPSTREAM_MODEL = replace(
    _model(upstream_motion),
    body=springs_body(upstream_velocity),
    reproduces=VEHICLE_MODELS,
    exempt={
        "purity": _BACKWARDS,
        "mirror": "left and right tyres are alike, not mirror images, and all pull to one side",
        "frame": _BACKWARDS,
        "gradients": _BACKWARDS,
        "dimensions": "the vertical shift of the longitudinal force, in N, is added to an angle",
        "driving": _BACKWARDS,
        "rest": "below 0.1 m/s it integrates increments of the yaw rate and forgets no error",
    },
)

commonroad_mb = CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
