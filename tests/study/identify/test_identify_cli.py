"""`skidpad log`, `compare` and `fit`, run in this process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.cli import main
from skidpad.core.files import yaml_of
from skidpad.study.identify import compare
from skidpad.study.named_code import vehicle_by_text
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


def error_of(out: str, channel: str, vehicle: str = "") -> float:
    """The error over all samples in the row of a channel, or of a vehicle below that row."""
    lines = iter(out.splitlines())
    row = next(line for line in lines if line.split()[:1] == [channel])
    if vehicle:
        row = next(line for line in lines if line.split()[:1] == [vehicle])
        return float(row.split()[1])
    return float(row.split()[2])


def test_a_log_is_shown_with_its_channels_and_what_was_done(
    run: Runner, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = (files / "log.csv").read_text().replace(",omega,", ",Yaw Rate [deg/s],", 1)
    rows = [line.split(",") for line in text.splitlines()]
    place = rows[0].index("Yaw Rate [deg/s]")
    for row in rows[1:]:
        row[place] = f"{np.rad2deg(float(row[place])):.9g}"
    rows[100][place] = ""
    (files / "other.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    code, out, err = run("log", files / "other.csv")
    assert (code, err) == (0, "")
    (line,) = (row.split() for row in out.splitlines() if row.split()[:1] == ["omega"])
    assert line[1:4] == ["rad/s", "40", "Hz"]
    plain = " ".join(out.split())
    assert "omega: the column 'Yaw Rate', converted from deg/s to rad/s" in plain
    assert "no value in 1 of 601 samples" in plain
    document = json.loads(run("log", files / "other.csv", "--json")[1])
    assert document["schema"] == "log/1"
    (one,) = document["logs"]
    channels = {channel["name"]: channel for channel in one["channels"]}
    assert channels["omega"]["missing"] == 1
    assert channels["omega"]["rate"] == pytest.approx(40.0)
    assert one["problem"] is None
    assert {"step", "channel", "text", "share"} == set(one["lines"][0])


def test_a_log_that_contradicts_itself_is_a_problem_and_not_a_crash(
    run: Runner, files: Path
) -> None:
    code, out, _ = run("log", files / "log.csv", "--map", "omega=-omega")
    assert code == 1
    plain = " ".join(out.split())
    assert "cannot be used: log.csv:" in plain
    assert "sign reversed" in plain
    assert json.loads(run("log", files / "log.csv", "--map", "omega=-omega", "--json")[1])["logs"]


@pytest.mark.slow
def test_compare_prints_errors_and_draws(run: Runner, files: Path) -> None:
    args = ("compare", f"{MODEL}:{files / 'true.yaml'}", "--log", files / "log.csv")
    code, out, err = run(*args, "--out", files / "plots")
    assert (code, err) == (0, "")
    assert max(len(line) for line in out.splitlines() if "written" not in line) <= 80
    good = error_of(out, "steer")
    code, out, _ = run(*args, "--params", files / "slow.yaml")
    assert code == 0
    assert good < 0.003 < error_of(out, "steer"), "of two files the later one wins"
    for name in ("replay_1.png", "errors.png"):
        assert (files / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_compare_tells_which_vehicle_the_log_supports(
    run: Runner, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    given = [f"{MODEL}:{files / name}" for name in ("true.yaml", "start.yaml")]
    names = [f"{MODEL}:true.yaml", f"{MODEL}:start.yaml"]
    code, out, err = run("compare", *given, "--log", files / "log.csv", "--window", "4")
    assert (code, err) == (0, "")
    assert error_of(out, "omega", names[0]) < error_of(out, "omega", names[1])
    assert f"The logs support {names[0]}." in " ".join(out.split())
    document = json.loads(
        run("compare", *given, "--log", files / "log.csv", "--horizon", "1", "--json")[1]
    )
    assert document["schema"] == "compare/1"
    assert document["vehicles"] == names
    assert {error["horizon"] for error in document["errors"]} == {0.0, 1.0}
    (pair,) = document["pairs"]
    assert (pair["vehicle"], pair["other"], pair["certain"]) == (names[1], names[0], True)


def test_parameters_of_a_log_are_set_like_those_of_a_vehicle(run: Runner, files: Path) -> None:
    args = ("compare", f"{MODEL}:{files / 'true.yaml'}", "--log", files / "log.csv")
    plain, moved = (
        error_of(run(*args, *more)[1], "omega") for more in ((), ("--set", "log.omega_bias=0.05"))
    )
    assert moved > 0.04 > plain
    code, _, err = run(*args, "--set", "log.bias=0.05")
    assert code == 2
    assert "'bias'" in err


@pytest.mark.slow
def test_fit_writes_the_parameters(run: Runner, files: Path) -> None:
    target = files / "fitted.yaml"
    code, out, err = run(
        "fit",
        MODEL,
        "--log",
        files / "log.csv",
        "--params",
        files / "start.yaml",
        "--out",
        target,
        "--report",
        files / "fit.html",
    )
    assert (code, err) == (0, "")
    assert "What the preparation did" in (files / "fit.html").read_text("utf-8")
    car = autoware(MODEL, target)
    for name, value in TRUTH.items():
        start, estimate, low, high = numbers(out, name)
        assert start == getattr(autoware(MODEL, BASE).params, name)
        assert low <= estimate <= high
        assert getattr(car.params, name) == pytest.approx(value, rel=0.04)
    row = next(line for line in out.splitlines() if line.split()[:1] == ["omega"])
    before, after = (float(word) for word in row.split()[-2:])
    assert after < 0.006 < before
    assert max(len(line) for line in out.splitlines() if "written" not in line) <= 80


def test_fit_of_some_parameters_leaves_the_others(run: Runner, files: Path) -> None:
    target = files / "fitted.yaml"
    args = ("fit", MODEL, "--log", files / "log.csv", "--params", files / "true.yaml")
    code, out, _ = run(*args, "--out", target, "--free", "steer_bias,acc_time_delay")
    assert code == 0
    assert "steer_time_constant" not in out
    assert autoware(MODEL, target).params.steer_time_constant == TRUTH["steer_time_constant"]


def test_columns_are_named(run: Runner, files: Path) -> None:
    text = (files / "log.csv").read_text().replace("u_steer", "delta=cmd", 1)
    (files / "log.csv").write_text(text)
    args = ("compare", f"{MODEL}:{files / 'true.yaml'}", "--log", files / "log.csv")
    code, out, err = run(*args, "--map", "delta=cmd=u_steer")
    assert (code, err) == (0, "")
    assert error_of(out, "steer") < 0.003
    code, _, err = run(*args, "--map", "delta")
    assert code == 2
    assert "--map delta: expected COLUMN=CHANNEL" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((MODEL,), "no recorded run is given: name one with --log FILE"),
        (("two_trak", "--log", "{}/log.csv"), "two_track"),
        ((MODEL, "--log", "{}/none.csv"), "none.csv"),
        ((MODEL, MODEL, "--log", "{}/log.csv"), "is named twice"),
        ((f"{MODEL}:{{}}/none.yaml", "--log", "{}/log.csv"), "none.yaml"),
        ((MODEL, "--log", "{}/log.csv", "--without", "magic"), "magic"),
    ],
)
def test_what_compare_refuses_is_one_line(
    run: Runner, files: Path, words: tuple[str, ...], message: str
) -> None:
    code, out, err = run("compare", *(word.format(files) for word in words))
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--log", "none.csv"), "none.csv"),
        (("--hold-out", "half"), "'half' must be a number"),
        (("--bounds", "steer_bias=1"), "expected NAME=LOW:HIGH"),
        (("--prior", "steer_bias=1"), "expected NAME=MEAN:STD"),
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
        "--log": str(files / "log.csv"),
        "--params": str(files / "start.yaml"),
        "--out": str(files / "fitted.yaml"),
        options[0]: options[1],
    }
    before = sorted(path.name for path in files.iterdir())
    code, out, err = run("fit", MODEL, *(word for pair in given.items() for word in pair))
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_fitted_car_is_compared_with_its_calibration(
    run: Runner, tmp_path: Path, slalom: sp.Trajectory
) -> None:
    log, target = tmp_path / "slalom.csv", tmp_path / "mine.yaml"
    car = f"single_track:{tmp_path / 'wrong.yaml'}"
    (tmp_path / "wrong.yaml").write_text("I_z: 2500.0\n")
    free = ("--free", "I_z,log.steer_offset", "--starts", "1")
    code, out, err = run("fit", car, "--log", log, *free, "--out", target)
    assert (code, err) == (0, "")
    assert out.startswith("single_track fitted to slalom.csv")
    windows = "; errors over windows of 5.1 s (training) and 1.9 s (held out)"
    assert windows in " ".join(out.split())
    own, use = target.read_text().splitlines()[:2]
    assert own == "# single_track, fitted to slalom.csv"
    assert use == "# To use it: single_track:mine.yaml, or single_track --params FILE"
    found = yaml_of(target)
    truth = sp.vehicles.single_track().params.I_z
    assert found["I_z"] == pytest.approx(truth, rel=0.1)
    assert abs(found["log.steer_offset"]) < 0.002
    document = json.loads(run("fit", car, "--log", log, *free, "--json")[1])
    assert document["schema"] == "fit/1"
    assert [one["name"] for one in document["estimates"]] == ["I_z", "log.steer_offset"]
    assert {one["part"] for one in document["errors"]} == {"training", "held out"}
    # A fit starts from the calibration of the file, and --set fixes parameters of the log.
    again = ("fit", f"single_track:{target}", "--log", log, "--starts", "1", "--json")
    document = json.loads(run(*again, "--free", "log.steer_offset")[1])
    assert document["estimates"][0]["start"] == found["log.steer_offset"]
    fixed = tmp_path / "fixed.yaml"
    settings = ("--set", "log.steer_offset=0.001", "--free", "I_z")
    code, _, err = run(*again, *settings, "--out", fixed)
    assert (code, err) == (0, "")
    assert yaml_of(fixed)["log.steer_offset"] == 0.001
    # The file has a parameter of the log, which compare uses and other commands leave out.
    both = (car, f"single_track:{target}")
    code, out, _ = run("compare", *both, "--log", log, "--window", "1")
    assert "The logs support single_track:mine.yaml." in " ".join(out.split())
    # Python takes the same names, with the calibration of the file.
    python = compare([f"single_track:{target}"], log, window=1.0)
    assert f"{python.error('omega').rmse:.3g}" in out
    assert vehicle_by_text(f"single_track:{target}").params.I_z == found["I_z"]
    # Of several vehicles, each takes the parameters of a file that it has.
    cars = ("kinematic_bicycle", "single_track")
    (tmp_path / "height.yaml").write_text("z_cg: 0.3\nlog.steer_offset: 0.0\n")
    args = ("compare", *cars, "--params", tmp_path / "height.yaml", "--log", log, "--window", "1")
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "kinematic_bicycle has no z_cg of" in " ".join(out.split())
    code, _, err = run(
        "estimate", "single_track", "--params", target, "--log", log, "--states", "v_z"
    )
    assert "v_z" in err


def test_vehicles_are_fitted_before_they_are_compared(
    run: Runner, tmp_path: Path, slalom: sp.Trajectory
) -> None:
    log, car = tmp_path / "slalom.csv", f"single_track:{tmp_path / 'wrong.yaml'}"
    (tmp_path / "wrong.yaml").write_text("I_z: 2500.0\n")
    args = ("compare", car, "--log", log, "--window", "1")
    before = error_of(run(*args)[1], "omega")
    code, out, err = run(*args, "--free", "I_z,C_f", "--hold-out", "40%")
    assert (code, err) == (0, "")
    assert error_of(out, "omega") < 0.8 * before
    assert "has no C_f to fit" in " ".join(out.split())


def test_changes_of_the_preparation_are_listed_without_its_routine_steps(
    run: Runner, tmp_path: Path, slalom: sp.Trajectory
) -> None:
    log = tmp_path / "slalom.csv"
    head, *rows = log.read_text().splitlines()
    columns, row = head.split(","), rows[300].split(",")
    row[columns.index("omega")] = "3.5"
    rows[300] = ",".join(row)
    log.write_text("\n".join([head, *rows]) + "\n")
    for command in (
        ("compare", "single_track", "--window", "1"),
        ("fit", "single_track", "--free", "I_z", "--starts", "1"),
    ):
        code, out, err = run(*command, "--log", log)
        assert (code, err) == (0, "")
        steps = [line.split()[0] for line in out.splitlines() if line.split()]
        assert "spikes" in steps
        assert "filter" not in steps


@pytest.mark.parametrize(
    ("command", "function"),
    [
        (("fit", "single_track"), "fitting.fit"),
        (("compare", "single_track"), "comparison.compare"),
        (("estimate", "single_track", "--states", "v_y"), "drives.prepare_logs"),
    ],
)
def test_ctrl_c_ends_with_a_sentence_and_without_files(
    run: Runner,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    function: str,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"skidpad.study.identify.{function}", interrupted)
    code, out, err = run(*command, "--log", "run.csv", "--out", tmp_path / "out.yaml")
    assert (code, out, err) == (130, "", "interrupted; nothing was written\n")
    assert not [*tmp_path.iterdir()]


@pytest.fixture
def slalom(tmp_path: Path) -> sp.Trajectory:
    """A run of `single_track`, and its log without the lateral velocity, with noise."""
    car, t = sp.vehicles.single_track(), 0.01 * np.arange(800)
    simulator = sp.Simulator(car, 0.01)
    simulator.reset(v_x=20.0)
    run = simulator.run(np.column_stack([0.07 * np.sin(3.0 * t), np.full(len(t), 400.0)]))
    rng = np.random.default_rng(0)
    noise = {"v_x": 0.05, "omega": 0.01, "steer": 0.002, "a_y": 0.3}
    columns = {n: run[n] + std * rng.normal(size=len(run)) for n, std in noise.items()}
    table = np.column_stack([run.t, *columns.values()])
    head = ",".join(["t", *columns])
    np.savetxt(tmp_path / "slalom.csv", table, "%.9g", ",", header=head, comments="")
    return run


def test_sideslip_is_estimated_from_a_log(
    run: Runner, tmp_path: Path, slalom: sp.Trajectory
) -> None:
    out = tmp_path / "estimates.csv"
    args = ("estimate", "single_track", "--log", tmp_path / "slalom.csv")
    code, text, err = run(*args, "--states", "v_y,sideslip", "--out", out)
    assert (code, err) == (0, "")
    assert "demand_a is estimated" in text
    table = np.genfromtxt(out, delimiter=",", skip_header=1)
    assert out.read_text().splitlines()[0] == (
        "t [s],v_y [m/s],v_y_deviation,sideslip [rad],sideslip_deviation"
    )
    truth = np.interp(table[:, 0], slalom.t, slalom["v_y"])
    errors = table[:, 1] - truth
    assert np.sqrt(np.mean(errors**2)) < 0.15 * np.abs(truth).max()
    assert np.mean(np.abs(errors) < 2.0 * table[:, 2]) > 0.85
    document = json.loads(run(*args, "--states", "v_y", "--json")[1])
    (log,) = document["logs"]
    (one,) = log["estimates"]
    assert (one["name"], one["unit"]) == ("v_y", "m/s")
    assert one["maximum"] == pytest.approx(table[:, 1].max(), rel=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--states", "v_z"), "v_z"),
        (("--states", "v_y", "--method", "magic"), "method = 'magic'"),
        (("--states", "v_y", "--measured", "omega"), "--measured omega"),
        (("--states", "v_y", "--measured", "lidar=0.1"), "lidar"),
        (("--states", "v_y", "--out", "none/a.csv"), "there is no folder none"),
    ],
)
def test_what_estimate_refuses_is_one_line(
    run: Runner, tmp_path: Path, slalom: sp.Trajectory, options: tuple[str, ...], message: str
) -> None:
    code, out, err = run("estimate", "single_track", "--log", tmp_path / "slalom.csv", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_plots_are_not_drawn_into_a_file(run: Runner, files: Path) -> None:
    (files / "plots").write_text("a file")
    args = (f"{MODEL}:{files / 'true.yaml'}", "--log", files / "log.csv", "--out", files / "plots")
    code, _, err = run("compare", *args)
    assert code == 2
    assert "cannot write to the folder" in err
