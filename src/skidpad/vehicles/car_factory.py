"""Factory of the cars that were otherwise in version 0.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import record
from ..errors import InvalidValue
from ..model import Model, P, U, Vehicle, VehicleFactory, W, X, Y
from .car_params import UPSTREAM_C_M0

FORMER = "0.1"


@dataclass(frozen=True, repr=False)
class CarFactory(VehicleFactory[X, U, P, Y, W]):
    """Makes cars of one model: `four_wheel(m=240.0)`; as it was: `four_wheel(compat="0.1")`."""

    former: Model[X, U, P, Y, W]
    """The model as it was in version 0.1."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and that of version 0.1 if it was another."""
        return (self.model,) if self.former is self.model else (self.model, self.former)

    def __call__(
        self, params: Any = None, /, *, compat: str | None = None, **values: Any
    ) -> Vehicle[X, U, P, Y, W]:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `compat="0.1"` repeats version 0.1: S1 to S4 of docs/errata.md.
        """
        if compat not in (None, FORMER):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {FORMER!r}")
        if compat is None:
            return Vehicle(self.model, record.build(self.model.Params, params, **values))
        base = record.build(self.former.Params, C_m0=UPSTREAM_C_M0)
        return Vehicle(self.former, record.build(self.former.Params, params, base=base, **values))
