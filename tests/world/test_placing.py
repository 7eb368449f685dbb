"""A vehicle that is put elsewhere: a robot that somebody carries."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from world.worlds import world as scene_of

ROBOT = """
<vehicle name='{name}'><init_pose>{x} 0 0</init_pose>
  <dynamics class='differential'><controller class='twist_pid'><KP>20</KP></controller></dynamics>
  <odometry x_multiplier='1' y_multiplier='1' yaw_multiplier='1'/>
  <sensor class='imu' name='imu'><sensor_period>0.01</sensor_period>
    <linear_acceleration_white_noise_std_noise>0</linear_acceleration_white_noise_std_noise>
  </sensor></vehicle>"""


def robots(extra: str = "", **options: str) -> sp.World:
    """Two robots, of which the first drives."""
    both = ROBOT.format(name="a", x=0) + ROBOT.format(name="b", x=5)
    world = sp.World(scene_of(both + extra), **options)  # type: ignore[arg-type]
    world.vehicles["a"].command(v=1.0)
    return world


def test_it_is_there_at_rest_and_drives_on_from_there() -> None:
    world = robots()
    world.run(1.0)
    other = world.vehicles["b"].state
    world.place("a", 10.0, -3.0, 0.5)
    truth = world.vehicles["a"].truth
    assert (truth.x, truth.y, truth.yaw) == (10.0, -3.0, 0.5)
    assert (truth.v_x, truth.v_y, truth.omega) == (0.0, 0.0, 0.0)
    assert world.vehicles["b"].state == other
    world.run(2.0)
    after = world.vehicles["a"].truth
    assert np.arctan2(after.y + 3.0, after.x - 10.0) == pytest.approx(0.5, abs=1e-6)
    assert after.v_x == pytest.approx(1.0, abs=0.05)


def test_neither_odometry_nor_accelerometer_notices() -> None:
    world = robots()
    world.run(1.0)
    before = world.odometry()[0, :3]
    world.place("a", 10.0, -3.0, 0.5)
    assert world.odometry()[0, :3].tolist() == before.tolist()
    world.step()
    # The wheels start from rest: less than 0.1 m in a step, and no blow of 1 m/s in 5 ms.
    assert np.hypot(*(world.odometry()[0, :2] - before[:2])) < 0.01
    world.vehicles["a"].command(v=0.0)
    world.run(1.0)
    world.place("a", 0.0, 0.0, 0.0)
    world.run(0.02)
    assert abs(world.vehicles["a"].sensors["imu"].f_x) < 1e-6


def test_odometry_of_all_is_that_of_each() -> None:
    world = robots(
        "<vehicle name='car'><init_pose>0 9 0</init_pose><dynamics class='ackermann'/></vehicle>"
    )
    world.vehicles["b"].command(v=0.5, omega=0.3)
    world.run(1.5)
    for row, name in zip(world.odometry(), world.vehicles, strict=True):
        assert row.tolist() == list(world.vehicles[name].sensors["odometry"][:5])


def test_it_meets_what_is_there_and_leaves_what_it_touched() -> None:
    wall = "<walls><shape><pt>3 -2</pt><pt>3 2</pt></shape></walls>"
    world = robots(wall)
    world.run(4.0)
    assert world.vehicles["a"].in_collision
    world.place("a", -20.0, 0.0, np.pi)
    assert not world.vehicles["a"].in_collision
    world.run(0.5)
    assert not world.vehicles["a"].in_collision
    world.place("a", 2.3, 0.0, 0.0)
    world.run(1.0)
    assert world.vehicles["a"].in_collision


def test_it_stands_on_the_ground_there() -> None:
    plane = (
        "<element class='horizontal_plane'><x_min>9</x_min><x_max>15</x_max><y_min>-9</y_min>"
        "<y_max>9</y_max><z>0.2</z></element>"
    )
    world = robots(plane)
    world.run(0.1)
    world.place("a", 12.0, 0.0, 0.0)
    assert world.vehicles["a"].truth.z == pytest.approx(0.2)
    world.step()
    assert world.attitudes()[0, 0] == pytest.approx(0.2)
    world.place("a", 0.0, 0.0, 0.0)
    assert world.vehicles["a"].truth.z == 0.0


def test_a_snapshot_from_before_brings_everything_back() -> None:
    world = robots()
    world.run(1.0)
    start = world.snapshot()
    world.run(1.0)
    wanted = world.motion(), world.odometry()
    world.restore(start)
    world.place("a", 3.0, 3.0, 3.0)
    world.step()
    world.restore(start)
    world.run(1.0)
    assert world.motion().tolist() == wanted[0].tolist()
    assert world.odometry().tolist() == wanted[1].tolist()


def test_what_it_touched_later_is_not_touched_after_a_restore() -> None:
    world = robots("<walls><shape><pt>3 -2</pt><pt>3 2</pt></shape></walls>")
    world.run(0.1)
    start = world.snapshot()
    world.run(4.0)
    assert world.vehicles["a"].in_collision
    end = world.snapshot()
    world.restore(start)
    assert not world.vehicles["a"].in_collision
    world.run(0.1)
    assert not world.vehicles["a"].in_collision
    world.restore(end)
    assert world.vehicles["a"].in_collision


@pytest.mark.parametrize("pose", [(np.nan, 0.0, 0.0), (0.0, np.inf, 0.0), (0.0, 0.0, -np.inf)])
def test_what_is_no_pose_is_refused(pose: tuple[float, float, float]) -> None:
    world = robots()
    before = world.motion().tolist()
    with pytest.raises(InvalidValue, match="must be finite"):
        world.place("a", *pose)
    assert world.motion().tolist() == before


def test_one_on_a_joint_stays() -> None:
    world = robots(
        "<joint type='distance' body_a='a' body_b='b' anchor_a='0 0' anchor_b='0 0'"
        " max_length='6'/>"
    )
    before = world.motion().tolist()
    with pytest.raises(InvalidValue, match="a is attached to a joint"):
        world.place("a", 1.0, 1.0, 0.0)
    assert world.motion().tolist() == before


def test_readings_of_a_step_are_told_once() -> None:
    world = robots()
    world.step()
    counts = []
    for _ in range(8):
        world.step()
        counts.append([(owner, name) for owner, name, _ in world.sensing.fresh])
        for owner, name, reading in world.sensing.fresh:
            assert reading is world.readings(owner)[name]
            assert reading.stamp == world.time
    assert counts.count([("a", "imu"), ("b", "imu")]) == 4
    assert counts.count([]) == 4
