"""The CUDA text of environments, built for the processor: the bits of the engine in lanes."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from learn import host_device
from learn.small_tasks import small_task
from skidpad.errors import InvalidValue, SimulationDiverged
from skidpad.learn import Environments, SkidpadVectorEnv

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
WORLDS, STEPS = 5, 40
MODES = ("next_step", "same_step", "disabled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("device")


@pytest.fixture
def device(monkeypatch, folder):
    host_device.install(monkeypatch, folder)


@pytest.fixture(scope="module")
def task():
    return small_task(randomised={"params.l_f": {"range": [1.2, 1.6]}})


def actions():
    return np.random.default_rng(2).uniform(-1.5, 1.5, (STEPS, WORLDS, 2)).astype(np.float32)


@pytest.mark.slow_cases("next_step")
@pytest.mark.parametrize("mode", MODES)
def test_all_that_a_step_gives_has_the_bits_of_the_processor(device, task, mode):
    here = Environments(task, WORLDS, autoreset=mode)
    there = Environments(task, WORLDS, autoreset=mode, device="cuda")
    assert there.reset(seed=3).tobytes() == here.reset(seed=3).tobytes()
    for action in actions():
        wanted, found = here.step(action), there.step(action)
        for name in ("observation", "reward", "terminated", "truncated"):
            assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes(), name
        if mode != "disabled":
            assert np.flatnonzero(found.ended).tolist() == wanted.ended.tolist()
        if mode == "same_step":
            last = found.final_observation[wanted.ended]
            assert last.tobytes() == wanted.final_observation.tobytes()
        assert there.state.tobytes() == here.state.tobytes()
        if mode == "disabled":
            over = wanted.terminated | wanted.truncated
            if over.any():
                again = there.reset(mask=over).tobytes()
                assert again == here.reset(mask=over).tobytes()


def test_the_vector_for_gymnasium_has_the_bits_of_the_processor(device, task):
    # Of two, as each is drawn.
    here = SkidpadVectorEnv(task, 2, autoreset_mode="same_step", render_mode="rgb_array")
    there = SkidpadVectorEnv(
        task, 2, autoreset_mode="same_step", device="cuda", render_mode="rgb_array"
    )
    assert np.array_equal(there.reset(seed=3)[0], here.reset(seed=3)[0])
    ends = 0
    for action in actions()[:, :2]:
        *wanted, infos = here.step(action)
        *found, told = there.step(action)
        assert all(map(np.array_equal, found, wanted))
        ended = np.flatnonzero(told["_final_obs"])
        assert ended.tolist() == np.flatnonzero(infos.get("_final_obs", [])).tolist()
        for k in ended:
            ends += 1
            assert np.array_equal(told["final_obs"][k], infos["final_obs"][k])
    assert ends
    assert np.array_equal(there.render()[1], here.render()[1])


@pytest.mark.slow
def test_vehicles_of_one_world_see_each_other_and_stop_together(device, task):
    several = replace(task, agents=3)
    here = Environments(several, 2)
    there = Environments(several, 2, device="cuda")
    assert there.reset(seed=3).tobytes() == here.reset(seed=3).tobytes()
    stopped = 0
    for action in np.random.default_rng(4).uniform(-1, 1, (40, 6, 2)):
        wanted, found = here.step(action), there.step(action)
        for name in ("observation", "reward", "terminated", "truncated"):
            assert getattr(found, name).tobytes() == getattr(wanted, name).tobytes(), name
        stopped += wanted.truncated.sum()
    assert stopped


@pytest.mark.parametrize("rule", ["raise", "end"])
def test_what_is_not_finite_stops_or_ends(device, task, rule):
    there = Environments(task, WORLDS, device="cuda", on_diverge=rule)
    there.reset(seed=0)
    there.engine.x[0, 2, 3] = np.nan
    found = there.step(np.zeros((WORLDS, 2)))
    if rule == "end":
        assert found.terminated.tolist() == [False, False, True, False, False]
        assert np.isfinite(found.observation).all()
        assert found.reward[2] == 0.0
        again = there.step(np.zeros((WORLDS, 2)))
        assert again.ended.tolist() == [False, False, True, False, False]
        assert np.isfinite(there.state).all()
    else:
        with pytest.raises(SimulationDiverged, match=r"environment 2.*no longer finite"):
            there.check()


def test_an_action_that_is_no_number_is_told_by_the_next_call(device, task):
    there = Environments(task, WORLDS, device="cuda")
    there.reset(seed=0)
    before = there.state.tobytes()
    wrong = np.zeros((WORLDS, 2))
    wrong[3, 1] = np.nan
    there.step(wrong)
    for _ in range(2):
        with pytest.raises(InvalidValue, match="the action drive of environment 3 is nan"):
            there.step(np.zeros((WORLDS, 2)))
    assert there.state.tobytes() == before
    there.reset(seed=0)
    there.step(np.zeros((WORLDS, 2)))
    there.check()


def test_what_has_ended_must_be_reset(device, task):
    there = Environments(task, WORLDS, device="cuda", autoreset="disabled")
    there.reset(seed=0)
    there.engine.over[3] = 1
    there.step(np.zeros((WORLDS, 2)))
    with pytest.raises(InvalidValue, match="environment 3 has ended"):
        there.check()
