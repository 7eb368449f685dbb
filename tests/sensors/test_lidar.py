"""Lidars: where the beams point, what errors do to them, sweeps in motion, other vehicles."""

from __future__ import annotations

import math
from math import inf, pi

import numpy as np
import pytest

import skidpad as sp
from skidpad.geometry.maps.map import Map
from skidpad.geometry.raycast import Scene
from skidpad.sensors.lidar import Lidar, moved_by, outlines
from skidpad.sensors.motion import Mounting

ROOM = Scene.of(Map.from_polylines([[[0, 0], [10, 0], [10, 6], [0, 6]]], closed=True))
FOUR = Lidar(rays=4, angle_min=0.0, angle_max=2.0 * pi)


def test_a_full_turn_stops_one_spacing_short_and_a_part_of_it_ends_at_its_end() -> None:
    np.testing.assert_allclose(FOUR.angles, [0.0, 0.5 * pi, pi, 1.5 * pi])
    part = Lidar(rays=5, angle_min=-0.5 * pi, angle_max=0.5 * pi)
    np.testing.assert_allclose(part.angles, [-0.5 * pi, -0.25 * pi, 0.0, 0.25 * pi, 0.5 * pi])
    assert part.increment == pytest.approx(0.25 * pi)
    assert Lidar(rays=1, angle_min=0.3, angle_max=0.3).angles.tolist() == [0.3]


def test_a_room_has_the_distances_of_its_walls() -> None:
    np.testing.assert_allclose(FOUR.scan(ROOM, [2.0, 1.0, 0.0]), [[8.0, 5.0, 2.0, 1.0]])
    # Turned to the left by a right angle, the first beam looks along y.
    np.testing.assert_allclose(FOUR.scan(ROOM, [2.0, 1.0, 0.5 * pi]), [[5.0, 2.0, 1.0, 8.0]])


def test_the_mounting_moves_and_turns_the_beams() -> None:
    lidar = Lidar(
        rays=1, angle_min=0.0, angle_max=0.0, mounting=Mounting(1.0, 0.5, 0.8, yaw=0.5 * pi)
    )
    # The body looks along y: forward is +y, left is -x; the sensor then looks along -x.
    assert lidar.scan(ROOM, [4.0, 2.0, 0.5 * pi])[0, 0] == pytest.approx(3.5)
    np.testing.assert_allclose(lidar.poses([4.0, 2.0, 0.5 * pi]), [[3.5, 3.0, pi]], atol=1e-12)


def test_ranges_outside_the_limits_say_so() -> None:
    lidar = Lidar(rays=4, angle_min=0.0, angle_max=2.0 * pi, range_min=1.5, range_max=6.0)
    assert lidar.scan(ROOM, [2.0, 1.0, 0.0]).tolist() == [[inf, 5.0, 2.0, -inf]]


def test_noise_has_its_standard_deviation_and_lost_beams_their_share() -> None:
    lidar = Lidar(rays=1000, std=0.05, dropout=0.1)
    true = Lidar(rays=1000).scan(ROOM, [5.0, 3.0, 0.0])
    read = np.concatenate([lidar.scan(ROOM, [5.0, 3.0, 0.0], steps=k) for k in range(40)])
    lost = np.isnan(read)
    # 40 000 beams: six standard deviations of a share of 0.1 are 0.009.
    assert abs(lost.mean() - 0.1) < 0.009
    error = (read - true)[~lost]
    assert abs(error.mean()) < 6 * 0.05 / math.sqrt(error.size)
    assert error.std() == pytest.approx(0.05, rel=6 / math.sqrt(2 * error.size))
    relative = Lidar(rays=1000, std_relative=0.01)
    spread = np.concatenate([relative.scan(ROOM, [5.0, 3.0, 0.0], steps=k) for k in range(40)])
    assert ((spread - true) / true).std() == pytest.approx(0.01, rel=0.03)


def test_what_is_drawn_depends_on_seed_vehicle_and_scan_alone() -> None:
    lidar = Lidar(rays=64, std=0.1, dropout=0.2)
    where = np.array([[2.0, 1.0, 0.0], [5.0, 3.0, 1.0], [7.0, 4.0, -2.0]])
    together = lidar.scan(ROOM, where, seed=3, steps=7)
    alone = lidar.scan(ROOM, where[1:2], seed=3, steps=7, vehicles=[1])
    assert alone.tobytes() == together[1:2].tobytes()
    each = lidar.scan(ROOM, where, seed=3, steps=[7, 7, 7], vehicles=[0, 1, 2])
    assert each.tobytes() == together.tobytes()
    for other in ({"seed": 4}, {"steps": 8}, {"vehicles": [9, 1, 2]}):
        found = lidar.scan(ROOM, where, **{"seed": 3, "steps": 7, **other})
        assert found[:1].tobytes() != together[:1].tobytes()
    assert lidar.scan(ROOM, where, seed=3, steps=7, threads=2).tobytes() == together.tobytes()


def test_constant_twist_is_an_arc() -> None:
    """Against small steps, and the circle that v/ω says."""
    start, twist = np.array([[1.0, 2.0, 0.4]]), (3.0, 0.5, 0.8)
    found = moved_by(start, [twist], np.array([0.0, 0.7, -0.3]))[0]
    np.testing.assert_allclose(found[0], start[0])
    for row, duration in zip(found[1:], (0.7, -0.3), strict=True):
        x, y, yaw, steps = *start[0], 200_000
        dt = duration / steps
        for _ in range(steps):
            middle = yaw + 0.5 * dt * twist[2]
            x += dt * (twist[0] * math.cos(middle) - twist[1] * math.sin(middle))
            y += dt * (twist[0] * math.sin(middle) + twist[1] * math.cos(middle))
            yaw += dt * twist[2]
        np.testing.assert_allclose(row, [x, y, yaw], atol=1e-9)
    straight = moved_by(start, [(2.0, 0.0, 0.0)], np.array([1.5]))[0, 0]
    np.testing.assert_allclose(straight, [1 + 3 * math.cos(0.4), 2 + 3 * math.sin(0.4), 0.4])


