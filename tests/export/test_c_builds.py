"""Building vehicles in C: which compiler for which platform, and what is said without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from export.c_driver import build, drive_beside
from skidpad.bench.export import built_drive
from skidpad.errors import InvalidValue, MissingExtra, SkidpadError
from skidpad.export import Export, toolchain, write_c

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Wdouble-promotion", "-Werror")
zig = pytest.mark.skipif(
    not toolchain.has_zig(), reason="the extra `export`, which brings Zig, is not installed"
)


def undefined(code: Path) -> list[str]:
    """Symbols that an object leaves to others."""
    command = ["nm", "-u", code]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    return found.stdout.split()


@zig
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_an_object_for_a_microcontroller_needs_nothing(precision: str, tmp_path: Path) -> None:
    car = Export(sp.vehicles.get("DELAY_STEER_ACC")(), name="late", precision=precision)
    source = write_c(car, tmp_path)[1]
    code = toolchain.build_object(source, tmp_path / "late.o", "cortex-m7", flags=STRICT)
    assert undefined(code) == []
    machine = code.read_bytes()[18:20]
    assert machine == b"\x28\x00"  # ARM, as ELF has it


def test_a_drive_in_c_is_that_of_the_simulator(tmp_path: Path) -> None:
    car = Export(sp.vehicles.get("commonroad_ks")(), name="ks")
    rows = np.random.default_rng(3).uniform(-0.1, 0.3, (50, 2))
    states = built_drive(car, tmp_path, "gcc", ["-O1"])(rows)
    sim = sp.Simulator(car.vehicle, car.dt, car.method)
    assert np.array_equal(states, [sim.step(row) for row in rows])


def test_what_cannot_be_built_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f(void) { return nothing; }\n", "utf-8")
    with pytest.raises(SkidpadError, match=r"failed:\n(.|\n)*nothing"):
        toolchain.build_library([source], tmp_path / "a.so", compiler="gcc")
    with pytest.raises(InvalidValue, match="compiler = 'tcc'"):
        toolchain.command(compiler="tcc")
    with pytest.raises(InvalidValue, match="target = 'vax'"):
        toolchain.command("vax")
    with pytest.raises(InvalidValue, match=r"builds for .* alone; for x86_64-windows take 'zig'"):
        toolchain.command("x86_64-windows", "gcc")
    with pytest.raises(InvalidValue, match="has no shared libraries"):
        toolchain.build_library([source], tmp_path / "a.so", "cortex-m7")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(MissingExtra, match=r"gcc.*skidpad\[export\]"):
        toolchain.command(compiler="gcc")
    with pytest.raises(MissingExtra, match=r"no C compiler found; pip install"):
        toolchain.command()
    with pytest.raises(MissingExtra, match=r"building C needs ziglang"):
        toolchain.command("aarch64-macos")


@zig
@pytest.mark.slow
def test_zig_has_the_same_bits(tmp_path: Path) -> None:
    cars = [Export(sp.vehicles.get(name)(), name=name) for name in ("brains2", "commonroad_st")]
    library = build(cars, tmp_path, "zig", STRICT)
    for car in cars:
        drive_beside(car, library)


@zig
@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in toolchain.TARGETS if name != "cortex-m7"])
def test_libraries_for_all_platforms(target: str, tmp_path: Path) -> None:
    car = Export(sp.vehicles.get("kinematic_bicycle")(), name="car")
    source = write_c(car, tmp_path)[1]
    out = tmp_path / f"car{toolchain.TARGETS[target].suffix}"
    toolchain.build_library([source], out, target, flags=STRICT)
    begin = {"linux": b"\x7fELF", "windows": b"MZ", "macos": b"\xcf\xfa\xed\xfe"}
    assert out.read_bytes().startswith(begin[target.partition("-")[2]])
