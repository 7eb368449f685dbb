"""A vehicle's names and default values as flat vectors: what every library here is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Vehicle


@dataclass(frozen=True, eq=False, repr=False)
class FlatModel:
    """Names of the entries of each vector, dotted where records are nested, and default values."""

    name: str
    """Name of the vehicle model."""
    x_names: tuple[str, ...]
    """State."""
    u_names: tuple[str, ...]
    """Input."""
    w_names: tuple[str, ...]
    """Disturbance; empty for a vehicle that takes none."""
    p_names: tuple[str, ...]
    """Parameters."""
    y_names: tuple[str, ...]
    """Outputs."""
    w_values: Array
    """A disturbance that does nothing, (nw,). It is not all zeros: a factor is 1."""
    p_values: Array
    """Parameters of the vehicle, (np,)."""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, f'{k}_names'))} {k}" for k in "xuwpy")
        return f"{type(self).__name__}({self.name!r}: {sizes})"

    def replaced(self, values: Mapping[str, Any]) -> list[Any]:
        """The default parameters as a list, those named in `values` replaced."""
        flat: list[Any] = self.p_values.tolist()
        for name, value in values.items():
            if name not in self.p_names:
                raise InvalidValue(record.unknown_name("params", name, self.p_names))
            flat[self.p_names.index(name)] = value
        return flat


def flat_fields(vehicle: Vehicle) -> dict[str, Any]:
    """The fields of `FlatModel` for a vehicle."""
    model = vehicle.model
    calm = record.flatten(record.build(model.Disturbance))
    return {
        "name": vehicle.name,
        "x_names": record.names(model.State),
        "u_names": record.names(model.Input),
        "w_names": record.names(model.Disturbance),
        "p_names": record.names(model.Params),
        "y_names": record.names(model.Outputs),
        "w_values": np.array(calm, dtype=float),
        "p_values": np.array(record.flatten(vehicle.params), dtype=float),
    }
