"""The fused multiply-add a*b + c, rounded once, as a function of instructions that each round.

In double precision the usual case is a product and a sum with their errors: the product is split
by Veltkamp's method (Dekker, A floating-point technique for extending the available precision,
1971), the sum is Knuth's. The two errors are added, and the sum of that and the high part is the
result, unless it could have been rounded twice: it lies half-way between two numbers, so that the
error of the sum of the errors could decide. In this case, and after a possible overflow or
underflow, the result is computed in integers (`whole_fma`): product and c become numbers of 128
bits, in two words each, which are added and rounded once, at the last digit of the result. All of
these checks lie outside the chain of operations that leads to the result, and are one branch.

Why the rest is right: let s be the rounded sum of the product's high part and c, d its error and e
that of the product. If d is zero, so is the error of d + e, and s + e is rounded once. Else
s has lost nothing to cancellation (Sterbenz), so |d + e| is at most 3/2 of a unit in the last place
of s, the half-way points near s are multiples of the last place of the rounded d + e, and the error
there is less than that place: it cannot take s + d + e across one of them.

In single precision the product is exact in double, and the sum is rounded to odd before it is
rounded again, as double has more than twice the digits at every size of the numbers.
"""

from __future__ import annotations

from functools import partial

from .binary import F64, FORMATS, I64, RETURN, body, call, get, i64, op, put, when


class Locals:
    """Local variables of a function after its three arguments."""

    def __init__(self) -> None:
        self.kinds: list[bytes] = []

    def new(self, kind: bytes, count: int) -> list[int]:
        """Add `count` local variables of a type; returns their indices."""
        first = 3 + len(self.kinds)
        self.kinds += [kind] * count
        return list(range(first, first + count))


def number(value: float) -> bytes:
    return b"\x44" + FORMATS["float64"].bits_of(value).to_bytes(8, "little")


add, sub, mul = (partial(op, f"f64.{name}") for name in ("add", "sub", "mul"))


def int64(name: str, x: bytes, y: bytes) -> bytes:
    """An operation on 64-bit words."""
    return op(f"i64.{name}", x, y)


_SMALLEST, _LARGEST = 2.0**-960, 2.0**1000
"""Range of products in which a product and its error are both representable.

The last place of such a product is 2**-1066 or more. Overflow of an intermediate result makes
the result infinite or NaN.
"""
_SPLIT = 2.0**27 + 1.0


def _split(value: int, scaled: int, high: int, low: int) -> bytes:
    """Split a number into the sum of two that have half of its digits each."""
    return (
        put(scaled, mul(get(value), number(_SPLIT)))
        + put(high, sub(get(scaled), sub(get(scaled), get(value))))
        + put(low, sub(get(value), get(high)))
    )


def _lost(x: int, y: int, total: int, part: int) -> bytes:
    """The rounding error of the sum of two numbers."""
    return put(part, sub(get(total), get(x))) + add(
        sub(get(x), sub(get(total), get(part))), sub(get(y), get(part))
    )


def fma64(whole: int) -> bytes:
    """The body of fma for float64; `whole` is the index of the function of `whole_fma_fma64`."""
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


_SIGN, _HIDDEN, _FIELD = 1 << 63, 1 << 52, 0x7FF
_LOW = 0xFFFFFFFF


def whole_fma_fma64() -> bytes:
    """The body of fma for float64 in integers: slower, for all operands but products of zero."""
    names = Locals()
    word_a, word_b, word_c = names.new(I64, 3)
    bits = zip(range(3), (word_a, word_b, word_c), strict=True)
    code = _special_cases()
    code += b"".join(put(w, op("i64.reinterpret_f64", get(x))) for x, w in bits)
    return body(names.kinds, code + _whole(names, word_a, word_b, word_c))


def _special_cases() -> bytes:
    """Return early if a number is infinite or NaN, or c zero: plain arithmetic is right."""
    a, b, c = range(3)
    product, zero = mul(get(a), get(b)), number(0.0)

    def not_finite(x: int) -> bytes:
        return op("f64.ne", sub(get(x), get(x)), zero)

    def is_zero(x: int) -> bytes:
        return op("f64.eq", get(x), zero)

    plain = op("i32.or", not_finite(a), not_finite(b))
    return (
        when(plain, add(product, get(c)) + RETURN)
        + when(not_finite(c), add(get(c), get(c)) + RETURN)
        + when(is_zero(c), product + RETURN)
    )


