"""The WebAssembly emitter: every operation means what `program` says, in both modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compile.c_harness import program_of
from compile.test_c import as_number, specials
from compile.wasm_harness import KINDS, Engine
from skidpad import Program
from skidpad.compile.builder import Builder
from skidpad.compile.operations import LOWERED_OPS, Instruction, Port
from skidpad.compile.wasm.binary import op
from skidpad.compile.wasm.dialects import Dialect, vector_dialect
from skidpad.compile.wasm.module import assembled
from skidpad.errors import InvalidValue, UnknownOperation
from skidpad.export.webassembly import modules_of
from viewer.conftest import browser as browser

PRECISIONS = ("float64", "float32")
Rule = Callable[..., int]


def plain(name: str, imm: Any = None) -> Rule:
    def rule(b: Builder, *operands: int) -> int:
        value = b.emit(name, *operands, imm=imm)
        return as_number(b, value) if b.is_bool(value) else value

    return rule


def logical(name: str) -> Rule:
    """A function of truth values as one of numbers, which are true above zero."""

    def rule(b: Builder, *operands: int) -> int:
        return as_number(b, b.emit(name, *[b.lt(b.const(0.0), x) for x in operands]))

    return rule


def chosen(b: Builder, x: int, y: int) -> int:
    return b.select(b.lt(x, y), b.const(-0.0), y)


def sign_bit(precision: str) -> int:
    return 63 if precision == "float64" else 31


ONE = ("neg", "abs", "sqrt", "rint", "floor")
TWO = ("add", "sub", "mul", "div", "copysign", "lt", "le", "eq", "ne")
NUMPY: dict[str, Any] = {
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "rint": np.rint, "floor": np.floor},
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide},
    **{"copysign": np.copysign, "lt": np.less, "le": np.less_equal, "eq": np.equal},
    "ne": np.not_equal,
}
LOGIC = {
    "and": lambda x, y: (x > 0) & (y > 0),
    "or": lambda x, y: (x > 0) | (y > 0),
    "xor": lambda x, y: (x > 0) ^ (y > 0),
}


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


def cases(precision: str) -> dict[str, tuple[Program, list[np.ndarray], np.ndarray]]:
    """Programs with what they are given and what they should give, by NumPy."""
    values = specials(precision)
    pairs = np.array([(x, y) for x in values for y in values], precision)
    x, y = pairs.T
    found: dict[str, tuple[Program, list[np.ndarray], np.ndarray]] = {}
    with np.errstate(all="ignore"):
        for name in ONE:
            found[name] = program_of(plain(name), precision, 1), [values], NUMPY[name](values)
        for name in TWO:
            found[name] = program_of(plain(name), precision, 2), [x, y], NUMPY[name](x, y)
        for name, rule in LOGIC.items():
            found[name] = program_of(logical(name), precision, 2), [x, y], rule(x, y)
    found["not"] = program_of(logical("not"), precision, 1), [values], ~(values > 0)
    found["select"] = program_of(chosen, precision, 2), [x, y], np.where(x < y, -0.0, y)
    return found | bit_cases(precision)


def bit_cases(precision: str) -> dict[str, tuple[Program, list[np.ndarray], np.ndarray]]:
    limits = np.finfo(precision)
    whole = np.arange(limits.minexp, limits.maxexp).astype(precision)
    x = np.array([1.0, 1.75, -3.0, 1e-30, 12345.678, float(limits.max)], precision)
    fraction, exponent = np.frexp(x)
    small = np.arange(-5.0, 6.0).astype(precision)
    signs = specials(precision)

    def odd(b: Builder, value: int) -> int:
        return as_number(b, b.testbit(b.add(value, b.magic()), 0))

    rules: dict[str, tuple[Rule, np.ndarray, np.ndarray]] = {
        "pow2": (plain("pow2"), whole, np.ldexp(np.ones(1, precision), whole.astype(int))),
        "mantissa": (plain("mantissa"), x, 2 * np.abs(fraction)),
        "exponent": (plain("exponent"), x, exponent - 1),
        "testbit": (odd, small, small % 2),
        "sign": (plain("testbit", sign_bit(precision)), signs[:10], np.signbit(signs[:10])),
        "minus": (plain("testbit", sign_bit(precision)), signs[11:21], np.signbit(signs[11:21])),
    }
    return {
        name: (program_of(rule, precision, 1), [given], wanted)
        for name, (rule, given, wanted) in rules.items()
    }


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
