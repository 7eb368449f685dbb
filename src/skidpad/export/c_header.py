"""The header of a vehicle in C: names (`Naming`), delayed commands (`Queues`), and its text.

A delayed command waits in a ring buffer of fixed size, as in `run.delay`: it carries the time after
the step in which it would act without delay, and a step that ends at `after` applies the newest
command that is then at least the delay old. Delays are parameters and may change between steps.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..compile.c import literal
from ..compile.c_exact import TYPES, Type
from ..compile.host import TICK_BAD_INPUT, TICK_DIVERGED, TICK_NOT_CONVERGED, TICK_OK
from ..core import record
from ..core.arrays import ArrayNumber
from ..core.files import shortened
from ..errors import InvalidValue
from ..run.delay import SLACK, Channels, age, whole_steps
from .exported import LONGEST, Export, is_reserved_member

STRUCTS = {
    "state": "State",
    "input": "Input, held over a step",
    "disturbance": "Disturbance, held over a step",
    "params": "Parameters",
    "outputs": "Outputs",
}
"""Structs of a vehicle, with the title of each."""
PORTS = dict(zip("xuwpy", STRUCTS, strict=True)) | {"start": "state"}
"""Ports of Programs, with the struct for each."""


def members(names: Iterable[str], vehicle: str = "car") -> tuple[str, ...]:
    """Names of the struct members for the leaves of a record.

    `tyre.B` becomes `tyre_B`, `NULL` becomes `NULL_`. `vehicle` is the prefix of the macros of the
    header.

    Raises:
        InvalidValue: for a field whose name is too long for compilers.
    """
    taken: dict[str, None] = {}
    for name in names:
        member = re.sub(r"\W", "_", name, flags=re.ASCII)
        if member.startswith("_"):  # such names belong to compilers and their headers
            member = f"field{member}"
        own_macro = member.startswith(f"{vehicle}_") and member.removeprefix(vehicle).isupper()
        while member in taken or is_reserved_member(member) or own_macro:
            member, own_macro = f"{member}_", False
        if len(member) > LONGEST:
            raise InvalidValue(
                f"field {shortened(name, 40)!r} has {len(member)} letters in C; at most {LONGEST} "
                "are allowed, which is what compilers tell apart"
            )
        taken[member] = None
    return tuple(taken)


@dataclass(frozen=True)
class Naming:
    """Names and literals of an exported vehicle in C."""

    exported: Export

    @property
    def name(self) -> str:
        """Vehicle name, the prefix of every name in the C interface."""
        return self.exported.name

    @property
    def kind(self) -> Type:
        """C type of the exported numbers, "double" or "float"."""
        return TYPES[self.exported.precision]

    def record(self, struct: str) -> type:
        """Record class of a struct, such as "state"."""
        return getattr(self.exported.model, struct.capitalize())

    @cached_property
    def fields(self) -> dict[str, tuple[str, ...]]:
        """Member names of each struct; a record without fields has no struct."""
        return {s: members(record.names(self.record(s)), self.name) for s in STRUCTS}

    def has(self, struct: str) -> bool:
        """Whether a struct exists, that is, whether its record has fields."""
        return bool(self.fields[struct])

    def arguments(self, *structs: str, before: str = "") -> str:
        """Declarations of pointers to the constant structs that exist, after `before` if any
        does."""
        pointers = [f"const {self.name}_{one}* {one}" for one in structs if self.has(one)]
        return before * bool(pointers) + ", ".join(pointers)

    @property
    def command(self) -> str:
        """Declaration of the input of a step after other arguments; empty without inputs."""
        return f", const {self.name}_input* command" if self.has("input") else ""

    def number(self, value: float) -> str:
        """Exact literal of a number in the precision of the export."""
        return literal(float(np.dtype(self.exported.precision).type(value)), self.kind)

    @cached_property
    def arrays(self) -> tuple[ArrayNumber, ...]:
        """Shared arrays of the parameters; number n in C is the n-th of them."""
        leaves = record.flatten(self.exported.vehicle.params)
        by_number = {float(leaf): leaf for leaf in leaves if isinstance(leaf, ArrayNumber)}
        return tuple(by_number.values())

    def values(self, numbers: Sequence[Any]) -> list[str]:
        """Literals for the values of a record; a shared array is its number in C."""
        places = {float(array): float(k) for k, array in enumerate(self.arrays, 1)}
        return [
            self.number(places[float(x)] if isinstance(x, ArrayNumber) else float(x))
            for x in numbers
        ]

    def struct(self, struct: str) -> list[str]:
        if not self.has(struct):
            return []
        lines = [f"/* {STRUCTS[struct]}. */", "typedef struct {"]
        leaves = record.fields(self.record(struct))
        for leaf, member in zip(leaves, self.fields[struct], strict=True):
            allowed = "" if leaf.allowed is None else f" Allowed: {leaf.allowed}."
            about = plain(f"[{leaf.unit.symbol}] {leaf.doc}{allowed}").rstrip()
            lines.append(f"    {self.kind.name} {member};  /* {about} */")
        return [*lines, f"}} {self.name}_{struct};", ""]


_SPARE = 3
"""Queue entries in addition to those of the delay: the active, the new and the last command."""
_LEAST = 64
_MOST = 1_000_000

_TYPE = """\
/* Commands of one input that wait to act, oldest first, in a ring. */
typedef struct {{
    double stamp[{NAME}_QUEUE];
    {T} command[{NAME}_QUEUE];
    int32_t first;
    int32_t count;
}} {name}_queue;
"""

_QUEUE_FUNCTIONS = """\
/* The age in steps from which on a command acts; {NAME}_BAD_PARAMS if the room is too small. */
static int {name}_age(double delay, double* age) {{
    const double steps = delay / {NAME}_DT;
    if (!(steps >= 0 && steps <= {NAME}_QUEUE - {spare})) return {NAME}_BAD_PARAMS;
    *age = {age};
    return {NAME}_OK;
}}
static void {name}_forget({name}_queue* queue, {T} command) {{
    queue->first = 0;
    queue->count = 1;
    queue->stamp[0] = {before};
    queue->command[0] = command;
}}
static int32_t {name}_place(const {name}_queue* queue, int32_t n) {{
    return (queue->first + n) % {NAME}_QUEUE;
}}
/* How many of the oldest will never act again when the clock shows this. */
static int32_t {name}_outdated(const {name}_queue* queue, double age, double clock) {{
    int32_t n = 0;
    while (n + 1 < queue->count && clock - queue->stamp[{name}_place(queue, n + 1)] >= age) ++n;
    return n;
}}
/* What acts in a step from `clock` to `after` in which `command` is given. */
static int {name}_acting(
    const {name}_queue* queue, double age, double clock, double after, {T} command, {T}* acting) {{
    int32_t n;
    if (queue->count - {name}_outdated(queue, age, clock) >= {NAME}_QUEUE) return {NAME}_BAD_PARAMS;
    *acting = queue->command[queue->first];
    for (n = 0; n < queue->count; ++n) {{
        const int32_t k = {name}_place(queue, n);
        if (after - queue->stamp[k] < age) return {NAME}_OK;
        *acting = queue->command[k];
    }}
    if (!(age > 0)) *acting = command;
    return {NAME}_OK;
}}
/* The step has been made. */
static void {name}_enqueue(
    {name}_queue* queue, double age, double clock, double after, {T} command) {{
    const int32_t outdated = {name}_outdated(queue, age, clock);
    int32_t k;
    queue->first = {name}_place(queue, outdated);
    queue->count -= outdated;
    k = {name}_place(queue, queue->count);
    queue->stamp[k] = after;
    queue->command[k] = command;
    queue->count += 1;
}}
"""

_AGES = {"at_least": f"steps - {SLACK!r}", "nearest": "(double)(int32_t)(steps + 0.5)"}


class Queues:
    """C code for the command queues of a vehicle's delayed inputs; false if it has none."""

    def __init__(self, naming: Naming, capacity: int | None = None) -> None:
        self.naming = naming
        self.channels = Channels.of(naming.exported.model)
        if capacity is not None and not self.channels:
            name = naming.exported.vehicle.name
            raise InvalidValue(
                f"queue = {capacity}: {name} has no dead times, so it needs no queue"
            )
        self.capacity = self._capacity(capacity) if self.channels else 0

    def __bool__(self) -> bool:
        return bool(self.channels)

    def _delays(self) -> list[float]:
        params = record.flatten(self.naming.exported.vehicle.params)
        return [float(params[k]) for k in self.channels.delays]

    def _capacity(self, asked: int | None) -> int:
        exported, rule = self.naming.exported, self.channels.rule
        steps = max(float(whole_steps(age(d, exported.dt, rule))) for d in self._delays())
        needed = int(steps) + _SPARE
        if asked is None:
            return min(max(_LEAST, 2 * needed), max(_MOST, needed))
        if not needed <= asked <= _MOST:
            raise InvalidValue(
                f"queue = {asked} commands; the delays of {exported.vehicle.name} need from "
                f"{needed} to {_MOST}"
            )
        return asked

    @property
    def _words(self) -> dict[str, str]:
        name = self.naming.name
        return {"name": name, "NAME": name, "T": self.naming.kind.name}

    def type_lines(self) -> list[str]:
        """C struct of a queue, for the header."""
        return [_TYPE.format(**self._words)] if self else []

    def function_lines(self) -> list[str]:
        """C functions of a queue, for the source."""
        words = {"spare": _SPARE, "before": literal(-math.inf, TYPES["float64"])}
        ages = _AGES.get(self.channels.rule)
        return [_QUEUE_FUNCTIONS.format(**self._words, **words, age=ages)] if self else []

    def delay(self, channel: int) -> str:
        """Delay of a channel in s, as a C expression of the parameters `p`."""
        member = self.naming.fields["params"][self.channels.delays[channel]]
        if self.naming.kind.name == "double":
            return f"car->params.{member}"
        # If a delay has its rounded default, use the default before rounding, so that whole steps
        # remain whole.
        value = self._delays()[channel]
        exact, rounded = literal(value, TYPES["float64"]), self.naming.number(value)
        return f"car->params.{member} == {rounded} ? {exact} : (double)car->params.{member}"

    def forget(self) -> list[str]:
        """C statements that drop all waiting commands."""
        default = record.flatten(record.build(self.channels.Input)) if self else ()
        name = self.naming.name
        return [
            f"    {name}_forget(&car->waiting[{k}], {self.naming.number(default[field])});"
            for k, field in enumerate(self.channels.fields)
        ]

    def declarations(self) -> list[str]:
        """C declarations of the variables shared by `acting` and `enqueue`."""
        count = len(self.channels.fields)
        lines = [f"    double ages[{count}];", f"    {self.naming.name}_input acting;"]
        return lines if self else []

    def acting(self) -> list[str]:
        """C statements that put the active command into `acting`, or return."""
        if not self:
            return []
        name, fields = self.naming.name, self.naming.fields["input"]
        lines = [f"    acting.{field} = command->{field};" for field in fields]
        for k, place in enumerate(self.channels.fields):
            field = fields[place]
            lines += [
                f"    code = {name}_age({self.delay(k)}, &ages[{k}]);",
                f"    if (code != {name}_OK) return code;",
                f"    code = {name}_acting(&car->waiting[{k}], ages[{k}], car->age, after, "
                f"command->{field}, &acting.{field});",
                f"    if (code != {name}_OK) return code;",
            ]
        return lines

    def enqueue(self) -> list[str]:
        """C statements that store the command after a successful step."""
        name, fields = self.naming.name, self.naming.fields["input"]
        return [
            f"    {name}_enqueue(&car->waiting[{k}], ages[{k}], car->age, after, "
            f"command->{fields[place]});"
            for k, place in enumerate(self.channels.fields)
        ]


