"""The line of least curvature within a track.

A line of curvature κ that is moved to the left by distances e, small against its radii, has the
curvature κ + e'' + κ² e, where the dashes are derivatives over its length. So the smallest sum of
squared curvatures is a linear least-squares problem with bounds on e. The distances are a cubic
B-spline along the track: smooth, and within the bounds that its coefficients are.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..plane.line import smooth_loop
from ..units import m
from .track import SPACING, Track

KNOT: m = 5.0
"""Distance between the knots of the spline, about."""


def racing_line(track: Track, margin: m) -> Array:
    """Points (n, 2) at equal distances, all at least `margin` from the edges."""
    from scipy.optimize import lsq_linear

    room = max(track.half_width - margin, 1e-3)
    spline = _spline(len(track.centre), round(track.line.length / KNOT))
    kappa = track.line.curvature[:-1]
    changes = _bend(spline, track.spacing) + (kappa * kappa)[:, None] * spline
    # Its triangular factor has the same solution and few rows.
    q, r = np.linalg.qr(changes)
    moves = lsq_linear(r, -q.T @ kappa, (-room, room)).x
    return smooth_loop(track.line.beside(spline @ moves), SPACING)


def _bend(values: Array, spacing: m) -> Array:
    """Second derivative along a closed line of points at equal distances."""
    ahead, behind = np.roll(values, -1, axis=0), np.roll(values, 1, axis=0)
    return (ahead - 2.0 * values + behind) / spacing**2


def _spline(points: int, knots: int) -> Array:
    """Values (points, knots) of uniform cubic B-splines along a closed line."""
    whole, u = np.divmod(np.arange(points) * knots / points, 1.0)
    weights = (
        (1.0 - u) ** 3 / 6.0,
        (4.0 - 6.0 * u**2 + 3.0 * u**3) / 6.0,
        (1.0 + 3.0 * u + 3.0 * u**2 - 3.0 * u**3) / 6.0,
        u**3 / 6.0,
    )
    table = np.zeros((points, knots))
    for k, weight in enumerate(weights):
        table[np.arange(points), (whole.astype(int) + k - 1) % knots] += weight
    return table
