"""What each lowered operation means, in NumPy and exact fractions; slow and independent of LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from skidpad import Program
from skidpad.core.arrays import values_of

INTEGER = {"float64": np.uint64, "float32": np.uint32}
MANTISSA = {"float64": 52, "float32": 23}
BIAS = {"float64": 1023, "float32": 127}


def rounded(value: Fraction, dtype: Any) -> Any:
    """The nearest number of a precision, ties to even."""
    kind = np.dtype(dtype).type
    try:
        guess = kind(float(value))
    except OverflowError:
        return kind(np.inf if value > 0 else -np.inf)
    if dtype == "float64" or not np.isfinite(guess):
        return guess
    # Rounding to double first may have moved a value onto a tie: settle it among the neighbours.
    near = [np.nextafter(guess, kind(s), dtype=kind) for s in (-np.inf, np.inf)] + [guess]
    errors = [
        (abs(Fraction(float(n)) - value), int(n.view(np.uint32)) & 1)
        for n in near
        if np.isfinite(n)
    ]
    candidates = [n for n in near if np.isfinite(n)]
    return candidates[errors.index(min(errors))]


def fma(a: Any, b: Any, c: Any, dtype: Any) -> Any:
    """a*b + c, rounded once."""
    kind = np.dtype(dtype).type
    a, b, c = kind(a), kind(b), kind(c)
    if not (np.isfinite(a) and np.isfinite(b) and np.isfinite(c)):
        # A product of finite numbers cannot overflow before it is rounded together with c.
        product = a * b if not (np.isfinite(a) and np.isfinite(b)) else kind(0.0)
        return product + c
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        product_sign = np.signbit(a) != np.signbit(b)
        zero_product = a == 0 or b == 0
        negative = zero_product and c == 0 and product_sign and np.signbit(c)
        return kind(-0.0 if negative else 0.0)
    return rounded(exact, dtype)


def _bits(x: np.ndarray) -> np.ndarray:
    return x.view(INTEGER[str(x.dtype)])


def _pow2(n: np.ndarray) -> np.ndarray:
    return np.ldexp(n.dtype.type(1.0), n.astype(int))


def _mantissa(x: np.ndarray) -> np.ndarray:
    p = str(x.dtype)
    kind, width = INTEGER[p], MANTISSA[p]
    return ((_bits(x) & kind((1 << width) - 1)) | kind(BIAS[p] << width)).view(x.dtype)


def _exponent(x: np.ndarray) -> np.ndarray:
    p = str(x.dtype)
    field = (_bits(x) >> INTEGER[p](MANTISSA[p])) & INTEGER[p](2 * BIAS[p] + 1)
    return (field.astype(np.int64) - BIAS[p]).astype(x.dtype)


def _testbit(x: np.ndarray, bit: int) -> np.ndarray:
    return (_bits(x) >> INTEGER[str(x.dtype)](bit)) & 1 != 0


def _read(number: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements of shared arrays, one by one."""
    found = np.full(len(number), np.nan, index.dtype)
    for k, (n, i) in enumerate(zip(number.tolist(), index.tolist(), strict=True)):
        values = values_of(n)
        if values is not None and i == i:
            found[k] = values[int(min(max(i, 0.0), values.size - 1.0))]
    return found


OPERATIONS: dict[str, Any] = {
    "read": _read,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rint": np.rint,
    "floor": np.floor,
    "copysign": np.copysign,
    "select": np.where,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
    "not": np.logical_not,
    "pow2": _pow2,
    "mantissa": _mantissa,
    "exponent": _exponent,
}


def evaluate(
    program: Program,
    *columns: np.ndarray,
    more: Sequence[np.ndarray] = (),
    functions: tuple[Program, ...] | None = None,
) -> list[np.ndarray]:
    """The first output port of a lowered Program, operation by operation.

    `columns` are the fields of its first input port, `more` those of its second. `functions` are
    those of the Program that a function belongs to.
    """
    dtype = np.dtype(program.precision)
    called = program.functions if functions is None else functions
    values: list[Any] = []
    count = len(columns[0])
    with np.errstate(all="ignore"):
        for i in program.code:
            args = [values[a] for a in i.args]
            if i.op == "const":
                value = np.full(count, i.imm, dtype)
            elif i.op == "input":
                value = np.asarray((columns, more)[i.imm[0]][i.imm[1]], dtype)
            elif i.op == "fma":
                rows = zip(*args, strict=True)
                value = np.array([fma(*row, program.precision) for row in rows], dtype)
            elif i.op == "call":
                number, times = i.imm
                held = list[Any]()
                if len(called[number].inputs) == 2:
                    args.pop()
                    last = program.code[i.args[-1]]
                    first = values[last.args[0]] if last.op == "item" else more
                    held = first[last.imm if last.op == "item" else last.imm[1] :]
                for _ in range(times):
                    value = evaluate(called[number], *args, more=held, functions=called)
                    args[: len(value)] = value
            elif i.op == "item":
                value = args[0][i.imm]
            elif i.op == "testbit":
                value = _testbit(args[0], i.imm)
            else:
                value = OPERATIONS[i.op](*args)
            values.append(value)
    return [values[r] for r in program.results[0]]
