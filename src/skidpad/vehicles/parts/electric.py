"""Electric powertrains: motor and inverter, battery or supply, one motor or one for each wheel.

Torque requests follow the pedal with a lag, and are states. The torque at the shaft is the request
within the limits of torque, power and speed at this instant: a wheel that spins up suddenly takes
no more than the available power. Drive and regeneration are separate requests, so that a lagging
brake request never becomes a drive in the other direction.

A battery has an open-circuit voltage over charge and an internal resistance: V = ocv - R I. A power
P at the terminals takes the current I with ocv I - R I² = P. Stored energy is charge times the
integral of the voltage, so that its rate is -ocv I = -(P + R I²) exactly.

`WheelTorques` and `WheelMotors` have a torque for each wheel as inputs. A car calls either for the
torques that its wheels get from these inputs (`delivered`), for its outputs (`Outputs`, `powers`)
and for the wheel spin above which it does not drive (`top`).
"""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.files import brief_repr
from ...ops import abs, clip, maximum, minimum, smooth_step, sqrt, where
from . import gearing
from .actuators import lag
from .assembly import NoStates, at_column, at_row, curve, curve_integral, on_curve, table, widened

SHORT: si.one = 0.45
"""Largest battery current relative to the short-circuit current; below 0.5, the value at peak
power."""


class PowerLimits(NamedTuple):
    """Largest power drawn and largest power returned, both at least 0."""

    discharge: si.W
    charge: si.W


class PowerFlow(NamedTuple):
    """State rates, source power and loss of a battery for a power at its terminals."""

    rates: Any
    """Rates of the battery's states."""
    source: si.W
    """Power taken from the stored charge."""
    lost: si.W
    """Power dissipated as heat inside."""
    shown: Any
    """Outputs of the battery."""


class Charge(NamedTuple):
    """State of a battery."""

    soc: Annotated[si.one, si.drifting] = 0.8
    """State of charge: 0 is empty, 1 is full."""


class Terminals(NamedTuple):
    """Current and voltage at the terminals of a battery."""

    I_battery: si.A
    """Current, negative while it is charged."""
    V_battery: si.V
    """Voltage; voltage times current is the power drawn."""


class Supply(NamedTuple):
    """Ideal source with power limits and unlimited energy."""

    P_max: Annotated[si.W, si.positive] = 80e3
    """Largest power drawn."""
    P_charge: Annotated[si.W, si.non_negative] = 40e3
    """Largest charging power."""

    States = NoStates
    Outputs = NoStates

    def limits(self, x: NoStates) -> PowerLimits:
        return PowerLimits(self.P_max, self.P_charge)

    def flow(self, x: NoStates, P: si.W) -> PowerFlow:
        return PowerFlow(NoStates(), P, 0.0 * P, NoStates())


class Pack(NamedTuple):
    """Scalar parameters of a battery."""

    R: Annotated[si.Ohm, si.positive] = 0.08
    """Internal resistance."""
    Q: Annotated[si.A_s, si.positive] = 60e3
    """Charge when full, in A·s (3600 A·s are 1 Ah)."""
    I_max: Annotated[si.A, si.positive] = 300.0
    """Largest current drawn."""
    I_charge: Annotated[si.A, si.non_negative] = 120.0
    """Largest charging current."""
    P_max: Annotated[si.W, si.positive] = 80e3
    """Largest power drawn at the terminals."""
    P_charge: Annotated[si.W, si.non_negative] = 40e3
    """Largest charging power at the terminals."""
    soc_low: Annotated[si.one, si.Allowed(0.001, 0.5)] = 0.02
    """Distance from empty or full (in soc) within which the power limits fade to zero."""


def voltage_curve(socs: Any, volts: Any) -> Any:
    """Open-circuit voltage in V over the state of charge, piecewise linear."""
    return curve(socs, volts, (si.one, si.V))


