"""Which parameter moves which metric: derivatives at the vehicle, and Sobol indices over ranges.

Both are one drive of a fleet: each difference and each sample is a variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..checks import positive
from ..errors import InvalidValue
from ..model import Vehicle
from .kernels import Kernels
from .proving_ground import Manoeuvre
from .variants import manoeuvre_of, metrics_of, own_value

__all__ = ["Indices", "Sensitivity", "sensitivity", "sobol"]


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of M metrics by P parameters."""

    names: tuple[str, ...]
    """Of the parameters."""
    metrics: tuple[str, ...]
    units: tuple[str, ...]
    """Of the metrics."""
    at: Array
    """The parameters, (P,)."""
    values: Array
    """The metrics there, (M,)."""
    derivatives: Array
    """(M, P): d metric / d parameter, in SI; NaN where a variant gave no number."""

    __repr__ = brief_repr

    @property
    def relative(self) -> Array:
        """(M, P): per cent of the metric per per cent of the parameter."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.derivatives * self.at / self.values[:, None]

    def rows(self) -> list[dict[str, Any]]:
        """One for each pair, the metric's strongest parameter first: plain values for tables."""
        rows: list[dict[str, Any]] = []
        for k, metric in enumerate(self.metrics):
            strength = np.nan_to_num(np.abs(self.derivatives[k] * self.at))
            for i in np.argsort(-strength, kind="stable").tolist():
                rows.append(
                    {
                        "metric": metric,
                        "value": float(self.values[k]),
                        "unit": self.units[k],
                        "parameter": self.names[i],
                        "at": float(self.at[i]),
                        "derivative": float(self.derivatives[k, i]),
                        "relative": float(self.relative[k, i]),
                    }
                )
        return rows


def sensitivity(
    manoeuvre: Manoeuvre | str,
    vehicle: Vehicle,
    names: Sequence[str],
    *,
    step: float = 0.01,
    kernels: Kernels | None = None,
) -> Sensitivity:
    """d metric / d parameter by central differences, all drives at once.

    Args:
        manoeuvre: one with its settings, or the name of a standard one.
        vehicle: with the parameters at which the derivatives are wanted.
        names: of parameters, nested ones with dots.
        step: share of a parameter by which it is moved to either side; of one that is zero, the
            amount. One that may not go below a bound is moved to one side only.
    """
    positive("step", step)
    if not names:
        raise InvalidValue("names is empty; name at least one parameter")
    at = np.array([own_value(vehicle, name) for name in names])
    low, high = _sides(vehicle, names, at, step)
    # The vehicle itself, then each parameter lower and higher.
    rows = np.tile(at, (1 + 2 * len(names), 1))
    for k in range(len(names)):
        rows[1 + k, k], rows[1 + len(names) + k, k] = low[k], high[k]
    variants = {name: rows[:, k] for k, name in enumerate(names)}
    one = manoeuvre_of(manoeuvre)
    metrics = metrics_of([one], vehicle, variants, kernels)
    values = np.stack([metric.value for metric in metrics.values()])
    lower, higher = np.split(values[:, 1:], 2, axis=1)
    return Sensitivity(
        tuple(names),
        tuple(metric.name for metric in metrics.values()),
        tuple(metric.unit for metric in metrics.values()),
        at,
        values[:, 0],
        (higher - lower) / (high - low),
    )


def _sides(vehicle: Vehicle, names: Sequence[str], at: Array, step: float) -> tuple[Array, Array]:
    """Lower and higher values, within what each parameter may be."""
    far = np.where(at == 0.0, step, step * np.abs(at))
    allowed = {leaf.name: leaf.allowed for leaf in record.fields(vehicle.model.Params)}
    low, high = at - far, at + far
    for k, name in enumerate(names):
        limits = allowed[name]
        if limits is not None:
            low[k] = low[k] if float(low[k]) in limits else at[k]
            high[k] = high[k] if float(high[k]) in limits else at[k]
    return low, high


