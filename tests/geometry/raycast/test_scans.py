"""Whole scans of segments against plain ray casting, and against themselves done another way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from geometry.raycast import plain_rays
from skidpad.errors import InvalidValue
from skidpad.geometry.raycast import Scene
from skidpad.geometry.raycast import scene as scene_module
from skidpad.geometry.raycast.fan import fan

CIRCLE = np.linspace(-np.pi, np.pi, 360, endpoint=False)
FANS = {
    "circle": CIRCLE,
    "both ends": np.linspace(0.0, 2.0 * np.pi, 101),
    "forward": np.linspace(-2.1, 2.1, 77),
    "narrow": np.linspace(0.3, 0.31, 9),
    "falling": np.linspace(2.0, -2.5, 203),
    "two turns": np.linspace(-6.0, 7.0, 150),
    "one": np.array([0.7]),
    "unsteady": CIRCLE + 0.4 * (CIRCLE[1] - CIRCLE[0]) * np.sin(17.0 * CIRCLE),
    "uneven": np.cumsum(np.linspace(0.001, 0.05, 64)) - 0.8,
    "shuffled": np.random.default_rng(4).permutation(CIRCLE),
}


@pytest.fixture(params=["sweep", "tree"])
def engine(request, monkeypatch):
    monkeypatch.setattr(scene_module, "ALL_AT_ONCE", 0 if request.param == "tree" else 10**9)
    return request.param


@pytest.mark.slow_cases(
    "sweep-100-falling",
    "sweep-100-shuffled",
    "sweep-100-unsteady",
    "tree-100-falling",
    "tree-100-shuffled",
    "tree-100-unsteady",
)
@pytest.mark.parametrize("angles", FANS.values(), ids=FANS)
@pytest.mark.parametrize("count", [0, 3, 100, pytest.param(300, marks=pytest.mark.slow)])
def test_every_range_is_exact(count, angles, engine) -> None:
    walls, poses = plain_rays.clutter(count), plain_rays.poses(4)
    scene = Scene(walls)
    assert scene.engine == engine
    found = scene.scan(poses, angles)
    for pose, row in zip(poses, found, strict=True):
        assert plain_rays.disagreement(row, walls, *pose[:2], pose[2] + angles) < 1e-12


def test_the_engine_may_be_chosen_and_shows_in_no_bit() -> None:
    walls, poses = plain_rays.clutter(100), plain_rays.poses(4)
    sweep, tree = (Scene(walls, engine=name) for name in ("sweep", "tree"))
    assert (sweep.engine, tree.engine) == ("sweep", "tree")
    assert sweep.scan(poses, CIRCLE).tobytes() == tree.scan(poses, CIRCLE).tobytes()
    with pytest.raises(InvalidValue, match="engine = 'octree' is unknown"):
        Scene(walls, engine="octree")


@pytest.mark.parametrize("angles", [FANS["forward"], FANS["falling"], FANS["uneven"]])
def test_what_is_missed_reads_as_told(angles, engine) -> None:
    walls, poses = plain_rays.clutter(40), plain_rays.poses(4)
    scene, out = Scene(walls), np.empty((4, len(angles)), np.float32)
    found = scene.scan(poses, angles, max_range=6.0)
    assert 0 < np.isinf(found).sum() < found.size
    told = scene.scan(poses, angles, out, max_range=6.0, missed=6.0)
    assert told.tobytes() == np.minimum(found, 6.0).astype(np.float32).tobytes()


def test_walls_in_chains_show_in_no_bit() -> None:
    turns = np.linspace(0.0, 2.0 * np.pi, 201)
    ring = np.column_stack([(9.0 + np.sin(5.0 * turns)) * f(turns) for f in (np.cos, np.sin)])
    ring[-1] = ring[0]
    chain = np.hstack([ring[:-1], ring[1:]])
    mixed = np.random.default_rng(3).permutation(chain)
    one, other = (Scene(walls, engine="tree") for walls in (chain, mixed))
    poses = plain_rays.poses(4)
    assert one.scan(poses, CIRCLE).tobytes() == other.scan(poses, CIRCLE).tobytes()


# Coordinates on a coarse lattice: ends that coincide, walls in line with sensors, sensors on walls.
lattice = st.integers(-3, 3).map(float)
anywhere = st.floats(-50.0, 50.0, allow_subnormal=False)
either = st.one_of(lattice, anywhere)
walls_of = st.lists(st.tuples(either, either, either, either), max_size=12)
quarters = st.integers(-4, 4).map(lambda n: 0.25 * np.pi * n)


@given(walls=walls_of, x=either, y=either, yaw=st.one_of(quarters, st.floats(-10.0, 10.0)))
@example(walls=[(1.0, 0.0, 2.0, 0.0)], x=0.0, y=0.0, yaw=0.0)
@example(walls=[(-1.0, 0.0, 1.0, 0.0)], x=0.0, y=1e-300, yaw=0.0)
@example(walls=[(1e-300, 1.0, 0.0, -1.0)], x=0.0, y=0.0, yaw=0.5)
def test_any_walls_from_anywhere(walls, x, y, yaw) -> None:
    scene = Scene(walls)
    angles = np.linspace(-np.pi, np.pi, 40, endpoint=False)
    (found,) = scene.scan([[x, y, yaw]], angles)
    assert not np.isnan(found).any()
    assert (found >= 0.0).all()
    if found.any():
        assert plain_rays.disagreement(found, walls, x, y, yaw + angles) < 1e-11
    else:
        # On a wall, to rounding: a step aside finds it near.
        assert min(distance(wall, x, y) for wall in walls) < 1e-13
    cast = scene.cast(x, y, yaw + angles)
    assert plain_rays.disagreement(cast, walls, x, y, yaw + angles) < 1e-11 or not cast.any()


def distance(wall, x, y) -> float:
    """Distance of a point from a segment."""
    a, b, p = np.array(wall[:2]), np.array(wall[2:]), np.array([x, y])
    along = b - a
    part = np.clip(np.dot(p - a, along) / max(np.dot(along, along), 1e-300), 0.0, 1.0)
    return float(np.hypot(*(a + part * along - p)))


corners_of = st.lists(st.floats(0.2, 30.0), min_size=3, max_size=40)


@given(radii=corners_of, x=st.floats(-0.05, 0.05), y=st.floats(-0.05, 0.05), turned=anywhere)
def test_nothing_slips_between_walls_that_meet(radii, x, y, turned) -> None:
    bearing = turned + np.linspace(0.0, 2.0 * np.pi, len(radii), endpoint=False)
    corners = np.stack([np.cos(bearing), np.sin(bearing)], axis=1) * np.array(radii)[:, None]
    walls = np.concatenate([corners, np.roll(corners, -1, axis=0)], axis=1)
    scene = Scene(walls)
    # Straight at the corners, and a little to both sides of them.
    at = np.arctan2(*(corners - [x, y]).T[::-1])
    angles = np.concatenate([at + turn for turn in (0.0, 1e-16, -1e-16, 4e-16, -4e-16, 1e-12)])
    assert np.isfinite(scene.cast(x, y, angles)).all()
    assert np.isfinite(scene.scan([[x, y, 0.0]], np.sort(angles))).all()
    assert np.isfinite(scene.scan([[x, y, at[0]]], CIRCLE)).all()


@pytest.mark.parametrize("angles", FANS.values(), ids=FANS)
def test_the_bits_do_not_depend_on_the_way(angles, monkeypatch) -> None:
    walls, poses = plain_rays.clutter(200), plain_rays.poses(20)
    movers = plain_rays.clutter(5, seed=3, side=9.0)[4:]
    reference = Scene(walls).scan(poses, angles, movers=movers, max_range=9.0).tobytes()
    monkeypatch.setattr(scene_module, "ALL_AT_ONCE", 0)
    tree = Scene(walls)
    ray_by_ray = dataclasses.replace(fan(angles), view=None)
    for rays in (angles, fan(angles), ray_by_ray):
        for threads in (1, 2, 7):
            again = tree.scan(poses, rays, movers=movers, max_range=9.0, threads=threads)
            assert again.tobytes() == reference
    single = [tree.scan([pose], angles, movers=movers, max_range=9.0) for pose in poses]
    assert np.concatenate(single).tobytes() == reference


@pytest.mark.slow_cases(
    "sweep-both ends-0.4",
    "sweep-circle-0.4",
    "sweep-falling-0.4",
    "sweep-forward-0.4",
    "sweep-narrow-0.4",
    "sweep-one-0.4",
    "sweep-shuffled-0.4",
    "sweep-two turns-0.4",
    "sweep-uneven-0.4",
    "sweep-unsteady-0.4",
    "tree-both ends-0.4",
    "tree-circle-0.4",
    "tree-falling-0.4",
    "tree-forward-0.4",
    "tree-narrow-0.4",
    "tree-one-0.4",
    "tree-shuffled-0.4",
    "tree-two turns-0.4",
    "tree-uneven-0.4",
    "tree-unsteady-0.4",
)
@pytest.mark.parametrize("size", [1e-4, 0.4, 9.0])
@pytest.mark.parametrize("angles", FANS.values(), ids=FANS)
def test_rays_that_are_shaken_are_exact_whatever_the_way(angles, size, engine) -> None:
    walls, poses = plain_rays.clutter(30), plain_rays.poses(3)
    movers = plain_rays.clutter(3, seed=3, side=9.0)[4:]
    jitter = size * np.random.default_rng(8).standard_normal((len(poses), len(angles)))
    scene = Scene(walls)
    found = scene.scan(poses, angles, movers=movers, jitter=jitter)
    for pose, row, shaken in zip(poses, found, angles + jitter, strict=True):
        seen = np.concatenate([walls, movers])
        assert plain_rays.disagreement(row, seen, *pose[:2], pose[2] + shaken) < 1e-12
    ray_by_ray = dataclasses.replace(fan(angles), view=None)
    for rays, threads in ((angles, 2), (ray_by_ray, 1)):
        again = scene.scan(poses, rays, movers=movers, jitter=jitter, threads=threads)
        assert again.tobytes() == found.tobytes()
    still = scene.scan(poses, angles, movers=movers, jitter=0.0 * jitter)
    assert still.tobytes() == scene.scan(poses, angles, movers=movers).tobytes()


def test_convex_loops_hide_their_far_side_from_outside_only() -> None:
    box = np.array([[1.0, 1.0, 3.0, 1.0], [3.0, 1.0, 3.0, 2.0], [3.0, 2.0, 1.0, 2.0]])
    box = np.concatenate([box, [[1.0, 2.0, 1.0, 1.0]]])
    for walls in (box, box[::-1, [2, 3, 0, 1]]):
        for x, y in ((2.0, 1.5), (2.9, 1.9), (0.5, 0.5), (2.0, 5.0), (1.01, 0.99)):
            (found,) = Scene(walls).scan([[x, y, 0.1]], CIRCLE)
            assert plain_rays.disagreement(found, walls, x, y, 0.1 + CIRCLE) < 1e-12


def test_walls_that_cross_themselves_are_seen_from_all_sides() -> None:
    star = np.array([[np.cos(a), np.sin(a)] for a in 0.8 * np.pi * np.arange(5)])
    walls = np.concatenate([star, np.roll(star, -1, axis=0)], axis=1)
    for x, y in ((0.0, 0.0), (0.5, 0.0), (1.5, 0.1), (-0.4, 0.3)):
        (found,) = Scene(walls).scan([[x, y, 0.0]], CIRCLE)
        assert plain_rays.disagreement(found, walls, x, y, CIRCLE) < 1e-12


def test_far_from_the_origin_and_far_from_the_map() -> None:
    walls, poses = plain_rays.clutter(60), plain_rays.poses(6)
    shift = 2.0**23
    moved = np.round(walls * 2**20) / 2**20 + shift
    scene = Scene(moved)
    for pose in np.round(poses * 2**20) / 2**20:
        x, y = pose[:2] + shift
        (found,) = scene.scan([[x, y, pose[2]]], CIRCLE)
        assert plain_rays.disagreement(found, moved, x, y, pose[2] + CIRCLE) < 1e-12
    outside = [[1e6, 10.0, np.pi], [-4e4, -4e4, 0.25 * np.pi]]
    far = Scene(walls).scan(outside, np.linspace(-1e-4, 1e-4, 1001))
    assert far.min(axis=1) == pytest.approx([1e6 - 20.0, np.hypot(4e4, 4e4)], abs=0.1)
    cast = Scene(walls).cast(1e6, 10.0, np.pi + np.linspace(-1e-5, 1e-5, 99))
    assert cast == pytest.approx(1e6 - 20.0, abs=20.0)


def test_many_segments_in_a_line_have_no_gaps() -> None:
    x = np.linspace(-30.0, 30.0, 5001)
    walls = np.column_stack([x[:-1], 2.0 + np.sin(x[:-1]), x[1:], 2.0 + np.sin(x[1:])])
    scene = Scene(walls)
    assert scene.engine == "tree"
    angles = np.linspace(0.2, np.pi - 0.2, 3000)
    (found,) = scene.scan([[0.0, -1.0, 0.0]], angles)
    assert plain_rays.disagreement(found[::50], walls, 0.0, -1.0, angles[::50]) < 1e-12
    assert np.isfinite(found).all()


def test_a_largest_range_cuts_off_and_changes_nothing_else() -> None:
    walls, poses = plain_rays.clutter(100), plain_rays.poses(8)
    scene = Scene(walls)
    whole = scene.scan(poses, CIRCLE)
    for limit in (0.3, 2.0, 7.5, 1e3):
        near = scene.scan(poses, CIRCLE, max_range=limit)
        assert near.tobytes() == np.where(whole <= limit, whole, np.inf).tobytes()
        assert scene.cast(*poses[0], max_range=limit) in (np.inf, scene.cast(*poses[0])[0])


def test_what_moves_is_as_good_as_a_wall() -> None:
    walls, cars = plain_rays.clutter(50), plain_rays.clutter(11, seed=5)[4:]
    poses = plain_rays.poses(9)
    scene, both = Scene(walls), Scene(np.concatenate([walls, cars]))
    expected = both.scan(poses, CIRCLE)
    assert scene.scan(poses, CIRCLE, movers=cars) == pytest.approx(expected, abs=1e-12)
    each = np.stack([np.roll(cars, b, axis=0)[: len(cars) - 1] for b in range(len(poses))])
    found = scene.scan(poses, CIRCLE, movers=each, threads=2)
    for pose, its, row in zip(poses, each, found, strict=True):
        seen = Scene(np.concatenate([walls, its])).scan([pose], CIRCLE)[0]
        assert row == pytest.approx(seen, abs=1e-12)
        rays = scene.cast(*pose[:2], pose[2] + CIRCLE, movers=its)
        assert plain_rays.disagreement(rays, [*walls, *its], *pose[:2], pose[2] + CIRCLE) < 1e-12


def test_float32_rows_are_rounded_float64_rows() -> None:
    scene, poses = Scene(plain_rays.clutter(80)), plain_rays.poses(7)
    exact = scene.scan(poses, CIRCLE[:-3])
    out = np.empty(exact.shape, np.float32)
    assert scene.scan(poses, CIRCLE[:-3], out) is out
    assert out.tobytes() == exact.astype(np.float32).tobytes()
    wide = np.zeros((7, 2 * len(CIRCLE)))
    scene.scan(poses, CIRCLE[:-3], wide[:, 1 : len(CIRCLE) - 2])
    assert wide[:, 1 : len(CIRCLE) - 2].tobytes() == exact.tobytes()
    assert not wide[:, 0].any()
    assert not wide[:, len(CIRCLE) - 2 :].any()
