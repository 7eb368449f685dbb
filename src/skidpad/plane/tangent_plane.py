"""From metres in a local frame to latitude, longitude and altitude on the WGS 84 ellipsoid.

The frame touches the ellipsoid at its origin: east, north, up. Formula for the way back from
earth-centred coordinates: B. R. Bowring, "Transformation from spatial to geographical coordinates",
Survey Review 23 (1976); two of its steps are exact to rounding near the ground.
"""

from __future__ import annotations

from math import pi
from typing import Annotated, NamedTuple

from ..checks import must_be
from ..errors import InvalidValue
from ..ops import atan2, cos, sin, sqrt
from ..units import Allowed, Unit, m, rad
from .rotation import Rotation, Vector, turned

degree = Annotated[float, Unit("°")]
"""Places on the globe are in degrees, as in every file and message that has them."""

_A, _F = 6_378_137.0, 1.0 / 298.257223563
_B = _A * (1.0 - _F)
_E2 = _F * (2.0 - _F)
"""Square of the first eccentricity."""
_E2_SECOND = _E2 / (1.0 - _E2)


class Place(NamedTuple):
    """A place on the globe."""

    latitude: degree
    """Positive to the north."""
    longitude: degree
    """Positive to the east."""
    altitude: m
    """Above the ellipsoid, which is not the level of the sea."""


class Origin(NamedTuple):
    """Where the world frame of a simulation lies on the globe."""

    latitude: degree = 0.0
    """Of the world's origin, positive to the north."""
    longitude: degree = 0.0
    """Of the world's origin, positive to the east."""
    altitude: m = 0.0
    """Of the world's origin above the ellipsoid."""
    x_axis: rad = 0.0
    """Direction of the world's x axis from east, positive towards north."""


NULL_ISLAND = Origin()
"""Where the equator meets the meridian of Greenwich, x to the east."""


def check_origin(origin: Origin) -> None:
    """Raise unless the origin is a place on the globe."""
    must_be("Origin.latitude", origin.latitude, Allowed(-90.0, 90.0), "°")
    must_be("Origin.longitude", origin.longitude, Allowed(-180.0, 360.0), "°")
    must_be("Origin.altitude", origin.altitude, Allowed(), "m")
    must_be("Origin.x_axis", origin.x_axis, Allowed(), "rad")
    if origin.altitude < -1e6:
        raise InvalidValue(f"Origin.altitude = {origin.altitude} m is deep inside the earth")


def earth_centred(place: Place) -> Vector:
    """Coordinates from the centre of the earth in m: x to 0° E on the equator, z to the north."""
    latitude, longitude = place.latitude * (pi / 180.0), place.longitude * (pi / 180.0)
    c, s = cos(latitude), sin(latitude)
    n = _A / sqrt(1.0 - _E2 * s * s)
    across = (n + place.altitude) * c
    return Vector(
        across * cos(longitude), across * sin(longitude), (n * (1.0 - _E2) + place.altitude) * s
    )


def place_of(position: Vector) -> Place:
    """The inverse of `earth_centred`; not for the middle of the earth."""
    across = sqrt(position.x * position.x + position.y * position.y)
    first = _latitude(position.z, across, atan2(position.z * _A, across * _B))
    reduced = atan2((1.0 - _F) * sin(first), cos(first))
    latitude = _latitude(position.z, across, reduced)
    s, c = sin(latitude), cos(latitude)
    # Good at the poles too, where across over c is not.
    altitude = across * c + position.z * s - _A * sqrt(1.0 - _E2 * s * s)
    return Place(latitude * (180.0 / pi), atan2(position.y, position.x) * (180.0 / pi), altitude)


def _latitude(z: m, across: m, reduced: rad) -> rad:
    """Bowring's step: the latitude from an estimate of the reduced one."""
    s, c = sin(reduced), cos(reduced)
    return atan2(z + _E2_SECOND * _B * (s * s * s), across - _E2 * _A * (c * c * c))


def place_in_world(origin: Origin, x: m, y: m, z: m) -> Place:
    """The place of a point of the world frame."""
    c, s = cos(origin.x_axis), sin(origin.x_axis)
    from_centre = turned(_axes(origin), Vector(c * x - s * y, s * x + c * y, z))
    start = earth_centred(Place(origin.latitude, origin.longitude, origin.altitude))
    return place_of(
        Vector(start.x + from_centre.x, start.y + from_centre.y, start.z + from_centre.z)
    )


def _axes(origin: Origin) -> Rotation:
    """East, north and up at the origin, seen from the centre of the earth."""
    latitude, longitude = origin.latitude * (pi / 180.0), origin.longitude * (pi / 180.0)
    c_a, s_a = cos(latitude), sin(latitude)
    c_o, s_o = cos(longitude), sin(longitude)
    return Rotation(
        -s_o,
        -s_a * c_o,
        c_a * c_o,
        c_o,
        -s_a * s_o,
        c_a * s_o,
        0.0,
        c_a,
        s_a,
    )
