"""What users hand to a Simulator as inputs: one for a step, a table or one held for a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..errors import InvalidValue
from . import batch


class Commands:
    """Reads inputs of one record class, in one precision."""

    def __init__(self, Input: type, precision: str) -> None:
        self.Input = Input
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
        """Raise where a number is out of the range of its field."""
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
        return np.ascontiguousarray(table[:count])
