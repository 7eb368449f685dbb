"""Motion of a vehicle over a grid of times, by an integrator of skidpad or a solver of SciPy.

`CompiledMotion` uses the kernel of `Fleet`, so the bits are those of a fleet with the same dt and
sub-steps; the nominal and the perturbed vehicle are two of its lanes, so the second costs nothing.
`ScipyMotion` restarts a solver of `scipy.integrate.solve_ivp` at every step of the grid.

`read_scenario` reads a CommonRoad scenario as objects of skidpad: road, lanes, obstacles and their
trajectories.

    scenario = read_scenario("USA_US101-1_1_T-1.xml")
    line = Reference.along(scenario.lanes[12].centre, v=15.0)
    other = scenario.obstacles[42].trajectory

The files are read by `commonroad-io` (`pip install "skidpad[commonroad]"`).
"""

from __future__ import annotations

import difflib
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ... import integrate
from ...compile.cpu import RolloutArrays
from ...compile.plant import Plant
from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr, path_of
from ...core.model import Model, Vehicle
from ...errors import InvalidValue, SimulationDiverged, StepNotConverged
from ...geometry.maps.files import Boundaries, opened, road_of
from ...geometry.maps.map import Map
from ...geometry.polygon import frozen
from ...integrate.base import Integrator
from ...integrate.scipy_ivp import METHODS, StepSolver
from ...run.runner import Runner, Settings, diverged
from ...run.trajectory import Trajectory
from ...units import m, s

_ROUNDING = 1e-9
"""Relative distance of a ratio of times from an integer that counts as rounding."""


class Grid(NamedTuple):
    """Uniform time grid of `steps` steps of `dt` in s; the disturbance is constant in each step."""

    steps: int
    dt: float


def grid(t_final: float, delta_t_w: float, *, raw: bool) -> Grid:
    """Time grid with the fewest equal steps no longer than delta_t_w that end at t_final, in s.

    A ratio that is an integer up to rounding counts as one: 0.14 / 0.02 = 7.000000000000001 gives 7
    steps. With `raw` it gives 8 steps of 0.0175 s, as in commonroad-control.
    """
    if t_final == 0.0:
        return Grid(0, delta_t_w)
    steps = math.ceil(t_final / delta_t_w) if raw else whole_parts(t_final, delta_t_w)
    return Grid(steps, t_final / steps)


def whole_parts(whole: float, part: float) -> int:
    """Smallest number of equal parts of `whole` that are no longer than `part`, up to rounding."""
    ratio = whole / part
    nearest = round(ratio)
    close = abs(ratio - nearest) <= _ROUNDING * max(ratio, 1.0)
    return max(nearest if close else math.ceil(ratio), 1)


LONGEST = 0.0025
"""Default of the longest integrator step, in s."""
_LANES = 4
"""Least number of lanes of a kernel, in which a second vehicle costs nothing."""
_KEPT = 32
"""Size of the cache of batches, which are stored by number of steps."""


