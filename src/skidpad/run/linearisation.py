"""A vehicle as a linear system around a point: for MPC, for LQR, for limits of acceleration.

    x_next, A, B = linearise(car, x, u, dt=0.1)             # x_next + A dx + B du after dt
    rate, A, B = linearise_continuous(car, x, u)            # x' is about rate + A dx + B du
    along, across = normalised_acceleration(car, x, u)      # 1 is the limit of each

The derivatives are exact: they differentiate the expressions of `interop`, which the simulator
itself steps, compiled once for a model and an integrator. After that a call takes some ten
microseconds, and less through a `Linearisation` that the caller holds. The step of a small model is
one function; that of a large one is assembled at each call from the derivatives of its stages, by
the same chain rule with far less to compile. A delayed input counts as the one in effect.

The step is one of RK4. If that is unstable at every driving speed ("auto"), or with "exact", the
linear motion is solved exactly instead: with the input held, x' = rate + A dx + B du has a closed
solution, the exponential of its matrix, for which no step is too long. The step of a simulator is
that of `sim.integrator`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..compile.cpu import BoundMap
from ..compile.program import Port
from ..compile.trace import Calls, trace
from ..core import record
from ..core.arrays import AnyArray
from ..core.backends import traced_by
from ..core.checks import positive, positive_step
from ..core.lazy import RecentCache
from ..core.model import (
    Continuous,
    Discrete,
    LinearAcceleration,
    NormalisedAcceleration,
    Vehicle,
    vehicle_of,
)
from ..errors import InvalidValue, StepNotConverged
from ..integrate import compiled_integrator
from ..integrate.base import Integrator, making_expressions
from ..integrate.explicit import ExplicitRungeKutta, Tableau
from ..integrate.radau import RESIDUAL_TOLERANCE
from .stability import AUTO, EXPLICIT, automatic, check_step, takes

WHOLE_STEP = 6_000
"""Largest number of operations for which a step is one function; it compiles in seconds."""
LARGEST = 30_000
"""Number of operations above which CasADi's interpreter evaluates a function.

