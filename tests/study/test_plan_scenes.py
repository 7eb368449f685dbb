"""Manoeuvres and worlds in plan files: the same as in Python, and mistakes with their place."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import StepSteer
from skidpad.study.plan_file import campaign_of
from skidpad.study.runs import ManoeuvreRuns

MANOEUVRE = """
manoeuvre:
  vehicle: single_track
  params: {m: 1300}
  manoeuvres: {quick: {step_steer: {speed: 25, sides: [left], duration: 2.0}}}
factors: {m: {range: [1200, 1400]}, quick.speed: {range: [20, 30]}}
design: {random: 4}
"""
WORLD = """
world:
  file: yard.world.xml
  duration: 1
  drive: {car: {demand: {a: -1}}}
  metrics:
    hit: {collided: [car, crate]}
    gap: {nearest: {name: car, other: crate}}
    own: own_worlds:farthest
factors: {vehicle.car.v: {range: [4, 8]}}
design: {random: 4}
"""
YARD = """
<mvsim_world version="1.0">
  <vehicle name="car"><dynamics class="skidpad:commonroad_ks"/>
    <init_pose>0 0 0</init_pose></vehicle>
  <block name="crate"><mass>20</mass>
    <shape><pt>-0.5 -0.5</pt><pt>0.5 -0.5</pt><pt>0.5 0.5</pt><pt>-0.5 0.5</pt></shape>
    <init_pose>12 1.8 0</init_pose></block>
</mvsim_world>"""
MODULE = "def farthest(run):\n    return run.series('car', 'x').max()\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_worlds", raising=False)
    (tmp_path / "yard.world.xml").write_text(YARD)
    (tmp_path / "own_worlds.py").write_text(MODULE)


def read(folder: Path, text: str) -> Any:
    file = folder / "plan.yaml"
    file.write_text(textwrap.dedent(text))
    return campaign_of(file)


def test_a_manoeuvre_is_that_of_python(tmp_path: Path) -> None:
    step = StepSteer(speed=25.0, sides=("left",), duration=2.0)
    own = ManoeuvreRuns(sp.vehicles.single_track(m=1300.0), {"quick": step})
    assert read(tmp_path, MANOEUVRE).experiment.identity() == own.identity()


@pytest.mark.slow
def test_a_world_runs(tmp_path: Path) -> None:
    """With a function of one's own, which says how far the car came."""
    study = read(tmp_path, WORLD).run(tmp_path / "runs", workers=1, progress=False)
    speeds = study["vehicle.car.v"]
    assert study["own"] == pytest.approx(speeds - 0.5, abs=0.05)
    assert not study["hit"].any()
    assert (study["gap"] > 0.0).all()


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        (MANOEUVRE, "step_steer:", "step_ster:", "manoeuvre.manoeuvres.quick: .*step_steer"),
        (MANOEUVRE, "speed: 25", "sped: 25", "quick.step_steer has no key 'sped'; did you mean"),
        (MANOEUVRE, "{m: 1300}", "{mm: 1}", "manoeuvre.params has no field 'mm'"),
        (MANOEUVRE, "speed: 25", f"speed: {10**400}", r"quick.step_steer.speed = 10\^400 must be"),
        (MANOEUVRE, "speed: 25", "speed: [25]", "quick.step_steer.speed = .* must be a number"),
        (MANOEUVRE, "sides: [left]", "sides: [{a: 1}]", "sides.* must be a text, a number or"),
        (MANOEUVRE, "sides: [left]", "sides: [up]", "quick: the settings cannot be driven: 'up'"),
        (MANOEUVRE, "duration: 2.0", "duration: 1.0e+13", "quick: the settings cannot .* allocate"),
        (MANOEUVRE, "quick.speed", "quick.spd", "factors has no factor 'quick.spd'"),
        (WORLD, "yard.world", "yad.world", "world: .*yad.world.xml"),
        (WORLD, "  file: yard.world.xml\n", "", "world = .* must have either file"),
        (WORLD, "demand: {a: -1}", "demand: {b: 1}", "world.drive.car.demand has no key 'b'"),
        (
            WORLD,
            "demand: {a: -1}",
            "demnd: {a: -1}",
            "world.drive.car has no key 'demnd'; did you mean",
        ),
        (WORLD, "drive: {car:", "drive: {cat:", "drive has no vehicle 'cat'; did you mean 'car'"),
        (WORLD, "collided: [car, crate]", "colided: [car]", "metrics.hit has no key 'colided'"),
        (WORLD, "[car, crate]", "[car, crat]", "world: metric hit has no thing 'crat'"),
        (WORLD, "[car, crate]", "[car, crate, 3]", "metrics.hit.collided = .* must be "),
        (WORLD, "{name: car, other: crate}", "[car]", "metrics.gap.nearest: nearest takes"),
        (WORLD, "own_worlds:farthest", "own_worlds:far", "metrics.own = .* own_worlds has no name"),
    ],
)
def test_mistakes_are_told_with_their_place(
    tmp_path: Path, text: str, old: str, new: str, told: str
) -> None:
    assert old in text
    with pytest.raises(InvalidValue, match=f"^plan.yaml: .*{told}"):
        read(tmp_path, text.replace(old, new))
