"""Records shared by the cars with four driven wheels and one steering angle.

Parameters that the cars of `car_state` share.

The numbers are those of the brains2 project's Formula Student car (`car_constants.yaml`), but for
C_m0, with which it drives 3 % harder than its torque; g and v_0 are the constants 9.81 and 1/10
written into its equations.

The body of the cars of `car_state`: Formula Student cars with four driven wheels.

Factory of the cars that were otherwise in version 0.1.

Cars whose negative torques are brakes.

    car = sp.vehicles.with_brakes(sp.vehicles.four_wheel())

The motors of `four_wheel` and `kinematic_bicycle` drive backwards when their
torque is negative: who brakes for too long reverses. A brake turns no wheel round. It resists the
way its wheel moves over the ground, so a locked wheel that slides is pulled against its motion and
not along the car, and it holds a car that stands.

Brakes of the cars of `car_state`: negative torques that resist the motion of their wheels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

from ..core import record
from ..core.body import Body, Demand, Geometry, GroundUnder, Limits, Outline, box, four_wheels
from ..core.model import Model, P, U, Vehicle, VehicleFactory, W, X, Y, made_by
from ..core.record import extended
from ..errors import InvalidValue
from ..ops import clip, cos, logical_and, maximum, minimum, sin, sqrt, where
from ..tyres.simple import MagicFormula
from ..units import (
    J,
    N,
    N_Nm,
    N_s2_m2,
    N_s_m,
    Nm,
    Nm_s,
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
from .parts.actuators import limited, limited_lag, rate_limited_lag
from .parts.air import resistance
from .parts.car_bodies import sliding_car
from .parts.kinematics import Acceleration, kinetic_energy, pose_rate, velocity_rate
from .parts.load_transfer import contact_velocities, in_wheel_frame
from .with_road import model_without_road, off_road, on_road

__all__ = [
    "External",
    "Input",
    "Outputs",
    "State",
    "with_brakes",
]


class State(NamedTuple):
    """Pose, velocity and actuator positions of a car. ISO 8855: x forward, y left, z up."""

    x: m = 0.0
    """Position of the centre of mass in the world frame."""
    y: m = 0.0
    """Position of the centre of mass in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    v_x: m_s = 0.0
    """Velocity of the centre of mass along the car, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the centre of mass across the car, positive to the left."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""
    steer: rad = 0.0
    """Steering angle of both front wheels, positive to the left."""
    tau_fl: Nm = 0.0
    """Torque at the front left wheel, positive drives forward."""
    tau_fr: Nm = 0.0
    """Torque at the front right wheel."""
    tau_rl: Nm = 0.0
    """Torque at the rear left wheel."""
    tau_rr: Nm = 0.0
    """Torque at the rear right wheel."""


class Input(NamedTuple):
    """Targets of the five actuators."""

    steer: rad = 0.0
    """Target steering angle, positive to the left."""
    tau_fl: Nm = 0.0
    """Target torque at the front left wheel, positive drives forward; negative brakes and, from
    rest on, drives backwards (`vehicles.with_brakes`: it brakes and holds)."""
    tau_fr: Nm = 0.0
    """Target torque at the front right wheel."""
    tau_rl: Nm = 0.0
    """Target torque at the rear left wheel."""
    tau_rr: Nm = 0.0
    """Target torque at the rear right wheel."""


class External(NamedTuple):
    """What the world does to a car. The defaults do nothing."""

    F_x: N = 0.0
    """Force at the centre of mass along the car, forward positive."""
    F_y: N = 0.0
    """Force at the centre of mass across the car, positive to the left."""
    M_z: Nm = 0.0
    """Yaw moment, positive to the left."""
    mu_scale: Annotated[one, non_negative] = 1.0
    """Factor on the largest friction of all tyres; their stiffness at small slip stays."""


class Outputs(NamedTuple):
    """Accelerations and, for each wheel, load, slip angle and force."""

    a_x: m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    F_z_fl: N
    """Load on the front left wheel, positive when pressed on the road."""
    F_z_fr: N
    """Load on the front right wheel."""
    F_z_rl: N
    """Load on the rear left wheel."""
    F_z_rr: N
    """Load on the rear right wheel."""
    alpha_fl: rad
    """Slip angle of the front left wheel, positive when the tyre pushes to the left."""
    alpha_fr: rad
    """Slip angle of the front right wheel."""
    alpha_rl: rad
    """Slip angle of the rear left wheel."""
    alpha_rr: rad
    """Slip angle of the rear right wheel."""
    F_x_fl: N
    """Force along the front left wheel (wheel frame)."""
    F_x_fr: N
    """Force along the front right wheel."""
    F_x_rl: N
    """Force along the rear left wheel."""
    F_x_rr: N
    """Force along the rear right wheel."""
    F_y_fl: N
    """Force across the front left wheel (wheel frame), positive to the left."""
    F_y_fr: N
    """Force across the front right wheel."""
    F_y_rl: N
    """Force across the rear left wheel."""
    F_y_rr: N
    """Force across the rear right wheel."""
    wheel_lift: one
    """1 when a wheel has left the road (see the vehicle for what happens then), else 0."""


class ActuatorRates(NamedTuple):
    """Time derivatives of the actuator positions, in the order of the state."""

    steer: rad_s
    tau_fl: Nm_s
    tau_fr: Nm_s
    tau_rl: Nm_s
    tau_rr: Nm_s


def actuator_rates(x: State, u: Input, p: Any) -> ActuatorRates:
    """How the actuators follow their targets, within their limits.

    `p` has t_steer, steer_max, steer_rate_max, t_tau and tau_max. The limits act on the rate, so
    they hold whatever the step size. If `p` has a limit_width they are smooth (`smooth_limits`).
    """
    width = getattr(p, "limit_width", None)
    return ActuatorRates(
        rate_limited_lag(x.steer, u.steer, p.t_steer, p.steer_max, p.steer_rate_max, width),
        limited_lag(x.tau_fl, u.tau_fl, p.t_tau, p.tau_max, width),
        limited_lag(x.tau_fr, u.tau_fr, p.t_tau, p.tau_max, width),
        limited_lag(x.tau_rl, u.tau_rl, p.t_tau, p.tau_max, width),
        limited_lag(x.tau_rr, u.tau_rr, p.t_tau, p.tau_max, width),
    )


def body_rates(x: State, a: Acceleration, omega_rate: rad_s2, actuators: ActuatorRates) -> State:
    """The derivative of a car's state from the acceleration of its body and its actuators."""
    pose = pose_rate(x.yaw, x.v_x, x.v_y, x.omega)
    velocity = velocity_rate(a, x.v_x, x.v_y, x.omega)
    return State(*pose, *velocity, omega_rate, *actuators)


