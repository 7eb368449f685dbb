"""The picture of a map: solid areas, occupancy grid, walls, centre line and cones."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plane.maps.areas import Polygon
from ...plane.maps.map import Map
from ...plane.polygon import signed_area
from ..layout import FilePath, check, finished, new_figure
from ..style import BLUE, DPI, INK
from ..words import literal
from .scenery import draw_cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOLID = "#D6DAE0"
CONES = {"blue": "#1F6FD0", "yellow": "#F2C200", "orange": "#E8720C"}

_LONGER_SIDE = 6.4
"""Of the area with the map, in inches."""


def plot(map_: Map, path: FilePath = None, *, title: str | None = None) -> Figure:
    """The figure described at `Map.plot`."""
    check(path, "matplotlib", None)
    x0, y0, x1, y1 = map_.bounds
    room = 0.04 * max(x1 - x0, y1 - y0, 1e-3)
    width, height = x1 - x0 + 2.0 * room, y1 - y0 + 2.0 * room
    scale = _LONGER_SIDE / max(width, height)
    size = (max(3.2, width * scale) + 0.8, max(1.6, height * scale) + 0.9)
    with new_figure((1.0,), (1.0,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        axes.set_aspect("equal", adjustable="box")
        axes.set(xlim=(x0 - room, x1 + room), ylim=(y0 - room, y1 + room))
        draw_map(axes, map_)
        heading = literal(map_.name if title is None else title)
        axes.set(xlabel="x [m]", ylabel="y [m]", title=heading)
    return finished(figure, path)


def png(map_: Map) -> bytes:
    """The figure as a PNG file."""
    buffer = BytesIO()
    plot(map_).savefig(buffer, dpi=DPI / 1.5, format="png")
    return buffer.getvalue()


def draw_map(axes: Axes, map_: Map, *, line_colour: str = BLUE) -> None:
    """What is in a map, on axes with equal scales."""
    from matplotlib.collections import LineCollection, PathCollection

    if (cells := map_.grid) is not None:
        place = (cells.resolution, cells.origin)
        draw_cells(axes, cells.occupied, cells.unknown, *place, INK)
    solids = [_outline(solid) for solid in map_.solids]
    axes.add_collection(PathCollection(solids, facecolor=SOLID, edgecolor="none", zorder=1.2))
    width = 1.3 if len(map_.segments) < 2000 else 0.6
    walls = LineCollection(
        list(map_.segments.reshape(-1, 2, 2)), colors=INK, linewidths=width, zorder=1.3
    )
    walls.set_capstyle("round")
    axes.add_collection(walls)
    if map_.centre_line is not None:
        _, x, y, *_ = map_.centre_line.T
        axes.plot(x, y, color=line_colour, linewidth=1.1, zorder=1.4)
    for colour, shade in CONES.items():
        at = map_.cones[[k for k, own in enumerate(map_.colours) if own == colour]]
        if len(at):
            area = 26.0 if colour == "orange" else 14.0
            look: Any = {"color": shade, "edgecolors": INK, "linewidths": 0.4}
            axes.scatter(*at.T, s=area, zorder=1.5, **look)


def _outline(solid: Polygon) -> Any:
    """Outline and holes as one path, which is filled between them as they run opposite ways."""
    from matplotlib.path import Path

    parts: list[Path] = []
    for k, ring in enumerate([solid.outline, *solid.holes]):
        right_way = (signed_area(ring) > 0.0) == (k == 0)
        turned = ring if right_way else ring[::-1]
        parts.append(Path(np.vstack([turned, turned[:1]]), closed=True))
    return Path.make_compound_path(*parts)
