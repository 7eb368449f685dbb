"""A vehicle as C99: one header, one source, one example; no library, no allocation.

`write_c` is the entry point. The source holds the lowered Programs as static functions and, around
them, the functions that users call: clock, checks and bookkeeping as in `run.stepper`.

The file contains the Programs once. An x86-64 may have a fused multiply-add or not, so the file
includes itself to compile them for both, and asks the processor at run time; defining
`NAME_NO_DISPATCH` leaves that out. Structs and arrays are copied such that no compiler replaces the
copy by a call of `memcpy`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compile.c import CHOSEN, Statements, all_functions, chosen_functions, literal, statements
from ..compile.c_exact import Type, exact_functions
from ..compile.passes import LARGEST
from ..compile.program import MAGIC, Program
from ..core import record
from ..core.arrays import LONGEST_FLOAT32
from ..core.body import Demand
from ..core.files import path_of, replacing
from ..errors import InvalidValue
from ..run.arguments import make_consistent
from .c_header import PORTS, Naming, Queues, comment, header, signatures
from .exported import Export


def c_sources(exported: Export, *, queue: int | None = None) -> dict[str, str]:
    """The C files of a vehicle by name: NAME.h, NAME.c and the example NAME_main.c.

    `queue` is the capacity for delayed commands of a vehicle with dead times; by default twice what
    its parameters need, at least 64.
    """
    naming, name = Naming(exported), exported.name
    queues = Queues(naming, queue)
    return {
        f"{name}.h": header(naming, queues),
        f"{name}.c": source(naming, queues),
        f"{name}_main.c": example(naming),
    }


def write_c(
    exported: Export, folder: str | Path, *, queue: int | None = None
) -> tuple[Path, Path, Path]:
    """Write a vehicle as C99: a header, a source and an example; no library, no allocation.

    Args:
        exported: the vehicle, as `Export`.
        folder: where the files go; created if it does not exist.
        queue: capacity for delayed commands of a vehicle with dead times; by default twice what its
            parameters need, at least 64.

    Returns:
        The paths of NAME.h, NAME.c and NAME_main.c.
    """
    target = path_of(folder, "folder")
    files = c_sources(exported, queue=queue)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue(f"cannot write to {target}: {error.strerror or error}") from error
    for name, text in files.items():
        with replacing(target / name) as temporary:
            temporary.write_bytes(text.encode())
    head, code, main = (target / name for name in files)
    return head, code, main


_PROCESSOR = """\
#if {name}_DISPATCH
/* Whether the processor has fused multiply-add and the system keeps its registers. */
static int {name}_has_v3(void) {{
    static int known = 0;
    if (known == 0) {{
        uint32_t a, b, c, d, features, low, high;
        __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
        known = 1;
        if (a >= 7) {{
            const uint32_t wanted = 1u << 12 | 1u << 27 | 1u << 28;
            __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(features), "=d"(d) : "a"(1), "c"(0));
            __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
            if ((features & wanted) == wanted && (b & 0x128u) == 0x128u) {{
                __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
                if ((low & 6u) == 6u) known = 2;
            }}
        }}
    }}
    return known == 2;
}}
#define {name}_CALL(function, arguments) \\
    ({name}_has_v3() ? function##_v3 arguments : function arguments)
#else
#define {name}_CALL(function, arguments) function arguments
#endif
"""

# The loop is volatile, since compilers would replace it by a call of memcpy or memset.
_COPY = """\
static void {name}_copy({T}* to, const volatile {T}* from, int count) {{
    int k;
    for (k = 0; k < count; ++k) to[k] = from[k];
}}
static void {name}_clear(volatile {T}* to, int count) {{
    int k;
    for (k = 0; k < count; ++k) to[k] = 0;
}}
"""

_STEPS = """\
double {name}_time(const {name}* car) {{
    /* In two halves: small processors convert no longer integers without a library. */
    const double high = (double)(int32_t)(car->steps >> 30);
    const double low = (double)(int32_t)(car->steps & 1073741823);
    const double since = (high * 1073741824.0 + low) * {name}_DT;
    return car->time + since;
}}

int {name}_step({name}* car{command}) {{
    const int code = {name}_advance(car{argument}, {dt}, car->age + 1);
    if (code != {name}_OK) return code;
    car->age += 1;
    car->steps += 1;
    return {name}_OK;
}}

int {name}_step_of({name}* car{command}, double dt) {{
    const double time = {name}_time(car) + dt, age = car->age + {counts};
    int code;
    if (!(dt <= {largest} && ({T})dt >= {least})) return {name}_BAD_INPUT;
    code = {name}_advance(car{argument}, {shorter}, age);
    if (code != {name}_OK) return code;
    car->time = time;
    car->age = age;
    car->steps = 0;
    return {name}_OK;
}}
"""


def _function(head: str, *body: str) -> list[str]:
    """Text of a C function, followed by an empty line."""
    return [f"{head} {{", *body, "}", ""]


def _advance(naming: Naming, queues: Queues) -> list[str]:
    """C statements of the step; its argument `after` is the age of the vehicle after the step."""
    name, kind, program = naming.name, naming.kind, naming.exported.step
    command = naming.command.removeprefix(", ")
    acting, applied = ("&acting", "acting.") if queues else ("command", "command->")
    finite = [f"command->{field}" for field in naming.fields["input"]]
    finite += [f"car->disturbance.{field}" for field in naming.fields["disturbance"]]
    arguments = [
        "from",
        *[acting] * naming.has("input"),
        *(f"&car->{struct}" for struct in ("disturbance", "params") if naming.has(struct)),
        "dt",
        *["&car->state"] * bool(program.inputs[5].fields),
        "&next",
        *["&car->residual"] * bool(program.results[1]),
    ]
    # C statements that return for an input outside the range of its field
    lines: list[str] = []
    leaves = record.fields(naming.exported.model.Input)
    for leaf, member in zip(leaves, naming.fields["input"], strict=True):
        if leaf.allowed is None:
            continue
        value, allowed = f"command->{member}", leaf.allowed
        tests: list[str] = []
        if math.isfinite(allowed.low):
            sign = ">" if allowed.open_low else ">="
            tests.append(f"{value} {sign} {naming.number(allowed.low)}")
        if math.isfinite(allowed.high):
            tests.append(f"{value} <= {naming.number(allowed.high)}")
        if allowed.whole:
            tests.append(f"exact_rint_{naming.kind.name}({value}) == {value}")
        if tests:
            lines.append(f"    if (!({' && '.join(tests)})) return {naming.name}_BAD_INPUT;")
    return [
        f"static int {name}_advance(",
        f"    {name}* car, {command + ', ' if command else ''}{kind.name} dt, double after) {{",
        f"    const {name}_state* from = &car->state;",
        f"    {name}_state next;",
        f"    int n, code = {name}_OK;",
        *_finite_sum(naming, finite),
        *queues.declarations(),
        *["    (void)after;"] * (not queues),
        f"    if (!(finite == 0)) return {name}_BAD_INPUT;",
        *lines,
        *queues.acting(),
        f"    for (n = 0; n < {name}_SUBSTEPS; ++n) {{",
        f"        code = {name}_CALL({name}_substep, ({', '.join(arguments)}));",
        f"        if (code != {name}_OK) return code;",
        "        from = &next;",
        "    }",
        *queues.enqueue(),
        *(
            f"    car->before.{field} = car->state.{field};\n    car->state.{field} = next.{field};"
            for field in naming.fields["state"]
        ),
        *(f"    car->input.{field} = {applied}{field};" for field in naming.fields["input"]),
        *(f"    return {name}_OK;", "}", ""),
    ]


def _finite_sum(naming: Naming, values: Sequence[str]) -> list[str]:
    """C statements after which `finite` is 0 if all values are finite: the sum of each times
    zero."""
    terms = (f"    finite += {value} * {naming.number(0.0)};" for value in values)
    return [f"    {naming.kind.name} finite = 0;", *terms]


def _steps(naming: Naming, queues: Queues) -> str:
    exported, kind = naming.exported, naming.kind
    limits = np.finfo(exported.precision)
    # Some models count updates instead of measuring their length.
    counted = queues and queues.channels.rule == "nearest"
    shorter = f"dt / {naming.name}_SUBSTEPS"
    return _STEPS.format(
        name=naming.name,
        T=kind.name,
        command=naming.command,
        argument=", command" if naming.has("input") else "",
        dt=naming.number(exported.dt / exported.substeps),
        counts="1" if counted else f"dt / {naming.name}_DT",
        largest=float(limits.max).hex(),
        least=naming.number(float(limits.tiny)),
        shorter=shorter if kind.name == "double" else f"({kind.name})({shorter})",
    )


def _starts(naming: Naming, queues: Queues) -> list[str]:
    name, kind = naming.name, naming.kind
    size = {struct: len(fields) for struct, fields in naming.fields.items()}

    def copied(member: str, source: str, struct: str) -> str:
        pointer = f"(const volatile {kind.name}*){source}"
        return f"    {name}_copy(({kind.name}*)&car->{member}, {pointer}, {size[struct]});"

    keeps = "pending" in naming.exported.model.reset_keeps
    clear = f"    {name}_clear((volatile {kind.name}*)&car->input, {size['input']});"
    there = [struct for struct in ("params", "disturbance") if naming.has(struct)]
    reset = [
        *_finite_sum(naming, [f"start->{field}" for field in naming.fields["state"]]),
        f"    if (!(finite == 0) || !(time - time == 0)) return {name}_BAD_INPUT;",
        *(copied(member, "start", "state") for member in ("before", "state")),
        *[clear] * naming.has("input"),
        *("    car->time = time;", "    car->steps = 0;"),
        *([] if keeps else queues.forget()),
        f"    return {name}_OK;",
    ]
    init = [
        *(copied(struct, f"&{name}_default_{struct}", struct) for struct in there),
        *("    car->residual = 0;", "    car->age = 0;"),
        *(queues.forget() if keeps else []),
        f"    (void){name}_reset(car, &{name}_default_state, 0.0);",
    ]
    head = f"int {name}_reset({name}* car, const {name}_state* start, double time)"
    return [*_function(head, *reset), *_function(f"void {name}_init({name}* car)", *init)]


class Argument(NamedTuple):
    """Argument of a C function that represents a port of a Program."""

    declaration: str = ""
    """Declaration such as "const car_state* x"; empty for a port without an argument."""
    name: str = ""
    fields: tuple[str, ...] = ()
    """C expression of each field."""


def struct_argument(naming: Naming, port: str, name: str, *, written: bool = False) -> Argument:
    """Argument for a port that is a struct of the vehicle: x, u, w, p or y."""
    struct = PORTS[port]
    fields = [f"{name}->{field}" for field in naming.fields[struct]]
    return _pointer(f"{naming.name}_{struct}", name, fields, written)


def array_argument(kind: Type, name: str, count: int, *, written: bool = False) -> Argument:
    """Argument for a port that is an array of numbers."""
    return _pointer(kind.name, name, [f"{name}[{k}]" for k in range(count)], written)


def _pointer(kind: str, name: str, fields: Sequence[str], written: bool) -> Argument:
    declaration = f"{'' if written else 'const '}{kind}* {name}" if fields else ""
    return Argument(declaration, name, tuple(fields))


Checks = Callable[[Statements], list[str]]
"""C statements inserted between the operations of a Program and the assignments of its results."""


def program_function(
    program: Program,
    name: str,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    kind: Type,
    *,
    checks: Checks | None = None,
) -> list[str]:
    """Static C function `name` of a Program, preceded by the functions it calls.

    All inputs are read before the first output is written. With `checks` it returns an int: 0, or
    what the checks return.
    """

    values = [argument.fields for argument in inputs]
    taken = statements(program, kind, name, program.functions, lambda p, k: values[p][k])
    declared = [a.declaration for a in (*inputs, *outputs) if a.declaration]
    result = "void" if checks is None else "int"
    read = {i.imm[0] for i in program.code if i.op == "input"}
    ignored = [a.name for k, a in enumerate(inputs) if a.declaration and k not in read]
    return [
        *all_functions(program, name),
        f"SKIDPAD_TARGET static {result} {name}(",
        f"    {', '.join(declared)}) {{",
        *(f"    (void){unused};" for unused in ignored),
        *taken.lines,
        *(() if checks is None else checks(taken)),
        *(
            f"    {argument.fields[n]} = {taken.text[r]};"
            for argument, values in zip(outputs, program.results, strict=True)
            for n, r in enumerate(values)
        ),
        *["    return 0;"] * (checks is not None),
        "}",
        "",
    ]


def function_names(program: Program, name: str) -> list[str]:
    """All names that `program_function` defines."""
    return [*(f"{name}_{k}" for k in range(len(program.functions))), name]


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
    """Text of the C source file NAME.c."""
    name, precision = naming.name, naming.exported.precision
    programs = _programs(naming)
    words = {"name": name, "T": naming.kind.name}
    pieces = [piece for program in programs.values() for piece in (program, *program.functions)]
    # Some optimisations of compilers take too long on a large function.
    is_large = max(len(piece.code) for piece in pieces) > LARGEST
    renamed = [f"{op}_{naming.kind.name}" for op in CHOSEN]
    renamed += [f"read_{naming.kind.name}"] * bool(naming.arrays)
    renamed += [n for stem, program in programs.items() for n in function_names(program, stem)]
    twice = _TWICE.format(
        name=name,
        renamed="\n".join(f"#define {n} {n}_v3" for n in renamed),
        restored="\n".join(f"#undef {n}" for n in renamed),
    )
    # C functions of the interface that only call a Program
    forwarded: list[str] = []
    there = [struct for struct in ("input", "disturbance", "params") if naming.has(struct)]
    of_car = (f"&car->{struct}" for struct in there)
    params = ["params"] * naming.has("params")
    programs_called = {
        "settle": ("settling", ("start", *params, "start")),
        "outputs_of": ("observed", ("&car->state", "&car->before", *of_car, "outputs")),
        "derivative": ("rates", ("state", *there, "rates")),
    }
    for function, signature in signatures(naming).items():
        target, arguments = programs_called[function]
        called = f"{name}_CALL({name}_{target}, ({', '.join(arguments)}))"
        forwarded += _function(signature, f"    {called};")
    return "\n".join(
        [
            comment(f"{naming.exported.vehicle.name}; see {name}.h. Written by skidpad."),
            f'#include "{name}.h"\n',
            *["#define SKIDPAD_LARGE\n"] * is_large,
            exact_functions(precision, literal(MAGIC[precision], naming.kind)),
            *_arrays(naming),
            twice,
            chosen_functions(precision),
            *[_READ.format(**words, count=len(naming.arrays))] * bool(naming.arrays),
            *_program_functions(naming, programs),
            f"#ifndef {name}_INSIDE\n",
            *_defaults(naming),
            *queues.function_lines(),
            _PROCESSOR.format(**words),
            _COPY.format(**words),
            *forwarded,
            *_advance(naming, queues),
            _steps(naming, queues),
            *_starts(naming, queues),
            "#endif\n",
        ]
    )


def _programs(naming: Naming) -> dict[str, Program]:
    """Programs by the names of their C functions."""
    exported, name = naming.exported, naming.name
    programs = {"substep": exported.step, "settling": exported.settle, "rates": exported.derivative}
    programs["observed"] = exported.outputs if naming.has("outputs") else None
    return {f"{name}_{key}": program for key, program in programs.items() if program is not None}


def _program_functions(naming: Naming, programs: dict[str, Program]) -> list[str]:
    kind, name = naming.kind, naming.name
    lines: list[str] = []
    for stem, program in programs.items():
        inputs = [
            Argument(f"{kind.name} dt", "dt", ("dt",))
            if port.name == "dt"
            else struct_argument(naming, port.name, port.name)
            for port in program.inputs
        ]
        if stem == f"{name}_rates":  # a vehicle with rates samples nothing at the start of a step
            inputs[1] = Argument()
        port, checks = program.outputs[0].name, None
        outputs = [struct_argument(naming, port, "out", written=True)]
        if stem == f"{name}_substep":
            if not program.inputs[5].fields:
                inputs[5] = Argument()
            residual = Argument(f"{kind.name}* residual", "residual", ("*residual",))
            outputs = [struct_argument(naming, "x", "next", written=True)]
            outputs += [residual if program.results[1] else Argument()]
            checks = partial(_substep_checks, naming, program)
        lines += program_function(program, stem, inputs, outputs, kind, checks=checks)
    return lines


def _substep_checks(naming: Naming, program: Program, taken: Statements) -> list[str]:
    """Checks before a sub-step writes its result: the residual, then that all values are finite."""
    tolerance, zero = naming.number(naming.exported.settings.tolerance), naming.number(0.0)
    lines: list[str] = []
    for r in program.results[1]:
        lines += [
            f"    *residual = {taken.text[r]};",
            f"    if (!(*residual <= {tolerance})) return {naming.name}_NOT_CONVERGED;",
        ]
    first, *others = (taken.text[r] for r in program.results[0])
    return [
        *lines,
        f"    {naming.kind.name} finite = {first} * {zero};",
        *(f"    finite += {value} * {zero};" for value in others),
        f"    if (!(finite == 0)) return {naming.name}_DIVERGED;",
    ]


def _arrays(naming: Naming) -> list[str]:
    if not naming.arrays:
        return []
    name, kind = naming.name, naming.kind
    lines, names = [f"#ifndef {name}_INSIDE"], list[str]()
    for k, array in enumerate(naming.arrays, 1):
        values = np.asarray(array.values, naming.exported.precision)
        names.append("0")
        if kind.name == "double" or values.size <= LONGEST_FLOAT32:
            names[-1] = f"{name}_array_{k}"
            numbers = [literal(float(value), kind) for value in values]
            rows = [", ".join(numbers[i : i + 4]) for i in range(0, len(numbers), 4)]
            body = ",\n    ".join(rows)
            lines.append(f"static const {kind.name} {names[-1]}[] = {{\n    {body}}};")
    lasts = [naming.number(array.values.size - 1) for array in naming.arrays]
    return [
        *lines,
        f"static const {kind.name}* const {name}_arrays[] = {{{', '.join(names)}}};",
        f"static const {kind.name} {name}_lasts[] = {{{', '.join(lasts)}}};",
        "#endif",
        "",
    ]


def _defaults(naming: Naming) -> list[str]:
    """C definitions of the interface's constants: initial state and default records."""
    model, name, params = naming.exported.model, naming.name, naming.exported.vehicle.params
    # Make the initial state consistent in Python, as the Simulator does.
    start = make_consistent(model, record.build(model.State), params, None, ())
    numbers = {"params": params, "state": record.build(model.State, start)}
    numbers |= {one: record.build(naming.record(one)) for one in ("input", "disturbance")}
    lines: list[str] = []
    for struct, values in numbers.items():
        if naming.has(struct):
            texts = naming.values(record.flatten(values))
            members = zip(texts, naming.fields[struct], strict=True)
            lines += [
                f"const {name}_{struct} {name}_default_{struct} = {{",
                *(f"    {value},  /* {member} */" for value, member in members),
                "};",
                "",
            ]
    return lines


_EXAMPLE_STEPS = 200
_PRINT_EVERY = 10

_EXAMPLE = """\
{opening}
#include <stdio.h>
#include "{name}.h"

/* A row of the table: the time{and_outputs}. */
static void print_row(const {name}* car) {{
    const {name}_state* const x = &car->state;
{declared}    printf("%.17g", {name}_time(car));
{printed}
    printf("\\n");
}}

int main(void) {{
    {name} car;
    int k, code;
{command}
    {name}_init(&car);
    printf("{titles}\\n");
    print_row(&car);
    for (k = 1; k <= {steps}; ++k) {{
        code = {name}_step(&car{argument});
        if (code != {name}_OK) {{
            fprintf(stderr, "step %d returned %d\\n", k, code);
            return code;
        }}
        if (k % {every} == 0) print_row(&car);
    }}
    return 0;
}}
"""


def example(naming: Naming) -> str:
    """Text of the example NAME_main.c, which drives the vehicle briefly and prints a table."""
    name, states, outputs = naming.name, naming.fields["state"], naming.fields["outputs"]
    columns = [*(f"x->{field}" for field in states), *(f"y.{field}" for field in outputs)]
    observe = f"    {name}_outputs y;\n    {name}_outputs_of(car, &y);\n"
    text = (
        f"Drives {naming.exported.vehicle.name} for {_EXAMPLE_STEPS} steps and prints a table in "
        f"CSV. Build it with, as one example, gcc -O2 {name}_main.c {name}.c -o {name}_main"
    )
    return _EXAMPLE.format(
        opening=comment(text),
        name=name,
        and_outputs=", the state and the outputs" if outputs else " and the state",
        declared=observe if outputs else "",
        printed="\n".join(f'    printf(",%.9g", (double){column});' for column in columns),
        command=_command(naming),
        titles=",".join(["t", *states, *(f"y_{field}" for field in outputs)]),
        steps=_EXAMPLE_STEPS,
        every=_PRINT_EVERY,
        argument=", &command" if naming.has("input") else "",
    )


def _command(naming: Naming) -> str:
    """C statements of the example program that declare its constant command.

    The command is a gentle left turn under acceleration if the vehicle has a body.
    """
    if not naming.has("input"):
        return ""
    name, vehicle = naming.name, naming.exported.vehicle
    model: Any = vehicle.model
    defaults = numbers = [float(value) for value in record.flatten(record.build(model.Input))]
    if model.body is not None:
        demand = Demand(steer=0.05, a=1.0, v=3.0, omega=0.1)
        command = model.body.command(record.build(model.State), demand, vehicle.params)
        # Round for readability, and keep a decimal point so that C reads a floating-point number.
        rounded = [float(f"{float(value):.4g}") for value in record.flatten(command)]
        numbers = rounded if all(map(math.isfinite, rounded)) else defaults
    lines = [f"    {name}_input command = {name}_default_input;"]
    for field, value, default in zip(naming.fields["input"], numbers, defaults, strict=True):
        if value != default:
            lines.append(f"    command.{field} = {value!r}{naming.kind.suffix};")
    return "\n".join(lines)
