"""`skidpad export`: a vehicle for other tools, with the bits of the Simulator.

`skidpad export c` writes C source, `skidpad export fmu` a file that co-simulation and modelling
tools load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from typer import Option

from ..errors import InvalidValue
from .options import ParameterFiles, Settings, VehicleName, command_of, vehicle_of
from .output import warnings_as_notes

if TYPE_CHECKING:
    from ..export.exported import Export

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
        integrator: As of Simulator: auto, rk4, radau, ...
        dt: Step in s.
        substeps: Steps of the integrator within one; as the vehicle says.
        precision: float64 or float32.
        name: What it is called there; by default like the vehicle.
    """

    params: ParameterFiles = None
    settings: Settings = None
    integrator: str = "auto"
    dt: float = 0.01
    substeps: Annotated[int | None, Option(min=1)] = None
    precision: str = "float64"
    name: str | None = None

    def exported(self, vehicle: str) -> Export:
        """The vehicle of this name, ready for export."""
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
        out [FOLDER]: Where to; made if it does not exist.
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
        platforms [LIST]: Where it runs: linux, windows, macos (all three if not given),
            aarch64-linux; with commas between.
        compiler: zig, or for this machine alone gcc or clang.
        sources_only: Leave the libraries out.
    """
    from ..export.fmu import write_fmu

    if sources_only and (platforms is not None or compiler is not None):
        raise InvalidValue("--sources-only builds nothing: leave --platforms and --compiler out")
    car = stepping.exported(vehicle)
    listed = None if platforms is None else [one.strip() for one in platforms.split(",")]
    how: Any = {"platforms": listed, "compiler": compiler, "sources_only": sources_only}
    typer.echo(write_fmu(car, out or Path(f"{car.name}.fmu"), fmi, queue=queue, **how))
