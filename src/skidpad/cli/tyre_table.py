"""How tyres look on a terminal: a row for each quantity, a column for each tyre."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..tyres.characteristics import AtLoad, Summary
from .legible import Legible

Row = tuple[str, str, Callable[[Summary], str]]
"""What a row is called, its unit, and its cell for a tyre."""
NONE = "–"
"""Where there is no such value."""
DEGREES = 180.0 / math.pi
DIGITS = 3


def tyre_sheet(columns: Sequence[Summary], notes: Sequence[str], *, filled: bool) -> RenderableType:
    """Tyres side by side; below them what to be careful with."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", style="cyan", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for column in columns:
        table.add_column(Text(column.name), justify="right", no_wrap=True)
    for block in (_whole(columns), _under_loads()):
        for name, unit, cell in block:
            table.add_row(Text(name), Text(unit), *(Text(cell(column)) for column in columns))
        table.add_section()
    parts: list[RenderableType] = [Legible(table)]
    parts.append(
        Text("a / b / c: at the three loads" if _three(columns) else "/: load by load", "dim")
    )
    parts += [Text(f"warning: {note}", "yellow") for note in _notes(columns, notes)]
    if filled:
        named = {column.name: column.filled for column in columns if column.filled}
        parts += [Text(f"{name} left out {', '.join(keys)}") for name, keys in named.items()]
    return Group(*parts)


def _three(columns: Sequence[Summary]) -> bool:
    return all(len(column.at) == 3 for column in columns)


def _notes(columns: Sequence[Summary], notes: Sequence[str]) -> list[str]:
    own = [f"{column.name}: {text}" for column in columns for text in column.warnings]
    return list(dict.fromkeys([*notes, *own]))


def _whole(columns: Sequence[Summary]) -> list[Row]:
    """Rows of what does not depend on the load."""
    rows: list[Row] = [
        ("model", "", lambda s: s.model),
        ("side", "", _side),
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
    ]
    if not any(column.camber for column in columns):
        rows = [row for row in rows if row[0] != "camber"]
    return rows


def _under_loads() -> list[Row]:
    """Rows with a value for each load."""
    return [
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
    ]


def _each(
    value: Callable[[AtLoad], float | None], scale: float = 1.0, digits: int = DIGITS
) -> Callable[[Summary], str]:
    return lambda s: " / ".join(number(value(at), scale, digits) for at in s.at)


def _relaxation(key: str, value: Callable[[AtLoad], float]) -> Callable[[Summary], str]:
    """Lengths; a file of 5.2 without their coefficient says nothing of them."""
    shown = _each(value, 1e3)
    return lambda s: "none in the file" if key in s.filled else shown(s)


def _side(s: Summary) -> str:
    return s.side if s.side == s.measured_on else f"{s.side}, mirrored"


def _range(s: Summary) -> str:
    if s.F_z_range is None:
        return NONE
    low, high = s.F_z_range
    return f"{_plain(low)} to {_plain(high)}"


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.6g}"


def number(value: float | None, scale: float = 1.0, digits: int = DIGITS) -> str:
    """A value with some digits, never in powers of ten."""
    if value is None or not math.isfinite(value):
        return NONE
    shown = float(f"{value * scale:.{digits - 1}e}")
    decimals = 0 if shown == 0.0 else max(0, digits - 1 - math.floor(math.log10(abs(shown))))
    return f"{shown + 0.0:.{decimals}f}".replace("-", "−")
