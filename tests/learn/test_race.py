"""Race: who stands or goes backwards is out, and the angle of the wheels is seen."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from learn.small_tasks import ring
from skidpad.core import record
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


def test_a_track_that_is_no_loop_ends_at_its_end() -> None:
    """A straight of 60 m: it pays its length at most, and is over there."""
    points = np.column_stack([np.linspace(0.0, 60.0, 61), np.zeros(61)])
    straight = sp.geometry.maps.Track.between(points, 3.0, 3.0, closed=False)
    fixed = {"s": 0.5, "n": 0.0, "v": 10.0}
    environments = Environments(tasks.race(tracks=straight, draws=fixed), 1, autoreset="disabled")
    environments.reset(0)
    total, over = 0.0, False
    for _ in range(400):
        told = environments.step([[0.0, 0.1]])
        total += float(told.reward[0])
        over = bool(told.terminated[0])
        if over:
            break
    assert over
    assert total == pytest.approx(30.0, abs=0.2)


def test_who_leaves_between_cones_is_out() -> None:
    """No wall at all: the borders count."""
    angle = np.arange(80) * 2.0 * np.pi / 80
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    bare = sp.geometry.maps.Track.between(20.0 * ring, 2.0, 2.0, walls=np.empty((0, 4)))
    fixed = {"s": 0.0, "n": 0.0, "v": 10.0}
    environments = Environments(tasks.race(tracks=bare, draws=fixed), 1, autoreset="disabled")
    environments.reset(0)
    for _ in range(200):
        told = environments.step([[0.0, 0.0]])
        if told.terminated[0]:
            break
    x, y = environments.engine.motion_of(0)[:2]
    assert told.reward[0] < -9.0
    assert np.hypot(x, y) == pytest.approx(22.0, abs=0.2)


def test_starts_have_room_on_a_narrow_track() -> None:
    narrow = sp.geometry.maps.random_track(1, width=2.0)
    Environments(tasks.race(tracks=narrow), 2000).reset(seed=0)


def test_places_that_single_precision_cannot_tell_apart_are_refused() -> None:
    utm = sp.geometry.maps.random_track(3).centre + np.array([5e5, 5.4e6])
    far = sp.geometry.maps.Track.between(utm, 2.0, 2.0)
    with pytest.raises(sp.InvalidValue, match=r"float32 resolves 0\.6\d* m:"):
        Environments(tasks.race(tracks=far))
