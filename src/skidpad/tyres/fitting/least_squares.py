"""Coefficients of a tyre from measurements: staged least squares with exact derivatives.

`Kernel` computes one force or moment of a tyre and its slopes over some of its numbers, compiled
for rows: the equations are the tyre's own, and their Jacobian is that of the traced expressions.
`solve` is the least squares of one stage over load, `untold` finds what the rows do not determine,
and `Search` goes through a stage: which coefficients are free, which are not and why, the best so
far. `check_rows` refuses rows that no tyre can have: signs and units of other programs.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...compile.cpu import CpuMap
from ...compile.program import Port, Program
from ...compile.trace import trace
from ...core import record
from ...core.arrays import AnyArray, Array, Mask
from ...core.checks import one_of
from ...core.progress import Choice, watching
from ...errors import InvalidValue
from ...integrate.base import making_expressions
from ...ops import abs as absolute
from ...ops import tan
from ...study.identify.fitting import NORMAL_95
from ..contract import Contact
from ..tyre import Tyre
from .figures import Residuals
from .measurements import BINS, Measurements, levels, step_of
from .result import Coefficient, Fit, StageFit, rms
from .stages import USUAL, Stage, Task, start_of, task_of, usual_size

AT = ("F_z", "kappa", "alpha", "gamma", "v_x", "p")
"""What of a contact a row says."""


class Kernel:
    """A response of a kind of tyre over rows.

    Args:
        kind: class of the tyre record.
        response: one of the fields of `TyreForces`.
        free: places of the leaves by which to differentiate.
    """

    def __init__(self, kind: type, response: str, free: tuple[int, ...]) -> None:
        self.free = free
        self._map = _compiled(kind, response, free)

    def __call__(self, rows: Array, leaves: Array) -> tuple[Array, Array]:
        """Values (rows,) and slopes (rows, free) for rows of `AT`."""
        values, slopes = self._map.run([rows[None], leaves[None, None]], len(rows))
        return values[0, :, 0], slopes[0]


@lru_cache(maxsize=256)
def _compiled(kind: type, response: str, free: tuple[int, ...]) -> CpuMap:
    return CpuMap(_program(kind, response, free), "float64", None)


def _program(kind: type, response: str, free: tuple[int, ...]) -> Program:
    fields = record.names(kind)
    names = tuple(fields[k] for k in free)
    inputs = (Port("at", AT), Port("tyre", fields))
    outputs = (Port("value", (response,)), Port("slopes", names))
    function = _differentiated(kind, response, free)

    def inlined(at: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
        import casadi as ca

        value, slopes = function(ca.vertcat(*at), ca.vertcat(*leaves))
        return [value], ca.vertsplit(slopes) if free else []

    return trace(f"{kind.__name__}.{response}.fit", inlined, inputs, outputs)


@making_expressions()
def _differentiated(kind: type, response: str, free: tuple[int, ...]) -> Any:
    """The response and its slopes as a CasADi function of a row and the leaves."""
    import casadi as ca

    from ...integrate.derivatives import linearised

    at, leaves = ca.SX.sym("at", len(AT)), ca.SX.sym("tyre", record.size(kind))
    value = _response(kind, response, ca.vertsplit(at), ca.vertsplit(leaves))
    # What the row alone decides is constant here, and so are the leaves that are not free.
    chosen = ca.vertcat(*(leaves[k] for k in free)) if free else ca.SX(0, 1)
    value, slopes = linearised(ca.vertcat(value), chosen)
    return ca.Function("fit", [at, leaves], [value, ca.densify(slopes).T], {"cse": True})


def _response(kind: type, response: str, at: Any, leaves: Any) -> Any:
    contact = Contact(**dict(zip(AT, at, strict=True)))
    contact = contact._replace(v_y=absolute(contact.v_x) * tan(contact.alpha))
    return getattr(record.unflatten(kind, leaves).forces(contact), response)


def rows_of(table: Measurements, tyre: Any, v_x: float) -> Array:
    """The rows of a table for a kernel; where pressure or speed are not known, the tyre's own
    pressure and `v_x`."""
    usual = {"p": float(tyre.pressure), "v_x": v_x}
    columns = [table[name] for name in AT]
    for k, name in enumerate(AT):
        if name in usual:
            columns[k] = np.where(np.isnan(columns[k]), usual[name], columns[k])
    return np.column_stack(columns)


LOSSES = ("soft_l1", "linear")
_LEAST_SCALE = 1e-3
"""Residual over load up to which rows count in full however well the rest fits."""
_NORMAL_MAD = 1.4826
"""Standard deviation of normal errors over the median of their sizes."""
_ROBUST_FROM = 1.5
"""Standard deviations from which rows count less."""
_RESCALED = 2
"""How often the size of usual errors is estimated anew."""
_DEPENDENT = 1e-4
"""Part of a coefficient's effect that others must leave it, or it cannot be separated from them."""
LEAST_NOISE = 3e-4
"""Error over load that equations have anyway: what shows only below it is not told."""
_NO_EFFECT = 1e-6
"""Residual by a usual change of a coefficient that counts as none."""
_MOST_EVALUATIONS = 200
_SHORT = 40
"""Evaluations of a search that shows whether a start is good."""
_OUTLIER = 5.0
"""Standard deviations beyond which a row does not count in the end."""
_MOST_OUTLIERS = 0.1
"""Part of the rows that may be outliers; more are what the equations cannot follow."""
_WILD = 1e3
"""Error over load of a row that the equations have no finite force for."""


