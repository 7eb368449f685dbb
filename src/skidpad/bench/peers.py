"""Alternatives to skidpad as peers, each evaluating the vehicle's own function.

These peers use plain Python, NumPy, SciPy, Numba and CasADi's virtual machine; `peers_jax` has the
peers in JAX. A peer for fleets is an `Advance`, a peer for single steps a `Drive`.

Inputs of fleets are constant, so one call covers the rollout; `max_step` limits a solver of SciPy
to the same dt, which its error control (default tolerances) may reduce further. The ray casters
reproduce the methods of others: a sweep over all segments, as in the truck simulator, and a march
over a distance field, as in f1tenth_gym, both compiled by Numba on one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import integrate
from ..compat.autoware.motion import CompiledMotion
from ..compat.autoware.reports import Motion
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..core.threads import spread
from ..geometry.raycast.scene import Scene
from ..run.delay import DelayLine
from .work import RADAU_DT, RK4_DT, Weave, derivative_of

Advance = Callable[[AnyArray, AnyArray, int], AnyArray]
"""Function `advance(x, u, steps)`: end states (B, nx) from start states (B, nx) and constant
inputs (B, nu)."""


class Drive(NamedTuple):
    """Contender for single steps, called from Python once per step."""

    rows: list[Any]
    """Input of each step, in the form that is fastest or most usual for the contender."""
    reset: Callable[[], object]
    """Return to the start."""
    step: Callable[[Any], object]
    """Make a step with an input; the contender stores the state."""
    state: Callable[[], Any]
    """Function that returns the current state."""

    __repr__ = brief_repr


def in_threads(advance: Advance, threads: int) -> Advance:
    """Split the batch of an `Advance` among threads, for peers without multithreading."""
    if threads == 1:
        return advance

    def split(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        parts = zip(np.array_split(x, threads), np.array_split(u, threads), strict=True)
        with ThreadPoolExecutor(threads) as pool:
            return np.concatenate(
                list(pool.map(lambda part: advance(part[0], part[1], steps), parts))
            )

    return split


def numpy_rk4(vehicle: Vehicle, dt: float) -> Advance:
    """RK4 with the vehicle's function on arrays of all vehicles, in the precision of x."""
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
    """RK4 with the vehicle's function evaluated on Python floats."""
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


def scipy_rk45(vehicle: Vehicle, dt: float) -> Advance:
    """SciPy's RK45 on the states of all vehicles as one long vector."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        columns = np.ascontiguousarray(x.T)
        derivative = derivative_of(vehicle, np.ascontiguousarray(u.T))

        def right_hand_side(_: float, y: AnyArray) -> AnyArray:
            return derivative(y.reshape(columns.shape)).ravel()

        end = _solve(right_hand_side, columns.ravel(), steps * dt, "RK45", max_step=dt)
        return end.reshape(columns.shape).T

    return advance


def scipy_radau(vehicle: Vehicle, dt: float) -> Advance:
    """SciPy's Radau on one vehicle after another, as the joint Jacobian would be huge."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        ends = [
            _solve(_on_floats(vehicle, row), start, steps * dt, "Radau", max_step=dt)
            for start, row in zip(x, u.tolist(), strict=True)
        ]
        return np.array(ends)

    return advance


def scipy_calls(course: Weave, dt: float, method: str) -> Drive:
    """Drive with one call of `solve_ivp` per step, as in closed loop."""
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

    # t_eval keeps the solver from storing every step.
    solution: Any = solve_ivp(f, (0.0, duration), y, method=method, t_eval=(duration,), **options)
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[:, -1]


def simulating(
    vehicle: Vehicle, delta_t_w: float
) -> Callable[[AnyArray, AnyArray, float], AnyArray]:
    """Function of the start, the input and the duration that returns the last perturbed state."""
    import casadi as ca
    from scipy.integrate import solve_ivp

    model = vehicle.model
    symbols = [
        ca.SX.sym(name, record.size(kind))
        for name, kind in (("x", model.State), ("u", model.Input), ("w", model.Disturbance))
    ]
    x_symbols, u_symbols, w_symbols = (
        record.unflatten(kind, ca.vertsplit(symbol))
        for kind, symbol in zip((model.State, model.Input, model.Disturbance), symbols, strict=True)
    )
    rate = record.flatten(vehicle.derivative(x_symbols, u_symbols, w_symbols))
    f = ca.Function("f", symbols, [ca.vertcat(*rate)])
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


