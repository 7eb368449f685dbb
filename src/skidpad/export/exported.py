"""What every export is made from: a vehicle, how it is stepped, and its Programs, lowered.

A step of an export is that of `Simulator`: the Programs are the same, in the order of the
scheduler, so whoever writes them down operation by operation has its bits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from ..brief import brief_repr, shortened
from ..checks import vehicle_of
from ..compile import pipeline
from ..compile.held_calls import with_held_parts
from ..compile.lower import lower
from ..compile.plant import Plant
from ..compile.program import Program
from ..compile.schedule import scheduled
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..model import Model, Vehicle
from ..run.settings import Settings
from ..run.stability import chosen
from ..units import s
from .c_words import LONGEST, is_reserved_name

__all__ = ["Exported", "exported"]


@dataclass(frozen=True)
class Exported:
    """A vehicle as it is exported. Programs are lowered and scheduled, each when it is asked for.

    Made by `exported`.
    """

    vehicle: Vehicle
    name: str
    """What it is called in the other language: a name in C and of a file."""
    settings: Settings
    """Step, integrator, precision, as of the `Simulator` that it is to agree with."""

    __repr__ = brief_repr

    @property
    def model(self) -> Model:
        """The equations."""
        return self.vehicle.model

    @property
    def method(self) -> Integrator:
        """How a step is made."""
        assert self.settings.integrator is not None
        return self.settings.integrator

    @property
    def dt(self) -> s:
        """Step; `substeps` of the integrator lie within it."""
        return self.settings.dt

    @property
    def substeps(self) -> int:
        """Steps of the integrator within one of dt."""
        return self.settings.substeps or self.model.substeps

    @property
    def precision(self) -> str:
        """Of its numbers, "float64" or "float32"."""
        return self.settings.precision

    @cached_property
    def plant(self) -> Plant:
        """The vehicle as traced Programs."""
        return Plant.of(self.vehicle, self.method)

    @cached_property
    def step(self) -> Program:
        """One sub-step: x, u, w, p, dt, start to x and residual; see `pipeline.step_program`."""
        return self.finished(self.plant.step)

    @cached_property
    def outputs(self) -> Program:
        """The outputs y of x, start, u, w, p; `u` is the input that acted in the last step."""
        return self.finished(self.plant.outputs)

    @cached_property
    def settle(self) -> Program | None:
        """What makes a start consistent, x and p to x; None where nothing depends on the rest."""
        model = self.model
        if model.settle is None:
            return None
        return self.finished(
            pipeline.settle_program(model.name, model.settle, model.State, model.Params)
        )

    @cached_property
    def derivative(self) -> Program | None:
        """The rates of x, of x, start, u, w, p; None for a model that is not continuous or samples
        at the start of a step (`Model.hold`)."""
        if not self.model.continuous or self.model.hold is not None:
            return None
        return self.finished(pipeline.derivative_program(self.vehicle))

    def finished(self, traced: Program) -> Program:
        """A traced Program as it is emitted: lowered, split at what is held, in order."""
        return scheduled(with_held_parts(lower(traced, self.precision)))


def exported(
    vehicle: Vehicle,
    dt: s = 0.01,
    integrator: str | Integrator = "auto",
    *,
    name: str | None = None,
    precision: str = "float64",
    substeps: int | None = None,
) -> Exported:
    """A vehicle ready to be exported, stepped as `Simulator` with the same arguments steps it.

    `name` is what it is called in the other language, by default that of the vehicle.
    """
    vehicle = vehicle_of(vehicle)
    settings = Settings(dt, None, precision, threads=1, substeps=substeps)
    method = chosen(vehicle, integrator, settings.dt, settings.substeps)
    if method.adaptive:
        raise InvalidValue(
            f"integrator = {method.name!r} chooses its own steps and cannot be exported; "
            "allowed are those of skidpad, as rk4 and radau"
        )
    return Exported(vehicle, _identifier(name, vehicle), settings.replace(integrator=method))


def _identifier(name: str | None, vehicle: Vehicle) -> str:
    """A name in C: the one that is asked for, or one like that of the vehicle."""
    if name is None:
        name = re.sub(r"\W+", "_", vehicle.name, flags=re.ASCII).strip("_")
        name = name if name[:1].isalpha() else f"car_{name}"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > LONGEST:
        raise InvalidValue(
            f"name = {shortened(name, 80)!r} is not a name in C; allowed are letters, digits and "
            f"_, a letter first, at most {LONGEST}"
        )
    if is_reserved_name(name):
        raise InvalidValue(f"name = {name!r} means something else in C or C++; take another")
    return name
