"""Metrics of many variants of a vehicle at once: what sensitivity and tuning ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from ..model import Vehicle
from .catalogue import chosen
from .kernels import Kernels
from .metric import Metric
from .proving_ground import Manoeuvre, perform
from .subject import Subject

__all__ = ["manoeuvre_of", "metrics_of", "own_value"]


def manoeuvre_of(manoeuvre: Manoeuvre | str) -> Manoeuvre:
    """The manoeuvre, or the standard one of a name."""
    return chosen([manoeuvre])[0] if isinstance(manoeuvre, str) else manoeuvre


def own_value(vehicle: Vehicle, name: str) -> float:
    """A parameter of a vehicle by its name, which may have dots."""
    names = record.names(vehicle.model.Params)
    if name not in names:
        raise InvalidValue(record.unknown_name(vehicle.name, name, names, "parameter"))
    return float(record.flatten(vehicle.params)[names.index(name)])


def metrics_of(
    manoeuvres: Sequence[Manoeuvre],
    vehicle: Vehicle,
    params: Mapping[str, Array],
    kernels: Kernels | None = None,
) -> dict[str, Metric]:
    """Metrics by names such as "step_steer.yaw_rate_overshoot", each (V,); raises for a manoeuvre
    that the vehicle cannot do."""
    car = Subject(vehicle, params)
    metrics: dict[str, Metric] = {}
    for result in perform(manoeuvres, [car], kernels):
        if result.findings is None:
            raise InvalidValue(f"{result.manoeuvre.name}: {result.unfit}")
        own = {
            f"{result.manoeuvre.name}.{metric.name}": metric for metric in result.findings.metrics
        }
        metrics |= own
    return metrics
