"""Uniformly distributed values, independent of each other and from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .bounds import check_order, check_within, one_name
from .draw import Draw
from .model import Fields, UncertaintyModel
from .vectors import Shape, read_only


class Uniform(UncertaintyModel):
    """Values anywhere between two bounds; equal bounds make a value certain.

    The nominal value is the middle if not given.
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
        """`lower_bound` and `upper_bound` are other names of `lower` and `upper`."""
        low = one_name(("lower", "lower_bound"), lower, lower_bound)
        high = one_name(("upper", "upper_bound"), upper, upper_bound)
        shape = Shape.of(dim, fields, lower=low, upper=high, nominal_value=nominal_value)
        self._lower = read_only(shape.finite("lower", low, shape.rest))
        self._upper = read_only(shape.finite("upper", high, shape.rest))
        check_order(shape, self._lower, self._upper)
        middle = 0.5 * self._lower + 0.5 * self._upper
        super().__init__(None, middle if nominal_value is None else nominal_value, fields=shape)
        check_within(shape, "nominal_value", self.nominal_value, self._lower, self._upper)

    @property
    def lower(self) -> Array:
        """Lower bounds, (dim,)."""
        return self._lower

    @property
    def upper(self) -> Array:
        """Upper bounds, (dim,)."""
        return self._upper

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """A point of the box between the bounds, (runs, size)."""
        u = draw.uniform(self.dim)
        # Each end with its weight: their difference may be beyond the largest number.
        drawn = (1.0 - u) * self._lower + u * self._upper
        return np.clip(drawn, self._lower, self._upper), None
