"""The WebAssembly emitter: operations, functions and shared arrays of Programs, in both modules.

In one file, since a browser takes longer to start than all of this takes in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from compile import test_array_reads as reads
from compile import test_called as kernels
from compile import test_functions as functions
from compile.c_harness import program_of
from compile.lanes_harness import PRECISIONS, canonical, traced
from compile.numpy_model import evaluate, fma
from compile.wasm_cases import cases, corners, random_triples
from compile.wasm_harness import KINDS, Engine
from skidpad import Program
from skidpad.compile.lower import lower
from skidpad.compile.passes import scheduled, with_held_parts
from skidpad.compile.program import LOWERED_OPS, Builder, Instruction, Port
from skidpad.compile.wasm import assembled
from skidpad.compile.wasm_binary import Dialect, op, vector_dialect
from skidpad.core.arrays import LONGEST_FLOAT32
from skidpad.errors import InvalidValue, UnknownOperation
from skidpad.export.exported import modules_of
from view.pages.conftest import browser as browser


@pytest.fixture(scope="module", params=PRECISIONS)
def precision(request: pytest.FixtureRequest) -> str:
    return request.param


def same(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    """The same bits; a NaN is a NaN."""
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(got), np.isnan(expected)), what
    assert got[numbers].tobytes() == expected.astype(got.dtype)[numbers].tobytes(), what


@pytest.fixture(scope="module")
def engine(browser: Any) -> Iterator[Engine]:
    found = Engine(browser)
    yield found
    found.page.close()


@pytest.mark.parametrize("kind", KINDS)
def test_operations(engine: Engine, precision: str, kind: str) -> None:
    table = cases(precision)
    assert set(LOWERED_OPS) - set(table) == {"const", "input", "fma", "read"}
    programs = {name: with_own_ports(program, name) for name, (program, _, _) in table.items()}
    engine.load(modules_of(programs), kind)
    for name, (_, given, wanted) in table.items():
        (got,) = engine.apply(name, programs[name], np.stack(given, axis=1))
        same(got[:, 0], np.asarray(wanted), name)


def with_own_ports(program: Program, name: str) -> Program:
    def renamed(ports: tuple[Port, ...]) -> tuple[Port, ...]:
        return tuple(Port(f"{name}_{n}", fields) for n, fields in ports)

    return replace(program, inputs=renamed(program.inputs), outputs=renamed(program.outputs))


def test_constants_keep_their_bits(engine: Engine, precision: str) -> None:
    values = [0.0, -0.0, 0.1, -1e-40, 1e30, math.inf, -math.inf, math.nan]
    code = tuple(Instruction("const", (), float(np.dtype(precision).type(v))) for v in values)
    outputs = (Port("y", tuple("abcdefgh")),)
    program = Program("f", (), outputs, code, (tuple(range(8)),), precision)
    for kind in KINDS:
        engine.load(modules_of({"f": program}), kind)
        (got,) = engine.run({}, ["y"], "f", count=1)
        same(got[0], np.array(values, precision), kind)


def test_every_input_is_read_before_an_output_is_written(engine: Engine) -> None:
    """Swaps two fields in place and adds a third port's."""
    code = (
        Instruction("input", (), (0, 0)),
        Instruction("input", (), (0, 1)),
        Instruction("input", (), (1, 0)),
        Instruction("add", (0, 2)),
    )
    ports = (Port("x", ("a", "b")), Port("p", ("c",)))
    swap = Program("swap", ports, (Port("x", ("a", "b")),), code, ((1, 3),), "float64")
    for kind in KINDS:
        engine.load(modules_of({"swap": swap}), kind)
        given = {"x": np.array([[1.0, 2.0]]), "p": np.array([[10.0]])}
        assert engine.run(given, ["x"], "swap", count=2)[0].tolist() == [[2.0, 11.0], [11.0, 12.0]]