@dataclass(frozen=True)
class Problem:
    """Rows of a stage and what they are compared with."""

    kernel: Kernel
    """The response with slopes over all coefficients of the stage: one to compile, whichever of
    them are free."""
    rows: Array
    """Contacts, (rows, `AT`)."""
    measured: Array
    weight: Array
    """What residuals are multiplied with: one over load, for moments over load times radius."""

    def where(self, rows: Mask) -> Problem:
        """Some of the rows."""
        return Problem(self.kernel, self.rows[rows], self.measured[rows], self.weight[rows])

    def residual(self, leaves: Array, free: Sequence[int]) -> tuple[Array, Array]:
        """Errors (rows,) and their slopes (rows, free) over load."""
        values, slopes = self.kernel(self.rows, leaves)
        columns = [self.kernel.free.index(k) for k in free]
        return (values - self.measured) * self.weight, slopes[:, columns] * self.weight[:, None]


class _Residual:
    """Errors and slopes of one guess at a time, as `least_squares` asks for them apart."""

    def __init__(self, problem: Problem, leaves: Array, free: tuple[int, ...]) -> None:
        self._problem, self._leaves, self._free = problem, leaves.copy(), free
        self._at: Array | None = None
        self._result: tuple[Array, Array] = (np.empty(0), np.empty((0, 0)))

    def _evaluated(self, x: Array) -> tuple[Array, Array]:
        if self._at is None or not np.array_equal(self._at, x):
            self._leaves[list(self._free)] = x
            error, slopes = self._problem.residual(self._leaves, self._free)
            # A guess so wild that it overflows is a bad one, not the end of the fit.
            wild = ~(np.isfinite(error) & np.isfinite(slopes).all(axis=1))
            error, slopes = np.where(wild, _WILD, error), np.where(wild[:, None], 0.0, slopes)
            self._at, self._result = x.copy(), (error, slopes)
        return self._result

    def errors(self, x: Array) -> Array:
        """Errors over load at a guess."""
        return self._evaluated(x)[0]

    def slopes(self, x: Array) -> Array:
        """Their derivatives."""
        return self._evaluated(x)[1]


@dataclass(frozen=True)
class Solution:
    """The best numbers and how certain they are."""

    leaves: Array
    cost: float
    half: Array
    """Half widths of the 95 % intervals; NaN at a bound."""
    errors: Array
    """Residuals over load."""
    kept: Mask
    """Rows that are no outliers."""

    @property
    def noise(self) -> float:
        """Standard deviation of the errors that are no outliers."""
        return float(np.sqrt(np.mean(self.errors[self.kept] ** 2)))


