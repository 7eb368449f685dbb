"""The derivatives of an FMU as C: derivatives.h, and what of model.h calls it.

The Programs are compiled twice where those of the vehicle are, for processors with and without a
fused multiply-add, by the macros of the vehicle's own source.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..compile.program import Program
from .c_names import Naming
from .c_program import array_argument, function_names, program_function
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