@dataclass(frozen=True, eq=False)
class Indices:
    """Shares of the variance of M metrics that P parameters account for within their ranges."""

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    first: Array
    """(M, P): of the parameter alone; NaN where a metric has no number or does not vary."""
    total: Array
    """(M, P): with all that it does together with others."""
    mean: Array
    """Of each metric, (M,)."""
    std: Array
    """Of each metric, (M,)."""
    notes: tuple[str, ...] = field(default_factory=tuple[str, ...])

    __repr__ = brief_repr

    def rows(self) -> list[dict[str, Any]]:
        """One for each pair: plain values for tables."""
        return [
            {
                "metric": metric,
                "parameter": name,
                "first": float(self.first[k, i]),
                "total": float(self.total[k, i]),
            }
            for k, metric in enumerate(self.metrics)
            for i, name in enumerate(self.names)
        ]


def sobol(
    manoeuvre: Manoeuvre | str,
    vehicle: Vehicle,
    ranges: Mapping[str, tuple[float, float]],
    *,
    samples: int = 128,
    seed: int = 0,
    kernels: Kernels | None = None,
) -> Indices:
    """Sobol indices of each metric for parameters that are anywhere within ranges, independently.

    Drives `samples` × (parameters + 2) variants; `samples` is a power of 2. First-order indices
    after Saltelli et al. (2010), total ones after Jansen (1999).
    """
    if samples < 2 or samples & (samples - 1):
        raise InvalidValue(f"samples = {samples} must be a power of 2, at least 2")
    for name, (low, high) in ranges.items():
        own_value(vehicle, name)
        if not low < high:
            raise InvalidValue(f"range of {name} = ({low}, {high}) must go up")
    count = len(ranges)
    points = _points(np.array(list(ranges.values()), dtype=float), samples, seed)
    variants = {name: points[:, k] for k, name in enumerate(ranges)}
    metrics = metrics_of([manoeuvre_of(manoeuvre)], vehicle, variants, kernels)
    values = np.stack([metric.value for metric in metrics.values()])
    # Samples without a number are left out with all that belongs to them.
    blocks = values.reshape(len(metrics), count + 2, samples)
    complete: Any = np.isfinite(blocks).all(axis=1)
    indices = [_indices(block[:, own]) for block, own in zip(blocks, complete, strict=True)]
    lost = samples - complete.sum(axis=1)
    names = tuple(metric.name for metric in metrics.values())
    notes = tuple(
        f"{name}: {n} of {samples} samples gave no number and are left out"
        for name, n in zip(names, lost.tolist(), strict=True)
        if n
    )
    first, total, mean, std = (np.stack(part) for part in zip(*indices, strict=True))
    return Indices(tuple(ranges), names, first, total, mean, std, notes)


def _points(ranges: Array, samples: int, seed: int) -> Array:
    """Two sets of samples, and the first with each parameter from the second."""
    from scipy.stats import qmc

    count = len(ranges)
    Sobol: Any = qmc.Sobol  # SciPy 1.14 has no rng
    drawn: Array = Sobol(2 * count, seed=seed).random(samples)
    a, b = drawn[:, :count], drawn[:, count:]
    mixed: list[Array] = []
    for k in range(count):
        one = a.copy()
        one[:, k] = b[:, k]
        mixed.append(one)
    return ranges[:, 0] + np.concatenate([a, b, *mixed]) * (ranges[:, 1] - ranges[:, 0])


def _indices(block: Array) -> tuple[Array, Array, Any, Any]:
    """First and total indices, mean and standard deviation, from (parameters + 2, samples)."""
    a, b, mixed = block[0], block[1], block[2:]
    both = block[:2].ravel()
    if both.size < 4 or not np.ptp(both) > 1e-12 * np.abs(both).max():
        none = np.full(len(mixed), np.nan)
        mean = both.mean() if both.size else np.nan
        return none, none, mean, 0.0 if both.size else np.nan
    mean, variance = both.mean(), both.var()
    # Without the mean, products lose no digits.
    first = ((b - mean) * (mixed - a)).mean(axis=1) / variance
    total = 0.5 * ((a - mixed) ** 2).mean(axis=1) / variance
    return first, total, mean, np.sqrt(variance)
