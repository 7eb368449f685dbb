"""`skidpad export fmu`: a vehicle as a file that co-simulation and modelling tools load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidValue
from .export import (
    Dt,
    Integrator,
    Name,
    Precision,
    Substeps,
    Vehicle,
    chosen_export,
    export,
)
from .targets import Params, Settings


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
    from ..export import write_fmu

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