Bounds = Mapping[int, tuple[float, float]]


def best_start(
    problem: Problem, guesses: Sequence[Array], free: tuple[int, ...], bounds: Bounds
) -> Array:
    """Of several guesses, where the best of short searches ended."""
    ends: list[tuple[float, Array]] = []
    for guess in guesses:
        x, residual = _short(problem, guess, free, bounds)
        leaves = guess.copy()
        leaves[list(free)] = x
        ends.append((_cost(residual.errors(x), "soft_l1", 0.1), leaves))
    return min(ends, key=lambda end: end[0])[1]


def _short(
    problem: Problem, guess: Array, free: tuple[int, ...], bounds: Bounds
) -> tuple[Array, _Residual]:
    residual = _Residual(problem, guess, free)
    x = _minimum(residual, guess[list(free)], _limits(free, bounds), "soft_l1", 0.1, _SHORT)
    return x, residual


def solve(
    problem: Problem, start: Array, free: tuple[int, ...], bounds: Bounds, loss: str
) -> Solution:
    """The best numbers from a start, with intervals.

    With the loss soft_l1 rows count less from 1.5 standard deviations on, which are estimated from
    the median of all errors; in the end those beyond five do not count at all, unless they are so
    many that they are no outliers.
    """
    residual = _Residual(problem, start, free)
    limits = _limits(free, bounds)
    x, scale = _minimum(residual, start[list(free)], limits, loss, 1.0), 1.0
    for _ in range(0 if loss == "linear" else _RESCALED):
        usual = _NORMAL_MAD * float(np.median(np.abs(residual.errors(x))))
        scale = max(_ROBUST_FROM * usual, _LEAST_SCALE)
        x = _minimum(residual, x, limits, loss, scale)
    kept = np.ones(len(problem.measured), dtype=bool)
    if loss != "linear":
        error = np.abs(residual.errors(x))
        far = error > _OUTLIER * scale / _ROBUST_FROM
        if 0 < far.sum() <= _MOST_OUTLIERS * len(far):
            kept = ~far
            residual = _Residual(problem.where(kept), start, free)
            x = _minimum(residual, x, limits, loss, scale)
    leaves = start.copy()
    leaves[list(free)] = x
    error = residual.errors(x)
    half = _half_widths(error, residual.slopes(x), loss, scale)
    low, high = _narrowed(*limits, 1e-6)
    half[(x <= low) | (x >= high)] = np.nan
    everything = problem.residual(leaves, ())[0]
    return Solution(leaves, _cost(error, loss, scale), half, everything, kept)


def _limits(free: tuple[int, ...], bounds: Bounds) -> tuple[Array, Array]:
    """Lowest and highest values of what is free."""
    pairs = [bounds.get(k, (-np.inf, np.inf)) for k in free]
    return np.array([low for low, _ in pairs]), np.array([high for _, high in pairs])


def _minimum(
    residual: _Residual,
    x: Array,
    bounds: tuple[Array, Array],
    loss: str,
    scale: float,
    most: int = _MOST_EVALUATIONS,
) -> Array:
    from scipy.optimize import least_squares as untyped

    least_squares: Any = untyped
    result = least_squares(
        residual.errors,
        np.clip(x, *_narrowed(*bounds)),
        residual.slopes,
        bounds=bounds,
        x_scale="jac",
        loss=loss,
        f_scale=scale,
        ftol=1e-9,
        xtol=1e-9,
        gtol=1e-12,
        max_nfev=most,
    )
    return result.x


def _narrowed(low: Array, high: Array, share: float = 1e-9) -> tuple[Array, Array]:
    """Bounds a little inside."""
    span = high - low
    room = share * np.where(np.isfinite(span), span, 1.0)
    return low + room, high - room


def _cost(error: Array, loss: str, scale: float) -> float:
    if loss == "linear":
        return float(np.mean(error**2))
    z = (error / scale) ** 2
    return float(np.mean(2.0 * scale**2 * (np.sqrt(1.0 + z) - 1.0)))


