"""`skidpad run`: worlds, vehicles and demos from the command line, and what it says of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from skidpad import demo
from skidpad.cli import main
from skidpad.errors import MissingExtra
from skidpad.view.recording import read
from skidpad.world.world import World
from waiting import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples" / "worlds"
ROBOT = (
    "<vehicle name='{name}'><init_pose>0 {y} 90</init_pose><init_vel>{v} 0 0</init_vel>"
    "<dynamics class='differential'><controller class='twist_ideal'><V>{v}</V></controller>"
    "</dynamics></vehicle>"
)
WALL = "<walls><shape><pt>-5 3</pt><pt>5 3</pt></shape></walls>"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["run", *arguments])
    if isinstance(stop.value.__context__, MissingExtra):  # a package that has no wheel here
        raise stop.value.__context__
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def world_file(folder: Path, *inside: str) -> str:
    file = folder / "w.world.xml"
    file.write_text(f"<mvsim_world version='1.0'>{''.join(inside)}</mvsim_world>", "utf-8")
    return str(file)


def row(out: str, name: str) -> list[str]:
    """What stands behind a vehicle's name."""
    (line,) = [line for line in out.splitlines() if line.startswith(f"{name} ")]
    return line.removeprefix(name).split()


def test_every_vehicle_has_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    robots = ROBOT.format(name="still", y=-9, v=0), ROBOT.format(name="r", y=0, v=1)
    code, out, err = run(capsys, world_file(tmp_path, *robots, WALL), "--duration", "3.5")
    assert code == 0
    assert row(out, "still") == ["0.00", "0.00", "0.00", "0.00", "0", "0.00"]
    distance, top, along, across, collisions, effort = (float(n) for n in row(out, "r"))
    # Its nose is a bit ahead of it, so it meets the wall at 3 m a bit before.
    assert 2.0 < distance < 3.2
    assert top == pytest.approx(1.0, abs=0.01)
    assert (collisions, across, effort) == (1.0, 0.0, 0.0)
    assert along > 10.0
    assert "3.500 s in " in out
    assert "times real time, 2 vehicles" in out
    # A bar is for terminals.
    assert [line.partition(":")[0] for line in err.splitlines()] == ["note"]
    assert max(len(line) for line in out.splitlines() if not line.startswith("re")) <= 80


def test_there_is_room_for_poses_on_a_wide_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    _, out, _ = run(capsys, file, "--duration", "1.5", "--no-record", "--no-page")
    assert row(out, "r")[-3:] == ["0.00", "1.50", "90.0"]
    assert max(map(len, out.splitlines())) <= 120


def test_recording_and_page_are_where_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    code, out, _ = run(capsys, file, "--duration", "1", "--rate", "50", "--seed", "4")
    assert code == 0
    *_, recording, page = out.splitlines()
    where = Path(recording.split()[1])
    assert recording.startswith("recording ")
    assert where.parent.parent == Path("skidpad-runs")
    assert where.parent.name.startswith("w-20")
    assert page.split()[:2] == ["replay", "page"]
    assert Path(page.split()[2]) == where.with_suffix(".html")
    kept = read(where)
    assert kept.complete
    np.testing.assert_allclose(kept.times, 0.02 * np.arange(51), atol=1e-9)
    y = kept.rows[:, kept.stage.body("r").y]
    assert float(row(out, "r")[0]) == pytest.approx(np.abs(np.diff(y)).sum(), abs=0.005)
    assert kept.meta["seed"] == 4
    assert "DecompressionStream" in where.with_suffix(".html").read_text("utf-8")


def test_two_runs_do_not_share_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    for _ in range(3):
        assert run(capsys, file, "--duration", "0", "--no-page")[0] == 0
    assert len(list((tmp_path / "skidpad-runs").iterdir())) == 3


def test_quiet_prints_the_result_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1), "<unheard_of/>")
    asked = ("--duration", "0.1", "--quiet", "--compat", "upstream", "--no-record", "--no-page")
    code, out, err = run(capsys, file, *asked)
    assert (code, err) == (0, "")
    assert float(row(out, "r")[0]) == pytest.approx(0.1, abs=0.011)
    assert "recording" not in out
    assert not (tmp_path / "skidpad-runs").exists()


def test_what_is_not_simulated_is_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1), "<unheard_of/>")
    code, _, err = run(capsys, file, "--duration", "0", "--no-page")
    assert code == 0
    assert err.startswith("note: ")
    assert "unheard_of" in err


@pytest.mark.slow_cases("car_park", "trailers")
@pytest.mark.parametrize("name", ["car_park", "trailers", "warehouse"])
def test_examples_run(capsys: pytest.CaptureFixture[str], name: str) -> None:
    file = str(EXAMPLES / f"{name}.world.xml")
    code, out, _ = run(capsys, file, "--duration", "0.2", "--out", "here")
    assert code == 0
    assert "0.200 s in " in out
    assert read(f"here/{name}.mcap").complete


