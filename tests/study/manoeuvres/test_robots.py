"""Robots that turn on the spot: exact ones, mirrored ones, and ones whose wheels slip."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.study.manoeuvres import Result, Subject, perform
from skidpad.study.manoeuvres.case_run import CaseRun
from skidpad.study.manoeuvres.command_response import (
    SpinInPlace,
    SquarePath,
    StraightAndArc,
    Track,
)
from skidpad.vehicles import wheeled
from study.manoeuvres.fakes import KERNELS


@cache
def results(control: str) -> dict[str, Result]:
    """On good ground and on ice."""
    robot = wheeled.vehicle(wheeled.differential(control=wheeled.Control(control)))
    car = Subject(robot, {"friction.mu": np.array([0.8, 0.01])})
    found = perform([SpinInPlace(), StraightAndArc(), SquarePath(side=1.0)], [car], KERNELS)
    return {result.manoeuvre.name: result for result in found}


def test_one_that_moves_as_it_is_told_makes_no_error() -> None:
    """But for the sample at which the command changes."""
    spin, arc, square = (results("twist_ideal")[name] for name in NAMES)
    np.testing.assert_allclose(spin["yaw_error"], 0.0, atol=1e-3)
    np.testing.assert_allclose(spin["centre_drift"], 0.0, atol=1e-3)
    np.testing.assert_allclose(arc["radius_error"], 0.0, atol=1e-4)
    np.testing.assert_allclose(arc["speed_share"], 1.0, atol=1e-12)
    np.testing.assert_allclose(square["closing_error"], 0.0, atol=1e-3)
    np.testing.assert_allclose(square["closing_yaw_error"], 0.0, atol=1e-3)


NAMES = ("spin_in_place", "straight_and_arc", "square_path")


def test_a_symmetric_robot_errs_to_neither_side() -> None:
    """Left and right are mirrored, on every ground."""
    arc, square = results("twist_pid")["straight_and_arc"], results("twist_pid")["square_path"]
    np.testing.assert_allclose(arc["deviation"], 0.0, atol=1e-9)
    np.testing.assert_allclose(arc["arc_asymmetry"], 0.0, atol=1e-9)
    np.testing.assert_allclose(
        square["odometry_error_ccw"], square["odometry_error_cw"], rtol=1e-6, atol=1e-9
    )


def test_wheels_that_slip_tell_more_than_was_driven() -> None:
    """On ice they turn on the spot; on good ground odometry is right to a permille."""
    good, ice = results("twist_pid")["straight_and_arc"]["odometry_distance_error"]
    assert abs(good) < 1e-3
    assert ice > 0.1


def test_a_car_whose_wheels_tell_the_way_drives_arcs_of_its_geometry() -> None:
    """One that steers, at walking pace; its odometry is right to a percent of the turn."""
    control = wheeled.Control("front_steer_pid")
    car = Subject(wheeled.vehicle(wheeled.ackermann(control=control)))
    (result,) = perform([StraightAndArc()], [car], KERNELS)
    np.testing.assert_allclose(result["radius_error"], 0.0, atol=2e-3)
    np.testing.assert_allclose(result["arc_asymmetry"], 0.0, atol=1e-9)
    np.testing.assert_allclose(result["odometry_yaw_error"], 0.0, atol=0.01)


def test_dead_reckoning_of_a_circle() -> None:
    """Constant speed and yaw rate lead round a circle; the middle of the wheels is its own."""
    robot = wheeled.vehicle(wheeled.differential())
    car = Subject(robot)
    t = np.linspace(0.0, 2.0 * np.pi, 2001)
    # Both wheels roll without slip at 1 m/s and 1 rad/s.
    p = robot.params
    left, right = ((1.0 - wheel.y) / wheel.radius for wheel in (p.wheel_left, p.wheel_right))
    spins = {"spin_left": left, "spin_right": right}
    state: Any = sp.core.record.build(robot.State, {"yaw": 0.0, **spins})
    states = np.tile(np.array(sp.core.record.flatten(state)), (len(t), 1, 1))
    com = np.array(car.geometry.centre_of_mass)
    x, y = np.sin(t), 1.0 - np.cos(t)
    signals = {
        "yaw": t[:, None],
        "x": (x + com[0] * np.cos(t) - com[1] * np.sin(t))[:, None],
        "y": (y + com[0] * np.sin(t) + com[1] * np.cos(t))[:, None],
    }
    inputs = np.zeros((len(t), 1, sp.core.record.size(robot.Input)))
    run = CaseRun("circle", t, signals, states.reshape(len(t), 1, -1), inputs)
    for track in (Track.of(car, run), Track.by_odometry(car, run)):
        np.testing.assert_allclose(track.x[:, 0], x, atol=2e-6)
        np.testing.assert_allclose(track.y[:, 0], y, atol=2e-6)
        np.testing.assert_allclose(track.travelled[-1], 2.0 * np.pi, rtol=1e-5)


def test_cars_say_that_they_do_not_turn_on_the_spot() -> None:
    """By name."""
    (result,) = perform([SpinInPlace()], [Subject(sp.vehicles.single_track())], KERNELS)
    assert result.unfit == "single_track does not turn on the spot"
