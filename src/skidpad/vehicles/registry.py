"""Registry of vehicles by name: those of skidpad and those that users register.

A vehicle of skidpad is imported when it is first used. To add one, write its file and list its
factory in `LISTED` and in the package's `__init__`.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from ..core.model import Model, VehicleFactory
from ..core.record import unknown_name
from ..errors import InvalidValue

LISTED = {
    "ackermann_truck": ".truck",
    "brains2": ".brains2_sim",
    "commonroad_dynamic_bicycle": ".commonroad.bicycles",
    "commonroad_kinematic_bicycle": ".commonroad.bicycles",
    "commonroad_ks": ".commonroad.single_track",
    "commonroad_kst": ".commonroad.single_track",
    "commonroad_mb": ".commonroad.multi_body",
    "commonroad_st": ".commonroad.single_track",
    "commonroad_std": ".commonroad.single_track",
    "double_integrator": ".commonroad.bicycles",
    "formula_student": ".twin_track.model",
    "four_wheel": ".formula",
    "full_car": ".twin_track.model",
    "kinematic_bicycle": ".formula",
    "single_track": ".bicycle",
    "two_track": ".twin_track.model",
}
"""Vehicles of skidpad, each with the module of its factory."""

COMMAND_DRIVEN = (
    "IDEAL_STEER_VEL",
    "IDEAL_STEER_ACC",
    "IDEAL_STEER_ACC_GEARED",
    "DELAY_STEER_VEL",
    "DELAY_STEER_ACC",
    "DELAY_STEER_ACC_GEARED",
    "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
    "DELAY_STEER_MAP_ACC_GEARED",
    "LEARNED_STEER_VEL",
    "ACTUATION_CMD",
    "ACTUATION_CMD_VGR",
    "ACTUATION_CMD_STEER_MAP",
    "ACTUATION_CMD_MECHANICAL",
)
"""Autoware's command-driven models, by the names in `vehicle_model_type`."""

_FACTORIES: dict[str, VehicleFactory] = {}


def names() -> list[str]:
    """Names of all vehicles, sorted."""
    return sorted({*LISTED, *_FACTORIES})


def get(name: str) -> Any:
    """Return the factory of a vehicle by name: `get("four_wheel")(m=240.0)`.

    For the names of Autoware's command-driven models it is `autoware` for that model.
    """
    if name in COMMAND_DRIVEN:
        return partial(import_module(".command_driven", __package__).autoware, name)
    if name not in _FACTORIES:
        if name not in LISTED:
            raise InvalidValue(unknown_name("skidpad", name, names(), "vehicle"))
        _FACTORIES[name] = _shipped(name)
    return _FACTORIES[name]


def _shipped(name: str) -> VehicleFactory:
    return getattr(import_module(LISTED[name], __package__), name)


def register(factory: VehicleFactory) -> VehicleFactory:
    """Register a factory under its model's name, so that `get`, `names` and the checks find it."""
    if not isinstance(factory, VehicleFactory):
        kind = type(factory).__qualname__
        raise InvalidValue(f"factory must be a VehicleFactory of a model, got a {kind}")
    name = factory.model.name
    known = get(name) if name in LISTED else _FACTORIES.get(name)
    if known is not None and known.model is not factory.model:
        raise InvalidValue(f"a vehicle named {name!r} is already registered; choose another name")
    _FACTORIES[name] = factory
    return factory


def listed(model: Model) -> tuple[Any, ...] | None:
    """Key by which any process finds a model of skidpad, for `pickle`; None for other models."""
    if model.name not in LISTED:
        return None
    models = _shipped(model.name).models
    place = next((k for k, own in enumerate(models) if own is model), None)
    return None if place is None else (_listed_model, (model.name, place))


def _listed_model(name: str, place: int) -> Model:
    # Not `get`: another factory of the model, with fewer models, may have been registered since.
    return _shipped(name).models[place]
