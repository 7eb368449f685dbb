"""`commonroad_mb`: CommonRoad's multi-body car: a sprung body, two axles, four wheels.

29 states: besides the planar motion the body leans, squats and drops, each axle leans, drops and
moves sideways under it, and every wheel spins on a tyre of its own. Equations as facts from
`commonroad-vehicle-models` 3.0.2 (`vehicle_dynamics_mb`), which goes back to the vehicle dynamics
model of the US Department of Transportation (R. W. Allen and others). Wheels are in the order fr,
fl, rr, rl, as in the state. The end of the module has the motion as that program computes it,
errors included.

The signs are upstream's, whose equations hold in axes with y to the right and z down as well as in
those of its output, with y to the left. Read with y to the left, upstream's left wheel is the right
one, a positive roll angle has the left side down, a positive pitch angle the nose up, and a
positive height is below. The names here are chosen accordingly: lean, squat, drop. An axle has
lean, its rotation about the forward axis with its left side down, and drop, its distance below the
height at which its tyres begin to carry. The body likewise has lean, squat (nose up), and drop
below its static height. `right` and `left` are the sides of the car.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.body import Body as CarBody
from ...core.body import Geometry, Pose
from ...core.body import Velocity as BodyVelocity
from ...core.model import Model
from ...core.record import extended
from ...ops import abs, atan, cos, logical_and, maximum, pow, sin, where
from ...tyres.contract import dynamic_share, led, mixed
from ..parts import kinematics
from ..parts.actuators import fraction
from ..parts.assembly import sliding_car, sliding_placed
from ..parts.load_transfer import (
    Force,
    Friction,
    Velocity,
    in_wheel_frame,
    on_road,
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
from . import cars
from .cars import (
    Motion,
    car_command,
    car_model,
    on_slope,
    on_spinning_wheels,
    spinning_limits,
)
from .tyre import UPSTREAM_TYRE, Coefficients, Slip, right_tyre_force, tyre_force


class AxleParams(NamedTuple):
    """Parameters that differ between the axles of the car."""

    m: Annotated[si.kg, si.positive]
    """Mass of the axle with its wheels."""
    I: Annotated[si.kg_m2, si.positive]  # noqa: E741 (the symbol of the books)
    """Inertia of the axle about the forward axis."""
    track: Annotated[si.m, si.positive]
    """Distance between its wheels."""
    K_s: Annotated[si.N_m, si.non_negative]
    """Stiffness of a spring."""
    K_sd: Annotated[si.N_s_m, si.non_negative]
    """Damping of a damper."""
    K_ts: si.Nm
    """Stiffness of the anti-roll bar per rad of lean between body and axle; negative resists."""
    D: si.per_m
    """Camber per spring deflection."""
    E: si.per_m2
    """Camber per squared spring deflection."""
    h_ra: si.m
    """Height of the roll centre above the road."""


class Body(NamedTuple):
    """Position and velocity of the sprung mass relative to the road."""

    lean: si.rad
    lean_rate: si.rad_s
    squat: si.rad
    squat_rate: si.rad_s
    drop: si.m
    drop_rate: si.m_s
    h: si.m
    """Height of the centre of mass above the road at rest."""


class Axle(NamedTuple):
    """Position and velocity of an axle."""

    lean: si.rad
    lean_rate: si.rad_s
    drop: si.m
    drop_rate: si.m_s
    shift: si.m
    """Lateral offset of the body from the axle, positive to the left."""
    shift_rate: si.m_s


class Pair(NamedTuple):
    """A value for the right and the left wheel."""

    right: float
    left: float

    @property
    def sum(self) -> float:
        return self.right + self.left


class Suspension(NamedTuple):
    """Forces, cambers and lever arms of the suspension of one axle."""

    load: Pair
    """Load on each tyre."""
    spring: Pair
    """Force of spring, damper and anti-roll bar on each side; positive pushes the body up."""
    camber: Pair
    joint: si.N
    """Lateral force at the roll centre; positive pushes the body to the left."""
    aside: si.m
    """Lever arm of the springs: offset of their resultant to the left of the axle's middle."""
    below: si.m
    """Distance of the roll centre below the body's centre of mass."""
    above: si.m
    """Distance of the roll centre above the middle of the axle.

    All three are in the axes of the leaning body.
    """


