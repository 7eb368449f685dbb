"""Factory of the cars that were otherwise in version 0.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InvalidValue
from ..model import Model, P, U, Vehicle, VehicleFactory, W, X, Y

FORMER = "0.1"


@dataclass(frozen=True, repr=False)
class CarFactory(VehicleFactory[X, U, P, Y, W]):
    """Makes cars of one model: `four_wheel(m=240.0)`; as it was: `four_wheel(compat="0.1")`."""

    former: Model[X, U, P, Y, W]
    """The model as it was in version 0.1: less grip of the road softens its tyres."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and that of version 0.1."""
        return (self.model, self.former)

    def __call__(
        self, params: Any = None, /, *, compat: str | None = None, **values: Any
    ) -> Vehicle[X, U, P, Y, W]:
        """A car with the default parameters, some of them replaced by keyword or mapping.

        `compat="0.1"` repeats version 0.1, in which `mu_scale` scaled the whole curve of a tyre,
        its stiffness too.
        """
        if compat not in (None, FORMER):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {FORMER!r}")
        made = VehicleFactory(self.model if compat is None else self.former)
        return made(params, **values)
