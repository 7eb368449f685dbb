"""A lowered Program as one portable C99 function, and a way to build and load it.

The function computes one vehicle:

    void NAME(const T* const* in, T* const* out)

with T `double` or `float` by the precision of the Program. `in[p][f]` is field f of input port p
and `out[q][g]` field g of output port q, in the order of the Program. All inputs are read before
the first output is written, so ports may share memory.

A Program that reads shared arrays has a second function, to be called before the first:

    void NAME_set_arrays(const void* const* arrays, int64_t count)

`arrays[n]` is the array that parameters refer to by the number n, from 1 to count - 1: its number
of elements as an int64_t, followed by the elements in T; or null. The table is not copied. Reading
a number that has no array gives NaN.

Built with `FLAGS`, the bits equal those of the other targets: contraction only where the Program
says `fma`, no reassociation, numbers written in hexadecimal.

No library is needed. Processor instructions are written so that no compiler replaces them by a
library call, whatever its options; functions without an instruction are in `c_exact`. So the bits
are the same with and without the instructions. If `SKIDPAD_NO_INSTRUCTIONS` is defined, the
functions are used even where the processor has the instruction.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InvalidValue, MissingExtra, SkidpadError, UnknownOperation
from .c_exact import TYPES, Type, c_words, exact_functions
from .passes import skipped_by, with_held_parts
from .program import BOOL_OPS, INFIX, MAGIC, Instruction, Program

# Preprocessor tests for processor instructions: which operations the target has one for. Without
# inline assembly, gcc calls a library function that may set errno, and so does clang unless its
# builtins are used.
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

# Truth values are masks with gcc: its selects on masks do not branch, as clang's do on booleans,
# whereas branches for each of them would keep nothing in registers. Only the sign of a mask counts.
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
"""Operations that `chosen_functions` defines as C functions named OP_T, T being the number type."""

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
    """C source of the functions for the operations in `CHOSEN`, and of the truth type `truth_T`.

    A function uses the processor's instruction where the target has one, else the exact
    implementation. The text may occur in a file twice, for two targets, if macros rename it.
    """
    words = c_words(TYPES[precision])
    return "".join([_V3, *(part.format(**words) for part in (_FOUND, _INSTRUCTIONS, _TRUTH))])


def helpers(precision: str, magic: str) -> str:
    """C source of the functions of `c_exact` and `chosen_functions`, guarded against
    redefinition.
    """
    once = _ONCE.format(T=TYPES[precision].name)
    return exact_functions(precision, magic) + once + chosen_functions(precision) + "#endif\n"


FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-fast-math")
"""Compiler flags under which the emitted source keeps its bits."""


Write = Callable[[int, int], str]
"""Type of a function that returns the C expression of an input, from its port and field index."""

# Read an element of a shared array; any index stays within the array.
_READ = """\
#ifndef SKIDPAD_{T}_READ
#define SKIDPAD_{T}_READ
static inline {T} read_{T}(const void* const* arrays, int64_t count, {T} number, {T} index) {{
    if (!(number >= 1 && number < ({T})count) || number != floor_{T}(number) || index != index)
        return ({T})SKIDPAD_NAN;
    const int64_t* const block = (const int64_t*)arrays[(int64_t)number];
    if (block == 0) return ({T})SKIDPAD_NAN;
    const {T} last = ({T})(*block - 1), at = index > 0 ? index : 0;
    return ((const {T}*)(const void*)(block + 1))[(int64_t)(at < last ? at : last)];
}}
#endif
"""

_TABLE = """\
/* The shared arrays by number: each the number of its elements, an int64_t, and the elements, of
   type {T}; null where there is none. {name} reads NaN for a number that has none. */
