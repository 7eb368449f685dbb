"""Every vehicle as an FMU: no problem found by fmpy, and the bits of `Simulator`."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from fmpy.validation import validate_fmu

import skidpad as sp
from fmu_cart import DT, Unit, cart, compiler
from skidpad import units as si
from skidpad.core.arrays import ArrayNumber
from skidpad.export import Export, toolchain, write_fmu
from skidpad.ops import Grid1, grid, interpolate


def followed(vehicle: Any, folder: Path, version: int = 3, **how: Any) -> Unit:
    """Drive an FMU and a simulator side by side, with other inputs in every step."""
    car = Export(vehicle, DT, **how)
    path = write_fmu(
        car, folder / "car.fmu", version, platforms=[toolchain.host()], compiler=compiler()
    )
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder / "car")
    unit, sim = Unit(folder / "car").start(), sp.Simulator(vehicle, DT, car.method)
    if how.get("precision") == "float32":
        sim = sp.Simulator(vehicle, DT, car.method, precision="float32")
    assert unit.states() == list(sp.core.record.flatten(sim.state))
    names = sp.core.record.names(vehicle.Input)
    ranges = [leaf.allowed for leaf in sp.core.record.fields(vehicle.Input)]
    for k in range(60):
        size = 0.05 * np.sin(0.3 * k + np.arange(len(names)))
        row = [v if r is None else 1.0 for v, r in zip(size.tolist(), ranges, strict=True)]
        unit.write([f"input.{name}" for name in names], row)
        unit.step(k * DT)
        assert unit.states() == list(sp.core.record.flatten(sim.step(row)))
    outputs = [f"output.{name}" for name in sp.core.record.names(vehicle.model.Outputs)]
    found = unit.read(*outputs) if outputs else []
    assert found == list(sp.core.record.flatten(sim.outputs()))
    return unit


@pytest.mark.slow
def test_single_precision(tmp_path: Path) -> None:
    followed(cart(), tmp_path, integrator="rk4", precision="float32").close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sp.vehicles.names())
def test_registered(name: str, tmp_path: Path) -> None:
    followed(sp.vehicles.get(name)(), tmp_path).close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kinematic_bicycle", "brains2"])
def test_registered_in_version_2(name: str, tmp_path: Path) -> None:
    followed(sp.vehicles.get(name)(), tmp_path, 2).close()


@pytest.mark.slow
def test_an_implicit_integrator(tmp_path: Path) -> None:
    followed(cart(), tmp_path, integrator="radau").close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DELAY_STEER_ACC", "DELAY_STEER_VEL"])
@pytest.mark.filterwarnings("ignore")
def test_dead_times(name: str, tmp_path: Path) -> None:
    vehicle = sp.vehicles.get(name)()
    assert vehicle.model.dead_times
    unit = followed(vehicle, tmp_path)
    assert unit.description.modelExchange is None
    unit.close()


class Block(NamedTuple):
    x: si.m = 0.3
    """Position on the map."""
    v: si.m_s = 1.0
    """Speed."""


class Push(NamedTuple):
    F: si.N = 0.0
    """Force."""


class OnMap(NamedTuple):
    m: si.kg = 2.0
    """Mass."""
    map: Grid1 = grid([0.0, 3.0, 1.0, 5.0, -2.0])
    """Resistance by position."""


def test_shared_arrays_are_part_of_the_source(tmp_path: Path) -> None:
    """The number of a grid is no variable that a tool could set; the vehicle reads the grid all the
    same. It has neither outputs nor disturbances."""

    def derivative(x: Block, u: Push, w: Any, p: OnMap) -> Block:
        return Block(x.v, (u.F - interpolate(p.map, x.x)) / p.m)

    block = sp.VehicleFactory(sp.Model("block", Block, Push, OnMap, derivative=derivative))()
    unit = followed(block, tmp_path, integrator="rk4")
    shown = {name for name in unit.reference if name.startswith("params.")}
    assert "params.m" in shown
    numbers = [
        leaf.name
        for leaf, value in zip(
            sp.core.record.fields(OnMap), sp.core.record.flatten(block.params), strict=True
        )
        if isinstance(value, ArrayNumber)
    ]
    assert numbers
    assert not shown & {f"params.{name}" for name in numbers}
    slope = unit.jacobian(["der(state.v)"], ["state.x", "input.F"])[0]
    x = unit.read("state.x")[0]
    rises = np.diff([0.0, 3.0, 1.0, 5.0, -2.0])
    assert slope == pytest.approx([-rises[int(x)] / 2.0, 0.5])
    unit.close()
