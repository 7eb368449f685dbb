"""Tune parameters within bounds to reach target metrics, or to minimise or maximise metrics.

Each iteration drives several steps at once, from short to long; the best becomes the next point.
Its derivatives are those of the point before, updated with the result of the step (Broyden); only
where a step gains little are they computed anew. Parameters are scaled to their bounds, residuals
to their targets; steps are Levenberg-Marquardt steps within the bounds. With metrics to minimise or
maximise, a step solves a linear program within a box about the point, in which targets are
penalised by their distance; boxes of four sizes are tried at once.

Where no step gains anything, differences over ever larger shares of the ranges are driven before
the search gives up: a staircase is flat over a small one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.files import brief_repr, replacing
from ...core.model import Vehicle
from ...errors import InvalidValue
from .kernels import Kernels
from .manoeuvre import Manoeuvre, Metric
from .sensitivities import manoeuvre_of, metrics_of, own_value

WIDTH = 0.2
"""Half width of the default bounds of a parameter, as a share of its value."""
DIFFERENCES = (0.005, 0.05, 0.25)
"""Difference steps for derivatives, as shares of the range of a parameter.

The next larger step is used when no trial point reduces the cost any more.
"""
DAMPING = (1e-6, 1e-3, 1e-1, 3.0)
"""Damping factors of the steps tried at once."""
GOOD_GAIN = 0.8
"""Least relative gain of a step after which derivatives are updated rather than computed
anew."""
LEAST_GAIN = 1e-4
"""Least relative gain of an iteration for another one."""
BOXES = (0.5, 0.15, 0.05, 0.015)
"""Box sizes as shares of the ranges, for steps that optimise metrics."""
PENALTY = 10.0
"""Weight of a relative target error against a relative change of an objective."""


class Reached(NamedTuple):
    """A target and the value that was reached."""

    name: str
    """Name such as "step_steer.yaw_rate_overshoot"."""
    unit: str
    target: float
    before: float
    after: float
    reached: bool


class Optimised(NamedTuple):
    """A metric that was minimised or maximised."""

    name: str
    """Name such as "formula_skidpad.time"."""
    unit: str
    goal: str
    """"minimise" or "maximise"."""
    before: float
    after: float


class Moved(NamedTuple):
    """A free parameter before and after tuning."""

    name: str
    unit: str
    low: float
    high: float
    before: float
    after: float
    at_bound: bool


@dataclass(frozen=True, eq=False)
class Tuning:
    """Result of tuning."""

    vehicle: Vehicle
    """Vehicle with the parameters found."""
    targets: tuple[Reached, ...]
    params: tuple[Moved, ...]
    iterations: int
    notes: tuple[str, ...]
    """Reasons why targets are out of reach."""
    objectives: tuple[Optimised, ...] = ()

    __repr__ = brief_repr

    @property
    def reached(self) -> bool:
        """Whether all targets are reached."""
        return all(target.reached for target in self.targets)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the free parameters to a YAML file, by name, in SI."""
        lines = [f"# {self.vehicle.name}, tuned to"]
        lines += [f"#   {t.name} = {t.target:g} {t.unit}".rstrip() for t in self.targets]
        lines += [f"#   {one.goal} {one.name}" for one in self.objectives]
        lines += [f"{one.name}: {one.after!r}" for one in self.params]
        with replacing(path) as file:
            file.write_text("\n".join(lines) + "\n")


