"""The source of a vehicle in C.

The Programs stand in the file once. Where an x86-64 may or may not have a fused multiply-add, the
file includes itself, so that they are compiled twice, for both, and a look at the processor decides
at run time; `NAME_NO_DISPATCH`, defined, leaves that out. Nothing copies structs or whole arrays in
a way that a compiler would make a call of `memcpy` of.
"""

from __future__ import annotations

import numpy as np

from .. import record
from ..compile.builder import MAGIC
from ..compile.c import Statements, literal
from ..compile.c_helpers import CHOSEN, chosen_functions, exact_functions
from ..compile.program import Program
from ..compile.schedule import LARGEST
from ..run.start import consistent
from ..shared_arrays import LONGEST_FLOAT32
from .c_header import comment
from .c_names import Naming
from .c_program import (
    Argument,
    Checks,
    function_names,
    number_argument,
    program_function,
    struct_argument,
)
from .c_public import public_functions
from .c_queue import Queues

_TWICE = """\
/* Once more for processors with fused multiply-add, where this is not for these alone. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__FMA__) && !defined({name}_NO_DISPATCH)
#define {name}_DISPATCH 1
#else
#define {name}_DISPATCH 0
#endif
#ifndef {name}_SOURCE
#define {name}_SOURCE "{name}.c"
#endif
#if {name}_DISPATCH && !defined({name}_INSIDE)
#define {name}_INSIDE
#define SKIDPAD_V3 1
#define SKIDPAD_TARGET __attribute__((target("avx2,bmi,bmi2,fma")))
{renamed}
#include {name}_SOURCE
{restored}
#undef {name}_INSIDE
#undef SKIDPAD_V3
#undef SKIDPAD_TARGET
#endif
#ifndef SKIDPAD_V3
#define SKIDPAD_V3 0
#define SKIDPAD_TARGET
#endif
"""

_READ = """\
/* Element `index` of the array with a number: the nearest one there is, NaN without an array. */
SKIDPAD_TARGET SKIDPAD_MAYBE_UNUSED static {T} read_{T}({T} number, {T} index) {{
    const {T}* array;
    {T} last, at = index > 0 ? index : 0;
    if (!(number >= 1 && number <= {count}) || number != floor_{T}(number) || index != index)
        return ({T})SKIDPAD_NAN;
    array = {name}_arrays[(int)number - 1];
    last = {name}_lasts[(int)number - 1];
    if (array == 0) return ({T})SKIDPAD_NAN;
    return array[(int32_t)(at < last ? at : last)];
}}
"""


def source(naming: Naming, queues: Queues) -> str:
    """The text of NAME.c."""
    name, precision = naming.name, naming.exported.precision
    programs = _programs(naming)
    renamed = [f"{op}_{naming.kind.name}" for op in CHOSEN]
    renamed += [f"read_{naming.kind.name}"] * bool(naming.arrays)
    renamed += [n for stem, program in programs.items() for n in function_names(program, stem)]
    twice = _TWICE.format(
        name=name,
        renamed="\n".join(f"#define {n} {n}_v3" for n in renamed),
        restored="\n".join(f"#undef {n}" for n in renamed),
    )
    return "\n".join(
        [
            comment(f"{naming.exported.vehicle.name}; see {name}.h. Written by skidpad."),
            f'#include "{name}.h"',
            "",
            *(["#define SKIDPAD_LARGE", ""] if _is_large(programs) else []),
            exact_functions(precision, literal(MAGIC[precision], naming.kind)),
            *_arrays(naming),
            twice,
            chosen_functions(precision),
            *(
                [_READ.format(T=naming.kind.name, name=name, count=len(naming.arrays))]
                * bool(naming.arrays)
            ),
            *_program_lines(naming, programs),
            f"#ifndef {name}_INSIDE",
            "",
            *_defaults(naming),
            *queues.function_lines(),
            *public_functions(naming, queues),
            "#endif",
            "",
        ]
    )


def _programs(naming: Naming) -> dict[str, Program]:
    """The Programs by the name of their functions in C."""
    exported, name = naming.exported, naming.name
    programs = {"substep": exported.step, "settling": exported.settle, "rates": exported.derivative}
    programs["observed"] = exported.outputs if naming.has("outputs") else None
    return {f"{name}_{key}": program for key, program in programs.items() if program is not None}


