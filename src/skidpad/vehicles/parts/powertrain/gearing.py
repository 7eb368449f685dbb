"""Gears, differentials, and which wheels are driven through which of them.

Losses of gears are friction under the torque that they carry: (1 - efficiency) of it resists the
turning, whichever way power flows, and vanishes at rest.

A differential gives `share` of its torque to the first output and the rest to the second, less and
plus what its friction transfers to the slower one: T_1 = share T - c, T_2 = (1 - share) T + c. Its
input turns with share spin_1 + (1 - share) spin_2, so what is lost is c (spin_1 - spin_2). Every
`transfer` c has the sign of the slip spin_1 - spin_2: nothing is gained. Sums of torques are exact.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, NamedTuple

from ....core.files import brief_repr
from ....errors import InvalidValue
from ....ops import abs, clip, floor, maximum, smooth_step, tan, where
from ....units import Allowed, Nm, Nm_s_rad, W, kg_m2, m, non_negative, one, positive, rad, rad_s, s
from ..actuators import lag
from ..assembly import NoStates
from ..table import curve, on_curve
from .contract import Wheels, friction_side, saturated

MOST_GEARS = 16.0


class FinalDrive(NamedTuple):
    """The last gear before the differentials; its losses stand for those of all gears."""

    ratio: Annotated[one, positive] = 9.0
    """Turns of its input per turn of its output."""
    efficiency: Annotated[one, Allowed(0.5, 1.0)] = 0.96
    """Share of the torque that is left."""
    J: Annotated[kg_m2, non_negative] = 0.05
    """Inertia of shafts and gears, at the speed of the output."""
    spin_low: Annotated[rad_s, positive] = 0.5
    """Speed of the output below which friction fades."""

    def output(self, T: Nm, spin: rad_s) -> Nm:
        """Torque behind all gears, of a torque `T` that they would give without friction."""
        return T - self.friction(T, spin)

    def friction(self, T: Nm, spin: rad_s) -> Nm:
        """Torque against the turning of the output."""
        return (1.0 - self.efficiency) * abs(T) * friction_side(spin, self.spin_low)

    def lost(self, T: Nm, spin: rad_s) -> W:
        """Power that friction takes, at least 0."""
        return self.friction(T, spin) * spin


def gear_ratios(*forward: float, reverse: float) -> Any:
    """Ratios of the gears 1, 2, ... and of the gear -1, of either sign; in the gear 0 nothing is
    connected."""
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
    """How many gears go forward."""
    return type(ratios).size - 2


def gear_ratio(gear: one, ratios: Any) -> one:
    """Turns of the input per turn of the output, negative in reverse; between gears in between."""
    return on_curve(gear, ratios)


def shifted(spin: rad_s, spin_up: rad_s, band: one, ratios: Any) -> one:
    """The gear in which an input would turn with less than `spin_up`, from the spin of the output.

    It has no memory: about each change, over the share `band` of that speed, it goes smoothly from
    one gear to the next, and the ratio with it.
    """
    count = gear_count(ratios)
    values = ratios[type(ratios).size + 2 :]
    gear: Any = 1.0
    for k in range(count - 1):
        change = spin_up / values[k]
        gear = gear + smooth_step(abs(spin), (1.0 - band) * change, (1.0 + band) * change)
    return gear


class ManualShift(NamedTuple):
    """The gear is an input: -1, 0, 1, 2, ..."""

    spin_up: Annotated[rad_s, positive] = 450.0
    """Spin of the engine from which `Body.command` takes the next gear."""

    States = NoStates

    def gear(self, x: Any, u: one, ratios: Any) -> one:
        """The gear in use."""
        return clip(u, -1.0, float(gear_count(ratios)))

    def rates(self, x: Any, u: one, spin: rad_s, ratios: Any) -> NoStates:
        """There are no states."""
        return NoStates()

    def settled(self, spin: rad_s, ratios: Any) -> NoStates:
        """There are no states."""
        return NoStates()

    def asked(self, direction: one, spin: rad_s, ratios: Any) -> tuple[one, one]:
        """The input to give at a spin of the output, and the gear that comes of it."""
        ahead = floor(shifted(spin, self.spin_up, 0.01, ratios) + 0.5)
        gear = clip(direction * ahead, -1.0, float(gear_count(ratios)))
        return gear, gear

    def highest(self, ratios: Any) -> float:
        """The largest input."""
        return float(gear_count(ratios))


class GearState(NamedTuple):
    """The gear of an automatic gearbox."""

    gear_engaged: one = 1.0
    """Gear in use: between two of them while it changes."""


class AutomaticShift(NamedTuple):
    """The input only says -1 backward, 0 neutral, 1 forward; gears change by speed, smoothly."""

    spin_up: Annotated[rad_s, positive] = 450.0
    """Spin of the engine about which it changes up."""
    band: Annotated[one, Allowed(0.001, 0.3)] = 0.1
    """Share of the speed of a change over which it takes place, to either side."""
    t_shift: Annotated[s, positive] = 0.2
    """Time constant of a change. Without it the ratio would follow every shudder of the shafts."""

    States = GearState

    def target(self, u: one, spin: rad_s, ratios: Any) -> one:
        """The gear for an input at a spin of the gearbox's output."""
        forward = shifted(spin, self.spin_up, self.band, ratios)
        return clip(clip(u, -1.0, 1.0) * forward, -1.0, float(gear_count(ratios)))

    def gear(self, x: Any, u: one, ratios: Any) -> one:
        """The gear in use."""
        return clip(x.gear_engaged, -1.0, float(gear_count(ratios)))

    def rates(self, x: Any, u: one, spin: rad_s, ratios: Any) -> GearState:
        """How the gear follows input and speed."""
        return GearState(lag(x.gear_engaged, self.target(u, spin, ratios), self.t_shift))

    def settled(self, spin: rad_s, ratios: Any) -> GearState:
        """The forward gear for a speed."""
        return GearState(self.target(1.0, spin, ratios))

    def asked(self, direction: one, spin: rad_s, ratios: Any) -> tuple[one, one]:
        """The input to give at a spin of the output, and the gear that comes of it."""
        return direction, self.target(direction, spin, ratios)

    def highest(self, ratios: Any) -> float:
        """The largest input."""
        return 1.0


