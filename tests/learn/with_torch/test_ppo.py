"""The example that learns to race by PPO, on a task that is quick to learn."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import skidpad as sp
from learn.small_tasks import ring, small_task
from skidpad.control.networks import Network
from skidpad.learn import tasks

EXAMPLES = Path(__file__).parents[3] / "examples" / "learn"
UPDATES = 20


@pytest.fixture(scope="module")
def ppo() -> Iterator[ModuleType]:
    # More threads than processors wait for each other.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("ppo")
    sys.path.remove(str(EXAMPLES))
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def make(ppo: ModuleType) -> Callable[[], Any]:
    """A new trainer for a kinematic car on a ring."""
    task = tasks.race(
        sp.vehicles.kinematic_bicycle(), tracks=ring(), ahead=(5.0,), dt=0.1, substeps=50,
        duration=5.0,
    )  # fmt: skip
    settings = ppo.Settings(environments=64, horizon=32, minibatches=4)
    return lambda: ppo.Trainer(task, settings, 0, "cpu")


@pytest.fixture(scope="module")
def trained(make: Callable[[], Any]) -> tuple[Any, list[float]]:
    trainer = make()
    return trainer, [trainer.update(k / UPDATES) for k in range(UPDATES)]


def test_a_short_training_drives_farther(trained: tuple[Any, list[float]]) -> None:
    trainer, returns = trained
    assert trainer.steps == UPDATES * 64 * 32
    assert np.mean(returns[-3:]) > np.mean(returns[:3]) + 5.0


def test_the_same_seed_learns_the_same(
    make: Callable[[], Any], trained: tuple[Any, list[float]]
) -> None:
    again = make()
    assert [again.update(k / UPDATES) for k in range(3)] == trained[1][:3]


def test_what_comes_home_does_what_was_trained(
    trained: tuple[Any, list[float]], tmp_path: Path
) -> None:
    driver = trained[0].driver
    driver.network().save(tmp_path / "driver.npz")
    network = Network.load(tmp_path / "driver.npz")
    seen = np.random.default_rng(0).uniform(-1.0, 1.0, (20, network.inputs))
    with torch.no_grad():
        wanted = driver(torch.from_numpy(seen).float()).numpy()
    np.testing.assert_allclose(np.column_stack(network(tuple(seen.T))), wanted, atol=2e-5)


def test_advantages_are_sums_of_discounted_errors(trained: tuple[Any, list[float]]) -> None:
    rng, trainer = torch.Generator().manual_seed(1), trained[0]
    reward, values = (torch.rand((k, 3), generator=rng) for k in (6, 7))
    terminated, cut_off = (torch.rand((6, 3), generator=rng) < 0.2 for _ in range(2))
    ended = terminated | cut_off
    assert terminated.any()
    assert (ended & ~terminated).any()
    found = trainer.advantages(reward, terminated, ended, values)
    settings = trainer.settings
    gamma, fade = settings.discount, settings.discount * settings.trace
    reward = settings.reward_scale * reward
    for row in range(3):
        for t in range(6):
            total, weight = 0.0, 1.0
            for k in range(t, 6):
                future = 0.0 if terminated[k, row] else gamma * float(values[k + 1, row])
                total += weight * (float(reward[k, row]) + future - float(values[k, row]))
                weight *= fade
                if ended[k, row]:
                    break
            assert float(found[t, row]) == pytest.approx(total, abs=1e-5)


def test_the_running_scale_is_that_of_all_that_was_seen(ppo: ModuleType) -> None:
    driver = ppo.Driver(2, 1)
    parts = [torch.randn((k, 2)) * 3.0 + 1.0 for k in (4000, 3000, 5000)]
    for part in parts:
        driver.learn_scale(part)
    together = torch.cat(parts)
    torch.testing.assert_close(driver.mean, together.mean(0), atol=1e-4, rtol=0.0)
    torch.testing.assert_close(driver.variance, together.var(0, correction=0), atol=1e-3, rtol=0.0)


def test_what_never_changed_is_not_looked_at(ppo: ModuleType) -> None:
    driver = ppo.Driver(2, 1)
    driver.learn_scale(torch.tensor([[0.1, 0.7], [0.3, 0.7]]))
    one, other, third = torch.tensor([[0.2, 0.7], [0.2, -0.9], [0.3, 0.7]])
    assert torch.equal(driver(one), driver(other))
    assert not torch.equal(driver(one), driver(third))
    seen = driver.network()((0.2, -0.9))
    assert seen == pytest.approx(driver(one).tolist(), abs=1e-6)


def test_laps_are_those_of_a_car_on_the_centre_line(ppo: ModuleType) -> None:
    """A kinematic car on a ring at a constant speed, steered by the geometry of its bicycle."""
    ring_task = small_task(
        tracks=(ring(),), noise={}, lidar=None, duration=40.0, ended=lambda contact: contact > 0.5,
        draws={"s": {"range": [0.0, 1.0]}, "yaw": 0.0},
    )  # fmt: skip

    def act(observation: Any) -> Any:
        v, n = 10.0 + 15.0 * observation[:, 0], 5.0 * observation[:, 1]
        return torch.stack([0.3 - 0.3 * n, 0.1 * (6.0 - v)], dim=1)

    laps = ppo.judged(act, ring_task, "cpu")
    assert laps.finished == 1.0
    assert laps.metres == pytest.approx(2.0 * np.pi * 20.0, rel=1e-3)
    assert laps.lap_time == pytest.approx(2.0 * np.pi * 20.0 / 6.0, rel=0.05)
