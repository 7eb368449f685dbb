"""Which engine runs a Program: the one place that chooses between the processor and a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..compile.cpu import CpuAdjoint, CpuMap, CpuRollout
from ..compile.gpu import CudaAdjoint, CudaMap, CudaRollout
from ..compile.plant import Plant
from ..compile.program import Program
from ..errors import InvalidValue
from . import batch
from .delay import Channels
from .settings import Settings

RolloutEngine = CpuRollout | CudaRollout
MapEngine = CpuMap | CudaMap
AdjointEngine = CpuAdjoint | CudaAdjoint


@dataclass(frozen=True)
class Engines:
    """Makes the engines of one plant under some settings, each when it is first used."""

    plant: Plant
    settings: Settings
    inputs: str = "controls"
    """What the caller calls the inputs, for errors."""

    @cached_property
    def space(self) -> batch.Space:
        """Where the arrays live."""
        return batch.Space.of(self.settings.device, self.settings.precision)

    @property
    def substeps(self) -> int:
        """Steps of the integrator within one of dt."""
        return self.settings.substeps or self.plant.substeps

    @cached_property
    def channels(self) -> Channels:
        """The inputs that act late."""
        return Channels.of(self.plant)

    @cached_property
    def rollout(self) -> RolloutEngine:
        """Many steps of many vehicles; delayed inputs act late."""
        return self._rollout(self.channels.fields)

    @cached_property
    def undelayed(self) -> RolloutEngine:
        """The same with inputs that act at once, also those that the model delays."""
        return self._rollout(()) if self.channels else self.rollout

    def _rollout(self, delayed: tuple[int, ...]) -> RolloutEngine:
        s = self.settings
        if s.device == "cuda":
            return CudaRollout(
                self.plant.step,
                dt=s.dt,
                tolerance=s.tolerance,
                precision=s.precision,
                fast=s.fast,
                substeps=self.substeps,
                delayed=delayed,
            )
        return CpuRollout(
            self.plant.step,
            dt=s.dt,
            tolerance=s.tolerance,
            precision=s.precision,
            lanes=s.lanes,
            threads=s.threads,
            substeps=self.substeps,
            delayed=delayed,
        )

    def map(self, program: Program) -> MapEngine:
        """A Program once per vehicle."""
        s = self.settings
        if s.device == "cuda":
            return CudaMap(program, s.precision)
        return CpuMap(program, s.precision, s.threads)

    @cached_property
    def outputs(self) -> CpuMap:
        """The outputs of the plant; on the processor, also for a GPU."""
        return CpuMap(self.plant.outputs, self.settings.precision, self.settings.threads)

    def adjoint(self, program: Program) -> AdjointEngine:
        """An adjoint Program backwards over a rollout."""
        s = self.settings
        if self.substeps != 1:
            raise InvalidValue(f"gradients need substeps = 1, this fleet has {self.substeps}")
        if s.device == "cuda":
            return CudaAdjoint(program, dt=s.dt, precision=s.precision)
        return CpuAdjoint(program, dt=s.dt, precision=s.precision, threads=s.threads)
