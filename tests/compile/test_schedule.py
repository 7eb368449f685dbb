"""The scheduler moves operations and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compile.lanes_harness import canonical, lowered, runner
from skidpad import Program, ops, vehicles
from skidpad.compile import pipeline
from skidpad.compile.passes import scheduled
from skidpad.compile.program import Instruction, Port


def chains(a: Any, b: Any) -> tuple[Any, ...]:
    """Four independent chains, as of four wheels."""
    return tuple(ops.sin(ops.atan(a * k + b) * 1.3) / (b * b + k) for k in (1.0, 2.0, 3.0, 4.0))


def in_order(program: Program) -> bool:
    return all(a < k for k, i in enumerate(program.code) for a in i.args)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Straight-line code with random dependences, repeated operands and unused values."""
    code = [Instruction("input", (), (0, 0)), Instruction("const", (), 1.5)]
    for _ in range(draw(st.integers(1, 40))):
        op, arity = draw(st.sampled_from([("add", 2), ("fma", 3), ("div", 2), ("neg", 1)]))
        args = tuple(draw(st.integers(0, len(code) - 1)) for _ in range(arity))
        code.append(Instruction(op, args))
    results = draw(st.lists(st.integers(0, len(code) - 1), min_size=1, max_size=4))
    names = tuple(f"y{k}" for k in range(len(results)))
    return Program(
        "p", (Port("in", ("a",)),), (Port("out", names),), tuple(code), (tuple(results),), "float64"
    )


def expression(program: Program, k: int, known: dict[int, str]) -> str:
    if k not in known:
        i = program.code[k]
        inner = ", ".join(expression(program, a, known) for a in i.args)
        known[k] = f"{i.op}[{i.imm}]({inner})" if len(inner) < 200 else f"{i.op}#{hash(inner)}"
    return known[k]


@given(programs())
def test_every_result_is_the_same_expression(program: Program) -> None:
    moved = scheduled(program)
    assert in_order(moved)
    assert Counter(i.op for i in moved.code) == Counter(i.op for i in program.code)
    before, after = {}, {}
    for r, s in zip(program.results[0], moved.results[0], strict=True):
        assert expression(program, r, before) == expression(moved, s, after)


def test_the_order_changes_and_does_not_depend_on_chance() -> None:
    program = lowered(chains, 2)
    moved = scheduled(program)
    assert moved.code != program.code
    assert moved.code == scheduled(program).code


def test_independent_chains_are_woven_together() -> None:
    """Each of the four divisions comes before the last operation of any chain is done."""
    moved = scheduled(lowered(chains, 2))
    divisions = [k for k, i in enumerate(moved.code) if i.op == "div"]
    assert len(divisions) >= 4
    ends = sorted(moved.results[0])
    assert max(divisions[:4]) < ends[0]


@pytest.mark.parametrize("lanes", [1, 8])
def test_the_bits_stay(lanes: int) -> None:
    program = pipeline.step_program(vehicles.kinematic_bicycle(), "heun", "float64")
    rng = np.random.default_rng(2)
    ports = [rng.uniform(0.1, 1.0, (19, len(p.fields))) for p in program.inputs]
    ports[4][:] = 1e-3
    plain = runner(program, lanes)(*ports)
    moved = runner(scheduled(program), lanes)(*ports)
    assert np.isfinite(plain[0]).all()
    assert canonical(plain[0]) == canonical(moved[0])
