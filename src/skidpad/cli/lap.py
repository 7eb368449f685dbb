"""`skidpad lap`: the lap of least time of a vehicle on a track."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from .options import AsJson, bounds_of, names_of, vehicle_choices, vehicle_of
from .output import print_json

if TYPE_CHECKING:
    from ..control.optimal.lap import Lap

SCHEMA = "lap/1"


def lap(
    vehicle: Annotated[str, Argument(autocompletion=vehicle_choices)],
    track: Path,
    settings: Annotated[list[str] | None, Option("--set")] = None,
    width: float | None = None,
    standing: Annotated[bool, Option("--open")] = False,
    v_start: float = 5.0,
    margin: float = 0.0,
    step: float | None = None,
    starts: int = 1,
    sensitivities: Annotated[list[str] | None, Option()] = None,
    optimise: Annotated[list[str] | None, Option()] = None,
    out: Path | None = None,
    json: AsJson = False,
) -> None:
    """Find the lap of least time of VEHICLE on TRACK, a file.

    Args:
        settings [NAME=VALUE]: Parameter of the vehicle; may be given several times.
        width [M]: Width of a track whose file has no widths.
        standing: Begin at --v-start and end anywhere, also on a closed track.
        v_start [M/S]: Speed at the beginning of an open lap.
        margin [M]: Distance to keep from the edges.
        step [M]: Largest step of the mesh. [default: the mean width of the track]
        starts: Number of starts, of which the best lap is taken.
        sensitivities [NAMES]: Parameters, by which to differentiate the lap time; "all" for all.
        optimise [NAME=LOW:HIGH]: Parameter to optimise within a range; may be given several times.
        out [FILE]: Write the lap to this CSV file.
    """
    from ..control import minimum_lap
    from ..geometry.maps import read_track

    car = vehicle_of(vehicle, settings=settings)
    course = read_track(track, width=width)
    ranges = bounds_of(optimise, "--optimise")
    found = minimum_lap(
        car,
        course,
        closed=False if standing else None,
        v_start=v_start,
        margin=margin,
        step=step,
        starts=starts,
    )
    if ranges and found.converged:
        found = found.optimised(ranges)
    names = names_of(sensitivities)
    rows = found.sensitivities(None if names == ["all"] else names) if names else ()
    if out is not None:
        found.to_csv(out)
    setup = {name: found.parameter(name) for name in ranges}
    if json:
        print_json(
            {
                "schema": SCHEMA,
                "time": found.time,
                "cost": found.cost,
                "converged": found.converged,
                "iterations": found.solution.iterations,
                "setup": setup,
                "sensitivities": [row._asdict() for row in rows],
            }
        )
        return
    _print(found, setup, rows)
    if out is not None:
        typer.echo(f"lap written to {out}")


def _print(found: Lap, setup: dict[str, float], rows: tuple[object, ...]) -> None:
    from ..control.optimal.sensitivities import Sensitivity
    from . import sheets

    if not found.converged:
        typer.echo("interrupted: this is the best iterate, which may violate the equations")
    v = found.v
    typer.echo(
        f"{found.vehicle.name} on {found.track.name}: {found.time:.3f} s, "
        f"{v.min():.1f} to {v.max():.1f} m/s, {found.solution.iterations} iterations in "
        f"{found.solution.seconds:.1f} s"
    )
    for name, value in setup.items():
        typer.echo(f"{name} = {value:.6g}")
    if not rows:
        return
    table = sheets.plain_table()
    table.add_column("parameter", style="cyan", no_wrap=True)
    for head in ("value", "s per unit", "s per %"):
        table.add_column(head, justify="right", no_wrap=True)
    ordered = [row for row in rows if isinstance(row, Sensitivity)]
    for row in sorted(ordered, key=lambda row: -abs(row.per_percent)):
        table.add_row(row.name, f"{row.value:.6g}", f"{row.time:.6g}", f"{row.per_percent:+.5f}")
    sheets.Console().print(sheets.Legible(table))