def _whole(names: Locals, a: int, b: int, c: int) -> bytes:
    """Code for a*b + c of three words that are finite nonzero numbers.

    In the product and in c bit 124 or 125 is the highest that is set, and both are scaled by a
    power of two. The one with the smaller power is shifted to that of the other, with a sticky last
    bit that records whether anything was lost. The product ends with 19 zeros, so what is lost was
    too far down to matter in a difference that cancels.
    """
    m_a, m_b, m_c, e_a, e_b, e_c = names.new(I64, 6)
    high, low, power, sign, far_high, far_low, far_sign, distance = names.new(I64, 8)
    code = _taken_apart(a, m_a, e_a, 1) + _taken_apart(b, m_b, e_b, 1)
    code += _taken_apart(c, m_c, e_c, 2) + _wide_product(names, m_a, m_b, high, low)
    code += put(sign, int64("and", int64("xor", get(a), get(b)), i64(_SIGN)))
    code += put(far_sign, int64("and", get(c), i64(_SIGN)))
    code += put(power, int64("add", get(e_a), get(e_b)))
    # c is the high word of 128 bits, so its power is that of 64 bits below.
    code += put(e_c, int64("sub", get(e_c), i64(64))) + put(far_high, get(m_c))
    code += put(distance, int64("sub", get(power), get(e_c)))
    exchanged = _exchanged(high, far_high, m_a) + _exchanged(low, far_low, m_a)
    exchanged += _exchanged(sign, far_sign, m_a) + put(power, get(e_c))
    exchanged += put(distance, int64("sub", i64(0), get(distance)))
    code += when(op("i64.lt_s", get(distance), i64(0)), exchanged)
    code += _moved_right(far_high, far_low, distance)
    code += _summed(high, low, sign, far_high, far_low, far_sign, m_a)
    return code + _rounded(names, high, low, power, sign)


def _exchanged(x: int, y: int, room: int) -> bytes:
    return put(room, get(x)) + put(x, get(y)) + put(y, get(room))


def _taken_apart(word: int, mantissa: int, power: int, zeros: int) -> bytes:
    """Convert a number to an integer with `zeros` leading zero bits and a power of two."""
    field = int64("and", int64("shr_u", get(word), i64(52)), i64(_FIELD))
    fraction = int64("and", get(word), i64(_HIDDEN - 1))
    shift = int64("sub", op("i64.clz", get(mantissa)), i64(zeros))
    return (
        put(power, field)
        + put(mantissa, fraction)
        + when(
            op("i64.eqz", get(power)),
            put(power, i64(1)),  # below the normal numbers
            put(mantissa, int64("or", get(mantissa), i64(_HIDDEN))),
        )
        + put(power, int64("sub", int64("sub", get(power), i64(1075)), shift))
        + put(mantissa, int64("shl", get(mantissa), shift))
    )


def _wide_product(names: Locals, x: int, y: int, high: int, low: int) -> bytes:
    """All 128 bits of a product of two words, from the products of their halves."""
    middle, other = names.new(I64, 2)

    def upper(word: bytes) -> bytes:
        return int64("shr_u", word, i64(32))

    def lower(word: bytes) -> bytes:
        return int64("and", word, i64(_LOW))

    def times(p: bytes, q: bytes) -> bytes:
        return int64("mul", p, q)

    first = times(lower(get(x)), lower(get(y)))
    code = put(middle, int64("add", times(upper(get(x)), lower(get(y))), upper(first)))
    code += put(other, int64("add", lower(get(middle)), times(lower(get(x)), upper(get(y)))))
    top = int64("add", times(upper(get(x)), upper(get(y))), upper(get(middle)))
    return code + put(high, int64("add", top, upper(get(other)))) + put(low, times(get(x), get(y)))


def _sticky(word: bytes) -> bytes:
    """1 if any bit of a word is set."""
    return op("i64.extend_i32_u", op("i64.ne", word, i64(0)))