def least(values: Sequence[Any]) -> Any:
    """The smallest of four values."""
    fl, fr, rl, rr = values
    return minimum(minimum(fl, fr), minimum(rl, rr))


def wheel_outputs(
    a: Acceleration,
    F_z: Sequence[N],
    alpha: Sequence[rad],
    F_x: Sequence[N],
    F_y: Sequence[N],
    wheel_lift: one,
) -> Outputs:
    """The output record from values in the order fl, fr, rl, rr."""
    return Outputs._make((*a, *F_z, *alpha, *F_x, *F_y, wheel_lift))


def energy(x: State, p: Any) -> J:
    """Kinetic energy of the body; wheels and actuators store none in these models."""
    return kinetic_energy(x.v_x, x.v_y, x.omega, p.m, p.I_z)


WHEEL_RADIUS: m = 0.20809
UPSTREAM_C_M0: N_Nm = 4.950
"""Drive force per wheel torque of the car of brains2, and of all in version 0.1."""


class RollingCarParams(NamedTuple):
    """A car with four driven wheels and one steering angle, whatever its wheels do sideways."""

    m: Annotated[kg, positive] = 230.0
    """Mass with driver."""
    I_z: Annotated[kg_m2, positive] = 200.0
    """Yaw inertia about the centre of mass."""
    l_f: Annotated[m, positive] = 0.7853
    """Distance from the centre of mass to the front axle."""
    l_r: Annotated[m, positive] = 0.7853
    """Distance from the centre of mass to the rear axle."""
    track: Annotated[m, positive] = 1.24
    """Distance between the wheels of an axle."""
    C_m0: Annotated[N_Nm, non_negative] = 1.0 / WHEEL_RADIUS
    """Drive force per wheel torque: one over the radius of the wheels, or less with losses."""
    C_r0: Annotated[N, non_negative] = 350.0
    """Constant driving resistance."""
    C_r1: Annotated[N_s_m, non_negative] = 20.0
    """Driving resistance per speed."""
    C_r2: Annotated[N_s2_m2, non_negative] = 3.0
    """Driving resistance per speed squared."""
    t_tau: Annotated[s, positive] = 0.001
    """Time constant of the wheel torques."""
    t_steer: Annotated[s, positive] = 0.02
    """Time constant of the steering."""
    tau_max: Annotated[Nm, non_negative] = 276.75
    """Largest torque target of a wheel, either sign."""
    steer_max: Annotated[rad, non_negative] = 0.5
    """Largest steering target, either side."""
    steer_rate_max: Annotated[rad_s, non_negative] = 1.0
    """Largest steering rate, either side."""
    v_0: Annotated[m_s, positive] = 0.1
    """Speed below which the driving resistance fades to zero."""


