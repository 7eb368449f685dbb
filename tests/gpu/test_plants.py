"""Without a GPU: the files that the GPU tests load are what the code of today would write."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile.plant import Plant
from skidpad.learn import Environments, load_task, save_task

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import make_map_plant
import make_plants
import make_tasks


@pytest.mark.parametrize(("vehicle", "integrator", "dt"), make_plants.CASES)
def test_saved_vehicles_are_up_to_date(vehicle, integrator, dt):
    plant, saved_dt = Plant.load(make_plants.FOLDER / f"{vehicle}.{integrator}.plant")
    fresh = Plant.of(make_plants.car(vehicle), sp.integrate.get(integrator))
    assert saved_dt == dt
    assert plant.step.digest == fresh.step.digest, "run python tools/make_plants.py"


@pytest.mark.parametrize("name", make_plants.COMMANDED)
def test_saved_command_driven_vehicles_are_up_to_date(name):
    plant, _ = Plant.load(make_plants.FOLDER / f"{name}.plant")
    fresh = make_plants.commanded(name).plant
    assert plant.step.digest == fresh.step.digest, "run python tools/make_plants.py"
    with np.load(make_plants.FOLDER / "cpu_results.npz") as file:
        for part, array in make_plants.commanded_results(make_plants.commanded(name)).items():
            assert array.tobytes() == file[f"{name}.float64.{part}"].tobytes()


def test_the_saved_closed_loop_is_up_to_date():
    plant, _ = Plant.load(make_plants.FOLDER / f"{make_plants.LOOP}.plant")
    fresh = make_plants.closed_loop().plant
    assert plant.step.digest == fresh.step.digest, "run python tools/make_plants.py"


@pytest.mark.slow_cases("float32")
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_saved_results_are_those_of_the_cpu(precision):
    with np.load(make_plants.FOLDER / "cpu_results.npz") as file:
        saved = dict(file)
    fleet = sp.Fleet.load(make_plants.FOLDER / "four_wheel.rk4.plant", precision=precision)
    name = f"four_wheel.rk4.{precision}"
    assert make_plants.results(fleet).tobytes() == saved[name].tobytes()
    for part, array in make_plants.gradients(fleet).items():
        assert array.tobytes() == saved[f"{name}.{part}"].tobytes()
    loop = sp.Fleet.load(make_plants.FOLDER / f"{make_plants.LOOP}.plant", precision=precision)
    wanted = saved[f"{make_plants.LOOP}.{precision}"]
    assert make_plants.loop_results(loop).tobytes() == wanted.tobytes()


def test_the_saved_vehicle_that_reads_maps_is_up_to_date():
    path = make_plants.FOLDER / f"{make_map_plant.MAPPED}.plant"
    plant, _ = Plant.load(path)
    assert plant.step.digest == make_map_plant.mapped().plant.step.digest, (
        "run python tools/make_map_plant.py"
    )
    with np.load(make_plants.FOLDER / "mapped_results.npz") as file:
        saved = dict(file)
    for precision in ("float64", "float32"):
        fleet = sp.Fleet.load(path, precision=precision)
        for part, array in make_map_plant.mapped_results(fleet).items():
            assert array.tobytes() == saved[f"{precision}.{part}"].tobytes(), part


@pytest.mark.slow
def test_the_saved_task_is_up_to_date(tmp_path):
    save_task(make_tasks.race(), tmp_path / "race.task")
    fresh, saved = ((at / "race.task").read_text() for at in (tmp_path, make_tasks.FOLDER))
    assert fresh == saved, "run python tools/make_tasks.py"
    with np.load(make_tasks.RESULTS) as file:
        wanted = file["next_step.float32"]
    environments = Environments(load_task(make_tasks.TASK), make_tasks.WORLDS)
    assert make_tasks.driven(environments).tobytes() == wanted.tobytes()
