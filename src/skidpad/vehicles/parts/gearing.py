"""Powertrains: their interface, gears, differentials, drive layouts and the combustion engine.

The class of a powertrain record defines what turns the wheels. A vehicle includes its `States` and
`Inputs` among its own and calls:

1. `drive(x, u, spins)`: torques on the wheels fl, fr, rl, rr, the rates of its states and its
   powers, from its states, its inputs and the spins of the wheels.
2. `rotating(x, spins)`: energy of rotating and twisting parts other than the wheels.
3. `settled(x, spins)`: its states made consistent, as after a reset.
4. `pedals(x, T, direction, spins)`: the inputs for a total torque of about `T` on all driven
   wheels while it drives forward (`direction` 1) or backward (-1), within the range of the pedal;
   `coasting(x, spins)`: torque with which a released pedal slows them.
5. `inertia(x, spins)`: inertia that turns with the wheels, at their speed, while it drives.
6. `peak()`: largest total torque on all wheels at rest; `top()`: wheel spin above which it does
   not drive; `ranges()`: range of each of its inputs.

Powertrains with a torque for each wheel as inputs have a smaller interface: see
`electric.WheelMotors`.

Parts that turn at a fixed ratio to the wheels are a `Reflected` inertia; everything else with
inertia is a state. All powers balance at every instant: source = wheels + lost + stored.

**Gears and differentials.** Gear losses are friction proportional to the torque: (1 - efficiency)
of it resists the rotation, whichever way power flows, and vanishes at rest.

A differential gives `share` of its torque to the first output and the rest to the second, and its
friction transfers c from the faster to the slower one: T_1 = share T - c, T_2 = (1 - share) T + c.
Its input turns with share spin_1 + (1 - share) spin_2, so the lost power is c (spin_1 - spin_2).
Every `transfer` c has the sign of the slip spin_1 - spin_2, so the loss is never negative. Sums of
torques are exact.

**Combustion engine** with clutch, gearbox, final drive and differentials. The engine has full-load
and drag torque over speed, idle governor, rev limit and throttle. The state `tau_engine` is the
combustion torque, at most full load plus drag; drag acts whether fuel is burnt or not. The throttle
demands a share, the idle governor what keeps the engine turning.

The clutch holds without creep: twisting shafts in series with friction that slips. The twist
follows the slip and, the more torque it carries, the larger the part of the slip that does not
twist (Dahl): a spring for small slip, friction at full capacity for large slip. Partly closed, by
the share `closed`, it takes that share of the slip and transmits that share of the torque, so that
at any engagement the difference between input and output power is stored in the twist or lost:

    torque = closed (k twist + damping),    twist' = closed slip - |closed slip| k twist / capacity
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.files import brief_repr
from ...core.record import extended, made_once
from ...errors import InvalidValue
from ...ops import abs, clip, floor, maximum, minimum, smooth_hypot, smooth_step, sqrt, tan, where
from .actuators import fraction, lag
from .assembly import NoStates, curve, on_curve, redefined, widened

Wheels = tuple[Any, Any, Any, Any]
"""A value for each wheel: fl, fr, rl, rr."""


class Reflected(NamedTuple):
    """Inertia that turns with a weighted mean of the wheel spins."""

    J: si.kg_m2
    """Inertia, at the speed of the weighted mean."""
    weights: Wheels
    """Weight of each wheel in the mean; they add up to 1."""

    __repr__ = brief_repr


class PowerOutputs(NamedTuple):
    """Outputs of a powertrain: its motor and its power balance."""

    spin_motor: si.rad_s
    """Spin of the motor or engine, positive when it drives forward."""
    tau_motor: si.Nm
    """Torque at the shaft of the motor or engine."""
    P_source: si.W
    """Power taken from battery or fuel; negative while charging."""
    P_wheels: si.W
    """Power delivered to the wheels."""
    P_lost: si.W
    """Power dissipated as heat, at least 0."""
    P_stored: si.W
    """Power stored in the spin of an engine behind a clutch and in the twist of its shafts."""


class Drive(NamedTuple):
    """Torques, state rates and outputs of a powertrain at one instant."""

    torques: Wheels
    """Torque on each wheel, before the reaction of the powertrain's own inertia."""
    reflected: Reflected
    rates: Any
    """Rates of the powertrain's states."""
    shown: Any
    """Outputs: `PowerOutputs`, possibly extended."""

    __repr__ = brief_repr


