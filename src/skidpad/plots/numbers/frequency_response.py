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
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.linearisation import PAIRS, linearise_acceleration, linearise_continuous
from .trim import straight

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
    lateral_acceleration: Complex | None
    """In m/s² per rad; None for a vehicle that has no such output."""


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
    two differ by an actuator. `inputs` replaces those of steady driving.
    """
    system = steering_system(vehicle, *straight(vehicle, speed, inputs), input)
    hertz = np.atleast_1d(np.asarray(frequency, dtype=float))
    if not (hertz.size and np.isfinite(hertz).all() and (hertz > 0.0).all()):
        raise InvalidValue("frequency must be finite and greater than 0 Hz")
    answers = system.response(hertz)
    return Response(hertz, answers[0], answers[1] if len(answers) > 1 else None)


def steering_system(vehicle: Vehicle, x: Any, u: Any, input: str = "steer") -> LinearSystem:
    """The vehicle around a state and input, from steering to yaw rate and lateral acceleration."""
    model = vehicle.model
    states, commands = record.names(model.State), record.names(model.Input)
    if "omega" not in states:
        raise InvalidValue(
            f"{vehicle.name!r} has no yaw rate omega among its states: {', '.join(states)}"
        )
    _, A, B = linearise_continuous(vehicle, x, u)
    rows = [np.eye(len(states))[states.index("omega")]]
    direct, outputs = [np.zeros(len(commands))], ["omega"]
    if any(set(pair) <= set(record.names(model.Outputs)) for pair in PAIRS):
        acceleration = linearise_acceleration(vehicle, x, u, a_long_max=1.0, a_lat_max=1.0)
        rows.append(acceleration.across_x)
        direct.append(acceleration.across_u)
        outputs.append("a_y")
    C, D = np.array(rows), np.array(direct)
    if input == "steer" and "steer" in states:
        # The wheels' angle is prescribed: its own equation, the actuator's, drops out.
        at = states.index("steer")
        rest = np.delete(np.arange(len(states)), at)
        matrices = (A[np.ix_(rest, rest)], A[rest, at], C[:, rest], C[:, at])
    else:
        name = input.removeprefix("u_")
        if input not in ("steer", "u_steer") or name not in commands:
            raise InvalidValue(
                f"input = {input!r}: {vehicle.name!r} has no such steering; allowed are steer "
                f"(a state or an input) and u_steer (an input), of the inputs {', '.join(commands)}"
            )
        matrices = (A, B[:, commands.index(name)], C, D[:, commands.index(name)])
    return _reduced(LinearSystem(*matrices, tuple(outputs)))


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
