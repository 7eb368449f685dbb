"""Controllers as pure functions: their memory comes in and goes out as a record.

The contract:

1. Parameters, memory, measurement and reference are NamedTuple records of scalars.
2. A controller with memory returns `(command, memory')`; one without returns the command alone.
3. The functions are built from `skidpad.ops` and arithmetic, with no `if` on a value, so that a
   controller can be traced together with the vehicle it drives.

`policy(...)` of a module makes a `skidpad.Policy` of its law, which a fleet compiles with the
vehicle. `Nmpc` is the exception: it solves a program at every step, so it drives one vehicle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import car, driver_aids, keyboard, lqr, path_following, pid, pure_pursuit, speed, stanley
    from .nmpc import Nmpc
    from .pid import PIDLongLat
    from .reference import Reference

__all__ = [
    "Nmpc",
    "PIDLongLat",
    "Reference",
    "car",
    "driver_aids",
    "keyboard",
    "lqr",
    "path_following",
    "pid",
    "pure_pursuit",
    "speed",
    "stanley",
]

__getattr__ = lazy_attributes(
    __name__,
    {".nmpc": ("Nmpc",), ".pid": ("PIDLongLat",), ".reference": ("Reference",)},
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
