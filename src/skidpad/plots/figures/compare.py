"""Several runs in one figure: over each other, and their differences from the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...trajectory.columns import Column
from ...trajectory.interpolation import interpolated, is_heading, slack, snapped
from ...trajectory.trajectory import Trajectory
from ..numbers.thin import thinned
from ..panels import COLOURS, DEGREES
from .names import titled
from .sheet import INK, Axis, Cell, Curve, Diagram, Dots, Rule, Sheet, room

Align = Literal["time", "start"]
USUAL = ("v_x", "v_y", "v", "a_x", "a_y", "omega", "steer", "beta")
"""Columns shown when none are named, as far as all runs have them."""
MOST_USUAL = 6


class Difference(NamedTuple):
    """How far a run is from the reference in one column."""

    t: Array
    """The reference's times that lie within the run, in s."""
    values: Array
    """The run's value less the reference's, in SI units; headings the short way."""


def aligned(
    runs: Sequence[Trajectory], names: Sequence[str] | None, align: str
) -> dict[str, Trajectory]:
    """The runs by the names they are shown under, with their times aligned."""
    if len(runs) < 2:
        raise InvalidValue(f"compare takes at least 2 trajectories, got {len(runs)}")
    if align not in get_args(Align):
        raise InvalidValue(f"align = {align!r} is unknown; allowed are 'time', 'start'")
    by_name = run_names(runs, names)
    if align == "time":
        return by_name
    return {name: run.starting_at(0.0) for name, run in by_name.items()}


def run_names(runs: Sequence[Trajectory], names: Sequence[str] | None) -> dict[str, Trajectory]:
    """The runs by the names they are shown under: their own, numbered where these are the same."""
    if not runs:
        raise InvalidValue("no trajectory is given")
    own = [run.name or f"run {k + 1}" for k, run in enumerate(runs)] if names is None else names
    if len(own) != len(runs):
        raise InvalidValue(f"names = {list(own)}: {len(own)} names for {len(runs)} trajectories")
    if len(set(own)) < len(own):
        if names is not None:
            raise InvalidValue(f"names = {list(own)} must differ")
        own = [f"{name} {k + 1}" for k, name in enumerate(own)]
    return dict(zip(own, runs, strict=True))


def common_columns(runs: Mapping[str, Trajectory], columns: Sequence[str] | None) -> list[str]:
    """The columns to show; raises for one that a run does not have or has in another unit."""
    wanted = USUAL if columns is None else columns
    for name in () if columns is None else columns:
        for label, run in runs.items():
            if name not in run:
                raise InvalidValue(
                    f"{label!r} has no column {name!r}; it has {', '.join(run.names)}"
                )
    found = [name for name in wanted if all(name in run for run in runs.values())]
    for name in found:
        symbols = {label: run.unit(name).symbol for label, run in runs.items()}
        if len(set(symbols.values())) > 1:
            said = ", ".join(f"{symbol} in {label!r}" for label, symbol in symbols.items())
            raise InvalidValue(f"column {name!r} has different units: {said}")
    if not found:
        raise InvalidValue("the trajectories have no column in common: name some with columns=")
    return found[:MOST_USUAL] if columns is None else found


def difference(run: Trajectory, reference: Trajectory, name: str) -> Difference:
    """A column of a run less that of the reference, at the reference's times within both."""
    rounding = max(slack(run.t), slack(reference.t))
    first, last = run.t[0] - rounding, run.t[-1] + rounding
    inside = (reference.t >= first) & (reference.t <= last)
    t = reference.t[inside]
    if not t.size:
        return Difference(t, np.empty(0))
    moments = np.clip(snapped(run.t, t), run.t[0], run.t[-1])
    column = run.column(name)
    values = interpolated(column, run.t, moments) - reference[name][inside]
    if is_heading(column):
        values = values - 2.0 * np.pi * np.rint(values / (2.0 * np.pi))
    return Difference(t, values)


