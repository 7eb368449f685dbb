"""Vehicles of one model, stepped together: a world step is one call of compiled code per model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import integrate, record
from ...arrays import AnyArray
from ...compile.cpu import CpuRollout, Given, Late
from ...compile.plant import Plant
from ...model import Vehicle
from ...run import batch
from ...run import delay as dead_time
from ...run.engines import Engines
from ...run.verdict import judge
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
        substeps = math.ceil(dt / LONGEST_SUBSTEP - 1e-9) if model.continuous else 1
        plant = Plant.of(first, integrate.get("rk4"))
        count = len(vehicles)
        # Few vehicles take few lanes: these are compiled and run sooner, to the same bits.
        lanes = next((n for n in (1, 4) if n >= count), None)
        self._engines = Engines(plant, dt, "float64", "cpu", 1, lanes, False, substeps)
        self._out = batch.empty(2, count, len(self.fields), self._engines.space, "soa")
        self.state: AnyArray = self._out[0]
        """States (B, nx); what is written here is what the next step starts from."""
        self.inputs: AnyArray = _rows(model.Input, [record.build(model.Input)] * count)
        """Commands (B, nu)."""
        self.disturbances: AnyArray = _rows(
            model.Disturbance, [record.build(model.Disturbance)] * count
        )
        """What the surroundings do (B, nw)."""
        self._params = _rows(model.Params, [v.params for v in vehicles])
        self.state[:] = _rows(model.State, [record.build(model.State)] * count)
        # Views: what is written into the arrays is what the next step gets.
        self._given = Given(
            self.state[None], self.inputs[None], self.disturbances[None], self._params[None]
        )
        self._late = self._queue()
        self.dt = dt
        """Length of a step in s."""
        self._bound: Callable[[], AnyArray] | None = None

    def _queue(self) -> Late | None:
        channels = self._engines.channels
        if not channels:
            return None
        steps = dead_time.late_steps(channels, self._params[None], self._engines.dt)
        made = dead_time.late(channels, steps, None, self._engines.space)
        rows = np.broadcast_to(
            made.pending, (len(made.pending), len(self.names), self.inputs.shape[1])
        )
        return Late(rows.copy(), made.steps)

    def _run(self) -> AnyArray:
        engine = self._engines.rollout
        if self._late is not None or not isinstance(engine, CpuRollout):
            return engine.run(self._given, self._out, 1, self._late)
        # Bound at the first step: a world that is only looked at needs no compiler.
        if self._bound is None:
            self._bound = engine.bound(self._given, self._out, 1)
        return self._bound()

    def step(self) -> AnyArray:
        """Advance all vehicles; returns their states (B, nx) before the step."""
        before = self.state.copy()
        given = self._given
        health = self._run()
        flat = health.ravel()
        if not math.isfinite(flat.dot(flat)):
            judge(
                self._engines,
                given,
                self._out,
                1,
                health,
                inputs="commands",
                mask=False,
                late=self._late,
            )
        if self._late is not None:
            pending = self._late.pending
            pending[:-1] = pending[1:]
            pending[-1] = self.inputs
        self.state[:] = self._out[1]
        return before

    @property
    def params(self) -> AnyArray:
        """Parameters (B, np); what is written here acts from the next step on."""
        return self._params

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
        p = record.unflatten(model.Params, self._params[row].tolist())
        return vehicle.outputs(x, u, w, p)

    def snapshot(self) -> tuple[AnyArray, ...]:
        """Copies of everything that changes."""
        moving = (self.state, self.inputs, self.disturbances)
        late = () if self._late is None else (self._late.pending,)
        return tuple(a.copy() for a in (*moving, *late))

    def restore(self, snapshot: tuple[AnyArray, ...]) -> None:
        """Put back what `snapshot` gave."""
        late = () if self._late is None else (self._late.pending,)
        for mine, kept in zip(
            (self.state, self.inputs, self.disturbances, *late), snapshot, strict=True
        ):
            mine[:] = kept


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
