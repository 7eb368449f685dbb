"""`skidpad models`: the vehicles, and what one of them consists of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import vehicles_and_sets
from .targets import Settings

if TYPE_CHECKING:
    from ..model import Vehicle


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
    from .test_request import set_values, vehicle_of

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
    from .json_output import print_json

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