class Battery(NamedTuple):
    """Battery; by default that of a race car: 400 V, 6.7 kWh."""

    ocv: Any = voltage_curve((0.0, 0.1, 0.9, 1.0), (340.0, 380.0, 420.0, 440.0))
    """Open-circuit voltage over state of charge, see `voltage_curve`."""
    pack: Pack = Pack()

    __repr__ = brief_repr

    States = Charge
    Outputs = Terminals

    def voltage(self, x: Charge) -> si.V:
        """Open-circuit voltage at the state of charge."""
        return on_curve(x.soc, self.ocv)

    def stored(self, x: Charge) -> si.J:
        """Stored energy above that of the empty battery."""
        return self.pack.Q * (curve_integral(x.soc, self.ocv) - curve_integral(0.0, self.ocv))

    def limits(self, x: Charge) -> PowerLimits:
        """Power limits by currents, powers and state of charge."""
        p, ocv = self.pack, self.voltage(x)
        I_max = minimum(p.I_max, SHORT * ocv * (1.0 / p.R))
        discharge = minimum(p.P_max, (ocv - p.R * I_max) * I_max)
        charge = minimum(p.P_charge, (ocv + p.R * p.I_charge) * p.I_charge)
        left = smooth_step(x.soc, 0.0, p.soc_low)
        room = smooth_step(1.0 - x.soc, 0.0, p.soc_low)
        return PowerLimits(left * discharge, room * charge)

    def current(self, x: Charge, P: si.W) -> si.A:
        """Current for a power drawn within the limits; negative while charging."""
        ocv = self.voltage(x)
        square = ocv * ocv
        least = (1.0 - 2.0 * SHORT) * (1.0 - 2.0 * SHORT) * square
        return 2.0 * P / (ocv + sqrt(maximum(square - 4.0 * self.pack.R * P, least)))

    def rate(self, current: si.A) -> si.per_s:
        """Rate of the state of charge, in 1/s."""
        return -current * (1.0 / self.pack.Q)

    def flow(self, x: Charge, P: si.W) -> PowerFlow:
        """State rate, source power and loss for a power drawn at the terminals."""
        current = self.current(x, P)
        ocv = self.voltage(x)
        drop = self.pack.R * current
        shown = Terminals(current, ocv - drop)
        return PowerFlow(Charge(self.rate(current)), ocv * current, drop * current, shown)


NEGLIGIBLE: si.one = 1e-9
"""Least power of a motor, over its torque times `spin_low`; keeps a quotient finite."""


class MotorStates(NamedTuple):
    """Torque requests to a motor, after their lag."""

    tau_drive: si.Nm = 0.0
    """Drive torque requested, positive forward."""
    tau_regen: si.Nm = 0.0
    """Regenerative braking torque requested, which acts against the motion."""


class PowerEnvelope(NamedTuple):
    """Torque limit up to a base speed, power limit above it, with a round knee between them."""

    tau_max: Annotated[si.Nm, si.positive] = 230.0
    """Largest torque."""
    P_max: Annotated[si.W, si.positive] = 80e3
    """Largest power at the shaft while it drives."""
    P_regen: Annotated[si.W, si.positive] = 40e3
    """Largest power at the shaft while regenerating."""
    knee: Annotated[si.one, si.Allowed(0.001, 1.0)] = 0.02
    """Roundness of the knee: about the share of the torque that is missing there."""
    spin_low: Annotated[si.rad_s, si.positive] = 5.0
    """Speed scale near rest over which drive turns smoothly into regeneration."""

    def peak(self) -> si.Nm:
        return self.tau_max

    def driving(self, spin: si.rad_s) -> si.Nm:
        return gearing.within_power(self.tau_max, self.P_max, spin, self.knee, self.spin_low)

    def braking(self, spin: si.rad_s) -> si.Nm:
        return gearing.within_power(self.tau_max, self.P_regen, spin, self.knee, self.spin_low)


class CurveLimits(NamedTuple):
    """Limits in addition to a measured torque curve."""

    P_regen: Annotated[si.W, si.positive] = 40e3
    """Largest power at the shaft while regenerating."""
    knee: Annotated[si.one, si.Allowed(0.001, 1.0)] = 0.02
    """Roundness of the knee of regeneration."""
    spin_low: Annotated[si.rad_s, si.positive] = 5.0
    """Speed scale near rest over which drive turns smoothly into regeneration."""


