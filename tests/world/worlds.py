"""Worlds for the tests of the reader."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from skidpad.world.scene import Scene, WorldError, WorldWarning
from skidpad.world.xml import loads

DATA = Path(__file__).parents[1] / "data"
WORLDS = DATA / "worlds"
BOT = "<dynamics class='differential'/>"


def world(inside: str, **options: Any) -> Scene:
    """A world with these elements; its warnings are left in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return loads(f"<mvsim_world>{inside}</mvsim_world>", **options)


def refused(inside: str, **options: Any) -> str:
    """What is said when a world with these elements is refused."""
    with pytest.raises(WorldError) as caught:
        world(inside, **options)
    return str(caught.value)


def block(inside: str = "", **options: Any) -> Any:
    """The one block of a world."""
    (found,) = world(f"<block><init_pose>0 0 0</init_pose>{inside}</block>", **options).blocks
    return found


def vehicle(inside: str, **options: Any) -> Any:
    """The one vehicle of a world."""
    (found,) = world(
        f"<vehicle name='v'><init_pose>0 0 0</init_pose>{inside}</vehicle>", **options
    ).vehicles
    return found
