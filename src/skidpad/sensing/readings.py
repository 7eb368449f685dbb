"""Readings of many vehicles, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue
from ..record import unknown_name


@dataclass(frozen=True, eq=False)
class Readings:
    """One row per sample that came out for at least one vehicle; `readings["omega_z"]` is (n, B).

    NaN where a vehicle got none: it was lost, overtaken or out of sight.
    """

    names: tuple[str, ...]
    """Fields of the reading, its stamp left out."""
    t: Array
    """Time at which each sample came out, (n,), in s."""
    stamp: Array
    """Time at which it was taken, (n,), in s."""
    values: Array
    """The readings, (n, vehicles, fields)."""
    valid: NDArray[np.bool_]
    """Whether a vehicle got the sample, (n, vehicles)."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise InvalidValue(unknown_name("Readings", name, self.names))
        return self.values[:, :, self.names.index(name)]

    def __len__(self) -> int:
        return self.t.size
