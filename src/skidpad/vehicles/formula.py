"""Cars with four driven wheels and one steering angle: `four_wheel` and `kinematic_bicycle`.

`four_wheel` is a dynamic car on four tyres with wheel loads in closed form, for speeds above
walking pace. `kinematic_bicycle` has wheels that do not slip sideways and is exact at parking
speed: it has one degree of freedom, v_x; lateral velocity and yaw rate follow from the steering
angle, and the longitudinal equation is the power balance of the constrained body.

The records here are also used by `brains2`, and `two_track` extends them. Parameters are those of
the brains2 project's Formula Student car (`car_constants.yaml`), except C_m0: there the drive
force exceeds torque over wheel radius by 3 %, which creates energy. g and v_0 are the constants
9.81 and 1/10 in its equations.

Equations: docs/vehicles.md; differences from the brains2 document and program: C1 to C4 and K1 to
K5 of docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from .. import units as si
from ..core.body import Demand, Geometry, GroundUnder, Limits, Outline, Pose, box, four_wheels
from ..core.body import Velocity as BodyVelocity
from ..core.model import Model, NoDisturbance, VehicleFactory
from ..core.record import extended
from ..ops import clip, cos, logical_and, maximum, minimum, sin, where
from ..tyres.simple import MagicFormula, friction_on_road
from .parts.actuators import limited, limited_lag, rate_limited_lag
from .parts.air import downforce, resistance
from .parts.assembly import PlanarState, Push, sliding_car, weight_along
from .parts.kinematics import (
    Acceleration,
    body_acceleration,
    curvature_of,
    kinetic_energy,
    pose_rate,
    velocity_rate,
)
from .parts.load_transfer import (
    AxleForce,
    AxleFriction,
    Force,
    FourWheels,
    Friction,
    LoadLaw,
    accelerations,
    axle_friction,
    axle_load,
    contact_velocities,
    drive_force,
    in_wheel_frame,
    rigid_load_law,
    slip_angle,
    steered_lateral,
    together,
    tyre_force,
    under_force,
    wheel_loads,
    yaw_moment,
)


@extended
class State(PlanarState):
    """Pose, velocity and actuator positions of a car. ISO 8855: x forward, y left, z up."""

    steer: si.rad = 0.0
    """Steering angle of both front wheels, positive to the left."""
    tau_fl: si.Nm = 0.0
    """Torque at the front left wheel, positive drives forward."""
    tau_fr: si.Nm = 0.0
    """Torque at the front right wheel."""
    tau_rl: si.Nm = 0.0
    """Torque at the rear left wheel."""
    tau_rr: si.Nm = 0.0
    """Torque at the rear right wheel."""


class Input(NamedTuple):
    """Targets of the five actuators."""

    steer: si.rad = 0.0
    """Target steering angle, positive to the left."""
    tau_fl: si.Nm = 0.0
    """Target torque at the front left wheel, positive drives forward; a negative torque brakes and,
    from standstill, drives backwards (with `vehicles.with_brakes`, it brakes and holds the car)."""
    tau_fr: si.Nm = 0.0
    """Target torque at the front right wheel, positive drives forward."""
    tau_rl: si.Nm = 0.0
    """Target torque at the rear left wheel, positive drives forward."""
    tau_rr: si.Nm = 0.0
    """Target torque at the rear right wheel, positive drives forward."""


@extended
class External(Push):
    """Disturbances: external forces, yaw moment and grip. The defaults do nothing."""

    mu_scale: Annotated[si.one, si.non_negative] = 1.0
    """Factor on the peak friction of all tyres; their stiffness at small slip is unchanged."""


class Outputs(NamedTuple):
    """Accelerations; load, slip angle and force of each wheel."""

    a_x: si.m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: si.m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    F_z_fl: si.N
    """Load on the front left wheel, positive when pressed on the road."""
    F_z_fr: si.N
    """Load on the front right wheel."""
    F_z_rl: si.N
    """Load on the rear left wheel."""
    F_z_rr: si.N
    """Load on the rear right wheel."""
    alpha_fl: si.rad
    """Slip angle of the front left wheel, positive when the tyre pushes to the left."""
    alpha_fr: si.rad
    """Slip angle of the front right wheel."""
    alpha_rl: si.rad
    """Slip angle of the rear left wheel."""
    alpha_rr: si.rad
    """Slip angle of the rear right wheel."""
    F_x_fl: si.N
    """Force along the front left wheel (wheel frame)."""
    F_x_fr: si.N
    """Force along the front right wheel."""
    F_x_rl: si.N
    """Force along the rear left wheel."""
    F_x_rr: si.N
    """Force along the rear right wheel."""
    F_y_fl: si.N
    """Force across the front left wheel (wheel frame), positive to the left."""
    F_y_fr: si.N
    """Force across the front right wheel."""
    F_y_rl: si.N
    """Force across the rear left wheel."""
    F_y_rr: si.N
    """Force across the rear right wheel."""
    wheel_lift: si.one
    """1 if a wheel has left the road, else 0; each vehicle documents its behaviour then."""


def torques(x: Any) -> tuple[si.Nm, si.Nm, si.Nm, si.Nm]:
    """Torques of the wheels fl, fr, rl, rr in a state or an input."""
    return x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr


def actuator_rates(x: State, u: Input, p: Any) -> Input:
    """Rates of steering angle and torques towards their targets, within the limits.

    `p` has t_steer, steer_max, steer_rate_max, t_tau and tau_max. The limits act on the rate, so
    they hold whatever the step size. If `p` has a limit_width they are smooth
    (`variants.with_smooth_limits`).
    """
    width = getattr(p, "limit_width", None)
    steer = rate_limited_lag(x.steer, u.steer, p.t_steer, p.steer_max, p.steer_rate_max, width)
    pairs = zip(torques(x), torques(u), strict=True)
    return Input(steer, *(limited_lag(a, b, p.t_tau, p.tau_max, width) for a, b in pairs))


def least(values: Sequence[Any]) -> Any:
    fl, fr, rl, rr = values
    return minimum(minimum(fl, fr), minimum(rl, rr))


def energy(x: State, p: Any) -> si.J:
    """Kinetic energy of the body; wheels and actuators store no energy in these models."""
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


WHEEL_RADIUS: si.m = 0.20809


class RollingCarParams(NamedTuple):
    """Parameters of a car with four driven wheels and one steering angle."""

    m: Annotated[si.kg, si.positive] = 230.0
    """Mass with driver."""
    I_z: Annotated[si.kg_m2, si.positive] = 200.0
    """Yaw inertia about the centre of mass."""
    l_f: Annotated[si.m, si.positive] = 0.7853
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[si.m, si.positive] = 0.7853
    """Distance from the centre of mass to the rear axle."""
    track: Annotated[si.m, si.positive] = 1.24
    """Distance between the wheels of an axle."""
    C_m0: Annotated[si.N_Nm, si.non_negative] = 1.0 / WHEEL_RADIUS
    """Drive force per wheel torque: one over the radius of the wheels, or less with losses."""
    C_r0: Annotated[si.N, si.non_negative] = 350.0
    """Constant driving resistance."""
    C_r1: Annotated[si.N_s_m, si.non_negative] = 20.0
    """Driving resistance per speed."""
    C_r2: Annotated[si.N_s2_m2, si.non_negative] = 3.0
    """Driving resistance per speed squared."""
    t_tau: Annotated[si.s, si.positive] = 0.001
    """Time constant of the wheel torques."""
    t_steer: Annotated[si.s, si.positive] = 0.02
    """Time constant of the steering."""
    tau_max: Annotated[si.Nm, si.non_negative] = 276.75
    """Largest torque target of a wheel, either sign."""
    steer_max: Annotated[si.rad, si.non_negative] = 0.5
    """Largest steering target, either side."""
    steer_rate_max: Annotated[si.rad_s, si.non_negative] = 1.0
    """Largest steering rate, either side."""
    v_0: Annotated[si.m_s, si.positive] = 0.1
    """Speed below which the driving resistance fades to zero."""


@extended
class TyreCarParams(RollingCarParams):
    """Parameters of a car with four driven wheels on tyres, which carry loads."""

    z_cg: Annotated[si.m, si.non_negative] = 0.295
    """Height of the centre of mass."""
    g: Annotated[si.m_s2, si.non_negative] = 9.81
    """Gravity."""
    C_down: Annotated[si.N_s2_m2, si.non_negative] = 3.96864
    """Downforce coefficient: downforce is ½ C_down v_x²."""
    tyre: MagicFormula = MagicFormula()
    """Tyre model: lateral force of each tyre."""


WHEEL_WIDTH: si.m = 0.19
"""Width of a 16 x 7.5 inch tyre, usual in Formula Student."""
HEIGHT: si.m = 1.15
"""Height of the main hoop."""
HOLD_TIME: si.s = 0.05
"""Time constant with which braking brings the car to rest and holds it there."""
CREEP: si.m_s = 0.6
"""Speed below which the handbrake force fades out, so that it does not reverse the car."""


def geometry(p: Any, *, forces: bool = False) -> Geometry:
    """Geometry with tub, wings and wheels in proportion to wheelbase and track.

    `forces`: whether the outputs have the force of each wheel.
    """
    front, rear = p.l_f, -p.l_r
    wheels = four_wheels(front, rear, p.track, WHEEL_RADIUS, WHEEL_WIDTH, forces=forces)
    outlines = open_wheeler(front, rear, p.track)
    return Geometry(front, rear, wheels, outlines, HEIGHT, p.m, p.I_z)


def open_wheeler(front: si.m, rear: si.m, track: si.m) -> tuple[Outline, ...]:
    """Outlines of rear wing, front wing, and a tub with side pods."""
    base, half = front - rear, 0.5 * track
    nose, tail, middle = front + 0.3 * base, rear - 0.18 * base, rear + 0.5 * base
    side = (
        (tail, 0.22 * half),
        (rear + 0.12 * base, 0.3 * half),
        (middle - 0.12 * base, 0.62 * half),
        (middle + 0.1 * base, 0.6 * half),
        (middle + 0.22 * base, 0.36 * half),
        (front, 0.26 * half),
        (nose, 0.14 * half),
    )
    tub = (*((x, -y) for x, y in side), *reversed(side))
    return (
        box(rear - 0.34 * base, rear - 0.14 * base, 0.85 * track),
        box(nose - 0.08 * base, nose + 0.1 * base, track),
        tub,
    )


def torque_for(a: si.m_s2, v_x: si.m_s, p: Any) -> si.Nm:
    """Torque at each of four wheels for an acceleration, driving resistance included."""
    against = resistance(v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    return (a * p.m - against) / (4.0 * p.C_m0)


def limits(p: Any) -> Limits:
    return replace(limits_of_actuators(p), grip=p.tyre.D * p.g)


def limits_of_actuators(p: Any) -> Limits:
    drive = 4.0 * p.C_m0 * p.tau_max / p.m
    torques = {f"tau_{wheel}": (-p.tau_max, p.tau_max) for wheel in ("fl", "fr", "rl", "rr")}
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=drive,
        a_min=-drive,
        handbrake=True,
        inputs={"steer": (-p.steer_max, p.steer_max), **torques},
    )


def command(x: State, demand: Demand, p: Any) -> Input:
    """Convert a demand to equal torques at all wheels; the handbrake locks the rear wheels.

    A demand to slow down stops the car and holds it; a demand for a negative speed makes it
    reverse.
    """
    brakes = logical_and(demand.a < 0.0, demand.v >= 0.0)
    a = where(brakes, maximum(demand.a, -x.v_x * (1.0 / HOLD_TIME)), demand.a)
    # With the handbrake pulled, the other wheels do not keep up the speed.
    v_x = where(demand.handbrake > 0.0, 0.0, x.v_x)
    tau = limited(torque_for(a, v_x, p), p.tau_max)
    hand = demand.handbrake * p.tau_max * clip(x.v_x * (1.0 / CREEP), -1.0, 1.0)
    rear = limited(tau - hand, p.tau_max)
    return Input(limited(demand.steer, p.steer_max), tau, tau, rear, rear)


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Any) -> tuple[Input, Any]:
    """Apply gravity at the centre of mass, and the mean friction under the wheels to all tyres."""
    changes: dict[str, Any] = {**weight_along(ground, p.m)}
    shares = ground.friction_shares((p.tyre.D,) * 4)
    if shares is not None:
        fl, fr, rl, rr = shares
        changes["mu_scale"] = 0.25 * (fl + fr + rl + rr)
    return u, w._replace(**changes)


CAR = sliding_car(
    geometry=lambda p: geometry(p, forces=True),
    limits=limits,
    command=command,
    on_ground=on_ground,
    gravity="g",
)
"""Body of a car on tyres that can be pushed and whose outputs have the force of each wheel."""


@extended
class Params(TyreCarParams):
    """Parameters of the four-wheel car; v_eps is the constant 0.001 m/s in brains2's equations."""

    v_eps: Annotated[si.m_s, si.positive] = 0.001
    """Rolling speed below which slip angles are held finite."""


