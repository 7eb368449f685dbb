"""Exact functions in C99 for operations that a processor may lack.

`fma` with one rounding, `sqrt` to nearest, `rint` and `floor`, for all numbers including
subnormals, infinities and signed zeros. They need no library, and no header but `<stdint.h>`.

The fused multiply-add uses error-free transformations where neither overflow nor underflow is near
(Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
rounding to odd", IEEE Transactions on Computers 57, 2008), and integers elsewhere. In single
precision the product is exact in double, and one sum rounded to odd is enough.
"""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """C names, literal suffix and bit layout of the number type of one precision."""

    name: str
    suffix: str
    unsigned: str
    signed: str
    mantissa_bits: int
    bias: int


TYPES: dict[str, Type] = {
    "float64": Type("double", "", "uint64_t", "int64_t", 52, 1023),
    "float32": Type("float", "f", "uint32_t", "int32_t", 23, 127),
}
"""The C type of each precision."""

# Attributes that not every compiler knows; their numeric values are not defined by any header. The
# order of the operations fills the pipeline but keeps more values alive than x86 has registers; if
# gcc schedules for register pressure, its code of an implicit step is 1.4 times as fast. A file
# with large functions would take minutes.
_SETUP = """\
#ifndef SKIDPAD_SETUP
#define SKIDPAD_SETUP
#if defined(__FAST_MATH__)
#error "fast-math changes the results: compile without it"
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "numbers are kept wider than they are: on 32-bit x86 compile with -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#if defined(__x86_64__) && !defined(SKIDPAD_LARGE)
#pragma GCC optimize("schedule-insns", "sched-pressure")
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
#if defined(__GNUC__)
#define SKIDPAD_MAYBE_UNUSED __attribute__((unused))
#define SKIDPAD_NOINLINE __attribute__((noinline))
#define SKIDPAD_NAN __builtin_nanf("")
#define SKIDPAD_INFINITY __builtin_inff()
#else
#define SKIDPAD_MAYBE_UNUSED
#define SKIDPAD_NOINLINE
#define SKIDPAD_INFINITY ((float)(1e300 * 1e300))
#define SKIDPAD_NAN (SKIDPAD_INFINITY * 0.0f)
#endif
#if defined(__has_builtin)
#define SKIDPAD_HAS(builtin) __has_builtin(builtin)
#else
#define SKIDPAD_HAS(builtin) 0
#endif
#endif
"""

# Type punning through a union, which C defines and which, unlike memcpy, needs no call.
_BITS = """\
#ifndef SKIDPAD_{T}_BITS
#define SKIDPAD_{T}_BITS
SKIDPAD_MAYBE_UNUSED static inline {U} bits_{T}({T} x) {{
    union {{ {T} number; {U} bits; }} both;
    both.number = x;
    return both.bits;
}}
SKIDPAD_MAYBE_UNUSED static inline {T} from_bits_{T}({U} u) {{
    union {{ {T} number; {U} bits; }} both;
    both.bits = u;
    return both.number;
}}
SKIDPAD_MAYBE_UNUSED static inline {T} abs_{T}({T} x) {{
#if defined(__GNUC__)
    return __builtin_fabs{S}(x);
#else
    return from_bits_{T}(bits_{T}(x) & ~(({U})1 << {top}));
#endif
}}
SKIDPAD_MAYBE_UNUSED static inline {T} copysign_{T}({T} x, {T} y) {{
#if defined(__GNUC__)
    return __builtin_copysign{S}(x, y);
#else
    const {U} sign = ({U})1 << {top};
    return from_bits_{T}((bits_{T}(x) & ~sign) | (bits_{T}(y) & sign));
#endif
}}
#endif
"""

_ON_BITS = """\
#ifndef SKIDPAD_{T}_ON_BITS
#define SKIDPAD_{T}_ON_BITS
SKIDPAD_MAYBE_UNUSED static inline {T} pow2_{T}({T} n) {{
    return from_bits_{T}((bits_{T}(n + {magic}) + {bias}u) << {M});
}}
SKIDPAD_MAYBE_UNUSED static inline {T} mantissa_{T}({T} x) {{
    return from_bits_{T}((bits_{T}(x) & ((({U})1 << {M}) - 1u)) | (({U}){bias} << {M}));
}}
SKIDPAD_MAYBE_UNUSED static inline {T} exponent_{T}({T} x) {{
    return ({T})((int32_t)((bits_{T}(x) >> {M}) & {field}u) - {bias});
}}
#endif
"""