share_of_first = Annotated[one, Allowed(0.0, 1.0)]
ramp = Annotated[rad, Allowed(0.05, 1.5707963267948966)]
slip_width = Annotated[rad_s, positive]


class OpenDifferential(NamedTuple):
    """Shares the torque in fixed proportion, whatever the speeds."""

    share: share_of_first = 0.5
    """Share of the first output: left, or front."""

    def transfer(self, T: Nm, slip: rad_s) -> Nm:
        """Nothing goes from the faster to the slower output."""
        return 0.0 * T


class LimitedSlip(NamedTuple):
    """Clutch packs (Salisbury) that the torque itself presses together, by ramps.

    The outputs differ by at most preload + |T| mu faces r_clutch / (r_ramp tan(ramp)).
    """

    share: share_of_first = 0.5
    """Share of the first output without friction."""
    preload: Annotated[Nm, non_negative] = 60.0
    """Difference of the outputs' torques that it holds without any drive."""
    ramp_drive: ramp = 0.7853981633974483
    """Angle of the ramps under drive, from the plane of the discs: flatter locks more."""
    ramp_coast: ramp = 1.0471975511965976
    """Angle of the ramps under engine braking; at a right angle it does not lock."""
    mu: Annotated[one, non_negative] = 0.1
    """Friction of the discs."""
    faces: Annotated[one, non_negative] = 4.0
    """Rubbing faces of the pack on each side."""
    r_clutch: Annotated[m, positive] = 0.05
    """Mean radius of the discs."""
    r_ramp: Annotated[m, positive] = 0.04
    """Radius at which the cross shaft bears on the ramps."""
    width: slip_width = 1.0
    """Slip at which 71 % of the friction is there; less is stiffer."""

    def locking(self, T: Nm) -> Nm:
        """Largest difference of the outputs' torques under a torque."""
        lever = self.mu * self.faces * self.r_clutch * (1.0 / self.r_ramp)
        drive, coast = lever / tan(self.ramp_drive), lever / tan(self.ramp_coast)
        return self.preload + drive * maximum(T, 0.0) + coast * maximum(-T, 0.0)

    def transfer(self, T: Nm, slip: rad_s) -> Nm:
        """Friction torque from the faster to the slower output."""
        return 0.5 * self.locking(T) * saturated(slip * (1.0 / self.width))


class TorsenDifferential(NamedTuple):
    """Gears whose friction lets one output have up to `bias` times the torque of the other.

    With unequal shares the ratio of the torques stays within share / (1 - share) times or over the
    bias.
    """

    share: share_of_first = 0.5
    """Share of the first output while both turn alike."""
    bias: Annotated[one, Allowed(1.0)] = 2.5
    """Largest ratio of torques, over that of the shares."""
    width: slip_width = 1.0
    """Slip at which 71 % of it is there; less is stiffer."""

    def transfer(self, T: Nm, slip: rad_s) -> Nm:
        """Friction torque from the faster to the slower output."""
        rest, both = 1.0 - self.share, self.share * (1.0 - self.share)
        down = both * (self.bias - 1.0) / (self.share + self.bias * rest)
        up = both * (self.bias - 1.0) / (self.bias * self.share + rest)
        most = where(T * slip > 0.0, down, up)
        return most * abs(T) * saturated(slip * (1.0 / self.width))