class CurveEnvelope(NamedTuple):
    """Torque limit from a measured curve over speed."""

    torque: Any = gearing.torque_curve(
        (0.0, 350.0, 500.0, 700.0, 1200.0), (230.0, 228.0, 158.0, 113.0, 66.0)
    )
    """Largest torque over speed, see `gearing.torque_curve`."""
    limits: CurveLimits = CurveLimits()
    """Regeneration power and smoothing."""

    __repr__ = brief_repr

    @property
    def knee(self) -> si.one:
        return self.limits.knee

    @property
    def spin_low(self) -> si.rad_s:
        return self.limits.spin_low

    def peak(self) -> si.Nm:
        return reduce(maximum, self.torque[type(self.torque).size :])

    def driving(self, spin: si.rad_s) -> si.Nm:
        return on_curve(abs(spin), self.torque)

    def braking(self, spin: si.rad_s) -> si.Nm:
        tau = on_curve(abs(spin), self.torque)
        return gearing.within_power(tau, self.limits.P_regen, spin, self.knee, self.spin_low)


class LossTerms(NamedTuple):
    """Losses of a motor in three terms."""

    copper: Annotated[si.W_Nm2, si.non_negative] = 0.05
    """Copper loss per squared torque."""
    iron: Annotated[si.Nm, si.non_negative] = 1.0
    """Iron loss per speed: a drag torque."""
    windage: Annotated[si.Nm_s_rad, si.non_negative] = 0.0005
    """Windage loss per squared speed."""

    def lost(self, tau: si.Nm, spin: si.rad_s, width: si.rad_s) -> si.W:
        turning = self.iron * gearing.friction_side(spin, width) + self.windage * spin
        return self.copper * (tau * tau) + turning * spin


class LossMap(NamedTuple):
    """Losses of a motor from a map over speed and torque; see `loss_map`."""

    table: Any

    __repr__ = brief_repr

    def lost(self, tau: si.Nm, spin: si.rad_s, width: si.rad_s) -> si.W:
        return at_column(abs(tau), at_row(abs(spin), self.table))


def loss_map(spins: Any, torques: Any, losses: Any) -> LossMap:
    """Return a loss map: losses in W over speeds (rad/s) and torques (N·m), both from 0 on.

    An efficiency eta corresponds to the loss tau spin (1 / eta - 1). The loss must grow with the
    torque, at a rate that never decreases, up to the largest torque of the motor: the power
    drawn near rest relies on it.
    """
    return LossMap(table(spins, torques, losses, (si.rad_s, si.Nm, si.W)))


class Inverter(NamedTuple):
    """Inverter that feeds the motor."""

    I_max: Annotated[si.A, si.positive] = 400.0
    """Largest phase current."""
    k_t: Annotated[si.Nm_A, si.positive] = 0.6
    """Motor torque per phase current."""
    efficiency: Annotated[si.one, si.Allowed(0.5, 1.0)] = 0.97
    """Efficiency for power at the shaft, in either direction."""
    P_standby: Annotated[si.W, si.non_negative] = 0.0
    """Standby power, always drawn."""


class SpeedLimit(NamedTuple):
    """Speed above which a motor does not drive."""

    spin_max: Annotated[si.rad_s, si.positive] = 1200.0
    """Speed above which there is no driving torque."""
    fade: Annotated[si.one, si.Allowed(0.001, 1.0)] = 0.05
    """Share of that speed over which the torque fades to zero."""

    def left(self, spin: si.rad_s) -> si.one:
        """Share of the torque available at a speed."""
        return 1.0 - smooth_step(abs(spin), (1.0 - self.fade) * self.spin_max, self.spin_max)


class Rotor(NamedTuple):
    """Inertia and pedal response of a motor."""

    J: Annotated[si.kg_m2, si.non_negative] = 0.03
    """Inertia of the rotor, at the speed of the motor."""
    t_lag: Annotated[si.s, si.positive] = 0.02
    """Time constant of the torque requests."""
    tau_regen: Annotated[si.Nm, si.non_negative] = 120.0
    """Regenerative torque at a throttle of -1."""


