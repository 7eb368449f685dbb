"""Elementary functions for floats, NumPy arrays, CasADi symbols and JAX arrays.

Model functions are written with these and the arithmetic operators; the type of the argument
selects the library. `where` replaces `if`. Rules that hold for every backend and for compiled code:

* `minimum`, `maximum` and `clip` propagate NaN (CasADi's own evaluation alone does not).
* `sign(0)` is 0.
* `pow` takes a constant exponent.
* A function outside its domain returns NaN and does not raise.

Another scalar type is supported if it has an attribute `__skidpad_ops__`, an object with these
functions.

Tables of values: `grid` makes a record of values on a regular grid (a shared array, and start, step
and count along each axis), which `interpolate` evaluates with a few reads. The index of a cell is
not differentiable; the weights of its corners are. `lookup` and `lookup2` are small tables whose
numbers are part of the equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from .core import record
from .core.arrays import MOST_ARRAYS, shared_array
from .core.backends import PLAIN, backend_of, called
from .core.checks import one_of
from .core.files import shown
from .core.record import made_once
from .errors import InvalidValue
from .units import Allowed, one, positive

__all__ = ["Grid1", "Grid2", "Grid3", "abs", "acos", "asin", "atan", "atan2", "called", "clip"]
__all__ += ["cos", "cosh", "equal", "exp", "floor", "greater", "greater_equal", "grid", "grid_type"]
__all__ += ["hypot", "interpolate", "less", "less_equal", "log", "logical_and", "logical_not"]
__all__ += ["logical_or", "maximum", "minimum", "not_equal", "pow", "read", "shared_array", "sign"]
__all__ += ["sin", "sinh", "smooth_abs", "smooth_hypot", "smooth_step", "sqrt", "tan", "tanh"]
__all__ += ["where"]

T = TypeVar("T")


def sin(x: T) -> T:
    """Sine; x in rad."""
    return backend_of(x).sin(x)


def cos(x: T) -> T:
    """Cosine; x in rad."""
    return backend_of(x).cos(x)


def tan(x: T) -> T:
    """Tangent; x in rad."""
    return backend_of(x).tan(x)


def asin(x: T) -> T:
    """Arc sine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return backend_of(x).asin(x)


def acos(x: T) -> T:
    """Arc cosine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return backend_of(x).acos(x)


def atan(x: T) -> T:
    """Arc tangent in rad, in (-π/2, π/2)."""
    return backend_of(x).atan(x)


def atan2(y: T, x: Any) -> T:
    """Angle of the vector (x, y) in rad, in [-π, π]. Its gradient is NaN at the origin."""
    return backend_of(y, x).atan2(y, x)


def sinh(x: T) -> T:
    """Hyperbolic sine."""
    return backend_of(x).sinh(x)


def cosh(x: T) -> T:
    """Hyperbolic cosine."""
    return backend_of(x).cosh(x)


def tanh(x: T) -> T:
    """Hyperbolic tangent."""
    return backend_of(x).tanh(x)


def exp(x: T) -> T:
    """Exponential."""
    return backend_of(x).exp(x)


def log(x: T) -> T:
    """Natural logarithm; -inf at 0, NaN below."""
    return backend_of(x).log(x)


def sqrt(x: T) -> T:
    """Square root; NaN below 0. Its gradient is infinite at 0."""
    return backend_of(x).sqrt(x)


def hypot(x: T, y: Any) -> T:
    """Length of the vector (x, y). Its gradient is NaN at the origin: see `smooth_hypot`."""
    return backend_of(x, y).hypot(x, y)


def pow(x: T, n: float) -> T:
    """x to a constant power n. A power that is not a whole number needs x >= 0."""
    if type(n) not in PLAIN:
        raise InvalidValue(f"pow takes a constant exponent, got {type(n).__name__}")
    return backend_of(x).pow(x, n)


def abs(x: T) -> T:
    """|x|. Its gradient jumps at 0: see `smooth_abs`."""
    return backend_of(x).abs(x)


def sign(x: T) -> T:
    """-1, 0 or 1."""
    return backend_of(x).sign(x)


def minimum(a: T, b: Any) -> T:
    """The smaller of a and b; NaN if either is NaN."""
    return backend_of(a, b).minimum(a, b)


def maximum(a: T, b: Any) -> T:
    """The larger of a and b; NaN if either is NaN."""
    return backend_of(a, b).maximum(a, b)


def clip(x: T, low: Any, high: Any) -> T:
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


def floor(x: T) -> T:
    """Largest integer not above x."""
    return backend_of(x).floor(x)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b. Both are evaluated, so both must be finite for
    gradients."""
    return backend_of(condition, a, b).where(condition, a, b)


