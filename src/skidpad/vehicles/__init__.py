"""The vehicles, by name. To add one, write its file, import its factory and list it here."""

from __future__ import annotations

from typing import Any

from .. import record
from ..model import Model, Vehicle
from . import wheeled
from .ackermann_truck import ackermann_truck
from .autoware import NAMES as COMMAND_DRIVEN
from .autoware import autoware
from .brains2 import brains2
from .brakes import with_brakes
from .commonroad import (
    commonroad_dynamic_bicycle,
    commonroad_kinematic_bicycle,
    commonroad_ks,
    commonroad_kst,
    commonroad_mb,
    commonroad_st,
    commonroad_std,
    double_integrator,
)
from .formula_student import formula_student
from .four_wheel import four_wheel
from .full_car import full_car
from .kinematic_bicycle import kinematic_bicycle
from .on_road import on_road
from .registry import get, names, register
from .single_track import single_track
from .smooth_limits import with_smooth_limits
from .two_track import two_track

_LISTED = (
    ackermann_truck,
    brains2,
    commonroad_dynamic_bicycle,
    commonroad_kinematic_bicycle,
    commonroad_ks,
    commonroad_kst,
    commonroad_mb,
    commonroad_st,
    commonroad_std,
    double_integrator,
    formula_student,
    four_wheel,
    full_car,
    kinematic_bicycle,
    single_track,
    two_track,
)


def listed(model: Model) -> tuple[Any, ...] | None:
    """How any process finds a model that skidpad lists, for `pickle`; None for any other."""
    for factory in _LISTED:
        for place, own in enumerate(factory.models):
            if own is model:
                return _listed_model, (factory.model.name, place)
    return None


def _listed_model(name: str, place: int) -> Model:
    # Not `get`: another factory of the model, with fewer models, may have been registered since.
    return next(own.models[place] for own in _LISTED if own.model.name == name)


def named(name: str, params: Any = None, *, compat: str | None = None) -> Vehicle:
    """The vehicle of a name, or a command-driven one of Autoware's.

    `params` are those that differ from its own; `compat` goes with Autoware's.
    """
    if name in COMMAND_DRIVEN:
        return autoware(name, params, compat=compat)
    return get(name)(params)


for _factory in _LISTED:
    register(_factory)

__all__ = [
    "ackermann_truck",
    "autoware",
    "brains2",
    "commonroad_dynamic_bicycle",
    "commonroad_kinematic_bicycle",
    "commonroad_ks",
    "commonroad_kst",
    "commonroad_mb",
    "commonroad_st",
    "commonroad_std",
    "double_integrator",
    "formula_student",
    "four_wheel",
    "full_car",
    "get",
    "kinematic_bicycle",
    "named",
    "names",
    "on_road",
    "register",
    "single_track",
    "two_track",
    "wheeled",
    "with_brakes",
    "with_smooth_limits",
]

record.document_all()
