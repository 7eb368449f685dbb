"""Grip by position: patches of rectangles and polygons, lattices, one number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.road import Patch, PolygonPatch, strip

STEP = 0.1


def test_a_road_has_the_grip_of_the_tyres_unless_told() -> None:
    assert sp.Road().grip(3.0, 4.0) == 1.0
    assert sp.Road().with_grip(0.4).grip(3.0, 4.0) == 0.4
    np.testing.assert_array_equal(sp.Road().grip(np.zeros(3), 0.0), np.ones(3))


def test_patches_hold_inside_and_the_base_around_however_far() -> None:
    ice = Patch(value=0.2, x=5.0, y=1.0, length=4.0, width=2.0, yaw=0.5)
    road = sp.Road().with_grip([ice], base=0.9)
    drawn = np.random.default_rng(1).uniform(-20.0, 20.0, (20_000, 2))
    c, s = math.cos(0.5), math.sin(0.5)
    along = c * (drawn[:, 0] - 5.0) + s * (drawn[:, 1] - 1.0)
    across = -s * (drawn[:, 0] - 5.0) + c * (drawn[:, 1] - 1.0)
    beyond = np.maximum(np.abs(along) - 2.0, np.abs(across) - 1.0)
    grip = road.grip(drawn[:, 0], drawn[:, 1])
    diagonal = STEP * math.sqrt(2.0)
    np.testing.assert_allclose(grip[beyond < -diagonal], 0.2, atol=1e-12)
    np.testing.assert_allclose(grip[beyond > diagonal], 0.9, atol=1e-12)
    assert (grip >= 0.2 - 1e-12).all()
    assert (grip <= 0.9 + 1e-12).all()


def test_later_patches_lie_on_top() -> None:
    wide, narrow = Patch(value=0.5, length=6.0, width=6.0), Patch(value=0.1, length=2.0, width=2.0)
    assert sp.Road().with_grip([wide, narrow]).grip(0.0, 0.0) == pytest.approx(0.1)
    assert sp.Road().with_grip([narrow, wide]).grip(0.0, 0.0) == pytest.approx(0.5)


def test_a_polygon_is_a_patch() -> None:
    triangle = PolygonPatch(0.3, [(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)])
    road = sp.Road().with_grip(triangle)
    assert road.grip(1.0, 1.0) == pytest.approx(0.3)
    assert road.grip(3.0, 3.0) == pytest.approx(1.0)
    with pytest.raises(sp.InvalidValue, match=r"PolygonPatch\.ring"):
        PolygonPatch(0.3, [(0.0, 0.0), (1.0, 0.0)])


def test_a_strip_without_end_needs_an_area_and_holds_beyond_it() -> None:
    wet = strip(0.6, 10.0, 20.0)
    with pytest.raises(sp.InvalidValue, match="is unbounded"):
        sp.Road().with_grip([wet])
    road = sp.Road().with_grip([wet], area=(0.0, -5.0, 30.0, 5.0))
    np.testing.assert_allclose(road.grip(np.array([5.0, 15.0, 25.0]), 0.0), [1.0, 0.6, 1.0])
    assert road.grip(15.0, 1000.0) == pytest.approx(0.6)


def test_a_lattice_is_bilinear() -> None:
    road = sp.Road().with_grip([[0.2, 0.4], [0.6, 1.0]], start=(0.0, 0.0), step=2.0)
    assert road.grip(1.0, 1.0) == pytest.approx(0.55)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": 0.0}, "step"),
        ({"base": -1.0}, "base"),
        ({"area": (0.0, 0.0, 1.0)}, "area"),
        ({"area": (1.0, 0.0, 0.0, 1.0)}, "lower left"),
        ({"step": 1e-9}, "points of grip"),
        ({"start": 0.0}, "start"),
    ],
)
def test_wrong_patches_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        sp.Road().with_grip([Patch(value=0.5, length=1.0, width=1.0)], **options)
    with pytest.raises(sp.InvalidValue, match=r"patches\[1\]"):
        sp.Road().with_grip([Patch(value=0.5, length=1.0, width=1.0), 3.0])


def test_every_surface_goes_with_every_grip() -> None:
    """Whether their numbers have defaults or not."""
    patch = [Patch(value=0.5, length=1.0, width=1.0)]
    surfaces = (sp.Road(), sp.Road.plane(0.1), sp.Road.grid(np.zeros((2, 2)), 0.0, 1.0))
    for road in (made.with_grip(g) for made in surfaces for g in (1.0, patch)):
        assert type(road.record)._fields == ("surface", "grip")
        assert sp.vehicles.two_track(road=road).params.road == road.record
