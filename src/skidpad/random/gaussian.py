"""Normally distributed values, independent from step to step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from .covariance import factor_of
from .draw import Draw
from .model import Fields, UncertaintyModel
from .vectors import Shape, read_only


class Gaussian(UncertaintyModel):
    """Normal values with given standard deviations, or with a full covariance matrix.

    `mean` and `std` are vectors, records, mappings of names or one number for all values. With
    mappings, `fields` says which names there are; what is not named does not spread and has the
    default of its field as mean. The mean is that everywhere if not given, and the nominal value is
    the mean.
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
        """`std_deviation` is another name of `std`."""
        spread = _one_of(std, std_deviation, covariance)
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
            self._covariance, self._factor = factor_of(shape, covariance)
            self._std = np.sqrt(np.diag(self._covariance))
        self._std = read_only(self._std)
        nominal = self._mean if nominal_value is None else nominal_value
        super().__init__(None, nominal, fields=shape)

    @property
    def mean(self) -> Array:
        """Expected value, (dim,)."""
        return self._mean

    @property
    def std(self) -> Array:
        """Standard deviation of each value, (dim,)."""
        return self._std

    @property
    def std_deviations(self) -> Array:
        """Another name of `std`, (size,)."""
        return self._std

    @property
    def covariance(self) -> Array:
        """Covariance matrix, (dim, dim)."""
        if self._factor is None:
            return read_only(np.diag(self._std * self._std))
        return self._covariance

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Mean plus the spread times standard normal numbers, (runs, size)."""
        drawn = draw.normal(self.dim)
        if self._factor is None:
            drawn *= self._std
            drawn += self._mean
            return drawn, None
        return _combined(self._mean, self._factor, drawn), None


def _combined(mean: Array, factor: Array, drawn: Array) -> Array:
    """The mean plus drawn times the transpose of the factor, one column after the other.

    Not by a matrix product: it adds in an order that depends on the number of rows.
    """
    columns = np.ascontiguousarray(drawn.T)
    out = np.empty_like(columns)
    out[:] = mean[:, None]
    for i, j in np.argwhere(factor):
        out[i] += factor[i, j] * columns[j]
    return out.T


def _one_of(std: Any, std_deviation: Any, covariance: Any) -> Any:
    forms = {"std": std, "std_deviation": std_deviation, "covariance": covariance}
    names = [name for name, value in forms.items() if value is not None]
    if len(names) != 1:
        raise InvalidValue(
            f"Gaussian takes one of std (or std_deviation) and covariance, "
            f"got {' and '.join(names) or 'none of them'}"
        )
    return std if std is not None else std_deviation


def _first_row(covariance: Any) -> Any:
    """What says how many values there are; whether it is a matrix is looked at later."""
    try:
        return np.asarray(covariance, dtype=float)[0] if np.ndim(covariance) == 2 else None
    except (TypeError, ValueError, OverflowError):
        return None