def slip_angles(x: State, c: si.one, s: si.one, p: Params) -> FourWheels:
    """Slip angles of the wheels; `c`, `s` are cosine and sine of the steering angle."""
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    return FourWheels(
        slip_angle(in_wheel_frame(v.fl, c, s), p.v_eps),
        slip_angle(in_wheel_frame(v.fr, c, s), p.v_eps),
        slip_angle(v.rl, p.v_eps),
        slip_angle(v.rr, p.v_eps),
    )


def body_frame(mu: FourWheels, c: si.one, s: si.one) -> tuple[AxleFriction, AxleFriction]:
    front = axle_friction(steered_lateral(mu.fl, c, s), steered_lateral(mu.fr, c, s))
    rear = axle_friction(Friction(0.0, mu.rl), Friction(0.0, mu.rr))
    return front, rear


def drive_forces(
    x: State, c: si.one, s: si.one, p: RollingCarParams
) -> tuple[AxleForce, AxleForce]:
    front = drive_force(p.C_m0 * x.tau_fl, p.C_m0 * x.tau_fr, c, s)
    rear = drive_force(p.C_m0 * x.tau_rl, p.C_m0 * x.tau_rr, 1.0, 0.0)
    return front, rear


class Motion(NamedTuple):
    """Quantities of one instant that both the derivative and the outputs need."""

    a: Acceleration
    moment: si.Nm
    alpha: FourWheels
    mu: FourWheels
    law: LoadLaw


