"""An electric motor with its inverter: torque within limits of torque, power and speed; its losses.

Torque requests follow the pedal with a lag, and are states. What the shaft gets of them is within
the limits of this very moment, whatever the wheels do: a wheel that spins up suddenly takes no more
than the power there is. Drive and regeneration are separate requests, so that a brake that lags
behind never becomes a drive the other way.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...brief import brief_repr
from ...ops import abs, clip, maximum, minimum, smooth_step
from ...units import (
    A,
    Allowed,
    Nm,
    Nm_A,
    Nm_s_rad,
    W,
    W_Nm2,
    kg_m2,
    non_negative,
    one,
    positive,
    rad_s,
    s,
)
from ..actuator import lag
from ..table import at_column, at_row, curve, on_curve, table
from .battery import PowerLimits
from .smooth import friction_side, within_power

__all__ = [
    "CurveEnvelope",
    "ElectricMotor",
    "Inverter",
    "LossMap",
    "LossTerms",
    "MotorStates",
    "PowerEnvelope",
    "Rotor",
    "SpeedLimit",
    "loss_map",
    "torque_curve",
]

NEGLIGIBLE: one = 1e-9
"""Least power that a motor may use, over its torque times `spin_low`: keeps a quotient finite."""


class MotorStates(NamedTuple):
    """Torques that are asked of a motor, after its lag."""

    tau_drive: Nm = 0.0
    """Asked of the drive, positive forward."""
    tau_regen: Nm = 0.0
    """Asked of regenerative braking, which is against the motion."""


class PowerEnvelope(NamedTuple):
    """Largest torque, then largest power, with a round knee between them."""

    tau_max: Annotated[Nm, positive] = 230.0
    """Largest torque."""
    P_max: Annotated[W, positive] = 80e3
    """Largest power at the shaft while it drives."""
    P_regen: Annotated[W, positive] = 40e3
    """Largest power at the shaft while it brakes."""
    knee: Annotated[one, Allowed(0.001, 1.0)] = 0.02
    """How round the knee is: about the share of the torque that is missing there."""
    spin_low: Annotated[rad_s, positive] = 5.0
    """Speed below which it does not matter which way the motor turns: about it, driving turns
    smoothly into braking."""

    def peak(self) -> Nm:
        """Largest torque at any speed."""
        return self.tau_max

    def driving(self, spin: rad_s) -> Nm:
        """Largest torque that drives at a speed."""
        return within_power(self.tau_max, self.P_max, spin, self.knee, self.spin_low)

    def braking(self, spin: rad_s) -> Nm:
        """Largest torque that brakes at a speed."""
        return within_power(self.tau_max, self.P_regen, spin, self.knee, self.spin_low)


class CurveLimits(NamedTuple):
    """What a measured curve of torque does not say."""

    P_regen: Annotated[W, positive] = 40e3
    """Largest power at the shaft while it brakes."""
    knee: Annotated[one, Allowed(0.001, 1.0)] = 0.02
    """How round the knee of braking is."""
    spin_low: Annotated[rad_s, positive] = 5.0
    """Speed about which driving turns smoothly into braking."""


def torque_curve(spins: Any, torques: Any) -> Any:
    """Largest torque in N·m over speed in rad/s, straight between points."""
    return curve(spins, torques, (rad_s, Nm))


class CurveEnvelope(NamedTuple):
    """Largest torque from a measured curve over speed."""

    torque: Any = torque_curve(
        (0.0, 350.0, 500.0, 700.0, 1200.0), (230.0, 228.0, 158.0, 113.0, 66.0)
    )
    """See `torque_curve`."""
    limits: CurveLimits = CurveLimits()
    """The rest."""

    __repr__ = brief_repr

    @property
    def knee(self) -> one:
        """How round the knees of power are."""
        return self.limits.knee

    @property
    def spin_low(self) -> rad_s:
        """Speed about which driving turns smoothly into braking."""
        return self.limits.spin_low

    def peak(self) -> Nm:
        """Largest torque at any speed."""
        values = self.torque[type(self.torque).size :]
        most = values[0]
        for value in values[1:]:
            most = maximum(most, value)
        return most

    def driving(self, spin: rad_s) -> Nm:
        """Largest torque that drives at a speed."""
        return on_curve(abs(spin), self.torque)

    def braking(self, spin: rad_s) -> Nm:
        """Largest torque that brakes at a speed."""
        tau = on_curve(abs(spin), self.torque)
        return within_power(tau, self.limits.P_regen, spin, self.knee, self.spin_low)


class LossTerms(NamedTuple):
    """Losses of a motor in three terms."""

    copper: Annotated[W_Nm2, non_negative] = 0.05
    """Of the current: by the square of the torque."""
    iron: Annotated[Nm, non_negative] = 1.0
    """By the speed: a torque that drags."""
    windage: Annotated[Nm_s_rad, non_negative] = 0.0005
    """By the square of the speed."""

    def lost(self, tau: Nm, spin: rad_s, width: rad_s) -> W:
        """Power that becomes heat."""
        turning = self.iron * friction_side(spin, width) + self.windage * spin
        return self.copper * (tau * tau) + turning * spin


class LossMap(NamedTuple):
    """Losses of a motor from a map over speed and torque; see `loss_map`."""

    table: Any

    __repr__ = brief_repr

    def lost(self, tau: Nm, spin: rad_s, width: rad_s) -> W:
        """Power that becomes heat."""
        return at_column(abs(tau), at_row(abs(spin), self.table))


def loss_map(spins: Any, torques: Any, losses: Any) -> LossMap:
    """Losses in W at each of the speeds (rad/s) and torques (N·m), both from 0 on.

    Of an efficiency eta that is tau spin (1 / eta - 1). Larger torques must lose more, and each
    further newton metre no less than the one before, up to the largest torque of the motor: the
    power drawn near rest counts on it.
    """
    return LossMap(table(spins, torques, losses, (rad_s, Nm, W)))


class Inverter(NamedTuple):
    """What feeds the motor."""

    I_max: Annotated[A, positive] = 400.0
    """Largest current of a phase."""
    k_t: Annotated[Nm_A, positive] = 0.6
    """Torque of the motor per current of a phase."""
    efficiency: Annotated[one, Allowed(0.5, 1.0)] = 0.97
    """Of power at the shaft, either way."""
    P_standby: Annotated[W, non_negative] = 0.0
    """Power that it always uses."""


class SpeedLimit(NamedTuple):
    """Where a motor stops to drive."""

    spin_max: Annotated[rad_s, positive] = 1200.0
    """Speed from which on nothing drives."""
    fade: Annotated[one, Allowed(0.001, 1.0)] = 0.05
    """Share of that speed over which the torque goes."""

    def left(self, spin: rad_s) -> one:
        """Share of the torque that is left at a speed."""
        return 1.0 - smooth_step(abs(spin), (1.0 - self.fade) * self.spin_max, self.spin_max)


class Rotor(NamedTuple):
    """What turns, and how it follows the pedal."""

    J: Annotated[kg_m2, non_negative] = 0.03
    """Inertia at the speed of the motor."""
    t_lag: Annotated[s, positive] = 0.02
    """Time constant of the torque."""
    tau_regen: Annotated[Nm, non_negative] = 120.0
    """Regenerative torque of a throttle of -1."""


class ElectricMotor(NamedTuple):
    """A motor: what limits it, what it loses, what turns."""

    envelope: Any = PowerEnvelope()
    """`PowerEnvelope` or `CurveEnvelope`."""
    losses: Any = LossTerms()
    """`LossTerms` or `LossMap`."""
    inverter: Inverter = Inverter()
    speed: SpeedLimit = SpeedLimit()
    rotor: Rotor = Rotor()

    __repr__ = brief_repr

    def peak(self) -> Nm:
        """Largest torque at any speed, as motor and inverter allow."""
        return minimum(self.envelope.peak(), self.inverter.k_t * self.inverter.I_max)

    def lost(self, tau: Nm, spin: rad_s) -> W:
        """Power that motor and inverter turn into heat."""
        inverter = (1.0 / self.inverter.efficiency - 1.0) * abs(tau * spin)
        own = self.losses.lost(tau, spin, self.envelope.spin_low)
        return own + inverter + self.inverter.P_standby

    def bounds(self, spin: rad_s, power: PowerLimits) -> tuple[Nm, Nm]:
        """Lowest and highest torque at a speed.

        No torque within them draws more than `power.discharge`, or than none does. None gives back
        more than `power.charge` from `spin_low` on.
        """
        env = self.envelope
        driving = self.driving(spin, power)
        braking = self.braking(spin, power)
        # A torque that drives becomes one that brakes on the far side of rest, where both are known
        # to keep to the discharge; at rest it is the one that drives.
        ahead, behind = (smooth_step(side, 0.0, env.spin_low) for side in (spin, -spin))
        shift = braking - driving
        return -(driving + ahead * shift), driving + behind * shift

    def driving(self, spin: rad_s, power: PowerLimits) -> Nm:
        """Largest torque that drives at a speed, of what may be drawn."""
        env, peak = self.envelope, self.peak()
        top = minimum(env.driving(spin), peak)
        # What the largest torque loses, which is more than a smaller one does: so the power drawn
        # keeps its limit without an equation to solve.
        spare = maximum(power.discharge - self.lost(top, spin), NEGLIGIBLE * peak * env.spin_low)
        return self.speed.left(spin) * within_power(top, spare, spin, env.knee, env.spin_low)

    def braking(self, spin: rad_s, power: PowerLimits) -> Nm:
        """Largest torque that brakes at a speed; near rest it draws more than the shaft gives."""
        env, peak = self.envelope, self.peak()
        negligible = NEGLIGIBLE * peak * env.spin_low
        low = minimum(env.braking(spin), peak)
        tau = within_power(low, maximum(power.charge, negligible), spin, env.knee, env.spin_low)
        idle = self.lost(0.0 * tau, spin)
        spare = maximum(power.discharge - idle, 0.0)
        lost = self.lost(tau, spin) - idle
        gained = tau * abs(spin)
        # Losses are convex over the torque: a share of it draws no more than this share of what all
        # of it does. Where all of it draws nothing, all is allowed, but for a ramp of the width of
        # the knee: with nothing to spare it would be a jump.
        drawn = maximum(lost - gained, maximum(env.knee * lost, negligible))
        return tau * clip((spare + maximum(gained - lost, 0.0)) / drawn, 0.0, 1.0)

    def torque(self, x: MotorStates, spin: rad_s, power: PowerLimits) -> Nm:
        """Torque at the shaft: what is asked for, within the limits of the moment."""
        against = friction_side(spin, self.envelope.spin_low)
        return clip(x.tau_drive - against * maximum(x.tau_regen, 0.0), *self.bounds(spin, power))

    def rates(self, x: MotorStates, throttle: one, direction: one) -> MotorStates:
        """How the requests follow a throttle: below 0 it asks for regeneration."""
        t = self.rotor.t_lag
        drive = direction * clip(throttle, 0.0, 1.0) * self.peak()
        regen = clip(-throttle, 0.0, 1.0) * self.rotor.tau_regen
        return MotorStates(lag(x.tau_drive, drive, t), lag(x.tau_regen, regen, t))
