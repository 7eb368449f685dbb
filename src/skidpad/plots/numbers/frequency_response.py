"""How a vehicle answers small sinusoidal steering: yaw rate and lateral acceleration.

From the exact linearisation of the vehicle's own equations. States that have no way to the answers,
such as the position, are left out, so that the remaining system is small and well conditioned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import record
from ...arrays import Array
from ...body import Wish, body_of
from ...errors import InvalidValue
from ...model import Vehicle
from .trim import straight, symbols

Complex = NDArray[np.complex128]


class LinearSystem(NamedTuple):
    """x' = A x + B u, y = C x + D u, around a point."""

    A: Array
    """(n, n)"""
    B: Array
    """(n,): one input."""
    C: Array
    """(outputs, n)"""
    D: Array
    """(outputs,)"""
    outputs: tuple[str, ...]

    def response(self, frequency: ArrayLike) -> Complex:
        """Complex amplitude of the outputs (outputs, n) per input, at frequencies in Hz."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequency, dtype=float))
        systems = s[:, None, None] * np.eye(len(self.A)) - self.A
        states = np.linalg.solve(systems, np.broadcast_to(self.B, (len(s), len(self.B)))[..., None])
        return self.C @ states[..., 0].T + self.D[:, None]


class Response(NamedTuple):
    """What `steering_response` gives, per rad of steering."""

    frequency: Array
    """In Hz."""
    yaw_rate: Complex
    """In 1/s: rad/s per rad."""
    lateral_acceleration: Complex
    """In m/s² per rad."""


def steering_response(
    vehicle: Vehicle,
    speed: float,
    frequency: ArrayLike,
    *,
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
) -> Response:
    """Answers to steering in straight driving at `speed` in m/s, at frequencies (n,) in Hz.

    `input` is what moves: "steer", the angle of the wheels, or "u_steer", the command, where the
    two differ by an actuator. `inputs` replaces those of steady driving. The answers are those of
    the reference point of the vehicle's body.
    """
    system = steering_system(vehicle, *straight(vehicle, speed, inputs), input)
    hertz = np.atleast_1d(np.asarray(frequency, dtype=float))
    if not (hertz.size and np.isfinite(hertz).all() and (hertz > 0.0).all()):
        raise InvalidValue("frequency must be finite and greater than 0 Hz")
    v_y, omega = system.response(hertz)
    # a_y = v_y' + v_x omega, where v_x is steady.
    return Response(hertz, omega, 2j * np.pi * hertz * v_y + speed * omega)


def steering_system(vehicle: Vehicle, x: Any, u: Any, input: str = "steer") -> LinearSystem:
    """The vehicle around a state and input, from steering to the body's `v_y` and `omega`."""
    if not vehicle.model.continuous:
        raise InvalidValue(f"{vehicle.name!r} is a discrete model: it has no linearisation in time")
    (A, B), (C, D), (angle_x, angle_u), by_wish = _derivatives(vehicle, x, u)
    states = np.flatnonzero(angle_x)
    if input == "steer" and len(states) == 1:
        # The wheels' angle is prescribed: its own equation, the actuator's, drops out.
        at = states[0]
        rest = np.delete(np.arange(len(A)), at)
        per_angle = 1.0 / angle_x[at]
        columns = A[rest, at] * per_angle, C[:, rest], C[:, at] * per_angle
        return _reduced(LinearSystem(A[np.ix_(rest, rest)], *columns, ("v_y", "omega")))
    column = _per_angle(angle_u) if input == "steer" else by_wish
    units = [field.unit.symbol for field in record.fields(vehicle.Input)]
    angles = all(units[k] == "rad" for k in np.flatnonzero(column))
    if input not in ("steer", "u_steer") or not angles or not column.any():
        raise InvalidValue(
            f"input = {input!r}: {vehicle.name!r} has no such steering; allowed are steer (the "
            "angle of its wheels, where its body has one) and u_steer (where an input commands "
            f"that angle), of the inputs {', '.join(record.names(vehicle.Input))}"
        )
    return _reduced(LinearSystem(A, B @ column, C, D @ column, ("v_y", "omega")))


def _per_angle(angle_u: Array) -> Array:
    """The change of the one input that is the angle of the wheels, per rad of it."""
    moving = angle_u != 0.0
    return np.where(moving, 1.0 / np.where(moving, angle_u, 1.0), 0.0) * (moving.sum() == 1)


def _derivatives(vehicle: Vehicle, x: Any, u: Any) -> tuple[Any, Any, Any, Array]:
    """Derivatives by state and input of the state's rate, of the body's `v_y` and `omega` and of
    the angle of its wheels, and that of the commanded input by the wish for that angle."""
    import casadi as ca

    body, (columns, x_symbols, u_symbols, p, rate) = body_of(vehicle, "steering"), symbols(vehicle)
    if body.steer is None:
        raise InvalidValue(f"{vehicle.name!r} does not steer: its body tells no angle of wheels")
    velocity = body.velocity(x_symbols, u_symbols, p)
    angle = body.steer(x_symbols, u_symbols, p)
    wish = type(columns[0]).sym("steer")
    command = ca.vertcat(*record.flatten(body.command(x_symbols, Wish(steer=wish), p)))
    values = rate, ca.vertcat(velocity.v_y, velocity.omega), angle
    jacobians = [ca.jacobian(value, column) for value in values for column in columns[:2]]
    function = ca.Function(
        "derivatives", [*columns, wish], [*jacobians, ca.jacobian(command, wish)]
    )
    rows = (np.array(record.flatten(part), dtype=float) for part in (x, u, vehicle.params))
    A, B, C, D, *angles, by_wish = (np.asarray(value) for value in function(*rows, 0.0))
    return (A, B), (C, D), tuple(row.ravel() for row in angles), by_wish.ravel()


def _reduced(system: LinearSystem) -> LinearSystem:
    """Without the states that have no way to an output."""
    seen = (system.C != 0.0).any(axis=0)
    while True:
        more = seen | (system.A[seen] != 0.0).any(axis=0)
        if (more == seen).all():
            break
        seen = more
    return system._replace(A=system.A[np.ix_(seen, seen)], B=system.B[seen], C=system.C[:, seen])


def phase(answer: Complex) -> Array:
    """Phase in degrees along a curve of complex amplitudes, without jumps, within ±180° at its
    start."""
    angle = np.rad2deg(np.unwrap(np.angle(answer)))
    return angle - 360.0 * np.round(angle[0] / 360.0)
