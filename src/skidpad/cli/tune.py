"""`skidpad tune`: parameters within bounds that reach target metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import vehicles_and_sets
from .run import Settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..core.model import Vehicle
    from ..study.manoeuvres.tuning import Tuning

OUT_OF_REACH = 1
"""Exit status where a target was not reached."""


def tune(
    vehicle: Annotated[
        str,
        typer.Argument(
            metavar="VEHICLE",
            help="As skidpad models lists it; NAME:SET has a set, MODULE:NAME is your own.",
            autocompletion=vehicles_and_sets,
        ),
    ],
    free: Annotated[
        list[str],
        typer.Option(metavar="NAME,...", help="Parameters to be found, as in l_f,roll_front."),
    ],
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="A metric and what it should be, in SI. May be repeated.",
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
    from ..study.manoeuvres.tuning import tune as tuned
    from .test_work import set_values, vehicle_of

    if out is not None:
        target_of(out)
    car = vehicle_of(vehicle, params or (), set_values(settings))
    goals = {
        name: _number("--target", name, text) for name, text in _pairs("--target", target or ())
    }
    wanted = _free(car, free, bounds or ())
    result = tuned(
        car,
        goals,
        wanted,
        minimise=minimise or (),
        maximise=maximise or (),
        iterations=iterations,
        watch=_say if goals else _count,
    )
    console = Console(soft_wrap=True)
    for table in (_target_table(result), _parameter_table(result)):
        console.print(table)
    for note in result.notes:
        console.print(Text(note, "yellow"))
    if out is not None:
        result.write(out)
        typer.echo(f"parameters written to {out}")
    if not result.reached:
        raise typer.Exit(OUT_OF_REACH)


def _say(done: int, missed: float) -> None:
    """How far the search is, beside the results."""
    typer.echo(f"iteration {done}: targets missed by up to {100.0 * missed:.3g} %", err=True)


def _count(done: int, _: float) -> None:
    """How far the search is, without targets."""
    typer.echo(f"iteration {done}", err=True)


def _free(
    car: Vehicle, texts: Sequence[str], bounds: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Free parameters with their bounds."""
    from ..study.manoeuvres.tuning import usual_bounds

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    ends = {name: _range(name, text) for name, text in _pairs("--bounds", bounds)}
    for name in ends:
        if name not in names:
            raise InvalidValue(f"--bounds {name}: it is not among --free {', '.join(names)}")
    return {name: ends[name] if name in ends else usual_bounds(car, name) for name in names}


def _range(name: str, text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidValue(f"--bounds {name}={text}: expected NAME=LOW:HIGH, as in l_f=1.0:1.4")
    return _number("--bounds", name, low), _number("--bounds", name, high)


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise InvalidValue(f"{option} {text}: expected a name, = and a value")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _number(option: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidValue(f"{option} {name}={text}: {text!r} must be a number") from None


def _target_table(result: Tuning) -> RenderableType:
    rows = [
        (one.name, one.unit, _shown(one.before), _shown(one.after), _shown(one.target), one.reached)
        for one in result.targets
    ]
    marks = [(*row[:-1], "reached" if row[-1] else "missed") for row in rows]
    marks += [
        (one.name, one.unit, _shown(one.before), _shown(one.after), one.goal, "")
        for one in result.objectives
    ]
    return _table(("target", "unit", "before", "after", "wanted", "status"), marks)


def _parameter_table(result: Tuning) -> RenderableType:
    rows = [
        (one.name, one.unit, _shown(one.before), _shown(one.after),
         f"{_shown(one.low)} to {_shown(one.high)}", "at a bound" if one.at_bound else "")
        for one in result.params
    ]  # fmt: skip
    return _table(("parameter", "unit", "before", "after", "bounds", "status"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    from rich import box
    from rich.table import Table

    from .legible import Legible

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, head in enumerate(heads):
        numbers = 1 < k < len(heads) - 1
        table.add_column(head, no_wrap=True, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*row)
    return Legible(table)


def _shown(value: float) -> str:
    return f"{value:.5g}"