def compare_sheet(
    runs: Mapping[str, Trajectory],
    columns: Sequence[str] | None = None,
    *,
    differences: bool = True,
    title: str = "",
) -> Sheet:
    """Paths at the left, columns over time beside them, each with the differences below it."""
    names = common_columns(runs, columns)
    colours = dict(zip(runs, _colours(len(runs)), strict=True))
    with_path = columns is None and all({"x", "y"} <= set(run.names) for run in runs.values())
    stacks = 2 if len(names) > 2 else 1
    levels = -(-len(names) // stacks)
    per_level = 2 if differences else 1
    rows = levels * per_level
    cells = [Cell(_paths(runs, colours), 0, 0, rows)] if with_path else []
    for k, name in enumerate(names):
        stack, level = divmod(k, levels)
        lowest = level == levels - 1 or k == len(names) - 1
        row, column = level * per_level, stack + with_path
        above = _overlay(runs, name, colours, labelled=lowest and not differences)
        cells.append(Cell(above, row, column))
        if differences:
            cells.append(Cell(_differences(runs, name, colours, lowest), row + 1, column))
    heights = (1.35, 0.8) * levels if differences else (1.7,) * levels
    missing = max(0.0, (4.2 if with_path else 2.6) - sum(heights)) / len(heights)
    return Sheet(
        tuple(cells),
        widths=(*[4.6] * with_path, *[4.2] * stacks),
        heights=tuple(h + missing for h in heights),
        title=title,
        keys=tuple(_key(name, colours[name], k) for k, name in enumerate(runs)),
        warning=_warning(runs),
    )


def _key(name: str, colour: str, k: int) -> Curve:
    """The line of a run: the first one, which the others are measured by, thick and whole."""
    nothing = np.empty(0)
    dash, width = ("solid", 2.0) if k == 0 else ("dash", 1.3)
    return Curve(nothing, nothing, name, colour, dash, width)


def _colours(count: int) -> list[str]:
    """The reference in ink, the others in colours."""
    return [INK, *(COLOURS[k % len(COLOURS)] for k in range(count - 1))]


def _warning(runs: Mapping[str, Trajectory]) -> str:
    early = [f"{n} ended early at {r.t[-1]:g} s" for n, r in runs.items() if r.error is not None]
    return "; ".join(early)


def _paths(runs: Mapping[str, Trajectory], colours: Mapping[str, str]) -> Diagram:
    marks: list[Curve | Dots] = []
    for k, (name, run) in enumerate(runs.items()):
        marks.append(_key(name, colours[name], k)._replace(x=run["x"], y=run["y"]))
        marks.append(Dots(run["x"][-1:], run["y"][-1:], "", colours[name], "square", 5.0))
    start = next(iter(runs.values()))
    marks.append(Dots(start["x"][:1], start["y"][:1], "", INK, "ring", 7.0))
    x = room([run["x"] for run in runs.values()], 0.08)
    y = room([run["y"] for run in runs.values()], 0.08)
    return Diagram(
        tuple(marks), "Path [m]", Axis("x", low=x[0], high=x[1]), Axis("y", low=y[0], high=y[1]),
        equal=True, legend="none",
    )  # fmt: skip


def _overlay(
    runs: Mapping[str, Trajectory],
    name: str,
    colours: Mapping[str, str],
    *,
    labelled: bool,
) -> Diagram:
    curves: list[Curve] = []
    for k, (label, run) in enumerate(runs.items()):
        column = run.column(name)
        t, values = thinned(run.t, _on_screen(column, column.values))
        held = column.role in ("input", "disturbance")
        curves.append(_key(label, colours[label], k)._replace(x=t, y=values, steps=held))
    column = next(iter(runs.values())).column(name)
    low, high = room([curve.y for curve in curves])
    return Diagram(
        tuple(curves),
        f"{titled(name)} [{_unit(column)}]",
        x=Axis("time [s]" if labelled else "", group="time", ticks=labelled),
        y=Axis(low=low, high=high),
        legend="none",
    )


def _differences(
    runs: Mapping[str, Trajectory], name: str, colours: Mapping[str, str], lowest: bool
) -> Diagram:
    (_, reference), *others = runs.items()
    column = reference.column(name)
    marks: list[Rule | Curve] = [Rule(0.0, colour="#999999", dash="solid", width=0.6)]
    most = 0.0
    for label, run in others:
        found = difference(run, reference, name)
        t, values = thinned(found.t, _on_screen(column, found.values))
        held = column.role in ("input", "disturbance")
        marks.append(Curve(t, values, label, colours[label], "solid", 1.1, held))
        most = max(most, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))
    # Runs that agree to rounding show a flat line, not the rounding.
    scale = np.abs(_on_screen(column, column.values))
    least = 1e-9 * max(1.0, float(scale[np.isfinite(scale)].max(initial=0.0)))
    most = 1.1 * max(most, least)
    return Diagram(
        tuple(marks),
        x=Axis("time [s]" if lowest else "", group="time", ticks=lowest),
        y=Axis("Δ", low=-most, high=most),
        legend="none",
    )


def _on_screen(column: Column, values: Array) -> Array:
    return np.rad2deg(values) if column.unit.symbol in DEGREES else values


def _unit(column: Column) -> str:
    return DEGREES.get(column.unit.symbol, column.unit.symbol)
