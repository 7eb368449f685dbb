"""Distributions: normal, uniform, truncated and correlated values, recordings, and combinations.

`Gaussian` takes standard deviations or a covariance matrix, which is factored on the correlations,
as values may differ in scale by many orders. `Truncated` inverts the distribution: a uniform number
is the probability of lying below the value, within the bounds; in the tails its logarithm is used,
so that bounds far from the mean lose no accuracy.

`OrnsteinUhlenbeck` is the normal process with the correlation exp(-t/T); Dryden's wind along the
flight path is one. It is stepped exactly for any step: after a time dt, the part exp(-dt/T) of the
deviation is left, and what is added keeps the variance.

`Recorded` replays rows; `Joined` and `by_name` combine models over parts of a vector.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.checks import array, one_of
from ..core.files import shown
from ..errors import InvalidValue
from .model import (
    Fields,
    Shape,
    UncertaintyModel,
    check_order,
    check_within,
    checked_model,
    one_name,
    read_only,
)
from .streams import Draw

_SLACK = 1e-10
"""Tolerance for asymmetry and negative eigenvalues of a correlation matrix, as rounding."""
_NOTHING = 1e-14
"""Remaining variance that counts as zero, relative to the variance of the value itself."""


def covariance_factor(shape: Shape, values: Any) -> tuple[Array, Array]:
    """Checked covariance matrix, and a matrix L with L Lᵀ equal to it; raises InvalidValue if there
    is no such matrix.

    Singular matrices are allowed, for values that are certain or depend on others.
    """
    matrix = array("covariance", values, (shape.dim, shape.dim))
    variances = np.diag(matrix)
    shape.require("the diagonal of covariance", variances, variances >= 0.0, "at least 0")
    scale = np.sqrt(variances)
    # Values without variance have no correlations; their matrix entries are compared with 1.
    each = np.where(scale > 0.0, scale, 1.0)
    correlation = matrix / np.outer(each, each)
    apart = np.abs(correlation - correlation.T)
    if apart.max(initial=0.0) > _SLACK:
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise InvalidValue(
            f"covariance[{i}, {j}] = {matrix[i, j]:g} and covariance[{j}, {i}] = {matrix[j, i]:g} "
            "must be equal: a covariance is symmetric"
        )
    correlation = 0.5 * (correlation + correlation.T)
    smallest = float(np.linalg.eigvalsh(correlation)[0]) if len(matrix) else 0.0
    if smallest < -_SLACK:
        raise InvalidValue(
            f"covariance is not positive semi-definite: its correlations have the eigenvalue "
            f"{smallest:g}; all must be at least 0"
        )
    factor = each[:, None] * _cholesky(correlation)
    return read_only(0.5 * (matrix + matrix.T)), read_only(factor)


def _cholesky(matrix: Array) -> Array:
    """Cholesky factor L with L Lᵀ = matrix, computed with the largest pivot first.

    The factor of a library fails for singular matrices or depends on the machine.
    """
    n = len(matrix)
    factor = np.zeros((n, n))
    left = matrix.copy()
    for k in range(n):
        pivot = int(np.diag(left).argmax())
        if left[pivot, pivot] <= _NOTHING:
            break
        factor[:, k] = left[:, pivot] / np.sqrt(left[pivot, pivot])
        left -= np.outer(factor[:, k], factor[:, k])
        left[pivot, :] = left[:, pivot] = 0.0
    return factor


class _WithMoments(UncertaintyModel):
    """Base of models with an expected value and a standard deviation of each value."""

    _mean: Array
    _std: Array

    @property
    def mean(self) -> Array:
        """Expected value, (dim,)."""
        return self._mean

    @property
    def std(self) -> Array:
        """Standard deviation of each value, (dim,)."""
        return self._std


class Gaussian(_WithMoments):
    """Normal values with given standard deviations, or with a full covariance matrix.

    `mean` and `std` are vectors, records, mappings of names or one number for all values. With
    mappings, `fields` names all values; a value that a mapping leaves out has zero standard
    deviation and the default of its field as mean. That default is the mean of all values if `mean`
    is None, and the nominal value is the mean.
    """

    def __init__(
        self,
        mean: Any = None,
        std: Any = None,
        covariance: Any = None,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
        std_deviation: Any = None,
    ) -> None:
        """`std_deviation` is an alias of `std`."""
        forms = {"std": std, "std_deviation": std_deviation, "covariance": covariance}
        names = [name for name, value in forms.items() if value is not None]
        if len(names) != 1:
            raise InvalidValue(
                f"Gaussian takes one of std (or std_deviation) and covariance, "
                f"got {' and '.join(names) or 'none of them'}"
            )
        spread = std if std is not None else std_deviation
        rows = None if covariance is None else _first_row(covariance)
        shape = Shape.of(
            dim, fields, mean=mean, std=spread, covariance=rows, nominal_value=nominal_value
        )
        centre = shape.rest if mean is None else mean
        self._mean = read_only(shape.finite("mean", centre, shape.rest))
        if covariance is None:
            self._factor = None
            self._std = shape.finite("std", spread)
            shape.require("std", self._std, self._std >= 0.0, "at least 0")
        else:
            self._covariance, self._factor = covariance_factor(shape, covariance)
            self._std = np.sqrt(np.diag(self._covariance))
        self._std = read_only(self._std)
        nominal = self._mean if nominal_value is None else nominal_value
        super().__init__(None, nominal, fields=shape)

    @property
    def std_deviations(self) -> Array:
        """Alias of `std`, (size,)."""
        return self._std

    @property
    def covariance(self) -> Array:
        """Covariance matrix, (dim, dim)."""
        if self._factor is None:
            return read_only(np.diag(self._std * self._std))
        return self._covariance

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Mean plus normally distributed deviations, (runs, size)."""
        drawn = draw.normal(self.dim)
        if self._factor is None:
            drawn *= self._std
            drawn += self._mean
            return drawn, None
        return _combined(self._mean, self._factor, drawn), None