def less(a: Any, b: Any) -> Any:
    """a < b, as the operator. Comparisons with NaN are false, except `not_equal`."""
    return a < b


def less_equal(a: Any, b: Any) -> Any:
    """a <= b, as the operator."""
    return a <= b


def greater(a: Any, b: Any) -> Any:
    """a > b, as the operator."""
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    """a >= b, as the operator."""
    return a >= b


def equal(a: Any, b: Any) -> Any:
    """a == b, as the operator."""
    return a == b


def not_equal(a: Any, b: Any) -> Any:
    """a != b, as the operator."""
    return a != b


def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return backend_of(a, b).logical_and(a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Whether at least one condition holds."""
    return backend_of(a, b).logical_or(a, b)


def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return backend_of(a).logical_not(a)


def read(number: Any, index: Any) -> Any:
    """Element of a shared array (see `shared_array`) at an integer index; `number` identifies the
    array.

    An index before the first element or after the last reads that element. A number without an
    array, and NaN, read NaN. Derivatives are zero.
    """
    return backend_of(number, index).read(number, index)


def smooth_abs(x: T, width: Any) -> T:
    """sqrt(x² + width²) - width: |x| with a rounded corner of about `width`, smooth everywhere."""
    return sqrt(x * x + width * width) - width  # type: ignore[operator]


def smooth_hypot(x: T, y: Any, width: Any) -> T:
    """sqrt(x² + y² + width²): the length of (x, y) with finite gradient at the origin."""
    return sqrt(x * x + y * y + width * width)  # type: ignore[operator]


def smooth_step(x: T, low: Any, high: Any) -> T:
    """0 below `low`, 1 above `high`, and the C² quintic 6t⁵-15t⁴+10t³ between them."""
    t: Any = clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def weighted_sum(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    """Sum of products of two sequences, accumulated in order."""
    total: Any = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
    return total


METHODS = ("linear", "cubic")
"""Interpolation methods."""

_array = Allowed(1.0, MOST_ARRAYS - 1.0, whole=True)
_points = Allowed(2.0, 2.0**53, whole=True)


class Grid1(NamedTuple):
    """Values on a regular grid along one axis, interpolated linearly."""

    values: Annotated[one, _array]
    """Number of the shared array of the values; see `shared_array`."""
    start_0: one
    """Coordinate of the first value."""
    step_0: Annotated[one, positive]
    """Distance between neighbouring values."""
    count_0: Annotated[one, _points]
    """Number of values."""


class Grid2(NamedTuple):
    """Values on a regular grid over two axes, interpolated bilinearly.

    The index of the second axis changes fastest.
    """

    values: Annotated[one, _array]
    """Number of the shared array of the values; see `shared_array`."""
    start_0: one
    """First coordinate of the first row."""
    step_0: Annotated[one, positive]
    """Distance between neighbouring rows."""
    count_0: Annotated[one, _points]
    """Number of rows."""
    start_1: one
    """Second coordinate of the first column."""
    step_1: Annotated[one, positive]
    """Distance between neighbouring columns."""
    count_1: Annotated[one, _points]
    """Number of columns."""


class Grid3(NamedTuple):
    """Values on a regular grid over three axes, interpolated trilinearly.

    The index of the last axis changes fastest.
    """

    values: Annotated[one, _array]
    """Number of the shared array of the values; see `shared_array`."""
    start_0: one
    """First coordinate of the first layer."""
    step_0: Annotated[one, positive]
    """Distance between neighbouring layers."""
    count_0: Annotated[one, _points]
    """Number of layers."""
    start_1: one
    """Second coordinate of the first row."""
    step_1: Annotated[one, positive]
    """Distance between neighbouring rows."""
    count_1: Annotated[one, _points]
    """Number of rows."""
    start_2: one
    """Third coordinate of the first column."""
    step_2: Annotated[one, positive]
    """Distance between neighbouring columns."""
    count_2: Annotated[one, _points]
    """Number of columns."""


class CubicGrid1(Grid1):
    """Values on a regular grid along one axis, interpolated by a cubic spline."""

    __slots__ = ()
    _interpolation = "cubic"


class CubicGrid2(Grid2):
    """Values on a regular grid over two axes, interpolated by cubic splines."""

    __slots__ = ()
    _interpolation = "cubic"


class CubicGrid3(Grid3):
    """Values on a regular grid over three axes, interpolated by cubic splines."""

    __slots__ = ()
    _interpolation = "cubic"


_PLAIN: dict[tuple[int, str], Any] = {
    (axes, method): kind
    for method, kinds in (
        ("linear", (Grid1, Grid2, Grid3)),
        ("cubic", (CubicGrid1, CubicGrid2, CubicGrid3)),
    )
    for axes, kind in enumerate(kinds, 1)
}


def grid_type(axes: int, method: str = "linear", units: Sequence[Any] | None = None) -> Any:
    """Record class of grids with 1, 2 or 3 axes.

    `method` is "linear" or "cubic"; `units` are units of the values and of each axis, as for record
    fields: `grid_type(2, units=(si.one, si.m, si.m))` is a map of friction over a plane in m.
    """
    if axes not in (1, 2, 3):
        raise InvalidValue(f"axes = {axes!r} must be 1, 2 or 3")
    one_of("method", method, METHODS)
    if units is None:
        return _PLAIN[axes, method]
    if len(units) != axes + 1:
        raise InvalidValue(
            f"units has {len(units)} entries; a grid of {axes} axes takes {axes + 1}: that of its "
            "values and one for each axis"
        )
    return _with_units(axes, method, tuple(units))


@made_once
def _with_units(axes: int, method: str, units: tuple[Any, ...]) -> Any:
    plain = _PLAIN[axes, "linear"]
    hints: dict[str, Any] = {"values": Annotated[units[0], _array]}
    for k, unit in enumerate(units[1:]):
        hints[f"start_{k}"] = unit
        hints[f"step_{k}"] = Annotated[unit, positive]
        hints[f"count_{k}"] = Annotated[one, _points]
    docs = {leaf.name: leaf.doc for leaf in record.fields(plain)}
    template = _PLAIN[axes, method]
    kind = record.define(template.__name__, hints, docs=docs, doc=template.__doc__)
    setattr(kind, record.INTERPOLATION, method)
    return kind


def grid(
    values: Any,
    *,
    start: Any = 0.0,
    step: Any = 1.0,
    method: str = "linear",
    units: Sequence[Any] | None = None,
) -> Any:
    """Make a record of values on a regular grid, for `interpolate`.

    Args:
        values: array with 1, 2 or 3 axes and at least 2 values along each; copied.
        start: coordinate of the first value along every axis; one number for all axes or one each.
        step: distance between neighbouring values, likewise, greater than zero.
        method: "linear", or "cubic" for a function with a continuous slope.
        units: see `grid_type`.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"values must be numbers, got {values!r:.80}") from error
    axes = array.ndim
    if axes not in (1, 2, 3) or min(array.shape, default=0) < 2:
        raise InvalidValue(
            f"values has shape {array.shape}; expected 1 to 3 axes of at least 2 values each"
        )
    kind = grid_type(axes, method, units)
    places: list[float] = []
    for k in range(axes):
        places += [_of_axis("start", start, k, axes), _of_axis("step", step, k, axes)]
        places.append(float(array.shape[k]))
    made = kind(shared_array(array), *places)
    record.check(made)
    return made


