"""Gears between a motor and the differentials.

Losses of gears are friction under the torque that they carry: (1 - efficiency) of it resists the
turning, whichever way power flows, and none is there at rest.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Any, NamedTuple

from ...errors import InvalidValue
from ...ops import abs, clip, floor, smooth_step
from ...units import Allowed, Nm, W, kg_m2, non_negative, one, positive, rad_s, s
from ..actuator import lag
from ..assembly import NoStates
from ..table import curve, on_curve
from .smooth import friction_side

__all__ = [
    "AutomaticShift",
    "FinalDrive",
    "GearState",
    "ManualShift",
    "gear_count",
    "gear_ratio",
    "gear_ratios",
    "shifted",
]

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
