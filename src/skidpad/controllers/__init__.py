"""Controllers as pure functions: what they remember comes in and goes out as a record.

The contract:

1. Parameters, memory, measurement and reference are NamedTuple records of scalars.
2. A controller with memory returns `(command, memory')`; one without returns the command alone.
3. The functions are built from `skidpad.ops` and arithmetic, with no `if` on a value, so that a
   controller can be traced together with the vehicle it drives.

`policy(...)` of a module makes a `skidpad.Policy` of its law, which a fleet compiles with the
vehicle. `nmpc` is the exception: it solves a program at every step, so it drives one vehicle.
"""

from __future__ import annotations

from .. import record
from . import (
    abilities,
    aids,
    course,
    driving,
    keyboard,
    line,
    lqr,
    nmpc,
    path_follower,
    pid,
    pid_control,
    pid_long_lat,
    polyline,
    pure_pursuit,
    racing_line,
    reference,
    speed,
    speed_profile,
    stanley,
    state_conversion,
    wheeled,
)
from .nmpc import Nmpc
from .pid_control import PIDControl, PIDLongLat
from .reference import Reference

__all__ = [
    "Nmpc",
    "PIDControl",
    "PIDLongLat",
    "Reference",
    "abilities",
    "aids",
    "course",
    "driving",
    "keyboard",
    "line",
    "lqr",
    "nmpc",
    "path_follower",
    "pid",
    "pid_control",
    "pid_long_lat",
    "polyline",
    "pure_pursuit",
    "racing_line",
    "reference",
    "speed",
    "speed_profile",
    "stanley",
    "state_conversion",
    "wheeled",
]

record.document_all()