def test_a_sweep_sees_each_beam_from_where_it_left() -> None:
    """Towards a wall at v, the beam that left τ before the stamp reads v τ more."""
    wall = Scene.of(Map.from_polylines([[[10.0, -100.0], [10.0, 100.0]]]))
    lidar = Lidar(rays=11, angle_min=-1e-9, angle_max=1e-9, rate=10.0, distorted=True)
    ranges = lidar.scan(wall, [2.0, 0.0, 0.0], twist=[5.0, 0.0, 0.0])[0]
    before = (10 - np.arange(11)) / 11 / 10.0
    np.testing.assert_allclose(ranges, 8.0 + 5.0 * before, atol=1e-9)
    at_rest = lidar.scan(wall, [2.0, 0.0, 0.0], twist=[0.0, 0.0, 0.0])[0]
    np.testing.assert_allclose(at_rest, 8.0, atol=1e-9)


def test_a_turning_sweep_is_turned_back() -> None:
    """Spinning in a round room changes nothing; beside the middle the ranges are those of the
    angles at which the beams really left."""
    lidar = Lidar(rays=90, rate=10.0, distorted=True)
    omega = 3.0
    found = lidar.scan(ROOM, [4.0, 2.0, 0.3], twist=[0.0, 0.0, omega])[0]
    before = (89 - np.arange(90)) / 90 / 10.0
    wanted = ROOM.cast(4.0, 2.0, 0.3 + lidar.angles - omega * before)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_other_vehicles_are_seen_where_they_are() -> None:
    car = [[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, 0.5]]
    movers = outlines([car], [[6.0, 1.0, 0.5 * pi]])
    ahead = Lidar(rays=1, angle_min=0.0, angle_max=0.0)
    # Across the path: half its width, 0.5 m, before its middle.
    assert ahead.scan(ROOM, [2.0, 1.0, 0.0], movers=movers)[0, 0] == pytest.approx(3.5)
    assert ahead.scan(ROOM, [2.0, 1.0, 0.0])[0, 0] == pytest.approx(8.0)
    swept = Lidar(rays=1, angle_min=0.0, angle_max=0.0, rate=10.0, distorted=True)
    seen = swept.scan(ROOM, [2.0, 1.0, 0.0], twist=[0, 0, 0], movers=movers)
    assert seen[0, 0] == pytest.approx(3.5)
    per_body = np.stack([movers, movers + 100.0])
    both = swept.scan(ROOM, [[2.0, 1.0, 0.0]] * 2, twist=[[0, 0, 0]] * 2, movers=per_body)
    np.testing.assert_allclose(both[:, 0], [3.5, 8.0])


def test_a_runner_samples_at_its_rate_and_gives_after_its_delay() -> None:
    runner = Lidar(rays=4, rate=10.0, delay=0.03).runner(ROOM)
    out = {}
    for k in range(40):
        scan = runner.step(0.01 * k, (2.0 + 0.01 * k, 1.0, 0.0))
        if scan is not None:
            out[k] = scan
    assert sorted(out) == [3, 13, 23, 33]
    assert out[13].stamp == pytest.approx(0.1)
    # The beam to the back reads the distance at the time of the sample.
    assert out[13].ranges[0] == pytest.approx(2.1)
    with pytest.raises(sp.InvalidValue, match="must be later than the last step"):
        runner.step(0.1, (0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rays": 0}, r"Lidar\.rays = 0 must be .* from 1 to"),
        ({"rays": 1_000_001}, "rays = 1000001"),
        ({"rays": 3.5}, r"rays = 3\.5"),
        ({"angle_min": 1.0, "angle_max": 0.0}, "opening must be from 0 to a full turn"),
        ({"angle_min": 0.0, "angle_max": 7.0}, "opening"),
        ({"angle_min": math.nan}, "angle_min = nan rad must be finite"),
        (
            {"range_min": 5.0, "range_max": 4.0},
            r"range_max = 4\.0 m must be above range_min = 5\.0",
        ),
        ({"range_min": -1.0}, "range_min"),
        ({"std": -0.1}, "std"),
        ({"dropout": 1.5}, "dropout"),
        ({"rate": 0.0}, "rate"),
        ({"distorted": True}, "needs a rate"),
        ({"mounting": Mounting(pitch=0.1)}, r"pitch = 0\.1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(sp.InvalidValue, match=message):
        Lidar(**values)


@pytest.mark.parametrize(("column", "name"), [(0, "x"), (1, "y"), (2, "yaw")])
@pytest.mark.parametrize("bad", [math.nan, inf])
def test_what_is_no_pose_is_named(column: int, name: str, bad: float) -> None:
    lidar = Lidar(rays=4, mounting=Mounting(1.0, 0.5, 0.8, yaw=0.2))
    body = np.zeros((2, 3))
    body[1, column] = bad
    with pytest.raises(sp.InvalidValue, match=rf"^{name}\[1\] = {bad}"):
        lidar.scan(ROOM, body)
