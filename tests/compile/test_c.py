"""The C emitter: every operation means what `program` says, and errors say what is wrong."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from compile.c_harness import evaluators, program_of
from skidpad import Program
from skidpad.compile.c import compile_shared, emit
from skidpad.compile.program import Builder, Instruction, Port
from skidpad.errors import InvalidValue, MissingExtra, SkidpadError, UnknownOperation

PRECISIONS = ("float64", "float32")
SUBNORMAL = {"float64": 2.0**-1074, "float32": 2.0**-149}


def as_number(b: Builder, condition: int) -> int:
    return b.select(condition, b.const(1.0), b.const(0.0))


def specials(precision: str) -> np.ndarray:
    limits = np.finfo(precision)
    values = [0.0, 1.0, 1.5, 2.5, 0.1, 3.7, limits.max, limits.tiny, SUBNORMAL[precision]]
    values += [math.inf, math.nan]
    return np.array([*values, *[-v for v in values]], precision)


@pytest.fixture(params=PRECISIONS)
def precision(request: pytest.FixtureRequest) -> str:
    return request.param


def test_arithmetic_is_that_of_ieee(precision: str, tmp_path: Path) -> None:
    pairs = np.array([(x, y) for x in specials(precision) for y in specials(precision)], precision)
    x, y = pairs.T
    with np.errstate(all="ignore"):
        expected = {
            "add": x + y,
            "sub": x - y,
            "mul": x * y,
            "div": x / y,
            "copysign": np.copysign(x, y),
            "lt": x < y,
            "le": x <= y,
            "eq": x == y,
            "ne": x != y,
        }

    def rule(op: str) -> object:
        def write(b: Builder, a: int, c: int) -> int:
            value = b.emit(op, a, c)
            return as_number(b, value) if b.is_bool(value) else value

        return write

    programs = {f"f_{op}": program_of(rule(op), precision, 2) for op in expected}  # type: ignore[arg-type]
    functions = evaluators(programs, tmp_path)
    for op, value in expected.items():
        _same(functions[f"f_{op}"](x, y), value.astype(precision), op)


def test_functions_of_one_number(precision: str, tmp_path: Path) -> None:
    x = specials(precision)
    with np.errstate(all="ignore"):
        expected = {
            "neg": -x,
            "abs": np.abs(x),
            "sqrt": np.sqrt(x),
            "rint": np.rint(x),
            "floor": np.floor(x),
        }
    programs = {
        f"f_{op}": program_of(lambda b, a, op=op: b.emit(op, a), precision, 1) for op in expected
    }
    functions = evaluators(programs, tmp_path)
    for op, value in expected.items():
        _same(functions[f"f_{op}"](x), value, op)


def _same(got: np.ndarray, expected: np.ndarray, what: str) -> None:
    """The same bits; a NaN is a NaN."""
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.isnan(got), np.isnan(expected)), what
    assert got[numbers].tobytes() == expected[numbers].tobytes(), what


def test_fma_rounds_once(precision: str, tmp_path: Path) -> None:
    fma = evaluators({"f": program_of(lambda b, x, y, z: b.fma(x, y, z), precision, 3)}, tmp_path)
    rng = np.random.default_rng(3)
    x, y = rng.uniform(1.0, 2.0, (2, 500)).astype(precision)
    z = -(x * y)
    exact = [
        float(Fraction(float(a)) * Fraction(float(c)) + Fraction(float(d)))
        for a, c, d in zip(x, y, z, strict=True)
    ]
    assert np.array_equal(fma["f"](x, y, z), np.array(exact, precision))
    assert np.count_nonzero(exact) > 400


def test_bits_of_numbers(precision: str, tmp_path: Path) -> None:
    functions = evaluators(
        {
            "pow2": program_of(lambda b, x: b.pow2(x), precision, 1),
            "mantissa": program_of(lambda b, x: b.mantissa(x), precision, 1),
            "exponent": program_of(lambda b, x: b.exponent(x), precision, 1),
            "odd": program_of(
                lambda b, x: as_number(b, b.testbit(b.add(x, b.magic()), 0)), precision, 1
            ),
            "negative": program_of(
                lambda b, x: as_number(b, b.testbit(x, 63 if b.double else 31)), precision, 1
            ),
        },
        tmp_path,
    )
    limits = np.finfo(precision)
    n = np.arange(limits.minexp, limits.maxexp)
    assert np.array_equal(functions["pow2"](n), np.ldexp(np.ones(1, precision), n))
    assert functions["pow2"](np.array([limits.minexp - 1]))[0] == 0.0
    x = np.array([1.0, 1.75, -3.0, 1e-30, 12345.678, float(limits.max)], precision)
    fraction, exponent = np.frexp(x)
    assert np.array_equal(functions["mantissa"](x), 2 * np.abs(fraction))
    assert np.array_equal(functions["exponent"](x), exponent - 1)
    whole = np.arange(-5, 6)
    assert np.array_equal(functions["odd"](whole), whole % 2)
    assert list(functions["negative"]([0.0, -0.0, 2.0, -2.0])) == [0, 1, 0, 1]


def test_booleans(precision: str, tmp_path: Path) -> None:
    rules = {
        "both": lambda b, p, q: b.logical_and(p, q),
        "either": lambda b, p, q: b.logical_or(p, q),
        "one": lambda b, p, q: b.xor(p, q),
        "none": lambda b, p, q: b.logical_not(b.logical_or(p, q)),
    }

    def on_numbers(rule: object) -> object:
        def write(b: Builder, x: int, y: int) -> int:
            zero = b.const(0.0)
            return as_number(b, rule(b, b.lt(zero, x), b.lt(zero, y)))  # type: ignore[operator]

        return write

    functions = evaluators(
        {k: program_of(on_numbers(r), precision, 2) for k, r in rules.items()},  # type: ignore[arg-type]
        tmp_path,
    )
    x, y = np.array([-1.0, -1.0, 1.0, 1.0]), np.array([-1.0, 1.0, -1.0, 1.0])
    assert list(functions["both"](x, y)) == [0, 0, 0, 1]
    assert list(functions["either"](x, y)) == [0, 1, 1, 1]
    assert list(functions["one"](x, y)) == [0, 1, 1, 0]
    assert list(functions["none"](x, y)) == [1, 0, 0, 0]


def test_constants_keep_their_bits(precision: str, tmp_path: Path) -> None:
    values = [0.0, -0.0, 0.1, -1e-40, 1e30, math.inf, -math.inf, math.nan]
    programs = {
        f"f_{k}": program_of(lambda b, x, value=value: b.const(value), precision, 1)
        for k, value in enumerate(values)
    }
    for function, value in zip(evaluators(programs, tmp_path).values(), values, strict=True):
        _same(function([0.0]), np.array([value], precision), repr(value))


def test_ports_and_shared_memory(tmp_path: Path) -> None:
    """Swaps two fields in place and adds a third port's: order of ports and fields, late writes."""
    code = (
        Instruction("input", (), (0, 0)),
        Instruction("input", (), (0, 1)),
        Instruction("input", (), (1, 0)),
        Instruction("add", (0, 2)),
    )
    ports = (Port("x", ("a", "b")), Port("p", ("c",)))
    swap = Program("swap", ports, (Port("y", ("a", "b")),), code, ((1, 3),), "float64")
    function = compile_shared(emit(swap, "swap"), tmp_path).swap
    x, p = (ctypes.c_double * 2)(1.0, 2.0), (ctypes.c_double * 1)(10.0)
    pointer = ctypes.POINTER(ctypes.c_double)
    function((pointer * 2)(x, p), (pointer * 1)(x))
    assert list(x) == [2.0, 11.0]


def test_rejects_what_cannot_be_c() -> None:
    one = (Instruction("const", (), 1.0),)
    port = (Port("y", ("a",)),)
    with pytest.raises(InvalidValue, match="precision None"):
        emit(Program("p", (), port, one, ((0,),), None), "f")
    with pytest.raises(InvalidValue, match="'2f' is not a name"):
        emit(Program("p", (), port, one, ((0,),), "float64"), "2f")
    unknown = (*one, Instruction("gamma", (0,)))
    with pytest.raises(UnknownOperation, match="'gamma'"):
        emit(Program("p", (), port, unknown, ((1,),), "float64"), "f")


def test_compiler_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SkidpadError, match="failed"):
        compile_shared("this is not C", tmp_path)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(MissingExtra, match="no-such-compiler"):
        compile_shared("int x;", tmp_path)
