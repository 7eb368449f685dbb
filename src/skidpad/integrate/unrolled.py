"""One step of a collocation method as a CasADi expression, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..errors import TraceError
from .base import Derivative, Scalars, same_length
from .blocks import Block, find_blocks
from .collocation import inverse_coefficients, radau_tableau
from .large import solve_large
from .large_block import LargeBlock
from .newton import Method, Stages, solve
from .symbolic import SX, column, symbols_besides


@dataclass(frozen=True)
class Solution:
    """The stages of one step, solved, and what they were solved with."""

    method: Method
    blocks: list[Block]
    free: SX
    """The symbols that the derivative depends on besides the state."""
    values: list[list[SX]]
    """For each state its value at every stage; the last is the result."""
    residual: SX
    large: dict[tuple[int, ...], LargeBlock]
    """The large blocks with their functions, by their states."""

    def at(self, stage: int, states: Sequence[int]) -> SX:
        """Some of the states at one stage, as a column."""
        return column(self.values[i][stage] for i in states)


def radau_step(
    stages: int, iterations: int, f: Derivative, x: Scalars, dt: Any
) -> tuple[Scalars, Any]:
    """The state after `dt` with the Radau IIA method of that many stages, and the residual."""
    solved = radau_stages(stages, iterations, f, x, dt)
    return tuple(value[-1] for value in solved.values), solved.residual


def radau_stages(stages: int, iterations: int, f: Derivative, x: Scalars, dt: Any) -> Solution:
    """The stages of a step over `dt` with the Radau IIA method of that many stages."""
    start = traced_column(x)
    states = column(ca.SX.sym(f"stage_{i}") for i in range(len(x)))
    rates = column(ca.SX(rate) for rate in same_length(f, tuple(ca.vertsplit(states))))
    free = symbols_besides(rates, states)
    method = Method.of(radau_tableau(stages), inverse_coefficients(stages), ca.SX(dt))
    blocks = find_blocks(rates, states, free)
    values = [[start[i]] * stages for i in range(len(x))]
    residual = ca.SX(0)
    large: dict[tuple[int, ...], LargeBlock] = {}
    for block in blocks:
        earlier = [column(values[i][k] for i in block.earlier) for k in range(stages)]
        own = column(start[i] for i in block.states)
        place = Stages(method, own, earlier, free)
        if block.large:
            large[block.states] = LargeBlock(block, stages, free)
            increments, left = solve_large(large[block.states], place, iterations)
        else:
            increments, left = solve(block, place, iterations)
        residual = residual + left
        for row, i in enumerate(block.states):
            values[i] = [start[i] + d[row] for d in increments]
    return Solution(method, blocks, free, values, residual, large)


def traced_column(values: Scalars) -> SX:
    """The values as a column of SX; raises where they are numbers or arrays."""
    for value in values:
        if not isinstance(value, ca.SX):
            raise TraceError(
                f"radau works on traced models (CasADi SX), got {type(value).__name__}; "
                "compile the step, or take a method of SciPy to run on numbers"
            )
    return column(values)
