"""What is no world, no demand or no moment is refused with words, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.world.xml import loads
from world.worlds import BOT, world

SCENE = world(
    f"<vehicle name='v'><init_pose>0 0 0</init_pose>{BOT}<sensor class='imu' name='imu'/></vehicle>"
)
MISTAKES: dict[str, Callable[[sp.World], Any]] = {
    "restore": lambda w: w.restore(5),
    "restore of a tuple": lambda w: w.restore(tuple(w.snapshot())),
    "reset": lambda w: w.reset("x"),  # pyright: ignore[reportArgumentType]
    "reset to half": lambda w: w.reset(0.5),  # pyright: ignore[reportArgumentType]
    "drive": lambda w: w.vehicles["v"].drive(5),  # pyright: ignore[reportArgumentType]
    "command": lambda w: w.vehicles["v"].command("fast"),
    "sensors": lambda w: w.vehicles["v"].sensors["zz"],
    "vehicles": lambda w: w.vehicles["zz"],
    "readings": lambda w: w.readings("zz"),
    "block": lambda w: w.block("zz"),
    "seed": lambda w: sp.World(w.scene, seed="x"),  # pyright: ignore[reportArgumentType]
    "loads": lambda w: loads(None),  # pyright: ignore[reportArgumentType]
    "loads of bytes": lambda w: loads(b"<mvsim_world/>"),  # pyright: ignore[reportArgumentType]
    "folder": lambda w: loads("<mvsim_world/>", folder=5),  # pyright: ignore[reportArgumentType]
    "seed of expressions": lambda w: loads("<mvsim_world/>", seed="x"),
    "limit": lambda w: loads("<mvsim_world/>", limit="x"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_and_change_nothing(name: str) -> None:
    made = sp.World(SCENE, seed=3)
    made.run(0.05)
    before = made.vehicles["v"].state, made.vehicles["v"].input, made.time, made.seed
    with pytest.raises(InvalidValue):
        MISTAKES[name](made)
    assert before == (made.vehicles["v"].state, made.vehicles["v"].input, made.time, made.seed)


def test_readings_are_a_mapping_all_the_same() -> None:
    shown = sp.World(SCENE).vehicles["v"].sensors
    assert "imu" in shown
    assert "zz" not in shown
    assert shown.get("zz", 7) == 7
    assert dict(shown).keys() == set(shown)


def test_what_is_shown_says_what_it_is() -> None:
    made = sp.World(SCENE)
    made.run(0.05)
    for thing in (made, made.vehicles["v"], made.vehicles["v"].sensors, made.snapshot()):
        text = repr(thing)
        assert "0x" not in text
        assert "array(" not in text
        assert len(text) < 240
    assert "imu" in repr(made.vehicles["v"].sensors)
    assert "10 steps" in repr(made.snapshot())


def test_a_moment_comes_back() -> None:
    made = sp.World(SCENE)
    made.run(0.05)
    kept = made.snapshot()
    made.run(0.05)
    made.restore(kept)
    assert made.time == pytest.approx(0.05)


@pytest.mark.parametrize("what", ["states", "controls"])
@pytest.mark.parametrize("values", [1j, "1"])
def test_arrays_of_other_things_than_real_numbers(what: str, values: Any) -> None:
    car = sp.vehicles.kinematic_bicycle()
    fleet = sp.Fleet(car, dt=0.01)
    states = np.zeros((2, len(car.State._fields)))
    controls = np.zeros((3, 2, len(car.Input._fields)))
    given: dict[str, Any] = {"states": states, "controls": controls}
    given[what] = np.full(given[what].shape, values)
    with pytest.raises(InvalidValue, match="array of numbers, real ones"):
        fleet.rollout(given["states"], given["controls"])
