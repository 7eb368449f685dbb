"""On a CUDA device: environments with the bits of the CPU, and arrays of other libraries.

The task comes from a file (`tools/make_tasks.py`): a machine with a GPU may have no CasADi.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.learn import Environments, load_task

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import make_tasks

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def task():
    return load_task(make_tasks.TASK)


@pytest.mark.parametrize("precision", make_tasks.PRECISIONS)
@pytest.mark.parametrize("mode", make_tasks.MODES)
def test_environments_have_the_bits_of_the_cpu(task, mode, precision):
    with np.load(make_tasks.RESULTS) as file:
        wanted = file[f"{mode}.{precision}"]
    environments = Environments(
        task, make_tasks.WORLDS, autoreset=mode, precision=precision, device="cuda"
    )
    found = make_tasks.driven(environments)
    different = [(int(k), make_tasks.PARTS[part]) for k, part in np.argwhere(found != wanted)]
    assert not different[:5]


def test_any_number_of_environments_gives_each_the_same(task):
    many, one = (Environments(task, count, device="cuda") for count in (300, 1))
    many.reset(seed=4)
    one.reset(seed=4 + 290)
    actions = np.random.default_rng(0).uniform(-1, 1, (60, 300, 2))
    for action in actions:
        found, alone = many.step(action), one.step(action[290:291])
        assert found.observation[290].tobytes() == alone.observation[0].tobytes()


def test_torch_goes_in_and_out_without_the_host(task):
    import torch

    environments = Environments(task, 64, device="cuda", library="torch")
    seen = environments.reset(seed=0)
    assert isinstance(seen, torch.Tensor)
    assert seen.is_cuda
    actions = torch.zeros((64, 2), device="cuda", requires_grad=True)
    stepped = environments.step(actions)
    assert stepped.observation.data_ptr() == seen.data_ptr()
    assert stepped.terminated.dtype == torch.bool
    with torch.cuda.stream(torch.cuda.Stream()):
        again = Environments(task, 64, device="cuda", library="torch")
        again.reset(seed=0)
        assert torch.equal(again.step(actions).observation, stepped.observation)


def test_what_goes_wrong_on_the_device_is_told(task):
    environments = Environments(task, 8, device="cuda")
    environments.reset(seed=0)
    before = environments.state.get()
    actions = np.zeros((8, 2), np.float32)
    actions[5, 0] = np.nan
    environments.step(actions)
    with pytest.raises(InvalidValue, match="the action steer of environment 5 is nan"):
        environments.check()
    assert environments.state.get().tobytes() == before.tobytes()
    environments.reset(seed=0)
    environments.step(np.zeros((8, 2)))
    environments.check()


def test_progress_is_that_of_the_cpu_and_stays_on_the_device(task):
    there, here = (Environments(task, 8, device=device) for device in ("cuda", "cpu"))
    for environments in (there, here):
        environments.reset(seed=3)
        for _ in range(20):
            environments.step(np.zeros((8, 2), np.float32))
    assert there.progress.get().tolist() == here.progress.tolist()
    assert np.any(here.progress != 0.0)


@pytest.mark.parametrize("name", ["info", "ends"])
def test_what_a_gpu_does_not_know_of_episodes_is_refused_in_words(task, name):
    environments = Environments(task, 2, device="cuda")
    with pytest.raises(InvalidValue, match=f"on a GPU have no {name}"):
        getattr(environments, name)
