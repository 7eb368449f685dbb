"""Geodesy: positions on the WGS 84 ellipsoid, local frames, UTM and military grid squares.

A local frame touches the ellipsoid at its origin: east, north, up. The conversion back from
earth-centred coordinates is B. R. Bowring's ("Transformation from spatial to geographical
coordinates", Survey Review 23, 1976); two of its steps are exact to rounding near the ground.

UTM is L. Krüger's transverse Mercator projection (1912) as a series in the third flattening n, here
to n⁶ with C. F. F. Karney's coefficients ("Transverse Mercator with an accuracy of a few
nanometers", Journal of Geodesy 85, 2011). Zones, their exceptions and squares: NGA.SIG.0012, The
Universal Grids (2014).
"""

from __future__ import annotations

import cmath
import math
from typing import Annotated, NamedTuple

from ..core.checks import must_be
from ..errors import InvalidValue
from ..ops import atan2, cos, sin, sqrt
from ..units import Allowed, Unit, m, rad
from .pose import Rotation, Vector, rotated, rotation_turned, rotation_turned_back

degree = Annotated[float, Unit("°")]
"""Unit of geographic coordinates: degrees, as in files and messages."""

_A, _F = 6_378_137.0, 1.0 / 298.257223563
_B = _A * (1.0 - _F)
_E2 = _F * (2.0 - _F)
"""Square of the first eccentricity."""
_E2_SECOND = _E2 / (1.0 - _E2)
_E = math.sqrt(_E2)

_N = _F / (2.0 - _F)
_RADIUS = _A / (1.0 + _N) * (1.0 + _N**2 / 4.0 + _N**4 / 64.0 + _N**6 / 256.0)
"""Radius of the circle with the circumference of a meridian, in m."""
_SERIES = tuple(
    sum(part * _N**power for power, part in enumerate(parts, start=first))
    for first, parts in enumerate(
        (
            (1 / 2, -2 / 3, 5 / 16, 41 / 180, -127 / 288, 7891 / 37800),
            (13 / 48, -3 / 5, 557 / 1440, 281 / 630, -1983433 / 1935360),
            (61 / 240, -103 / 140, 15061 / 26880, 167603 / 181440),
            (49561 / 161280, -179 / 168, 6601661 / 7257600),
            (34729 / 80640, -3418889 / 1995840),
            (212378941 / 319334400,),
        ),
        start=1,
    )
)
_SCALE = 0.9996
"""Scale factor on the central meridian of a zone."""
_FALSE_EASTING = 500_000.0
_FALSE_NORTHING = 10_000_000.0
"""False northing in the southern hemisphere, in m."""
_SQUARE: m = 100_000.0


class Place(NamedTuple):
    """A geographic position."""

    latitude: degree
    """Latitude, positive to the north."""
    longitude: degree
    """Longitude, positive to the east."""
    altitude: m
    """Height above the WGS 84 ellipsoid, not above sea level."""


class Origin(NamedTuple):
    """Geographic position and orientation of the world frame."""

    latitude: degree = 0.0
    """Latitude of the world's origin, positive to the north."""
    longitude: degree = 0.0
    """Longitude of the world's origin, positive to the east."""
    altitude: m = 0.0
    """Height of the world's origin above the ellipsoid."""
    x_axis: rad = 0.0
    """Direction of the world's x axis from east, positive towards north."""


NULL_ISLAND = Origin()
"""Origin at latitude and longitude 0, x to the east."""


def check_origin(origin: Origin) -> None:
    """Raise unless the origin is a valid geographic position."""
    must_be("Origin.latitude", origin.latitude, Allowed(-90.0, 90.0), "°")
    must_be("Origin.longitude", origin.longitude, Allowed(-180.0, 360.0), "°")
    must_be("Origin.altitude", origin.altitude, Allowed(), "m")
    must_be("Origin.x_axis", origin.x_axis, Allowed(), "rad")
    if origin.altitude < -1e6:
        raise InvalidValue(f"Origin.altitude = {origin.altitude} m is deep inside the earth")


def earth_centred(place: Place) -> Vector:
    """Earth-centred coordinates in m: x to 0° E on the equator, z to the north."""
    latitude, longitude = _radians(place.latitude), _radians(place.longitude)
    c, s = cos(latitude), sin(latitude)
    n = _A / sqrt(1.0 - _E2 * s * s)
    across = (n + place.altitude) * c
    return Vector(
        across * cos(longitude), across * sin(longitude), (n * (1.0 - _E2) + place.altitude) * s
    )


def place_of(position: Vector) -> Place:
    """Geographic position of earth-centred coordinates in m; undefined at the centre of the
    earth.
    """
    across = sqrt(position.x * position.x + position.y * position.y)
    first = _latitude(position.z, across, atan2(position.z * _A, across * _B))
    reduced = atan2((1.0 - _F) * sin(first), cos(first))
    latitude = _latitude(position.z, across, reduced)
    s, c = sin(latitude), cos(latitude)
    # This formula is accurate at the poles, too, unlike the usual one with across / c.
    altitude = across * c + position.z * s - _A * sqrt(1.0 - _E2 * s * s)
    return Place(_degrees(latitude), _degrees(atan2(position.y, position.x)), altitude)


def place_in_world(origin: Origin, x: m, y: m, z: m) -> Place:
    """Geographic position of a point of the world frame."""
    from_centre = rotation_turned(_axes(origin), Vector(*rotated(x, y, origin.x_axis), z))
    start = earth_centred(Place(origin.latitude, origin.longitude, origin.altitude))
    return place_of(
        Vector(start.x + from_centre.x, start.y + from_centre.y, start.z + from_centre.z)
    )


