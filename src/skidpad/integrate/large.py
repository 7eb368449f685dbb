"""The stages of a collocation method, solved for a block of many states.

A small block is unrolled into the step (see `newton`). For a large one that would be too much code,
so its parts are functions, written once and called:

* `begin` solves the block linearised around the start of the step and keeps the factors;
* `settle` is a simplified Newton iteration: the rates of every stage, with those factors. In calm
  driving two or three are enough;
* `iterate` is a full one, with the Jacobian of every stage and the coupled system of all stages. It
  runs where `settle` falls too slowly: where the torque of a slow wheel steps, no single Jacobian
  stands for all stages.

Every vehicle iterates until its own estimate of the error left is small enough. Its values then
stay as they are, whatever its neighbours in the lanes still do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from .called_kernels import called
from .elimination import total
from .large_block import LargeBlock, symbols
from .newton import Columns, Stages, error_left, size
from .sparse_elimination import Rows
from .spectrum import radau_spectrum
from .symbolic import SX, column, reciprocal
from .transformed import TransformedFactors

FAR = 1e4
"""A linearised start farther away than this, relative to the state, comes from a pivot that
vanished; the iterations then start from where the step does."""
SETTLE_ITERATIONS = 6
"""Simplified Newton iterations at most."""
SLOW = 0.25
"""A simplified correction more than this part of the one before asks for full iterations."""
USELESS = 0.5
"""One more than this part of the one before is not even made."""
MOST_ITERATIONS = 20
"""Full Newton iterations at most, unless more are asked for."""
SMALLEST_PART = 0.125
"""Of a full correction, at least this part is made. Of 60 steps of a multi-body car with wheels
locked or spinning, 52 converged with whole corrections and all with parts of them."""
GROWTH = 1.4
"""The part of a correction grows by this factor. Less than 2: halved and doubled in turn, it can
run in a circle."""
CONVERGED = (1e-10, 1e-5)
"""Estimated error, relative to the state, at which iterations end, in double and single
precision."""


@dataclass(frozen=True)
class Progress:
    """What one iteration hands to the next."""

    go_on: SX
    """1 while the iteration of this kind is to go on, else 0."""
    last: SX
    """Size of the last correction, relative to the state."""
    left: SX
    """Estimate of the error left."""
    part: SX
    """The part of the last correction that was made."""
    increments: Columns

    @classmethod
    def of(cls, values: SX, stages: int) -> Progress:
        """From a column."""
        head, rest = ca.vertsplit(values, [0, HEAD, values.numel()])
        go_on, last, left, part = ca.vertsplit(head)
        return cls(go_on, last, left, part, ca.vertsplit(rest, rest.numel() // stages))

    def column(self) -> SX:
        """As a column."""
        return column((self.go_on, self.last, self.left, self.part, *self.increments))

    def unless_done(self, following: Progress) -> SX:
        """What follows, where the iteration is to go on, else the same again.

        Written as selections, so that a function that ends with it need not be run at all where no
        vehicle goes on.
        """
        old, new = self.column(), following.column()
        return column(ca.if_else(self.go_on, new[k], old[k]) for k in range(old.numel()))


HEAD = 4
"""Values of a `Progress` before the increments."""


def solve_large(large: LargeBlock, stages: Stages, iterations: int) -> tuple[Columns, SX]:
    """Increments of a large block and the residual of its iteration."""
    here = _Symbols(large, stages)
    arguments = column((stages.start, *stages.earlier, stages.method.step, large.constants))
    begin, simplified, full = *_begin_and_settle(here), _iterate(here)
    (begun,) = begin.call([arguments])
    progress = HEAD + len(stages) * large.block.size
    values, entries = ca.vertsplit(begun, [0, progress, begun.numel()])
    for _ in range(SETTLE_ITERATIONS):
        (values,) = simplified.call([column((values, arguments, entries))])
    settled = Progress.of(values, len(stages))
    again = _asks(settled.left, stages.method.step)
    values = replace(settled, go_on=again, last=ca.SX(0)).column()
    for _ in range(max(iterations, MOST_ITERATIONS)):
        (values,) = full.call([column((values, arguments))])
    solved = Progress.of(values, len(stages))
    return solved.increments, solved.left


class _Symbols:
    """The arguments of the functions, as symbols: those that all of them take."""

    def __init__(self, large: LargeBlock, stages: Stages) -> None:
        self.large, self.count = large, len(stages)
        self.start = symbols("start", large.block.size)
        self.earlier = [
            symbols(f"earlier_{k}", values.numel()) for k, values in enumerate(stages.earlier)
        ]
        step = symbols("step", 1)
        self.method = stages.method.with_step(step)
        self.arguments = column((self.start, *self.earlier, step, large.constants))
        progress = symbols("progress", HEAD + self.count * large.block.size)
        self.progress = Progress.of(progress, self.count)

    def points(self) -> list[tuple[SX, SX]]:
        """Own and earlier states at every stage."""
        moved = (self.start + d for d in self.progress.increments)
        return list(zip(moved, self.earlier, strict=True))

    def defects(self, rates: Sequence[SX]) -> Columns:
        """What is missing in the equations of the stages: f_k - Σ (A⁻¹)_km D_m / h."""
        increments = self.progress.increments
        return [
            f - total(a * d for a, d in zip(row, increments, strict=True))
            for row, f in zip(self.method.inverse, rates, strict=True)
        ]

    def relative(self, columns: Columns) -> SX:
        """The size of a correction, relative to the state."""
        return reciprocal(1.0 + size(self.start)) * size(ca.vertcat(*columns))

    def moved(self, change: Columns) -> Columns:
        """The increments with a correction."""
        return [d + c for d, c in zip(self.progress.increments, change, strict=True)]


def _begin_and_settle(here: _Symbols) -> tuple[Any, Any]:
    """The linearised start with its factors, and the simplified iteration."""
    large, method = here.large, here.method
    middle = here.earlier[method.reference]
    rates, entries, on_earlier = large.slopes(here.start, middle)
    jacobian: Rows = [{} for _ in range(large.block.size)]
    for n, (i, j) in enumerate(large.places):
        jacobian[i][j] = entries[n]
    spectrum = radau_spectrum(here.count)
    factors = TransformedFactors.of(spectrum, method.step, jacobian, large.order)
    first = factors.solve([rates + ca.mtimes(on_earlier, e - middle) for e in here.earlier])
    far = here.relative(first)
    sound = far < FAR
    first = [column(ca.if_else(sound, d[i], 0.0) for i in range(d.numel())) for d in first]
    begun = Progress(ca.SX(1), ca.if_else(sound, far, 0.0), ca.SX(1), ca.SX(1), first)
    numbers = factors.entries()
    begin = called("begin", [here.arguments], [begun.column(), numbers])
    kept = symbols("factor", numbers.numel())
    settled = _settled(here, factors.with_entries(kept))
    settle = called("settle", [here.progress.column(), here.arguments, kept], [settled])
    return begin, settle


def _settled(here: _Symbols, factors: TransformedFactors) -> SX:
    """One simplified iteration: corrections fall by a factor θ each, which leaves θ/(1 - θ) of the
    last one; with θ below one half, less than 2 θ."""
    before, limit = here.progress, _limit(here.method.step)
    change = factors.solve(here.defects([here.large.rates(*point) for point in here.points()]))
    correction = here.relative(change)
    # Corrections well below the limit are noise and say nothing about θ.
    rate = correction / (before.last + 0.1 * limit)
    useful = rate < USELESS
    estimate = ca.if_else(useful, 2.0 * correction * rate, 1.0)
    go_on = ca.logic_and(rate < SLOW, estimate > limit)
    moved = [
        column(ca.if_else(useful, new[i], old[i]) for i in range(new.numel()))
        for new, old in zip(here.moved(change), before.increments, strict=True)
    ]
    return before.unless_done(
        Progress(ca.if_else(go_on, 1.0, 0.0), correction, estimate, before.part, moved)
    )


def _iterate(here: _Symbols) -> Any:
    """One full Newton iteration as a function."""
    large, method, before = here.large, here.method, here.progress
    linearisations = [large.slopes(*point)[:2] for point in here.points()]
    factors = large.coupled(method.inverse, [entries for _, entries in linearisations])
    defects = here.defects([rates for rates, _ in linearisations])
    change = large.by_stage(factors.solve(large.interleaved(defects)))
    correction = here.relative(change)
    estimate = error_left(before.last, correction)
    go_on = _asks(estimate, method.step)
    # The estimate is that of a whole correction, so the last one is made whole.
    part = ca.if_else(go_on, _part(before, correction), 1.0)
    moved = here.moved([part * c for c in change])
    following = Progress(go_on, correction, estimate, part, moved)
    return called("iterate", [before.column(), here.arguments], [before.unless_done(following)])


def _part(before: Progress, correction: SX) -> SX:
    """The part of a full correction that is made.

    A wheel that starts to slip or to grip can make the corrections turn back and forth. Where one
    has not fallen as it should, half the part of the last one is made; the part grows again once
    corrections fall well.
    """
    # What was left undone comes again; of what was done, at most half should, better a quarter.
    expected = (1.0 - 0.5 * before.part) * before.last
    hoped = (1.0 - 0.75 * before.part) * before.last
    smaller = ca.if_else(0.5 * before.part > SMALLEST_PART, 0.5 * before.part, SMALLEST_PART)
    larger = ca.if_else(GROWTH * before.part < 1.0, GROWTH * before.part, 1.0)
    kept = ca.if_else(correction < hoped, larger, before.part)
    part = ca.if_else(correction > expected, smaller, kept)
    return ca.if_else(before.last > 0.0, part, 1.0)


def _asks(estimate: SX, step: SX) -> SX:
    """1 where an estimate asks for further iterations, else 0.

    NaN does not: a vehicle that is lost should not keep its neighbours.
    """
    return ca.if_else(estimate > _limit(step), 1.0, 0.0)


def _limit(step: SX) -> SX:
    """The estimate at which iterations end. One Program serves both precisions, so it has to find
    out at run time how finely it is computed."""
    double, single = CONVERGED
    one = ca.fmin(ca.fmax(step, 1.0), 1.0)
    return ca.if_else(one + 2.0**-40 > 1.0, double, single)
