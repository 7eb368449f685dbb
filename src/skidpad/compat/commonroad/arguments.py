"""What users hand to a Simulation, checked; the errors name the argument and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ... import record
from ...brief import shown
from ...errors import InvalidValue
from ...model import Vehicle, VehicleFactory
from ...sensing.sensor_model import SensorModel
from ...sensing.uncertainty import NoUncertainty, UncertaintyModel

BY_NAME = (
    "two orders of these arguments are in use, so write them by name: Simulation(vehicle_model, "
    "disturbance_model=..., sensor_model=..., random_disturbance=..., random_noise=..., "
    "delta_t_w=...)"
)
SMALLEST_RTOL = 100.0 * float(np.finfo(float).eps)
"""What scipy's methods raise a smaller one to."""
STUDY_OPTIONS = ("seed", "quantities", "events", "quantiles", "confidence", "progress")
FACTORY_METHODS = ("state_from_numpy_array", "trajectory_from_numpy_array")


def vehicle_of(vehicle: Any) -> Vehicle:
    """The vehicle, also from its factory."""
    if isinstance(vehicle, VehicleFactory):
        return vehicle()
    if isinstance(vehicle, Vehicle):
        return vehicle
    raise InvalidValue(
        f"vehicle_model must be a Vehicle such as sp.vehicles.commonroad_kinematic_bicycle(), "
        f"got {_described(vehicle)}"
    )


def check_places(
    sidt_factory: Any, disturbance_model: Any, sensor_model: Any, **flags: Any
) -> None:
    """Raise for arguments that are not in their places."""
    places = (
        ("disturbance_model", disturbance_model, UncertaintyModel, "an UncertaintyModel"),
        ("sensor_model", sensor_model, SensorModel, "a SensorModel"),
    )
    for name, value, kind, what in places:
        if value is not None and not isinstance(value, kind):
            raise InvalidValue(f"{name} must be {what}, got {_described(value)}; {BY_NAME}")
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise InvalidValue(f"{name} must be True or False, got {_described(value)}; {BY_NAME}")
    if sidt_factory is not None:
        missing = [m for m in FACTORY_METHODS if not hasattr(sidt_factory, m)]
        if missing:
            raise InvalidValue(
                f"sidt_factory must have the methods {', '.join(FACTORY_METHODS)}, got "
                f"{_described(sidt_factory)}; {BY_NAME}"
            )


def check_sensor(sensor: SensorModel, vehicle: Vehicle) -> None:
    """Raise unless the sensor measures vehicles with these states and inputs."""
    for name, kind, own in (
        ("states", vehicle.State, sensor.State),
        ("inputs", vehicle.Input, sensor.Input),
    ):
        if record.size(own) != record.size(kind):
            raise InvalidValue(
                f"sensor_model is for {record.size(own)} {name}; {vehicle.name!r} has "
                f"{record.size(kind)}: {', '.join(record.names(kind))}"
            )
        if not (sensor.nameless or record.names(own) == record.names(kind)):
            raise InvalidValue(
                f"sensor_model is for the {name} {', '.join(record.names(own))}; "
                f"{vehicle.name!r} has {', '.join(record.names(kind))}"
            )


def check_study(options: Mapping[str, Any], model: UncertaintyModel, drawn: bool) -> None:
    """Raise for options of a Monte Carlo that a replay by the simulation would not know of, or if
    the simulation draws nothing of its model."""
    for name in options:
        if name not in STUDY_OPTIONS:
            raise InvalidValue(
                f"monte_carlo of a Simulation has no option {name!r}; allowed are "
                f"{', '.join(STUDY_OPTIONS)}, on_diverge. For others make a Fleet from what "
                "`setup` returns"
            )
    if not (drawn or isinstance(model, NoUncertainty)):
        raise InvalidValue(
            "random_disturbance = False: every run would be the same; a Monte Carlo needs a "
            "Simulation with random_disturbance=True"
        )