static const void* const* {name}_arrays;
static int64_t {name}_arrays_count;
void {name}_set_arrays(const void* const* arrays, int64_t count);
void {name}_set_arrays(const void* const* arrays, int64_t count) {{
    {name}_arrays = arrays;
    {name}_arrays_count = count;
}}
"""

_INFIX = INFIX | {"and": "&", "or": "|", "xor": "^"}
_CALLED = (
    *("fma", "abs", "sqrt", "rint", "floor", "copysign"),
    *("pow2", "mantissa", "exponent", "read"),
)
"""Operations emitted as calls of functions named OP_T; the CUDA target defines its own versions."""
BOOLEAN = tuple(BOOL_OPS)


def emit(program: Program, name: str) -> str:
    """Return the C99 source of a Program as the function `name`, with all definitions it needs."""
    if program.precision not in TYPES:
        raise InvalidValue(
            f"program {program.name!r} has precision {program.precision!r}; "
            f"C source needs a lowered program, {' or '.join(TYPES)}"
        )
    if not name.isidentifier() or not name.isascii():
        raise InvalidValue(f"{name!r} is not a name for a C function")
    precision = program.precision
    kind = TYPES[precision]
    magic = literal(MAGIC[precision], kind)
    program = with_held_parts(program)
    reads = program.reads_arrays
    table = (f"{name}_arrays", f"{name}_arrays_count")
    taken = statements(
        program, kind, name, program.functions, lambda port, field: f"in[{port}][{field}]", table
    )
    return "\n".join(
        [
            "#include <stdint.h>",
            "",
            helpers(precision, magic),
            *([array_helper(kind), _TABLE.format(T=kind.name, name=name)] if reads else []),
            *all_functions(program, name, table),
            f"void {name}(const {kind.name}* const* in, {kind.name}* const* out) {{",
            *taken.lines,
            *(
                f"    out[{port}][{n}] = {taken.text[r]};"
                for port, result in enumerate(program.results)
                for n, r in enumerate(result)
            ),
            "}",
            "",
        ]
    )


def array_helper(kind: Type) -> str:
    """C source of the function that reads an element of a shared array."""
    return _READ.format(T=kind.name)


def all_functions(program: Program, stem: str, table: Sequence[str] = ()) -> list[str]:
    """C source of all functions of a Program, split at held values, as STEM_0, STEM_1, ...

    For `table` see `statements`.
    """
    return [
        line
        for k, function in enumerate(program.functions)
        for line in _function_lines(function, k, stem, program, table)
    ]


def _function_lines(
    function: Program, number: int, stem: str, program: Program, table: Sequence[str]
) -> list[str]:
    """C source of one function of a Program.

    It reads the array a, and h if it has held values, and writes the array r.
    """
    kind = TYPES[str(function.precision)]
    arrays, functions = "ah", program.functions
    apart = "" if _in_place(number, program) else " restrict"
    parameters = [f"const {kind.name}*{apart} {name}" for name in arrays[: len(function.inputs)]]
    arguments = ", ".join([parameters[0], f"{kind.name}*{apart} r", *parameters[1:]])
    body = statements(
        function, kind, stem, functions, lambda port, k: f"{arrays[port]}[{k}]", table
    )
    read = {i.imm[0] for i in function.code if i.op == "input"}
    ignored = [f"    (void){arrays[k]};" for k in range(len(parameters)) if k not in read]
    head = f"SKIDPAD_TARGET static void {stem}_{number}({arguments}) {{"
    if not apart:
        stores = [f"    r[{n}] = {body.text[k]};" for n, k in enumerate(function.results[0])]
        return [head, *ignored, *body.lines, *stores, "}", ""]
    # Results are stored at once: kept until the end, the many results of an elimination would
    # displace other values from the registers.
    lines = body.with_stores(function.results[0], lambda n: f"r[{n}]")
    return [head, *ignored, *lines, "}", ""]


def _in_place(number: int, program: Program) -> bool:
    """Whether the results of a Program's function may overwrite its arguments in memory."""
    calls = (i for part in (program, *program.functions) for i in part.code if i.op == "call")
    again = any(i.imm[0] == number and i.imm[1] > 1 for i in calls)
    return again or skipped_by(program.functions[number]) is not None


def call_statement(
    k: int, i: Instruction, args: list[str], kind: Type, stem: str, functions: tuple[Program, ...]
) -> tuple[str, str]:
    """Return the C statement that calls a function, and the name of the array with its results.

    If the function has held values, their address is the last of `args`.
    """
    number, times = i.imm
    function, arguments, results = functions[number], f"arguments{k}", f"results{k}"
    count = len(function.inputs[0].fields)
    args, held = args[:count], "".join(f", {address}" for address in args[count:])
    room = f"{kind.name} {arguments}[] = {{{', '.join(args)}}};"
    condition = skipped_by(function)
    if condition is None and times == 1:
        results_room = f"{kind.name} {results}[{len(function.results[0])}];"
        return f"{room} {results_room} {stem}_{number}({arguments}, {results}{held});", results
    # The results overwrite the first arguments, which the function reads before it writes.
    asked = "" if condition is None else f" && {arguments}[{condition}] != 0"
    loop = f"for (int n{k} = 0; n{k} < {times}{asked}; ++n{k})"
    return f"{room} {loop} {stem}_{number}({arguments}, {arguments}{held});", arguments


class Statements(NamedTuple):
    """C statements of a Program's operations, with the expression of each value."""

    lines: list[str]
    text: dict[int, str]
    """C expression of the value of each instruction."""
    made_in: dict[int, int]
    """Index of the line that computes each instruction."""

    def with_stores(self, results: tuple[int, ...], place: Callable[[int], str]) -> list[str]:
        """Return the statements with a store of each result inserted right after its
        computation.
        """
        after: dict[int, list[str]] = {}
        for n, r in enumerate(results):
            store = f"    {place(n)} = {self.text[r]};"
            after.setdefault(self.made_in.get(r, -1), []).append(store)
        lines = list(after.get(-1, ()))
        for k, line in enumerate(self.lines):
            lines += [line, *after.get(k, ())]
        return lines


