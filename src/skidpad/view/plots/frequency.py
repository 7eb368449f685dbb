"""Bode diagram of a vehicle's response to steering: yaw rate and lateral acceleration.

It uses the exact linearisation of the vehicle's own equations. States that do not affect the
outputs, such as the position, are removed, so that the system is small and well conditioned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core import record
from ...core.arrays import Array
from ...core.body import Demand, body_of
from ...core.checks import floats
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.linearisation import straight
from . import style
from .style import FilePath, Size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Complex = NDArray[np.complex128]


class LinearSystem(NamedTuple):
    """Linearised system x' = A x + B u, y = C x + D u."""

    A: Array
    """(n, n)"""
    B: Array
    """(n,): single input."""
    C: Array
    """(outputs, n)"""
    D: Array
    """(outputs,)"""
    outputs: tuple[str, ...]

    def response(self, frequency: ArrayLike) -> Complex:
        """Complex amplitudes (outputs, n) per unit input, at frequencies (n,) in Hz."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequency, dtype=float))
        systems = s[:, None, None] * np.eye(len(self.A)) - self.A
        states = np.linalg.solve(systems, np.broadcast_to(self.B, (len(s), len(self.B)))[..., None])
        return self.C @ states[..., 0].T + self.D[:, None]


class Response(NamedTuple):
    """Frequency response to steering, per rad of steering."""

    frequency: Array
    """Frequencies in Hz."""
    yaw_rate: Complex
    """Yaw rate in 1/s: rad/s per rad."""
    lateral_acceleration: Complex
    """Lateral acceleration in m/s² per rad."""


def steering_response(
    vehicle: Vehicle,
    speed: float,
    frequency: ArrayLike,
    *,
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
) -> Response:
    """Frequency response to steering when driving straight at `speed` in m/s, at frequencies (n,)
    in Hz.

    `input` is "steer", the road-wheel angle, or "u_steer", the command, where the two differ by
    an actuator. `inputs` replaces inputs of the steady state. Outputs are at the reference point
    of the vehicle's body.
    """
    if input not in ("steer", "u_steer"):
        raise InvalidValue(f"input = {input!r} is unknown; allowed are steer and u_steer")
    system, angles = steering_system(vehicle, *straight(vehicle, speed, inputs)[:2])
    if input == "u_steer" and not angles:
        raise InvalidValue(
            f"input = 'u_steer': no input of {vehicle.name!r} is the angle to steer to; it has "
            f"{', '.join(record.names(vehicle.Input))}"
        )
    hertz = np.atleast_1d(floats("frequency", frequency))
    if not (hertz.size and np.isfinite(hertz).all() and (hertz > 0.0).all()):
        raise InvalidValue("frequency must be finite and greater than 0 Hz")
    v_y, omega, steer = system.response(hertz)
    if not steer.all():
        raise InvalidValue(f"the wheels of {vehicle.name!r} do not follow what its body commands")
    # Whatever moves the wheels: a motion per angle is that per command over the angle per command.
    per = steer if input == "steer" else 1.0
    # a_y = v_y' + v_x omega, where v_x is steady.
    return Response(hertz, omega / per, (2j * np.pi * hertz * v_y + speed * omega) / per)


def steering_system(vehicle: Vehicle, x: Any, u: Any) -> tuple[LinearSystem, bool]:
    """Linearised vehicle about a state and input.

    The input is the command of a steering angle, the outputs are `v_y`, `omega` and the road-wheel
    angle. Also returns whether the commanded quantity is an angle.
    """
    if not vehicle.model.continuous:
        raise InvalidValue(f"{vehicle.name!r} is a discrete model: it has no linearisation in time")
    A, B, C, D, by_demand = _derivatives(vehicle, x, u)
    units = [field.unit.symbol for field in record.fields(vehicle.Input)]
    angles = all(units[k] == "rad" for k in np.flatnonzero(by_demand))
    return _reduce(
        LinearSystem(A, B @ by_demand, C, D @ by_demand, ("v_y", "omega", "steer"))
    ), angles


def _derivatives(vehicle: Vehicle, x: Any, u: Any) -> list[Array]:
    """Jacobians by state and input of the state's rate and of the body's `v_y`, `omega` and
    road-wheel angle; then the derivative of the commanded input (nu,) by the demand for that
    angle."""
    import casadi as ca

    body, model, traced = body_of(vehicle, "steering"), vehicle.model, vehicle.casadi()
    if body.steer is None:
        raise InvalidValue(f"{vehicle.name!r} does not steer: its body has no steering angle")
    columns = traced.x, traced.u, traced.p
    states, given, p = (
        record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
        for kind, column in zip((model.State, model.Input, model.Params), columns, strict=True)
    )
    calm = ca.DM(list(record.flatten(record.build(model.Disturbance))))
    rate = ca.substitute(traced.f_expl, traced.w, calm)
    velocity = body.velocity(states, given, p)
    answers = ca.vertcat(velocity.v_y, velocity.omega, body.steer(states, given, p))
    demand = type(columns[0]).sym("steer")
    command = ca.vertcat(*record.flatten(body.command(states, Demand(steer=demand), p)))
    jacobians = [ca.jacobian(value, column) for value in (rate, answers) for column in columns[:2]]
    jacobians.append(ca.jacobian(command, demand))
    function = ca.Function("derivatives", [*columns, demand], jacobians)
    rows = (np.array(record.flatten(part), dtype=float) for part in (x, u, vehicle.params))
    *matrices, by_demand = (np.asarray(value) for value in function(*rows, 0.0))
    return [*matrices, by_demand.ravel()]


def _reduce(system: LinearSystem) -> LinearSystem:
    """Remove states that do not affect an output."""
    seen = (system.C != 0.0).any(axis=0)
    while True:
        more = seen | (system.A[seen] != 0.0).any(axis=0)
        if (more == seen).all():
            break
        seen = more
    return system._replace(A=system.A[np.ix_(seen, seen)], B=system.B[seen], C=system.C[:, seen])


def phase(answer: Complex) -> Array:
    """Unwrapped phase in degrees of complex amplitudes, within ±180° at the first frequency."""
    angle = np.rad2deg(np.unwrap(np.angle(answer)))
    return angle - 360.0 * np.round(angle[0] / 360.0)


PER_DEGREE = float(np.deg2rad(1.0))
_POINTS = 241


def bode(
    vehicle: Vehicle,
    *,
    speed: float | Sequence[float],
    frequency: tuple[float, float] = (0.1, 10.0),
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Bode diagram of yaw rate and lateral acceleration for small steering in straight driving.

    `speed` in m/s, one or several; `frequency` is the range in Hz. `input` is "steer", the
    road-wheel angle, or "u_steer", the command, which includes the steering actuator. Drive
    torques hold the speed unless `inputs` replaces them.
    """
    style.check(path, backend, size)
    speeds: list[float] = np.atleast_1d(floats("speed", speed)).tolist()
    if not speeds:
        raise InvalidValue("speed: no speed is given")
    low, high = frequency
    if not (np.isfinite([low, high]).all() and 0.0 < low < high):
        raise InvalidValue(
            f"frequency = {frequency} Hz must be two numbers above 0, the lower one first"
        )
    hertz = np.geomspace(low, high, _POINTS)
    responses = [steering_response(vehicle, v, hertz, input=input, inputs=inputs) for v in speeds]
    labels = [f"{v:g} m/s" for v in speeds]
    with style.new_figure((4.3, 4.3), (2.5, 1.9), size) as (figure, grid):
        axes: Any = grid.subplots(sharex=True, squeeze=False)
        turning = [r.yaw_rate for r in responses]
        axes[0, 0].set_title("Yaw rate per steering angle")
        lines = _draw(axes[:, 0], hertz, turning, labels, 1.0, "gain [1/s]")
        across = [r.lateral_acceleration for r in responses]
        axes[0, 1].set_title("Lateral acceleration per steering angle")
        _draw(axes[:, 1], hertz, across, labels, PER_DEGREE, "gain [(m/s²)/°]")
        own = f"Steering response of {vehicle.name}"
        style.headings(figure, own if title is None else title, lines)
    return style.write_figure(figure, path)


