"""From latitude and longitude to the metres of the military grid, as Autoware's maps have them.

Universal transverse Mercator on the WGS 84 ellipsoid; an Autoware map then counts x and y from the
south-west corner of the 100 km square it lies in.

Formulas: L. Krüger (1912), as series in the third flattening n; here to n³, below 1 mm within a
zone. Zones and their exceptions: NGA.SIG.0012, The Universal Grids (2014).
"""

from __future__ import annotations

import math

from ...errors import InvalidValue
from ...units import m

_A, _F = 6_378_137.0, 1.0 / 298.257223563
_N = _F / (2.0 - _F)
_RADIUS = _A / (1.0 + _N) * (1.0 + _N**2 / 4.0 + _N**4 / 64.0)
"""Radius of the circle as long as a meridian, in m."""
_SERIES = (
    _N / 2.0 - 2.0 / 3.0 * _N**2 + 5.0 / 16.0 * _N**3,
    13.0 / 48.0 * _N**2 - 3.0 / 5.0 * _N**3,
    61.0 / 240.0 * _N**3,
)
_ECCENTRICITY = 2.0 * math.sqrt(_N) / (1.0 + _N)
_SCALE = 0.9996
"""Scale on the central meridian of a zone."""
_FALSE_EASTING = 500_000.0
_FALSE_NORTHING = 10_000_000.0
"""Added in the southern hemisphere."""
_SQUARE = 100_000.0


class MilitaryGrid:
    """Plan coordinates in the 100 km square of the military grid that a first point lies in.

    Points outside of the square get coordinates below 0 or above 100 km rather than those of
    their own square, so that a map across its border stays in one piece.
    """

    def __init__(self, latitude: float, longitude: float) -> None:
        _check(latitude, longitude)
        self.zone = zone(latitude, longitude)
        """Number of the zone, 1 to 60."""
        self._south = latitude < 0.0
        easting, northing = universal(latitude, longitude, self.zone, self._south)
        self._origin = (
            math.floor(easting / _SQUARE) * _SQUARE,
            math.floor(northing / _SQUARE) * _SQUARE,
        )

    def project(self, latitude: float, longitude: float) -> tuple[m, m]:
        """East and north of the square's south-west corner, from degrees."""
        _check(latitude, longitude)
        easting, northing = universal(latitude, longitude, self.zone, self._south)
        return easting - self._origin[0], northing - self._origin[1]


def zone(latitude: float, longitude: float) -> int:
    """The zone of a place in degrees, with the wider ones around Norway and Svalbard."""
    if 56.0 <= latitude < 64.0 and 3.0 <= longitude < 12.0:
        return 32
    if latitude >= 72.0 and 0.0 <= longitude < 42.0:
        return 31 + 2 * math.floor((longitude + 3.0) / 12.0)
    return math.floor((longitude + 180.0) / 6.0) % 60 + 1


def universal(latitude: float, longitude: float, zone: int, south: bool) -> tuple[m, m]:
    """Easting and northing in a zone, from degrees."""
    away = math.radians((longitude - (6.0 * zone - 183.0) + 180.0) % 360.0 - 180.0)
    sine = math.sin(math.radians(latitude))
    # Tangent of the latitude on the sphere of the same shape (conformal).
    t = math.sinh(math.atanh(sine) - _ECCENTRICITY * math.atanh(_ECCENTRICITY * sine))
    north = math.atan2(t, math.cos(away))
    east = math.atanh(math.sin(away) / math.hypot(1.0, t))
    x, y = east, north
    for k, a in enumerate(_SERIES, start=1):
        x += a * math.cos(2 * k * north) * math.sinh(2 * k * east)
        y += a * math.sin(2 * k * north) * math.cosh(2 * k * east)
    lift = _FALSE_NORTHING if south else 0.0
    return _SCALE * _RADIUS * x + _FALSE_EASTING, _SCALE * _RADIUS * y + lift


def _check(latitude: float, longitude: float) -> None:
    if not (-80.0 <= latitude <= 84.0 and -180.0 <= longitude <= 360.0):
        raise InvalidValue(
            f"latitude {latitude}, longitude {longitude} is outside of the grid; allowed are "
            "-80 to 84 and -180 to 360 degrees"
        )
