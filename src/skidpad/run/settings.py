"""Settings of everything that runs a vehicle, in one checked record, and the engines they imply.

`Engines` is the one place that chooses between the processor and a GPU.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

from ..compile import pipeline
from ..compile.cpu import CpuAdjoint, CpuMap, CpuRollout
from ..compile.gpu import CudaAdjoint, CudaMap, CudaRollout
from ..compile.plant import Plant
from ..compile.program import Program
from ..core.checks import one_of, positive_step, whole
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..integrate.radau import RESIDUAL_TOLERANCE
from . import arguments
from .delay import Channels

PRECISIONS = ("float64", "float32")
DEVICES = ("cpu", "cuda")
ON_DIVERGE = ("raise", "mask", "return")
"""Result of a run in which a state diverges or a step fails: an exception, NaN from there on, or
the part before, with a warning."""


@dataclass(frozen=True)
class Settings:
    """Step, integrator, numbers and machine of everything that runs a vehicle.

    The defaults are those of `Simulator` and `Fleet`, whose docstrings explain each one. A value
    that cannot be used raises `InvalidValue`.
    """

    dt: float
    """Step in s."""
    integrator: Integrator | None
    """Method of the step; None where the step is compiled already, as in a file."""
    precision: str = "float64"
    device: str = "cpu"
    threads: int | None = None
    """Threads on the CPU; all processors if None."""
    lanes: int | None = None
    """Vehicles per instruction; chosen from the size of the program if None."""
    fast: bool = False
    substeps: int | None = None
    """Steps of the integrator within one of dt; as the model says if None."""
    on_diverge: str = "raise"

    def __post_init__(self) -> None:
        one_of("precision", self.precision, PRECISIONS)
        self._set("dt", positive_step(self.dt, self.precision))
        if self.integrator is not None and self.integrator.adaptive and self.precision != "float64":
            raise InvalidValue(f"{self.integrator.name!r} has float64 only, not {self.precision!r}")
        one_of("device", self.device, DEVICES)
        one_of("on_diverge", self.on_diverge, ON_DIVERGE)
        if self.lanes is not None:
            one_of("lanes", self.lanes, pipeline.LANES)
        if self.threads is not None:
            allowed = "at least 1, or None for all processors"
            self._set("threads", whole("threads", self.threads, allowed))
        if self.substeps is not None:
            self._set("substeps", whole("substeps", self.substeps, "at least 1"))
        if self.fast and self.device != "cuda":
            raise InvalidValue("fast = True is for device = 'cuda'; the CPU is always exact")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Self:
        """The settings with some changes, checked."""
        return dataclasses.replace(self, **changes)

    @property
    def tolerance(self) -> float:
        """Newton residual above which an implicit step is rejected; float32 cannot resolve less
        than 1e-4."""
        return RESIDUAL_TOLERANCE if self.precision == "float64" else 1e-4


RolloutEngine = CpuRollout | CudaRollout
MapEngine = CpuMap | CudaMap
AdjointEngine = CpuAdjoint | CudaAdjoint


@dataclass(frozen=True)
class Engines:
    """The engines of one plant under some settings, each made on first use."""

    plant: Plant
    settings: Settings
    inputs: str = "controls"
    """The caller's name of the inputs, for errors."""

    @cached_property
    def space(self) -> arguments.Space:
        """Device and precision of the arrays."""
        return arguments.Space.of(self.settings.device, self.settings.precision)

    @property
    def substeps(self) -> int:
        """Steps of the integrator within one of dt."""
        return self.settings.substeps or self.plant.substeps

    @cached_property
    def channels(self) -> Channels:
        """The delayed inputs."""
        return Channels.of(self.plant)

    @cached_property
    def rollout(self) -> RolloutEngine:
        """Many steps of many vehicles; delayed inputs act late."""
        return self._rollout(self.channels.fields)

    @cached_property
    def undelayed(self) -> RolloutEngine:
        """As `rollout` with inputs that act at once, also those that the model delays."""
        return self._rollout(()) if self.channels else self.rollout

    def _rollout(self, delayed: tuple[int, ...]) -> RolloutEngine:
        s = self.settings
        options: dict[str, Any] = {
            "dt": s.dt,
            "tolerance": s.tolerance,
            "precision": s.precision,
            "substeps": self.substeps,
            "delayed": delayed,
        }
        if s.device == "cuda":
            return CudaRollout(self.plant.step, fast=s.fast, **options)
        return CpuRollout(self.plant.step, lanes=s.lanes, threads=s.threads, **options)

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