def _moved_right(high: int, low: int, distance: int) -> bytes:
    """Shift two words right; the last bit is sticky and records whether anything was lost."""
    back = int64("sub", i64(64), get(distance))
    moved = int64("or", int64("shr_u", get(low), get(distance)), int64("shl", get(high), back))
    return (
        when(op("i64.gt_s", get(distance), i64(127)), put(distance, i64(127)))
        + when(
            op("i64.ge_s", get(distance), i64(64)),
            put(low, int64("or", get(high), _sticky(get(low))))
            + put(high, i64(0))
            + put(distance, int64("sub", get(distance), i64(64))),
        )
        + when(
            op("i64.ne", get(distance), i64(0)),
            put(low, int64("or", moved, _sticky(int64("shl", get(low), back))))
            + put(high, int64("shr_u", get(high), get(distance))),
        )
    )


def _summed(
    high: int, low: int, sign: int, far_high: int, far_low: int, far_sign: int, room: int
) -> bytes:
    """Add two numbers of two words, or subtract the smaller from the larger.

    The emitted code returns from the function if the sum is 0.
    """
    added = put(room, int64("add", get(low), get(far_low)))
    carry = op("i64.extend_i32_u", op("i64.lt_u", get(room), get(low)))
    added += put(high, int64("add", int64("add", get(high), get(far_high)), carry))
    smaller = op("i64.lt_u", get(high), get(far_high))
    alike = op("i64.eq", get(high), get(far_high))
    smaller = op("i32.or", smaller, op("i32.and", alike, op("i64.lt_u", get(low), get(far_low))))
    exchanged = b"".join(
        _exchanged(x, y, room) for x, y in ((high, far_high), (low, far_low), (sign, far_sign))
    )
    borrow = op("i64.extend_i32_u", op("i64.lt_u", get(low), get(far_low)))
    taken = when(smaller, exchanged)
    taken += put(high, int64("sub", int64("sub", get(high), get(far_high)), borrow))
    taken += put(room, int64("sub", get(low), get(far_low)))
    nothing = op("i64.eqz", int64("or", get(high), get(room)))
    return (
        when(op("i64.eq", get(sign), get(far_sign)), added, taken)
        + put(low, get(room))
        + when(nothing, number(0.0) + RETURN)
    )


def _rounded(names: Locals, high: int, low: int, power: int, sign: int) -> bytes:
    """Round two words times a power of two to the nearest number with this sign."""
    zeros, cut = names.new(I64, 2)
    up_to_date = when(
        op("i64.eqz", get(high)),
        put(high, get(low)) + put(low, i64(0)) + put(power, int64("sub", get(power), i64(64))),
    )
    # The high word then begins with its first bit, and ends with whether anything follows.
    back = int64("sub", i64(64), get(zeros))
    joined = int64("or", int64("shl", get(high), get(zeros)), int64("shr_u", get(low), back))
    begun = put(zeros, op("i64.clz", get(high))) + when(
        op("i64.ne", get(zeros), i64(0)),
        put(high, joined) + put(low, int64("shl", get(low), get(zeros))),
    )
    begun += put(high, int64("or", get(high), _sticky(get(low))))
    # From here on the power is that of the first bit.
    begun += put(power, int64("sub", int64("add", get(power), i64(127)), get(zeros)))
    infinite = op("f64.reinterpret_i64", int64("or", get(sign), i64(_FIELD << 52)))
    begun += when(op("i64.gt_s", get(power), i64(1023)), infinite + RETURN)
    lost = _sticky(int64("shl", get(high), int64("sub", i64(64), get(cut))))
    below = put(cut, int64("sub", i64(-1022), get(power)))
    below += when(op("i64.gt_s", get(cut), i64(63)), put(cut, i64(63)))
    below += put(high, int64("or", int64("shr_u", get(high), get(cut)), lost))
    below += put(power, i64(-1022))
    begun += when(op("i64.lt_s", get(power), i64(-1022)), below)
    # Half of the last place is 0x400; an even number stays where it is half-way.
    odd = int64("and", int64("shr_u", get(high), i64(11)), i64(1))
    nearest = int64("shr_u", int64("add", int64("add", get(cut), i64(0x3FF)), odd), i64(11))
    word = int64("shl", int64("add", get(power), i64(1022)), i64(52))
    kept = int64("add", int64("shr_u", get(high), i64(11)), nearest)
    begun += put(cut, int64("and", get(high), i64(0x7FF)))
    word = int64("or", get(sign), int64("add", word, kept))
    return up_to_date + begun + op("f64.reinterpret_i64", word)
