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
from ..body import body_of, own_fields
from ..checks import positive, positive_step, vehicle_of
from ..errors import InvalidValue
from ..units import m_s, s

SLOPE = 1e-3
"""Curvature in 1/m over which the steady motion's slope is taken."""
TRIMMED = 1e-10
"""Rates, in SI units, below which a motion is steady."""


class Steady(NamedTuple):
    """A motion whose shape stays: straight on or round a bend at a constant speed."""

    x: Array
    """The state, in the frame of the line."""
    u: Array
    """The input that holds it."""


class Roles(NamedTuple):
    """The fields of a state that a line is compared with."""

    ahead: str
    """Position along the world's x axis."""
    left: str
    """Position along the world's y axis."""
    heading: str
    speed: str

    def place(self, x: Any) -> tuple[Any, Any]:
        """The position in a state."""
        return getattr(x, self.ahead), getattr(x, self.left)


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
        integrator: how the linear motion becomes a step; as in `skidpad.linearise`.
    """
    from ..run.linearisation import linearise, linearise_continuous

    vehicle, dt = vehicle_of(vehicle), positive_step(dt, "float64")
    states, inputs = record.names(vehicle.State), record.names(vehicle.Input)
    q, r = weights("Q", states, Q), weights("R", inputs, R)
    straight, left, right = (steady(vehicle, v, kappa) for kappa in (0.0, SLOPE, -SLOPE))
    slope = Steady(*((a - b) / (2.0 * SLOPE) for a, b in zip(left, right, strict=True)))
    _, A, B = linearise(vehicle, straight.x, straight.u, dt, integrator)
    direct = linearise_continuous(vehicle, straight.x, straight.u).B
    kept = _kept(q, A)
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
        Steady(straight.x[kept], straight.u),
        Steady(slope.x[kept], slope.u),
        np.asarray(np.linalg.lstsq(direct, slope.x, rcond=1e-9)[0], dtype=np.float64),
    )


def steady(vehicle: Any, v: m_s, curvature: float) -> Steady:
    """The motion along the x axis at speed v with this curvature of the path, positive to the left.

    All rates but those of position and yaw are zero. Where several inputs do the same (the torques
    of four wheels), they share the work.
    """
    positive("v", v, "m/s")
    roles, fields = roles_of(vehicle), record.names(vehicle.State)
    rates = dict.fromkeys(fields, 0.0)
    rates |= {roles.ahead: float(v), roles.heading: float(v) * curvature}
    start = record.build(vehicle.State, **{roles.speed: v})
    if vehicle.model.settle is not None:  # wheels that roll, springs under their load
        start = vehicle.model.settle(start, vehicle.params)
    guess = np.concatenate([record.flatten(start), record.flatten(record.build(vehicle.Input))])
    solution = _solved(vehicle, guess, np.array([rates[name] for name in fields]))
    if solution is None:
        raise InvalidValue(
            f"{vehicle.name!r} has no steady motion at v = {v:g} m/s and curvature "
            f"{curvature:g} 1/m"
        )
    x = record.unflatten(vehicle.State, solution[: len(fields)].tolist())
    if vehicle.model.settle is not None:
        x = vehicle.model.settle(x, vehicle.params)
    return Steady(np.array(record.flatten(x)), solution[len(fields) :])


def _solved(vehicle: Any, guess: Array, rates: Array) -> Array | None:
    """State and input with the wanted rates, by Newton's method; None if it finds none.

    Of several solutions it is the one that changes the guess least.
    """
    from ..run.linearisation import linearise_continuous

    z, size = guess, len(rates)
    for _ in range(30):
        rate, A, B = linearise_continuous(vehicle, z[:size], z[size:])
        rest, slope = rate - rates, np.hstack([A, B])
        if not np.isfinite(rest).all() or not np.isfinite(slope).all():
            return None
        if np.abs(rest).max() < TRIMMED:
            return z
        z = z - np.linalg.lstsq(slope, rest, rcond=1e-12)[0]
    return None


def weights(name: str, fields: Sequence[str], values: Any) -> Array:
    """A matrix of weights from a mapping of field names, a diagonal or a matrix."""
    if isinstance(values, Mapping):
        for field in values:
            if field not in fields:
                raise InvalidValue(record.unknown_name(name, field, fields))
        values = [values.get(field, 0.0) for field in fields]
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{name} must be numbers, got {values!r}") from None
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


def roles_of(vehicle: Any) -> Roles:
    """Where the state of a vehicle has its position, heading and speed."""
    body, p = body_of(vehicle, "a regulator"), vehicle.params
    at_rest = record.build(vehicle.Input)

    def compared(x: Any) -> tuple[Any, ...]:
        return (*body.pose(x, p), body.speed_of(x, at_rest, p))

    fields = own_fields(vehicle.State, compared)
    if not vehicle.model.continuous or None in fields:
        raise InvalidValue(
            f"{vehicle.name!r} must be a continuous model with its position, heading and speed in "
            "its state"
        )
    return Roles(*(str(field) for field in fields))
