"""Coefficients of a tyre from measurements: staged least squares with exact derivatives.

`Kernel` computes one force or moment of a tyre and its derivatives by some of its coefficients,
compiled for rows: the equations are the tyre's own, and the Jacobian is that of the traced
expressions. `solve` is the least squares of one stage with residuals over load, `undetermined`
finds coefficients that the rows do not determine, and `Search` runs a stage: it records which
coefficients are free, which are not and why, and the best solution so far. `check_rows` rejects
rows that no tyre can have, such as those with signs and units of other programs.

A `Fit` is the result: coefficients with intervals, errors by load, the reasons why coefficients
were not fitted, and a figure with measured and fitted forces over slip.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...compile.cpu import CpuMap
from ...compile.program import Port, Program
from ...compile.trace import trace
from ...core import record
from ...core.arrays import AnyArray, Array, Mask
from ...core.checks import one_of
from ...core.files import brief_repr
from ...core.progress import Choice, watching
from ...core.record import check_names
from ...errors import InvalidValue
from ...integrate.base import making_expressions
from ...ops import abs as absolute
from ...ops import tan
from ...study.identify.uncertainty import NORMAL_95
from ...view.plots.style import COLOURS, GREY, RED, check, headings, new_figure, room, write_figure
from ..contract import Contact
from ..tyre import Tyre
from .measurements import BINS, Measurements, levels, numbers_of_steps, step_of
from .stages import USUAL, Stage, Task, start_of, task_of, usual_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE_BY_SIDE = 3
_FEWEST_SHOWN = 6
"""Smallest number of rows of a curve that is drawn."""
_MOST_LOADS = len(COLOURS)
_WIDTHS = {"alpha": np.deg2rad(0.5), "kappa": 0.01}
"""Largest variation, within one curve, of the slip that is not on its axis (rad for alpha)."""
_MEASURED: Any = {"marker": "o", "markersize": 2.6, "linestyle": "none", "alpha": 0.45,
                  "markeredgewidth": 0.0}  # fmt: skip


_OUTLIER_SHOWN: Any = {"marker": "x", "markersize": 3.0, "linestyle": "none", "color": RED,
                 "markeredgewidth": 0.8}  # fmt: skip


class Residuals(NamedTuple):
    """Rows of a stage, and the errors of the fitted tyre in them."""

    stage: Stage
    rows: Measurements
    measured: Array
    """Measured force over load, or moment over load times free radius."""
    error: Array
    """Fitted minus measured value, normalised like `measured`."""
    kept: Mask
    """Rows that are not outliers."""

    __repr__ = brief_repr

    def mirrored(self) -> Residuals:
        sign = -1.0 if self.stage.response in ("F_y", "M_x", "M_z") else 1.0
        return self._replace(
            rows=self.rows.mirrored(), measured=sign * self.measured, error=sign * self.error
        )


def _draw(above: Axes, below: Axes, part: Residuals, loads: Array) -> None:
    slip, label = _over(part)
    x = np.rad2deg(part.rows[slip]) if slip == "alpha" else part.rows[slip]
    by = "(F_z R_0)" if part.stage.response.startswith("M") else "F_z"
    letter, index = part.stage.response.split("_")
    above.set_title(f"{part.stage.name}: ${letter}_{index} / {by}$")
    at = step_of(part.rows.F_z, loads, BINS["F_z"])
    for k in range(-1, len(loads)):
        rows = (at == k) & part.kept
        colour = GREY if k < 0 else COLOURS[k]
        above.plot(x[rows], part.measured[rows], color=colour, **_MEASURED)
        below.plot(x[rows], 100.0 * part.error[rows], color=colour, **_MEASURED)
    fitted = part.measured + part.error
    for rows in _curves(part.rows, slip):
        colour = GREY if at[rows[0]] < 0 else COLOURS[at[rows[0]]]
        above.plot(x[rows], fitted[rows], color=colour, linewidth=0.9)
    below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
    below.set_ylabel("error [%]")
    below.set_xlabel(label)
    most = max(115.0 * float(np.abs(part.error[part.kept]).max(initial=0.0)), 1e-6)
    # The scale ignores outliers, which would otherwise determine it; they are drawn at its ends.
    far = ~part.kept
    below.plot(
        x[far], np.clip(100.0 * part.error[far], -0.94 * most, 0.94 * most), **_OUTLIER_SHOWN
    )
    above.set_ylim(*room([part.measured[part.kept], fitted]))
    below.set_ylim(-most, most)
    below.locator_params(axis="y", nbins=3)


def _over(part: Residuals) -> tuple[str, str]:
    """Column and axis label of the slip that varies most in the rows of a stage."""
    spans = {n: np.ptp(part.rows[n]) / w for n, w in _WIDTHS.items()}
    # Where both vary, a longitudinal force is shown over longitudinal slip.
    along = part.stage.response == "F_x" or "kappa" in part.stage.above
    if spans["kappa"] > 1.0 and (along or spans["alpha"] <= 1.0):
        return "kappa", "longitudinal slip"
    return "alpha", "slip angle [°]"


def _curves(rows: Measurements, slip: str) -> Iterator[AnyArray]:
    """Rows with the same steps, label and other slip, sorted by the slip."""
    other = "kappa" if slip == "alpha" else "alpha"
    steps = numbers_of_steps({n: rows[n] for n in BINS})
    _, labels = np.unique(rows.label, return_inverse=True)
    keys = np.column_stack([steps, labels, np.round(rows[other] / _WIDTHS[other])])
    _, group = np.unique(keys, axis=0, return_inverse=True)
    for k in range(int(group.max()) + 1):
        members = np.flatnonzero(group.reshape(-1) == k)
        if len(members) >= _FEWEST_SHOWN and (steps[members[0]] >= 0).all():
            yield members[np.argsort(rows[slip][members], kind="stable")]


def _keys(loads: Array, outliers: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    keys = [
        Line2D([], [], color=COLOURS[k], linewidth=2.0, label=f"{load:.0f} N")
        for k, load in enumerate(loads)
    ]
    looks: dict[str, Any] = {
        "measured": {"color": GREY, **_MEASURED, "markersize": 4.0},
        "fitted": {"color": GREY, "linewidth": 0.9},
    }
    if outliers:
        looks["outlier"] = _OUTLIER_SHOWN
    return [*keys, *(Line2D([], [], label=label, **look) for label, look in looks.items())]


class Coefficient(NamedTuple):
    name: str
    start: float
    value: float
    low: float
    """Limits `low` and `high` of the 95 % confidence interval; NaN for a value at a bound."""
    high: float


@dataclass(frozen=True)
class StageFit:
    """Result of one stage of a fit."""

    name: str
    response: str
    coefficients: tuple[Coefficient, ...]
    fixed: Mapping[str, str]
    """Coefficients that kept their values, and why."""
    used: int
    """Number of rows in the slip range of the stage with this force or moment."""
    dropped: int
    """Number of other rows in the table."""
    outliers: int
    """Number of used rows that were dropped as outliers."""
    rms: float
    """Root mean square of the error over load, or, for moments, over load times free radius.

    Outliers are excluded.
    """
    rms_by_load: Mapping[float, float]
    """Root mean square error by step of load in N, normalised like `rms`."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.used} rows ({self.dropped} others, {self.outliers} outliers), "
            f"error {100.0 * self.rms:.3g} % of load{' times radius' * (self.response[0] == 'M')}"
        ]
        for c in self.coefficients:
            interval = "at its bound" if np.isnan(c.low) else f"[{c.low:.5g}, {c.high:.5g}]"
            lines.append(f"  {c.name:<8}{c.start:>12.5g} -> {c.value:<12.6g} {interval}")
        for reason in dict.fromkeys(self.fixed.values()):
            names = [name for name, why in self.fixed.items() if why == reason]
            lines.append(f"  left: {', '.join(names)}: {reason}")
        if self.rms_by_load:
            parts = [f"{load:.0f} N {100.0 * rms:.3g} %" for load, rms in self.rms_by_load.items()]
            lines.append(f"  by load: {', '.join(parts)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Fit:
    """A fitted tyre and how well it follows the measurements; `print` shows it as a table."""

    tyre: Tyre
    """Fitted tyre: the start tyre with new values, or a new tyre."""
    stages: tuple[StageFit, ...]
    skipped: Mapping[str, str]
    """Stages without usable rows, and why."""
    residuals: tuple[Residuals, ...]
    """Measured values and errors of the fitted tyre, stage by stage."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        parts = [str(stage) for stage in self.stages]
        parts += [f"{name}: left out, {why}" for name, why in self.skipped.items()]
        return "\n".join(parts)

    def __getitem__(self, name: str) -> Coefficient:
        """A fitted coefficient."""
        fitted = {c.name: c for stage in self.stages for c in stage.coefficients}
        check_names("Fit", [name], fitted, "fitted coefficient")
        return fitted[name]

    def stage(self, name: str) -> StageFit:
        """Result of a stage by its name."""
        by_name = {stage.name: stage for stage in self.stages}
        check_names("Fit", [name], by_name, "stage")
        return by_name[name]

    @property
    def fixed(self) -> dict[str, str]:
        """All coefficients that kept their values, and why."""
        return {name: why for stage in self.stages for name, why in stage.fixed.items()}

    def residual_plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Figure of measured and fitted forces over slip, with errors; saved if there is a path."""
        check(path, "matplotlib", None)
        parts = self.residuals
        columns = min(_SIDE_BY_SIDE, len(parts))
        stacks = -(-len(parts) // columns)
        loads = levels(np.concatenate([r.rows.F_z for r in parts]), BINS["F_z"])[:_MOST_LOADS]
        with new_figure((3.9,) * columns, (2.1, 1.0) * stacks) as (figure, grid):
            for k, part in enumerate(parts):
                row, column = divmod(k, columns)
                above = figure.add_subplot(grid[2 * row, column])
                below = figure.add_subplot(grid[2 * row + 1, column], sharex=above)
                _draw(above, below, part, loads)
                above.tick_params(labelbottom=False)
            rows = max(stage.used + stage.dropped for stage in self.stages)
            title = f"{self.tyre.name} fitted to {rows} rows"
            headings(figure, title, _keys(loads, not all(r.kept.all() for r in parts)))
        return write_figure(figure, path)


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


AT = ("F_z", "kappa", "alpha", "gamma", "v_x", "p")
"""Columns of a contact that a row contains."""


class Kernel:
    """Compiled response of a kind of tyre, for rows of contacts.

    Args:
        kind: class of the tyre record.
        response: one of the fields of `TyreForces`.
        free: indices of the leaves by which to differentiate.
    """

    def __init__(self, kind: type, response: str, free: tuple[int, ...]) -> None:
        self.free = free
        self._map = _compiled(kind, response, free)

    def __call__(self, rows: Array, leaves: Array) -> tuple[Array, Array]:
        """Values (rows,) and derivatives (rows, free) for rows of `AT`."""
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
    """Response and its derivatives as a CasADi function of a row and the leaves."""
    import casadi as ca

    from ...integrate.derivatives import linearised

    at, leaves = ca.SX.sym("at", len(AT)), ca.SX.sym("tyre", record.size(kind))
    row: Any = ca.vertsplit(at)
    contact = Contact(**dict(zip(AT, row, strict=True)))
    contact = contact._replace(v_y=absolute(contact.v_x) * tan(contact.alpha))
    value = getattr(record.unflatten(kind, ca.vertsplit(leaves)).forces(contact), response)
    # Subexpressions of the row alone are constants here, and so are leaves that are not free.
    chosen = ca.vertcat(*(leaves[k] for k in free)) if free else ca.SX(0, 1)
    value, slopes = linearised(ca.vertcat(value), chosen)
    return ca.Function("fit", [at, leaves], [value, ca.densify(slopes).T], {"cse": True})


def rows_of(table: Measurements, tyre: Any, v_x: float) -> Array:
    """Rows of measurements in the form that a kernel takes.

    Unknown pressures are replaced by the tyre's own pressure, unknown speeds by `v_x`.
    """
    usual = {"p": float(tyre.pressure), "v_x": v_x}
    columns = [table[name] for name in AT]
    for k, name in enumerate(AT):
        if name in usual:
            columns[k] = np.where(np.isnan(columns[k]), usual[name], columns[k])
    return np.column_stack(columns)


LOSSES = ("soft_l1", "linear")
_LEAST_SCALE = 1e-3
"""Residual over load up to which rows always have full weight."""
_NORMAL_MAD = 1.4826
"""Standard deviation of normal errors over their median absolute deviation."""
_ROBUST_FROM = 1.5
"""Number of standard deviations from which a row has less weight."""
_RESCALED = 2
"""Number of times the scale of typical errors is re-estimated."""
_DEPENDENT = 1e-4
"""Smallest share of a coefficient's effect that must be independent of the others."""
LEAST_NOISE = 3e-4
"""Model error over load that is always present; smaller effects are ignored."""
_NO_EFFECT = 1e-6
"""Residual caused by a typical change of a coefficient, below which it has no effect."""
_MOST_EVALUATIONS = 200
_SHORT = 40
"""Function evaluations of a short search that compares start values."""
_OUTLIER = 5.0
"""Number of standard deviations from which a row is dropped at the end."""
_MOST_OUTLIERS = 0.1
"""Largest share of outliers; if there are more, the equations cannot describe the rows."""
_WILD = 1e3
"""Error over load assigned to a row whose computed force is not finite."""


@dataclass(frozen=True)
class Problem:
    """Rows of a stage and the measured values they are compared with."""

    kernel: Kernel
    """Response with derivatives by all coefficients of the stage, so that one compilation
    serves any free subset."""
    rows: Array
    """Contacts, (rows, `AT`)."""
    measured: Array
    weight: Array
    """Factor of the residuals: 1 over load; for moments, 1 over load times radius."""

    def where(self, rows: Mask) -> Problem:
        return Problem(self.kernel, self.rows[rows], self.measured[rows], self.weight[rows])

    def residual(self, leaves: Array, free: Sequence[int]) -> tuple[Array, Array]:
        """Errors (rows,) and their derivatives (rows, free), both over load."""
        values, slopes = self.kernel(self.rows, leaves)
        columns = [self.kernel.free.index(k) for k in free]
        return (values - self.measured) * self.weight, slopes[:, columns] * self.weight[:, None]

    def best_start(self, guesses: Sequence[Array], free: tuple[int, ...], bounds: Bounds) -> Array:
        """Result of the best of several short searches, one from each guess."""
        ends: list[tuple[float, Array]] = []
        for guess in guesses:
            residual, leaves = _Residual(self, guess, free), guess.copy()
            x = _minimum(residual, guess[list(free)], _limits(free, bounds), "soft_l1", 0.1, _SHORT)
            leaves[list(free)] = x
            ends.append((_cost(residual.errors(x), "soft_l1", 0.1), leaves))
        return min(ends, key=lambda end: end[0])[1]


class _Residual:
    """Errors and derivatives, cached for one guess, as `least_squares` requests them separately."""

    def __init__(self, problem: Problem, leaves: Array, free: tuple[int, ...]) -> None:
        self._problem, self._leaves, self._free = problem, leaves.copy(), free
        self._at: Array | None = None
        self._result: tuple[Array, Array] = (np.empty(0), np.empty((0, 0)))

    def _evaluated(self, x: Array) -> tuple[Array, Array]:
        if self._at is None or not np.array_equal(self._at, x):
            self._leaves[list(self._free)] = x
            error, slopes = self._problem.residual(self._leaves, self._free)
            # If a guess is so bad that it overflows, it is rejected rather than ending the fit.
            wild = ~(np.isfinite(error) & np.isfinite(slopes).all(axis=1))
            error, slopes = np.where(wild, _WILD, error), np.where(wild[:, None], 0.0, slopes)
            self._at, self._result = x.copy(), (error, slopes)
        return self._result

    def errors(self, x: Array) -> Array:
        return self._evaluated(x)[0]

    def slopes(self, x: Array) -> Array:
        return self._evaluated(x)[1]


@dataclass(frozen=True)
class Solution:
    """Fitted values and their uncertainty."""

    leaves: Array
    cost: float
    half: Array
    """Half widths of the 95 % confidence intervals; NaN at a bound."""
    errors: Array
    """Residuals over load."""
    kept: Mask
    """Rows that are not outliers."""

    @property
    def noise(self) -> float:
        """Standard deviation of the errors without outliers."""
        return float(np.sqrt(np.mean(self.errors[self.kept] ** 2)))


Bounds = Mapping[int, tuple[float, float]]


def solve(
    problem: Problem, start: Array, free: tuple[int, ...], bounds: Bounds, loss: str
) -> Solution:
    """Best-fit values from a start, with confidence intervals.

    With the loss "soft_l1" rows count less from 1.5 standard deviations on, which are estimated
    from the median of all errors. In the end, rows beyond five standard deviations are dropped as
    outliers, unless there are too many of them.
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
    span = high - low
    room = share * np.where(np.isfinite(span), span, 1.0)
    return low + room, high - room


def _cost(error: Array, loss: str, scale: float) -> float:
    if loss == "linear":
        return float(np.mean(error**2))
    z = (error / scale) ** 2
    return float(np.mean(2.0 * scale**2 * (np.sqrt(1.0 + z) - 1.0)))


def _half_widths(error: Array, slopes: Array, loss: str, scale: float) -> Array:
    """Half widths of 95 % intervals for independent errors (Huber, Robust Statistics)."""
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


def undetermined(
    problem: Problem, leaves: Array, free: Sequence[int], sizes: Array, noise: float
) -> dict[int, tuple[float, int | None]]:
    """Coefficients that rows with this noise do not determine.

    Maps each of them to the half width of its 95 % interval and to the earlier coefficient in the
    list that it correlates with most. A coefficient is undetermined if the half width exceeds its
    typical size (infinite: it has no effect), or if others have the same effect even without noise
    (NaN).
    """
    slopes = problem.residual(leaves, free)[1]
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    kept, basis, vague = list[int](), list[Array](), dict[int, tuple[float, int | None]]()
    for k, column in enumerate(slopes.T):
        size, rest = float(np.linalg.norm(column)), column.copy()
        for direction in (*basis, *basis):  # twice, against rounding errors
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
    """Leaves with the free ones slightly offset, where no derivative vanishes by chance.

    The derivative by a shape factor, for example, vanishes where the amplitude is 0.
    """
    rng = np.random.default_rng(1)
    moved, places = leaves.copy(), list(free)
    scales = np.maximum(np.abs(leaves[places]), 0.1)
    moved[places] += 0.1 * scales * rng.uniform(0.5, 1.5, len(places))
    return moved


_MOST_REFITS = 8
"""Largest number of refits after coefficients turned out to be undetermined."""


class Search:
    """State of a stage: free coefficients, fixed coefficients with reasons, and the best solution
    so far."""

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
        """Fit these coefficients to these rows, starting from the result of the previous pass."""
        task, before = self._task, self.solution
        wanted = task.places(names)
        leaves = start if before is None else before.leaves
        self.why = {k: "fixed by the user" for k in wanted if k in task.fixed}
        noise = 0.0 if before is None else before.noise
        self._leave_undetermined(problem, offset(leaves, wanted), wanted, noise)
        if not self.free:
            return
        if not self._tried and tries and {n for t in tries for n in t} <= set(names):
            guesses = [_changed(task, leaves, values, self.free) for values in ({}, *tries)]
            leaves, self._tried = problem.best_start(guesses, self.free, task.bounds), True
        solution = solve(problem, leaves, self.free, task.bounds, self._loss)
        for _ in range(_MOST_REFITS):
            free = self.free
            noise = max(solution.noise, LEAST_NOISE)
            self._leave_undetermined(problem, solution.leaves, free, noise)
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

    def _leave_undetermined(
        self, problem: Problem, leaves: Array, wanted: Sequence[int], noise: float
    ) -> None:
        """Free the coefficients that the rows determine; record in `why` the reasons why others
        stay fixed."""
        # One row more than coefficients, since otherwise there are no errors to estimate.
        few = wanted[max(len(problem.measured) - 1, 0) :]
        self.why |= dict.fromkeys(few, "there are too few rows")
        rest = [k for k in wanted if k not in self.why]
        sizes = np.array([self._size(k, leaves) for k in rest])
        for k, (half, other) in (
            undetermined(problem, leaves, rest, sizes, noise) if rest else {}
        ).items():
            self.why[k] = self._reason(half, other)
        self.free = tuple(k for k in rest if k not in self.why)

    def _leave_vague(self, solution: Solution) -> None:
        """Fix the last coefficient of a poorly determined combination, such as QBZ9 and QBZ10."""
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
        """Change of a coefficient that would be large."""
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
"""Slip in one direction below which slip in the other counts as pure."""
_SMALL = {"alpha": 0.1, "kappa": 0.1}
"""Slip up to which forces increase with slip."""
_FEWEST = 5
"""Smallest number of rows that determine a slope."""
_CLEAR = 0.5
"""Correlation from which the sign of a slope is clear."""


def check_rows(table: Measurements) -> None:
    """Raise for rows that are physically impossible; warn of slopes with signs contrary to ISO
    8855."""
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
    """Correlation of force over load with small slip; 0 if there are too few rows."""
    rows = table.where(pure & (np.abs(table[slip]) < _SMALL[slip]) & np.isfinite(table[force]))
    if len(rows) < _FEWEST:
        return 0.0
    x, y = rows[slip], rows[force] / rows.F_z
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


_LEAST_LOAD = 0.05
"""Share of the largest load below which rows are dominated by the test rig."""


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

    Each stage is a least-squares problem for one force or moment, with the results of earlier
    stages held fixed. Coefficients that the rows do not determine, such as those of camber in a
    test without camber, keep their values.

    Args:
        measurements: rows of a test; see `measurements` and `Measurements`. If `start` is a tyre,
            they have to be for the same side of the car.
        start: initial tyre or its record; or the known values of a Magic Formula tyre
            (`{"UNLOADED_RADIUS": 0.31, "FNOMIN": 4000.0}`): the others are estimated from the rows.
        version: of the Magic Formula, if `start` is not a tyre: "5.2", "6.1" or "6.2", or the
            number.
        stages: stages to fit, in order; by default those of the Magic Formula.
        bounds: lowest and highest values of coefficients, in addition to the default bounds.
        loss: "soft_l1" reduces the weight of rows far off; "linear" is plain least squares.
        fixed: coefficients that keep their values.
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
    if isinstance(start, Tyre):
        names = record.names(task.kind)
        tyre = start.with_values(dict(zip(names, leaves.tolist(), strict=True)))
    else:
        tyre = Tyre(record.build(task.kind, leaves))
    residuals = tuple(r.mirrored() if mirrored else r for _, r in done)
    return Fit(tyre, tuple(s for s, _ in done), skipped, residuals)


def _fit_stage(
    task: Task, stage: Stage, leaves: Array, loss: str
) -> tuple[Array, StageFit, Residuals] | str:
    """Leaves, report and residuals after a stage, or the reason why it was skipped."""
    table = task.table
    mask = stage.rows(table, _LEAST_LOAD * float(table.F_z.max()))
    part = table.where(mask)
    missed = stage.missed(part)
    if missed:
        return missed
    start = leaves.copy()
    if task.fresh:
        # Start values estimated from the rows, except those that the user supplied.
        own = record.unflatten(task.kind, leaves.tolist())
        without = {*task.without_data(stage, part), *task.fixed}
        for name, value in start_of(stage.name, part, own).items():
            place = task.place(name)
            if place is not None and name not in task.known and place not in without:
                start[place] = value
    kernel = Kernel(task.kind, stage.response, tuple(task.places(stage.all_coefficients)))
    search = Search(task, loss)
    for mask, names in _passes(task, stage, part):
        table = part.where(mask)
        rows, weight = rows_of(table, task.tyre, task.speed), task.weight(stage, table)
        problem = Problem(kernel, rows, table[stage.response], weight)
        search.continue_with(start, problem, names, stage.tries)
    solution = search.solution
    if solution is None:
        return f"{len(part)} rows do not tell any of its coefficients"
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
    return solution.leaves, result, Residuals(stage, part, measured, error, kept)


def _filled(task: Task, stage: Stage, leaves: Array) -> str:
    """Insert default combined-slip coefficients and return a note about them.

    Without them a new tyre would have its full force in both directions at once.
    """
    usual = USUAL.get(stage.name, {}) if task.fresh else {}
    names = [name for name in usual if name not in task.known and task.place(name) is not None]
    leaves[task.places(names)] = [usual[name] for name in names]
    return f"; {', '.join(names)} have usual values" if names else ""


def _passes(task: Task, stage: Stage, part: Measurements) -> list[tuple[AnyArray, tuple[str, ...]]]:
    """Passes of a stage, as rows and coefficients: upright at nominal pressure, with camber, then
    all.

    Only for pure slip: rows with combined slip are few, and each is needed.
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
