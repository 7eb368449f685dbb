"""The functions that emitted C calls: an instruction where the target has it, else an exact function.

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
    """`fma_T`, `sqrt_T`, `rint_T` and `floor_T`: an instruction where the target has it, else the
    exact function. They can stand in a file twice, for two targets, if macros rename them."""
    words = c_words(TYPES[precision])
    return _V3 + _FOUND.format(**words) + _INSTRUCTIONS.format(**words)


def helpers(precision: str, magic: str) -> str:
    """Both, guarded so that they may be repeated in one file."""
    once = _ONCE.format(T=TYPES[precision].name)
    return exact_functions(precision, magic) + once + chosen_functions(precision) + "#endif\n"
