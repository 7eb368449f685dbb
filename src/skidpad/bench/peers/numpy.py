"""RK4 in NumPy over the whole batch, and on Python floats for one vehicle.

`scipy.integrate.solve_ivp` on a NumPy right-hand side.

Fleets hold their inputs, so that one call covers the rollout; `max_step` makes the solver take the
same dt, or less where its error control (SciPy's default tolerances) asks for it.

Simulation as commonroad-control does it: a CasADi function, `solve_ivp` for both trajectories.

Every step of the disturbance is two calls of `solve_ivp` with SciPy's default tolerances, the
nominal and the perturbed one, whether they differ or not; the right-hand side is a call of a CasADi
function from Python.

A command-driven model called as a Python function: what one has without a compiler.

Ray casting as others do it, written plainly: a sweep over all segments, and a march over a
distance field.

The sweep does what the truck simulator's engine does: every segment looks up the rays between its
two ends and keeps the nearest hit of each. The march does what f1tenth_gym does: steps as long as
the distance to the nearest wall, with directions from a table of 2000 angles. Both are compiled by
Numba, one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import integrate
from ...compat.autoware.messages import Motion
from ...compat.autoware.motion import CompiledMotion
from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.model import Vehicle
from ...run.delay import DelayLine
from ..work import RK4_DT, Weave, derivative_of
from . import Advance, Drive


def numpy_rk4(vehicle: Vehicle, dt: float) -> Advance:
    """RK4 with the vehicle's function called on arrays of all vehicles, in the precision of x."""
    model = vehicle.model
    update = integrate.discretise(model, integrate.get("rk4"))
    w, p = record.build(model.Disturbance), vehicle.params

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        state = record.unflatten(model.State, tuple(np.ascontiguousarray(x.T)))
        held = record.unflatten(model.Input, tuple(np.ascontiguousarray(u.T)))
        for _ in range(steps):
            state, _ = update(state, held, w, p, dt)
        return np.stack(record.flatten(state), axis=1)

    return advance


def python_rk4(course: Weave) -> Drive:
    """RK4 with the vehicle's function called on floats."""
    model, p = course.vehicle.model, course.vehicle.params
    update = integrate.discretise(model, integrate.get("rk4"))
    w = record.build(model.Disturbance)
    start = record.unflatten(model.State, course.x0.tolist())
    state: Any = start

    def reset() -> None:
        nonlocal state
        state = start

    def step(row: Any) -> None:
        nonlocal state
        state, _ = update(state, row, w, p, RK4_DT)

    rows = [record.unflatten(model.Input, row) for row in course.held_rows(RK4_DT).tolist()]
    return Drive(rows, reset, step, lambda: record.flatten(state))


def stacked_rk45(vehicle: Vehicle, dt: float) -> Advance:
    """RK45 on the states of all vehicles as one long vector."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        columns = np.ascontiguousarray(x.T)
        derivative = derivative_of(vehicle, np.ascontiguousarray(u.T))

        def right_hand_side(_: float, y: AnyArray) -> AnyArray:
            return derivative(y.reshape(columns.shape)).ravel()

        end = _solve(right_hand_side, columns.ravel(), steps * dt, "RK45", max_step=dt)
        return end.reshape(columns.shape).T

    return advance


def radau_each(vehicle: Vehicle, dt: float) -> Advance:
    """Radau on one vehicle after the other: together their Jacobian would be a huge matrix."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        ends = [
            _solve(_on_floats(vehicle, row), start, steps * dt, "Radau", max_step=dt)
            for start, row in zip(x, u.tolist(), strict=True)
        ]
        return np.array(ends)

    return advance


def single(course: Weave, dt: float, method: str) -> Drive:
    """One call of `solve_ivp` a step, as in closed loop."""
    state = course.x0

    def reset() -> None:
        nonlocal state
        state = course.x0

    def step(row: list[float]) -> None:
        nonlocal state
        state = _solve(_on_floats(course.vehicle, row), state, dt, method)

    return Drive(course.held_rows(dt).tolist(), reset, step, lambda: state)


def _on_floats(vehicle: Vehicle, row: list[float]) -> Any:
    # One vehicle is faster on Python floats than on NumPy scalars.
    derivative = derivative_of(vehicle, row)
    return lambda _, y: derivative(y.tolist())


def _solve(f: Any, y: AnyArray, duration: float, method: str, **options: Any) -> AnyArray:
    from scipy.integrate import solve_ivp

    # t_eval keeps it from storing every step.
    solution: Any = solve_ivp(f, (0.0, duration), y, method=method, t_eval=(duration,), **options)
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[:, -1]


def simulating(
    vehicle: Vehicle, delta_t_w: float
) -> Callable[[AnyArray, AnyArray, float], AnyArray]:
    """A function of the start, the input and the duration that returns the last perturbed state."""
    from scipy.integrate import solve_ivp

    f = _casadi_derivative(vehicle)
    w = np.zeros(record.size(vehicle.model.Disturbance))

    def advanced(x: AnyArray, u: AnyArray, step: float) -> AnyArray:
        def right_hand_side(_: float, y: AnyArray) -> AnyArray:
            return np.asarray(f(y, u, w)).ravel()

        solution: Any = solve_ivp(right_hand_side, (0.0, step), x, method="RK45")
        return solution.y[:, -1]

    def simulate(x0: AnyArray, u: AnyArray, t_final: float) -> AnyArray:
        steps = ceil(t_final / delta_t_w)
        nominal = perturbed = x0
        for _ in range(steps):
            nominal = advanced(nominal, u, t_final / steps)
            perturbed = advanced(perturbed, u, t_final / steps)
        return perturbed

    return simulate


