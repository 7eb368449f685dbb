"""What to make of a rollout: raise for what went wrong, with vehicle and time, or mask it."""

from __future__ import annotations

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile.cpu import Late, RolloutArrays
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged
from . import batch, delay
from .engines import Engines
from .failures import ended


def judge(
    engines: Engines,
    arguments: RolloutArrays,
    out: AnyArray,
    every: int,
    health: AnyArray,
    queue: Late | None = None,
    lengths: AnyArray | None = None,
) -> None:
    """Raise for what went wrong in a rollout, or mask the vehicles that diverged.

    `out` are its samples (sample, vehicle, field), `health` what the engine said of each vehicle
    (3, vehicle), `queue` the delayed inputs it started with, `lengths` (step,) those of its steps
    in s if they differ.
    """
    diverged, bad_input, _ = batch.on_host(~np.isfinite(health))
    if bad_input.any():
        what, kind, array = engines.inputs, engines.plant.Input, arguments.u
        if np.isfinite(array).all():
            what, kind, array = "disturbances", engines.plant.Disturbance, arguments.w
        raise InvalidValue(batch.not_finite(kind, what, array))
    failed = np.flatnonzero(diverged)
    if len(failed) and engines.settings.on_diverge != "mask":
        raise _failure(engines, failed, arguments, out, every, queue, lengths)
    for vehicle in failed.tolist():
        out[_first_bad(out[:, vehicle]) :, vehicle] = np.nan


def good_samples(out: AnyArray) -> int:
    """How many samples (sample, vehicle, field) come before any vehicle's fails."""
    fine = batch.on_host(np.isfinite(out).all(axis=(1, 2)))
    return len(out) if fine.all() else int(np.argmin(fine))


def _failure(
    engines: Engines,
    failed: AnyArray,
    arguments: RolloutArrays,
    out: AnyArray,
    every: int,
    queue: Late | None,
    lengths: AnyArray | None,
) -> StepNotConverged | SimulationDiverged:
    """The error for the vehicles that failed; the first is run again alone to find when."""
    v = int(failed[0])
    bad = _first_bad(out[:, v])
    begin = (bad - 1) * every
    states = batch.empty(every + 1, 1, out.shape[2], engines.space, "aos")
    states[0, 0] = out[bad - 1, v]
    if queue is not None:
        arguments = arguments._replace(u=_acting(engines, arguments, queue, v, begin + every))
    alone = RolloutArrays(states[:1], *(_only(a, v, begin, every) for a in arguments[1:]))
    own = None if lengths is None else lengths[begin : begin + every]
    engines.undelayed.run(alone, states, 1, lengths=own)
    last = _first_bad(states[:, 0]) - 1
    own = None if own is None else own[last : last + 1]
    residual = _residual(engines, RolloutArrays(states[last : last + 1], *alone[1:]), last, own)
    time = (begin + last) * engines.settings.dt
    if lengths is not None:
        time = float(lengths[: begin + last].sum())
    state = record.unflatten(engines.plant.State, states[last, 0].tolist())
    listed = ", ".join(map(str, failed[:8])) + (", ..." if len(failed) > 8 else "")
    who = f"{len(failed)} of {out.shape[1]} vehicles ({listed})"
    tolerance = engines.settings.tolerance
    why = ended(engines.plant.vehicle, state)
    if engines.plant.implicit and not residual <= tolerance and not why:
        return StepNotConverged(
            f"{who} failed: the step of vehicle {v} from t = {time:g} s left a Newton residual "
            f"of {residual:.3g}; allowed is {tolerance:g}. Take a smaller dt",
            time=time,
            residual=residual,
        )
    return SimulationDiverged(
        f"{who} diverged; vehicle {v} last had a finite state at t = {time:g} s: {state}"
        + (f". {why}" if why else ""),
        time=time,
        last_state=state,
        vehicles=tuple(int(k) for k in failed),
    )


def _acting(
    engines: Engines, arguments: RolloutArrays, queue: Late, vehicle: int, steps: int
) -> AnyArray:
    """What acts on one vehicle at each of so many steps, (step, 1, field)."""
    own = _only(arguments.u, vehicle, 0, steps)
    only = delay.of_vehicle(queue, vehicle)
    return delay.acting(own, only, engines.channels.fields, steps, engines.space)


def _residual(engines: Engines, alone: RolloutArrays, step: int, length: AnyArray | None) -> float:
    """The Newton residual of one step of one vehicle, of this length (1,) if it is not dt."""
    arguments = RolloutArrays(alone.x, *(_only(a, 0, step, 1) for a in alone[1:]))
    after = batch.empty(2, 1, alone.x.shape[2], engines.space, "aos")
    return float(engines.undelayed.run(arguments, after, 1, lengths=length)[2, 0])


def _first_bad(states: AnyArray) -> int:
    """The first sample (n, nx) that is not finite."""
    return int(np.argmax(~np.isfinite(states).all(axis=1)))


def _only(array: AnyArray, vehicle: int, begin: int, steps: int) -> AnyArray:
    """One vehicle's rows of an array (step, vehicle, field), from step `begin` on."""
    column = array if array.shape[1] == 1 else array[:, vehicle : vehicle + 1]
    return column if column.shape[0] == 1 else column[begin : begin + steps]
