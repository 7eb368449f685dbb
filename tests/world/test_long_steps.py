"""A warning comes if, and only if, the controllers of robots swing with the steps of a world."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.scene import WorldWarning
from skidpad.world.xml import loads

KINDS = {
    "differential": "twist_pid",
    "differential_3_wheels": "twist_pid",
    "differential_4_wheels": "twist_pid",
    "ackermann": "twist_front_steer_pid",
    "ackermann_drivetrain": "twist_front_steer_pid",
}


def told(kind: str, dt: float, inside: str = "", **options: str) -> tuple[sp.World, list[str]]:
    """A world with one robot, and its warnings of steps."""
    robot = f"<dynamics class='{kind}'><controller class='{KINDS[kind]}'>{inside}</controller>"
    text = f"<simul_timestep>{dt}</simul_timestep><vehicle name='r'><init_pose>0 0 0</init_pose>"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorldWarning)
        scene = loads(f"<mvsim_world>{text}{robot}</dynamics></vehicle></mvsim_world>", **options)
        world = sp.World(scene)
    return world, [str(w.message) for w in caught if "too long" in str(w.message)]


def swings(world: sp.World) -> bool:
    """Whether the speed of its robot still changes to and fro after 15 s at 1 m/s."""
    world.vehicles["r"].command(v=1.0)
    world.run(15.0)
    speeds: list[float] = []
    for _ in range(20):
        world.step()
        speeds.append(world.vehicles["r"].truth.v_x)
    return float(np.ptp(speeds)) > 0.01


@pytest.mark.slow_cases("0.005-differential_3_wheels", "0.005-differential_4_wheels")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dt", [0.005, 0.02, 0.1, 0.5])
def test_who_swings_is_warned_of(kind: str, dt: float) -> None:
    world, notes = told(kind, dt)
    assert bool(notes) == swings(world)
    if notes:
        assert notes[0].startswith(f"steps of {dt:g} s are too long for the controllers of r,")


def test_the_step_that_is_advised_is_calm() -> None:
    _, (note,) = told("differential_4_wheels", 0.4)
    advised = float(note.split("simul_timestep = ")[1].split(" s")[0])
    assert advised == pytest.approx(0.1)
    world, notes = told("differential_4_wheels", advised)
    assert not notes
    assert not swings(world)


def test_large_gains_make_short_steps_too_long() -> None:
    calm, notes = told("ackermann", 0.01)
    assert (swings(calm), notes) == (False, [])
    wild, notes = told("ackermann", 0.01, "<KP>10000</KP>")
    assert swings(wild)
    assert len(notes) == 1


def test_who_repeats_a_program_does_as_that_does() -> None:
    assert told("differential", 0.5, compat="upstream")[1] == []


def test_a_file_is_checked_for_it(tmp_path: object) -> None:
    from pathlib import Path

    from typer.testing import CliRunner

    from skidpad.cli import app
    from skidpad.errors import require_extras

    require_extras("world", purpose="A world that is built to check it")
    file = Path(str(tmp_path)) / "a.world.xml"
    file.write_text(
        "<mvsim_world><simul_timestep>0.5</simul_timestep><vehicle name='r'>"
        "<init_pose>0 0 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_pid'/></dynamics></vehicle></mvsim_world>"
    )
    said = CliRunner().invoke(app, ["check", str(file)])
    assert said.exit_code == 0
    assert "too long for the controllers of r" in said.output