def _half_widths(error: Array, slopes: Array, loss: str, scale: float) -> Array:
    """Half widths of 95 % intervals of errors that are independent (Huber, Robust Statistics)."""
    count, free = slopes.shape
    if not free:
        return np.empty(0)
    push, stiff = error, np.ones(count)
    if loss != "linear":
        z = (error / scale) ** 2
        push, stiff = error / np.sqrt(1.0 + z), (1.0 + z) ** -1.5
    variance = np.mean(push**2) / np.mean(stiff) ** 2 * count / max(count - free, 1)
    size = np.linalg.norm(slopes, axis=0)
    size[size == 0.0] = 1.0
    inverse = np.linalg.pinv((slopes / size).T @ (slopes / size), rcond=1e-14, hermitian=True)
    return NORMAL_95 * np.sqrt(variance * np.maximum(np.diag(inverse), 0.0)) / size


def untold(
    problem: Problem, leaves: Array, free: Sequence[int], sizes: Array, noise: float
) -> dict[int, tuple[float, int | None]]:
    """Coefficients that rows with this noise do not tell.

    Each with the half width of its 95 % interval and the one of those before it in the list that it
    is mixed up with most. It is not told if that half width exceeds its size (infinite: it changes
    nothing), or if even without noise others do the same (NaN).
    """
    slopes = problem.residual(leaves, free)[1]
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    kept, basis, vague = list[int](), list[Array](), dict[int, tuple[float, int | None]]()
    for k, column in enumerate(slopes.T):
        size, rest = float(np.linalg.norm(column)), column.copy()
        for direction in (*basis, *basis):  # twice: rounding
            rest -= (direction @ rest) * direction
        own = float(np.linalg.norm(rest))
        half = NORMAL_95 * noise / max(own, 1e-300)
        nothing = size * sizes[k] < _NO_EFFECT * np.sqrt(len(column))
        same = own < _DEPENDENT * size
        if nothing or same or half > sizes[k]:
            others = slopes[:, kept]
            overlap = np.abs(column @ others) / np.linalg.norm(others, axis=0)
            alone = nothing or not kept or float(overlap.max()) < 0.5 * size
            most = None if alone else free[kept[int(np.argmax(overlap))]]
            vague[free[k]] = (np.inf if nothing else np.nan if same and not alone else half, most)
            continue
        kept.append(k)
        basis.append(rest / own)
    return vague


def offset(leaves: Array, free: Sequence[int]) -> Array:
    """Numbers a little off, where no slope vanishes by chance, as that of a shape whose amplitude
    is 0."""
    rng = np.random.default_rng(1)
    moved, places = leaves.copy(), list(free)
    scales = np.maximum(np.abs(leaves[places]), 0.1)
    moved[places] += 0.1 * scales * rng.uniform(0.5, 1.5, len(places))
    return moved


_MOST_REFITS = 8
"""How often coefficients may turn out to be untold, and the rest be fitted again."""


