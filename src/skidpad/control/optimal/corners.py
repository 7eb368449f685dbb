"""Expressions without corners: clipped commands become constraints, other corners are rounded.

An optimiser needs slopes that are continuous and that show the way out of saturation.

Limits of commands become constraints. Where a model clips a command, or a rate that is linear in
it, between two bounds, the clip is replaced by the value itself and a row that keeps this value
between the bounds. The set of attainable motions is the same.

Corners by the state (`minimum`, `maximum`, `abs`, `where`) are rounded over a small part of the
typical magnitude of the compared values: |e| becomes a quartic and a condition a quintic step
within ±width, both twice differentiable. Outside, the values are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ...core.arrays import Array
from ...integrate.derivatives import applied
from ...integrate.symbols import SX

ROUNDING = 0.02
"""Half width of a rounded corner, as a share of the typical magnitude of the compared values."""


class Smooth(NamedTuple):
    """Expressions without corners."""

    values: SX
    rows: SX
    """One row for each replaced clip, from 0 at its lower to 1 at its upper bound."""
    names: tuple[str, ...]
    """Names of the commands of these rows."""


def smooth(
    values: SX,
    x: SX,
    u: SX,
    rest: Sequence[SX],
    names: Sequence[str],
    samples: Sequence[Array],
) -> Smooth:
    """Return expressions of states x and commands u (named `names`) without corners.

    `samples` are typical values of x, u and each of `rest`, (n, size), from which the magnitudes of
    compared values follow.
    """
    arguments = [x, u, *rest]
    trace = ca.Function("trace", arguments, [values], {"cse": True})
    differences = _Replay(trace, arguments, names).differences
    if not differences:
        return _Replay(trace, arguments, names, []).result(values.shape)
    compared = ca.Function("compared", arguments, [ca.vertcat(*differences)])
    found = np.abs(compared.map(len(samples[0]))(*(sample.T for sample in samples)).full())
    found[~np.isfinite(found)] = 0.0
    widths = ROUNDING * np.maximum(found.max(axis=1), 1e-9)
    return _Replay(trace, arguments, names, widths.tolist()).result(values.shape)


class _Replay:
    """The instructions of a function carried out again, with corners replaced.

    Without `widths`, corners stay, and `differences` are the values that they compare.
    """

    def __init__(
        self,
        trace: Any,
        arguments: Sequence[SX],
        names: Sequence[str],
        widths: list[float] | None = None,
    ) -> None:
        self.differences: list[SX] = []
        self.rows: list[SX] = []
        self.names: list[str] = []
        self._commands, self._input_names, self._widths = arguments[1], names, widths
        self._results: dict[int, SX] = {}
        nothing: frozenset[int] = frozenset()
        values: dict[int, SX] = {}
        # Commands on which a value depends linearly; None if it depends on them otherwise.
        linear: dict[int, frozenset[int] | None] = {}
        # Values that are the larger of a command and a lower bound: command, bound, its inputs.
        floored: dict[int, tuple[SX, SX, frozenset[int]]] = {}
        for k in range(trace.n_instructions()):
            op, source, target = (
                trace.instruction_id(k), trace.instruction_input(k), trace.instruction_output(k)
            )  # fmt: skip
            if op == ca.OP_OUTPUT:
                self._results[target[1]] = values[source[0]]
                continue
            place = target[0]
            if op == ca.OP_CONST:
                values[place], linear[place] = ca.SX(trace.instruction_constant(k)), nothing
                floored.pop(place, None)
                continue
            if op == ca.OP_INPUT:
                values[place] = arguments[source[0]][source[1]]
                linear[place] = frozenset([source[1]]) if source[0] == 1 else nothing
                floored.pop(place, None)
                continue
            args, of = [values[a] for a in source], [linear[a] for a in source]
            below = [floored.get(a) for a in source]
            floored.pop(place, None)  # the place of a value that is not used any more
            known = nothing if all(commands == nothing for commands in of) else None
            value: SX | None = None
            if known is None and None not in of:
                joined = nothing.union(*(commands for commands in of if commands is not None))
                free = next((i for i, commands in enumerate(of) if commands == nothing), None)
                scaled = (op == ca.OP_MUL and free is not None) or (op == ca.OP_DIV and free == 1)
                if scaled or op in (ca.OP_ADD, ca.OP_SUB, ca.OP_NEG, ca.OP_TWICE):
                    known = joined
                elif op == ca.OP_FMAX and free is not None:
                    floored[place] = (args[1 - free], args[free], joined)
                    value = applied(op, args)
            elif op == ca.OP_FMIN:
                held = next((i for i, floor in enumerate(below) if floor is not None), None)
                if held is not None and of[1 - held] == nothing:
                    command, low, known = below[held] or (args[held], args[held], nothing)
                    value = self._limited(command, low, args[1 - held], known)
            values[place] = self._rounded(op, args) if value is None else value
            linear[place] = known

    def result(self, shape: tuple[int, int]) -> Smooth:
        values = ca.SX(*shape)
        for k, value in self._results.items():
            values[k] = value
        return Smooth(values, ca.vertcat(ca.SX(0, 1), *self.rows), tuple(self.names))

    def _limited(self, command: SX, low: SX, high: SX, inputs: frozenset[int]) -> SX:
        """A clipped command without its clip; a bare input is bounded as a variable."""
        if command.element_hash() not in {self._commands[i].element_hash() for i in inputs}:
            self.rows.append((command - low) / (high - low))
            self.names.append(", ".join(self._input_names[i] for i in sorted(inputs)))
        return command

    def _width(self, difference: SX) -> float | None:
        self.differences.append(difference)
        return None if self._widths is None else self._widths[len(self.differences) - 1]

    def _rounded(self, op: int, args: list[SX]) -> SX:
        """The value of an operation, its corner rounded."""
        if op in (ca.OP_FMIN, ca.OP_FMAX):
            a, b = args
            width = self._width(a - b)
            if width is None:
                return applied(op, args)
            sign = 1.0 if op == ca.OP_FMAX else -1.0
            return 0.5 * (a + b + sign * _rounded_abs(a - b, width))
        if op == ca.OP_FABS:
            width = self._width(args[0])
            return applied(op, args) if width is None else _rounded_abs(args[0], width)
        if op in (ca.OP_LT, ca.OP_LE):
            width = self._width(args[1] - args[0])
            return applied(op, args) if width is None else _step(args[1] - args[0], width)
        if self._widths is not None:
            if op == ca.OP_IF_ELSE_ZERO:
                return args[0] * args[1]
            if op == ca.OP_NOT:
                return 1.0 - args[0]
            if op == ca.OP_AND:
                return args[0] * args[1]
            if op == ca.OP_OR:
                return args[0] + args[1] - args[0] * args[1]
        return applied(op, args)


def _rounded_abs(x: SX, width: float) -> SX:
    """|x| beyond ±width, and an even quartic between."""
    t2 = ca.fmin(x * x * (1.0 / width**2), 1.0)
    size = ca.fabs(x)
    t = ca.fmin(size * (1.0 / width), 1.0)
    return size + width * (0.125 * (3.0 + t2 * (6.0 - t2)) - t)


def _step(x: SX, width: float) -> SX:
    """0 below -width, 1 above width, and a quintic between."""
    t = ca.fmin(ca.fmax(x * (0.5 / width) + 0.5, 0.0), 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)
