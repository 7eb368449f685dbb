"""Dimensions: every equation balances in its units, by pushing units through it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import ops, record
from ..units import Unit
from . import quantity
from .quantity import Dimension, DimensionError, Quantity
from .subject import DT, Subject

SECOND = Unit("s", time=1)
JOULE: Dimension = (2.0, 1.0, -2.0)
_HERE = {Path(module.__file__ or "") for module in (quantity, ops)} | {Path(__file__)}


def dimensions(subject: Subject) -> list[str]:
    """Rates must come out in the unit of the state per second, outputs in their own units."""
    model = subject.model
    x, u, w = (_with_units(part) for part in subject.points[0])
    p = _with_units(subject.params)
    per_second = {
        leaf.name: _product(leaf.unit.dimension, (0.0, 0.0, -1.0))
        for leaf in record.fields(model.State)
    }
    declared = {leaf.name: leaf.unit.dimension for leaf in record.fields(model.Outputs)}
    dt = Quantity(DT, SECOND.dimension)
    faults = _faults("the rate of ", lambda: subject.rate(x, u, w, p, dt), per_second)
    faults += _faults("the output ", lambda: subject.vehicle.outputs(x, u, w, p), declared)
    if (energy := model.energy) is not None:
        faults += _faults("the ", lambda: (energy(x, p),), {"energy": JOULE})
    return faults


def _with_units(value: Any) -> Any:
    leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
    return record.unflatten(
        type(value), [Quantity(number, leaf.unit.dimension) for leaf, number in leaves]
    )


def _product(a: Dimension, b: Dimension) -> Dimension:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _faults(what: str, call: Callable[[], Any], expected: dict[str, Dimension]) -> list[str]:
    try:
        leaves = record.flatten(call())
    except DimensionError as error:
        return [f"{error}, in {_place(error)}"]
    return [
        f"{what}{name} comes out in {quantity.symbol(_dimension(leaf))}, "
        f"expected {quantity.symbol(want)}"
        for (name, want), leaf in zip(expected.items(), leaves, strict=True)
        if not quantity.fits_anything(leaf) and not quantity.same(_dimension(leaf), want)
    ]


def _dimension(leaf: Any) -> Dimension:
    return leaf.dimension if isinstance(leaf, Quantity) else quantity.NUMBER


def _place(error: Exception) -> str:
    """The line of the model that did it: the innermost one outside this machinery."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) not in _HERE]
    last = frames[-1]
    return f"{Path(last.filename).name}, line {last.lineno}: {last.line}"
