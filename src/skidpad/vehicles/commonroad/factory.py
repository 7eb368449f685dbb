"""Factories of CommonRoad's vehicles: a parameter set by number, and upstream's numbers on
request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import record
from ...errors import InvalidValue
from ...model import Model, Vehicle, VehicleFactory
from .sets import chosen

UPSTREAM = "upstream"
VEHICLE_MODELS = "commonroad-vehicle-models 3.0.2"
"""The program that the vehicles KS to MB reproduce under `compat="upstream"`."""
CONTROL = "commonroad-control (commit 0b672f9)"
"""The program that the bicycles and the double integrator reproduce."""


@dataclass(frozen=True, repr=False)
class CommonRoadFactory(VehicleFactory):
    """Makes vehicles of one of CommonRoad's models: `commonroad_st(parameters=3, m=1500.0)`."""

    upstream: Model | None = None
    """The model that repeats upstream's numbers; None if the model itself does."""
    sets: tuple[int, ...] = ()
    """Numbers of the parameter sets that may be chosen."""
    own: tuple[str, ...] = ()
    """Fields without a value in some of those sets, which then have to be given."""

    @property
    def models(self) -> tuple[Model, ...]:
        """The model, and the one that repeats upstream's numbers if that is another."""
        return (self.model,) if self.upstream is None else (self.model, self.upstream)

    def __call__(
        self, source: Any = None, /, *, parameters: int | None = None, compat: str | None = None,
        **params: Any,
    ) -> Vehicle:  # fmt: skip
        """A vehicle with default parameters, some of them replaced by keyword or mapping.

        `parameters` is the number of a CommonRoad parameter set, which may also be given alone:
        `commonroad_ks(4)`. `compat="upstream"` repeats the upstream program, errors included.
        """
        if compat not in (None, UPSTREAM):
            raise InvalidValue(f"compat = {compat!r} is unknown; allowed are None, {UPSTREAM!r}")
        if isinstance(source, int) and parameters is None:
            source, parameters = None, source
        model = self.model if compat is None or self.upstream is None else self.upstream
        base = None
        if parameters is not None:
            values = chosen(model.name, model.Params, parameters, self.sets)
            base = record.build(model.Params, values)
            self._check_own(parameters, values, source, params)
        filled = record.build(model.Params, source, base=base, **params)
        _check_blend(filled)
        return Vehicle(model, filled)

    def _check_own(
        self, number: int, values: Mapping[str, float], source: Any, params: Mapping[str, Any]
    ) -> None:
        """Raise if a field has no value in the set and was not given either."""
        named = source if isinstance(source, Mapping) else ()
        for name in self.own:
            if name not in values and name not in params and name not in named:
                raise InvalidValue(f"parameter set {number} has no {name}: give {name}=")


def _check_blend(params: Any) -> None:
    """Raise unless the speed up to which wheels lead is below that from which forces do."""
    low, high = getattr(params, "v_kin", 0.0), getattr(params, "v_dyn", 1.0)
    if not low < high:
        raise InvalidValue(f"Params.v_kin = {low:g} m/s must be below v_dyn = {high:g} m/s")
