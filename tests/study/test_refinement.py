"""Refinement: a surface that is known is found to the gap that is told, with few runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial import KDTree

from skidpad.core.arrays import Array
from skidpad.study.adaptive import Refinement
from skidpad.study.designs import Grid, Random, Sobol
from study.scheduling import Conducted, conducted


def circle(points: Array) -> Array:
    """Signed distance from a circle or sphere."""
    return np.sqrt(((points - 0.5) ** 2).sum(axis=1)) - 0.3


def plane(points: Array) -> Array:
    """Signed distance from a plane."""
    normal = np.ones(points.shape[1]) / np.sqrt(points.shape[1])
    return points @ normal - 0.6 * np.sqrt(points.shape[1])


def s_curve(points: Array) -> Array:
    """Above and below a wave; its slope is 1.9 at most, so the distance is half of that or more."""
    return points[:, 1] - 0.5 - 0.3 * np.sin(2.0 * np.pi * points[:, 0])


def wrong_places(done: Conducted, surface: Callable[[Array], Array], factors: int) -> Array:
    """Places at random that are on another side than the nearest run."""
    places = np.random.default_rng(0).random((20_000, factors))
    known = surface(done.points) >= 0.0
    said = known[KDTree(done.points).query(places)[1]]
    return places[said != (surface(places) >= 0.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("surface", "slope"), [(circle, 1.0), (plane, 1.0), (s_curve, 2.2)])
def test_the_surface_is_known_to_the_gap_with_few_runs(
    surface: Callable[[Array], Array], slope: float
) -> None:
    done = conducted(Refinement("y", 0.0, most=1024), 2, 1, surface)
    assert done.found["runs"] == len(done.points) == 1024
    # What is taken for another side lies within twice the gap of the surface: the border is within
    # one gap of it, and places of the border between those that were looked at nearly so.
    wrong = wrong_places(done, surface, 2)
    assert np.abs(surface(wrong)).max() < 2.0 * slope * done.found["gap"]
    # A grid of five times as many runs is worse.
    grid = conducted(Grid((72, 72)), 2, 0)
    others = wrong_places(grid, surface, 2)
    assert len(wrong) < len(others)
    assert np.abs(surface(wrong)).max() < np.abs(surface(others)).max()


@pytest.mark.slow
def test_gaps_shrink_with_runs_as_those_of_a_line() -> None:
    gaps = [
        conducted(Refinement("y", 0.0, Sobol(64), most=most), 2, 0, plane).found["gap"]
        for most in (64, 256, 1024)
    ]
    # A line takes four times the runs for a quarter of the gap, a grid for half of it.
    assert all(later < 0.4 * earlier for earlier, later in pairwise(gaps))


@pytest.mark.slow
def test_three_factors() -> None:
    done = conducted(Refinement("y", 0.0, Sobol(128), most=600), 3, 0, circle)
    wrong = wrong_places(done, circle, 3)
    assert np.abs(circle(wrong)).max() < 2.0 * done.found["gap"]
    # As good as three times as many that are spread evenly.
    others = wrong_places(conducted(Sobol(1800), 3, 0), circle, 3)
    assert len(wrong) < len(others)
    assert np.abs(circle(wrong)).max() < np.abs(circle(others)).max()


def test_the_border_is_followed_to_the_faces() -> None:
    done = conducted(Refinement("y", 0.0, most=600), 2, 0, s_curve)
    for face in (0.0, 1.0):
        near = done.points[np.abs(done.points[:, 0] - face) < 0.01]
        assert np.abs(s_curve(near)).min() < 0.02


@pytest.mark.slow
def test_many_factors() -> None:
    done = conducted(Refinement("y", 0.0, Sobol(64), 32, 256), 8, 0, plane)
    first, later = done.rounds[0], np.concatenate(done.rounds[1:])
    assert len(later) == 192
    assert np.abs(plane(later)).mean() < 0.6 * np.abs(plane(first)).mean()


def test_no_two_runs_are_the_same() -> None:
    done = conducted(Refinement("y", 0.0, first=Random(20), each=50, most=400), 2, 0, circle)
    assert len(np.unique(done.points, axis=0)) == 400
    assert KDTree(done.points).query(done.points, k=2)[0][:, 1].min() > 1e-9


def test_ties_of_a_grid_are_decided_the_same_way() -> None:
    refinement = Refinement("y", 0.0, first=Grid((5, 5)), each=6, most=60)
    done, again = (conducted(refinement, 2, 0, plane).points for _ in range(2))
    assert (done == again).all()


def test_lists_have_each_run_once_and_all_that_matter() -> None:
    levels = (7, 5)
    refinement = Refinement("y", 0.0, first=Random(12), each=4, most=200, levels=levels)
    done = conducted(refinement, 2, 3, s_curve)
    later = np.concatenate(done.rounds[1:])
    cells = np.floor(later * levels)
    assert (later == (cells + 0.5) / levels).all()
    first = np.floor(done.rounds[0] * levels)
    assert len(np.unique(cells, axis=0)) == len(cells)
    assert not (cells[:, None] == first[None]).all(axis=2).any()
    # Nothing is left to do at the end, and that before all is done.
    assert done.found["crossed"]
    assert done.found["gap"] < 1e-9
    assert len(later) < 35


def test_runs_without_a_number_are_on_neither_side() -> None:
    def broken(points: Array) -> Array:
        return np.where(points[:, 0] < 0.4, np.nan, s_curve(points))

    done = conducted(Refinement("y", 0.0, most=512), 2, 0, broken)
    later = np.concatenate(done.rounds[1:])
    assert (later[:, 0] > 0.4 - done.found["gap"]).all()
    assert np.abs(s_curve(later)).mean() < 0.05


@pytest.mark.parametrize("value", [-1.0, 1.0, np.nan])
def test_it_ends_where_nothing_crosses(value: float) -> None:
    done = conducted(Refinement("y", 0.0, Sobol(16)), 2, 0, lambda points: 0 * points[:, 0] + value)
    assert done.found == {"crossed": False, "gap": None, "runs": 16}


def test_truths_cross_a_half() -> None:
    refinement = Refinement("y", 0.5, Sobol(64), 32, 256)
    done = conducted(refinement, 2, 0, lambda points: circle(points) > 0.0)
    numbers = conducted(Refinement("y", 0.0, Sobol(64), 32, 256), 2, 0, circle)
    assert (done.points == numbers.points).all()