class ElectricMotor(NamedTuple):
    """Electric motor: torque limits, losses, rotor, inverter."""

    envelope: Any = PowerEnvelope()
    """Torque limit over speed: `PowerEnvelope` or `CurveEnvelope`."""
    losses: Any = LossTerms()
    """Losses: `LossTerms` or `LossMap`."""
    inverter: Inverter = Inverter()
    speed: SpeedLimit = SpeedLimit()
    rotor: Rotor = Rotor()

    __repr__ = brief_repr

    def peak(self) -> si.Nm:
        """Largest torque at any speed within the limits of motor and inverter."""
        return minimum(self.envelope.peak(), self.inverter.k_t * self.inverter.I_max)

    def lost(self, tau: si.Nm, spin: si.rad_s) -> si.W:
        """Power that motor and inverter dissipate as heat."""
        inverter = (1.0 / self.inverter.efficiency - 1.0) * abs(tau * spin)
        own = self.losses.lost(tau, spin, self.envelope.spin_low)
        return own + inverter + self.inverter.P_standby

    def bounds(self, spin: si.rad_s, power: PowerLimits) -> tuple[si.Nm, si.Nm]:
        """Smallest and largest torque at a speed.

        No torque between them draws more than `power.discharge`, or more than zero torque does.
        Above `spin_low` none returns more than `power.charge`.
        """
        env = self.envelope
        driving = self.driving(spin, power)
        braking = self.braking(spin, power)
        # Beyond rest a driving torque becomes a braking one, and both stay within the discharge
        # limit there; at rest the driving torque counts.
        ahead, behind = (smooth_step(side, 0.0, env.spin_low) for side in (spin, -spin))
        shift = braking - driving
        return -(driving + ahead * shift), driving + behind * shift

    def driving(self, spin: si.rad_s, power: PowerLimits) -> si.Nm:
        """Largest driving torque at a speed within the power that may be drawn."""
        env, peak = self.envelope, self.peak()
        top = minimum(env.driving(spin), peak)
        # The largest torque loses more power than any smaller one, so with its loss the power drawn
        # stays within the limit without solving an equation.
        spare = maximum(power.discharge - self.lost(top, spin), NEGLIGIBLE * peak * env.spin_low)
        return self.speed.left(spin) * gearing.within_power(
            top, spare, spin, env.knee, env.spin_low
        )

    def braking(self, spin: si.rad_s, power: PowerLimits) -> si.Nm:
        """Largest braking torque at a speed; near rest braking takes power."""
        env, peak = self.envelope, self.peak()
        negligible = NEGLIGIBLE * peak * env.spin_low
        low = minimum(env.braking(spin), peak)
        tau = gearing.within_power(
            low, maximum(power.charge, negligible), spin, env.knee, env.spin_low
        )
        idle = self.lost(0.0 * tau, spin)
        spare = maximum(power.discharge - idle, 0.0)
        lost = self.lost(tau, spin) - idle
        gained = tau * abs(spin)
        # Losses are convex over the torque: a share of the torque draws at most this share of its
        # power. Where the whole torque draws nothing it is allowed, except for a ramp as wide as
        # the knee, without which there would be a jump.
        drawn = maximum(lost - gained, maximum(env.knee * lost, negligible))
        return tau * clip((spare + maximum(gained - lost, 0.0)) / drawn, 0.0, 1.0)

    def torque(self, x: MotorStates, spin: si.rad_s, power: PowerLimits) -> si.Nm:
        """Torque at the shaft: the request within the present limits."""
        against = gearing.friction_side(spin, self.envelope.spin_low)
        return clip(x.tau_drive - against * maximum(x.tau_regen, 0.0), *self.bounds(spin, power))

    def rates(self, x: MotorStates, throttle: si.one, direction: si.one) -> MotorStates:
        """Rates of the torque requests; a negative throttle requests regeneration."""
        t = self.rotor.t_lag
        drive = direction * clip(throttle, 0.0, 1.0) * self.peak()
        regen = clip(-throttle, 0.0, 1.0) * self.rotor.tau_regen
        return MotorStates(lag(x.tau_drive, drive, t), lag(x.tau_regen, regen, t))


