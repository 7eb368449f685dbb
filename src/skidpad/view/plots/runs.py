"""Figures of a run: its path over ground on a map, and time histories in panels.

First come quantities of recorded runs (speed, distance, accelerations, the times at which to draw
vehicles), then top views of stages and maps in metres, then the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import arc_length
from ...geometry.maps.map import Map
from ...geometry.maps.occupancy import Grid
from ...geometry.polygon import signed_area
from ...run.trajectory import Trajectory
from ...run.trajectory_table import PREFIXES, Column, Role
from ...sensors.motion import Motion, motion_along
from ..stage import Body, BodyShape, PlacedUnit, Stage, place_bodies
from ..stages import trajectory_stage
from . import style
from .style import room

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Columns of longitudinal and lateral acceleration, in order of preference."""
_OF_STATE: tuple[str, ...] = ("x", "y", "yaw", "v_x", "v_y", "omega")
MOST_MOMENTS = 400
"""Most vehicles drawn on one path; more could not be distinguished."""


def with_motion(run: Trajectory, vehicle: Vehicle | BodyShape | None) -> Trajectory:
    """Run with pose, velocity, acceleration and steering computed by the vehicle's body.

    They are columns named as the fields of `Motion` and replace columns of the same name. The
    run is returned unchanged without a vehicle, or if it was recorded with another one.
    """
    if not isinstance(vehicle, Vehicle) or vehicle.model.body is None:
        return run
    kinds: dict[Role, type] = {"state": vehicle.State, "input": vehicle.Input}
    for role, kind in kinds.items():
        names = [PREFIXES[role] + name for name in record.names(kind)]
        if [column.name for column in run.columns if column.role == role] != names:
            return run
    body, motion = vehicle.model.body, motion_along(run, vehicle)
    # Recorded accelerations include disturbances and ground, which the run does not contain.
    names = list[str](_OF_STATE)
    if not set(ACCELERATIONS[0]) <= set(run.names):
        names += ACCELERATIONS[0]
    if body.steer is not None:
        names.append("steer")
    units = {field.name: field.unit for field in record.fields(Motion)}
    columns = {column.name: column for column in run.columns}
    for name in names:
        role: Role = "output" if name.startswith("a_") else "state"
        columns[name] = Column(name, units[name], role, getattr(motion, name))
    return replace(run, columns=tuple(columns.values()), State=None)


def with_motions(
    runs: Sequence[Trajectory], vehicle: Vehicle | Sequence[Vehicle] | None
) -> list[Trajectory]:
    """Runs with the motion of their vehicles: one vehicle for all runs, or one for each."""
    vehicles = [vehicle] * len(runs) if vehicle is None or isinstance(vehicle, Vehicle) else vehicle
    if len(vehicles) != len(runs):
        raise InvalidValue(f"vehicle: {len(vehicles)} vehicles for {len(runs)} trajectories")
    return [with_motion(run, one) for run, one in zip(runs, vehicles, strict=True)]


def speed(run: Trajectory) -> Array | None:
    """Speed over ground in m/s, or None if no velocity was recorded."""
    if {"v_x", "v_y"} <= set(run.names):
        return np.hypot(run["v_x"], run["v_y"])
    candidates = ("v_x", "v", "speed")
    return next((np.abs(run[name]) for name in candidates if name in run), None)


def travelled(run: Trajectory) -> Array:
    """Distance travelled up to each sample, in m."""
    return arc_length(np.column_stack([run["x"], run["y"]]))


def accelerations(run: Trajectory) -> tuple[Array, Array]:
    """Longitudinal and lateral acceleration in m/s², at the samples of a run."""
    pair = next((pair for pair in ACCELERATIONS if set(pair) <= set(run.names)), None)
    if pair is None:
        raise InvalidValue(
            f"{run.name or 'the trajectory'} has no accelerations; needed are the columns a_x and "
            "a_y, or vehicle=, with which it was recorded; there are "
            f"{', '.join(run.names) or 'none'}"
        )
    return run[pair[0]], run[pair[1]]


