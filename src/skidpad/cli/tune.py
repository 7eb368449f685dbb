"""`skidpad tune`: parameters within bounds that reach target metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .options import Settings, VehicleName, number_of, split_pairs, vehicle_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.model import Vehicle
    from ..study.manoeuvres.tuning import Tuning

OUT_OF_REACH = 1
"""Exit status where a target was not reached."""


def tune(
    vehicle: VehicleName,
    free: Annotated[
        list[str],
        typer.Option(metavar="NAME,...", help="Parameters to be found, as in l_f,roll_front."),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE", help="A metric and what it should be, in SI. May be repeated."
        ),
    ] = None,
    minimise: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="A metric to make small. May be repeated."),
    ] = None,
    maximise: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="A metric to make large. May be repeated."),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH",
            help="Ends of a parameter; without, a fifth to either side. May be repeated.",
        ),
    ] = None,
    params: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Parameters to start from in YAML; later files win."),
    ] = None,
    settings: Settings = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the parameters found, in YAML.")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="At most.")] = 20,
) -> None:
    """Find the parameters of a vehicle that reach target metrics of the standard manoeuvres, or
    make metrics small or large.

    A METRIC is one of a manoeuvre, as in step_steer.yaw_rate_overshoot=0.05. The exit status is 1
    if a target is out of reach; the nearest parameters are written all the same.
    """
    from rich.console import Console
    from rich.text import Text

    from ..core.files import target_of
    from ..study.manoeuvres.tuning import tune as search

    if out is not None:
        target_of(out)
    car = vehicle_of(vehicle, params, settings)
    goals = {
        name: number_of("--target", name, text) for name, text in _pairs("--target", target or ())
    }

    def tell(done: int, missed: float) -> None:
        by = f": targets missed by up to {100.0 * missed:.3g} %" if goals else ""
        typer.echo(f"iteration {done}{by}", err=True)

    result = search(
        car,
        goals,
        _free(car, free, bounds or ()),
        minimise=minimise or (),
        maximise=maximise or (),
        iterations=iterations,
        watch=tell,
    )
    console = Console(soft_wrap=True)
    for part in (*_tables(result), *(Text(note, "yellow") for note in result.notes)):
        console.print(part)
    if out is not None:
        result.write(out)
        typer.echo(f"parameters written to {out}")
    if not result.reached:
        raise typer.Exit(OUT_OF_REACH)


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = split_pairs(texts, f"{option} {{}}: expected a name, = and a value")
    return [(name.strip(), value.strip()) for name, value in pairs]


def _free(
    car: Vehicle, texts: Sequence[str], bounds: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Free parameters with their bounds."""
    from ..study.manoeuvres.tuning import usual_bounds

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    ends: dict[str, tuple[float, float]] = {}
    for name, text in _pairs("--bounds", bounds):
        low, colon, high = text.partition(":")
        if not colon:
            raise InvalidValue(f"--bounds {name}={text}: expected NAME=LOW:HIGH, as in l_f=1.0:1.4")
        ends[name] = number_of("--bounds", name, low), number_of("--bounds", name, high)
    for name in ends:
        if name not in names:
            raise InvalidValue(f"--bounds {name}: it is not among --free {', '.join(names)}")
    return {name: ends[name] if name in ends else usual_bounds(car, name) for name in names}


def _tables(result: Tuning) -> list[RenderableType]:
    """The targets, and the parameters that were found."""
    from ..view.sheet import Sheet
    from .sheets import legible

    def shown(value: float) -> str:
        return f"{value:.5g}"

    targets = [
        (one.name, one.unit, shown(one.before), shown(one.after), shown(one.target),
         "reached" if one.reached else "missed")
        for one in result.targets
    ]  # fmt: skip
    targets += [
        (one.name, one.unit, shown(one.before), shown(one.after), one.goal, "")
        for one in result.objectives
    ]
    params = [
        (one.name, one.unit, shown(one.before), shown(one.after),
         f"{shown(one.low)} to {shown(one.high)}", "at a bound" if one.at_bound else "")
        for one in result.params
    ]  # fmt: skip
    heads = ("target", "unit", "before", "after", "wanted", "status")
    own = ("parameter", "unit", "before", "after", "bounds", "status")
    tables = (Sheet(heads, targets, range(2, 5)), Sheet(own, params, range(2, 5)))
    return [legible(one, first="", show_edge=True) for one in tables]
