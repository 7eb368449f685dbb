"""The header of a vehicle in C: structs whose members say what they are, and functions."""

from __future__ import annotations

import textwrap

from .. import record
from ..compile.host import TICK_BAD_INPUT, TICK_DIVERGED, TICK_NOT_CONVERGED, TICK_OK
from .c_names import RECORDS, Naming
from .c_queue import Queues

BAD_PARAMS = 4
"""What a step returns for a delay that is no number or has no room; beside those of `host`."""

CODES = {
    "OK": (TICK_OK, "a step was made"),
    "BAD_INPUT": (TICK_BAD_INPUT, "an input, a disturbance or dt is no number or out of range"),
    "DIVERGED": (TICK_DIVERGED, "the state would become infinite or no number"),
    "NOT_CONVERGED": (TICK_NOT_CONVERGED, "the step could not be solved: take a shorter one"),
    "BAD_PARAMS": (BAD_PARAMS, "a delay is negative, no number, or needs more room"),
}
"""Names of codes, numbers and meanings. Unless it is OK, nothing has changed."""

_TITLES = {
    "state": "State",
    "input": "Input, held over a step",
    "disturbance": "Disturbance, held over a step",
    "params": "Parameters",
    "outputs": "Outputs",
}

_CAR = """\
/* All that a vehicle is, without pointers: copy it to save it, copy it back to restore it. */
typedef struct {{
{records}
    {T} residual;  /* of Newton's iteration in the last sub-step tried, 0 if there is none */
    double time;  /* [s] at the last reset or step of another length; see {name}_time */
    double age;  /* steps made in all */
    int64_t steps;  /* steps of {name}_DT made since `time` */
{queues}}} {name};
"""

_FUNCTIONS = """\
/* The vehicle as it was exported, at rest, at time 0; whatever was in *car. */
void {name}_init({name}* car);
{settle}/* Start again at a state and a time in s. The state is taken as it is{made};
   commands that wait are {forgotten}. Parameters and disturbance stay.
   Returns {name}_BAD_INPUT if something is not finite. */
int {name}_reset({name}* car, const {name}_state* start, double time);
/* One step of {name}_DT; returns a code. */
int {name}_step({name}* car{command});
/* One step of dt in s, in {name}_SUBSTEPS sub-steps as well; returns a code. */
int {name}_step_of({name}* car{command}, double dt);
/* Time in s. Steps are counted, not added up, so it does not drift. */
double {name}_time(const {name}* car);
"""


def header(naming: Naming, queues: Queues) -> str:
    """The text of NAME.h."""
    name, exported = naming.name, naming.exported
    guard = f"{name}_H_INCLUDED"
    return "\n".join(
        [
            _opening(naming),
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"#define {name}_DT {exported.dt!r}  /* [s] of a step */",
            f"#define {name}_SUBSTEPS {exported.substeps}  /* of the integrator within one step */",
            *(
                [f"#define {name}_QUEUE {queues.capacity}  /* commands with room to wait */"]
                * bool(queues)
            ),
            "",
            *(f"#define {name}_{code} {n}  /* {what} */" for code, (n, what) in CODES.items()),
            "",
            *(line for struct in RECORDS for line in _struct(naming, struct)),
            *queues.type_lines(),
            _car(naming, queues),
            *(
                f"extern const {name}_{struct} {name}_default_{struct};"
                for struct in ("params", "state", "input", "disturbance")
                if naming.has(struct)
            ),
            "",
            *_functions(naming),
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
    )


def _opening(naming: Naming) -> str:
    exported = naming.exported
    method = exported.method.name if exported.model.continuous else "its update"
    text = (
        f"{exported.vehicle.name}: {exported.model.summary or 'a vehicle'}. One step takes "
        f"{exported.dt:g} s by {method}; numbers are {naming.kind.name}. SI units, ISO 8855 "
        "axes: x forward, y to the left, angles positive to the left. Written by skidpad; needs no "
        "library, allocates nothing, and has the bits of skidpad's Simulator."
    )
    return comment(text)


def comment(text: str, indent: str = "") -> str:
    """A text as a comment of C."""
    body = plain(text)
    lines = textwrap.wrap(body, 94 - len(indent), break_long_words=False, break_on_hyphens=False)
    joined = f"\n{indent}   ".join(lines)
    return f"{indent}/* {joined} */"


def plain(text: str) -> str:
    """A text in one line that ends no comment and begins none."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line.replace("*/", "* /").replace("/*", "/ *")


def _struct(naming: Naming, struct: str) -> list[str]:
    if not naming.has(struct):
        return []
    leaves = record.fields(naming.record(struct))
    lines = []
    for leaf, member in zip(leaves, naming.fields[struct], strict=True):
        allowed = "" if leaf.allowed is None else f" Allowed: {leaf.allowed}."
        about = plain(f"[{leaf.unit.symbol}] {leaf.doc}{allowed}").rstrip()
        lines.append(f"    {naming.kind.name} {member};  /* {about} */")
    return [
        f"/* {_TITLES[struct]}. */",
        "typedef struct {",
        *lines,
        f"}} {naming.name}_{struct};",
        "",
    ]


def _car(naming: Naming, queues: Queues) -> str:
    name = naming.name
    told = {
        "state": ("state", "at present"),
        "before": ("state", "before the last step"),
        "input": ("input", "that acted in the last step"),
        "disturbance": ("disturbance", "that acts; change it as you like"),
        "params": ("params", "change them as you like"),
    }
    records = [
        f"    {name}_{struct} {member};  /* {what} */"
        for member, (struct, what) in told.items()
        if naming.has(struct)
    ]
    waiting = f"    {name}_queue waiting[{queues.count}];  /* commands that act late */\n"
    return _CAR.format(
        name=name,
        T=naming.kind.name,
        records="\n".join(records),
        queues=waiting if queues else "",
    )


def signatures(naming: Naming) -> dict[str, str]:
    """Declarations of the functions that are Programs, without the semicolon."""
    name, exported = naming.name, naming.exported
    declared: dict[str, str] = {}
    if exported.settle is not None:
        params = naming.arguments(("params", "params"))
        declared["settle"] = (
            f"void {name}_settle({name}_state* start{', ' + params if params else ''})"
        )
    if naming.has("outputs"):
        declared["outputs_of"] = (
            f"void {name}_outputs_of(const {name}* car, {name}_outputs* outputs)"
        )
    if exported.derivative is not None:
        arguments = naming.arguments(
            *(("state", "state"), ("input", "input")),
            *(("disturbance", "disturbance"), ("params", "params")),
        )
        declared["derivative"] = f"void {name}_derivative({arguments}, {name}_state* rates)"
    return declared


def _functions(naming: Naming) -> list[str]:
    name, declared = naming.name, signatures(naming)
    command = naming.arguments(("input", "command"))
    keeps = "pending" in naming.exported.model.reset_keeps
    settle = ""
    if "settle" in declared:
        settle = (
            "/* Makes the fields of a start consistent that depend on others. */\n"
            f"{declared['settle']};\n"
        )
    text = _FUNCTIONS.format(
        name=name,
        settle=settle,
        made=f" ({name}_settle it first if you like)" if settle else "",
        forgotten="kept" if keeps else "forgotten",
        command=f", {command}" if command else "",
    )
    lines = [text.rstrip()]
    if "outputs_of" in declared:
        lines += ["/* Outputs at the present state. */", f"{declared['outputs_of']};"]
    if "derivative" in declared:
        lines += ["/* Time derivative of a state. */", f"{declared['derivative']};"]
    return lines
