"""Environments: the same bits however they are run, episodes that end and begin, clear errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from learn.ring_tasks import CAR, RADIUS, Kept, Seen, actions, ring, task
from skidpad.learn import Environments, Lidar
from skidpad.learn.task import GIVEN
from skidpad.ops import minimum, sqrt

STEPS = 150


@pytest.fixture(scope="module")
def simple() -> Any:
    return task()


def played(environments: Environments, chosen: Any, seed: Any = 0) -> list[np.ndarray[Any, Any]]:
    """Everything that comes out, one array for each kind."""
    rows = [[environments.reset(seed).copy()]]
    rows += [[np.array(part) for part in environments.step(a)[:4]] for a in chosen]
    observations = np.stack([row[0] for row in rows])
    return [observations, *(np.stack([row[k] for row in rows[1:]]) for k in (1, 2, 3))]


@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_an_environment_is_the_same_alone_and_among_many(simple: Any, autoreset: str) -> None:
    chosen = actions(40, STEPS)
    many = played(Environments(simple, 40, autoreset=autoreset), chosen, seed=7)
    assert many[2].any()
    assert many[3].any(), "some drive as long as they may"
    for k in (0, 17, 39):
        one = played(Environments(simple, 1, autoreset=autoreset), chosen[:, k : k + 1], seed=7 + k)
        for several, single in zip(many, one, strict=True):
            np.testing.assert_array_equal(several[:, k : k + 1], single)


def test_threads_do_not_show(simple: Any) -> None:
    chosen = actions(300, 20)
    one, two = (played(Environments(simple, 300, threads=n), chosen) for n in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


def test_double_precision_goes_the_same_way(simple: Any) -> None:
    chosen = actions(20, 20) * 0.3
    single, double = (played(Environments(simple, 20, precision=p), chosen)
                      for p in ("float32", "float64"))  # fmt: skip
    assert double[0].dtype == np.float64
    np.testing.assert_allclose(single[0], double[0], atol=2e-5)


def test_a_lap_is_worth_its_length() -> None:
    """Steering that holds the circle earns the way along the centre line."""
    steady = task(draws={"s": 0.3, "n": 0.0, "v": 5.0}, duration=60.0)
    environments = Environments(steady, 1, autoreset="disabled")
    environments.reset(0)
    body = sp.core.body.body_of(CAR, "a test")
    limits, geometry = body.limits(CAR.params), body.geometry(CAR.params)
    steer = np.arctan(geometry.wheel_base / RADIUS) / limits.steer_max
    total, turned, yaw = 0.0, 0.0, environments.engine.motion_of(0)[2]
    for _ in range(3000):
        if turned >= 2.0 * np.pi:
            break
        total += float(environments.step([[steer, 0.0]]).reward[0])
        now = environments.engine.motion_of(0)[2]
        turned, yaw = turned + now - yaw, now
    x, y = environments.engine.motion_of(0)[:2]
    # The rear axle is on another circle than the reference point, so the way is a lap by angle.
    assert abs(total - RADIUS * turned) < 0.02 * RADIUS
    assert np.hypot(x, y) == pytest.approx(RADIUS, abs=0.8)


def test_episodes_that_end_begin_in_the_next_step(simple: Any) -> None:
    environments = Environments(simple, 8, autoreset="next_step")
    environments.reset(0)
    over = np.zeros(8, bool)
    for chosen in actions(8, STEPS):
        before = environments.steps.copy()
        result = environments.step(chosen)
        assert (environments.steps[over] == 0).all()
        assert (environments.steps[~over] == before[~over] + 1).all()
        assert not result.reward[over].any()
        np.testing.assert_array_equal(result.ended, np.flatnonzero(over))
        over = result.terminated | result.truncated
        assert not over[result.ended].any()


def test_episodes_that_end_begin_in_the_same_step(simple: Any) -> None:
    environments = Environments(simple, 8, autoreset="same_step")
    environments.reset(0)
    ends = 0
    for chosen in actions(8, STEPS):
        result = environments.step(chosen)
        over = np.flatnonzero(result.terminated | result.truncated)
        np.testing.assert_array_equal(result.ended, over)
        assert len(result.final_observation) == len(over)
        assert (environments.steps[over] == 0).all()
        ends += len(over)
    assert ends


def test_without_autoreset_what_has_ended_waits() -> None:
    standing = task(draws={"s": {"range": [0.0, 1.0]}, "n": 0.0, "v": 0.0}, duration=0.5)
    environments = Environments(standing, 3, autoreset="disabled")
    environments.reset(0)
    for _ in range(standing.limit):
        result = environments.step(np.zeros((3, 2)))
    assert result.truncated.all()
    with pytest.raises(sp.InvalidValue, match="environment 0 has ended"):
        environments.step(np.zeros((3, 2)))
    mask = np.array([True, False, True])
    kept = environments.state[1].copy()
    environments.reset(mask=mask)
    np.testing.assert_array_equal(environments.state[1], kept)
    with pytest.raises(sp.InvalidValue, match=r"1 has ended: call reset\(mask=mask\) with"):
        environments.step(np.zeros((3, 2)))


def test_what_is_drawn_follows_its_distribution() -> None:
    wheel_base = CAR.params.l_f
    speeds = {"normal": {"mean": 4.0, "std": 0.5}}
    drawn = task(
        randomised={"params.l_f": {"range": [0.9 * wheel_base, 1.1 * wheel_base]}},
        draws={"s": 0.0, "n": 0.0, "v": speeds},
    )
    environments = Environments(drawn, 4000)
    environments.reset(3)
    speed = environments.state[:, sp.core.record.names(CAR.model.State).index("v_x")]
    assert speed.mean() == pytest.approx(4.0, abs=4.0 * 0.5 / np.sqrt(4000))
    assert speed.std() == pytest.approx(0.5, rel=0.05)
    lengths = environments.engine.p[0, :, sp.core.record.names(CAR.model.Params).index("l_f")]
    assert lengths.min() >= np.float32(0.9 * wheel_base)
    assert lengths.max() <= np.float32(1.1 * wheel_base)
    assert lengths.std() == pytest.approx(0.2 * wheel_base / np.sqrt(12.0), rel=0.05)


def test_an_action_acts_as_late_as_was_drawn() -> None:
    chosen = actions(1, 12)
    prompt = Environments(task(draws={"s": 0.0, "n": 0.0, "v": 4.0}), 1, autoreset="disabled")
    late = Environments(
        task(draws={"s": 0.0, "n": 0.0, "v": 4.0}, randomised={"delay": 3}), 1,
        autoreset="disabled",
    )  # fmt: skip
    prompt.reset(0), late.reset(0)
    nothing = np.zeros((1, 2))
    now = [prompt.step(a).observation.copy() for a in (*[nothing] * 3, *chosen)]
    then = [late.step(a).observation.copy() for a in (*chosen, *[nothing] * 3)]
    np.testing.assert_array_equal(now, then)


def test_noise_has_its_size_and_does_not_change_the_motion() -> None:
    quiet = Environments(task(), 2000)
    noisy = Environments(task(noise={"n": {"normal": {"mean": 0.0, "std": 0.1}}}), 2000)
    quiet.reset(0), noisy.reset(0)
    a = np.zeros((2000, 2))
    apart = noisy.step(a).observation - quiet.step(a).observation
    np.testing.assert_array_equal(noisy.state, quiet.state)
    assert not apart[:, [0, 2]].any()
    assert apart[:, 1].std() == pytest.approx(0.1 / 5.0, rel=0.1)


def test_the_lidar_sees_the_walls() -> None:
    """Straight to the left and right of the way, the walls are as far as they are."""
    lidar = Lidar(rays=3, view=np.pi, range=10.0)
    environments = Environments(task(lidar=lidar, draws={"s": 0.5, "n": 1.0, "v": 0.0}), 1)
    seen = environments.reset(0)[0, -3:] * 10.0
    assert seen[2] == pytest.approx(2.0, abs=0.02), "the inner wall, to the left"
    assert seen[0] == pytest.approx(4.0, abs=0.02)
    assert 3.0 < seen[1] <= 10.0


def test_functions_may_read_the_ranges() -> None:
    def nearest(ranges: Any) -> Any:
        return minimum(ranges[0], ranges[2])

    lidar = Lidar(rays=3, view=np.pi, range=10.0)
    environments = Environments(
        task(lidar=lidar, reward=nearest, draws={"s": 0.5, "n": 1.0, "v": 0.0}), 1
    )
    environments.reset(0)
    assert environments.step([[0.0, 0.0]]).reward[0] == pytest.approx(2.0, abs=0.02)


def test_a_memory_goes_on_and_begins_anew() -> None:
    def remember(m: Kept) -> Kept:
        return Kept(m.periods + 1.0)

    counted = task(Memory=Kept, remember=remember, reward=lambda m: m.periods, duration=0.1)
    environments = Environments(counted, 1, autoreset="same_step")
    environments.reset(0)
    rewards = [float(environments.step([[0.0, 0.0]]).reward[0]) for _ in range(10)]
    assert rewards == [0.0, 1.0, 2.0, 3.0, 4.0] * 2


def bad(**changes: Any) -> Environments:
    environments = Environments(task(**changes), 2)
    environments.reset(0)
    return environments


def test_bad_calls_are_named() -> None:
    environments = bad()
    with pytest.raises(sp.InvalidValue, match="the action drive of environment 1 is nan"):
        environments.step([[0.0, 0.0], [0.0, np.nan]])
    with pytest.raises(sp.InvalidValue, match=r"actions have shape \(3, 2\); expected \(2, 2\)"):
        environments.step(np.zeros((3, 2)))
    with pytest.raises(sp.InvalidValue, match="1 seeds are given for 2"):
        environments.reset([1])
    beyond, within = (bad().step(np.full((2, 2), a)).observation for a in (7.0, 1.0))
    np.testing.assert_array_equal(beyond, within)
    environments.close()
    with pytest.raises(sp.InvalidValue, match="closed"):
        environments.step(np.zeros((2, 2)))


def test_a_start_in_a_wall_is_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="environment 0 starts in contact with a wall"):
        bad(draws={"s": 0.0, "n": 2.9, "v": 1.0})


def test_a_reset_that_is_refused_leaves_nothing_half_done() -> None:
    environments = Environments(task(draws={"s": 0.0, "n": GIVEN, "v": 1.0}), 2)
    seen = environments.reset(0, given={"draw.n": 0.5}).copy()
    with pytest.raises(sp.InvalidValue, match="mask"):
        environments.reset(mask=[1, 2, 3], given={"draw.n": 1.0})
    np.testing.assert_array_equal(environments.reset(0), seen)
    with pytest.raises(sp.InvalidValue, match="starts in contact"):
        environments.reset(given={"draw.n": 2.9})
    with pytest.raises(sp.InvalidValue, match=r"call reset\(\) before the first step"):
        environments.step(np.zeros((2, 2)))
    np.testing.assert_array_equal(environments.reset(0, given={"draw.n": 0.5}), seen)


def test_an_observation_that_is_not_finite_is_named() -> None:
    def observe(place: Any) -> Seen:
        return Seen(sqrt(-1.0 - place.n * place.n), 0.0, 0.0)

    environments = bad(observe=observe)
    with pytest.raises(sp.SimulationDiverged, match="environment 0: the observation v is nan"):
        environments.step(np.zeros((2, 2)))
    ending = Environments(task(observe=observe), 2, on_diverge="end")
    ending.reset(0)
    assert ending.step(np.zeros((2, 2))).terminated.all()


def test_tasks_that_cannot_be_are_refused() -> None:
    with pytest.raises(sp.InvalidValue, match="observe has no argument 'speed'"):
        task(observe=lambda speed: Seen(speed, 0.0, 0.0))
    with pytest.raises(sp.InvalidValue, match="takes ranges, but there is no lidar"):
        task(reward=lambda ranges: ranges[0])
    with pytest.raises(sp.InvalidValue, match=r"randomised has no field 'params\.mass'"):
        task(randomised={"params.mass": 1.0})
    with pytest.raises(sp.InvalidValue, match="start must return a Start"):
        Environments(task(start=lambda x: x))


def test_several_tracks_are_driven_on_each_its_own() -> None:
    """Rings of two sizes: every start is on one of them, and both come."""
    wide = ring(40.0)
    environments = Environments(task(tracks=(ring(), wide)), 200)
    environments.reset(0)
    x, y = environments.state[:, 0], environments.state[:, 1]
    from_centre = np.hypot(x, y)
    near = np.abs(from_centre - 20.0) < 1.5
    far = np.abs(from_centre - 40.0) < 1.5
    assert (near ^ far).all()
    assert 60 < near.sum() < 140


def test_ranges_have_the_noise_of_their_lidar() -> None:
    """Near the size asked for, new in every period, and nothing beyond the range."""
    quiet, noisy = (
        Environments(task(lidar=Lidar(rays=40, range=8.0, noise=std)), 100) for std in (0.0, 0.05)
    )
    apart = [8.0 * (noisy.reset(3) - quiet.reset(3))[:, 3:]]
    met = quiet.engine.observation[:, 3:] < 0.97
    still = np.zeros((100, 2))
    apart.append(8.0 * (noisy.step(still).observation - quiet.step(still).observation)[:, 3:])
    assert apart[0][met].std() == pytest.approx(0.05, rel=0.05)
    assert abs(apart[0][met].mean()) < 4.0 * 0.05 / np.sqrt(met.sum())
    assert np.abs(apart[0][met]).max() < 0.05 * np.sqrt(12.0) + 1e-5
    assert abs(np.corrcoef(apart[0][met], apart[1][met])[0, 1]) < 0.1
    assert not apart[0][quiet.reset(3)[:, 3:] == 1.0].any()


def test_names_and_numbers_of_a_task_are_checked() -> None:
    with pytest.raises(sp.InvalidValue, match=r"noise has no field 'nn'"):
        task(noise={"nn": 0.1})
    with pytest.raises(sp.InvalidValue, match=r"bounds has no field 'foo'"):
        task(bounds={"foo": (0.0, 1.0)})
    with pytest.raises(sp.InvalidValue, match=r"params\.m = -250\.0 must be greater than 0"):
        task(randomised={"params.m": {"range": [-250.0, -200.0]}})
    with pytest.raises(sp.InvalidValue, match=r"it must be whole control periods of 0\.02 s"):
        task(randomised={"delay": {"range": [0.0, 0.02]}})
    with pytest.raises(sp.InvalidValue, match="tracks must be a Track or several"):
        task(tracks="oval.csv")
    with pytest.raises(sp.InvalidValue, match="lidar must be a Lidar"):
        task(lidar="x")
    assert task(tracks=ring()).tracks[0].name == "ring"


def test_a_reward_that_is_not_finite_is_named() -> None:
    lost = bad(reward=lambda place: sqrt(-1.0 - place.n * place.n))
    with pytest.raises(sp.SimulationDiverged, match="environment 0: the reward after 1 periods"):
        lost.step(np.zeros((2, 2)))


def test_actions_too_large_for_their_numbers_are_cut_off() -> None:
    huge, full = (bad().step(np.full((2, 2), a)).observation for a in (1e300, 1.0))
    np.testing.assert_array_equal(huge, full)
    with pytest.raises(sp.InvalidValue, match="real numbers"):
        bad().step(np.full((2, 2), 1j))
    one = bad()
    one.reset(mask=np.zeros(2, bool))
