"""Sensor models that show values the vehicle has anyway: its state, or chosen fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from .. import record
from ..errors import InvalidValue
from ..random.bounds import one_name
from ..random.model import UncertaintyModel
from ..units import one
from .full_state import by_field
from .sensor_model import SensorModel, vehicle_of


class FullStateFeedback(SensorModel):
    """The whole state, y = x + n, as a State record.

    Of a vehicle, or of whatever has so many states and inputs. `noise_model` is another name of
    `noise`; with `state_output_factory`, an object of commonroad-control's kind, measurements are
    made by its `state_from_numpy_array`.
    """

    def __init__(
        self,
        vehicle: Any = None,
        noise: UncertaintyModel | None = None,
        *,
        noise_model: UncertaintyModel | None = None,
        state_dimension: int | None = None,
        input_dimension: int | None = None,
        state_output_factory: Any = None,
        **sampling: Any,
    ) -> None:
        if noise is not None or noise_model is not None:
            noise = one_name(("noise", "noise_model"), noise, noise_model)
        State, Input = _records(vehicle, state_dimension, input_dimension)
        size = getattr(state_output_factory, "state_dimension", None)
        if state_output_factory is not None and size != record.size(State):
            raise InvalidValue(
                f"state_output_factory has state_dimension = {size}; "
                f"allowed is {record.size(State)}"
            )
        self._factory = state_output_factory
        self._nameless = vehicle is None
        super().__init__(State, noise, State=State, Input=Input, **sampling)

    @property
    def nameless(self) -> bool:
        """Whether it was given numbers of states and inputs, and no vehicle."""
        return self._nameless

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """The state itself."""
        return x

    def _returned(self, y: Any) -> Any:
        if self._factory is None:
            return y
        return self._factory.state_from_numpy_array(np.array(record.flatten(y), dtype=float))


class SelectedOutputs(SensorModel):
    """Chosen fields of a vehicle's state and outputs: `SelectedOutputs(car, ["v_x", "a_y"])`.

    Where state and outputs share a name, the state's is meant. A dot in a name becomes an
    underscore in the record.
    """

    def __init__(
        self,
        vehicle: Any,
        fields: Sequence[str],
        noise: UncertaintyModel | None = None,
        **sampling: Any,
    ) -> None:
        self._vehicle = car = vehicle_of(vehicle)
        states = {leaf.name: leaf.unit for leaf in record.fields(car.State)}
        others = {leaf.name: leaf.unit for leaf in record.fields(car.model.Outputs)}
        self._fields = _checked_fields(fields, car.name, others | states)
        self._only_state = all(name in states for name in self._fields)
        units = others | states
        Output = record.define(
            "Output",
            {name.replace(".", "_"): Annotated[float, units[name]] for name in self._fields},
            doc=f"Chosen fields of {car.name}.",
        )
        super().__init__(Output, noise, State=car.State, Input=car.Input, **sampling)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields, as the vehicle has them."""
        return self._fields

    def output(self, x: Any, u: Any, w: Any = None) -> Any:
        """The fields, found by name."""
        told = {} if self._only_state else by_field(self._vehicle.outputs(x, u, w))
        values = {**told, **by_field(x)}
        return self.Output._make(values[name] for name in self._fields)


def _checked_fields(names: Any, vehicle: str, known: dict[str, Any]) -> tuple[str, ...]:
    fields = () if isinstance(names, str) or not isinstance(names, Sequence) else tuple(names)
    if not fields or len(set(fields)) != len(fields):
        raise InvalidValue(f"fields = {names!r} must be a list of different names, at least one")
    for name in fields:
        if name not in known:
            raise InvalidValue(record.unknown_name(vehicle, name, tuple(known)))
    return fields


def _records(vehicle: Any, states: int | None, inputs: int | None) -> tuple[type, type]:
    if vehicle is None:
        return _numbered("State", "x", states), _numbered("Input", "u", inputs)
    car = vehicle_of(vehicle)
    for name, size, kind in (
        ("state_dimension", states, car.State),
        ("input_dimension", inputs, car.Input),
    ):
        if size not in (None, record.size(kind)):
            raise InvalidValue(
                f"{name} = {size!r} but {car.name!r} has {record.size(kind)}: "
                f"{', '.join(record.names(kind))}"
            )
    return car.State, car.Input


def _numbered(name: str, letter: str, size: int | None) -> Any:
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        what = "state_dimension" if letter == "x" else "input_dimension"
        raise InvalidValue(
            f"{what} = {size!r} must be a whole number, at least 0, unless a vehicle is given"
        )
    return record.define(name, {f"{letter}{k}": one for k in range(size)})
