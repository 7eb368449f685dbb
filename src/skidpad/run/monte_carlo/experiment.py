"""The runs of a Monte Carlo: all of them together, one step of the disturbance at a time.

What a run draws depends on the seed, its number and the step, on nothing else; and a fleet gives a
vehicle the same bits whatever else is in it. So a run is the same among any others, and alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyArray, Array, Mask
from ...compile.cpu import RolloutArrays
from ...errors import SimulationDiverged
from ...random import Draw, UncertaintyModel
from ...random.model import sampled as drawn
from ...random.seeds import of_run
from .. import batch, delay
from ..runner import Runner
from ..start import settled_rows

Runs = NDArray[np.int64]


class Moment(NamedTuple):
    """All runs at one time."""

    step: int
    states: Array
    """(nx, runs): the vehicle's states, then the memory of its policy; NaN for runs that ended."""
    inputs: Array | None
    """(nu or 1 run, ...) inputs of the coming step; None after the last."""
    disturbances: Array | None
    """(runs, nw) disturbances of the coming step; None after the last."""


@dataclass(frozen=True)
class Experiment:
    """What is run, how it starts, what drives it and what is drawn."""

    runner: Runner
    """Of the vehicle, or of the closed loop of vehicle and policy."""
    vehicle_states: int
    """States of the vehicle itself; those behind are the policy's memory."""
    steps: int
    seed: int
    start: Array | UncertaintyModel
    """(1 or runs, states of the vehicle), or what they are drawn from."""
    memory: Array
    """Memory of the policy at the start, (nm,)."""
    inputs: Array
    """(1 or steps, 1 or runs, nu): controls, or what the policy is told."""
    params: Mapping[str, Any]
    """Parameters by name: (1,), (runs,), or what they are drawn from."""
    disturbance: UncertaintyModel
    noise: UncertaintyModel | None
    """On the state that the policy sees; its numbers go behind `inputs`."""

    @property
    def dt(self) -> float:
        """Step in s."""
        return self.runner.settings.dt

    def moments(self, runs: Runs) -> Iterator[Moment]:
        """The start, and the runs after every step."""
        pending, named = None, self.parameters(runs)
        params = None if named is None else self.runner.parameters(named)
        x = self._start_states(runs, params)
        self._check(x, named, params)
        disturbance_memory, noise_memory = self.disturbance.start(len(runs)), None
        if self.noise is not None:
            noise_memory = self.noise.start(len(runs))
        shown = x[: self.vehicle_states].T
        for step in range(self.steps):
            # Models that look at states are shown the last ones of runs that diverged.
            alive: Mask = np.asarray(np.isfinite(x).all(axis=0))
            shown = np.where(alive[:, None], x[: self.vehicle_states].T, shown)
            draw = self.draw("disturbance", runs, step)
            w, disturbance_memory = drawn(self.disturbance, draw, disturbance_memory, shown)
            u = _of(self.inputs, step, runs)
            if self.noise is not None:
                draw = self.draw("noise", runs, step)
                errors, noise_memory = drawn(self.noise, draw, noise_memory, shown)
                u = np.concatenate([np.broadcast_to(u, (len(runs), u.shape[1])), errors], axis=1)
            yield Moment(step, x, u, w)
            try:
                x, pending = self._advanced(x, u, w, params, pending)
            except SimulationDiverged as error:
                raise self._named(error, runs, step) from error
        yield Moment(self.steps, x, None, None)

    def _check(self, x: Array, named: Mapping[str, Array] | None, params: AnyArray | None) -> None:
        """Raise for a start, inputs or parameters that cannot be meant."""
        p = self.runner.own_params if params is None else params
        arrays = RolloutArrays(x.T[None], self.inputs, np.empty((1, 1, 0)), p)
        own = named is None or all(name.startswith("policy.") for name in named)
        self.runner.plausible.check(arrays, own_params=own)

    def draw(self, channel: str, runs: Runs, step: int) -> Draw:
        """What one step of these runs may draw."""
        return Draw(self.seed, channel, runs, step, self.dt)

    def _start_states(self, runs: Runs, params: AnyArray | None) -> Array:
        drawing = isinstance(self.start, UncertaintyModel)
        if isinstance(self.start, UncertaintyModel):
            draw = self.draw("start", runs, 0)
            own, _ = drawn(self.start, draw, self.start.start(len(runs)))
        else:
            own = _of(self.start[None], 0, runs)
        own = np.broadcast_to(own, (len(runs), own.shape[1]))
        memory = np.broadcast_to(self.memory, (len(runs), self.memory.size))
        rows = np.concatenate([own, memory], axis=1)
        if drawing:
            p = self.runner.own_params if params is None else params
            rows = settled_rows(self.runner.plant, rows, p)
        return np.ascontiguousarray(rows.T)

    def parameters(self, runs: Runs) -> dict[str, Array] | None:
        """Parameters of these runs by name; None: the vehicle's own."""
        columns: dict[str, Array] = {}
        for name, source in self.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(f"params.{name}", runs, 0)
                columns[name] = drawn(source, draw, source.start(len(runs)))[0][:, 0]
            else:
                values = np.atleast_1d(source)
                columns[name] = values if len(values) == 1 else values[runs]
        return columns or None

    def _advanced(
        self, x: Array, u: Array, w: Array, params: AnyArray | None, pending: Array | None
    ) -> tuple[Array, Array | None]:
        """The states (nx, runs) after a step and the commands (rows, runs or 1, nu) that have not
        acted by then; runs that diverged before stay NaN."""
        alive: Mask = np.asarray(np.isfinite(x).all(axis=0))
        if not alive.any():
            return x, pending
        rows = slice(None) if alive.all() else np.flatnonzero(alive)
        arguments = self.runner.arguments(
            x[:, rows],
            (u if len(u) == 1 else u[rows]).T,
            None,
            w[rows].T if w.shape[1] else None,
            "soa",
        )
        if params is not None:
            some = params.shape[1] > 1 and not isinstance(rows, slice)
            own = params[:, self.runner.space.xp.asarray(rows)] if some else params
            arguments = arguments._replace(p=own)
        if pending is not None and pending.shape[1] > 1:
            pending = pending[:, rows]
        queue = self.runner.queue(arguments, pending)
        after = batch.on_host(self.runner.samples(arguments, 1, 1, "soa", queue)[-1]).T
        if queue is not None:
            left = delay.pending_after(arguments.u, queue, 1, self.runner.space)
            pending = _among(batch.on_host(left), alive)
        return _among(after, alive), pending

    def _named(self, error: SimulationDiverged, runs: Runs, step: int) -> SimulationDiverged:
        """The error with the seeds of the runs, so that they can be run again."""
        lost = [int(runs[v]) for v in error.vehicles]
        seeds = ", ".join(str(of_run(self.seed, k)) for k in lost[:4])
        seeds += ", ..." if len(lost) > 4 else ""
        time = step * self.dt + error.time
        return SimulationDiverged(
            f"{len(lost)} of {len(runs)} runs diverged after t = {time:g} s (seeds {seeds}); "
            'a fleet with on_diverge="mask" goes on without them',
            time=time,
            last_state=error.last_state,
            vehicles=tuple(lost),
        )


def _among(array: Array, alive: Mask) -> Array:
    """An array (n, runs alive or 1, ...) for all runs, NaN for the others; or shared as it is."""
    if alive.all() or array.shape[1] == 1 < alive.sum():
        return array
    shape = [*array.shape]
    shape[1] = len(alive)
    out = np.full(shape, np.nan, array.dtype)
    out[:, alive] = array
    return out


def _of(series: Array, step: int, runs: Runs) -> Array:
    """The rows (1 or runs, n) of a series (1 or steps, 1 or runs, n) at a step."""
    rows = series[0 if len(series) == 1 else step]
    return rows if len(rows) == 1 else rows[runs]


def input_rows(runner: Runner, kind: type, values: Any) -> Array:
    """Controls or references as (1 or steps, 1 or runs, n); a table (steps, n) is for all runs."""
    space = batch.Space.of("cpu", runner.settings.precision)
    if not isinstance(values, (Mapping, kind)) and values is not None and np.ndim(values) == 2:
        values = np.asarray(values)[:, None]
    what = "controls" if kind is runner.plant.Input else "references"
    return batch.series(kind, what, values, space, "aos")
