"""Rings: what lies inside of them and near them, against shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from skidpad.geometry.polygon import distances, enclosed, moments, ring_edges, signed_area, within

ANGLES = np.arange(10) * np.pi / 5
STAR = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]) * np.tile([3.0, 1.2], 5)[:, None]
"""A ring with corners that point inwards, counter-clockwise."""


def test_areas_and_moments_are_those_of_shapely() -> None:
    polygon = shapely.Polygon(STAR)
    assert signed_area(STAR) == pytest.approx(polygon.area)
    assert signed_area(STAR[::-1]) == pytest.approx(-polygon.area)
    shifted = [(x + 5.0, y - 2.0) for x, y in STAR.tolist()]
    shape = moments(shifted)
    assert (shape.area, shape.x, shape.y) == pytest.approx((polygon.area, 5.0, -2.0))


def test_points_inside_and_near_are_those_of_shapely() -> None:
    polygon = shapely.Polygon(STAR)
    points = np.random.default_rng(1).uniform(-4.0, 4.0, (3000, 2))
    there = shapely.points(points)
    assert enclosed(points, STAR).tolist() == shapely.contains(polygon, there).tolist()
    away = shapely.distance(polygon.exterior, there)
    assert distances(points, ring_edges(STAR)).min(axis=1) == pytest.approx(away, abs=1e-12)
    for margin in (0.0, 0.3):
        near = shapely.distance(polygon, there) <= margin
        assert within(points, STAR, margin).tolist() == near.tolist()


def test_the_border_belongs_to_a_ring_unless_said_otherwise() -> None:
    square = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
    border = np.array([(0.0, 1.0), (2.0, 1.0), (1.0, 0.0), (1.0, 2.0), (0.0, 0.0), (2.0, 2.0)])
    assert enclosed(border, square).all()
    assert not enclosed(border, square, border=False).any()
    assert within(border, square, 0.0).all()
