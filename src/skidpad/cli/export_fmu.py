"""`skidpad export fmu`: a vehicle as a file that co-simulation and modelling tools load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InvalidValue


def fmu(
    vehicle: Annotated[
        str,
        typer.Argument(
            metavar="VEHICLE", help="As `skidpad models` lists them, NAME or NAME:PARAMETER_SET."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The FMU. [default: NAME.fmu]")
    ] = None,
    fmi: Annotated[int, typer.Option(metavar="3|2", help="Version of FMI.")] = 3,
    integrator: Annotated[
        str, typer.Option(help="How steps are made; auto takes rk4 where that is stable.")
    ] = "auto",
    dt: Annotated[float, typer.Option(help="Step in s.")] = 0.01,
    precision: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    params: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Parameters in YAML or JSON; later files win."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="One parameter, as in m=1300."),
    ] = None,
    platforms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Where it runs: some of linux, windows, macos, aarch64-linux, with commas between. "
            "[default: the first three]",
        ),
    ] = None,
    compiler: Annotated[
        str | None,
        typer.Option(help="zig, or for this machine alone gcc or clang. [default: zig]"),
    ] = None,
    sources_only: Annotated[
        bool, typer.Option("--sources-only", help="Leave the libraries out.")
    ] = False,
    name: Annotated[
        str | None, typer.Option(help="What it is called in the file; a name in C.")
    ] = None,
) -> None:
    """Write a vehicle as an FMU, for co-simulation and, where it is continuous, model exchange."""
    from ..export import exported, write_fmu
    from ..files import target_of
    from .test_request import chosen_subjects

    (subject,) = chosen_subjects([vehicle], params, settings)
    car = exported(subject.vehicle, dt, integrator, name=name, precision=precision)
    path = Path(f"{car.name}.fmu") if out is None else out
    if sources_only and (platforms or compiler):
        raise InvalidValue("--sources-only builds nothing: leave --platforms and --compiler out")
    target_of(path)
    chosen = None if platforms is None else [part.strip() for part in platforms.split(",")]
    write_fmu(
        car, path, fmi, platforms=chosen, compiler=compiler, sources_only=sources_only
    )
    size = path.stat().st_size / 1024.0
    typer.echo(f"{path}: FMI {fmi}.0, {car.method.name}, dt = {dt:g} s, {size:.0f} kB")
