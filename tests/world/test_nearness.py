"""Who may touch something is found as by looking at everybody, without looking at everybody."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from skidpad.world.contact.encounters import MARGIN, Nearness
from skidpad.world.motion import columns_at

Array = NDArray[np.float64]
WALLS = np.array([[-9.0, -9.0, 9.0, -9.0], [9.0, -9.0, 9.0, 9.0], [-3.0, 0.0, 3.0, 0.5]])


def clearances(places: Array, radii: Array, others: Array, other_radii: Array) -> Array:
    """How far the circle of each vehicle is from everything, by looking at all of it."""
    start, end = WALLS[:, :2], WALLS[:, 2:]
    along = end - start
    share = ((places[:, None] - start) * along).sum(axis=2) / (along**2).sum(axis=1)
    foot = start + np.clip(share, 0.0, 1.0)[:, :, None] * along
    found = np.linalg.norm(places[:, None] - foot, axis=2).min(axis=1) - radii
    everyone = np.concatenate([places, others])
    apart = np.linalg.norm(places[:, None] - everyone, axis=2)
    apart -= radii[:, None] + np.concatenate([radii, other_radii])
    np.fill_diagonal(apart, np.inf)
    return np.minimum(found, apart.min(axis=1))


@pytest.mark.parametrize(("count", "blocks", "speed"), [(1, 0, 1.0), (2, 1, 3.0), (25, 6, 1.5)])
def test_all_that_are_near_are_found_and_few_others(count: int, blocks: int, speed: float) -> None:
    rng = np.random.default_rng(3)
    radii, other_radii = rng.uniform(0.3, 0.9, count), rng.uniform(0.2, 1.0, blocks)
    near = Nearness(radii, WALLS, other_radii)
    places, heading = rng.uniform(-8.0, 8.0, (count, 2)), rng.uniform(-np.pi, np.pi, count)
    others = rng.uniform(-8.0, 8.0, (blocks, 2))
    met = free = 0
    for _ in range(600):
        heading += rng.normal(0.0, 0.1, count)
        places = places + 0.005 * speed * np.stack([np.cos(heading), np.sin(heading)], axis=1)
        others = others + rng.normal(0.0, 0.003, others.shape)
        # Somebody is put elsewhere now and then, as by a snapshot.
        if rng.random() < 0.02:
            places[rng.integers(count)] = rng.uniform(-8.0, 8.0, 2)
        found = set(near.near(places, others).tolist())
        clear = clearances(places, radii, others, other_radii)
        missed = set(np.flatnonzero(clear < MARGIN).tolist()) - found
        assert not missed
        assert all(clear[k] < 2.0 * MARGIN for k in found)
        met, free = met + len(found), free + count - len(found)
    assert free
    assert met or count == 1


def test_nothing_around_and_nobody_there() -> None:
    nothing = np.empty((0, 2))
    assert not len(Nearness(np.array([1.0]), np.empty((0, 4)), np.empty(0)).near(nothing, nothing))
    empty = Nearness(np.empty(0), WALLS, np.array([1.0]))
    assert not len(empty.near(nothing, np.array([[0.0, 0.0]])))
    alone = Nearness(np.array([1.0]), np.empty((0, 4)), np.empty(0))
    for x in (0.0, 100.0, 0.0):
        assert not len(alone.near(np.array([[x, 0.0]]), nothing))


def test_columns_side_by_side_are_a_slice() -> None:
    table = np.arange(12.0).reshape(2, 6)
    for wanted in ((0, 1, 2), (2, 3), (5,), (0, 2), (2, 1)):
        assert np.array_equal(table[:, columns_at(wanted)], table[:, list(wanted)])
    assert columns_at((2, 3)) == slice(2, 4)
