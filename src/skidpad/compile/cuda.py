"""Programs as CUDA kernels: `rollout`, `apply` and `adjoint`, one thread per vehicle.

The statements are those of the C target. With `EXACT_FLAGS` no product is contracted with a sum
except where the Program says `fma`, and division and square root are correctly rounded, so the bits
are those of the CPU. In fast mode the functions of `NATIVE`, such as sines, are left to the GPU,
and the source is built with `FAST_FLAGS`.

A kernel has one thread per vehicle, `v`. An array (step, vehicle, field) is passed as its address
and its strides of field, vehicle and step, counted in numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .c import BOOLEAN, array_helper, call_statement, expression, literal
from .c_exact import TYPES, Type
from .passes import step_values, with_held_parts
from .program import MAGIC, Instruction, Program

NATIVE = frozenset({"sin", "cos", "tanh", "exp", "log", "min", "max"})
"""Operations that fast mode leaves to the GPU's own functions, which are (nearly) in hardware."""

# Types and constants defined here, since NVRTC has no standard headers.
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


# CUDA already has the functions that `c_helpers` defines for C, correctly rounded.
_FUNCTIONS = "#define SKIDPAD_NAN NAN\n#define SKIDPAD_INFINITY INFINITY\n" + "".join(
    f"#define {op}_double {name}\n#define {op}_float {name}f\n"
    for op, name in {
        **{op: op for op in ("fma", "sqrt", "rint", "floor", "copysign")},
        "abs": "fabs",
    }.items()
)


# Functions on the bits of numbers; memcpy is the type punning that C++ defines.
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


# Minimum and maximum that keep NaN, as in Programs: CUDA C has no function for the newer
# instruction.
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
"""Name of the two words in a module that hold address and length of the array table."""

FUNCTION = "function"
"""Stem of the names of a Program's functions: function_0, function_1, ..."""


HELD = "held"
"""Name of the array of held values inside a function."""


class Lines:
    """C statements of a Program, emitted in parts; `text` is the C expression of each value."""

    def __init__(
        self, program: Program, precision: str, functions: tuple[Program, ...] | None = None
    ) -> None:
        self.program, self.kind = program, TYPES[precision]
        self.functions = program.functions if functions is None else functions
        self.text: dict[int, str] = {}

    def take(self, condition: Callable[[int], bool]) -> list[str]:
        """Return the statements of the instructions that meet a condition and were not returned
        before.
        """
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
        """C expressions of the fields of an output port, valid after all statements were taken."""
        return [self.text[r] for r in self.program.results[port]]


def _value(i: Instruction, args: list[str], kind: Type) -> str:
    if i.op in ("min", "max"):
        return f"{i.op}_nan({args[0]}, {args[1]})"
    if i.op in NATIVE:
        return f"{i.op}{kind.suffix}({args[0]})"
    if i.op == "read":
        args = [f"(const void* const*){ARRAYS}[0]", f"(int64_t){ARRAYS}[1]", *args]
    return expression(i, args, kind)


def _function(number: int, precision: str, functions: tuple[Program, ...]) -> str:
    """C source of a function of a Program; it reads `in` and `held` and writes `out`."""
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
    """C expression of a field of this thread's vehicle in an array, at the named step if there is
    one.
    """
    moved = f" + {step} * {name}_step" if step else ""
    return f"{name}[{field} * {name}_field + v * {name}_vehicle{moved}]"


def loads(kind: Type, name: str, count: int, step: str = "") -> list[str]:
    """Statements that read all fields of an array into the variables NAME0, NAME1, ..."""
    return [f"{kind.name} {name}{f} = {at(name, f, step)};" for f in range(count)]


def indent(lines: list[str], spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in lines)


