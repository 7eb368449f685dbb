"""What stands still on a stage as marks of a diagram."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...arrays import Array
from ...stage import Grid, Stage
from .sheet import Areas, Curve, Dots, Mark

MOST_CELLS = 160
"""Cells of an occupancy grid across or up; more are drawn as one."""
WALL, BLOCK, REGION = "#8A8F98", "#B08D57", "#7FB8A4"
_FILLS = {"wall": WALL, "block": BLOCK}
_CONE = "#E8720C"
_LINES = {"boundary": ("solid", 1.0), "centre": ("dot", 1.0), "reference": ("dash", 1.0)}
_HEX = frozenset("0123456789abcdefABCDEF")


def still_marks(stage: Stage) -> list[Mark]:
    """Grids, regions, walls and blocks, lines on the ground and cones, in this order."""
    marks: list[Mark] = []
    for grid in stage.grids:
        cells = tuple(occupied(grid))
        if cells:
            marks.append(Areas(cells, fill=WALL))
    for polygon in sorted(stage.polygons, key=lambda p: p.kind in _FILLS):
        fill = safe_colour(polygon.colour) or _FILLS.get(polygon.kind, REGION)
        opacity = 0.9 if polygon.kind in _FILLS else 0.25
        marks.append(Areas((np.asarray(polygon.points),), fill=fill, opacity=opacity))
    for line in stage.lines:
        points = np.asarray(line.points)
        dash, width = _LINES.get(line.kind, ("solid", 1.0))
        colour = safe_colour(line.colour) or "#B4BBC4"
        marks.append(Curve(points[:, 0], points[:, 1], "", colour, dash, width))  # type: ignore[arg-type]
    return [*marks, *_cones(stage)]


def _cones(stage: Stage) -> Iterable[Mark]:
    """Discs, one mark for all of a colour and size."""
    kinds: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for disc in stage.discs:
        key = (safe_colour(disc.colour) or _CONE, disc.radius)
        kinds.setdefault(key, []).append((disc.x, disc.y))
    for (colour, radius), places in kinds.items():
        at = np.array(places)
        yield Dots(at[:, 0], at[:, 1], "", colour, size=3.8 if radius > 0.13 else 3.0)


def still_extent(stage: Stage) -> Array:
    """Points (n, 2) that a diagram of the stage has to show."""
    points = [np.asarray(polygon.points) for polygon in stage.polygons]
    points += [np.asarray(line.points) for line in stage.lines]
    points += [np.array([[disc.x, disc.y]]) for disc in stage.discs]
    for grid in stage.grids:
        corner = np.array([grid.x, grid.y])
        far = corner + grid.resolution * np.array([grid.width, grid.height])
        points.append(np.array([corner, far]))
    return np.vstack([np.empty((0, 2)), *points])


def safe_colour(colour: str) -> str:
    """A colour such as #aabbcc; nothing for what is none."""
    text = colour.strip()
    if text.startswith("#") and len(text) in (7, 9) and all(c in _HEX for c in text[1:]):
        return text[:7]
    return ""


def occupied(grid: Grid) -> Iterable[Array]:
    """Rectangles over the occupied cells of a grid: stretches of rows, coarse if there are many."""
    cells = np.frombuffer(grid.cells, np.uint8).reshape(grid.height, grid.width) == 255
    step = max(1, -(-max(cells.shape) // MOST_CELLS))
    height, width = (-(-length // step) for length in cells.shape)
    padded = np.zeros((height * step, width * step), bool)
    padded[: cells.shape[0], : cells.shape[1]] = cells
    coarse = np.asarray(padded.reshape(height, step, width, step).any(axis=(1, 3)))
    size = step * grid.resolution
    for i, line in enumerate(coarse):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], line, [False]]).astype(int)))
        for begin, end in edges.reshape(-1, 2).tolist():
            low, high = (grid.x + begin * size, grid.x + end * size)
            y = grid.y + i * size
            yield np.array([[low, y], [high, y], [high, y + size], [low, y + size]])