class CompiledMotion:
    """Motion of a vehicle over time grids by a compiled integrator.

    Args:
        vehicle: the vehicle.
        integrator: the integrator.
        nominal: the disturbance of the nominal vehicle, (nw,).
        substep: longest step in s; None for `LONGEST`, or the own step of a discrete model.
    """

    def __init__(
        self, vehicle: Vehicle, integrator: Integrator, nominal: Array, substep: float | None
    ) -> None:
        self.vehicle, self.nominal = vehicle, nominal
        self.name = f"skidpad:{integrator.name}"
        own = LONGEST if vehicle.model.continuous else math.inf
        self._substep = own if substep is None else substep
        # The length of a step is that of the grid, see `_Batch.set_dt`.
        settings = Settings(substep or LONGEST, integrator, threads=1, lanes=_LANES)
        self._runner = Runner(Plant.of(vehicle, integrator), settings)
        self._batches: dict[tuple[int, int], _Batch] = {}

    def substeps(self, dt: float) -> int:
        """Integrator steps, or updates of a discrete model, within a step of dt in s."""
        return max(self.vehicle.model.substeps, whole_parts(dt, self._substep))

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """States (steps + 1, nx) of the nominal vehicle."""
        batch = self._batch(grid.steps, 1, grid.dt)
        batch.start(x)
        batch.hold(u)
        self._go(batch, 0.0)
        return batch.states[:, 0].copy()

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Advance both vehicles by step k, from row k of their states to the next.

        `w` is the disturbance of the perturbed vehicle, `dt` the length of the step in s.
        """
        batch = self._batch(1, 2, dt)
        batch.states[0, 0], batch.states[0, 1] = nominal[k], perturbed[k]
        batch.disturbances[0, 1] = w
        batch.hold((*u, *u))
        self._go(batch, k * dt)
        nominal[k + 1], perturbed[k + 1] = batch.states[1]

    def _batch(self, steps: int, vehicles: int, dt: float) -> _Batch:
        batch = self._batches.get((steps, vehicles))
        if batch is None:
            if len(self._batches) >= _KEPT:
                self._batches.clear()
            batch = _Batch(self._runner, self.nominal, steps, vehicles)
            self._batches[steps, vehicles] = batch
        if batch.dt != dt:
            batch.set_dt(dt, self.substeps(dt))
        return batch

    def _go(self, batch: _Batch, time: float) -> None:
        health = batch.run()
        if not any(health[0].tolist()):  # NaN counts as true
            return
        vehicle = next(v for v in range(health.shape[1]) if health[0, v] != 0.0)
        states = batch.states[:, vehicle]
        last = int(np.argmax(~np.isfinite(states).all(axis=1))) - 1
        when, residual = time + last * batch.dt, float(health[2, vehicle])
        limit = self._runner.settings.tolerance
        if self._runner.plant.implicit and not residual <= limit:
            raise StepNotConverged(
                f"{self.name} failed in the step from t = {when:g} s: it left a Newton residual of "
                f"{residual:.3g}; allowed is {limit:g}. Take a smaller substep or delta_t_w",
                time=when,
                residual=residual,
            )
        raise diverged(when, record.unflatten(self.vehicle.State, states[last].tolist()))


class _Batch:
    """Batch of vehicles over a number of steps, with arrays bound to the kernel once."""

    def __init__(self, runner: Runner, nominal: Array, steps: int, vehicles: int) -> None:
        plant = runner.plant
        nx, nu = record.size(plant.State), record.size(plant.Input)
        # The kernel starts from the first row of states and writes those after it.
        self.states = np.zeros((steps + 1, vehicles, nx))
        inputs = np.zeros((1, vehicles, nu))
        self.disturbances = np.tile(nominal, (1, vehicles, 1))
        params = np.tile(np.array(record.flatten(plant.params)), (1, vehicles, 1))
        arrays = RolloutArrays(self.states[:1], inputs, self.disturbances, params)
        self.run = runner.bound(arrays, self.states)
        # Packing is fast: assigning a tuple to an array takes longer than a step.
        self._start, self._held = struct.Struct(f"{nx}d"), struct.Struct(f"{vehicles * nu}d")
        self._first_row, self._input_row = self.states.data, inputs.data
        self.dt = 0.0

    def set_dt(self, dt: float, substeps: int) -> None:
        """Set the length of a step in s and its number of sub-steps."""
        self.run.set_step(dt, substeps)
        self.dt = dt

    def start(self, x: tuple[float, ...]) -> None:
        self._start.pack_into(self._first_row, 0, *x)

    def hold(self, u: tuple[float, ...]) -> None:
        self._held.pack_into(self._input_row, 0, *u)


class Derivative:
    """Derivative of the state with constant input, disturbance and parameters.

    CasADi's interpreter evaluates it operation by operation, so it rounds as the function is
    written. Compiled code is not faster for one vehicle at a time and contracts products with sums;
    solvers with error estimates magnify that difference, by 10,000 for a car at walking pace.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        model = vehicle.model
        function = _function(model)
        self._x, self._start = (np.zeros(record.size(model.State)) for _ in range(2))
        self._u = np.zeros(record.size(model.Input))
        self._w = np.array(record.flatten(record.build(model.Disturbance)), dtype=float)
        params = np.array(record.flatten(vehicle.params), dtype=float)
        self._out = np.zeros(len(self._x))
        self._buffer, self._evaluate = function.buffer()
        self._arrays: tuple[Any, ...] = (self._x, self._start, self._u, self._w, params, self._out)
        *rows, result = self._arrays
        for k, row in enumerate(rows):
            if row.size:
                self._buffer.set_arg(k, memoryview(row))
        self._buffer.set_res(0, memoryview(result))

    def hold(self, start: ArrayLike, inputs: ArrayLike, w: ArrayLike) -> None:
        """Set the state at the start of a step, the input and the disturbance."""
        self._start[:] = start
        self._u[:] = inputs
        self._w[:] = w

    def __call__(self, x: Array) -> Array:
        self._x[:] = x
        self._evaluate()
        return self._out.copy()