def suspension(
    axle: Axle,
    body: Body,
    at: si.m,
    static: si.N,
    car: Any,
    p: AxleParams,
    *,
    upstream: bool = False,
) -> Suspension:
    """Forces between the road and the body at one axle.

    Args:
        at: distance of the axle ahead of the centre of mass, negative behind it.
        static: force of one spring at rest.
        car: parameters of the car.
        upstream: as in CommonRoad's program, a tyre that has left the road pulls, and the body
            stays above its axles however far it is displaced sideways.
    """
    c, s = cos(body.lean), sin(body.lean)
    between, between_rate = body.lean - axle.lean, body.lean_rate - axle.lean_rate
    height, arm = body.h - car.R_w, p.h_ra - car.R_w
    # Height of the body's centre of mass above the middle of the axle, in the axes of the road,
    # then the position of the one relative to the other in the axes of the leaning body.
    rise, rise_rate = height + axle.drop - body.drop, axle.drop_rate - body.drop_rate
    aside, high = rise * s - axle.shift * c, rise * c + axle.shift * s
    # Force of the compliant joint, parallel to the floor of the body.
    offset = aside - arm * sin(between)
    offset_rate = high * body.lean_rate + rise_rate * s - axle.shift_rate * c
    offset_rate = offset_rate - arm * cos(between) * between_rate
    # Extension of the springs from their static length.
    if upstream:
        middle, middle_rate = rise / c - height, rise_rate
        rise = body.h - body.drop - car.R_w + axle.drop
        aside, below, above = 0.0 * body.h, (rise - arm * cos(axle.lean)) / c, arm
    else:
        middle = high - height
        middle_rate = rise_rate * c + axle.shift_rate * s - aside * body.lean_rate
        above = arm * cos(between)
        below = high - above
    middle, middle_rate = middle + at * body.squat, middle_rate + at * body.squat_rate
    side, side_rate = 0.5 * between * p.track, 0.5 * between_rate * p.track
    right, left = middle + side, middle - side
    right_rate, left_rate = middle_rate + side_rate, middle_rate - side_rate
    # Tyre deflections; negative for a wheel in the air.
    deflection = axle.drop + car.R_w * (cos(axle.lean) - 1.0)
    tilt = 0.5 * p.track * sin(axle.lean)
    load = Pair((deflection - tilt) * car.K_zt, (deflection + tilt) * car.K_zt)
    roll_bar = between * p.K_ts * (1.0 / p.track)
    return Suspension(
        load=load if upstream else Pair(*map(on_road, load)),
        spring=Pair(
            static - right * p.K_s - right_rate * p.K_sd + roll_bar,
            static - left * p.K_s - left_rate * p.K_sd - roll_bar,
        ),
        camber=Pair(body.lean + right * (p.D + p.E * right), body.lean - left * (p.D + p.E * left)),
        joint=offset * car.K_ras + offset_rate * car.K_rad,
        aside=aside,
        below=below,
        above=above,
    )


def axle_moment(
    axle: Axle, now: Suspension, across: Pair, F_y: si.N, car: Any, p: AxleParams
) -> si.Nm:
    """Moment on the axle about the forward axis; positive leans it to the left.

    `across` are the lateral forces in the axes of the wheels; each moves its contact patch by
    `car.K_lt` times the force. `F_y` is their sum in the axes of the car.
    """
    half = 0.5 * p.track
    c, s = half * cos(axle.lean), car.R_w * sin(axle.lean)
    return (
        half * (now.spring.left - now.spring.right)
        - now.joint * now.above
        + now.load.right * (s + c - car.K_lt * across.right)
        + now.load.left * (s - c - car.K_lt * across.left)
        - F_y * (car.R_w - axle.drop)
    )


def body_moment(now: Suspension, p: AxleParams) -> si.Nm:
    """Moment of an axle on the body about the forward axis; positive leans it to the left."""
    apart = 0.5 * p.track * (now.spring.right - now.spring.left)
    return apart - now.spring.sum * now.aside - now.joint * now.below


def _axle(which: str) -> AxleParams:
    return AxleParams(**{name: cars.BMW_320I[f"{which}.{name}"] for name in AxleParams._fields})


