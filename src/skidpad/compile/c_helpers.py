"""The functions that emitted C calls: an instruction where the target has it, else an exact one.

No library is needed. What the processor has as an instruction is written so that no compiler makes
a call of a library of it, whatever its options; what it has not is in `c_exact`. So the bits are
the same with and without the instructions. `SKIDPAD_NO_INSTRUCTIONS`, defined, takes the functions
even where there are instructions.
"""

from __future__ import annotations

from .c_exact import TYPES, c_words, exact_functions

# What the target has as an instruction. Without assembly gcc calls a library where errno might be
# set, and clang does so where its own functions are not asked for.
_INSTRUCTIONS = """\
#ifndef SKIDPAD_{T}_INSTRUCTIONS
#define SKIDPAD_{T}_INSTRUCTIONS
#ifndef SKIDPAD_TARGET
#define SKIDPAD_TARGET
#endif
#endif
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} fma_{T}({T} a, {T} b, {T} c) {{
#if SKIDPAD_FUSED_{T} && SKIDPAD_HAS(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#elif SKIDPAD_FUSED_{T} && defined(__aarch64__)
    __asm__("fmadd %{a64}0, %{a64}1, %{a64}2, %{a64}3" : "=w"(a) : "w"(a), "w"(b), "w"(c));
    return a;
#elif SKIDPAD_FUSED_{T} && defined(__arm__)
    __asm__("vfma.{arm} %{vfp}0, %{vfp}1, %{vfp}2" : "+{vfpr}"(c) : "{vfpr}"(a), "{vfpr}"(b));
    return c;
#elif SKIDPAD_FUSED_{T}
    return __builtin_fma{S}(a, b, c);
#else
    return exact_fma_{T}(a, b, c);
#endif
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} sqrt_{T}({T} x) {{
#if SKIDPAD_ROOT_{T} && SKIDPAD_HAS(__builtin_elementwise_sqrt)
    return __builtin_elementwise_sqrt(x);
#elif SKIDPAD_ROOT_{T} && defined(__x86_64__) && (SKIDPAD_V3 || defined(__AVX__))
    __asm__("vsqrts{x86} %1, %1, %0" : "=x"(x) : "x"(x));
    return x;
#elif SKIDPAD_ROOT_{T} && defined(__x86_64__)
    __asm__("sqrts{x86} %1, %0" : "=x"(x) : "x"(x));
    return x;
#elif SKIDPAD_ROOT_{T} && defined(__aarch64__)
    __asm__("fsqrt %{a64}0, %{a64}1" : "=w"(x) : "w"(x));
    return x;
#elif SKIDPAD_ROOT_{T} && defined(__arm__)
    __asm__("vsqrt.{arm} %{vfp}0, %{vfp}1" : "={vfpr}"(x) : "{vfpr}"(x));
    return x;
#else
    return exact_sqrt_{T}(x);
#endif
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} rint_{T}({T} x) {{
#if SKIDPAD_WHOLE_{T} && defined(__x86_64__)
    __asm__("vrounds{x86} $8, %1, %1, %0" : "=x"(x) : "x"(x));
    return x;
#elif SKIDPAD_WHOLE_{T} && defined(__aarch64__)
    __asm__("frintn %{a64}0, %{a64}1" : "=w"(x) : "w"(x));
    return x;
#else
    return exact_rint_{T}(x);
#endif
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} floor_{T}({T} x) {{
#if SKIDPAD_WHOLE_{T} && defined(__x86_64__)
    __asm__("vrounds{x86} $9, %1, %1, %0" : "=x"(x) : "x"(x));
    return x;
#elif SKIDPAD_WHOLE_{T} && defined(__aarch64__)
    __asm__("frintm %{a64}0, %{a64}1" : "=w"(x) : "w"(x));
    return x;
#else
    return exact_floor_{T}(x);
#endif
}}
"""

_FOUND = """\
#undef SKIDPAD_FUSED_{T}
#undef SKIDPAD_ROOT_{T}
#undef SKIDPAD_WHOLE_{T}
#if defined(SKIDPAD_NO_INSTRUCTIONS) || !defined(__GNUC__)
#define SKIDPAD_FUSED_{T} 0
#define SKIDPAD_ROOT_{T} 0
#define SKIDPAD_WHOLE_{T} 0
#elif defined(__x86_64__)
#if defined(__FMA__) || SKIDPAD_V3
#define SKIDPAD_FUSED_{T} 1
#else
#define SKIDPAD_FUSED_{T} 0
#endif
#define SKIDPAD_ROOT_{T} 1
#if defined(__AVX__) || SKIDPAD_V3
#define SKIDPAD_WHOLE_{T} 1
#else
#define SKIDPAD_WHOLE_{T} 0
#endif
#elif defined(__aarch64__)
#define SKIDPAD_FUSED_{T} 1
#define SKIDPAD_ROOT_{T} 1
#define SKIDPAD_WHOLE_{T} 1
#elif defined(__arm__) && defined(__ARM_FP) && defined(__ARM_FEATURE_FMA)
#define SKIDPAD_FUSED_{T} ((__ARM_FP & {fp}) != 0)
#define SKIDPAD_ROOT_{T} ((__ARM_FP & {fp}) != 0)
#define SKIDPAD_WHOLE_{T} 0
#elif defined(__FP_FAST_FMA{F})
#define SKIDPAD_FUSED_{T} 1
#define SKIDPAD_ROOT_{T} 0
#define SKIDPAD_WHOLE_{T} 0
#else
#define SKIDPAD_FUSED_{T} 0
#define SKIDPAD_ROOT_{T} 0
#define SKIDPAD_WHOLE_{T} 0
#endif
"""

