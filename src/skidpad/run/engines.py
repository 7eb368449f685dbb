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
from .stepper import residual_tolerance

RolloutEngine = CpuRollout | CudaRollout
MapEngine = CpuMap | CudaMap
AdjointEngine = CpuAdjoint | CudaAdjoint


@dataclass(frozen=True)
class Engines:
    """Makes the engines of one plant for one device, precision and step."""

    plant: Plant
    dt: float
    """Step in s."""
    precision: str
    device: str
    threads: int | None
    lanes: int | None
    fast: bool
    substeps: int = 1

    def __post_init__(self) -> None:
        if self.fast and self.device != "cuda":
            raise InvalidValue("fast = True is for device = 'cuda'; the CPU is always exact")

    @cached_property
    def space(self) -> batch.Space:
        """Where the arrays live."""
        return batch.Space.of(self.device, self.precision)

    @property
    def tolerance(self) -> float:
        """Newton residual above which an implicit step has failed."""
        return residual_tolerance(self.precision)

    @cached_property
    def channels(self) -> Channels:
        """The inputs that act late."""
        return Channels.of(self.plant)

    @cached_property
    def rollout(self) -> RolloutEngine:
        """Many steps of many vehicles; delayed inputs act late."""
        return self._rollout(self.channels.fields)

    @cached_property
    def prompt(self) -> RolloutEngine:
        """The same with inputs that act at once, also those that the model delays."""
        return self._rollout(()) if self.channels else self.rollout

    def _rollout(self, delayed: tuple[int, ...]) -> RolloutEngine:
        program, dt, tolerance, precision = (
            self.plant.step,
            self.dt,
            self.tolerance,
            self.precision,
        )
        if self.device == "cuda":
            return CudaRollout(
                program,
                dt=dt,
                tolerance=tolerance,
                precision=precision,
                fast=self.fast,
                substeps=self.substeps,
                delayed=delayed,
            )
        return CpuRollout(
            program,
            dt=dt,
            tolerance=tolerance,
            precision=precision,
            lanes=self.lanes,
            threads=self.threads,
            substeps=self.substeps,
            delayed=delayed,
        )

    def map(self, program: Program) -> MapEngine:
        """A Program once per vehicle."""
        if self.device == "cuda":
            return CudaMap(program, self.precision)
        return CpuMap(program, self.precision, self.threads)

    def adjoint(self, program: Program) -> AdjointEngine:
        """An adjoint Program backwards over a rollout."""
        if self.substeps != 1:
            raise InvalidValue(f"gradients need substeps = 1, this fleet has {self.substeps}")
        if self.device == "cuda":
            return CudaAdjoint(program, dt=self.dt, precision=self.precision)
        return CpuAdjoint(program, dt=self.dt, precision=self.precision, threads=self.threads)