def _of_axis(name: str, values: Any, axis: int, axes: int) -> float:
    try:
        return float(np.broadcast_to(np.asarray(values, dtype=float), (axes,))[axis])
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{name} = {shown(values)} must be one number, or one for each of the {axes} axes"
        ) from error


class _Axis(NamedTuple):
    """The points along one axis that contribute to the value at a coordinate."""

    places: list[Any]
    """Indices of the points."""
    weights: list[Any]
    """Weights of the points, which sum to one."""
    slopes: list[Any]
    """Derivatives of the weights by the coordinate, which sum to zero; zero outside of the
    axis. Empty if not needed."""
    count: Any


def interpolate(grid: Any, *coordinates: Any) -> Any:
    """Value of a grid (see `grid`) at one coordinate per axis.

    A linear grid is linear between neighbouring values along every axis. A cubic grid is the
    Catmull-Rom spline: it passes through the values with a continuous slope, at each value that of
    the line through its two neighbours, at an edge that of the last two values. Outside of the grid
    the value is that of the nearest edge point and the slope is zero. Differentiable with respect
    to coordinates, start and step, but not to the values.
    """
    axes = _axes(grid, coordinates, sloped=False)
    return _value(axes, _read(grid.values, axes, None))


def sloped_value(grid: Any, *coordinates: Any) -> tuple[Any, ...]:
    """Value of `interpolate(grid, ...)`, then its derivative with respect to each coordinate.

    All use the same reads, which dominate the cost. At a grid point, a linear grid has the slope of
    the cell that follows it.
    """
    axes = _axes(grid, coordinates, sloped=True)
    return tuple(_sloped(axes, _read(grid.values, axes, None)))