def statements(
    program: Program,
    kind: Type,
    stem: str,
    functions: tuple[Program, ...],
    write: Write,
    table: Sequence[str] = (),
) -> Statements:
    """The C statements of a Program, one per operation; constants are written where they are used.

    Args:
        write: returns the C expression of a field of an input port.
        stem: the functions of the Program are called STEM_0, STEM_1, ...
        table: leading arguments (the table of arrays) of the function that reads shared arrays.
    """
    text: dict[int, str] = {}
    lines: list[str] = []
    made_in: dict[int, int] = {}
    used = {a for i in program.code for a in _values_of(i, functions)}
    used |= {r for result in program.results for r in result}
    for k, i in enumerate(program.code):
        if i.op == "const":
            text[k] = literal(i.imm, kind)
            continue
        if i.op == "item":
            text[k] = f"{text[i.args[0]]}[{i.imm}]"
            made_in[k] = made_in[i.args[0]]
            continue
        if k not in used:
            continue
        values = _values_of(i, functions)
        args = [text[a] for a in values]
        if i.op == "call":
            args += [f"&{_in_memory(program.code[a], text, write)}" for a in i.args[len(values) :]]
            statement, text[k] = call_statement(k, i, args, kind, stem, functions)
            lines.append(f"    {statement}")
        else:
            if i.op == "read":
                args = [*table, *args]
            value = write(*i.imm) if i.op == "input" else _called(i, args, kind)
            text[k] = f"v{k}"
            type_name = f"truth_{kind.name}" if i.op in BOOLEAN else kind.name
            lines.append(f"    const {type_name} v{k} = {value};")
        made_in[k] = len(lines) - 1
    return Statements(lines, text, made_in)


def _values_of(i: Instruction, functions: tuple[Program, ...]) -> tuple[int, ...]:
    """Arguments that an instruction takes by value; an argument passed by address is left out."""
    by_address = i.op == "call" and len(functions[i.imm[0]].inputs) > 1
    return i.args[:-1] if by_address else i.args


def _in_memory(i: Instruction, text: dict[int, str], write: Write) -> str:
    """C expression of a value that lies in memory: a result of a call or an input."""
    return f"{text[i.args[0]]}[{i.imm}]" if i.op == "item" else write(*i.imm)


def literal(value: float, kind: Type) -> str:
    """A number as an exact C literal."""
    if math.isnan(value):
        return f"({kind.name})SKIDPAD_NAN"
    if math.isinf(value):
        infinity = f"({kind.name})SKIDPAD_INFINITY"
        return infinity if value > 0 else f"(-{infinity})"
    text = f"{value.hex()}{kind.suffix}"
    return f"({text})" if math.copysign(1.0, value) < 0 else text


def _called(i: Instruction, args: list[str], kind: Type) -> str:
    """C expression of an operation, with the functions of `helpers` where one is needed."""
    if i.op in CHOSEN:
        bit = [] if i.imm is None else [str(i.imm)]
        return f"{i.op}_{kind.name}({', '.join([*args, *bit])})"
    return expression(i, args, kind)


def expression(i: Instruction, args: list[str], kind: Type) -> str:
    """The C expression of one operation whose operands are names or literals."""
    if i.op in _INFIX:
        return f"{args[0]} {_INFIX[i.op]} {args[1]}"
    if i.op in _CALLED:
        return f"{i.op}_{kind.name}({', '.join(args)})"
    special = _SPECIAL.get(i.op)
    if special is None:
        raise UnknownOperation(f"the C emitter does not know the operation {i.op!r}")
    return special(i, args, kind)


_SPECIAL: dict[str, Callable[[Instruction, list[str], Type], str]] = {
    "neg": lambda i, args, kind: f"-{args[0]}",
    "not": lambda i, args, kind: f"!{args[0]}",
    "select": lambda i, args, kind: f"{args[0]} ? {args[1]} : {args[2]}",
    "testbit": lambda i, args, kind: f"(int)((bits_{kind.name}({args[0]}) >> {i.imm}) & 1u)",
}


def compile_shared(source: str, folder: Path) -> ctypes.CDLL:
    """Build C source into a shared library in `folder` and load it.

    The compiler is the environment variable CC, or else the first of cc, gcc and clang on the path.
    """
    chosen = os.environ.get("CC", "").split()
    candidates = [chosen] if chosen else [["cc"], ["gcc"], ["clang"]]
    compiler = next((c for c in candidates if shutil.which(c[0])), None)
    if compiler is None:
        names = ", ".join(c[0] for c in candidates)
        raise MissingExtra(
            f"no C compiler found (looked for {names}): install gcc or clang, or set CC"
        )
    stem = "skidpad_" + hashlib.sha256(source.encode()).hexdigest()[:16]
    path, library = folder / f"{stem}.c", folder / f"{stem}{_SUFFIX}"
    path.write_text(source, "utf-8")
    position = () if sys.platform == "win32" else ("-fPIC",)
    command = [*compiler, *FLAGS, *position, "-shared", str(path), "-o", str(library)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    if outcome.returncode != 0:
        raise SkidpadError(f"{' '.join(command)} failed:\n{outcome.stderr}")
    return ctypes.CDLL(str(library))


_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
