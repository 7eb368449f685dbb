"""Linear-quadratic regulation of a car about a steady motion along a line, as a policy.

The policy has gains scheduled over speed and the steady motion over curvature. The design is that
of Anderson and Moore, "Optimal Control: Linear Quadratic Methods": the gain K that minimises the
sum of e'Qe + u'Ru for e⁺ = A e + B u, by the discrete Riccati equation. A and B are those of the
vehicle's own step, at the steady motion straight ahead at a speed. The feed-forward is the steady
motion in a bend, to first order in its curvature, plus the input that moves the car from one such
motion to the next where the curvature changes.

The error of a car is taken in the frame of the line: where the state has its position and heading
(usually `x`, `y`, `yaw`) the error has the distance ahead of the reference, the distance to the
left of the line and the angle to the left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import record
from ..core.arrays import Array
from ..core.checks import positive, positive_step
from ..core.files import shown
from ..core.model import vehicle_of
from ..core.policy import Policy
from ..errors import InvalidValue
from ..ops import clip, lookup
from ..run.linearisation import linearise, linearise_continuous
from ..run.trim import Roles, Trim, roles_of, steady
from ..units import m, m_s, one, s
from .car import Car, car_of, push
from .path_following import Seen, heading_error, locate, locate_along
from .reference import KNOTS, Point, Reference, reference_of

SLOPE = 1e-3
"""Curvature in 1/m over which the derivative of the steady motion is taken."""


class Steady(NamedTuple):
    """Steady motion of a vehicle: straight ahead or in a bend, at a constant speed."""

    x: Array
    """State, in the frame of the line."""
    u: Array
    """Input that maintains the motion."""


@dataclass(frozen=True)
class Design:
    """Linear-quadratic regulator designed for one speed."""

    v: m_s
    """Speed along the line."""
    states: tuple[str, ...]
    """Fields of the error, the columns of K."""
    roles: Roles
    inputs: tuple[str, ...]
    """Fields of the input, the rows of K."""
    K: Array
    """Gain in u = steady u - K e, (inputs, states)."""
    A: Array
    """Transition matrix of the error over one step, (states, states)."""
    B: Array
    """Effect of the input on the error over one step, (states, inputs)."""
    straight: Steady
    """Steady motion straight ahead; only the fields of `states`."""
    slope: Steady
    """Derivative of the steady motion by curvature, in the units of state and input times m."""
    swing: Array
    """Additional input that makes the state follow its steady value, per time derivative of the
    curvature.

    (inputs,), in the units of the input times m·s.
    """

    @property
    def poles(self) -> Any:
        """Eigenvalues of the closed loop A - B K, all inside the unit circle."""
        return np.linalg.eigvals(self.A - self.B @ self.K)


def gain(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> Array:
    """LQR gain K (nu, nx) of u = -K e, minimising the sum of e'Qe + u'Ru for e⁺ = A e + B u."""
    from scipy.linalg import LinAlgError, solve_discrete_are

    a, b, q, r = (np.atleast_2d(np.asarray(part, dtype=float)) for part in (A, B, Q, R))
    _check_weights("Q", q, len(a), strict=False)
    _check_weights("R", r, b.shape[1], strict=True)
    try:
        p = solve_discrete_are(a, b, q, r)
    except (LinAlgError, ValueError) as error:
        raise InvalidValue(
            f"no regulator exists: {error}. Motions without weight must decay by themselves, and "
            "the inputs must control all others"
        ) from error
    return np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)


def design(vehicle: Any, v: m_s, dt: s, Q: Any, R: Any, *, integrator: str = "exact") -> Design:
    """Design the linear-quadratic regulator of a vehicle for one speed.

    Args:
        vehicle: a continuous vehicle with a body, whose state has its position, heading and speed.
        v: speed along the line in m/s, greater than 0.
        dt: control step in s.
        Q: weights of the error, by field (0 if missing), as a diagonal or a matrix. A field without
            weight on which no other field depends is excluded from the error, such as the distance
            ahead.
        R: weights of the input's difference from the steady input, likewise; all greater than 0.
            Integer inputs, such as a gear, stay at their steady values.
        integrator: how the linear motion becomes a step; as in `skidpad.linearise`.
    """
    vehicle, dt = vehicle_of(vehicle), positive_step(dt, "float64")
    states, inputs = record.names(vehicle.State), record.names(vehicle.Input)
    q, r = weights("Q", states, Q), weights("R", inputs, R)
    ahead, left, right = (_numbers(steady(vehicle, v, kappa)) for kappa in (0.0, SLOPE, -SLOPE))
    slope = Steady(*((a - b) / (2.0 * SLOPE) for a, b in zip(left, right, strict=True)))
    _, A, B = linearise(vehicle, *ahead, dt, integrator)
    direct = linearise_continuous(vehicle, *ahead).B
    allowed = [leaf.allowed for leaf in record.fields(vehicle.Input)]
    whole = [k for k, values in enumerate(allowed) if values is not None and values.whole]
    B[:, whole] = direct[:, whole] = 0.0
    drifting = [leaf.drifts for leaf in record.fields(vehicle.State)]
    kept = [k for k in _error_fields(q, A) if q[k].any() or not drifting[k]]
    part = np.ix_(kept, kept)
    K = gain(A[part], B[kept], q[part], r)
    return Design(
        float(v),
        tuple(states[k] for k in kept),
        roles_of(vehicle),
        inputs,
        K,
        A[part],
        B[kept],
        Steady(ahead.x[kept], ahead.u),
        Steady(slope.x[kept], slope.u),
        np.asarray(np.linalg.lstsq(direct, slope.x, rcond=1e-9)[0], dtype=np.float64),
    )


def _numbers(motion: Trim) -> Steady:
    return Steady(*(np.array(record.flatten(part), dtype=float) for part in motion[:2]))


def weights(name: str, fields: Sequence[str], values: Any) -> Array:
    """Weight matrix (n, n) from a mapping of field names, a diagonal (n,) or a matrix."""
    if isinstance(values, Mapping):
        record.check_names(name, values, fields)
        values = [values.get(field, 0.0) for field in fields]
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} must be numbers, got {shown(values)}") from None
    matrix = np.diag(array) if array.ndim == 1 else array
    _check_weights(name, matrix, len(fields), strict=False)
    return matrix


def _check_weights(name: str, matrix: Array, size: int, *, strict: bool) -> None:
    if matrix.shape != (size, size):
        raise InvalidValue(f"{name} has shape {matrix.shape}; expected ({size}, {size})")
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
        raise InvalidValue(f"{name} must be finite and symmetric")
    least = float(np.linalg.eigvalsh(matrix).min())
    slack = 1e-12 * float(np.abs(matrix).max(initial=0.0))
    if least < -slack or (strict and least <= 0.0):
        rule = "all must be greater than 0" if strict else "none may be negative"
        raise InvalidValue(f"{name} has the eigenvalue {least:g}; {rule}")


def _error_fields(q: Array, A: Array) -> list[int]:
    """Fields of the error, leaving out fields that have no weight and affect no other field.

    For example, the distance ahead may drift without bound at no cost.
    """
    kept = list(range(len(A)))
    while True:
        idle = [k for k in kept if not q[k].any() and not A[[j for j in kept if j != k], k].any()]
        if not idle:
            return kept
        kept = [k for k in kept if k not in idle]


Bound = tuple[float, float] | None
"""Lowest and highest value of an input, or None."""


class Memory(NamedTuple):
    """Memory of a regulator whose line is compiled into it."""

    progress: m = 0.0
    """Distance along the line."""


class Params(NamedTuple):
    """Parameters that can be changed without a new design."""

    strength: one = 1.0
    """Factor on all gains; 1 for the design."""
    feed_forward: one = 1.0
    """Share of the feed-forward of the steady motion in a bend."""


def policy(
    vehicle: Any,
    dt: s,
    speeds: Any,
    Q: Any,
    R: Any,
    *,
    path: Reference | None = None,
    knots: int = KNOTS,
    integrator: str = "exact",
    limits: Mapping[str, float] | None = None,
    car: Car | None = None,
) -> Policy:
    """Gain-scheduled regulator, with gains interpolated linearly between several speeds.

    Args:
        vehicle, dt, Q, R, integrator: as in `design`.
        speeds: one speed in m/s for fixed gains, or several, increasing.
        path: line to compile into the policy; without it the policy takes `reference.rows(steps,
            dt)`.
        knots: number of points of the compiled-in line.
        limits: largest magnitude of inputs by name; other inputs keep to the range that the
            vehicle's body defines. `math.inf` is no limit.
        car: functions to read and command the vehicle; made from its body if None.

    With a weight for the distance ahead (`x`) in Q the car follows the times of the reference, so
    `path` is not allowed.
    """
    vehicle = vehicle_of(vehicle)
    grid = np.atleast_1d(np.asarray(speeds, dtype=float))
    if grid.ndim != 1 or not len(grid) or (np.diff(grid) <= 0.0).any():
        raise InvalidValue(f"speeds = {speeds!r} must be one speed, or several that increase")
    designs = [design(vehicle, v, dt, Q, R, integrator=integrator) for v in grid]
    return scheduled(vehicle, designs, path=path, knots=knots, limits=limits, car=car)


def scheduled(
    vehicle: Any,
    designs: Sequence[Design],
    *,
    path: Reference | None = None,
    knots: int = KNOTS,
    limits: Mapping[str, float] | None = None,
    car: Car | None = None,
) -> Policy:
    """Policy of regulators for increasing speeds; see `policy`."""
    known, roles = car or car_of(vehicle), designs[0].roles
    bounds = _bounds(vehicle, designs[0].inputs, limits or {})
    if path is None:

        def follow_rows(x: Any, r: Point, p: Params) -> Any:
            seen = locate(r, *roles.place(x))
            return vehicle.Input(*command(designs, known, bounds, x, seen, p))

        return Policy(follow_rows, Reference=Point, Params=Params, name="lqr")
    if roles.ahead in designs[0].states:
        raise InvalidValue(
            f"Q weighs {roles.ahead}: only references by time say where the car is to be"
        )
    line = reference_of(path).table(knots)

    def follow_path(x: Any, m: Memory, p: Params) -> tuple[Any, Memory]:
        seen, here = locate_along(line, m.progress, *roles.place(x))
        return vehicle.Input(*command(designs, known, bounds, x, seen, p)), Memory(here)

    return Policy(follow_path, Memory, Params=Params, name="lqr")


def command(
    designs: Sequence[Design], car: Car, bounds: Sequence[Bound], x: Any, seen: Seen, p: Params
) -> list[Any]:
    """Inputs in the order of the designs: the steady motion's inputs plus the feedback."""
    error = _error(designs, x, seen, p)
    straight = _blend(designs, seen.v, lambda d: d.straight.u)
    turn = _blend(designs, seen.v, lambda d: d.slope.u)
    swing = _blend(designs, seen.v, lambda d: d.swing)
    gains = _blend(designs, car.speed(x), lambda d: d.K.ravel())
    ahead = [share * seen.a for share in push(car, type(x))]
    values: list[Any] = []
    for i, bound in enumerate(bounds):
        row = gains[i * len(error) : (i + 1) * len(error)]
        back = reduce(add, (k * e for k, e in zip(row, error, strict=True)))
        bend = seen.curvature * turn[i] + seen.sharpness * seen.v * swing[i]
        value = straight[i] + ahead[i] + p.feed_forward * bend - p.strength * back
        values.append(value if bound is None else clip(value, *bound))
    return values


