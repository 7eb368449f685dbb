"""`skidpad models`: list of the vehicles, details of one of them, and the start screen.

`models_document` is what `--json` prints. Its keys are stable: new ones may be added under the same
`schema`; removing one, or changing its meaning, increments the number. docs/cli.md lists them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Argument

from .. import __version__
from ..errors import EXTRAS, InvalidValue
from .options import Settings, vehicle_of, vehicles_and_sets
from .output import finite, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core import record
    from ..core.model import Vehicle
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
        name: Show this vehicle in full; NAME:SET has a set, MODULE:NAME is one of your own.
        program: Print the traced step, one operation a line.
        integrator: The method that makes the step of the program. [default: rk4]
        lowered: The program lowered to IEEE operations, float64.
        precision: The program lowered to float32 or float64.
        save: Write the program to this file instead of printing it.
        json: Print one JSON object, every vehicle in full.
    """
    lower = lowered or precision is not None
    wants_program = program or lower or save is not None
    if integrator is not None and not wants_program:
        raise InvalidValue(f"--integrator {integrator} belongs to a program: add --program")
    if name is None and wants_program:
        raise InvalidValue("a program belongs to one vehicle: give its name, as in four_wheel")
    if json and wants_program:
        raise InvalidValue(
            "--json prints vehicles; for a program use --save, which also writes JSON"
        )
    if settings and name is None:
        raise InvalidValue("--set belongs to one vehicle: give its name, as in four_wheel")
    car = None if name is None else vehicle_of(name, settings=settings)
    if car is not None and wants_program:
        _write_program(car, integrator or "rk4", (precision or "float64") if lower else None, save)
        return
    from .. import vehicles

    shown = [car] if car is not None else [vehicles.get(one)() for one in vehicles.names()]
    if json:
        print_json(models_document(shown, () if car is not None else vehicles.COMMAND_DRIVEN))
    else:
        from .sheets import Console

        Console().print(vehicle_list(shown) if car is None else vehicle_sheet(car))


def _write_program(car: Vehicle, integrator: str, precision: str | None, path: Path | None) -> None:
    from ..compile.pipeline import step_program

    program = step_program(car, integrator=integrator, precision=precision)
    if path is None:
        typer.echo(str(program))
        return
    try:
        program.save(path)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error
    typer.echo(f"{program.operations} operations written to {path}")


def own_fields(vehicle: Vehicle, kind: type) -> tuple[record.Field, ...]:
    """Fields of a record of the vehicle; parameters with the values of this vehicle."""
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
    """Details of one vehicle: a table for each of its records that has fields."""
    from ..core import record
    from .sheets import Group, Text

    model = vehicle.model
    parts: list[RenderableType] = [Text.assemble((model.name, "bold cyan"), f"  {model.summary}")]
    kinds = {word: getattr(model, attribute) for word, attribute in SECTIONS.items()}
    width = max(len(name) for kind in kinds.values() for name in record.names(kind))
    for word, kind in kinds.items():
        if record.size(kind):
            parts += [Text(), _field_table(word, own_fields(vehicle, kind), width)]
    if model.reproduces:
        parts.append(Text(f"\nReproduces {model.reproduces}."))
    return Group(*parts)


def _field_table(word: str, fields: Sequence[record.Field], name_width: int) -> RenderableType:
    """Table of fields with unit and meaning, and default and range where the record has any."""
    from .sheets import Legible, Text, plain_table

    table = plain_table(
        title=f"{len(fields)} {word if len(fields) > 1 else word.rstrip('s')}",
        title_justify="left",
        title_style="bold",
        expand=True,
    )
    with_default = any(leaf.default is not None for leaf in fields)
    with_range = any(leaf.allowed is not None for leaf in fields)
    table.add_column("name", style="cyan", no_wrap=True, min_width=name_width)
    table.add_column("unit", no_wrap=True, min_width=len("N·s²/m²"))
    if with_default:
        table.add_column("default", justify="right", no_wrap=True)
    if with_range:
        table.add_column("range", no_wrap=True)
    table.add_column("meaning", ratio=1)
    for leaf in fields:
        cells = [leaf.name, leaf.unit.symbol]
        cells += ["" if leaf.default is None else f"{leaf.default:.6g}"] if with_default else []
        cells += [_range(leaf.allowed)] if with_range else []
        table.add_row(*map(Text, [*cells, " ".join(leaf.doc.split())]))
    return Legible(table)


def _range(allowed: Allowed | None) -> str:
    """Allowed range as text: `> 0`, `≥ 0`, `≤ 1`, `[0, 1]`."""
    if allowed is None:
        return ""
    if math.isinf(allowed.high):
        return f"{'>' if allowed.open_low else '≥'} {allowed.low:g}"
    if math.isinf(allowed.low):
        return f"≤ {allowed.high:g}"
    return f"{'(' if allowed.open_low else '['}{allowed.low:g}, {allowed.high:g}]"


class Suggestion(NamedTuple):
    """A command to try."""

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
    """Start screen: suggestions, missing extras for those that cannot run here, and further
    help."""
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
    """Extras of suggestions with a package that is not installed; nothing is imported."""
    needed = dict.fromkeys(extra for suggestion in SUGGESTIONS for extra in suggestion.extras)
    return [extra for extra in needed if any(find_spec(one) is None for one in EXTRAS[extra])]
