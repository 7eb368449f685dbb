"""Vehicles by name, and their variants on roads, with brakes or with smooth limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes
from .registry import COMMAND_DRIVEN as COMMAND_DRIVEN
from .registry import LISTED, get, names, register

if TYPE_CHECKING:
    from . import wheeled
    from .bicycle import single_track
    from .brains2_sim import brains2
    from .command_driven import autoware
    from .commonroad.bicycles import commonroad_dynamic_bicycle, commonroad_kinematic_bicycle
    from .commonroad.bicycles import double_integrator as double_integrator
    from .commonroad.cars import start
    from .commonroad.multi_body import commonroad_mb as commonroad_mb
    from .commonroad.single_track import commonroad_ks as commonroad_ks
    from .commonroad.single_track import commonroad_kst as commonroad_kst
    from .commonroad.single_track import commonroad_st
    from .commonroad.single_track import commonroad_std as commonroad_std
    from .formula import four_wheel, kinematic_bicycle
    from .truck import ackermann_truck
    from .twin_track.model import formula_student, full_car, two_track
    from .variants import on_road, with_brakes, with_smooth_limits

__all__ = [
    "ackermann_truck",
    "autoware",
    "brains2",
    "commonroad_dynamic_bicycle",
    "commonroad_kinematic_bicycle",
    "commonroad_st",
    "formula_student",
    "four_wheel",
    "full_car",
    "get",
    "kinematic_bicycle",
    "names",
    "on_road",
    "register",
    "single_track",
    "start",
    "two_track",
    "wheeled",
    "with_brakes",
    "with_smooth_limits",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        **{home: tuple(n for n, at in LISTED.items() if at == home) for home in LISTED.values()},
        ".command_driven": ("autoware",),
        ".commonroad.cars": ("start",),
        ".variants": ("on_road", "with_brakes", "with_smooth_limits"),
    },
    modules={"wheeled": ".wheeled"},
)


def __dir__() -> list[str]:
    return sorted(__all__)
