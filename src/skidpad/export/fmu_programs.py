"""The traced Programs that an FMU is made of besides the step: their derivatives, and what depends
on what."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..compile import pipeline
from ..compile.program import Program
from .exported import Exported
from .fmu_dependencies import Place, dependencies
from .fmu_derivatives import adjoint_program, tangent_program


@dataclass(frozen=True)
class Programs:
    """Traced Programs of a vehicle, each when it is asked for."""

    exported: Exported

    @property
    def exchanges(self) -> bool:
        """Whether others can integrate it: it is continuous, samples nothing at the start of a
        step, and no input acts late."""
        model = self.exported.model
        return model.continuous and model.hold is None and not model.dead_times

    @cached_property
    def outputs(self) -> Program | None:
        """The outputs of x, start, u, w, p; None of a vehicle that has none."""
        program = self.exported.plant.outputs
        return program if program.outputs[0].fields else None

    @cached_property
    def rates(self) -> Program | None:
        """The rates of x, start, u, w, p; None where only steps are offered."""
        return pipeline.derivative_program(self.exported.vehicle) if self.exchanges else None

    @cached_property
    def settle(self) -> Program | None:
        """The consistent start of x and p; None where starts are taken as they are."""
        model = self.exported.model
        if model.settle is None:
            return None
        return pipeline.settle_program(model.name, model.settle, model.State, model.Params)

    @cached_property
    def tangents(self) -> dict[str, Program]:
        """Changes by changes, by the name that they have in the source."""
        return {f"{name}_tangent": tangent_program(part) for name, part in self._parts.items()}

    @cached_property
    def adjoints(self) -> dict[str, Program]:
        """Derivatives of weighted sums, by the name that they have in the source."""
        return {f"{name}_adjoint": adjoint_program(part) for name, part in self._parts.items()}

    @property
    def _parts(self) -> dict[str, Program]:
        parts = {"outputs": self.outputs, "rates": self.rates, "settle": self.settle}
        return {name: program for name, program in parts.items() if program is not None}

    @cached_property
    def of_outputs(self) -> tuple[frozenset[Place], ...]:
        """What each output depends on."""
        return () if self.outputs is None else dependencies(self.outputs)

    @cached_property
    def of_rates(self) -> tuple[frozenset[Place], ...]:
        """What each rate depends on."""
        return () if self.rates is None else dependencies(self.rates)

    @cached_property
    def of_starts(self) -> dict[int, frozenset[Place]]:
        """The states whose start is computed, by their places, and what from."""
        if self.settle is None:
            return {}
        code, results = self.settle.code, self.settle.results[0]
        needed = dependencies(self.settle)
        taken = [(code[r].op, code[r].imm) for r in results]
        return {k: needed[k] for k, made in enumerate(taken) if made != ("input", (0, k))}