def weighted(weights: Wheels, values: Wheels) -> Any:
    """Weighted sum over the wheels; equal and opposite values on left and right cancel exactly."""
    fl, fr, rl, rr = (w * v for w, v in zip(weights, values, strict=True))
    return (fl + fr) + (rl + rr)


def spin_rates(torques: Wheels, I_w: si.kg_m2, reflected: Reflected) -> Wheels:
    """Angular acceleration of wheels that turn an inertia together.

    (I_w 1 + J w wᵀ) spin' = torques, solved in closed form (Sherman and Morrison).
    """
    J, weights = reflected
    by_I = 1.0 / I_w
    free = [torque * by_I for torque in torques]
    mean_rate = weighted(weights, tuple(free)) / (1.0 + (J * by_I) * weighted(weights, weights))
    reaction = (J * by_I) * mean_rate
    fl, fr, rl, rr = (a - weight * reaction for a, weight in zip(free, weights, strict=True))
    return fl, fr, rl, rr


def friction_side(spin: Any, width: Any) -> si.one:
    """Sign of a speed, smooth over about `width`: from -1 to 1, and 0 at rest."""
    return spin / smooth_hypot(spin, 0.0, width)


def saturated(x: Any) -> Any:
    """Saturation: x for small x, towards ±1 for large; the friction of a clutch over its slip."""
    return x / sqrt(1.0 + x * x)


def share_within(asked: si.W, P: si.W, knee: si.one) -> si.one:
    """Share of a power that keeps it within `P`, with a round knee; see `within_power`."""
    apart = asked - P
    return 2.0 * P / (asked + P + sqrt(apart * apart + (4.0 * knee * knee) * (asked * P)))


def within_power(tau: si.Nm, P: si.W, spin: si.rad_s, knee: si.one, width: si.rad_s) -> si.Nm:
    """Smaller of a torque and the torque of a power at this speed, never above either.

    Where the two are equal the result is below them by the share knee / (1 + knee). At rest it
    is the torque; `width` is a speed that keeps it smooth there. Torque and power are at least
    0, one of them greater.
    """
    asked = tau * smooth_hypot(spin, 0.0, width)
    apart = asked - P
    root = sqrt(apart * apart + (4.0 * knee * knee) * (asked * P))
    return 2.0 * (tau * P) / (asked + P + root)


MOST_GEARS = 16.0


class FinalDrive(NamedTuple):
    """Final drive ahead of the differentials; its losses represent those of all gears."""

    ratio: Annotated[si.one, si.positive] = 9.0
    """Input turns per output turn."""
    efficiency: Annotated[si.one, si.Allowed(0.5, 1.0)] = 0.96
    """Share of the torque that remains after friction."""
    J: Annotated[si.kg_m2, si.non_negative] = 0.05
    """Inertia of shafts and gears, at the speed of the output."""
    spin_low: Annotated[si.rad_s, si.positive] = 0.5
    """Output speed below which friction fades to zero."""

    def output(self, T: si.Nm, spin: si.rad_s) -> si.Nm:
        """Torque after gear friction; `T` is the torque without friction."""
        return T - self.friction(T, spin)

    def friction(self, T: si.Nm, spin: si.rad_s) -> si.Nm:
        """Friction torque against the rotation of the output."""
        return (1.0 - self.efficiency) * abs(T) * friction_side(spin, self.spin_low)

    def lost(self, T: si.Nm, spin: si.rad_s) -> si.W:
        return self.friction(T, spin) * spin


def gear_ratios(*forward: float, reverse: float) -> Any:
    """Return gear ratios 1, 2, ... and -1 (`reverse`, either sign) as a record; 0 is neutral."""
    if not 1 <= len(forward) <= MOST_GEARS:
        raise InvalidValue(
            f"gear_ratios takes 1 to {MOST_GEARS:g} forward gears, got {len(forward)}"
        )
    named = {f"gear {k}": ratio for k, ratio in enumerate(forward, 1)} | {"reverse": abs(reverse)}
    for name, ratio in named.items():
        if not 0.0 < ratio < inf:
            raise InvalidValue(f"ratio of {name} = {ratio} must be finite and greater than 0")
    knots = (-1.0, 0.0, *(float(k + 1) for k in range(len(forward))))
    return curve(knots, (-abs(reverse), 0.0, *forward))


