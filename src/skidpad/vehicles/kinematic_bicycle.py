"""`kinematic_bicycle`: a car whose wheels do not slip sideways; exact at parking speed.

One degree of freedom, v_x; lateral velocity and yaw rate follow from the steering angle. The
longitudinal equation is the power balance of the constrained body: docs/vehicles.md, and K1 to K5
of docs/errata.md for the differences from the brains2 document and program.
"""

from __future__ import annotations

from typing import NamedTuple

from ..body import Pose, Velocity
from ..components.axle import AxleForce, drive_force, yaw_moment
from ..components.car_bodies import sliding_car
from ..components.resistance import resistance
from ..components.rigid_body import Acceleration, body_acceleration, kinetic_energy, pose_rate
from ..model import Model, NoDisturbance
from ..ops import cos, sin, tan
from ..units import (
    J,
    kg,
    kg_m2,
    m_s2,
    per_m,
    rad,
    rad_s,
    rad_s2,
)
from . import car_body
from .car_factory import CarFactory
from .car_params import RollingCarParams as Params
from .car_state import Input, State, actuator_rates


class Outputs(NamedTuple):
    """Accelerations and the path being driven."""

    a_x: m_s2
    """Acceleration of the centre of mass along the car, v_x' - v_y omega."""
    a_y: m_s2
    """Acceleration of the centre of mass across the car, v_y' + v_x omega, positive to the left."""
    curvature: per_m
    """Curvature of the path of the rear axle, positive to the left."""


def path_curvature(steer: rad, p: Params) -> per_m:
    """Curvature of the path of the rear axle at a steering angle: omega = v_x times this."""
    return tan(steer) * (1.0 / (p.l_f + p.l_r))


def no_slip(x: State, p: Params) -> State:
    """The state with lateral velocity and yaw rate put where the rolling wheels force them."""
    omega = x.v_x * path_curvature(x.steer, p)
    return x._replace(v_y=p.l_r * omega, omega=omega)


def turning_inertia(p: Params) -> kg_m2:
    """Yaw inertia about the middle of the rear axle, which the car turns about."""
    return p.m * p.l_r * p.l_r + p.I_z


def effective_mass(kappa: per_m, p: Params) -> kg:
    """Mass felt along v_x at a path curvature: energy is half of this times v_x²."""
    return p.m + turning_inertia(p) * (kappa * kappa)


def drive_forces(x: State, p: Params) -> tuple[AxleForce, AxleForce]:
    """Force of the motors at the front and the rear axle in the body frame."""
    c, s = cos(x.steer), sin(x.steer)
    front = drive_force(p.C_m0 * x.tau_fl, p.C_m0 * x.tau_fr, c, s)
    rear = drive_force(p.C_m0 * x.tau_rl, p.C_m0 * x.tau_rr, 1.0, 0.0)
    return front, rear


class Motion(NamedTuple):
    """Rates of the one degree of freedom and of the velocities slaved to it."""

    v_x: m_s2
    v_y: m_s2
    omega: rad_s2


def motion(x: State, steer_rate: rad_s, p: Params) -> Motion:
    """v_x', v_y' and omega' of the constrained car while its steering moves with `steer_rate`.

    Its energy ½ M v_x² changes by the power of drive and resistance alone, as the lateral forces of
    the wheels do no work. M grows with the steering angle, so steering in takes speed.
    """
    kappa = path_curvature(x.steer, p)
    wheelbase = p.l_f + p.l_r
    kappa_rate = steer_rate * (1.0 / wheelbase + wheelbase * (kappa * kappa))
    front, rear = drive_forces(x, p)
    drag = resistance(x.v_x, p.C_r0, p.C_r1, p.C_r2, p.v_0)
    moment = yaw_moment(front, rear, p.l_f, p.l_r, p.track)
    # Per unit of v_x the centre of mass moves 1 ahead and l_r kappa to the left and turns by kappa.
    along = front.x + rear.x + drag + kappa * (p.l_r * (front.y + rear.y) + moment)
    half_mass_rate = turning_inertia(p) * (kappa * kappa_rate)
    v_x_rate = (along - half_mass_rate * x.v_x) / effective_mass(kappa, p)
    omega_rate = v_x_rate * kappa + x.v_x * kappa_rate
    return Motion(v_x_rate, p.l_r * omega_rate, omega_rate)


def derivative(x: State, u: Input, w: NoDisturbance, p: Params) -> State:
    """Time derivative of the state; `x.v_y` and `x.omega` are not used, see `no_slip`."""
    rolling = no_slip(x, p)
    actuators = actuator_rates(x, u, p)
    pose = pose_rate(x.yaw, rolling.v_x, rolling.v_y, rolling.omega)
    return State(*pose, *motion(x, actuators.steer, p), *actuators)


def outputs(x: State, u: Input, w: NoDisturbance, p: Params) -> Outputs:
    """True body accelerations, with the lateral forces that keep the wheels from slipping."""
    rolling = no_slip(x, p)
    rate = motion(x, actuator_rates(x, u, p).steer, p)
    a = body_acceleration(Acceleration(rate.v_x, rate.v_y), x.v_x, rolling.v_y, rolling.omega)
    return Outputs(a.x, a.y, path_curvature(x.steer, p))


def energy(x: State, p: Params) -> J:
    """Kinetic energy of the car while its wheels roll without slip."""
    rolling = no_slip(x, p)
    return kinetic_energy(x.v_x, rolling.v_y, rolling.omega, p.m, p.I_z)


def placed(x: State, pose: Pose, velocity: Velocity, p: Params) -> State:
    """The car elsewhere; sideways and in turning it moves as its wheels roll."""
    return no_slip(x._replace(**pose._asdict(), v_x=velocity.v_x), p)


MODEL = Model(
    name="kinematic_bicycle",
    State=State,
    Input=Input,
    Params=Params,
    Outputs=Outputs,
    derivative=derivative,
    outputs=outputs,
    settle=no_slip,
    energy=energy,
    body=sliding_car(
        geometry=car_body.geometry,
        limits=car_body.limits_of_actuators,
        command=car_body.command,
        placed=placed,
    ),
    summary="Car whose wheels do not slip sideways; parking speed",
)

kinematic_bicycle = CarFactory(MODEL, MODEL)
