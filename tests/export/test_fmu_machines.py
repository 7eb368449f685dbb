"""FMUs on other machines and under other eyes: sanitizers, official declarations, Wine, QEMU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fmpy
import pytest

import skidpad as sp
from fmu_cart import DT, cart, cart_folder, compiler
from skidpad.export import Export, toolchain, write_fmu
from skidpad.export.fmu import fmu_files
from skidpad.export.toolchain import build_program

DRIVER = Path(__file__).with_name("fmu_driver.c")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
# Debian has it where no path leads.
WINE = next(filter(None, map(shutil.which, ("wine64", "wine", "/usr/lib/wine/wine64"))), None)
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="Zig is not installed")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


class Told:
    """What the driver has to know of an FMU."""

    def __init__(self, folder: Path) -> None:
        description = fmpy.read_model_description(str(folder))
        references = {v.name: v.valueReference for v in description.modelVariables}
        self.states = [name for name in references if name.startswith("state.")]
        self.token = str(description.guid)
        self.input = next(name for name in references if name.startswith("input."))
        output = next(name for name in references if name.startswith("output."))
        numbers = {
            "STATES": len(self.states),
            "INPUT": references[self.input],
            "RATE": references.get("der(state.yaw)", 0),
            "OUTPUT": references[output],
        }
        self.flags = [f"-DDRIVEN_{name}={number}" for name, number in numbers.items()]


def unpacked(vehicle: Any, folder: Path) -> Path:
    """The sources of an FMU of version 3, and its description."""
    for name, content in fmu_files(Export(vehicle, DT, "rk4"), 3).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def simulated(vehicle: Any, told: Told) -> list[float]:
    """What the driver does, by `Simulator`."""
    sim = sp.Simulator(vehicle, DT, "rk4")
    for k in range(50):
        sim.step(**{told.input.removeprefix("input."): 0.05 * (k % 7)})
    return [float(value) for value in sp.core.record.flatten(sim.state)]


def run(command: Sequence[str | Path], **environment: str) -> list[float]:
    outcome = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert outcome.returncode == 0, outcome.stderr[-3000:]
    return [float.fromhex(line) for line in outcome.stdout.split()]


def test_a_program_drives_the_library(tmp_path: Path) -> None:
    """Loaded by a program in C, as any tool that is not Python does it."""
    folder, told = cart_folder(3), Told(cart_folder(3))
    library = next((folder / "binaries").rglob("cart.*"))
    flags = [*told.flags, f"-I{folder / 'sources'}", *([] if os.name == "nt" else ["-ldl", "-lm"])]
    driver = build_program([DRIVER], tmp_path / "driver.exe", None, compiler(), flags=flags)
    assert run([driver, told.token, library]) == simulated(cart(), told)


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart", "single_track"])
def test_memory_is_used_as_it_should_be(name: str, tmp_path: Path) -> None:
    """Addresses, leaks and undefined behaviour, by the sanitizers of gcc."""
    vehicle = cart() if name == "cart" else sp.vehicles.get(name)()
    folder = unpacked(vehicle, tmp_path)
    told = Told(folder)
    flags = ["-DLINKED", *told.flags, "-g", "-O1", "-fsanitize=address,undefined", "-lm"]
    flags += ["-fno-sanitize-recover=all"]
    sources = [DRIVER, folder / "sources" / "fmi3.c"]
    driver = build_program(
        sources, tmp_path / "driver", None, "gcc", flags=[*flags, f"-I{folder / 'sources'}"]
    )
    found = run([driver, told.token], ASAN_OPTIONS="detect_leaks=1")
    assert found == simulated(vehicle, told)


@needs_gcc
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_valgrind_finds_nothing(tmp_path: Path) -> None:
    folder = unpacked(cart(), tmp_path)
    told = Told(folder)
    flags = ["-DLINKED", *told.flags, "-g", f"-I{folder / 'sources'}", "-lm"]
    sources = [DRIVER, folder / "sources" / "fmi3.c"]
    driver = build_program(sources, tmp_path / "driver", None, "gcc", flags=flags)
    checked = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9"]
    assert run([*checked, driver, told.token]) == simulated(cart(), told)


OFFICIAL = Path(fmpy.__file__).parent / "c-code"


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_functions_are_those_of_the_standard(version: int, tmp_path: Path) -> None:
    """With the declarations of the standard in place of ours, every function is declared as it is
    defined, and all of them are there."""
    for name, content in fmu_files(Export(cart(), DT, "rk4"), version).items():
        if name.startswith("sources/"):
            (tmp_path / Path(name).name).write_bytes(content)
    header = f"fmi{version}Functions.h"
    (tmp_path / f"fmi{version}.h").write_text(f'#include "{header}"\n')
    flags = ["-std=c11", *WARNINGS, f"-isystem{OFFICIAL}", "-fvisibility=hidden"]
    library = toolchain.build_library(
        [tmp_path / f"fmi{version}.c"], tmp_path / "unit.so", None, "gcc", flags=flags
    )
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    text = (OFFICIAL / header).read_text("utf-8")
    wanted = {
        line.split("fullName(")[-1].split("(")[-1].split(")")[0].strip()
        for line in text.replace("FullName", "fullName").splitlines()
        if line.startswith(f"#define fmi{version}") and "fullName(" in line
    }
    wanted = {name for name in wanted if name.startswith("fmi") and not name.endswith("name")}
    assert len(wanted) > 40
    assert wanted <= names
    assert all(name.startswith("fmi") for name in names)


@needs_gcc
@pytest.mark.slow
def test_sources_of_two_fmus_are_linked_into_one_program(tmp_path: Path) -> None:
    """By the prefix of the standard; nothing else of them has the same name."""
    objects: list[Path] = []
    for name, vehicle in {"one": cart(), "two": sp.vehicles.double_integrator()}.items():
        car = Export(vehicle, DT, "rk4", name=name)
        folder = tmp_path / name
        folder.mkdir()
        for path, content in fmu_files(car, 3).items():
            (folder / Path(path).name).write_bytes(content)
        flags = [*WARNINGS, f"-DFMI3_FUNCTION_PREFIX={name}_"]
        objects.append(folder / "unit.o")
        toolchain.build_object(folder / "fmi3.c", objects[-1], None, "gcc", flags=flags)
    main = tmp_path / "main.c"
    main.write_text(
        "extern const char* one_fmi3GetVersion(void);\n"
        "extern const char* two_fmi3GetVersion(void);\n"
        "int main(void) { return one_fmi3GetVersion()[0] != two_fmi3GetVersion()[0]; }\n"
    )
    assert run([build_program([main, *objects], tmp_path / "both", None, "gcc")]) == []


def cross_built(tmp_path: Path, triple: str, sources: Sequence[Path], flags: Sequence[str]) -> Path:
    """A program for another machine."""
    out = tmp_path / "driver.exe"
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", triple, "-mcpu=baseline"]
    command = [*zig, *toolchain.FLAGS, *flags, *map(str, sources), "-o", str(out)]
    outcome = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert outcome.returncode == 0, outcome.stderr[-2000:]
    return out


@needs_zig
@pytest.mark.slow
@pytest.mark.skipif(WINE is None, reason="Wine is not installed")
def test_windows_under_wine(tmp_path: Path) -> None:
    car = cart()
    path = write_fmu(Export(car, DT, "rk4"), tmp_path / "cart.fmu", platforms=["windows"])
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    told = Told(tmp_path)
    flags = [*told.flags, f"-I{tmp_path / 'sources'}"]
    driver = cross_built(tmp_path, "x86_64-windows-gnu", [DRIVER], flags)
    library = tmp_path / "binaries" / "x86_64-windows" / "cart.dll"
    assert WINE is not None
    found = run(
        [WINE, driver, told.token, f"Z:{library}"],
        WINEPREFIX=str(tmp_path / "wine"),
        WINEDEBUG="-all",
    )
    assert found == simulated(car, told)


@needs_zig
@pytest.mark.slow
@pytest.mark.skipif(QEMU is None, reason="QEMU for aarch64 is not installed")
def test_arm_under_qemu(tmp_path: Path) -> None:
    car = cart()
    folder = unpacked(car, tmp_path)
    told = Told(folder)
    flags = ["-DLINKED", "-static", *told.flags, f"-I{folder / 'sources'}"]
    sources = [DRIVER, folder / "sources" / "fmi3.c"]
    driver = cross_built(tmp_path, "aarch64-linux-musl", sources, flags)
    assert QEMU is not None
    assert run([QEMU, driver, told.token]) == simulated(car, told)


@needs_zig
@pytest.mark.slow
@pytest.mark.parametrize("version", [2, 3])
def test_libraries_for_all_platforms(version: int, tmp_path: Path) -> None:
    """The same vehicle gives the same file, and nothing in it tells where it was built."""
    car = Export(sp.vehicles.double_integrator(), DT)
    paths = [write_fmu(car, tmp_path / name, version) for name in ("one.fmu", "two.fmu")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with zipfile.ZipFile(paths[0]) as archive:
        built = {n: archive.read(n) for n in archive.namelist() if n.startswith("binaries/")}
    folders = {3: ["aarch64-darwin", "x86_64-darwin", "x86_64-linux", "x86_64-windows"]}
    folders[2] = ["darwin64", "linux64", "win64"]
    assert sorted(name.split("/")[1] for name in built) == folders[version]
    begins = {".so": b"\x7fELF", ".dll": b"MZ"}
    begins[".dylib"] = b"\xca\xfe\xba\xbe" if version == 2 else b"\xcf\xfa\xed\xfe"
    for name, library in built.items():
        assert library.startswith(begins[Path(name).suffix])
        assert tempfile.gettempdir().encode() not in library
