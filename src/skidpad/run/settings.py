"""Settings of everything that runs a vehicle, in one checked record, and the resulting engines.

Only `Engines` chooses between the CPU and a GPU.

Errors of failed steps: unusable inputs, divergence, a Newton residual above its tolerance.

Simulators, fleets, worlds and reproduced programs raise the same messages.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..compile import pipeline
from ..compile.cpu import CpuAdjoint, CpuMap, CpuRollout, StepOptions
from ..compile.gpu import CudaAdjoint, CudaMap, CudaRollout
from ..compile.plant import Plant
from ..compile.program import Program
from ..core import record
from ..core.checks import one_of, positive_step, whole
from ..core.files import shown
from ..core.model import Vehicle
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged
from ..integrate.base import Integrator
from ..integrate.radau import RESIDUAL_TOLERANCE
from . import arguments
from .delay import Channels

PRECISIONS = ("float64", "float32")
DEVICES = ("cpu", "cuda")
ON_DIVERGE = ("raise", "mask", "return")
"""Result of a run in which a state diverges or a step fails.

An exception, NaN from there on, or the part before, with a warning.
"""


@dataclass(frozen=True)
class Settings:
    """Step, integrator, precision and device of everything that runs a vehicle.

    The defaults are those of `Simulator` and `Fleet`, whose docstrings explain each one. A value
    that cannot be used raises `InvalidValue`.
    """

    dt: float
    """Step in s."""
    integrator: Integrator | None
    """Integration method; None if the step is compiled already, as in a file."""
    precision: str = "float64"
    device: str = "cpu"
    threads: int | None = None
    """Number of threads on the CPU; all processors if None."""
    lanes: int | None = None
    """Vehicles per instruction; chosen from the size of the program if None."""
    fast: bool = False
    substeps: int | None = None
    """Steps of the integrator within one step of dt; the model's default if None."""
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
        """Return the settings with some changes, checked."""
        return dataclasses.replace(self, **changes)

    @property
    def tolerance(self) -> float:
        """Newton residual above which an implicit step is rejected.

        For float64 it is `RESIDUAL_TOLERANCE`; for float32, which cannot resolve less, 1e-4.
        """
        return RESIDUAL_TOLERANCE if self.precision == "float64" else 1e-4


RolloutEngine = CpuRollout | CudaRollout
MapEngine = CpuMap | CudaMap
AdjointEngine = CpuAdjoint | CudaAdjoint


@dataclass(frozen=True)
class Engines:
    """The engines of one plant with some settings, each created on first use."""

    plant: Plant
    settings: Settings
    inputs: str = "controls"
    """The caller's name of the inputs, for errors."""

    @cached_property
    def space(self) -> arguments.Space:
        return arguments.Space.of(self.settings.device, self.settings.precision)

    @property
    def substeps(self) -> int:
        return self.settings.substeps or self.plant.substeps

    @cached_property
    def channels(self) -> Channels:
        return Channels.of(self.plant)

    @cached_property
    def rollout(self) -> RolloutEngine:
        """Engine for many steps of many vehicles, with delayed inputs."""
        return self._rollout(self.channels.fields)

    @cached_property
    def undelayed(self) -> RolloutEngine:
        """As `rollout`, but all inputs take effect at once, also those that the model delays."""
        return self._rollout(()) if self.channels else self.rollout

    def _rollout(self, delayed: tuple[int, ...]) -> RolloutEngine:
        s = self.settings
        options = StepOptions(s.dt, s.tolerance, s.precision, self.substeps, delayed)
        if s.device == "cuda":
            return CudaRollout(self.plant.step, options, fast=s.fast)
        return CpuRollout(self.plant.step, options, s.lanes, s.threads)

    def map(self, program: Program) -> MapEngine:
        """Engine that evaluates a Program once per vehicle."""
        s = self.settings
        if s.device == "cuda":
            return CudaMap(program, s.precision)
        return CpuMap(program, s.precision, s.threads)

    @cached_property
    def outputs(self) -> CpuMap:
        """Engine for the outputs of the plant, on the CPU even for a GPU."""
        return CpuMap(self.plant.outputs, self.settings.precision, self.settings.threads)

    def adjoint(self, program: Program) -> AdjointEngine:
        """Engine that runs an adjoint Program backwards over a rollout."""
        s = self.settings
        if self.substeps != 1:
            raise InvalidValue(f"gradients need substeps = 1, this fleet has {self.substeps}")
        if s.device == "cuda":
            return CudaAdjoint(program, dt=s.dt, precision=s.precision)
        return CpuAdjoint(program, dt=s.dt, precision=s.precision, threads=s.threads)


def not_numbers(kind: type, row: Any) -> InvalidValue:
    """The error for a row of inputs that are not all finite numbers, one per field."""
    names = record.names(kind)
    if len(row) != len(names):
        return InvalidValue(
            f"Input takes {len(names)} numbers ({', '.join(names)}), got {len(row)}"
        )
    for name, value in zip(names, row, strict=True):
        try:
            finite = bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            finite = None
        if finite is None or isinstance(value, str):
            return InvalidValue(f"Input.{name} = {shown(value)} must be a number")
        if not finite:
            return InvalidValue(f"Input.{name} = {value} must be finite")
    return InvalidValue(f"Input {row!r} cannot be used: a value is too large for the precision")


def foreign_snapshot() -> InvalidValue:
    """The error for a snapshot of another simulator."""
    return InvalidValue(
        "this snapshot is not of this simulator: vehicle, parameters, dt, integrator and precision "
        "must be the same"
    )


AT_THE_END = 0.9
"""Fraction of a validity limit above which the last finite state counts as at the limit."""


def cause_of_end(vehicle: Vehicle | None, state: Any) -> str:
    """Reason why a vehicle diverged at the validity limit of its equations; empty if it did not."""
    for name, (size, what) in () if vehicle is None else vehicle.model.ends.items():
        value = getattr(state, name, 0.0)
        if abs(value) > AT_THE_END * size:
            return f"The vehicle {what}: {name} = {value:.3g}; its equations end at {size:g}"
    return ""


def diverged(time: float, state: Any, vehicle: Vehicle | None = None) -> SimulationDiverged:
    """The error for a step from `time` in s that ends in a state that is not finite."""
    why = cause_of_end(vehicle, state)
    return SimulationDiverged(
        f"the state became NaN or infinite in the step from t = {time:g} s; the last finite state "
        f"is {state}. {why or 'Take a smaller dt or an implicit integrator'}",
        time=time,
        last_state=state,
    )


def not_converged(time: float, residual: float, tolerance: float, dt: float) -> StepNotConverged:
    """The error for an implicit step of dt from `time`, both in s, that did not converge."""
    return StepNotConverged(
        f"the step from t = {time:g} s left a Newton residual of {residual:.3g}; allowed is "
        f"{tolerance:g}. Take a smaller dt than {dt:g} s",
        time=time,
        residual=residual,
    )
