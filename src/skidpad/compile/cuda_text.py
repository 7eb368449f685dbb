"""Pieces of CUDA C that every kernel needs: the statements of a Program and its strided arrays.

A kernel has one thread per vehicle, `v`. An array (step, vehicle, field) is passed as its address
and its strides of field, vehicle and step, counted in numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from .builder import MAGIC
from .c import BOOLEAN, array_helper, call_statement, expression, literal
from .c_exact import TYPES, Type
from .program import Instruction, Program

NATIVE = frozenset({"sin", "cos", "tanh", "exp", "log", "min", "max"})
"""Operations that a GPU has in hardware, or nearly so; fast mode leaves them to it."""

# NVRTC has no standard headers.
_TYPEDEFS = """\
#ifdef __CUDACC_RTC__
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)
#else
#include <stdint.h>
#endif
"""


# What `c_helpers` gives to C is there in CUDA, correctly rounded.
_FUNCTIONS = "#define SKIDPAD_NAN NAN\n#define SKIDPAD_INFINITY INFINITY\n" + "".join(
    f"#define {op}_double {name}\n#define {op}_float {name}f\n"
    for op, name in {
        **{op: op for op in ("fma", "sqrt", "rint", "floor", "copysign")},
        "abs": "fabs",
    }.items()
)


# Functions on bits; memcpy is the cast that C++ defines.
_ON_BITS = """\
#ifndef SKIDPAD_{T}_BITS
#define SKIDPAD_{T}_BITS
static inline {U} bits_{T}({T} x) {{ {U} u; memcpy(&u, &x, sizeof u); return u; }}
static inline {T} from_bits_{T}({U} u) {{ {T} x; memcpy(&x, &u, sizeof x); return x; }}
static inline {T} pow2_{T}({T} n) {{
    return from_bits_{T}((bits_{T}(n + {magic}) + {bias}u) << {M});
}}
static inline {T} mantissa_{T}({T} x) {{
    return from_bits_{T}((bits_{T}(x) & ((({U})1 << {M}) - 1u)) | (({U}){bias} << {M}));
}}
static inline {T} exponent_{T}({T} x) {{
    return ({T})(({I})((bits_{T}(x) >> {M}) & {field}u) - {bias});
}}
#endif
"""


# The hardware's minimum that keeps NaN, as the Program's does, is newer than CUDA C's functions.
_EXTREMA = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
static __device__ inline float min_nan(float a, float b) {
  float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r;
}
static __device__ inline float max_nan(float a, float b) {
  float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r;
}
#else
static __device__ inline float min_nan(float a, float b) { return a <= b || a != a ? a : b; }
static __device__ inline float max_nan(float a, float b) { return a >= b || a != a ? a : b; }
#endif
"""


ARRAYS = "shared_arrays"
"""The two words by which a module knows the shared arrays: the address of the table of their
addresses and its length; see `c.emit`."""

FUNCTION = "function"
"""How the functions of a Program are called: function_0, function_1, ..."""


HELD = "held"
"""The array of the held values of a function, in its own text."""


class Lines:
    """Statements of a Program, taken in parts; `text` is how each value is written."""

    def __init__(
        self, program: Program, precision: str, functions: tuple[Program, ...] | None = None
    ) -> None:
        self.program, self.kind = program, TYPES[precision]
        self.functions = program.functions if functions is None else functions
        self.text: dict[int, str] = {}

    def take(self, condition: Callable[[int], bool]) -> list[str]:
        """Statements of the instructions that are wanted and not taken yet."""
        lines: list[str] = []
        for k, i in enumerate(self.program.code):
            if k in self.text or not condition(k):
                continue
            if i.op == "const":
                self.text[k] = literal(i.imm, self.kind)
            elif i.op == "input":
                port, index = i.imm
                name = self.program.inputs[port].name
                self.text[k] = "dt" if name == "dt" else f"{name}{index}"
            elif i.op == "call":
                args = [self.text[a] for a in i.args]
                if len(self.functions[i.imm[0]].inputs) > 1:
                    last = self.program.code[i.args[-1]]
                    args[-1] = f"&{args[-1]}" if last.op == "item" else f"{HELD} + {last.imm[1]}"
                statement, self.text[k] = call_statement(
                    k, i, args, self.kind, FUNCTION, self.functions
                )
                lines.append(statement)
            elif i.op == "item":
                self.text[k] = f"{self.text[i.args[0]]}[{i.imm}]"
            else:
                value = _value(i, [self.text[a] for a in i.args], self.kind)
                type_name = "bool" if i.op in BOOLEAN else self.kind.name
                lines.append(f"const {type_name} t{k} = {value};")
                self.text[k] = f"t{k}"
        return lines

    def results(self, port: int) -> list[str]:
        """How the fields of an output port are written, once everything is taken."""
        return [self.text[r] for r in self.program.results[port]]


