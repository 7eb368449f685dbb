"""Pictures of a moment as arrays of pixels, drawn without a browser or a display.

They look like the page from above. A picture of 640 x 480 pixels takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import brief_repr, shown
from ..checks import must_be, whole
from ..errors import InvalidValue
from ..plane.maps.cones import borders
from ..plane.maps.grid import Grid
from ..plane.maps.map import Map
from ..plane.pixels import Pixels
from ..plane.polygon import FARTHEST, signed_area
from ..units import Allowed, m
from .canvas import Canvas
from .description import Line, Polygon
from .drawn_vehicle import Drawn, DrawnUnit, drawn
from .looks import ECHO, GROUND, rgb
from .scenery import Scenery
from .vehicle_looks import draw_vehicle

__all__ = ["Drawn", "DrawnUnit", "FramePainter", "drawn"]

MOST_PIXELS = 8192
"""Largest width and height."""
SCALES = Allowed(1e-3, 1e5)
"""In pixels per metre."""
_LENGTHS_SEEN = 9.0
"""How many lengths of the vehicle a picture is wide."""
_WIDTHS: tuple[m, m] = (8.0, 60.0)
"""What a picture is wide at least and at most."""
_LEAST_LENGTHS = 2.5
"""However long a road train is, so many lengths of it are seen."""
_MARGIN = 0.05
"""Share of the picture that is free on each side where all that stands still is seen."""


class FramePainter:
    """Draws vehicles among what stands still: frames (height, width, 3) of bytes.

    x is to the right and y up, as in the world. `walls` (k, 4) are segments x0, y0, x1, y1 in m,
    `cones` are positions (n, 2) with a colour each, "blue", "yellow", "orange" or `#rrggbb`;
    `polygons` and `lines` are those of a `Stage`, such as lanes, patches of ice and references.
    Edges of cones among the walls are left out. `size` is the width and the height in pixels.
    """

    def __init__(
        self,
        walls: Any = None,
        *,
        grid: Grid | None = None,
        cones: Any = None,
        cone_colours: Sequence[str] = (),
        polygons: Iterable[Polygon] = (),
        lines: Iterable[Line] = (),
        size: tuple[int, int] = (640, 480),
    ) -> None:
        self.size = _size(size)
        self._scenery = Scenery(walls, grid, cones, cone_colours, polygons, lines)

    __repr__ = brief_repr

    @classmethod
    def of_map(cls, ground: Map, *, size: tuple[int, int] = (640, 480)) -> FramePainter:
        """Draws vehicles on a map, with the lane along its centre line if it has one."""
        areas = zip(ground.polygons, ground.holes, strict=True)
        solids = [Polygon(_seamed(outline, holes), "solid") for outline, holes in areas]
        lanes = [] if ground.centre_line is None else [_lane(ground.centre_line)]
        return cls(
            ground.segments,
            grid=ground.grid,
            cones=ground.cones,
            cone_colours=ground.colours,
            polygons=[*lanes, *solids],
            size=size,
        )

    def frame(
        self,
        vehicles: Sequence[Drawn] = (),
        *,
        centre: tuple[m, m] | None = None,
        scale: float | None = None,
        lidar: Any = None,
        text: str = "",
    ) -> Pixels:
        """A picture of these vehicles, the first on top; each call gives a new array.

        The picture is about `centre`, or the first vehicle, with `scale` pixels per metre, or as
        much as suits the size of that vehicle; without vehicles all that stands still is seen.
        `lidar` (n, 2) are points in the world that rays have hit; those that are not finite hit
        nothing. `text` is written in the upper left corner, which needs the extra `maps`.
        """
        vehicles = _vehicles(vehicles)
        hits = _hits(lidar)
        if not isinstance(text, str):
            raise InvalidValue(f"text = {text!r} must be a text")
        canvas = Canvas(self.size, *self._view(vehicles, centre, scale), GROUND)
        self._scenery.draw(canvas)
        for number, vehicle in reversed([*enumerate(vehicles)]):
            draw_vehicle(canvas, vehicle, number)
        canvas.squares(hits, min(max(0.06 * canvas.scale, 2.0), 3.0), rgb(ECHO))
        if text:
            canvas.card(text)
        return canvas.pixels

    def _view(
        self, vehicles: Sequence[Drawn], centre: Any, scale: float | None
    ) -> tuple[tuple[m, m], float]:
        """Middle of the picture, and pixels in a metre."""
        if vehicles:
            at, usual = vehicles[0].vehicle.pose[:2], self.size[0] / _width_about(vehicles[0])
        else:
            at, usual = self._all_seen()
        return (
            at if centre is None else _point("centre", centre),
            usual if scale is None else must_be("scale", scale, SCALES, "pixels/m"),
        )

    def _all_seen(self) -> tuple[tuple[m, m], float]:
        box = self._scenery.bounds
        if box is None:
            return (0.0, 0.0), self.size[0] / _WIDTHS[1]
        x0, y0, x1, y1 = box
        lengths = (max(x1 - x0, 1.0), max(y1 - y0, 1.0))
        scale = min(pixels / length for pixels, length in zip(self.size, lengths, strict=True))
        return (0.5 * (x0 + x1), 0.5 * (y0 + y1)), (1.0 - 2.0 * _MARGIN) * scale


def _width_about(vehicle: Drawn) -> m:
    """How wide a picture of a vehicle is."""
    length = 0.0
    for unit in vehicle.units:
        along = [x for outline in unit.outlines for x, _ in outline]
        length += max(along, default=0.0) - min(along, default=0.0)
    least, most = _WIDTHS
    return max(min(max(_LENGTHS_SEEN * length, least), most), _LEAST_LENGTHS * length)


def _size(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"size = {shown(size)} must be width and height in pixels") from None
    allowed = f"from 1 to {MOST_PIXELS} pixels"
    numbers = whole("width of size", width, allowed), whole("height of size", height, allowed)
    for name, number in zip(("width", "height"), numbers, strict=True):
        if number > MOST_PIXELS:
            raise InvalidValue(f"{name} of size = {number} must be {allowed}")
    return numbers


def _point(name: str, point: Any) -> tuple[m, m]:
    try:
        x, y = point
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(point)} must be two numbers: x, y") from None
    near = Allowed(-FARTHEST, FARTHEST)
    return must_be(f"x of {name}", x, near, "m"), must_be(f"y of {name}", y, near, "m")


def _vehicles(vehicles: Any) -> Sequence[Drawn]:
    if isinstance(vehicles, Drawn):
        return (vehicles,)
    vehicles = tuple(vehicles)
    for vehicle in vehicles:
        if not isinstance(vehicle, Drawn):
            raise InvalidValue(
                f"vehicles must be Drawn, got a {type(vehicle).__qualname__}: "
                "skidpad.stage.frames.drawn(vehicle, x) makes one"
            )
    return vehicles


def _hits(lidar: Any) -> Array:
    try:
        points = np.empty((0, 2)) if lidar is None else np.asarray(lidar, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"lidar must be points (n, 2): {error}") from error
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidValue(f"lidar has shape {points.shape}; allowed is (n, 2)")
    return points[np.isfinite(points).all(axis=1)]


def _lane(rows: Array) -> Polygon:
    """The ground between the borders of a centre line."""
    left, right = borders(rows)
    return Polygon(_points(np.concatenate([left, right[::-1]])), "lane")


def _seamed(outline: Array, holes: Sequence[Array]) -> tuple[tuple[float, float], ...]:
    """An area with holes as one ring, which goes to each hole and back again."""
    ring = outline if signed_area(outline) > 0.0 else outline[::-1]
    parts = [ring]
    for hole in holes:
        inner = hole if signed_area(hole) < 0.0 else hole[::-1]
        parts += [ring[:1], inner, inner[:1]]
    return _points(np.concatenate([*parts, ring[:1]]) if holes else ring)


def _points(points: Array) -> tuple[tuple[float, float], ...]:
    return tuple((x, y) for x, y in points.tolist())