class LockedDifferential(NamedTuple):
    """One shaft, nearly: a damper so stiff that the outputs turn alike."""

    share: share_of_first = 0.5
    """Share of the first output while both turn alike."""
    damping: Annotated[Nm_s_rad, non_negative] = 1000.0
    """Torque per slip. More is stiffer."""

    def transfer(self, T: Nm, slip: rad_s) -> Nm:
        """Torque from the faster to the slower output."""
        return self.damping * slip


class ViscousDifferential(NamedTuple):
    """Sheared oil: torque grows with slip, ever less."""

    share: share_of_first = 0.5
    """Share of the first output while both turn alike."""
    damping: Annotated[Nm_s_rad, non_negative] = 30.0
    """Torque per slip, of small slip."""
    torque_max: Annotated[Nm, positive] = 500.0
    """Torque that the oil does not exceed at any slip."""

    def transfer(self, T: Nm, slip: rad_s) -> Nm:
        """Torque from the faster to the slower output."""
        return self.torque_max * saturated((self.damping * (1.0 / self.torque_max)) * slip)


def split_by(differential: Any, T: Nm, spin_1: rad_s, spin_2: rad_s) -> tuple[Nm, Nm]:
    """Torques of both outputs; they add up to `T`."""
    moved = differential.transfer(T, spin_1 - spin_2)
    return differential.share * T - moved, (1.0 - differential.share) * T + moved


def lost_in(differential: Any, T: Nm, spin_1: rad_s, spin_2: rad_s) -> W:
    """Power that friction takes, at least 0."""
    slip = spin_1 - spin_2
    return differential.transfer(T, slip) * slip


class RearWheelDrive(NamedTuple):
    """Drives the rear wheels."""

    differential: Any = LimitedSlip()
    """Between left and right."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Share of each wheel in the spin of the input."""
        share = self.differential.share
        return 0.0, 0.0, share, 1.0 - share

    def split(self, T: Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        left, right = split_by(self.differential, T, *spins[2:])
        none = 0.0 * T
        return none, none, left, right

    def lost(self, T: Nm, spins: Wheels) -> W:
        """Power that friction takes."""
        return lost_in(self.differential, T, *spins[2:])


class FrontWheelDrive(NamedTuple):
    """Drives the front wheels."""

    differential: Any = OpenDifferential()
    """Between left and right."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Share of each wheel in the spin of the input."""
        share = self.differential.share
        return share, 1.0 - share, 0.0, 0.0

    def split(self, T: Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        left, right = split_by(self.differential, T, *spins[:2])
        none = 0.0 * T
        return left, right, none, none

    def lost(self, T: Nm, spins: Wheels) -> W:
        """Power that friction takes."""
        return lost_in(self.differential, T, *spins[:2])


class AllWheelDrive(NamedTuple):
    """Drives all wheels: a differential between the axles, and one in each."""

    centre: Any = TorsenDifferential(share=0.4)
    """Between front and rear: its first output is the front."""
    front: Any = OpenDifferential()
    """Between the front wheels."""
    rear: Any = OpenDifferential()
    """Between the rear wheels."""

    __repr__ = brief_repr

    def weights(self) -> Wheels:
        """Share of each wheel in the spin of the input."""
        front, rear = self.centre.share, 1.0 - self.centre.share
        left_f, left_r = self.front.share, self.rear.share
        return front * left_f, front * (1.0 - left_f), rear * left_r, rear * (1.0 - left_r)

    def axle_spins(self, spins: Wheels) -> tuple[rad_s, rad_s]:
        """Spin of the shafts to the front and to the rear axle."""
        left_f, left_r = self.front.share, self.rear.share
        return (
            left_f * spins[0] + (1.0 - left_f) * spins[1],
            left_r * spins[2] + (1.0 - left_r) * spins[3],
        )

    def split(self, T: Nm, spins: Wheels) -> Wheels:
        """Torque on each wheel."""
        T_f, T_r = split_by(self.centre, T, *self.axle_spins(spins))
        return (*split_by(self.front, T_f, *spins[:2]), *split_by(self.rear, T_r, *spins[2:]))

    def lost(self, T: Nm, spins: Wheels) -> W:
        """Power that friction takes."""
        axles = self.axle_spins(spins)
        T_f, T_r = split_by(self.centre, T, *axles)
        inner = lost_in(self.front, T_f, *spins[:2]) + lost_in(self.rear, T_r, *spins[2:])
        return lost_in(self.centre, T, *axles) + inner
