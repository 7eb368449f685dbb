"""Fleet: many vehicles at once. A rollout keeps every state in registers from start to end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import one_of, steps_of, whole
from ..compile.cpu import CpuMap
from ..cost import Cost
from ..errors import InvalidValue
from ..extension import outer
from ..policy import Policy
from . import batch
from . import delay as dead_time
from .compiled_fleet import Compiled
from .derivatives import Derivatives
from .gradient import WRT, Gradient, Jacobian, asked
from .loop_arguments import Arguments, joined
from .rollouts import no_dead_time

if TYPE_CHECKING:
    from ..random import UncertaintyModel


class Fleet(Compiled):
    """Simulates many copies of a vehicle in lanes of SIMD instructions and in threads.

    A vehicle's result has the same bits whatever the lane width, the number of threads and the
    other vehicles in the batch, and the same bits as in a `Simulator` of the same precision.

    Args:
        vehicle: what to simulate; its parameters are the default for every vehicle of a rollout.
        dt: step in s.
        integrator: "rk4", "radau", ...; see `skidpad.integrate.names()`.
        precision: "float64" or "float32".
        device: "cpu", or "cuda" for an NVIDIA GPU (needs CuPy). On the GPU arrays may be NumPy,
            CuPy or anything with DLPack; the result is on the GPU if any of them is.
        threads: threads to use; all processors if None.
        on_diverge: "raise" names the vehicles whose state became NaN or infinite; "mask" returns
            NaN for them from the first sample that is not finite and carries on with the others.
        lanes: vehicles per instruction (1, 4, 8, 16 or 32); chosen from the size of the program
            if None.
        fast: on the GPU, use its own elementary functions and contract products with sums. Faster,
            and no longer the bits of the CPU; see docs/gpu.md for how far off.
        substeps: steps of the integrator within one step of dt, over which the input and what the
            model samples (`Model.hold`) stay constant; as the model says if None, mostly 1.
    """

    def rollout(
        self,
        x0: Any,
        controls: Any = None,
        *,
        every: int = 1,
        steps: int | None = None,
        params: Any = None,
        disturbances: Any = None,
        layout: str = "aos",
        policy: Policy | None = None,
        memory: Any = None,
        policy_params: Any = None,
        return_memory: bool = False,
        pending: Any = None,
        return_pending: bool = False,
    ) -> Any:
        """States of all vehicles at the start and then after every `every` steps.

        Args:
            x0: start states (B, nx), or one state for all.
            controls: inputs (T, B, nu), one row per step, or (B, nu) held; a record or mapping
                of names is held by all vehicles. T sets the number of steps; held controls need
                `steps`.
            every: steps between samples; must divide the number of steps.
            params: parameters that differ between vehicles: (B, np), or a mapping of names to (B,).
            disturbances: like `controls`, for the model's Disturbance record.
            layout: "aos" as above, or "soa" with the vehicle last in x0, controls, disturbances and
                the result: (nx, B), (T, nu, B), ...
            policy: what drives the vehicles; `controls` are then its references.
            memory: what the policy remembers at the start, (B, nm), a record or a mapping; its
                defaults if None.
            policy_params: like `params`, for the policy's parameters.
            return_memory: return the memory too, sampled like the states.
            pending: commands before the first ones, oldest first, (rows, B, nu) or (rows, nu, B):
                what a model with dead time has been commanded and has not felt yet. Its inputs'
                defaults if None.
            return_pending: return the queue after the last step too, for the next rollout.

        Returns:
            (steps / every + 1, B, nx) in the precision of the fleet, or (..., nx, B) for "soa";
            with `return_memory` a pair of such arrays, states and memory; with `return_pending`
            states and queue.
        """
        one_of("layout", layout, batch.LAYOUTS)
        if policy is None:
            if memory is not None or policy_params is not None or return_memory:
                raise InvalidValue("memory, policy_params and return_memory go with a policy=")
            runner = self._rollouts
            given = runner.given(x0, controls, params, disturbances, layout)
        else:
            runner = self.loop(policy)._rollouts
            arguments = Arguments(x0, controls, params, disturbances, memory, policy_params)
            given = joined(self.plant, policy, arguments, self._space, layout)
        total = steps_of(steps, controls, disturbances)
        every = whole("every", every, f"at least 1 and divide the {total} steps")
        if total % every:
            raise InvalidValue(f"every = {every} must be at least 1 and divide the {total} steps")
        late = self._rollouts.late(given, pending, layout)
        if late is None and return_pending:
            raise no_dead_time(self.plant.name)
        out = runner.samples(given, total, every, layout, late)
        nx = record.size(self.plant.State)
        callers = (x0, controls, params, disturbances)
        states = self._handed(out[..., :nx], layout, *callers)
        if late is not None and return_pending:
            queue = dead_time.pending_after(given.u, late, total, self._space)
            return states, self._handed(queue, layout, *callers)
        return (states, self._handed(out[..., nx:], layout, *callers)) if return_memory else states

    def _handed(self, samples: AnyArray, layout: str, *given: Any) -> Any:
        """Samples (sample, vehicle, field) in the layout and the place that the caller wants."""
        samples = samples if layout == "aos" else np.swapaxes(samples, -1, -2)
        if self.device == "cuda":  # not every library takes an array with gaps
            samples = self._space.xp.ascontiguousarray(samples)
        return batch.returned(samples, self._space, *given)

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
    ) -> tuple[Any, Gradient]:
        """Cost of every vehicle's rollout and its exact derivatives, by the discrete adjoint.

        Args:
            x0, controls, steps, params, disturbances: as in `rollout`.
            cost: a `skidpad.Cost`, or a function: of `x` and `u` as stage cost, of `x` alone as
                terminal cost. A fleet that was loaded uses the cost it was saved with.
            references: what the cost sees as `r` at each step and at the end, (T + 1, B or 1, nr),
                or one record held.
            wrt: which derivatives to compute, of "x0", "controls" and "params".

        Returns:
            The cost (B,), and a `Gradient` with fields `x0` (B, nx), `controls` (as given) and
            `params` (B, np).
        """
        names = asked(wrt)
        cost = self.plant.saved_cost if cost is None else Cost.of(cost)
        if cost is None:
            raise InvalidValue("gradient needs a cost: a skidpad.Cost or a function of x and u")
        given = self._rollouts.given(x0, controls, params, disturbances)
        total = steps_of(steps, controls, disturbances)
        found = self._derivatives.gradient(given, controls, total, cost, references, names)
        value, gradient = self._back(found, x0, controls, params)
        return value, gradient

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
        names = asked(wrt)
        given = self._rollouts.given(x0, controls, params, disturbances)
        total = steps_of(steps, controls, disturbances)
        found = self._derivatives.vjp(given, controls, total, every, cotangents, names)
        return self._back([found], x0, controls, params)[0]

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
        given = self._rollouts.given(x0, controls, params, disturbances)
        total = steps_of(steps, controls, disturbances)
        found = self._derivatives.jacobian(given, controls, total)
        return self._back([found], x0, controls, params)[0]

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
    ) -> Any:
        """Many runs, each with disturbances drawn anew at every step of dt.

        Args:
            x0: one start state, (runs, nx), or an `UncertaintyModel` to draw them from.
            controls: one input held, a table (T, nu) for all runs, or (T, runs, nu); with a policy,
                its references.
            runs: how many, or the numbers of those wanted: any part of the runs gives the bits that
                it has among all of them.
            disturbance: what the model's Disturbance record is drawn from; neutral if None.
            noise: what is added to the state that the policy sees, one number per state.
            policy: what drives the vehicles.
            seed: of all draws; run k has the seed `(seed << 32) + k`.
            steps, duration: how long to run, in steps or in s.
            params, policy_params: by name: a number, (runs,), or an `UncertaintyModel` of one.
            quantities: names of states or functions of the state record, by name, to keep bands and
                extremes of; all states if None.
            events: functions of the state record that say whether something happens, by name.
            quantiles: levels to keep, from 0 to 1.

        Returns:
            A `MonteCarlo`: bands, probabilities with confidence intervals, worst cases with their
            seeds, and `replay` for any of them.
        """
        return outer("Fleet.monte_carlo")(
            self, x0, controls, runs, disturbance, noise, policy, seed, steps, duration, params,
            policy_params, quantities, events, quantiles,
        )  # fmt: skip

    def as_torch(self) -> Any:
        """The rollout as a function of PyTorch tensors that gradients flow through.

        See `skidpad.interop.torch.as_torch` for its arguments.
        """
        from ..interop.torch import as_torch

        return as_torch(self)

    @cached_property
    def _derivatives(self) -> Derivatives:
        self._must_be_open("a gradient")
        return Derivatives(self._rollouts)

    def _back(self, results: Iterable[Any], *given: Any) -> list[Any]:
        """Arrays and records of arrays, where the caller wants them."""

        def one(array: Any) -> Any:
            return None if array is None else batch.returned(array, self._space, *given)

        return [type(r)(*map(one, r)) if isinstance(r, tuple) else one(r) for r in results]

    def outputs(
        self,
        x: Any,
        controls: Any = None,
        *,
        start: Any = None,
        params: Any = None,
        disturbances: Any = None,
    ) -> AnyArray:
        """Outputs (..., B, ny) at states (..., B, nx), with inputs of the same shape or held.

        `start` are the states at the start of the step that led to `x`; it matters only for models
        that sample their input there (`Model.hold`), and is `x` if not given. `params` as in
        `rollout`. States may be NaN if the fleet masks vehicles that diverge.
        """
        plant, masked = self.plant, self.on_diverge == "mask"
        space = batch.Space.of("cpu", self.precision)
        x = x if isinstance(x, (Mapping, plant.State)) else batch.numbers("x", x, space)
        shape = np.shape(x)[:-1]
        states = batch.rows(plant.State, "x", x, space, shape, masked=masked)
        begun = states
        if start is not None:
            begun = batch.rows(plant.State, "start", start, space, shape, masked=masked)
        p = batch.parameters(plant.Params, plant.params, params, space)
        given = [
            states,
            begun,
            batch.rows(plant.Input, self._inputs, controls, space, shape),
            batch.rows(plant.Disturbance, "disturbances", disturbances, space, shape),
            p if p.shape[1] == 1 else batch.rows(plant.Params, "params", p[0], space, shape),
        ]
        # A closed loop asks its policy for the command, and that may depend on the step.
        if plant.outputs.inputs[-1].name == "dt":
            given.append(np.full((1, 1, 1), self.dt, space.dtype))
        if self._outputs is None:
            self._outputs = CpuMap(plant.outputs, self.precision, self.threads)
        return self._outputs.run(given, states.shape[1])[0].reshape(*shape, -1)
