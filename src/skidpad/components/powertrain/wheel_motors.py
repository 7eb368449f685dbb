"""Powertrains with a torque for each wheel: as it is told, or of motors with a limited power.

A car asks either for the torques that its wheels get of those that were told (`delivered`), for its
outputs (`Outputs`, `powers`) and for the spin of a wheel that it cannot drive beyond (`top`).
"""

from __future__ import annotations

from math import inf
from typing import Annotated, NamedTuple

from ...ops import maximum, where
from ...units import Allowed, Nm, W, one, positive, rad_s
from ..assembly import NoStates
from .contract import Wheels, weighted
from .electric_motor import SpeedLimit
from .smooth import share_within

__all__ = ["WHEEL_DRIVES", "WheelMotorOutputs", "WheelMotors", "WheelTorques"]


class WheelTorques(NamedTuple):
    """Four torques that act as they are told, one for each wheel: no powertrain at all."""

    Outputs = NoStates

    def delivered(self, torques: Wheels, spins: Wheels) -> Wheels:
        """The torques that were told."""
        return torques

    def powers(self, torques: Wheels, spins: Wheels) -> NoStates:
        """Nothing is known of them."""
        return NoStates()

    def top(self) -> rad_s:
        """There is none."""
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

    Where the torques that were told draw more, all are smaller by the same share, whatever the
    wheels do: one that spins up suddenly takes no more than there is.
    """

    P_max: Annotated[W, positive] = 80e3
    """Largest power that all motors together draw: the rules of Formula Student, EV 2.2."""
    efficiency: Annotated[one, Allowed(0.5, 1.0)] = 0.9
    """Of motors, inverters and gears, driving and giving back (estimate)."""
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
        """Torques on the wheels, of those that were told."""
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
