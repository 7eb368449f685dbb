"""Where a page drives: planes, tracks and worlds, and what the command line says about them."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import skidpad as sp
from skidpad.cli import app
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.view.pages.drive import (
    drive_page,
    drive_stage,
    plane_place,
    track_of,
    track_place,
    world_place,
)
from skidpad.world.xml import loads

WORLD = """
<mvsim_world>
  <simul_timestep>0.005</simul_timestep>
  <vehicle name="first"><init_pose>1 2 90</init_pose>
    <dynamics class="skidpad:single_track"><m>1300</m></dynamics></vehicle>
  <vehicle name="second"><init_pose>10 0 0</init_pose>
    <dynamics class="skidpad:kinematic_bicycle"/></vehicle>
  <block name="crate"><init_pose>5 5 0</init_pose><mass>20</mass>
    <shape><pt>-0.5 -0.5</pt><pt>0.5 -0.5</pt><pt>0.5 0.5</pt><pt>-0.5 0.5</pt></shape></block>
</mvsim_world>"""


def head_of(page: str) -> dict[str, Any]:
    """What a page knows, unpacked without its own code."""
    found = re.search(r'id="film">([^<]*)<', page)
    assert found
    data = zlib.decompress(base64.b64decode(found[1]))
    (size,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + size])


def test_a_vehicle_of_a_world_starts_where_and_as_the_world_has_it() -> None:
    place = world_place(loads(WORLD))
    assert (place.name, place.dt, place.substeps) == ("first", 0.005, 5)
    assert place.vehicle.params.m == 1300.0
    assert (place.start.x, place.start.y) == (1.0, 2.0)
    assert place.start.yaw == pytest.approx(np.pi / 2.0)
    names = {solid.name for solid in place.solids}
    assert names == {"second", "crate"}, "a vehicle is not in its own way"
    assert "the other vehicles stand still" in place.notes


def test_the_others_of_a_world_are_seen_where_they_stand() -> None:
    shown = drive_stage(world_place(loads(WORLD), "second"))
    assert [body.name for body in shown.stage.bodies] == ["second", "first", "crate"]
    first = shown.stage.body("first")
    x, y, yaw = (shown.row[k] for k in (first.x, first.y, first.yaw))
    assert (x, y, yaw) == pytest.approx((1.0, 2.0, np.pi / 2.0))
    assert len(shown.sources) < len(shown.row) == len(shown.stage.channels)


def test_a_vehicle_that_a_world_has_not_is_named() -> None:
    with pytest.raises(InvalidValue, match=r"has no vehicle 'third'.*first, second"):
        world_place(loads(WORLD), "third")
    with pytest.raises(InvalidValue, match="has no vehicle: there is nothing to drive"):
        world_place(loads("<mvsim_world/>"))


def test_a_car_starts_along_a_track_whose_walls_are_in_its_way() -> None:
    car = sp.vehicles.single_track()
    track = track_of("4", car)
    place = track_place(car, track)
    (x, y), ahead = track.centre[0], track.centre[1] - track.centre[0]
    assert (place.start.x, place.start.y) == pytest.approx((x, y))
    assert place.start.yaw == pytest.approx(np.arctan2(ahead[1], ahead[0]))
    assert len(place.solids) == len(track.walls)
    # The cones of a Formula Student track are 3.5 m apart; a car of 1.5 times the size has more.
    share = car.geometry.wheel_base / sp.vehicles.formula_student().geometry.wheel_base
    assert (track.left + track.right).min() == pytest.approx(3.5 * share, rel=0.05)


def test_a_track_that_is_not_there_is_said() -> None:
    with pytest.raises(InvalidValue, match=r"'nowhere.csv' must be a file with a track, or"):
        track_of("nowhere.csv", sp.vehicles.single_track())


def test_the_start_is_that_of_the_simulator() -> None:
    car = sp.vehicles.kinematic_bicycle()
    head = head_of(drive_page(car))["vehicle"]
    sim = sp.Simulator(car, 0.01)
    assert head["settled"] == list(record.flatten(sim.state))
    assert head["params"] == list(record.flatten(car.params))
    assert (head["dt"], head["integrator"]) == (0.01, sim.integrator.name)


def test_dead_times_and_numbers_of_arrays_are_no_fields_to_change() -> None:
    car = sp.vehicles.autoware("DELAY_STEER_ACC", {"wheel_base": 2.79})
    fields = {field["name"] for field in head_of(drive_page(car))["vehicle"]["fields"]}
    assert fields
    assert fields.isdisjoint(car.model.dead_times.values())
    road = sp.Road.grid(np.zeros((4, 4)), (0.0, 0.0), 1.0)
    place = plane_place(sp.vehicles.on_road(sp.vehicles.single_track(), road))
    assert len(place.still["reliefs"]) <= 1
    about = head_of(drive_page(place))["vehicle"]
    numbers = [k for k, name in enumerate(record.names(place.vehicle.model.Params))
               if name not in {field["name"] for field in about["fields"]}]  # fmt: skip
    assert {about["params"][k] for k in numbers} == {1.0}, "the module reserves the name numbers"


def test_the_command_writes_a_page_and_says_how_large_it_is(tmp_path: Path) -> None:
    out = tmp_path / "car.html"
    arguments = ["html", "--drive", "kinematic_bicycle", str(out), "--set", "m=250",
                 "--dt", "0.02", "--integrator", "rk4", "--substeps", "8"]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "MB" in result.output
    about = head_of(out.read_text())["vehicle"]
    assert (about["dt"], about["substeps"], about["integrator"]) == (0.02, 8, "rk4")
    mass = next(field for field in about["fields"] if field["name"] == "m")
    assert mass["value"] == 250.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--drive", "single_trak", "out.html"], "did you mean 'single_track'"),
        (["--drive", "no/such.world.xml", "out.html"], "there is no file no/such.world.xml"),
        (["--drive", "single_track", "out.html", "--vehicle", "a"], "--vehicle needs a world"),
        (["--drive", "playground", "out.html", "--track", "1"], "--track needs a vehicle"),
        (["--drive", "single_track", "out.html", "--limit-mb", "3"], "--limit-mb needs"),
        (["run.mcap", "out.html", "--dt", "0.01"], "--dt needs --drive"),
        (["--drive", "single_track", "out.html", "--integrator", "scipy:RK45"], "chooses its own"),
    ],
)
def test_what_does_not_go_together_is_said_and_nothing_is_written(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["html", *arguments])
    assert result.exit_code != 0
    assert words in f"{result.output} {result.exception}"
    assert not list(tmp_path.iterdir())