BAD_PARAMS = 4
"""Return code of a step whose delay is not finite or too long; it extends the codes of `host`."""

CODES = {
    "OK": (TICK_OK, "a step was made"),
    "BAD_INPUT": (TICK_BAD_INPUT, "an input, a disturbance or dt is NaN or out of range"),
    "DIVERGED": (TICK_DIVERGED, "the state would become infinite or no number"),
    "NOT_CONVERGED": (TICK_NOT_CONVERGED, "the step could not be solved: take a shorter one"),
    "BAD_PARAMS": (BAD_PARAMS, "a delay is negative, no number, or needs more room"),
}
"""Number and meaning of each return code by name. A code other than OK means that nothing has
changed.
"""

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
    """Text of the C header NAME.h."""
    name, exported = naming.name, naming.exported
    guard, queued = f"{name}_H_INCLUDED", bool(queues)
    method = exported.method.name if exported.model.continuous else "its update"
    return "\n".join(
        [
            comment(
                f"{exported.vehicle.name}: {exported.model.summary or 'a vehicle'}. One step takes "
                f"{exported.dt:g} s by {method}; numbers are {naming.kind.name}. SI units, ISO "
                "8855 axes: x forward, y to the left, angles positive to the left. Written by "
                "skidpad; needs no library, allocates nothing, and has the bits of skidpad's "
                "Simulator."
            ),
            f"#ifndef {guard}\n#define {guard}\n",
            "#include <stdint.h>\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            f"#define {name}_DT {exported.dt!r}  /* [s] of a step */",
            f"#define {name}_SUBSTEPS {exported.substeps}  /* of the integrator within one step */",
            *[f"#define {name}_QUEUE {queues.capacity}  /* commands with room to wait */"] * queued,
            "",
            *(f"#define {name}_{code} {n}  /* {what} */" for code, (n, what) in CODES.items()),
            "",
            *(line for struct in STRUCTS for line in naming.struct(struct)),
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
            "#ifdef __cplusplus\n}\n#endif\n",
            "#endif\n",
        ]
    )


