"""`skidpad check`, and the worlds among the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from skidpad.cli import main
from skidpad.errors import require_extras
from skidpad.vehicles import wheeled
from skidpad.vehicles.wheeled.description import Description
from skidpad.world.xml import load
from skidpad.world.xml.reader import review
from world.worlds import WORLDS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "worlds").glob("*.world.xml"))


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(["check", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_good_world_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(WORLDS / "everything.world.xml")
    code, out, _ = check(capsys, file)
    assert code == 0
    first, *notes = out.splitlines()
    assert first == (
        f"{file}: 6 vehicles, 12 blocks, 4 walls, 11 elements, 2 joints, 1 actor, 9 sensors, "
        "step 4 ms"
    )
    assert all(note.startswith("note: ") for note in notes)
    assert any("camera cam of car" in note for note in notes)


def test_every_problem_has_a_line_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "w.xml"
    file.write_text(
        "<mvsim_world>\n<block><mass>-1</mass></block>\n<blok/>\n<gravity>x</gravity>\n"
        "</mvsim_world>"
    )
    code, out, _ = check(capsys, str(file))
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith(f"{file}, line 2, column 1: <block>: <init_pose>")
    assert lines[1].startswith(f"{file}, line 2, column 8: <mass>: mass = -1 must be")
    assert lines[2].startswith(f"{file}, line 4, column 1: <gravity>: gravity = 'x'")
    assert lines[3] == f"{file}: 3 problems"


def test_options_reach_the_reader(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    file.write_text(
        "<mvsim_world><for var='i' from='1' to='${N}'><block><init_pose>0 0 0</init_pose>"
        "</block></for></mvsim_world>"
    )
    assert check(capsys, str(file))[0] == 1
    assert ": 7 blocks, step 5 ms" in check(capsys, str(file), "--var", "N=7")[1]
    assert check(capsys, str(file), "--var", "N=7", "--limit", "6")[0] == 1
    assert check(capsys, str(file), "--var", "N=7", "--compat", "upstream")[0] == 0
    code, _, err = check(capsys, str(file), "--var", "N")
    assert (code, "expected NAME=VALUE" in err) == (2, True)
    code, _, err = check(capsys, str(file), "--compat", "other")
    assert (code, "compat = 'other' is unknown" in err) == (2, True)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_load_without_a_warning_and_can_be_built(file: Path) -> None:
    scene = load(file)
    assert scene.vehicles
    names = [vehicle.name for vehicle in scene.vehicles]
    assert len(set(names)) == len(names)
    for vehicle in scene.vehicles:
        if isinstance(vehicle.dynamics, Description):
            wheeled.vehicle(vehicle.dynamics)


def test_there_are_examples() -> None:
    assert [file.stem.partition(".")[0] for file in EXAMPLES] == [
        "car_park",
        "trailers",
        "warehouse",
    ]


def test_joined_bodies_of_the_examples_meet_at_their_anchors() -> None:
    scene = load(next(file for file in EXAMPLES if file.stem.startswith("trailers")))
    places = {body.name: body.pose for body in [*scene.vehicles, *scene.blocks]}
    for joint in scene.joints:
        # All of them stand along the x axis.
        a = places[joint.body_a].x + joint.anchor_a[0]
        b = places[joint.body_b].x + joint.anchor_b[0]
        gap = joint.max_length if joint.kind == "distance" else 0.0
        assert abs(a - b) <= gap + 1e-9


def test_warnings_stand_beside_errors_and_do_not_count(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "w.xml"
    bad = "<gravity>x</gravity>"
    text = "<mvsim_world><blok/><joystick_enabled>true</joystick_enabled>{}</mvsim_world>"
    file.write_text(text.format(bad))
    code, out, _ = check(capsys, str(file))
    assert code == 1
    assert f"{file}: 1 problem" in out
    assert "note: unknown tags: <blok> in <mvsim_world>, did you mean <block>?" in out
    assert "joystick_enabled" in out
    file.write_text(text.format(""))
    code, out, _ = check(capsys, str(file))
    assert code == 0
    assert "<blok>" in out


def test_what_shows_only_when_a_world_is_made_is_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_extras("world", purpose="A world that is built to check it")
    file = tmp_path / "w.xml"
    bot = (
        "<vehicle name='{}'><init_pose>0 0 0</init_pose><dynamics class='differential'/></vehicle>"
    )
    two = bot.format("a") + bot.format("b")
    region = (
        "<element class='property_region'><property_name>friction_mu</property_name>"
        "<value_double>-1</value_double></element>"
    )
    file.write_text(f"<mvsim_world>{two}</mvsim_world>")
    code, out, _ = check(capsys, str(file))
    assert (code, "a and b by" in out) == (0, True)
    file.write_text(f"<mvsim_world>{two}{region}</mvsim_world>")
    code, out, _ = check(capsys, str(file))
    assert (code, "friction_mu = -1.0 must be" in out) == (1, True)


def test_a_vehicle_without_dynamics_has_its_other_problems_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "w.xml"
    file.write_text(
        "<mvsim_world><vehicle name='a'><dynamics class='diferential'/><friction/>"
        "<sensor class='laser'><nrays>x</nrays></sensor></vehicle></mvsim_world>"
    )
    code, out, _ = check(capsys, str(file))
    assert code == 1
    assert f"{file}: 3 problems" in out
    for words in ("did you mean 'differential'", "<init_pose3d> is missing", "nrays = 'x'"):
        assert words in out
    assert "note" not in out


@pytest.mark.parametrize("missing", ["type", "body_a", "body_b", "anchor_a", "anchor_b"])
def test_what_was_not_read_to_its_end_is_not_called_unknown(missing: str, tmp_path: Path) -> None:
    """An element with an error: the attributes behind it were not looked at."""
    joint = {
        "type": "distance",
        "body_a": "v",
        "body_b": "w",
        "anchor_a": "0 0",
        "anchor_b": "0 0",
        "max_length": "1",
    }
    written = " ".join(f'{k}="{v}"' for k, v in joint.items() if k != missing)
    file = tmp_path / "a.world.xml"
    file.write_text(f"<mvsim_world><joint {written}/><joint {written} colour='red'/></mvsim_world>")
    errors, notes, _ = review(file)
    assert any(missing in str(error) for error in errors)
    assert not any("body_" in note or "anchor_" in note or "length" in note for note in notes)


def test_a_folder_is_called_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = check(capsys, str(tmp_path))
    assert code != 0
    assert "is a folder; a world file is expected" in err
