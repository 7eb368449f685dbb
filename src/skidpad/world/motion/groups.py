"""Vehicles of one model, stepped together: a world step is one call of compiled code per model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import integrate, record
from ...arrays import AnyArray
from ...compile.bound import BoundRollout
from ...compile.cpu import Late, RolloutArrays
from ...compile.plant import Plant
from ...model import Vehicle
from ...run import batch
from ...run.runner import Runner
from ...run.settings import Settings
from ...units import s

LONGEST_SUBSTEP = 1e-3
"""Longest step in s of a model with a derivative: the motors of the cars react in 1 ms."""


class Group:
    """Vehicles of one model, each with parameters and inputs of its own.

    Arrays have one row per vehicle, in the order of `names`.
    """

    def __init__(self, names: Sequence[str], vehicles: Sequence[Vehicle], dt: s) -> None:
        first = vehicles[0]
        model = first.model
        self.names, self.vehicles, self.model = tuple(names), tuple(vehicles), model
        self.fields = {name: k for k, name in enumerate(record.names(model.State))}
        """Columns of `state` by name."""
        parts = math.ceil(dt / LONGEST_SUBSTEP - 1e-9)
        substeps = parts if model.continuous else model.substeps
        method, count = integrate.get("rk4"), len(vehicles)
        # Few vehicles take few lanes: these are compiled and run sooner, to the same bits.
        lanes = next((n for n in (1, 4) if n >= count), None)
        settings = Settings(dt, method, threads=1, lanes=lanes, substeps=substeps)
        self._runner = Runner(Plant.of(first, method), settings, inputs="commands")
        self._out = batch.empty(2, count, len(self.fields), self._runner.space, "soa")
        self.state: AnyArray = self._out[0]
        """States (B, nx); what is written here is what the next step starts from."""
        self.inputs: AnyArray = _rows(model.Input, [record.build(model.Input)] * count)
        """Commands (B, nu)."""
        self.disturbances: AnyArray = _rows(
            model.Disturbance, [record.build(model.Disturbance)] * count
        )
        """What the surroundings do (B, nw)."""
        self.params: AnyArray = _rows(model.Params, [v.params for v in vehicles])
        """Parameters (B, np); what is written here acts from the next step on."""
        self.state[:] = _rows(model.State, [record.build(model.State)] * count)
        # Views: what is written into the arrays is what the next step gets.
        rows = (self.state, self.inputs, self.disturbances, self.params)
        self._arrays = RolloutArrays(*(array[None] for array in rows))
        self._queue = self._own_queue()
        self.dt = dt
        """Length of a step in s."""
        self._bound: BoundRollout | None = None
        self.steps = 0
        """Steps made."""
        self._before, self._dropped = self.state, self.inputs
        self.contains = False
        """Whether vehicles whose states become NaN or infinite are noted in `failed` and stay where
        they were, instead of an error for all."""
        self.failed: list[int] = []
        """Rows of the vehicles whose last step failed, if the group `contains` failures."""

    def _own_queue(self) -> Late | None:
        """The queue of delayed commands with a row per vehicle."""
        queue = self._runner.queue(self._arrays)
        if queue is None:
            return None
        count = len(self.names)
        return Late(*(np.repeat(a, count, axis=1) if a.shape[1] == 1 else a.copy() for a in queue))

    def step(self) -> AnyArray:
        """Advance all vehicles; returns their states (B, nx) before the step."""
        # Bound at the first step: a world that is only looked at needs no compiler.
        if self._bound is None:
            self._bound = self._runner.bound(self._arrays, self._out, self._queue)
        state, queue = self.state, self._queue
        self._before = before = state.copy()
        health = self._bound()
        flat = health.ravel()
        if not math.isfinite(flat.dot(flat)):
            self._judge(health)
        pending = None
        if queue is not None:
            pending, self._dropped = queue.pending, queue.pending[0].copy()
        # Python answers signals at calls and in loops: what follows is done as a whole.
        if pending is not None:
            pending[:-1] = pending[1:]
            pending[-1] = self.inputs
        state[:] = self._out[1]
        self.steps += 1
        return before

    def _judge(self, health: AnyArray) -> None:
        """Note which vehicles failed in a step, or raise; see `contains`."""
        diverged, bad_input, _ = ~np.isfinite(health)
        if not self.contains or bad_input.any():
            self._runner.judge(self._arrays, self._out, health, self._queue)
        self.failed = np.flatnonzero(diverged).tolist()
        self._out[1][self.failed] = self._before[self.failed]

    def clear_inputs(self, row: int) -> None:
        """Set the inputs and disturbances of a vehicle to their defaults, delayed ones too."""
        self.inputs[row] = record.flatten(record.build(self.model.Input))
        self.disturbances[row] = record.flatten(record.build(self.model.Disturbance))
        if self._queue is not None:
            self._queue.pending[:, row] = self.inputs[row]

    def take_back(self) -> None:
        """Undo the last step; inputs and disturbances stay."""
        self.state[:] = self._before
        if self._queue is not None:
            pending = self._queue.pending
            pending[1:] = pending[:-1].copy()
            pending[0] = self._dropped
        self.steps -= 1
        self.failed = []

    def column(self, name: str) -> AnyArray:
        """A field of the states (B,); zeros if the model has none of this name."""
        at = self.fields.get(name)
        return np.zeros(len(self.names)) if at is None else self.state[:, at]

    def outputs(self, row: int) -> Any:
        """Outputs of one vehicle, an Outputs record."""
        vehicle = self.vehicles[row]
        model = self.model
        x = record.unflatten(model.State, self.state[row].tolist())
        u = record.unflatten(model.Input, self.inputs[row].tolist())
        w = record.unflatten(model.Disturbance, self.disturbances[row].tolist())
        # Parameters may have been changed since the start.
        p = record.unflatten(model.Params, self.params[row].tolist())
        return vehicle.outputs(x, u, w, p)

    def snapshot(self) -> tuple[AnyArray, ...]:
        """Copies of everything that changes."""
        return tuple(array.copy() for array in self._moving())

    def restore(self, snapshot: tuple[AnyArray, ...]) -> None:
        """Put back what `snapshot` gave."""
        for own, saved in zip(self._moving(), snapshot, strict=True):
            own[:] = saved

    def _moving(self) -> tuple[AnyArray, ...]:
        pending = () if self._queue is None else (self._queue.pending,)
        return self.state, self.inputs, self.disturbances, *pending


def _rows(kind: type, records: Sequence[Any]) -> AnyArray:
    return np.array([record.flatten(r) for r in records], dtype=float).reshape(
        len(records), record.size(kind)
    )


def grouped(vehicles: dict[str, Vehicle], dt: s) -> list[Group]:
    """The vehicles by model, in the order of names: the same whatever order they came in."""
    by_model: dict[int, list[str]] = {}
    for name in sorted(vehicles):
        by_model.setdefault(id(vehicles[name].model), []).append(name)
    ordered = sorted(by_model.values())
    return [Group(names, [vehicles[n] for n in names], dt) for names in ordered]
