"""What `skidpad bench gpu` measures, measured on the CPU by the same functions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import bench
from skidpad.bench import core, gpu, work
from skidpad.bench import peers_jax as jax_device
from skidpad.bench import work as source
from skidpad.bench.timing import QUICK, Budget
from skidpad.bench.work import CHECKOUT, Device, Source, resources
from skidpad.cli import main
from skidpad.compile import gpu as engine
from skidpad.compile.plant import Plant
from skidpad.core import record
from skidpad.run.gradient import adjoint_of, terminal_of

TINY = Budget(
    vehicles=32,
    rk4_steps=20,
    radau_steps=4,
    checked=2,
    repeats=2,
    peer_seconds=0.001,
    weave=0.03,
    weave_repeats=1,
    fresh=1,
)
SIZES = gpu.Sizes(fleet=(96, 40), gradient=(80, 30), call=(16, 20))
CPU = Device.of("cpu")


def fail(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that the command ends with."""
    with pytest.raises(SystemExit) as stop:
        main(["bench", *arguments])
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    return err


@pytest.fixture(scope="module")
def entries() -> dict[str, dict[str, Any]]:
    """The group from a saved vehicle, without its peer, as JSON."""
    with pytest.MonkeyPatch.context() as patch:
        for job in ("fleet", "gradient", "call"):
            patch.setattr(jax_device, job, lambda *_: "left out")
        found = gpu.measured(CPU, Source.of(CHECKOUT), SIZES, TINY)
        return {e.name: json.loads(json.dumps(e.as_json())) for e in found}


@pytest.mark.slow
def test_every_entry_has_value_unit_and_error(entries: dict[str, dict[str, Any]]) -> None:
    units = {
        "fleet.four_wheel.rk4.float32.cpu": "steps/s",
        "fleet.four_wheel.rk4.float64.cpu": "steps/s",
        "gradient.four_wheel.float32.cpu": "steps/s",
        "call.four_wheel.cpu16": "s",
    }
    assert {name: e["unit"] for name, e in entries.items()} == units
    for found in entries.values():
        assert found["value"] > 0.0
        assert 0.0 < found["error"] < 1e-3
        assert found["absent"] == {"jax": "left out"}


def test_rates_count_steps_of_single_vehicles(entries: dict[str, dict[str, Any]]) -> None:
    details = entries["fleet.four_wheel.rk4.float64.cpu"]["details"]
    assert (details["vehicles"], details["steps"]) == SIZES.fleet
    gradient = entries["gradient.four_wheel.float32.cpu"]
    share = gradient["value"] / gradient["details"]["forward"]
    assert gradient["details"]["of_forward"] == pytest.approx(share)


def test_fleets_are_compared_with_the_cpu_bit_for_bit(entries: dict[str, dict[str, Any]]) -> None:
    for precision in ("float32", "float64"):
        found = entries[f"fleet.four_wheel.rk4.{precision}.cpu"]
        assert found["details"]["same_bits_as_cpu"] is True
    job = work.fleet_work(4, work.RK4_DT, 5, 1)
    made = Source.of(CHECKOUT).fleet(threads=1)
    end = made.rollout(job.x0.T, job.u.T, steps=5, every=5, layout="soa")[-1]
    assert gpu._same_bits(Source.of(CHECKOUT), job, end)
    end[3, 2] = np.nextafter(end[3, 2], np.inf)
    assert not gpu._same_bits(Source.of(CHECKOUT), job, end)


def test_gradients_are_compared_with_the_cpu_bit_for_bit() -> None:
    job, made = core.gradient_work(5, 6, 1), Source.of(CHECKOUT)
    value, found = made.fleet(threads=1).gradient(job.x0, job.u, wrt="controls")
    given = (made, job, value, found.controls)
    assert core._same_bits(*given, "float64")
    found.controls[5, 4, 0] = np.nextafter(found.controls[5, 4, 0], np.inf)
    assert not core._same_bits(*given, "float64")


def test_a_deviation_is_relative_to_the_largest_value_of_its_field() -> None:
    fleet = Source.of(CHECKOUT).fleet()
    names = record.names(fleet.plant.State)
    exact = np.zeros((11, 3))
    exact[names.index("v_x")] = (1.0, -20.0, 5.0)
    off = exact.copy()
    off[names.index("v_x"), 0] += 0.01
    off[names.index("yaw"), 2] -= 0.25
    found = gpu.deviation(CPU, fleet, off, exact)
    assert found.pop("v_x") == pytest.approx(0.01 / 20.0)
    assert found.pop("yaw") == 0.25
    assert not any(found.values())


