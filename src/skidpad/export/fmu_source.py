"""The generated part of an FMU's source: model.h, which ties a vehicle in C to `fmi/unit.h`.

The source of the vehicle is included rather than linked, so that an FMU is one translation unit:
two of them in one process share no name, and derivatives use the same elementary functions.

The derivatives of an FMU as C: derivatives.h, and what of model.h calls it.

The Programs are compiled twice where those of the vehicle are, for processors with and without a
fused multiply-add, by the macros of the vehicle's own source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from math import isfinite

from ..compile.program import Program
from ..core import record
from .c_header import Naming
from .c_source import array_argument, function_names, program_function
from .exported import Exported
from .fmu_description import Variable, Variables
from .fmu_programs import Programs

MEMBERS = {"x": "state", "start": "before", "u": "input", "w": "disturbance", "p": "params"}
"""Ports of Programs and the members of a vehicle in C."""
_CHANGES = ("dx", "dstart", "du", "dw", "dp")


@dataclass(frozen=True)
class DerivativeSource:
    """Writes the derivatives of a vehicle in C; with `adjoints`, in both directions."""

    programs: Programs
    adjoints: bool

    @property
    def naming(self) -> Naming:
        """What is called how in its C."""
        return Naming(self.programs.exported)

    @property
    def name(self) -> str:
        """What every name begins with."""
        return self.naming.name

    @cached_property
    def made(self) -> dict[str, Program]:
        """The Programs as they are emitted, by name."""
        finished = self.programs.exported.finished
        traced = self.programs.tangents | (self.programs.adjoints if self.adjoints else {})
        return {stem: finished(program) for stem, program in traced.items()}

    def header(self) -> str:
        """The text of derivatives.h."""
        kind = self.naming.kind
        lines = [f"/* Derivatives of {self.name}, along a direction; included by model.h. */", ""]
        for stem, program in self.made.items():
            inputs = [array_argument(kind, p.name, len(p.fields)) for p in program.inputs]
            outputs = [
                array_argument(kind, f"r_{port.name}", len(port.fields), written=True)
                for port in program.outputs
            ]
            lines += program_function(program, f"{self.name}_{stem}", inputs, outputs, kind)
        return "\n".join(lines)

    def lines(self) -> list[str]:
        """What includes derivatives.h, and the functions of it that unit_derivatives.h calls."""
        name, number = self.name, self.naming.kind.name
        renamed = [f"{op}_{number}" for op in ("fma", "sqrt", "rint", "floor")]
        renamed += [f"read_{number}"] * bool(self.naming.arrays)
        renamed += [n for stem, p in self.made.items() for n in function_names(p, f"{name}_{stem}")]
        return [
            "/* Derivatives, for processors with and without fused multiply-add. */",
            f"#if {name}_DISPATCH",
            "#undef SKIDPAD_TARGET",
            '#define SKIDPAD_TARGET __attribute__((target("avx2,bmi,bmi2,fma")))',
            *(f"#define {stem} {stem}_v3" for stem in renamed),
            '#include "derivatives.h"',
            *(f"#undef {stem}" for stem in renamed),
            "#undef SKIDPAD_TARGET",
            "#define SKIDPAD_TARGET",
            "#endif",
            '#include "derivatives.h"',
            "",
            *(line for part in ("rates", "outputs") for line in self._of_car(part)),
            *self._of_settle(),
        ]

    def _of_car(self, part: str) -> list[str]:
        """The derivatives of rates or outputs at the moment of a vehicle."""
        changes = ", ".join(f"const number* {change}" for change in _CHANGES)
        written = ", ".join(f"number* {change}" for change in _CHANGES)
        parameters = f"vehicle* car, {changes}, number* out"
        point, moving = self._ports(part)
        lines = self._function(f"{part}_tangent", parameters, [*point, *moving, "out"])
        if self.adjoints:
            parameters = f"vehicle* car, const number* weights, {written}"
            lines += self._function(f"{part}_adjoint", parameters, [*point, "weights", *moving])
        return lines

    def _ports(self, part: str) -> tuple[list[str], list[str]]:
        """What a derivative is taken at, and what changes."""
        program = self.made.get(f"{part}_tangent")
        ports = [] if program is None else [port.name for port in program.inputs if port.fields]
        point = [f"vehicle_{MEMBERS[port]}(car)" for port in ports if port in MEMBERS]
        return point, [port for port in ports if port not in MEMBERS]

    def _of_settle(self) -> list[str]:
        """The derivatives of a start that is made consistent."""
        p, dp = (["params"], ["dp"]) if self.naming.has("params") else ([], [])
        at = "const number* state, const number* params"
        lines = self._function(
            "settle_tangent",
            f"{at}, const number* dx, const number* dp, number* out",
            ["state", *p, "dx", *dp, "out"],
        )
        if self.adjoints:
            lines += self._function(
                "settle_adjoint",
                f"{at}, const number* weights, number* dx, number* dp",
                ["state", *p, "weights", "dx", *dp],
            )
        return lines

    def _function(self, stem: str, parameters: str, arguments: list[str]) -> list[str]:
        """A function that calls a Program, or does nothing where there is none."""
        names = [parameter.split()[-1] for parameter in parameters.split(", ")]
        name, call = self.name, list[str]()
        if stem in self.made:
            call = [f"    {name}_CALL({name}_{stem}, ({', '.join(arguments)}));"]
        return [
            f"static void {stem}({parameters})",
            "{",
            f"    {', '.join(f'(void){name}' for name in names)};",
            *call,
            "}",
            "",
        ]


_SHARED = ("exporting.h", "unit.h", "unit_motion.h", "unit_instances.h", "unit_derivatives.h")
FIXED = {
    2: ("fmi2.c", "fmi2.h", *_SHARED),
    3: ("fmi3.c", "fmi3.h", *_SHARED, "unit_adjoints.h"),
}
"""Files of `fmi` that are the same in every FMU of a version."""
HIDDEN = 0xFFFF_FFFF
"""In the place of a size: of a parameter that is no variable."""


def fixed_files(version: int) -> dict[str, bytes]:
    """The files that are the same in every FMU of a version, by name."""
    folder = resources.files(__name__.rpartition(".")[0]) / "fmi"
    return {name: (folder / name).read_bytes() for name in FIXED[version]}


def model_header(programs: Programs, token: str, derivatives: Sequence[str]) -> str:
    """The text of model.h; `token` is that of the model description, `derivatives` are the lines
    that go with derivatives.h."""
    return _Model(programs, token).text(derivatives)


@dataclass(frozen=True)
class _Model:
    programs: Programs
    token: str

    @property
    def exported(self) -> Exported:
        """The vehicle."""
        return self.programs.exported

    @property
    def naming(self) -> Naming:
        """What is called how in its C."""
        return Naming(self.exported)

    @property
    def variables(self) -> Variables:
        """Its variables."""
        return Variables(self.programs)

    def text(self, derivatives: Sequence[str]) -> str:
        name, sizes = self.exported.name, self.variables.sizes
        letters = dict(zip(("NX", "ND", "NU", "NW", "NY", "NP"), sizes.values(), strict=True))
        first = self.variables.first
        return "\n".join(
            [
                f"/* {name} as an FMU; see unit.h. Written by skidpad. */",
                "",
                "#ifndef SKIDPAD_MODEL_H",
                "#define SKIDPAD_MODEL_H",
                "",
                "#include <stddef.h>",
                "",
                f'#include "{name}.c"',
                "",
                f'#define UNIT_TOKEN "{self.token}"',
                *(f"#define {letter} {size}" for letter, size in letters.items()),
                "#define ROOM(count) ((count) > 0 ? (count) : 1)",
                f"#define FIRST_STATE {first['state']}",
                f"#define FIRST_RATE {first['rate']}",
                f"#define FIRST_INPUT {first['input']}",
                f"#define SETTLES {int(self.exported.model.settle is not None)}",
                f"#define STEP_SIZE {name}_DT",
                f"#define HIDDEN {HIDDEN}u",
                *(
                    f"#define VEHICLE_{code} {name}_{code}"
                    for code in ("OK", "BAD_INPUT", "DIVERGED", "NOT_CONVERGED")
                ),
                "",
                f"typedef {self.naming.kind.name} number;",
                f"typedef {name} vehicle;",
                "",
                *self._tables(),
                *self._members(),
                *self._functions(),
                *derivatives,
                "#endif",
                "",
            ]
        )

    def _tables(self) -> list[str]:
        model, naming = self.exported.model, self.naming
        states = record.names(model.State)
        leaves = self.variables.listed(arrays=False)
        names = {variable.reference: variable.name for variable in leaves}
        count = 1 + sum(self.variables.sizes.values())
        texts = [_quoted("time" if k == 0 else names.get(k, "")) for k in range(count)]
        starts = record.flatten(record.build(model.State))
        delayed = [name in model.dead_times for name in record.names(model.Input)]
        return [
            "/* Names by value reference. */",
            *_table("const char* const unit_names", texts, 1),
            "static const char* variable_name(size_t reference)",
            "{",
            "    return unit_names[reference];",
            "}",
            "",
            "/* How many numbers the array has that begins with a parameter; HIDDEN if it is not"
            " shown. */",
            *_table("const uint32_t unit_parameter_sizes", self._parameter_sizes()),
            "/* States of a start before they are made consistent, and those that are filled. */",
            *_table("const number unit_defaults", [naming.number(x) for x in starts]),
            *_table("const unsigned char unit_fills", [f"{n in model.fills:d}" for n in states]),
            "/* Inputs that act late. */",
            *_table("const unsigned char unit_delayed", [f"{late:d}" for late in delayed]),
            *self._ranges(leaves),
        ]

    def _parameter_sizes(self) -> list[str]:
        sizes = [f"{HIDDEN}u"] * self.variables.sizes["params"]
        for variable in self.variables.listed(arrays=True):
            if variable.group == "params":
                within = ["0"] * (variable.size - 1)
                sizes[variable.place : variable.place + variable.size] = [
                    f"{variable.size}",
                    *within,
                ]
        return sizes

    def _ranges(self, leaves: Sequence[Variable]) -> list[str]:
        rows: list[str] = []
        for variable in leaves:
            allowed = variable.field.allowed
            if allowed is None or variable.group in ("rate", "output"):
                continue
            low = float(allowed.low).hex() if isfinite(allowed.low) else "-SKIDPAD_INFINITY"
            high = float(allowed.high).hex() if isfinite(allowed.high) else "SKIDPAD_INFINITY"
            marks = f"{allowed.open_low:d}, {allowed.whole:d}, {_quoted(str(allowed))}"
            rows.append(f"{{{variable.reference}, {low}, {high}, {marks}}}")
        return [
            "typedef struct {",
            "    uint32_t reference;",
            "    double low, high;",
            "    int open_low, whole; /* whether the lower end is left out; only whole numbers */",
            "    const char* text;",
            "} unit_range;",
            "/* Ranges of the variables that have one, by value reference. */",
            *_table("const unit_range unit_ranges", rows or ["{0, 0, 0, 0, 0, 0}"], 1),
            "static const unit_range* range_of(uint32_t reference)",
            "{",
            "    size_t low = 0, high = sizeof unit_ranges / sizeof *unit_ranges;",
            "    while (low < high) {",
            "        const size_t middle = (low + high) / 2;",
            "        if (unit_ranges[middle].reference == reference) return &unit_ranges[middle];",
            "        if (unit_ranges[middle].reference < reference) low = middle + 1;",
            "        else high = middle;",
            "    }",
            "    return NULL;",
            "}",
            "",
        ]

    def _members(self) -> list[str]:
        """The records of a vehicle as arrays of numbers."""
        name = self.exported.name
        lines: list[str] = []
        for member in MEMBERS.values():
            struct = "state" if member == "before" else member
            value = f"(number*)&car->{member}" if self.naming.has(struct) else "((void)car, NULL)"
            lines += [f"static number* vehicle_{member}(vehicle* car) {{ return {value}; }}"]
        for array, struct in (("starts", "state"), ("inputs", "input")):
            defaults = f"((const number*)&{name}_default_{struct})"
            lines += [f"#define unit_{array} {defaults if self.naming.has(struct) else 'NULL'}"]
        return [*lines, ""]

    def _functions(self) -> list[str]:
        """What the vehicle does, whatever records it has."""
        name, has = self.exported.name, self.naming.has
        argument = f", (const {name}_input*)command" if has("input") else ""
        unused = "" if has("input") else "    (void)command;\n"
        params = f", (const {name}_params*)params" if has("params") else ""
        settle = "    (void)state, (void)params;"
        if self.exported.model.settle is not None:
            settle = f"    {name}_settle(({name}_state*)state{params});\n    (void)params;"
        outputs = "    (void)car, (void)outputs;"
        if has("outputs"):
            outputs = f"    {name}_outputs_of(car, ({name}_outputs*)outputs);"
        rates = "    (void)car, (void)rates;"
        if self.programs.exchanges:
            parts = [m for m in ("state", "input", "disturbance", "params") if has(m)]
            members = ", ".join(f"&car->{member}" for member in parts)
            rates = f"    {name}_derivative({members}, ({name}_state*)rates);"
        return [
            f"static void vehicle_init(vehicle* car) {{ {name}_init(car); }}",
            f"static double vehicle_time(const vehicle* car) {{ return {name}_time(car); }}",
            "static int vehicle_reset(vehicle* car, const number* state, double time)",
            "{",
            f"    return {name}_reset(car, (const {name}_state*)state, time);",
            "}",
            "static int vehicle_step(vehicle* car, const number* command)",
            "{",
            f"{unused}    return {name}_step(car{argument});",
            "}",
            "static int vehicle_step_of(vehicle* car, const number* command, double length)",
            "{",
            f"{unused}    return {name}_step_of(car{argument}, length);",
            "}",
            "static void vehicle_settle(number* state, const number* params)",
            "{",
            settle,
            "}",
            "static void vehicle_outputs(const vehicle* car, number* outputs)",
            "{",
            outputs,
            "}",
            "static void vehicle_rates(const vehicle* car, number* rates)",
            "{",
            rates,
            "}",
            "",
        ]


def _table(declaration: str, values: Sequence[str], columns: int = 12) -> list[str]:
    """A static array; never empty, as C has no empty arrays."""
    values = values or ["0"]
    rows = [", ".join(values[k : k + columns]) for k in range(0, len(values), columns)]
    return [f"static {declaration}[] = {{", *(f"    {row}," for row in rows), "};"]


def _quoted(text: str) -> str:
    """A text as a string of C."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