class State(NamedTuple):
    """Motion of the body, both axles and the four wheels, in upstream's order."""

    x: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    y: si.m = 0.0
    """Position of the centre of mass in the world frame."""
    steer: si.rad = 0.0
    """Steering angle of the front wheels, positive to the left."""
    v_x: si.m_s = 0.0
    """Velocity along the car, forward positive."""
    yaw: si.rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    omega: si.rad_s = 0.0
    """Yaw rate, positive to the left."""
    lean: si.rad = 0.0
    """Lean of the body, positive with its left side down: minus the roll angle of ISO 8855."""
    lean_rate: si.rad_s = 0.0
    """Rate of the body's lean."""
    squat: si.rad = 0.0
    """Squat of the body, positive with its nose up: minus the pitch angle of ISO 8855."""
    squat_rate: si.rad_s = 0.0
    """Rate of the body's squat."""
    v_y: si.m_s = 0.0
    """Velocity of the body across the car, positive to the left."""
    drop: si.m = 0.0
    """Distance of the body below its height on unloaded tyres, positive downwards."""
    drop_rate: si.m_s = 0.0
    """Velocity of the body, positive downwards."""
    lean_f: si.rad = 0.0
    """Lean of the front axle."""
    lean_rate_f: si.rad_s = 0.0
    """Rate of the front axle's lean."""
    v_y_f: si.m_s = 0.0
    """Velocity of the front axle across the car, positive to the left."""
    drop_f: si.m = 0.0
    """Deflection of the front tyres, positive when compressed."""
    drop_rate_f: si.m_s = 0.0
    """Velocity of the front axle, positive downwards."""
    lean_r: si.rad = 0.0
    """Lean of the rear axle."""
    lean_rate_r: si.rad_s = 0.0
    """Rate of the rear axle's lean."""
    v_y_r: si.m_s = 0.0
    """Velocity of the rear axle across the car, positive to the left."""
    drop_r: si.m = 0.0
    """Deflection of the rear tyres, positive when compressed."""
    drop_rate_r: si.m_s = 0.0
    """Velocity of the rear axle, positive downwards."""
    omega_fr: si.rad_s = 0.0
    """Spin of the front right wheel, positive rolls forward; upstream's left front."""
    omega_fl: si.rad_s = 0.0
    """Spin of the front left wheel; upstream's right front."""
    omega_rr: si.rad_s = 0.0
    """Spin of the rear right wheel; upstream's left rear."""
    omega_rl: si.rad_s = 0.0
    """Spin of the rear left wheel; upstream's right rear."""
    shift_f: si.m = 0.0
    """Lateral offset of the body from the front axle, positive to the left."""
    shift_r: si.m = 0.0
    """Lateral offset of the body from the rear axle, positive to the left."""


MIRROR_ODD = {name: True for name in State._fields if name.startswith(("lean", "shift"))}
"""Fields of the state that change sign in a mirror image, beyond those known by name."""