def _function(model: Model) -> Any:
    """CasADi function of x' with arguments (x, the state at the start of the step, u, w, p)."""
    import casadi as ca

    derivative = model.derivative
    if derivative is None:
        raise InvalidValue(f"{model.name!r} is a discrete model: it has no derivative")
    kinds = (model.State, model.State, model.Input, model.Disturbance, model.Params)
    symbols = [[ca.SX.sym(name) for name in record.names(kind)] for kind in kinds]
    x, start, u, w, p = (
        record.unflatten(kind, leaves) for kind, leaves in zip(kinds, symbols, strict=True)
    )
    rates = derivative(x, model.held_input(start, u, w, p), w, p)
    columns = [ca.vertcat(ca.SX(0, 1), *leaves) for leaves in symbols]
    result = ca.vertcat(*(ca.SX(rate) for rate in record.flatten(rates)))
    return ca.Function("derivative", columns, [result], {"cse": True})


class ScipyMotion:
    """Motion of a vehicle over time grids by a solver with SciPy's interface.

    Args:
        vehicle: the vehicle.
        solver: the solver.
        nominal: the disturbance of the nominal vehicle, (nw,).
    """

    def __init__(self, vehicle: Vehicle, solver: StepSolver, nominal: Array) -> None:
        self.vehicle, self.name, self.nominal = vehicle, solver.name, nominal
        self._solver, self._derivative = solver, Derivative(vehicle)

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """States (steps + 1, nx) of the nominal vehicle."""
        states = np.empty((grid.steps + 1, len(x)))
        states[0] = x
        for k in range(grid.steps):
            states[k + 1] = self._step(states[k], u, self.nominal, grid.dt, k * grid.dt)
        return states

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Advance both vehicles by step k; equal vehicles are integrated only once."""
        same = (w == self.nominal).all() and (nominal[k] == perturbed[k]).all()
        nominal[k + 1] = self._step(nominal[k], u, self.nominal, dt, k * dt)
        perturbed[k + 1] = nominal[k + 1] if same else self._step(perturbed[k], u, w, dt, k * dt)

    def _step(self, x: Array, u: tuple[float, ...], w: Array, dt: float, time: float) -> Array:
        """State after dt in s; `time` is for error messages only."""
        self._derivative.hold(x, u, w)
        try:
            return self._solver.advance(self._derivative, x, dt, time)
        except SimulationDiverged:
            raise diverged(time, record.unflatten(self.vehicle.State, x.tolist())) from None


OWN = "skidpad:"
"""Prefix of the names of skidpad's own integrators."""


Motion = CompiledMotion | ScipyMotion
"""Moves a vehicle over the steps of a grid, with a constant input."""


def names() -> list[str]:
    """All allowed names of `ivp_method`: the methods of `solve_ivp`, and skidpad's own."""
    own = [OWN + name for name in integrate.names() if not name.startswith("scipy:")]
    return [*METHODS, *own]


def own_integrator(method: Any) -> Integrator | None:
    """Compiled integrator for a method; None for a SciPy method."""
    if isinstance(method, str):
        known = method.startswith(OWN) and method in names()
        return integrate.get(method.removeprefix(OWN)) if known else None
    if not isinstance(method, type) and hasattr(method, "bind") and not method.adaptive:
        return method
    return None


def solver_class(method: Any) -> tuple[type, str]:
    """Solver class with SciPy's interface for a method, and its name."""
    import scipy.integrate

    if isinstance(method, type) and issubclass(method, scipy.integrate.OdeSolver):
        return method, method.__name__
    if isinstance(method, str) and method in METHODS:
        return getattr(scipy.integrate, method), method
    # Suggest corrections for the most common mistakes: capitals and the prefix.
    by_letters, word = {name.lower(): name for name in names()}, str(method)
    guesses = [by_letters[g] for g in (word.lower(), OWN + word.lower()) if g in by_letters]
    near = [*guesses, *difflib.get_close_matches(word, names(), n=1)]
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise InvalidValue(
        f"unknown ivp_method {method!r}{hint} Allowed are {', '.join(names())}, "
        "or a subclass of scipy.integrate.OdeSolver"
    )


def motion(
    method: Any,
    vehicle: Vehicle,
    nominal: Array,
    *,
    substep: float | None,
    options: Mapping[str, Any],
    frozen: bool,
) -> Motion:
    """Choose how a vehicle is moved, by the integration method.

    Args:
        method: name, class or integrator, as for `simulate`.
        vehicle: the vehicle.
        nominal: the disturbance of the nominal vehicle, (nw,).
        substep: longest step of skidpad's own integrators in s; see `CompiledMotion`.
        options: further arguments of a solver with SciPy's interface: `rtol`, `atol`.
        frozen: whether a failing solver with SciPy's interface returns the state reached, as in
            commonroad-control, instead of raising.
    """
    if vehicle.model.dead_times:
        raise InvalidValue(
            f"{vehicle.name!r} has dead time, which a Simulation does not keep between calls; use "
            "a Simulator"
        )
    integrator = own_integrator(method)
    if integrator is not None:
        return CompiledMotion(vehicle, integrator, nominal, substep)
    solver, name = solver_class(method)
    if not vehicle.model.continuous:
        raise InvalidValue(
            f"ivp_method = {name!r} needs a derivative, but {vehicle.name!r} is discrete; "
            f"take {OWN + 'rk4'!r}, with which it makes its own steps"
        )
    return ScipyMotion(vehicle, StepSolver(solver, name, options, frozen=frozen), nominal)


