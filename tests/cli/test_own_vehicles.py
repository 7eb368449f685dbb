"""Vehicles of one's own on the command line: `module:name` and tyres from files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import skidpad as sp
from skidpad.cli import app
from skidpad.errors import InvalidValue
from skidpad.study.named_code import vehicle_by_text

MODULE = """
import skidpad as sp

car = sp.vehicles.two_track(m=1111.0)
small = sp.vehicles.commonroad_st()


def made(tyre=None):
    return sp.vehicles.two_track(m=1222.0, **({} if tyre is None else {"tyre": tyre}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    import sys

    (tmp_path / "cars_of_mine.py").write_text(MODULE, encoding="utf-8")
    sp.tyres.write(sp.tyres.get("race_slick").with_values(LMUY=0.5), tmp_path / "worn.tir")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("cars_of_mine", None)


def asked(*arguments: str) -> str:
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, (answer.output, answer.exception)
    return answer.output


@pytest.mark.parametrize("name", ["car", "made"])
def test_models_show_a_car_of_ones_own(folder: Path, name: str) -> None:
    (shown,) = json.loads(asked("models", f"cars_of_mine:{name}", "--json"))["vehicles"]
    params = {one["name"]: one["default"] for one in shown["parameters"]}
    assert (shown["name"], params["m"]) == ("two_track", 1111.0 if name == "car" else 1222.0)
    changed = json.loads(asked("models", f"cars_of_mine:{name}", "--set", "m=999", "--json"))
    assert {"name": "m", "default": 999.0}.items() <= changed["vehicles"][0]["parameters"][
        list(params).index("m")
    ].items()


@pytest.mark.parametrize(
    "name", ["two_track", "two_track:sports", "cars_of_mine:car", "cars_of_mine:made"]
)
def test_the_tyres_of_a_file_are_mounted(folder: Path, name: str) -> None:
    car = vehicle_by_text(name, {"tyre": "worn.tir", "l_f": 1.3})
    plain = vehicle_by_text(name)
    wanted = sp.vehicles.two_track(plain.params, tyre=sp.tyres.read("worn.tir"))
    assert car.params == wanted.with_params(l_f=1.3).params
    assert car.model == wanted.model


def test_commands_take_them(folder: Path) -> None:
    asked("export", "c", "cars_of_mine:small", "--set", "m=1000", "--out", "c")
    assert "1000" in (folder / "c" / "commonroad_st.c").read_text("utf-8")
    asked("test", "cars_of_mine:car", "--manoeuvre", "step_steer", "--set", "tyre=worn.tir")
    asked("html", "--drive", "cars_of_mine:small", "page.html")
    assert (folder / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        ("cars_of_mine:kar", {}, "cars_of_mine has no name 'kar'; did you mean 'car'"),
        ("nothing_there:car", {}, "cannot be imported, neither from"),
        ("cars_of_mine:sp", {}, "must be a vehicle, got module"),
        ("cars_of_mine:small", {"tyre": "worn.tir"}, "tyre"),
        ("two_trak", {}, "did you mean 'two_track'.*module:name"),
        ("two_track", {"tyre": "none.tir"}, "none.tir"),
        ("two_track", {"tyre": 3.0}, r"tyre = 3.0 must be a file"),
        ("cars_of_mine:car", {"mm": 3.0}, "no field 'mm'"),
    ],
)
def test_what_is_no_vehicle_is_named(
    folder: Path, text: str, settings: dict[str, float | str], words: str
) -> None:
    with pytest.raises(InvalidValue, match=words):
        vehicle_by_text(text, settings)


@pytest.mark.parametrize("command", ["test", "tune"])
def test_a_parameter_in_another_unit_is_noted(command: str) -> None:
    asked = {
        "test": ["--manoeuvre", "turning_circle"],
        "tune": ["--minimise", "no_such_test.time", "--free", "l_f"],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(
            app, [command, "single_track", "--set", "steer_max=30", *asked[command]]
        )
    shown = " ".join(result.stderr.split())
    assert "note: single_track: steer_max = 30 rad is implausible" in shown
    assert "0.5236 rad (30 degrees)" in shown