class Search:
    """A stage under way: what is free, what is not and why, the best so far."""

    def __init__(self, task: Task, loss: str) -> None:
        self._task, self._loss = task, loss
        self._names = task.names
        self._tried = not task.fresh
        self.free: tuple[int, ...] = ()
        self.why: dict[int, str] = {}
        self.solution: Solution | None = None

    def continue_with(
        self,
        start: Array,
        problem: Problem,
        names: Sequence[str],
        tries: Sequence[Mapping[str, float]],
    ) -> None:
        """Fit these coefficients to these rows, from where the pass before ended."""
        task, before = self._task, self.solution
        wanted = task.places(names)
        leaves = start if before is None else before.leaves
        self.why = {k: "fixed by the user" for k in wanted if k in task.fixed}
        noise = 0.0 if before is None else before.noise
        self._leave_untold(problem, offset(leaves, wanted), wanted, noise)
        if not self.free:
            return
        if not self._tried and tries and {n for t in tries for n in t} <= set(names):
            guesses = [_changed(task, leaves, values, self.free) for values in ({}, *tries)]
            leaves, self._tried = best_start(problem, guesses, self.free, task.bounds), True
        solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        for _ in range(_MOST_REFITS):
            free = self.free
            noise = max(solution.noise, LEAST_NOISE)
            self._leave_untold(problem, solution.leaves, free, noise)
            if self.free == free:
                self._leave_vague(solution)
            if not self.free:
                self.solution = None
                return
            if self.free == free:
                break
            leaves = solution.leaves.copy()
            left = [k for k in free if k not in self.free]
            leaves[left] = start[left]
            solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        self.solution = solution

    def _leave_untold(
        self, problem: Problem, leaves: Array, wanted: Sequence[int], noise: float
    ) -> None:
        """Keep those free that the rows tell; `why` says why not the others."""
        # A row more than coefficients: errors must be able to show.
        few = wanted[max(len(problem.measured) - 1, 0) :]
        self.why |= dict.fromkeys(few, "there are too few rows")
        rest = [k for k in wanted if k not in self.why]
        sizes = np.array([self._size(k, leaves) for k in rest])
        for k, (half, other) in (
            untold(problem, leaves, rest, sizes, noise) if rest else {}
        ).items():
            self.why[k] = self._reason(half, other)
        self.free = tuple(k for k in rest if k not in self.why)

    def _leave_vague(self, solution: Solution) -> None:
        """Leave the last of the coefficients that are vague only together, as QBZ9 and QBZ10."""
        halves = dict(zip(self.free, solution.half.tolist(), strict=True))
        vague = [k for k in self.free if halves[k] > self._size(k, solution.leaves)]
        if len(vague) > 1:
            self.why[vague[-1]] = self._reason(halves[vague[-1]], vague[0])
            self.free = tuple(k for k in self.free if k != vague[-1])

    def _reason(self, half: float, other: int | None) -> str:
        if np.isinf(half):
            return "the rows do not depend on it"
        mixed = "" if other is None else f"not told apart from {self._names[other]}"
        vague = "" if np.isnan(half) else f"known to no better than {half:.2g} either way"
        return ", ".join(part for part in (vague, mixed) if part)

    def _size(self, place: int, leaves: Array) -> float:
        """A change of a coefficient that would be large."""
        if self._task.magic:
            return usual_size(self._names[place])
        return 10.0 * max(abs(float(leaves[place])), 1.0)


def _changed(task: Task, start: Array, values: Mapping[str, float], free: tuple[int, ...]) -> Array:
    guess = start.copy()
    for name, value in values.items():
        place = task.place(name)
        if place in free and name not in task.known:
            guess[place] = value
    return guess


_ROLLING = {"alpha": 0.01, "kappa": 0.005}
"""Slip in one direction below which that in the other is pure."""
_SMALL = {"alpha": 0.1, "kappa": 0.1}
"""Slip up to which forces grow with it."""
_FEWEST = 5
"""Rows that tell a slope."""
_CLEAR = 0.5
"""Correlation from which a slope has a sign."""


def check_rows(table: Measurements) -> None:
    """Raise for rows that cannot be of a tyre; warn of slopes against the signs of ISO 8855."""
    for name in ("alpha", "gamma"):
        wrong = np.abs(table[name]) > 0.5 * math.pi
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidValue(
                f"{name} of row {row} is {table[name][row]:g} rad; it must be within ±π/2. If it "
                f"is in degrees, take np.deg2rad, or the heading '{name} [deg]' in a file"
            )
    if not (table.F_z > 0.0).any():
        raise InvalidValue(
            f"F_z is {table.F_z.min():g} to {table.F_z.max():g} N; loads must be greater than 0. "
            "In SAE axes (z down) F_z, alpha, F_y, M_y and M_z have the other sign: turn these"
        )
    if _slope(table, "alpha", "F_y", _pure(table, "kappa")) > _CLEAR:
        warnings.warn(
            "F_y grows with alpha; in ISO axes a positive slip angle gives a negative lateral "
            "force. Turn the sign of F_y or that of alpha: in SAE axes (z down) alpha, F_y, M_y "
            "and M_z have the other sign",
            stacklevel=3,
        )
    if _slope(table, "kappa", "F_x", _pure(table, "alpha")) < -_CLEAR:
        warnings.warn(
            "F_x falls with kappa; positive slip, that of a driven wheel, gives a positive "
            "longitudinal force. Turn the sign of F_x or that of kappa",
            stacklevel=3,
        )


