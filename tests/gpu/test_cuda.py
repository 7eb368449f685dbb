"""On a CUDA device: the bits of the CPU, arrays of any library, and errors that say what to do.

The vehicles come from files (`tools/make_plants.py`): a machine with a GPU may have no CasADi.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile import gpu
from skidpad.errors import InvalidValue, SimulationDiverged
from waiting import PATIENCE

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import make_plants

pytestmark = pytest.mark.gpu
FOLDER = make_plants.FOLDER
CASES = [f"{vehicle}.{integrator}" for vehicle, integrator, _ in make_plants.CASES]
PRECISIONS = ("float32", "float64")


def load(name: str, precision: str, **options) -> sp.Fleet:
    return sp.Fleet.load(FOLDER / f"{name}.plant", precision=precision, device="cuda", **options)


@pytest.fixture(scope="module")
def cpu_results():
    with np.load(FOLDER / "cpu_results.npz") as file:
        return dict(file)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_rollouts_have_the_bits_of_the_cpu(name, precision, cpu_results):
    result = make_plants.results(load(name, precision))
    assert result.tobytes() == cpu_results[f"{name}.{precision}"].tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_gradients_have_the_bits_of_the_cpu(name, precision, cpu_results):
    for part, array in make_plants.gradients(load(name, precision)).items():
        assert array.tobytes() == cpu_results[f"{name}.{precision}.{part}"].tobytes(), part


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", CASES)
def test_steps_of_different_lengths_are_those_of_fleets_of_each(name, precision):
    fleet = load(name, precision)
    halves = load(name, precision, dt=0.5 * fleet.dt)
    x0 = np.zeros((9, sp.core.record.size(fleet.plant.State)), precision)
    x0[:, 3] = np.linspace(3.0, 9.0, 9)
    rng = np.random.default_rng(1)
    u = 0.01 * rng.standard_normal((40, 9, sp.core.record.size(fleet.plant.Input)))
    u[:, :, 5:] = np.abs(u[:, :, 5:])  # brakes
    first = fleet.rollout(x0, u[:25])
    second = halves.rollout(first[-1], u[25:])
    dt = [fleet.dt] * 25 + [halves.dt] * 15
    together = fleet.rollout(x0, u, dt=dt)
    assert together.tobytes() == np.concatenate([first, second[1:]]).tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_closed_loops_have_the_bits_of_the_cpu(precision, cpu_results):
    result = make_plants.loop_results(load(make_plants.LOOP, precision))
    assert result.tobytes() == cpu_results[f"{make_plants.LOOP}.{precision}"].tobytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", make_plants.COMMANDED)
def test_command_driven_vehicles_have_the_bits_of_the_cpu(name, precision, cpu_results):
    """Dead times of their own, gears and queues included."""
    for part, array in make_plants.commanded_results(load(name, precision)).items():
        assert array.tobytes() == cpu_results[f"{name}.{precision}.{part}"].tobytes(), part


@pytest.fixture
def tiny_pieces(monkeypatch):
    """Launches of one step each."""
    monkeypatch.setattr(gpu, "_SHORT", 0.0)
    for name in ("_FIRST", "_LONG"):
        monkeypatch.setattr(gpu, name, 1e-12)


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_rollout_in_pieces_has_the_bits_of_one_launch(precision, cpu_results):
    for name in ("four_wheel.rk4", *make_plants.COMMANDED):
        fleet = load(name, precision)
        if name in make_plants.COMMANDED:
            for part, array in make_plants.commanded_results(fleet).items():
                assert array.tobytes() == cpu_results[f"{name}.{precision}.{part}"].tobytes(), part
        else:
            result = make_plants.results(fleet)
            assert result.tobytes() == cpu_results[f"{name}.{precision}"].tobytes()


@pytest.mark.usefixtures("tiny_pieces")
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_gradient_in_pieces_has_the_bits_of_one_launch(precision, cpu_results):
    for part, array in make_plants.gradients(load("four_wheel.rk4", precision)).items():
        assert array.tobytes() == cpu_results[f"four_wheel.rk4.{precision}.{part}"].tobytes(), part


def test_fast_mode_in_pieces_has_the_bits_of_one_launch(request):
    fleet = load("four_wheel.rk4", "float32", fast=True)
    whole = make_plants.results(fleet)
    request.getfixturevalue("tiny_pieces")
    again = load("four_wheel.rk4", "float32", fast=True)
    assert make_plants.results(again).tobytes() == whole.tobytes()


def test_a_long_rollout_can_be_interrupted(cpu_results):
    fleet = load("four_wheel.rk4", "float64")
    x0, _ = make_plants.inputs()
    many = np.tile(x0, (1000, 1))
    fleet.rollout(many, {"steer": 0.01}, steps=10, every=10)
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(1.0, send).start()
    with pytest.raises(KeyboardInterrupt):
        fleet.rollout(many, {"steer": 0.01}, steps=10**8, every=10**8)
    assert time.perf_counter() - sent[0] < PATIENCE
    result = make_plants.results(fleet)
    assert result.tobytes() == cpu_results["four_wheel.rk4.float64"].tobytes()


@pytest.mark.parametrize("layout", ["aos", "soa"])
def test_layouts_and_batch_sizes_change_no_bits(layout, cpu_results):
    fleet = load("four_wheel.rk4", "float32")
    x0, controls = make_plants.inputs()
    want = cpu_results["four_wheel.rk4.float32"]
    for count in (1, 3, 96):
        x, u = x0[:count], controls[:, :count]
        if layout == "soa":
            x, u = x.T, np.swapaxes(u, 1, 2)
        got = fleet.rollout(x, u, every=make_plants.EVERY, layout=layout)
        if layout == "soa":
            got = np.swapaxes(got, 1, 2)
        assert (
            np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(want[:, :count]).tobytes()
        )


def test_parameters_per_vehicle_and_held_controls():
    fleet = load("four_wheel.rk4", "float64")
    x0 = np.zeros((4, 11))
    x0[:, 3] = 10.0
    masses = np.array([200.0, 230.0, 260.0, 230.0])
    held = fleet.rollout(x0, {"tau_rl": 200.0, "tau_rr": 200.0}, steps=100, params={"m": masses})
    assert held[-1, 0, 3] > held[-1, 1, 3] > held[-1, 2, 3]
    assert held[:, 1].tobytes() == held[:, 3].tobytes()


def test_device_arrays_go_in_and_out_without_the_host():
    import cupy
    import torch

    fleet = load("four_wheel.rk4", "float32")
    x0, controls = (a.astype(np.float32) for a in make_plants.inputs())
    want = fleet.rollout(x0, controls, every=50)
    assert isinstance(want, np.ndarray)
    on_cupy = fleet.rollout(cupy.asarray(x0), cupy.asarray(controls), every=50)
    assert isinstance(on_cupy, cupy.ndarray)
    assert on_cupy.get().tobytes() == want.tobytes()
    on_torch = fleet.rollout(
        torch.tensor(x0, device="cuda"), torch.tensor(controls).cuda(), every=50
    )
    assert isinstance(on_torch, torch.Tensor)
    assert on_torch.is_cuda
    assert on_torch.cpu().numpy().tobytes() == want.tobytes()


def test_jax_arrays():
    jax = pytest.importorskip("jax")
    fleet = load("four_wheel.rk4", "float32")
    x0, controls = (a.astype(np.float32) for a in make_plants.inputs())
    result = fleet.rollout(jax.numpy.asarray(x0), jax.numpy.asarray(controls), every=50)
    assert np.asarray(result).tobytes() == fleet.rollout(x0, controls, every=50).tobytes()


def test_fast_mode_stays_close():
    exact, fast = load("four_wheel.rk4", "float32"), load("four_wheel.rk4", "float32", fast=True)
    want, got = make_plants.results(exact), make_plants.results(fast)
    scale = np.abs(want).max(axis=(0, 1))
    assert (np.abs(got - want).max(axis=(0, 1)) <= 2e-3 * np.maximum(scale, 1e-3)).all()
    assert got.tobytes() != want.tobytes()


def test_mixed_precision_on_the_device_is_refused():
    import cupy

    fleet = load("four_wheel.rk4", "float32")
    x0, controls = make_plants.inputs()
    with pytest.raises(InvalidValue, match="x0 is float64 on the device but the fleet computes in"):
        fleet.rollout(cupy.asarray(x0), controls, every=50)


def test_bad_values_are_named():
    fleet = load("four_wheel.rk4", "float32")
    x0, controls = make_plants.inputs()
    controls[7, 3, 0] = np.nan
    with pytest.raises(InvalidValue, match="controls: steer of vehicle 3, step 7 is nan"):
        fleet.rollout(x0, controls, every=50)


def test_a_diverged_vehicle_is_named_or_masked():
    x0, controls = make_plants.inputs()
    x0[5, 3] = 1e30
    with pytest.raises(SimulationDiverged, match="vehicle 5") as caught:
        load("four_wheel.rk4", "float32").rollout(x0, controls, every=50)
    assert caught.value.vehicles == (5,)
    masked = load("four_wheel.rk4", "float32", on_diverge="mask").rollout(x0, controls, every=50)
    assert np.isnan(masked[-1, 5]).all()
    assert np.isfinite(np.delete(masked, 5, axis=1)).all()


def test_out_of_memory_says_so():
    fleet = load("four_wheel.rk4", "float64")
    x0 = np.zeros((1 << 20, 11))
    x0[:, 3] = 10.0
    with pytest.raises(InvalidValue, match="memory"):
        fleet.rollout(x0, {"steer": 0.01}, steps=4000)
