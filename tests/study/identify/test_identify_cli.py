"""`skidpad compare` and `skidpad fit`, run in this process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from skidpad.cli import main
from skidpad.vehicles.command_driven import autoware
from skidpad.vehicles.command_driven.parameters import write
from study.identify.drives import BASE, MODEL, TRUTH, drive, noisy


class Runner:
    """Calls the command line and gives exit code, stdout and stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        return int(stop.value.code or 0), out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return Runner(capsys)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the log of a car, its true parameters and those one starts from."""
    columns = noisy(drive(0), 0)
    rows = np.column_stack(list(columns.values()))
    np.savetxt(tmp_path / "log.csv", rows, "%.9g", ",", header=",".join(columns), comments="")
    write(tmp_path / "true.yaml", {**BASE, **TRUTH}, MODEL)
    write(tmp_path / "start.yaml", BASE, MODEL)
    write(tmp_path / "slow.yaml", {"steer_time_constant": 0.5}, MODEL)
    return tmp_path


def numbers(out: str, first: str) -> list[float]:
    """The numbers in the line of a table that starts with a name and has a unit after it."""
    (line,) = (row for row in out.splitlines() if row.split()[:1] == [first])
    return [float(word) for word in line.split()[2:] if word != "to"]


@pytest.mark.slow
def test_compare_prints_errors_and_draws(run: Runner, files: Path) -> None:
    args = ("compare", files / "log.csv", "--model", MODEL, "--out", files / "plots")
    code, out, err = run(*args, "--params", files / "true.yaml")
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines() if "written" not in line) <= 80
    good = numbers(out, "steer")
    code, out, _ = run(*args, "--params", files / "true.yaml", "--params", files / "slow.yaml")
    assert code == 0
    bad = numbers(out, "steer")
    assert good[0] < 0.003 < bad[0], "of two files the later one wins"
    plot = files / "plots" / f"log_{MODEL}.png"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert str(plot) in out.replace("\n", "")


@pytest.mark.slow
def test_fit_writes_the_parameters(run: Runner, files: Path) -> None:
    target = files / "fitted.yaml"
    code, out, err = run(
        "fit",
        files / "log.csv",
        "--model",
        MODEL,
        "--params",
        files / "start.yaml",
        "--out",
        target,
    )
    assert (code, err) == (0, "")
    car = autoware(MODEL, target)
    for name, value in TRUTH.items():
        start, estimate, low, high = numbers(out, name)
        assert start == getattr(autoware(MODEL, BASE).params, name)
        assert low <= estimate <= high
        assert getattr(car.params, name) == pytest.approx(value, rel=0.04)
    before, after = numbers(out, "omega")
    assert after < 0.006 < before
    assert max(len(line) for line in out.splitlines() if "written" not in line) <= 80


def test_fit_of_some_parameters_leaves_the_others(run: Runner, files: Path) -> None:
    target = files / "fitted.yaml"
    args = ("fit", files / "log.csv", "--model", MODEL, "--params", files / "true.yaml")
    code, out, _ = run(*args, "--out", target, "--free", "steer_bias", "--free", "acc_time_delay")
    assert code == 0
    assert "steer_time_constant" not in out
    assert autoware(MODEL, target).params.steer_time_constant == TRUTH["steer_time_constant"]


@pytest.mark.slow
def test_columns_are_named_and_unknown_parameters_noted(run: Runner, files: Path) -> None:
    text = (files / "log.csv").read_text().replace("u_steer", "delta=cmd", 1)
    (files / "log.csv").write_text(text)
    (files / "more.yaml").write_text("steer_time_constent: 0.2\n")
    args = ("compare", files / "log.csv", "--model", MODEL, "--params", files / "true.yaml")
    args = (*args, "--params", files / "more.yaml", "--out", files)
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("error: log.csv lacks columns that DELAY_STEER_ACC_GEARED needs: u_steer")
    assert len(err.splitlines()) == 1
    code, out, err = run(*args, "--map", "delta=cmd=u_steer")
    assert (code, err) == (0, "")
    assert "steer_time_constent is not a parameter" in out.replace("\n", " ")
    assert out.count("steer_time_constent") == 1
    code, _, err = run(*args, "--map", "delta")
    assert code == 2
    assert "--map delta: expected COLUMN=CHANNEL" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--model", "DELAY"), "vehicle_model_type = 'DELAY' is unknown"),
        (("--params", "none.yaml"), "none.yaml cannot be read"),
        (("--out", "none/fitted.yaml"), "there is no folder none"),
        (("--free", "steer_lim"), "does not tell steer_lim"),
        (("--longest", "0.1"), "try longer ones with --longest"),
        (("--compat", "both"), "compat = 'both' is unknown"),
    ],
)
def test_what_is_refused_is_one_line_and_nothing_is_written(
    run: Runner, files: Path, options: tuple[str, str], message: str
) -> None:
    given = {
        "--model": MODEL,
        "--params": str(files / "start.yaml"),
        "--out": str(files / "fitted.yaml"),
        options[0]: options[1],
    }
    before = sorted(path.name for path in files.iterdir())
    code, out, err = run(
        "fit", files / "log.csv", *(word for pair in given.items() for word in pair)
    )
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_log_that_is_no_log_draws_nothing(run: Runner, files: Path) -> None:
    (files / "bad.csv").write_text("t,v_x\n0,1\n1,nan\n")
    args = ("--model", MODEL, "--params", files / "start.yaml", "--out", files / "plots")
    code, out, err = run("compare", files / "bad.csv", *args)
    assert (code, out) == (2, "")
    assert err.startswith("error: bad.csv lacks columns")
    assert not (files / "plots").exists()
    (files / "plots").write_text("a file")
    code, _, err = run("compare", files / "log.csv", *args)
    assert code == 2
    assert "cannot write to the folder" in err
