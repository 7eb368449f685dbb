"""`skidpad tyre`: what matters about tyres, as a table and as a sheet of curves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidValue
from .completion import tyre_names

if TYPE_CHECKING:
    from ..tyres.characteristics import Summary
    from ..tyres.tyre import Tyre

PASCAL_PER_BAR = 1e5


def tyre(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", hidden=True, autocompletion=tyre_names)
    ],
    plot: Annotated[
        Path | None, typer.Option(help="Draw the curves to this file: PNG, SVG or PDF.")
    ] = None,
    load: Annotated[
        list[float] | None,
        typer.Option(
            metavar="N",
            help="A load; may be given several times. [default: 0.5, 1 and 1.5 times the nominal]",
            show_default=False,
        ),
    ] = None,
    camber: Annotated[
        list[float] | None,
        typer.Option(
            metavar="DEG",
            help="A camber, positive when the top leans to the right; may be given several times.",
            show_default=False,
        ),
    ] = None,
    pressure: Annotated[
        list[float] | None,
        typer.Option(
            metavar="BAR",
            help="An inflation pressure; may be given several times. [default: the tyre's own]",
            show_default=False,
        ),
    ] = None,
    filled: Annotated[
        bool, typer.Option("--filled", help="Name the keys that a file left out.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, in SI.")] = False,
) -> None:
    """Say what matters about tyres, side by side: friction, stiffness, trail, radii and so on.

    A FILE is a tyre property file (.tir), or the name of a tyre that comes with skidpad.
    """
    from ..tyres.characteristics import summary

    if plot is not None:
        from ..view.plots.style import check

        check(plot, "matplotlib", None)
    loads = None if load is None else sorted(load)
    angles = [math.radians(angle) for angle in camber or [0.0]]
    pressures = [None] if pressure is None else [PASCAL_PER_BAR * value for value in pressure]
    tyres, notes = _read(files)
    columns = [
        summary(one, loads=loads, camber=angle, pressure=value)
        for one in tyres
        for angle in angles
        for value in pressures
    ]
    if plot is not None:
        from ..view.plots.tyre_sheet import sheet

        chosen = None if camber is None else angles
        sheet(tyres, loads=loads, cambers=chosen, pressures=pressures, path=plot)
    _print(columns, notes, filled=filled, as_json=as_json)
    if plot is not None and not as_json:
        typer.echo(f"curves drawn to {plot}")


def _print(
    columns: Sequence[Summary], notes: Sequence[str], *, filled: bool, as_json: bool
) -> None:
    if as_json:
        from .output import print_json

        print_json({"tyres": [column.as_json() for column in columns], "warnings": list(notes)})
        return
    from rich.console import Console

    from .tyre_table import tyre_sheet

    Console().print(tyre_sheet(columns, notes, filled=filled))


def _read(files: Sequence[str]) -> tuple[list[Tyre], list[str]]:
    """The tyres, and what reading them warned of. Files of the same name keep their folders."""
    from ..tyres.reading import get, names, read

    tyres: list[Tyre] = []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for file in files:
            if Path(file).is_file() or Path(file).suffix or Path(file).name != file:
                tyres.append(read(file))
            elif file in names():
                tyres.append(get(file))
            else:
                raise InvalidValue(
                    f"{file!r} is neither a file nor a tyre of skidpad's: {', '.join(names())}"
                )
    places = {tyre.name: set[str]() for tyre in tyres}
    for file, tyre in zip(files, tyres, strict=True):
        places[tyre.name].add(file)
    tyres = [
        tyre if len(places[tyre.name]) == 1 else replace(tyre, name=file)
        for file, tyre in zip(files, tyres, strict=True)
    ]
    return tyres, list(dict.fromkeys(str(one.message) for one in told))
