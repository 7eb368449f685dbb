"""Electric powertrains: motor and inverter, battery or supply, one motor or one for each wheel.

Torque requests follow the pedal with a lag, and are states. What the shaft gets of them is within
the limits of torque, power and speed of this very moment, whatever the wheels do: a wheel that
spins up suddenly takes no more than the power there is. Drive and regeneration are separate
requests, so that a brake that lags behind never becomes a drive the other way.

A battery has an open-circuit voltage over charge and an inner resistance: V = ocv - R I. A power P
at the terminals takes the current I with ocv I - R I² = P. Stored energy is charge times the
integral of the voltage, so that its rate is -ocv I = -(P + R I²) exactly.

`WheelTorques` and `WheelMotors` have a torque for each wheel as inputs. A car asks either for the
torques that its wheels get of these inputs (`delivered`), for its outputs (`Outputs`, `powers`) and
for the spin of a wheel that it cannot drive beyond (`top`).
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, NamedTuple

from ....core.files import brief_repr
from ....ops import abs, clip, maximum, minimum, smooth_step, sqrt, where
from ....units import (
    A,
    A_s,
    Allowed,
    J,
    Nm,
    Nm_A,
    Nm_s_rad,
    Ohm,
    V,
    W,
    W_Nm2,
    drifting,
    kg_m2,
    non_negative,
    one,
    per_s,
    positive,
    rad_s,
    s,
)
from ..actuators import lag
from ..assembly import NoStates, widened
from ..table import at_column, at_row, curve, curve_integral, on_curve, table
from .contract import (
    Drive,
    PowerOutputs,
    Reflected,
    Wheels,
    friction_side,
    share_within,
    weighted,
    within_power,
)
from .gearing import FinalDrive, RearWheelDrive

SHORT: one = 0.45
"""Current over that of a short circuit that a battery never exceeds: at one half its power is
largest, and more current gives less."""


class PowerLimits(NamedTuple):
    """Power that may be drawn and given back, both at least 0."""

    discharge: W
    charge: W


class PowerFlow(NamedTuple):
    """What a power at the terminals does."""

    rates: Any
    """Rates of the states."""
    source: W
    """Power that the stored charge gives."""
    lost: W
    """Power that becomes heat inside."""
    shown: Any
    """Outputs."""


class Charge(NamedTuple):
    """State of a battery."""

    soc: Annotated[one, drifting] = 0.8
    """State of charge: 0 is empty, 1 is full."""


class Terminals(NamedTuple):
    """What is measured at the terminals of a battery."""

    I_battery: A
    """Current, negative while it is charged."""
    V_battery: V
    """Voltage; times the current it is the power drawn."""


class Supply(NamedTuple):
    """Power without end, up to a limit."""

    P_max: Annotated[W, positive] = 80e3
    """Largest power drawn."""
    P_charge: Annotated[W, non_negative] = 40e3
    """Largest power given back."""

    States = NoStates
    Outputs = NoStates

    def limits(self, x: NoStates) -> PowerLimits:
        """The same at all times."""
        return PowerLimits(self.P_max, self.P_charge)

    def flow(self, x: NoStates, P: W) -> PowerFlow:
        """Without any loss."""
        return PowerFlow(NoStates(), P, 0.0 * P, NoStates())


class Pack(NamedTuple):
    """Numbers of a battery."""

    R: Annotated[Ohm, positive] = 0.08
    """Inner resistance."""
    Q: Annotated[A_s, positive] = 60e3
    """Charge when full, in ampere seconds: 3600 of them are 1 Ah."""
    I_max: Annotated[A, positive] = 300.0
    """Largest current drawn."""
    I_charge: Annotated[A, non_negative] = 120.0
    """Largest current given back."""
    P_max: Annotated[W, positive] = 80e3
    """Largest power drawn at the terminals."""
    P_charge: Annotated[W, non_negative] = 40e3
    """Largest power given back at the terminals."""
    soc_low: Annotated[one, Allowed(0.001, 0.5)] = 0.02
    """Charge below which less and less is given, and as near to full less and less is taken."""


def voltage_curve(socs: Any, volts: Any) -> Any:
    """Open-circuit voltage in V over the state of charge, straight between points."""
    return curve(socs, volts, (one, V))


class Battery(NamedTuple):
    """A battery; the default is one of a race car: 400 V, 6.7 kWh."""

    ocv: Any = voltage_curve((0.0, 0.1, 0.9, 1.0), (340.0, 380.0, 420.0, 440.0))
    """See `voltage_curve`."""
    pack: Pack = Pack()

    __repr__ = brief_repr

    States = Charge
    Outputs = Terminals

    def voltage(self, x: Charge) -> V:
        """Open-circuit voltage."""
        return on_curve(x.soc, self.ocv)

    def stored(self, x: Charge) -> J:
        """Energy above that of the empty battery."""
        return self.pack.Q * (curve_integral(x.soc, self.ocv) - curve_integral(0.0, self.ocv))

    def limits(self, x: Charge) -> PowerLimits:
        """What currents, powers and the state of charge allow."""
        p, ocv = self.pack, self.voltage(x)
        I_max = minimum(p.I_max, SHORT * ocv * (1.0 / p.R))
        discharge = minimum(p.P_max, (ocv - p.R * I_max) * I_max)
        charge = minimum(p.P_charge, (ocv + p.R * p.I_charge) * p.I_charge)
        left = smooth_step(x.soc, 0.0, p.soc_low)
        room = smooth_step(1.0 - x.soc, 0.0, p.soc_low)
        return PowerLimits(left * discharge, room * charge)

    def current(self, x: Charge, P: W) -> A:
        """Current at a power drawn, which is within the limits; negative while it is charged."""
        ocv = self.voltage(x)
        square = ocv * ocv
        least = (1.0 - 2.0 * SHORT) * (1.0 - 2.0 * SHORT) * square
        return 2.0 * P / (ocv + sqrt(maximum(square - 4.0 * self.pack.R * P, least)))

    def rate(self, current: A) -> per_s:
        """Rate of the state of charge."""
        return -current * (1.0 / self.pack.Q)

    def flow(self, x: Charge, P: W) -> PowerFlow:
        """Charge, source and loss while a power is drawn."""
        current = self.current(x, P)
        ocv = self.voltage(x)
        drop = self.pack.R * current
        shown = Terminals(current, ocv - drop)
        return PowerFlow(Charge(self.rate(current)), ocv * current, drop * current, shown)


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
    """Loss of the current: by the square of the torque."""
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
    """Efficiency for power at the shaft, either way."""
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


class MotorInputs(NamedTuple):
    """How an electric car is driven."""

    throttle: Annotated[one, Allowed(-1.0, 1.0)] = 0.0
    """Share of the largest torque; below 0, of regenerative braking."""
    gear: Annotated[one, Allowed(-1.0, 1.0, whole=True)] = 1.0
    """1 drives forward, -1 backward, 0 not at all; regenerative braking works in each."""


class MotorDrive(NamedTuple):
    """One electric motor that drives two or four wheels."""

    motor: Any = ElectricMotor()
    """See `ElectricMotor`."""
    battery: Any = Battery()
    """`Battery` or `Supply`."""
    final: FinalDrive = FinalDrive()
    """All gears together."""
    layout: Any = RearWheelDrive()
    """`RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Inputs = MotorInputs

    @property
    def Outputs(self) -> Any:
        """Powers, and what is measured at the battery."""
        return widened(PowerOutputs, type(self.battery).Outputs)

    @property
    def States(self) -> Any:
        """Torques of the motor, and what the battery has."""
        return widened(MotorStates, type(self.battery).States)

    def reflected(self) -> Reflected:
        """Rotor and gears, at the speed of the differential."""
        inertia: kg_m2 = self.motor.rotor.J * (self.final.ratio * self.final.ratio) + self.final.J
        return Reflected(inertia, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: Wheels) -> Drive:
        """Torques, rates and powers."""
        motor, battery, final = self.motor, self.battery, self.final
        shaft = weighted(self.layout.weights(), spins)
        spin = final.ratio * shaft
        tau = motor.torque(x, spin, battery.limits(x))
        carried = final.ratio * tau
        T = final.output(carried, shaft)
        heat = motor.lost(tau, spin)
        flow = battery.flow(x, tau * spin + heat)
        rates = motor.rates(x, u.throttle, clip(u.gear, -1.0, 1.0))
        torques = self.layout.split(T, spins)
        lost = heat + flow.lost + final.lost(carried, shaft) + self.layout.lost(T, spins)
        powers = PowerOutputs(spin, tau, flow.source, weighted(torques, spins), lost, 0.0 * lost)
        named = {**rates._asdict(), **flow.rates._asdict()}
        shown = self.Outputs(*powers, *flow.shown)
        return Drive(torques, self.reflected(), self.States(**named), shown)

    def rotating(self, x: Any, spins: Wheels) -> J:
        """Kinetic energy of rotor and gears."""
        inertia, weights = self.reflected()
        shaft = weighted(weights, spins)
        return 0.5 * inertia * (shaft * shaft)

    def coasting(self, x: Any, spins: Wheels) -> Nm:
        """A released pedal does not slow it."""
        return 0.0

    def inertia(self, x: Any, spins: Wheels) -> kg_m2:
        """Rotor and gears, at the speed of the wheels."""
        return self.reflected().J

    def settled(self, x: Any, spins: Wheels) -> Any:
        """Nothing depends on anything."""
        return x

    def pedals(self, x: Any, T: Nm, direction: one, spins: Wheels) -> MotorInputs:
        """Throttle and direction for a torque on all wheels together."""
        largest = self.final.ratio * self.final.efficiency * self.motor.peak()
        return MotorInputs(clip(direction * T / largest, 0.0, 1.0), direction)

    def peak(self) -> Nm:
        """Largest torque on all wheels together."""
        return self.final.ratio * self.final.efficiency * self.motor.peak()

    def top(self) -> rad_s:
        """Spin of the wheels at which the motor stops to drive."""
        return self.motor.speed.spin_max * (1.0 / self.final.ratio)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the inputs."""
        return {"throttle": (-1.0, 1.0), "gear": (-1.0, 1.0)}


class WheelTorques(NamedTuple):
    """Four torques that act as their inputs, one for each wheel: no powertrain at all."""

    Outputs = NoStates

    def delivered(self, torques: Wheels, spins: Wheels) -> Wheels:
        """The torques of the inputs."""
        return torques

    def powers(self, torques: Wheels, spins: Wheels) -> NoStates:
        """Nothing is known of them."""
        return NoStates()

    def top(self) -> rad_s:
        """This powertrain has no such limit."""
        return inf


class WheelMotorOutputs(NamedTuple):
    """Where the power of the motors goes: source = wheels + lost."""

    P_source: W
    """Power that all motors draw together; negative when they give back."""
    P_wheels: W
    """Power handed to the wheels."""
    P_lost: W
    """Power that becomes heat, at least 0."""


class WheelMotors(NamedTuple):
    """A motor for each wheel, all of them on one source of limited power.

    Where the torques of the inputs draw more, all are smaller by the same share, whatever the
    wheels do: one that spins up suddenly takes no more than there is.
    """

    P_max: Annotated[W, positive] = 80e3
    """Largest power that all motors together draw: the rules of Formula Student, EV 2.2."""
    efficiency: Annotated[one, Allowed(0.5, 1.0)] = 0.9
    """Efficiency of motors, inverters and gears, driving and giving back (estimate)."""
    knee: Annotated[one, Allowed(0.001, 1.0)] = 0.02
    """How round the limit is: about the share of the torques that is missing at it."""
    speed: SpeedLimit = SpeedLimit(spin_max=160.0)
    """Spin of a wheel from which on its motor drives no more: motors of 20 000 1/min behind gears
    of 13 to 1 (estimate)."""

    Outputs = WheelMotorOutputs

    def drawn(self, torques: Wheels, spins: Wheels) -> W:
        """Power that the motors draw for some torques at the wheels."""
        fl, fr, rl, rr = (
            self.electric(tau * spin) for tau, spin in zip(torques, spins, strict=True)
        )
        return (fl + fr) + (rl + rr)

    def electric(self, P: W) -> W:
        """Power that a motor draws for one at its wheel."""
        return (1.0 / self.efficiency) * maximum(P, 0.0) - self.efficiency * maximum(-P, 0.0)

    def delivered(self, torques: Wheels, spins: Wheels) -> Wheels:
        """Torques on the wheels that the inputs give."""
        pairs = list(zip(torques, spins, strict=True))
        slower = [self.up_to_speed(tau, spin) for tau, spin in pairs]
        fl, fr, rl, rr = slower
        share = share_within(
            maximum(self.drawn((fl, fr, rl, rr), spins), 0.0), self.P_max, self.knee
        )
        return share * fl, share * fr, share * rl, share * rr

    def up_to_speed(self, tau: Nm, spin: rad_s) -> Nm:
        """The torque, of which nothing drives a wheel beyond its largest spin."""
        return where(tau * spin > 0.0, self.speed.left(spin) * tau, tau)

    def powers(self, torques: Wheels, spins: Wheels) -> WheelMotorOutputs:
        """Powers while the wheels get these torques."""
        source, wheels = self.drawn(torques, spins), weighted(torques, spins)
        return WheelMotorOutputs(source, wheels, source - wheels)

    def top(self) -> rad_s:
        """Spin of a wheel from which on its motor drives no more."""
        return self.speed.spin_max


WHEEL_DRIVES = (WheelTorques, WheelMotors)
"""Powertrains whose inputs are a torque for each wheel."""
