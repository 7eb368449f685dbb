"""Fleet: simulate many vehicles at once, with every state in registers from start to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self

import numpy as np

from ..compile.closed_loop import policy_of
from ..compile.cpu import CpuRollout
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray
from ..core.checks import whole
from ..core.model import P, U, Vehicle, W, X, Y, vehicle_of
from ..core.policy import Cost, Policy
from ..core.progress import Choice
from ..core.threads import alone
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator
from .gradient import WRT, Derivatives, Gradient, Jacobian, saved_cost
from .runner import Callers, Rollout, Runner, Settings
from .stability import check_plant, choose_integrator, stable_steps

if TYPE_CHECKING:
    from ..random.model import UncertaintyModel
    from .monte_carlo import MonteCarlo

_MADE_FROM_RUNNER = frozenset(["_runner", "_derivatives", "__orig_class__"])
"""Attributes that are not pickled.

Such attributes are derived from the fleet's runner, or are an annotation of `typing` on record
classes, which need not be picklable.
"""


class Fleet(Generic[X, U, P, Y, W]):
    """Simulates many copies of a vehicle in lanes of SIMD instructions and in threads.

    A vehicle's result has the same bits whatever the lane width, the number of threads and the
    other vehicles in the batch, and the same bits as in a `Simulator` of the same precision.

    Args:
        vehicle: what to simulate; its parameters are the default for every vehicle of a rollout.
        dt: step in s.
        integrator: "auto", "rk4", "radau", ...; see `Simulator` and `skidpad.integrate.names()`.
        precision: "float64" or "float32".
        device: "cpu", or "cuda" for an NVIDIA GPU (needs CuPy). On the GPU arrays may be NumPy,
            CuPy or anything with DLPack; the result is on the GPU if any of them is.
        threads: number of threads; all processors if None.
        on_diverge: "raise" names the vehicles whose state became NaN or infinite; "mask" returns
            NaN for them from the first sample that is not finite and continues with the others;
            "return" returns the samples before the first of them failed, with a warning.
        lanes: vehicles per instruction (1, 4, 8, 16 or 32); chosen from the size of the program
            if None.
        fast: on the GPU, use its own elementary functions and contract products with sums. Faster,
            but no longer the bits of the CPU; see docs/fleet.md for the size of the difference.
        substeps: steps of the integrator within one step of dt, over which the input and the values
            that the model samples (`Model.hold`) stay constant; by default the model's, mostly 1.
    """

    def __init__(
        self,
        vehicle: Vehicle[X, U, P, Y, W],
        dt: float,
        integrator: str | Integrator = "auto",
        *,
        precision: str = "float64",
        device: str = "cpu",
        threads: int | None = None,
        on_diverge: str = "raise",
        lanes: int | None = None,
        fast: bool = False,
        substeps: int | None = None,
    ) -> None:
        settings = Settings(dt, None, precision, device, threads, lanes, fast, substeps, on_diverge)
        vehicle = vehicle_of(vehicle)
        method = compiled_integrator(
            choose_integrator(vehicle, integrator, settings.dt, settings.substeps)
        )
        self._use(Runner(Plant.of(vehicle, method), settings.replace(integrator=method)))

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
        """Load a fleet from a file written by `save`; needs no CasADi.

        `dt` in s defaults to the saved one; the other arguments are those of `Fleet`.
        """
        plant, saved_dt = Plant.load(path)
        step = saved_dt if dt is None else dt
        settings = Settings(
            step, None, precision, device, threads, lanes, fast, substeps, on_diverge
        )
        check_plant(plant, settings.dt, settings.substeps or plant.substeps)
        return cls._of(Runner(plant, settings))

    @classmethod
    def _of(cls, runner: Runner) -> Self:
        fleet = cls.__new__(cls)
        fleet._use(runner)
        return fleet

    def _use(self, runner: Runner) -> None:
        self._runner = runner

    def __getstate__(self) -> dict[str, Any]:
        """Pickle or copy the plant and the settings."""
        kept = {name: value for name, value in vars(self).items() if name not in _MADE_FROM_RUNNER}
        return {**kept, "_runner": (self.plant, self._runner.settings)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        runner = Runner(*state.pop("_runner"))
        vars(self).update(state)
        self._use(runner)

    def __repr__(self) -> str:
        vehicle = self.plant.name if self.plant.vehicle is None else repr(self.plant.vehicle)
        within = f" in {self.substeps} sub-steps" if self.substeps > 1 else ""
        how = f"{self.plant.integrator}, dt = {self.dt:g} s{within}, {self.precision}"
        return f"<Fleet of {vehicle}: {how}, on {self.device}>"

    def save(self, path: str | Path, *, cost: Any = None) -> None:
        """Write vehicle, parameters, integrator and dt to one portable file; see `load`.

        With a cost, the loaded fleet can also compute its gradient.
        """
        programs = None if cost is None else saved_cost(self.plant, cost)
        plant = self.plant
        if plant.vehicle is not None and plant.method is not None:
            plant = replace(plant, stable_steps=stable_steps(plant.vehicle, plant.method))
        plant.save(path, dt=self.dt, cost=programs)

    @property
    def plant(self) -> Plant:
        """The compiled vehicle: its records, parameters and Programs."""
        return self._runner.plant

    @property
    def dt(self) -> float:
        """Step in s."""
        return self._runner.settings.dt

    @property
    def precision(self) -> str:
        """Floating-point precision, "float64" or "float32"."""
        return self._runner.settings.precision

    @property
    def device(self) -> str:
        """Device of the fleet, "cpu" or "cuda"."""
        return self._runner.settings.device

    @property
    def on_diverge(self) -> str:
        """Treatment of vehicles that diverge: "raise", "mask" or "return"."""
        return self._runner.settings.on_diverge

    @property
    def substeps(self) -> int:
        """Number of integrator steps within one step of dt."""
        return self._runner.engines.substeps

    @property
    def vehicle(self) -> Vehicle[X, U, P, Y, W]:
        """The vehicle of the fleet.

        Raises for a fleet from a file or a closed loop, which has no model.
        """
        if self.plant.vehicle is None:
            origin = "was loaded" if policy_of(self.plant) is None else "is a closed loop"
            raise InvalidValue(f"this fleet of {self.plant.name!r} {origin}: it has no model")
        return self.plant.vehicle

    def closed_loop(self, policy: Policy) -> Self:
        """Return a fleet of this vehicle in closed loop with a policy, compiled into one.

        Its inputs are the policy's references. After the vehicle's own fields its states contain
        the policy's memory (`memory.integral`), its parameters those of the policy (`policy.k_p`)
        and its outputs the commands (`command.steer`). It can be saved, and loaded elsewhere.
        Policies that differ in parameters only share the compiled code.
        """
        return self._of(self._runner.closed_loop(policy))

    @property
    def lanes(self) -> int:
        """Vehicles per instruction; 1 on a GPU, where each vehicle has a thread."""
        return self._runner.engines.rollout.lanes

    @property
    def threads(self) -> int:
        """Number of threads of a rollout on the CPU."""
        engine = self._runner.engines.rollout
        return engine.threads if isinstance(engine, CpuRollout) else 1

    def rollout(
        self,
        x0: Any,
        controls: Any = None,
        *,
        every: int = 1,
        steps: int | None = None,
        dt: Any = None,
        params: Any = None,
        disturbances: Any = None,
        layout: str = "aos",
        policy: Policy | None = None,
        memory: Any = None,
        policy_params: Any = None,
        return_memory: bool = False,
        pending: Any = None,
        return_pending: bool = False,
        progress: Choice = None,
    ) -> Any:
        """Simulate all vehicles; returns their states at the start and after every `every` steps.

        Args:
            x0: start states (B, nx), or one state for all.
            controls: inputs (T, B, nu), one row per step, or (B, nu) held; a record or mapping
                of names is held by all vehicles. T sets the number of steps; held controls need
                `steps`.
            every: steps between samples; must divide the number of steps.
            steps: number of steps, for held controls.
            dt: length of each step in s, (T,), where they differ; the fleet's own if None.
            params: parameters that differ between vehicles: (B, np), or a mapping of names to (B,).
            disturbances: like `controls`, for the model's Disturbance record.
            layout: "aos" as above, or "soa" with the vehicle last in x0, controls, disturbances and
                the result: (nx, B), (T, nu, B), ...
            policy: policy that drives the vehicles; `controls` are then its references.
            memory: the policy's memory at the start, (B, nm), a record or a mapping; its defaults
                if None.
            policy_params: like `params`, for the policy's parameters.
            return_memory: return the memory too, sampled like the states.
            pending: for models with dead time, the commands that have not taken effect yet, oldest
                first, (rows, B, nu) or (rows, nu, B). The defaults of the inputs if None.
            return_pending: return the queue after the last step too, for the next rollout.
            progress: how to report progress: None, True, False or a function, see
                `skidpad.core.progress`.

        Returns:
            (steps / every + 1, B, nx) in the precision of the fleet, or (..., nx, B) for "soa";
            with `return_memory` a pair of such arrays, states and memory; with `return_pending`
            states and queue.
        """
        rollout = Rollout(
            Callers(x0, controls, params, disturbances),
            policy,
            memory,
            policy_params,
            return_memory,
            every,
            steps,
            dt,
            layout,
            pending,
            return_pending,
        )
        return rollout.states(self._runner, progress)

    def gradient(
        self,
        x0: Any,
        controls: Any,
        cost: Any = None,
        *,
        steps: int | None = None,
        params: Any = None,
        disturbances: Any = None,
        references: Any = None,
        wrt: Any = WRT,
        progress: Choice = None,
    ) -> tuple[Any, Gradient]:
        """Return the cost of every vehicle's rollout and its exact derivatives (discrete adjoint).

        Args:
            x0, controls, steps, params, disturbances: as in `rollout`.
            cost: a `skidpad.Cost`, or a function: of `x` and `u` as stage cost, of `x` alone as
                terminal cost. A loaded fleet uses the cost it was saved with.
            references: the argument `r` of the cost at each step and at the end,
                (T + 1, B or 1, nr), or one record held.
            wrt: which derivatives to compute, of "x0", "controls" and "params".
            progress: as in `rollout`.

        Returns:
            The cost (B,), and a `Gradient` with fields `x0` (B, nx), `controls` (shaped like the
            argument) and `params` (B, np).
        """
        cost = self.plant.saved_cost if cost is None else Cost.of(cost)
        if cost is None:
            raise InvalidValue("gradient needs a cost: a skidpad.Cost or a function of x and u")
        callers = Callers(x0, controls, params, disturbances)
        return self._derivatives.gradient(callers, steps, cost, references, wrt, progress)

    def vjp(
        self,
        x0: Any,
        controls: Any,
        cotangents: Any,
        *,
        every: int = 1,
        steps: int | None = None,
        params: Any = None,
        disturbances: Any = None,
        wrt: Any = WRT,
    ) -> Gradient:
        """Derivatives of the sum of `cotangents` times the samples that `rollout` returns.

        `cotangents` has the shape of the result of `rollout` with the same arguments.
        """
        callers = Callers(x0, controls, params, disturbances)
        return self._derivatives.vjp(callers, steps, every, cotangents, wrt)

    def jacobian(
        self,
        x0: Any,
        controls: Any,
        *,
        steps: int | None = None,
        params: Any = None,
        disturbances: Any = None,
    ) -> Jacobian:
        """Derivatives of the last states with respect to x0, controls and params; for small fleets.

        Every vehicle is run once per state, so memory and time grow with nx.
        """
        return self._derivatives.jacobian(Callers(x0, controls, params, disturbances), steps)

    @cached_property
    def _derivatives(self) -> Derivatives:
        return Derivatives(self._runner)

    def monte_carlo(
        self,
        x0: Any,
        controls: Any = None,
        *,
        runs: int | Sequence[int],
        disturbance: UncertaintyModel | None = None,
        noise: UncertaintyModel | None = None,
        policy: Policy | None = None,
        seed: int = 0,
        steps: int | None = None,
        duration: float | None = None,
        params: Mapping[str, Any] | None = None,
        policy_params: Mapping[str, Any] | None = None,
        quantities: Any = None,
        events: Mapping[str, Any] | None = None,
        quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
        confidence: float | Sequence[float] = (0.9, 0.95, 0.99),
        progress: Choice = None,
    ) -> MonteCarlo:
        """Run a Monte Carlo simulation, with new random disturbances at every step of dt.

        Args:
            x0: one start state, (runs, nx), or an `UncertaintyModel` to sample them from.
            controls: one input held, a table (T, nu) for all runs, or (T, runs, nu); with a policy,
                its references.
            runs: number of runs, or the numbers of selected runs: each run has the same bits in any
                selection as among all runs.
            disturbance: distribution of the model's Disturbance record; neutral if None.
            noise: distribution of the noise added to the state passed to the policy, one number per
                state.
            policy: policy that drives the vehicles.
            seed: of all random numbers; run k has the seed `(seed << 32) + k`.
            steps, duration: length of a run, in steps or in s.
            params, policy_params: by name: a number, (runs,), or an `UncertaintyModel` of one.
            quantities: names of states, or functions of the state record by name, whose bands
                and extremes are recorded; all states if None.
            events: functions of the state record by name that return whether an event happens.
            quantiles: levels of the quantiles to record, from 0 to 1.
            confidence: levels of the confidence intervals of these quantiles, one or several.
            progress: as in `rollout`, in steps of all runs.

        Returns:
            A `MonteCarlo`: bands, probabilities with confidence intervals, worst cases with their
            seeds, and `replay` for any of them.
        """
        mc, runner, plant = alone(_monte_carlo), self._runner, self.plant
        numbers = mc.run_numbers(runs)
        inputs = mc.input_rows(
            runner, plant.Input if policy is None else policy.Reference, controls
        )
        driven = runner
        if policy is not None:
            driven = runner.loop(policy if noise is None else mc.noisy(policy, plant.State))
        elif noise is not None:
            raise InvalidValue("noise acts on the measurement of a policy: give policy=")
        experiment = mc.Experiment(
            runner=driven,
            vehicle_states=record.size(plant.State),
            steps=mc.step_count(self.dt, steps, duration, inputs),
            seed=whole("seed", seed, "not negative", least=0, most=None),
            start=mc.start_of(runner, x0),
            memory=np.array(record.flatten(record.build(policy.Memory)) if policy else ()),
            inputs=inputs,
            params=mc.parameters_of(plant, params, policy, policy_params),
            disturbance=mc.disturbance_of(plant, disturbance),
            noise=mc.noise_of(plant, noise),
        )
        tally = mc.Tally(
            plant.State,
            mc.quantities_of(plant.State, quantities),
            mc.events_of(events),
            mc.levels_of("quantiles", quantiles),
            experiment.steps + 1,
            len(numbers),
            mc.levels_of("confidence", confidence).tolist(),
        )
        return mc.MonteCarlo(experiment, numbers, tally).run(progress)

    def as_torch(self) -> Any:
        """Return the rollout as a differentiable function of PyTorch tensors.

        See `skidpad.run.gradient.as_torch` for its arguments.
        """
        from .gradient import as_torch

        return as_torch(self)

    def outputs(
        self,
        x: Any,
        controls: Any = None,
        *,
        start: Any = None,
        params: Any = None,
        disturbances: Any = None,
    ) -> AnyArray:
        """Return the outputs (..., B, ny) at states (..., B, nx).

        The inputs have the same shape or are held. `start` are the states at the start of the step
        that led to `x`; they matter only for models that sample their input there (`Model.hold`),
        and default to `x`. `params` as in `rollout`. States may be NaN if the fleet masks vehicles
        that diverge.
        """
        return self._runner.outputs(x, controls, start, params, disturbances)


def _monte_carlo() -> Any:
    # Imported here, as it needs numba, which rollouts do not; an interrupt must not leave the
    # import half done.
    from . import monte_carlo

    return monte_carlo