def test_calls_come_with_all_forms_of_arrays(entries: dict[str, dict[str, Any]]) -> None:
    found = entries["call.four_wheel.cpu16"]
    assert found["details"]["numpy"] == found["value"]
    for form in ("device_arrays", "numpy_streamed", "device_arrays_streamed"):
        assert found["details"][form] > 0.0


@pytest.mark.slow
def test_the_reference_gradient_agrees_with_the_adjoint_and_with_jax() -> None:
    """Central differences, the discrete adjoint and JAX know nothing of each other."""
    jax = pytest.importorskip("jax")
    job = core.gradient_work(2, 2, 2)
    reference = core.gradient_reference(job)
    _, own = Source(None).fleet(threads=1).gradient(job.x0, job.u, source.COST, wrt="controls")
    assert core._error(reference, own.controls) < 1e-6
    with jax.enable_x64(True), jax.disable_jit():
        total = jax_device._total(job.vehicle, job.dt, lambda body: body)
        x0 = jax_device._columns(job.vehicle.State, job.x0)
        u = jax_device._columns(job.vehicle.Input, job.u)
        found = jax_device._rows(jax.grad(total)(u, x0))
    assert core._error(reference, found) < 1e-6
    np.testing.assert_allclose(found, own.controls, rtol=1e-9, atol=1e-15)


@pytest.mark.slow
def test_jax_makes_the_same_call_in_a_process_of_its_own() -> None:
    pytest.importorskip("jax")
    job = work.fleet_work(3, work.RK4_DT, 10, 2)
    found = jax_device.call("cpu", "float64", job, 2)
    assert not isinstance(found, str), found
    assert len(found["numpy"]) == len(found["device"]) == 2
    own = Source(None).fleet(threads=1).rollout(job.x0, job.u, steps=10, every=10)[-1, :2]
    np.testing.assert_allclose(found["end"], own, rtol=1e-12, atol=1e-12)


def test_a_peer_that_takes_too_long_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jax")
    monkeypatch.setattr(jax_device, "TIME_LIMIT_S", 0.01)
    job = work.fleet_work(3, work.RK4_DT, 10, 2)
    assert jax_device.fleet("cpu", "float64", job, 2) == "took more than 0 s"


def test_the_saved_vehicle_has_the_cost_that_is_measured() -> None:
    plant, dt = Plant.load(CHECKOUT / source.FILE)
    traced = Plant.of(sp.vehicles.four_wheel(), sp.integrate.get("rk4"))
    assert dt == work.RK4_DT
    assert plant.saved_cost is not None
    assert plant.saved_cost.adjoint.digest == adjoint_of(traced, source.COST, True).digest
    assert plant.saved_cost.terminal.digest == terminal_of(traced, source.COST, True).digest


def test_the_car_is_traced_or_loaded_or_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert Source.of().file is None
    assert Source.of(CHECKOUT).file == CHECKOUT / source.FILE
    with pytest.raises(sp.InvalidValue, match=r"is not there; .*install casadi, or .*--plants"):
        Source.of(tmp_path)
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    assert Source.of().file == CHECKOUT / source.FILE
    monkeypatch.setattr(source, "CHECKOUT", tmp_path)
    with pytest.raises(sp.InvalidValue, match=r"^this group needs .*install casadi, or .*--plants"):
        Source.of()


def test_kernels_on_the_cpu_have_no_registers_to_report() -> None:
    assert resources(Source.of(CHECKOUT).fleet()) == {}


def test_device_and_group_choose_what_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(bench, "measure", lambda *given: asked.append(given) or [])
    monkeypatch.setattr(bench, "_machine", lambda device: {"device": device})
    for arguments in (["--device", "cuda"], ["gpu"], ["gpu", "--device", "cuda"]):
        with pytest.raises(SystemExit) as stop:
            main(["bench", *arguments, "--json", "--quick", "--plants", "here"])
        assert not stop.value.code
        assert json.loads(capsys.readouterr().out)["machine"] == {"device": "cuda"}
    # Without a group all that a device has is measured.
    groups = ["gpu", "learn_gpu", "gpu", "gpu"]
    assert asked == [(group, QUICK, Path("here")) for group in groups]


def test_wrong_choices_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert "device = 'tpu' is unknown; allowed are cpu, cuda" in fail(["--device", "tpu"], capsys)
    message = fail(["core", "--device", "cuda"], capsys)
    assert "group = 'core' is measured on device = 'cpu', not 'cuda'" in message
    assert "--plants is for device = 'cuda'" in fail(["core", "--plants", "x"], capsys)


def test_without_cupy_the_group_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    engine.cupy.cache_clear()
    assert 'pip install "skidpad[cuda]"' in fail(["gpu", "--json"], capsys)
    engine.cupy.cache_clear()
