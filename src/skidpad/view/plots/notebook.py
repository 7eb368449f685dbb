"""Notebook representations of runs, vehicles and worlds: headings, tables, SVG drawings.

Plain HTML with inline styles that take their colours from the notebook: no scripts, no style
sheets, no identifiers that could collide with other outputs. All external text is escaped.

Matplotlib's SVG is meant for a file: within a page, its style sheet and its identifiers would
affect other outputs, so both are removed. Lines in the text colour of the page suit light and dark
themes. The same figure always gives the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Trailer
from ...core.files import counted
from ...core.model import Vehicle
from ...errors import MissingExtra
from ...run.monte_carlo import MonteCarlo, Probability
from ...run.trajectory import Trajectory
from ...run.trajectory_table import ROLES, span
from ...tyres.characteristics import summary
from ...tyres.tyre import Tyre
from ...world.world import World
from ..sheet import Sheet
from ..stage import Body, PlacedUnit, Stage, place_bodies
from ..stages import WorldStage
from . import runs, style
from .comparison import draw_fans, study_fans
from .runs import speed
from .style import COLOURS, INK, equal_axes, new_figure, room
from .tyres import draw_force, tyre_subjects

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def page(*parts: str) -> str:
    """HTML of parts below each other."""
    return f'<div style="font-family:system-ui,sans-serif;line-height:1.4">{"".join(parts)}</div>'


def heading(name: str, about: str = "") -> str:
    beside = f' <span style="opacity:0.7">{escape(about)}</span>' if about else ""
    return f'<div style="margin-bottom:0.4em"><b>{escape(name)}</b>{beside}</div>'


def beside(*parts: str) -> str:
    """HTML of parts next to each other, wrapped on narrow screens."""
    cells = "".join(f"<div>{part}</div>" for part in parts if part)
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{cells}</div>'
    )


def _long_table(sheet: Sheet, most: int, what: str) -> str:
    """Table whose rows beyond the first `most` are folded."""
    first, others = (replace(sheet, rows=rows) for rows in (sheet.rows[:most], sheet.rows[most:]))
    more = f"{len(others.rows)} more {what}"
    return first.notebook() + (fold(more, others.notebook()) if others.rows else "")


def fold(summary: str, content: str) -> str:
    """Content that is shown on a click."""
    return (
        f'<details style="margin-top:0.4em"><summary style="cursor:pointer">{escape(summary)}'
        f"</summary>{content}</details>"
    )


def warning(text: str) -> str:
    """Line in red."""
    return f'<div style="color:#C0392B;margin-top:0.4em">{escape(text)}</div>'


def remark(text: str) -> str:
    """Line in a lighter colour."""
    return f'<div style="opacity:0.7;margin-top:0.4em">{escape(text)}</div>'


def short(value: float) -> str:
    """A number with five digits."""
    return f"{value + 0.0:.5g}".replace("-", "−")


MOST_POINTS = 600
"""Most points of a line in a notebook."""
MOST_PIECES = 300
"""Most segments of a path coloured by speed."""
PIXELS = 1.15
"""Pixels per point, which makes the letters as high as those of tables."""
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_COLOURS = {
    INK: "currentColor",
    style.TICKS: "currentColor",
    style.FAINT.lower(): "rgba(128,128,128,0.25)",
}
_ROOT = (
    'role="img" font-family="system-ui, sans-serif" stroke-linejoin="round" '
    'style="max-width:100%;height:auto"'
)


def drawing(
    title: str, blank: AbstractContextManager[tuple[Any, Any]], draw: Callable[[Any, Any], None]
) -> str:
    """SVG element of a drawing; `draw` gets a blank figure and its grid (see `style.new_figure`).

    Without Matplotlib, a remark that says how to install it.
    """
    try:
        style.require_matplotlib()
    except MissingExtra as error:
        return remark(str(error))
    with blank as (figure, grid):
        draw(figure, grid)
    return inline_svg(figure, title)


def inline_svg(figure: Any, title: str) -> str:
    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context(style.STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg ") :]
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'(?<= style=")[^"]*(?=")', lambda match: _style(match[0]), text)
    # Hundredths of a point cannot be seen.
    text = re.sub(
        r' (?:d|x|y|transform)="[^"]*"', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0]), text
    )
    text = re.sub(r"\s*\n\s*", "", text)
    head, body = text.split(">", 1)
    head = re.sub(r'"([\d.]+)pt"', lambda match: f'"{PIXELS * float(match[1]):.0f}"', head)
    return f"{head} {_ROOT}><title>{escape(title)}</title>{body}"


def _style(text: str) -> str:
    text = re.sub(r"font-family: [^;]*(; |$)", "", text)
    for colour, in_page in _COLOURS.items():
        text = text.replace(colour, in_page)
    return text


MOST_FANS = 3


def monte_carlo_html(study: MonteCarlo) -> str:
    about = f"{counted(study.runs, 'run')} of {study.t[-1]:g} s, seed {study.seed}"
    lost = study.diverged
    events = {name: study.probability(name) for name in study.events}
    level = next((one.level for one in events.values()), 0.95)
    return page(
        heading("Monte Carlo", about),
        _fans(study),
        events_table(events, level),
        warning(f"{counted(len(lost), 'run')} diverged: not counted after that") if lost else "",
        fold(
            counted(len(study.quantities), "quantity", "quantities") + " at the end", _ends(study)
        ),
    )


def _fans(study: MonteCarlo) -> str:
    """Fans of the quantities that vary between runs."""
    names: list[str] = []
    for name in study.quantities:
        mean, most = study.mean(name), float(np.nanmax(study.std(name)))
        if most > 0.02 * float(np.nanmax(mean) - np.nanmin(mean)) and len(names) < MOST_FANS:
            names.append(name)
    if not names:
        return ""
    fans = study_fans(study, names, lines=0, worst=0, units={})
    return drawing(
        "Monte Carlo",
        new_figure((3.6,) * len(fans), (2.6,)),
        lambda figure, grid: draw_fans(figure, grid, fans, {}, title=""),
    )


def events_table(
    estimates: Mapping[str, Probability], level: float, *, shares: bool = False
) -> str:
    """Table of event probabilities with intervals; with `shares`, only the shares of the runs."""
    rows = [
        (
            name,
            f"{one.value:.4g}",
            f"{one.low:.4g} to {one.high:.4g}" if np.isfinite(one.low) else "–",
            f"{one.happened} of {one.runs}",
        )
        for name, one in estimates.items()
    ]
    kind = "share" if shares else "probability"
    sheet = Sheet(("event", kind, f"{level:.0%} confidence", "runs"), rows, [1, 3])
    return (sheet.without(2) if shares else sheet).notebook() if rows else ""


def _ends(study: MonteCarlo) -> str:
    rows: list[tuple[str, ...]] = []
    for name in study.quantities:
        unit = study.unit(name)
        by = style.factor(unit)
        values = [float(study.mean(name)[-1]), float(study.std(name)[-1])]
        values += [float(study.quantile(name, level)[-1]) for level in study.levels]
        rows.append((name, style.screen_unit(unit), *(short(by * value) for value in values)))
    levels = [f"{100.0 * level:g} %" for level in study.levels]
    head = ("quantity", "unit", "mean", "std", *levels)
    return Sheet(head, rows, range(2, len(head))).notebook()


MOST_PANELS = 3


def trajectory_html(run: Trajectory) -> str:
    ended = "" if run.error is None else warning(f"ended early: {run.error}")
    figures = [("duration", short(run.duration), "s")]
    if len(run) > 1:
        figures.append(("mean time between samples", short(run.duration / (len(run) - 1)), "s"))
    if {"x", "y"} <= set(run.names):
        figures.append(("distance", short(float(runs.travelled(run)[-1])), "m"))
    whole = speed(run)
    if whole is not None:
        figures.append(("top speed", short(_most(whole)), "m/s"))
    # Least and most with their signs: a car that only brakes has no acceleration forward.
    for name, words in (("a_x", "acceleration forward"), ("a_y", "acceleration to the left")):
        if name in run:
            least, most = -_most(-run[name]), _most(run[name])
            figures.append((words, f"{short(least)} to {short(most)}", "m/s²"))
    return page(
        heading(run.name or "trajectory", f"{counted(len(run), 'sample')}, {span(run.t)}"),
        beside(_drawing(run), Sheet((), figures, [1]).notebook()),
        ended,
        fold(counted(len(run.columns), "column"), _columns(run)),
    )


def _most(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")


def _drawing(run: Trajectory) -> str:
    shown = runs.panels(run)[:MOST_PANELS]
    with_path = {"x", "y"} <= set(run.names)
    if not shown and not with_path:
        return ""
    rows = max(1, len(shown))
    height = 3.6 if with_path else 1.2 * rows

    def draw(figure: Any, grid: Any) -> None:
        if with_path:
            runs.draw_path(figure.add_subplot(grid[:, 0]), run, most=MOST_PIECES)
        runs.draw_panels(figure, grid, int(with_path), run.t, shown, most=MOST_POINTS)

    widths = (*[4.4] * with_path, *[3.9] * bool(shown))
    return drawing(run.name, new_figure(widths, (height / rows,) * rows), draw)


def _columns(run: Trajectory) -> str:
    rows = [
        (column.role, column.name, "" if column.unit.symbol == "1" else column.unit.symbol)
        for role in ROLES
        for column in run.columns
        if column.role == role
    ]
    return Sheet(("", "name", "unit"), rows).notebook()


_FILL, _WHEEL = "#7FA3C2", "#555555"
MOST_ROWS = 14
"""Parameters shown unfolded."""


def vehicle_html(vehicle: Vehicle) -> str:
    model = vehicle.model
    about = [f"{record.size(model.State)} states", f"{record.size(model.Input)} inputs"]
    if record.size(model.Outputs):
        about.append(f"{record.size(model.Outputs)} outputs")
    note = f"{model.summary}. " if model.summary else ""
    return page(
        heading(vehicle.name, note + ", ".join(about)),
        beside(_vehicle_drawing(vehicle), _parameters(vehicle)),
        fold("states, inputs and outputs", _fields(vehicle)),
    )


def _parameters(vehicle: Vehicle) -> str:
    values = record.flatten(vehicle.params)
    rows = [
        (leaf.name, short(float(value)), _unit(leaf.unit.symbol), _first_line(leaf.doc))
        for leaf, value in zip(record.fields(vehicle.model.Params), values, strict=True)
    ]
    head = ("parameter", "value", "unit", "meaning")
    return _long_table(Sheet(head, rows, [1]), MOST_ROWS, "parameters")


def _fields(vehicle: Vehicle) -> str:
    kinds = (("state", vehicle.State), ("input", vehicle.Input), ("output", vehicle.model.Outputs))
    rows = [
        (kind, leaf.name, _unit(leaf.unit.symbol), _first_line(leaf.doc))
        for kind, fields in kinds
        for leaf in record.fields(fields)
    ]
    return Sheet(("", "name", "unit", "meaning"), rows).notebook()


def _unit(symbol: str) -> str:
    return "" if symbol == "1" else symbol


def _first_line(doc: str) -> str:
    """First sentence of a docstring, on one line."""
    text = " ".join(doc.split())
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]


def _vehicle_drawing(vehicle: Vehicle) -> str:
    """Top view of the vehicle with straight wheels, pointing to the right, with the axes of its
    frame."""
    if vehicle.model.body is None:
        return ""
    shape = vehicle.geometry
    outlines: list[Array] = []
    wheels: list[Array] = []
    at = 0.0
    for unit in (shape, *shape.trailers):
        at += unit.hitch_x - unit.drawbar if isinstance(unit, Trailer) else 0.0
        placed = PlacedUnit(Pose(at, 0.0, 0.0), unit.outlines, unit.wheels)
        outlines += placed.world_outlines
        wheels += placed.world_wheels
    points = np.vstack(outlines + wheels)
    length, width = np.ptp(points, axis=0)
    height = float(np.clip(3.6 * 1.3 * width / length + 0.8, 1.8, 3.2))

    def draw(figure: Any, grid: Any) -> None:
        axes = figure.add_subplot(grid[0, 0])
        runs.draw_areas(axes, outlines, facecolor=_FILL, edgecolor=INK, alpha=0.55)
        runs.draw_areas(axes, wheels, facecolor=_WHEEL, edgecolor=INK)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        equal_axes(axes, room([points[:, 0]], 0.08), room([points[:, 1]], 0.15))

    return drawing(vehicle.name, new_figure((4.2,), (height,)), draw)


MOST_VEHICLES, MOST_NAMES = 12, 20
_ACTOR = "#CC79A7"


def world_html(world: World) -> str:
    scene = world.scene
    vehicles, blocks = counted(len(world.vehicles), "vehicle"), counted(len(scene.blocks), "block")
    clock = f"t = {world.time:.3f} s, steps of {1000.0 * world.dt:g} ms"
    about = f"{vehicles}, {blocks}, {clock}"
    stage = WorldStage(world).stage
    bodies = place_bodies(stage, moment(world, stage))
    return page(heading(stage.title, about), beside(_map(stage, bodies), _vehicles(world)))


def _vehicles(world: World) -> str:
    rows: list[tuple[str, ...]] = []
    for name, motion in zip(world.vehicles, world.motion(), strict=True):
        x, y, yaw, v_x, v_y, _ = (float(value) for value in motion)
        model = world.vehicles[name].built.vehicle.name
        speed = short(float(np.hypot(v_x, v_y)))
        rows.append((name, model, short(x), short(y), short(float(np.rad2deg(yaw))), speed))
    head = ("vehicle", "model", "x [m]", "y [m]", "heading [°]", "speed [m/s]")
    return _long_table(Sheet(head, rows, range(2, 6)), MOST_VEHICLES, "vehicles") if rows else ""


def _map(stage: Stage, bodies: list[tuple[Body, PlacedUnit]]) -> str:
    points = np.vstack(
        [runs.stage_extent(stage), *(o for _, unit in bodies for o in unit.world_outlines)]
    )
    # Room for the names above.
    x, y = room([points[:, 0]], 0.04), room([points[:, 1]], 0.08)
    width, height = np.diff(np.array([x, y], dtype=float)).ravel()
    ratio = float(np.clip(height / width, 0.35, 1.2)) if len(points) else 1.0

    def draw(figure: Any, grid: Any) -> None:
        axes = figure.add_subplot(grid[0, 0])
        runs.draw_stage(axes, stage)
        draw_vehicles(axes, bodies)
        axes.set(xlabel="x [m]", ylabel="y [m]")
        equal_axes(axes, x, y)

    return drawing(stage.title, new_figure((5.6,), (5.6 * ratio,)), draw)


def moment(world: World, stage: Stage) -> Array:
    """Row of the stage with the current poses and states; channels that would have to be computed
    are NaN."""
    row = np.full(len(stage.channels), np.nan)
    for group in world.groups:
        for k, name in enumerate(group.names):
            for field, at in stage.body(name).channels.items():
                if field in group.fields:
                    row[at] = group.column(field)[k]
    for name in world.movable:
        body = stage.body(name)
        row[[body.x, body.y, body.yaw]] = world.block(name)[:3]
    return row


def draw_vehicles(axes: Axes, bodies: list[tuple[Body, PlacedUnit]]) -> None:
    """Draw bodies, vehicles in different colours and with their names if they are few."""
    vehicles = [(body, unit) for body, unit in bodies if body.kind == "vehicle"]
    fills = {body.name: COLOURS[k % len(COLOURS)] for k, (body, _) in enumerate(vehicles)}
    fills |= {body.name: own for body, _ in bodies if (own := runs.known_colour(body.colour))}
    kinds = {body.kind: runs.WALL for body, _ in bodies} | {"block": runs.BLOCK, "actor": _ACTOR}
    runs.draw_bodies(axes, bodies, kinds | fills, alpha=0.8)
    for body, unit in vehicles if len(vehicles) <= MOST_NAMES else ():
        top = max(unit.world_outlines, key=lambda o: float(o[:, 1].max()))
        at = (float(top[:, 0].mean()), float(top[:, 1].max()))
        look = {"ha": "center", "va": "bottom"}
        style.label_at(axes, style.literal(body.name), at, xytext=(0, 4), **look)


def tyre_html(tyre: Tyre) -> str:
    facts = summary(tyre)
    about = f"{facts.model}, {facts.side}"
    left_out = fold(f"{len(facts.filled)} keys were left out", ", ".join(facts.filled))

    def draw(figure: Any, grid: Any) -> None:
        both = [figure.add_subplot(grid[0, k]) for k in range(2)]
        for axes, what in zip(both, ("F_y", "F_x"), strict=True):
            draw_force(axes, tyre_subjects([tyre], None, [None]), what)

    at = facts.at[len(facts.at) // 2]
    angle = None if at.alpha_peak is None else float(np.rad2deg(at.alpha_peak))
    rows = [
        ("load", at.F_z, "N"),
        ("free radius", facts.radius, "m"),
        ("peak friction, driving", at.mu_x, ""),
        ("peak friction, lateral", at.mu_y, ""),
        ("slip stiffness", at.K_x, "N"),
        ("cornering stiffness", at.K_y, "N/rad"),
        ("angle of the lateral peak", angle, "°"),
        ("trail at small slip", at.trail, "m"),
        ("relaxation across", at.sigma_y, "m"),
        ("effective radius", at.effective, "m"),
    ]
    known = [(name, short(value), unit) for name, value, unit in rows if value is not None]
    picture = drawing(tyre.name, new_figure((3.4, 3.4), (2.6,)), draw)
    return page(
        heading(facts.name, about if facts.name != facts.model else facts.side),
        beside(picture, Sheet(("", "value", "unit"), known, [1]).notebook()),
        *map(warning, facts.warnings),
        left_out if facts.filled else "",
    )
