"""A vehicle that notes what it is told and moves by a rule a test can follow by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skidpad.compat.autoware.reports import Motion
from skidpad.compat.autoware.simulator import PlanningSimulator

GEARED = ("acceleration", "steer", "gear")
PEDALS = ("accel", "brake", "steer", "gear", "slope")


class FakeMotion:
    """Drives along x at its velocity; its acceleration, yaw rate and angle are constants."""

    name = "FAKE"

    def __init__(
        self,
        inputs: tuple[str, ...] = GEARED,
        *,
        a_x: float = 0.0,
        omega: float = 0.0,
        steer: float = 0.0,
        status: tuple[float, float] | None = None,
    ) -> None:
        self.inputs = inputs
        self.constants = {"a_x": a_x, "omega": omega, "steer": steer}
        self.status = status
        self.motion = Motion(0.0, 0.0, 0.0, 0.0, 0.0, **self.constants)
        self.rows: list[tuple[float, ...]] = []
        self.steps: list[float] = []

    def set_state(
        self, x: float, y: float, yaw: float, v_x: float, steer: float = 0.0, a_x: float = 0.0
    ) -> None:
        self.motion = Motion(x, y, yaw, v_x, 0.0, **self.constants)

    def set_input(self, row: Sequence[float]) -> None:
        self.rows.append(tuple(row))

    def step(self, dt: float) -> None:
        self.steps.append(dt)
        self.motion = self.motion._replace(x=self.motion.x + self.motion.v_x * dt)

    def actuation_status(self) -> tuple[float, float] | None:
        return self.status


def around(model: FakeMotion | None = None, **overrides: Any) -> PlanningSimulator:
    """A simulator that starts at the origin, around a fake vehicle."""
    start = {"initialize_source": "ORIGIN", **overrides}
    return PlanningSimulator(model or FakeMotion(), **start)
