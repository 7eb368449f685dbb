"""One step of a collocation method as a CasADi expression, block by block."""

from __future__ import annotations

from typing import Any

import casadi as ca

from ..errors import TraceError
from .base import Derivative, Scalars, same_length
from .blocks import find_blocks
from .collocation import inverse_coefficients, radau_tableau
from .newton import Method, Stages, solve
from .symbolic import SX, column, symbols_besides


def radau_step(
    stages: int, iterations: int, f: Derivative, x: Scalars, dt: Any
) -> tuple[Scalars, Any]:
    """The state after `dt` with the Radau IIA method of that many stages, and the residual."""
    start = traced_column(x)
    states = column(ca.SX.sym(f"stage_{i}") for i in range(len(x)))
    rates = column(ca.SX(rate) for rate in same_length(f, tuple(ca.vertsplit(states))))
    free = symbols_besides(rates, states)
    method = Method.of(radau_tableau(stages), inverse_coefficients(stages), ca.SX(dt))
    values = [[start[i]] * stages for i in range(len(x))]
    residual = ca.SX(0)
    for block in find_blocks(rates, states, free):
        earlier = [column(values[i][k] for i in block.earlier) for k in range(stages)]
        own = column(start[i] for i in block.states)
        increments, left = solve(block, Stages(method, own, earlier, free), iterations)
        residual = residual + left
        for row, i in enumerate(block.states):
            values[i] = [start[i] + d[row] for d in increments]
    return tuple(value[-1] for value in values), residual


def traced_column(values: Scalars) -> SX:
    """The values as a column of SX; raises where they are numbers or arrays."""
    for value in values:
        if not isinstance(value, ca.SX):
            raise TraceError(
                f"radau works on traced models (CasADi SX), got {type(value).__name__}; "
                "compile the step, or take a method of SciPy to run on numbers"
            )
    return column(values)