class DirectMotion:
    """A `CompiledMotion` without a compiler: the vehicle's function evaluated on Python numbers."""

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
        """Same vehicle as a compiled motion."""
        return cls(model.vehicle, period)

    def set_state(self, x: float, y: float, yaw: float, v_x: float) -> None:
        """Set pose and longitudinal velocity."""
        self._x = self._x._replace(x=x, y=y, yaw=yaw, v_x=v_x)

    def set_input(self, row: Sequence[float]) -> None:
        """Set the latest command."""
        self._row = row

    def step(self, dt: float) -> None:
        """Advance by dt in s."""
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
        x = self._x
        u = record.unflatten(self.vehicle.Input, self._row)
        y = self.vehicle.model.outputs(x, u, None, self.vehicle.params)
        return Motion(x.x, x.y, x.yaw, y.v_x, y.v_y, y.a_x, y.omega, y.steer)

    def actuation_status(self) -> tuple[float, float] | None:
        """Return None, as the vehicle has no pedals."""
        return None


ANGLES = 2000
"""Size of the direction table of the march."""
CLOSE = 1e-4
"""Distance in m below which the march has hit a wall."""
FARTHEST = 100.0
"""Maximum range of the march, in m."""


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
    """Ranges (B, rays) by the sweep, for rays over a full turn: each segment updates the nearest
    hits of the rays between its ends."""
    sweep, _ = _kernels()
    increment = float(angles[1] - angles[0])
    for k, pose in enumerate(poses):
        sweep(segments, pose, float(angles[0]), increment, out[k])
    return out


def march_field(occupied: NDArray[np.bool_], resolution: float) -> Array:
    """Distance in m from the centre of each cell to the centre of the nearest occupied one."""
    from scipy.ndimage import distance_transform_edt

    distance: Any = distance_transform_edt(~occupied)
    return resolution * np.asarray(distance, dtype=float)


def march_scan(
    distance: Array, resolution: float, poses: Array, angles: Array, out: Array
) -> Array:
    """Ranges (B, rays) by the march over a distance field: each step is as long as the distance to
    the nearest wall; directions come from a table."""
    _, march = _kernels()
    turns = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
    table = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for k, pose in enumerate(poses):
        march(distance, resolution, pose, angles, table, out[k])
    return out


GRID_RESOLUTION = 0.05
"""Edge length of a cell in m, as in f1tenth_gym's maps."""
RACE_DT = 0.01
CRASH_TIME = 0.005
"""Time to collision in s below which a car counts as crashed."""
HALF_LENGTH, HALF_WIDTH = 0.29, 0.155
"""Half the length and half the width of the car, in m."""


class MarchedRace:
    """A control period of f1tenth_gym for many cars on the track of a task, compiled by Numba.

    Per car: a proportional controller, the single-track model of CommonRoad with RK4 at 10 ms, a
    scan of 1080 rays by marching over the distance field of an occupancy grid with directions from
    a table of 2000 angles, and the time to collision along every ray. f1tenth_gym calls these from
    Python, one car at a time, and adds noise; this is one compiled loop on several threads.

    Args:
        task: a race on one track, with a lidar.
        count: number of cars.
    """

    def __init__(self, task: Any, count: int) -> None:
        (track,) = task.tracks
        grid = track.map.rasterised(GRID_RESOLUTION, margin=1.0)
        self.cells, self.resolution = grid.occupied.size, GRID_RESOLUTION
        self._field = march_field(grid.occupied, GRID_RESOLUTION)
        self._origin = np.array(grid.origin[:2])
        self._angles, self._range = task.lidar.angles, task.lidar.range
        self._scene = Scene.of(track.map)
        turns = 2.0 * np.pi * np.arange(ANGLES) / ANGLES
        self._table = np.stack([np.cos(turns), np.sin(turns)], axis=1)
        with np.errstate(divide="ignore"):
            ahead, beside = np.abs(np.cos(self._angles)), np.abs(np.sin(self._angles))
            self._side = np.minimum(HALF_LENGTH / ahead, HALF_WIDTH / beside)
        rng = np.random.default_rng(5)
        at = track.line.at(track.length * rng.uniform(size=count))
        self._starts = np.zeros((count, 7))
        self._starts[:, 0], self._starts[:, 1], self._starts[:, 4] = at.x, at.y, at.heading
        self._starts[:, 3] = rng.uniform(1.0, 8.0, count)
        self.states = self._starts.copy()
        """x, y, steering angle, v, yaw, yaw rate, sideslip angle of each car, (B, 7)."""
        self._actions = rng.uniform(-1.0, 1.0, (count, 2)) * [0.4, 8.0]
        self.ranges = np.zeros((count, len(self._angles)))
        """Ranges of the last step in m, (B, rays)."""
        self._seen_from = np.zeros((count, 3))
        self._marches = np.zeros(count, np.int64)

    def step(self, threads: int) -> None:
        kernel = _race_kernel()

        def part(begin: int, end: int) -> None:
            some = slice(begin, end)
            kernel(
                self.states[some], self._actions[some], self._starts[some], self._field,
                self._origin, GRID_RESOLUTION, self._angles, np.cos(self._angles), self._table,
                self._side, self._range, self.ranges[some], self._seen_from[some],
                self._marches[some],
            )  # fmt: skip

        spread(part, len(self.states), worth=threads, threads=threads)

    def error(self) -> float:
        """Mean difference in m of the last ranges from the exact ones."""
        exact = self._scene.scan(self._seen_from, self._angles, max_range=self._range)
        return float(np.abs(self.ranges - np.minimum(exact, self._range)).mean())

    def mean_marches(self) -> float:
        return float(self._marches.mean() / len(self._angles))


