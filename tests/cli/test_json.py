"""`--json` of models, info and check: one object, whose keys are those of the page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.files.bags import TYPES, write_bag
from skidpad import vehicles
from skidpad.cli import main
from skidpad.errors import require_extras
from skidpad.view.recording import BagWriter, Recorder
from skidpad.view.recording.mcap import open_mcap
from skidpad.world.xml.reader import review
from study.identify.drives import MODEL, drive
from view.recording.stages import full_stage, some_rows
from world.worlds import WORLDS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    """The document that a command prints, and nothing beside it."""
    with pytest.raises(SystemExit) as stop:
        main([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (code, "")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    document = json.loads(out, parse_constant=refuse)
    assert_listed(document)
    return document


def assert_listed(document: dict[str, Any]) -> None:
    """The page has a row for every key of the document."""
    kind = document.get("kind")
    heading = f"`{document['schema']}`" + (f", {kind}" if kind else "")
    _, _, rest = PAGE.partition(f"| {heading} |")
    rows = re.match(r".*\n\|[-|]+\|\n((?:\|.*\n)+)", rest)
    assert rows is not None, heading
    listed = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|(.*?)\|", rows[1], re.M))))
    assert set(document) == listed, heading


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    stage, file = full_stage(), tmp_path / "a.mcap"
    with Recorder(file, stage) as recorder:
        recorder.add_rows(np.arange(5) / 10.0, some_rows(stage, 5))
    return file


def test_all_vehicles_are_listed_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    document = said(capsys, "models")
    assert [one["name"] for one in document["vehicles"]] == list(vehicles.names())
    assert "DELAY_STEER_ACC" in document["command_driven"]
    for vehicle in document["vehicles"]:
        model = vehicles.get(vehicle["name"]).model
        assert len(vehicle["states"]) >= len(model.State._fields)
        assert all(set(field) == set(vehicle["states"][0]) for field in vehicle["parameters"])


def test_a_vehicle_has_units_ranges_and_meanings(capsys: pytest.CaptureFixture[str]) -> None:
    (car,) = said(capsys, "models", "kinematic_bicycle")["vehicles"]
    assert [one["name"] for one in car["states"]] == list(
        vehicles.kinematic_bicycle().State._fields
    )
    states = {one["name"]: one for one in car["states"]}
    assert (states["yaw"]["unit"], states["v_x"]["unit"]) == ("rad", "m/s")
    (length,) = [one for one in car["parameters"] if one["name"] == "l_f"]
    assert length["unit"] == "m"
    # A wheelbase is above zero, and may be as long as one likes.
    assert (length["minimum"], length["exclusive_minimum"], length["maximum"]) == (0.0, True, None)
    assert length["default"] > 0.0
    assert length["meaning"]
    command_driven = said(capsys, "models", "IDEAL_STEER_ACC")
    assert command_driven["vehicles"][0]["name"] == "IDEAL_STEER_ACC"


def test_a_program_is_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["models", "four_wheel", "--program", "--json"])
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("error: --json prints vehicles; for a program use --save")


def test_a_recording_is_told_with_bodies_channels_and_topics(
    capsys: pytest.CaptureFixture[str], recording: Path
) -> None:
    document = said(capsys, "info", str(recording))
    assert (document["kind"], document["title"]) == ("recording", "everything")
    assert document["complete"] is True
    assert (document["samples"], document["size"]) == (5, recording.stat().st_size)
    assert document["duration"] == pytest.approx(0.4)
    bodies = {one["name"]: one for one in document["bodies"]}
    assert list(bodies) == ["car", "world", "car trailer", "crate"]
    assert bodies["car"]["kind"] == "vehicle"
    assert {"name": "a_x", "unit": "m/s²", "role": "output"} in bodies["car"]["channels"]
    assert document["lidars"][0] == {
        "name": "front lidar",
        "body": "car",
        "rays": 5,
        "reach": 20.0,
    }
    assert sum(topic["messages"] for topic in document["topics"]) == document["messages"]


def test_a_recording_that_was_cut_off_says_so(
    capsys: pytest.CaptureFixture[str], recording: Path
) -> None:
    recording.write_bytes(recording.read_bytes()[:-100])
    assert said(capsys, "info", str(recording))["complete"] is False


def test_of_a_recording_without_messages_what_is_absent_is_null(
    capsys: pytest.CaptureFixture[str], recording: Path
) -> None:
    whole = recording.read_bytes()
    with open_mcap(recording) as contents:
        first = contents.chunks[0]
    recording.write_bytes(whole[: first.offset + 20])
    document = said(capsys, "info", str(recording))
    assert (document["messages"], document["chunks"], document["unpacked"]) == (0, 0, 0)
    absent = ("start", "end", "duration", "compression")
    assert [document[key] for key in absent] == [None] * len(absent)


def test_a_bag_is_told_with_its_topics(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_bag(tmp_path / "bag")
    document = said(capsys, "info", str(tmp_path / "bag"))
    assert (document["kind"], document["complete"]) == ("bag", True)
    assert len(document["topics"]) == len(TYPES)
    assert sum(topic["messages"] for topic in document["topics"]) == document["messages"]
    (tmp_path / "bag" / "metadata.yaml").unlink()
    document = said(capsys, "info", str(tmp_path / "bag"))
    assert (document["complete"], document["metadata"]) == (False, "missing")


def test_of_a_bag_without_messages_times_are_null(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with BagWriter(tmp_path / "bag"):
        pass
    document = said(capsys, "info", str(tmp_path / "bag"))
    assert [document[key] for key in ("start_ns", "end_ns", "duration")] == [None] * 3


def test_a_good_world_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    document = said(capsys, "check", str(WORLDS / "everything.world.xml"))
    assert (document["ok"], document["problems"], document["timestep"]) == (True, [], 0.004)
    assert document["counts"] == {
        **{"vehicle": 6, "block": 12, "wall": 4, "element": 11},
        **{"joint": 2, "actor": 1, "sensor": 9},
    }
    assert any("camera cam of car" in note for note in document["notes"])


def test_every_problem_of_a_world_has_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "w.xml"
    file.write_text("<mvsim_world>\n<blok/>\n<gravity>x</gravity>\n</mvsim_world>")
    document = said(capsys, "check", str(file), code=1)
    assert (document["ok"], document["counts"], document["timestep"]) == (False, None, None)
    (problem,) = document["problems"]
    place = [problem[key] for key in ("file", "line", "column", "element")]
    assert place == [str(file), 3, 1, "gravity"]
    assert problem["message"].startswith("gravity = 'x'")


def test_what_shows_when_a_world_is_built_is_a_problem_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_extras("world", purpose="A world that is built to check it")
    file = tmp_path / "w.xml"
    file.write_text(
        "<mvsim_world><element class='property_region'><property_name>friction_mu</property_name>"
        "<value_double>-1</value_double></element></mvsim_world>"
    )
    assert review(file).scene is not None  # it can be read
    document = said(capsys, "check", str(file), code=1)
    (problem,) = document["problems"]
    assert "friction_mu = -1.0 must be" in problem["message"]
    assert (document["ok"], document["counts"]) == (False, None)


def test_a_log_and_its_comparison_are_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "run.csv"
    drive(steps=200).to_csv(path)
    (log,) = said(capsys, "log", str(path))["logs"]
    assert {"u_steer", "v_x"} <= {channel["name"] for channel in log["channels"]}
    own = ("--set", "wheel_base=2.79", "--log", str(path))
    estimates = said(capsys, "estimate", MODEL, *own, "--states", "a_x")["logs"][0]["estimates"]
    assert [one["name"] for one in estimates] == ["a_x"]
    fitted = said(capsys, "fit", MODEL, *own, "--free", "steer_bias", "--starts", "1")
    assert [one["name"] for one in fitted["estimates"]] == ["steer_bias"]
    document = said(capsys, "compare", MODEL, "--set", "wheel_base=2.79", "--log", str(path))
    assert document["vehicles"] == [MODEL]
    assert {error["channel"] for error in document["errors"]} >= {"position", "omega"}


@pytest.mark.parametrize("command", ["info", "check"])
def test_a_file_that_is_not_there_is_an_error_line(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "nowhere.file", "--json"])
    out, err = capsys.readouterr()
    assert (stop.value.code, out) == (2, "")
    assert err.startswith("error: ")
