"""What a fleet is made of: a plant, the engines that run it and the files it goes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from ..checks import PRECISIONS, made, must_be_policy, one_of, positive_step, substeps_of, whole
from ..compile import pipeline
from ..compile.closed_loop import closed_loop, policy_of
from ..compile.cpu import CpuMap, CpuRollout
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator
from ..model import Vehicle
from ..policy import Policy
from . import batch
from .engines import Engines
from .gradient import saved_cost
from .rollouts import Rollouts


class Compiled:
    """A vehicle compiled for many at once, alone or with its policy; `Fleet` is what runs it.

    The arguments are those of `Fleet`.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float,
        integrator: str | Integrator = "rk4",
        *,
        precision: str = "float64",
        device: str = "cpu",
        threads: int | None = None,
        on_diverge: str = "raise",
        lanes: int | None = None,
        fast: bool = False,
        substeps: int | None = None,
    ) -> None:
        method = compiled_integrator(integrator)
        one_of("precision", precision, PRECISIONS)
        dt = positive_step(dt, precision)
        plant = Plant.of(made(vehicle), method)
        self._set_up(plant, dt, precision, device, threads, on_diverge, lanes, fast, substeps)

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        dt: float | None = None,
        precision: str = "float64",
        device: str = "cpu",
        threads: int | None = None,
        on_diverge: str = "raise",
        lanes: int | None = None,
        fast: bool = False,
        substeps: int | None = None,
    ) -> Self:
        """A fleet of the vehicle in a file that `save` wrote; needs no CasADi. `dt` as saved."""
        plant, saved_dt = Plant.load(path)
        fleet = cls.__new__(cls)
        one_of("precision", precision, PRECISIONS)
        step = positive_step(saved_dt if dt is None else dt, precision)
        fleet._set_up(plant, step, precision, device, threads, on_diverge, lanes, fast, substeps)
        return fleet

    def save(self, path: str | Path, *, cost: Any = None) -> None:
        """Write vehicle, parameters, integrator and dt to one portable file; see `load`.

        With a cost, the loaded fleet can also compute its gradient.
        """
        if cost is not None:
            self._must_be_open("a cost")
        programs = None if cost is None else saved_cost(self.plant, cost)
        self.plant.save(path, dt=self.dt, cost=programs)

    def _set_up(
        self,
        plant: Plant,
        dt: float,
        precision: str,
        device: str,
        threads: int | None,
        on_diverge: str,
        lanes: int | None,
        fast: bool,
        substeps: int | None,
    ) -> None:
        one_of("device", device, batch.DEVICES)
        one_of("on_diverge", on_diverge, ("raise", "mask"))
        if lanes is not None:
            one_of("lanes", lanes, pipeline.LANES)
        if threads is not None:
            threads = whole("threads", threads, "at least 1, or None for all processors")
        self.plant, self.dt, self.precision = plant, dt, precision
        self.device, self.on_diverge = device, on_diverge
        self.substeps = substeps_of(plant.substeps, substeps)
        if policy_of(plant) is not None and self.substeps != plant.substeps:
            raise InvalidValue(
                f"substeps = {substeps}, but {plant.name!r} was compiled with a command every "
                f"{plant.substeps}; give them to the fleet that `closed_loop` is called on"
            )
        self._engines = Engines(plant, dt, precision, device, threads, lanes, fast, self.substeps)
        self._space = self._engines.space
        self._inputs = "controls" if policy_of(plant) is None else "references"
        self._rollouts = Rollouts(self._engines, self._inputs, mask=on_diverge == "mask")
        self._outputs: CpuMap | None = None
        self._loops: dict[Any, Self] = {}

    @property
    def vehicle(self) -> Vehicle:
        """The vehicle of the fleet; one that was loaded from a file or is a closed loop has
        none."""
        if self.plant.vehicle is None:
            made_by = "was loaded" if policy_of(self.plant) is None else "is a closed loop"
            raise InvalidValue(f"this fleet of {self.plant.name!r} {made_by}: it has no model")
        return self.plant.vehicle

    def closed_loop(self, policy: Policy) -> Self:
        """A fleet of this vehicle with its driver, compiled into one.

        Its inputs are the policy's references. Behind the vehicle's own fields its states have
        the policy's memory (`memory.integral`), its parameters those of the policy (`policy.k_p`)
        and its outputs the commands (`command.steer`). It can be saved, and loaded elsewhere.
        """
        must_be_policy(policy)
        if self._engines.channels:
            raise InvalidValue(
                f"{self.plant.name!r} has dead time, which a policy compiled into the loop cannot "
                "have; step the rollouts one command at a time and pass `pending` on"
            )
        method = self.plant.method
        if method is None:
            raise InvalidValue(
                f"{self.plant.name!r} was loaded from a file or is a closed loop: a policy can "
                "only be compiled with a model; make the closed loop first and save that"
            )
        plant = closed_loop(self.vehicle, method, policy, self.substeps)
        e, fleet = self._engines, type(self).__new__(type(self))
        fleet._set_up(
            plant,
            e.dt,
            e.precision,
            e.device,
            e.threads,
            self.on_diverge,
            e.lanes,
            e.fast,
            self.substeps,
        )
        return fleet

    def loop(self, policy: Policy) -> Self:
        """The closed loop with a policy, compiled once whatever the policy's parameters."""
        must_be_policy(policy)
        code = (policy.act, policy.Memory, policy.Reference, policy.Params, policy.name)
        if code not in self._loops:
            self._loops[code] = self.closed_loop(policy)
        return self._loops[code]

    def _must_be_open(self, what: str) -> None:
        if policy_of(self.plant) is not None:
            raise InvalidValue(
                f"{what} needs derivatives, which {self.plant.name!r} does not have: gradients "
                "are of open loops only, with respect to their controls"
            )

    @property
    def lanes(self) -> int:
        """Vehicles per instruction; 1 on a GPU, where each has a thread."""
        return self._engines.rollout.lanes

    @property
    def threads(self) -> int:
        """Threads a rollout uses on the CPU."""
        engine = self._engines.rollout
        return engine.threads if isinstance(engine, CpuRollout) else 1
