"""`skidpad run`: worlds from the command line, and what it says of them."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from skidpad.cli import main
from skidpad.cli.run_table import Tally
from skidpad.world.world import World
from skidpad.world.xml import loads

EXAMPLES = Path(__file__).parents[2] / "examples" / "worlds"
ROBOT = (
    "<vehicle name='{name}'><init_pose>0 {y} 90</init_pose><init_vel>{v} 0 0</init_vel>"
    "<dynamics class='differential'><controller class='twist_ideal'><V>{v}</V></controller>"
    "</dynamics></vehicle>"
)
WALL = "<walls><shape><pt>-5 3</pt><pt>5 3</pt></shape></walls>"


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["run", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def world_file(folder: Path, *inside: str) -> str:
    file = folder / "w.xml"
    file.write_text(f"<mvsim_world version='1.0'>{''.join(inside)}</mvsim_world>", "utf-8")
    return str(file)


def row(out: str, name: str) -> list[float]:
    """The numbers behind a vehicle's name."""
    (line,) = [line for line in out.splitlines() if line.startswith(f"{name} ")]
    return [float(word) for word in line.split()[1:]]


def test_every_vehicle_has_a_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(
        tmp_path, ROBOT.format(name="still", y=-9, v=0), ROBOT.format(name="r", y=0, v=1)
    )
    code, out, err = run(capsys, file, "--duration", "1.5")
    assert code == 0
    assert row(out, "still") == [0.0, 0.0, 0.0, 0.0, 0.0, -9.0, 90.0]
    distance, top, _, contact, x, y, yaw = row(out, "r")
    assert (contact, x, yaw) == (0.0, 0.0, 90.0)
    assert y == distance == pytest.approx(1.5, abs=0.01)
    assert top == pytest.approx(1.0, abs=0.01)
    assert "1.500 s in " in out
    assert "times real time, 2 vehicles" in out
    assert "1.5 of 1.5 s" in err
    assert max(map(len, out.splitlines())) <= 80


def test_a_robot_at_a_wall_is_counted_as_touching_it() -> None:
    text = ROBOT.format(name="r", y=0, v=1) + WALL
    world = World(loads(f"<mvsim_world version='1.0'>{text}</mvsim_world>"))
    tally, touched, speeds = Tally(world), 0, [np.array([0.0, 1.0])]
    for _ in range(round(4.0 / world.dt)):
        world.step()
        tally.add()
        touched += any("r" in (c.a, c.b) for c in world.contacts)
        t = world.vehicles["r"].truth
        c, s = math.cos(t.yaw), math.sin(t.yaw)
        speeds.append(np.array([c * t.v_x - s * t.v_y, s * t.v_x + c * t.v_y]))
    assert touched > 100
    assert tally.contacts.tolist() == [touched]
    largest = max(np.hypot(*(b - a)) for a, b in pairwise(speeds))
    assert tally.peak_acceleration[0] == pytest.approx(largest / world.dt)
    assert tally.motion[0, :2] == pytest.approx(world.vehicles["r"].truth[:2])


def test_quiet_prints_the_result_only(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1), "<unheard_of/>")
    code, out, err = run(capsys, file, "--duration", "0.1", "--quiet", "--compat", "upstream")
    assert (code, err) == (0, "")
    assert row(out, "r")[-2] == pytest.approx(0.1, abs=0.011)


@pytest.mark.parametrize("name", ["car_park", "trailers", "warehouse"])
def test_examples_run(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _ = run(capsys, str(EXAMPLES / f"{name}.world.xml"), "--duration", "0.2")
    assert code == 0
    assert "0.200 s in " in out


def test_what_is_not_simulated_is_noted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1), "<unheard_of/>")
    code, _, err = run(capsys, file, "--duration", "0")
    assert code == 0
    assert err.startswith("note: ")
    assert "unheard_of" in err


def test_ctrl_c_ends_with_the_table_so_far(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = World.step

    def interrupted(world: World) -> None:
        if world.time > 0.4999:
            raise KeyboardInterrupt
        step(world)

    monkeypatch.setattr(World, "step", interrupted)
    file = world_file(tmp_path, ROBOT.format(name="r", y=0, v=1))
    code, out, _ = run(capsys, file, "--duration", "60")
    assert code == 0
    assert "stopped at 0.500 s of 60 s" in out
    assert row(out, "r")[0] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.xml"], "none.xml"),
        (["w.xml", "--duration", "-1"], "--duration -1 must be"),
        (["w.xml", "--duration", "nan"], "--duration nan must be"),
        (["w.xml", "--compat", "other"], "compat = 'other' is unknown"),
        (["bad.xml"], "bad.xml, line 2"),
    ],
)
def test_errors_are_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    world_file(tmp_path)
    (tmp_path / "bad.xml").write_text("<mvsim_world>\n<gravity>x</gravity></mvsim_world>", "utf-8")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err
    assert len(err.splitlines()) == 1