def _pure(table: Measurements, other: str) -> Mask:
    return (np.abs(table[other]) < _ROLLING[other]) & (table.F_z > 0.0)


def _slope(table: Measurements, slip: str, force: str, pure: Mask) -> float:
    """Correlation of a force over load with small slip; 0 where the rows do not tell."""
    rows = table.where(pure & (np.abs(table[slip]) < _SMALL[slip]) & np.isfinite(table[force]))
    if len(rows) < _FEWEST:
        return 0.0
    x, y = rows[slip], rows[force] / rows.F_z
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


_LEAST_LOAD = 0.05
"""Part of the largest load below which rows say more about the rig than about the tyre."""


def fit(
    measurements: Measurements,
    start: Any = None,
    *,
    version: str | float = "6.1",
    stages: Sequence[Stage] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    loss: str = "soft_l1",
    fixed: Sequence[str] = (),
    progress: Choice = None,
) -> Fit:
    """Fit the coefficients of a tyre to measurements.

    Each stage is a least squares problem of one force or moment, with what earlier stages found
    held fast. Coefficients that the rows do not tell, such as those of camber where there is none,
    stay as they are.

    Args:
        measurements: rows of a test; see `measurements` and `Measurements`. They are of the side of
            the car that `start` is for, if it is a tyre.
        start: a tyre to begin with, or its record; or numbers of a Magic Formula tyre that are
            known (`{"UNLOADED_RADIUS": 0.31, "FNOMIN": 4000.0}`): the rest is read off the rows.
        version: of the Magic Formula, if `start` is no tyre: "5.2", "6.1" or "6.2", or the number.
        stages: what to fit, in order; by default those of the Magic Formula.
        bounds: lowest and highest values of coefficients, in addition to the usual ones.
        loss: "soft_l1" lets rows far off count less; "linear" is plain least squares.
        fixed: coefficients that stay as they are.
        progress: see `skidpad.core.progress`; stages are counted.
    """
    if not isinstance(measurements, Measurements):
        raise InvalidValue(f"measurements must be Measurements, got {measurements!r:.80}")
    if not len(measurements):
        raise InvalidValue("measurements have no rows")
    one_of("loss", loss, LOSSES)
    check_rows(measurements)
    mirrored = isinstance(start, Tyre) and start.side != start.measured_on
    rows = measurements.mirrored() if mirrored else measurements
    task = task_of(rows, start, str(version), stages, bounds, fixed)
    done: list[tuple[StageFit, Residuals]] = []
    skipped: dict[str, str] = {}
    leaves = np.array(record.flatten(task.tyre), dtype=float)
    with watching(len(task.stages), "stages", "tyre fit", progress) as bar:
        for stage in task.stages:
            outcome = _fit_stage(task, stage, leaves, loss)
            if isinstance(outcome, str):
                skipped[stage.name] = outcome + _filled(task, stage, leaves)
            else:
                leaves, stage_fit, residuals = outcome
                done.append((stage_fit, residuals))
            bar.advance(1)
    if not done:
        raise InvalidValue(
            "the measurements have no rows for any stage: "
            + "; ".join(f"{name}: {why}" for name, why in skipped.items())
        )
    tyre = _whole(task, start, leaves)
    residuals = tuple(r.mirrored() if mirrored else r for _, r in done)
    return Fit(tyre, tuple(s for s, _ in done), skipped, residuals)


def _whole(task: Task, start: Any, leaves: Array) -> Tyre:
    """The fitted tyre: that of the start with other numbers, if it is one."""
    if isinstance(start, Tyre):
        return start.with_values(dict(zip(record.names(task.kind), leaves.tolist(), strict=True)))
    return Tyre(record.build(task.kind, leaves))