def _casadi_derivative(vehicle: Vehicle) -> Any:
    import casadi as ca

    model = vehicle.model
    symbols = [
        ca.SX.sym(name, record.size(kind))
        for name, kind in (("x", model.State), ("u", model.Input), ("w", model.Disturbance))
    ]
    x, u, w = (
        record.unflatten(kind, ca.vertsplit(symbol))
        for kind, symbol in zip((model.State, model.Input, model.Disturbance), symbols, strict=True)
    )
    rate = record.flatten(vehicle.derivative(x, u, w))
    return ca.Function("f", symbols, [ca.vertcat(*rate)])


class DirectMotion:
    """Like `CompiledMotion`, with the vehicle's own function on Python's numbers."""

    def __init__(self, vehicle: Vehicle, period: float) -> None:
        model = vehicle.model
        self.vehicle, self.name = vehicle, model.name
        self.inputs = record.names(model.Input)
        self._x: Any = record.build(model.State)
        self._row: Sequence[float] = record.flatten(record.build(model.Input))
        self._line = DelayLine.of(model, vehicle.params, period)
        self._updates = 0

    @classmethod
    def of(cls, model: CompiledMotion, period: float) -> DirectMotion:
        """The same vehicle without a compiler."""
        return cls(model.vehicle, period)

    def set_state(self, x: float, y: float, yaw: float, v_x: float) -> None:
        """Put the vehicle somewhere else."""
        self._x = self._x._replace(x=x, y=y, yaw=yaw, v_x=v_x)

    def set_input(self, row: Sequence[float]) -> None:
        """The latest command."""
        self._row = row

    def step(self, dt: float) -> None:
        """One update of dt in s."""
        model, line = self.vehicle.model, self._line
        assert model.update is not None
        row = (
            self._row if line is None else line.acting(self._row, self._updates, self._updates + 1)
        )
        u = record.unflatten(model.Input, row)
        w = record.build(model.Disturbance)
        self._x = model.update(self._x, u, w, self.vehicle.params, dt)
        self._updates += 1

    @property
    def motion(self) -> Motion:
        """As reported after the last update."""
        x = self._x
        u = record.unflatten(self.vehicle.Input, self._row)
        y = self.vehicle.model.outputs(x, u, None, self.vehicle.params)
        return Motion(x.x, x.y, x.yaw, y.v_x, y.v_y, y.a_x, y.omega, y.steer)

    def actuation_status(self) -> tuple[float, float] | None:
        """None: it has no pedals."""
        return None


ANGLES = 2000
"""Entries of the march's table of directions."""
CLOSE = 1e-4
"""Distance in m at which the march has arrived."""
FARTHEST = 100.0
"""Distance in m at which it gives up."""


@cache
def _kernels() -> tuple[Any, Any]:
    from numba import njit

    @njit(cache=True)
    def sweep(segments: Array, pose: Array, first: float, increment: float, out: Array) -> None:
        n = out.size
        x, y, yaw = pose
        out[:] = np.inf
        turn = 2.0 * np.pi
        for k in range(segments.shape[0]):
            ax, ay = segments[k, 0] - x, segments[k, 1] - y
            bx, by = segments[k, 2] - x, segments[k, 3] - y
            begin = (np.arctan2(ay, ax) - yaw - first) % turn
            end = (np.arctan2(by, bx) - yaw - first) % turn
            if ax * by - ay * bx < 0.0:
                begin, end = end, begin
            i, last = int(np.floor(begin / increment)), int(np.floor(end / increment)) + 1
            if last < i:
                last += n
            ex, ey = bx - ax, by - ay
            top = ax * ey - ay * ex
            for step in range(i, last + 1):
                ray = step % n
                angle = yaw + first + ray * increment
                c, s = np.cos(angle), np.sin(angle)
                cross = c * ey - s * ex
                if abs(cross) < 1e-8:
                    continue
                t = top / cross
                u = (ax * s - ay * c) / cross
                if t >= 0.0 and -1e-8 <= u <= 1.0 + 1e-8 and t < out[ray]:
                    out[ray] = t

    @njit(cache=True)
    def march(
        distance: Array, resolution: float, pose: Array, angles: Array, table: Array, out: Array
    ) -> None:
        rows, columns = distance.shape
        n = table.shape[0]
        for ray in range(out.size):
            index = int(np.floor((pose[2] + angles[ray]) / (2.0 * np.pi) * n)) % n
            c, s = table[index, 0], table[index, 1]
            x, y, total = pose[0], pose[1], 0.0
            while total < FARTHEST:
                i, j = int(y / resolution), int(x / resolution)
                if i < 0 or j < 0 or i >= rows or j >= columns:
                    total = np.inf
                    break
                d = distance[i, j]
                if d <= CLOSE:
                    break
                x += d * c
                y += d * s
                total += d
            out[ray] = total

    return sweep, march


def sweep_scan(segments: Array, poses: Array, angles: Array, out: Array) -> Array:
    """Ranges (B, rays) by the sweep; the rays make a full turn."""
    sweep, _ = _kernels()
    increment = float(angles[1] - angles[0])
    for k, pose in enumerate(poses):
        sweep(segments, pose, float(angles[0]), increment, out[k])
    return out


def march_field(occupied: NDArray[np.bool_], resolution: float) -> Array:
    """Distance in m from the middle of every cell to that of the nearest occupied one."""
    from scipy.ndimage import distance_transform_edt

    distance: Any = distance_transform_edt(~occupied)
    return resolution * np.asarray(distance, dtype=float)


def march_scan(
    distance: Array, resolution: float, poses: Array, angles: Array, out: Array
) -> Array:
    """Ranges (B, rays) by the march over a distance field."""
    _, march = _kernels()
    turns = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
    table = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for k, pose in enumerate(poses):
        march(distance, resolution, pose, angles, table, out[k])
    return out
