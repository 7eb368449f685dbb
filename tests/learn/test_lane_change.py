"""Lane change: passed at a moderate speed, failed far above it; ice acts under the wheels on it."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.episodes import driven
from learn.rollouts import held_to_the_rules
from skidpad.core.body import Pose
from skidpad.learn import Environments, tasks
from skidpad.learn.tasks.follow import Ice, LaneChangeParams, disturb, grip_law, lane_track
from skidpad.study.manoeuvres.cone_courses import double_lane_change
from skidpad.vehicles import four_wheel, two_track

CAR = two_track("compact")
END = 125.0
"""Of the last lane of ISO 3888-1."""


def entered_at(car, speed, ice=None, count=4):
    task = tasks.lane_change(car, speeds=(speed, speed), ice=ice)
    return Environments(task, count, precision="float64")


def driver_of(car):
    """Steers for the bend ahead and back to the path, and holds the speed."""

    def law(z, k):
        bend = (car.geometry.wheel_base + 0.003 * z["v_x"] ** 2) * z["curvature_1"]
        steer = bend - 0.15 * z["n"] - 0.8 * z["heading"]
        return steer / car.limits.steer_max, (z["entry"] - z["v_x"]) / car.limits.a_max

    return law


@pytest.fixture(scope="module")
def passed():
    """At a moderate speed."""
    return driven(entered_at(CAR, 18.0, count=12), driver_of(CAR))


@pytest.mark.slow
def test_passed_at_a_moderate_speed_and_failed_far_above(passed) -> None:
    assert passed.terminated.all()
    assert (passed.state[:, 0] > END).all()
    # A metre is worth up to 1: about 140 m to 155 m were driven, hardly slower than at first.
    assert (passed.total > 135.0).all()
    assert (passed.total < 160.0).all()
    failed = driven(entered_at(CAR, 34.0), driver_of(CAR))
    assert failed.terminated.all()
    assert (failed.state[:, 0] < END).all()
    assert (failed.total < passed.total[:4] - 50.0).all()


@pytest.mark.slow
def test_ice_makes_it_harder(passed) -> None:
    """Who passes on a dry road does not always do so on ice."""
    icy = driven(entered_at(CAR, 18.0, (0.1, 0.1), 12), driver_of(CAR))
    failed = icy.state[:, 0] < END
    assert 0 < failed.sum() < 12
    assert (icy.total[failed] < passed.total[failed] - 50.0).all()


def test_a_lane_cannot_be_driven_past() -> None:
    """Straight on there is nothing to touch beside the second lane, and yet it is missed."""
    car = four_wheel()
    environments = entered_at(car, 15.0)
    past = driven(environments, lambda z, k: (0.0 * z["n"], (15.0 - z["v_x"]) / car.limits.a_max))
    assert past.terminated.all()
    assert np.abs(past.state[:, 1]).max() < 0.5
    assert past.state[:, 0] == pytest.approx(45.0, abs=0.5)
    assert (past.total < 30.0).all()


def test_ice_is_under_the_wheels_that_stand_on_it() -> None:
    wheels = [(wheel.x, wheel.y) for wheel in CAR.geometry.wheels]
    x, u, p = CAR.State(v_x=15.0), CAR.Input(), CAR.params
    law, q = grip_law(CAR, "a test"), LaneChangeParams(mu=0.8)
    left = Ice(x=50.0, y=1.0, length=10.0, width=2.0, mu=0.25)

    def under(pose):
        w = disturb(law, wheels, x, u, p, pose, left, q)
        return [w.mu_fl, w.mu_fr, w.mu_rl, w.mu_rr]

    assert under(Pose(50.0, 0.0, 0.0)) == pytest.approx([0.2, 0.8, 0.2, 0.8])
    # Turned round, the right side is on it; with its front just on it, the front left wheel is.
    assert under(Pose(50.0, 0.0, np.pi)) == pytest.approx([0.8, 0.2, 0.8, 0.2])
    assert under(Pose(45.1 - CAR.params.l_f, 0.0, 0.0)) == pytest.approx([0.2, 0.8, 0.8, 0.8])
    assert under(Pose(70.0, 0.0, 0.0)) == pytest.approx([0.8] * 4)
    # A car with one factor for all tyres has their mean.
    car = four_wheel()
    half = [(wheel.x, wheel.y) for wheel in car.geometry.wheels]
    one = grip_law(car, "a test")
    w = disturb(one, half, car.State(), car.Input(), car.params, Pose(50.0, 0.0, 0.0), left, q)
    assert w.mu_scale == pytest.approx(0.5)


def test_the_course_is_that_of_the_standard() -> None:
    """Borders are those of the lanes, and the path leaves a car room on both sides."""
    width = CAR.params.width
    lanes = double_lane_change(width)
    track = lane_track(lanes, width)
    assert np.array(track.walls).shape == (6, 4)
    for lane in lanes:
        both = [wall for wall in track.walls if wall[0] == lane.begin]
        assert all(wall[2] == lane.end and wall[1] == wall[3] for wall in both)
        assert {float(wall[1]) for wall in both} >= {lane.left, lane.right}
        inside = (track.centre[:, 0] > lane.begin) & (track.centre[:, 0] < lane.end)
        assert (track.left + track.right)[inside] == pytest.approx(lane.left - lane.right)
        assert min(track.left[inside].min(), track.right[inside].min()) > 0.5 * width


@pytest.mark.parametrize("precision", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_episodes(precision) -> None:
    """With another mass, road and delay in each, between the cones of the other standard."""
    randomised = {
        "params.m": {"range": [180.0, 260.0]}, "task.mu": {"range": [0.4, 1.0]},
        "delay": [0, 1, 3],
    }  # fmt: skip
    task = tasks.lane_change(four_wheel(), standard="ISO 3888-2", randomised=randomised, substeps=5)
    assert held_to_the_rules(task, precision) >= 5


def test_what_cannot_be() -> None:
    with pytest.raises(sp.errors.InvalidValue, match="no tyres that slip"):
        tasks.lane_change(sp.vehicles.kinematic_bicycle())
    with pytest.raises(sp.errors.InvalidValue, match="the course is one for cars"):
        tasks.lane_change(two_track("small_scale"))
    with pytest.raises(sp.errors.InvalidValue, match=r"speeds = \(20.0, 10.0\)"):
        tasks.lane_change(CAR, speeds=(20.0, 10.0))
    with pytest.raises(sp.errors.InvalidValue, match="ice = 0"):
        tasks.lane_change(CAR, ice=(0.0, 0.5))
    with pytest.raises(sp.errors.InvalidValue, match="standard = 'ISO 1'"):
        tasks.lane_change(CAR, standard="ISO 1")