@extended
class Params(cars.CarParams):
    """Masses, springs, tyres and limits; by default CommonRoad's vehicle 2, a BMW 320i."""

    m: Annotated[si.kg, si.positive] = cars.BMW_320I["m"]
    """Mass of the whole car."""
    m_s: Annotated[si.kg, si.positive] = cars.BMW_320I["m_s"]
    """Sprung mass."""
    I_x_s: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_x_s"]
    """Inertia of the sprung mass about the forward axis."""
    I_y_s: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_y_s"]
    """Inertia of the sprung mass about the lateral axis."""
    I_z: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_z"]
    """Yaw inertia of the whole car."""
    I_xz_s: si.kg_m2 = cars.BMW_320I["I_xz_s"]
    """Product of inertia of the sprung mass between lean and yaw."""
    h_s: Annotated[si.m, si.non_negative] = cars.BMW_320I["h_s"]
    """Height of the centre of the sprung mass."""
    R_w: Annotated[si.m, si.positive] = cars.BMW_320I["R_w"]
    """Radius of the wheels."""
    I_w: Annotated[si.kg_m2, si.positive] = cars.BMW_320I["I_w"]
    """Inertia of a wheel about its axle."""
    K_zt: Annotated[si.N_m, si.positive] = cars.BMW_320I["K_zt"]
    """Vertical stiffness of a tyre."""
    K_lt: Annotated[si.m_N, si.non_negative] = cars.BMW_320I["K_lt"]
    """Lateral shift of a tyre's contact patch per lateral force."""
    K_ras: Annotated[si.N_m, si.non_negative] = cars.BMW_320I["K_ras"]
    """Lateral stiffness of the joint between an axle and the body."""
    K_rad: Annotated[si.N_s_m, si.non_negative] = cars.BMW_320I["K_rad"]
    """Lateral damping of the joint between an axle and the body."""
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

    The spin of a wheel then settles at 2300 1/s, less at other speeds: RK4 needs steps of at
    most 1 ms.
    """
    t_kin: Annotated[si.s, si.positive] = 0.02
    """Time constant with which a slow car and its wheels approach rolling without slip."""
    omega_lock: Annotated[si.rad_s, si.positive] = 3.0
    """Spin below which a brake holds its wheel rather than slowing it."""
    front: AxleParams = _axle("front")
    """Parameters of the front axle."""
    rear: AxleParams = _axle("rear")
    """Parameters of the rear axle."""
    tyre: Coefficients = Coefficients()
    """Tyre of a left wheel; the tyres on the right are its mirror image."""


class Outputs(NamedTuple):
    """Accelerations, loads, slip and forces of the wheels; forces in the axes of the wheels."""

    a_x: si.m_s2
    """Acceleration over ground along the car."""
    a_y: si.m_s2
    """Acceleration of the body over ground, across the car, positive to the left."""
    F_z_fl: si.N
    """Load on the front left tyre."""
    F_z_fr: si.N
    """Load on the front right tyre."""
    F_z_rl: si.N
    """Load on the rear left tyre."""
    F_z_rr: si.N
    """Load on the rear right tyre."""
    alpha_fl: si.rad
    """Slip angle of the front left wheel, positive when its tyre pushes to the left."""
    alpha_fr: si.rad
    """Slip angle of the front right wheel."""
    alpha_rl: si.rad
    """Slip angle of the rear left wheel."""
    alpha_rr: si.rad
    """Slip angle of the rear right wheel."""
    kappa_fl: si.one
    """Longitudinal slip of the front left wheel, positive when it drives."""
    kappa_fr: si.one
    """Longitudinal slip of the front right wheel."""
    kappa_rl: si.one
    """Longitudinal slip of the rear left wheel."""
    kappa_rr: si.one
    """Longitudinal slip of the rear right wheel."""
    F_x_fl: si.N
    """Force along the front left wheel."""
    F_x_fr: si.N
    """Force along the front right wheel."""
    F_x_rl: si.N
    """Force along the rear left wheel."""
    F_x_rr: si.N
    """Force along the rear right wheel."""
    F_y_fl: si.N
    """Force across the front left wheel, positive to the left."""
    F_y_fr: si.N
    """Force across the front right wheel."""
    F_y_rl: si.N
    """Force across the rear left wheel."""
    F_y_rr: si.N
    """Force across the rear right wheel."""


class Parts(NamedTuple):
    """State of the body and of each axle, and the suspension forces between them."""

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

    v_x: si.m_s2
    v_y: si.m_s2
    omega: si.rad_s2


class Acting(NamedTuple):
    """Forces behind the rates of a state."""

    wheels: Sequence[Wheel]
    parts: Parts


def shift_rates(x: State, p: Params) -> tuple[si.m_s, si.m_s]:
    """Velocity of the body relative to the front axle and to the rear axle, positive to the
    left."""
    return x.v_y + p.l_f * x.omega - x.v_y_f, x.v_y - p.l_r * x.omega - x.v_y_r


def take_apart(x: State, p: Params, *, upstream: bool = False) -> Parts:
    """Split the state into body and axles, and compute the forces of tyres, springs and joints."""
    rate_f, rate_r = shift_rates(x, p)
    body = Body(x.lean, x.lean_rate, x.squat, x.squat_rate, x.drop, x.drop_rate, p.h_s)
    front = Axle(x.lean_f, x.lean_rate_f, x.drop_f, x.drop_rate_f, x.shift_f, rate_f)
    rear = Axle(x.lean_r, x.lean_rate_r, x.drop_r, x.drop_rate_r, x.shift_r, rate_r)
    half = 0.5 * p.m_s * p.g * (1.0 / (p.l_f + p.l_r))
    return Parts(
        body,
        front,
        rear,
        suspension(front, body, p.l_f, half * p.l_r, p, p.front, upstream=upstream),
        suspension(rear, body, -p.l_r, half * p.l_f, p, p.rear, upstream=upstream),
    )


class Corner(NamedTuple):
    """Velocity of a wheel over ground, in the axes of the car."""

    hub: Velocity
    contact: Velocity
    """Velocity of the contact patch, which includes the effect of a leaning axle."""


def corners(x: State, p: Params) -> list[Corner]:
    """Velocities of the four wheels."""
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


def steering(x: State) -> list[tuple[si.one, si.one]]:
    c, s = cos(x.steer), sin(x.steer)
    return [(c, s), (c, s), (1.0, 0.0), (1.0, 0.0)]


SPINS = ("omega_fr", "omega_fl", "omega_rr", "omega_rl")
"""States of the wheel spins."""


def spins_of(x: State) -> tuple[si.rad_s, si.rad_s, si.rad_s, si.rad_s]:
    return x.omega_fr, x.omega_fl, x.omega_rr, x.omega_rl


def of_wheels(now: Parts, what: str) -> list[Any]:
    """Values of `load` or `camber` for each wheel, in the order of the state."""
    return [*getattr(now.hold_f, what), *getattr(now.hold_r, what)]


def wheels(x: State, now: Parts, p: Params, *, upstream: bool = False) -> list[Wheel]:
    """Slip and force of each wheel, valid at any speed, forwards and in reverse.

    With `upstream` as upstream computes them; a wheel that rolls backwards has no finite slip.
    """
    four: list[Wheel] = []
    loads, cambers = of_wheels(now, "load"), of_wheels(now, "camber")
    slow = abs(x.v_x) < p.v_kin
    for k, (corner, (c, s), omega) in enumerate(
        zip(corners(x, p), steering(x), spins_of(x), strict=True)
    ):
        along = in_wheel_frame(corner.hub, c, s).x
        if upstream:
            speed, steer = maximum(along, 0.0), x.steer if k < 2 else 0.0
            alpha = atan(corner.contact.y * pow(corner.contact.x, -1.0)) - steer
            kappa = where(slow, 0.0, upstream_slip(omega, speed, p.R_w))
            slip = Slip(kappa, where(slow, 0.0, alpha), cambers[k])
            four.append(Wheel(slip, tyre_force(slip, loads[k], p.tyre, UPSTREAM_TYRE)))
            continue
        kappa = longitudinal_slip(omega, along, p.R_w, p.v_dyn)
        alpha = -smooth_slip_angle(in_wheel_frame(corner.contact, c, s), p.v_dyn)
        # A wheel that leans to the left is turned backwards about the forward axis.
        slip = Slip(kappa, alpha, -cambers[k])
        force = right_tyre_force if k % 2 == 0 else tyre_force
        four.append(Wheel(slip, force(slip, loads[k], p.tyre)))
    return four


class OnAxle(NamedTuple):
    """Forces of the two tyres of an axle on the car, in the car's axes."""

    x: si.N
    y: si.N
    difference: si.N
    """Longitudinal force of the right tyre minus that of the left one."""
    across: Pair
    """Lateral force of each wheel, in the wheel's axes."""


