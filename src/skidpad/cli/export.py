"""`skidpad export`: a vehicle for other tools, with the bits of the Simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import vehicles_and_sets
from .targets import Params, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..export import Exported

export = typer.Typer(
    name="export",
    help="A vehicle for other tools: C source, FMUs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
"""The group of commands, for Typer."""

Vehicle = Annotated[
    str,
    typer.Argument(
        metavar="VEHICLE",
        help="As skidpad models lists it; NAME:SET has a set, MODULE:NAME is your own.",
        autocompletion=vehicles_and_sets,
    ),
]
Integrator = Annotated[str, typer.Option(help="As of Simulator: auto, rk4, radau, ...")]
Dt = Annotated[float, typer.Option(help="Step in s.")]
Substeps = Annotated[
    int | None, typer.Option(min=1, help="Steps of the integrator within one; as the vehicle says.")
]
Precision = Annotated[str, typer.Option(help="float64 or float32.")]
Name = Annotated[
    str | None, typer.Option(help="What it is called there; by default like the vehicle.")
]


@export.command()
def c(
    vehicle: Vehicle,
    params: Params = None,
    settings: Settings = None,
    integrator: Integrator = "auto",
    dt: Dt = 0.01,
    substeps: Substeps = None,
    precision: Precision = "float64",
    name: Name = None,
    queue: Annotated[
        int | None,
        typer.Option(help="Room for commands that wait, of a vehicle with dead times."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to; made if there is none.")
    ] = Path(),
) -> None:
    """Write a vehicle as C99: NAME.h, NAME.c and an example NAME_main.c.

    The source needs no library and allocates nothing. A step has the bits of skidpad's Simulator.
    """
    from ..export import write_c

    chosen = chosen_export(
        vehicle, params, settings, integrator, dt, substeps=substeps, precision=precision, name=name
    )
    for path in write_c(chosen, out, queue=queue):
        typer.echo(path)


def chosen_export(
    vehicle: str,
    params: Sequence[Path] | None = None,
    settings: Sequence[str] | None = None,
    integrator: str = "auto",
    dt: float = 0.01,
    *,
    substeps: int | None = None,
    precision: str = "float64",
    name: str | None = None,
) -> Exported:
    """The vehicle that the options of a command of this group ask for."""
    from ..export import exported
    from .notes import warnings_as_notes
    from .test_request import set_values, vehicle_of

    with warnings_as_notes():
        car = vehicle_of(vehicle, params or (), set_values(settings), telling=True)
        return exported(car, dt, integrator, name=name, precision=precision, substeps=substeps)