@extended
class TyreCarParams(RollingCarParams):
    """The same on tyres, which carry loads."""

    z_cg: Annotated[m, non_negative] = 0.295
    """Height of the centre of mass."""
    g: Annotated[m_s2, non_negative] = 9.81
    """Gravity."""
    C_down: Annotated[N_s2_m2, non_negative] = 3.96864
    """Downforce coefficient: downforce is ½ C_down v_x²."""
    tyre: MagicFormula = MagicFormula()
    """Lateral force of each tyre."""


WHEEL_WIDTH: m = 0.19
"""Of a 16 x 7.5 inch tyre, usual in Formula Student."""
HEIGHT: m = 1.15
"""Of the main hoop."""
HOLD_TIME: s = 0.05
"""Time constant with which a car that is braked comes to rest and is held there."""
CREEP: m_s = 0.6
"""Speed below which the handbrake lets go, so that it stops the car and does not push it back."""


def geometry(p: Any) -> Geometry:
    """Tub, wings and wheels in proportion to wheelbase and track."""
    front, rear = p.l_f, -p.l_r
    wheels = four_wheels(front, rear, p.track, WHEEL_RADIUS, WHEEL_WIDTH)
    outlines = open_wheeler(front, rear, p.track)
    return Geometry(front, rear, wheels, outlines, HEIGHT, p.m, p.I_z)


def geometry_with_forces(p: Any) -> Geometry:
    """The same of a car whose outputs have the force of each wheel."""
    wheels = four_wheels(p.l_f, -p.l_r, p.track, WHEEL_RADIUS, WHEEL_WIDTH, forces=True)
    return replace(geometry(p), wheels=wheels)


def open_wheeler(front: m, rear: m, track: m) -> tuple[Outline, ...]:
    """Rear wing, front wing, and a tub with side pods between them."""
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