# Round x to an integer by adding a constant whose last bit has the value 1.
_WHOLE = """\
#ifndef SKIDPAD_{T}_WHOLE
#define SKIDPAD_{T}_WHOLE
SKIDPAD_MAYBE_UNUSED static inline {T} exact_rint_{T}({T} x) {{
    const {T} whole = {whole}, size = abs_{T}(x);
    return size < whole ? copysign_{T}((size + whole) - whole, x) : x;
}}
SKIDPAD_MAYBE_UNUSED static inline {T} exact_floor_{T}({T} x) {{
    const {T} nearest = exact_rint_{T}(x);
    return nearest > x ? nearest - 1 : nearest;
}}
/* Digit by digit; {digits} of them, of which the last one rounds. No square root lies half-way. */
SKIDPAD_MAYBE_UNUSED static {T} exact_sqrt_{T}({T} x) {{
    const {T} infinity = ({T})SKIDPAD_INFINITY;
    {U} left = bits_{T}(x), root = 0, rest = 0;
    {I} power = ({I})(left >> {M});
    int n;
    if (x == 0 || x != x || x == infinity) return x;
    if (x < 0) return ({T})SKIDPAD_NAN;
    left &= (({U})1 << {M}) - 1u;
    if (power > 0) {{
        left |= ({U})1 << {M};
    }} else {{
        for (power = 1; (left >> {M}) == 0; --power) left <<= 1;
    }}
    power -= {bias};
    left <<= {above} + (power & 1);
    power = (power - (power & 1)) / 2;
    for (n = 0; n < {digits}; ++n) {{
        rest = (rest << 2) | (left >> {last_two});
        left <<= 2;
        root <<= 1;
        if (rest >= 2 * root + 1) {{
            rest -= 2 * root + 1;
            root += 1;
        }}
    }}
    root = (root >> 1) + (root & 1);
    return from_bits_{T}((({U})(power + {bias} - 1) << {M}) + root);
}}
#endif
"""

_FMA_FLOAT = """\
#ifndef SKIDPAD_float_FMA
#define SKIDPAD_float_FMA
SKIDPAD_MAYBE_UNUSED static float exact_fma_float(float a, float b, float c) {
    const double product = (double)a * (double)b, added = (double)c;
    double sum = product + added;
    const double part = sum - product;
    const double error = (product - (sum - part)) + (added - part);
    const uint64_t bits = bits_double(sum);
    /* Rounded to odd: where something is lost, the last bit says so. */
    if (sum - sum == 0 && error != 0 && (bits & 1u) == 0)
        sum = from_bits_double((error > 0) == (sum > 0) ? bits + 1u : bits - 1u);
    return (float)sum;
}
#endif
"""

