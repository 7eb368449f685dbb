"""Derivatives of rollouts by the discrete adjoint of the very steps that are simulated.

The forward pass keeps states at checkpoints; the backward pass repeats a stretch between two of
them, then sweeps back over it. With K steps between checkpoints and T steps in all, T/K + K states
of every vehicle are held at a time instead of T; short rollouts are one stretch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..compile import adjoint
from ..compile.cpu import Backward, Given, Swept
from ..compile.plant import Plant, SavedCost
from ..compile.program import Port, Program
from ..compile.trace import without_dead_code
from ..cost import Cost
from ..errors import InvalidValue
from .engines import AdjointEngine, Engines, MapEngine

WRT = ("x0", "controls", "params")
_MOST_NUMBERS = 1 << 27
"""State values kept in one stretch (1 GiB of float64); longer rollouts use checkpoints."""


class Gradient(NamedTuple):
    """Derivatives of a number per vehicle; what was not asked for is None."""

    x0: Any
    """With respect to the start states, (B, nx)."""
    controls: Any
    """With respect to the inputs: (T, B, nu), or (B, nu) if they are held."""
    params: Any
    """With respect to the parameters, (B, np)."""


class Jacobian(NamedTuple):
    """Derivatives of the last state of every vehicle."""

    x0: Any
    """(B, nx, nx)"""
    controls: Any
    """(B, nx, T, nu), or (B, nx, nu) if the inputs are held."""
    params: Any
    """(B, nx, np)"""


Advance = Callable[[Given, int, int], AnyArray]
"""`advance(given, steps, every)`: the checked samples (sample, vehicle, field) of a rollout."""


class Differentiator:
    """The adjoint engines of a fleet, one per cost and choice of derivatives, made when needed."""

    def __init__(self, engines: Engines, advance: Advance) -> None:
        self.engines, self.advance = engines, advance
        self._adjoints: dict[Any, AdjointEngine] = {}
        self._ends: dict[Any, MapEngine] = {}

    def gradient(
        self,
        given: Given,
        references: AnyArray,
        steps: int,
        cost: Cost | SavedCost,
        wrt: tuple[str, ...],
    ) -> tuple[AnyArray, Swept]:
        """Value (B,) and derivatives of a cost of rollouts."""
        _check("references", references, given)
        with_params = "params" in wrt
        engine = self._adjoint(cost, with_params)
        stretches = self._stretches(given, steps)
        last: Stretch | None = next(stretches)
        end = self._end(cost, with_params).run(
            [last.states[-1:], given.p, references[-1:]], last.states.shape[1]
        )
        lam, end_p, end_value = end
        total: Swept | None = None
        while last is not None:
            total = self._back(engine, given, references, last, lam, None, total)
            lam = total.x
            last = next(stretches, None)
        assert total is not None
        value = end_value[0, :, 0]
        if total.value.shape[2]:
            value = value + total.value[0, :, 0]
        return value, total._replace(p=total.p + end_p)

    def vjp(
        self, given: Given, steps: int, every: int, cotangents: AnyArray, wrt: tuple[str, ...]
    ) -> Swept:
        """Derivatives of the sum of samples times cotangents (steps / every + 1, B, nx)."""
        if steps % every:
            raise InvalidValue(f"every = {every} must divide the {steps} steps")
        _check("cotangents", cotangents, None)
        engine = self._adjoint(None, "params" in wrt)
        space = self.engines.space
        seeds = space.xp.zeros((steps + 1, *cotangents.shape[1:]), space.dtype)
        seeds[::every] = cotangents
        nothing = space.xp.zeros((1, 1, 0), space.dtype)
        lam, total = seeds[-1:], None
        for stretch in self._stretches(given, steps):
            total = self._back(engine, given, nothing, stretch, lam, seeds, total)
            lam = total.x
        assert total is not None
        return total

    def _back(
        self,
        engine: AdjointEngine,
        given: Given,
        references: AnyArray,
        stretch: Stretch,
        lam: AnyArray,
        seeds: AnyArray | None,
        total: Swept | None,
    ) -> Swept:
        """One stretch swept backwards, added to what later stretches gave."""
        # There may be several λ for the one vehicle, as in a Jacobian.
        space, count = self.engines.space, max(stretch.states.shape[1], lam.shape[1])
        rows = slice(stretch.begin, stretch.begin + len(stretch.states) - 1)
        nothing = space.xp.zeros((1, 1, lam.shape[2]), space.dtype)
        swept = engine.run(
            Backward(
                x=stretch.states[:-1],
                u=_rows(given.u, rows),
                w=_rows(given.w, rows),
                p=given.p,
                r=_rows(references, rows),
                lam=lam,
                seed=nothing if seeds is None else seeds[rows],
            ),
            len(stretch.states) - 1,
            count,
        )
        if total is None:
            return swept
        held = given.u.shape[0] == 1
        inputs = total.u + swept.u if held else space.xp.concatenate([swept.u, total.u])
        return Swept(swept.x, inputs, total.p + swept.p, total.value + swept.value)

    def _stretches(self, given: Given, steps: int) -> Iterator[Stretch]:
        """Stretches of states from the last to the first, each recomputed from its checkpoint."""
        count = max(a.shape[1] for a in given)
        per_step = count * given.x.shape[2]
        length = steps
        if steps * per_step > _MOST_NUMBERS:
            length = min(steps, max(math.isqrt(steps), 1))
        marks = [*range(0, steps, length)]
        starts = np.broadcast_to(given.x, (1, count, given.x.shape[2]))
        if marks[-1]:
            starts = self.advance(_part(given, starts, 0, marks[-1]), marks[-1], length)
        for k, begin in reversed([*enumerate(marks)]):
            many = min(length, steps - begin)
            part = _part(given, starts[k : k + 1], begin, many)
            yield Stretch(begin, self.advance(part, many, 1))

    def _adjoint(self, cost: Cost | SavedCost | None, with_params: bool) -> AdjointEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self._adjoints:
            self._adjoints[key] = self.engines.adjoint(
                adjoint_of(self.engines.plant, cost, with_params)
            )
        return self._adjoints[key]

    def _end(self, cost: Cost | SavedCost, with_params: bool) -> MapEngine:
        key = (id(cost) if isinstance(cost, SavedCost) else cost, with_params)
        if key not in self._ends:
            self._ends[key] = self.engines.map(terminal_of(self.engines.plant, cost, with_params))
        return self._ends[key]


def saved_cost(plant: Plant, given: Any) -> SavedCost:
    """The Programs of a cost, to be written beside a plant."""
    cost = Cost.of(given)
    return SavedCost(
        cost.Reference,
        adjoint_of(plant, cost, True),
        terminal_of(plant, cost, True),
        adjoint_of(plant, None, True),
    )


def adjoint_of(plant: Plant, cost: Cost | SavedCost | None, with_params: bool) -> Program:
    """The adjoint Program of a plant's step with a stage cost, or of the step alone."""
    if isinstance(cost, SavedCost):
        return cost.adjoint if with_params else without_output(cost.adjoint, "p")
    if plant.vehicle is not None and plant.method is not None:
        return adjoint.adjoint_program(plant.vehicle, plant.method, cost, params=with_params)
    if plant.saved_cost is None or cost is not None:
        raise InvalidValue(
            f"this fleet of {plant.name!r} was loaded from a file: gradients need the cost it was "
            "saved with, fleet.save(path, cost=...), and then take no other"
        )
    pullback = plant.saved_cost.pullback
    return pullback if with_params else without_output(pullback, "p")


