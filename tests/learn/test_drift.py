"""Drift: a drift is possible, is worth more than grip, and needs tyres."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.episodes import driven
from learn.rollouts import held_to_the_rules
from skidpad.core.body import Velocity
from skidpad.learn import Environments, tasks
from skidpad.learn.course import Place
from skidpad.learn.tasks.follow import DriftParams, circle, sideslip_of

RADIUS = 20.0


@pytest.fixture(scope="module")
def environments() -> Environments:
    return Environments(tasks.drift(radius=RADIUS, duration=12.0), 4, precision="float64")


def shares(environments, steer, a):
    limits = environments.task.vehicle.limits
    return steer / limits.steer_max, a / limits.a_max


def at_grip(environments, speed):
    """Follows the circle at a speed."""

    def law(z, k):
        steer = 0.13 - 0.1 * z["n"] - 0.6 * z["heading"]
        return shares(environments, steer, 0.8 * (speed - z["v_x"]))

    return law


GAINS = np.array(
    [[-0.166, -0.193, 0.522, 0.337, 0.011, 0.543], [0.105, -1.474, 1.672, 0.563, -0.164, -4.838]]
)
"""Of steering angle and acceleration for v_x, v_y, omega, steer, n and heading: a linear quadratic
regulator about the steady drift of the car."""


def drifting(environments):
    """Speeds up for a second, then slides, further and further, and holds the drift."""
    fast = at_grip(environments, 8.6)

    def law(z, k):
        t = k * environments.task.dt
        if t < 1.0:
            return fast(z, k)
        beta = min(0.25 + 0.2 * (t - 1.0), 0.5)
        # Steady drifts of this car, from the roots of its derivative, are nearly on a line.
        v, steer, a = 9.4 - 2.0 * beta, 0.13 - 0.98 * beta, 0.45 + 1.65 * beta
        steady = np.array([v * np.cos(beta), -v * np.sin(beta), v / RADIUS, steer, 0.0, beta])
        names = ("v_x", "v_y", "omega", "steer", "n", "heading")
        error = np.stack([z[name] for name in names]) - steady[:, None]
        back = GAINS @ error
        return shares(environments, steer - back[0], a - back[1])

    return law


@pytest.mark.slow
def test_a_drift_is_held_and_worth_more_than_grip(environments) -> None:
    drift = driven(environments, drifting(environments))
    assert drift.truncated.all()
    assert np.abs(drift.final["sideslip"] - 0.5).max() < 0.05
    assert np.abs(drift.final["n"]).max() < 0.5
    # Wheels against the turn while it goes on to the left: no grip driving looks like this.
    assert (drift.final["steer"] < -0.2).all()
    assert (drift.final["omega"] > 0.3).all()
    for speed in (7.0, 9.0):
        grip = driven(environments, at_grip(environments, speed))
        assert grip.truncated.all()
        assert (grip.total > 0.0).all()
        assert (drift.total > 1.4 * grip.total).all()


def test_more_speed_than_grip_leaves_the_ring(environments) -> None:
    out = driven(environments, at_grip(environments, 14.0))
    assert out.terminated.all()
    assert not out.truncated.any()


def test_worth_of_a_metre() -> None:
    """All of it at what is asked for, a factor 1/e for a scale of deviation, nothing at rest."""
    q = DriftParams()
    drift_reward = tasks.drift().reward
    place = _place(n=0.0, gained=0.1)
    asked = Velocity(8.0 * np.cos(q.sideslip), -8.0 * np.sin(q.sideslip), 0.4)
    assert drift_reward(place, asked, q) == pytest.approx(0.1, rel=5e-3)
    beside = drift_reward(place._replace(n=q.place_scale), asked, q)
    assert beside == pytest.approx(0.1 * (0.6 + 0.4 / np.e), rel=5e-3)
    grip = drift_reward(place, Velocity(8.0, 0.0, 0.4), q)
    assert grip == pytest.approx(0.1 * (0.4 + 0.6 * np.exp(-0.5 / 0.175)), rel=5e-3)
    assert drift_reward(place._replace(gained=0.0), Velocity(0.0, 0.0, 0.0), q) == 0.0
    assert drift_reward(place._replace(n=7.0), asked, q) < -19.0
    assert sideslip_of(Velocity(0.0, 0.0, 0.0)) == 0.0


def _place(n, gained):
    return Place(0.0, n, 0.0, 1 / RADIUS, 6.0, 6.0, gained, gained, 8.0, None)


def test_the_circle_is_one() -> None:
    track = circle(RADIUS, 6.0)
    assert np.hypot(*track.centre.T) == pytest.approx(RADIUS)
    steps = np.hypot(*np.diff(track.centre, axis=0).T)
    assert steps == pytest.approx(steps[0])
    x, y = track.centre[:2].T
    assert x[0] * y[1] - y[0] * x[1] > 0.0  # to the left


@pytest.mark.parametrize(
    ("vehicle", "precision"), [("two_track", "float32"), ("four_wheel", "float64")]
)
def test_episodes(vehicle, precision) -> None:
    """With another mass, friction and delay in each."""
    car = sp.vehicles.get(vehicle)()
    randomised = {
        "params.m": {"range": [0.9 * car.params.m, 1.1 * car.params.m]},
        "task.mu": {"range": [0.3, 0.6]},
        "delay": [0, 1, 2],
    }
    task = tasks.drift(car, randomised=randomised, duration=1.0, substeps=5)
    assert held_to_the_rules(task, precision) >= 5


def test_vehicles_that_cannot() -> None:
    with pytest.raises(sp.errors.InvalidValue, match="a drift needs a vehicle on tyres"):
        tasks.drift(sp.vehicles.kinematic_bicycle())
    with pytest.raises(sp.errors.InvalidValue, match=r"Disturbance has a factor on friction"):
        tasks.drift(sp.vehicles.brains2())
    with pytest.raises(sp.errors.InvalidValue, match="ring = 30 m must be below radius"):
        tasks.drift(ring=30.0)
    with pytest.raises(sp.errors.InvalidValue, match="sideslip = 2"):
        tasks.drift(sideslip=2.0)
