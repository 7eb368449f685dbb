"""What stands still in a world, as it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..plane.maps.grid import Grid as OccupiedGrid
from ..plane.pose import points_to_world
from ..world.contact.contacts import Moving
from ..world.contact.standing import standing_parts
from ..world.scene.scene import OccupancyGrid, PropertyRegion, Scene
from .description import Grid, Outline, Polygon
from .relief import reliefs_of

_PROPERTIES = {"friction_mu": "friction", "friction_C_rr": "rolling resistance"}


def still_life(scene: Scene) -> dict[str, Any]:
    """Polygons, grids and reliefs of a stage, by the names of its fields."""
    blocks = {block.name: block for block in scene.blocks}
    polygons: list[Polygon] = []
    for name, parts, pose in standing_parts(scene):
        block = blocks.get(name)
        if block is not None and block.animation:
            continue
        kind, colour = ("wall", "") if block is None else ("block", block.color)
        polygons += [Polygon(_placed(p.outline, pose), kind, name, colour) for p in parts]
    for element in scene.elements:
        # One without ends would be drawn over everything.
        if isinstance(element, PropertyRegion) and np.isfinite(_box(element)).all():
            polygons.append(Polygon(_box(element), "region", _words(element)))
    grids = [shown_grid(e.grid) for e in scene.elements if isinstance(e, OccupancyGrid)]
    return {"polygons": tuple(polygons), "grids": tuple(grids), "reliefs": reliefs_of(scene)}


def _words(region: PropertyRegion) -> str:
    """What is so in a region, for those who look at it."""
    value = region.value
    if region.name == "gps_no_coverage" and isinstance(value, bool):
        return "no GNSS" if value else "GNSS"
    shown = f"{value:g}" if isinstance(value, (int, float)) else str(value)
    return f"{_PROPERTIES.get(region.name, region.name)} {shown}"


def _placed(outline: Any, pose: Moving) -> Outline:
    corners = points_to_world(pose[:3], np.array(outline, dtype=float))
    return tuple((x, y) for x, y in corners.tolist())


def _box(region: PropertyRegion) -> Outline:
    low, high = (region.x_min, region.y_min), (region.x_max, region.y_max)
    return (low, (high[0], low[1]), high, (low[0], high[1]))


def shown_grid(grid: OccupiedGrid) -> Grid:
    """An occupancy grid as it is drawn."""
    cells = np.where(grid.occupied, np.uint8(255), np.uint8(0))
    if grid.unknown is not None:
        cells = np.where(grid.unknown & ~grid.occupied, np.uint8(128), cells)
    rows, columns = grid.shape
    x, y, _ = grid.origin
    return Grid(x, y, grid.resolution, columns, rows, cells.astype(np.uint8).tobytes())
