"""A picture that is being drawn: shapes in metres of the world, seen from above, on pixels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..errors import require
from ..geometry.pixels import Pixels, empty_shares, fill_polygons
from ..units import m
from .colours import CIRCLE, FONT_SIZE, INK, PADDING, SURFACE, rgb


class Canvas:
    """Pixels over a part of the world: x to the right, y up.

    The view lies on whole pixels, so that what stands still looks the same from picture to picture
    while the view moves.
    """

    def __init__(
        self, size: tuple[int, int], centre: tuple[m, m], scale: float, ground: str
    ) -> None:
        width, height = size
        self.scale = scale
        """Pixels in a metre."""
        self.left = round(centre[0] * scale - 0.5 * width)
        """Pixels from the origin of the world to the left border of the picture."""
        self.top = round(-centre[1] * scale - 0.5 * height)
        """Pixels from the origin of the world down to the upper border of the picture."""
        self.pixels: Pixels = np.empty((height, width, 3), np.uint8)
        # Row by row, which is many times as fast as pixel by pixel.
        self.pixels[0] = rgb(ground)
        self.pixels[1:] = self.pixels[0]
        self._shares = empty_shares(height, width)

    @property
    def box(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y of what is seen, and a few pixels around."""
        height, width, _ = self.pixels.shape
        around = 8.0
        return (
            (self.left - around) / self.scale,
            -(self.top + height + around) / self.scale,
            (self.left + width + around) / self.scale,
            -(self.top - around) / self.scale,
        )

    def to_pixels(self, points: Array) -> Array:
        """Places on the picture of points (..., 2) of the world."""
        return points * (self.scale, -self.scale) - (self.left, self.top)

    def polygon(self, corners: Array, colour: Array, opacity: float = 1.0) -> None:
        """Fill a polygon with these corners (n, 2), n above 0."""
        self._fill(self.to_pixels(corners), np.array([len(corners)]), colour, opacity)

    def polygons(self, corners: Array, colour: Array, opacity: float = 1.0) -> None:
        """Fill polygons (n, k, 2), in colours (n, 3) or all in one."""
        self._fill_many(self.to_pixels(corners), colour, opacity)

    def discs(self, centres: Array, radii: Array, colour: Array) -> None:
        """Fill discs about centres (n, 2) with radii (n,) in m, in colours (n, 3) or all in one."""
        self.polygons(centres[:, None] + radii[:, None, None] * CIRCLE, colour)

    def squares(self, centres: Array, pixels: float, colour: Array) -> None:
        """Fill upright squares about centres (n, 2), `pixels` wide."""
        corners = pixels * np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        self._fill_many(self.to_pixels(centres)[:, None] + corners, colour, 1.0)

    def segments(self, ends: Array, pixels: float, colour: Array, opacity: float = 1.0) -> None:
        """Draw segments x0, y0, x1, y1 (n, 4), `pixels` wide, with square ends."""
        ends = ends[_overlapping(ends, self.box)]
        a, b = self.to_pixels(ends[:, :2]), self.to_pixels(ends[:, 2:])
        along = b - a
        length = np.hypot(along[:, 0], along[:, 1])
        along[length == 0.0] = (1.0, 0.0)
        along *= (0.5 * pixels / np.where(length == 0.0, 1.0, length))[:, None]
        aside = along[:, ::-1] * (-1.0, 1.0)
        a, b = a - along, b + along
        self._fill_many(np.stack([a - aside, b - aside, b + aside, a + aside], 1), colour, opacity)

    def card(self, text: str) -> None:
        """Write lines of text on a white card in the upper left corner."""
        shades = _written(text)[: self.pixels.shape[0] - 3 * PADDING]
        shades = shades[:, : self.pixels.shape[1] - 3 * PADDING]
        height, width = shades.shape
        if not shades.size:
            return
        low, high_x, high_y = PADDING, 3 * PADDING + width, 3 * PADDING + height
        corners = _rounded_box(low, low, high_x - 1, high_y - 1, 4.0)
        self._fill(corners, np.array([len(corners)]), rgb(SURFACE), 0.88)
        inside = self.pixels[2 * low : 2 * low + height, 2 * low : 2 * low + width]
        inside[:] = np.rint(inside + shades[:, :, None] * (rgb(INK) - inside))

    def _fill_many(self, corners: Array, colour: Array, opacity: float) -> None:
        count, sides, _ = corners.shape
        ends = np.arange(1, count + 1) * sides
        self._fill(corners.reshape(-1, 2), ends, colour, opacity)

    def _fill(self, corners: Array, ends: Any, colour: Array, opacity: float) -> None:
        colours = np.empty((len(ends), 3))
        colours[:] = colour
        fill_polygons(
            self.pixels, self._shares, np.ascontiguousarray(corners), ends, colours, float(opacity)
        )


def _overlapping(segments: Array, box: Sequence[float]) -> Any:
    """Which segments (n, 4) may be seen in a box, least x and y, largest x and y."""
    x, y = segments[:, ::2], segments[:, 1::2]
    beside = ((x < box[0]).all(axis=1)) | ((x > box[2]).all(axis=1))
    return ~(beside | (y < box[1]).all(axis=1) | (y > box[3]).all(axis=1))


def _rounded_box(left: float, top: float, right: float, bottom: float, radius: float) -> Array:
    turns = np.arange(4) * (np.pi / 6.0)
    corners = [
        (right - radius, bottom - radius, 0.0),
        (left + radius, bottom - radius, 0.5 * np.pi),
        (left + radius, top + radius, np.pi),
        (right - radius, top + radius, 1.5 * np.pi),
    ]
    arcs = [
        np.column_stack([x + radius * np.cos(turn + turns), y + radius * np.sin(turn + turns)])
        for x, y, turn in corners
    ]
    return np.concatenate(arcs)


def _written(text: str) -> Array:
    """How dark the pixels of a text are, from 0 to 1."""
    face = font()
    lines = [face.getmask2(line) for line in text.split("\n")]
    height = sum(face.getmetrics())
    page = np.zeros((height * len(lines), max(x + mask.size[0] for mask, (x, _) in lines)))
    for k, (mask, (x, y)) in enumerate(lines):
        shades = np.array(mask, dtype=np.float64).reshape(mask.size[::-1]) / 255.0
        # Some letters begin left of where they stand, and some accents above.
        place = page[k * height + max(y, 0) :, max(x, 0) :][: len(shades), : shades.shape[1]]
        place[:] = shades[: len(place), : place.shape[1]]
    return page


@cache
def font() -> Any:
    """Font of text on pictures; raises where Pillow is missing."""
    return require("PIL.ImageFont", purpose="Text on a picture").load_default(FONT_SIZE)