def check_factory(factory: Any, vehicle: Vehicle) -> None:
    """Raise unless the factory makes states of this vehicle's size."""
    dimension, size = getattr(factory, "state_dimension", None), record.size(vehicle.State)
    if dimension is not None and dimension != size:
        raise InvalidValue(
            f"sidt_factory has state_dimension = {dimension}; {vehicle.name!r} has {size} states: "
            f"{', '.join(record.names(vehicle.State))}"
        )


def tolerances(rtol: Any, atol: Any, size: int) -> dict[str, Any]:
    """Those of scipy's options that were given, checked; atol may be one per state."""
    options: dict[str, Any] = {}
    for name, value, least in (("rtol", rtol, SMALLEST_RTOL), ("atol", atol, 0.0)):
        if value is None:
            continue
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"{name} = {shown(value)} must be a number") from None
        if numbers.shape not in ((), (size,)) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise InvalidValue(
                f"{name} = {shown(value)} must be finite and greater than 0: one number or {size}"
            )
        if (numbers < least).any():
            raise InvalidValue(f"{name} = {value!r} must be at least {least:.3g}")
        options[name] = float(numbers) if numbers.ndim == 0 else numbers
    return options


def reader(name: str, kind: type, *, complete: bool) -> Callable[[Any], tuple[float, ...]]:
    """A function that gives the numbers of a state or an input, or raises.

    It takes a record, a mapping of names, an array, or what has commonroad-control's
    `convert_to_array`. With `complete` a mapping has to name every field: what was forgotten is no
    zero.
    """
    ranged = any(leaf.allowed is not None for leaf in record.fields(kind))
    simple = not ranged and len(kind._fields) == record.size(kind)
    blank = record.unflatten(kind, (None,) * record.size(kind)) if complete else None
    size, finite = record.size(kind), math.isfinite

    def read(values: Any) -> tuple[float, ...]:
        # The short way for what needs no second look; whatever is wrong is said by the long one.
        if simple:
            row = values
            if (
                type(values) is np.ndarray
                and values.dtype == np.float64
                and values.shape == (size,)
            ):
                row = tuple(values.tolist())
            elif type(values) is not kind:
                return _built(name, kind, values, blank)
            try:
                if all(map(finite, row)):
                    return row
            except (TypeError, OverflowError):
                pass
        return _built(name, kind, values, blank)

    return read


def _built(name: str, kind: type, source: Any, blank: Any) -> tuple[float, ...]:
    if hasattr(source, "convert_to_array"):
        source = _array_of(name, kind, source)
    if source is None or isinstance(source, str):
        raise InvalidValue(f"{name} = {source!r} must give {', '.join(record.names(kind))}")
    if record.is_record_type(type(source)) and not isinstance(source, kind):
        # Another class of record is as good if its fields are the same.
        if record.names(type(source)) == record.names(kind):
            return _built(name, kind, list(record.flatten(source)), blank)
        raise InvalidValue(
            f"{name} is a record of {type(source).__qualname__}; expected are the fields "
            f"{', '.join(record.names(kind))}"
        )
    try:
        return record.flatten(record.build(kind, source, base=blank))
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None


def _array_of(name: str, kind: type, point: Any) -> Any:
    """The numbers of an object of commonroad-control's kind, whose fields may be None."""
    values = np.ravel(np.asarray(point.convert_to_array(), dtype=object))
    names = record.names(kind)
    missing = [
        names[k]
        for k, value in enumerate(values[: len(names)])
        if value is None or (isinstance(value, float) and math.isnan(value))
    ]
    if len(values) == len(names) and missing:
        raise InvalidValue(f"{name}: {kind.__name__} needs a value for {', '.join(missing)}")
    return values.tolist()


def _described(value: Any) -> str:
    if isinstance(value, (bool, np.bool_, int, float, str)):
        return repr(value)
    kind = value if isinstance(value, type) else type(value)
    return f"the class {kind.__qualname__}" if isinstance(value, type) else f"a {kind.__qualname__}"
