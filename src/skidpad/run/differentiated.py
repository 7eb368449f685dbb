"""Functions of a vehicle with their exact derivatives, as machine code bound to its own memory.

What is differentiated are the expressions of `interop.casadi`, the same that everything else steps.
A small model's step is one function; the step of a large one is put together at each call from the
derivatives of its stages, which is the same chain rule with far less to compile. Kernels that a
vehicle calls stay functions, and so do their derivatives.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..arrays import AnyArray
from ..calls import taken_by
from ..compile.bound import BoundMap
from ..compile.calls import Calls
from ..compile.program import Port
from ..compile.trace import trace
from ..integrate import ExplicitRungeKutta, Tableau
from ..integrate.as_written import making_expressions
from ..integrate.base import Integrator
from ..model import Vehicle
from .kept import Kept

WHOLE_STEP = 6_000
"""Operations up to which a step is one function; compiling that takes seconds."""
LARGEST = 30_000
"""Operations beyond which a function is left to CasADi's interpreter: compiling more takes longer
than the calls of a session would save."""


class Function(Protocol):
    """Values, their Jacobians with respect to state and input, and more values.

    Called with rows for x, u, w, p (and dt, for a step); returns arrays of the caller's own.
    """

    def __call__(self, *rows: Any) -> list[AnyArray]:
        """The values and derivatives at a point."""
        ...


class Differentiated:
    """A `Function` from expressions of symbols."""

    @making_expressions()
    def __init__(self, name: str, symbols: Sequence[Any], values: Any, more: Sequence[Any]) -> None:
        import casadi as ca

        from ..integrate.jacobian import linearised

        self.name = name
        # By elimination: CasADi's own way takes up to twice as many operations here.
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

    def _interpret(self) -> None:
        for array, result in zip(self._results, self._function(*self._points), strict=True):
            array.reshape(-1)[:] = result.full().ravel()

    def _bound(self) -> BoundMap:
        """The function as machine code over the arrays of this object."""
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
        """The values and derivatives at a point."""
        with self._lock:
            for point, row in zip(self._points, rows, strict=True):
                point[:] = row
            if self.operations > LARGEST:
                self._interpret()
            else:
                if self._compiled is None:
                    self._compiled = self._bound()
                self._compiled()
            return [array.copy() for array in self._results]


class Staged:
    """A step by an explicit Runge-Kutta method, differentiated stage by stage."""

    def __init__(self, rate: Function, tableau: Tableau) -> None:
        self._rate = rate
        self._a = [[float(c) for c in row] for row in tableau.a]
        self._b = [float(c) for c in tableau.b]

    def __call__(self, *rows: Any) -> list[AnyArray]:
        """The state after dt, its derivatives with respect to state and input, and residual 0."""
        x, u, w, p, (dt,) = rows
        nx = len(x)
        # State and derivatives side by side, so that each stage moves all of them at once.
        start = np.eye(nx, 1 + nx + len(u), 1)
        start[:, 0] = x
        slopes: list[AnyArray] = []
        for weights in self._a:
            at = _ahead(start, weights, slopes, dt)
            rate, of_x, of_u = self._rate(at[:, 0], u, w, p)[:3]
            slope = of_x @ at
            slope[:, 0] = rate
            slope[:, 1 + nx :] += of_u
            slopes.append(slope)
        after = _ahead(start, self._b, slopes, dt)
        return [after[:, 0], after[:, 1 : 1 + nx], after[:, 1 + nx :], np.zeros(1)]


class ExactlyHeld:
    """The linearised motion over a step with the input held, from a derivative with its slopes.

    The matrix exponential of [[A, B, rate], [0, 0, 0]] dt has all three solutions in its first rows
    (C. Van Loan, *IEEE Trans. Automatic Control* 23 (1978) 395).
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


def _ahead(
    start: AnyArray, weights: Sequence[float], slopes: list[AnyArray], dt: float
) -> AnyArray:
    """start + dt Σ weights slopes."""
    ahead = start
    for weight, slope in zip(weights, slopes, strict=False):
        if weight:
            ahead = ahead + (weight * dt) * slope
    return ahead


_FUNCTIONS: Kept[Function] = Kept()


def differentiated(vehicle: Vehicle, what: str, integrator: Integrator | None = None) -> Function:
    """The `derivative`, the `outputs` or the `step` (by an integrator) of a vehicle's model.

    It is made once for a model: parameters are arguments.
    """
    make = partial(_function, vehicle, what, integrator)
    return _FUNCTIONS.get(vehicle.model, (what, integrator), make)


def _function(vehicle: Vehicle, what: str, integrator: Integrator | None) -> Function:
    from ..interop.casadi import expressions

    with taken_by(Calls()):
        model = expressions(vehicle, integrator)
    symbols, name = [model.x, model.u, model.w, model.p], f"{vehicle.name}.{what}"
    if what != "step":
        values = model.f_expl if what == "derivative" else model.y
        return Differentiated(name, symbols, values, ())
    # What a model holds over the step, the stages of it cannot see one by one.
    alone = vehicle.model.continuous and vehicle.model.hold is None and vehicle.model.substeps == 1
    if isinstance(integrator, ExplicitRungeKutta) and alone:
        size: int = model.functions["f_disc"].n_instructions()
        if size * _GROWTH > WHOLE_STEP:
            return Staged(differentiated(vehicle, "derivative"), integrator.tableau)
    name = f"{name}.{integrator.name if integrator is not None else 'update'}"
    return Differentiated(name, [*symbols, model.dt], model.f_disc, [model.residual])


_GROWTH = 5
"""Operations of a step with its Jacobian over those of the step, roughly."""