def test_programs_share_ports_by_name(engine: Engine) -> None:
    """One doubles x into y, the other adds y to x; an empty port takes nothing from a full one."""
    x, y, none = Port("x", ("a",)), Port("y", ("a",)), Port("y", ())
    read = (Instruction("input", (), (0, 0)), Instruction("add", (0, 0)))
    add = (Instruction("input", (), (0, 0)), Instruction("input", (), (1, 0)))
    programs = {
        "double": Program("double", (x, none), (y,), read, ((1,),), "float64"),
        "sum": Program("sum", (x, y), (x,), (*add, Instruction("add", (0, 1))), ((2,),), "float64"),
    }
    modules = modules_of(programs)
    assert {name: p["fields"] for name, p in modules.layout["ports"].items()} == {
        "x": ["a"],
        "y": ["a"],
    }
    engine.load(modules)
    (got,) = engine.run({"x": np.array([[1.0]])}, ["x"], "double", "sum", count=3)
    assert got[:, 0].tolist() == [3.0, 9.0, 27.0]


def test_long_chains_of_operations(engine: Engine) -> None:
    """A thousand additions, one inside the other, are no expression of such a depth."""

    def rule(b: Builder, x: int) -> int:
        total = x
        for k in range(1000):
            total = b.add(total, b.mul(x, b.const(float(k % 7))))
        return total

    program = program_of(rule, "float64", 1)
    for kind in KINDS:
        engine.load(modules_of({"f": program}), kind)
        (got,) = engine.apply("f", program, np.array([[1.0], [0.5]]))
        whole = 1.0 + sum(k % 7 for k in range(1000))
        assert got[:, 0].tolist() == [whole, 0.5 * whole]


def test_rejects_what_cannot_be_a_module() -> None:
    one = (Instruction("const", (), 1.0),)
    port = (Port("y", ("a",)),)
    program = Program("p", (), port, one, ((0,),), "float64")
    with pytest.raises(InvalidValue, match="at least one"):
        modules_of({})
    with pytest.raises(InvalidValue, match="precision None"):
        modules_of({"p": replace(program, precision=None)})
    with pytest.raises(InvalidValue, match="one precision"):
        modules_of({"p": program, "q": replace(program, precision="float32")})
    with pytest.raises(InvalidValue, match="'memory'"):
        modules_of({"memory": program})
    with pytest.raises(InvalidValue, match=r"port 'y' of program 'q'.*fields b"):
        modules_of({"p": program, "q": replace(program, outputs=(Port("y", ("b",)),))})
    unknown = replace(program, code=(*one, Instruction("gamma", (0,))), results=((1,),))
    with pytest.raises(UnknownOperation, match="'gamma'"):
        modules_of({"p": unknown})


def rounded_twice(dialect: Dialect) -> Dialect:
    """A module as an engine runs it that has no fused instruction."""
    multiply, add = (dialect.plain[name] for name in ("mul", "add"))
    plain = {name: words for name, words in dialect.plain.items() if name != "fma"}
    special = dict(dialect.special)
    special["fma"] = lambda w, args, imm: op(add, op(multiply, args[0], args[1]), args[2])
    return replace(dialect, plain=plain, special=special)


def test_an_engine_that_rounds_twice_is_found_out(engine: Engine, precision: str) -> None:
    program = program_of(lambda b, x, y, z: b.fma(x, y, z), precision, 3)
    good = modules_of({"f": program})
    bad = assembled({"f": program}, (), rounded_twice(vector_dialect(precision))).code
    assert engine.load(good)
    assert not engine.load(replace(good, fused=bad))
    e = float(np.finfo(precision).eps)
    given = np.array([[1.0 + e, 1.0 - e, -1.0]], precision)
    assert engine.apply("f", program, given)[0].tolist() == [[-e * e]]


def test_an_engine_without_relaxed_vectors_takes_the_exact_module(engine: Engine) -> None:
    modules = modules_of({"f": program_of(lambda b, x: b.neg(x), "float64", 1)})
    unknown = replace(modules, fused=modules.fused[:-1])
    assert not engine.load(unknown)
    with pytest.raises(Exception, match="rounds once"):
        engine.load(unknown, "fused")


def test_names_that_are_not_there(engine: Engine) -> None:
    engine.load(modules_of({"f": program_of(lambda b, x: b.neg(x), "float64", 1)}))
    for asked in ("loaded.view('x')", "loaded.call('g')"):
        with pytest.raises(Exception, match="there is no"):
            engine.page.evaluate(asked)


