"""Vehicles as WebAssembly have the bits of the simulator, in both modules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from compile.lanes_harness import canonical
from compile.wasm_harness import KINDS, Engine
from skidpad.core import record
from skidpad.export import Export
from skidpad.export.exported import modules_of
from skidpad.units import Allowed
from view.pages.conftest import browser as browser

NAMES = sp.vehicles.names()
FEW = ("kinematic_bicycle", "double_integrator", "ackermann_truck")
"""Vehicles of the fast tests: implicit, without elementary functions, discrete."""
STEPS = 25


@pytest.fixture(scope="module")
def engine(browser: Any) -> Iterator[Engine]:
    found = Engine(browser)
    yield found
    found.page.close()


def commands(vehicle: sp.Vehicle) -> np.ndarray:
    """Inputs within what is allowed, another in each step."""
    rng = np.random.default_rng(3)
    ranges = [leaf.allowed or Allowed() for leaf in record.fields(vehicle.Input)]
    names = record.names(vehicle.Input)
    width = [50.0 if n.startswith(("tau", "F")) else 0.3 for n in names]
    drawn = rng.uniform(-1.0, 1.0, (STEPS, len(width))) * width
    return np.clip(drawn, [r.low for r in ranges], [r.high for r in ranges])


def start_of(vehicle: sp.Vehicle) -> Any:
    """In motion, where the vehicle has such states."""
    v = min(12.0, 0.5 * vehicle.limits.v_max)
    demanded = {"v_x": v, "v_y": 0.01 * v, "omega": 0.3, "yaw": 2.0, "v": v, "x": 1.5, "y": -20.0}
    known = record.names(vehicle.State)
    return record.build(vehicle.State, {n: v for n, v in demanded.items() if n in known})


def driven(name: str, integrator: str, precision: str = "float64") -> dict[str, np.ndarray]:
    """A drive of the simulator: inputs that acted, states before and after, and outputs."""
    vehicle = sp.vehicles.get(name)()
    simulator = sp.Simulator(vehicle, 0.002, integrator, precision=precision)
    simulator.reset(start_of(vehicle))
    rows: dict[str, list[Any]] = {"start": [], "x": [], "u": [], "y": []}
    for row in commands(vehicle):
        rows["start"].append(record.flatten(simulator.state))
        rows["x"].append(record.flatten(simulator.step(row)))
        rows["u"].append(record.flatten(simulator.input))
        rows["y"].append(record.flatten(simulator.outputs()))
    return {port: np.array(values, precision) for port, values in rows.items()}


def compared(engine: Engine, name: str, integrator: str, precision: str = "float64") -> None:
    vehicle = sp.vehicles.get(name)()
    made = Export(vehicle, 0.002, integrator, precision=precision)
    wanted = driven(name, integrator, precision)
    modules = modules_of({"step": made.step, "outputs": made.outputs})
    calm = record.flatten(record.build(vehicle.model.Disturbance))
    given = {
        "x": wanted["start"][:1],
        "start": wanted["start"],
        "u": wanted["u"],
        "w": np.array([calm], float),
        "p": np.array([record.flatten(vehicle.params)], float),
        "dt": np.array([[made.dt / made.substeps]]),
    }
    assert np.isfinite(wanted["x"]).all()
    for kind in KINDS:
        assert engine.load(modules, kind) is (kind == "fused")
        x, y = engine.run(given, ["x", "y"], *["step"] * made.substeps, "outputs", count=STEPS)
        assert canonical(x) == canonical(wanted["x"]), (name, kind)
        assert canonical(y) == canonical(wanted["y"]), (name, kind)


@pytest.mark.parametrize("name", FEW)
def test_the_bits_of_the_simulator(engine: Engine, name: str) -> None:
    compared(engine, name, "auto")


def test_single_precision(engine: Engine) -> None:
    compared(engine, "double_integrator", "rk4", "float32")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.002 s is unstable")
@pytest.mark.parametrize("integrator", ["auto", "rk4"])
@pytest.mark.parametrize("name", NAMES)
def test_the_bits_of_the_simulator_for_all(engine: Engine, name: str, integrator: str) -> None:
    compared(engine, name, integrator)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["four_wheel", "single_track", "commonroad_kst"])
def test_single_precision_for_more(engine: Engine, name: str) -> None:
    compared(engine, name, "rk4", "float32")
