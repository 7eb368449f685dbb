"""A command-driven model called as a Python function: what one has without a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import record
from ...compat.autoware.motion import CompiledMotion
from ...compat.autoware.motion_model import Motion
from ...model import Vehicle
from ...run.delay_line import DelayLine


class DirectMotion:
    """Like `CompiledMotion`, with the vehicle's own function on Python's numbers."""

    def __init__(self, vehicle: Vehicle, period: float) -> None:
        model = vehicle.model
        self.vehicle, self.name = vehicle, model.name
        self.inputs = record.names(model.Input)
        self._x: Any = record.build(model.State)
        self._row: Sequence[float] = record.flatten(record.build(model.Input))
        self._line = DelayLine.of(model, vehicle.params, period)
        self._updates = 0

    @classmethod
    def of(cls, model: CompiledMotion, period: float) -> DirectMotion:
        """The same vehicle without a compiler."""
        return cls(model.vehicle, period)

    def set_state(self, x: float, y: float, yaw: float, v_x: float) -> None:
        """Put the vehicle somewhere else."""
        self._x = self._x._replace(x=x, y=y, yaw=yaw, v_x=v_x)

    def set_input(self, row: Sequence[float]) -> None:
        """The latest command."""
        self._row = row

    def step(self, dt: float) -> None:
        """One update of dt in s."""
        model, line = self.vehicle.model, self._line
        assert model.update is not None
        row = (
            self._row if line is None else line.acting(self._row, self._updates, self._updates + 1)
        )
        u = record.unflatten(model.Input, row)
        w = record.build(model.Disturbance)
        self._x = model.update(self._x, u, w, self.vehicle.params, dt)
        self._updates += 1

    @property
    def motion(self) -> Motion:
        """As reported after the last update."""
        x = self._x
        u = record.unflatten(self.vehicle.Input, self._row)
        y = self.vehicle.model.outputs(x, u, None, self.vehicle.params)
        return Motion(x.x, x.y, x.yaw, y.v_x, y.v_y, y.a_x, y.omega, y.steer)

    def actuation_status(self) -> tuple[float, float] | None:
        """None: it has no pedals."""
        return None
