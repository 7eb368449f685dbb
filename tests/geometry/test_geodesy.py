"""Places on the globe: the tangent plane, UTM and the military grid."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.geometry.geodesy import (
    MilitaryGrid,
    Origin,
    Place,
    earth_centred,
    from_utm,
    place_in_world,
    place_of,
    to_utm,
    utm_zone,
)

A, F = 6378137.0, 1.0 / 298.257223563
E2 = F * (2.0 - F)


def meridian_radius(latitude: Any) -> Any:
    """Radius of curvature of a meridian of WGS 84 in m, at a latitude in rad."""
    return A * (1.0 - E2) / (1.0 - E2 * mpmath.sin(latitude) ** 2) ** 1.5


@given(
    latitude=st.floats(-90.0, 90.0),
    longitude=st.floats(-179.9, 179.9),
    altitude=st.floats(-400.0, 9000.0),
)
def test_places_go_to_the_centre_of_the_earth_and_back(
    latitude: float, longitude: float, altitude: float
) -> None:
    back = place_of(earth_centred(Place(latitude, longitude, altitude)))
    assert abs(back.latitude - latitude) < 1e-12 * 180
    assert abs(back.longitude - longitude) * math.cos(math.radians(latitude)) < 1e-12 * 180
    assert abs(back.altitude - altitude) < 1e-8


def test_a_degree_along_the_meridian_has_the_length_of_the_ellipsoid() -> None:
    mpmath.mp.dps = 30
    length = mpmath.quad(meridian_radius, [mpmath.radians(50.0), mpmath.radians(50.001)])
    origin = Origin(latitude=50.0, longitude=8.0)
    found = place_in_world(origin, 0.0, float(length), 0.0)
    assert found.latitude == pytest.approx(50.001, abs=1e-9)
    assert found.longitude == pytest.approx(8.0, abs=1e-12)
    # The plane leaves the ellipsoid by d²/2R.
    assert found.altitude == pytest.approx(float(length) ** 2 / (2.0 * 6.38e6), rel=0.01)


def test_east_is_along_the_circle_of_latitude() -> None:
    across = A / math.sqrt(1.0 - E2 * math.sin(math.radians(50.0)) ** 2)
    metres = math.radians(0.001) * across * math.cos(math.radians(50.0))
    found = place_in_world(Origin(50.0, 8.0), metres, 0.0, 0.0)
    assert found.longitude == pytest.approx(8.001, abs=1e-9)
    turned = place_in_world(Origin(50.0, 8.0, x_axis=math.pi / 2), 0.0, -metres, 0.0)
    assert turned.longitude == pytest.approx(8.001, abs=1e-9)


@pytest.mark.parametrize("latitude", [0.0, 12.3, 35.0, -48.9, 70.0])
def test_the_central_meridian_keeps_its_length(latitude: float) -> None:
    mpmath.mp.dps = 30
    arc = float(mpmath.quad(meridian_radius, [0.0, mpmath.radians(latitude)]))
    easting, northing = to_utm(latitude, 9.0, 32, south=False)
    assert easting == 500_000.0
    assert northing == pytest.approx(0.9996 * arc, abs=5e-9)


@pytest.mark.parametrize(("latitude", "longitude"), [(35.0, 139.5), (-33.9, 18.6), (60.0, 4.0)])
def test_the_projection_keeps_angles(latitude: float, longitude: float) -> None:
    """East and north steps of equal true length stay equal and square (conformal)."""
    w = 1.0 - E2 * math.sin(math.radians(latitude)) ** 2
    meridian = A * (1.0 - E2) / w**1.5
    parallel = A / math.sqrt(w) * math.cos(math.radians(latitude))
    grid = MilitaryGrid(latitude, longitude)
    step = 1e-4

    def moved(north: float, east: float) -> np.ndarray:
        ahead = grid.project(latitude + north, longitude + east)
        behind = grid.project(latitude - north, longitude - east)
        return (np.array(ahead) - behind) / (2.0 * math.radians(step))

    to_north = moved(step, 0.0) / meridian
    to_east = moved(0.0, step) / parallel
    assert np.dot(to_north, to_east) == pytest.approx(0.0, abs=1e-7)
    assert to_north == pytest.approx([-to_east[1], to_east[0]], abs=1e-7)
    assert 0.9995 < np.hypot(*to_north) < 1.001


def test_a_published_place() -> None:
    """The CN Tower in Toronto: 43°38'33.24"N 79°23'13.7"W is 17T 630084 4833438, to the metre."""
    latitude, longitude = 43 + 38 / 60 + 33.24 / 3600, -(79 + 23 / 60 + 13.7 / 3600)
    assert utm_zone(latitude, longitude) == 17
    easting, northing = to_utm(latitude, longitude, 17, south=False)
    assert (easting, northing) == pytest.approx((630084.0, 4833438.0), abs=1.0)
    x, y = MilitaryGrid(latitude, longitude).project(latitude, longitude)
    assert (x, y) == pytest.approx((30084.0, 33438.0), abs=1.0)


def test_zones_around_norway_are_wider() -> None:
    assert [utm_zone(60.0, east) for east in (2.9, 3.0, 11.9, 12.0)] == [31, 32, 32, 33]
    assert [utm_zone(78.0, east) for east in (8.9, 9.0, 20.9, 21.0, 33.0)] == [31, 33, 33, 35, 37]
    assert [utm_zone(0.0, east) for east in (-180.0, 179.9, 180.0, 0.0)] == [1, 60, 1, 31]


def test_a_map_across_the_border_of_a_square_stays_in_one_piece() -> None:
    grid = MilitaryGrid(35.0, 139.0)
    x, _ = grid.project(35.0, 139.0)
    far_x, _ = grid.project(35.0, 140.2)
    # One degree of longitude is about 91.3 km there.
    assert far_x - x == pytest.approx(1.2 * 91_288.0, rel=2e-3)
    assert far_x > 1e5


@given(latitude=st.floats(-80.0, 84.0), longitude=st.floats(-180.0, 179.9))
def test_places_go_to_utm_and_back(latitude: float, longitude: float) -> None:
    zone, south = utm_zone(latitude, longitude), latitude < 0.0
    back = from_utm(*to_utm(latitude, longitude, zone, south), zone, south)
    metre = 180.0 / (math.pi * A)
    assert abs(back[0] - latitude) < 5e-9 * metre
    assert abs(back[1] - longitude) * math.cos(math.radians(latitude)) < 5e-9 * metre


def test_utm_at_the_equator_and_near_it() -> None:
    # The CN Tower in Toronto, zone 17 N, in the worked example of Wikipedia's article on UTM.
    assert utm_zone(43.6, -79.4) == 17
    assert from_utm(630084.0, 4833438.0, 17, False) == pytest.approx(
        (43 + 38 / 60 + 33.24 / 3600, -(79 + 23 / 60 + 13.7 / 3600)), abs=2e-5
    )
    # On the middle of a zone at the equator, whose northing is a round number in the south.
    north = from_utm(500000.0, 0.0, 33, False)
    assert north == pytest.approx((0.0, 15.0), abs=1e-12)
    assert from_utm(500000.0, 1e7, 33, True) == north


def test_a_metre_in_the_tangent_plane_is_one_on_the_map_but_for_its_scale() -> None:
    here = from_utm(500000.0, 6651411.0, 33, False)
    ahead = from_utm(500000.0, 6652411.0, 33, False)
    plane = place_in_world(Origin(*here), 0.0, 1000.0 / 0.9996, 0.0)
    assert ahead[0] == pytest.approx(plane.latitude, abs=2e-8)