def on_axles(x: State, forces: Sequence[Force]) -> tuple[OnAxle, OnAxle]:
    pair: list[OnAxle] = []
    turned = [
        steered(Friction(f.x, f.y), c, s) for f, (c, s) in zip(forces, steering(x), strict=True)
    ]
    for k in (0, 2):
        right, left = turned[k], turned[k + 1]
        across = Pair(forces[k].y, forces[k + 1].y)
        pair.append(OnAxle(right.x + left.x, right.y + left.y, right.x - left.x, across))
    return pair[0], pair[1]


def yaw_and_lean(front: OnAxle, rear: OnAxle, now: Parts, p: Params) -> tuple[si.rad_s2, si.rad_s2]:
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


def _coupled(own: Any, other: Any, I_own: si.kg_m2, I_other: si.kg_m2, I_xz: si.kg_m2) -> si.rad_s2:
    share = I_xz * (1.0 / I_other)
    return (own + share * other) * (1.0 / (I_own - share * I_xz))


def planar(x: State, front: OnAxle, rear: OnAxle, now: Parts, p: Params) -> Planar:
    c, s = cos(x.lean), sin(x.lean)
    joints = now.hold_f.joint + now.hold_r.joint
    return Planar(
        (front.x + rear.x) * (1.0 / p.m) + x.omega * x.v_y,
        (joints * c + reduce(add, of_wheels(now, "spring")) * s) * (1.0 / p.m_s) - x.omega * x.v_x,
        yaw_and_lean(front, rear, now, p)[0],
    )