def _error(designs: Sequence[Design], x: Any, seen: Seen, p: Params) -> list[Any]:
    """State minus the steady state of the reference, in the frame of the line."""
    roles = designs[0].roles
    yaw = getattr(x, roles.heading)
    measured = {
        roles.ahead: seen.ahead,
        roles.left: seen.left,
        roles.heading: heading_error(yaw, seen.heading),
    }
    # The speed error counts even if the reference's speed is outside the range of the designs.
    own: dict[str, Any] = {roles.speed: seen.v}
    states = designs[0].states
    speeds = np.array([name in own for name in states])
    straight = _blend(designs, seen.v, lambda d: d.straight.x - speeds * d.v)
    turn = _blend(designs, seen.v, lambda d: d.slope.x)
    error: list[Any] = []
    for k, name in enumerate(states):
        value = measured[name] if name in measured else getattr(x, name)
        steady = own.get(name, 0.0) + straight[k] + p.feed_forward * seen.curvature * turn[k]
        error.append(value - steady)
    return error


def _blend(designs: Sequence[Design], v: Any, column: Any) -> list[Any]:
    """Values interpolated between the designs' speeds, constant beyond the ends."""
    rows = np.array([column(d) for d in designs])
    if len(designs) == 1:
        return rows[0].tolist()
    knots = [d.v for d in designs]
    return [lookup(v, knots, values) for values in rows.T.tolist()]


def _bounds(vehicle: Any, inputs: Sequence[str], limits: Mapping[str, float]) -> list[Bound]:
    """Lowest and highest value of each input; None for an input without limits."""
    own = {} if vehicle.model.body is None else vehicle.limits.inputs
    bounds: dict[str, tuple[float, float]] = {name: own[name] for name in inputs if name in own}
    for name, value in limits.items():
        if name not in inputs:
            raise InvalidValue(f"limits: {name!r} is not an input; allowed are {', '.join(inputs)}")
        if value != inf:
            positive(f"limits[{name!r}]", value)
        bounds[name] = (-float(value), float(value))
    free = (-inf, inf)
    return [None if bounds.get(name, free) == free else bounds[name] for name in inputs]