def _combined(mean: Array, factor: Array, drawn: Array) -> Array:
    """Sum of the mean and the drawn numbers times the transposed factor, one column after the
    other.

    A matrix product would add in an order that depends on the number of rows.
    """
    columns = np.ascontiguousarray(drawn.T)
    out = np.empty_like(columns)
    out[:] = mean[:, None]
    for i, j in np.argwhere(factor):
        out[i] += factor[i, j] * columns[j]
    return out.T


def _first_row(covariance: Any) -> Any:
    """First row, which determines the number of values; the matrix is checked later."""
    try:
        return np.asarray(covariance, dtype=float)[0] if np.ndim(covariance) == 2 else None
    except (TypeError, ValueError, OverflowError):
        return None


class _Bounded(UncertaintyModel):
    """Base of models with a lower and an upper bound of each value."""

    _lower: Array
    _upper: Array

    @property
    def lower(self) -> Array:
        """Lower bounds, (dim,)."""
        return self._lower

    @property
    def upper(self) -> Array:
        """Upper bounds, (dim,)."""
        return self._upper


class Uniform(_Bounded):
    """Uniformly distributed values between two bounds; equal bounds make a value certain.

    The nominal value is the middle by default.
    """

    def __init__(
        self,
        lower: Any = None,
        upper: Any = None,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
        lower_bound: Any = None,
        upper_bound: Any = None,
    ) -> None:
        """`lower_bound` and `upper_bound` are aliases of `lower` and `upper`."""
        low = one_name(("lower", "lower_bound"), lower, lower_bound)
        high = one_name(("upper", "upper_bound"), upper, upper_bound)
        shape = Shape.of(dim, fields, lower=low, upper=high, nominal_value=nominal_value)
        self._lower = read_only(shape.finite("lower", low, shape.rest))
        self._upper = read_only(shape.finite("upper", high, shape.rest))
        check_order(shape, self._lower, self._upper)
        middle = 0.5 * self._lower + 0.5 * self._upper
        super().__init__(None, middle if nominal_value is None else nominal_value, fields=shape)
        check_within(shape, "nominal_value", self.nominal_value, self._lower, self._upper)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Uniform values between the bounds, (runs, size)."""
        u = draw.uniform(self.dim)
        # A weighted sum of the ends, as their difference may overflow.
        drawn = (1.0 - u) * self._lower + u * self._upper
        return np.clip(drawn, self._lower, self._upper), None


class Truncated(_Bounded):
    """A normal distribution truncated at bounds, each value independent of the others.

    `mean` and `std` are those of the distribution before truncation. Bounds may be infinite; if the
    standard deviation is 0, the mean must lie between them. The nominal value is by default the
    most likely one: the mean, or the nearest bound.
    """

    def __init__(
        self,
        mean: Any,
        std: Any,
        lower: Any,
        upper: Any,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        moments = {"mean": mean, "std": std, "lower": lower, "upper": upper}
        shape = Shape.of(dim, fields, **moments, nominal_value=nominal_value)
        self._mean = read_only(shape.finite("mean", mean, shape.rest))
        self._std = read_only(shape.finite("std", std))
        self._lower = read_only(shape.vector("lower", lower, -np.inf))
        self._upper = read_only(shape.vector("upper", upper, np.inf))
        shape.require("std", self._std, self._std >= 0.0, "at least 0")
        shape.require("lower", self._lower, self._lower < np.inf, "below infinity")
        shape.require("upper", self._upper, self._upper > -np.inf, "above minus infinity")
        check_order(shape, self._lower, self._upper)
        mode = np.clip(self._mean, self._lower, self._upper)
        at_mean = np.where(self._std > 0.0, mode, self._mean)
        check_within(shape, "with std = 0, mean", at_mean, self._lower, self._upper)
        super().__init__(None, mode if nominal_value is None else nominal_value, fields=shape)
        check_within(shape, "nominal_value", self.nominal_value, self._lower, self._upper)
        # Bounds in standard deviations from the mean; the scale of values without deviation is
        # arbitrary.
        scale = np.where(self._std > 0.0, self._std, 1.0)
        self._between = [
            _Between(a, b)
            for a, b in zip(
                (self._lower - self._mean) / scale, (self._upper - self._mean) / scale, strict=True
            )
        ]

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Values within the bounds, (runs, size)."""
        u = draw.uniform(self.dim)
        drawn = np.empty_like(u)
        for k, between in enumerate(self._between):
            drawn[:, k] = self._mean[k] + self._std[k] * between.quantile(u[:, k])
        return np.clip(drawn, self._lower, self._upper), None