def gear_count(ratios: Any) -> int:
    return type(ratios).size - 2


def gear_ratio(gear: si.one, ratios: Any) -> si.one:
    """Input turns per output turn, negative in reverse; linear between gears."""
    return on_curve(gear, ratios)


def shifted(spin: si.rad_s, spin_up: si.rad_s, band: si.one, ratios: Any) -> si.one:
    """Gear in which the gearbox input turns slower than `spin_up`, from the spin of its output.

    It has no hysteresis: over the share `band` of each change's speed, the gear and with it the
    ratio change smoothly to the next.
    """
    count = gear_count(ratios)
    values = ratios[type(ratios).size + 2 :]
    gear: Any = 1.0
    for k in range(count - 1):
        change = spin_up / values[k]
        gear = gear + smooth_step(abs(spin), (1.0 - band) * change, (1.0 + band) * change)
    return gear


class ManualShift(NamedTuple):
    """Manual gear selection: the gear is an input, -1, 0, 1, 2, ..."""

    spin_up: Annotated[si.rad_s, si.positive] = 450.0
    """Engine spin at which `Body.command` selects the next gear."""

    States = NoStates

    def gear(self, x: Any, u: si.one, ratios: Any) -> si.one:
        """Gear in use."""
        return clip(u, -1.0, float(gear_count(ratios)))

    def rates(self, x: Any, u: si.one, spin: si.rad_s, ratios: Any) -> NoStates:
        """Empty rates: a manual gearbox has no states."""
        return NoStates()

    def settled(self, spin: si.rad_s, ratios: Any) -> NoStates:
        """Empty state: a manual gearbox has no states."""
        return NoStates()

    def command(self, direction: si.one, spin: si.rad_s, ratios: Any) -> tuple[si.one, si.one]:
        """Gear input for a direction at a spin of the output, and the gear it leads to."""
        ahead = floor(shifted(spin, self.spin_up, 0.01, ratios) + 0.5)
        gear = clip(direction * ahead, -1.0, float(gear_count(ratios)))
        return gear, gear

    def highest(self, ratios: Any) -> float:
        """Largest value of the gear input."""
        return float(gear_count(ratios))


class GearState(NamedTuple):
    """State of an automatic gearbox."""

    gear_engaged: si.one = 1.0
    """Gear in use; fractional during a change."""


class AutomaticShift(NamedTuple):
    """Automatic gear selection by speed; the input is -1 backward, 0 neutral or 1 forward."""

    spin_up: Annotated[si.rad_s, si.positive] = 450.0
    """Engine spin about which the gearbox changes up."""
    band: Annotated[si.one, si.Allowed(0.001, 0.3)] = 0.1
    """Half width of a gear change, as a share of its speed."""
    t_shift: Annotated[si.s, si.positive] = 0.2
    """Time constant of a change; keeps the ratio from following shaft oscillations."""

    States = GearState

    def target(self, u: si.one, spin: si.rad_s, ratios: Any) -> si.one:
        """Target gear for an input at a spin of the gearbox's output."""
        forward = shifted(spin, self.spin_up, self.band, ratios)
        return clip(clip(u, -1.0, 1.0) * forward, -1.0, float(gear_count(ratios)))

    def gear(self, x: Any, u: si.one, ratios: Any) -> si.one:
        """Gear in use."""
        return clip(x.gear_engaged, -1.0, float(gear_count(ratios)))

    def rates(self, x: Any, u: si.one, spin: si.rad_s, ratios: Any) -> GearState:
        """Rate of the gear towards its target."""
        return GearState(lag(x.gear_engaged, self.target(u, spin, ratios), self.t_shift))

    def settled(self, spin: si.rad_s, ratios: Any) -> GearState:
        """State with the forward gear for a speed."""
        return GearState(self.target(1.0, spin, ratios))

    def command(self, direction: si.one, spin: si.rad_s, ratios: Any) -> tuple[si.one, si.one]:
        """Gear input for a direction at a spin of the output, and the gear it leads to."""
        return direction, self.target(direction, spin, ratios)

    def highest(self, ratios: Any) -> float:
        """Largest value of the gear input."""
        return 1.0


