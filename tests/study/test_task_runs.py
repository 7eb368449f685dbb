"""Episodes of a learning task in a campaign: the same whatever they are cut into."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.control.networks import Network
from skidpad.study import Campaign, Random, Resources, Rows, TaskRuns, campaign_of
from study.own_drivers import on_a_ring, straight_on, to_the_middle

SPEED = {"draw.v": {"range": [2.0, 8.0]}}


@pytest.fixture(scope="module")
def runs() -> TaskRuns:
    return TaskRuns(on_a_ring, to_the_middle, block=16)


def rows(count: int = 40) -> Rows:
    speeds = np.linspace(2.0, 8.0, count)
    return Rows(np.arange(count), {"draw.v": speeds}, 5)


@pytest.mark.slow
def test_an_episode_is_the_same_in_every_cut(runs: TaskRuns) -> None:
    whole = runs.evaluate(rows(), Resources())
    some = pickle.loads(pickle.dumps(runs)).evaluate(
        rows().part(np.array([3, 17, 33])), Resources()
    )
    assert set(whole) == {"return", "duration", "terminated", "progress", "failed"}
    for name, values in some.items():
        np.testing.assert_array_equal(values, whole[name][[3, 17, 33]])


def test_factors_are_told_and_columns_mean_what_they_say(runs: TaskRuns) -> None:
    """The way of a second, and the speed that was told, less what rolling takes."""
    found = runs.evaluate(rows(), Resources())
    assert not found["terminated"].any()
    np.testing.assert_allclose(found["duration"], 1.0)
    np.testing.assert_allclose(found["return"], found["progress"], rtol=1e-6, atol=1e-6)
    together = np.corrcoef(found["progress"], rows().factors["draw.v"])
    assert together[0, 1] > 0.99, "who is faster gets further"
    # The inner wall is at 17 m, where a metre counts for 20/17 of the centre line.
    assert (found["progress"] < 20.0 / 17.0 * rows().factors["draw.v"]).all()
    straight = TaskRuns(on_a_ring, straight_on, options={"duration": 3.0}, block=16)
    lost = straight.evaluate(rows().part(slice(36, 40)), Resources())
    # From 20 m out, along the tangent, until the outline is at 23 m.
    assert lost["terminated"].all()
    assert (lost["duration"] < np.sqrt(23.0**2 - 19.5**2) / 7.0).all()


def test_a_replay_is_the_run(runs: TaskRuns) -> None:
    one = rows().part(np.array([11]))
    driven = runs.replay(one)
    found = runs.evaluate(one, Resources())
    assert driven.t[-1] == pytest.approx(found["duration"][0])
    assert driven["v_x"][0] == pytest.approx(one.factors["draw.v"][0])


@pytest.mark.slow
def test_a_campaign_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([[0.0, -0.8, -1.5], [0.0, 0.0, 0.0]])
    Network.mlp([weights], [np.array([0.16, 0.0])]).save(tmp_path / "driver.npz")
    (tmp_path / "plan.yaml").write_text(
        "task: {task: study.own_drivers:on_a_ring, driver: driver.npz, block: 16}\n"
        "factors: {draw.v: {range: [2, 8]}}\ndesign: {random: 32}\n"
    )
    study = campaign_of(tmp_path / "plan.yaml").run(tmp_path / "out", progress=False)
    same = Campaign(
        experiment=TaskRuns(on_a_ring, to_the_middle, block=16), factors=SPEED, design=Random(32)
    ).run(tmp_path / "same", progress=False)
    np.testing.assert_allclose(study["progress"], same["progress"], rtol=1e-9)


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="rase"):
        TaskRuns("rase", to_the_middle)
    with pytest.raises(sp.InvalidValue, match="driver must be a network"):
        TaskRuns(on_a_ring, 3)  # type: ignore[arg-type]
