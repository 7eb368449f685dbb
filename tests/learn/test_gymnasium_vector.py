"""The native vector for Gymnasium; the oracle is its own SyncVectorEnv of single environments."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from learn.small_tasks import lapping_task, small_task
from skidpad.errors import InvalidValue
from skidpad.learn import (
    SkidpadEnv,
    SkidpadVectorEnv,
    Task,
    check_vector_env,
    load_task,
    save_task,
)
from skidpad.learn.environments import Stepped
from skidpad.learn.task_check import NotConforming


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


def test_it_conforms(task: Task) -> None:
    check_vector_env(partial(SkidpadVectorEnv, task), lambda: SkidpadEnv(task))


def test_it_conforms_with_laps_and_reasons() -> None:
    """Infos of `SyncVectorEnv` are those of single environments, to the last bit."""
    lapping = lapping_task()
    check_vector_env(partial(SkidpadVectorEnv, lapping), lambda: SkidpadEnv(lapping), steps=90)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_infos_say_why_episodes_ended(mode: AutoresetMode) -> None:
    """Seven seconds at 20 m/s on a ring of 20 m: a lap of 2π s, unless its gate has closed."""
    vector = SkidpadVectorEnv(lapping_task(), 8, autoreset_mode=mode)
    assert set(vector.reset(seed=0)[1]) == {"progress", "_progress", "lap", "_lap"}
    over, reasons = np.zeros(8, np.bool_), list[str]()
    for _ in range(120):
        if mode is AutoresetMode.DISABLED and over.any():
            begun = vector.reset(options={"reset_mask": over.copy()})[1]
            assert np.array_equal(begun["_progress"], over)
        *_, terminated, truncated, infos = vector.step(np.zeros((8, 2)))
        over = terminated | truncated
        assert infos["_progress"].all()
        ends = infos.get("final_info", {}) if mode is AutoresetMode.SAME_STEP else infos
        assert over.any() == ("end_reason" in ends)
        if not over.any():
            continue
        for name in ("end_reason", "is_success"):
            assert np.array_equal(ends[f"_{name}"], over)
        for k in np.flatnonzero(over):
            reason = ends["end_reason"][k]
            assert reason == ("duration" if truncated[k] else "closed")
            assert ends["is_success"][k] == truncated[k]
            if truncated[k]:
                assert ends["lap"][k] == 1
                assert ends["_lap_time"][k]
                assert ends["lap_time"][k] == pytest.approx(2.0 * np.pi, rel=0.03)
                assert ends["progress"][k] == pytest.approx(140.0, rel=0.03)
            reasons.append(reason)
    assert set(reasons) == {"duration", "closed"}


def test_an_ended_environment_says_which_call_begins_it_anew(task: Task) -> None:
    vector = SkidpadVectorEnv(task, 2, autoreset_mode="disabled")
    vector.reset(seed=0)
    over = np.zeros(2, np.bool_)
    while not over.any():
        *_, terminated, truncated, _ = vector.step(np.full((2, 2), 0.3))
        over = terminated | truncated
    k = int(np.flatnonzero(over)[0])
    with pytest.raises(InvalidValue) as raised:
        vector.step(np.zeros((2, 2)))
    call = rf'reset(options={{"reset_mask": mask}}) with mask[{k}] = True'
    assert f"the episode of environment {k} has ended: call {call}" in str(raised.value)
    vector.reset(options={"reset_mask": over})
    vector.step(np.zeros((2, 2)))


class Shared(SkidpadVectorEnv):
    """Returns the engine's own observations."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, copy=False, **options)


class Late(SkidpadVectorEnv):
    """Does not tell what the last observation was."""

    def step(self, actions: Any) -> Any:
        *rest, _ = super().step(actions)
        return *rest, {}


