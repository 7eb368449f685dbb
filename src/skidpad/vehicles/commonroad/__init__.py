"""CommonRoad's vehicles: those of commonroad-control and of commonroad-vehicle-models."""

from __future__ import annotations

from .double_integrator import double_integrator
from .dynamic_bicycle import commonroad_dynamic_bicycle
from .kinematic_bicycle import commonroad_kinematic_bicycle
from .ks import commonroad_ks
from .kst import commonroad_kst
from .mb import commonroad_mb
from .st import commonroad_st
from .start import start
from .std import commonroad_std

__all__ = [
    "commonroad_dynamic_bicycle",
    "commonroad_kinematic_bicycle",
    "commonroad_ks",
    "commonroad_kst",
    "commonroad_mb",
    "commonroad_st",
    "commonroad_std",
    "double_integrator",
    "start",
]
