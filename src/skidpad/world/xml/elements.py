"""Reading `<element>`: maps, ground, planes and regions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.arrays import Array
from ...core.files import open_file, reading
from ...errors import InvalidValue, require
from ...road.road import Road
from ...units import non_negative, positive
from ..scene import (
    Element,
    ElevationMap,
    HorizontalPlane,
    OccupancyGrid,
    Opening,
    Pose,
    PropertyRegion,
    RoadGround,
    VerticalPlane,
)
from .fields import Fields, as_number, as_switch, one_of
from .markup import Node
from .things import RENDERED, keyframes, matrix, table

PICTURES = {
    "ground_grid": ("floating", "floating_focus", "color", "line_width", "interval"),
    "pointcloud": ("file_txt_2d", "file_txt_3d", "pose_3d", "render_max_vertical_extent"),
    "skybox": ("textures",),
}
"""Classes that a renderer would show, and tags of theirs."""
_SURFACE = (
    *("cull_face", "texture", "texture_size_x", "texture_size_y", "color", "enable_shadows"),
    *("normal_map", "normal_map_image", "texture_image", "texture_image_rotate"),
    *("texture_extension_x", "texture_extension_y", "model_split_size", "mesh_color"),
    *("debug_show_contact_points", "skip_elevation_adjust", "publish", "show_collisions"),
)
"""Tags that only change the picture."""
MOST_HEIGHTS = 25_000_000
"""Heights of an elevation map."""
_EDGES = ("x_min", "x_max", "y_min", "y_max")


def element(node: Node) -> Element | None:
    """The map, ground, wall or region of an `<element>`; None if it is not simulated."""
    kind = one_of(node, "class of element", node.needed("class"), [*READERS, *PICTURES])
    fields = Fields.of(node)
    fields.ignore(_SURFACE)
    node.expects("name")
    if kind in PICTURES:
        fields.ignore([*PICTURES[kind], *_EDGES])
        fields.finish()
        node.context.note(RENDERED, kind, node.source)
        return None
    spec = READERS[kind](fields, node)
    fields.finish()
    return spec


def _occupancy_grid(fields: Fields, node: Node) -> OccupancyGrid:
    from ...geometry.maps.occupancy import read_grid, read_image, read_occupancy

    name, file = _file(fields, node)
    resolution = fields.number("resolution", 0.1, positive)
    # The pixel is counted from the lower left. That no pixel given means -1, and not the middle, is
    # how upstream's library has taken it for years, and worlds are drawn to fit.
    x, y = (-resolution * fields.number(f"centerpixel_{axis}", -1.0) for axis in "xy")
    name.regular(file)
    try:
        if file.suffix.lower() in (".yaml", ".yml"):
            grid = read_occupancy(file).grid
        elif file.name.lower().endswith((".gridmap", ".gridmap.gz")):
            grid = read_grid(file)
        else:
            # A cell is occupied where the picture is darker than the middle.
            grid = read_image(
                file,
                resolution=resolution,
                origin=(x, y, 0.0),
                occupied_thresh=0.5,
                free_thresh=0.5,
                mode="scale",
            ).grid
    except InvalidValue as error:
        raise name.error(error) from None
    assert grid is not None
    return fields.record(OccupancyGrid(grid, source=node.source))


def _file(fields: Fields, node: Node) -> tuple[Node, Path]:
    """The `<file>` of an element, and the path in it."""
    name = fields.find("file")
    if name is None:
        raise node.error("<file> is missing")
    return name, name.path(name.text())


def _elevation_map(fields: Fields, node: Node) -> ElevationMap:
    resolution = fields.number("resolution", 1.0, positive)
    scale = fields.number("elevation_data_matrix_scale", 1.0)
    low = fields.number("elevation_image_min_z", 0.0)
    high = fields.number("elevation_image_max_z", 5.0)
    offset = [fields.number(f"dem_offset_{axis}", 0.0) for axis in "xyz"]
    image, written = fields.find("elevation_image"), fields.find("elevation_data_matrix")
    points = fields.find("dem_xyzrgb_file")
    corner: tuple[float, float] | None = None
    if image is not None:
        heights = _picture_heights(image, low, high)
    elif written is not None:
        heights = scale * matrix(written)
    elif points is not None:
        heights, corner = _scattered(points, resolution, offset)
    else:
        raise node.error(
            "<elevation_image>, <elevation_data_matrix> or <dem_xyzrgb_file> is missing"
        )
    if min(heights.shape) < 2:
        raise node.error(f"heights on {heights.shape[0]} x {heights.shape[1]} points make no area")
    heights = _smoothed(fields, heights)
    heights.flags.writeable = False
    if corner is None:
        sides = [-0.5 * (count - 1) * resolution for count in heights.shape]
        corner = (
            fields.number("corner_min_x", sides[0]),
            fields.number("corner_min_y", sides[1]),
        )
    fields.ignore(("corner_min_x", "corner_min_y"))
    return ElevationMap(heights, resolution, corner, node.source)


def _road(fields: Fields, node: Node) -> RoadGround:
    """The road of an OpenCRG file, with a grip."""
    name, file = _file(fields, node)
    grip = fields.number("grip", 1.0, non_negative)
    name.regular(file)
    try:
        road = Road.load(file)
    except InvalidValue as error:
        raise name.error(error) from None
    return RoadGround(road if grip == 1.0 else road.with_grip(grip), node.source)


def _picture_heights(node: Node, low: float, high: float) -> Array:
    """Heights of a grey picture, its darkest pixel lowest; rows run along x, columns along y."""
    Image = require("PIL.Image", purpose="Heights from a picture")
    file = node.regular(node.path(node.text()))
    try:
        with (
            reading(file, "cannot be read as an image"),
            open_file(file) as stream,
            Image.open(stream) as picture,
        ):
            if picture.width * picture.height > MOST_HEIGHTS:
                raise InvalidValue(
                    f"{file} has {picture.width} x {picture.height} pixels; allowed are "
                    f"{MOST_HEIGHTS}"
                )
            mode = "I" if picture.mode.startswith("I") else "L"
            shades = np.asarray(picture.convert(mode), dtype=np.float64)
    except InvalidValue as error:
        raise node.error(error) from None
    span = shades.max() - shades.min()
    if span == 0.0:
        raise node.error(f"{file} has one shade only, so that it says nothing about heights")
    return low + (high - low) * (shades - shades.min()) / span


def _scattered(
    node: Node, resolution: float, offset: list[float]
) -> tuple[Array, tuple[float, float]]:
    """Heights on a lattice from points x y z anywhere: each takes that of the nearest point."""
    from scipy.spatial import KDTree

    points = table(node, node.path(node.text()), 3)[:, :3] + np.array(offset)
    lowest = points[:, :2].min(axis=0)
    sides = np.ceil((points[:, :2].max(axis=0) - lowest) / resolution)
    if not (sides.min() >= 2 and math.prod(sides.tolist()) <= MOST_HEIGHTS):
        raise node.error(
            f"resolution = {resolution:g} m makes {sides[0]:g} x {sides[1]:g} heights of the file; "
            f"allowed are 2 x 2 and more, and {MOST_HEIGHTS} in all"
        )
    counts = sides.astype(int)
    x, y = ((0.5 + np.arange(count)) * resolution for count in counts)
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    nearest = KDTree(points[:, :2] - lowest).query(nodes)[1]
    heights = points[nearest, 2].reshape(counts[0], counts[1])
    # Upstream takes the heights of the middles of the cells for those of their lowest corners.
    corner = lowest if node.context.upstream else lowest + 0.5 * resolution
    return heights, (float(corner[0]), float(corner[1]))


def _smoothed(fields: Fields, heights: Array) -> Array:
    """Heights after the filter of `<apply_kernel>`; beyond the edge they are as at it.

    To upstream they are 0 there, which draws the edges of a map towards 0.
    """
    node = fields.find("apply_kernel")
    if node is None:
        return heights
    from scipy.ndimage import correlate

    kernel = matrix(node)
    if kernel.shape[0] != kernel.shape[1] or kernel.shape[0] % 2 == 0:
        raise node.error(f"the kernel must be square with an odd side, got {kernel.shape}")
    if abs(kernel.sum() - 1.0) > 5e-3:
        raise node.error(f"the numbers of the kernel must add up to 1, got {kernel.sum():g}")
    beyond = "constant" if node.context.upstream else "nearest"
    return np.asarray(correlate(heights, kernel, mode=beyond), dtype=np.float64)


def _horizontal_plane(fields: Fields, node: Node) -> HorizontalPlane:
    plane = fields.record(HorizontalPlane(source=node.source))
    if plane.x_min >= plane.x_max or plane.y_min >= plane.y_max:
        raise node.error("x_min and y_min must lie below x_max and y_max")
    pose = fields.pose(flat="init_pose", solid="init_pose3d", default=Pose())
    return replace(plane, pose=pose or Pose(), animation=keyframes(fields))


def _vertical_plane(fields: Fields, node: Node) -> VerticalPlane:
    plane = fields.record(VerticalPlane(source=node.source))
    if math.dist((plane.x0, plane.y0), (plane.x1, plane.y1)) == 0.0:
        raise node.error(f"the wall begins and ends at {plane.x0:g} {plane.y0:g}")
    fields.pose(flat="init_pose", solid="init_pose3d", default=Pose())
    openings = tuple(
        opening
        for child in fields.all("door", "window")
        if (opening := fields.attempt(lambda child=child: _opening(child), None)) is not None
    )
    return replace(plane, openings=openings)


def _opening(node: Node) -> Opening:
    fields = Fields.of(node)
    template = Opening(node.tag)  # pyright: ignore[reportArgumentType]
    # Upstream takes both forms here.
    opening = fields.record(template, attributes_of=node, children=True)
    name = node.attribute("name") or fields.string("name") or fields.string("n")
    fields.ignore(("name", "n"))
    fields.finish()
    if opening.z_max <= opening.z_min:
        raise node.error(f"z_max = {opening.z_max:g} must be above z_min = {opening.z_min:g}")
    return replace(opening, name=name)


def _property_region(fields: Fields, node: Node) -> PropertyRegion | None:
    name = fields.string("property_name")
    region = fields.record(PropertyRegion(name, 0.0, source=node.source))
    for axis in "xyz":
        if getattr(region, f"{axis}_min") > getattr(region, f"{axis}_max"):
            raise node.error(f"{axis}_min must not exceed {axis}_max")
    number = fields.find("value_double")
    switch = fields.find("value_bool")
    words = fields.find("value_string")
    if not name:
        # Upstream ignores a region without a name, and one of its worlds has such regions.
        what = "they have no <property_name>"
        node.context.note(f"regions left out, as {what}", "property_region", node.source)
        return None
    if number is not None:
        return replace(region, value=as_number(number, number.tag, number.text()))
    if switch is not None:
        return replace(region, value=as_switch(switch, switch.tag, switch.text()))
    if words is not None:
        return replace(region, value=words.text())
    raise node.error("<value_double>, <value_bool> or <value_string> is missing")


READERS: dict[str, Callable[[Fields, Node], Element | None]] = {
    "occupancy_grid": _occupancy_grid,
    "elevation_map": _elevation_map,
    "road": _road,
    "horizontal_plane": _horizontal_plane,
    "vertical_plane": _vertical_plane,
    "property_region": _property_region,
}
"""Readers of elements by class."""