class Mistaken(SkidpadVectorEnv):
    """Says that it begins anew in another mode than it does."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "autoreset_mode": "next_step"})
        self.metadata["autoreset_mode"] = options["autoreset_mode"]


class Seedless(SkidpadVectorEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=0, options=options)


class Unmasked(SkidpadVectorEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=seed)


class Wide(SkidpadVectorEnv):
    def step(self, actions: Any) -> Any:
        observation, *rest = super().step(actions)
        return 2.0 * observation, *rest


class Open(SkidpadVectorEnv):
    def close_extras(self, **kwargs: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Shared, "changed by a later one"),
        (Late, "step .* infos"),
        (Mistaken, "SAME_STEP: step"),
        (Seedless, "seeds change nothing"),
        (Unmasked, "reset of th"),
        (Wide, "observations"),
        (Open, "closed vector environment does not raise"),
    ],
)
def test_the_check_can_fail(task: Task, broken: Any, message: str) -> None:
    with pytest.raises(NotConforming, match=message):
        check_vector_env(partial(broken, task), lambda: SkidpadEnv(task), steps=20)


def test_a_check_without_an_end_says_so(task: Task) -> None:
    with pytest.raises(NotConforming, match="no episode ended within 1 steps"):
        check_vector_env(partial(SkidpadVectorEnv, task), lambda: SkidpadEnv(task), steps=1)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_statistics_are_those_of_the_wrapper(task: Task, mode: AutoresetMode) -> None:
    ours = SkidpadVectorEnv(task, 3, autoreset_mode=mode, statistics=True)
    theirs = RecordEpisodeStatistics(SkidpadVectorEnv(task, 3, autoreset_mode=mode))
    ours.reset(seed=2)
    theirs.reset(seed=2)
    ends = 0
    over = np.zeros(3, np.bool_)
    for _ in range(40):
        if mode is AutoresetMode.DISABLED and over.any():
            for env in (ours, theirs):
                env.reset(options={"reset_mask": over.copy()})
        _, _, terminated, truncated, infos = ours.step(np.full((3, 2), 0.1))
        expected = theirs.step(np.full((3, 2), 0.1))[-1]
        over = terminated | truncated
        assert infos.keys() == expected.keys()
        if "episode" in infos:
            ends += 1
            assert np.array_equal(infos["_episode"], over)
            for name in ("r", "l"):
                assert np.array_equal(infos["episode"][name], expected["episode"][name])
            assert (infos["episode"]["t"] >= 0.0).all()
    assert ends > 0


def test_a_list_of_seeds_may_leave_some_out(task: Task) -> None:
    ours, theirs = SkidpadVectorEnv(task, 3), SyncVectorEnv([lambda: SkidpadEnv(task)] * 3)
    for seeds in (11, [5, None, 9], None, [None, None, 4]):
        ours_now, theirs_now = ours.reset(seed=seeds)[0], theirs.reset(seed=seeds)[0]  # pyright: ignore[reportArgumentType]
        assert np.array_equal(ours_now, theirs_now)


def test_pictures_are_those_of_the_single_environments(task: Task) -> None:
    vector = SkidpadVectorEnv(task, 2, render_mode="rgb_array")
    with pytest.raises(InvalidValue, match=r"call reset\(\) before render"):
        vector.render()
    vector.reset(seed=6)
    frames = vector.render()
    single = SkidpadEnv(task, render_mode="rgb_array")
    assert frames is not None
    for k, frame in enumerate(frames):
        single.reset(seed=6 + k)
        assert np.array_equal(frame, single.render())


def test_bad_input_is_named(task: Task) -> None:
    def bad(message: str, call: Any, *args: Any, **options: Any) -> None:
        with pytest.raises(InvalidValue, match=message):
            call(*args, **options)

    make = partial(SkidpadVectorEnv, task)
    bad("num_envs = 0 must be at least 1", make, 0)
    bad("num_envs = 2.5 must be a whole number", make, 2.5)
    bad("autoreset_mode = 'later'.*next_step, same_step, disabled", make, 2, autoreset_mode="later")
    bad("autoreset_mode = 3", make, 2, autoreset_mode=3)
    bad("render_mode = 'human'.*rgb_array", make, 2, render_mode="human")
    bad("library = 'torch' is for arrays on the GPU", make, 2, library="torch")
    bad("statistics are counted on the host", make, 2, device="cuda", statistics=True)
    bad("device = 'tpu'", make, 2, device="tpu")
    bad("copy = 1 must be True or False", make, 2, copy=1)
    bad("'race' has no option 'num_env'; did you mean 'num_envs'", SkidpadVectorEnv, num_env=2)
    vector = make(2)
    bad(
        r"call reset\(\) for all environments before reset\(options=\{.reset_mask.: mask\}\)",
        vector.reset,
        options={"reset_mask": np.ones(2, bool)},
    )
    vector.reset(seed=0)
    for mask in (np.ones(2), np.ones(3, bool), np.zeros(2, bool), [True, False]):
        bad("reset_mask'] must be an array of booleans", vector.reset, options={"reset_mask": mask})
    bad("no option mask; allowed is reset_mask", vector.reset, options={"mask": np.ones(2, bool)})
    bad("3 seeds are given for 2 environments", vector.reset, seed=[1, 2, 3])
    bad("action drive of environment 1 is nan", vector.step, [[0.0, 0.0], [0.0, np.nan]])
    bad(r"shape \(2,\); expected \(2, 2\)", vector.step, np.zeros(2))
    bad("must be an array of real numbers", vector.step, [["left", 0.0], [0.0, 0.0]])
    vector.close()
    assert vector.closed
    bad("closed", vector.step, np.zeros((2, 2)))
    bad("closed", vector.reset)


class Tensor(np.ndarray):
    """Stands in for arrays of PyTorch: `clone` in place of `copy`."""

    copy = None  # pyright: ignore[reportAssignmentType]

    def clone(self) -> Any:
        return np.array(self).view(Tensor)


def test_arrays_of_a_device_come_back_as_they_are(task: Task) -> None:
    """There `ended` are truths and `final_observation` has a row for each, so nothing waits."""
    vector = SkidpadVectorEnv(task, 2, autoreset_mode="same_step")
    vector.reset(seed=0)
    vector._on_host = False  # pyright: ignore[reportPrivateUsage]
    numbers = np.arange(14, dtype=np.float32).reshape(2, 7).view(Tensor)
    truths = np.array([True, False]).view(Tensor)
    told = Stepped(numbers, numbers[:, 0], truths, truths, truths, numbers)
    vector.environments.step = lambda actions: told
    *rest, infos = vector.step(None)
    given = (*rest, infos["final_obs"], infos["_final_obs"])
    for mine, right in zip(given, (*told[:4], numbers, truths), strict=True):
        assert type(mine) is Tensor
        assert not np.shares_memory(mine, right)
        assert np.array_equal(mine, right)


def test_a_task_from_a_file_is_an_environment(task: Task, tmp_path: Path) -> None:
    save_task(task, tmp_path / "ring.json")
    loaded = load_task(tmp_path / "ring.json")
    ours, theirs = SkidpadVectorEnv(loaded, 3), SkidpadVectorEnv(task, 3)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert np.array_equal(ours.reset(seed=1)[0], theirs.reset(seed=1)[0])
    single, _ = SkidpadEnv(loaded).reset(seed=1)
    assert np.array_equal(single, theirs.reset(seed=1)[0][0])
    with pytest.raises(InvalidValue, match=r"render_mode = 'rgb_array'.*loaded from a file"):
        SkidpadVectorEnv(loaded, 3, render_mode="rgb_array")


def test_modes_by_their_names(task: Task) -> None:
    for mode in AutoresetMode:
        for name in (mode, mode.value, mode.name.lower()):
            told = SkidpadVectorEnv(task, 1, autoreset_mode=name).metadata["autoreset_mode"]
            assert told is mode
