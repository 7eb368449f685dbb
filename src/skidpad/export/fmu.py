"""FMUs: a vehicle as a file that co-simulation and modelling tools load; see docs/export.md.

`write_fmu` makes a ZIP file with the description of the variables, the sources and a library for
each platform. The sources are those of `c`, the fixed files of `fmi/`, and two that are generated
here: model.h ties the vehicle to `fmi/unit.h`, derivatives.h has its derivatives along a direction.
The source of the vehicle is included rather than linked, so an FMU is one translation unit: two of
them in one process share no name, and derivatives use the same elementary functions.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from math import isfinite
from pathlib import Path

from ..core import record
from ..core.checks import one_of
from ..core.files import path_of, replacing
from ..core.progress import Working, working
from ..core.threads import alone
from ..errors import InvalidValue
from .c import array_argument, c_sources, function_names, program_function
from .c_header import Naming
from .exported import Export
from .fmu_description import Programs, Variable, Variables, build_description, model_description
from .toolchain import COMPILERS, TARGETS, build_library, host

VERSIONS = (2, 3)
SYSTEMS = {
    "linux": ("x86_64-linux",),
    "windows": ("x86_64-windows",),
    "macos": ("x86_64-macos", "aarch64-macos"),
}
"""Platforms built by default, by the name of the system."""
_MOMENT = (1980, 1, 1, 0, 0, 0)
"""Date of all files in the archive; constant, so that the same vehicle gives the same file."""
_FOLDERS = {
    "x86_64-linux": "linux64",
    "x86_64-windows": "win64",
    "x86_64-macos": "darwin64",
    "aarch64-macos": "darwin64",
}
"""Binary folders in FMI 2.0; other platforms have the folders of 3.0."""


def write_fmu(
    exported: Export,
    path: str | Path,
    version: int = 3,
    *,
    platforms: Sequence[str] | None = None,
    compiler: str | None = None,
    sources_only: bool = False,
    queue: int | None = None,
) -> Path:
    """Write a vehicle as an FMU; the terminal shows which library is being built.

    A step of the FMU is one of `Simulator`, to the last bit.

    Args:
        exported: the vehicle, as `Export`.
        path: the file, by convention with the suffix .fmu.
        version: version of FMI, 3 or 2.
        platforms: "linux", "windows", "macos", or platforms of `toolchain` such as "aarch64-linux";
            None for all three systems, or for this machine if the compiler is gcc or clang.
        compiler: "zig", "gcc" or "clang"; None for Zig, which the extra `export` installs.
        sources_only: leave the libraries out, for tools that compile FMUs themselves.
        queue: capacity for delayed commands of a vehicle with dead times; see `write_c`.

    Returns:
        The path of the file.
    """
    one_of("version", version, VERSIONS)
    if compiler is not None:
        one_of("compiler", compiler, COMPILERS)
    target = path_of(path, "path")
    targets = () if sources_only else target_names(platforms, compiler)
    with working(f"deriving {exported.name}") as sign:
        files = fmu_files(exported, version, queue=queue)
        sign.show()
        files |= _binaries(exported.name, files, targets, compiler, version, sign)
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return target


def fmu_files(exported: Export, version: int, *, queue: int | None = None) -> dict[str, bytes]:
    """Files of an FMU by their paths, without the libraries."""
    programs, name = Programs(exported), exported.name
    derivatives = DerivativeSource(programs, adjoints=version == 3)
    fixed = resources.files(__name__.rpartition(".")[0]) / "fmi"
    texts = c_sources(exported, queue=queue)
    sources = {file: texts[file].encode() for file in (f"{name}.h", f"{name}.c")}
    sources |= {file: (fixed / file).read_bytes() for file in FIXED[version]}
    sources["derivatives.h"] = derivatives.header().encode()
    built = [f"fmi{version}.c"]
    # The token identifies this FMU: a digest of all of its contents.
    digest = hashlib.sha256(model_description(programs, version, "", built))
    for file, content in sources.items():
        digest.update(file.encode() + b"\0" + content + b"\0")
    text = digest.hexdigest()
    token = "{" + "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:32]]) + "}"
    sources["model.h"] = ModelHeader(programs, token).text(derivatives.lines()).encode()
    if version == 3:
        sources["buildDescription.xml"] = build_description(name, built)
    description = model_description(programs, version, token, built)
    return {"modelDescription.xml": description} | {
        f"sources/{file}": content for file, content in sources.items()
    }


def target_names(platforms: Sequence[str] | None, compiler: str | None) -> tuple[str, ...]:
    """Targets of `toolchain` for platforms or systems."""
    if platforms is None:
        platforms = tuple(SYSTEMS) if compiler in (None, "zig") else (host(),)
    known = [*SYSTEMS, *(name for name in TARGETS if name != "cortex-m7")]
    for platform in platforms:
        if platform not in known:
            raise InvalidValue(
                f"platforms: {platform!r} is unknown; allowed are {', '.join(known)}"
            )
    return tuple(dict.fromkeys(t for p in platforms for t in SYSTEMS.get(p, (p,))))


def _binaries(
    name: str,
    files: Mapping[str, bytes],
    targets: Sequence[str],
    compiler: str | None,
    version: int,
    sign: Working,
) -> dict[str, bytes]:
    """Build the libraries for some targets; returns them by their paths in the FMU."""
    built: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path, content in files.items():
            if path.startswith("sources/"):
                (folder / Path(path).name).write_bytes(content)
        for k, target in enumerate(targets):
            sign.label = f"building {name} for {target} ({k + 1} of {len(targets)})"
            file = f"{name}{TARGETS[target].suffix}"
            out = folder / target / file
            out.parent.mkdir()
            # Compiler flags that export only the FMI functions and keep paths of this machine out
            # of the library.
            flags = ["-fvisibility=hidden", "-s"]
            if target.endswith("macos"):
                flags.append(f"-Wl,-install_name,@rpath/{file}")
            source = folder / f"fmi{version}.c"
            alone(partial(build_library, [source], out, target, compiler, flags=flags), sign.show)
            place = target.replace("macos", "darwin")
            place = _FOLDERS.get(target, place) if version == 2 else place
            built.setdefault(f"binaries/{place}/{file}", []).append(out.read_bytes())
    one = {path: parts[0] for path, parts in built.items() if len(parts) == 1}
    return {path: one.get(path) or fat_binary(parts) for path, parts in built.items()}


_FAT_MAGIC = 0xCAFEBABE
_MACHO_MAGIC = 0xFEEDFACF
_ALIGNMENT = 14
"""Alignment of the parts as a power of two: the largest page size, 16 KiB."""


def fat_binary(parts: Sequence[bytes]) -> bytes:
    """64-bit libraries of macOS for several processors as one file; FMI 2.0 has one folder for all.

    The format is Apple's (`mach-o/fat.h`): a header and a row per part, in big-endian words.
    """
    rows: list[bytes] = []
    body, page = b"", 1 << _ALIGNMENT
    for part in parts:
        magic, processor, model = struct.unpack_from("<III", part)
        if magic != _MACHO_MAGIC:
            raise InvalidValue(f"a part begins with {magic:#x}, which is not a macOS library")
        offset = page + len(body)
        rows.append(struct.pack(">IIIII", processor, model, offset, len(part), _ALIGNMENT))
        body += part + bytes(-len(part) % page)
    head = struct.pack(">II", _FAT_MAGIC, len(rows)) + b"".join(rows)
    return head + bytes(page - len(head)) + body


MEMBERS = {"x": "state", "start": "before", "u": "input", "w": "disturbance", "p": "params"}
"""C struct member of a vehicle for each port of a Program."""
_CHANGES = ("dx", "dstart", "du", "dw", "dp")


class DerivativeSource:
    """Writes derivatives.h and the part of model.h that calls it; with `adjoints`, for both
    directions.

    The Programs are compiled twice where those of the vehicle are, for processors with and without
    a fused multiply-add, by the macros of the vehicle's own source.
    """

    def __init__(self, programs: Programs, *, adjoints: bool) -> None:
        self.adjoints = adjoints
        self.naming = Naming(programs.exported)
        self.name = self.naming.name
        traced = programs.tangents | (programs.adjoints if adjoints else {})
        self.finished = {stem: programs.exported.finish(part) for stem, part in traced.items()}
        """The lowered Programs by name."""

    def header(self) -> str:
        """Text of the C header derivatives.h."""
        kind = self.naming.kind
        lines = [f"/* Derivatives of {self.name}, along a direction; included by model.h. */", ""]
        for stem, program in self.finished.items():
            inputs = [array_argument(kind, p.name, len(p.fields)) for p in program.inputs]
            outputs = [
                array_argument(kind, f"r_{port.name}", len(port.fields), written=True)
                for port in program.outputs
            ]
            lines += program_function(program, f"{self.name}_{stem}", inputs, outputs, kind)
        return "\n".join(lines)

    def lines(self) -> list[str]:
        """Lines of model.h that include derivatives.h and define the functions that
        unit_derivatives.h calls.
        """
        name, number = self.name, self.naming.kind.name
        renamed = [f"{op}_{number}" for op in ("fma", "sqrt", "rint", "floor")]
        renamed += [f"read_{number}"] * bool(self.naming.arrays)
        renamed += [
            n for stem, p in self.finished.items() for n in function_names(p, f"{name}_{stem}")
        ]
        return [
            "/* Derivatives, for processors with and without fused multiply-add. */",
            f"#if {name}_DISPATCH\n#undef SKIDPAD_TARGET",
            '#define SKIDPAD_TARGET __attribute__((target("avx2,bmi,bmi2,fma")))',
            *(f"#define {stem} {stem}_v3" for stem in renamed),
            '#include "derivatives.h"',
            *(f"#undef {stem}" for stem in renamed),
            "#undef SKIDPAD_TARGET\n#define SKIDPAD_TARGET\n#endif",
            '#include "derivatives.h"\n',
            *(line for part in ("rates", "outputs") for line in self._of_car(part)),
            *self._of_settle(),
        ]

    def _of_car(self, part: str) -> list[str]:
        """C lines for the derivatives of rates or outputs at the current state of a vehicle."""
        changes = ", ".join(f"const number* {change}" for change in _CHANGES)
        written = ", ".join(f"number* {change}" for change in _CHANGES)
        parameters = f"vehicle* car, {changes}, number* out"
        program = self.finished.get(f"{part}_tangent")
        ports = [] if program is None else [port.name for port in program.inputs if port.fields]
        point = [f"vehicle_{MEMBERS[port]}(car)" for port in ports if port in MEMBERS]
        moving = [port for port in ports if port not in MEMBERS]
        lines = self._function(f"{part}_tangent", parameters, [*point, *moving, "out"])
        if self.adjoints:
            parameters = f"vehicle* car, const number* weights, {written}"
            lines += self._function(f"{part}_adjoint", parameters, [*point, "weights", *moving])
        return lines

    def _of_settle(self) -> list[str]:
        """C lines for the derivatives of the consistent start."""
        p, dp = (["params"], ["dp"]) if self.naming.has("params") else ([], [])
        at = "const number* state, const number* params"
        parameters = f"{at}, const number* dx, const number* dp, number* out"
        lines = self._function("settle_tangent", parameters, ["state", *p, "dx", *dp, "out"])
        if self.adjoints:
            parameters = f"{at}, const number* weights, number* dx, number* dp"
            arguments = ["state", *p, "weights", "dx", *dp]
            lines += self._function("settle_adjoint", parameters, arguments)
        return lines

    def _function(self, stem: str, parameters: str, arguments: list[str]) -> list[str]:
        """C function that calls a Program, or does nothing if the Program does not exist."""
        names = [parameter.split()[-1] for parameter in parameters.split(", ")]
        name, call = self.name, list[str]()
        if stem in self.finished:
            call = [f"    {name}_CALL({name}_{stem}, ({', '.join(arguments)}));"]
        unused = f"    {', '.join(f'(void){name}' for name in names)};"
        return [*_function(f"void {stem}({parameters})", unused, *call), ""]


_SHARED = ("exporting.h", "unit.h", "unit_motion.h", "unit_instances.h", "unit_derivatives.h")
FIXED = {2: ("fmi2.c", "fmi2.h", *_SHARED), 3: ("fmi3.c", "fmi3.h", *_SHARED, "unit_adjoints.h")}
"""Files of the folder `fmi` that every FMU contains, by FMI version."""
_CODES = ("OK", "BAD_INPUT", "DIVERGED", "NOT_CONVERGED")
HIDDEN = 0xFFFF_FFFF
"""Size that marks a parameter that is not a variable of the FMU."""


class ModelHeader:
    """Writer of model.h, which ties the vehicle to the FMI sources.

    Args:
        programs: the traced Programs of the vehicle.
        token: the token of the model description.
    """

    def __init__(self, programs: Programs, token: str) -> None:
        self.programs, self.token = programs, token
        self.exported = programs.exported
        self.naming = Naming(self.exported)
        self.variables = Variables(programs)

    def text(self, derivatives: Sequence[str]) -> str:
        """Text of model.h, with the lines that call derivatives.h."""
        name, sizes = self.exported.name, self.variables.sizes
        letters = dict(zip(("NX", "ND", "NU", "NW", "NY", "NP"), sizes.values(), strict=True))
        first = self.variables.first
        return "\n".join(
            [
                f"/* {name} as an FMU; see unit.h. Written by skidpad. */\n",
                "#ifndef SKIDPAD_MODEL_H\n#define SKIDPAD_MODEL_H\n",
                f'#include <stddef.h>\n\n#include "{name}.c"\n',
                f'#define UNIT_TOKEN "{self.token}"',
                *(f"#define {letter} {size}" for letter, size in letters.items()),
                "#define ROOM(count) ((count) > 0 ? (count) : 1)",
                f"#define FIRST_STATE {first['state']}",
                f"#define FIRST_RATE {first['rate']}",
                f"#define FIRST_INPUT {first['input']}",
                f"#define SETTLES {int(self.exported.model.settle is not None)}",
                f"#define STEP_SIZE {name}_DT",
                f"#define HIDDEN {HIDDEN}u",
                *(f"#define VEHICLE_{code} {name}_{code}" for code in _CODES),
                f"\ntypedef {self.naming.kind.name} number;\ntypedef {name} vehicle;\n",
                *self._tables(),
                *self._members(),
                *self._functions(),
                *derivatives,
                "#endif\n",
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
            *_function(
                "const char* variable_name(size_t reference)", "    return unit_names[reference];"
            ),
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
                row = [f"{variable.size}", *["0"] * (variable.size - 1)]
                sizes[variable.place : variable.place + variable.size] = row
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
            *_function(
                "const unit_range* range_of(uint32_t reference)",
                "    size_t low = 0, high = sizeof unit_ranges / sizeof *unit_ranges;",
                "    while (low < high) {",
                "        const size_t middle = (low + high) / 2;",
                "        if (unit_ranges[middle].reference == reference)"
                " return &unit_ranges[middle];",
                "        if (unit_ranges[middle].reference < reference) low = middle + 1;",
                "        else high = middle;",
                "    }",
                "    return NULL;",
            ),
            "",
        ]

    def _members(self) -> list[str]:
        """C functions that return the records of a vehicle as arrays of numbers."""
        name = self.exported.name
        lines: list[str] = []
        for member in MEMBERS.values():
            struct = "state" if member == "before" else member
            value = f"(number*)&car->{member}" if self.naming.has(struct) else "((void)car, NULL)"
            lines.append(f"static number* vehicle_{member}(vehicle* car) {{ return {value}; }}")
        for array, struct in (("starts", "state"), ("inputs", "input")):
            defaults = f"((const number*)&{name}_default_{struct})"
            lines.append(f"#define unit_{array} {defaults if self.naming.has(struct) else 'NULL'}")
        return [*lines, ""]

    def _functions(self) -> list[str]:
        """C functions of the vehicle under names and signatures that do not depend on its
        records."""
        name, has = self.exported.name, self.naming.has
        command = f", (const {name}_input*)command" if has("input") else ""
        unused = ["    (void)command;"] * (not has("input"))
        params = f", (const {name}_params*)params" if has("params") else ""
        settle = ["    (void)state, (void)params;"]
        if self.exported.model.settle is not None:
            settle = [f"    {name}_settle(({name}_state*)state{params});", "    (void)params;"]
        outputs = "    (void)car, (void)outputs;"
        if has("outputs"):
            outputs = f"    {name}_outputs_of(car, ({name}_outputs*)outputs);"
        rates = "    (void)car, (void)rates;"
        if self.programs.exchanges:
            parts = [m for m in ("state", "input", "disturbance", "params") if has(m)]
            members = ", ".join(f"&car->{member}" for member in parts)
            rates = f"    {name}_derivative({members}, ({name}_state*)rates);"
        reset = f"    return {name}_reset(car, (const {name}_state*)state, time);"
        step = f"    return {name}_step(car{command});"
        step_of = f"    return {name}_step_of(car{command}, length);"
        given = "vehicle* car, const number* command"
        functions = {
            "int vehicle_reset(vehicle* car, const number* state, double time)": [reset],
            f"int vehicle_step({given})": [*unused, step],
            f"int vehicle_step_of({given}, double length)": [*unused, step_of],
            "void vehicle_settle(number* state, const number* params)": settle,
            "void vehicle_outputs(const vehicle* car, number* outputs)": [outputs],
            "void vehicle_rates(const vehicle* car, number* rates)": [rates],
        }
        return [
            f"static void vehicle_init(vehicle* car) {{ {name}_init(car); }}",
            f"static double vehicle_time(const vehicle* car) {{ return {name}_time(car); }}",
            *(line for head, body in functions.items() for line in _function(head, *body)),
            "",
        ]


def _function(head: str, *body: str) -> list[str]:
    return [f"static {head}", "{", *body, "}"]


def _table(declaration: str, values: Sequence[str], columns: int = 12) -> list[str]:
    """Static C array; never empty, as C has no empty arrays."""
    values = values or ["0"]
    rows = [", ".join(values[k : k + columns]) for k in range(0, len(values), columns)]
    return [f"static {declaration}[] = {{", *(f"    {row}," for row in rows), "};"]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
