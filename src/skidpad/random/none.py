"""No uncertainty: always the nominal value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .draw import Draw
from .model import Fields, UncertaintyModel


class NoUncertainty(UncertaintyModel):
    """The nominal value at every step; if none is given, the defaults of the record or zero."""

    def __init__(
        self,
        dim: int | None = None,
        nominal_value: Any = None,
        *,
        fields: Fields | None = None,
        mean: Any = None,
        std_deviation: Any = None,
    ) -> None:
        """`mean` and `std_deviation` are taken and not used, so that code may make this and a
        Gaussian with the same keywords."""
        super().__init__(dim, nominal_value, fields=fields)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """The nominal value in every row, (runs, size)."""
        return np.tile(self.nominal_value, (draw.count, 1)), None
