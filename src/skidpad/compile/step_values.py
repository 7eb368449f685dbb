"""What of a step Program is decided at the start of a step, and need not be computed again in each
of its sub-steps: what `hold` samples, and what a policy commands.

It follows from the state at the start and from inputs and parameters, not from the present state.
Targets compute it at the first sub-step and keep what the others need of it. Operations only move,
so the bits stay.
"""

from __future__ import annotations

from typing import NamedTuple

from .program import Program

STATE, START = "x", "start"
"""Ports of a step Program: the present state, and that at the start of the step."""


class StepValues(NamedTuple):
    """Instructions of a Program by what they depend on."""

    before: frozenset[int]
    """Neither on the present state nor on that at the start."""
    at_start: frozenset[int]
    """On the state at the start, and not on the present one."""
    kept: tuple[int, ...]
    """Those of the latter that the rest of the Program needs."""


def step_values(program: Program) -> StepValues:
    """What a step Program computes when."""
    names = [port.name for port in program.inputs]
    on_state, on_start = list[bool](), list[bool]()
    for i in program.code:
        port = names[i.imm[0]] if i.op == "input" else ""
        on_state.append(port == STATE or any([on_state[a] for a in i.args]))
        on_start.append(port == START or any([on_start[a] for a in i.args]))
    at_start = {k for k, it_is in enumerate(on_start) if it_is and not on_state[k]}
    needed = {a for k, i in enumerate(program.code) if k not in at_start for a in i.args}
    needed |= {r for result in program.results for r in result}
    before = {k for k in range(len(program.code)) if not on_start[k] and not on_state[k]}
    return StepValues(frozenset(before), frozenset(at_start), tuple(sorted(needed & at_start)))