ramp = Annotated[si.rad, si.Allowed(0.05, 1.5707963267948966)]
slip_width = Annotated[si.rad_s, si.positive]


class OpenDifferential(NamedTuple):
    """Open differential, which splits the torque in fixed proportion at any speeds."""

    share: fraction = 0.5
    """Torque share of the first output: left, or front."""

    def transfer(self, T: si.Nm, slip: si.rad_s) -> si.Nm:
        """Zero: no torque goes from the faster to the slower output."""
        return 0.0 * T


class LimitedSlip(NamedTuple):
    """Limited-slip differential of the Salisbury type, whose clutch packs are pressed by ramps.

    The output torques differ by at most preload + |T| mu faces r_clutch / (r_ramp tan(ramp)).
    """

    share: fraction = 0.5
    """Torque share of the first output without friction."""
    preload: Annotated[si.Nm, si.non_negative] = 60.0
    """Difference of the output torques that it holds without drive torque."""
    ramp_drive: ramp = 0.7853981633974483
    """Ramp angle under drive, from the plane of the discs: flatter ramps lock more."""
    ramp_coast: ramp = 1.0471975511965976
    """Ramp angle under engine braking; at a right angle there is no locking."""
    mu: Annotated[si.one, si.non_negative] = 0.1
    """Friction coefficient of the discs."""
    faces: Annotated[si.one, si.non_negative] = 4.0
    """Number of friction faces of the pack on each side."""
    r_clutch: Annotated[si.m, si.positive] = 0.05
    """Mean radius of the discs."""
    r_ramp: Annotated[si.m, si.positive] = 0.04
    """Radius at which the cross shaft bears on the ramps."""
    width: slip_width = 1.0
    """Slip at which 71 % of the friction is reached; smaller values are stiffer."""

    def locking(self, T: si.Nm) -> si.Nm:
        """Largest difference of the output torques at an input torque."""
        lever = self.mu * self.faces * self.r_clutch * (1.0 / self.r_ramp)
        drive, coast = lever / tan(self.ramp_drive), lever / tan(self.ramp_coast)
        return self.preload + drive * maximum(T, 0.0) + coast * maximum(-T, 0.0)

    def transfer(self, T: si.Nm, slip: si.rad_s) -> si.Nm:
        """Friction torque from the faster to the slower output."""
        return 0.5 * self.locking(T) * saturated(slip * (1.0 / self.width))


class TorsenDifferential(NamedTuple):
    """Torsen differential: one output gets up to `bias` times the torque of the other.

    With unequal shares the ratio of the torques stays within share / (1 - share) times or over the
    bias.
    """

    share: fraction = 0.5
    """Torque share of the first output at equal speeds."""
    bias: Annotated[si.one, si.Allowed(1.0)] = 2.5
    """Largest torque ratio, relative to that of the shares."""
    width: slip_width = 1.0
    """Slip at which 71 % of the friction is reached; smaller values are stiffer."""

    def transfer(self, T: si.Nm, slip: si.rad_s) -> si.Nm:
        """Friction torque from the faster to the slower output."""
        rest, both = 1.0 - self.share, self.share * (1.0 - self.share)
        down = both * (self.bias - 1.0) / (self.share + self.bias * rest)
        up = both * (self.bias - 1.0) / (self.bias * self.share + rest)
        most = where(T * slip > 0.0, down, up)
        return most * abs(T) * saturated(slip * (1.0 / self.width))


class LockedDifferential(NamedTuple):
    """Locked differential, modelled as a damper stiff enough that the outputs turn alike."""

    share: fraction = 0.5
    """Torque share of the first output at equal speeds."""
    damping: Annotated[si.Nm_s_rad, si.non_negative] = 1000.0
    """Torque per slip; larger values are stiffer."""

    def transfer(self, T: si.Nm, slip: si.rad_s) -> si.Nm:
        """Torque from the faster to the slower output."""
        return self.damping * slip


class ViscousDifferential(NamedTuple):
    """Viscous differential, whose torque grows with slip and saturates."""

    share: fraction = 0.5
    """Torque share of the first output at equal speeds."""
    damping: Annotated[si.Nm_s_rad, si.non_negative] = 30.0
    """Torque per slip at small slip."""
    torque_max: Annotated[si.Nm, si.positive] = 500.0
    """Largest torque at any slip."""

    def transfer(self, T: si.Nm, slip: si.rad_s) -> si.Nm:
        """Torque from the faster to the slower output."""
        return self.torque_max * saturated((self.damping * (1.0 / self.torque_max)) * slip)


