"""Differentials: how one shaft drives two, left and right or front and rear.

Each gives `share` of its torque to the first output and the rest to the second, less and plus what
its friction transfers to the slower one: T_1 = share T - c, T_2 = (1 - share) T + c. Its input
turns with share spin_1 + (1 - share) spin_2, so what is lost is c (spin_1 - spin_2). Every
`transfer` c has the sign of the slip spin_1 - spin_2: nothing is gained. Sums of torques are exact.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...ops import abs, maximum, tan, where
from ...units import Allowed, Nm, Nm_s_rad, W, m, non_negative, one, positive, rad, rad_s
from .smooth import saturated

__all__ = [
    "LimitedSlip",
    "LockedDifferential",
    "OpenDifferential",
    "TorsenDifferential",
    "ViscousDifferential",
    "lost_in",
    "split_by",
]

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
