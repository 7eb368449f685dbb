"""What an FMU says of itself: variables, units, ranges, starts, and what depends on what."""

from __future__ import annotations

import io
import zipfile
from typing import Any
from xml.etree import ElementTree as ET

import fmpy
import pytest
from fmpy.validation import validate_fmu

import skidpad as sp
from fmu_cart import DT, cart
from skidpad.core.record import Field
from skidpad.export import Export
from skidpad.export.fmu import fat_binary, fmu_files, target_names, write_fmu
from skidpad.export.fmu_description import (
    BaseUnit,
    Programs,
    base_unit,
    dependencies,
    model_description,
    shapes_of,
)
from skidpad.units import Unit

VERSIONS = (2, 3)


def description(vehicle: Any, version: int) -> Any:
    """The description as fmpy reads it, with no problem found."""
    xml = model_description(Programs(Export(vehicle, DT)), version, "{token}", ["a.c"])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("modelDescription.xml", xml)
    problems: Any = validate_fmu
    assert problems(file) == []
    return fmpy.read_model_description(file)


@pytest.fixture(scope="module", params=VERSIONS)
def told(request: pytest.FixtureRequest) -> Any:
    return description(cart(m=50.0), request.param)


def variable(told: Any, name: str) -> Any:
    return next(v for v in told.modelVariables if v.name == name)


def test_names_carry_their_record(told: Any) -> None:
    assert variable(told, "state.v_x").causality == "output"
    assert variable(told, "input.v_x").causality == "input"
    assert variable(told, "disturbance.F_wind").causality == "input"
    assert variable(told, "der(state.v_x)").derivative.name == "state.v_x"
    assert variable(told, "params.tyre.k").causality == "parameter"
    assert variable(told, "params.tyre.k").variability == "tunable"
    assert told.modelExchange is not None
    assert told.coSimulation.canHandleVariableCommunicationStepSize


def test_starts_ranges_and_meanings(told: Any) -> None:
    mass, radius = variable(told, "params.m"), variable(told, "params.r")
    assert float(mass.start) == 50.0
    assert (float(mass.min), mass.max) == (0.0, None)
    assert mass.description == "Mass. Allowed is greater than 0."
    assert (float(radius.min), float(radius.max)) == (0.1, 2.0)
    assert radius.description == "Radius of the wheel."
    assert float(variable(told, "state.spin").start) == 2.0 / 0.25
    assert variable(told, "state.spin").initial == "approx"
    assert variable(told, "state.v_x").initial == "exact"
    assert told.defaultExperiment.stepSize == str(DT)


def test_units(told: Any) -> None:
    units = {unit.name: unit for unit in told.unitDefinitions}
    assert variable(told, "state.spin").unit == "rad/s"
    assert variable(told, "der(state.spin)").unit == "rad/s²"
    base = units["rad/s²"].baseUnit
    assert (base.rad, base.s, base.m, base.kg) == (1, -2, 0, 0)
    assert [(d.name, d.factor) for d in units["m/s"].displayUnits] == [("km/h", 3.6)]


@pytest.mark.parametrize(
    ("unit", "exponents"),
    [
        (Unit("N·m·s/rad", 2, 1, -1), BaseUnit(kg=1, m=2, s=-1, rad=-1)),
        (Unit("rad/(N·m)", -2, -1, 2), BaseUnit(kg=-1, m=-2, s=2, rad=1)),
        (Unit("V", 2, 1, -3), BaseUnit(kg=1, m=2, s=-3, A=-1)),
        (Unit("Ω", 2, 1, -3), BaseUnit(kg=1, m=2, s=-3, A=-2)),
        (Unit("N·m/A", 2, 1, -2), BaseUnit(kg=1, m=2, s=-2, A=-1)),
        (Unit("W/(N²·m²)", -2, -1, 1), BaseUnit(kg=-1, m=-2, s=1)),
        (Unit("√Hz", time=-0.5), None),
    ],
)
def test_base_units(unit: Unit, exponents: BaseUnit | None) -> None:
    assert base_unit(unit) == exponents


def test_tables_are_arrays_in_3_and_numbered_in_2() -> None:
    whole = variable(description(cart(), 3), "params.drag.value")
    assert [int(d.start) for d in whole.dimensions] == [3]
    assert whole.start == "0.0 20.0 200.0"
    single = variable(description(cart(), 2), "params.drag.value[3]")
    assert single.start == "200.0"


def test_only_alike_neighbours_are_an_array() -> None:
    def leaf(name: str, doc: str = "Value.") -> Field:
        return Field(name, Unit("1"), doc, 0.0, None)

    grid = [leaf(f"v_{i}_{j}") for i in range(2) for j in range(3)]
    assert shapes_of([leaf("a"), *grid]) == {1: ("v", (2, 3))}
    assert shapes_of([leaf("p_1", "Peak."), leaf("p_2", "Slope.")]) == {}
    assert shapes_of([leaf("c_0"), leaf("c_2")]) == {}
    assert shapes_of([leaf("tail_0"), leaf("head")]) == {}


