"""`skidpad tune`: parameters within bounds that reach target metrics of the standard manoeuvres."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ..errors import InvalidValue
from .options import Settings, VehicleName, bounds_of, names_of, number_of, pairs_of, vehicle_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.model import Vehicle
    from ..study.manoeuvres.tuning import Moved, Optimised, Reached, Tuning


OUT_OF_REACH = 1
"""Exit status if a target was not reached."""


def tune(
    vehicle: VehicleName,
    free: Annotated[list[str], Option()],
    target: list[str] | None = None,
    minimise: list[str] | None = None,
    maximise: list[str] | None = None,
    bounds: list[str] | None = None,
    params: list[Path] | None = None,
    settings: Settings = None,
    out: Path | None = None,
    iterations: Annotated[int, Option(min=1)] = 20,
) -> None:
    """Find the parameters of a vehicle that reach target metrics of the standard manoeuvres.

    Metrics can also be minimised or maximised. A METRIC is one of a manoeuvre, as in
    step_steer.yaw_rate_overshoot=0.05. The exit status is 1 if a target is out of reach; the
    nearest parameters are written all the same.

    Args:
        free [NAME,...]: Parameters to be found, as in l_f,roll_front.
        target [METRIC=VALUE]: A metric and what it should be, in SI. May be repeated.
        minimise [METRIC]: A metric to make small. May be repeated.
        maximise [METRIC]: A metric to make large. May be repeated.
        bounds [NAME=LOW:HIGH]: Ends of a parameter; without, a fifth to either side. May be
            repeated.
        params [FILE]: Parameters to start from in YAML; later files win.
        out [FILE]: Write the parameters found, in YAML.
        iterations: At most.
    """
    from ..core.files import target_of
    from ..study.manoeuvres.tuning import tune as search
    from .sheets import Console, Text

    if out is not None:
        target_of(out)
    car = vehicle_of(vehicle, params, settings)
    pairs = pairs_of("--target", target or ())
    goals = {name: number_of("--target", name, text) for name, text in pairs}

    def tell(done: int, missed: float) -> None:
        by = f": targets missed by up to {100.0 * missed:.3g} %" if goals else ""
        typer.echo(f"iteration {done}{by}", err=True)

    wanted: Any = {"minimise": minimise or (), "maximise": maximise or ()}
    found = _free(car, free, bounds or ())
    result = search(car, goals, found, iterations=iterations, watch=tell, **wanted)
    console = Console(soft_wrap=True)
    for part in (*_tables(result), *(Text(note, "yellow") for note in result.notes)):
        console.print(part)
    if out is not None:
        result.write(out)
        typer.echo(f"parameters written to {out}")
    if not result.reached:
        raise typer.Exit(OUT_OF_REACH)


def _free(
    car: Vehicle, texts: Sequence[str], bounds: Sequence[str]
) -> dict[str, tuple[float, float]]:
    from ..study.manoeuvres.tuning import usual_bounds

    names, ends = names_of(texts), bounds_of(bounds)
    for name in ends:
        if name not in names:
            raise InvalidValue(f"--bounds {name}: it is not among --free {', '.join(names)}")
    return {name: ends[name] if name in ends else usual_bounds(car, name) for name in names}


def _tables(result: Tuning) -> list[RenderableType]:
    from ..view.sheet import Sheet
    from .sheets import legible

    def row(one: Reached | Optimised | Moved, wanted: str, status: str) -> tuple[str, ...]:
        return one.name, one.unit, f"{one.before:.5g}", f"{one.after:.5g}", wanted, status

    verdicts = {True: "reached", False: "missed"}
    targets = [row(one, f"{one.target:.5g}", verdicts[one.reached]) for one in result.targets]
    targets += [row(one, one.goal, "") for one in result.objectives]
    ends = {True: "at a bound", False: ""}
    params = [
        row(one, f"{one.low:.5g} to {one.high:.5g}", ends[one.at_bound]) for one in result.params
    ]
    heads = ("target", "unit", "before", "after", "wanted", "status")
    own = ("parameter", "unit", "before", "after", "bounds", "status")
    tables = (Sheet(heads, targets, range(2, 5)), Sheet(own, params, range(2, 5)))
    return [legible(one, first="", show_edge=True) for one in tables]
