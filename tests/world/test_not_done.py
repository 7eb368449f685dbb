"""What a world file asks for and skidpad does not do is said, at load and where it is used."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import skidpad as sp
from skidpad.cli import main
from skidpad.errors import require_extras
from world.worlds import world

BOT = "<dynamics class='differential'>{}</dynamics>"


def robot(inside: str = "", control: str = "", name: str = "r") -> str:
    dynamics = BOT.format(control)
    return f"<vehicle name='{name}'><init_pose>0 0 0</init_pose>{dynamics}{inside}</vehicle>"


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ("<save_to_rawlog>log.rawlog</save_to_rawlog>", "save_to_rawlog"),
        (
            "<save_ground_truth_trajectory>t.txt</save_ground_truth_trajectory>",
            "save_ground_truth_trajectory",
        ),
        ("<joystick_enabled>true</joystick_enabled>", "joystick_enabled"),
        (robot("<log_path>log.txt</log_path>"), "log_path of r"),
        (
            robot("<publish><publish_pose_topic>/pose</publish_pose_topic></publish>"),
            "publish of r",
        ),
        (
            robot(
                "<sensor class='laser' name='scan'><publish>"
                "<publish_topic>/scan</publish_topic></publish></sensor>"
            ),
            "publish of scan of r",
        ),
        (robot("<sensor class='camera' name='cam'/>"), "camera cam of r"),
        (robot("<sensor class='lidar3d' name='top'/>"), "lidar3d top of r"),
        (robot("<sensor class='skidpad:sonar' name='s'/>"), "skidpad:sonar s"),
    ],
)
def test_what_is_not_done_is_noted_at_load(inside: str, words: str) -> None:
    (note,) = world(inside).warnings
    assert words in note


@pytest.mark.parametrize(
    "inside",
    [
        "<joystick_enabled>false</joystick_enabled>",
        "<save_to_rawlog></save_to_rawlog>",
        robot("<publish enabled='false'><publish_pose_topic>/p</publish_pose_topic></publish>"),
        robot("<sensor class='skidpad:bumper' name='b'/>"),
    ],
)
def test_what_asks_for_nothing_is_not_noted(inside: str) -> None:
    assert not world(inside).warnings


@pytest.mark.parametrize("kind", ["camera", "rgbd_camera", "lidar3d", "skidpad:sonar"])
def test_the_reading_of_a_sensor_that_is_not_simulated_says_so(kind: str) -> None:
    made = sp.World(world(robot(f"<sensor class='{kind}' name='s'/>")))
    made.step()
    reading = made.vehicles["r"].sensors["s"]
    assert reading is not None
    assert not reading
    assert f"{kind} s of r is not simulated" in str(reading)
    with pytest.raises(AttributeError, match="s of r is not simulated"):
        print(reading.ranges)
    assert copy.deepcopy(reading) == reading == pickle.loads(pickle.dumps(reading))


def test_vehicles_that_nothing_commands_are_named_when_a_world_is_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_extras("world", purpose="A world that is run")
    monkeypatch.chdir(tmp_path)
    pid = "<controller class='twist_pid'><V>{}</V></controller>"
    far = robot("", pid.format(1.0), "goes").replace("0 0 0", "0 9 0")
    file = tmp_path / "w.xml"
    file.write_text(f"<mvsim_world>{robot('', pid.format(0.0), 'stays')}{far}</mvsim_world>")
    with pytest.raises(SystemExit):
        main(["run", str(file), "--duration", "0.1"])
    said = capsys.readouterr().err
    assert "nothing commands stays: it stays where it is unless something pushes it. " in said
