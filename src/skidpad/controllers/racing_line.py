"""The line of least curvature within a lane.

A line of curvature κ that is moved to the left by distances e, small against its radii, has the
curvature κ + e'' + κ² e, where the dashes are derivatives over its length. So the smallest sum of
squared curvatures is a linear least-squares problem with bounds on e. The distances are a cubic
B-spline along the lane: smooth, and within the bounds that its coefficients are.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..checks import not_negative
from ..errors import InvalidValue
from ..plane.line import Line
from ..units import m

__all__ = ["least_curvature"]

KNOT: m = 5.0
"""Distance between the knots of the spline, about."""


def least_curvature(line: Line, room: m) -> Array:
    """How far to the left of the points of a closed line, at equal distances, to drive: (n,) in m,
    at most `room` to either side, which is finite and at least 0."""
    room = not_negative("room", room, "m")
    if not line.closed:
        raise InvalidValue("line is open; it must be closed, as Line.through(points, closed=True)")
    if room == 0.0:
        return np.zeros(len(line.vertices))
    from scipy.optimize import lsq_linear

    points, kappa = len(line.vertices), line.curvature[:-1]
    spline = _spline(points, round(line.length / KNOT))
    changes = _bend(spline, line.length / points) + (kappa * kappa)[:, None] * spline
    # Its triangular factor has the same solution and few rows.
    q, r = np.linalg.qr(changes)
    return spline @ lsq_linear(r, -q.T @ kappa, (-room, room)).x


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
