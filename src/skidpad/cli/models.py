"""`skidpad models`: the vehicles, and what one of them consists of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidValue
from .completion import vehicle_names


def models(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this vehicle in full.", autocompletion=vehicle_names),
    ] = None,
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
    lower = lowered or precision is not None
    wants_program = program or lower or save is not None
    if integrator is not None and not wants_program:
        raise InvalidValue(f"--integrator {integrator} belongs to a program: add --program")
    if name is None and wants_program:
        raise InvalidValue("a program belongs to one vehicle: give its name, as in four_wheel")
    if json and wants_program:
        raise InvalidValue("--json is of vehicles; --save writes a program, in JSON too")
    if json:
        _print_json(name)
    elif name is not None and wants_program:
        chosen = (precision or "float64") if lower else None
        _write_program(name, integrator or "rk4", chosen, save)
    else:
        _print_tables(name)


def _print_json(name: str | None) -> None:
    from .. import vehicles
    from .documents import models_document
    from .json_output import print_json

    names = vehicles.names() if name is None else [name]
    others = vehicles.COMMAND_DRIVEN if name is None else ()
    print_json(models_document([vehicles.named(one) for one in names], others))


def _print_tables(name: str | None) -> None:
    from rich.console import Console

    from .. import vehicles
    from .tables import vehicle_list, vehicle_sheet

    if name is None:
        Console().print(vehicle_list([vehicles.named(one) for one in vehicles.names()]))
    else:
        Console().print(vehicle_sheet(vehicles.named(name)))


def _write_program(name: str, integrator: str, precision: str | None, path: Path | None) -> None:
    from .. import vehicles
    from ..compile.pipeline import step_program

    program = step_program(vehicles.named(name), integrator=integrator, precision=precision)
    if path is None:
        typer.echo(str(program))
        return
    try:
        program.save(path)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error
    typer.echo(f"{program.operations} operations written to {path}")
