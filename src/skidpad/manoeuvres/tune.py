"""Parameters within bounds that reach target metrics: least squares over fleets of variants.

Each iteration is one drive of several steps, from short to long, of which the best becomes the next
point. Its derivatives follow from those of the point before and what the step has shown (Broyden);
only where a step gains little are they driven anew. Parameters are scaled to their bounds,
residuals to their targets; steps are Levenberg's and Marquardt's, within the bounds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..files import replacing
from ..model import Vehicle
from .kernels import Kernels
from .metric import Metric
from .proving_ground import Manoeuvre
from .variants import manoeuvre_of, metrics_of, own_value

__all__ = ["Moved", "Reached", "Tuning", "tune", "usual_bounds"]

WIDTH = 0.2
"""Share of a parameter to either side that are its bounds if none are given."""
DIFFERENCE = 0.005
"""Share of the range of a parameter by which it is moved for a derivative."""
DAMPING = (1e-6, 1e-3, 1e-1, 3.0)
"""Of the steps that are tried at once."""
GOOD_GAIN = 0.8
"""Share of the cost that a step must gain for derivatives to be carried on to its end."""
LEAST_GAIN = 1e-4
"""Share of the cost that an iteration must gain for another one."""


class Reached(NamedTuple):
    """A target and how near the vehicle came."""

    name: str
    """Such as "step_steer.yaw_rate_overshoot"."""
    unit: str
    target: float
    before: float
    after: float
    reached: bool


class Moved(NamedTuple):
    """A free parameter."""

    name: str
    unit: str
    low: float
    high: float
    before: float
    after: float
    at_bound: bool


@dataclass(frozen=True, eq=False)
class Tuning:
    """What tuning came to."""

    vehicle: Vehicle
    """With the parameters that were found."""
    targets: tuple[Reached, ...]
    params: tuple[Moved, ...]
    iterations: int
    notes: tuple[str, ...]
    """Why a target is out of reach."""

    __repr__ = brief_repr

    @property
    def reached(self) -> bool:
        """Whether all targets are."""
        return all(target.reached for target in self.targets)

    def write(self, path: str | os.PathLike[str]) -> None:
        """A YAML file of the parameters that were free, by name, in SI."""
        lines = [f"# {self.vehicle.name}, tuned to"]
        lines += [f"#   {t.name} = {t.target:g} {t.unit}".rstrip() for t in self.targets]
        lines += [f"{one.name}: {one.after!r}" for one in self.params]
        with replacing(path) as file:
            file.write_text("\n".join(lines) + "\n")


def tune(
    vehicle: Vehicle,
    targets: Mapping[str, float],
    free: Sequence[str] | Mapping[str, tuple[float, float]],
    *,
    manoeuvres: Sequence[Manoeuvre] = (),
    tolerance: float = 2e-3,
    iterations: int = 20,
    kernels: Kernels | None = None,
    watch: Callable[[int, float], None] | None = None,
) -> Tuning:
    """Find the parameters within bounds whose metrics are nearest to targets.

    Args:
        vehicle: where the search starts.
        targets: by names such as "step_steer.yaw_rate_overshoot", in the units of the metrics.
        free: parameters by name with their bounds; without, a fifth to either side.
        manoeuvres: with settings of their own; others are the standard ones.
        tolerance: share of a target by which it may be missed and still counts as reached; of a
            target of zero, share of the metric at the start.
        iterations: at most.
        watch: called after each iteration with its number, from zero at the start, and the share
            by which the farthest target is missed.
    """
    search = _Search(vehicle, targets, _bounds(vehicle, free), manoeuvres, kernels or Kernels())
    best, done = search.start(), 0
    while done < iterations and not search.reached(best, tolerance):
        if watch is not None:
            watch(done, best.missed)
        tried = search.step(best)
        done += 1
        gained = best.cost - tried.cost
        if gained > LEAST_GAIN * best.cost:
            well = gained >= GOOD_GAIN * best.cost or search.reached(tried, tolerance)
            best = tried if well else search.derived(tried)
        elif best.fresh:
            best = tried if gained > 0.0 else best
            break
        else:
            best = search.derived(best)
    if watch is not None:
        watch(done, best.missed)
    return search.tuning(best, tolerance, done)


class _Point(NamedTuple):
    """Where the search is."""

    z: Array
    """Free parameters as shares of their ranges, (P,)."""
    values: Array
    """Metrics, (M,)."""
    residuals: Array
    """Scaled, (M,)."""
    jacobian: Array
    """(M, P)."""
    fresh: bool = True
    """Whether the derivatives are of here, not carried on from elsewhere."""

    @property
    def missed(self) -> float:
        """Share by which the farthest target is missed."""
        return float(np.abs(self.residuals).max())

    @property
    def cost(self) -> float:
        """Sum of squares; infinite where a metric has no number."""
        total = float(self.residuals @ self.residuals)
        return total if isfinite(total) and np.isfinite(self.jacobian).all() else float("inf")


class _Search:
    def __init__(
        self,
        vehicle: Vehicle,
        targets: Mapping[str, float],
        bounds: Mapping[str, tuple[float, float]],
        manoeuvres: Sequence[Manoeuvre],
        kernels: Kernels,
    ) -> None:
        if not targets:
            raise InvalidValue("targets is empty; name at least one, as in step_steer.tb_factor")
        self.vehicle, self.targets, self.kernels = vehicle, dict(targets), kernels
        self.names = tuple(bounds)
        self.low, self.high = np.array(list(bounds.values()), dtype=float).T
        known = {manoeuvre.name: manoeuvre for manoeuvre in manoeuvres}
        wanted = dict.fromkeys(_split(name)[0] for name in targets)
        self.manoeuvres = [known.get(name) or manoeuvre_of(name) for name in wanted]
        self.goal = np.array([float(value) for value in targets.values()])
        for name, value in targets.items():
            if not isfinite(value):
                raise InvalidValue(f"target {name} = {value} must be a number")
        self.scale = np.abs(self.goal)
        self.metrics: list[Metric] = []
        self.begin: _Point | None = None

    def start(self) -> _Point:
        """The vehicle as it is."""
        own = np.array([own_value(self.vehicle, name) for name in self.names])
        z = (own - self.low) / (self.high - self.low)
        for name, value, share, *ends in zip(self.names, own, z, self.low, self.high, strict=True):
            if not -1e-12 <= share <= 1.0 + 1e-12:
                raise InvalidValue(
                    f"{name} = {value:g} of {self.vehicle.name} is out of its bounds, "
                    f"{ends[0]:g} to {ends[1]:g}: the search starts from it"
                )
        begin = self._begin(np.clip(z, 0.0, 1.0))
        for name, value in zip(self.targets, begin.values, strict=True):
            if not isfinite(value):
                raise InvalidValue(f"{self.vehicle.name} as it is gives no {name} to start from")
        # Of a target of zero: what the metric is now.
        size = np.where(self.scale > 0.0, 1.0, np.maximum(np.abs(begin.values), 1e-9))
        self.scale = np.where(self.scale > 0.0, self.scale, size)
        slopes, residuals = begin.jacobian / size[:, None], begin.residuals / size
        self.begin = begin._replace(residuals=residuals, jacobian=slopes)
        return self.begin

    def step(self, at: _Point) -> _Point:
        """The best of some steps, all driven at once."""
        from scipy.optimize import lsq_linear

        size = np.maximum(np.linalg.norm(at.jacobian, axis=0), 1e-9)
        tries: list[Array] = []
        for damping in DAMPING:
            rows = np.concatenate([at.jacobian, np.diag(np.sqrt(damping) * size)])
            right = np.concatenate([-at.residuals, np.zeros(len(at.z))])
            # A range of no width is none that lsq_linear takes.
            ends = -at.z - 1e-12, 1.0 - at.z + 1e-12
            move: Array = lsq_linear(rows, right, ends).x
            tries.append(np.clip(at.z + move, 0.0, 1.0))
        values = self._metrics(np.stack(tries))
        ends = [self._carried(at, z, values[:, k]) for k, z in enumerate(tries)]
        return min(ends, key=lambda point: point.cost)

    def derived(self, at: _Point) -> _Point:
        """With derivatives that are driven; where they are no numbers, with what it has."""
        places = _around(at.z)
        slopes = self._slopes(places, self._metrics(places))
        known = bool(np.isfinite(slopes).all())
        return at._replace(jacobian=slopes if known else at.jacobian, fresh=True)

    def _begin(self, z: Array) -> _Point:
        """Metrics and derivatives at a place, in one drive."""
        places = _around(z)
        values = self._metrics(np.concatenate([z[None], places]))
        own = values[:, 0]
        return _Point(z, own, (own - self.goal) / self._sizes, self._slopes(places, values[:, 1:]))

    def _carried(self, at: _Point, z: Array, values: Array) -> _Point:
        """A point with the derivatives of another one, and what the way from there tells."""
        residuals = (values - self.goal) / self._sizes
        way = z - at.z
        length = float(way @ way)
        slopes = at.jacobian
        if length > 0.0:
            beside = residuals - at.residuals - at.jacobian @ way
            slopes = slopes + np.outer(beside, way) / length
        return _Point(z, values, residuals, slopes, fresh=False)

    def _slopes(self, places: Array, values: Array) -> Array:
        """Derivatives of residuals by what is on both sides of a point, (M, P)."""
        P = len(self.names)
        apart = np.einsum("ii->i", places[P:] - places[:P])
        return (values[:, P:] - values[:, :P]) / (apart * self._sizes[:, None])

    @property
    def _sizes(self) -> Array:
        return np.where(self.scale > 0.0, self.scale, 1.0)

    def _metrics(self, z: Array) -> Array:
        """Of variants (V, P), (M, V)."""
        p = self.low + z * (self.high - self.low)
        params = {name: p[:, k] for k, name in enumerate(self.names)}
        by_name = metrics_of(self.manoeuvres, self.vehicle, params, self.kernels)
        for name in self.targets:
            if name not in by_name:
                raise InvalidValue(record.unknown_name("skidpad", name, list(by_name), "metric"))
        self.metrics = [by_name[name] for name in self.targets]
        return np.stack([metric.value for metric in self.metrics])

    def reached(self, point: _Point, tolerance: float) -> bool:
        """Whether all targets are."""
        return bool((np.abs(point.residuals) <= tolerance).all())

    def tuning(self, best: _Point, tolerance: float, iterations: int) -> Tuning:
        """The result at a point."""
        assert self.begin is not None
        near = np.abs(best.residuals) <= tolerance
        targets = tuple(
            Reached(name, metric.unit, float(goal), float(before), float(after), bool(ok))
            for name, metric, goal, before, after, ok in zip(
                self.targets, self.metrics, self.goal, self.begin.values, best.values, near,
                strict=True,
            )
        )  # fmt: skip
        moved = tuple(self._moved(k, best.z[k]) for k in range(len(self.names)))
        params = {one.name: one.after for one in moved}
        notes = _why(targets, moved)
        return Tuning(self.vehicle.with_params(params), targets, moved, iterations, notes)

    def _moved(self, k: int, z: float) -> Moved:
        name, low, high = self.names[k], float(self.low[k]), float(self.high[k])
        units = {leaf.name: leaf.unit.symbol for leaf in record.fields(self.vehicle.model.Params)}
        after = low + float(z) * (high - low)
        at_bound = not 1e-6 < z < 1.0 - 1e-6
        return Moved(name, units[name], low, high, own_value(self.vehicle, name), after, at_bound)


def _around(z: Array) -> Array:
    """Places on both sides of one, first below and then above, (2P, P), within the bounds."""
    P = len(z)
    moves = DIFFERENCE * np.concatenate([-np.eye(P), np.eye(P)])
    return np.clip(z + moves, 0.0, 1.0)


def _why(targets: Sequence[Reached], moved: Sequence[Moved]) -> tuple[str, ...]:
    """Sentences on targets that were not reached."""
    notes = [
        f"{t.name} = {t.target:g} is out of reach: the nearest is {t.after:.4g}"
        for t in targets
        if not t.reached
    ]
    held = [f"{one.name} = {one.after:g}" for one in moved if one.at_bound]
    if notes and held:
        notes.append(f"at their bounds: {', '.join(held)}")
    elif notes:
        notes.append("no parameter is at a bound: the targets contradict each other, or what is "
                     "free does not move them")  # fmt: skip
    return tuple(notes)


def _split(name: str) -> tuple[str, str]:
    manoeuvre, dot, metric = name.partition(".")
    if not (manoeuvre and dot and metric):
        raise InvalidValue(f"target {name!r} must be MANOEUVRE.METRIC, as in step_steer.tb_factor")
    return manoeuvre, metric


def usual_bounds(vehicle: Vehicle, name: str) -> tuple[float, float]:
    """Ends of a parameter for which none are given: a fifth to either side."""
    own = own_value(vehicle, name)
    return own - WIDTH * abs(own), own + WIDTH * abs(own)


def _bounds(
    vehicle: Vehicle, free: Sequence[str] | Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Bounds of each free parameter, within what it may be."""
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