class _Between:
    """Standard normal distribution truncated to an interval."""

    def __init__(self, low: float, high: float) -> None:
        special = _special()
        # Mirror the interval so that most of it lies below zero, where small probabilities keep
        # their digits.
        self._sign = -1.0 if high > -low else 1.0
        ends = (low, high) if self._sign > 0.0 else (-high, -low)
        self._in_tail = ends[1] < 0.0
        self._log_below = special.log_ndtr(np.array(ends))
        self._below = special.ndtr(np.array(ends))
        self._above = special.ndtr(-ends[1])

    def quantile(self, u: Array) -> Array:
        """Value below which the share u of the probability between the bounds lies."""
        share = u if self._sign > 0.0 else 1.0 - u
        return self._sign * (self._tail(share) if self._in_tail else self._around(share))

    def _tail(self, u: Array) -> Array:
        # log(Φ(a) + u (Φ(b) - Φ(a))), from the larger of the two, Φ(b).
        low, high = self._log_below
        return _special().ndtri_exp(high + np.log(u + (1.0 - u) * np.exp(low - high)))

    def _around(self, u: Array) -> Array:
        low, high = self._below
        below = low + u * (high - low)
        above = self._above + (1.0 - u) * (high - low)
        ndtri = _special().ndtri
        # Compute from the side on which the probability is small.
        return np.where(below < 0.5, ndtri(below), -ndtri(above))


def _special() -> Any:
    # Imported here, since SciPy takes a tenth of a second, which other models should not pay.
    from scipy import special

    return special


_TIME_SLACK = 1e-9
"""Difference between a time and the end of the last step that counts as rounding, in steps.

A run must give the same bits however its time was summed.
"""


class Gust(NamedTuple):
    """Memory of an `OrnsteinUhlenbeck` model: its last sample and the time of that sample."""

    deviation: Array
    """Deviation from the mean, (runs, dim)."""
    time: float
    """Time of the sample in s."""