class MotorInputs(NamedTuple):
    """Inputs of an electric car."""

    throttle: Annotated[si.one, si.Allowed(-1.0, 1.0)] = 0.0
    """Throttle: share of the largest torque; if negative, share of regenerative braking."""
    gear: Annotated[si.one, si.Allowed(-1.0, 1.0, whole=True)] = 1.0
    """Direction: 1 forward, -1 backward, 0 no drive; regenerative braking works in each."""


class MotorDrive(NamedTuple):
    """Powertrain with one electric motor that drives two or four wheels."""

    motor: Any = ElectricMotor()
    """Motor, see `ElectricMotor`."""
    battery: Any = Battery()
    """Source of power: `Battery` or `Supply`."""
    final: gearing.FinalDrive = gearing.FinalDrive()
    """Reduction gear: all gears together."""
    layout: Any = gearing.RearWheelDrive()
    """Driven wheels: `RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Inputs = MotorInputs

    @property
    def Outputs(self) -> Any:
        """Record type of the outputs: powers, and current and voltage of the battery."""
        return widened(gearing.PowerOutputs, type(self.battery).Outputs)

    @property
    def States(self) -> Any:
        """Record type of the states: torque requests and state of charge."""
        return widened(MotorStates, type(self.battery).States)

    def reflected(self) -> gearing.Reflected:
        """Inertia of rotor and gears, at the speed of the differential."""
        inertia: si.kg_m2 = (
            self.motor.rotor.J * (self.final.ratio * self.final.ratio) + self.final.J
        )
        return gearing.Reflected(inertia, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: gearing.Wheels) -> gearing.Drive:
        """Torques on the wheels, rates of the states, and powers."""
        motor, battery, final = self.motor, self.battery, self.final
        shaft = gearing.weighted(self.layout.weights(), spins)
        spin = final.ratio * shaft
        tau = motor.torque(x, spin, battery.limits(x))
        carried = final.ratio * tau
        T = final.output(carried, shaft)
        heat = motor.lost(tau, spin)
        flow = battery.flow(x, tau * spin + heat)
        rates = motor.rates(x, u.throttle, clip(u.gear, -1.0, 1.0))
        torques = self.layout.split(T, spins)
        lost = heat + flow.lost + final.lost(carried, shaft) + self.layout.lost(T, spins)
        powers = gearing.PowerOutputs(
            spin, tau, flow.source, gearing.weighted(torques, spins), lost, 0.0 * lost
        )
        named = {**rates._asdict(), **flow.rates._asdict()}
        shown = self.Outputs(*powers, *flow.shown)
        return gearing.Drive(torques, self.reflected(), self.States(**named), shown)

    def rotating(self, x: Any, spins: gearing.Wheels) -> si.J:
        """Kinetic energy of rotor and gears."""
        inertia, weights = self.reflected()
        shaft = gearing.weighted(weights, spins)
        return 0.5 * inertia * (shaft * shaft)

    def coasting(self, x: Any, spins: gearing.Wheels) -> si.Nm:
        """Zero: a released pedal does not slow the wheels."""
        return 0.0

    def inertia(self, x: Any, spins: gearing.Wheels) -> si.kg_m2:
        """Inertia of rotor and gears, at the speed of the wheels."""
        return self.reflected().J

    def settled(self, x: Any, spins: gearing.Wheels) -> Any:
        """Return the state unchanged, because no field depends on the others or on the spins."""
        return x

    def pedals(self, x: Any, T: si.Nm, direction: si.one, spins: gearing.Wheels) -> MotorInputs:
        """Throttle and direction for a total torque on all wheels."""
        largest = self.final.ratio * self.final.efficiency * self.motor.peak()
        return MotorInputs(clip(direction * T / largest, 0.0, 1.0), direction)

    def peak(self) -> si.Nm:
        """Largest total torque on all wheels."""
        return self.final.ratio * self.final.efficiency * self.motor.peak()

    def top(self) -> si.rad_s:
        """Wheel spin above which the motor does not drive."""
        return self.motor.speed.spin_max * (1.0 / self.final.ratio)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each input, by name."""
        return {"throttle": (-1.0, 1.0), "gear": (-1.0, 1.0)}


