"""A Program as CUDA C: one thread per vehicle, its state in registers for the whole rollout.

The statements are those of the C target. With `EXACT_FLAGS` no product is contracted with a sum
except where the Program says `fma`, and division and square root are correctly rounded, so the bits
are those of the CPU. In fast mode the traced Program is emitted as it is, with CUDA's own
functions and `FAST_FLAGS`: faster, and only about as exact as those functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .builder import MAGIC
from .c import BOOLEAN, TYPES, Type, expression, helpers, literal
from .elementary import RULES
from .program import Instruction, Port, Program

EXACT_FLAGS = ("--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false")
FAST_FLAGS = ("--use_fast_math",)

THREADS = 128
"""Threads of a block: enough for any register count up to 512 a thread."""

VIEWS = ("x", "u", "w", "p", "out", "health")
"""Arrays of a rollout, each passed as address and strides of field, vehicle and step."""

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

_ROLLOUT = """\
extern "C" __global__ void __launch_bounds__({threads}) rollout({parameters},
    long long count, long long samples, long long every, {T} dt, {T} tolerance) {{
  const long long v = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (v >= count) return;
{load}
{held}
  {T} bad = 0, bad_input = 0, worst = 0;
  long long step = 0;
  for (long long sample = 1; sample <= samples; ++sample) {{
    for (long long k = 0; k < every; ++k, ++step) {{
{stream}
{body}
{advance}
    }}
{store}
  }}
  health[v] = bad;
  health[count + v] = bad_input;
  health[2 * count + v] = worst;
}}
"""


def emit(program: Program, precision: str, *, fast: bool = False) -> str:
    """CUDA C source with the kernel `rollout` for a step Program.

    The Program is lowered in exact mode and traced in fast mode.
    """
    kind = TYPES[precision]
    ports = {port.name: k for k, port in enumerate(program.inputs)}
    lines = _Lines(program, kind, fast=fast)
    held = lines.take(lambda k: program.held[k])
    body = lines.take(lambda k: True)
    return _prelude(kind, precision) + _ROLLOUT.format(
        T=kind.name,
        threads=THREADS,
        parameters=_parameters(kind),
        load=_indent(_loads(program, ports, kind), 2),
        held=_indent(held, 2),
        stream=_indent(_streams(program, ports), 6),
        body=_indent(body, 6),
        advance=_indent(_advance(program, ports, lines), 6),
        store=_indent(_stores(program.inputs[0]), 4),
    )


class _Lines:
    """Statements of a Program, taken in parts; `text` is how each value is written."""

    def __init__(self, program: Program, kind: Type, *, fast: bool) -> None:
        self.program, self.kind, self.fast = program, kind, fast
        self.number = np.float64 if kind.name == "double" else np.float32
        self.text: dict[int, str] = {}

    def take(self, wanted: Callable[[int], bool]) -> list[str]:
        """Statements of the instructions that are wanted and not taken yet."""
        lines: list[str] = []
        for k, i in enumerate(self.program.code):
            if k in self.text or not wanted(k):
                continue
            if i.op == "const":
                self.text[k] = literal(float(self.number(i.imm)), self.kind)
            elif i.op == "input":
                port, index = i.imm
                name = self.program.inputs[port].name
                self.text[k] = "dt" if name == "dt" else f"{name}{index}"
            else:
                args = [self.text[a] for a in i.args]
                value = _fast(i, args, self.kind) if self.fast else expression(i, args, self.kind)
                type_name = "bool" if i.op in BOOLEAN else self.kind.name
                lines.append(f"const {type_name} t{k} = {value};")
                self.text[k] = f"t{k}"
        return lines


_FAST = {
    "min": "fmin{s}({0}, {1})",
    "max": "fmax{s}({0}, {1})",
    "pow": "pow{s}({0}, {n})",
    "sign": "(({0} > 0) - ({0} < 0))",
    "and": "({0} && {1})",
    "or": "({0} || {1})",
    "ceil": "ceil{s}({0})",
}
_NATIVE = frozenset(RULES) - {"pow"}
"""Elementary operations that CUDA has under the same name."""


def _fast(i: Instruction, args: list[str], kind: Type) -> str:
    """A traced operation by CUDA's own function."""
    if i.op in _NATIVE:
        return f"{i.op}{kind.suffix}({', '.join(args)})"
    if i.op in _FAST:
        power = literal(i.imm, kind) if i.op == "pow" else ""
        return _FAST[i.op].format(*args, s=kind.suffix, n=power)
    return expression(i, args, kind)


def _prelude(kind: Type, precision: str) -> str:
    functions = helpers(kind, MAGIC[precision])
    return _TYPEDEFS + functions.replace("static inline", "static __device__ inline")


def _parameters(kind: Type) -> str:
    parts: list[str] = []
    for name in VIEWS:
        if name == "health":
            parts.append(f"{kind.name}* health")
            continue
        constant = "" if name == "out" else "const "
        parts.append(
            f"{constant}{kind.name}* __restrict__ {name}, "
            f"long long {name}_field, long long {name}_vehicle, long long {name}_step"
        )
    return ",\n    ".join(parts)


def _fields(program: Program, ports: dict[str, int], name: str) -> range:
    return range(len(program.inputs[ports[name]].fields))


def _at(name: str, field: int, step: str = "") -> str:
    moved = f" + {step} * {name}_step" if step else ""
    return f"{name}[{field} * {name}_field + v * {name}_vehicle{moved}]"


def _loads(program: Program, ports: dict[str, int], kind: Type) -> list[str]:
    return [
        f"{kind.name} {name}{f} = {_at(name, f)};"
        for name in ("x", "u", "w", "p")
        for f in _fields(program, ports, name)
    ]


def _streams(program: Program, ports: dict[str, int]) -> list[str]:
    """Inputs with a row per step are read again; those that are held are not."""
    lines: list[str] = []
    for name in ("u", "w"):
        fields = _fields(program, ports, name)
        if fields:
            reads = " ".join(f"{name}{f} = {_at(name, f, 'step')};" for f in fields)
            lines.append(f"if ({name}_step != 0) {{ {reads} }}")
    return lines


def _advance(program: Program, ports: dict[str, int], lines: _Lines) -> list[str]:
    statements = [
        f"bad_input += 0 * {name}{f};" for name in ("u", "w") for f in _fields(program, ports, name)
    ]
    following = [lines.text[r] for r in program.results[0]]
    if program.results[1]:
        residual = lines.text[program.results[1][0]]
        statements += [
            f"const bool good = {residual} <= tolerance;",
            f"worst = {residual} <= worst || worst != worst ? worst : {residual};",
        ]
        following = [f"good ? {value} : NAN" for value in following]
    kind = lines.kind.name
    fresh = [f"const {kind} n{f} = {value};" for f, value in enumerate(following)]
    return [*statements, *fresh, *(f"x{f} = n{f};" for f in range(len(following)))]


def _stores(state: Port) -> list[str]:
    count = range(len(state.fields))
    return [f"{_at('out', f, 'sample')} = x{f}; bad += 0 * x{f};" for f in count]


def _indent(lines: list[str], spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in lines)
