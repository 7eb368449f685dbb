"""The vehicles, by name, and what puts them on roads, brakes or smooth limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes
from .registry import COMMAND_DRIVEN as COMMAND_DRIVEN
from .registry import LISTED, get, named, names, register

if TYPE_CHECKING:
    from . import wheeled
    from .bicycles import kinematic_bicycle, single_track
    from .car_state import with_brakes
    from .command_driven import autoware
    from .commonroad.drift import commonroad_std
    from .commonroad.kinematic import (
        commonroad_kinematic_bicycle,
        commonroad_ks,
        commonroad_kst,
    )
    from .commonroad.multi_body import commonroad_mb
    from .commonroad.single_track import (
        commonroad_dynamic_bicycle,
        commonroad_st,
        double_integrator,
    )
    from .formula import brains2, formula_student, four_wheel
    from .smooth_limits import with_smooth_limits
    from .truck import ackermann_truck
    from .twin_track.model import two_track
    from .twin_track.suspended import full_car
    from .with_road import on_road

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

__getattr__ = lazy_attributes(
    __name__,
    {
        **{home: tuple(n for n, at in LISTED.items() if at == home) for home in LISTED.values()},
        ".car_state": ("with_brakes",),
        ".command_driven": ("autoware",),
        ".smooth_limits": ("with_smooth_limits",),
        ".with_road": ("on_road",),
    },
    modules={"wheeled": ".wheeled"},
)


def __dir__() -> list[str]:
    return sorted(__all__)