def _axes(grid: Any, coordinates: Sequence[Any], *, sloped: bool) -> list[_Axis]:
    axes = (len(type(grid)._fields) - 1) // 3
    if len(coordinates) != axes:
        raise InvalidValue(
            f"{type(grid).__name__} takes {axes} coordinates, got {len(coordinates)}"
        )
    along = _cubic if record.interpolation(type(grid)) == "cubic" else _linear
    places = [grid[1 + 3 * k : 4 + 3 * k] for k in range(axes)]
    return [along(x, place, sloped) for x, place in zip(coordinates, places, strict=True)]


def _read(number: Any, axes: list[_Axis], row: Any) -> list[Any]:
    """Values at the points of some axes, as nested lists; `row` is the flat index from the
    preceding axes."""
    axis, *rest = axes
    base = None if row is None else row * axis.count
    indices = [place if base is None else base + place for place in axis.places]
    return [_read(number, rest, index) if rest else read(number, index) for index in indices]


def _value(axes: list[_Axis], values: list[Any]) -> Any:
    axis, *rest = axes
    return weighted_sum(axis.weights, [_value(rest, line) for line in values] if rest else values)


def _sloped(axes: list[_Axis], values: list[Any]) -> list[Any]:
    """Weighted sum over all axes, and its derivative with respect to each coordinate."""
    axis, *rest = axes
    below = [_sloped(rest, line) for line in values] if rest else [[value] for value in values]
    across, *slopes = (list(column) for column in zip(*below, strict=True))
    return [
        weighted_sum(axis.weights, across),
        weighted_sum(axis.slopes, across),
        *(weighted_sum(axis.weights, slope) for slope in slopes),
    ]


class _Cell(NamedTuple):
    """The cell of an axis that contains a coordinate."""

    index: Any
    f: Any
    """Position within the cell, from 0 to 1."""
    last: Any
    """Index of the last cell."""
    density: Any
    """Derivative of `f` by the coordinate: cells per length, zero outside of the axis; None if
    not needed."""


def _cell(x: Any, place: Any, sloped: bool) -> _Cell:
    start, step, count = place
    # `floor` has no derivative, so the count has none either.
    last = floor(count) - 1.0
    t = (x - start) / step
    inside = clip(t, 0.0, last)
    index = minimum(floor(inside), last - 1.0)
    density = where(logical_or(t < 0.0, t > last), 0.0, 1.0 / step) if sloped else None
    return _Cell(index, inside - index, last - 1.0, density)


