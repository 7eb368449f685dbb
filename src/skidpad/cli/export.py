"""`skidpad export`: a vehicle for other tools, with the bits of the Simulator.

`skidpad export c` writes C source, `skidpad export fmu` a file that co-simulation and modelling
tools load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ..errors import InvalidValue
from .options import ParameterFiles, Settings, VehicleName, vehicle_of, with_groups

if TYPE_CHECKING:
    from ..export.exported import Export

export = typer.Typer(
    name="export",
    help="A vehicle for other tools: C source, FMUs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Queue = Annotated[
    int | None, typer.Option(help="Room for commands that wait, of a vehicle with dead times.")
]


class Stepping(NamedTuple):
    """How the vehicle is stepped, and what it is called."""

    params: ParameterFiles = None
    settings: Settings = None
    integrator: Annotated[str, typer.Option(help="As of Simulator: auto, rk4, radau, ...")] = "auto"
    dt: Annotated[float, typer.Option(help="Step in s.")] = 0.01
    substeps: Annotated[
        int | None,
        typer.Option(min=1, help="Steps of the integrator within one; as the vehicle says."),
    ] = None
    precision: Annotated[str, typer.Option(help="float64 or float32.")] = "float64"
    name: Annotated[
        str | None, typer.Option(help="What it is called there; by default like the vehicle.")
    ] = None

    def exported(self, vehicle: str) -> Export:
        """The vehicle of this name, ready to be exported."""
        from ..export.exported import Export
        from .output import warnings_as_notes

        with warnings_as_notes():
            car = vehicle_of(vehicle, self.params, self.settings, telling=True)
            return Export(
                car,
                self.dt,
                self.integrator,
                name=self.name,
                precision=self.precision,
                substeps=self.substeps,
            )


@export.command()
@with_groups
def c(
    vehicle: VehicleName,
    *,
    stepping: Stepping,
    queue: Queue = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to; made if it does not exist.")
    ] = Path(),
) -> None:
    """Write a vehicle as C99: NAME.h, NAME.c and an example NAME_main.c.

    The source needs no library and allocates nothing. A step has the bits of skidpad's Simulator.
    """
    from ..export.c import write_c

    for path in write_c(stepping.exported(vehicle), out, queue=queue):
        typer.echo(path)


@export.command()
@with_groups
def fmu(
    vehicle: VehicleName,
    fmi: Annotated[int, typer.Option(metavar="3|2", help="Version of FMI.")] = 3,
    *,
    stepping: Stepping,
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
    queue: Queue = None,
) -> None:
    """Write a vehicle as an FMU, for co-simulation and, where it is continuous, model exchange.

    A step has the bits of skidpad's Simulator. The libraries are built by Zig, which the extra
    export brings.
    """
    from ..export.fmu import write_fmu

    if sources_only and (platforms is not None or compiler is not None):
        raise InvalidValue("--sources-only builds nothing: leave --platforms and --compiler out")
    vehicle_ready = stepping.exported(vehicle)
    path = write_fmu(
        vehicle_ready,
        Path(f"{vehicle_ready.name}.fmu") if out is None else out,
        fmi,
        platforms=None if platforms is None else [one.strip() for one in platforms.split(",")],
        compiler=compiler,
        sources_only=sources_only,
        queue=queue,
    )
    typer.echo(path)
