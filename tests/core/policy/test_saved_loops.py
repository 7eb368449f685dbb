"""A closed loop in a file, and as CUDA text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from compile import cuda_harness
from core.policy.drivers import CLOCK, FOLLOW
from run.fleet.driving import starts
from skidpad.compile import cuda
from skidpad.compile.cpu import RolloutArrays
from skidpad.compile.gpu import RolloutLaunch
from skidpad.compile.lower import lower
from skidpad.core import record
from skidpad.errors import InvalidValue

BICYCLE = sp.vehicles.kinematic_bicycle()
COUNT, STEPS = 5, 30


def driving() -> tuple[np.ndarray, np.ndarray]:
    """Start states with an empty memory, and references."""
    x0 = np.hstack([starts(BICYCLE, COUNT), np.zeros((COUNT, 1))])
    return x0, np.random.default_rng(2).uniform((4.0, -1.0), (12.0, 1.0), (STEPS, COUNT, 2))


@pytest.mark.parametrize("substeps", [1, 3])
def test_a_loaded_loop_has_the_same_names_and_bits(tmp_path: Path, substeps: int) -> None:
    fleet = sp.Fleet(BICYCLE, 2e-3, "heun", substeps=substeps)
    closed = fleet.closed_loop(FOLLOW)
    closed.save(tmp_path / "loop.plant")
    loaded = sp.Fleet.load(tmp_path / "loop.plant")
    for kind in ("State", "Input", "Params", "Outputs"):
        ours, theirs = (record.names(getattr(f.plant, kind)) for f in (closed, loaded))
        assert ours == theirs
    assert "policy.throttle.k_p" in record.names(loaded.plant.Params)
    x0, references = driving()
    gains = {"policy.k_y": np.linspace(0.0, 0.1, COUNT), "m": 250.0}
    wanted, got = (f.rollout(x0, references, params=gains) for f in (closed, loaded))
    assert got.tobytes() == wanted.tobytes()
    seen = [f.outputs(wanted[:-1], references, params=gains) for f in (closed, loaded)]
    assert seen[0].tobytes() == seen[1].tobytes()
    apart = fleet.rollout(
        x0[:, :11],
        references,
        policy=FOLLOW,
        policy_params={"k_y": gains["policy.k_y"]},
        params={"m": np.full(COUNT, 250.0)},
    )
    assert apart.tobytes() == np.ascontiguousarray(wanted[..., :11]).tobytes()


def test_a_loaded_loop_knows_what_it_is(tmp_path: Path) -> None:
    sp.Fleet(BICYCLE, 2e-3, "heun", substeps=4).closed_loop(CLOCK).save(tmp_path / "loop.plant")
    loaded = sp.Fleet.load(tmp_path / "loop.plant", dt=4e-3, substeps=4)
    end = loaded.rollout({"v_x": 5.0}, steps=10)[-1, 0]
    assert end[-2] == 10.0
    assert end[-1] == pytest.approx(0.04)  # the policy is told the step it runs with
    with pytest.raises(InvalidValue, match=r"substeps = 2, but .* a command every 4"):
        sp.Fleet.load(tmp_path / "loop.plant", substeps=2)
    with pytest.raises(InvalidValue, match="need the cost it was saved with"):
        loaded.gradient({"v_x": 5.0}, None, lambda x: x.y, steps=5)
    with pytest.raises(InvalidValue, match="make the closed loop first and save that"):
        loaded.rollout({"v_x": 5.0}, steps=5, policy=CLOCK)


def test_a_file_runs_without_casadi(tmp_path: Path) -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, "heun").closed_loop(FOLLOW)
    closed.save(tmp_path / "loop.plant")
    x0, references = driving()
    np.savez(tmp_path / "given.npz", x0=x0, references=references)
    code = (
        "import sys; sys.modules['casadi'] = None\n"
        "import numpy as np, skidpad as sp\n"
        "given = np.load('given.npz')\n"
        "out = sp.Fleet.load('loop.plant').rollout(given['x0'], given['references'])\n"
        "np.save('out.npy', out)\n"
    )
    source = str(Path(sp.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    assert np.load(tmp_path / "out.npy").tobytes() == closed.rollout(x0, references).tobytes()


@pytest.mark.slow_cases("float32-1")
@pytest.mark.skipif(cuda_harness.NVCC is None, reason="nvcc is not installed")
@pytest.mark.parametrize(("precision", "substeps"), [("float32", 1), ("float64", 3)])
def test_nvcc_accepts_the_cuda_text(tmp_path: Path, precision: str, substeps: int) -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, substeps=substeps).closed_loop(FOLLOW)
    source = cuda.emit(lower(closed.plant.step, precision), precision)
    assert cuda_harness.cubin(source, tmp_path)


@pytest.mark.parametrize("substeps", [1, 3])
def test_the_cuda_text_has_the_bits_of_the_lanes(tmp_path: Path, substeps: int) -> None:
    closed = sp.Fleet(BICYCLE, 2e-3, substeps=substeps, threads=1).closed_loop(FOLLOW)
    x0, references = driving()
    wanted = closed.rollout(x0, references, every=10)
    launch = cuda_harness.kernel(
        cuda.emit(lower(closed.plant.step, "float64"), "float64"), "rollout", tmp_path
    )
    p = np.array(record.flatten(closed.plant.params)).reshape(1, 1, -1)
    out = np.full_like(wanted, np.nan)
    out[0] = x0
    arrays = RolloutArrays(x0[None], references, np.zeros((1, 1, 0)), p)
    numbers = {"dt": np.float64(2e-3 / substeps), "tolerance": np.float64(1.0)}
    RolloutLaunch(launch, np, arrays, out, 10, substeps=substeps, **numbers)(0, 30)
    assert out.tobytes() == wanted.tobytes()
