"""Vehicles in C: the bits of the Simulator, whatever the processor has, and no library at all."""

from __future__ import annotations

import csv
import ctypes
import io
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from export.c_driver import Car, build, commands, drive_beside, same, simulator_of
from skidpad import units as si
from skidpad.cli import main
from skidpad.core import record
from skidpad.core.arrays import ArrayNumber, shared_array
from skidpad.errors import InvalidValue
from skidpad.export import Export, write_c
from skidpad.export.c import c_sources
from skidpad.ops import read

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Wdouble-promotion", "-Werror", "-O1")
"""Clean under these; with little effort, as it is not the speed that is looked at."""


class State(NamedTuple):
    """Of a point on a line."""

    s: si.m = 0.0
    """Where it is."""
    v_x: si.m_s = 0.0
    """How fast."""


class Input(NamedTuple):
    """What pulls it."""

    register: si.m_s2 = 0.0
    """Named like something that C keeps to itself."""
    gear: si.one = 0.0
    """Which array; */ ends nothing."""


class Params(NamedTuple):
    """Two arrays."""

    slope: si.one = 0.0
    """Number of an array over s."""
    other: si.one = 0.0
    """Number of another."""


def hilly(**arrays: Any) -> sp.Vehicle:
    """A vehicle whose parameters are arrays."""

    def derivative(x: State, u: Input, w: Any, p: Params) -> State:
        return State(x.v_x, u.register + read(p.slope, x.s * 10.0) + read(p.other, u.gear))

    model = sp.Model(name="hilly", State=State, Input=Input, Params=Params, derivative=derivative)
    return sp.Vehicle(model, Params(**arrays))


SMALL = {
    "double_integrator": ("double_integrator", "rk4", "float64"),
    "truck": ("ackermann_truck", "rk4", "float64"),
    "ks_single": ("commonroad_ks", "rk4", "float32"),
    "late": ("DELAY_STEER_ACC", "auto", "float64"),
    "late_single": ("DELAY_STEER_ACC", "auto", "float32"),
    "bicycle": ("kinematic_bicycle", "radau", "float64"),
}


@pytest.fixture(scope="module")
def small() -> dict[str, Export]:
    return {
        name: Export(sp.vehicles.get(car)(), 0.01, method, precision=precision, name=name)
        for name, (car, method, precision) in SMALL.items()
    }


