"""The functions of a vehicle in C that users call: clock, checks and bookkeeping around the
Programs, as in `run.stepper`."""

from __future__ import annotations

import math

import numpy as np

from .. import record
from .c_header import signatures
from .c_names import Naming
from .c_queue import Queues

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

# Volatile: a loop of this kind becomes a call of memcpy or memset otherwise.
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


def public_functions(naming: Naming, queues: Queues) -> list[str]:
    """All functions of the interface, and what they share."""
    words = {"name": naming.name, "T": naming.kind.name}
    return [
        _PROCESSOR.format(**words),
        _COPY.format(**words),
        *_program_functions(naming),
        *_advance(naming, queues),
        _steps(naming, queues),
        *_starts(naming, queues),
    ]


def _pointers(naming: Naming, places: dict[str, str]) -> list[str]:
    """Addresses of the structs that there are."""
    return [place for struct, place in places.items() if naming.has(struct)]


def _program_functions(naming: Naming) -> list[str]:
    name, exported, lines = naming.name, naming.exported, list[str]()
    calls = {
        "settle": ("settling", ["start", *_pointers(naming, {"params": "params"}), "start"]),
        "outputs_of": (
            "observed",
            [
                *("&car->state", "&car->before"),
                *_pointers(naming, {k: f"&car->{k}" for k in ("input", "disturbance", "params")}),
                "outputs",
            ],
        ),
        "derivative": (
            "rates",
            [
                "state",
                *_pointers(naming, {k: k for k in ("input", "disturbance", "params")}),
                "rates",
            ],
        ),
    }
    for function, signature in signatures(naming).items():
        stem, arguments = calls[function]
        called = f"{name}_CALL({name}_{stem}, ({', '.join(arguments)}))"
        lines += [f"{signature} {{", f"    {called};", "}", ""]
    assert exported
    return lines


def _refusals(naming: Naming) -> list[str]:
    """Statements that return where an input is out of the range that its field has."""
    lines: list[str] = []
    leaves = record.fields(naming.exported.model.Input)
    for leaf, member in zip(leaves, naming.fields["input"], strict=True):
        if leaf.allowed is None:
            continue
        value, allowed = f"command->{member}", leaf.allowed
        tests: list[str] = []
        if math.isfinite(allowed.low):
            tests.append(
                f"{value} {'>' if allowed.open_low else '>='} {naming.number(allowed.low)}"
            )
        if math.isfinite(allowed.high):
            tests.append(f"{value} <= {naming.number(allowed.high)}")
        if allowed.whole:
            tests.append(f"exact_rint_{naming.kind.name}({value}) == {value}")
        if tests:
            lines.append(f"    if (!({' && '.join(tests)})) return {naming.name}_BAD_INPUT;")
    return lines


def _advance(naming: Naming, queues: Queues) -> list[str]:
    """The step itself: `after` is what the age will be."""
    name, kind, program = naming.name, naming.kind, naming.exported.step
    command = naming.arguments(("input", "command"))
    acting = "&acting" if queues else "command"
    finite = [f"command->{field}" for field in naming.fields["input"]]
    finite += [f"car->disturbance.{field}" for field in naming.fields["disturbance"]]
    zero = naming.number(0.0)
    arguments = ["from", *_pointers(naming, {"input": acting})]
    arguments += _pointers(naming, {"disturbance": "&car->disturbance", "params": "&car->params"})
    arguments += ["dt", *(["&car->state"] if program.inputs[5].fields else []), "&next"]
    arguments += ["&car->residual"] if program.results[1] else []
    checked = [
        f"    {kind.name} finite = 0;",
        *(f"    finite += {value} * {zero};" for value in finite),
    ]
    return [
        f"static int {name}_advance(",
        f"    {name}* car, {command + ', ' if command else ''}{kind.name} dt, double after) {{",
        f"    const {name}_state* from = &car->state;",
        f"    {name}_state next;",
        f"    int n, code = {name}_OK;",
        *checked,
        *queues.declarations(),
        *([] if queues else ["    (void)after;"]),
        f"    if (!(finite == 0)) return {name}_BAD_INPUT;",
        *_refusals(naming),
        *queues.acting(),
        f"    for (n = 0; n < {name}_SUBSTEPS; ++n) {{",
        f"        code = {name}_CALL({name}_substep, ({', '.join(arguments)}));",
        f"        if (code != {name}_OK) return code;",
        "        from = &next;",
        "    }",
        *queues.enqueue(),
        *(
            line
            for field in naming.fields["state"]
            for line in (
                f"    car->before.{field} = car->state.{field};",
                f"    car->state.{field} = next.{field};",
            )
        ),
        *(
            f"    car->input.{field} = {'acting.' if queues else 'command->'}{field};"
            for field in naming.fields["input"]
        ),
        f"    return {name}_OK;",
        "}",
        "",
    ]


def _steps(naming: Naming, queues: Queues) -> str:
    exported, kind = naming.exported, naming.kind
    command = naming.arguments(("input", "command"))
    limits = np.finfo(exported.precision)
    # Some models count updates, whatever their length.
    counted = queues and queues.channels.rule == "nearest"
    shorter = f"dt / {naming.name}_SUBSTEPS"
    return _STEPS.format(
        name=naming.name,
        T=kind.name,
        command=f", {command}" if command else "",
        argument=", command" if command else "",
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

    def cleared() -> list[str]:
        target = f"(volatile {kind.name}*)&car->input"
        return [f"    {name}_clear({target}, {size['input']});"] if size["input"] else []

    keeps = "pending" in naming.exported.model.reset_keeps
    zero = naming.number(0.0)
    return [
        f"int {name}_reset({name}* car, const {name}_state* start, double time) {{",
        f"    {kind.name} finite = 0;",
        *(f"    finite += start->{field} * {zero};" for field in naming.fields["state"]),
        f"    if (!(finite == 0) || !(time - time == 0)) return {name}_BAD_INPUT;",
        copied("before", "start", "state"),
        copied("state", "start", "state"),
        *cleared(),
        "    car->time = time;",
        "    car->steps = 0;",
        *([] if keeps else queues.forget()),
        f"    return {name}_OK;",
        "}",
        "",
        f"void {name}_init({name}* car) {{",
        *(
            copied(struct, f"&{name}_default_{struct}", struct)
            for struct in ("params", "disturbance")
            if naming.has(struct)
        ),
        "    car->residual = 0;",
        "    car->age = 0;",
        *(queues.forget() if keeps else []),
        f"    (void){name}_reset(car, &{name}_default_state, 0.0);",
        "}",
        "",
    ]