@cache
def _race_kernel() -> Any:
    from numba import njit

    @njit(nogil=True, cache=True)
    def derivative(x: Array, sv: float, a: float, out: Array) -> None:
        # Single-track model of CommonRoad, with the parameters of f1tenth_gym.
        mu, c_f, c_r, l_f, l_r = 1.0489, 4.718, 5.4562, 0.15875, 0.17145
        h, m, inertia, g = 0.074, 3.74, 0.04712, 9.81
        delta, v, psi, omega, beta = x[2], x[3], x[4], x[5], x[6]
        both = l_f + l_r
        out[2], out[3] = sv, a
        if abs(v) < 0.5:
            out[0], out[1] = v * np.cos(psi), v * np.sin(psi)
            out[4] = v / both * np.tan(delta)
            out[5] = a / both * np.tan(delta) + v / (both * np.cos(delta) ** 2) * sv
            out[6] = 0.0
            return
        front, rear = c_f * (g * l_r - a * h), c_r * (g * l_f + a * h)
        out[0], out[1] = v * np.cos(psi + beta), v * np.sin(psi + beta)
        out[4] = omega
        per = mu * m / (inertia * both)
        out[5] = (
            -per / v * (l_f * l_f * front + l_r * l_r * rear) * omega
            + per * (l_r * rear - l_f * front) * beta
            + per * l_f * front * delta
        )
        out[6] = (
            (mu / (v * v * both) * (rear * l_r - front * l_f) - 1.0) * omega
            - mu / (v * both) * (rear + front) * beta
            + mu / (v * both) * front * delta
        )

    @njit(nogil=True, cache=True)
    def rk4(x: Array, sv: float, a: float, k: Array) -> None:
        derivative(x, sv, a, k[0])
        k[4] = x + 0.5 * RACE_DT * k[0]
        derivative(k[4], sv, a, k[1])
        k[4] = x + 0.5 * RACE_DT * k[1]
        derivative(k[4], sv, a, k[2])
        k[4] = x + RACE_DT * k[2]
        derivative(k[4], sv, a, k[3])
        x += RACE_DT / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])

    @njit(nogil=True, cache=True)
    def step(
        states: Array,
        actions: Array,
        starts: Array,
        field: Array,
        origin: Array,
        resolution: float,
        angles: Array,
        cosines: Array,
        table: Array,
        side: Array,
        limit: float,
        ranges: Array,
        seen_from: Array,
        marches: Array,
    ) -> None:
        rows, columns = field.shape
        n = table.shape[0]
        work = np.empty((5, 7))
        for b in range(states.shape[0]):
            x = states[b]
            wrong = actions[b, 0] - x[2]
            sv = np.sign(wrong) * 3.2 if abs(wrong) > 1e-4 else 0.0
            a = min(max(2.0 * (actions[b, 1] - x[3]), -9.51), 9.51)
            rk4(x, sv, a, work)
            x[2] = min(max(x[2], -0.4189), 0.4189)
            seen_from[b, 0], seen_from[b, 1], seen_from[b, 2] = x[0], x[1], x[4]
            crashed, marched = False, 0
            for ray in range(angles.size):
                index = int(np.floor((x[4] + angles[ray]) / (2.0 * np.pi) * n)) % n
                c, s = table[index, 0], table[index, 1]
                at_x, at_y, total = x[0] - origin[0], x[1] - origin[1], 0.0
                while total <= limit:
                    i, j = int(at_y / resolution), int(at_x / resolution)
                    if i < 0 or j < 0 or i >= rows or j >= columns:
                        total = limit
                        break
                    d = field[i, j]
                    if d <= CLOSE:
                        break
                    at_x += d * c
                    at_y += d * s
                    total += d
                    marched += 1
                ranges[b, ray] = min(total, limit)
                closing = x[3] * cosines[ray]
                if closing != 0.0:
                    time = (ranges[b, ray] - side[ray]) / closing
                    crashed |= 0.0 <= time < CRASH_TIME
            marches[b] = marched
            if crashed:
                states[b] = starts[b]

    return step


