"""Race: who stands or goes backwards is out, and the angle of the wheels is seen."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.small_tasks import ring
from skidpad import record
from skidpad.learn import Environments, tasks

DT, PATIENCE, CRASH = 0.1, 0.5, 7.0


@pytest.fixture(scope="module")
def speeds() -> Environments:
    """Cars on a ring that begin with speeds from -3 to 3 m/s."""
    task = tasks.race(
        sp.vehicles.kinematic_bicycle(),
        tracks=ring(),
        draws={"s": 0.0, "n": 0.0, "v": {"range": [-3.0, 3.0]}},
        crash=CRASH,
        patience=PATIENCE,
        ahead=(5.0,),
        dt=DT,
        substeps=50,
    )
    return Environments(task, 8, autoreset="disabled", precision="float64")


def test_who_stands_or_goes_backwards_is_out_after_its_patience(speeds: Environments) -> None:
    start = speeds.reset(seed=0).copy()
    v = 25.0 + 35.0 * start[:, 0]
    slow = v < 0.4
    assert 0 < slow.sum() < 8
    assert not np.any((v > 0.4) & (v < 0.6))
    # The time counts from the first period after which a car stands; that is judged in the next.
    for k in range(round(PATIENCE / DT) + 1):
        stepped = speeds.step(np.zeros((8, 2)))
        assert not stepped.terminated.any(), k
    stepped = speeds.step(np.zeros((8, 2)))
    np.testing.assert_array_equal(stepped.terminated, slow)
    np.testing.assert_allclose(stepped.reward, v * DT - CRASH * slow, atol=0.02)


def test_the_angle_of_the_wheels_is_seen(speeds: Environments) -> None:
    speeds.reset(seed=0)
    steer = np.linspace(-1.0, 1.0, 8)
    observation = speeds.step(np.column_stack([steer, np.zeros(8)])).observation
    angle = speeds.state[:, record.names(speeds.task.vehicle.model.State).index("steer")]
    assert np.ptp(angle) > 0.02
    np.testing.assert_allclose(1.6 * observation[:, -1], angle, atol=1e-12)