def _linear(x: Any, place: Any, sloped: bool) -> _Axis:
    cell, f, _, density = _cell(x, place, sloped)
    slopes = [-density, density] if sloped else []
    return _Axis([cell, cell + 1.0], [1.0 - f, f], slopes, place[2])


def _cubic(x: Any, place: Any, sloped: bool) -> _Axis:
    """Weights of the Catmull-Rom spline (1974), extrapolated linearly by one point beyond each
    edge."""
    cell, f, last, density = _cell(x, place, sloped)
    weights = [
        f * (f * (1.0 - 0.5 * f) - 0.5),
        f * f * (1.5 * f - 2.5) + 1.0,
        f * (f * (2.0 - 1.5 * f) + 0.5),
        f * f * (0.5 * f - 0.5),
    ]
    by_f = [
        f * (2.0 - 1.5 * f) - 0.5,
        f * (4.5 * f - 5.0),
        f * (4.0 - 4.5 * f) + 0.5,
        f * (1.5 * f - 1.0),
    ]
    slopes = _folded([slope * density for slope in by_f], cell, last) if sloped else []
    places = [maximum(cell - 1.0, 0.0), cell, cell + 1.0, minimum(cell + 2.0, last + 1.0)]
    return _Axis(places, _folded(weights, cell, last), slopes, place[2])


def _folded(four: list[Any], cell: Any, last: Any) -> list[Any]:
    """Move the weight of a point beyond an edge to the last two points, of which it is the linear
    extrapolation."""
    before, here, there, behind = four
    missing_before = where(cell < 1.0, before, 0.0)
    missing_behind = where(cell < last, 0.0, behind)
    return [
        where(cell < 1.0, 0.0, before),
        here + 2.0 * missing_before - missing_behind,
        there + 2.0 * missing_behind - missing_before,
        where(cell < last, behind, 0.0),
    ]


def lookup(x: Any, knots: Sequence[Any], values: Sequence[Any]) -> Any:
    """Piecewise linear table: `values[i]` at `knots[i]`, edge values outside.

    Implemented as a sum of hat functions: branch-free, differentiable with respect to x and the
    values.
    """
    weights = hats(x, _checked_knots(knots, len(values)))
    return weighted_sum(weights, values)


def lookup2(
    row: Any,
    column: Any,
    rows: Sequence[Any],
    columns: Sequence[Any],
    values: Sequence[Sequence[Any]],
) -> Any:
    """Bilinear table: `values[i][j]` at (`rows[i]`, `columns[j]`), edge values outside."""
    row_weights = hats(row, _checked_knots(rows, len(values)))
    column_weights = hats(column, _checked_knots(columns, len(values[0])))
    if any(len(line) != len(columns) for line in values):
        raise InvalidValue(f"lookup2 needs {len(columns)} values in every row")
    # Rows first: each column is then one sum, half the work of interpolating along every row.
    by_column = [
        weighted_sum(row_weights, [line[j] for line in values]) for j in range(len(columns))
    ]
    return weighted_sum(column_weights, by_column)


def _checked_knots(knots: Sequence[Any], count: int) -> Sequence[Any]:
    if len(knots) != count or count < 2:
        raise InvalidValue(
            f"lookup needs one value per knot and at least 2; got {len(knots)} knots and "
            f"{count} values"
        )
    if all(isinstance(k, (int, float)) for k in knots) and any(
        not a < b for a, b in pairwise(knots)
    ):
        raise InvalidValue(f"lookup knots must increase, got {list(knots)}")
    return knots


def ramps(x: Any, knots: Sequence[Any]) -> list[Any]:
    """Fraction of each interval between knots that lies below x."""
    return [clip((x - a) * (1.0 / (b - a)), 0.0, 1.0) for a, b in pairwise(knots)]


def hats(x: Any, knots: Sequence[Any]) -> list[Any]:
    """Weight of each knot at x, the difference of neighbouring ramps; the weights sum to one."""
    shares = ramps(x, knots)
    inner = [before - after for before, after in pairwise(shares)]
    return [1.0 - shares[0], *inner, shares[-1]]