def pitch_moment(x: State, along: si.N, spinning: si.Nm, now: Parts, p: Params) -> si.Nm:
    """Moment on the body about the lateral axis, positive nose up.

    `along` is the longitudinal force of all tyres. It acts at the ground and accelerates body
    and axles, each at its own height. `spinning` is the moment that spins the wheels up; its
    reaction acts on the body.
    """
    c, s = cos(x.lean), sin(x.lean)
    lift_f, lift_r = (hold.spring.sum * c - hold.joint * s for hold in (now.hold_f, now.hold_r))
    heights = (
        p.m_s * (p.h_s - x.drop) + p.front.m * (p.R_w - x.drop_f) + p.rear.m * (p.R_w - x.drop_r)
    )
    return p.l_f * lift_f - p.l_r * lift_r + along * heights * (1.0 / p.m) + spinning


def suspended(
    x: State, front: OnAxle, rear: OnAxle, squat: si.Nm, now: Parts, p: Params
) -> dict[str, Any]:
    """Accelerations of body and axles relative to each other; `squat` is the pitch moment."""
    c, s = cos(x.lean), sin(x.lean)
    joints = now.hold_f.joint + now.hold_r.joint
    rates: dict[str, Any] = {
        "lean_rate": yaw_and_lean(front, rear, now, p)[1],
        "squat_rate": squat * (1.0 / p.I_y_s),
        "drop_rate": p.g - (reduce(add, of_wheels(now, "spring")) * c - joints * s) * (1.0 / p.m_s),
    }
    axles = (
        ("f", front, now.front, now.hold_f, p.front),
        ("r", rear, now.rear, now.hold_r, p.rear),
    )
    for end, force, axle, hold, own in axles:
        spring, by_mass = hold.spring.sum, 1.0 / own.m
        moment = axle_moment(axle, hold, force.across, force.y, p, own)
        across = (force.y - hold.joint * c - spring * s) * by_mass - x.omega * x.v_x
        drop = p.g - (hold.load.sum + hold.joint * s - spring * c) * by_mass
        names = (f"lean_rate_{end}", f"v_y_{end}", f"drop_rate_{end}")
        rates |= zip(names, (moment * (1.0 / own.I), across, drop), strict=True)
    return rates


def motion(x: State, u: cars.CarInput, p: Params) -> Motion:
    """State rates, wheel forces and suspension forces, at any speed, forwards and in reverse."""
    # The engine drives the wheels through open differentials.
    fr, fl, rr, rl = spins_of(x)
    engine = 0.5 * (p.engine_split * (fr + fl) + (1.0 - p.engine_split) * (rr + rl))
    acting = cars.limit_torque_commands(u, x.steer, x.v_x, p.R_w * engine, p)
    now = take_apart(x, p)
    rolling = wheels(x, now, p)
    share = dynamic_share(x.v_x, p)
    line = kinematics.following(x.v_x, acting.a, x.steer, acting.steer_rate, p.l_f + p.l_r)
    slide = planar(x, *on_axles(x, [wheel.force for wheel in rolling]), now, p)
    v_y_rate = led(x.v_y, p.l_r * line.omega, p.l_r * line.omega_rate, p.t_kin)
    over_ground = Planar(
        mixed(share, slide.v_x, acting.a),
        mixed(share, slide.v_y, v_y_rate),
        mixed(share, slide.omega, led(x.omega, line.omega, line.omega_rate, p.t_kin)),
    )
    # A car that follows its wheels needs no tyre forces, so body and axles feel none.
    front, rear = on_axles(x, [Force(share * w.force.x, share * w.force.y) for w in rolling])
    # A deceleration, in either direction, comes from the brakes; at rest the engine acts.
    slows = acting.a * x.v_x < 0.0
    torque = axle_torques(acting.a, slows, p.m, p.R_w, p.brake_split, p.engine_split)
    each = (torque.front, torque.front, torque.rear, torque.rear)
    # Net torque on each wheel: that of engine or brake minus that of the road.
    turning = [
        on_wheel(0.5 * axle_torque, torque.braking, omega, p.omega_lock) - p.R_w * wheel.force.x
        for axle_torque, omega, wheel in zip(each, spins_of(x), rolling, strict=True)
    ]
    spinning = share * (turning[0] + turning[1] + turning[2] + turning[3])
    squat = pitch_moment(x, front.x + rear.x, spinning, now, p)
    across, turn = mixed(share, x.v_y, p.l_r * line.omega), mixed(share, x.omega, line.omega)
    pose = kinematics.pose_rate(x.yaw, x.v_x, across, turn)
    inside = suspended(x, front, rear, squat, now, p)
    spins: list[si.rad_s2] = []
    for net_torque, omega, corner, (c, s) in zip(
        turning, spins_of(x), corners(x, p), steering(x), strict=True
    ):
        rolls = (in_wheel_frame(corner.hub, c, s).x * (1.0 / p.R_w) - omega) * (1.0 / p.t_kin)
        spins.append(mixed(share, net_torque * (1.0 / p.I_w), rolls))
    rate = assembled(x, pose, acting, over_ground, inside, spins, p)
    return Motion(rate, Acting(rolling, now))


