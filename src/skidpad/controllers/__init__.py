"""Controllers as pure functions: what they remember comes in and goes out as a record.

The contract:

1. Parameters, memory, measurement and reference are NamedTuple records of scalars.
2. A controller with memory returns `(command, memory')`; one without returns the command alone.
3. The functions are built from `skidpad.ops` and arithmetic, with no `if` on a value, so that a
   controller can be traced together with the vehicle it drives.
"""

from __future__ import annotations

from . import keyboard, line, path_follower, pid, speed, wheeled

__all__ = ["keyboard", "line", "path_follower", "pid", "speed", "wheeled"]