_FMA_DOUBLE = """\
#ifndef SKIDPAD_double_FMA
#define SKIDPAD_double_FMA
/* A number, not zero, as m 2^e with the highest bit of m set. */
SKIDPAD_MAYBE_UNUSED static uint64_t parts_of_double(double x, int* e) {
    const uint64_t bits = bits_double(x);
    uint64_t m = bits & (((uint64_t)1 << 52) - 1u);
    int power = (int)((bits >> 52) & 2047u), step;
    if (power > 0) m |= (uint64_t)1 << 52;
    else power = 1;
    power -= 1075;
    for (step = 32; step > 0; step /= 2) {
        if ((m >> (64 - step)) == 0) {
            m <<= step;
            power -= step;
        }
    }
    *e = power;
    return m;
}
/* m 2^e, rounded, with a sign in the highest bit; the highest bit of m is set, and its last one if
   something smaller was left out. */
SKIDPAD_MAYBE_UNUSED static double rounded_double(uint64_t sign, uint64_t m, int e) {
    const int power = e + 63;
    const int dropped = power >= -1022 ? 11 : 11 - 1022 - power;
    uint64_t kept, rest, half;
    if (power > 1023) return from_bits_double(sign | ((uint64_t)2047 << 52));
    if (dropped > 64) return from_bits_double(sign);
    if (dropped == 64) return from_bits_double(sign | (uint64_t)(m > (uint64_t)1 << 63));
    kept = m >> dropped;
    half = (uint64_t)1 << (dropped - 1);
    rest = m & (2 * half - 1u);
    kept += (uint64_t)(rest > half || (rest == half && (kept & 1u) != 0));
    if (power >= -1022) kept += (uint64_t)(power + 1022) << 52;
    return from_bits_double(sign | kept);
}
/* a b + c for finite numbers, a and b not zero, in integers. */
SKIDPAD_MAYBE_UNUSED SKIDPAD_NOINLINE static double integer_fma_double(
    double a, double b, double c) {
    const uint64_t highest = (uint64_t)1 << 63, low = 0xffffffffu;
    uint64_t sign = (bits_double(a) ^ bits_double(b)) & highest, other = bits_double(c) & highest;
    uint64_t x, y, cross, high, rest, added, under;
    int power, ea, eb, ec, apart;
    x = parts_of_double(a, &ea);
    y = parts_of_double(b, &eb);
    power = ea + eb;
    /* The product, 128 bits in two words: no sum here exceeds a word. */
    cross = (x >> 32) * (y & low) + (((x & low) * (y & low)) >> 32);
    high = (x >> 32) * (y >> 32) + (cross >> 32);
    cross = (cross & low) + (x & low) * (y >> 32);
    high += cross >> 32;
    rest = x * y;
    if ((high & highest) == 0) {
        high = (high << 1) | (rest >> 63);
        rest <<= 1;
        power -= 1;
    }
    if (c == 0) return rounded_double(sign, high | (uint64_t)(rest != 0), power + 64);
    added = parts_of_double(c, &ec);
    ec -= 64;
    under = 0;
    /* The larger one first, both a bit lower, where there is nothing yet. */
    if (ec > power || (ec == power && (added > high || (added == high && rest == 0)))) {
        x = high; high = added; added = x;
        x = rest; rest = under; under = x;
        x = sign; sign = other; other = x;
        apart = ec - power;
        power = ec;
    } else {
        apart = power - ec;
    }
    rest = (rest >> 1) | (high << 63);
    high >>= 1;
    power += 1;
    apart += 1;
    if (apart >= 128) {
        under = 1;
        added = 0;
    } else if (apart >= 64) {
        x = apart > 64 ? added << (128 - apart) : 0;
        under = (apart > 64 ? added >> (apart - 64) : added) | (uint64_t)((x | under) != 0);
        added = 0;
    } else {
        x = under << (64 - apart);
        under = (under >> apart) | (added << (64 - apart)) | (uint64_t)(x != 0);
        added >>= apart;
    }
    if (sign == other) {
        x = rest + under;
        high += added + (uint64_t)(x < rest);
    } else {
        x = rest - under;
        high -= added + (uint64_t)(x > rest);
        if ((high | x) == 0) return 0;
    }
    rest = x;
    while ((high & highest) == 0) {
        const int by = high == 0 ? 32 : 1;
        high = (high << by) | (rest >> (64 - by));
        rest <<= by;
        power -= by;
    }
    return rounded_double(sign, high | (uint64_t)(rest != 0), power + 64);
}
SKIDPAD_MAYBE_UNUSED static double exact_fma_double(double a, double b, double c) {
    const int ea = (int)((bits_double(a) >> 52) & 2047u);
    const int eb = (int)((bits_double(b) >> 52) & 2047u);
    const int ec = (int)((bits_double(c) >> 52) & 2047u);
    const double product = a * b;
    double a_high, a_low, b_high, b_low, error, low, high, part, tail, lost, sum, odd;
    uint64_t bits, lost_bit, outwards;
    if (a == 0 || b == 0 || ea == 2047 || eb == 2047) return product + c;
    if (ec == 2047) return c;
    /* Far from overflow and underflow, the halves below and all their products included? */
    if (ea > 2000 || eb > 2000 || ec > 2000 || ea + eb > 3000 || ea + eb < 1200)
        return integer_fma_double(a, b, c);
    if (c == 0) return product;
    part = 134217729.0 * a;
    a_high = part - (part - a);
    a_low = a - a_high;
    part = 134217729.0 * b;
    b_high = part - (part - b);
    b_low = b - b_high;
    error = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
    /* c + error = low + tail, product + low = high + lost, all exact. */
    low = c + error;
    part = low - c;
    tail = (c - (low - part)) + (error - part);
    high = product + low;
    part = high - product;
    lost = (product - (high - part)) + (low - part);
    /* What is small, rounded to odd: then the last sum rounds as if it were the only one. Without
       a branch, which would be taken half of the time. */
    sum = tail + lost;
    part = sum - tail;
    odd = (tail - (sum - part)) + (lost - part);
    bits = bits_double(sum);
    lost_bit = (uint64_t)(odd != 0) & ~bits & 1u;
    outwards = (uint64_t)((odd > 0) == (sum > 0));
    return high + from_bits_double(bits + 2 * (lost_bit & outwards) - lost_bit);
}
#endif
"""


def exact_functions(precision: str, magic: str) -> str:
    """C source shared by all targets; `magic` is `program.MAGIC` as a literal."""
    kind = TYPES[precision]
    words = c_words(kind) | {"magic": magic}
    parts = [_SETUP, _BITS.format(**words)]
    if precision == "float32":
        parts += [_BITS.format(**c_words(TYPES["float64"])), _FMA_FLOAT]
    else:
        parts += [_FMA_DOUBLE]
    return "".join([*parts, _ON_BITS.format(**words), _WHOLE.format(**words)])


def c_words(kind: Type) -> dict[str, object]:
    """Placeholder values of the C templates, which are common to both precisions."""
    double, m = kind.name == "double", kind.mantissa_bits
    return {
        "T": kind.name,
        "S": kind.suffix,
        "F": kind.suffix.upper(),
        "U": kind.unsigned,
        "I": kind.signed,
        "M": m,
        "bias": kind.bias,
        "field": 2 * kind.bias + 1,
        "top": 63 if double else 31,
        "whole": f"{2.0**m:.1f}{kind.suffix}",
        "digits": m + 2,
        "above": 64 - (m + 2) if double else 32 - (m + 2),
        "last_two": 62 if double else 30,
        "fp": 8 if double else 4,
        "x86": "d" if double else "s",
        "a64": "d" if double else "s",
        "arm": "f64" if double else "f32",
        "vfp": "P" if double else "",
        "vfpr": "w" if double else "t",
    }
