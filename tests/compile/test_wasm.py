"""The WebAssembly emitter: every operation means what `program` says, in both modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from compile.c_harness import program_of
from compile.test_c import as_number, specials
from compile.wasm_harness import KINDS, Engine
from skidpad import Program
from skidpad.compile.builder import Builder
from skidpad.compile.operations import LOWERED_OPS, Instruction, Port
from skidpad.errors import InvalidValue, UnknownOperation
from skidpad.export.webassembly import modules_of
from viewer.conftest import browser as browser

PRECISIONS = ("float64", "float32")
Rule = Callable[..., int]


def number(write: Callable[[Builder], Rule]) -> Rule:
    def rule(b: Builder, *operands: int) -> int:
        value = write(b)(*operands)
        return as_number(b, value) if b.is_bool(value) else value

    return rule


def plain(op: str, imm: Any = None) -> Rule:
    def rule(b: Builder, *operands: int) -> int:
        value = b.emit(op, *operands, imm=imm)
        return as_number(b, value) if b.is_bool(value) else value

    return rule


def logical(op: str) -> Rule:
    """A function of truth values as one of numbers, which are true above zero."""

    def rule(b: Builder, *operands: int) -> int:
        return as_number(b, b.emit(op, *[b.lt(b.const(0.0), x) for x in operands]))

    return rule


def chosen(b: Builder, x: int, y: int) -> int:
    return b.select(b.lt(x, y), b.const(-0.0), y)


def sign_bit(precision: str) -> int:
    return 63 if precision == "float64" else 31


ONE = ("neg", "abs", "sqrt", "rint", "floor")
TWO = ("add", "sub", "mul", "div", "copysign", "lt", "le", "eq", "ne")
NUMPY = {
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
        for op in ONE:
            found[op] = program_of(plain(op), precision, 1), [values], NUMPY[op](values)
        for op in TWO:
            found[op] = program_of(plain(op), precision, 2), [x, y], NUMPY[op](x, y)
        for op, rule in LOGIC.items():
            found[op] = program_of(logical(op), precision, 2), [x, y], rule(x, y)
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
    ports = {
        name: _renamed(program, name) for name, (program, _, _) in table.items()
    }
    engine.load(modules_of(ports), kind)
    for name, (_, given, wanted) in table.items():
        (got,) = engine.apply(name, ports[name], np.stack(given, axis=1))
        same(got[:, 0], np.asarray(wanted), name)


def _renamed(program: Program, name: str) -> Program:
    """With ports of its own."""
    ports = [tuple(Port(f"{name}_{n}", f) for n, f in side) for side in (program.inputs, program.outputs)]
    return Program(name, *ports, program.code, program.results, program.precision)
