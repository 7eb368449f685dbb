"""CommonRoad's vehicles: those of commonroad-control and of commonroad-vehicle-models."""

from __future__ import annotations

from .drift import commonroad_std
from .kinematic import commonroad_kinematic_bicycle, commonroad_ks, commonroad_kst
from .multi_body import commonroad_mb
from .single_track import commonroad_dynamic_bicycle, commonroad_st, double_integrator
from .start import start

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
