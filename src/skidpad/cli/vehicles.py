"""`skidpad models`, `export` and `tyre`: vehicles and tyres, listed, described and exported.

`models_document` makes the JSON that `skidpad models --json` prints. Its keys are stable: new ones
may be added under the same `schema`; removing one, or changing its meaning, increments the number.
docs/cli.md lists them. `skidpad export c` writes C source, `skidpad export fmu` a file that
co-simulation and modelling tools load.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from .. import __version__
from ..errors import EXTRAS, InvalidValue
from .options import (
    ParameterFiles,
    Settings,
    VehicleName,
    command_of,
    tyre_names,
    vehicle_of,
    vehicles_and_sets,
)
from .output import caught_texts, finite, print_json, warnings_as_notes

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core import record
    from ..core.model import Vehicle
    from ..export.exported import Export
    from ..tyres.characteristics import AtLoad, Summary
    from ..tyres.tyre import Tyre
    from ..units import Allowed

SECTIONS = {
    "states": "State",
    "inputs": "Input",
    "parameters": "Params",
    "disturbances": "Disturbance",
    "outputs": "Outputs",
}
"""Records of a model, by the name of the section that lists their fields."""


def models(
    name: Annotated[str | None, Argument(autocompletion=vehicles_and_sets)] = None,
    settings: Settings = None,
    program: bool = False,
    integrator: str | None = None,
    lowered: bool = False,
    precision: str | None = None,
    save: Path | None = None,
    json: bool = False,
) -> None:
    """List the vehicles, or show one with its states, inputs, parameters and outputs.

    Args:
        name: Vehicle to show in full: NAME, NAME:SET with a parameter set, or MODULE:NAME for your
            own.
        program: Print the traced step, one operation a line.
        integrator: Integration method of the traced step. [default: rk4]
        lowered: Print the program lowered to IEEE operations, in float64.
        precision: Precision of the lowered program: float32 or float64.
        save: Write the program to this file instead of printing it.
        json: Print one JSON object, every vehicle in full.
    """
    lower = lowered or precision is not None
    wants_program = program or lower or save is not None
    if integrator is not None and not wants_program:
        raise InvalidValue(f"--integrator {integrator} needs --program")
    if name is None and wants_program:
        raise InvalidValue("--program needs one vehicle: give its name, as in four_wheel")
    if json and wants_program:
        raise InvalidValue(
            "--json prints vehicles; for a program use --save, which also writes JSON"
        )
    if settings and name is None:
        raise InvalidValue("--set needs one vehicle: give its name, as in four_wheel")
    car = None if name is None else vehicle_of(name, settings=settings)
    if car is not None and wants_program:
        from ..compile.pipeline import step_program

        lowered_to = (precision or "float64") if lower else None
        traced = step_program(car, integrator=integrator or "rk4", precision=lowered_to)
        if save is None:
            typer.echo(str(traced))
            return
        try:
            traced.save(save)
        except OSError as error:
            raise InvalidValue(f"cannot write {save}: {error.strerror}") from error
        typer.echo(f"{traced.operations} operations written to {save}")
        return
    from .. import vehicles

    shown = [car] if car is not None else [vehicles.get(one)() for one in vehicles.names()]
    if json:
        print_json(models_document(shown, () if car is not None else vehicles.COMMAND_DRIVEN))
    else:
        from .sheets import Console, Text

        Console().print(vehicle_list(shown) if car is None else vehicle_sheet(car))
        if car is not None:
            from ..study.identify.observed import Sensors

            names = ", ".join(f"log.{name}" for name in Sensors._fields)
            text = f"\nsensors of a log, for fit, compare and estimate: {names}"
            Console().print(Text(text, "dim"))


def own_fields(vehicle: Vehicle, kind: type) -> tuple[record.Field, ...]:
    """Fields of one of the vehicle's records; parameters have this vehicle's values as defaults."""
    from ..core import record

    leaves = record.fields(kind)
    if kind is not vehicle.Params:
        return leaves
    values = record.flatten(vehicle.params)
    return tuple(leaf._replace(default=value) for leaf, value in zip(leaves, values, strict=True))


def models_document(vehicles: Sequence[Vehicle], command_driven: Sequence[str]) -> dict[str, Any]:
    """JSON document with all details of vehicles, and the names of command-driven ones."""

    def in_full(vehicle: Vehicle) -> dict[str, Any]:
        model = vehicle.model
        about: dict[str, Any] = {"name": model.name, "summary": model.summary}
        about["reproduces"] = model.reproduces or None
        records = {key: own_fields(vehicle, getattr(model, kind)) for key, kind in SECTIONS.items()}
        return about | {key: list(map(_field, leaves)) for key, leaves in records.items()}

    listed = [in_full(vehicle) for vehicle in vehicles]
    return {"schema": "models/1", "vehicles": listed, "command_driven": list(command_driven)}


def _field(leaf: record.Field) -> dict[str, Any]:
    from ..units import Allowed

    allowed = leaf.allowed or Allowed()
    return {
        **{"name": leaf.name, "unit": leaf.unit.symbol, "default": finite(leaf.default)},
        **{"minimum": finite(allowed.low), "maximum": finite(allowed.high)},
        **{"exclusive_minimum": allowed.open_low, "whole": allowed.whole},
        "meaning": " ".join(leaf.doc.split()),
    }


def vehicle_list(listed: Sequence[Vehicle]) -> RenderableType:
    """Table of all vehicles: description, names of states and inputs, number of parameters."""
    from ..core import record
    from ..vehicles.registry import COMMAND_DRIVEN
    from .sheets import Group, Table, Text, plain_table

    table = plain_table(show_edge=True)
    table.add_column("vehicle", style="bold cyan", no_wrap=True)
    table.add_column("what it is", ratio=1)
    for vehicle in listed:
        model = vehicle.model
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        grid.add_row("states", " ".join(record.names(model.State)))
        grid.add_row("inputs", " ".join(record.names(model.Input)))
        grid.add_row("parameters", str(record.size(model.Params)))
        if model.reproduces:
            grid.add_row("reproduces", model.reproduces)
        table.add_row(vehicle.name, Group(Text(model.summary), grid))
        table.add_section()
    notes = (
        f"Command-driven, as in Autoware's planning simulator: {', '.join(COMMAND_DRIVEN)}.",
        "skidpad models NAME shows units, defaults and meanings.",
    )
    return Group(table, *(Text(note, "dim") for note in notes))


def vehicle_sheet(vehicle: Vehicle) -> RenderableType:
    """Details of one vehicle: a table for each of its records that has fields.

    Columns of defaults and ranges are left out where no field has any.
    """
    from ..core import record
    from .sheets import Group, Legible, Text, plain_table

    model = vehicle.model
    parts: list[RenderableType] = [Text.assemble((model.name, "bold cyan"), f"  {model.summary}")]
    kinds = {word: getattr(model, attribute) for word, attribute in SECTIONS.items()}
    width = max(len(name) for kind in kinds.values() for name in record.names(kind))
    for word, kind in kinds.items():
        if not record.size(kind):
            continue
        fields = own_fields(vehicle, kind)
        title = f"{len(fields)} {word if len(fields) > 1 else word.rstrip('s')}"
        look: Any = {"title_justify": "left", "title_style": "bold", "expand": True}
        table = plain_table(title=title, **look)
        with_default = any(leaf.default is not None for leaf in fields)
        with_range = any(leaf.allowed is not None for leaf in fields)
        table.add_column("name", style="cyan", no_wrap=True, min_width=width)
        table.add_column("unit", no_wrap=True, min_width=len("N·s²/m²"))
        if with_default:
            table.add_column("default", justify="right", no_wrap=True)
        if with_range:
            table.add_column("range", no_wrap=True)
        table.add_column("meaning", ratio=1)
        for leaf in fields:
            cells = [leaf.name, leaf.unit.symbol]
            cells += ["" if leaf.default is None else f"{leaf.default:.6g}"] if with_default else []
            cells += [_range_text(leaf.allowed)] if with_range else []
            table.add_row(*map(Text, [*cells, " ".join(leaf.doc.split())]))
        parts += [Text(), Legible(table)]
    if model.reproduces:
        parts.append(Text(f"\nReproduces {model.reproduces}."))
    return Group(*parts)


def _range_text(allowed: Allowed | None) -> str:
    """Allowed range as text: `> 0`, `≥ 0`, `≤ 1`, `[0, 1]`."""
    if allowed is None:
        return ""
    if math.isinf(allowed.high):
        return f"{'>' if allowed.open_low else '≥'} {allowed.low:g}"
    if math.isinf(allowed.low):
        return f"≤ {allowed.high:g}"
    return f"{'(' if allowed.open_low else '['}{allowed.low:g}, {allowed.high:g}]"


class Suggestion(NamedTuple):
    """Command suggested on the start screen."""

    purpose: str
    command: str
    """Command line without `skidpad`."""
    extras: tuple[str, ...] = ()
    """Optional extras that the command needs."""


SUGGESTIONS = (
    Suggestion("see which vehicles there are", "models"),
    Suggestion("read one of them, field by field", "models four_wheel"),
    Suggestion("have a lap driven and recorded", "run lap --out lap", ("recording",)),
    Suggestion("watch that recording", "replay lap/lap.mcap", ("recording",)),
    Suggestion("drive in the browser yourself", "serve", ("viewer", "world")),
    Suggestion("mail a friend a car to drive", "html --drive four_wheel car.html", ("recording",)),
    Suggestion("put a car to the standard tests", "test two_track --html report.html"),
    Suggestion("run thousands from one file", "campaign --help", ("campaigns",)),
    Suggestion("take a vehicle to other tools", "export fmu four_wheel", ("export",)),
    Suggestion("know how fast it is here", "bench core --quick"),
)
"""Suggestions from first steps to studies; each uses at most files written by those before
it."""


def start_screen() -> RenderableType:
    """Start screen with suggested commands, missing extras and further help."""
    from .sheets import Group, Padding, Table, Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(style="bold cyan", overflow="fold")
    for suggestion in SUGGESTIONS:
        grid.add_row(suggestion.purpose, f"skidpad {suggestion.command}")
    what = f" {__version__} simulates ground vehicles. You can"
    heading = Text.assemble(("skidpad", "bold"), what)
    notes = ["All commands: skidpad --help. Completion by TAB: skidpad --install-completion."]
    if missing := missing_extras():
        notes.append(f'Some of these need more: pip install "skidpad[{",".join(missing)}]"')
    return Group(
        heading, "", Padding(grid, (0, 0, 0, 2)), "", *(Text(note, "dim") for note in notes)
    )


def missing_extras() -> list[str]:
    """Names of extras that suggested commands need and whose packages are not installed; imports
    nothing.
    """
    needed = dict.fromkeys(extra for suggestion in SUGGESTIONS for extra in suggestion.extras)
    return [extra for extra in needed if any(find_spec(one) is None for one in EXTRAS[extra])]


export = typer.Typer(
    name="export",
    help="A vehicle for other tools: C source, FMUs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Queue = Annotated[
    int | None, Option(help="Room for commands that wait, of a vehicle with dead times.")
]


class Stepping(NamedTuple):
    """Options for the integration step and the name of the exported vehicle.

    Args:
        integrator: Integrator, as for Simulator: auto, rk4, radau, ...
        dt: Step in s.
        substeps: Integrator steps within each step; by default chosen by the vehicle.
        precision: float64 or float32.
        name: Name in the exported files; by default that of the vehicle.
    """

    params: ParameterFiles = None
    settings: Settings = None
    integrator: str = "auto"
    dt: float = 0.01
    substeps: Annotated[int | None, Option(min=1)] = None
    precision: str = "float64"
    name: str | None = None

    def exported(self, vehicle: str) -> Export:
        """Vehicle of this name, compiled with these options and ready for export."""
        from ..export.exported import Export

        with warnings_as_notes():
            car = vehicle_of(vehicle, self.params, self.settings, telling=True)
            how: Any = {name: getattr(self, name) for name in ("name", "precision", "substeps")}
            return Export(car, self.dt, self.integrator, **how)


@command_of(export)
def c(vehicle: VehicleName, *, stepping: Stepping, queue: Queue = None, out: Path = Path()) -> None:
    """Write a vehicle as C99: NAME.h, NAME.c and an example NAME_main.c.

    The source needs no library and allocates nothing. A step has the bits of skidpad's Simulator.

    Args:
        out [FOLDER]: Output folder; created if it does not exist.
    """
    from ..export.c import write_c

    for path in write_c(stepping.exported(vehicle), out, queue=queue):
        typer.echo(path)


@command_of(export)
def fmu(
    vehicle: VehicleName,
    fmi: int = 3,
    *,
    stepping: Stepping,
    out: Annotated[Path | None, Option(show_default=False)] = None,
    platforms: Annotated[str | None, Option(show_default=False)] = None,
    compiler: Annotated[str | None, Option(show_default=False)] = None,
    sources_only: bool = False,
    queue: Queue = None,
) -> None:
    """Write a vehicle as an FMU, for co-simulation and, where it is continuous, model exchange.

    A step has the bits of skidpad's Simulator. The libraries are built by Zig, which the extra
    export brings.

    Args:
        fmi [3|2]: Version of FMI.
        out [FILE]: The FMU; NAME.fmu if not given.
        platforms [LIST]: Platforms to build for: linux, windows, macos (all three if not given),
            aarch64-linux; with commas between.
        compiler: zig, or gcc or clang, which build for this machine only.
        sources_only: Leave the libraries out.
    """
    from ..export.fmu import write_fmu

    if sources_only and (platforms is not None or compiler is not None):
        raise InvalidValue("--sources-only builds nothing: omit --platforms and --compiler")
    car = stepping.exported(vehicle)
    listed = None if platforms is None else [one.strip() for one in platforms.split(",")]
    how: Any = {"platforms": listed, "compiler": compiler, "sources_only": sources_only}
    typer.echo(write_fmu(car, out or Path(f"{car.name}.fmu"), fmi, queue=queue, **how))


PASCAL_PER_BAR = 1e5


def tyre(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    files: Annotated[list[str], Argument(metavar="FILE", hidden=True, autocompletion=tyre_names)],
    plot: Path | None = None,
    load: Annotated[list[float] | None, Option(show_default=False)] = None,
    camber: Annotated[list[float] | None, Option(show_default=False)] = None,
    pressure: Annotated[list[float] | None, Option(show_default=False)] = None,
    filled: bool = False,
    as_json: Annotated[bool, Option("--json")] = False,
) -> None:
    """Show the key properties of tyres in columns: friction, stiffness, trail, radii and so on.

    A FILE is a tyre property file (.tir), or the name of a tyre that comes with skidpad.

    Args:
        plot: Draw the curves to this file: PNG, SVG or PDF.
        load [N]: Wheel load in N; may be given several times. [default: 0.5, 1 and 1.5 times the
            nominal]
        camber [DEG]: Camber in degrees, positive when the top leans to the right; may be given
            several times.
        pressure [BAR]: Inflation pressure in bar; may be given several times. [default: the tyre's
            own]
        filled: List the keys that are missing in a file and were filled in.
        as_json: Print one JSON object, in SI units.
    """
    from ..tyres.characteristics import summary

    if plot is not None:
        from ..view.plots.style import check

        check(plot, "matplotlib", None)
    loads = None if load is None else sorted(load)
    angles = [math.radians(angle) for angle in camber or [0.0]]
    pressures = [None] if pressure is None else [PASCAL_PER_BAR * value for value in pressure]
    tyres, notes = _read(files)
    columns = [
        summary(one, loads=loads, camber=angle, pressure=value)
        for one in tyres
        for angle in angles
        for value in pressures
    ]
    if plot is not None:
        from ..view.plots.tyres import sheet

        cambers = None if camber is None else angles
        sheet(tyres, loads=loads, cambers=cambers, pressures=pressures, path=plot)
    if as_json:
        print_json({"tyres": [column.as_json() for column in columns], "warnings": notes})
        return
    from .sheets import Console

    Console().print(tyre_sheet(columns, notes, filled=filled))
    if plot is not None:
        typer.echo(f"curves drawn to {plot}")


def _read(files: Sequence[str]) -> tuple[list[Tyre], list[str]]:
    """Read tyre files; returns the tyres by label (with the folder where file names coincide) and
    warnings.
    """
    from ..tyres.reading import get, names, read

    tyres: list[Tyre] = []
    with caught_texts(Warning) as caught:
        for file in files:
            if Path(file).is_file() or Path(file).suffix or Path(file).name != file:
                tyres.append(read(file))
            elif file in names():
                tyres.append(get(file))
            else:
                raise InvalidValue(
                    f"{file!r} is neither a file nor a tyre of skidpad's: {', '.join(names())}"
                )
    pairs = list(zip(files, tyres, strict=True))
    count = Counter(name for name, _ in {(tyre.name, file) for file, tyre in pairs})
    tyres = [tyre if count[tyre.name] == 1 else replace(tyre, name=file) for file, tyre in pairs]
    return tyres, list(dict.fromkeys(caught))


Row = tuple[str, str, "Callable[[Summary], str]"]
"""Name of a row, its unit, and the function that makes its cell for a tyre."""
NONE = "–"
"""Text in place of a missing value."""
DEGREES = 180.0 / math.pi
DIGITS = 3


def tyre_sheet(columns: Sequence[Summary], notes: Sequence[str], *, filled: bool) -> RenderableType:
    """Sheet of tyres: a table with a row per quantity, followed by notes."""
    from . import sheets
    from .sheets import Group, Text

    table = sheets.plain_table()
    table.add_column("", style="cyan", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for column in columns:
        table.add_column(Text(column.name), justify="right", no_wrap=True)
    with_camber = any(column.camber for column in columns)
    for block in (WHOLE, UNDER_LOADS):
        for name, unit, cell in block:
            if name != "camber" or with_camber:
                table.add_row(*map(Text, [name, unit, *map(cell, columns)]))
        table.add_section()
    three = all(len(column.at) == 3 for column in columns)
    own = [f"{column.name}: {text}" for column in columns for text in column.warnings]
    parts: list[RenderableType] = [
        sheets.Legible(table),
        Text("a / b / c: at the three loads" if three else "/: load by load", "dim"),
        *sheets.notes(dict.fromkeys([*notes, *own]), "warning"),
    ]
    if filled:
        named = {column.name: column.filled for column in columns if column.filled}
        parts += [Text(f"{name} left out {', '.join(keys)}") for name, keys in named.items()]
    return Group(*parts)


def number(value: float | None, scale: float = 1.0, digits: int = DIGITS) -> str:
    """Text of a scaled value with `digits` digits, never in scientific notation."""
    if value is None or not math.isfinite(value):
        return NONE
    shown = float(f"{value * scale:.{digits - 1}e}")
    decimals = 0 if shown == 0.0 else max(0, digits - 1 - math.floor(math.log10(abs(shown))))
    return f"{shown + 0.0:.{decimals}f}".replace("-", "−")


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.6g}"


def _each(
    value: Callable[[AtLoad], float | None], scale: float = 1.0, digits: int = DIGITS
) -> Callable[[Summary], str]:
    return lambda s: " / ".join(number(value(at), scale, digits) for at in s.at)


def _relaxation(key: str, value: Callable[[AtLoad], float]) -> Callable[[Summary], str]:
    """Table cell of a relaxation length; empty for a version 5.2 file without the coefficient."""
    shown = _each(value, 1e3)
    return lambda s: "none in the file" if key in s.filled else shown(s)


WHOLE: tuple[Row, ...] = (
    ("model", "", lambda s: s.model),
    ("side", "", lambda s: s.side if s.side == s.measured_on else f"{s.side}, mirrored"),
    ("free radius", "mm", lambda s: number(s.radius, 1e3, 4)),
    ("width", "mm", lambda s: number(s.width, 1e3)),
    ("nominal load", "N", lambda s: _plain(s.F_z0)),
    ("load range", "N", lambda s: " to ".join(map(_plain, s.F_z_range or (None,)))),
    ("pressure", "bar", lambda s: number(s.pressure, 1e-5)),
    ("camber", "°", lambda s: number(s.camber, DEGREES)),
    ("speed", "m/s", lambda s: number(s.v_x)),
    ("vertical stiffness", "N/mm", lambda s: number(s.C_z, 1e-3)),
    ("cornering stiffness max", "N/°", lambda s: number(s.K_y_max, 1.0 / DEGREES)),
    ("  at a load of", "N", lambda s: number(s.F_z_of_K_y_max)),
    ("keys filled", "", lambda s: str(len(s.filled))),
)
"""Rows of quantities that do not depend on the load."""
UNDER_LOADS: tuple[Row, ...] = (
    ("load", "N", lambda s: " / ".join(_plain(at.F_z) for at in s.at)),
    ("peak friction, driving", "", _each(lambda a: a.mu_x)),
    ("  at slip", "%", _each(lambda a: a.kappa_peak, 100.0)),
    ("peak friction, braking", "", _each(lambda a: a.mu_brake)),
    ("  at slip", "%", _each(lambda a: a.kappa_brake, 100.0)),
    ("peak friction, lateral", "", _each(lambda a: a.mu_y)),
    ("  at slip angle", "°", _each(lambda a: a.alpha_peak, DEGREES)),
    ("slip stiffness", "N/%", _each(lambda a: a.K_x, 0.01)),
    ("cornering stiffness", "N/°", _each(lambda a: a.K_y, 1.0 / DEGREES)),
    ("largest aligning moment", "N·m", _each(lambda a: a.M_z)),
    ("trail at small slip", "mm", _each(lambda a: a.trail, 1e3)),
    ("relaxation along", "mm", _relaxation("PTX1", lambda a: a.sigma_x)),
    ("relaxation across", "mm", _relaxation("PTY1", lambda a: a.sigma_y)),
    ("effective radius", "mm", _each(lambda a: a.effective, 1e3, 4)),
    ("loaded radius", "mm", _each(lambda a: a.loaded, 1e3, 4)),
    ("rolling resistance", "%", _each(lambda a: a.rolling, 100.0)),
)
"""Rows with a value for each load."""