def motion(x: State, w: External, p: Params) -> Motion:
    """Accelerations, yaw moment, slip angles and friction of one instant."""
    c, s = cos(x.steer), sin(x.steer)
    alpha = slip_angles(x, c, s, p)
    mu = FourWheels(*friction_on_road(alpha, p.tyre, w.mu_scale))
    front, rear = body_frame(mu, c, s)
    drive_f, drive_r = drive_forces(x, c, s, p)
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    law = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    law = under_force(law, Force(w.F_x, w.F_y), p.m)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drive_f.x + drive_r.x + drag + w.F_x, drive_f.y + w.F_y)
    a = accelerations(applied, front, rear, law, p.m)
    force_f = together(drive_f, tyre_force(front, axle_load(a, law.front)))
    force_r = together(drive_r, tyre_force(rear, axle_load(a, law.rear)))
    moment = yaw_moment(force_f, force_r, p.l_f, p.l_r, p.track) + w.M_z
    return Motion(a, moment, alpha, mu, law)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    car = motion(x, w, p)
    yaw_rate_rate, actuators = car.moment * (1.0 / p.I_z), actuator_rates(x, u, p)
    pose = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
    velocity = velocity_rate(car.a, x.v_x, x.v_y, x.omega)
    return State._make((*pose, *velocity, yaw_rate_rate, *actuators))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip angles and tyre forces; `wheel_lift` marks a negative load.

    A negative load means that the model is used beyond its range: a real wheel would be in the air.
    """
    car = motion(x, w, p)
    F_z = wheel_loads(axle_load(car.a, car.law.front), axle_load(car.a, car.law.rear))
    F_x = [p.C_m0 * tau for tau in torques(x)]
    F_y = [mu * load for mu, load in zip(car.mu, F_z, strict=True)]
    lift = where(least(F_z) < 0.0, 1.0, 0.0)
    return Outputs._make((*car.a, *F_z, *car.alpha, *F_x, *F_y, lift))


MODEL = Model(
    name="four_wheel",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    Disturbance=External,
    derivative=derivative,
    outputs=outputs,
    energy=energy,
    slowest=1.0,
    body=CAR,
    summary="Dynamic car on four tyres with load transfer; above walking pace",
)
"""Model of the four-wheel car, without parameter values."""


four_wheel = VehicleFactory(MODEL)


class RollingOutputs(NamedTuple):
    """Accelerations, and curvature of the path."""

    a_x: si.m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: si.m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    curvature: si.per_m
    """Curvature of the path of the rear axle, positive to the left."""


def no_slip(x: State, p: RollingCarParams) -> State:
    """State with the lateral velocity and yaw rate of wheels that roll without slip."""
    omega = x.v_x * curvature_of(x.steer, p.l_f + p.l_r)
    return x._replace(v_y=p.l_r * omega, omega=omega)


def turning_inertia(p: RollingCarParams) -> si.kg_m2:
    """Yaw inertia about the middle of the rear axle."""
    return p.m * p.l_r * p.l_r + p.I_z


class RollingMotion(NamedTuple):
    """Rates of v_x and of the lateral velocity and yaw rate that follow from it."""

    v_x: si.m_s2
    v_y: si.m_s2
    omega: si.rad_s2


def rolling_motion(x: State, steer_rate: si.rad_s, p: RollingCarParams) -> RollingMotion:
    """v_x', v_y' and omega' of the constrained car while its steering moves at `steer_rate`.

    The energy ½ M v_x² changes only by the power of drive and resistance, as the lateral forces
    of the wheels do no work. M grows with the steering angle, so steering in costs speed.
    """
    wheelbase = p.l_f + p.l_r
    kappa = curvature_of(x.steer, wheelbase)
    kappa_rate = steer_rate * (1.0 / wheelbase + wheelbase * (kappa * kappa))
    front, rear = drive_forces(x, cos(x.steer), sin(x.steer), p)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    moment = yaw_moment(front, rear, p.l_f, p.l_r, p.track)
    # Per unit of v_x the centre of mass moves 1 ahead and l_r kappa to the left and turns by kappa.
    along = front.x + rear.x + drag + kappa * (p.l_r * (front.y + rear.y) + moment)
    # The mass felt along v_x: the energy is half of it times v_x².
    mass = p.m + turning_inertia(p) * (kappa * kappa)
    half_mass_rate = turning_inertia(p) * (kappa * kappa_rate)
    v_x_rate = (along - half_mass_rate * x.v_x) / mass
    omega_rate = v_x_rate * kappa + x.v_x * kappa_rate
    return RollingMotion(v_x_rate, p.l_r * omega_rate, omega_rate)


def rolling_derivative(x: State, u: Input, w: NoDisturbance, p: RollingCarParams) -> State:
    """Time derivative of the state; `x.v_y` and `x.omega` are not used, see `no_slip`."""
    rolling = no_slip(x, p)
    actuators = actuator_rates(x, u, p)
    pose = pose_rate(x.yaw, rolling.v_x, rolling.v_y, rolling.omega)
    return State._make((*pose, *rolling_motion(x, actuators.steer, p), *actuators))


def rolling_outputs(x: State, u: Input, w: NoDisturbance, p: RollingCarParams) -> RollingOutputs:
    """True body accelerations, including the lateral forces that keep the wheels from slipping."""
    rolling = no_slip(x, p)
    rate = rolling_motion(x, actuator_rates(x, u, p).steer, p)
    a = body_acceleration(Acceleration(rate.v_x, rate.v_y), x.v_x, rolling.v_y, rolling.omega)
    return RollingOutputs(a.x, a.y, curvature_of(x.steer, p.l_f + p.l_r))


def rolling_placed(x: State, pose: Pose, velocity: BodyVelocity, p: RollingCarParams) -> State:
    """State at another pose and velocity; v_y and omega follow from rolling wheels."""
    return no_slip(x._replace(**pose._asdict(), v_x=velocity.v_x), p)


KINEMATIC_MODEL = Model(
    name="kinematic_bicycle",
    State=State,
    Input=Input,
    Params=RollingCarParams,
    Outputs=RollingOutputs,
    derivative=rolling_derivative,
    outputs=rolling_outputs,
    settle=no_slip,
    energy=lambda x, p: energy(no_slip(x, p), p),
    body=sliding_car(
        geometry=geometry,
        limits=limits_of_actuators,
        command=command,
        placed=rolling_placed,
    ),
    summary="Car whose wheels do not slip sideways; parking speed",
)

kinematic_bicycle = VehicleFactory(KINEMATIC_MODEL)
