"""`four_wheel`: dynamic car on four tyres, loads in closed form, for speeds above walking pace.

Equations: docs/vehicles.md. Against the brains2 document and program it has the corrections C1 to
C4 of docs/errata.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

from ..components.axle import (
    AxleForce,
    AxleFriction,
    Force,
    Friction,
    axle_friction,
    drive_force,
    steered_lateral,
    together,
    tyre_force,
    yaw_moment,
)
from ..components.load_transfer import (
    CarLoad,
    LoadLaw,
    accelerations,
    axle_load,
    rigid_load_law,
    under_force,
    wheel_loads,
)
from ..components.resistance import downforce, resistance
from ..components.rigid_body import Acceleration
from ..components.tyre import FrictionLaw, friction_on_road, softened_friction
from ..components.wheel import contact_velocities, in_wheel_frame, slip_angle
from ..model import Model
from ..ops import cos, sin, where
from ..record import extended
from ..units import (
    Nm,
    m_s,
    one,
    positive,
    rad,
)
from .car_body import CAR
from .car_factory import CarFactory
from .car_params import TyreCarParams
from .car_state import (
    External,
    Input,
    Outputs,
    State,
    actuator_rates,
    body_rates,
    energy,
    least,
    wheel_outputs,
)

__all__ = ["MODEL", "Params", "derivative", "four_wheel", "outputs"]


@extended
class Params(TyreCarParams):
    """Parameters of the four-wheel car; 0.001 m/s is written into brains2's equations."""

    v_eps: Annotated[m_s, positive] = 0.001
    """Rolling speed below which slip angles are held finite."""


class Slips(NamedTuple):
    """Slip angles of the wheels."""

    fl: rad
    fr: rad
    rl: rad
    rr: rad


class Frictions(NamedTuple):
    """Lateral force over load of each wheel, in the wheel frame."""

    fl: one
    fr: one
    rl: one
    rr: one


def slip_angles(x: State, c: one, s: one, p: Params) -> Slips:
    """Slip angles of the wheels; `c`, `s` are cosine and sine of the steering angle."""
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    return Slips(
        slip_angle(in_wheel_frame(v.fl, c, s), p.v_eps),
        slip_angle(in_wheel_frame(v.fr, c, s), p.v_eps),
        slip_angle(v.rl, p.v_eps),
        slip_angle(v.rr, p.v_eps),
    )


def body_frame(mu: Frictions, c: one, s: one) -> tuple[AxleFriction, AxleFriction]:
    """Friction of the front and the rear axle in the body frame."""
    front = axle_friction(steered_lateral(mu.fl, c, s), steered_lateral(mu.fr, c, s))
    rear = axle_friction(Friction(0.0, mu.rl), Friction(0.0, mu.rr))
    return front, rear


def drive_forces(x: State, c: one, s: one, p: Params) -> tuple[AxleForce, AxleForce]:
    """Force of the motors at the front and the rear axle in the body frame."""
    front = drive_force(p.C_m0 * x.tau_fl, p.C_m0 * x.tau_fr, c, s)
    rear = drive_force(p.C_m0 * x.tau_rl, p.C_m0 * x.tau_rr, 1.0, 0.0)
    return front, rear


def load_law(x: State, w: External, p: Params) -> LoadLaw:
    """Wheel loads over acceleration: weight, downforce, pitch and roll balance."""
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    law = rigid_load_law(total, p.m, p.l_f, p.l_r, p.track, p.z_cg)
    return under_force(law, Force(w.F_x, w.F_y), p.m)


class Motion(NamedTuple):
    """Everything about the car at one instant that both the derivative and the outputs need."""

    a: Acceleration
    moment: Nm
    alpha: Slips
    mu: Frictions
    law: LoadLaw


def motion(x: State, w: External, p: Params, grip: FrictionLaw = friction_on_road) -> Motion:
    """Accelerations, yaw moment, slip and friction at a state."""
    c, s = cos(x.steer), sin(x.steer)
    alpha = slip_angles(x, c, s, p)
    mu = Frictions(*grip(alpha, p.tyre, w.mu_scale))
    front, rear = body_frame(mu, c, s)
    drive_f, drive_r = drive_forces(x, c, s, p)
    law = load_law(x, w, p)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    applied = Force(drive_f.x + drive_r.x + drag + w.F_x, drive_f.y + w.F_y)
    a = accelerations(applied, front, rear, law, p.m)
    force_f = together(drive_f, tyre_force(front, axle_load(a, law.front)))
    force_r = together(drive_r, tyre_force(rear, axle_load(a, law.rear)))
    moment = yaw_moment(force_f, force_r, p.l_f, p.l_r, p.track) + w.M_z
    return Motion(a, moment, alpha, mu, law)


def derivative(x: State, u: Input, w: External, p: Params) -> State:
    """Time derivative of the state."""
    return _rates(x, u, p, motion(x, w, p))


def outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """Accelerations, loads, slip angles and tyre forces. `wheel_lift` marks a negative load.

    Such a load is a sign that the model is used beyond its range: a real wheel would be in the air.
    """
    return _shown(x, p, motion(x, w, p))


def former_derivative(x: State, u: Input, w: External, p: Params) -> State:
    """`derivative` of version 0.1."""
    return _rates(x, u, p, motion(x, w, p, softened_friction))


def former_outputs(x: State, u: Input, w: External, p: Params) -> Outputs:
    """`outputs` of version 0.1."""
    return _shown(x, p, motion(x, w, p, softened_friction))


def _rates(x: State, u: Input, p: Params, car: Motion) -> State:
    return body_rates(x, car.a, car.moment * (1.0 / p.I_z), actuator_rates(x, u, p))


def _shown(x: State, p: Params, car: Motion) -> Outputs:
    F_z = wheel_loads(CarLoad(axle_load(car.a, car.law.front), axle_load(car.a, car.law.rear)))
    return wheel_outputs(
        car.a,
        F_z,
        car.alpha,
        [p.C_m0 * tau for tau in (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)],
        [mu * load for mu, load in zip(car.mu, F_z, strict=True)],
        where(least(F_z) < 0.0, 1.0, 0.0),
    )


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
"""The equations and records of the car, without numbers for its parameters."""

FORMER_MODEL = replace(MODEL, derivative=former_derivative, outputs=former_outputs)
"""The car of version 0.1."""

four_wheel = CarFactory(MODEL, FORMER_MODEL)
