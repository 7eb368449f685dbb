"""What a ray meets where that needs a rule, and arguments that cannot be used."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from geometry.raycast import plain_rays
from skidpad.errors import InvalidValue
from skidpad.geometry.raycast import Scene
from skidpad.geometry.raycast.fan import fan

QUARTERS = 0.5 * np.pi * np.arange(4)


def test_nothing_is_met_where_nothing_is() -> None:
    for scene in (Scene(), Scene([[1.0, 1.0, 1.0, 1.0]])):
        assert np.isinf(scene.scan([[1.0, 0.0, 0.5 * np.pi]], QUARTERS)).all()
        assert np.isinf(scene.cast(1.0, 0.0, 0.5 * np.pi)).all()
        assert scene.scan(np.empty((0, 3)), QUARTERS).shape == (0, 4)
        assert scene.cast([], [], []).shape == (0,)


def test_ends_belong_to_a_segment() -> None:
    scene = Scene([[2.0, 0.0, 2.0, 5.0]])
    assert scene.cast(0.0, 0.0, 0.0) == [2.0]
    assert scene.cast(0.0, 5.0, 0.0) == [2.0]
    assert scene.cast(0.0, -1e-12, 0.0) == [np.inf]
    assert scene.scan([[0.0, 0.0, 0.0]], QUARTERS).tolist() == [[2.0, np.inf, np.inf, np.inf]]


def test_a_ray_along_a_segment_meets_its_nearer_end() -> None:
    for ends in ([3.0, 1.0, 7.0, 1.0], [7.0, 1.0, 3.0, 1.0]):
        scene = Scene([ends])
        assert scene.cast(1.0, 1.0, [0.0, np.pi]).tolist() == [2.0, np.inf]
        assert scene.scan([[1.0, 1.0, 0.0]], QUARTERS)[0, 0] == 2.0
    slanted = Scene([[1.0, 1.0, 3.0, 3.0]])
    found = slanted.scan([[0.0, 0.0, 0.25 * np.pi]], [-0.1, 0.0, 0.1])[0]
    assert found[0] == found[2] == np.inf
    # cos and sin of π/4 differ in the last place: on the segment, or just beside it.
    assert found[1] == np.inf or found[1] == pytest.approx(np.sqrt(2.0), abs=1e-15)


@pytest.mark.parametrize("at", [(1.0, 2.0), (1.0, 4.0), (1.0, 3.2)])
def test_a_sensor_on_a_segment_has_range_zero(at) -> None:
    scene = Scene([[1.0, 2.0, 1.0, 4.0], [0.0, 0.0, 9.0, 0.0]])
    assert not scene.scan([[*at, 0.3]], np.linspace(-3.0, 3.0, 50)).any()
    assert not scene.cast(*at, np.linspace(-3.0, 3.0, 50)).any()
    assert scene.cast(at[0] + 1e-9, at[1], 0.0) == [np.inf]


def test_segments_without_length_are_not_seen() -> None:
    scene = Scene([[2.0, 0.0, 2.0, 0.0], [5.0, -1.0, 5.0, 1.0]])
    assert scene.cast(0.0, 0.0, 0.0) == [5.0]
    assert scene.cast(2.0, 0.0, 0.0) == [3.0]
    point = [[3.0, 0.0, 3.0, 0.0]]
    assert scene.scan([[0.0, 0.0, 0.0]], [0.0], movers=point) == [[5.0]]
    assert scene.scan([[3.0, 0.0, 0.0]], [0.0], movers=point) == [[2.0]]
    assert scene.cast(3.0, 0.0, 0.0, movers=point) == [2.0]


def test_directions_are_those_of_the_mathematics() -> None:
    wall = Scene([[1.0, -1e6, 1.0, 1e6]])
    angles = np.linspace(-1.5, 1.5, 1001)
    expected = 1.0 / np.cos(angles.astype(np.longdouble))
    assert np.max(np.abs(wall.cast(0.0, 0.0, angles) / expected - 1.0)) < 1e-14
    for turns in (1, -1000, 10**6):
        turned = wall.cast(0.0, 0.0, angles + 2.0 * np.pi * turns)
        assert turned == pytest.approx(expected.astype(float), rel=1e-14 + 3e-8 * abs(turns) / 1e6)


def test_recordings_of_exact_scans(truck) -> None:
    for name, first, step in truck.SCANS:
        recording = truck.load(name)
        found = Scene(recording.segments).scan(
            recording.poses, first + step * np.arange(recording.exact.shape[1])
        )
        assert np.array_equal(np.isinf(found), np.isinf(recording.exact))
        finite = np.isfinite(found)
        assert np.max(np.abs(found[finite] - recording.exact[finite])) < 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0, 0.0]], [0.0]), r"poses has shape \(1, 2\)"),
        (([[0.0, np.nan, 0.0]], [0.0]), r"y\[0\] = nan m must be finite"),
        (([[0.0, 0.0, np.inf]], [0.0]), r"yaw\[0\] = inf rad must be finite"),
        (([[2e9, 0.0, 0.0]], [0.0]), r"x\[0\] = 2000000000.0 m must be finite, at most 1e\+09"),
        (([[0.0, 0.0, 0.0]], []), r"angles has shape \(0,\).*from 1 to 1000000 rays"),
        (([[0.0, 0.0, 0.0]], np.zeros(10**6 + 1)), r"angles has shape \(1000001,\)"),
        (([[0.0, 0.0, 0.0]], [0.0, np.nan]), r"angles\[1\] = nan rad"),
        (([[0.0, 0.0, 0.0]], [0.0], np.empty((2, 1))), r"out has shape \(2, 1\)"),
        (([[0.0, 0.0, 0.0]], [0.0], np.empty((1, 1), int)), r"out has type int64"),
    ],
)
def test_scans_that_cannot_be_made(arguments, message) -> None:
    with pytest.raises(InvalidValue, match=message):
        Scene([[1.0, 0.0, 1.0, 1.0]]).scan(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_range": 0.0}, "max_range = 0.0 m must be greater than 0"),
        ({"max_range": np.nan}, "max_range = nan m"),
        ({"max_range": "far"}, "max_range = 'far' m must be a number"),
        ({"threads": 0}, "threads = 0 must be at least 1"),
        ({"movers": [[1.0, 2.0]]}, r"movers has shape \(1, 2\)"),
        ({"jitter": [0.1]}, r"jitter has shape \(1,\): it must be \(2, 1\)"),
        ({"jitter": [[0.1], [np.nan]]}, r"jitter\[1, 0\] = nan rad must be finite"),
        ({"movers": np.zeros((3, 1, 4))}, r"movers has shape \(3, 1, 4\).*\(2, m, 4\)"),
        ({"movers": [[0.0, 1.0, np.nan, 0.0]]}, r"movers\[0, 0, 2\] = nan"),
    ],
)
def test_options_that_cannot_be_used(options, message) -> None:
    out = np.full((2, 1), 7.0)
    with pytest.raises(InvalidValue, match=message):
        Scene([[1.0, 0.0, 1.0, 1.0]]).scan(np.zeros((2, 3)), [0.0], out, **options)
    assert (out == 7.0).all()


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([[0.0, 1.0, 2.0]], r"segments has shape \(1, 3\)"),
        ([[0.0, 1.0, 2.0, np.inf]], r"segments\[0, 3\] = inf m"),
    ],
)
def test_walls_that_cannot_be_used(segments, message) -> None:
    with pytest.raises(InvalidValue, match=message):
        Scene(segments)


def test_arrays_that_are_read_only_are_left_alone() -> None:
    walls, poses = plain_rays.clutter(5), plain_rays.poses(3)
    angles = np.linspace(-1.0, 1.0, 30)
    expected = Scene(walls).scan(poses, angles)
    for array in (walls, poses, angles):
        array.flags.writeable = False
    scene = Scene(walls)
    assert scene.scan(poses, angles).tobytes() == expected.tobytes()
    assert scene.scan(np.asfortranarray(poses), fan(angles)).tobytes() == expected.tobytes()
    assert scene.cast(poses[:, 0], poses[:, 1], poses[:, 2]).shape == (3,)
    out = np.empty((3, 30))
    out.flags.writeable = False
    with pytest.raises(InvalidValue, match="out is read-only"):
        scene.scan(poses, angles, out)


def test_a_million_rays() -> None:
    scene = Scene(plain_rays.clutter(30))
    angles = np.linspace(-np.pi, np.pi, 10**6, endpoint=False)
    (found,) = scene.scan([[10.0, 10.0, 0.2]], angles)
    some = slice(None, None, 9973)
    cast = scene.cast(10.0, 10.0, 0.2 + angles[some])
    assert found[some] == pytest.approx(cast, abs=1e-9)


def test_angles_may_change_from_call_to_call() -> None:
    scene = Scene([[1.0, -9.0, 1.0, 9.0]])
    angles = np.array([0.0, 0.5, 1.0])
    for turned in (0.0, 0.1, 0.0):
        angles[1] = 0.5 + turned
        (found,) = scene.scan([[0.0, 0.0, 0.0]], angles)
        assert found == pytest.approx(1.0 / np.cos(angles), rel=1e-15)


def test_kernels_are_kept_in_the_cache_folder() -> None:
    from skidpad.compile import native

    Scene([[1.0, -9.0, 1.0, 9.0]]).scan([[0.0, 0.0, 0.0]], np.linspace(-1.0, 1.0, 16))
    assert list(native.folder().glob("scan_rows-*.loop"))


def test_a_missing_gpu_library_is_named() -> None:
    code = (
        "import sys\nsys.modules['cupy'] = None\nfrom skidpad.errors import MissingExtra\n"
        "from skidpad.geometry.raycast import Scene\n"
        "try:\n    Scene().on_cuda()\nexcept MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "skidpad[cuda]"' in done.stdout
