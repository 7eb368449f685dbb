"""Values on a regular grid as records: a shared array, and where its points are.

The class of a record says how many axes there are and how is interpolated; the number of the array,
its start, step and count along every axis are numbers like any parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from .. import record
from ..brief import shown
from ..errors import InvalidValue
from ..recipes import made_once
from ..shared_arrays import MOST_ARRAYS, shared_array
from ..units import Allowed, one, positive

__all__ = [
    "CubicGrid1",
    "CubicGrid2",
    "CubicGrid3",
    "Grid1",
    "Grid2",
    "Grid3",
    "grid",
    "grid_type",
]

METHODS = ("linear", "cubic")
"""How is interpolated between the points."""

_array = Allowed(1.0, MOST_ARRAYS - 1.0, whole=True)
_points = Allowed(2.0, 2.0**53, whole=True)


class Grid1(NamedTuple):
    """Values along one axis, with straight lines between them."""

    values: Annotated[one, _array]
    """Number of the array of the values; see `shared_array`."""
    start_0: one
    """Coordinate of the first value."""
    step_0: Annotated[one, positive]
    """Distance of neighbouring values."""
    count_0: Annotated[one, _points]
    """How many there are."""


class Grid2(NamedTuple):
    """Values over two axes, the second one running fastest, with bilinear patches between them."""

    values: Annotated[one, _array]
    """Number of the array of the values; see `shared_array`."""
    start_0: one
    """First coordinate of the first row."""
    step_0: Annotated[one, positive]
    """Distance of neighbouring rows."""
    count_0: Annotated[one, _points]
    """How many rows there are."""
    start_1: one
    """Second coordinate of the first column."""
    step_1: Annotated[one, positive]
    """Distance of neighbouring columns."""
    count_1: Annotated[one, _points]
    """How many columns there are."""


class Grid3(NamedTuple):
    """Values over three axes, the last one running fastest, with trilinear cells between them."""

    values: Annotated[one, _array]
    """Number of the array of the values; see `shared_array`."""
    start_0: one
    """First coordinate of the first layer."""
    step_0: Annotated[one, positive]
    """Distance of neighbouring layers."""
    count_0: Annotated[one, _points]
    """How many layers there are."""
    start_1: one
    """Second coordinate of the first row."""
    step_1: Annotated[one, positive]
    """Distance of neighbouring rows."""
    count_1: Annotated[one, _points]
    """How many rows there are."""
    start_2: one
    """Third coordinate of the first column."""
    step_2: Annotated[one, positive]
    """Distance of neighbouring columns."""
    count_2: Annotated[one, _points]
    """How many columns there are."""


class CubicGrid1(Grid1):
    """Values along one axis, with a smooth curve through them."""

    __slots__ = ()
    _interpolation = "cubic"


class CubicGrid2(Grid2):
    """Values over two axes, with a smooth surface through them."""

    __slots__ = ()
    _interpolation = "cubic"


class CubicGrid3(Grid3):
    """Values over three axes, with a smooth function through them."""

    __slots__ = ()
    _interpolation = "cubic"


_PLAIN: dict[tuple[int, str], Any] = {
    (1, "linear"): Grid1,
    (2, "linear"): Grid2,
    (3, "linear"): Grid3,
    (1, "cubic"): CubicGrid1,
    (2, "cubic"): CubicGrid2,
    (3, "cubic"): CubicGrid3,
}


def grid_type(axes: int, method: str = "linear", units: Sequence[Any] | None = None) -> Any:
    """The one record class of grids with so many axes (1, 2 or 3).

    `method` is "linear" or "cubic"; `units` are those of the values and of each axis, as of record
    fields: `grid_type(2, units=(si.one, si.m, si.m))` is a map of friction over a plane in m.
    """
    if axes not in (1, 2, 3):
        raise InvalidValue(f"axes = {axes!r} must be 1, 2 or 3")
    if method not in METHODS:
        raise InvalidValue(f"method = {method!r} is unknown; allowed are {', '.join(METHODS)}")
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
    """The record of values on a regular grid, for `interpolate`.

    Args:
        values: array of 1, 2 or 3 axes, at least 2 values along each; copied.
        start: coordinate of the first value along every axis, one for all or one for each.
        step: distance of neighbouring values, likewise, greater than zero.
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
