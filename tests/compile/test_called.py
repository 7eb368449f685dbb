"""Kernels that are called: one function for all calls, in every target, for every user of Programs,
with what held arguments decide computed once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import pytest

from compile import cuda_harness
from compile.lanes_harness import LANES, PRECISIONS, canonical, runner
from compile.numpy_model import evaluate
from skidpad import Program
from skidpad.compile import c, cuda
from skidpad.compile.lower import lower
from skidpad.compile.passes import scheduled, skipped_by, with_held_parts
from skidpad.compile.program import Instruction, Port
from skidpad.compile.trace import trace
from skidpad.errors import TraceError
from skidpad.ops import atan, called, cos, exp, less, maximum, sin, sqrt, where


class Rubber(NamedTuple):
    B: float = 8.0
    C: float = 1.4
    mu: float = 0.9


class Wheel(NamedTuple):
    rubber: Rubber = Rubber()
    radius: float = 0.3

    def force(self, slip: Any, load: Any) -> Force:
        """A method of a record."""
        return tyre(slip, load, self)


class Force(NamedTuple):
    along: Any
    across: Any


def shape(slip: Any, rubber: Rubber) -> Any:
    return sin(rubber.C * atan(rubber.B * slip))


def tyre(slip: Any, load: Any, wheel: Wheel) -> Force:
    """Half of it depends on parameters alone, with a truth value among that; it calls itself."""
    q = wheel.rubber
    wide = less(q.mu, wheel.radius)
    stiff = sqrt(q.B * q.B + q.C) / exp(wheel.radius)
    peak = q.mu * maximum(load, 0.0)
    along = peak * called(shape, slip, q)
    across = where(wide, along * stiff, cos(q.mu * q.C) * called(shape, slip + stiff, q))
    return Force(along, across + called(shape, load, Rubber(3.0, q.C, q.mu)))


def plain_tyre(slip: Any, load: Any, wheel: Wheel) -> Force:
    """The same, copied."""
    from skidpad.core.backends import inlined

    with inlined():
        return tyre(slip, load, wheel)


def car(kernel: Callable[..., Force]) -> Callable[..., Any]:
    """Four wheels of two kinds."""

    def derivative(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        front, rear = Wheel(Rubber(*p[:3]), p[3]), Wheel(Rubber(*p[4:7]), p[7])
        forces = [
            kernel(x[0] + x[1] * 0.1, x[2], front),
            kernel(x[0] - x[1] * 0.1, x[3], front),
            kernel(x[1], x[2] + x[3], rear),
            kernel(-x[1], x[2] * x[3], rear),
        ]
        return ((sum(f.along for f in forces), *(f.across for f in forces)),)

    return derivative


def by_call(*arguments: Any) -> Force:
    return called(tyre, *arguments)


STATE, OUT = Port("x", tuple("abcd")), Port("y", tuple("klmno"))
PARAMS = Port("p", tuple(f"p{k}" for k in range(8)))


def traced(kernel: Callable[..., Force]) -> Program:
    return trace("car", car(kernel), (STATE, PARAMS), (OUT,))


def columns(precision: str, size: int = 33) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(8)
    x = [rng.uniform(-2.0, 3.0, size).astype(precision) for _ in range(4)]
    p = [rng.uniform(0.1, 5.0, size).astype(precision) for _ in range(8)]
    x[0][:2] = [0.0, np.nan]
    return x, p


def calls(program: Program) -> list[Instruction]:
    return [i for i in program.code if i.op == "call"]


def test_a_kernel_is_written_once() -> None:
    program, copied = traced(by_call), traced(plain_tyre)
    assert [f.name for f in program.functions] == ["shape", "tyre"]
    assert len(calls(program)) == 4
    assert len(calls(program.functions[1])) == 3
    assert not copied.functions
    assert program.counts["exp"] == 1
    assert copied.counts["exp"] == 2
    assert program.operations < 0.3 * copied.operations


def test_methods_of_records_are_kernels() -> None:
    program = traced(lambda slip, load, wheel: called(wheel.force, slip, load))
    assert [f.name for f in program.functions] == ["shape", "force"]
    assert len(calls(program)) == 4


def test_classes_of_arguments_tell_kernels_apart() -> None:
    class Hard(NamedTuple):
        B: float
        C: float

    def stiffness(x: Any, rubber: Any) -> Any:
        return x * rubber.B if isinstance(rubber, Hard) else x / rubber.B

    def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        three = [called(stiffness, x[k], Hard(p[0], p[1])) for k in range(3)]
        return ((*three, called(stiffness, x[3], Rubber(*p[:3])), 0.0),)

    program = trace("f", function, (STATE, PARAMS), (OUT,))
    assert [dict(f.counts) for f in program.functions] == [{"mul": 1}, {"div": 1}]


def test_a_variable_around_a_kernel_that_changes_makes_another() -> None:
    def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        factor = 0.0

        def scaled(a: Any) -> Any:
            return factor * a

        results: list[Any] = []
        for value in (2.0, 3.0, 3.0, 5.0):
            factor = value
            results.append(called(scaled, x[0]))
        return ((*results, 0.0),)

    program = lower(trace("f", function, (STATE, PARAMS), (OUT,)), "float64")
    table = runner(program)(np.ones((1, 4)), np.ones((1, 8)))[0]
    assert table.tolist() == [[2.0, 3.0, 3.0, 5.0, 0.0]]


def test_outside_of_a_trace_it_is_a_plain_call() -> None:
    wheel, slip = Wheel(), np.array([0.1, 0.2])
    assert called(tyre, 0.1, 3.0, wheel) == tyre(0.1, 3.0, wheel)
    assert called(tyre, slip, 3.0, wheel).across.tolist() == tyre(slip, 3.0, wheel).across.tolist()
    symbol = ca.SX.sym("slip")
    graph = ca.Function("f", [symbol], [called(tyre, symbol, 3.0, wheel).across])
    operations = {graph.instruction_id(k) for k in range(graph.n_instructions())}
    assert ca.OP_CALL not in operations


def test_jax_sees_a_plain_call() -> None:
    jax = pytest.importorskip("jax")

    def across(slip: Any) -> Any:
        return called(tyre, slip, 3.0, Wheel()).across

    rise = (tyre(0.1 + 1e-4, 3.0, Wheel()).across - tyre(0.1 - 1e-4, 3.0, Wheel()).across) / 2e-4
    assert float(jax.grad(across)(0.1)) == pytest.approx(rise, rel=1e-2)


def test_numbers_in_a_trace_are_computed() -> None:
    def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        force = called(tyre, 0.1, 3.0, Wheel())
        return ((force.across, 0.0, 0.0, 0.0, x[0]),)

    program = trace("f", function, (STATE, PARAMS), (OUT,))
    assert not program.functions
    assert Instruction("const", (), tyre(0.1, 3.0, Wheel()).across) in program.code


def wrong_text(x: Any) -> Any:
    return called(lambda a, b: a, x, "text")


def wrong_branch(x: Any) -> Any:
    def branching(a: Any) -> Any:
        return a if a > 0.0 else -a

    return called(branching, x)


def wrong_closure(x: Any) -> Any:
    return called(lambda a: a * x, x + 1.0)


def wrong_result(x: Any) -> Any:
    def silent(a: Any) -> Any:
        return None

    return called(silent, x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (wrong_text, "an argument of .*lambda.* is 'text'"),
        (wrong_branch, "branching branches in Python"),
        (wrong_closure, "uses symbols that are not its arguments.*x.a"),
        (wrong_result, "silent returned None"),
    ],
)
def test_what_a_kernel_may_not_do(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TraceError, match=words):
        trace("f", lambda x: ((function(x[0]),),), (Port("x", ("a",)),), (Port("y", ("b",)),))


def test_guards_against_nan_stay_in_a_kernel() -> None:
    """CasADi would make `x != x` false: kernels are traced as written, whoever calls them."""

    def guarded(a: Any) -> Any:
        return where(a != a, 7.0, a)

    def function(x: tuple[Any, ...]) -> Any:
        return ((called(guarded, x[0]),),)

    program = trace("f", function, (Port("x", ("a",)),), (Port("y", ("b",)),))
    assert runner(lower(program, "float64"))(np.array([[np.nan], [2.0]]))[0].tolist() == [[7], [2]]


def through_c(program: Program, ports: list[np.ndarray], folder: Path) -> np.ndarray:
    library = c.compile_shared(c.emit(program, "one"), folder)
    out = np.empty((len(ports[0]), len(OUT.fields)), program.precision)
    for x, p, made in zip(*map(np.ascontiguousarray, ports), out, strict=True):
        given = (ctypes.c_void_p * 2)(x.ctypes.data, p.ctypes.data)
        library.one(given, (ctypes.c_void_p * 1)(made.ctypes.data))
    return out


def through_cuda(program: Program, ports: list[np.ndarray], folder: Path) -> np.ndarray:
    source = cuda.emit_apply(program, str(program.precision))
    launch = cuda_harness.kernel(source, "apply", folder)
    count = len(ports[0])
    out = np.empty((1, count, len(OUT.fields)), program.precision)
    launch(count, [*(np.ascontiguousarray(a)[None] for a in ports), out], [count])
    return out[0]


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_target_has_the_same_bits(precision: str, tmp_path: Path) -> None:
    program = lower(traced(by_call), precision)
    x, p = columns(precision)
    ports = [np.stack(x, axis=1), np.stack(p, axis=1)]
    expected = canonical(np.stack(evaluate(program, *x, more=p), axis=1))
    split = with_held_parts(program)
    assert canonical(np.stack(evaluate(split, *x, more=p), axis=1)) == expected
    for lanes in LANES:
        assert canonical(runner(program, lanes)(*ports)[0]) == expected, f"{lanes} lanes"
        assert canonical(runner(scheduled(split), lanes)(*ports)[0]) == expected, f"{lanes} lanes"
    assert canonical(through_c(program, ports, tmp_path)) == expected
    assert canonical(through_cuda(program, ports, tmp_path)) == expected


def test_the_copied_form_is_the_same_but_for_rounding() -> None:
    ports = [np.stack(columns_of, axis=1) for columns_of in columns("float64")]
    by_calls, copied = (
        runner(lower(traced(kernel), "float64"))(*ports)[0] for kernel in (by_call, plain_tyre)
    )
    np.testing.assert_allclose(by_calls, copied, rtol=1e-12, atol=1e-12)


def executed_per_step(program: Program) -> int:
    """Operations that are not held, those of functions as often as they are called there."""
    costs: list[int] = []
    for function in program.functions:
        costs.append(_operations(function, [False] * len(function.code), costs))
    return _operations(program, program.held, costs)


def _operations(program: Program, held: Any, costs: list[int]) -> int:
    total = 0
    for i, is_held in zip(program.code, held, strict=True):
        if not is_held and i.op not in ("const", "input", "item"):
            total += costs[i.imm[0]] if i.op == "call" else 1
    return total


def test_what_held_arguments_decide_is_computed_once() -> None:
    program = lower(traced(by_call), "float64")
    split = with_held_parts(program)
    names = [f.name for f in split.functions]
    assert names == ["shape_held", "shape", "tyre_held", "tyre"]
    shape_rest, tyre_rest = split.functions[1], split.functions[3]
    assert [len(port.fields) for port in shape_rest.inputs] == [1, 2]
    assert len(tyre_rest.inputs[0].fields) == 2
    assert not {"sqrt", "div"} & set(tyre_rest.counts) - set(shape_rest.counts)
    # Two kinds of wheels: two first calls, both before the loop.
    first = [k for k, i in enumerate(split.code) if i.op == "call" and i.imm[0] == 2]
    assert len(first) == 2
    assert all(split.held[k] for k in first)
    assert len(calls(split)) == 6
    assert executed_per_step(split) < 0.75 * executed_per_step(program)


def test_splitting_twice_changes_nothing() -> None:
    split = with_held_parts(lower(traced(by_call), "float64"))
    assert with_held_parts(split) is split


def test_a_condition_that_is_held_makes_no_iteration() -> None:
    """`select(q, new, old)` of an argument would be one, of a value that is handed over not."""

    def chosen(old: Any, new: Any, flag: Any) -> Any:
        return where(flag * flag > 1.0, new * new, old)

    def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        return ((*(called(chosen, x[k], x[3], p[0]) for k in range(4)), 0.0),)

    program = lower(trace("f", function, (STATE, PARAMS), (OUT,)), "float64")
    split = with_held_parts(program)
    assert skipped_by(split.functions[1]) is None
    x, p = columns("float64")
    ports = [np.stack(x, axis=1), np.stack(p, axis=1)]
    expected = canonical(runner(program, 4)(*ports)[0])
    assert canonical(runner(split, 4)(*ports)[0]) == expected


def test_an_iteration_keeps_what_it_carries() -> None:
    """Held constants go around a loop beside what it carries."""
    go_on, root, a, scale = (ca.SX.sym(n) for n in ("go_on", "root", "a", "scale"))
    following = 0.5 * (root + ca.exp(scale) * a / root)
    more = ca.if_else(ca.fabs(following - root) > 1e-3 * root, 1.0, 0.0)
    kept = [ca.if_else(go_on, n, o) for n, o in ((more, go_on), (following, root))]
    options = {"never_inline": True, "cse": True}
    iteration = ca.Function(
        "root", [ca.vertcat(go_on, root, a, scale)], [ca.vertcat(*kept)], options
    )

    def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
        memory = ca.vertcat(1.0, 1.0)
        for _ in range(20):
            (memory,) = iteration.call([ca.vertcat(memory, x[0] * x[0] + 1.0, p[0])])
        return ((memory[0], memory[1], 0.0, 0.0, 0.0),)

    program = lower(trace("f", function, (STATE, PARAMS), (OUT,)), "float64")
    split = with_held_parts(program)
    assert [f.name for f in split.functions] == ["root_held", "root"]
    assert skipped_by(split.functions[1]) == 0
    x, p = columns("float64")
    ports = [np.stack(x, axis=1), np.stack(p, axis=1)]
    expected = canonical(runner(program, 4)(*ports)[0])
    for lanes in (1, 8):
        assert canonical(runner(scheduled(split), lanes)(*ports)[0]) == expected
    roots = runner(split)(*ports)[0][2:, 1]
    assert roots == pytest.approx(np.sqrt(np.exp(p[0]) * (x[0] * x[0] + 1.0))[2:], rel=1e-5)


def test_a_reciprocal_of_a_parameter_is_held_where_it_is_written() -> None:
    """How a function rounds does not depend on what its callers hold, so a quotient stays one."""

    def operations(kernel: Callable[..., Any]) -> set[str]:
        def function(x: tuple[Any, ...], p: tuple[Any, ...]) -> Any:
            return ((*(called(kernel, x[k], p[0]) for k in range(4)), 0.0),)

        program = lower(trace("f", function, (STATE, PARAMS), (OUT,)), "float64")
        return set(with_held_parts(program).functions[1].counts)

    assert operations(lambda a, b: a / b) == {"div"}
    assert operations(lambda a, b: a * (1.0 / b)) == {"mul"}