EXACT_FLAGS = ("--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
FAST_FLAGS = ("--use_fast_math",)

THREADS = {"rollout": 128, "apply": 128, "adjoint": 64}
"""Threads per block of each kernel.

An adjoint needs a large number of registers, so few blocks fit on a multiprocessor: small
blocks fill it better.
"""

_HEAD = """\
extern "C" __global__ void __launch_bounds__({bounds}) {name}({parameters}) {{
  const long long v = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (v >= count) return;
"""

_ROLLOUT = """\
{load}
{held}
  {T} bad = health[v], bad_input = health[count + v], worst = health[2 * count + v];
  long long done = first;
  for (long long sample = first / every + 1; done < last; ++sample) {{
    const long long due = sample * every, until = due < last ? due : last;
    for (; done < until; ++done) {{
      const long long step = substeps == 1 ? done : done / substeps;
{stream}
{body}
{advance}
    }}
    if (done == due) {{
{store}
    }}
  }}
  health[v] = bad;
  health[count + v] = bad_input;
  health[2 * count + v] = worst;
  if (last < total) {{
{hand_over}
  }}
}}
"""

_ADJOINT = """\
{load}
{held}
{start}
  for (long long step = last - 1; step >= first; --step) {{
{here}
{body}
{carry}
  }}
{store}
}}
"""


def emit(
    program: Program, precision: str, delayed: tuple[int, ...] = (), *, timed: bool = False
) -> str:
    """CUDA C source with the kernel `rollout` for a lowered step Program.

    Parameters: views x, u, w, p, out, after; then health, count, the sub-steps [first, last) to run
    out of a total, the sub-steps per sample, the sub-steps per step, dt, tolerance. `x` are the
    states before sub-step `first`. The states after the last sub-step are written to `after`,
    unless the rollout is finished. The health is accumulated.

    With delayed inputs, at the indices `delayed`, there are further views pending and late before
    out, and at the end the number of rows of pending; see `kernels.LateViews`. With `timed`, steps
    differ in length: dt is an array with one number per step.
    """
    program = with_held_parts(program)
    kind, sizes = TYPES[precision], _sizes(program)
    lines = Lines(program, precision)
    held = [] if timed else lines.take(lambda k: program.held[k])
    once = _StartOfStep.of(program, lines) if sizes["start"] else _StartOfStep()
    body = lines.take(lambda k: True)
    views = view_parameters(
        kind, ("x", "u", "w", "p", *(("pending", "late") if delayed else ())), ("out", "after")
    )
    length = f"const {kind.name}* lengths" if timed else f"{kind.name} dt"
    tail = (
        f"{kind.name}* health, long long count, long long first, long long last, long long total, "
        f"long long every, long long substeps, {length}, {kind.name} tolerance"
    )
    tail += ", long long pending_rows" if delayed else ""
    read = [line for n in ("x", "u", "w", "p") for line in loads(kind, n, sizes[n])]
    read += [f"const long long late{c} = {at('late', c)};" for c in range(len(delayed))]
    read += [f"{kind.name} start{f};" for f in range(sizes["start"])]
    read += once.declared
    store = [f"{at('out', f, 'sample')} = x{f}; bad += 0 * x{f};" for f in range(sizes["x"])]
    step_length = [f"const {kind.name} dt = lengths[step];"] if timed else []
    return _kernel("rollout", program, precision, f"{views},\n    {tail}") + _ROLLOUT.format(
        T=kind.name,
        load=indent(read, 2),
        held=indent(held, 2),
        stream=indent(
            [
                *step_length,
                *_streams(sizes),
                *[
                    f"{{ const long long row = step - late{c}; u{f} = row < 0 "
                    f"? {at('pending', f, '(row + pending_rows)')} : {at('u', f, 'row')}; }}"
                    for c, f in enumerate(delayed)
                ],
                *once.lines,
            ],
            6,
        ),
        body=indent(body, 6),
        advance=indent(_advance(program, sizes, lines), 6),
        store=indent(store, 6),
        hand_over=indent([f"{at('after', f)} = x{f};" for f in range(sizes["x"])], 4),
    )


def _streams(sizes: dict[str, int]) -> list[str]:
    """Statements that read inputs with a row per step; constant inputs are read before the loop."""
    lines: list[str] = []
    for name in ("u", "w"):
        reads = " ".join(f"{name}{f} = {at(name, f, 'step')};" for f in range(sizes[name]))
        if reads:
            lines.append(f"if ({name}_step != 0) {{ {reads} }}")
    return lines


class _StartOfStep(NamedTuple):
    """Statements for values that the first sub-step of a step computes and the other sub-steps
    reuse.
    """

    declared: tuple[str, ...] = ()
    """Declarations of the reused values, placed before the loop."""
    lines: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: Program, lines: Lines) -> _StartOfStep:
        """Take a Program's start-of-step statements; all other statements must be taken
        afterwards.
        """
        values, fields = step_values(program), _sizes(program)["start"]
        before = lines.take(values.before.__contains__)
        inside = [f"start{f} = x{f};" for f in range(fields)]
        inside += lines.take(values.at_start.__contains__)
        declared: list[str] = []
        for k in values.kept:
            if program.code[k].op != "input":
                type_name = "bool" if program.code[k].op in BOOLEAN else lines.kind.name
                declared.append(f"{type_name} kept{k};")
                inside.append(f"kept{k} = {lines.text[k]};")
                lines.text[k] = f"kept{k}"
        return cls((*declared,), (*before, "if (done % substeps == 0) {", *inside, "}"))


def _advance(program: Program, sizes: dict[str, int], lines: Lines) -> list[str]:
    """C statements that check the inputs and the Newton residual, and advance the state."""
    statements = [f"bad_input += 0 * {n}{f};" for n in ("u", "w") for f in range(sizes[n])]
    following = lines.results(0)
    if program.results[1]:
        residual = lines.results(1)[0]
        statements += [
            f"const bool good = {residual} <= tolerance;",
            f"worst = {residual} <= worst || worst != worst ? worst : {residual};",
        ]
        following = [f"good ? {value} : NAN" for value in following]
    kind = lines.kind.name
    fresh = [f"const {kind} n{f} = {value};" for f, value in enumerate(following)]
    return [*statements, *fresh, *(f"x{f} = n{f};" for f in range(len(following)))]


