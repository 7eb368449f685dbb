"""Rays of a scan: angles relative to the sensor, as blocks of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.files import brief_repr
from ...errors import InvalidValue
from ..polygon import frozen

MOST_RAYS = 1_000_000
"""Largest number of rays of a scan."""


BEARING_ERROR = 2e-6
"""Bound of the error of bearings in rad, by which ranges of rays are widened."""
LARGEST_ANGLE = 1e9
"""Largest magnitude of an angle in rad; sines of larger angles would not be exact."""

VIEW = (
    "x", "y", "cos", "sin", "per_rad", "per_turn", "margin", "top", "middle", "max_range",
    "missed",
)  # fmt: skip
"""Fields of a sensor and its rays for kernels: position, direction of the middle ray, rays per
rad and per turn, margin of ranges of rays, index of the last ray and of the middle ray,
largest range, and the reading of rays without a hit up to that."""
X, Y, COS, SIN, PER_RAD, PER_TURN, MARGIN, TOP, MIDDLE, MAX_RANGE, MISSED = range(len(VIEW))


@dataclass(frozen=True, eq=False)
class Fan:
    """Precomputed directions of a scan; see `fan`."""

    angles: NDArray[np.float64]
    """Angles relative to the sensor's x axis in rad, positive to the left, read-only."""
    beams: NDArray[np.float64]
    """Blocks of eight cosines and eight sines, in order of angle; see `lanes`."""
    view: NDArray[np.float64] | None
    """The `VIEW` of a sensor at the origin; None if the angles are not evenly spaced."""
    backwards: bool
    """Whether the angles decrease, so that the blocks are in reverse order."""

    __repr__ = brief_repr

    def __len__(self) -> int:
        return len(self.angles)

    def units(self) -> NDArray[np.float64]:
        """Cosines and sines of the angles, in their own order, shape (2, N)."""
        both = rising_units(self.beams, len(self))
        return both[:, ::-1] if self.backwards else both

    def shaken(self, by: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Blocks of directions for each row of angle offsets (B, N).

        Also returns the addition to the margin of `view`, in rays: of two rays whose difference
        counts, one may be rotated one way and the other the other way.
        """
        angles = self.angles + by
        beams = _beams(angles[:, ::-1] if self.backwards else angles)
        largest = float(np.abs(by).max(initial=0.0))
        return beams, 0.0 if self.view is None else 2.0 * largest * float(self.view[PER_RAD])


def rising_units(beams: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Cosines and sines of the rays in blocks, in order of angle, shape (2, count)."""
    return beams.reshape(-1, 2, 8).transpose(1, 0, 2).reshape(2, -1)[:, :count]


_last: list[Fan] = []


def fan(angles: Any) -> Fan:
    """Rays of a scan from their angles relative to the sensor in rad, positive to the left.

    Evenly spaced angles (to half a spacing), increasing or decreasing, make scans fast.
    """
    if isinstance(angles, Fan):
        return angles
    # Cache the fan, since sensors use the same angles at every scan.
    for kept in tuple(_last):
        if np.array_equal(angles, kept.angles):
            return kept
    own = angles_of(angles)
    backwards = bool(own[-1] < own[0])
    forward = np.ascontiguousarray(own[::-1]) if backwards else own
    beams, view = _beams(forward[None])[0], _view(forward)
    rays = Fan(frozen(own), beams, view, backwards)
    _last[:] = [rays]
    return rays


def _view(angles: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The `VIEW` of increasing angles, or None if they are not evenly spaced."""
    count = len(angles)
    step = float(angles[-1] - angles[0]) / (count - 1) if count > 1 else 2.0 * np.pi
    if step <= 0.0:
        return None
    uneven = np.abs(angles - (angles[0] + step * np.arange(count))).max()
    if uneven > 0.5 * step:
        return None
    # Half a ray for the ray itself and half for the middle one, which others are counted from.
    margin = 1.5 + BEARING_ERROR / step
    spacing = (1.0 / step, 2.0 * np.pi / step, margin, count - 1.0, count // 2)
    return np.array([0.0, 0.0, 1.0, 0.0, *spacing, np.inf, np.inf])


def units(angles: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosines and sines of angles (N,) in rad, bit-identical on all machines."""
    from .lanes import fill_units  # which brings numba

    cos, sin = np.empty(len(angles)), np.empty(len(angles))
    fill_units(np.ascontiguousarray(angles), cos, sin)
    return cos, sin


def _beams(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Blocks of cosines and sines of rows of angles; the last angle of each row pads its last
    block."""
    rows, count = angles.shape
    blocks = -(-count // 8)
    both = np.stack(units(angles.reshape(-1))).reshape(2, rows, count)
    if count % 8:
        both = both[:, :, np.minimum(np.arange(8 * blocks), count - 1)]
    parts = both.reshape(2, rows, blocks, 8).transpose(1, 2, 0, 3)
    return np.ascontiguousarray(parts).reshape(rows, -1)


def angles_of(values: Any) -> NDArray[np.float64]:
    """Check and copy the angles (N,) of a scan."""
    angles = np.array(values, dtype=np.float64, ndmin=1)
    if angles.ndim != 1 or not 1 <= len(angles) <= MOST_RAYS:
        raise InvalidValue(
            f"angles has shape {angles.shape}: it must be (N,) with N from 1 to {MOST_RAYS} rays"
        )
    check_size("angles", angles, LARGEST_ANGLE, "rad")
    return angles


def check_size(name: str, values: NDArray[np.float64], largest: float, unit: str) -> None:
    """Raise unless all numbers are finite and at most `largest` in magnitude."""
    fits = np.abs(values) <= largest
    if not fits.all():
        place = tuple(np.argwhere(~fits)[0].tolist())
        raise InvalidValue(
            f"{name}{list(place)} = {values[place]} {unit} must be finite, at most {largest:g} "
            f"{unit}"
        )
