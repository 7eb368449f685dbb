"""What stands and moves on a stage, drawn from above in metres."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...stage import Stage
from ..numbers.bodies import Placed
from ..style import DASHES, DOTS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CELLS = 2000
"""Cells of an occupancy grid across or up; more are merged."""
WALL, BLOCK, REGION = "#8A8F98", "#B08D57", "#7FB8A4"
UNKNOWN = "#F3F1E7"
"""Fill of cells that nobody has seen."""
_FILLS = {"wall": WALL, "block": BLOCK}
_CONE = "#E8720C"
_LINES: dict[str, Any] = {"centre": DOTS, "reference": DASHES}


def draw_areas(axes: Axes, outlines: Sequence[Array], **look: Any) -> None:
    """Closed outlines (n, 2), filled."""
    from matplotlib.collections import PolyCollection

    if len(outlines):
        look = {"edgecolor": "none", "linewidth": 0.8, **look}
        axes.add_collection(PolyCollection(list(outlines), **look))


def draw_stage(axes: Axes, stage: Stage) -> None:
    """Grids, regions, walls and blocks, lines on the ground and cones, in this order."""
    for grid in stage.grids:
        cells = np.frombuffer(grid.cells, np.uint8).reshape(grid.height, grid.width)
        place = (grid.x, grid.y, 0.0)
        draw_cells(axes, cells == 255, None, grid.resolution, place, WALL)
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
    """Points (n, 2) that a diagram of the stage has to show."""
    points = [np.asarray(polygon.points) for polygon in stage.polygons]
    points += [np.asarray(line.points) for line in stage.lines]
    points += [np.array([[disc.x, disc.y]]) for disc in stage.discs]
    for grid in stage.grids:
        corner = np.array([grid.x, grid.y])
        far = corner + grid.resolution * np.array([grid.width, grid.height])
        points.append(np.array([corner, far]))
    return np.vstack([np.empty((0, 2)), *points])


def draw_bodies(
    axes: Axes, bodies: Sequence[Placed], fills: Mapping[str, str], *, alpha: float
) -> None:
    """Outlines and wheels of bodies; `fills` are their colours, by the body's name or kind."""
    outlines: dict[str, list[Array]] = {}
    # Trailers below what pulls them.
    for body in sorted(bodies, key=lambda one: one.body.kind != "trailer"):
        fill = fills.get(body.body.name) or fills[body.body.kind]
        outlines.setdefault(fill, []).extend(body.outlines)
    for fill, areas in outlines.items():
        draw_areas(axes, areas, facecolor=fill, edgecolor=INK, alpha=alpha, zorder=3.0)
    wheels = [wheel for body in bodies for wheel in body.wheels]
    draw_areas(axes, wheels, facecolor="#444444", zorder=3.1)


def draw_cells(
    axes: Axes,
    occupied: Any,
    unknown: Any,
    resolution: float,
    origin: tuple[float, float, float],
    colour: str,
) -> None:
    """An occupancy grid (rows from below, columns) as a picture; `origin` is the pose of its
    corner. Where it has too many cells, some are drawn as one that is occupied if any is."""
    from matplotlib.colors import to_rgba
    from matplotlib.transforms import Affine2D

    merge = -(-max(occupied.shape) // MOST_CELLS)
    shown = _merged(occupied, merge)
    image = np.zeros((*shown.shape, 4))
    if unknown is not None:
        image[_merged(unknown, merge)] = to_rgba(UNKNOWN)
    image[shown] = to_rgba(colour)
    rows, columns = merge * resolution * np.array(shown.shape)
    x, y, yaw = origin
    axes.imshow(
        image,
        origin="lower",
        extent=(0.0, columns, 0.0, rows),
        transform=Affine2D().rotate(yaw).translate(x, y) + axes.transData,
        interpolation="nearest",
        aspect="equal",
        zorder=1.1,
    )


def _merged(cells: Any, size: int) -> Any:
    """Blocks of cells as one that is true where any of them is."""
    rows, columns = (-(-length // size) for length in cells.shape)
    padded = np.zeros((rows * size, columns * size), dtype=np.bool_)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    return padded.reshape(rows, size, columns, size).any(axis=(1, 3))


def known_colour(colour: str) -> str:
    """A colour such as #aabbcc; nothing for what is none."""
    from matplotlib.colors import is_color_like, to_hex

    return to_hex(colour) if is_color_like(colour) else ""