# Truth values: of gcc masks, whose selects take no branch as those of clang; it would branch for
# each of them, and keep nothing in registers across. Only the sign of a mask counts.
_TRUTH = """\
#undef truth_{T}
#if SKIDPAD_WHOLE_{T} && defined(__x86_64__) && !defined(__clang__)
#define truth_{T} {T}
#define SKIDPAD_COMPARE(name, instruction) \\
    SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} name({T} a, {T} b) {{ \\
        __asm__(instruction " %2, %1, %0" : "=x"(a) : "x"(a), "x"(b)); \\
        return a; \\
    }}
SKIDPAD_COMPARE(lt_{T}, "vcmplts{x86}")
SKIDPAD_COMPARE(le_{T}, "vcmples{x86}")
SKIDPAD_COMPARE(eq_{T}, "vcmpeqs{x86}")
SKIDPAD_COMPARE(ne_{T}, "vcmpneqs{x86}")
SKIDPAD_COMPARE(and_{T}, "vandp{x86}")
SKIDPAD_COMPARE(or_{T}, "vorp{x86}")
SKIDPAD_COMPARE(xor_{T}, "vxorp{x86}")
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} not_{T}({T} q) {{
    return xor_{T}(q, -({T})0);
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} select_{T}({T} q, {T} a, {T} b) {{
    __asm__("vblendvp{x86} %1, %2, %3, %0" : "=x"(a) : "x"(q), "x"(a), "x"(b));
    return a;
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} testbit_{T}({T} x, int bit) {{
    const {U} sign = ({U})1 << {top};
    return from_bits_{T}((bits_{T}(x) << ({top} - bit)) & sign);
}}
#else
#define truth_{T} int
#define SKIDPAD_COMPARE(name, sign) \\
    SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline int name({T} a, {T} b) {{ \\
        return a sign b; \\
    }}
#define SKIDPAD_COMBINE(name, sign) \\
    SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline int name(int p, int q) {{ \\
        return p sign q; \\
    }}
SKIDPAD_COMPARE(lt_{T}, <)
SKIDPAD_COMPARE(le_{T}, <=)
SKIDPAD_COMPARE(eq_{T}, ==)
SKIDPAD_COMPARE(ne_{T}, !=)
SKIDPAD_COMBINE(and_{T}, &)
SKIDPAD_COMBINE(or_{T}, |)
SKIDPAD_COMBINE(xor_{T}, ^)
#undef SKIDPAD_COMBINE
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline int not_{T}(int q) {{ return !q; }}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline {T} select_{T}(int q, {T} a, {T} b) {{
    return q ? a : b;
}}
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static inline int testbit_{T}({T} x, int bit) {{
    return (int)((bits_{T}(x) >> bit) & 1u);
}}
#endif
#undef SKIDPAD_COMPARE
"""

CHOSEN = (
    *("fma", "sqrt", "rint", "floor", "lt", "le", "eq", "ne", "and", "or", "xor", "not"),
    *("select", "testbit"),
)
"""Operations whose functions, OP_T, `chosen_functions` defines."""

_V3 = """\
#ifndef SKIDPAD_V3
#define SKIDPAD_V3 0
#endif
"""

_ONCE = """\
#ifndef SKIDPAD_{T}_CHOSEN
#define SKIDPAD_{T}_CHOSEN
"""


def chosen_functions(precision: str) -> str:
    """The functions of `CHOSEN`: an instruction where the target has it, else an exact one; and
    the type `truth_T`. They can stand in a file twice, for two targets, if macros rename them."""
    words = c_words(TYPES[precision])
    return "".join([_V3, *(part.format(**words) for part in (_FOUND, _INSTRUCTIONS, _TRUTH))])


def helpers(precision: str, magic: str) -> str:
    """Both, guarded so that they may be repeated in one file."""
    once = _ONCE.format(T=TYPES[precision].name)
    return exact_functions(precision, magic) + once + chosen_functions(precision) + "#endif\n"