def tune(
    vehicle: Vehicle,
    targets: Mapping[str, float] | None = None,
    free: Sequence[str] | Mapping[str, tuple[float, float]] = (),
    *,
    minimise: Sequence[str] = (),
    maximise: Sequence[str] = (),
    manoeuvres: Sequence[Manoeuvre] = (),
    tolerance: float = 2e-3,
    iterations: int = 20,
    kernels: Kernels | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> Tuning:
    """Find the parameters within bounds whose metrics are nearest to targets, smallest or largest.

    Args:
        vehicle: vehicle from whose parameters the search starts.
        targets: by names such as "step_steer.yaw_rate_overshoot", in the units of the metrics.
        free: parameters by name with their bounds; by default ±20 % of the value.
        minimise: names of metrics to minimise while targets are reached.
        maximise: names of metrics to maximise; each counts relative to its value at the start, as
            does each of `minimise`.
        manoeuvres: with settings of their own; others are the standard ones.
        tolerance: share of a target by which it may be missed and still counts as reached; for a
            target of zero, share of the metric at the start.
        iterations: largest number of iterations.
        watch: called after each iteration with its number, from zero at the start, and the share
            by which the farthest target is missed, zero without targets.

    Returns:
        The best point found. The search is local: it follows improving metrics from the start.
    """
    goals = _goals(targets or {}, minimise, maximise)
    bounds = _bounds(vehicle, free)
    search = _Search(vehicle, goals, bounds, manoeuvres, kernels or Kernels(), tolerance)
    best, done, ended = search.start(), 0, False
    while done < iterations and not search.finished(best):
        if watch is not None:
            watch(done, search.missed(best))
        tried = search.step(best)
        done += 1
        gained, least = best.cost - tried.cost, LEAST_GAIN * abs(best.cost)
        if gained > least:
            well = gained >= GOOD_GAIN * abs(best.cost) or search.finished(tried)
            best = tried if well else search.derived(tried)
        elif not best.fresh:
            best = search.derived(best)
        elif best.width + 1 < len(DIFFERENCES):
            best = search.derived(best, best.width + 1)
        else:
            best, ended = tried if gained > 0.0 else best, True
            break
    if watch is not None:
        watch(done, search.missed(best))
    return search.tuning(best, done, ended)


class _Goal(NamedTuple):
    """Target or objective of a metric."""

    target: float
    """Target value; NaN for a metric to minimise or maximise."""
    sign: float
    """1 to minimise, -1 to maximise, 0 for a target."""


def _goals(
    targets: Mapping[str, float], minimise: Sequence[str], maximise: Sequence[str]
) -> dict[str, _Goal]:
    """Goals by metric name, targets first; raises InvalidValue for an empty or inconsistent
    request."""
    for what, names in (("minimise", minimise), ("maximise", maximise)):
        if isinstance(names, str):
            raise InvalidValue(f"{what} = {names!r} must be a list of names of metrics")
    named = [*targets, *minimise, *maximise]
    if not named:
        raise InvalidValue(
            "targets, minimise and maximise are empty; name at least one metric, as in "
            "step_steer.tb_factor"
        )
    for name in named:
        if named.count(name) > 1:
            raise InvalidValue(f"{name} is named more than once among targets, minimise, maximise")
    for name, value in targets.items():
        if not isfinite(value):
            raise InvalidValue(f"target {name} = {value} must be a number")
    goals = {name: _Goal(float(value), 0.0) for name, value in targets.items()}
    goals |= dict.fromkeys(minimise, _Goal(float("nan"), 1.0))
    return goals | dict.fromkeys(maximise, _Goal(float("nan"), -1.0))


class _Point(NamedTuple):
    z: Array
    """Free parameters as shares of their ranges, (P,)."""
    values: Array
    """Values of the metrics, (M,)."""
    residuals: Array
    """Scaled residuals, (M,): the error of a target, else the metric, negative to maximise."""
    jacobian: Array
    """Derivatives of the residuals, (M, P)."""
    cost: float
    """Cost to minimise; infinite if a metric has no value."""
    fresh: bool = True
    """Whether the derivatives were computed here rather than updated from another point."""
    width: int = 0
    """Index in `DIFFERENCES` of the step with which the derivatives were computed."""


@dataclass
class _Search:
    vehicle: Vehicle
    goals: Mapping[str, _Goal]
    bounds: Mapping[str, tuple[float, float]]
    given: Sequence[Manoeuvre]
    kernels: Kernels
    tolerance: float

    def __post_init__(self) -> None:
        goals = self.goals
        self.wanted, self.names = tuple(goals), tuple(self.bounds)
        self.goal, self.sign = np.array(list(goals.values())).T
        self.aimed = self.sign == 0.0
        """Whether each metric has a target."""
        self.low, self.high = np.array(list(self.bounds.values()), dtype=float).T
        known = {manoeuvre.name: manoeuvre for manoeuvre in self.given}
        each = dict.fromkeys(_manoeuvre(name) for name in goals)
        self.manoeuvres = [known.get(name) or manoeuvre_of(name) for name in each]
        self.scale = np.ones(len(goals))
        self.metrics: list[Metric] = []
        self.begin: _Point | None = None
        self.still = np.ones(len(goals), dtype=bool)
        """Metrics that no parameter has affected so far."""

    def start(self) -> _Point:
        """Start point: the vehicle as it is."""
        own = np.array([own_value(self.vehicle, name) for name in self.names])
        z = (own - self.low) / (self.high - self.low)
        for name, value, share, *ends in zip(self.names, own, z, self.low, self.high, strict=True):
            if not -1e-12 <= share <= 1.0 + 1e-12:
                raise InvalidValue(
                    f"{name} = {value:g} of {self.vehicle.name} is out of its bounds, "
                    f"{ends[0]:g} to {ends[1]:g}: the search starts from it"
                )
        z = np.clip(z, 0.0, 1.0)
        places = _around(z, DIFFERENCES[0])
        values = self._metrics(np.concatenate([z[None], places]))
        here = values[:, 0]
        for name, value in zip(self.wanted, here, strict=True):
            if not isfinite(value):
                raise InvalidValue(
                    f"{self.vehicle.name} has no value of {name} with its initial parameters"
                )
        # Without a nonzero target, a metric is scaled by its initial value.
        sized = self.aimed & (self.goal != 0.0)
        self.scale = np.where(sized, np.abs(self.goal), np.maximum(np.abs(here), 1e-9))
        residuals = self._residuals(here)
        slopes = self._slopes(z, here, places, values[:, 1:])
        self.begin = _Point(z, here, residuals, slopes, self._cost(residuals))
        return self.begin

    def missed(self, point: _Point) -> float:
        """Largest relative error of all targets."""
        return float(np.abs(point.residuals[self.aimed]).max(initial=0.0))

    def finished(self, point: _Point) -> bool:
        """Whether all targets are reached and there are no other goals."""
        return bool(self.aimed.all()) and self.missed(point) <= self.tolerance

    def _residuals(self, values: Array) -> Array:
        errors = values - np.nan_to_num(self.goal)
        return np.where(self.aimed, errors, self.sign * values) / self.scale

    def _cost(self, residuals: Array) -> float:
        """Cost to minimise: the sum of squares if all goals are targets.

        Otherwise the sum of the objectives, with a penalty for targets that are missed by more than
        half of the tolerance.
        """
        if self.aimed.all():
            total = float(residuals @ residuals)
        else:
            beyond = np.abs(residuals[self.aimed]) - 0.5 * self.tolerance
            total = float(residuals[~self.aimed].sum() + PENALTY * np.maximum(beyond, 0.0).sum())
        return total if isfinite(total) else float("inf")

    def step(self, at: _Point) -> _Point:
        """Drive several steps at once and return the best point."""
        moves = self._least_squares(at) if self.aimed.all() else self._within_boxes(at)
        tries = np.clip(at.z + np.stack(moves), 0.0, 1.0)
        values = self._metrics(tries)
        ends = [self._carried(at, z, values[:, k]) for k, z in enumerate(tries)]
        return min(ends, key=lambda point: point.cost)

    def _least_squares(self, at: _Point) -> list[Array]:
        """Levenberg-Marquardt steps from short to long."""
        from scipy.optimize import lsq_linear

        size = np.maximum(np.linalg.norm(at.jacobian, axis=0), 1e-9)
        moves: list[Array] = []
        for damping in DAMPING:
            rows = np.concatenate([at.jacobian, np.diag(np.sqrt(damping) * size)])
            right = np.concatenate([-at.residuals, np.zeros(len(at.z))])
            # lsq_linear does not accept a range of zero width.
            ends = -at.z - 1e-12, 1.0 - at.z + 1e-12
            moves.append(lsq_linear(rows, right, ends).x)
        return moves

    def _within_boxes(self, at: _Point) -> list[Array]:
        """Optimal steps of the linearised metrics within boxes of several sizes."""
        from scipy.optimize import linprog

        P, T = len(at.z), int(self.aimed.sum())
        slopes, missed = at.jacobian[self.aimed], at.residuals[self.aimed]
        # Variables of the linear program: the step, and for each target a bound on the size of its
        # residual.
        cost = np.concatenate([at.jacobian[~self.aimed].sum(axis=0), np.full(T, PENALTY)])
        rows = np.block([[slopes, -np.eye(T)], [-slopes, -np.eye(T)]])
        right = np.concatenate([-missed, missed])
        moves: list[Array] = []
        for box in BOXES:
            low, high = np.maximum(-box, -at.z), np.minimum(box, 1.0 - at.z)
            ends = [*zip(low, high, strict=True), *[(0.0, None)] * T]
            found: Any = linprog(cost, rows, right, bounds=ends)
            moves.append(found.x[:P] if found.success else np.zeros(P))
        return moves

    def derived(self, at: _Point, width: int = 0) -> _Point:
        """The point with newly computed derivatives, or a clearly better point found while
        computing them."""
        places = _around(at.z, DIFFERENCES[width])
        values = self._metrics(places)
        slopes = self._slopes(at.z, at.values, places, values)
        own = at._replace(jacobian=slopes, fresh=True, width=width)
        ends = [self._carried(own, z, values[:, k]) for k, z in enumerate(places)]
        best = min(ends, key=lambda point: point.cost)
        return best if width and at.cost - best.cost > LEAST_GAIN * abs(at.cost) else own

    def _carried(self, at: _Point, z: Array, values: Array) -> _Point:
        """A point with the derivatives at the point `at`, updated with the observed change."""
        residuals = self._residuals(values)
        way = z - at.z
        length, cost, slopes = float(way @ way), self._cost(residuals), at.jacobian
        if length > 0.0 and isfinite(cost):
            error = residuals - at.residuals - at.jacobian @ way
            slopes = slopes + np.outer(error, way) / length
        return _Point(z, values, residuals, slopes, cost, fresh=False)

    def _slopes(self, z: Array, own: Array, places: Array, values: Array) -> Array:
        """Derivatives of residuals by differences on both sides of a point, (M, P).

        One-sided where the other side has no value, and zero where both have none.
        """
        P = len(self.names)
        low, high = values[:, :P], values[:, P:]
        below, above = z - np.diagonal(places[:P]), np.diagonal(places[P:]) - z
        no_low, no_high = ~np.isfinite(low), ~np.isfinite(high)
        low, high = np.where(no_low, own[:, None], low), np.where(no_high, own[:, None], high)
        apart = np.where(no_low, 0.0, below) + np.where(no_high, 0.0, above)
        changed = np.abs(high - low) > 1e-9 * self.scale[:, None]
        self.still &= ~changed.any(axis=1)
        sign, apart = np.where(self.aimed, 1.0, self.sign), np.where(apart > 0.0, apart, 1.0)
        return sign[:, None] * (high - low) / (apart * self.scale[:, None])

    def _metrics(self, z: Array) -> Array:
        """Metrics (M, V) of the variants with scaled parameters (V, P)."""
        p = self.low + z * (self.high - self.low)
        params = {name: p[:, k] for k, name in enumerate(self.names)}
        by_name = metrics_of(self.manoeuvres, self.vehicle, params, self.kernels)
        for name in self.wanted:
            if name not in by_name:
                raise InvalidValue(record.unknown_name("skidpad", name, list(by_name), "metric"))
        self.metrics = [by_name[name] for name in self.wanted]
        return np.stack([metric.value for metric in self.metrics])

    def tuning(self, best: _Point, iterations: int, ended: bool) -> Tuning:
        assert self.begin is not None
        targets: list[Reached] = []
        objectives: list[Optimised] = []
        for k, (name, metric) in enumerate(zip(self.wanted, self.metrics, strict=True)):
            before, after = float(self.begin.values[k]), float(best.values[k])
            if self.aimed[k]:
                near = bool(abs(best.residuals[k]) <= self.tolerance)
                goal = float(self.goal[k])
                targets.append(Reached(name, metric.unit, goal, before, after, near))
            else:
                goal = "minimise" if self.sign[k] > 0.0 else "maximise"
                objectives.append(Optimised(name, metric.unit, goal, before, after))
        moved = tuple(self._moved(k, best.z[k]) for k in range(len(self.names)))
        params = {one.name: one.after for one in moved}
        still = [name for name, one in zip(self.wanted, self.still, strict=True) if one]
        notes = _why(targets, moved, still, ended)
        tuned, found = self.vehicle.with_params(params), tuple(objectives)
        return Tuning(tuned, tuple(targets), moved, iterations, notes, found)

    def _moved(self, k: int, z: float) -> Moved:
        name, low, high = self.names[k], float(self.low[k]), float(self.high[k])
        units = {leaf.name: leaf.unit.symbol for leaf in record.fields(self.vehicle.model.Params)}
        after = low + float(z) * (high - low)
        at_bound = not 1e-6 < z < 1.0 - 1e-6
        return Moved(name, units[name], low, high, own_value(self.vehicle, name), after, at_bound)


def _around(z: Array, share: float) -> Array:
    """Points on both sides of `z`, first below and then above, (2P, P), within the bounds."""
    P = len(z)
    moves = share * np.concatenate([-np.eye(P), np.eye(P)])
    return np.clip(z + moves, 0.0, 1.0)


def _why(
    targets: Sequence[Reached], moved: Sequence[Moved], still: Sequence[str], ended: bool
) -> tuple[str, ...]:
    """Sentences on targets that were not reached, and on metrics that did not change."""
    notes = [
        f"{t.name} = {t.target:g} is out of reach: the nearest is {t.after:.4g}"
        for t in targets
        if not t.reached
    ]
    missed = [t.name for t in targets if not t.reached and t.name not in still]
    names = ", ".join(one.name for one in moved)
    reached = {t.name for t in targets if t.reached}
    fixed = [name for name in still if name not in reached]
    if fixed:
        widest = 100.0 * DIFFERENCES[-1]
        one_by_one = "is moved" if len(moved) == 1 else "are moved one by one"
        notes.append(
            f"{', '.join(fixed)}: the same when {names} {one_by_one}, "
            f"by up to {widest:g} % of {'its range' if len(moved) == 1 else 'their ranges'}"
        )
    if not ended and any(not t.reached for t in targets):
        notes.append("the search was still under way: allow more iterations")
    held = [f"{one.name} = {one.after:g}" for one in moved if one.at_bound]
    if notes and held:
        notes.append(f"at their bounds: {', '.join(held)}")
    elif missed and ended:
        notes.append(
            f"no parameter is at a bound, and no step from here brings {', '.join(missed)} nearer: "
            "targets contradict each other, or this is a local optimum; start from other values"
        )
    return tuple(notes)


def _manoeuvre(name: str) -> str:
    manoeuvre, _, metric = name.partition(".")
    if not (manoeuvre and metric):
        raise InvalidValue(f"target {name!r} must be MANOEUVRE.METRIC, as in step_steer.tb_factor")
    return manoeuvre


def usual_bounds(vehicle: Vehicle, name: str) -> tuple[float, float]:
    """Default bounds of a parameter: ±20 % of its value."""
    own = own_value(vehicle, name)
    return own - WIDTH * abs(own), own + WIDTH * abs(own)


def _bounds(
    vehicle: Vehicle, free: Sequence[str] | Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Bounds of each free parameter, within its allowed range."""
    if not free:
        raise InvalidValue("free is empty; name at least one parameter")
    allowed = {leaf.name: leaf.allowed for leaf in record.fields(vehicle.model.Params)}
    bounds: dict[str, tuple[float, float]] = {}
    for name in free:
        usual = usual_bounds(vehicle, name)
        low, high = free[name] if isinstance(free, Mapping) else usual
        if not (isfinite(low) and isfinite(high) and low < high):
            raise InvalidValue(f"bounds of {name} = {low:g} to {high:g} must be numbers that go up")
        limits = allowed[name]
        for end in (low, high):
            if limits is not None and end not in limits:
                raise InvalidValue(f"bound {end:g} of {name} is not allowed: it must be {limits}")
        bounds[name] = (float(low), float(high))
    return bounds