def _fit_stage(
    task: Task, stage: Stage, leaves: Array, loss: str
) -> tuple[Array, StageFit, Residuals] | str:
    """The leaves after a stage and what it found; or why it found nothing."""
    table = task.table
    mask = stage.rows(table, _LEAST_LOAD * float(table.F_z.max()))
    part = table.where(mask)
    missed = stage.missed(part)
    if missed:
        return missed
    start = _started(task, stage, part, leaves)
    kernel = Kernel(task.kind, stage.response, tuple(task.places(stage.all_coefficients)))
    search = Search(task, loss)
    for rows, names in _passes(task, stage, part):
        search.continue_with(
            start, _problem(task, stage, kernel, part.where(rows)), names, stage.tries
        )
    if search.solution is None:
        return f"{len(part)} rows do not tell any of its coefficients"
    return _stage_result(task, stage, part, search, start)


def _filled(task: Task, stage: Stage, leaves: Array) -> str:
    """Put usual values where a new tyre would otherwise have its full force in both directions at
    once; says which."""
    usual = USUAL.get(stage.name, {}) if task.fresh else {}
    names = [name for name in usual if name not in task.known and task.place(name) is not None]
    leaves[task.places(names)] = [usual[name] for name in names]
    return f"; {', '.join(names)} have usual values" if names else ""


def _started(task: Task, stage: Stage, part: Measurements, leaves: Array) -> Array:
    """The leaves with what the rows say at first sight, unless the user said it."""
    start = leaves.copy()
    if task.fresh:
        own = record.unflatten(task.kind, leaves.tolist())
        without = {*task.without_data(stage, part), *task.fixed}
        for name, value in start_of(stage.name, part, own).items():
            place = task.place(name)
            if place is not None and name not in task.known and place not in without:
                start[place] = value
    return start


def _passes(task: Task, stage: Stage, part: Measurements) -> list[tuple[AnyArray, tuple[str, ...]]]:
    """Rows and coefficients: upright at nominal pressure, then with camber, then all.

    Only of pure slip: rows with both slips are few, and each is needed.
    """
    upright, nominal = task.upright(part), task.nominal(part)
    passes: list[tuple[AnyArray, tuple[str, ...]]] = []
    leant = bool((~upright).any()) and bool(stage.camber)
    inflated = bool((~nominal).any()) and bool(stage.pressure)
    names, everything = stage.coefficients, np.ones(len(part), dtype=bool)
    enough = 2 * len(names)
    if leant and stage.below and np.sum(upright & nominal) > enough:
        passes.append((upright & nominal, names))
    if leant:
        names = (*names, *stage.camber)
    if inflated and stage.below and np.sum(nominal) > 2 * len(names):
        passes.append((nominal, names))
    if inflated:
        names = (*names, *stage.pressure)
    passes.append((everything, names))
    return passes


def _problem(task: Task, stage: Stage, kernel: Kernel, part: Measurements) -> Problem:
    rows = rows_of(part, task.tyre, task.speed)
    return Problem(kernel, rows, part[stage.response], task.weight(stage, part))


def _stage_result(
    task: Task, stage: Stage, part: Measurements, search: Search, start: Array
) -> tuple[Array, StageFit, Residuals]:
    solution = search.solution
    assert solution is not None
    names = task.names
    why = {**search.why, **task.without_data(stage, part)}
    coefficients = tuple(
        Coefficient(names[k], float(start[k]), value, value - float(half), value + float(half))
        for k, half in zip(search.free, solution.half, strict=True)
        for value in (float(solution.leaves[k]),)
    )
    error, kept = solution.errors, solution.kept
    steps = levels(part.F_z, BINS["F_z"])
    at = step_of(part.F_z, steps, BINS["F_z"])
    result = StageFit(
        stage.name,
        stage.response,
        coefficients,
        {names[k]: reason for k, reason in why.items()},
        len(part),
        len(task.table) - len(part),
        int(np.sum(~kept)),
        rms(error[kept]),
        {float(load): rms(error[kept & (at == k)]) for k, load in enumerate(steps)},
    )
    measured = part[stage.response] * task.weight(stage, part)
    shown = Residuals(stage, part, measured, error, kept)
    return solution.leaves, result, shown
