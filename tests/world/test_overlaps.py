"""What lies in each other at the start is named, once."""

from __future__ import annotations

import warnings

import pytest

import skidpad as sp
from skidpad.world.scene import WorldWarning
from world.grounds import plane
from world.worlds import BOT, world

BOX = "<shape><pt>-.5 -.5</pt><pt>.5 -.5</pt><pt>.5 .5</pt><pt>-.5 .5</pt></shape>"


def robot(name: str, pose: str) -> str:
    return f"<vehicle name='{name}'><init_pose>{pose}</init_pose>{BOT}</vehicle>"


def crate(name: str, pose: str, more: str = "") -> str:
    return f"<block name='{name}'><init_pose>{pose}</init_pose>{more}{BOX}</block>"


def warned(inside: str) -> list[str]:
    """What is said about a world when it is made, stepped and reset."""
    scene = world(inside)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = sp.World(scene)
        made.step()
        made.reset()
        made.run(0.05)
    return [str(w.message) for w in caught if issubclass(w.category, WorldWarning)]


@pytest.mark.parametrize(
    ("inside", "pair"),
    [
        (robot("a", "0 0 0") + robot("b", "0.5 0 30"), "a and b by"),
        (robot("a", "0 0 0") + crate("c", "0.8 0 0"), "a and c by"),
        (crate("c", "0 0 0") + crate("d", "0.9 0 0"), "c and d by 0.1 m"),
        (crate("c", "0 0 0", "<static>true</static>") + robot("z", "0 0 0"), "c and z by"),
        (robot("a", "0 0 0") + "<walls><shape><pt>0 -1</pt><pt>0 1</pt></shape></walls>", "a and"),
    ],
)
def test_pairs_in_each_other_are_named_once(inside: str, pair: str) -> None:
    (text,) = warned(inside)
    assert pair in text


@pytest.mark.parametrize(
    "inside",
    [
        robot("a", "0 0 0") + robot("b", "3 0 0"),
        # Side by side, and at an angle that only boxes around them would share.
        crate("c", "0 0 0") + crate("d", "1 0 0"),
        crate("c", "0 0 45") + crate("d", "1.1 1.1 45"),
        # What stands still may stand in each other, and what hangs together may too.
        crate("c", "0 0 0", "<static>true</static>") + crate("d", "0 0 0", "<static>true</static>"),
        crate("c", "0 0 0")
        + crate("d", "0.5 0 0")
        + "<joint type='revolute' body_a='c' body_b='d' anchor_a='0 0' anchor_b='-.5 0'/>",
        # A ramp is driven onto.
        robot("a", "1 0 0") + "<block name='ramp'><static>true</static><init_pose>0 0 0</init_pose>"
        "<geometry type='ramp' lx='6' ly='2' lz='0.3'/></block>",
    ],
)
def test_what_only_touches_or_may_overlap_is_not_named(inside: str) -> None:
    assert not warned(inside)


def test_floors_are_told_apart() -> None:
    upstairs = "<vehicle name='b'><init_pose3d>0 0 3 0 0 0</init_pose3d>" + BOT + "</vehicle>"
    assert not warned(plane(3.0) + robot("a", "0 0 0") + upstairs)


def test_many_pairs_are_counted() -> None:
    scene = world("".join(robot(f"r{k:02}", "0 0 0") for k in range(10)))
    with pytest.warns(WorldWarning, match="r00 and r01 by .* and 33 more"):
        sp.World(scene)