class WheelTorques(NamedTuple):
    """Four wheel torques as inputs, without a powertrain model."""

    Outputs = NoStates

    def delivered(self, torques: gearing.Wheels, spins: gearing.Wheels) -> gearing.Wheels:
        return torques

    def powers(self, torques: gearing.Wheels, spins: gearing.Wheels) -> NoStates:
        return NoStates()

    def top(self) -> si.rad_s:
        return inf


class WheelMotorOutputs(NamedTuple):
    """Power balance of the wheel motors: source = wheels + lost."""

    P_source: si.W
    """Power drawn by all motors together; negative while they regenerate."""
    P_wheels: si.W
    """Power delivered to the wheels."""
    P_lost: si.W
    """Power dissipated as heat, at least 0."""


class WheelMotors(NamedTuple):
    """A motor for each wheel, all on one source of limited power.

    If the torques of the inputs would draw more than the limit, all are reduced by the same
    factor at every instant: a wheel that spins up suddenly takes no more than the available
    power.
    """

    P_max: Annotated[si.W, si.positive] = 80e3
    """Largest power drawn by all motors together: Formula Student rule EV 2.2."""
    efficiency: Annotated[si.one, si.Allowed(0.5, 1.0)] = 0.9
    """Efficiency of motors, inverters and gears, driving and regenerating (estimate)."""
    knee: Annotated[si.one, si.Allowed(0.001, 1.0)] = 0.02
    """Roundness of the power limit: about the share of the torques that is missing at it."""
    speed: SpeedLimit = SpeedLimit(spin_max=160.0)
    """Wheel spin above which a motor does not drive: 20 000 1/min geared 13 to 1 (estimate)."""

    Outputs = WheelMotorOutputs

    def drawn(self, torques: gearing.Wheels, spins: gearing.Wheels) -> si.W:
        """Power that the motors draw for torques at the wheels."""
        fl, fr, rl, rr = (
            self.electric(tau * spin) for tau, spin in zip(torques, spins, strict=True)
        )
        return (fl + fr) + (rl + rr)

    def electric(self, P: si.W) -> si.W:
        """Power that a motor draws for a power at its wheel."""
        return (1.0 / self.efficiency) * maximum(P, 0.0) - self.efficiency * maximum(-P, 0.0)

    def delivered(self, torques: gearing.Wheels, spins: gearing.Wheels) -> gearing.Wheels:
        """Torques on the wheels for the torques of the inputs."""
        fl, fr, rl, rr = (
            self.up_to_speed(tau, spin) for tau, spin in zip(torques, spins, strict=True)
        )
        drawn = maximum(self.drawn((fl, fr, rl, rr), spins), 0.0)
        share = gearing.share_within(drawn, self.P_max, self.knee)
        return share * fl, share * fr, share * rl, share * rr

    def up_to_speed(self, tau: si.Nm, spin: si.rad_s) -> si.Nm:
        """Torque with its driving part faded out at the largest wheel spin."""
        return where(tau * spin > 0.0, self.speed.left(spin) * tau, tau)

    def powers(self, torques: gearing.Wheels, spins: gearing.Wheels) -> WheelMotorOutputs:
        """Power balance for these torques on the wheels."""
        source, wheels = self.drawn(torques, spins), gearing.weighted(torques, spins)
        return WheelMotorOutputs(source, wheels, source - wheels)

    def top(self) -> si.rad_s:
        """Wheel spin above which its motor does not drive."""
        return self.speed.spin_max


WHEEL_DRIVES = (WheelTorques, WheelMotors)
"""Powertrain classes whose inputs are a torque for each wheel."""
