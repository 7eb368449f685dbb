"""A sensor model from a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import record
from ..errors import InvalidValue
from ..random.model import UncertaintyModel
from ..signature import arguments
from .sensor_model import SensorModel, vehicle_of

ARGUMENTS = ("x", "u", "w", "p")


class OutputFunction(SensorModel):
    """Any pure function of a vehicle's records as output, plus noise.

    `function` is called with what it names of `x` (state), `u` (input), `w` (disturbance) and `p`
    (parameters), and returns an `Output` record.
    """

    def __init__(
        self,
        Output: type,
        function: Callable[..., Any],
        noise: UncertaintyModel | None = None,
        *,
        vehicle: Any,
        **sampling: Any,
    ) -> None:
        self._vehicle = car = vehicle_of(vehicle)
        if not record.is_record_type(Output):
            raise InvalidValue(f"Output = {Output!r} must be a record, a typing.NamedTuple class")
        self._wanted = arguments("function", function, ARGUMENTS)
        for name in self._wanted:
            if name not in ARGUMENTS:
                raise InvalidValue(record.unknown_name("function", name, ARGUMENTS, "argument"))
        self._function = function
        super().__init__(Output, noise, State=car.State, Input=car.Input, **sampling)

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """What the function returns, checked to be an Output record."""
        known: dict[str, Any] = {"x": x, "u": u, "p": self._vehicle.params}
        if "w" in self._wanted:
            known["w"] = record.build(self._vehicle.model.Disturbance) if w is None else w
        y = self._function(**{name: known[name] for name in self._wanted})
        if not isinstance(y, self.Output):
            raise InvalidValue(
                f"function returned a {type(y).__qualname__}; allowed is a "
                f"{self.Output.__qualname__} record"
            )
        return y
