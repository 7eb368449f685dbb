"""The variables of an FMU: the leaves of a vehicle's records, under names that never collide.

A state is `state.v_x`, an input `input.steer`, a parameter `params.tyre.B`, whatever else is called
`v_x` or `steer`. The value reference of a leaf is its place in one row: time, states, their rates
(where the FMU offers model exchange), inputs, disturbances, outputs, parameters. The numbered
fields of a table are one array, at the reference of its first number; FMI 2.0 has no arrays, and
there each number is a variable of its own, `params.map.v[1,2]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import NamedTuple

from .. import record
from ..record import Field
from ..run.start import consistent
from ..shared_arrays import ArrayNumber
from ..units import Unit
from .exported import Exported
from .fmu_dependencies import Place
from .fmu_programs import Programs

TIME = 0
"""The value reference of the time."""
_PORTS = {"x": "state", "u": "input", "w": "disturbance", "p": "params"}
_NUMBERED = re.compile(r"(.*?[^\d_])((?:_\d+)+)")
_RATES = {"m": "m/s", "m/s": "m/s²", "m/s²": "m/s³", "rad": "rad/s", "rad/s": "rad/s²", "1": "1/s"}
"""Symbols of units per second that have one of their own."""


class Variable(NamedTuple):
    """A variable of an FMU: one leaf of a record, or an array of several."""

    name: str
    reference: int
    group: str
    """"state", "rate", "input", "disturbance", "output" or "params"."""
    place: int
    """Of its first leaf in the record."""
    field: Field
    """Its first leaf."""
    start: tuple[float, ...] = ()
    shape: tuple[int, ...] = ()
    """Numbers along each dimension; of a scalar none."""

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return prod(self.shape)

    @property
    def unit(self) -> Unit:
        """Of its numbers."""
        return rate_unit(self.field.unit) if self.group == "rate" else self.field.unit


@dataclass(frozen=True)
class Variables:
    """All variables of a vehicle as an FMU; see the text of the module."""

    programs: Programs

    @property
    def exported(self) -> Exported:
        """The vehicle."""
        return self.programs.exported

    @cached_property
    def sizes(self) -> dict[str, int]:
        """How many leaves each group has, in order."""
        model = self.exported.model
        states = record.size(model.State)
        return {
            "state": states,
            "rate": states if self.programs.exchanges else 0,
            "input": record.size(model.Input),
            "disturbance": record.size(model.Disturbance),
            "output": record.size(model.Outputs),
            "params": record.size(model.Params),
        }

    @cached_property
    def first(self) -> dict[str, int]:
        """The value reference of the first leaf of each group."""
        reference, first = TIME + 1, dict[str, int]()
        for group, size in self.sizes.items():
            first[group] = reference
            reference += size
        return first

    @cached_property
    def starts(self) -> dict[str, tuple[float, ...]]:
        """Start values of all leaves that have one, by group."""
        vehicle, model = self.exported.vehicle, self.exported.model
        whole = consistent(model, record.build(model.State), vehicle.params, None, ())
        return {
            "state": tuple(map(float, record.flatten(whole))),
            "input": record.flatten(record.build(model.Input)),
            "disturbance": record.flatten(record.build(model.Disturbance)),
            "params": record.flatten(vehicle.params),
        }

    def fields(self, group: str) -> tuple[Field, ...]:
        """The leaves of a group; rates have those of the states."""
        model = self.exported.model
        kinds = {
            "input": model.Input,
            "disturbance": model.Disturbance,
            "output": model.Outputs,
            "params": model.Params,
        }
        return record.fields(kinds.get(group, model.State)) if self.sizes[group] else ()

    def listed(self, arrays: bool) -> list[Variable]:
        """The variables in order; with `arrays`, numbered fields of tables are one each."""
        return [variable for group in self.sizes for variable in self._of_group(group, arrays)]

    def _of_group(self, group: str, arrays: bool) -> Iterator[Variable]:
        leaves, starts = self.fields(group), self.starts.get(group, ())
        shapes = shapes_of(leaves) if group == "params" else {}
        place = 0
        while place < len(leaves):
            leaf, reference = leaves[place], self.first[group] + place
            stem, shape = shapes.get(place, (leaf.name, ()))
            count = prod(shape)
            own = starts[place : place + count]
            if isinstance(next(iter(own), None), ArrayNumber):
                pass  # a number under which the source finds an array, and no quantity
            elif shape and not arrays:
                for k, at in enumerate(product(*(range(1, n + 1) for n in shape))):
                    name = f"{group}.{stem}[{','.join(map(str, at))}]"
                    one = leaves[place + k]
                    yield Variable(name, reference + k, group, place + k, one, own[k : k + 1])
            else:
                name = f"der(state.{stem})" if group == "rate" else f"{group}.{stem}"
                yield Variable(name, reference, group, place, leaf, own, shape)
            place += count

    def references(self, places: Iterable[Place]) -> list[int]:
        """Value references of inputs of a Program, in order."""
        return sorted(self.first[_PORTS[port]] + place for port, place in places)


def shapes_of(leaves: Sequence[Field]) -> dict[int, tuple[str, tuple[int, ...]]]:
    """The arrays among leaves, by the place of the first number: name and shape.

    An array are neighbours that are numbered from 0 or 1 on, row by row, and that have meaning,
    unit and range in common: `row_0`, `row_1`, or `v_0_0`, `v_0_1`.
    """
    arrays: dict[int, tuple[str, tuple[int, ...]]] = {}
    place = 0
    while place < len(leaves):
        stem, run = _run(leaves, place)
        shape = _shape([at for at in run if at is not None])
        if shape:
            arrays[place] = (stem, shape)
        place += prod(shape) if shape else 1
    return arrays


def _run(leaves: Sequence[Field], place: int) -> tuple[str, list[tuple[int, ...] | None]]:
    """The indices of neighbours with one stem, from a place on."""
    stem, at = _numbers(leaves[place].name)
    run: list[tuple[int, ...] | None] = []
    for leaf in leaves[place:]:
        name, at = _numbers(leaf.name)
        like = leaf[1:3] == leaves[place][1:3] and leaf.allowed == leaves[place].allowed
        if not at or name != stem or not like or (run and len(at) != len(run[0] or ())):
            break
        run.append(at)
    return stem, run


def _numbers(name: str) -> tuple[str, tuple[int, ...]]:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, ()
    return match[1], tuple(int(n) for n in match[2].split("_")[1:])


def _shape(run: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of the longest array that indices begin with; empty if they are none."""
    if len(run) < 2 or run[0] not in ((0,) * len(run[0]), (1,) * len(run[0])):
        return ()
    base = run[0][0]
    shape = tuple(max(at[k] for at in run) - base + 1 for k in range(len(run[0])))
    wanted = list(product(*(range(base, base + n) for n in shape)))
    return shape if run == wanted else ()


def rate_unit(unit: Unit) -> Unit:
    """A unit per second."""
    symbol = _RATES.get(unit.symbol)
    if symbol is None:
        symbol = f"({unit.symbol})/s" if re.search("[/·]", unit.symbol) else f"{unit.symbol}/s"
    return Unit(symbol, unit.length, unit.mass, unit.time - 1.0)