def emit_apply(program: Program, precision: str, *, masked: bool = False) -> str:
    """CUDA C source with the kernel `apply`: a lowered Program once per vehicle.

    Parameters: a view per input port, a view per output port, then count. With `masked`, then bytes
    (count,): vehicles whose byte is 0 are skipped.
    """
    program = with_held_parts(program)
    kind = TYPES[precision]
    lines = Lines(program, precision)
    names = tuple(port.name for port in program.inputs)
    written = tuple(f"out{k}" for k in range(len(program.outputs)))
    views = view_parameters(kind, names, written)
    statements = [
        line for port in program.inputs for line in loads(kind, port.name, len(port.fields))
    ]
    statements += lines.take(lambda k: True)
    for k, name in enumerate(written):
        statements += [f"{at(name, f)} = {value};" for f, value in enumerate(lines.results(k))]
    tail = "long long count" + (", const unsigned char* __restrict__ mask" if masked else "")
    head = _kernel("apply", program, precision, f"{views},\n    {tail}")
    head += "  if (!mask[v]) return;\n" if masked else ""
    return head + indent(statements, 2) + "\n}\n"


def emit_adjoint(program: Program, precision: str) -> str:
    """CUDA C source with the kernel `adjoint`: a lowered adjoint Program from last to first step.

    Parameters: views x, u, w, p, r, lam, seed and the results grad_x, grad_u, grad_p, value; then
    count, the steps [first, last) to go back over, dt. `lam` is λ after the last of them. The
    contract is that of `kernels.adjoint_module`, which does the same in lanes, except that `grad_p`
    and `value` are accumulated as well.
    """
    program = with_held_parts(program)
    kind, sizes = TYPES[precision], _sizes(program)
    lines = Lines(program, precision)
    held = lines.take(lambda k: program.held[k])
    body = lines.take(lambda k: True)
    read = ("x", "u", "w", "p", "r", "lam", "seed")
    views = view_parameters(kind, read, ("grad_x", "grad_u", "grad_p", "value"))
    tail = f"long long count, long long first, long long last, {kind.name} dt"
    g_x, g_u, g_p, cost = (lines.results(k) for k in range(4))
    sums = [*(f"sum_p{f}" for f in range(len(g_p))), *(f"sum_value{f}" for f in range(len(cost)))]
    carry = [f"{at('grad_u', f, 'step')} += {value};" for f, value in enumerate(g_u)]
    carry += [f"{name} += {part};" for name, part in zip(sums, [*g_p, *cost], strict=True)]
    carry += [f"lam{f} = {value} + {at('seed', f, 'step')};" for f, value in enumerate(g_x)]
    places = [at("grad_p", f) for f in range(len(g_p))]
    places += [at("value", f) for f in range(len(cost))]
    start = [f"{kind.name} {name} = {place};" for name, place in zip(sums, places, strict=True)]
    store = [f"{at('grad_x', f)} = lam{f};" for f in range(len(g_x))]
    store += [f"{place} = {name};" for name, place in zip(sums, places, strict=True)]
    here = [line for n in ("x", "u", "w", "r") for line in loads(kind, n, sizes[n], "step")]
    return _kernel("adjoint", program, precision, f"{views},\n    {tail}") + _ADJOINT.format(
        load=indent(loads(kind, "p", sizes["p"]) + loads(kind, "lam", sizes["lam"]), 2),
        held=indent(held, 2),
        start=indent(start, 2),
        here=indent(here, 4),
        body=indent(body, 4),
        carry=indent(carry, 4),
        store=indent(store, 2),
    )


def _sizes(program: Program) -> dict[str, int]:
    return {port.name: len(port.fields) for port in program.inputs}


def _kernel(name: str, program: Program, precision: str, parameters: str) -> str:
    # By default the compiler gives the adjoint few registers and spills; with one block per
    # multiprocessor it may use all 255. A rollout is faster without this bound.
    bounds = f"{THREADS[name]}, 1" if name == "adjoint" else str(THREADS[name])
    head = _HEAD.format(bounds=bounds, name=name, parameters=parameters)
    # Before the kernels: integer types, extrema, functions on bits, reads of shared arrays, and the
    # functions of the Program.
    kind, functions = TYPES[precision], program.functions
    on_bits = _ON_BITS.format(
        T=kind.name,
        U=kind.unsigned,
        I=kind.signed,
        M=kind.mantissa_bits,
        bias=kind.bias,
        field=2 * kind.bias + 1,
        magic=literal(MAGIC[precision], kind),
    )
    table = f'extern "C" {{ __device__ unsigned long long {ARRAYS}[2]; }}\n'
    arrays = table + array_helper(kind) if program.reads_arrays else ""
    before = _TYPEDEFS + _FUNCTIONS + _EXTREMA
    before += (on_bits + arrays).replace("static inline", "static __device__ inline")
    before += "".join(_function(k, precision, functions) for k in range(len(functions)))
    return before + head