def assembled(
    x: State,
    pose: kinematics.PoseRate,
    acting: cars.Limited,
    over_ground: Planar,
    inside: dict[str, Any],
    spins: Sequence[si.rad_s2],
    p: Params,
) -> State:
    """Assemble the derivative of the state."""
    rate_f, rate_r = shift_rates(x, p)
    positions = ("lean", "squat", "drop", "lean_f", "drop_f", "lean_r", "drop_r")
    rates = {name: f"{name[:-2]}_rate{name[-2:]}" for name in positions[3:]}
    rates |= {name: f"{name}_rate" for name in positions[:3]}
    return State(
        **pose._asdict(),
        **over_ground._asdict(),
        **inside,
        **{name: getattr(x, rate) for name, rate in rates.items()},
        **dict(zip(SPINS, spins, strict=True)),
        steer=acting.steer_rate,
        shift_f=rate_f,
        shift_r=rate_r,
    )


def upstream_motion(x: State, u: cars.CarInput, p: Params) -> Motion:
    """State rates as upstream computes them: without slip (first six) below v_kin."""
    acting = cars.limit_commands(u, x.steer, x.v_x, p)
    now = take_apart(x, p, upstream=True)
    four = wheels(x, now, p, upstream=True)
    front, rear = on_axles(x, [wheel.force for wheel in four])
    slide = planar(x, front, rear, now, p)
    slow = abs(x.v_x) < p.v_kin
    line_rate = cars.upstream_rolling_rate(x.v_x, x.lean, x.steer, acting, p.l_f, p.l_r)
    over_ground = Planar(
        where(slow, acting.a, slide.v_x), slide.v_y, where(slow, line_rate.omega, slide.omega)
    )
    # Upstream applies the tyre forces as if they accelerated the body alone.
    along = (front.x + rear.x) * (p.h_s - x.drop)
    squat = p.l_f * now.hold_f.spring.sum - p.l_r * now.hold_r.spring.sum + along
    inside = suspended(x, front, rear, squat, now, p)
    torque = axle_torques(acting.a, acting.a <= 0.0, p.m, p.R_w, p.brake_split, p.engine_split)
    each = (torque.front, torque.front, torque.rear, torque.rear)
    # Wheels never turn backwards.
    spins = [
        where(omega < 0.0, 0.0, spin_rate(0.5 * net_torque, wheel.force.x, p.R_w, p.I_w))
        for net_torque, omega, wheel in zip(each, spins_of(x), four, strict=True)
    ]
    pose = kinematics.pose_rate(x.yaw, *upstream_velocity(x, u, p))
    return Motion(assembled(x, pose, acting, over_ground, inside, spins, p), Acting(four, now))


def upstream_velocity(x: State, u: cars.CarInput, p: Params) -> BodyVelocity:
    """Velocity over ground as upstream computes it: in reverse the car moves forwards."""
    slow, line = abs(x.v_x) < p.v_kin, kinematics.centre_track_rolling(x.v_x, x.steer, p.l_f, p.l_r)
    way: si.one = where(x.v_x < 0.0, -1.0, 1.0)
    return BodyVelocity(
        where(slow, x.v_x * cos(line.beta), way * x.v_x),
        where(slow, x.v_x * sin(line.beta), way * x.v_y),
        where(slow, line.omega, x.omega),
    )


_BY_SIDE = (1, 0, 3, 2)
"""Indices of fl, fr, rl, rr in the wheel order of the state."""


