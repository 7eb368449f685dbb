"""Linear-quadratic regulation of a car about a steady motion along a line.

The design is that of the book (Anderson and Moore, "Optimal Control: Linear Quadratic Methods"):
the gain K that minimises the sum of e'Qe + u'Ru for e⁺ = A e + B u, by the discrete Riccati
equation. A and B are those of the vehicle's own step, at the steady motion straight ahead at a
speed. What feeds forward is the steady motion in a bend, to first order in its curvature, and the
input that moves the car from one such motion to the next where the curvature changes.

The error of a car is taken in the frame of the line: where the state has its position and heading
(`x`, `y`, `yaw` as a rule) the error has the distance ahead of the reference, the distance to the
left of the line and the angle to the left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .. import record
from ..arrays import Array
from ..brief import shown
from ..checks import positive_step, vehicle_of
from ..errors import InvalidValue
from ..run.linearisation import linearise, linearise_continuous
from ..run.trim import Roles, Trim, roles_of, steady
from ..units import m_s, s

SLOPE = 1e-3
"""Curvature in 1/m over which the steady motion's slope is taken."""


class Steady(NamedTuple):
    """A motion whose shape stays: straight on or round a bend at a constant speed."""

    x: Array
    """The state, in the frame of the line."""
    u: Array
    """The input that holds it."""


@dataclass(frozen=True)
class Design:
    """A regulator for one speed."""

    v: m_s
    """Speed along the line."""
    states: tuple[str, ...]
    """Fields of the error, columns of K."""
    roles: Roles
    inputs: tuple[str, ...]
    """Fields of the input, rows of K."""
    K: Array
    """u = steady u - K e, (inputs, states)."""
    A: Array
    """Step of the error, (states, states)."""
    B: Array
    """Effect of the input on it, (states, inputs)."""
    straight: Steady
    """Steady motion straight on; only the fields of `states`."""
    slope: Steady
    """Its change per curvature, in the units of state and input times m."""
    swing: Array
    """Input that moves the state along with its steady value, per rate of the curvature over time;
    (inputs,), in the units of the input times m·s."""

    @property
    def poles(self) -> Any:
        """Eigenvalues of the closed loop A - B K, all inside the unit circle."""
        return np.linalg.eigvals(self.A - self.B @ self.K)


def gain(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike) -> Array:
    """The gain K (nu, nx) of u = -K e that minimises the sum of e'Qe + u'Ru for e⁺ = A e + B u."""
    from scipy.linalg import LinAlgError, solve_discrete_are

    a, b, q, r = (np.atleast_2d(np.asarray(part, dtype=float)) for part in (A, B, Q, R))
    _check_weights("Q", q, len(a), strict=False)
    _check_weights("R", r, b.shape[1], strict=True)
    try:
        p = solve_discrete_are(a, b, q, r)
    except (LinAlgError, ValueError) as error:
        raise InvalidValue(
            f"no regulator: {error}. Every motion that the weights do not see must die out by "
            "itself, and every other one must be within reach of the inputs"
        ) from error
    return np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)


def design(
    vehicle: Any,
    v: m_s,
    dt: s,
    Q: Any,
    R: Any,
    *,
    integrator: str = "exact",
) -> Design:
    """The regulator of a vehicle for one speed.

    Args:
        vehicle: a continuous one with a body, whose state has its position, heading and speed.
        v: speed along the line in m/s, greater than 0.
        dt: time between two commands in s; the vehicle's own step.
        Q: weights of the error, by field (what is not named has none), as a diagonal or a matrix.
            A field without one that nothing else depends on is no part of the error: the distance
            ahead, if it has none.
        R: weights of the input's difference from the steady one, likewise; all greater than 0.
            Inputs that are whole numbers, such as a gear, stay at their steady values.
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
    kept = [k for k in _kept(q, A) if q[k].any() or not drifting[k]]
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
    """A matrix of weights from a mapping of field names, a diagonal or a matrix."""
    if isinstance(values, Mapping):
        for field in values:
            if field not in fields:
                raise InvalidValue(record.unknown_name(name, field, fields))
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


def _kept(q: Array, A: Array) -> list[int]:
    """Fields of the error: not those without a weight that nothing else depends on.

    Such a one, the distance ahead for example, may drift for ever and cost nothing.
    """
    kept = list(range(len(A)))
    while True:
        idle = [k for k in kept if not q[k].any() and not A[[j for j in kept if j != k], k].any()]
        if not idle:
            return kept
        kept = [k for k in kept if k not in idle]
