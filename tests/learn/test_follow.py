"""Follow: a simple law stays on the reference, standing still is worse, speeds are those told."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.episodes import driven
from learn.rollouts import held_to_the_rules
from skidpad.control import Reference
from skidpad.learn import Environments, tasks
from skidpad.learn.course import Courses, Place
from skidpad.learn.tasks.follow import FollowParams, speed_at
from skidpad.vehicles import four_wheel

ANGLE = np.linspace(0.0, 2.0 * np.pi, 241)[:-1]


def loop(radius=30.0):
    """A circle at 10 m/s, faster by 3 m/s on its far side."""
    points = radius * np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])
    return Reference.along(points, 10.0 - 3.0 * np.cos(ANGLE), closed=True)


def bend():
    """A straight and a gentle bend, faster and faster."""
    x = np.arange(0.0, 150.0, 1.0)
    line = np.column_stack([x, np.where(x > 60.0, (x - 60.0) ** 2 / 150.0, 0.0)])
    return Reference.along(line, lambda s: 8.0 + 0.02 * s)


@pytest.fixture(scope="module")
def environments() -> Environments:
    task = tasks.follow(reference=[loop(), loop(50.0), bend()], duration=15.0)
    return Environments(task, 6, precision="float64")


def proportional(environments):
    """Steers with the bend and against offset and heading, drives against the speed error."""
    car = environments.task.vehicle
    a_max = min(car.limits.a_max, 10.0)

    def law(z, k):
        steer = car.geometry.wheel_base * z["curvature_0"] - 0.2 * z["n"] - 0.8 * z["heading"]
        return steer / car.limits.steer_max, -2.0 * z["v_error"] / a_max

    return law


def test_a_simple_law_follows_and_standing_still_is_worse(environments) -> None:
    followed = driven(environments, proportional(environments))
    stood = driven(environments, lambda z, k: (0.0 * z["n"], 0.0 * z["n"] - 1.0))
    # Open references have an end, which costs nothing; the others go on for the whole time.
    assert (followed.terminated | followed.truncated).all()
    assert followed.truncated.any()
    assert followed.terminated.any()
    assert followed.largest["n"].max() < 0.15
    assert followed.largest["heading"].max() < 0.1
    assert followed.largest["v_error"].max() < 0.7
    assert (followed.total < 0.0).all()
    assert (followed.total > -5.0).all()
    assert (stood.total < followed.total - 50.0).all()


def test_who_leaves_the_reference_has_lost_it(environments) -> None:
    lost = driven(environments, lambda z, k: (1.0 + 0.0 * z["n"], 0.0 * z["n"]))
    assert lost.terminated.all()
    assert (lost.total < -300.0).all()


def test_speeds_and_curvatures_seen_are_those_of_the_reference() -> None:
    """At the place of the vehicle and ahead of it, over the seam of a loop, on each reference."""
    references = [loop(), bend()]
    task = tasks.follow(reference=references, ahead=(0.0, 10.0))
    courses = Courses(task.tracks, 1.0)
    for course, reference in zip(courses.records, references, strict=True):
        for share in (0.0, 0.3, 0.77, 0.999):
            s = share * reference.length
            assert speed_at(course, task.params, s) == pytest.approx(
                reference.at_distance(s).v, abs=0.01
            )
    course, length = courses.records[0], courses.records[0].length
    over = speed_at(course, task.params, length + 5.0)
    assert over == pytest.approx(speed_at(course, task.params, 5.0))
    assert speed_at(courses.records[1], task.params, 1e4) == pytest.approx(
        references[1].points.v[-1]
    )


def test_costs_are_squares_over_time() -> None:
    task = tasks.follow(reference=loop())
    q = task.params
    assert isinstance(q, FollowParams)
    course = Courses(task.tracks, 1.0).records[0]
    v = speed_at(course, q, 20.0)
    costs = []
    for n, heading, error in ((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 0.5, 0.0), (0.0, 0.0, 4.0)):
        place = Place(20.0, n, heading, 0.03, 3.0, 3.0, 0.0, 0.0, v, course)
        x = task.vehicle.State(v_x=v + error)
        told = {"x": x, "u": task.vehicle.Input(), "p": task.vehicle.params, "place": place}
        costs.append(task.called("reward", {**told, "q": q, "dt": 0.01}))
    assert costs == pytest.approx([0.0, -0.01 * 4.0, -0.01 * 0.25, -0.01 * 0.1 * 16.0], abs=1e-12)


@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_episodes(precision) -> None:
    """With another mass, friction and delay in each."""
    randomised = {
        "params.m": {"range": [180.0, 260.0]}, "disturbance.mu_scale": {"range": [0.5, 1.0]},
        "delay": [0, 1, 2],
    }  # fmt: skip
    options = {"randomised": randomised, "duration": 1.0, "noise": {"n": {"range": [-0.1, 0.1]}}}
    task = tasks.follow(reference=loop(), **options)
    assert held_to_the_rules(task, precision) >= 5


def test_references_that_cannot_be_followed() -> None:
    with pytest.raises(sp.errors.InvalidValue, match=r"reference\[1\] has 80.0 m/s"):
        tasks.follow(reference=[loop(), Reference.along(np.eye(2) * 50.0, 80.0)])
    with pytest.raises(sp.errors.InvalidValue, match="must be a Reference"):
        tasks.follow(four_wheel(), reference=np.eye(2))
    with pytest.raises(sp.errors.InvalidValue, match="got none"):
        tasks.follow(reference=[])
