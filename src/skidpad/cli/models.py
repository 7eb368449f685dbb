"""`skidpad models`: the vehicles, and what one of them consists of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue

if TYPE_CHECKING:
    from ..model import Vehicle


def models(
    name: Annotated[str | None, typer.Argument(help="Show this vehicle in full.")] = None,
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
) -> None:
    """List the vehicles, or show one with its states, inputs, parameters and outputs."""
    from rich.console import Console

    from .. import vehicles
    from .tables import vehicle_list, vehicle_sheet

    lower = lowered or precision is not None
    wants_program = program or lower or save is not None
    if integrator is not None and not wants_program:
        raise InvalidValue(f"--integrator {integrator} belongs to a program: add --program")
    if name is None and wants_program:
        raise InvalidValue("a program belongs to one vehicle: give its name, as in four_wheel")
    if name is None:
        Console().print(vehicle_list([vehicles.named(one) for one in vehicles.names()]))
    elif wants_program:
        chosen = (precision or "float64") if lower else None
        _write_program(vehicles.named(name), integrator or "rk4", chosen, save)
    else:
        Console().print(vehicle_sheet(vehicles.named(name)))


def _write_program(
    vehicle: Vehicle, integrator: str, precision: str | None, path: Path | None
) -> None:
    from ..compile.pipeline import step_program

    program = step_program(vehicle, integrator=integrator, precision=precision)
    if path is None:
        typer.echo(str(program))
        return
    try:
        program.save(path)
    except OSError as error:
        raise InvalidValue(f"cannot write {path}: {error.strerror}") from error
    typer.echo(f"{program.operations} operations written to {path}")