def position_in_world(origin: Origin, place: Place) -> Vector:
    """Position of a place in the world frame, in m; the inverse of `place_in_world`.

    The coordinates of the place may be arrays.
    """
    start = earth_centred(Place(origin.latitude, origin.longitude, origin.altitude))
    point = earth_centred(place)
    away = Vector(point.x - start.x, point.y - start.y, point.z - start.z)
    local = rotation_turned_back(_axes(origin), away)
    return Vector(*rotated(local.x, local.y, -origin.x_axis), local.z)


def _latitude(z: m, across: m, reduced: rad) -> rad:
    """Bowring's step: latitude from an estimate of the reduced latitude."""
    s, c = sin(reduced), cos(reduced)
    return atan2(z + _E2_SECOND * _B * (s * s * s), across - _E2 * _A * (c * c * c))


def _axes(origin: Origin) -> Rotation:
    """Unit vectors east, north and up at the origin, in earth-centred axes."""
    latitude, longitude = _radians(origin.latitude), _radians(origin.longitude)
    c_a, s_a = cos(latitude), sin(latitude)
    c_o, s_o = cos(longitude), sin(longitude)
    return Rotation(-s_o, -s_a * c_o, c_a * c_o, c_o, -s_a * s_o, c_a * s_o, 0.0, c_a, s_a)


# The functions of `math` do not accept symbols and arrays.
def _radians(angle: degree) -> rad:
    return angle * (math.pi / 180.0)


def _degrees(angle: rad) -> degree:
    return angle * (180.0 / math.pi)


def utm_zone(latitude: degree, longitude: degree) -> int:
    """Zone of a position, 1 to 60, with the exceptions around Norway and Svalbard."""
    if 56.0 <= latitude < 64.0 and 3.0 <= longitude < 12.0:
        return 32
    if latitude >= 72.0 and 0.0 <= longitude < 42.0:
        return 31 + 2 * math.floor((longitude + 3.0) / 12.0)
    return math.floor((longitude + 180.0) / 6.0) % 60 + 1


def to_utm(latitude: degree, longitude: degree, zone: int, south: bool) -> tuple[m, m]:
    """Easting and northing of a position in a zone and hemisphere."""
    away = math.radians((longitude - _central(zone) + 180.0) % 360.0 - 180.0)
    t = _conformal(math.tan(math.radians(latitude)))
    sphere = complex(
        math.atan2(t, math.cos(away)), math.asinh(math.sin(away) / math.hypot(t, math.cos(away)))
    )
    ellipsoid = sphere + _bend(sphere)
    lift = _FALSE_NORTHING if south else 0.0
    easting = _SCALE * _RADIUS * ellipsoid.imag + _FALSE_EASTING
    return easting, _SCALE * _RADIUS * ellipsoid.real + lift


def from_utm(easting: m, northing: m, zone: int, south: bool) -> tuple[degree, degree]:
    """Latitude and longitude of a UTM position; the inverse of `to_utm`."""
    lift = _FALSE_NORTHING if south else 0.0
    ellipsoid = complex(northing - lift, easting - _FALSE_EASTING) / (_SCALE * _RADIUS)
    sphere = ellipsoid
    # Each iteration leaves a few hundredths of a per cent of the error.
    for _ in range(6):
        sphere = ellipsoid - _bend(sphere)
    aside, ahead = math.sinh(sphere.imag), math.cos(sphere.real)
    t = target = math.sin(sphere.real) / math.hypot(aside, ahead)
    for _ in range(5):
        at = _conformal(t)
        slope = math.hypot(1.0, at) * math.hypot(1.0, t) * (1.0 - _E2) / (1.0 + (1.0 - _E2) * t * t)
        t += (target - at) / slope
    return math.degrees(math.atan(t)), math.degrees(math.atan2(aside, ahead)) + _central(zone)


def _central(zone: int) -> degree:
    return 6.0 * zone - 183.0


def _conformal(t: float) -> float:
    """Tangent of the conformal latitude from the tangent of the latitude."""
    sigma = math.sinh(_E * math.atanh(_E * t / math.hypot(1.0, t)))
    return t * math.hypot(1.0, sigma) - sigma * math.hypot(1.0, t)


def _bend(sphere: complex) -> complex:
    """Correction by Krüger's series at coordinates north + i east on the sphere, to be added to
    them.
    """
    return sum(a * cmath.sin(2 * k * sphere) for k, a in enumerate(_SERIES, start=1))


class MilitaryGrid:
    """Plane coordinates in the 100 km square of the military grid that contains a first point.

    Points outside of the square get coordinates below 0 or above 100 km rather than those of
    their own square, so that a map across its border is continuous.
    """

    def __init__(self, latitude: degree, longitude: degree) -> None:
        _check_in_grid(latitude, longitude)
        self.zone = utm_zone(latitude, longitude)
        """Number of the zone, 1 to 60."""
        self._south = latitude < 0.0
        place = to_utm(latitude, longitude, self.zone, self._south)
        self._corner = tuple(math.floor(value / _SQUARE) * _SQUARE for value in place)

    def project(self, latitude: degree, longitude: degree) -> tuple[m, m]:
        """Easting and northing of a place in m from the square's south-west corner."""
        _check_in_grid(latitude, longitude)
        easting, northing = to_utm(latitude, longitude, self.zone, self._south)
        return easting - self._corner[0], northing - self._corner[1]


def _check_in_grid(latitude: degree, longitude: degree) -> None:
    if not (-80.0 <= latitude <= 84.0 and -180.0 <= longitude <= 360.0):
        raise InvalidValue(
            f"latitude {latitude}, longitude {longitude} is outside of the grid; allowed are "
            "-80 to 84 and -180 to 360 degrees"
        )
