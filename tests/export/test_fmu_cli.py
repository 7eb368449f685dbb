"""`skidpad export fmu`."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from fmpy.validation import validate_fmu

from fmu_cart import compiler
from skidpad.cli import main
from skidpad.export.toolchain import host


def export(*arguments: str | Path) -> int | str | None:
    with pytest.raises(SystemExit) as end:
        main(["export", "fmu", *map(str, arguments)])
    return end.value.code


@pytest.mark.parametrize("version", [2, 3])
def test_a_file_of_sources(
    version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "car.fmu"
    options = ["--sources-only", "--fmi", str(version), "--set", "a_long_max=2.5", "--dt", "0.02"]
    assert export("double_integrator", *options, "--out", path) == 0
    assert capsys.readouterr() == (f"{path}\n", "")
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        root = ET.fromstring(archive.read("modelDescription.xml"))
        assert f"sources/fmi{version}.c" in archive.namelist()
    found = root.find("DefaultExperiment")
    assert found is not None
    assert found.attrib["stepSize"] == "0.02"
    mass = root.find(".//*[@name='params.a_long_max']")
    assert mass is not None
    assert (mass if version == 3 else mass[0]).attrib["start"] == "2.5"


def test_what_is_being_built_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "car.fmu"
    options = ["--platforms", host(), "--compiler", compiler() or "zig"]
    assert export("double_integrator", *options, "--out", path) == 0
    assert capsys.readouterr() == (f"{path}\n", "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fmi", "1"], "version"),
        (["--platforms", "linux,amiga"], "'amiga'"),
        (["--sources-only", "--compiler", "gcc"], "--sources-only builds nothing"),
        (["--compiler", "tcc"], "compiler"),
        (["--integrator", "scipy:RK45"], "cannot be exported"),
        (["--out", "nowhere/car.fmu", "--sources-only"], "nowhere"),
    ],
)
def test_what_is_refused(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export("double_integrator", *options) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
