"""Places on the globe from UTM coordinates, for worlds whose x and y are such.

Krueger's series in the third flattening n to its fourth power, errors below a millimetre: C. F. F.
Karney, "Transverse Mercator with an accuracy of a few nanometers", Journal of Geodesy 85 (2011).
"""

from __future__ import annotations

from math import asinh, atan, atan2, cos, cosh, degrees, floor, hypot, sin, sinh, sqrt

from ..units import m
from .tangent_plane import Place, degree

_F = 1.0 / 298.257223563
_N = _F / (2.0 - _F)
_E = sqrt(_F * (2.0 - _F))
_RADIUS = 6_378_137.0 / (1.0 + _N) * (1.0 + _N**2 / 4.0 + _N**4 / 64.0)
_SCALE, _FALSE_EAST, _FALSE_NORTH = 0.9996, 500_000.0, 10_000_000.0
_BETA = (
    _N / 2 - 2 * _N**2 / 3 + 37 * _N**3 / 96 - _N**4 / 360,
    _N**2 / 48 + _N**3 / 15 - 437 * _N**4 / 1440,
    17 * _N**3 / 480 - 37 * _N**4 / 840,
    4397 * _N**4 / 161280,
)


def zone_at(longitude: degree) -> int:
    """The zone that a meridian lies in, 1 to 60."""
    return min(floor((longitude + 180.0) / 6.0) + 1, 60)


def place_of(zone: int, southern: bool, east: m, north: m, altitude: m) -> Place:
    """The place of UTM coordinates in a zone and hemisphere."""
    xi = (north - (_FALSE_NORTH if southern else 0.0)) / (_SCALE * _RADIUS)
    eta = (east - _FALSE_EAST) / (_SCALE * _RADIUS)
    on_sphere, beside = xi, eta
    for k, beta in enumerate(_BETA, start=1):
        on_sphere -= beta * sin(2 * k * xi) * cosh(2 * k * eta)
        beside -= beta * cos(2 * k * xi) * sinh(2 * k * eta)
    longitude = degrees(atan2(sinh(beside), cos(on_sphere))) + 6.0 * zone - 183.0
    conformal = sin(on_sphere) / hypot(sinh(beside), cos(on_sphere))
    return Place(degrees(atan(_tangent(conformal))), longitude, altitude)


def _tangent(conformal: float) -> float:
    """Tangent of the latitude from that of the conformal latitude, by Newton's steps."""
    tau = conformal
    for _ in range(5):
        sigma = sinh(_E * _artanh(_E * tau / hypot(1.0, tau)))
        guess = tau * hypot(1.0, sigma) - sigma * hypot(1.0, tau)
        slope = hypot(1.0, guess) * hypot(1.0, tau) * (1.0 - _E**2)
        tau += (conformal - guess) * (1.0 + (1.0 - _E**2) * tau**2) / slope
    return tau


def _artanh(x: float) -> float:
    return asinh(x / sqrt(1.0 - x * x))