def _value(i: Instruction, args: list[str], kind: Type) -> str:
    if i.op in ("min", "max"):
        return f"{i.op}_nan({args[0]}, {args[1]})"
    if i.op in NATIVE:
        return f"{i.op}{kind.suffix}({args[0]})"
    if i.op == "read":
        args = [f"(const void* const*){ARRAYS}[0]", f"(int64_t){ARRAYS}[1]", *args]
    return expression(i, args, kind)


def prelude(precision: str, program: Program) -> str:
    """What stands before the kernels: integer types, extrema, the functions on bits, what reads
    shared arrays, and the functions of the Program."""
    kind, functions = TYPES[precision], program.functions
    on_bits = _on_bits(kind, literal(MAGIC[precision], kind))
    table = f'extern "C" {{ __device__ unsigned long long {ARRAYS}[2]; }}\n'
    arrays = table + array_helper(kind) if program.reads_arrays else ""
    head = _TYPEDEFS + _FUNCTIONS + _EXTREMA
    head += (on_bits + arrays).replace("static inline", "static __device__ inline")
    return head + "".join(_function(k, precision, functions) for k in range(len(functions)))


def _on_bits(kind: Type, magic: str) -> str:
    return _ON_BITS.format(
        T=kind.name,
        U=kind.unsigned,
        I=kind.signed,
        M=kind.mantissa_bits,
        bias=kind.bias,
        field=2 * kind.bias + 1,
        magic=magic,
    )


def _function(number: int, precision: str, functions: tuple[Program, ...]) -> str:
    """A function of a Program; it reads the arrays `in` and `held` and writes the array `out`."""
    function, kind = functions[number], TYPES[precision].name
    lines = Lines(function, precision, functions)
    arrays = dict(zip(("in", HELD), function.inputs, strict=False))
    statements = [
        f"const {kind} {port.name}{f} = {array}[{f}];"
        for array, port in arrays.items()
        for f in range(len(port.fields))
    ]
    statements += lines.take(lambda k: True)
    statements += [f"out[{n}] = {value};" for n, value in enumerate(lines.results(0))]
    name = f"static __device__ __noinline__ void {FUNCTION}_{number}"
    held = f", const {kind}* {HELD}" if HELD in arrays else ""
    return f"{name}(const {kind}* in, {kind}* out{held}) {{\n{indent(statements, 2)}\n}}\n"


def view_parameters(kind: Type, read: tuple[str, ...], written: tuple[str, ...]) -> str:
    """Kernel parameters of the arrays that are read and of those that are written."""
    return ",\n    ".join(
        f"{'' if name in written else 'const '}{kind.name}* __restrict__ {name}, "
        f"long long {name}_field, long long {name}_vehicle, long long {name}_step"
        for name in (*read, *written)
    )


def at(name: str, field: int, step: str = "") -> str:
    """A field of this thread's vehicle in an array, at a step if one is given."""
    moved = f" + {step} * {name}_step" if step else ""
    return f"{name}[{field} * {name}_field + v * {name}_vehicle{moved}]"


def loads(kind: Type, name: str, count: int, step: str = "") -> list[str]:
    """Statements that read all fields of an array into variables NAME0, NAME1, ..."""
    return [f"{kind.name} {name}{f} = {at(name, f, step)};" for f in range(count)]


def indent(lines: list[str], spaces: int) -> str:
    """Lines of C as a block of text."""
    return "\n".join(" " * spaces + line for line in lines)
