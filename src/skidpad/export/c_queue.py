"""Dead time in C: commands of one input that wait, with a room of fixed size.

What acts when is as in `run.delay_line`: a command has the stamp of the clock after the step it
would act in if it were not delayed; in a step that ends at `after` the newest one acts that is then
at least the delay old. Delays are parameters and may change between steps.
"""

from __future__ import annotations

import math

from .. import record
from ..compile.c import literal
from ..compile.c_exact import TYPES
from ..errors import InvalidValue
from ..run.delay import SLACK, Channels, age, whole_steps
from .c_names import Naming

_SPARE = 3
"""Commands beside those of the delay: the one that acts, the new one, and one that just acted."""
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

_FUNCTIONS = """\
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

_AGES = {
    "at_least": f"steps - {SLACK!r}",
    "nearest": "(double)(int32_t)(steps + 0.5)",
}


class Queues:
    """The delayed inputs of an exported vehicle, in C; false if there are none."""

    def __init__(self, naming: Naming, capacity: int | None = None) -> None:
        self.naming = naming
        self.channels = Channels.of(naming.exported.model)
        if capacity is not None and not self.channels:
            name = naming.exported.vehicle.name
            raise InvalidValue(f"queue = {capacity}: {name} has no dead times, so nothing waits")
        self.capacity = self._capacity(capacity) if self.channels else 0

    def __bool__(self) -> bool:
        return bool(self.channels)

    @property
    def count(self) -> int:
        """Number of delayed inputs."""
        return len(self.channels.fields)

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

    def type_lines(self) -> list[str]:
        """The struct, for the header."""
        words = {"name": self.naming.name, "NAME": self.naming.name, "T": self.naming.kind.name}
        return [_TYPE.format(**words)] if self else []

    def function_lines(self) -> list[str]:
        """What works on it, for the source."""
        if not self:
            return []
        return [
            _FUNCTIONS.format(
                name=self.naming.name,
                NAME=self.naming.name,
                T=self.naming.kind.name,
                spare=_SPARE,
                age=_AGES[self.channels.rule],
                before=literal(-math.inf, TYPES["float64"]),
            )
        ]

    def delay(self, channel: int) -> str:
        """The delay of a channel in s, as an expression of the parameters `p`."""
        member = self.naming.fields["params"][self.channels.delays[channel]]
        if self.naming.kind.name == "double":
            return f"car->params.{member}"
        # The default is taken as it was before it was rounded: whole steps remain whole.
        value = self._delays()[channel]
        exact = literal(value, TYPES["float64"])
        rounded = self.naming.number(value)
        return f"car->params.{member} == {rounded} ? {exact} : (double)car->params.{member}"

    def forget(self) -> list[str]:
        """Statements that forget all commands."""
        default = record.flatten(record.build(self.channels.Input)) if self else ()
        name = self.naming.name
        return [
            f"    {name}_forget(&car->waiting[{k}], {self.naming.number(default[field])});"
            for k, field in enumerate(self.channels.fields)
        ]

    def declarations(self) -> list[str]:
        """Of what `acting` and `enqueue` share."""
        if not self:
            return []
        return [f"    double ages[{self.count}];", f"    {self.naming.name}_input acting;"]

    def acting(self) -> list[str]:
        """Statements that put what acts into `acting`, or return."""
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
        """Statements after a step that was made."""
        name, fields = self.naming.name, self.naming.fields["input"]
        return [
            f"    {name}_enqueue(&car->waiting[{k}], ages[{k}], car->age, after, "
            f"command->{fields[place]});"
            for k, place in enumerate(self.channels.fields)
        ]
