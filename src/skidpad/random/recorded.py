"""Values from a recording, one row per step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import shown
from ..errors import InvalidValue
from .draw import Draw
from .model import Fields, UncertaintyModel
from .vectors import Shape, read_only

AT_END = ("raise", "hold", "loop")


class Recorded(UncertaintyModel):
    """Replays what was recorded: row k of `values` at step k, whatever the seed.

    `values` is (steps, dim), the same for every run, or (steps, runs, dim) with a sequence for each
    run. `at_end` says what follows the last row: "raise" an error, "hold" it, or "loop" back to the
    first. The nominal value is zero if not given.
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
        if at_end not in AT_END:
            raise InvalidValue(f"at_end = {at_end!r} is unknown; allowed are {', '.join(AT_END)}")
        rows = _checked(values)
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
        """The row of the step of the draw, (runs, size)."""
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


def _checked(values: Any) -> Array:
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
    return rows
