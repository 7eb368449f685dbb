"""Speeds along a line: a speed controller, the fastest speeds of a car, and the line itself.

`torque` is proportional and integral control of speed by wheel torque, with limits and anti-windup.

`speed_profile` computes the fastest speeds of a car with limited grip. First the limit of each bend
alone, v² = a_lateral / |curvature|. Then the speed that the car can reach from the previous point,
and from which it can brake for the next: v dv/ds = a, with the a that the ellipse of grip leaves
besides cornering. Round a closed line, two passes make it periodic.

`least_curvature` is the line of least curvature within a lane. A line of curvature κ that is moved
to the left by distances e, small against its radii, has the curvature κ + e'' + κ² e, where primes
are derivatives by its length. So the smallest sum of squared curvatures is a linear least-squares
problem with bounds on e. The distances are a cubic B-spline along the lane: smooth, and within the
bounds if its coefficients are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.checks import not_negative, number, positive
from ..errors import InvalidValue
from ..geometry.line import Line
from ..ops import clip, logical_and, logical_or, where
from ..units import Allowed, N, Nm, Unit, m, m_s, m_s2, non_negative, s
from ..units import positive as above_zero
from .reference import Point

Nm_s_m = Annotated[float, Unit("N·m/(m/s)", length=1, mass=1, time=-1)]
"""Torque per speed error."""


class Params(NamedTuple):
    """Gains and limits of the speed controller, per wheel; positive torque drives forward."""

    k_p: Annotated[Nm_s_m, non_negative]
    """Torque per speed error."""
    k_i: Annotated[N, non_negative]
    """Growth rate of the torque per speed error, N·m/s per m/s: a force in SI."""
    tau_min: Nm
    """Smallest demanded torque; negative brakes."""
    tau_max: Nm
    """Largest demanded torque."""


class Memory(NamedTuple):
    """Memory of the speed controller."""

    integral: Nm = 0.0
    """Torque accumulated by the integral action."""


def torque(p: Params, memory: Memory, v: m_s, v_target: m_s, dt: s) -> tuple[Nm, Memory]:
    """Torque target for the coming `dt` and the memory after it.

    The integral is held while the torque is at a limit and the error would push it further beyond.
    """
    error = v_target - v
    demand = p.k_p * error + memory.integral
    pushing = logical_or(
        logical_and(demand > p.tau_max, error > 0.0), logical_and(demand < p.tau_min, error < 0.0)
    )
    gathered = memory.integral + where(pushing, 0.0 * error, p.k_i * error * dt)
    return clip(demand, p.tau_min, p.tau_max), Memory(gathered)


class Grip(NamedTuple):
    """Acceleration and speed limits for a speed profile."""

    a_lateral: m_s2
    """Lateral acceleration limit, greater than 0."""
    a_drive: m_s2
    """Driving acceleration limit, at least 0."""
    a_brake: m_s2
    """Braking deceleration limit, at least 0 (a deceleration, without sign)."""
    v_max: m_s
    """Speed limit, greater than 0; may be infinite."""


def speed_profile(line: Line, grip: Grip, *, v_end: m_s = inf) -> Array:
    """Fastest speeds at the points of a line, (n,); at an open end at most `v_end`."""
    grip, v_end = _checked(grip), _in("v_end", v_end, non_negative)
    bend, spacing = np.abs(line.curvature), np.diff(line.s)
    v = np.minimum(grip.v_max, np.sqrt(grip.a_lateral / np.maximum(bend, 1e-9)))
    if not line.closed:
        v[-1] = min(v[-1], v_end)
    v = _reached(v, bend, spacing, grip.a_lateral, grip.a_drive, line.closed)
    # Braking is driving with time reversed.
    back = _reached(v[::-1], bend[::-1], spacing[::-1], grip.a_lateral, grip.a_brake, line.closed)
    return back[::-1]


def _checked(grip: Grip) -> Grip:
    """Grip limits as floats; raises InvalidValue for limits that are not allowed."""
    return Grip(
        positive("grip.a_lateral", grip.a_lateral, "m/s²"),
        not_negative("grip.a_drive", grip.a_drive, "m/s²"),
        not_negative("grip.a_brake", grip.a_brake, "m/s²"),
        _in("grip.v_max", grip.v_max, above_zero),
    )


def _in(name: str, value: m_s, allowed: Allowed) -> m_s:
    """Return a speed within an allowed range that includes infinity; raises otherwise."""
    v = number(name, value, "m/s")
    if v not in allowed:
        raise InvalidValue(f"{name} = {v:g} m/s must be {allowed}")
    return v


def _reached(
    v: Array, bend: Array, spacing: Array, a_lateral: m_s2, a_along: m_s2, closed: bool
) -> Array:
    speeds, bends, steps = v.tolist(), bend.tolist(), spacing.tolist()
    for _ in range(2 if closed else 1):
        for k, step in enumerate(steps):
            share = min(speeds[k] ** 2 * bends[k] / a_lateral, 1.0)
            a = a_along * sqrt(1.0 - share * share)
            speeds[k + 1] = min(speeds[k + 1], sqrt(speeds[k] ** 2 + 2.0 * a * step))
        if closed:
            speeds[0] = min(speeds[0], speeds[-1])
    return np.array(speeds)


@dataclass(frozen=True, eq=False)
class Course:
    """Line with speeds, evaluated at one distance at a time; a closed line continues lap after lap.

    `Reference` is the counterpart for compiled code and whole arrays.
    """

    line: Line
    v: Array
    """Speed at each point of the line, (n,), in m/s."""

    @classmethod
    def of(cls, points: ArrayLike, v: Any, *, closed: bool) -> Course:
        """Course through points (n, 2) in m, at one speed or one for each point."""
        line = Line.through(points, closed=closed)
        speeds = np.broadcast_to(v, len(line.vertices))
        return cls(line, np.append(speeds, speeds[0]) if closed else speeds)

    @classmethod
    def fastest(cls, points: ArrayLike, grip: Grip, *, closed: bool, v_end: m_s = np.inf) -> Course:
        """Course through points (n, 2) in m, as fast as its bends allow; see `speed_profile`."""
        line = Line.through(points, closed=closed)
        return cls(line, speed_profile(line, grip, v_end=v_end))

    @property
    def length(self) -> m:
        """Length of a lap, or of the whole line if it is open."""
        return self.line.length

    @property
    def time(self) -> s:
        """Time to drive the line once at its speeds."""
        return float((np.diff(self.line.s) / (0.5 * (self.v[1:] + self.v[:-1]))).sum())

    def at(self, distance: m) -> Point:
        """Point at a distance along the line; an open line is extended straight beyond its ends."""
        spot = self.line.spot(distance)
        x, y, heading, curvature = self.line.point(spot)
        # v² is linear along the segment; beyond the ends the speed stays constant.
        (v_0, v_1), (s_0, s_1) = (
            values[spot.row : spot.row + 2].tolist() for values in (self.v, self.line.s)
        )
        a = 0.0 if spot.beyond else (v_1 * v_1 - v_0 * v_0) / (2.0 * (s_1 - s_0))
        return Point(x, y, heading, curvature, v_0 + spot.share * (v_1 - v_0), a)


KNOT: m = 5.0
"""Approximate spacing of the knots of the spline."""


def least_curvature(line: Line, room: m) -> Array:
    """Offsets (n,) in m to the left of a closed line that give the line of least curvature.

    The points of the line are at equal distances. Offsets are at most `room` to either side, which
    is finite and at least 0.
    """
    room = not_negative("room", room, "m")
    if not line.closed:
        raise InvalidValue("line is open; it must be closed, as Line.through(points, closed=True)")
    if room == 0.0:
        return np.zeros(len(line.vertices))
    from scipy.optimize import lsq_linear

    points, kappa = len(line.vertices), line.curvature[:-1]
    # Uniform cubic B-splines along the closed line, (points, knots).
    knots = round(line.length / KNOT)
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
    spline = table
    changes = _bend(spline, line.length / points) + (kappa * kappa)[:, None] * spline
    # The triangular factor of the least-squares problem has the same solution and few rows.
    q, r = np.linalg.qr(changes)
    return spline @ lsq_linear(r, -q.T @ kappa, (-room, room)).x


def _bend(values: Array, spacing: m) -> Array:
    """Second derivative along a closed line of equally spaced points."""
    ahead, behind = np.roll(values, -1, axis=0), np.roll(values, 1, axis=0)
    return (ahead - 2.0 * values + behind) / spacing**2
