"""Which wheels are driven, and through which differentials."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...brief import brief_repr
from ...units import Nm, W, rad_s
from .contract import Wheels
from .differential import LimitedSlip, OpenDifferential, TorsenDifferential, lost_in, split_by

__all__ = ["AllWheelDrive", "FrontWheelDrive", "RearWheelDrive"]


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
