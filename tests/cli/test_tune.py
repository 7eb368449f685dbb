"""`skidpad tune`: its tables, its file, its exit status and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import skidpad as sp
from skidpad.cli import main

RISE = "step_steer.yaw_rate_rise_time"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without colours."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    with pytest.raises(SystemExit) as stop:
        main(["tune", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_a_car_is_tuned_and_its_parameters_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """And what is written is where the next one starts, with nothing left to do."""
    file = tmp_path / "car.yaml"
    options = ("single_track", "--target", f"{RISE}=0.25", "--free", "I_z,l_f")
    code, out, err = said(capsys, *options, "--out", str(file))
    assert code == 0
    steps = err.splitlines()
    assert [line.split(":")[0] for line in steps] == [f"iteration {k}" for k in range(len(steps))]
    assert len(steps) > 1
    assert "reached" in out
    found = yaml.safe_load(file.read_text())
    assert set(found) == {"I_z", "l_f"}
    p = sp.vehicles.single_track().params
    assert found["I_z"] != p.I_z
    assert 0.8 * p.l_f <= found["l_f"] <= 1.2 * p.l_f
    code, out, _ = said(capsys, *options, "--params", str(file))
    assert code == 0
    before, after = next(line for line in out.splitlines() if RISE in line).split()[2:4]
    assert before == after


def test_out_of_reach_is_exit_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    """With the nearest and what is at its bounds."""
    arguments = ("single_track", "--target", f"{RISE}=0.01", "--free", "I_z")
    code, out, _ = said(capsys, *arguments, "--bounds", "I_z=1400:1700")
    assert code == 1
    assert f"{RISE} = 0.01 is out of reach" in out
    assert "at their bounds: I_z = 1400" in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("single_trak", "--target", f"{RISE}=1", "--free", "m"), "single_track"),
        (("single_track", "--target", RISE, "--free", "m"), "expected a name, = and a value"),
        (("single_track", "--target", f"{RISE}=fast", "--free", "m"), "must be a number"),
        (("single_track", "--target", f"{RISE}=1", "--free", "mm"), "no parameter 'mm'"),
        (
            ("single_track", "--target", f"{RISE}=1", "--free", "m", "--bounds", "m=1"),
            "NAME=LOW:HIGH",
        ),
        (
            ("single_track", "--target", f"{RISE}=1", "--free", "m", "--bounds", "l_f=1:2"),
            "not among --free",
        ),
        (("kinematic_bicycle", "--target", f"{RISE}=1", "--free", "m"), "has no tyres"),
        (
            ("single_track", "--target", f"{RISE}=1", "--free", "m", "--out", "/no/such/f.yaml"),
            "no folder",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    """With exit status 2."""
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert text in " ".join(err.split())
    assert err.count("error:") == 1


def test_a_metric_is_minimised(capsys: pytest.CaptureFixture[str]) -> None:
    """To the bound where least inertia is; nothing is missed, so the exit status is 0."""
    arguments = ("single_track", "--minimise", RISE, "--free", "I_z", "--bounds", "I_z=1400:1700")
    code, out, err = said(capsys, *arguments)
    assert code == 0
    assert "minimise" in out
    assert "at a bound" in next(line for line in out.splitlines() if "I_z" in line)
    assert err.startswith("iteration 0\n")
