"""The map of a world, and what its robots look like: messages for planners and RViz."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from ...arrays import Array, Mask
from ...body import Outline, Wheel
from ...plane.maps import Grid
from ...plane.maps.raster import cells_under
from ...plane.polygon import enclosed, ring_edges
from ...plane.pose import points_to_world
from ...ros_messages import message_type
from ...units import m, rad
from ...world.contact.standing import standing_solids
from ...world.handle import WorldVehicle
from ...world.scene.scene import OccupancyGrid, Scene
from .world_names import MAP

MARGIN: m = 1.0
"""Of free cells around what is drawn."""
MOST_CELLS = 16_000_000
"""Of a map that is drawn; a larger world has larger cells."""
FREE, OCCUPIED, UNKNOWN = 0, 100, -1
_LINE_STRIP = 4
_CHASSIS_COLOUR = (0.9, 0.9, 0.9, 0.9)
_WHEEL_COLOUR = (0.196, 0.196, 0.196, 1.0)


def map_of(scene: Scene, resolution: m) -> Grid | None:
    """Everything that stands still, as cells that the robots begin in too; None if there is
    nothing.

    A world whose only obstacles are one grid is that grid as it is.
    """
    grids = [e.grid for e in scene.elements if isinstance(e, OccupancyGrid)]
    outlines = [
        points_to_world(pose[:3], np.array(part.outline, dtype=float))
        for parts, pose in standing_solids(scene)
        for part in parts
    ]
    if len(grids) == 1 and not outlines:
        return grids[0]
    corners = [*outlines, *(grid.corners for grid in grids)]
    if not corners:
        return None
    robots = [[vehicle.pose[:2]] for vehicle in scene.vehicles]
    ends = np.concatenate([*corners, *robots])
    bounds = (*ends.min(axis=0).tolist(), *ends.max(axis=0).tolist())
    cells = _cells(bounds, min([resolution, *(grid.resolution for grid in grids)]))
    occupied = np.zeros(cells.shape, dtype=np.bool_)
    for grid in grids:
        occupied |= grid.at(cells.centres().reshape(-1, 2)).reshape(cells.shape)
    for outline in outlines:
        _draw(occupied, cells.to_grid(outline) / cells.resolution)
    return Grid(occupied, cells.resolution, cells.origin)


def _cells(bounds: tuple[m, m, m, m], resolution: m) -> Grid:
    """Free cells over some bounds, coarser than asked for if they were too many."""
    x0, y0, x1, y1 = bounds
    area = (x1 - x0 + 2.0 * MARGIN) * (y1 - y0 + 2.0 * MARGIN)
    return Grid.over(bounds, max(resolution, (area / MOST_CELLS) ** 0.5), MARGIN)


def _draw(occupied: Mask, ring: Array) -> None:
    """Mark the cells that an outline touches or has inside; it is given in cells."""
    edges = ring_edges(ring)
    (left, low), (right, high) = (np.floor(end).astype(int) for end in (ring.min(0), ring.max(0)))
    part = occupied[max(low - 1, 0) : high + 2, max(left - 1, 0) : right + 2]
    corner = np.array([max(left - 1, 0), max(low - 1, 0)], dtype=float)
    part |= cells_under(edges - np.tile(corner, 2), part.shape)
    rows, columns = np.indices(part.shape)
    middles = np.stack([columns, rows], axis=-1, dtype=np.float64).reshape(-1, 2) + 0.5 + corner
    part |= enclosed(middles, ring).reshape(part.shape)


def map_message(grid: Grid, stamp: Any) -> Any:
    """A `nav_msgs/OccupancyGrid`."""
    cells = np.where(grid.occupied, np.int8(OCCUPIED), np.int8(FREE))
    if grid.unknown is not None:
        cells = np.where(grid.unknown, np.int8(UNKNOWN), cells)
    rows, columns = grid.shape
    x, y, yaw = grid.origin
    info = message_type("nav_msgs/msg/MapMetaData").Record(
        stamp, grid.resolution, columns, rows, pose_message(x, y, yaw)
    )
    header = message_type("std_msgs/msg/Header").Record(stamp, MAP)
    return message_type("nav_msgs/msg/OccupancyGrid").Record(header, info, cells.ravel())


def pose_message(x: m, y: m, yaw: rad) -> Any:
    """A `geometry_msgs/Pose` in the plane."""
    Point = message_type("geometry_msgs/msg/Point").Record
    turn = message_type("geometry_msgs/msg/Quaternion").Record(
        0.0, 0.0, sin(0.5 * yaw), cos(0.5 * yaw)
    )
    return message_type("geometry_msgs/msg/Pose").Record(Point(x, y, 0.0), turn)


def polygon_message(vehicle: WorldVehicle) -> Any:
    """The outline of a chassis, a `geometry_msgs/Polygon`: what planners take as footprint."""
    Point = message_type("geometry_msgs/msg/Point32").Record
    points = tuple(Point(x, y, 0.0) for x, y in vehicle.built.geometry.outlines[0])
    return message_type("geometry_msgs/msg/Polygon").Record(points)


def markers_message(vehicle: WorldVehicle, number: int, frame: str) -> Any:
    """Outlines of chassis and wheels, a `visualization_msgs/MarkerArray`."""
    geometry = vehicle.built.geometry
    chassis = _marker(
        frame, "mvsim.chassis_shape", number, geometry.outlines[0], (0.0, 0.0, 0.0),
        _CHASSIS_COLOUR,
    )  # fmt: skip
    wheels = [
        _marker(
            frame, f"mvsim.chassis_shape.wheel{k}", number, _rectangle(wheel), (wheel.x, wheel.y,
            wheel.yaw), _WHEEL_COLOUR,
        )
        for k, wheel in enumerate(geometry.wheels)
    ]  # fmt: skip
    return message_type("visualization_msgs/msg/MarkerArray").Record((chassis, *wheels))


def _marker(
    frame: str,
    space: str,
    number: int,
    outline: Outline,
    at: tuple[m, m, rad],
    colour: tuple[float, float, float, float],
) -> Any:
    Point = message_type("geometry_msgs/msg/Point").Record
    return message_type("visualization_msgs/msg/Marker").Record(
        header=message_type("std_msgs/msg/Header").Record(frame_id=frame),
        ns=space,
        id=number,
        type=_LINE_STRIP,
        pose=pose_message(*at),
        scale=message_type("geometry_msgs/msg/Vector3").Record(0.05, 0.05, 0.02),
        color=message_type("std_msgs/msg/ColorRGBA").Record(*colour),
        frame_locked=True,
        points=tuple(Point(x, y, 0.0) for x, y in (*outline, outline[0])),
    )


def _rectangle(wheel: Wheel) -> Outline:
    a, b = wheel.radius, 0.5 * wheel.width
    return ((a, b), (a, -b), (-a, -b), (-a, b))
