"""`brains2`: reproduces the numbers of the brains2 project's `sim` package, its errors included.

For comparing results with that package or replacing it. It has two models, selected at 0.1 m/s
from the state at the start of a step, a command limiter that samples the same state, and published
accelerations that are estimates. docs/errata.md lists the deviations from sound physics (D1 to
D20); `four_wheel` and `formula_student` are the corrected versions of this car.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, NamedTuple

from ..core.body import Limits
from ..core.model import Model, NoDisturbance, VehicleFactory
from ..core.record import extended
from ..ops import abs, atan, atan2, clip, cos, maximum, sin, tan, tanh, where
from ..tyres.simple import friction
from ..units import N, N_Nm, m_s, m_s2, non_negative, one, positive, rad, rad_s
from . import formula as car
from .formula import Input, RollingMotion, State, TyreCarParams
from .parts.actuators import lag
from .parts.air import downforce
from .parts.kinematics import Acceleration, pose_rate, velocity_rate
from .parts.load_transfer import (
    Force,
    FourWheels,
    Velocity,
    accelerations,
    axle_load,
    contact_velocities,
    rigid_load_law,
    together,
    tyre_force,
    yaw_moment,
)


@extended
class Params(TyreCarParams):
    """Parameters of the brains2 car, from the project's `car_constants.yaml`.

    g, v_0, v_eps and v_switch are the constants 9.81, 1/10, 0.001 and 0.1 of its source. The effect
    of steer_rate_max depends on the step size, see `hold`.
    """

    # `extended` redefines a field in place, which a NamedTuple class by itself could not.
    C_m0: Annotated[N_Nm, non_negative] = 4.950  # pyright: ignore[reportIncompatibleVariableOverride]
    """Drive force per wheel torque."""
    v_eps: Annotated[m_s, positive] = 0.001
    """Rolling speed below which slip angles are held finite."""
    v_switch: Annotated[m_s, non_negative] = 0.1
    """Speed above which the dynamic model is used."""


@extended
class Held(Input):
    """Values fixed at the start of a step: targets after the limiter and the choice of model."""

    dynamic: one = 1.0
    """1 for the dynamic model, 0 for the kinematic one."""


class Outputs(NamedTuple):
    """Outputs that the program publishes in addition to the state."""

    a_x: m_s2
    """Published longitudinal acceleration; an estimate that leaves out the driving resistance."""
    a_y: m_s2
    """Published lateral acceleration, positive to the left; an estimate."""
    dynamic: one
    """1 if the dynamic model was used in the step, 0 if the kinematic one."""


def hold(x: State, u: Input, w: NoDisturbance, p: Params) -> Held:
    """Limit the command and choose the model at the start of a step.

    The steering target is kept within t_steer steer_rate_max of the present angle. As it stays
    fixed for the whole step while the lag approaches it, the rate reached falls with the step
    size: 0.787 rad/s instead of 1 at 10 ms. When rolling backwards, negative torque targets
    become zero.
    """
    reach = p.t_steer * p.steer_rate_max
    steer = clip(clip(u.steer, x.steer - reach, x.steer + reach), -p.steer_max, p.steer_max)
    least = where(x.v_x < 0.0, 0.0 * p.tau_max, -p.tau_max)
    # Squares, because the gradient of the length is not defined at rest.
    dynamic = x.v_x * x.v_x + x.v_y * x.v_y > p.v_switch * p.v_switch
    limited = (clip(tau, least, p.tau_max) for tau in car.torques(u))
    return Held._make((steer, *limited, where(dynamic, 1.0, 0.0)))


def signed_resistance(v_x: m_s, p: Params) -> N:
    """Driving resistance whose linear term pushes the wrong way when rolling backwards (D11)."""
    return -(p.C_r0 + v_x * (p.C_r1 + v_x * p.C_r2)) * tanh(v_x * (1.0 / p.v_0))


def body_frame_slip(v: Velocity, steer: rad, v_eps: m_s) -> rad:
    """Slip angle from the body-frame velocity; `steer` has the wrong sign in reverse (D12)."""
    return steer - atan2(v.y, maximum(abs(v.x), v_eps))


def dynamic_motion(x: State, p: Params) -> RollingMotion:
    """Rates of the velocities by the four-wheel model."""
    c, s = cos(x.steer), sin(x.steer)
    v = contact_velocities(x.v_x, x.v_y, x.omega, p.l_f, p.l_r, p.track)
    pairs = zip(v, (x.steer, x.steer, 0.0, 0.0), strict=True)
    mu = FourWheels(*(friction(body_frame_slip(*wheel, p.v_eps), p.tyre) for wheel in pairs))
    front, rear = car.body_frame(mu, c, s)
    drive_f, drive_r = car.drive_forces(x, c, s, p)
    # Wheel loads with the weight shares of front and rear exchanged (D1).
    total = p.m * p.g + downforce(x.v_x, p.C_down)
    law = rigid_load_law(total, p.m, l_f=p.l_r, l_r=p.l_f, track=p.track, z_cg=p.z_cg)
    applied = Force(drive_f.x + drive_r.x + signed_resistance(x.v_x, p), drive_f.y)
    a = accelerations(applied, front, rear, law, p.m)
    force_f = together(drive_f, tyre_force(front, axle_load(a, law.front)))
    force_r = together(drive_r, tyre_force(rear, axle_load(a, law.rear)))
    moment = yaw_moment(force_f, force_r, p.l_f, p.l_r, p.track)
    return RollingMotion(*velocity_rate(a, x.v_x, x.v_y, x.omega), moment * (1.0 / p.I_z))


def axle_forces(x: State, p: Params) -> tuple[N, N]:
    """Front and rear force of the kinematic model: half of the torque each (D8), rear drag."""
    half = (0.5 * p.C_m0) * (x.tau_fl + x.tau_fr + x.tau_rl + x.tau_rr)
    return half, half + signed_resistance(x.v_x, p)


def kinematic_motion(x: State, steer_rate: rad_s, p: Params) -> RollingMotion:
    """Rates of the bicycle model: increments of v_y and omega, rate of beta linearised (D6)."""
    share = p.l_r * (1.0 / (p.l_f + p.l_r))
    beta = atan(share * tan(x.steer))
    beta_rate = share * steer_rate
    front, rear = axle_forces(x, p)
    along = (rear * cos(beta) + front * cos(x.steer - beta)) * (1.0 / p.m)
    v_y_rate = along * sin(beta) + x.v_x * beta_rate
    return RollingMotion(along * cos(beta) - x.v_y * beta_rate, v_y_rate, v_y_rate * (1.0 / p.l_r))


def derivative(x: State, u: Held, w: NoDisturbance, p: Params) -> State:
    """Time derivative of the state with the model and the targets held over the step."""
    pairs = zip(car.torques(x), car.torques(u), strict=True)
    actuators = Input(lag(x.steer, u.steer, p.t_steer), *(lag(a, b, p.t_tau) for a, b in pairs))
    fast = dynamic_motion(x, p)
    slow = kinematic_motion(x, actuators.steer, p)
    chosen = RollingMotion._make(
        where(u.dynamic > 0.5, a, b) for a, b in zip(fast, slow, strict=True)
    )
    return State._make((*pose_rate(x.yaw, x.v_x, x.v_y, x.omega), *chosen, *actuators))


def dynamic_accelerations(x: State, p: Params) -> Acceleration:
    """Accelerations published with the dynamic model: those of a bicycle without resistance (D14).

    The slip angle is that of the middle of each axle; both axles have the front share of the
    weight, without lateral load transfer.
    """
    c, s = cos(x.steer), sin(x.steer)
    by_wheelbase = 1.0 / (p.l_f + p.l_r)
    front = Velocity(x.v_x, x.v_y + p.l_f * x.omega)
    rear = Velocity(x.v_x, x.v_y - p.l_r * x.omega)
    mu_f = friction(body_frame_slip(front, x.steer, p.v_eps), p.tyre)
    mu_r = friction(body_frame_slip(rear, 0.0, p.v_eps), p.tyre)
    load = (p.m * p.g + downforce(x.v_x, p.C_down)) * (p.l_f * by_wheelbase)
    F_f = p.C_m0 * (x.tau_fl + x.tau_fr)
    F_r = p.C_m0 * (x.tau_rl + x.tau_rr)
    pitch = p.m * p.z_cg * by_wheelbase
    a_x = (F_f * c - mu_f * s * load + F_r) / (p.m - mu_f * s * pitch)
    F_y = F_f * s + mu_f * (load - pitch * a_x) * c + mu_r * (load + pitch * a_x)
    return Acceleration(a_x, F_y * (1.0 / p.m))


def kinematic_accelerations(x: State, p: Params) -> Acceleration:
    """Accelerations published with the kinematic model: drive forces only (D9, D10)."""
    front, rear = axle_forces(x, p)
    by_mass = 1.0 / p.m
    return Acceleration((rear + front * cos(x.steer)) * by_mass, front * sin(x.steer) * by_mass)


def outputs(x: State, u: Held, w: NoDisturbance, p: Params) -> Outputs:
    """Published accelerations at the end of a step (new state `x`, held values `u`)."""
    fast, slow = dynamic_accelerations(x, p), kinematic_accelerations(x, p)
    dynamic = u.dynamic > 0.5
    return Outputs(
        where(dynamic, fast.x, slow.x),
        where(dynamic, fast.y, slow.y),
        where(dynamic, 1.0, 0.0),
    )


def limits(p: Params) -> Limits:
    """Limits of steering and drive; the torques cannot set the car going in reverse."""
    return replace(car.limits(p), v_min=0.0)


MODEL = Model(
    name="brains2",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    derivative=derivative,
    outputs=outputs,
    hold=hold,
    substeps=10,  # as upstream sets its integrator: ten to a call (D17)
    energy=car.energy,
    body=replace(car.CAR, geometry=car.geometry, limits=limits, on_ground=None),
    reproduces="brains2 sim",
    exempt={
        "energy": "backwards, the slip angle of a steered wheel and the linear resistance have the "
        "wrong sign (D11, D12), and below 0.1 m/s yaw rate is not tied to speed (D6)",
        "rest": "below 0.1 m/s a residual yaw rate or lateral velocity is kept for ever",
    },
    summary="The car as the brains2 sim integrates it, for comparison",
)

brains2 = VehicleFactory(MODEL)
