"""The truck in motion: compiled inner steps under a command that is held."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import integrate, record
from ...arrays import AnyArray
from ...compile.plant import Plant
from ...model import Model, Vehicle
from ...run.settings import Settings
from ...run.stepper import CompiledStepper
from ...units import s
from ...vehicles.ackermann_truck import Params, State

BLOCK = 1000
"""Steps computed at a time; their states are kept to look along the way."""


class Drive:
    """Steps one truck. The state is that of the middle of its rear axle."""

    def __init__(self, model: Model, params: Params, step: s) -> None:
        method = integrate.get("rk4")
        plant = Plant.of(Vehicle(model, params), method)
        self._stepper = CompiledStepper(plant, Settings(step, method))
        self._commands = np.zeros((BLOCK, record.size(model.Input)))
        self.put(State())

    @property
    def state(self) -> State:
        """The present state."""
        return self._stepper.state

    def put(self, state: Any) -> None:
        """Go on from this state, a record or a row of numbers."""
        self._stepper.reset(tuple(state), 0.0)

    def hold(self, command: tuple[float, ...]) -> None:
        """Let an input of the model act from now on."""
        self._commands[:] = command

    def run(self, steps: int) -> AnyArray:
        """Take up to `BLOCK` steps; the states after each (steps, nx). One that fails raises."""
        states, error = self._stepper.drive(self._commands[:steps])
        if error is not None:
            raise error
        return states