def comment(text: str) -> str:
    """Format a text as a C comment."""
    lines = textwrap.wrap(plain(text), 94, break_long_words=False, break_on_hyphens=False)
    return "/* " + "\n   ".join(lines) + " */"


def plain(text: str) -> str:
    """Reduce a text to one line without comment delimiters."""
    line = "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
    return line.replace("*/", "* /").replace("/*", "/ *")


def _car(naming: Naming, queues: Queues) -> str:
    name = naming.name
    members = {
        "state": ("state", "at present"),
        "before": ("state", "before the last step"),
        "input": ("input", "that acted in the last step"),
        "disturbance": ("disturbance", "that acts; change it as you like"),
        "params": ("params", "change them as you like"),
    }
    records = [
        f"    {name}_{struct} {member};  /* {what} */"
        for member, (struct, what) in members.items()
        if naming.has(struct)
    ]
    waiting = (
        f"    {name}_queue waiting[{len(queues.channels.fields)}];  /* commands that act late */\n"
    )
    return _CAR.format(
        name=name, T=naming.kind.name, records="\n".join(records), queues=waiting if queues else ""
    )


def signatures(naming: Naming) -> dict[str, str]:
    """C declarations of the functions that are Programs, without the semicolon."""
    name, exported = naming.name, naming.exported
    declared: dict[str, str] = {}
    if exported.settle is not None:
        params = naming.arguments("params", before=", ")
        declared["settle"] = f"void {name}_settle({name}_state* start{params})"
    if naming.has("outputs"):
        arguments = f"const {name}* car, {name}_outputs* outputs"
        declared["outputs_of"] = f"void {name}_outputs_of({arguments})"
    if exported.derivative is not None:
        arguments = naming.arguments("state", "input", "disturbance", "params")
        declared["derivative"] = f"void {name}_derivative({arguments}, {name}_state* rates)"
    return declared


def _functions(naming: Naming) -> list[str]:
    name = naming.name
    about = {
        "settle": "Makes the fields of a start consistent that depend on others.",
        "outputs_of": "Outputs at the present state.",
        "derivative": "Time derivative of a state.",
    }
    lines = {stem: f"/* {about[stem]} */\n{it};" for stem, it in signatures(naming).items()}
    settle = lines.pop("settle", None)
    text = _FUNCTIONS.format(
        name=name,
        settle=f"{settle}\n" if settle else "",
        made=f" ({name}_settle it first if you like)" if settle else "",
        forgotten="kept" if "pending" in naming.exported.model.reset_keeps else "forgotten",
        command=naming.command,
    )
    return [text.rstrip(), *lines.values()]
