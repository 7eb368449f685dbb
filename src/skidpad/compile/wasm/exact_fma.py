"""The fused multiply-add as a function, a*b + c rounded once, of instructions that round each.

In double precision the usual case is a product and a sum with their errors: the product is split
by Veltkamp's method (Dekker, A floating-point technique for extending the available precision,
1971), the sum is Knuth's. The two errors are added and the sum of that and the high part is the
result, unless it could have been rounded twice: it lies half-way between two numbers, so what was
lost in the sum of the errors could decide. Then, and where something might have overflowed or
fallen below the normal numbers, whole numbers decide (`whole_fma`). All of these checks lie beside
the chain of operations that leads to the result, and are one branch.

Why the rest is right: let s be the rounded sum of the product's high part and c, d its error and e
that of the product. If d is zero, so is the error of d + e, and s + e is rounded once. Else
s has lost nothing to cancellation (Sterbenz), so |d + e| is at most 3/2 of a unit in the last place
of s, the half-way points near s are multiples of the last place of the rounded d + e, and what was
lost there is less than that place: it cannot take s + d + e across one of them.

In single precision the product is exact in double, and the sum is rounded to odd before it is
rounded again, as double has more than twice the digits at every size of the numbers.
"""

from __future__ import annotations

from .binary import F64, I64, RETURN, body, call, get, i64, op, put, when
from .doubles import Locals, add, int64, mul, number, sub

_SMALLEST, _LARGEST = 2.0**-960, 2.0**1000
"""Between these a product and its error are numbers: its last place is 2**-1066 or more. What
overflows on the way makes the result infinite or NaN."""
_SPLIT = 2.0**27 + 1.0


def _split(value: int, scaled: int, high: int, low: int) -> bytes:
    """A number as the sum of two that have half of its digits each."""
    return (
        put(scaled, mul(get(value), number(_SPLIT)))
        + put(high, sub(get(scaled), sub(get(scaled), get(value))))
        + put(low, sub(get(value), get(high)))
    )


def _lost(x: int, y: int, total: int, part: int) -> bytes:
    """What the rounded sum of two numbers has lost."""
    return put(part, sub(get(total), get(x))) + add(
        sub(get(x), sub(get(total), get(part))), sub(get(y), get(part))
    )


def fma64(whole: int) -> bytes:
    """The body of fma for float64; `whole` is the index of the function of `whole_fma.fma64`."""
    a, b, c = range(3)
    names = Locals()
    product, scaled, high_a, low_a, high_b, low_b = names.new(F64, 6)
    total, part, rest, result, over = names.new(F64, 5)
    error = sub(mul(get(high_a), get(high_b)), get(product))
    for x, y in ((high_a, low_b), (low_a, high_b), (low_a, low_b)):
        error = add(error, mul(get(x), get(y)))
    code = (
        put(product, mul(get(a), get(b)))
        + _split(a, scaled, high_a, low_a)
        + _split(b, scaled, high_b, low_b)
        + put(total, add(get(product), get(c)))
        + put(rest, add(_lost(product, c, total, part), error))
        + put(result, add(get(total), get(rest)))
        # What the result has lost, twice: added to a result that was half-way, it gives the
        # number on the other side, exactly.
        + put(over, sub(get(rest), sub(get(result), get(total))))
        + put(over, add(get(over), get(over)))
    )
    moved = sub(add(get(result), get(over)), get(result))
    fine = op("f64.ge", op("f64.abs", get(product)), number(_SMALLEST))
    fine = op("i32.and", fine, op("f64.lt", op("f64.abs", get(result)), number(_LARGEST)))
    once = op("i32.or", op("f64.ne", moved, get(over)), op("f64.eq", get(over), number(0.0)))
    # Of numbers at rest, as the wheels of a parked car, many products are zero.
    nothing = op("i32.or", *(op("f64.eq", get(x), number(0.0)) for x in (a, b)))
    slow = when(nothing, get(total) + RETURN) + call(whole, get(a), get(b), get(c)) + RETURN
    code += when(op("i32.eqz", op("i32.and", fine, once)), slow)
    return body(names.kinds, code + get(result))


def fma32() -> bytes:
    """The body of fma for float32, in double precision."""
    a, b, c = range(3)
    names = Locals()
    product, total, part, rest, third = names.new(F64, 5)
    (word,) = names.new(I64, 1)
    x, y, z = (op("f64.promote_f32", get(k)) for k in (a, b, c))
    code = put(product, mul(x, y)) + put(third, z)
    code += put(total, add(get(product), get(third)))
    code += put(rest, _lost(product, third, total, part))
    code += put(word, op("i64.reinterpret_f64", get(total)))
    even = op("i64.eqz", int64("and", get(word), i64(1)))
    # Of an infinite sum the rest is NaN, and not above zero.
    inexact = op("f64.gt", op("f64.abs", get(rest)), number(0.0))
    signs = int64("xor", op("i64.reinterpret_f64", get(rest)), get(word))
    step = int64("or", int64("shr_s", signs, i64(63)), i64(1))
    code += when(op("i32.and", even, inexact), put(word, int64("add", get(word), step)))
    return body(names.kinds, code + op("f32.demote_f64", op("f64.reinterpret_i64", get(word))))
