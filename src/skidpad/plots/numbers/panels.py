"""What is shown of a run over time: panels of lines, chosen from the columns recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...arrays import Array
from ...trajectory.columns import Column
from ...trajectory.trajectory import Trajectory
from ..style import COLOURS
from ..words import on_screen, screen_unit
from .motion import speed

TARGET = "target"
"""Label of an input that is drawn with the state following it, in the same colour."""


class Line(NamedTuple):
    """One curve, in the units of the screen."""

    label: str
    values: Array
    colour: str
    held: bool = False
    """An input: constant between samples, drawn as steps and dashed."""


class Panel(NamedTuple):
    """One small diagram over time."""

    title: str
    unit: str
    lines: tuple[Line, ...]


def panels(trajectory: Trajectory) -> list[Panel]:
    """The standard panels of a run; those without data are left out.

    A run that has none of these quantities shows its states, or whatever it has.
    """
    candidates = (
        _speeds(trajectory),
        _panel(trajectory, "Acceleration", ("a_x", "a_y")),
        _by_wheel(trajectory, "Steering angle", "steer", "rad"),
        _panel(trajectory, "Yaw rate", ("omega",)),
        _by_wheel(trajectory, "Torque", "tau", "N·m"),
        _by_wheel(trajectory, "Wheel load", "F_z", "N"),
    )
    states = [column.name for column in trajectory.columns if column.role == "state"]
    return [panel for panel in candidates if panel.lines] or chosen_panels(
        trajectory, states or trajectory.names
    )


def chosen_panels(trajectory: Trajectory, names: Sequence[str]) -> list[Panel]:
    """The named columns, one panel per unit in the order they are named."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(trajectory.column(name).unit.symbol, []).append(name)
    return [
        Panel(
            ", ".join(group), _screen_unit(trajectory.column(group[0])), _lines(trajectory, group)
        )
        for group in groups.values()
    ]


def _speeds(trajectory: Trajectory) -> Panel:
    panel = _panel(trajectory, "Speed", ("v_x", "v_y", "v", "speed"))
    whole = speed(trajectory)
    if whole is None or not {"v_x", "v_y"} <= set(trajectory.names):
        return panel
    # Under the components: where v_y is small it would hide v_x.
    return panel._replace(lines=(Line("speed", whole, "#BBBBBB"), *panel.lines))


def _panel(trajectory: Trajectory, title: str, names: Sequence[str]) -> Panel:
    """The named columns, each followed by the input of the same name, in its colour."""
    present = [name for name in names if name in trajectory]
    pairs = [each for name in present for each in (name, f"u_{name}") if each in trajectory]
    only_inputs = [f"u_{n}" for n in names if n not in trajectory and f"u_{n}" in trajectory]
    shown = [*pairs, *only_inputs]
    unit = _screen_unit(trajectory.column(shown[0])) if shown else ""
    return Panel(title, unit, _lines(trajectory, shown))


def _by_wheel(trajectory: Trajectory, title: str, stem: str, symbol: str) -> Panel:
    """Columns such as `tau_fl`, labelled `fl`: the title says the rest."""
    panel = _panel(trajectory, title, _starting(trajectory, stem, symbol))
    lines = (line._replace(label=line.label.removeprefix(f"{stem}_")) for line in panel.lines)
    return panel._replace(lines=tuple(lines))


def _lines(trajectory: Trajectory, names: Sequence[str]) -> tuple[Line, ...]:
    lines: list[Line] = []
    colours: dict[str, str] = {}
    for name in names:
        column = trajectory.column(name)
        quantity = name.removeprefix("u_")
        paired = column.role == "input" and quantity in colours
        colour = colours.setdefault(quantity, COLOURS[len(colours) % len(COLOURS)])
        values = on_screen(column.values, column.unit.symbol)
        label = TARGET if paired else name
        lines.append(Line(label, values, colour, held=column.role == "input"))
    return tuple(lines)


def _screen_unit(column: Column) -> str:
    return screen_unit(column.unit.symbol)


def _starting(trajectory: Trajectory, stem: str, symbol: str) -> list[str]:
    """Columns named `stem` or `stem_...` with this unit; inputs without their `u_`."""
    own = [
        c.name.removeprefix("u_") if c.role == "input" else c.name
        for c in trajectory.columns
        if c.unit.symbol == symbol
    ]
    return list(dict.fromkeys(n for n in own if n == stem or n.startswith(f"{stem}_")))
