"""The rows of a campaign as the arrays of a drive: parameters, starts, inputs, disturbances.

A factor is a parameter of the vehicle (`m`, `tyres.D`) or of its policy (`policy.k_p`), a field of
the start (`x0.v_x`), of held controls or references (`input.steer`) or of a held disturbance
(`disturbance.F_y`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..errors import InvalidValue
from ..random import Draw, UncertaintyModel
from ..random.model import sampled as drawn
from ..record import NO_UNIT, Field
from ..run import batch
from ..run.runner import Runner
from ..run.start import consistent, record_of_rows, settled_rows
from .experiment import Rows

X0, INPUT, DISTURBANCE = "x0.", "input.", "disturbance."


class Prepared(NamedTuple):
    """Runs ready to start, on the host."""

    x: Array
    """(1, runs, n): states of the vehicle, then the memory of its policy."""
    p: Array
    """(1, 1 or runs, n): parameters of the vehicle, then those of its policy."""
    u: Array
    """(1 or steps, 1 or runs, n): controls or references."""
    w: Array
    """(1, 1 or runs, n): disturbances that are held."""


@dataclass(frozen=True)
class Common:
    """What all runs of a drive have in common, checked."""

    x0: Any
    """A record, a mapping, an array (n,), or an `UncertaintyModel`."""
    memory: Array
    """Of the policy at the start, (n,)."""
    inputs: Array
    """(1 or steps, 1, n)"""
    params: Mapping[str, Any]
    """Of vehicle and policy, by name: numbers, or models of one that they are drawn from."""
    disturbed: bool
    """Whether disturbances are drawn, so that none is held."""


@dataclass(frozen=True)
class RowArrays:
    """Makes the arrays of rows."""

    runner: Runner
    """Of the loop that is driven, vehicle and policy."""
    base: Runner
    """Of the vehicle alone."""
    Told: type
    """Record of the controls or references."""
    common: Common

    @cached_property
    def factors(self) -> dict[str, Field]:
        """What a factor may be called, with the field that it sets."""
        plant = self.base.plant
        named: dict[str, Field] = {}
        for prefix, kind, open_ in (
            ("", self.runner.plant.Params, True),
            (X0, plant.State, not isinstance(self.common.x0, UncertaintyModel)),
            (INPUT, self.Told, len(self.common.inputs) == 1),
            (DISTURBANCE, plant.Disturbance, not self.common.disturbed),
        ):
            if open_:
                named |= {prefix + leaf.name: leaf for leaf in record.fields(kind)}
        return {name: leaf for name, leaf in named.items() if name not in self._arrays}

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """Parameters that are numbers of shared arrays: no number between two of them is one."""
        from ..shared_arrays import ArrayNumber

        plant = self.runner.plant
        pairs = zip(record.names(plant.Params), record.flatten(plant.params), strict=True)
        return frozenset(name for name, value in pairs if isinstance(value, ArrayNumber))

    def check_name(self, name: str) -> Field:
        """The field that a factor sets; raises for an unknown name, with the nearest one."""
        if name in self.factors:
            return self.factors[name]
        for prefix, why in self._closed_ways().items():
            if name.startswith(prefix):
                raise InvalidValue(f"factor {name!r}: {why}")
        allowed = tuple(self.factors)
        raise InvalidValue(record.unknown_name("the drive", name, allowed, "factor"))

    def _closed_ways(self) -> dict[str, str]:
        ways: dict[str, str] = {}
        if isinstance(self.common.x0, UncertaintyModel):
            ways[X0] = "starts are drawn from x0, an uncertainty model"
        if len(self.common.inputs) > 1:
            ways[INPUT] = "the inputs are a table with a row per step; hold them to vary one"
        if self.common.disturbed:
            ways[DISTURBANCE] = "disturbances are drawn at every step; give no model to hold one"
        return ways

    def prepared(self, rows: Rows) -> Prepared:
        """The arrays of some runs."""
        for name in rows.factors:
            self.check_name(name)
        p = self._params(rows)
        return Prepared(
            self._starts(rows, p),
            p,
            self._held(self.Told, "inputs", self.common.inputs, INPUT, rows),
            self._disturbances(rows),
        )

    def _params(self, rows: Rows) -> Array:
        plant, count = self.runner.plant, len(rows.runs)
        columns: dict[str, Any] = {}
        for name, source in self.common.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(rows, f"params.{name}")
                source = drawn(source, draw, source.start(count))[0][:, 0]
            columns[name] = source
        names = record.names(plant.Params)
        columns |= {name: value for name, value in rows.factors.items() if name in names}
        space = batch.Space.of("cpu", self.base.settings.precision)
        p = batch.parameters(plant.Params, plant.params, columns or None, space)
        same = p.shape[1] > 1 and not any(np.ndim(c) for c in columns.values())
        return p[:, :1] if same else p

    def _starts(self, rows: Rows, p: Array) -> Array:
        plant, count, x0 = self.base.plant, len(rows.runs), self.common.x0
        own = p[:, :, : record.size(plant.Params)]
        if isinstance(x0, UncertaintyModel):
            states, _ = drawn(x0, self.draw(rows, "start"), x0.start(count))
            states = settled_rows(plant, states, own)
        else:
            states = self._start_by_name(rows, own)
        states = batch.finite(
            plant.State, "x0", np.broadcast_to(states, (1, count, states.shape[-1]))
        )
        memory = np.broadcast_to(self.common.memory, (1, count, self.common.memory.size))
        return np.concatenate([states, memory], axis=2)

    def _start_by_name(self, rows: Rows, own: Array) -> AnyArray:
        """Starts (1 or runs, n) with fields that are factors; dependent fields fit the parameters
        of each run, unless a start is a whole state, an array."""
        State, x0 = self.base.plant.State, self.common.x0
        chosen = _of_prefix(rows.factors, X0)
        start = record.build(State, x0)
        values = dict(zip(record.names(State), record.flatten(start), strict=True)) | chosen
        if x0 is None or isinstance(x0, (Mapping, State)):
            whole = record.unflatten(State, list(values.values()))
            params = record_of_rows(self.base.plant.Params, own)
            values = dict(
                zip(
                    record.names(State),
                    record.flatten(consistent(self.base.plant, whole, params, x0, tuple(chosen))),
                    strict=True,
                )
            )
        table = np.stack(np.broadcast_arrays(*values.values()), axis=-1)
        return batch.in_range(State, "x0", np.atleast_2d(table)[None])[0]

    def _held(self, kind: type, what: str, base: Array, prefix: str, rows: Rows) -> Array:
        """Held rows (1, 1 or runs, n) with fields that are factors."""
        chosen = _of_prefix(rows.factors, prefix)
        if not chosen:
            return base
        table = np.repeat(base, len(rows.runs), axis=1)
        for name, values in chosen.items():
            table[0, :, record.names(kind).index(name)] = values
        return batch.in_range(kind, what, batch.finite(kind, what, table))

    def _disturbances(self, rows: Rows) -> Array:
        kind = self.base.plant.Disturbance
        neutral = np.array(record.flatten(record.build(kind)), dtype=float).reshape(1, 1, -1)
        return self._held(kind, "disturbance", neutral, DISTURBANCE, rows)

    def draw(self, rows: Rows, channel: str, threads: int | None = None) -> Draw:
        """What these runs may draw at the first step, as in `Fleet.monte_carlo`."""
        dt = self.base.settings.dt
        return Draw(rows.seed, channel, rows.runs, 0, dt, threads=threads)


def _of_prefix(factors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """The factors of one kind, without what begins their names."""
    size = len(prefix)
    return {name[size:]: np.asarray(v) for name, v in factors.items() if name.startswith(prefix)}


def unit_of(leaf: Field) -> str:
    """Symbol of the unit of a field; empty of a ratio."""
    return "" if leaf.unit == NO_UNIT else leaf.unit.symbol
