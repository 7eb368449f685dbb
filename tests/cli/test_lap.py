"""`skidpad lap`: its output, its file and its errors."""

import json
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.cli import main


@pytest.fixture
def track(tmp_path: Path) -> Path:
    angle = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    rows = np.column_stack(
        [40.0 * np.cos(angle), 25.0 * np.sin(angle), 4.0 + 0.0 * angle, 4.0 + 0.0 * angle]
    )
    file = tmp_path / "oval.csv"
    np.savetxt(file, rows, delimiter=",", header="x_m,y_m,w_tr_right_m,w_tr_left_m", comments="")
    return file


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


def test_lap_with_setup_and_sensitivities(
    track: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "lap.csv"
    options = ("--optimise", "z_cg=0.5:0.6", "--sensitivities", "m,C_drag", "--out", out, "--json")
    assert run("lap", "single_track", track, *options) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "lap/1"
    assert found["converged"] is True
    assert found["setup"]["z_cg"] == pytest.approx(0.5, abs=1e-4)
    assert [row["name"] for row in found["sensitivities"]] == ["m", "C_drag"]
    assert found["sensitivities"][0]["time"] > 0.0
    assert sp.Trajectory.from_csv(out).t[-1] == pytest.approx(found["time"])


def test_open_lap_in_words(track: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("lap", "single_track", track, "--open", "--v-start", "8", "--sensitivities", "m") == 0
    )
    text = capsys.readouterr().out
    assert "single_track on oval: " in text
    assert " 8.0 to " in text
    assert "s per unit" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--optimise", "z_cg=0.5"), "--optimise z_cg=0.5: expected NAME=LOW:HIGH"),
        (("--margin", "5"), "needs"),
        (("--sensitivities", "mass"), "mass"),
        (("--v-start", "0", "--open"), "v_start = 0 m/s must be at least 1 m/s"),
    ],
)
def test_errors_leave_no_file(
    track: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    out = tmp_path / "lap.csv"
    assert run("lap", "single_track", track, "--out", out, *options) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")
    assert not out.exists()
