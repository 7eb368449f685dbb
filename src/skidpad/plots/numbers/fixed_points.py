"""Points of a plane where nothing changes, and whether a motion beside them comes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array

Kind = Literal["stable", "saddle", "unstable"]
Field = Callable[[Array], Array]
"""Rates (n, 2) at points (n, 2)."""
GRID = 61
"""Points across and up among which changes of sign are looked for."""
NEWTON_STEPS = 30
TOLERANCE = 1e-10
"""Of the last Newton step, as a share of the range."""
_SAME = 1e-4
"""Points nearer than this share of the range are one."""
_DIFFERENCE = 1e-6
"""Half of the distance over which the field is differenced, as a share of the range."""


class FixedPoint(NamedTuple):
    """A point where both rates are zero."""

    at: Array
    """(2,)"""
    jacobian: Array
    """Derivative of the rates, (2, 2)."""
    kind: Kind

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Of the Jacobian, in 1/s."""
        return np.linalg.eigvals(self.jacobian).astype(np.complex128)


def fixed_points(field: Field, low: Array, high: Array) -> list[FixedPoint]:
    """The fixed points between two corners, from left to right."""
    span = high - low
    points: list[FixedPoint] = []
    for start in _candidates(field, low, high):
        at = _newton(field, start, span)
        if at is None or ((at < low - 1e-9 * span) | (at > high + 1e-9 * span)).any():
            continue
        if all(np.abs((at - known.at) / span).max() > _SAME for known in points):
            jacobian = derivative(field, at, span)
            points.append(FixedPoint(at, jacobian, _kind(jacobian)))
    return sorted(points, key=lambda point: (float(point.at[0]), float(point.at[1])))


def _candidates(field: Field, low: Array, high: Array) -> Array:
    """Middles of the cells in which both rates have both signs."""
    axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
    across, up = np.meshgrid(*axes, indexing="ij")
    rates = field(np.column_stack([across.ravel(), up.ravel()])).reshape(GRID, GRID, 2)
    corners = np.stack([rates[:-1, :-1], rates[1:, :-1], rates[:-1, 1:], rates[1:, 1:]])
    mixed = (corners.min(axis=0) <= 0.0) & (corners.max(axis=0) >= 0.0)
    i, j = np.nonzero(mixed.all(axis=-1))
    half = 0.5 * (high - low) / (GRID - 1)
    return np.column_stack([axes[0][i] + half[0], axes[1][j] + half[1]])


def _newton(field: Field, start: Array, span: Array) -> Array | None:
    at = start.copy()
    for _ in range(NEWTON_STEPS):
        rate = field(at[None])[0]
        jacobian = derivative(field, at, span)
        if not np.isfinite(jacobian).all() or abs(np.linalg.det(jacobian)) < 1e-300:
            return None
        step = np.linalg.solve(jacobian, rate)
        # No further than a tenth of the picture at once: the field may turn sharply.
        step *= min(1.0, 0.1 / max(float(np.abs(step / span).max()), 1e-300))
        at = at - step
        if np.abs(step / span).max() < TOLERANCE:
            return at
    return None


def derivative(field: Field, at: Array, span: Array) -> Array:
    """Jacobian (2, 2) of the field by central differences."""
    h = _DIFFERENCE * span
    ends = at + np.array([[h[0], 0.0], [-h[0], 0.0], [0.0, h[1]], [0.0, -h[1]]])
    rates = field(ends)
    return np.column_stack([(rates[0] - rates[1]) / (2 * h[0]), (rates[2] - rates[3]) / (2 * h[1])])


def _kind(jacobian: Array) -> Kind:
    if np.linalg.det(jacobian) < 0.0:
        return "saddle"
    return "stable" if np.trace(jacobian) < 0.0 else "unstable"
