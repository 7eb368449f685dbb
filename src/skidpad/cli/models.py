"""`skidpad models`: the vehicles, and what one of them consists of.

`skidpad` alone: what one can do next, by what one may want.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .. import __version__
from ..errors import EXTRAS, InvalidValue
from .completion import vehicles_and_sets
from .run import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.model import Vehicle


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show this vehicle in full; NAME:SET has a set, MODULE:NAME is one of your own.",
            autocompletion=vehicles_and_sets,
        ),
    ] = None,
    settings: Settings = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the traced step, one operation a line.")
    ] = False,
    integrator: Annotated[
        str | None,
        typer.Option(help="The method that makes the step of the program. [default: rk4]"),
    ] = None,
    lowered: Annotated[
        bool, typer.Option("--lowered", help="The program lowered to IEEE operations, float64.")
    ] = False,
    precision: Annotated[
        str | None, typer.Option(help="The program lowered to float32 or float64.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the program to this file instead of printing it.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, every vehicle in full.")
    ] = False,
) -> None:
    """List the vehicles, or show one with its states, inputs, parameters and outputs."""
    from .test_work import set_values, vehicle_of

    lower = lowered or precision is not None
    wants_program = program or lower or save is not None
    if integrator is not None and not wants_program:
        raise InvalidValue(f"--integrator {integrator} belongs to a program: add --program")
    if name is None and wants_program:
        raise InvalidValue("a program belongs to one vehicle: give its name, as in four_wheel")
    if json and wants_program:
        raise InvalidValue("--json is of vehicles; --save writes a program, in JSON too")
    if settings and name is None:
        raise InvalidValue("--set belongs to one vehicle: give its name, as in four_wheel")
    car = None if name is None else vehicle_of(name, (), set_values(settings))
    if json:
        _print_json(car)
    elif car is not None and wants_program:
        chosen = (precision or "float64") if lower else None
        _write_program(car, integrator or "rk4", chosen, save)
    else:
        _print_tables(car)


def _print_json(car: Vehicle | None) -> None:
    from .. import vehicles
    from .documents import models_document
    from .output import print_json

    if car is not None:
        print_json(models_document([car], ()))
        return
    listed = [vehicles.named(one) for one in vehicles.names()]
    print_json(models_document(listed, vehicles.COMMAND_DRIVEN))


def _print_tables(car: Vehicle | None) -> None:
    from rich.console import Console

    from .. import vehicles
    from .tables import vehicle_list, vehicle_sheet

    if car is None:
        Console().print(vehicle_list([vehicles.named(one) for one in vehicles.names()]))
    else:
        Console().print(vehicle_sheet(car))


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


class Suggestion(NamedTuple):
    """A command to try."""

    demand: str
    command: str
    """As it is typed, without `skidpad`."""
    extras: tuple[str, ...] = ()
    """What it needs beyond the base."""


SUGGESTIONS = (
    Suggestion("see which vehicles there are", "models"),
    Suggestion("read one of them, field by field", "models four_wheel"),
    Suggestion("have a lap driven and recorded", "run lap --out lap", ("recording",)),
    Suggestion("watch that recording", "replay lap/lap.mcap", ("recording",)),
    Suggestion("drive in the browser yourself", "serve", ("viewer", "world")),
    Suggestion("mail somebody a car to drive", "html --drive four_wheel car.html", ("recording",)),
    Suggestion("put a car to the standard tests", "test two_track --html report.html"),
    Suggestion("run thousands from one file", "campaign --help", ("campaigns",)),
    Suggestion("take a vehicle to other tools", "export fmu four_wheel", ("export",)),
    Suggestion("know how fast it is here", "bench core --quick"),
)
"""From the first look to studies. Each runs as it stands, on files of those before it at most."""


def start_screen() -> RenderableType:
    """The suggestions, what to install for those that do not run here, and where all else is."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(style="bold cyan", overflow="fold")
    for suggestion in SUGGESTIONS:
        grid.add_row(suggestion.demand, f"skidpad {suggestion.command}")
    heading = Text.assemble(
        ("skidpad", "bold"), f" {__version__} simulates ground vehicles. You can"
    )
    notes = ["All commands: skidpad --help. Completion by TAB: skidpad --install-completion."]
    if missing := missing_extras():
        notes.append(f'Some of these need more: pip install "skidpad[{",".join(missing)}]"')
    return Group(
        heading, "", Padding(grid, (0, 0, 0, 2)), "", *(Text(note, "dim") for note in notes)
    )


def missing_extras() -> list[str]:
    """Extras that suggestions need and of which a package is not installed; nothing is imported."""
    needed = dict.fromkeys(extra for suggestion in SUGGESTIONS for extra in suggestion.extras)
    return [
        extra for extra in needed if any(find_spec(package) is None for package in EXTRAS[extra])
    ]
