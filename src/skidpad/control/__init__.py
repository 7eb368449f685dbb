"""Controllers as pure functions: their memory is an argument and a result, as a record.

The contract:

1. Parameters, memory, measurement and reference are NamedTuple records of scalars.
2. A controller with memory returns `(command, memory')`; one without returns the command alone.
3. The functions are built from `skidpad.ops` and arithmetic, with no `if` on a value, so that a
   controller can be traced together with the vehicle it drives.

`policy(...)` of a module makes a `skidpad.Policy` from its control law, which a fleet compiles with
the vehicle. `Nmpc` is the exception: it solves an optimisation problem at every step, so it drives
one vehicle.

`estimators` are the counterpart: Kalman filters and a moving-horizon estimator of any vehicle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import car, driver_aids, keyboard, lqr, path_following, pid, pure_pursuit, speed, stanley
    from .estimators.horizon import MovingHorizonEstimator
    from .estimators.kalman import ExtendedKalmanFilter, UnscentedKalmanFilter
    from .estimators.logs import estimate
    from .nmpc import Nmpc
    from .optimal.lap import minimum_lap
    from .pid import PIDLongLat
    from .reference import Reference

__all__ = [
    "ExtendedKalmanFilter", "MovingHorizonEstimator", "Nmpc", "PIDLongLat",
    "Reference", "UnscentedKalmanFilter", "car", "driver_aids", "estimate", "keyboard", "lqr",
    "minimum_lap", "path_following", "pid", "pure_pursuit", "speed", "stanley",
]  # fmt: skip

__getattr__ = lazy_attributes(
    __name__,
    {
        ".estimators.horizon": ("MovingHorizonEstimator",),
        ".estimators.kalman": ("ExtendedKalmanFilter", "UnscentedKalmanFilter"),
        ".estimators.logs": ("estimate",),
        ".nmpc": ("Nmpc",),
        ".optimal.lap": ("minimum_lap",),
        ".pid": ("PIDLongLat",),
        ".reference": ("Reference",),
    },
    modules={
        "car": ".car",
        "driver_aids": ".driver_aids",
        "keyboard": ".keyboard",
        "lqr": ".lqr",
        "path_following": ".path_following",
        "pid": ".pid",
        "pure_pursuit": ".pure_pursuit",
        "speed": ".speed",
        "stanley": ".stanley",
    },
)