def casadi_rk4(vehicle: Vehicle, dt: float) -> Any:
    import casadi as ca

    x, u, state, held = _symbols(vehicle)
    update = integrate.discretise(vehicle.model, integrate.get("rk4"))
    w = record.build(vehicle.model.Disturbance)
    following, _ = update(state, held, w, vehicle.params, dt)
    return ca.Function("rk4", [x, u], [ca.vertcat(*record.flatten(following))], {"cse": True})


def casadi_collocation(vehicle: Vehicle, dt: float) -> Any:
    """CasADi's Radau collocation with 3 points, one element per step, as a Function of x and u."""
    import casadi as ca

    x, u, state, held = _symbols(vehicle)
    rate = vehicle.derivative(state, held)
    problem = {"x": x, "u": u, "ode": ca.vertcat(*record.flatten(rate))}
    options = {
        "collocation_scheme": "radau",
        "interpolation_order": 3,
        "number_of_finite_elements": 1,
    }
    solver = ca.integrator("radau", "collocation", problem, 0.0, dt, options)
    return solver.factory("step", ["x0", "u"], ["xf"])


def _symbols(vehicle: Vehicle) -> tuple[Any, Any, Any, Any]:
    import casadi as ca

    model = vehicle.model
    kinds = (model.State, model.Input)
    x, u = (ca.SX.sym(name, record.size(kind)) for name, kind in zip("xu", kinds, strict=True))
    state = record.unflatten(model.State, ca.vertsplit(x))
    return x, u, state, record.unflatten(model.Input, ca.vertsplit(u))


def casadi_map(function: Any, threads: int) -> Advance:
    """The step mapped over the batch, with one call per time step."""
    import casadi as ca

    maps: dict[int, Any] = {}

    def map_of(count: int) -> Any:
        if count not in maps:
            maps[count] = (
                function.map(count) if threads == 1 else function.map(count, "thread", threads)
            )
        return maps[count]

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        states, inputs = ca.DM(x.T), ca.DM(u.T)
        for _ in range(steps):
            states = map_of(len(x))(states, inputs)
        return np.asarray(states.full()).T

    return advance


def casadi_calls(course: Weave, dt: float) -> Drive:
    """Drive that calls the Function with arrays, the usual way."""
    import casadi as ca

    function = _function_for(course.vehicle, dt)
    start = ca.DM(course.x0)
    state = start

    def reset() -> None:
        nonlocal state
        state = start

    def step(row: Any) -> None:
        nonlocal state
        state = function(state, row)

    return Drive(list(course.held_rows(dt)), reset, step, lambda: np.ravel(state.full()))


def casadi_buffer_calls(course: Weave, dt: float) -> Drive:
    """Drive with CasADi's buffer interface, its fastest call: memory bound once, no checks or
    records."""
    function = _function_for(course.vehicle, dt)
    memory, trigger = function.buffer()
    x, u = course.x0.copy(), np.zeros(course.rows.shape[1])
    memory.set_arg(0, x.data)
    memory.set_arg(1, u.data)
    following = np.zeros_like(x)
    memory.set_res(0, following.data)

    def reset() -> None:
        x[:] = course.x0

    def step(row: AnyArray) -> None:
        u[:] = row
        trigger()
        x[:] = following

    def state() -> AnyArray:
        # The buffer is referenced here so that it lives as long as this Drive: `trigger` does not
        # keep it alive.
        assert memory is not None
        return x.copy()

    return Drive(list(course.held_rows(dt)), reset, step, state)


def _function_for(vehicle: Vehicle, dt: float) -> Any:
    methods = {RK4_DT: casadi_rk4, RADAU_DT: casadi_collocation}
    return methods[dt](vehicle, dt)