Compiling it takes longer than the calls of a session would save.
"""


Function = Callable[..., list[AnyArray]]
"""Type of a function of number rows that returns values and their derivatives."""


class Differentiated:
    """A `Function` from expressions of symbols."""

    @making_expressions()
    def __init__(self, name: str, symbols: Sequence[Any], values: Any, more: Sequence[Any]) -> None:
        import casadi as ca

        from ..integrate.derivatives import linearised

        self.name = name
        # Differentiate by vertex elimination, since CasADi's method takes up to twice as many
        # operations here.
        values, jacobian = linearised(values, ca.vertcat(*symbols[:2]))
        nx = symbols[0].numel()
        matrices = [ca.densify(jacobian[:, :nx]), ca.densify(jacobian[:, nx:])]
        results = [values, *matrices, *more]
        self._points = [np.zeros(symbol.numel()) for symbol in symbols]
        self._results = [np.zeros(values.numel()), *(np.zeros(m.shape) for m in matrices)]
        self._results += [np.zeros(result.numel()) for result in more]
        # CasADi stores columns one after the other, NumPy rows.
        columns = [ca.reshape(result.T, -1, 1) for result in results]
        self._function = ca.Function("f", list(symbols), columns, {"cse": True})
        self.operations: int = self._function.n_instructions()
        self._lock = threading.Lock()
        self._compiled: BoundMap | None = None

    def _bound(self) -> BoundMap:
        """Bind the function as machine code to the arrays of this object."""
        inputs, outputs = (
            [Port(f"{side}{k}", tuple(map(str, range(array.size)))) for k, array in enumerate(some)]
            for side, some in (("in", self._points), ("out", self._results))
        )
        program = trace(self.name, self._inlined, inputs, outputs)
        return BoundMap(program, self._points, self._results)

    def _inlined(self, *ports: tuple[Any, ...]) -> list[list[Any]]:
        import casadi as ca

        results = self._function(*(ca.vertcat(ca.SX(0, 1), *port) for port in ports))
        return [ca.vertsplit(result) if result.numel() else [] for result in results]

    def __call__(self, *rows: Any) -> list[AnyArray]:
        with self._lock:
            for point, row in zip(self._points, rows, strict=True):
                point[:] = row
            if self.operations > LARGEST:
                for array, result in zip(self._results, self._function(*self._points), strict=True):
                    array.reshape(-1)[:] = result.full().ravel()
            else:
                if self._compiled is None:
                    self._compiled = self._bound()
                self._compiled()
            return [array.copy() for array in self._results]


class StagedStep:
    """A step by an explicit Runge-Kutta method, differentiated stage by stage."""

    def __init__(self, rate: Function, tableau: Tableau) -> None:
        self._rate = rate
        self._a = [[float(c) for c in row] for row in tableau.a]
        self._b = [float(c) for c in tableau.b]

    def __call__(self, *rows: Any) -> list[AnyArray]:
        """The state after dt, its derivatives with respect to state and input, and residual 0."""
        x, u, w, p, (dt,) = rows
        nx = len(x)
        # Store state and derivatives side by side, so that each stage updates all of them at once.
        start = np.eye(nx, 1 + nx + len(u), 1)
        start[:, 0] = x
        slopes: list[AnyArray] = []
        for weights in self._a:
            at = _stage_state(start, weights, slopes, dt)
            rate, of_x, of_u = self._rate(at[:, 0], u, w, p)[:3]
            slope = of_x @ at
            slope[:, 0] = rate
            slope[:, 1 + nx :] += of_u
            slopes.append(slope)
        after = _stage_state(start, self._b, slopes, dt)
        return [after[:, 0], after[:, 1 : 1 + nx], after[:, 1 + nx :], np.zeros(1)]


class ExactStep:
    """The linearised motion over a step with the input held, from a derivative with its slopes.

    The first rows of the matrix exponential of [[A, B, rate], [0, 0, 0]] dt contain all three
    solutions (C. Van Loan, *IEEE Trans. Automatic Control* 23 (1978) 395).
    """

    def __init__(self, rate: Function) -> None:
        self._rate = rate

    def __call__(self, *rows: Any) -> list[AnyArray]:
        """The state after dt, its derivatives with respect to state and input, and residual 0."""
        from scipy.linalg import expm

        x, u, w, p, (dt,) = rows
        rate, A, B = self._rate(x, u, w, p)[:3]
        nx, nu = B.shape
        motion = np.zeros((nx + nu + 1, nx + nu + 1))
        motion[:nx, :nx], motion[:nx, nx:-1], motion[:nx, -1] = A, B, rate
        if not np.isfinite(motion).all():
            return [np.full(nx, np.nan), A, B, np.zeros(1)]
        after = expm(dt * motion)[:nx]
        return [np.asarray(x) + after[:, -1], after[:, :nx], after[:, nx:-1], np.zeros(1)]


def _stage_state(
    start: AnyArray, weights: Sequence[float], slopes: list[AnyArray], dt: float
) -> AnyArray:
    """State of a Runge-Kutta stage, start + dt Σ weights slopes."""
    ahead = start
    for weight, slope in zip(weights, slopes, strict=False):
        if weight:
            ahead = ahead + (weight * dt) * slope
    return ahead


_FUNCTIONS: RecentCache[Function] = RecentCache()


def derivative_function(
    vehicle: Vehicle, what: str, integrator: Integrator | None = None
) -> Function:
    """Compile the `derivative`, the `outputs` or the `step` (by an integrator) of a vehicle's
    model.

    It is compiled once per model, as parameters are arguments.
    """
    make = partial(_function, vehicle, what, integrator)
    return _FUNCTIONS.get(vehicle.model, (what, integrator), make)


def _function(vehicle: Vehicle, what: str, integrator: Integrator | None) -> Function:
    from .interop import expressions

    with traced_by(Calls()):
        model = expressions(vehicle, integrator)
    symbols, name = [model.x, model.u, model.w, model.p], f"{vehicle.name}.{what}"
    if what != "step":
        values = model.f_expl if what == "derivative" else model.y
        return Differentiated(name, symbols, values, ())
    # A step by stages cannot represent values that the model holds over the whole step.
    alone = vehicle.model.continuous and vehicle.model.hold is None and vehicle.model.substeps == 1
    if isinstance(integrator, ExplicitRungeKutta) and alone:
        size: int = model.functions["f_disc"].n_instructions()
        if size * _GROWTH > WHOLE_STEP:
            return StagedStep(derivative_function(vehicle, "derivative"), integrator.tableau)
    name = f"{name}.{integrator.name if integrator is not None else 'update'}"
    return Differentiated(name, [*symbols, model.dt], model.f_disc, [model.residual])


_GROWTH = 5
"""Approximate number of operations of a step with its Jacobian, relative to the step alone."""

EXACT = "exact"
"""Name used in place of an integrator for the exact solution of the linear motion with held
input.
"""
PAIRS = (("a_long", "a_lat"), ("a_x", "a_y"))
"""Output names of the longitudinal and lateral acceleration; the first pair that exists is used."""


class _LinearisedVehicle:
    """Base of the linearisations: a vehicle, its compiled functions and its constants."""

    def __init__(self, vehicle: Vehicle, functions: Function) -> None:
        self._vehicle, self._functions = vehicle, functions
        model = vehicle.model
        self._p = np.array(record.flatten(vehicle.params), dtype=float)
        self._w = np.array(record.flatten(record.build(model.Disturbance)), dtype=float)
        self._kinds = (model.State, model.Input, model.Disturbance)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._vehicle!r}>"

    @property
    def vehicle(self) -> Vehicle:
        """The vehicle that is linearised."""
        return self._vehicle

    def _evaluated(self, x: Any, u: Any, w: Any, *rest: Any) -> list[AnyArray]:
        State, Input, Disturbance = self._kinds
        rows = (_row(State, x), _row(Input, u), self._w if w is None else _row(Disturbance, w))
        try:
            results = self._functions(*rows, self._p, *rest)
        except OverflowError:  # an integer beyond the range of floats
            results = [np.array([np.nan])]
        if not np.isfinite(results[0]).all():
            # Check the rows only after a failure, so that valid calls pay nothing.
            for kind, row in zip(self._kinds, rows, strict=True):
                record.build(kind, dict(zip(record.names(kind), record.flatten(row), strict=True)))
        return results


def _row(kind: type, values: Any) -> Any:
    """Row of numbers of a record, mapping or array; not copied where possible."""
    if type(values) is np.ndarray and values.shape == (record.size(kind),):
        return values
    if type(values) is kind and len(kind._fields) == record.size(kind):
        return values
    return record.flatten(record.build(kind, values))


class Linearisation(_LinearisedVehicle):
    """One step of a vehicle, ready to be linearised around any state and input.

    around = Linearisation(car, dt=0.1)
    x_next, A, B = around(x, u)
    """

    def __init__(self, vehicle: Vehicle, dt: float, integrator: str | Integrator = AUTO) -> None:
        self._dt, model = positive_step(dt, "float64"), vehicle_of(vehicle).model
        if integrator == AUTO:
            integrator = EXPLICIT if takes(vehicle, EXPLICIT, self.dt) else EXACT
        if integrator == EXACT and model.continuous and model.hold is None:
            super().__init__(vehicle, ExactStep(derivative_function(vehicle, "derivative")))
            self._implicit = False
            return
        # A model that samples at the start of a step (`hold`) has no continuous motion to
        # differentiate.
        method = automatic(vehicle, self.dt, model.substeps)
        if integrator != EXACT:
            method = compiled_integrator(integrator)
            check_step(
                vehicle, method, self.dt, model.substeps, some_speeds=False, has_substeps=False
            )
        super().__init__(vehicle, derivative_function(vehicle, "step", method))
        self._implicit = model.continuous and method.implicit

    @property
    def dt(self) -> float:
        """Length of the step in s."""
        return self._dt

    def __call__(self, x: Any, u: Any, w: Any = None) -> Discrete:
        """Linearise the step from `x` with `u` held and disturbance `w`.

        State, input and disturbance are records, mappings or arrays.
        """
        x_next, A, B, residual = self._evaluated(x, u, w, (self.dt,))
        if self._implicit and not residual[0] <= RESIDUAL_TOLERANCE:
            raise StepNotConverged(
                f"the step from {x} left a Newton residual of {residual[0]:.3g}; allowed is "
                f"{RESIDUAL_TOLERANCE:g}. Take a smaller dt than {self.dt:g} s",
                time=0.0,
                residual=float(residual[0]),
            )
        return Discrete(x_next, A, B)


class ContinuousLinearisation(_LinearisedVehicle):
    """The time derivative of a vehicle, ready to be linearised around any state and input."""

    def __init__(self, vehicle: Vehicle) -> None:
        if not vehicle_of(vehicle).model.continuous:
            raise InvalidValue(
                f"{vehicle.name!r} is a discrete model: it has no derivative; use linearise"
            )
        super().__init__(vehicle, derivative_function(vehicle, "derivative"))

    def __call__(self, x: Any, u: Any, w: Any = None) -> Continuous:
        """Linearise the time derivative at state `x`, input `u` and disturbance `w`.

        State, input and disturbance are records, mappings or arrays.
        """
        return Continuous(*self._evaluated(x, u, w)[:3])


class AccelerationLimits(_LinearisedVehicle):
    """Accelerations of a vehicle relative to their limits, ready to be evaluated and linearised."""

    def __init__(
        self, vehicle: Vehicle, a_long_max: float | None = None, a_lat_max: float | None = None
    ) -> None:
        names = record.names(vehicle_of(vehicle).model.Outputs)
        pair = next((pair for pair in PAIRS if set(pair) <= set(names)), None)
        if pair is None:
            raise InvalidValue(
                f"{vehicle.name!r} has no accelerations among its outputs "
                f"({', '.join(names) or 'none'}); needed are a_x and a_y"
            )
        super().__init__(vehicle, derivative_function(vehicle, "outputs"))
        self._rows = [names.index(name) for name in pair]
        limits = {"a_long_max": a_long_max, "a_lat_max": a_lat_max}
        self.limits = np.array([_limit(vehicle, *item) for item in limits.items()])

    def __call__(self, x: Any, u: Any, w: Any = None) -> NormalisedAcceleration:
        """Evaluate the accelerations divided by their limits."""
        along, across = self._evaluated(x, u, w)[0][self._rows] / self.limits
        return NormalisedAcceleration(float(along), float(across))

    def linearise(self, x: Any, u: Any, w: Any = None) -> LinearAcceleration:
        """Evaluate the accelerations divided by their limits, with their derivatives."""
        y, by_x, by_u = self._evaluated(x, u, w)[:3]
        (along, across), by = y[self._rows] / self.limits, 1.0 / self.limits[:, None]
        along_x, across_x = by_x[self._rows] * by
        along_u, across_u = by_u[self._rows] * by
        return LinearAcceleration(float(along), float(across), along_x, along_u, across_x, across_u)


def _limit(vehicle: Vehicle, name: str, value: float | None) -> float:
    value = getattr(vehicle.params, name, None) if value is None else value
    if value is None:
        raise InvalidValue(f"{vehicle.name!r} has no parameter {name}: give {name}= in m/s²")
    return positive(name, value, "m/s²")


_LINEARISATIONS: RecentCache[Any] = RecentCache()


def _cached(kind: Any, vehicle: Vehicle, *options: Any) -> Any:
    return _LINEARISATIONS.get(vehicle, (kind, *options), lambda: kind(vehicle, *options))


def linearise(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    dt: float,
    integrator: str | Integrator = AUTO,
    *,
    w: Any = None,
) -> Discrete:
    """Linearise one step of `dt` in s from state `x` with input `u` held: next state, A and B.

    State, input and disturbance are records, mappings or arrays; `w` is neutral if None. The step
    is that of an `integrator`; with "exact" it is the exact solution of the linearised motion;
    "auto" is RK4, or "exact" where RK4 is unstable at every driving speed. `sim.integrator` gives
    the step of a simulator `sim`.
    """
    return _cached(Linearisation, vehicle, dt, integrator)(x, u, w)


def linearise_continuous(vehicle: Vehicle, x: Any, u: Any, *, w: Any = None) -> Continuous:
    """Return the time derivative at a state and input, and its derivatives A and B."""
    return _cached(ContinuousLinearisation, vehicle)(x, u, w)


def normalised_acceleration(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    *,
    w: Any = None,
    a_long_max: float | None = None,
    a_lat_max: float | None = None,
) -> NormalisedAcceleration:
    """Longitudinal and lateral acceleration of a vehicle, divided by their limits.

    The accelerations are the vehicle's outputs `a_long`, `a_lat` if they exist, else `a_x`, `a_y`.
    The limits in m/s² are the arguments or else its parameters of these names.
    """
    return _cached(AccelerationLimits, vehicle, a_long_max, a_lat_max)(x, u, w)


def linearise_acceleration(
    vehicle: Vehicle,
    x: Any,
    u: Any,
    *,
    w: Any = None,
    a_long_max: float | None = None,
    a_lat_max: float | None = None,
) -> LinearAcceleration:
    """Return `normalised_acceleration` with its derivatives, for constraints of an optimisation."""
    return _cached(AccelerationLimits, vehicle, a_long_max, a_lat_max).linearise(x, u, w)
