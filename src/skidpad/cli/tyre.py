"""`skidpad tyre`: key properties of tyres, as a table and as a sheet of curves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ..errors import InvalidValue
from .options import tyre_names
from .output import caught_texts, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..tyres.characteristics import AtLoad, Summary
    from ..tyres.tyre import Tyre

PASCAL_PER_BAR = 1e5


def tyre(
    # Hidden, as the table of arguments would call it a list[str]; the text below says what it is.
    files: Annotated[list[str], Argument(metavar="FILE", hidden=True, autocompletion=tyre_names)],
    plot: Path | None = None,
    load: Annotated[list[float] | None, Option(show_default=False)] = None,
    camber: Annotated[list[float] | None, Option(show_default=False)] = None,
    pressure: Annotated[list[float] | None, Option(show_default=False)] = None,
    filled: bool = False,
    as_json: Annotated[bool, Option("--json")] = False,
) -> None:
    """Show the key properties of tyres in columns: friction, stiffness, trail, radii and so on.

    A FILE is a tyre property file (.tir), or the name of a tyre that comes with skidpad.

    Args:
        plot: Draw the curves to this file: PNG, SVG or PDF.
        load [N]: A load; may be given several times. [default: 0.5, 1 and 1.5 times the nominal]
        camber [DEG]: A camber, positive when the top leans to the right; may be given several
            times.
        pressure [BAR]: An inflation pressure; may be given several times. [default: the tyre's own]
        filled: Name the keys that a file left out.
        as_json: Print one JSON object, in SI.
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

        cambers = None if camber is None else angles
        sheet(tyres, loads=loads, cambers=cambers, pressures=pressures, path=plot)
    if as_json:
        print_json({"tyres": [column.as_json() for column in columns], "warnings": notes})
        return
    from .sheets import Console

    Console().print(tyre_sheet(columns, notes, filled=filled))
    if plot is not None:
        typer.echo(f"curves drawn to {plot}")


def _read(files: Sequence[str]) -> tuple[list[Tyre], list[str]]:
    """The tyres, and warnings from reading them; files of the same name are shown with their
    folders."""
    from ..tyres.reading import get, names, read

    tyres: list[Tyre] = []
    with caught_texts(Warning) as caught:
        for file in files:
            if Path(file).is_file() or Path(file).suffix or Path(file).name != file:
                tyres.append(read(file))
            elif file in names():
                tyres.append(get(file))
            else:
                raise InvalidValue(
                    f"{file!r} is neither a file nor a tyre of skidpad's: {', '.join(names())}"
                )
    pairs = list(zip(files, tyres, strict=True))
    count = Counter(name for name, _ in {(tyre.name, file) for file, tyre in pairs})
    tyres = [tyre if count[tyre.name] == 1 else replace(tyre, name=file) for file, tyre in pairs]
    return tyres, list(dict.fromkeys(caught))


Row = tuple[str, str, "Callable[[Summary], str]"]
"""Name of a row, its unit, and the function that makes its cell for a tyre."""
NONE = "–"
"""Text in place of a missing value."""
DEGREES = 180.0 / math.pi
DIGITS = 3


def tyre_sheet(columns: Sequence[Summary], notes: Sequence[str], *, filled: bool) -> RenderableType:
    """Table of tyres, a row for each quantity, followed by notes."""
    from . import sheets
    from .sheets import Group, Text

    table = sheets.plain_table()
    table.add_column("", style="cyan", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for column in columns:
        table.add_column(Text(column.name), justify="right", no_wrap=True)
    with_camber = any(column.camber for column in columns)
    for block in (WHOLE, UNDER_LOADS):
        for name, unit, cell in block:
            if name != "camber" or with_camber:
                table.add_row(*map(Text, [name, unit, *map(cell, columns)]))
        table.add_section()
    three = all(len(column.at) == 3 for column in columns)
    own = [f"{column.name}: {text}" for column in columns for text in column.warnings]
    parts: list[RenderableType] = [
        sheets.Legible(table),
        Text("a / b / c: at the three loads" if three else "/: load by load", "dim"),
        *sheets.notes(dict.fromkeys([*notes, *own]), "warning"),
    ]
    if filled:
        named = {column.name: column.filled for column in columns if column.filled}
        parts += [Text(f"{name} left out {', '.join(keys)}") for name, keys in named.items()]
    return Group(*parts)


def number(value: float | None, scale: float = 1.0, digits: int = DIGITS) -> str:
    """A number with `digits` digits, never in scientific notation."""
    if value is None or not math.isfinite(value):
        return NONE
    shown = float(f"{value * scale:.{digits - 1}e}")
    decimals = 0 if shown == 0.0 else max(0, digits - 1 - math.floor(math.log10(abs(shown))))
    return f"{shown + 0.0:.{decimals}f}".replace("-", "−")


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.6g}"


def _range(s: Summary) -> str:
    return NONE if s.F_z_range is None else " to ".join(map(_plain, s.F_z_range))


def _each(
    value: Callable[[AtLoad], float | None], scale: float = 1.0, digits: int = DIGITS
) -> Callable[[Summary], str]:
    return lambda s: " / ".join(number(value(at), scale, digits) for at in s.at)


def _relaxation(key: str, value: Callable[[AtLoad], float]) -> Callable[[Summary], str]:
    """Cell of a relaxation length; empty for a file of version 5.2 without its coefficient."""
    shown = _each(value, 1e3)
    return lambda s: "none in the file" if key in s.filled else shown(s)


WHOLE: tuple[Row, ...] = (
    ("model", "", lambda s: s.model),
    ("side", "", lambda s: s.side if s.side == s.measured_on else f"{s.side}, mirrored"),
    ("free radius", "mm", lambda s: number(s.radius, 1e3, 4)),
    ("width", "mm", lambda s: number(s.width, 1e3)),
    ("nominal load", "N", lambda s: _plain(s.F_z0)),
    ("load range", "N", _range),
    ("pressure", "bar", lambda s: number(s.pressure, 1e-5)),
    ("camber", "°", lambda s: number(s.camber, DEGREES)),
    ("speed", "m/s", lambda s: number(s.v_x)),
    ("vertical stiffness", "N/mm", lambda s: number(s.C_z, 1e-3)),
    ("cornering stiffness max", "N/°", lambda s: number(s.K_y_max, 1.0 / DEGREES)),
    ("  at a load of", "N", lambda s: number(s.F_z_of_K_y_max)),
    ("keys filled", "", lambda s: str(len(s.filled))),
)
"""Rows of quantities that do not depend on the load."""
UNDER_LOADS: tuple[Row, ...] = (
    ("load", "N", lambda s: " / ".join(_plain(at.F_z) for at in s.at)),
    ("peak friction, driving", "", _each(lambda a: a.mu_x)),
    ("  at slip", "%", _each(lambda a: a.kappa_peak, 100.0)),
    ("peak friction, braking", "", _each(lambda a: a.mu_brake)),
    ("  at slip", "%", _each(lambda a: a.kappa_brake, 100.0)),
    ("peak friction, lateral", "", _each(lambda a: a.mu_y)),
    ("  at slip angle", "°", _each(lambda a: a.alpha_peak, DEGREES)),
    ("slip stiffness", "N/%", _each(lambda a: a.K_x, 0.01)),
    ("cornering stiffness", "N/°", _each(lambda a: a.K_y, 1.0 / DEGREES)),
    ("largest aligning moment", "N·m", _each(lambda a: a.M_z)),
    ("trail at small slip", "mm", _each(lambda a: a.trail, 1e3)),
    ("relaxation along", "mm", _relaxation("PTX1", lambda a: a.sigma_x)),
    ("relaxation across", "mm", _relaxation("PTY1", lambda a: a.sigma_y)),
    ("effective radius", "mm", _each(lambda a: a.effective, 1e3, 4)),
    ("loaded radius", "mm", _each(lambda a: a.loaded, 1e3, 4)),
    ("rolling resistance", "%", _each(lambda a: a.rolling, 100.0)),
)
"""Rows with a value for each load."""