class OrnsteinUhlenbeck(_WithMoments):
    """Correlated values with a given stationary standard deviation, independent of each other.

    `time_constant` is the time in s in which a deviation decays to 1/e. The first sample is drawn
    from the stationary distribution. The nominal value is the mean by default.
    """

    def __init__(
        self,
        mean: Any,
        std: Any,
        time_constant: Any,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        settings = {"mean": mean, "std": std, "time_constant": time_constant}
        shape = Shape.of(dim, fields, **settings, nominal_value=nominal_value)
        self._mean = read_only(shape.finite("mean", mean, shape.rest))
        self._std = read_only(shape.finite("std", std))
        shape.require("std", self._std, self._std >= 0.0, "at least 0")
        self._time_constant = read_only(shape.finite("time_constant", time_constant, 1.0))
        good = self._time_constant > 0.0
        shape.require("time_constant", self._time_constant, good, "greater than 0 s")
        super().__init__(None, self._mean if nominal_value is None else nominal_value, fields=shape)

    @property
    def time_constant(self) -> Array:
        """Time in which a deviation decays to 1/e, (dim,), in s."""
        return self._time_constant

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Gust]:
        """Return the values (runs, size) at the time of the draw; `memory` is a `Gust`, None at
        first.
        """
        deviation = draw.normal(self.dim)
        if memory is None:
            deviation *= self._std
        else:
            age = -_elapsed(draw, memory) / self._time_constant
            deviation *= self._std * np.sqrt(-np.expm1(2.0 * age))
            deviation += np.exp(age) * memory.deviation
        return self._mean + deviation, Gust(deviation, draw.time)


def _elapsed(draw: Draw, memory: Gust) -> float:
    elapsed = draw.time - memory.time
    if math.isclose(elapsed, draw.dt, rel_tol=_TIME_SLACK, abs_tol=_TIME_SLACK * draw.dt):
        return draw.dt
    if elapsed < 0.0:
        raise InvalidValue(
            f"time = {draw.time:g} s is before the last sample at {memory.time:g} s; "
            "allowed are times that do not go back"
        )
    return elapsed


AT_END = ("raise", "hold", "loop")


