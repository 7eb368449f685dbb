"""A task in a file: without CasADi, with the same bits; what does not fit is refused."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from learn.small_tasks import small_task
from skidpad.control import Reference
from skidpad.core.arrays import shared_array
from skidpad.errors import InvalidValue
from skidpad.learn import Environments, load_task, save_task, tasks
from skidpad.learn.task import GIVEN
from skidpad.vehicles import kinematic_bicycle

COUNT, STEPS = 4, 30
RUN = """
import sys

sys.modules["casadi"] = None
import numpy as np
from skidpad.learn import Environments, load_task

environments = Environments(load_task(sys.argv[1]), {count}, autoreset="same_step")
seen = [environments.reset(seed=7).copy()]
actions = np.random.default_rng(1).uniform(-1, 1, ({steps}, {count}, 2))
for action in actions:
    stepped = environments.step(action)
    seen += [stepped.observation.copy(), stepped.reward.copy()]
np.save(sys.argv[2], np.concatenate([part.ravel() for part in seen]))
"""


@pytest.fixture(scope="module")
def task():
    return small_task(randomised={"params.l_f": {"range": [1.2, 1.6]}})


@pytest.fixture(scope="module")
def saved(task, tmp_path_factory):
    path = tmp_path_factory.mktemp("task") / "race.task"
    save_task(task, path)
    return path


def drive(environments):
    seen = [environments.reset(seed=7).copy()]
    for action in np.random.default_rng(1).uniform(-1, 1, (STEPS, COUNT, 2)):
        stepped = environments.step(action)
        seen += [stepped.observation.copy(), stepped.reward.copy()]
    return np.concatenate([part.ravel() for part in seen])


@pytest.mark.slow
def test_a_process_without_casadi_has_the_same_bits(task, saved, tmp_path):
    out = tmp_path / "seen.npy"
    script = RUN.format(count=COUNT, steps=STEPS)
    subprocess.run([sys.executable, "-c", script, str(saved), str(out)], check=True)
    wanted = drive(Environments(task, COUNT, autoreset="same_step"))
    assert np.load(out).tobytes() == wanted.tobytes()


def test_a_loaded_task_can_be_saved_again(saved, tmp_path):
    again = tmp_path / "again.task"
    save_task(load_task(saved), again)
    assert json.loads(again.read_text()) == json.loads(saved.read_text())


def test_what_environments_ask_of_a_task_is_there(task, saved):
    loaded = load_task(saved)
    for name in ("name", "lowest", "highest", "agents", "dt", "substeps", "duration", "limit",
                 "lidar", "reads_ranges", "delays"):  # fmt: skip
        assert getattr(loaded, name) == getattr(task, name), name
    assert tuple(task.randomised) == loaded.randomised
    assert loaded.Action._fields == task.Action._fields


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format": "other"}, "not a skidpad task file"),
        ({"version": 99}, "version 99"),
        ({"agents": 3}, "judge has the ports"),
        ({"agents": 0}, "agents = 0"),
        ({"lidar": None}, "ports"),
        ({"noise": []}, "ports"),
        ({"courses": None}, "course for each track"),
        ({"tracks": []}, "course"),
        ({"judge": {}}, "damaged|program"),
        ({"limit": "x"}, "limit"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(saved, tmp_path, change, match):
    path = tmp_path / "bad.task"
    path.write_text(json.dumps({**json.loads(saved.read_text()), **change}))
    with pytest.raises(InvalidValue, match=match):
        load_task(path)


@pytest.mark.slow
def test_arrays_of_a_task_travel_by_content(tmp_path):
    """The speeds of a reference have another number in each process."""
    kept = shared_array([1.0, 2.0])
    angle = np.linspace(0.0, 2.0 * np.pi, 61)[:-1]
    loop = 20.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    reference = Reference.along(loop, 5.0 + np.sin(angle), closed=True)
    task = tasks.follow(kinematic_bicycle(), reference=reference)
    assert task.params.speeds > kept
    path, out = tmp_path / "follow.task", tmp_path / "seen.npy"
    save_task(task, path)
    script = RUN.format(count=COUNT, steps=STEPS)
    subprocess.run([sys.executable, "-c", script, str(path), str(out)], check=True)
    wanted = drive(Environments(task, COUNT, autoreset="same_step"))
    assert np.isfinite(wanted).all()
    assert np.load(out).tobytes() == wanted.tobytes()


def test_what_is_given_at_a_reset_is_so_after_loading(tmp_path):
    task, path = small_task(randomised={"params.l_f": GIVEN}), tmp_path / "given.task"
    save_task(task, path)
    both = [Environments(one, 2) for one in (task, load_task(path))]
    for environments in both:
        with pytest.raises(InvalidValue, match=r"params\.l_f is Given"):
            environments.reset(seed=1)
        environments.reset(seed=1, given={"params.l_f": [1.2, 1.5]})
    action = np.full((2, 2), 0.5)
    first, second = (environments.step(action) for environments in both)
    assert first.observation.tobytes() == second.observation.tobytes()
