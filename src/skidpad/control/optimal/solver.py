"""Solve a transcribed problem by IPOPT, with derivatives from compiled lanes.

IPOPT is called as CasADi ships it. Its functions are callbacks over whole arrays: an evaluation
crosses from IPOPT to Python once, for all points of the mesh.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...core.arrays import Array
from ...core.progress import Choice, watching
from .transcription import Transcription


class Evaluations:
    """Objective, rows and derivatives of a transcribed problem at scaled variables x (nx,)."""

    def __init__(self, transcription: Transcription, params: Array) -> None:
        self.of = transcription
        self.params = params
        self.seconds = 0.0
        """Time spent in evaluations, in s."""
        self.counts = {"value": 0, "jacobian": 0, "hessian": 0}
        t = transcription
        # Buffers are created here, so that the first evaluation is as fast as all others.
        self.size, self.row_count = len(t.scales), t.rows.shape[0]
        self._at: tuple[bytes, Array] | None = None
        self._jacobian_at: tuple[bytes, Array] | None = None
        _ = t.jacobian, t.hessian, t.time_gradient, t.roughness

    def _value(self, x: Array) -> Array:
        key = x.tobytes()
        if self._at is None or self._at[0] != key:
            self.counts["value"] += 1
            z, p = self.of.split(x, self.params)
            self._at = key, self.of.functions.value(z, self.of.data, p)
        return self._at[1]

    def _linear(self, x: Array) -> Array:
        key = x.tobytes()
        if self._jacobian_at is None or self._jacobian_at[0] != key:
            self.counts["jacobian"] += 1
            z, p = self.of.split(x, self.params)
            value, jacobian = self.of.functions.linear(z, self.of.data, p)
            self._at, self._jacobian_at = (key, value), (key, jacobian)
        return self._jacobian_at[1]

    def time(self, x: Array) -> float:
        """Lap time in s at scaled variables x."""
        return float(self.of.weights @ self._value(x)[:, sum(self.of.functions.problem.sizes[:4])])

    def times(self, x: Array) -> Array:
        """Elapsed times in s at the points, and at the end of a closed mesh."""
        mesh = self.of.mesh
        slowness = self._value(x)[:, sum(self.of.functions.problem.sizes[:4])]
        slowness = np.append(slowness, slowness[0]) if mesh.closed else slowness
        steps = mesh.steps
        if mesh.order == 2:
            parts = 0.5 * steps * (slowness[1:] + slowness[:-1])
        else:  # integrals of the parabola through the three points of an interval
            first, middle, last = slowness[:-2:2], slowness[1::2], slowness[2::2]
            halves = (5.0 * first + 8.0 * middle - last, 5.0 * last + 8.0 * middle - first)
            parts = steps / 12.0 * np.column_stack(halves).ravel()
        return np.concatenate([[0.0], np.cumsum(parts)])

    def cost(self, x: Array) -> float:
        """Objective at scaled variables x: time in s plus the cost of rough controls."""
        return self.time(x) + 0.5 * float(x @ (self.of.roughness @ x))

    def gradient(self, x: Array) -> Array:
        return self.of.time_gradient @ self._linear(x).ravel() + self.of.roughness @ x

    def rows(self, x: Array) -> Array:
        return self.of.rows @ self._value(x).ravel()

    def jacobian(self, x: Array) -> Array:
        """Entries of the Jacobian of the rows, in the order of its pattern."""
        return self.of.jacobian.entries(self._linear(x))

    def point_weights(self, factor: float, multipliers: Array) -> Array:
        """Weights (n, count) of the point values in the Lagrangian."""
        weights = (self.of.rows.T @ multipliers).reshape(self.of.points, -1)
        return weights + factor * self.of.time_weights

    def hessian(self, x: Array, factor: float, multipliers: Array) -> Array:
        """Entries of the upper triangle of the Hessian of the Lagrangian."""
        self.counts["hessian"] += 1
        z, p = self.of.split(x, self.params)
        weights = self.point_weights(factor, multipliers)
        entries = self.of.functions.curvature(z, self.of.data, p, weights)
        sparse = self.of.hessian
        return sparse.combine @ entries.ravel() + factor * sparse.constant


class _Callback(ca.Callback):
    """CasADi callback that reads and writes NumPy arrays."""

    def __init__(
        self, name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any], evaluate: Any
    ) -> None:
        super().__init__()
        self._inputs, self._outputs, self._evaluate = dict(inputs), dict(outputs), evaluate
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self._inputs)

    def get_n_out(self) -> int:
        return len(self._outputs)

    def get_name_in(self, i: int) -> str:
        return list(self._inputs)[i]

    def get_name_out(self, i: int) -> str:
        return list(self._outputs)[i]

    def get_sparsity_in(self, i: int) -> Any:
        return list(self._inputs.values())[i]

    def get_sparsity_out(self, i: int) -> Any:
        return list(self._outputs.values())[i]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        return self._evaluate([_array(a) for a in arg], [_array(r) for r in res])


def _array(buffer: Any) -> Any:
    return None if buffer is None else np.frombuffer(buffer, dtype=float)


class Solution(NamedTuple):
    """Result of the solver; it may be the best iterate of an unfinished solution."""

    x: Array
    """Scaled variables of the program."""
    multipliers: Array
    """Multipliers of the rows."""
    bound_multipliers: Array
    """Multipliers of the bounds of the variables, negative at a lower bound."""
    time: float
    """Time in s."""
    cost: float
    """Objective: time plus the cost of rough controls, in s."""
    converged: bool
    status: str
    """Status of IPOPT, such as "Solve_Succeeded"."""
    iterations: int
    violation: float
    """Largest violation of a row, in units of its scale."""
    seconds: float
    """Wall time of the solution in s."""
    evaluation_seconds: float
    """Part of it spent in evaluations."""


STOPPED = "Stopped_By_User"
"""Status of a solution that Ctrl-C ended."""
OPTIONS: Mapping[str, Any] = {
    "tol": 1e-9,
    "constr_viol_tol": 1e-8,
    "max_iter": 1000,
    "mu_strategy": "monotone",
    "mumps_pivot_order": 0,
    "nlp_scaling_method": "none",
    "bound_relax_factor": 0.0,
    "sb": "yes",
    "print_level": 0,
}
"""Options of IPOPT that differ from its defaults; problems are scaled by `Variable.scale`."""
WARM: Mapping[str, Any] = {
    "warm_start_init_point": "yes",
    "tol": 1e-11,
    "mu_init": 1e-10,
    "warm_start_bound_push": 1e-9,
    "warm_start_bound_frac": 1e-9,
    "warm_start_slack_bound_push": 1e-9,
    "warm_start_slack_bound_frac": 1e-9,
    "warm_start_mult_bound_push": 1e-9,
}
"""Further options for a start close to a solution."""


@dataclass
class _Run:
    """State of a running solution: iterations, and the iterate to return if it is stopped."""

    bar: Any
    iterations: int = 0
    best: Array | None = None
    best_merit: float = np.inf
    stopped: bool = False
    error: BaseException | None = None
    seconds: float = 0.0


def solve(
    evaluations: Evaluations,
    start: Array,
    low: Array,
    high: Array,
    *,
    previous: Solution | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Choice = None,
) -> Solution:
    """Solve from scaled variables `start` (nx,) within bounds `low` and `high`.

    With `previous`, a solution of a similar problem, its multipliers are the start of the
    multipliers. Ctrl-C ends the solution with the best iterate: that of least violation plus cost.
    """
    settings = {**OPTIONS, **(WARM if previous is not None else {}), **(options or {})}
    row_low, row_high = evaluations.of.row_bounds
    with watching(int(settings["max_iter"]), "iterations", "lap", progress) as bar:
        run = _Run(bar)
        solver, callbacks = _solver(evaluations, run, settings, (row_low, row_high))
        multipliers: dict[str, Any] = {}
        if previous is not None:
            multipliers = {"lam_g0": previous.multipliers, "lam_x0": previous.bound_multipliers}
        began = time.perf_counter()
        with _stopped_by_ctrl_c(run):
            found = solver(x0=start, lbx=low, ubx=high, lbg=row_low, ubg=row_high, **multipliers)
        seconds = time.perf_counter() - began
        bar.advance(settings["max_iter"] - bar.done)
    if run.error is not None:
        raise run.error
    del callbacks
    x = found["x"].full().ravel()
    if run.stopped and run.best is not None:
        x = run.best
    status = solver.stats()["return_status"]
    rows = evaluations.rows(x)
    return Solution(
        x,
        found["lam_g"].full().ravel(),
        found["lam_x"].full().ravel(),
        evaluations.time(x),
        evaluations.cost(x),
        bool(solver.stats()["success"]) and not run.stopped,
        STOPPED if run.stopped else status,
        run.iterations,
        float(np.maximum(0.0, np.maximum(row_low - rows, rows - row_high)).max(initial=0.0)),
        seconds,
        run.seconds,
    )


@contextmanager
def _stopped_by_ctrl_c(run: _Run) -> Generator[None]:
    """Context manager in which Ctrl-C ends the solver after the current iteration.

    CasADi would treat an exception raised by a signal handler as a failed evaluation, and IPOPT
    would continue. Signal handlers can only be set in the main thread; in other threads this does
    nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        run.stopped = True

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _solver(
    evaluations: Evaluations, run: _Run, settings: Mapping[str, Any], bounds: tuple[Array, Array]
) -> tuple[Any, list[Any]]:
    """IPOPT solver built from callbacks, which must stay alive while the solver is used."""
    e, t = evaluations, evaluations.of
    nx, ng = e.size, e.row_count
    x, p, scalar, g = (ca.Sparsity.dense(n) for n in (nx, 0, 1, ng))
    patterns: list[Any] = []
    for pattern in (t.jacobian.pattern, t.hessian.pattern):
        columns, rows = pattern.indptr.tolist(), pattern.indices.tolist()
        height, width = pattern.shape
        patterns.append(ca.Sparsity(height, width, columns, rows))

    def guarded(evaluate: Any) -> Any:
        def call(arg: list[Any], res: list[Any]) -> int:
            began = time.perf_counter()
            try:
                with np.errstate(all="ignore"):
                    evaluate(arg, res)
            except KeyboardInterrupt:
                run.stopped = True
                evaluate(arg, res)
            except BaseException as error:  # CasADi would report the error without its traceback
                run.error = error
                return 1
            run.seconds += time.perf_counter() - began
            return 0

        return call

    def fill(target: Any, values: Any) -> None:
        if target is not None:
            target[:] = values

    def objective(arg: list[Any], res: list[Any]) -> None:
        if res[0] is not None:
            res[0][:] = e.cost(arg[0])
        if res[1] is not None:
            res[1][:] = e.rows(arg[0])

    def gradient(arg: list[Any], res: list[Any]) -> None:
        if res[0] is not None:
            res[0][:] = e.cost(arg[0])
        fill(res[1], e.gradient(arg[0]))

    def jacobian(arg: list[Any], res: list[Any]) -> None:
        fill(res[1], e.jacobian(arg[0]))
        if res[0] is not None:
            res[0][:] = e.rows(arg[0])

    def hessian(arg: list[Any], res: list[Any]) -> None:
        fill(res[0], e.hessian(arg[0], float(arg[2][0]), arg[3]))

    def report(arg: list[Any], res: list[Any]) -> None:
        run.iterations += 1
        now, rows = arg[0], arg[2]
        excess = np.maximum(0.0, np.maximum(bounds[0] - rows, rows - bounds[1]))
        merit = float(arg[1][0]) + 1e3 * float(excess.max(initial=0.0))
        if merit < run.best_merit:
            run.best_merit, run.best = merit, now.copy()
        run.bar.advance(1)
        res[0][:] = 1.0 if run.stopped else 0.0

    program = _Callback("nlp", {"x": x, "p": p}, {"f": scalar, "g": g}, guarded(objective))
    slopes = _Callback(
        "nlp_grad_f", {"x": x, "p": p}, {"f": scalar, "grad_f_x": x}, guarded(gradient)
    )
    linear = _Callback(
        "nlp_jac_g", {"x": x, "p": p}, {"g": g, "jac_g_x": patterns[0]}, guarded(jacobian)
    )
    curved = _Callback(
        "nlp_hess_l",
        {"x": x, "p": p, "lam_f": scalar, "lam_g": g},
        {"triu_hess_gamma_x_x": patterns[1]},
        guarded(hessian),
    )
    shapes = {"x": x, "f": scalar, "g": g, "lam_x": x, "lam_g": g, "lam_p": p}
    each = _Callback("iteration", shapes, {"ret": scalar}, guarded(report))
    solver = ca.nlpsol(
        "lap",
        "ipopt",
        program,
        {
            "grad_f": slopes,
            "jac_g": linear,
            "hess_lag": curved,
            "iteration_callback": each,
            "print_time": False,
            "no_nlp_grad": True,
            "ipopt": dict(settings),
        },
    )
    return solver, [program, slopes, linear, curved, each]
