"""Vehicles by their names: skidpad's own, and those that users register."""

from __future__ import annotations

from ..errors import InvalidValue
from ..model import VehicleFactory
from ..record import unknown_name

__all__ = ["get", "names", "register"]

_FACTORIES: dict[str, VehicleFactory] = {}


def names() -> list[str]:
    """Names of all vehicles, sorted."""
    return sorted(_FACTORIES)


def get(name: str) -> VehicleFactory:
    """The factory of a vehicle by its name."""
    if name not in _FACTORIES:
        raise InvalidValue(unknown_name("skidpad", name, names(), "vehicle"))
    return _FACTORIES[name]


def register(factory: VehicleFactory) -> VehicleFactory:
    """Add a vehicle under its model's name, so that `get`, `names` and the checks find it."""
    if not isinstance(factory, VehicleFactory):
        kind = type(factory).__qualname__
        raise InvalidValue(f"factory must be a VehicleFactory of a model, got a {kind}")
    name = factory.model.name
    known = _FACTORIES.get(name)
    if known is not None and known.model is not factory.model:
        raise InvalidValue(f"a vehicle named {name!r} is already registered; choose another name")
    _FACTORIES[name] = factory
    return factory