class Recorded(UncertaintyModel):
    """Replays a recording: row k of `values` at step k, for any seed.

    `values` is (steps, dim), the same for every run, or (steps, runs, dim) with a sequence for each
    run. `at_end` says what follows the last row: "raise" an error, "hold" it, or "loop" back to the
    first. The nominal value is zero by default.
    """

    def __init__(
        self,
        values: Any,
        nominal_value: Any = None,
        *,
        at_end: str = "raise",
        dim: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        one_of("at_end", at_end, AT_END)
        try:
            rows = np.array(values, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(
                f"values = {shown(values)} must be rows of numbers, one per step"
            ) from None
        if rows.ndim not in (2, 3) or rows.size == 0:
            raise InvalidValue(
                f"values has shape {rows.shape}; allowed are (steps, dim) and (steps, runs, dim), "
                "at least one step"
            )
        bad = np.argwhere(~np.isfinite(rows))
        if bad.size:
            place = tuple(int(k) for k in bad[0])
            raise InvalidValue(f"values{list(place)} = {rows[place]} must be finite")
        shape = Shape.of(dim, fields, values=rows[0].T, nominal_value=nominal_value)
        if rows.shape[-1] != shape.dim:
            raise InvalidValue(
                f"values has shape {rows.shape}; allowed are {shape.dim} numbers per step"
            )
        self._values = read_only(rows)
        self._at_end = at_end
        super().__init__(None, nominal_value, fields=shape)

    @property
    def values(self) -> Array:
        """The recording, (rows, size)."""
        return self._values

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Values recorded for the step of `draw`, shape (runs, size)."""
        row = self._values[self._row(draw.step)]
        if row.ndim == 1:
            return np.tile(row, (draw.count, 1)), None
        beyond = draw.runs >= len(row)
        if beyond.any():
            raise InvalidValue(
                f"run {draw.runs[beyond][0]} is not in values, which has runs 0 to {len(row) - 1}"
            )
        return row[draw.runs], None

    def _row(self, step: int) -> int:
        steps = len(self._values)
        if step < 0 or (step >= steps and self._at_end == "raise"):
            raise InvalidValue(
                f"step {step} is not in values, which has steps 0 to {steps - 1}; "
                'give more, or at_end="hold" or at_end="loop"'
            )
        return min(step, steps - 1) if self._at_end == "hold" else step % steps


class Part(NamedTuple):
    """A model, the indices of its values in the whole vector, and the name of its channel."""

    name: str
    model: UncertaintyModel
    places: tuple[int, ...]


class Composed(UncertaintyModel):
    """Model of a vector that is composed of the samples of other models.

    Each part draws from a channel of its own, so that changing one leaves the numbers of the others
    unchanged.
    """

    def __init__(self, parts: Sequence[Part], shape: Shape) -> None:
        """Combine `parts`; values that belong to no part are the neutral values of `shape`."""
        nominal = shape.rest.copy()
        for part in parts:
            nominal[list(part.places)] = part.model.nominal_value
        self._parts = tuple(parts)
        super().__init__(None, nominal, fields=shape)

    @property
    def parts(self) -> tuple[Part, ...]:
        return self._parts

    @property
    def named_places(self) -> Mapping[int, str]:
        return super().named_places or _named_places(self._parts)

    def check_state(self, State: type) -> None:
        """Raise if a part was made for other states."""
        for part in self._parts:
            part.model.check_state(State)

    def start(self, runs: int) -> Any:
        return tuple(part.model.start(runs) for part in self._parts)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Samples of the parts, each at its indices; the nominal value elsewhere."""
        before = self.start(draw.count) if memory is None else memory
        out = np.tile(self.nominal_value, (draw.count, 1))
        after: list[Any] = []
        for part, own in zip(self._parts, before, strict=True):
            out[:, part.places], kept = part.model.sample(draw.part(part.name), own, x)
            after.append(kept)
        return out, tuple(after)


class Joined(Composed):
    """Models whose values are concatenated: `Joined([Gaussian(...), Uniform(...)])`.

    If the values of all models have names, so have those of the whole. For parts of a vector by the
    names of its fields see `by_name`.
    """

    def __init__(self, models: Sequence[UncertaintyModel]) -> None:
        parts: list[Part] = []
        first = 0
        for k, model in enumerate(models):
            _check_model(f"models[{k}]", model)
            parts.append(Part(str(k), model, tuple(range(first, first + model.dim))))
            first += model.dim
        places = _named_places(parts)
        names = tuple(places[k] for k in sorted(places))
        complete = 0 < first == len(set(names)) == len(names)
        super().__init__(parts, Shape.of(first, names if complete else None))


def by_name(
    kind: type,
    groups: Mapping[str | tuple[str, ...], UncertaintyModel] | None = None,
    /,
    **models: UncertaintyModel,
) -> Composed:
    """Model of all fields of a record, from models of some: `by_name(State, v_x=Gaussian(0, 1))`.

    Other fields keep their default, or 0 without one. Dotted names and groups of fields go into a
    mapping: `by_name(State, {("v_x", "v_y"): Gaussian(covariance=...)})`. The channel of each part
    is named after its fields.
    """
    names = record.names(kind)
    parts: list[Part] = []
    for key, model in {**(groups or {}), **models}.items():
        fields = (key,) if isinstance(key, str) else tuple(key)
        label = ", ".join(fields)
        _check_model(label, model)
        for name in fields:
            if name not in names:
                raise InvalidValue(record.unknown_name(kind.__name__, name, names))
            if any(names.index(name) in part.places for part in parts):
                raise InvalidValue(f"{name} has two models; allowed is one")
        if len(set(fields)) != len(fields):
            raise InvalidValue(f"{label}: a field is named twice; allowed is once")
        checked_model(f"the model of {label}", model, fields, f"this part of {kind.__name__}")
        parts.append(Part("+".join(fields), model, tuple(names.index(name) for name in fields)))
    return Composed(parts, Shape.of(None, kind))


def _named_places(parts: Sequence[Part]) -> dict[int, str]:
    return {part.places[k]: name for part in parts for k, name in part.model.named_places.items()}


def _check_model(name: str, model: Any) -> None:
    if not isinstance(model, UncertaintyModel):
        raise InvalidValue(f"{name} = {model!r} must be an UncertaintyModel")


class GaussianDistribution(Gaussian):
    """`Gaussian` with the name and arguments of commonroad-control: dim, mean, std_deviation."""

    def __init__(
        self, dim: int, mean: Any, std_deviation: Any, *, nominal_value: Any = None
    ) -> None:
        super().__init__(mean, std_deviation, nominal_value=nominal_value, dim=dim)


class UniformDistribution(Uniform):
    """`Uniform` with the name and the arguments of commonroad-control: dim and bounds."""

    def __init__(
        self, dim: int, lower_bound: Any, upper_bound: Any, *, nominal_value: Any = None
    ) -> None:
        super().__init__(lower_bound, upper_bound, nominal_value, dim=dim)