def _draw(
    pair: Sequence[Axes],
    hertz: Any,
    answers: Sequence[Complex],
    labels: Sequence[str],
    by: float,
    gain_label: str,
) -> list[Any]:
    """Draw gain above phase, a line per response; returns the gain lines."""
    from matplotlib.ticker import MultipleLocator

    gain, angle = pair
    lines: list[Any] = []
    for answer, label, colour in zip(answers, labels, style.shades(len(answers)), strict=True):
        look: Any = {"color": colour, "linewidth": 1.6, "label": label}
        lines += gain.plot(hertz, by * np.abs(answer), **look)
        angle.plot(hertz, phase(answer), **look)
    gain.set_ylabel(gain_label)
    _set_log(gain, "y")
    for axes in pair:
        _set_log(axes, "x")
        axes.set_xlim(hertz[0], hertz[-1])
    angle.set(xlabel="frequency [Hz]", ylabel="phase [°]")
    angle.yaxis.set_major_locator(MultipleLocator(30.0))
    return lines


def _set_log(axes: Axes, name: str) -> None:
    """Set a logarithmic axis with labels 0.5, 1, 2, which over the few decades of a vehicle are
    easier to read than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis: Any = axes.xaxis if name == "x" else axes.yaxis
    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="minor", alpha=0.4)