def test_fma_rounds_once(engine: Engine, precision: str) -> None:
    triples = np.concatenate([corners(precision), random_triples(precision, 800)])
    with np.errstate(all="ignore"):
        wanted = np.array([fma(a, b, c, precision) for a, b, c in triples.tolist()], precision)
        twice = triples[:, 0] * triples[:, 1] + triples[:, 2]
    assert np.count_nonzero(twice != wanted) > 1500, "cases that tell"
    program = program_of(lambda b, x, y, z: b.fma(x, y, z), precision, 3)
    modules = modules_of({"f": program})
    for kind in KINDS:
        engine.load(modules, kind)
        (got,) = engine.apply("f", program, triples)
        wrong = np.flatnonzero(~_alike(got[:, 0], wanted))
        assert not len(wrong), (
            kind,
            len(wrong),
            [(triples[k].tolist(), got[k, 0], wanted[k]) for k in wrong[:5]],
        )


def _alike(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    return same | (np.isnan(got) & np.isnan(wanted))


def test_functions_that_call_and_iterate(engine: Engine, precision: str) -> None:
    program = lower(traced(functions.mixed, 2, port="x"), precision)
    given = functions.columns(precision)
    expected = canonical(np.stack(evaluate(program, *given), axis=1))
    for kind in KINDS:
        for written in (program, scheduled(with_held_parts(program))):
            engine.load(modules_of({"f": written}), kind)
            (got,) = engine.apply("f", written, np.stack(given, axis=1))
            assert canonical(got) == expected, kind


def test_kernels_with_held_arguments(engine: Engine, precision: str) -> None:
    program = lower(kernels.traced(kernels.by_call), precision)
    x, p = kernels.columns(precision)
    expected = canonical(np.stack(evaluate(program, *x, more=p), axis=1))
    for kind in KINDS:
        engine.load(modules_of({"f": scheduled(with_held_parts(program))}), kind)
        (got,) = engine.apply("f", program, np.stack(x, axis=1), np.stack(p, axis=1))
        assert canonical(got) == expected, kind


def test_times_are_kept_where_nothing_can_be_skipped(engine: Engine) -> None:
    x = ca.SX.sym("x", 2)
    growth = functions.called("growth", x, [x[0] * x[1] + 1.0])
    program = lower(traced(lambda a, b: growth.call([ca.vertcat(a, b)])[0], 2, port="x"), "float64")
    code = tuple(i._replace(imm=(0, 3)) if i.op == "call" else i for i in program.code)
    program = replace(program, code=code)
    for kind in KINDS:
        engine.load(modules_of({"f": program}), kind)
        (got,) = engine.apply("f", program, np.array([[2.0, 3.0], [-1.0, 0.5]]))
        assert got[:, 0].tolist() == [
            ((2.0 * 3.0 + 1.0) * 3.0 + 1.0) * 3.0 + 1.0,
            ((-0.5 + 1.0) * 0.5 + 1.0) * 0.5 + 1.0,
        ]


@pytest.mark.parametrize("how", reads.FUNCTIONS)
def test_arrays_are_read_by_their_place(engine: Engine, precision: str, how: str) -> None:
    """The numbers 1 and 2 instead of those of the process."""
    number, index = reads.columns(precision)
    expected = canonical(np.stack(reads.expected(number, index), axis=1))
    places = number.copy()
    for place, shared in enumerate((reads.MANY, reads.FEW), 1):
        places[number == np.dtype(precision).type(shared)] = place
    program = reads.program(how, precision)
    modules = modules_of({"f": program}, [reads.MANY.values, reads.FEW.values])
    for kind in KINDS:
        engine.load(modules, kind)
        (got,) = engine.apply("f", program, np.stack([places, index], axis=1))
        assert canonical(got) == expected, kind


def test_without_arrays_every_number_reads_nan(engine: Engine) -> None:
    program = reads.program("copied", "float64")
    engine.load(modules_of({"f": program}))
    (got,) = engine.apply("f", program, np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 5.0]]))
    assert np.isnan(got).all()
    with pytest.raises(InvalidValue, match="at least 1 number"):
        modules_of({"f": program}, [np.zeros(0)])
    long = np.broadcast_to(0.0, LONGEST_FLOAT32 + 1)
    with pytest.raises(InvalidValue, match="array 2 has 16777217 numbers"):
        modules_of({"f": reads.program("copied", "float32")}, [np.ones(3), long])