@pytest.fixture(scope="module")
def library(small: dict[str, Export], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(list(small.values()), tmp_path_factory.mktemp("c"), flags=STRICT)


@pytest.mark.parametrize("name", SMALL)
def test_steps_have_the_bits_of_the_simulator(
    name: str, small: dict[str, Export], library: ctypes.CDLL
) -> None:
    assert drive_beside(small[name], library) == 0


def test_bits_do_not_depend_on_what_the_processor_has(
    small: dict[str, Export], tmp_path: Path
) -> None:
    cars = [small[name] for name in ("truck", "ks_single")]
    flags = (*STRICT, "-DSKIDPAD_NO_INSTRUCTIONS", *(f"-D{car.name}_NO_DISPATCH" for car in cars))
    plain = build(cars, tmp_path, flags=flags)
    for car in cars:
        drive_beside(car, plain, steps=30)


@pytest.mark.slow_cases("flags0", "flags2")
@pytest.mark.parametrize("flags", [("-O0",), ("-Os", "-mfma"), ("-O3", "-std=gnu17", "-mfma")])
def test_nothing_is_left_to_a_library(
    flags: Sequence[str], small: dict[str, Export], tmp_path: Path
) -> None:
    for name in ("late", "ks_single"):
        source = write_c(small[name], tmp_path)[1]
        code = tmp_path / f"{name}.o"
        subprocess.run(["gcc", *flags, "-c", source, "-o", code], check=True)
        missing = subprocess.run(["nm", "-u", code], check=True, capture_output=True, text=True)
        assert missing.stdout.replace("_GLOBAL_OFFSET_TABLE_", "").split() == []


def test_a_step_that_fails_changes_nothing(small: dict[str, Export], library: ctypes.CDLL) -> None:
    car = Car(small["late"], library)
    rng, sim = np.random.default_rng(2), simulator_of(small["late"])
    row = commands(small["late"], rng, sim.state)
    assert car.step(row) == 0
    before = bytes(car.memory)
    for bad in (np.nan, np.inf):
        assert car.step([bad, *row[1:]]) == 1
    for dt in (0.0, -1.0, np.nan, np.inf, 5e-324):
        assert car.step_of(row, dt) == 1
    start = np.array(car.member("state"))
    start[0] = np.inf
    assert car.reset(start.tolist(), 0.0) == 1
    assert car.reset([0.0] * len(start), np.nan) == 1
    assert bytes(car.memory) == before
    car.member("params")[record.names(small["late"].model.Params).index("steer_time_delay")] = 50.0
    before = bytes(car.memory)
    assert car.step(row) == 4
    assert bytes(car.memory) == before


def test_a_diverging_step_is_refused(small: dict[str, Export], library: ctypes.CDLL) -> None:
    car = Car(small["double_integrator"], library)
    car.member("state")[2] = 1e308
    car.member("state")[0] = 1.7e308
    before = bytes(car.memory)
    assert car.step([1e308, 0.0]) == 2
    assert bytes(car.memory) == before


def test_a_copy_is_a_moment_to_come_back_to(small: dict[str, Export], library: ctypes.CDLL) -> None:
    car, sim = Car(small["late"], library), simulator_of(small["late"])
    rng = np.random.default_rng(4)
    rows = [commands(small["late"], rng, sim.state) for _ in range(40)]
    for row in rows[:20]:
        assert car.step(row) == 0
    moment = bytes(car.memory)
    ends = []
    for _ in range(2):
        for row in rows[20:]:
            assert car.step(row) == 0
        ends.append(bytes(car.memory))
        ctypes.memmove(car.memory, moment, len(moment))
    assert ends[0] == ends[1] != moment


def test_delays_change_between_steps(small: dict[str, Export], library: ctypes.CDLL) -> None:
    """What acts is the newest command that is at least as old as the delay that holds then."""
    car, names = Car(small["late"], library), record.names(small["late"].model.Params)
    inputs = record.names(small["late"].model.Input)
    channel, delay = next(iter(small["late"].model.dead_times.items()))
    place, field = names.index(delay), inputs.index(channel)
    given: list[float] = []
    for k in range(160):
        late, since = [5, 20, 0, 3][k // 40], k % 40
        car.member("params")[place] = 0.01 * late
        row = [0.0] * len(inputs)
        row[field] = 0.001 * (k + 1)
        given.append(row[field])
        assert car.step(row) == 0
        # Commands that were dropped while the delay was short cannot act again.
        if since >= late:
            assert car.member("input")[field] == given[k - late]


def test_arrays_are_constants_of_the_source(tmp_path: Path) -> None:
    slope = shared_array(np.sin(np.arange(40.0)))
    other = shared_array([0.5, np.inf, -2.0, 1e-310])
    assert isinstance(slope, ArrayNumber)
    cars = [
        Export(hilly(slope=slope, other=other), 0.1, "rk4", name=f"hilly_{p}", precision=p)
        for p in ("float64", "float32")
    ]
    library = build(cars, tmp_path, flags=STRICT)
    for made in cars:
        sim, car = simulator_of(made), Car(made, library)
        assert car.member("params").tolist() == [1.0, 2.0]
        for k in range(60):
            row = [0.3, [0.0, 2.0, 3.0, -4.0, 9.0][k % 5]]
            sim.step(row)
            assert car.step(row) == 0
            same(car.member("state"), sim.state, f"step {k}")
        assert car.step([0.0, 1.0]) == 2
        car.member("params")[0] = 3.0
        assert car.step([0.0, 0.0]) == 2


def test_names_that_c_has_for_itself() -> None:
    text = c_sources(Export(hilly(), name="hilly"))["hilly.h"]
    assert "double register_;  /* [m/s²]" in text
    assert "* / ends nothing. */" in text
    assert "disturbance" not in text.replace("an input, a disturbance or dt", "").replace(
        "Parameters and disturbance stay", ""
    )


def test_room_for_commands_that_wait() -> None:
    car = Export(sp.vehicles.get("DELAY_STEER_ACC")(), name="late")
    assert "late_QUEUE 64 " in c_sources(car)["late.h"]
    assert "late_QUEUE 300 " in c_sources(car, queue=300)["late.h"]
    with pytest.raises(InvalidValue, match=r"queue = 2 commands; .* need from \d+ to"):
        c_sources(car, queue=2)


def test_the_command_writes_a_program_that_drives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--set", "m=1500", "--dt", "0.02", "--name", "mine", "--out", str(tmp_path / "new")]
    with pytest.raises(SystemExit) as end:
        main(["export", "c", "kinematic_bicycle", *asked])
    assert end.value.code == 0
    paths = [Path(line) for line in capsys.readouterr().out.split()]
    assert [path.name for path in paths] == ["mine.h", "mine.c", "mine_main.c"]
    program = tmp_path / "drive"
    strict = [flag for flag in STRICT if flag != "-O1"]
    subprocess.run(["gcc", "-std=c99", *strict, *paths[1:], "-o", program], check=True)
    table = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == 21
    assert float(rows[-1]["t"]) == pytest.approx(4.0)
    assert float(rows[-1]["v_x"]) > 0.1
    header = paths[0].read_text("utf-8")
    assert "double m;  /* [kg] " in header
    subprocess.run(["g++", "-fsyntax-only", "-x", "c++", "-Wall", "-Werror", paths[0]], check=True)


@pytest.mark.filterwarnings("always:wheel_base is not given")
def test_what_is_assumed_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end:
        main(["export", "c", "IDEAL_STEER_VEL", "--set", "vel_lim=20", "--out", str(tmp_path)])
    assert end.value.code == 0
    assert "wheel_base is not given" in capsys.readouterr().err.replace("\n", " ")


def test_the_command_says_what_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, text in {
        ("kinematic_bicycle", "--name", "2fast"): "is not a name in C",
        ("kinematic_bicycle", "--queue", "5"): "has no dead times",
        ("kinematic_bicycle", "--name", "int"): "is reserved in C",
        ("kinematic_bicycle", "--name", "size_t"): "is reserved in C",
        ("kinematic_bicycle", "--integrator", "scipy:RK45"): "cannot be exported",
        ("no_such_car",): "skidpad has no vehicle",
    }.items():
        with pytest.raises(SystemExit) as end:
            main(["export", "c", *arguments, "--out", str(tmp_path)])
        assert end.value.code == 2
        assert text in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sp.vehicles.names())
def test_every_vehicle_has_the_bits_of_the_simulator(name: str, tmp_path: Path) -> None:
    car = Export(sp.vehicles.get(name)(), name=f"car_{name}")
    drive_beside(car, build([car], tmp_path, flags=STRICT))