def moments(run: Trajectory, every: float | None, count: int) -> Array:
    """Times in s at which the vehicle is drawn: every `every` s, or at equal distances on the
    path."""
    if every is not None:
        every = positive("every", every, "s")
        times = run.t[0] + every * np.arange(int(run.duration / every * (1.0 + 1e-12)) + 1)
    else:
        way = travelled(run)
        if count < 1 or not way[-1] > 0.0:
            times = run.t[:1] if count else run.t[:0]
        else:
            # While the car stands, the distance is constant and has no inverse.
            rising = np.append(True, np.diff(way) > 0.0)
            times = np.interp(np.linspace(0.0, way[-1], count), way[rising], run.t[rising])
    if len(times) > MOST_MOMENTS:
        raise InvalidValue(
            f"every = {every} s draws {len(times)} vehicles; allowed are {MOST_MOMENTS}"
        )
    return times


MOST_POINTS = 4000
"""Number of samples above which a line is thinned."""


def thin_line(t: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """Thinned samples: the least and the greatest value of each block."""
    if t.size <= most:
        return t, values
    length = -(-t.size // (most // 2))
    starts = np.arange(0, t.size, length)
    kept = {0, t.size - 1}
    for begin in starts:
        block = values[begin : begin + length]
        if not np.isfinite(block).all():
            kept.update(range(begin, begin + block.size))
            continue
        kept.update((int(begin + block.argmin()), int(begin + block.argmax())))
    rows = np.array(sorted(kept))
    return t[rows], values[rows]


MOST_CELLS = 2000
"""Largest number of drawn cells per axis of an occupancy grid; finer grids are merged."""
WALL, BLOCK, REGION = "#8A8F98", "#B08D57", "#7FB8A4"
UNKNOWN = "#F3F1E7"
"""Fill of unknown cells."""
_FILLS = {"wall": WALL, "block": BLOCK}
_CONE = "#E8720C"
_LINES: dict[str, Any] = {"centre": style.DOTS, "reference": style.DASHES}


def draw_areas(axes: Axes, outlines: Sequence[Array], **look: Any) -> None:
    """Draw filled closed outlines (n, 2)."""
    from matplotlib.collections import PolyCollection

    if len(outlines):
        look = {"edgecolor": "none", "linewidth": 0.8, **look}
        axes.add_collection(PolyCollection(list(outlines), **look))


def draw_stage(axes: Axes, stage: Stage) -> None:
    """Draw grids, regions, walls and blocks, lines on the ground and cones, in this order."""
    for grid in stage.grids:
        cells = np.frombuffer(grid.cells, np.uint8).reshape(grid.height, grid.width)
        draw_cells(axes, Grid(cells == 255, grid.resolution, (grid.x, grid.y, 0.0)), WALL)
    for polygon in stage.polygons:
        solid = polygon.kind in _FILLS
        fill = known_colour(polygon.colour) or _FILLS.get(polygon.kind, REGION)
        look = {"alpha": 0.9, "zorder": 1.3} if solid else {"alpha": 0.25, "zorder": 1.2}
        draw_areas(axes, [np.asarray(polygon.points)], facecolor=fill, **look)
    for line in stage.lines:
        colour, dashes = known_colour(line.colour) or "#B4BBC4", _LINES.get(line.kind, "-")
        points = np.asarray(line.points).T
        axes.plot(*points, color=colour, linestyle=dashes, linewidth=1.0, zorder=1.4)
    kinds: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for disc in stage.discs:
        key = (known_colour(disc.colour) or _CONE, disc.radius)
        kinds.setdefault(key, []).append((disc.x, disc.y))
    for (colour, radius), places in kinds.items():
        diameter = 3.8 if radius > 0.13 else 3.0
        axes.plot(*np.array(places).T, "o", color=colour, ms=diameter, mew=0.0, zorder=1.5)


def stage_extent(stage: Stage) -> Array:
    """Points (n, 2) that a view of the stage must include."""
    points = [np.asarray(shape.points) for shape in (*stage.polygons, *stage.lines)]
    points += [np.array([[disc.x, disc.y]]) for disc in stage.discs]
    for grid in stage.grids:
        corner = np.array([grid.x, grid.y])
        far = corner + grid.resolution * np.array([grid.width, grid.height])
        points.append(np.array([corner, far]))
    return np.vstack([np.empty((0, 2)), *points])


def draw_bodies(
    axes: Axes, bodies: Sequence[tuple[Body, PlacedUnit]], fills: Mapping[str, str], *, alpha: float
) -> None:
    """Draw outlines and wheels of bodies; `fills` are colours by the body's name or kind."""
    outlines: dict[str, list[Array]] = {}
    # Draw trailers below the units that pull them.
    for body, unit in sorted(bodies, key=lambda pair: pair[0].kind != "trailer"):
        fill = fills.get(body.name) or fills[body.kind]
        outlines.setdefault(fill, []).extend(unit.world_outlines)
    for fill, areas in outlines.items():
        draw_areas(axes, areas, facecolor=fill, edgecolor=style.INK, alpha=alpha, zorder=3.0)
    wheels = [wheel for _, unit in bodies for wheel in unit.world_wheels]
    draw_areas(axes, wheels, facecolor="#444444", zorder=3.1)


def draw_cells(axes: Axes, grid: Grid, colour: str) -> None:
    """Draw an occupancy grid.

    Cells of a grid that is too fine are merged; a merged cell is occupied if any of its cells is.
    """
    from matplotlib.colors import to_rgba
    from matplotlib.transforms import Affine2D

    merge = -(-max(grid.shape) // MOST_CELLS)
    shown = _merge_cells(grid.occupied, merge)
    image = np.zeros((*shown.shape, 4))
    if grid.unknown is not None:
        image[_merge_cells(grid.unknown, merge)] = to_rgba(UNKNOWN)
    image[shown] = to_rgba(colour)
    rows, columns = merge * grid.resolution * np.array(shown.shape)
    x, y, yaw = grid.origin
    place = Affine2D().rotate(yaw).translate(x, y) + axes.transData
    look: Any = {"origin": "lower", "interpolation": "nearest", "aspect": "equal", "zorder": 1.1}
    axes.imshow(image, extent=(0.0, columns, 0.0, rows), transform=place, **look)


def _merge_cells(cells: Any, size: int) -> Any:
    """Blocks of `size` x `size` cells as single cells, true if any cell is."""
    rows, columns = (-(-length // size) for length in cells.shape)
    padded = np.zeros((rows * size, columns * size), dtype=np.bool_)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    return padded.reshape(rows, size, columns, size).any(axis=(1, 3))


def known_colour(colour: str) -> str:
    """Colour as #rrggbb if Matplotlib knows it, else an empty text."""
    from matplotlib.colors import is_color_like, to_hex

    return to_hex(colour) if is_color_like(colour) else ""


SOLID = "#D6DAE0"
CONES = {"blue": "#1F6FD0", "yellow": "#F2C200", "orange": "#E8720C"}

_LONGER_SIDE = 6.4
"""Longer side of the map's axes, in inches."""


def plot(map_: Map, path: style.FilePath = None, *, title: str | None = None) -> Figure:
    """Figure of a map; see `Map.plot`."""
    style.check(path, "matplotlib", None)
    x0, y0, x1, y1 = map_.bounds
    room = 0.04 * max(x1 - x0, y1 - y0, 1e-3)
    width, height = x1 - x0 + 2.0 * room, y1 - y0 + 2.0 * room
    scale = _LONGER_SIDE / max(width, height)
    size = (max(3.2, width * scale) + 0.8, max(1.6, height * scale) + 0.9)
    with style.new_figure((1.0,), (1.0,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        axes.set_aspect("equal", adjustable="box")
        axes.set(xlim=(x0 - room, x1 + room), ylim=(y0 - room, y1 + room))
        draw_map(axes, map_)
        heading = style.literal(map_.name if title is None else title)
        axes.set(xlabel="x [m]", ylabel="y [m]", title=heading)
    return style.write_figure(figure, path)


def png(map_: Map) -> bytes:
    buffer = BytesIO()
    plot(map_).savefig(buffer, dpi=style.DPI / 1.5, format="png")
    return buffer.getvalue()


def draw_map(axes: Axes, map_: Map, *, line_colour: str = style.BLUE) -> None:
    """Draw the contents of a map on axes with equal scales."""
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.path import Path

    if map_.grid is not None:
        draw_cells(axes, map_.grid, style.INK)
    solids: list[Path] = []
    for solid in map_.solids:
        # Outline and holes have opposite orientation, so that holes stay unfilled.
        rings = [solid.outline, *solid.holes]
        turned = [r if (signed_area(r) > 0.0) == (k == 0) else r[::-1] for k, r in enumerate(rings)]
        parts = [Path(np.vstack([ring, ring[:1]]), closed=True) for ring in turned]
        solids.append(Path.make_compound_path(*parts))
    axes.add_collection(PathCollection(solids, facecolor=SOLID, edgecolor="none", zorder=1.2))
    width = 1.3 if len(map_.segments) < 2000 else 0.6
    segments = list(map_.segments.reshape(-1, 2, 2))
    walls = LineCollection(segments, colors=style.INK, linewidths=width, zorder=1.3)
    walls.set_capstyle("round")
    axes.add_collection(walls)
    if map_.centre_line is not None:
        _, x, y, *_ = map_.centre_line.T
        axes.plot(x, y, color=line_colour, linewidth=1.1, zorder=1.4)
    for colour, shade in CONES.items():
        at = map_.cones[[k for k, own in enumerate(map_.colours) if own == colour]]
        if len(at):
            area = 26.0 if colour == "orange" else 14.0
            look: Any = {"color": shade, "edgecolors": style.INK, "linewidths": 0.4}
            axes.scatter(*at.T, s=area, zorder=1.5, **look)


FILLS = {"vehicle": "#9FB4C7", "trailer": "#C2CDD6"}
MOST_PIECES = 4000
"""Most segments of a coloured path; longer recordings are thinned."""
DARTS = 7
"""Number of heading marks along the path, at equal distances."""
ABOVE_BODIES = 3.5
"""Layer of the path, above vehicles drawn close to each other."""
_DART = np.array([[-0.7, -0.6], [1.0, 0.0], [-0.7, 0.6], [-0.3, 0.0], [-0.7, -0.6]])


def path(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    every: float | None = None,
    count: int = 12,
    path: style.FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: style.Size = None,
) -> Figure:
    """Path over ground, coloured by speed, with the vehicle drawn at intervals.

    The vehicle is drawn every `every` seconds, or `count` times at equal distances. Its shape comes
    from its parameters and its pose from its body; without a vehicle, columns x and y are used.
    `map` draws walls and cones: a `Map`, or the fixed objects of a `Stage`.
    """
    style.check(path, backend, size)
    with style.new_figure((7.0,), (7.0,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        draw_path(axes, run, vehicle, map, every=every, count=count)
        if size is None:
            # Shaped as the path is.
            (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
            ratio = float(np.clip((y1 - y0) / (x1 - x0), 0.3, 1.4))
            figure.set_size_inches(7.0, 7.0 * ratio * 0.86 + 0.8)
        style.headings(figure, run.name if title is None else title)
    return style.write_figure(figure, path)


def draw_path(
    axes: Axes,
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    ground: Map | Stage | None = None,
    *,
    every: float | None = None,
    count: int = 12,
    most: int = MOST_PIECES,
) -> None:
    """Draw map, path and vehicles on axes with equal scales, x to the right and y up.

    Start and end are marked. Without a vehicle, darts show the heading. `most` bounds the segments.
    """
    from matplotlib.markers import MarkerStyle
    from matplotlib.transforms import Affine2D

    recorded, run = run, with_motion(run, vehicle)
    needed = {"x", "y"} if vehicle is None else {"x", "y", "yaw"}
    if not needed <= set(run.names):
        raise InvalidValue(
            "a path needs the columns x and y, and to draw a vehicle yaw; or else the vehicle that "
            "the run was recorded with, and all of its states and inputs in the run; there are "
            f"{', '.join(run.names) or 'none'}"
        )
    bodies: list[tuple[Body, PlacedUnit]] = []
    times = np.empty(0) if vehicle is None else moments(run, every, count)
    if vehicle is not None and len(times):
        stage, _, rows = trajectory_stage({"car": recorded.resample(times)}, vehicle)
        bodies = [body for row in rows for body in place_bodies(stage, row)]
    x, y = run["x"], run["y"]
    seen = [np.column_stack([x, y]), *(o for _, unit in bodies for o in unit.world_outlines)]
    if ground is not None:
        seen.append(_extent(ground))
    if isinstance(ground, Stage):
        draw_stage(axes, ground)
    elif ground is not None:
        draw_map(axes, ground, line_colour="#B9C4CE")
    _draw_line(axes, x, y, speed(run), most)
    covered = travelled(run) if vehicle is None and "yaw" in run else np.zeros(1)
    if covered[-1] > 0.0:
        # Darts show the heading, which differs from the path in a slide.
        for k in np.searchsorted(covered, covered[-1] * (np.arange(DARTS) + 0.5) / DARTS):
            turned = Affine2D().rotate(float(run["yaw"][k]))
            dart = MarkerStyle(_DART, transform=turned)
            axes.plot(x[k], y[k], marker=dart, ms=9.0, mew=0.0, color=style.INK, zorder=3.6)
    draw_bodies(axes, bodies, FILLS, alpha=0.7)
    axes.plot(
        x[:1], y[:1], "o", label="start", color="white", mec=style.INK, ms=8.0, mew=1.3, zorder=4.0
    )
    axes.plot(
        x[-1:], y[-1:], "s", label="end", color=style.INK, mec="white", ms=5.0, mew=1.3, zorder=4.0
    )
    style.equal_axes(axes, *_ranges(np.vstack(seen)))
    axes.set(title="Path [m]", xlabel="x", ylabel="y")
    style.legend_above(axes)


def _draw_line(axes: Axes, x: Array, y: Array, speeds: Array | None, most: int) -> None:
    """Draw the line, coloured by speed if that varies by more than one per cent."""
    from matplotlib.collections import LineCollection

    rows = np.unique(np.append(np.arange(0, x.size, -(-x.size // most)), x.size - 1))
    known = np.empty(0) if speeds is None else speeds[np.isfinite(speeds)]
    span = 1e-2 * max(1.0, float(np.abs(known).max(initial=0.0)))
    if speeds is None or rows.size < 2 or not known.size or np.ptp(known) < span:
        axes.plot(x[rows], y[rows], color=style.BLUE, linewidth=2.2, zorder=ABOVE_BODIES)
        return
    points, values = np.column_stack([x, y])[rows], speeds[rows]
    pieces = list(np.stack([points[:-1], points[1:]], axis=1))
    line = LineCollection(pieces, linewidth=2.2, zorder=ABOVE_BODIES)
    line.set_array(0.5 * (values[:-1] + values[1:]))
    line.set_clim(float(known.min()), float(known.max()))
    line.set_capstyle("round")
    axes.add_collection(line)
    style.colour_bar(axes, line, "speed [m/s]")


def _extent(ground: Map | Stage) -> Array:
    """Points (n, 2) that a view of the ground must include."""
    if isinstance(ground, Stage):
        return stage_extent(ground)
    x0, y0, x1, y1 = ground.bounds
    return np.array([[x0, y0], [x1, y1]])


def _ranges(points: Array) -> tuple[tuple[float | None, float | None], ...]:
    """Axis ranges with a margin, at least a metre wide for a parked car."""
    known = points[np.isfinite(points).all(axis=1)]
    if not len(known):
        return (None, None), (None, None)
    low, high = known.min(axis=0), known.max(axis=0)
    short = np.maximum(0.0, 1.0 - (high - low)) / 2.0
    wide = np.array([low - short, high + short])
    return room([wide[:, 0]], 0.08), room([wide[:, 1]], 0.08)


TARGET = "target"
"""Label of an input drawn with the state that follows it, in the same colour."""


class Line(NamedTuple):
    """A curve of a panel, in screen units."""

    label: str
    values: Array
    colour: str
    held: bool = False
    """True for an input: constant between samples, drawn dashed and in steps."""


class Panel(NamedTuple):
    title: str
    unit: str
    lines: tuple[Line, ...]


def panels(trajectory: Trajectory) -> list[Panel]:
    """Standard panels of a run; those without data are left out.

    A run without any of these quantities shows its states, or whatever columns it has.
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
    """Panels of the named columns, one per unit in order of first appearance."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(trajectory.column(name).unit.symbol, []).append(name)
    return [
        Panel(", ".join(own), _screen_unit(trajectory.column(own[0])), _lines(trajectory, own))
        for own in groups.values()
    ]


def _speeds(trajectory: Trajectory) -> Panel:
    panel = _panel(trajectory, "Speed", ("v_x", "v_y", "v", "speed"))
    whole = speed(trajectory)
    if whole is None or not {"v_x", "v_y"} <= set(trajectory.names):
        return panel
    # Under the components: where v_y is small it would hide v_x.
    return panel._replace(lines=(Line("speed", whole, "#BBBBBB"), *panel.lines))


def _panel(trajectory: Trajectory, title: str, names: Sequence[str]) -> Panel:
    """Panel of the named columns, each followed by the input of the same name, in its colour."""
    present = [name for name in names if name in trajectory]
    pairs = [each for name in present for each in (name, f"u_{name}") if each in trajectory]
    only_inputs = [f"u_{n}" for n in names if n not in trajectory and f"u_{n}" in trajectory]
    shown = [*pairs, *only_inputs]
    unit = _screen_unit(trajectory.column(shown[0])) if shown else ""
    return Panel(title, unit, _lines(trajectory, shown))


def _by_wheel(trajectory: Trajectory, title: str, stem: str, symbol: str) -> Panel:
    """Panel of columns such as `tau_fl`, labelled `fl`, as the title names the quantity."""
    own = [
        c.name.removeprefix("u_") if c.role == "input" else c.name
        for c in trajectory.columns
        if c.unit.symbol == symbol
    ]
    names = dict.fromkeys(n for n in own if n == stem or n.startswith(f"{stem}_"))
    panel = _panel(trajectory, title, list(names))
    lines = (line._replace(label=line.label.removeprefix(f"{stem}_")) for line in panel.lines)
    return panel._replace(lines=tuple(lines))


def _lines(trajectory: Trajectory, names: Sequence[str]) -> tuple[Line, ...]:
    lines: list[Line] = []
    colours: dict[str, str] = {}
    for name in names:
        column = trajectory.column(name)
        quantity = name.removeprefix("u_")
        paired = column.role == "input" and quantity in colours
        colour = colours.setdefault(quantity, style.COLOURS[len(colours) % len(style.COLOURS)])
        values = style.on_screen(column.values, column.unit.symbol)
        label = TARGET if paired else name
        lines.append(Line(label, values, colour, held=column.role == "input"))
    return tuple(lines)


def _screen_unit(column: Column) -> str:
    return style.screen_unit(column.unit.symbol)


def trajectory(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    columns: Sequence[str] | None = None,
    every: float | None = None,
    count: int = 12,
    path: style.FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: style.Size = None,
) -> Figure:
    """Overview of a run: its path, as in `plots.path`, next to panels over time.

    With the vehicle, motion is computed by its body, regardless of the names of its states.

    `columns` selects panels in place of the default ones, with the path only if there is a
    vehicle or a map.
    """
    style.check(path, backend, size)
    moving = with_motion(run, vehicle)
    shown = panels(moving) if columns is None else chosen_panels(moving, columns)
    with_path = columns is None and {"x", "y"} <= set(run.names)
    with_path = with_path or vehicle is not None or map is not None
    if not shown and not with_path:
        raise InvalidValue(
            "nothing to plot: name some columns with columns=[...], of "
            f"{', '.join(run.names) or 'none'}"
        )
    # Five or more panels are in two columns, so that they do not get too flat.
    stacks = 2 if len(shown) > 4 else min(len(shown), 1)
    rows = max(1, -(-len(shown) // max(stacks, 1)))
    height = max(4.4, 1.5 * rows + 0.7) if with_path else 1.9 * rows + 0.7
    widths = (*[5.5] * with_path, *[4.4] * stacks)
    with style.new_figure(widths, (height / rows,) * rows, size) as (figure, grid):
        if with_path:
            axes = figure.add_subplot(grid[:, 0])
            draw_path(axes, run, vehicle, map, every=every, count=count)
        draw_panels(figure, grid, int(with_path), run.t, shown)
        warning = "" if run.error is None else f"ended early at {run.t[-1]:g} s: {run.error}"
        style.headings(figure, run.name if title is None else title, warning=warning)
    return style.write_figure(figure, path)


def draw_panels(
    figure: Figure,
    grid: Any,
    column: int,
    t: Array,
    shown: Sequence[Panel],
    *,
    most: int = MOST_POINTS,
) -> None:
    """Draw panels over a common time axis, column by column from `column` on.

    Time labels stand at the lowest panel of each column.
    """
    first: Axes | None = None
    for i, panel in enumerate(shown):
        stack, row = divmod(i, grid.nrows)
        axes = figure.add_subplot(grid[row, column + stack], sharex=first)
        first = first or axes
        whole: Any = {"linewidth": 1.4}
        steps: Any = {"linestyle": style.DASHES, "linewidth": 1.0, "drawstyle": "steps-post"}
        for line in panel.lines:
            times, values = thin_line(t, line.values, most)
            look = steps if line.held else whole
            # A single sample would be an invisible line.
            marker = "o" if times.size == 1 else ""
            label = style.literal(line.label)
            axes.plot(times, values, color=line.colour, label=label, marker=marker, ms=4.0, **look)
        axes.set_title(style.literal(f"{panel.title} [{panel.unit}]"))
        axes.set_ylim(*room([line.values for line in panel.lines]))
        style.legend_above(axes)
        lowest = row == grid.nrows - 1 or i == len(shown) - 1
        axes.tick_params(labelbottom=lowest)
        axes.set_xlabel("time [s]" if lowest else "")