def terminal_of(plant: Plant, cost: Cost | SavedCost, with_params: bool) -> Program:
    """The Program of the terminal cost and its derivatives."""
    if isinstance(cost, SavedCost):
        return cost.terminal if with_params else without_output(cost.terminal, "p")
    assert plant.vehicle is not None
    return adjoint.terminal_program(plant.vehicle, cost, params=with_params)


def without_output(program: Program, name: str) -> Program:
    """The Program without what is needed for one output port alone."""
    outputs = tuple(Port(p.name, ()) if p.name == name else p for p in program.outputs)
    pairs = zip(program.outputs, program.results, strict=True)
    results = tuple(() if port.name == name else result for port, result in pairs)
    return without_dead_code(replace(program, outputs=outputs, results=results))


class Stretch(NamedTuple):
    """States of consecutive steps, the one after the last step included."""

    begin: int
    states: AnyArray


def _part(given: Given, start: AnyArray, begin: int, steps: int) -> Given:
    rows = slice(begin, begin + steps)
    return Given(start, _rows(given.u, rows), _rows(given.w, rows), given.p)


def _rows(array: AnyArray, rows: slice) -> AnyArray:
    return array if array.shape[0] == 1 else array[rows]


def _check(what: str, array: AnyArray, given: Given | None) -> None:
    """Raise unless an array (row, vehicle, field) is finite and has the vehicles of a rollout."""
    count = array.shape[1] if given is None else max(a.shape[1] for a in given)
    if array.shape[1] not in (1, count):
        raise InvalidValue(f"{what} have {array.shape[1]} vehicles; the rollout has {count}")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, vehicle, field = bad[0].tolist()
        raise InvalidValue(
            f"{what}: value {field} of vehicle {vehicle} in row {row} is "
            f"{array[row, vehicle, field]}; it must be finite"
        )


def asked(wrt: Any) -> tuple[str, ...]:
    """The names to differentiate with respect to, checked."""
    names = (wrt,) if isinstance(wrt, str) or not isinstance(wrt, Iterable) else tuple(wrt)
    for name in names:
        if name not in WRT:
            raise InvalidValue(f"wrt = {name!r} is unknown; allowed are {', '.join(WRT)}")
    return names


def as_gradient(swept: Swept, wrt: tuple[str, ...], held: bool) -> Gradient:
    """The parts that were asked for, in the shapes the user gave."""
    return Gradient(
        x0=swept.x[0] if "x0" in wrt else None,
        controls=(swept.u[0] if held else swept.u) if "controls" in wrt else None,
        params=swept.p[0] if "params" in wrt else None,
    )
