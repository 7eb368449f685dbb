"""Colours of pictures: the page's light theme and shades derived from it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..core.arrays import Array
from ..errors import InvalidValue
from ..geometry.polygon import frozen

VEHICLES = ("#0072b2", "#d55e00", "#009e73", "#c0619a", "#c58800", "#3d9bd1", "#6b6f76", "#8a7a00")
"""Colours of vehicles in order, from Okabe and Ito's colour-blind-safe palette."""

GROUND, GRID, GRID_STRONG = "#eceff2", "#dfe4e9", "#ccd4db"
WALL, WALL_EDGE, BLOCK, BLOCK_EDGE = "#4c5866", "#36414d", "#a68a64", "#75603f"
REGION, ACCENT, LANE, BOUNDARY, REFERENCE = "#0b62c4", "#0b62c4", "#d9dee3", "#59656f", "#8794a0"
WHEEL, WHEEL_EDGE, LIGHTS = "#20272e", "#f4f6f8", "#fff3c4"
FREE, UNKNOWN, OCCUPIED = "#f7f9fa", "#d8dde2", "#3c4753"
ECHO, INK, SURFACE = "#c2255c", "#17212b", "#ffffff"
GLASS, GLASS_OPACITY = "#1b2a3a", 0xD9 / 255.0
SHADOW, SHADOW_OPACITY = "#0d1824", 0x38 / 255.0

CONES = {"blue": "#2b6fd6", "yellow": "#f2c400", "orange": "#f26a00"}
"""Colours of cones by the colour names in map files."""
CONE = "#f28c28"
"""Colour of cones without a named colour."""


class PolygonLook(NamedTuple):
    """Drawing style of a kind of polygon; if the edge colour is unset, no edge is drawn."""

    fill: str
    opacity: float = 1.0
    edge: str = ""
    edge_width: float = 1.0
    """In pixels, as all lengths of these styles."""
    edge_opacity: float = 1.0
    dash: tuple[float, float] | None = None
    """Lengths of dash and gap, in pixels."""


class LineLook(NamedTuple):
    colour: str
    width: float
    opacity: float = 1.0
    dash: tuple[float, float] | None = None


POLYGONS = {
    "field": PolygonLook(REGION, 0.18),
    "lane": PolygonLook(LANE),
    "region": PolygonLook(REGION, 0.12, ACCENT, 1.2, 0.7, (6.0, 4.0)),
    "block": PolygonLook(BLOCK, 1.0, BLOCK_EDGE),
    "wall": PolygonLook(WALL, 1.0, WALL_EDGE),
    "solid": PolygonLook(WALL),
}
"""Styles of polygons by kind, in drawing order; the edges of a solid, which is a wall, are
drawn separately."""

LINES = {
    "boundary": LineLook(BOUNDARY, 2.0),
    "centre": LineLook(REFERENCE, 1.2, 1.0, (10.0, 8.0)),
    "reference": LineLook(REFERENCE, 1.4, 1.0, (5.0, 5.0)),
    "band": LineLook(ACCENT, 1.2, 0.5),
    "line": LineLook(BOUNDARY, 1.4),
}

_HEX = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")


def rgb(colour: str) -> Array:
    """Red, green and blue (3,) from 0 to 255 of a colour `#rrggbb`."""
    if not isinstance(colour, str) or not _HEX.fullmatch(colour):
        raise InvalidValue(f"colour = {colour!r} must be of the form #rrggbb")
    return _bands(colour)


@lru_cache(maxsize=256)
def _bands(colour: str) -> Array:
    return frozen(np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)], dtype=np.float64))


def shade(colour: str, amount: float) -> Array:
    """A colour mixed with black (amount < 0) or white (amount > 0)."""
    own = rgb(colour)
    return own + abs(amount) * ((0.0 if amount < 0.0 else 255.0) - own)


FONT_SIZE = 13
PADDING = 6
CIRCLE = np.stack([(np.cos(a), np.sin(a)) for a in np.arange(20) * (np.pi / 10.0)])
