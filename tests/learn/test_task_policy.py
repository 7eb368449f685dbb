"""A network drives the same way in environments and compiled into a loop."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.ring_tasks import CAR, Kept, Seen, task
from skidpad.control.networks import Network
from skidpad.learn import Environments, Lidar, task_policy
from skidpad.learn.course import Courses, track_point

STEPS = 60


def network(hidden: int = 6) -> Network:
    """Keeps roughly to the middle, with some weights besides."""
    random = np.random.default_rng(0)
    first = random.normal(0.0, 0.3, (hidden, 3))
    second = random.normal(0.0, 0.3, (2, hidden))
    return Network.mlp([first, second], [np.zeros(hidden), np.array([0.15, 0.1])])


@pytest.mark.slow
def test_the_compiled_driver_goes_where_the_environment_goes() -> None:
    start_of = {"s": 0.0, "n": 0.4, "v": 5.0}
    fixed = task(draws=start_of, duration=60.0, ended=lambda place: place.n > 9.0)
    environments = Environments(fixed, 1, precision="float64", autoreset="disabled")
    seen, net = environments.reset(0), network()
    start = environments.state[0]
    states = [start]
    for _ in range(STEPS):
        action = np.array(net([*seen[0]]))
        seen = environments.step(action[None]).observation
        states.append(environments.state[0])
    policy = task_policy(fixed, net)
    fleet = sp.Fleet(CAR, dt=fixed.dt, substeps=fixed.substeps, integrator="rk4")
    driven = fleet.rollout(start[None], policy=policy, steps=STEPS)
    np.testing.assert_allclose(driven[:, 0, : len(start)], states, rtol=1e-6, atol=1e-6)


def test_a_memory_goes_along() -> None:
    """A task that remembers its last speed: the driver sees what the environment shows."""

    def observe(m: Kept, place: object) -> Seen:
        return Seen(m.periods, place.n, place.heading)  # type: ignore[attr-defined]

    def remember(m: Kept) -> Kept:
        return Kept(m.periods + 0.1)

    kept = task(
        Memory=Kept, remember=remember, observe=observe, draws={"s": 0.0, "n": 0.0, "v": 4.0},
        duration=60.0, ended=lambda place: place.n > 9,
    )  # fmt: skip
    environments = Environments(kept, 1, precision="float64", autoreset="disabled")
    seen, net = environments.reset(0), network()
    start = environments.state[0]
    for _ in range(20):
        seen = environments.step(np.array(net([*seen[0]]))[None]).observation
    fleet = sp.Fleet(CAR, dt=kept.dt, substeps=kept.substeps, integrator="rk4")
    driven = fleet.rollout(start[None], policy=task_policy(kept, net), steps=20)
    np.testing.assert_allclose(driven[-1, 0, : len(start)], environments.state[0], rtol=1e-6)


def test_what_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="has a lidar"):
        task_policy(task(lidar=Lidar(5)), network())
    with pytest.raises(sp.InvalidValue, match="takes 2 numbers and gives 2"):
        task_policy(task(), Network.mlp([np.eye(2)]))


def test_the_start_of_a_policy_is_the_start_of_the_track() -> None:
    course = Courses(task().tracks, 1.0).records[0]
    pose = track_point(course, 0.0)
    assert (pose.x, pose.y) == pytest.approx((20.0, 0.0), abs=0.01)
