"""`skidpad tyre`: its table, its JSON, its picture and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import skidpad as sp
from skidpad.cli import main
from skidpad.cli.vehicles import number

SETS = Path(__file__).parents[1] / "data" / "tyres" / "sets"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["tyre", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def row(text: str, name: str) -> list[str]:
    """The cells of the first row of a name, after its unit."""
    line = next(line for line in text.splitlines() if line.startswith(name))
    return [cell for cell in line.removeprefix(name).split("  ") if cell.strip()]


def test_tyres_stand_side_by_side(capsys):
    code, out, err = said(capsys, "passenger_car", "race_slick")
    assert (code, err) == (0, "")
    assert [c.strip() for c in row(out, "model")] == ["Magic Formula 6.1"] * 2
    assert [c.strip() for c in row(out, "nominal load")] == ["N", "4100", "2500"]
    assert row(out, "load  ")[1].strip() == "2050 / 4100 / 6150"
    assert row(out, "peak friction, lateral")[1].strip() == "1.78 / 1.66 / 1.54"


def test_json_is_the_summary_in_si(capsys):
    _, out, _ = said(capsys, "robot", "--load", "15", "--camber", "2", "--json")
    (found,) = json.loads(out)["tyres"]
    wanted = sp.tyres.summary(sp.tyres.get("robot"), loads=[15.0], camber=found["camber"])
    assert found == json.loads(json.dumps(wanted.as_json()))
    assert found["camber"] == pytest.approx(0.0349066, rel=1e-5)


def test_each_camber_and_pressure_has_a_column(capsys):
    arguments = ("passenger_car", "--camber", "0", "--camber", "3", "--pressure", "2.5")
    _, out, _ = said(capsys, *arguments)
    assert [c.strip() for c in row(out, "camber")] == ["°", "0", "3.00"]
    assert [c.strip() for c in row(out, "pressure")] == ["bar", "2.50", "2.50"]


def test_files_are_read_and_what_was_doubtful_is_said(capsys):
    _, out, err = said(capsys, str(SETS / "suv62.tir"), str(SETS / "truck52.tir"), "--filled")
    assert err == ""
    assert "warning: " in out
    assert "USE_MODE = 124" in out
    assert "truck52 left out INFLPRES" in out
    assert row(out, "keys filled")[1].strip() == "10"


def test_files_of_the_same_name_are_told_apart(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("old", "new"):
        Path(folder).mkdir()
        sp.tyres.write(sp.tyres.get("robot"), f"{folder}/front.tir")
    Path("robot").mkdir()  # a folder is no tyre
    _, out, _ = said(capsys, "old/front.tir", "new/front.tir", "robot")
    assert out.split()[:4] == ["unit", "old/front.tir", "new/front.tir", "robot"]


def test_a_narrow_terminal_cuts_nothing_off(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    _, out, _ = said(capsys, "passenger_car", "race_slick")
    assert all(len(line) <= 50 for line in out.splitlines())
    assert "1.78 / 1.66 / 1.54" in out


def test_curves_are_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "sheet.png"
    code, out, _ = said(capsys, "passenger_car", "--plot", str(file))
    assert code == 0
    assert file.stat().st_size > 20_000
    assert "sheet.png" in out.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["pasenger_car"], "passenger_car"),
        (["nowhere/front.tir"], "front.tir"),
        (["robot", "--load", "0"], "loads"),
        (["robot", "--camber", "nan"], "camber"),
        (["passenger_car", "--pressure", "-1"], "pressure"),
        (["robot", "--plot", "sheet.bmp"], "suffix"),
        ([], "FILE"),
    ],
)
def test_what_is_refused_is_said_in_one_line(capsys, arguments, word):
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert word in err


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (None, "–"), (12345.0, "12300"), (0.00123456, "0.00123"), (9.996, "10.0"),
     (-4.5, "−4.50"), (999.6, "1000"), (float("nan"), "–")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_relaxation_that_a_file_does_not_have(capsys, tmp_path):
    text = (SETS / "truck52.tir").read_text("utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("PTX", "PTY"))]
    (tmp_path / "x.tir").write_text("\n".join(kept), "utf-8")
    _, out, _ = said(capsys, str(tmp_path / "x.tir"), "--pressure", "2")
    for name in ("relaxation along", "relaxation across"):
        assert row(out, name)[-1].strip() == "none in the file"
    assert "MF 5.2 knows no pressure" in " ".join(out.split())