def torque_for(a: m_s2, v_x: m_s, p: Any) -> Nm:
    """Torque at each of four wheels for an acceleration along the car, in spite of resistance."""
    against = resistance(v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    return (a * p.m - against) / (4.0 * p.C_m0)


def limits(p: Any) -> Limits:
    """What steering, motors and tyres allow."""
    return replace(limits_of_actuators(p), grip=p.tyre.D * p.g)


def limits_of_actuators(p: Any) -> Limits:
    """What steering and motors allow."""
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
    """All wheels drive and brake alike; the handbrake locks the rear ones.

    Who asks to be slower stops and stays; the car reverses for who also asks for a speed below 0.
    """
    brakes = logical_and(demand.a < 0.0, demand.v >= 0.0)
    a = where(brakes, maximum(demand.a, -x.v_x * (1.0 / HOLD_TIME)), demand.a)
    # Who pulls the handbrake does not want the other wheels to keep up the speed.
    v_x = where(demand.handbrake > 0.0, 0.0, x.v_x)
    tau = limited(torque_for(a, v_x, p), p.tau_max)
    hand = demand.handbrake * p.tau_max * clip(x.v_x * (1.0 / CREEP), -1.0, 1.0)
    rear = limited(tau - hand, p.tau_max)
    return Input(limited(demand.steer, p.steer_max), tau, tau, rear, rear)


def on_ground(x: State, u: Input, w: Any, ground: GroundUnder, p: Any) -> tuple[Input, Any]:
    """Gravity pulls at the centre of mass; friction is one factor on all tyres: the mean."""
    changes: dict[str, Any] = {}
    if ground.down is not None:
        weight = ground.g * p.m
        changes |= {"F_x": weight * ground.down.x, "F_y": weight * ground.down.y}
    shares = ground.friction_shares((p.tyre.D,) * 4)
    if shares is not None:
        fl, fr, rl, rr = shares
        changes["mu_scale"] = 0.25 * (fl + fr + rl + rr)
    return u, w._replace(**changes)


CAR = sliding_car(
    geometry=geometry_with_forces,
    limits=limits,
    command=command,
    on_ground=on_ground,
    gravity="g",
)
"""Of a car on tyres that can be pushed and whose outputs have the force of each wheel."""

FORMER = "0.1"


@dataclass(frozen=True, repr=False)
class CarFactory(VehicleFactory[X, U, P, Y, W]):
    """Makes cars of one model: `four_wheel(m=240.0)`; as it was: `four_wheel(compat="0.1")`."""

    former: Model[X, U, P, Y, W]
    """The model as it was in version 0.1."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and that of version 0.1 if it was another."""
        return (self.model,) if self.former is self.model else (self.model, self.former)

    def __call__(
        self, params: Any = None, /, *, compat: str | None = None, **values: Any
    ) -> Vehicle[X, U, P, Y, W]:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `compat="0.1"` repeats version 0.1: S1 to S4 of docs/errata.md.
        """
        if compat not in (None, FORMER):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {FORMER!r}")
        if compat is None:
            return Vehicle(self.model, record.build(self.model.Params, params, **values))
        base = record.build(self.former.Params, C_m0=UPSTREAM_C_M0)
        return Vehicle(self.former, record.build(self.former.Params, params, base=base, **values))


V_HOLD: m_s = 0.05
"""Speed over which a brake sets in; a car that it holds creeps at a small part of this."""


def braking_state(x: State, p: Any) -> State:
    """The state with torques that act alike on the wheels, brakes against their motion."""
    fl, fr, rl, rr = (
        maximum(tau, 0.0) + minimum(tau, 0.0) * share
        for tau, share in zip(torques(x), rolling_shares(x, p), strict=True)
    )
    return x._replace(tau_fl=fl, tau_fr=fr, tau_rl=rl, tau_rr=rr)


def torques(x: State) -> tuple[Any, Any, Any, Any]:
    """Torque of each wheel."""
    return x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr


def rolling_shares(x: State, p: Any) -> list[one]:
    """How much of each wheel's motion over ground is along it, from -1 to 1; 0 at rest."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    moving = (in_wheel_frame(v.fl, c, s), in_wheel_frame(v.fr, c, s), v.rl, v.rr)
    return [w.x / sqrt(w.x * w.x + w.y * w.y + V_HOLD * V_HOLD) for w in moving]


def with_brakes(vehicle: Vehicle) -> Vehicle:
    """The same car with the same inputs, of which negative torques brake and do not reverse.

    For `four_wheel`, `kinematic_bicycle` and `formula_student(compat="0.1")`; `two_track` and
    today's `formula_student` have brakes of their own.
    """
    if model_without_road(vehicle.model) is not None:
        return on_road(with_brakes(off_road(vehicle)), vehicle.params.road)
    return Vehicle(braked(vehicle.model), vehicle.params)


def braked(model: Model) -> Model:
    """The same model with brakes; there is one such model of each."""
    if "brake_fl" in model.Input._fields:
        raise InvalidValue(f"{model.name!r} has brakes of its own: its inputs brake_fl to brake_rr")
    if model.State is not State or model.Input is not Input or model.reproduces:
        raise InvalidValue(
            f"{model.name!r} has no torques that could brake; allowed are four_wheel, "
            "kinematic_bicycle and formula_student(compat='0.1')"
        )
    kept = vars(model)
    if "_braked" not in kept:
        kept["_braked"] = made_by(braked, model, model=_with_brakes(model))
    return kept["_braked"]


def _with_brakes(model: Model) -> Model:
    inner, shown = model.derivative, model.outputs
    assert inner is not None
    assert shown is not None
    assert model.body is not None
    body = _body(model.body)

    def derivative(x: State, u: Input, w: Any, p: Any) -> State:
        """Time derivative of the state."""
        rate = inner(braking_state(x, p), u, w, p)
        actuators = actuator_rates(x, u, p)
        return rate._replace(**actuators._asdict())

    def outputs(x: State, u: Input, w: Any, p: Any) -> Any:
        """The outputs of the car."""
        return shown(braking_state(x, p), u, w, p)

    return replace(model, derivative=derivative, outputs=outputs, body=body)


def _body(body: Body) -> Body:
    motors = body.limits

    def limits(p: Any) -> Limits:
        """Of the car, which does not drive backwards; one that has spun may roll so."""
        return replace(motors(p), v_min=0.0, not_kept=("v",))

    def command(x: State, demand: Demand, p: Any) -> Input:
        """All wheels drive and brake alike; the handbrake locks the rear ones."""
        tau = limited(torque_for(demand.a, x.v_x, p), p.tau_max)
        rear = limited(tau - demand.handbrake * p.tau_max, p.tau_max)
        return Input(limited(demand.steer, p.steer_max), tau, tau, rear, rear)

    return replace(body, limits=limits, command=command)
