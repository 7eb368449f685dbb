"""What users hand to a Simulator as inputs: one for a step, a table or one held for a run."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from functools import reduce
from math import inf
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..errors import InvalidValue
from ..model import Vehicle
from ..units import rad
from . import batch

FAR_BEYOND = 2.0
"""An angle this often the actuator's end is a mistake, of units as a rule; up to there it is a
controller that wants all there is."""


class AngleEnd(NamedTuple):
    """An input that is an angle, and where its actuator ends."""

    place: int
    name: str
    end: rad
    """Of the larger side."""

    def mistake(self, value: float, where: str = "") -> InvalidValue:
        """The error for an angle far beyond the end."""
        return InvalidValue(
            f"{self.name} = {value:g} rad{where} is far beyond ±{self.end:g} rad, where the "
            f"actuator ends: were degrees meant? {value:g}° are {math.radians(value):.4g} rad. To "
            "let the actuator stop at its end, take vehicle.with_clipped_inputs()"
        )


def angle_ends(vehicle: Vehicle | None) -> tuple[AngleEnd, ...]:
    """The angles among a vehicle's inputs that must not be far beyond the ends of their actuators;
    none of a vehicle that clips them, or reproduces a program that does."""
    if vehicle is None or vehicle.clips_inputs or vehicle.model.reproduces:
        return ()
    if vehicle.model.body is None:
        return ()
    ranges = vehicle.limits.inputs
    return tuple(
        AngleEnd(k, leaf.name, max(map(abs, ranges[leaf.name])))
        for k, leaf in enumerate(record.fields(vehicle.Input))
        if leaf.unit.symbol == "rad" and leaf.name in ranges
    )


def check_angles(ends: tuple[AngleEnd, ...], what: str, array: AnyArray) -> None:
    """Raise for the first angle of an array (step, vehicle, field) that is far beyond its end."""
    if not ends or not array.size:
        return
    # Reductions need no room, as large arrays come here; and a GPU is asked once for all of them.
    # What is infinite is said by others.
    worst = [_beyond(angle, array) for angle in ends]
    if not bool(reduce(operator.or_, worst)):
        return
    angle = next(angle for angle, bad in zip(ends, worst, strict=True) if bool(bad))
    column = array[:, :, angle.place]
    step, vehicle = np.argwhere(np.abs(column) > FAR_BEYOND * angle.end)[0].tolist()
    place = f" of vehicle {vehicle}" + (f", step {step}" if len(column) > 1 else "")
    named = angle._replace(name=f"{what}: {angle.name}")
    raise named.mistake(float(column[step, vehicle]), place)


def check_row(ends: tuple[AngleEnd, ...], row: Any) -> None:
    """Raise for the first angle of one input's numbers that is far beyond its end."""
    for place, name, end in ends:
        try:
            value = float(row[place])
        except (TypeError, ValueError, IndexError, OverflowError):  # said by who reads the row
            continue
        if FAR_BEYOND * end < abs(value) < inf:
            raise AngleEnd(place, f"Input.{name}", end).mistake(value)


def _beyond(angle: AngleEnd, array: AnyArray) -> Any:
    column, most = array[:, :, angle.place], FAR_BEYOND * angle.end
    high, low = column.max(), column.min()
    return ((high > most) & (high < inf)) | ((low < -most) & (low > -inf))


class Commands:
    """Reads inputs of one vehicle, in one precision."""

    def __init__(self, vehicle: Vehicle, precision: str) -> None:
        self.Input = Input = vehicle.Input
        self.angles = angle_ends(vehicle)
        """Those that are refused far beyond the ends of their actuators."""
        self.defaults = record.flatten(record.build(Input))
        self._flat = len(self.defaults) == len(Input._fields)
        self._places = {name: k for k, name in enumerate(record.names(Input))}
        self._space = batch.Space.of("cpu", precision)
        leaves = enumerate(record.fields(Input))
        self.ranges = [(k, leaf.allowed) for k, leaf in leaves if leaf.allowed is not None]
        """Places and ranges of the inputs that have one, such as the numbers of gears."""

    def row(self, inputs: Any) -> Any:
        """The numbers of an input as record, mapping, sequence or None."""
        if type(inputs) is self.Input:
            return inputs if self._flat else record.flatten(inputs)
        if inputs is None:
            return self.defaults
        if type(inputs) is np.ndarray and inputs.shape == (len(self.defaults),):
            return inputs.tolist()
        if isinstance(inputs, Mapping):
            return self.with_fields(None, inputs)
        return record.flatten(record.build(self.Input, inputs))

    def with_fields(self, inputs: Any, fields: Mapping[str, float]) -> list[Any]:
        """The same with some fields replaced, by (dotted) name."""
        row = list(self.row(inputs))
        try:
            for name, value in fields.items():
                row[self._places[name]] = value
        except KeyError as error:
            allowed = record.names(self.Input)
            raise InvalidValue(record.unknown_name("Input", error.args[0], allowed)) from None
        return row

    def check_ranges(self, row: Any) -> None:
        """Raise where a number is out of the range of its field, or an angle far beyond its end."""
        check_row(self.angles, row)
        for k, allowed in self.ranges:
            if k < len(row) and not isinstance(row[k], str) and row[k] not in allowed:
                record.check(record.unflatten(self.Input, row))

    def table(self, controls: Any, count: int) -> AnyArray:
        """Held or tabulated controls as (count, nu), checked."""
        size = len(self.defaults)
        if controls is None or isinstance(controls, (Mapping, self.Input)):
            controls = record.flatten(record.build(self.Input, controls))
        table = batch.numbers("controls", controls, self._space)
        if table.shape == (size,):
            table = np.repeat(table[None], count, axis=0)
        if table.ndim != 2 or table.shape[1] != size or len(table) < count:
            raise InvalidValue(
                f"controls have shape {table.shape}; expected ({count}, {size}) with fields "
                f"{', '.join(self._places)}"
            )
        if not np.isfinite(table).all():
            raise InvalidValue(batch.not_finite(self.Input, "controls", table[:, None]))
        batch.in_range(self.Input, "controls", table[:, None])
        check_angles(self.angles, "controls", table[:, None])
        return np.ascontiguousarray(table[:count])