def split_by(
    differential: Any, T: si.Nm, spin_1: si.rad_s, spin_2: si.rad_s
) -> tuple[si.Nm, si.Nm]:
    """Torques of both outputs; they add up to `T`."""
    moved = differential.transfer(T, spin_1 - spin_2)
    return differential.share * T - moved, (1.0 - differential.share) * T + moved


def lost_in(differential: Any, T: si.Nm, spin_1: si.rad_s, spin_2: si.rad_s) -> si.W:
    """Power lost to friction in the differential, at least 0."""
    slip = spin_1 - spin_2
    return differential.transfer(T, slip) * slip


class RearWheelDrive(NamedTuple):
    """Rear-wheel drive layout."""

    differential: Any = LimitedSlip()
    """Differential between left and right."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Weight of each wheel in the spin of the input."""
        share = self.differential.share
        return 0.0, 0.0, share, 1.0 - share

    def split(self, T: si.Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        left, right = split_by(self.differential, T, *spins[2:])
        none = 0.0 * T
        return none, none, left, right

    def lost(self, T: si.Nm, spins: Wheels) -> si.W:
        """Power lost to friction, at least 0."""
        return lost_in(self.differential, T, *spins[2:])


class FrontWheelDrive(NamedTuple):
    """Front-wheel drive layout."""

    differential: Any = OpenDifferential()
    """Differential between left and right."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Weight of each wheel in the spin of the input."""
        share = self.differential.share
        return share, 1.0 - share, 0.0, 0.0

    def split(self, T: si.Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        left, right = split_by(self.differential, T, *spins[:2])
        none = 0.0 * T
        return left, right, none, none

    def lost(self, T: si.Nm, spins: Wheels) -> si.W:
        """Power lost to friction, at least 0."""
        return lost_in(self.differential, T, *spins[:2])


class AllWheelDrive(NamedTuple):
    """All-wheel drive layout: a centre differential, and one in each axle."""

    centre: Any = TorsenDifferential(share=0.4)
    """Centre differential; its first output is the front axle."""
    front: Any = OpenDifferential()
    """Differential between the front wheels."""
    rear: Any = OpenDifferential()
    """Differential between the rear wheels."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Weight of each wheel in the spin of the input."""
        front, rear = self.centre.share, 1.0 - self.centre.share
        left_f, left_r = self.front.share, self.rear.share
        return front * left_f, front * (1.0 - left_f), rear * left_r, rear * (1.0 - left_r)

    def axle_spins(self, spins: Wheels) -> tuple[si.rad_s, si.rad_s]:
        """Spin of the shafts to the front and to the rear axle."""
        left_f, left_r = self.front.share, self.rear.share
        return (
            left_f * spins[0] + (1.0 - left_f) * spins[1],
            left_r * spins[2] + (1.0 - left_r) * spins[3],
        )

    def split(self, T: si.Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        T_f, T_r = split_by(self.centre, T, *self.axle_spins(spins))
        return (*split_by(self.front, T_f, *spins[:2]), *split_by(self.rear, T_r, *spins[2:]))

    def lost(self, T: si.Nm, spins: Wheels) -> si.W:
        """Power lost to friction, at least 0."""
        axles = self.axle_spins(spins)
        T_f, T_r = split_by(self.centre, T, *axles)
        inner = lost_in(self.front, T_f, *spins[:2]) + lost_in(self.rear, T_r, *spins[2:])
        return lost_in(self.centre, T, *axles) + inner


def torque_curve(spins: Any, torques: Any) -> Any:
    """Largest torque in N·m over speed in rad/s, piecewise linear."""
    return curve(spins, torques, (si.rad_s, si.Nm))


class EngineStates(NamedTuple):
    """Spin and combustion torque of an engine."""

    spin_engine: si.rad_s = 0.0
    """Spin of the crankshaft; if a reset leaves it 0, the engine starts at idle."""
    tau_engine: si.Nm = 0.0
    """Combustion torque, after its lag."""


class Crankshaft(NamedTuple):
    """Parameters of a combustion engine: inertia, idle governor, speed limit, efficiency."""

    J: Annotated[si.kg_m2, si.positive] = 0.15
    """Inertia with flywheel, at the crankshaft."""
    t_lag: Annotated[si.s, si.positive] = 0.08
    """Time constant of the combustion torque."""
    spin_idle: Annotated[si.rad_s, si.positive] = 85.0
    """Spin that the idle governor maintains."""
    idle_gain: Annotated[si.Nm_s_rad, si.non_negative] = 1.0
    """Torque of the idle governor per missing spin."""
    spin_max: Annotated[si.rad_s, si.positive] = 680.0
    """Rev limit: spin above which there is no combustion torque."""
    fade: Annotated[si.one, si.Allowed(0.001, 1.0)] = 0.03
    """Share of the rev limit over which the torque fades to zero."""
    efficiency: Annotated[si.one, si.Allowed(0.01, 1.0)] = 0.38
    """Combustion work over fuel heat."""
    spin_low: Annotated[si.rad_s, si.positive] = 5.0
    """Spin below which the drag torque fades to zero."""


class Engine(NamedTuple):
    """Combustion engine; by default a petrol engine of 1.8 l."""

    full: Any = torque_curve((60.0, 200.0, 420.0, 600.0, 680.0), (90.0, 140.0, 158.0, 142.0, 115.0))
    """Torque at the shaft under full load; see `torque_curve`."""
    drag: Any = torque_curve((60.0, 300.0, 680.0), (12.0, 18.0, 38.0))
    """Torque needed to turn the engine without throttle, positive; see `torque_curve`."""
    crank: Crankshaft = Crankshaft()

    __repr__ = brief_repr

    def most(self, spin: si.rad_s) -> si.Nm:
        """Largest combustion torque: full load plus drag."""
        return on_torque(spin, self.full) + on_torque(spin, self.drag)

    def burning(self, x: EngineStates) -> si.Nm:
        """Present combustion torque; 0 beyond the rev limit and at standstill."""
        c, spin = self.crank, x.spin_engine
        left = 1.0 - smooth_step(spin, (1.0 - c.fade) * c.spin_max, c.spin_max)
        return (
            left
            * smooth_step(spin, 0.0, c.spin_low)
            * clip(x.tau_engine, 0.0, self.most(x.spin_engine))
        )

    def dragging(self, spin: si.rad_s) -> si.Nm:
        """Drag torque, against the rotation."""
        return on_torque(spin, self.drag) * friction_side(spin, self.crank.spin_low)

    def torque_rate(self, x: EngineStates, throttle: si.one) -> Any:
        """Rate of the combustion torque at a throttle from 0 to 1."""
        c, most = self.crank, self.most(x.spin_engine)
        missing = c.idle_gain * (c.spin_idle - x.spin_engine)
        idling = self.dragging(x.spin_engine) + missing
        asked = maximum(clip(throttle, 0.0, 1.0) * most, clip(idling, 0.0, most))
        return lag(x.tau_engine, asked, c.t_lag)

    def throttle(self, tau: si.Nm, spin: si.rad_s) -> si.one:
        """Throttle for a torque at the shaft."""
        return clip((tau + on_torque(spin, self.drag)) / self.most(spin), 0.0, 1.0)

    def fuel(self, x: EngineStates) -> si.W:
        """Heat flow of the fuel."""
        return self.burning(x) * x.spin_engine * (1.0 / self.crank.efficiency)


def on_torque(spin: si.rad_s, curve: Any) -> si.Nm:
    """Value of a torque curve at a spin of either sign."""
    return on_curve(abs(spin), curve)


class ClutchTorque(NamedTuple):
    """Torque and twist rate of a clutch at one instant."""

    torque: si.Nm
    """Torque from the engine to the gearbox."""
    twist_rate: si.rad_s


class Clutch(NamedTuple):
    """Automatic clutch that closes as the engine revs up, so that the engine never stalls."""

    capacity: Annotated[si.Nm, si.positive] = 350.0
    """Largest torque of the closed clutch."""
    spin_engage: Annotated[si.rad_s, si.positive] = 110.0
    """Engine spin at which the clutch begins to close."""
    spin_closed: Annotated[si.rad_s, si.positive] = 180.0
    """Engine spin above which the clutch is closed."""
    k: Annotated[si.Nm_rad, si.positive] = 500.0
    """Stiffness of clutch and shafts, referred to the engine."""
    damping: Annotated[si.Nm_s_rad, si.non_negative] = 2.0
    """Damping of the twist."""
    t_release: Annotated[si.s, si.positive] = 0.05
    """Time constant with which an open clutch untwists."""

    def closed(self, engine: si.rad_s, gear: si.one) -> si.one:
        """Engagement of the clutch, 0 open to 1 closed; 0 in neutral."""
        return smooth_step(engine, self.spin_engage, self.spin_closed) * minimum(gear * gear, 1.0)

    def transmitted(self, twist: si.rad, closed: si.one, slip: si.rad_s) -> ClutchTorque:
        """Torque and twist rate; `slip` is the engine spin minus that of the gearbox input."""
        by_capacity = 1.0 / self.capacity
        spring, felt = self.k * twist, closed * slip
        spare = maximum(self.capacity - abs(spring), 0.0)
        damping = spare * saturated((self.damping * by_capacity) * felt)
        open_2 = (1.0 - closed) * (1.0 - closed)
        open_8 = (open_2 * open_2) * (open_2 * open_2)
        untwisting = open_8 * (1.0 / self.t_release) * twist
        rate = felt - abs(felt) * (spring * by_capacity) - untwisting
        return ClutchTorque(closed * (spring + damping), rate)

    def stored(self, twist: si.rad) -> si.J:
        return 0.5 * self.k * (twist * twist)


class EngineInputs(NamedTuple):
    """Inputs of a car with an engine."""

    throttle: Annotated[si.one, si.Allowed(0.0, 1.0)] = 0.0
    """Throttle: share of full load."""
    gear: Annotated[si.one, si.Allowed(-1.0, MOST_GEARS, whole=True)] = 1.0
    """Gear: -1 for reverse, 0 for neutral; with an automatic gearbox -1, 0 or 1."""


@made_once
def inputs_up_to(highest: float) -> Any:
    """Record type of the inputs for a gearbox with this highest gear."""
    gear = Annotated[si.one, si.Allowed(-1.0, highest, whole=True)]
    return redefined(EngineInputs, {"gear": gear})


@extended
class EngineDriveStates(EngineStates):
    """States of the engine, and the twist of clutch and shafts."""

    twist_clutch: si.rad = 0.0
    """Twist of clutch and shafts, referred to the engine, positive when the engine drives."""


class EngineDrive(NamedTuple):
    """Powertrain with one engine that drives two or four wheels."""

    engine: Any = Engine()
    """Engine, see `Engine`."""
    clutch: Clutch = Clutch()
    ratios: Any = gear_ratios(3.58, 1.93, 1.28, 0.95, 0.76, reverse=3.62)
    """Ratios of the gearbox, see `gear_ratios`."""
    shift: Any = AutomaticShift()
    """Gear selection: `AutomaticShift` or `ManualShift`."""
    final: FinalDrive = FinalDrive(ratio=3.82, efficiency=0.93, J=0.1)
    """Final drive; its efficiency is that of gearbox and final drive together."""
    layout: Any = RearWheelDrive()
    """Driven wheels: `RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Outputs = PowerOutputs

    @property
    def Inputs(self) -> Any:
        """Record type of the inputs: throttle, and the gears that the gearbox has."""
        return inputs_up_to(self.shift.highest(self.ratios))

    @property
    def States(self) -> Any:
        """Record type of the states of engine, clutch and gearbox."""
        return widened(EngineDriveStates, type(self.shift).States)

    def reflected(self) -> Reflected:
        """Inertia of shafts and gears; the engine behind its clutch is a state."""
        return Reflected(self.final.J, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: Wheels) -> Drive:
        """Torques on the wheels, rates of the states, and powers."""
        engine, final, crank = self.engine, self.final, self.engine.crank
        shaft = weighted(self.layout.weights(), spins)
        gear = self.shift.gear(x, u.gear, self.ratios)
        ratio = final.ratio * gear_ratio(gear, self.ratios)
        slip = x.spin_engine - ratio * shaft
        clutch = self.clutch.transmitted(
            x.twist_clutch, self.clutch.closed(x.spin_engine, gear), slip
        )
        burning, dragging = engine.burning(x), engine.dragging(x.spin_engine)
        rate = (burning - dragging - clutch.torque) * (1.0 / crank.J)
        carried = ratio * clutch.torque
        T = final.output(carried, shaft)
        torques = self.layout.split(T, spins)
        twisting = self.clutch.k * x.twist_clutch * clutch.twist_rate
        fuel = engine.fuel(x)
        heat = fuel - (burning - dragging) * x.spin_engine
        rubbing = clutch.torque * slip - twisting
        lost = heat + rubbing + final.lost(carried, shaft) + self.layout.lost(T, spins)
        stored = crank.J * rate * x.spin_engine + twisting
        shown = burning - dragging
        powers = PowerOutputs(x.spin_engine, shown, fuel, weighted(torques, spins), lost, stored)
        torque_rate = engine.torque_rate(x, u.throttle)
        shifting = self.shift.rates(x, u.gear, final.ratio * shaft, self.ratios)
        rates = self.States(rate, torque_rate, clutch.twist_rate, *shifting)
        return Drive(torques, self.reflected(), rates, powers)

    def rotating(self, x: Any, spins: Wheels) -> si.J:
        """Kinetic energy of engine, shafts and gears, and energy of the twist."""
        inertia, weights = self.reflected()
        shaft, spin = weighted(weights, spins), x.spin_engine
        turning = 0.5 * inertia * (shaft * shaft) + 0.5 * self.engine.crank.J * (spin * spin)
        return turning + self.clutch.stored(x.twist_clutch)

    def effective_ratio(self, x: Any, spins: Wheels) -> tuple[si.one, si.one]:
        """Overall ratio from engine to wheels in the gear for their speed, and clutch engagement.

        The engagement is from 0 (open) to 1 (closed).
        """
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        _, gear = self.shift.command(1.0, spin, self.ratios)
        ratio = self.final.ratio * gear_ratio(gear, self.ratios)
        return ratio, self.clutch.closed(x.spin_engine, gear)

    def coasting(self, x: Any, spins: Wheels) -> si.Nm:
        """Torque of engine drag at the wheels, gear friction included."""
        ratio, closed = self.effective_ratio(x, spins)
        return (2.0 - self.final.efficiency) * closed * ratio * self.engine.dragging(x.spin_engine)

    def inertia(self, x: Any, spins: Wheels) -> si.kg_m2:
        """Inertia at the wheels: shafts, and the engine by the clutch's engagement."""
        ratio, closed = self.effective_ratio(x, spins)
        return self.final.J + closed * self.engine.crank.J * (ratio * ratio)

    def settled(self, x: Any, spins: Wheels) -> Any:
        """State with an engine at standstill set to idle, or to the speed of the wheels."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        gears = self.shift.settled(spin, self.ratios)
        _, gear = self.shift.command(1.0, spin, self.ratios)
        started = maximum(spin * gear_ratio(gear, self.ratios), self.engine.crank.spin_idle)
        turning = x.spin_engine != 0.0
        fresh = {"spin_engine": started, **gears._asdict()}
        return x._replace(**{n: where(turning, getattr(x, n), v) for n, v in fresh.items()})

    def pedals(self, x: Any, T: si.Nm, direction: si.one, spins: Wheels) -> EngineInputs:
        """Throttle and gear for a total torque on all wheels."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        asked, gear = self.shift.command(direction, spin, self.ratios)
        ratio = self.final.ratio * self.final.efficiency * gear_ratio(gear, self.ratios)
        throttle = self.engine.throttle(T / ratio, x.spin_engine)
        # Without a demand a car idles, so that it stops.
        return EngineInputs(where(T == 0.0, 0.0, throttle), asked)

    def peak(self) -> si.Nm:
        """Largest total torque on all wheels, in first gear."""
        first, full = gear_ratio(1.0, self.ratios), self.engine.full
        return self.final.ratio * self.final.efficiency * first * max(full[type(full).size :])

    def top(self) -> si.rad_s:
        """Spin of the wheels at the rev limit in the highest gear."""
        return self.engine.crank.spin_max / (self.final.ratio * self.ratios[-1])

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each input, by name."""
        return {"throttle": (0.0, 1.0), "gear": (-1.0, self.shift.highest(self.ratios))}