def _is_large(programs: dict[str, Program]) -> bool:
    """Whether there is a function for which some of what compilers could do takes too long."""
    pieces = (piece for program in programs.values() for piece in (program, *program.functions))
    return max(len(piece.code) for piece in pieces) > LARGEST


def _program_lines(naming: Naming, programs: dict[str, Program]) -> list[str]:
    kind, name = naming.kind, naming.name
    lines: list[str] = []
    for stem, program in programs.items():
        inputs = [_argument(naming, port.name) for port in program.inputs]
        if stem == f"{name}_substep":
            if not program.inputs[5].fields:
                inputs[5] = Argument("", "", ())
            implicit = bool(program.results[1])
            seen = Argument(f"{kind.name}* residual", "residual", ("*residual",))
            outputs = [struct_argument(naming, "x", "next", written=True)]
            outputs += [seen if implicit else Argument("", "", ())]
            lines += program_function(
                program, stem, inputs, outputs, kind, checks=_checks(naming, program)
            )
            continue
        if stem == f"{name}_rates":  # nothing is sampled at the start of a step
            inputs[1] = Argument("", "", ())
        port = program.outputs[0].name
        outputs = [struct_argument(naming, port, "out", written=True)]
        lines += program_function(program, stem, inputs, outputs, kind)
    return lines


def _argument(naming: Naming, port: str) -> Argument:
    if port == "dt":
        return number_argument(naming.kind, "dt")
    return struct_argument(naming, port, port)


def _checks(naming: Naming, program: Program) -> Checks:
    """What a sub-step looks at before it writes: the residual, then whether all is finite."""
    tolerance = naming.number(naming.exported.settings.tolerance)

    def checks(taken: Statements) -> list[str]:
        lines: list[str] = []
        for r in program.results[1]:
            lines += [
                f"    *residual = {taken.text[r]};",
                f"    if (!(*residual <= {tolerance})) return {naming.name}_NOT_CONVERGED;",
            ]
        return lines + finite_check(naming, [taken.text[r] for r in program.results[0]], "DIVERGED")

    return checks


def finite_check(naming: Naming, values: list[str], code: str) -> list[str]:
    """Statements that return a code unless all values are finite: the sum of each times zero."""
    zero = naming.number(0.0)
    return [
        f"    {naming.kind.name} finite = {values[0]} * {zero};",
        *(f"    finite += {value} * {zero};" for value in values[1:]),
        f"    if (!(finite == 0)) return {naming.name}_{code};",
    ]


def _arrays(naming: Naming) -> list[str]:
    """The shared arrays, once."""
    if not naming.arrays:
        return []
    name, kind = naming.name, naming.kind
    lines = [f"#ifndef {name}_INSIDE"]
    there: list[bool] = []
    for k, array in enumerate(naming.arrays, 1):
        values = np.asarray(array.values, naming.exported.precision)
        there.append(kind.name == "double" or values.size <= LONGEST_FLOAT32)
        if there[-1]:
            numbers = [literal(float(value), kind) for value in values]
            rows = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
            body = ",\n    ".join(rows)
            lines.append(f"static const {kind.name} {name}_array_{k}[] = {{\n    {body}}};")
    names = [f"{name}_array_{k}" if it_is else "0" for k, it_is in enumerate(there, 1)]
    lasts = [naming.number(array.values.size - 1) for array in naming.arrays]
    return [
        *lines,
        f"static const {kind.name}* const {name}_arrays[] = {{{', '.join(names)}}};",
        f"static const {kind.name} {name}_lasts[] = {{{', '.join(lasts)}}};",
        "#endif",
        "",
    ]


def _defaults(naming: Naming) -> list[str]:
    """The constants of the interface."""
    exported, name = naming.exported, naming.name
    model = exported.model
    start = record.build(model.State)
    # As the Simulator starts, which settles by Python's own arithmetic.
    start = consistent(model, start, exported.vehicle.params, None, ())
    numbers = {
        "params": record.flatten(exported.vehicle.params),
        "state": record.flatten(record.build(model.State, start)),
        "input": record.flatten(record.build(model.Input)),
        "disturbance": record.flatten(record.build(model.Disturbance)),
    }
    lines: list[str] = []
    for struct, values in numbers.items():
        if naming.has(struct):
            members = zip(naming.values(values), naming.fields[struct], strict=True)
            lines += [
                f"const {name}_{struct} {name}_default_{struct} = {{",
                *(f"    {value},  /* {member} */" for value, member in members),
                "};",
                "",
            ]
    return lines
