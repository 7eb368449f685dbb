"""The operations of Programs, traced and lowered, and what one instruction is."""

from __future__ import annotations

from typing import Any, NamedTuple

_ONE = (
    *("neg", "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
    *("tanh", "asinh", "acosh", "atanh", "log1p", "expm1", "abs", "sign", "floor", "ceil", "not"),
    "pow",
)
_TWO = (
    *("add", "sub", "mul", "div", "atan2", "hypot", "copysign", "min", "max", "read"),
    *("lt", "le", "eq", "ne", "and", "or"),
)
TRACED_OPS = {
    "const": 0,
    "input": 0,
    **dict.fromkeys(_ONE, 1),
    **dict.fromkeys(_TWO, 2),
    "select": 3,
}
"""Operations of a traced Program with their operand counts."""

FLOAT_OPS = {
    "const": 0,
    "input": 0,
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "fma": 3,
    "neg": 1,
    "abs": 1,
    "sqrt": 1,
    "rint": 1,
    "floor": 1,
    "copysign": 2,
    "select": 3,
    "pow2": 1,
    "mantissa": 1,
    "exponent": 1,
    "read": 2,
}
"""Lowered operations that give a number, with their operand counts.

`fma(a, b, c)` is a*b + c rounded once; `rint` rounds to nearest, ties to even; `copysign(a, b)` has
the magnitude of a; `select(q, a, b)` is a where the boolean q holds. Three work on the bits of a
number: `pow2(n)` is 2**n for integral n with a normal result (any other n gives some number, never
a trap); `mantissa(x)` is x with its sign cleared and its exponent set to 0, in [1, 2) for normal x;
`exponent(x)` is the unbiased exponent field of x as a number. `read(n, i)` is element i of the
shared array n: the nearest one where there is no such element, NaN where there is no such array
(see `shared_arrays`).
"""

BOOL_OPS = {
    "lt": 2,
    "le": 2,
    "eq": 2,
    "ne": 2,
    "and": 2,
    "or": 2,
    "xor": 2,
    "not": 1,
    "testbit": 1,
}
"""Lowered operations that give a boolean. Comparisons with NaN are false, but `ne` is true.
`testbit(x; k)` is bit k of the IEEE representation of x."""

LOWERED_OPS = FLOAT_OPS | BOOL_OPS

CALL_OPS = ("call", "item")
"""Operations of traced and lowered Programs alike: `call(a, b, ...; k, n)` runs function k on as
many numbers as it has inputs, n times, each time with the results of the time before as its first
arguments; `item(c; j)` is result j of the call c. Where a function has a second port, made by
`held_calls`, the call has one argument more: the value in memory that its fields begin with."""


class Instruction(NamedTuple):
    """One operation. `args` are indices of earlier instructions."""

    op: str
    args: tuple[int, ...] = ()
    imm: Any = None
    """The number of a `const`; (port, field) of an `input`; the bit of a `testbit`; the exponent of
    a `pow`; function and number of times of a `call`; the result of an `item`."""


class Port(NamedTuple):
    """A named group of scalars that enters or leaves a Program."""

    name: str
    fields: tuple[str, ...]
