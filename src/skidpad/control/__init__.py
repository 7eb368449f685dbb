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

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from . import keyboard, lqr, nmpc, pid, pure_pursuit, reference, speed, stanley, wheeled
    from .nmpc import (
        Nmpc,
    )
    from .pid import (
        PIDControl,
        PIDLongLat,
    )
    from .reference import (
        Reference,
    )

from ..core import record
from . import car as abilities
from . import car as line
from . import car as state_conversion
from . import driver_aids as aids
from . import keyboard as driving
from . import path_following as path_follower
from . import path_following as polyline
from . import pid as pid_control
from . import pid as pid_long_lat
from . import reference as course
from . import speed as racing_line
from . import speed as speed_profile

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

__getattr__ = lazy_attributes(
    __name__,
    {
        ".nmpc": ("Nmpc",),
        ".pid": (
            "PIDControl",
            "PIDLongLat",
        ),
        ".reference": ("Reference",),
    },
    modules={
        "keyboard": ".keyboard",
        "lqr": ".lqr",
        "nmpc": ".nmpc",
        "pid": ".pid",
        "pure_pursuit": ".pure_pursuit",
        "reference": ".reference",
        "speed": ".speed",
        "stanley": ".stanley",
        "wheeled": ".wheeled",
    },
)

record.document_all()
