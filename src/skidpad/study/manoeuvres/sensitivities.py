"""Which parameter affects which metric: derivatives at the vehicle, and Sobol indices over ranges.

Both use one rollout of a fleet: each difference and each sample is a variant. Variants with
uncertain parameters are sampled by `spread_out`.

A derivative exists only for a metric that is smooth in the parameters. Some metrics declare that
they are not (`Metric.rough`). All others are tested: each parameter is changed by a step and by
half of it, in both directions. For a smooth metric both steps give the same difference quotient up
to the square of the step, and the one-sided slopes differ half as much over half the step. A
staircase breaks the first rule, a kink the second. A staircase whose treads are longer than the
step looks constant there; a third, wider step reveals it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from .kernels import Kernels
from .manoeuvre import Manoeuvre, Metric
from .proving_ground import perform, select
from .subject import Subject

MOST_VARIANTS = 100_000


def spread_out(
    vehicle: Vehicle,
    widths: Mapping[str, str | float],
    variants: int,
    *,
    seed: int = 0,
    name: str = "",
) -> Subject:
    """The vehicle itself, followed by variants with randomly varied parameters.

    `widths` maps names of parameters to the half width of their range: "5%" of the value, or a
    number in the parameter's unit. A name may have a star, as in `tyres.*`; zero values are then
    left alone. Values are uniform and independent; a Latin hypercube spreads each parameter over
    its whole range, so that few variants suffice.
    """
    if not 1 <= variants <= MOST_VARIANTS:
        raise InvalidValue(f"variants = {variants} must be from 1 to {MOST_VARIANTS}")
    if not widths:
        raise InvalidValue('variants need a spread: which parameters differ, as in "m=5%"')
    half = _half_widths(vehicle, widths)
    leaves, random = own_values(vehicle), np.random.default_rng(seed)

    def even() -> Array:
        """Latin hypercube samples from -1 to 1: one in each of equal intervals, in random order."""
        return 2.0 * (random.permutation(variants) + random.random(variants)) / variants - 1.0

    pairs = ((leaf, leaves[leaf], width) for leaf, width in half.items())
    rows = {leaf: np.append(value, value + width * even()) for leaf, value, width in pairs}
    for pick in (np.min, np.max):  # `with_params` raises for forbidden values
        vehicle.with_params({leaf: float(pick(row)) for leaf, row in rows.items()})
    return Subject(vehicle, rows, name)


def parse_spread(texts: Sequence[str]) -> dict[str, str]:
    """Parse widths such as "m=5%,tyres.D=0.1" to a mapping by name."""
    widths: dict[str, str] = {}
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, sign, width = part.partition("=")
        if not (name and sign and width):
            raise InvalidValue(f"spread {part!r}: expected NAME=WIDTH, as in m=5% or l_f=0.02")
        widths[name.strip()] = width.strip()
    return widths


def _half_widths(vehicle: Vehicle, widths: Mapping[str, str | float]) -> dict[str, float]:
    """Half width of each varied parameter, by name, in its unit."""
    values = own_values(vehicle)
    half: dict[str, float] = {}
    for pattern, width in widths.items():
        hits = [name for name in values if fnmatchcase(name, pattern)]
        if not hits:
            known = list(values)
            raise InvalidValue(record.unknown_name(vehicle.name, pattern, known, "parameter"))
        share, size = _size(pattern, width)
        if share and hits == [pattern] and values[pattern] == 0.0:
            raise InvalidValue(
                f"spread of {pattern}: the value is 0, so a percentage of it is 0; give a width "
                "in its unit"
            )
        wide = {name: size * abs(values[name]) if share else size for name in hits}
        half |= {name: one for name, one in wide.items() if one > 0.0}
    if not half:
        raise InvalidValue(
            f"spread {', '.join(widths)}: all of these are 0, so all variants would be the same"
        )
    return half


def _size(name: str, width: str | float) -> tuple[bool, float]:
    """Parsed width of a parameter: whether it is relative, and its size."""
    text = str(width)
    try:
        size = float(text.rstrip("%")) * (0.01 if text.endswith("%") else 1.0)
    except ValueError:
        size = -1.0
    if not 0.0 < size < inf:
        raise InvalidValue(
            f"spread of {name} = {text!r} must be a positive number or a share, as in 5%"
        )
    return text.endswith("%"), size


def manoeuvre_of(manoeuvre: Manoeuvre | str) -> Manoeuvre:
    """Return the manoeuvre itself, or the standard manoeuvre with this name."""
    return select([manoeuvre])[0] if isinstance(manoeuvre, str) else manoeuvre


def own_values(vehicle: Vehicle) -> dict[str, Any]:
    """Values of all parameters of a vehicle by dotted name."""
    values = record.flatten(vehicle.params)
    return dict(zip(record.names(vehicle.model.Params), values, strict=True))


def own_value(vehicle: Vehicle, name: str) -> float:
    """Value of a parameter of a vehicle by its name, which may have dots."""
    values = own_values(vehicle)
    if name not in values:
        raise InvalidValue(record.unknown_name(vehicle.name, name, list(values), "parameter"))
    return float(values[name])


def metrics_of(
    manoeuvres: Sequence[Manoeuvre],
    vehicle: Vehicle,
    params: Mapping[str, Array],
    kernels: Kernels | None = None,
) -> dict[str, Metric]:
    """Metrics by names such as "step_steer.yaw_rate_overshoot", each (V,).

    Raises InvalidValue for a manoeuvre that the vehicle cannot do.
    """
    car = Subject(vehicle, params)
    metrics: dict[str, Metric] = {}
    for result in perform(manoeuvres, [car], kernels):
        if result.findings is None:
            raise InvalidValue(f"{result.manoeuvre.name}: {result.unfit}")
        name = result.manoeuvre.name
        metrics |= {f"{name}.{metric.name}": metric for metric in result.findings.metrics}
    return metrics


DISAGREEMENT = 0.2
"""Largest relative difference between the quotients over the step and over half of it."""
SMALL = 0.05
"""Negligible sensitivity, in per cent of the metric per per cent of the parameter."""
ROUNDING = 1e-9
"""Change over the step, in its unit, up to which a metric near zero counts as constant."""
WIDE = 4.0
"""Wider step, relative to the step."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of M metrics by P parameters."""

    names: tuple[str, ...]
    """Names of the parameters."""
    metrics: tuple[str, ...]
    """Names of the metrics that are smooth in the parameters."""
    units: tuple[str, ...]
    """Units of the metrics."""
    at: Array
    """Values of the parameters, (P,)."""
    values: Array
    """Values of the metrics, (M,)."""
    derivatives: Array
    """d metric / d parameter in SI, (M, P); NaN where a variant has no value."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Metrics of the manoeuvre that have no derivative, with the reason."""

    __repr__ = brief_repr

    @property
    def relative(self) -> Array:
        """Relative sensitivity, (M, P): per cent of the metric per per cent of the parameter."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.derivatives * self.at / self.values[:, None]

    def rows(self) -> list[dict[str, Any]]:
        """Rows for tables, one per pair of metric and parameter, the strongest parameter first."""
        rows: list[dict[str, Any]] = []
        for k, (metric, unit) in enumerate(zip(self.metrics, self.units, strict=True)):
            of_metric = {"metric": metric, "value": float(self.values[k]), "unit": unit}
            strength = np.nan_to_num(np.abs(self.derivatives[k] * self.at))
            for i in np.argsort(-strength, kind="stable").tolist():
                slopes = float(self.derivatives[k, i]), float(self.relative[k, i])
                of_param = {"parameter": self.names[i], "at": float(self.at[i])}
                named = dict(zip(("derivative", "relative"), slopes, strict=True))
                rows.append(of_metric | of_param | named)
        return rows


def sensitivity(
    manoeuvre: Manoeuvre | str,
    vehicle: Vehicle,
    names: Sequence[str],
    *,
    metrics: Sequence[str] = (),
    step: float = 0.01,
    kernels: Kernels | None = None,
) -> Sensitivity:
    """d metric / d parameter by central differences, with all runs at once.

    Args:
        manoeuvre: a manoeuvre with its settings, or the name of a standard manoeuvre.
        vehicle: vehicle with the parameters at which to differentiate.
        names: names of parameters; nested names have dots.
        metrics: names of the metrics to differentiate; all of the manoeuvre if empty.
        step: share by which a parameter is changed in both directions; for a parameter of zero, the
            amount. A parameter at its bound is changed in one direction only.

    Returns:
        Derivatives of the metrics that are smooth; the others are in `refused`, with the reason.

    Raises:
        InvalidValue: for a metric of `metrics` that is not smooth, or if no metric is smooth.
    """
    positive("step", step)
    if not names:
        raise InvalidValue("names is empty; name at least one parameter")
    at = np.array([own_value(vehicle, name) for name in names])
    places = _places(vehicle, names, at, step)
    each = places.shape[1]
    rows = np.tile(at, (1 + each * len(names), 1))
    for k, row in enumerate(places):
        rows[1 + each * k : 1 + each * (k + 1), k] = row
    variants = {name: rows[:, k] for k, name in enumerate(names)}
    one = manoeuvre_of(manoeuvre)
    found = {m.name: m for m in metrics_of([one], vehicle, variants, kernels).values()}
    for name in metrics:
        if name not in found:
            raise InvalidValue(record.unknown_name(one.name, name, list(found), "metric"))
    slopes: dict[str, list[float]] = {}
    refused: dict[str, str] = {}
    for name in metrics or found:
        own, around = found[name].value[0], found[name].value[1:].reshape(len(names), each)
        quotients = [
            _Quotients.of(parameter, value, row - value, own, values)
            for parameter, value, row, values in zip(names, at, places, around, strict=True)
        ]
        reasons = (quotient.reason for quotient in quotients)
        if reason := found[name].rough or next(filter(None, reasons), ""):
            refused[name] = reason
        else:
            slopes[name] = [quotient.slope for quotient in quotients]
    if refused and (metrics or not slopes):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in refused.items())
        raise InvalidValue(
            f"{one.name} has no derivative of metrics that are not smooth: {reasons}"
        )
    return Sensitivity(
        tuple(names),
        tuple(slopes),
        tuple(found[name].unit for name in slopes),
        at,
        np.array([found[name].value[0] for name in slopes]),
        np.array(list(slopes.values())),
        refused,
    )


BOTH_SIDES = (-WIDE, -1.0, -0.5, 0.5, 1.0, WIDE)
ONE_SIDE = (0.0, 0.0, 0.25, 0.5, 1.0, WIDE)
"""Parameter changes driven for a one-sided difference, relative to the step."""


def _places(vehicle: Vehicle, names: Sequence[str], at: Array, step: float) -> Array:
    """Values of each parameter to drive, (P, 6), on both sides or, at a bound, on one side.

    If only the wider step is out of bounds, the step takes its place.
    """
    allowed = {leaf.name: leaf.allowed for leaf in record.fields(vehicle.model.Params)}
    rows: list[Array] = []
    for name, value in zip(names, at.tolist(), strict=True):
        limits, size = allowed[name], step * (abs(value) or 1.0)

        def fits(share: float, value: float = value, size: float = size, a: Any = limits) -> bool:
            return a is None or value + share * size in a

        if not (fits(-1.0) or fits(1.0)):
            raise InvalidValue(
                f"{name} = {value:g} cannot be changed by {size:g} to either side: it must be "
                f"{limits}"
            )
        side = 1.0 if fits(1.0) else -1.0
        shares = BOTH_SIDES if fits(-side) else tuple(side * share for share in ONE_SIDE)
        kept = [share if fits(share) else float(np.sign(share)) for share in shares]
        rows.append(value + size * np.array(kept))
    return np.stack(rows)


class _Quotients(NamedTuple):
    """Difference quotients of a metric by a parameter."""

    parameter: str
    step: float
    """Change of the parameter."""
    slope: float
    """Second-order difference quotient over that step."""
    half: float
    """Difference quotient over half of the step."""
    wide: float
    """Difference quotient over the wider step."""
    kink: float
    """Difference of the one-sided slopes next to the point; zero if smooth."""
    small: float
    """Negligible slope."""

    @classmethod
    def of(cls, parameter: str, at: float, far: Array, own: float, values: Array) -> _Quotients:
        """Quotients from the values at distances (6,) from a point where the metric is `own`; see
        `_places`."""
        h = float(np.abs(far[4]))
        wide = (values[5] - values[0]) / (far[5] - far[0])
        small = max(SMALL * abs(own) / (abs(at) or 1.0), ROUNDING / h)
        if far[0] != 0.0:
            _, low, lower, higher, high, _ = values.tolist()
            # Slopes of both sides of a smooth metric differ by h f'', so by half over half of h.
            bend, half_bend = (high - 2.0 * own + low) / h, 2.0 * (higher - 2.0 * own + lower) / h
            slope, half = (high - low) / (2.0 * h), (higher - lower) / h
            return cls(parameter, h, slope, half, wide, 2.0 * half_bend - bend, small)
        first, second, last = values[2:5].tolist()
        # One-sided, of second order: (4 f(h/2) - 3 f(0) - f(h)) / h.
        slope = (4.0 * second - 3.0 * own - last) / far[4]
        half = 2.0 * (4.0 * first - 3.0 * own - second) / far[4]
        return cls(parameter, h, slope, half, wide, 0.0, small)

    @property
    def reason(self) -> str:
        """Why the metric is not smooth, as a clause; empty if it is, or if values are missing."""
        slack = max(DISAGREEMENT * max(abs(self.slope), abs(self.half)), self.small)
        if abs(self.slope - self.half) > slack:
            return (
                f"its differences over {self.step:.3g} and {0.5 * self.step:.3g} of "
                f"{self.parameter} disagree: {self.slope:.3g} and {self.half:.3g}; it is a "
                "staircase or has a kink here"
            )
        if abs(self.kink) > slack:
            left, right = self.half - 0.5 * self.kink, self.half + 0.5 * self.kink
            return (
                f"its slopes below and above this {self.parameter} differ: {left:.3g} and "
                f"{right:.3g}; it is a staircase or has a kink here"
            )
        if abs(self.slope) <= self.small < abs(self.wide) * DISAGREEMENT:
            return (
                f"it is flat over {self.step:.3g} of {self.parameter} and not over "
                f"{WIDE * self.step:.3g}: {self.slope:.3g} and {self.wide:.3g}; it is a staircase"
            )
        return ""


@dataclass(frozen=True, eq=False)
class Indices:
    """Sobol indices: shares of the variance of M metrics due to P parameters within their
    ranges."""

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    first: Array
    """First-order indices, (M, P): the parameter alone; NaN for a constant or missing
    metric."""
    total: Array
    """Total indices, (M, P): the parameter with all its interactions."""
    mean: Array
    """Mean of each metric, (M,)."""
    std: Array
    """Standard deviation of each metric, (M,)."""
    notes: tuple[str, ...] = field(default_factory=tuple[str, ...])

    __repr__ = brief_repr

    def rows(self) -> list[dict[str, Any]]:
        """Rows for tables, one per pair of metric and parameter."""
        pairs = zip(
            product(self.metrics, self.names), self.first.flat, self.total.flat, strict=True
        )
        return [
            {"metric": metric, "parameter": name, "first": float(first), "total": float(total)}
            for (metric, name), first, total in pairs
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
    """Sobol indices of each metric for parameters that are uniform and independent within ranges.

    Drives `samples` × (parameters + 2) variants; `samples` is a power of 2. First-order indices
    after Saltelli et al. (2010), total ones after Jansen (1999).
    """
    if samples < 2 or samples & (samples - 1):
        raise InvalidValue(f"samples = {samples} must be a power of 2, at least 2")
    for name, (low, high) in ranges.items():
        own_value(vehicle, name)
        if not low < high:
            raise InvalidValue(f"range of {name} = ({low}, {high}) must increase")
    count = len(ranges)
    points = _points(np.array(list(ranges.values()), dtype=float), samples, seed)
    variants = {name: points[:, k] for k, name in enumerate(ranges)}
    metrics = metrics_of([manoeuvre_of(manoeuvre)], vehicle, variants, kernels)
    values = np.stack([metric.value for metric in metrics.values()])
    # Non-finite samples are left out together with their whole block.
    blocks = values.reshape(len(metrics), count + 2, samples)
    complete: Any = np.isfinite(blocks).all(axis=1)
    first, total = (np.full((len(metrics), count), np.nan) for _ in range(2))
    mean, std = (np.full(len(metrics), np.nan) for _ in range(2))
    for k, own in enumerate(complete):
        block = blocks[k][:, own]
        a, b, mixed, both = block[0], block[1], block[2:], block[:2].ravel()
        if both.size:
            mean[k], std[k] = both.mean(), 0.0
        if both.size < 4 or not np.ptp(both) > 1e-12 * np.abs(both).max():
            continue  # a constant metric has no variance to apportion
        variance = both.var()
        # Subtract the mean, so that products do not lose digits.
        first[k] = ((b - mean[k]) * (mixed - a)).mean(axis=1) / variance
        total[k] = 0.5 * ((a - mixed) ** 2).mean(axis=1) / variance
        std[k] = np.sqrt(variance)
    lost = samples - complete.sum(axis=1)
    names = tuple(metric.name for metric in metrics.values())
    notes = tuple(
        f"{name}: {n} of {samples} samples gave no number and are left out"
        for name, n in zip(names, lost.tolist(), strict=True)
        if n
    )
    return Indices(tuple(ranges), names, first, total, mean, std, notes)


def _points(ranges: Array, samples: int, seed: int) -> Array:
    """Two sets of samples, and copies of the first with one parameter each from the second."""
    from scipy.stats import qmc

    count = len(ranges)
    Sobol: Any = qmc.Sobol  # SciPy 1.14 has no rng
    drawn: Array = Sobol(2 * count, seed=seed).random(samples)
    a, b = drawn[:, :count], drawn[:, count:]
    mixed = [np.where(np.arange(count) == k, b, a) for k in range(count)]
    return ranges[:, 0] + np.concatenate([a, b, *mixed]) * (ranges[:, 1] - ranges[:, 0])
