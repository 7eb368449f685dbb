"""How vehicles look on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..core import record
from ..core.model import Vehicle
from ..units import Allowed
from ..vehicles.command_driven.records import NAMES
from .legible import Legible

SECTIONS = (
    ("State", "states"),
    ("Input", "inputs"),
    ("Params", "parameters"),
    ("Disturbance", "disturbances"),
    ("Outputs", "outputs"),
)
"""The records of a model beside the words for their fields."""


def vehicle_list(listed: Iterable[Vehicle]) -> RenderableType:
    """All vehicles: a line on each, the names of its states and inputs, how many parameters."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=False, pad_edge=False)
    table.add_column("vehicle", style="bold cyan", no_wrap=True)
    table.add_column("what it is", ratio=1)
    for vehicle in listed:
        table.add_row(vehicle.name, _summary(vehicle))
        table.add_section()
    notes = (
        f"Command-driven, as in Autoware's planning simulator: {', '.join(NAMES)}.",
        "skidpad models NAME shows units, defaults and meanings.",
    )
    return Group(table, *(Text(note, "dim") for note in notes))


def _summary(vehicle: Vehicle) -> RenderableType:
    model = vehicle.model
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("states", " ".join(record.names(model.State)))
    grid.add_row("inputs", " ".join(record.names(model.Input)))
    grid.add_row("parameters", str(record.size(model.Params)))
    if model.reproduces:
        grid.add_row("reproduces", model.reproduces)
    return Group(Text(model.summary), grid)


def own_fields(vehicle: Vehicle, kind: type) -> tuple[record.Field, ...]:
    """The fields of one of a vehicle's records; those of its parameters have its values."""
    leaves = record.fields(kind)
    if kind is not vehicle.Params:
        return leaves
    values = record.flatten(vehicle.params)
    return tuple(leaf._replace(default=value) for leaf, value in zip(leaves, values, strict=True))


def vehicle_sheet(vehicle: Vehicle) -> RenderableType:
    """One vehicle in full: a table for each of its records that has fields."""
    model = vehicle.model
    heading = Text.assemble((model.name, "bold cyan"), f"  {model.summary}")
    parts: list[RenderableType] = [heading]
    kinds = [(word, getattr(model, attribute)) for attribute, word in SECTIONS]
    width = max(len(name) for _, kind in kinds for name in record.names(kind))
    for word, kind in kinds:
        if record.size(kind):
            parts += [Text(), Legible(_field_table(word, own_fields(vehicle, kind), width))]
    if model.reproduces:
        parts.append(Text(f"\nReproduces {model.reproduces}."))
    return Group(*parts)


def _field_table(word: str, fields: Sequence[record.Field], name_width: int) -> Table:
    """Fields with unit and meaning; default and range where the record has any."""
    table = Table(
        title=f"{len(fields)} {word if len(fields) > 1 else word.rstrip('s')}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        expand=True,
    )
    with_default = any(leaf.default is not None for leaf in fields)
    with_range = any(leaf.allowed is not None for leaf in fields)
    table.add_column("name", style="cyan", no_wrap=True, min_width=name_width)
    table.add_column("unit", no_wrap=True, min_width=len("N·s²/m²"))
    if with_default:
        table.add_column("default", justify="right", no_wrap=True)
    if with_range:
        table.add_column("range", no_wrap=True)
    table.add_column("meaning", ratio=1)
    for leaf in fields:
        cells = [leaf.name, leaf.unit.symbol]
        cells += [_number(leaf.default)] if with_default else []
        cells += [_range(leaf.allowed)] if with_range else []
        table.add_row(*(Text(cell) for cell in cells), Text(" ".join(leaf.doc.split())))
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _range(allowed: Allowed | None) -> str:
    """The allowed range in signs: `> 0`, `≥ 0`, `≤ 1`, `[0, 1]`."""
    if allowed is None:
        return ""
    if math.isinf(allowed.high):
        return f"{'>' if allowed.open_low else '≥'} {allowed.low:g}"
    if math.isinf(allowed.low):
        return f"≤ {allowed.high:g}"
    return f"{'(' if allowed.open_low else '['}{allowed.low:g}, {allowed.high:g}]"
