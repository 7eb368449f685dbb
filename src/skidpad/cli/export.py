"""`skidpad export`: a vehicle for other tools, with the bits of the Simulator.

`skidpad export fmu`: a vehicle as a file that co-simulation and modelling tools load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import vehicles_and_sets
from .run import Params, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..export.exported import Export

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
    from ..export.c import write_c

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
) -> Export:
    """The vehicle that the options of a command of this group ask for."""
    from ..export.exported import Export
    from .output import warnings_as_notes
    from .test_work import set_values, vehicle_of

    with warnings_as_notes():
        car = vehicle_of(vehicle, params or (), set_values(settings), telling=True)
        return Export(car, dt, integrator, name=name, precision=precision, substeps=substeps)


@export.command()
def fmu(
    vehicle: Vehicle,
    fmi: Annotated[int, typer.Option(metavar="3|2", help="Version of FMI.")] = 3,
    params: Params = None,
    settings: Settings = None,
    integrator: Integrator = "auto",
    dt: Dt = 0.01,
    substeps: Substeps = None,
    precision: Precision = "float64",
    name: Name = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The FMU; NAME.fmu if not given.", show_default=False),
    ] = None,
    platforms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Where it runs: linux, windows, macos (all three if not given), aarch64-linux; "
            "with commas between.",
            show_default=False,
        ),
    ] = None,
    compiler: Annotated[
        str | None,
        typer.Option(help="zig, or for this machine alone gcc or clang.", show_default=False),
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="Leave the libraries out.")
    ] = False,
    queue: Annotated[
        int | None,
        typer.Option(help="Room for commands that wait, of a vehicle with dead times."),
    ] = None,
) -> None:
    """Write a vehicle as an FMU, for co-simulation and, where it is continuous, model exchange.

    A step has the bits of skidpad's Simulator. The libraries are built by Zig, which the extra
    export brings.
    """
    from ..export.fmu import write_fmu

    if sources_only and (platforms is not None or compiler is not None):
        raise InvalidValue("--sources-only builds nothing: leave --platforms and --compiler out")
    chosen = chosen_export(
        vehicle, params, settings, integrator, dt, substeps=substeps, precision=precision, name=name
    )
    path = write_fmu(
        chosen,
        Path(f"{chosen.name}.fmu") if out is None else out,
        fmi,
        platforms=None if platforms is None else [one.strip() for one in platforms.split(",")],
        compiler=compiler,
        sources_only=sources_only,
        queue=queue,
    )
    typer.echo(path)
