"""The driver of the figure of eight, called from Python."""

from __future__ import annotations

from typing import Any

from ..units import s
from . import driver


class PythonDriver:
    """The driver as `Simulator.run` calls one: a shell that keeps the memory between calls."""

    def __init__(self, params: driver.Params, dt: s) -> None:
        self.params, self.dt = params, dt
        self.memory = driver.Memory()

    def __call__(self, t: s, x: Any) -> Any:
        """Input for the step that starts at time `t` in state `x`."""
        targets, self.memory = driver.drive(self.params, self.memory, x, self.dt)
        return targets
