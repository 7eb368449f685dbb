"""Records shared by the cars with four driven wheels and one steering angle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from ..components.actuator import limited_lag, rate_limited_lag
from ..components.rigid_body import Acceleration, kinetic_energy, pose_rate, velocity_rate
from ..ops import minimum
from ..units import J, N, Nm, Nm_s, m, m_s, m_s2, non_negative, one, rad, rad_s, rad_s2

__all__ = ["External", "Input", "Outputs", "State"]


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