def settled(x: State, p: Params) -> State:
    """Make an initial state consistent.

    If the tyre deflections of both axles are 0, they are set to those under static load; if all
    four wheel spins are 0, the wheels are set rolling at the speed of their hubs.
    """
    front, rear = cars.standing_tyres(p)
    squat = (rear - front) * (1.0 / (p.l_f + p.l_r))
    aloft = logical_and(x.drop_f == 0.0, x.drop_r == 0.0)
    rims = [
        in_wheel_frame(corner.hub, c, s).x * (1.0 / p.R_w)
        for corner, (c, s) in zip(corners(x, p), steering(x), strict=True)
    ]
    fr, fl, rr, rl = (omega == 0.0 for omega in spins_of(x))
    still = logical_and(logical_and(fr, fl), logical_and(rr, rl))
    pairs = zip(rims, spins_of(x), strict=True)
    spins = [where(still, rim, omega) for rim, omega in pairs]
    return x._replace(
        squat=where(aloft, x.squat + squat, x.squat),
        drop=where(aloft, x.drop + front + p.l_f * squat, x.drop),
        drop_f=where(aloft, front, x.drop_f),
        drop_r=where(aloft, rear, x.drop_r),
        v_y_f=where(aloft, x.v_y + p.l_f * x.omega, x.v_y_f),
        v_y_r=where(aloft, x.v_y - p.l_r * x.omega, x.v_y_r),
        **dict(zip(SPINS, spins, strict=True)),
    )


def geometry(p: Params) -> Geometry:
    """Geometry with the mean track, and with forces for each wheel."""
    return on_spinning_wheels(p, 2, track=0.5 * (p.front.track + p.rear.track), forces=True)


def velocity(x: State, u: Any, p: Params) -> BodyVelocity:
    """Velocity from the state; at low speed, of a car whose wheels roll without slip."""
    share, omega = dynamic_share(x.v_x, p), kinematics.yaw_rate(x.v_x, x.steer, p.l_f + p.l_r)
    return BodyVelocity(x.v_x, mixed(share, x.v_y, p.l_r * omega), mixed(share, x.omega, omega))


def placed(x: State, pose: Pose, velocity: BodyVelocity, p: Params) -> State:
    """State at another pose and velocity; axles move with the body, wheel spins are unchanged."""
    across, turn = velocity.v_y - x.v_y, velocity.omega - x.omega
    front, rear = x.v_y_f + across + p.l_f * turn, x.v_y_r + across - p.l_r * turn
    return sliding_placed(x, pose, velocity, p)._replace(v_y_f=front, v_y_r=rear)


def _body(velocity: Callable[[Any, Any, Any], BodyVelocity]) -> CarBody:
    return sliding_car(
        velocity=velocity,
        acceleration=None,
        placed=placed,
        geometry=geometry,
        limits=spinning_limits,
        command=car_command,
        on_ground=on_slope("v_x", "v_y", "v_y_f", "v_y_r"),
        gravity="g",
    )


def shown(x: State, now: Motion, p: Params) -> Sequence[float]:
    """Accelerations, loads, slip and forces."""
    a = kinematics.body_acceleration(
        kinematics.Acceleration(now.rate.v_x, now.rate.v_y), x.v_x, x.v_y, x.omega
    )
    loads = of_wheels(now.acting.parts, "load")
    wheels = [now.acting.wheels[k] for k in _BY_SIDE]
    return (
        *a,
        *(loads[k] for k in _BY_SIDE),
        *(-wheel.slip.alpha for wheel in wheels),
        *(wheel.slip.kappa for wheel in wheels),
        *(wheel.force.x for wheel in wheels),
        *(wheel.force.y for wheel in wheels),
    )


def _model(
    move: Callable[[State, cars.CarInput, Params], Motion], body: CarBody, **others: Any
) -> Model:
    return car_model(
        "commonroad_mb",
        State,
        Params,
        Outputs,
        move,
        shown,
        body=body,
        mirror_odd=MIRROR_ODD,
        summary="CommonRoad MB: multi-body car on springs, 29 states",
        **others,
    )


MODEL = _model(motion, _body(velocity), settle=settled, fills=SPINS)
_BACKWARDS = "the slip of a wheel that rolls backwards is a quotient by 0, and so NaN"
UPSTREAM_MODEL = _model(
    upstream_motion,
    _body(upstream_velocity),
    reproduces=cars.VEHICLE_MODELS,
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

commonroad_mb = cars.CommonRoadFactory(MODEL, upstream=UPSTREAM_MODEL, sets=(1, 2, 3))
