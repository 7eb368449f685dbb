"""The structure of a derivative: which states have to be solved for together, and in which order.

States that depend on each other form a block: a strongly connected component of the Jacobian's
sparsity. In a car the actuators come first, each on its own, then the velocities together, then
yaw, then the position; every block needs only itself and earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from .as_written import as_written
from .called_kernels import dependencies
from .jacobian import linearised
from .symbolic import SX, column, symbols_besides

UNROLLED = 4
"""States of the largest block that is unrolled into the step; see `large` for larger ones. The five
of `commonroad_std` as a large block took 5 600 operations instead of 16 500, a third of the time to
compile, and converged with wheels that lock or spin, where unrolled iterations did not."""


class Kind(Enum):
    """How the derivative of a block depends on the block's own states."""

    QUADRATURE = "does not depend on them"
    LINEAR = "linear in them"
    PIECEWISE_LINEAR = "linear between corners"
    NONLINEAR = "nonlinear"


@dataclass(frozen=True)
class Block:
    """States solved for together, with their derivative as a function of (own, earlier, free).

    `own` are the block's states, `earlier` those states of earlier blocks that it depends on,
    `free` the symbols that stay constant over the step.
    """

    states: tuple[int, ...]
    earlier: tuple[int, ...]
    kind: Kind
    rates: Any
    """CasADi function that gives the derivatives."""
    rates_and_slopes: Any
    """CasADi function that gives the derivatives and their Jacobian with respect to `own`."""
    rates_and_all_slopes: Any
    """The same, followed by the Jacobian with respect to `earlier`; only of a nonlinear or large
    block."""

    @property
    def size(self) -> int:
        """Number of states solved for together."""
        return len(self.states)

    @property
    def large(self) -> bool:
        """Whether it is too large to be unrolled."""
        return self.size > UNROLLED and self.kind is not Kind.QUADRATURE


def find_blocks(rates: SX, states: SX, free: SX) -> list[Block]:
    """The blocks of x' = rates(x), each after those it depends on.

    `states` is a column of symbols, `rates` a column of expressions in them and in `free`.
    """
    pattern = _dependencies(rates, states)
    return [_block(rates, states, free, pattern, members) for members in components(pattern)]


def _dependencies(rates: SX, states: SX) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """pattern[i, j]: whether the derivative of state i depends on state j."""
    pattern = np.zeros((rates.numel(), states.numel()), dtype=bool)
    for row, needed in zip(pattern, dependencies(rates, states).places, strict=True):
        row[list(needed)] = True
    return pattern


def components(pattern: np.ndarray[Any, np.dtype[np.bool_]]) -> list[tuple[int, ...]]:
    """Strongly connected components of a dependency pattern, each after those it depends on.

    Among components that are free to swap, the one with the lowest state comes first, so that the
    order does not depend on the library that finds the components.
    """
    rows, columns = (places.tolist() for places in np.nonzero(pattern))
    # CasADi is loaded already; scipy's graphs would take a quarter of a second to import.
    _, order, starts = ca.Sparsity.triplet(len(pattern), len(pattern), rows, columns).scc()
    members = [tuple(sorted(order[begin:end])) for begin, end in pairwise(starts)]
    waiting = sorted(members)
    visited: set[int] = set()
    ordered: list[tuple[int, ...]] = []
    while waiting:
        ready = next(
            m
            for m in waiting
            if set(np.flatnonzero(pattern[list(m)].any(axis=0))) <= visited | set(m)
        )
        waiting.remove(ready)
        ordered.append(ready)
        visited.update(ready)
    return ordered


def _block(
    rates: SX,
    states: SX,
    free: SX,
    pattern: np.ndarray[Any, np.dtype[np.bool_]],
    members: Sequence[int],
) -> Block:
    needed = np.flatnonzero(pattern[list(members)].any(axis=0)).tolist()
    earlier = [j for j in needed if j not in members]
    own, others = _pick(states, members), _pick(states, earlier)
    own_rates = _pick(rates, members)
    arguments = [own, others, free]
    if len(members) > UNROLLED:
        return _large_block(tuple(members), tuple(earlier), arguments, own_rates)
    result = linearised(own_rates, own)
    kind = _kind(result.jacobian, own)
    return Block(
        states=tuple(members),
        earlier=tuple(earlier),
        kind=kind,
        rates=_function(arguments, [result.values]),
        rates_and_slopes=_function(arguments, [*result]),
        rates_and_all_slopes=_all_slopes(arguments, own_rates) if kind is Kind.NONLINEAR else None,
    )


def _large_block(
    states: tuple[int, ...], earlier: tuple[int, ...], arguments: list[SX], own_rates: SX
) -> Block:
    """Its Jacobian is found once, for `own` and `earlier` together, and corners are not looked for:
    on a large block both take long."""
    functions = _all_slopes(arguments, own_rates)
    values, jacobian, _ = functions.call(arguments)
    return Block(
        states=states,
        earlier=earlier,
        kind=_kind(jacobian, arguments[0], corners=False),
        rates=_function(arguments, [values]),
        rates_and_slopes=_function(arguments, [values, jacobian]),
        rates_and_all_slopes=functions,
    )


def _all_slopes(arguments: list[SX], rates: SX) -> Any:
    own, others, _ = arguments
    values, jacobian = linearised(rates, ca.vertcat(own, others))
    split = [0, own.numel(), own.numel() + others.numel()]
    return _function(arguments, [values, *ca.horzsplit(jacobian, split)])


def _pick(vector: SX, indices: Sequence[int]) -> SX:
    return column(vector[i] for i in indices)


class _Function:
    """A CasADi function of what a user wrote, made and called without simplifying it.

    A symbol that only stands where a called kernel does not look at it, as a camber before a tyre
    that knows none, is no input of the block; any number will do in its place.
    """

    def __init__(self, inputs: list[SX], outputs: list[SX]) -> None:
        idle = symbols_besides(column(x for out in outputs for x in out.nonzeros()), column(inputs))
        self._idle = ca.SX.zeros(idle.numel())
        with as_written(ca.SX()):
            self._function = ca.Function("block", [*inputs, idle], outputs, {"cse": True})

    def call(self, arguments: list[SX]) -> list[SX]:
        with as_written(ca.SX()):
            return self._function.call([*arguments, self._idle])


def _function(inputs: list[SX], outputs: list[SX]) -> Any:
    return _Function(inputs, outputs)


def _kind(jacobian: SX, own: SX, *, corners: bool = True) -> Kind:
    entries = column(jacobian.nonzeros())
    if entries.numel() == 0 or entries.is_zero():
        return Kind.QUADRATURE
    needed = dependencies(entries, own)
    if not any(needed.places):
        return Kind.LINEAR
    # Calls are taken to be curved: their second derivatives would only be made to be counted.
    if not corners or needed.by_calls:
        return Kind.NONLINEAR
    # A selection depends on the states through its condition, yet its slopes are constant.
    curvature = linearised(entries, own).jacobian
    return Kind.PIECEWISE_LINEAR if curvature.nnz() == 0 else Kind.NONLINEAR
