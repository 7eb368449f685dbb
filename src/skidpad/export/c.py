"""A vehicle as C99: one header, one source, an example; no library, no allocation.

An example of how a vehicle in C is used: a program that drives a little and prints a table.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..core import record
from ..core.body import Demand
from ..core.files import path_of, replacing
from ..errors import InvalidValue
from .c_header import Naming, Queues, comment, header
from .c_source import source
from .exported import Exported

__all__ = [
    "c_sources",
    "write_c",
]

_STEPS = 200
_EVERY = 10

_MAIN = """\
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


def example_main(naming: Naming) -> str:
    """The text of NAME_main.c."""
    name, fields = naming.name, naming.fields
    columns = [("x", field) for field in fields["state"]]
    columns += [("y", field) for field in fields["outputs"]]
    pointers = {"x": "x->", "y": "y."}
    outputs = fields["outputs"]
    observe = f"    {name}_outputs y;\n    {name}_outputs_of(car, &y);\n"
    text = (
        f"Drives {naming.exported.vehicle.name} for {_STEPS} steps and prints a table in CSV. "
        f"Build it with, as one example, gcc -O2 {name}_main.c {name}.c -o {name}_main"
    )
    titles = ["t", *fields["state"], *(f"y_{field}" for field in outputs)]
    return _MAIN.format(
        opening=comment(text),
        name=name,
        and_outputs=", the state and the outputs" if outputs else " and the state",
        declared=observe if outputs else "",
        printed="\n".join(
            f'    printf(",%.9g", (double){pointers[record]}{field});' for record, field in columns
        ),
        command=_command(naming),
        titles=",".join(titles),
        steps=_STEPS,
        every=_EVERY,
        argument=", &command" if naming.has("input") else "",
    )


def _command(naming: Naming) -> str:
    """The statements that say what is commanded throughout."""
    if not naming.has("input"):
        return ""
    name, numbers = naming.name, _gentle_left(naming)
    lines = [f"    {name}_input command = {name}_default_input;"]
    defaults = record.flatten(record.build(naming.exported.model.Input))
    for field, value, default in zip(naming.fields["input"], numbers, defaults, strict=True):
        if value != default:
            lines.append(f"    command.{field} = {value!r}{naming.kind.suffix};")
    return "\n".join(lines)


def _gentle_left(naming: Naming) -> list[float]:
    """Inputs that speed up and steer to the left a little, as far as the vehicle has a body."""
    vehicle = naming.exported.vehicle
    model: Any = vehicle.model
    defaults = [float(value) for value in record.flatten(record.build(model.Input))]
    if model.body is None:
        return defaults
    demand = Demand(steer=0.05, a=1.0, v=3.0, omega=0.1)
    asked = model.body.command(record.build(model.State), demand, vehicle.params)
    values = [float(value) for value in record.flatten(asked)]
    # Rounded for the reader, and in a form that C reads as a number with a point.
    rounded = [float(f"{value:.4g}") for value in values]
    return rounded if all(map(math.isfinite, rounded)) else defaults


def c_sources(exported: Exported, *, queue: int | None = None) -> dict[str, str]:
    """The files of a vehicle in C by name: NAME.h, NAME.c and NAME_main.c, an example.

    `queue` is the room for commands that wait, for a vehicle with dead times: by default twice what
    its parameters need, at least 64.
    """
    naming = Naming(exported)
    queues = Queues(naming, queue)
    name = exported.name
    return {
        f"{name}.h": header(naming, queues),
        f"{name}.c": source(naming, queues),
        f"{name}_main.c": example_main(naming),
    }


def write_c(
    exported: Exported, folder: str | Path, *, queue: int | None = None
) -> tuple[Path, Path, Path]:
    """Write a vehicle as C into a folder, which is made if there is none.

    Returns the paths of the header, the source and the example; see `c_sources`.
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