def test_dependencies_are_those_of_the_equations(told: Any) -> None:
    outputs = {u.variable.name: {v.name for v in u.dependencies} for u in told.outputs}
    states = {"state.v_x", "state.spin"}
    assert outputs["output.a_x"] == states | {"disturbance.F_wind"}
    assert outputs["output.slip"] == states | {"input.F_x"}
    assert outputs["state.x"] == {"state.x"}
    rates = {u.variable.name: {v.name for v in u.dependencies} for u in told.derivatives}
    assert rates["der(state.yaw)"] == {"state.x", "state.v_x", "input.v_x"}
    initial = {u.variable.name: {v.name for v in u.dependencies} for u in told.initialUnknowns}
    # The wheel rolls at the start, so its spin is the speed over the radius.
    assert initial["state.spin"] == {"state.v_x", "params.r"}
    assert initial["output.slip"] == {"state.v_x", "params.r", "input.F_x"}
    assert initial["der(state.x)"] == {"state.v_x", "state.yaw"}


def test_dependencies_go_through_functions() -> None:
    """A tyre that is called is a function of the Program; what it needs is found within."""
    program = Programs(Export(sp.vehicles.single_track())).rates
    assert program is not None
    assert program.functions
    reached = dict(zip(program.outputs[0].fields, dependencies(program), strict=True))
    assert reached["x"] == {("x", 2), ("x", 3), ("x", 4)}
    assert {("p", k) for k, n in enumerate(program.inputs[4].fields) if n == "m"} <= reached["v_x"]


def test_models_that_sample_are_for_co_simulation_only() -> None:
    told = description(sp.vehicles.brains2(), 3)
    assert told.modelExchange is None
    assert not any(v.name.startswith("der(") for v in told.modelVariables)
    discrete = description(sp.vehicles.ackermann_truck(), 2)
    assert discrete.modelExchange is None


@pytest.mark.parametrize("version", VERSIONS)
def test_an_fmu_is_named_by_its_content(version: int) -> None:
    def token(**params: float) -> str:
        files = fmu_files(Export(cart(**params), DT), version)
        root = ET.fromstring(files["modelDescription.xml"])
        found = root.attrib["guid" if version == 2 else "instantiationToken"]
        assert found in files["sources/model.h"].decode()
        return found

    assert token() == token()
    assert token() != token(m=41.0)


def test_what_cannot_be_written_is_refused(tmp_path: Any) -> None:
    car = Export(cart(), DT)
    path = tmp_path / "cart.fmu"
    with pytest.raises(sp.InvalidValue, match="version"):
        write_fmu(car, path, 1)
    with pytest.raises(sp.InvalidValue, match=r"'amiga' .* linux, windows, macos"):
        write_fmu(car, path, platforms=["amiga"])
    with pytest.raises(sp.InvalidValue, match="builds for"):
        write_fmu(car, path, platforms=["x86_64-windows", "aarch64-macos"], compiler="gcc")
    assert not path.exists()
    assert target_names(["macos", "x86_64-macos"], None) == ("x86_64-macos", "aarch64-macos")


def test_sources_alone(tmp_path: Any) -> None:
    path = write_fmu(Export(cart(), DT), tmp_path / "cart.fmu", sources_only=True)
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        build = ET.fromstring(archive.read("sources/buildDescription.xml"))
    listed = [f"sources/{file.attrib['name']}" for file in build.iter("SourceFile")]
    assert listed == ["sources/fmi3.c"]
    assert set(listed) <= set(names)
    assert not any(name.startswith("binaries/") for name in names)


def test_a_fat_binary_has_its_parts_at_pages() -> None:
    head = (0xFEEDFACF).to_bytes(4, "little")
    intel = head + (0x01000007).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"intel"
    arm = head + (0x0100000C).to_bytes(4, "little") + bytes(4) + b"arm"
    whole = fat_binary([intel, arm])
    assert whole[:8] == bytes.fromhex("cafebabe00000002")
    assert whole[16384 : 16384 + len(intel)] == intel
    assert whole[32768 : 32768 + len(arm)] == arm
    assert int.from_bytes(whole[8 + 20 : 8 + 24], "big") == 0x0100000C
    with pytest.raises(sp.InvalidValue, match="not a macOS library"):
        fat_binary([b"MZ" + bytes(30)])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.filterwarnings("ignore:.*is not given")
def test_a_gear_is_a_whole_number_within_a_range(version: int) -> None:
    vehicle = sp.vehicles.get("IDEAL_STEER_ACC_GEARED")()
    gear = next(leaf for leaf in sp.core.record.fields(vehicle.Input) if leaf.name == "gear")
    files = fmu_files(Export(vehicle, DT), version)
    ranges = "".join(text.decode() for name, text in files.items() if name.endswith((".c", ".h")))
    assert gear.allowed is not None
    assert f"{float(gear.allowed.low).hex()}, {float(gear.allowed.high).hex()}, 0, 1," in ranges