@dataclass(frozen=True, eq=False, repr=False)
class Lane:
    """A lanelet: its borders and its centre line (n, 2) in m, in the direction of travel."""

    __repr__ = brief_repr

    id: int
    left: Array
    right: Array
    centre: Array
    successors: tuple[int, ...]
    """Ids of the lanes that continue this one."""
    left_neighbour: int | None
    right_neighbour: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Obstacle:
    """An obstacle on the road, parked or moving."""

    __repr__ = brief_repr

    id: int
    kind: str
    """CommonRoad's name of the obstacle type, such as "car"."""
    length: m
    width: m
    centre_ahead: m
    """Distance in m from its position forward to the centre of its rectangle."""
    trajectory: Trajectory
    """States at the time steps of the scenario; a single one if it does not move."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """The content of a scenario file."""

    __repr__ = brief_repr

    name: str
    dt: s
    """Time step."""
    map: Map
    """Borders of the road, as walls."""
    lanes: Mapping[int, Lane]
    obstacles: Mapping[int, Obstacle]
    problems: Mapping[int, Any]
    """CommonRoad's planning problems by id; `Trajectory.reached` takes them as goals."""


def read_scenario(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Scenario:
    """Read the scenario in a CommonRoad file; `boundaries` as for `Map.load`.

    Obstacles of other shapes have the size of their bounding rectangle. Obstacles without a
    trajectory (a set of positions, a phantom) are left out.
    """
    file = path_of(path)
    scenario, problems = opened(file)
    name, dt = str(scenario.scenario_id), float(scenario.dt)
    road = road_of(file, scenario, boundaries)
    lanes = {lane.lanelet_id: _lane(lane) for lane in scenario.lanelet_network.lanelets}
    obstacles = {
        item.obstacle_id: _obstacle(item, dt)
        for item in (*scenario.static_obstacles, *scenario.dynamic_obstacles)
        if getattr(item, "prediction", None) is None or hasattr(item.prediction, "trajectory")
    }
    return Scenario(name, dt, road, lanes, obstacles, dict(problems.planning_problem_dict))


def _lane(lanelet: Any) -> Lane:
    lines = (lanelet.left_vertices, lanelet.right_vertices, lanelet.center_vertices)
    left, right, centre = (frozen(np.array(line, dtype=float)[:, :2]) for line in lines)
    after, number = tuple(lanelet.successor), lanelet.lanelet_id
    return Lane(number, left, right, centre, after, lanelet.adj_left, lanelet.adj_right)


def _obstacle(obstacle: Any, dt: s) -> Obstacle:
    place = f"obstacle {obstacle.obstacle_id}"
    length, width, ahead = _size(obstacle.obstacle_shape, place)
    first = obstacle.initial_state
    if getattr(first, "velocity", None) is None:  # a parked obstacle need not have a velocity
        first.velocity = 0.0
    prediction = getattr(obstacle, "prediction", None)
    states = getattr(getattr(prediction, "trajectory", None), "state_list", ())
    later = [state for state in states if state.time_step > first.time_step]
    try:
        trajectory = Trajectory.from_commonroad([first, *later], dt, name=place)
    except InvalidValue as error:
        raise InvalidValue(f"{place}: {error}") from error
    kind = obstacle.obstacle_type.value
    return Obstacle(obstacle.obstacle_id, kind, length, width, ahead, trajectory)


def _size(shape: Any, place: str) -> tuple[m, m, m]:
    """Length, width and distance of the centre ahead of the position, in m."""
    if hasattr(shape, "length") and hasattr(shape, "width"):
        shift = float(getattr(shape, "origin_x_shift", 0.0))
        return float(shape.length), float(shape.width), -shift
    if hasattr(shape, "radius"):
        return 2.0 * float(shape.radius), 2.0 * float(shape.radius), 0.0
    if hasattr(shape, "vertices"):
        rear, right = np.min(shape.vertices, axis=0)
        front, left = np.max(shape.vertices, axis=0)
        return float(front - rear), float(left - right), float(0.5 * (front + rear))
    raise InvalidValue(f"{place} has a shape of an unknown kind, {type(shape).__name__}")