# What `skidpad demo` runs is run by its own test.
@pytest.mark.slow_cases("drift")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow) if n in (*demo.BEST, "eight") else n
        for n in demo.DEMOS
    ],
)
def test_every_demo_leaves_a_recording_and_a_page(
    capsys: pytest.CaptureFixture[str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skidpad.demo.fan.RUNS", 40)
    monkeypatch.setattr("skidpad.demo.eight.CARS", 8)
    code, out, err = run(capsys, name, "--duration", "0.4", "--out", "shown")
    assert (code, err) == (0, "")
    assert "0.400 s in " in out
    assert sorted(file.name for file in Path("shown").iterdir()) == [f"{name}.html", f"{name}.mcap"]
    recording = read(f"shown/{name}.mcap")
    assert recording.complete
    assert recording.times[-1] == pytest.approx(0.4, abs=0.04)
    assert f"{len(recording.stage.bodies)} vehicle" in out or name in ("warehouse", "trailers")
    for line in out.splitlines():
        assert len(line) <= 80 or line.startswith(("recording", "replay", "of 256", "off the lane"))


def test_a_vehicle_drives_a_lap(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--controller", "stanley", "--speed", "8", "--no-page", "--out", "v")
    code, out, _ = run(capsys, "four_wheel", *asked)
    assert code == 0
    distance, laps, best, top = (float(n) for n in row(out, "four_wheel")[:4])
    assert laps == 1
    # It starts at the speed of the start line, 9/10 of which a lap takes.
    assert 200.0 < distance < 400.0
    assert top == pytest.approx(8.0, abs=0.1)
    assert best > distance / 8.5
    meta = read("v/four_wheel.mcap").meta
    assert meta["name"] == "four_wheel"


def test_a_vehicle_follows_a_centre_line_from_a_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    s = np.linspace(0.0, 2.0 * np.pi * 20.0, 252)
    a = s / 20.0
    rows = np.column_stack([s, 20 * np.sin(a), -20 * np.cos(a), a, 0 * s + 0.05, 0 * s + 2.0])
    file = tmp_path / "ring.csv"
    np.savetxt(file, rows, delimiter=",", header="s,X,Y,phi,kappa,w", comments="")
    code, out, _ = run(capsys, "four_wheel", "--track", str(file), "--out", "ring", "--no-page")
    assert code == 0
    kept = read("ring/four_wheel.mcap")
    body = kept.stage.body("four_wheel")
    radius = np.hypot(kept.rows[:, body.x], kept.rows[:, body.y])
    np.testing.assert_allclose(radius, 20.0, atol=0.15)
    # sqrt(4 m/s² * 20 m), the acceleration that vehicles are driven with.
    assert float(row(out, "four_wheel")[3]) == pytest.approx(np.sqrt(80.0), rel=0.02)


def test_without_a_name_the_demos_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    for one in demo.DEMOS.values():
        assert f"{one.name} " in out
        assert one.text in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_world_that_diverges_keeps_what_was_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skidpad import SimulationDiverged

    step = World.step

    def failing(world: World) -> None:
        if world.time > 0.4999:
            raise SimulationDiverged("r diverged", time=0.5, last_state=None)
        step(world)

    monkeypatch.setattr(World, "step", failing)
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    code, out, err = run(capsys, file, "--duration", "60", "--out", "d")
    assert code == 2
    assert "stopped at 0.500 s of 60 s" in out
    assert "error: r diverged" in err
    assert read("d/w.mcap").times[-1] == pytest.approx(0.5, abs=0.04)
    assert Path("d/w.html").is_file()


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot send Ctrl-C to one process alone")
def test_ctrl_c_keeps_what_was_recorded(tmp_path: Path) -> None:
    world = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    # At the rate of its steps, so that the last one is in the recording.
    asked = ["run", world, "--duration", "1e6", "--rate", "200", "--out", "cut", "--quiet"]
    with subprocess.Popen(
        [sys.executable, "-m", "skidpad", *asked],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    ) as process:
        file = tmp_path / "cut" / "w.mcap"
        while process.poll() is None and not (file.is_file() and file.stat().st_size > 200_000):
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    stopped = next(line for line in out.splitlines() if line.startswith("stopped at "))
    recording = read(file)
    assert recording.complete
    assert recording.times[-1] == pytest.approx(float(stopped.split()[2]), abs=1e-3)
    assert len(recording.times) > 100
    assert (tmp_path / "cut" / "w.html").stat().st_size > 50_000
    assert row(out, "r")


@pytest.mark.slow_cases(
    "arguments17-cannot write into w.world.xml", "arguments13-did you mean 'stanley'?"
)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.xml"], "there is no file none.xml"),
        (["w.world.xml", "--duration", "-1"], "--duration -1 must be"),
        (["w.world.xml", "--duration", "nan"], "--duration nan must be"),
        (["w.world.xml", "--rate", "0"], "--rate 0 must be"),
        (["w.world.xml", "--compat", "other"], "compat = 'other' is unknown"),
        (["w.world.xml", "--controller", "stanley"], "--controller needs a vehicle"),
        (["bad.xml"], "bad.xml, line 2"),
        (["old.mcap"], "old.mcap is a recording: skidpad replay old.mcap"),
        (["lapp"], "did you mean 'lap'? demos are lap, warehouse, "),
        (["qwertz"], "there is no demo, vehicle or world file 'qwertz'; demos are lap,"),
        (["lap", "--track", "circuit"], "--track needs a vehicle"),
        (["lap", "--var", "A=1"], "--var needs a world file"),
        (["four_wheel", "--allow-shell"], "--allow-shell needs a world file"),
        (["four_wheel", "--controller", "stanly"], "did you mean 'stanley'?"),
        (["four_wheel", "--track", "moon"], "no track 'moon'"),
        (["four_wheel", "--speed", "0"], "speed = 0.0 m/s must be"),
        (["double_integrator", "--track", "circuit"], "'double_integrator' does not turn"),
        (["lap", "--duration", "0", "--out", "w.world.xml"], "cannot write into w.world.xml"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], said: str
) -> None:
    world_file(tmp_path)
    (tmp_path / "bad.xml").write_text("<mvsim_world>\n<gravity>x</gravity></mvsim_world>", "utf-8")
    (tmp_path / "old.mcap").write_bytes(b"")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert len(err.splitlines()) == 1
