"""The outputs of one vehicle at the moments of a run, by compiled code."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile import pipeline
from ..compile.cpu import CpuMap
from ..model import Vehicle


class OutputRows:
    """Outputs of a vehicle; compiled when they are first asked for."""

    def __init__(self, vehicle: Vehicle, precision: str) -> None:
        self._vehicle, self._precision = vehicle, precision
        self._params = np.array([record.flatten(vehicle.params)], dtype=precision)

    def along(self, states: AnyArray, inputs: AnyArray, disturbance: Any) -> AnyArray:
        """Outputs (T, ny) at states (T, nx) with inputs (T, nu). At the first, the coming input
        applies; then the one that led there."""
        led_there = np.vstack([inputs[:1], inputs[:-1]])
        before = np.vstack([states[:1], states[:-1]])
        return self.at(states, before, led_there, disturbance)

    def at(
        self, states: AnyArray, before: AnyArray, inputs: AnyArray, disturbance: Any
    ) -> AnyArray:
        """Outputs (T, ny) at states (T, nx), each reached from the one `before` with its input."""
        shared = (np.array([record.flatten(disturbance)]), self._params)
        ports = [np.asarray(a, self._precision)[None] for a in (states, before, inputs, *shared)]
        return self._map.run(ports, len(states))[0][0].astype(float)

    @cached_property
    def _map(self) -> CpuMap:
        return CpuMap(pipeline.outputs_program(self._vehicle), self._precision, 1)
