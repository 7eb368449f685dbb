"""The picture of a map, in the style of the other figures."""

from __future__ import annotations

import os
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..plane.maps.areas import Polygon
from ..plane.maps.grid import Grid
from .trajectory_plot import DPI, INK, STYLE, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..plane.maps.map import Map

SOLID = "#D6DAE0"
"""Fill of solid areas and occupied cells."""
UNKNOWN = "#F3F1E7"
LINE_COLOUR = "#0072B2"
CONE_COLOURS = {"blue": "#1F6FD0", "yellow": "#F2C200", "orange": "#E8720C"}

_LONGER_SIDE = 6.4
"""Of the area with the map, in inches."""
_LARGEST_IMAGE = 2000
"""Rows or columns of a grid beyond which cells are merged for the picture."""


def plot(
    map_: Map, path: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> Figure:
    """The figure described at `Map.plot`."""
    drawn = figure(map_, title=title)
    if path is not None:
        save(drawn, path)
    return drawn


def figure(map_: Map, *, title: str | None = None) -> Figure:
    """The figure described at `Map.plot`."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    x0, y0, x1, y1 = map_.bounds
    room = 0.04 * max(x1 - x0, y1 - y0, 1e-3)
    width, height = x1 - x0 + 2.0 * room, y1 - y0 + 2.0 * room
    scale = _LONGER_SIDE / max(width, height)
    size = (max(3.2, width * scale) + 0.8, max(1.6, height * scale) + 0.9)
    with rc_context(STYLE):
        drawn = Figure(figsize=size, layout="constrained", facecolor="white")
        axes = drawn.add_subplot()
        axes.set_aspect("equal", adjustable="box")
        axes.set_xlim(x0 - room, x1 + room)
        axes.set_ylim(y0 - room, y1 + room)
        axes.set_xlabel("x [m]")
        axes.set_ylabel("y [m]")
        _draw(axes, map_)
        axes.set_title(map_.name if title is None else title)
    return drawn


def png(map_: Map) -> bytes:
    """The figure as a PNG file."""
    buffer = BytesIO()
    figure(map_).savefig(buffer, dpi=DPI / 1.5, format="png")
    return buffer.getvalue()


def _draw(axes: Axes, map_: Map) -> None:
    if map_.grid is not None:
        _draw_grid(axes, map_.grid)
    _draw_solids(axes, map_)
    _draw_walls(axes, map_.segments)
    _draw_line(axes, map_.centre_line)
    _draw_cones(axes, map_)


def _draw_grid(axes: Axes, grid: Grid) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.transforms import Affine2D

    merge = -(-max(grid.shape) // _LARGEST_IMAGE)
    occupied = _merged(grid.occupied, merge)
    image = np.zeros((*occupied.shape, 4))
    if grid.unknown is not None:
        image[_merged(grid.unknown, merge)] = to_rgba(UNKNOWN)
    image[occupied] = to_rgba(INK)
    rows, columns = occupied.shape
    extent = merge * grid.resolution * np.array([0.0, columns, 0.0, rows])
    x, y, yaw = grid.origin
    place = Affine2D().rotate(yaw).translate(x, y) + axes.transData
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(
        image,
        origin="lower",
        extent=tuple(extent.tolist()),
        transform=place,
        interpolation="nearest",
        aspect="equal",
        zorder=1.0,
    )
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


def _merged(cells: Any, size: int) -> Any:
    """Blocks of cells as one that is true where any of them is."""
    rows, columns = (-(-length // size) for length in cells.shape)
    padded = np.zeros((rows * size, columns * size), dtype=np.bool_)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    return padded.reshape(rows, size, columns, size).any(axis=(1, 3))


def _draw_solids(axes: Axes, map_: Map) -> None:
    from matplotlib.collections import PathCollection

    paths = [_path(solid) for solid in map_.solids]
    if paths:
        axes.add_collection(PathCollection(paths, facecolor=SOLID, edgecolor="none", zorder=1.5))


def _path(solid: Polygon) -> Any:
    """Outline and holes as one path, which is filled between them as they run opposite ways."""
    from matplotlib.path import Path

    from ..plane.maps.shapes import signed_area

    parts: list[Path] = []
    for k, ring in enumerate([solid.outline, *solid.holes]):
        right_way = (signed_area(ring) > 0.0) == (k == 0)
        turned = ring if right_way else ring[::-1]
        parts.append(Path(np.vstack([turned, turned[:1]]), closed=True))
    return Path.make_compound_path(*parts)


def _draw_walls(axes: Axes, segments: Array) -> None:
    from matplotlib.collections import LineCollection

    if not len(segments):
        return
    width = 1.3 if len(segments) < 2000 else 0.6
    lines = LineCollection(list(segments.reshape(-1, 2, 2)), colors=INK, linewidths=width, zorder=2)
    lines.set_capstyle("round")
    axes.add_collection(lines, autolim=False)


def _draw_line(axes: Axes, rows: Array | None) -> None:
    if rows is not None:
        axes.plot(rows[:, 1], rows[:, 2], color=LINE_COLOUR, linewidth=1.1, zorder=3)


def _draw_cones(axes: Axes, map_: Map) -> None:
    for colour, shade in CONE_COLOURS.items():
        at = map_.cones[[k for k, own in enumerate(map_.colours) if own == colour]]
        axes.scatter(
            at[:, 0],
            at[:, 1],
            s=26 if colour == "orange" else 14,
            color=shade,
            edgecolors=INK,
            linewidths=0.4,
            zorder=4,
        )
