"""What a vehicle of a page touches, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skidpad.viewer.drive_page import Place, plane_place, write_drive_page
from skidpad.viewer.drive_page.places import Solid
from viewer.drives import CARS

Open = Callable[..., Any]


def walled() -> Place:
    """A car with a wall 5 m ahead, and a rail beside it."""
    wall = Solid("a wall", ((5.0, -30.0), (6.0, -30.0), (6.0, 30.0), (5.0, 30.0)))
    rail = Solid("a rail", ((-5.0, 2.0), (40.0, 6.0)), closed=False)
    return replace(plane_place(CARS["explicit"]()), solids=[wall, rail])


def test_a_touch_brings_the_car_to_rest_where_it_was_free(opened: Open, tmp_path: Path) -> None:
    place = walled()
    write_drive_page(place, tmp_path / "walled.html")
    page = opened(tmp_path / "walled.html")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.touch.name === 'a wall'")
    page.keyboard.up("ArrowUp")
    x = page.evaluate("skidpad.world.free[0]")
    front = max(corner[0] for outline in place.vehicle.geometry.outlines for corner in outline)
    assert 5.0 - front - 0.3 < x < 5.0 - front
    assert "Touched a wall" in page.text_content("#toasts")
    page.keyboard.down("ArrowDown")
    page.wait_for_function(f"skidpad.poseOf('single_track').x < {x - 0.5}")


@pytest.mark.parametrize(
    ("x", "y", "yaw", "name"),
    [
        (0.0, 0.0, 0.0, ""),
        (4.5, 0.0, 0.0, "a wall"),
        (5.5, 0.0, 1.0, "a wall"),
        (0.0, 2.4, 0.0, "a rail"),
        (0.0, 4.5, 0.0, ""),
    ],
)
def test_outlines_touch_where_they_cross_or_lie_in_each_other(
    x: float, y: float, yaw: float, name: str, touching: Callable[..., Sequence[str]]
) -> None:
    assert touching(x, y, yaw) == name


@pytest.mark.parametrize(
    ("x", "y", "occupied"), [(1.2, 1.2, True), (3.0, 1.2, False), (-50.0, 0.0, False)]
)
def test_a_body_on_an_occupied_cell_touches_it(
    x: float, y: float, occupied: bool, opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    name = page.evaluate(
        """async ([x, y]) => {
        const { Ring, Surroundings } = await import("skidpad/touching.js");
        const cells = new Uint8Array(16).fill(128);
        cells[5] = 255;
        const grid = { x: 0, y: 0, resolution: 1, width: 4, height: 4, cells };
        const small = Ring.through([[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]]);
        return new Surroundings([], [grid]).touched([small.at(x, y, 0.3)]);
        }""",
        [x, y],
    )
    assert name == ("an occupied cell" if occupied else "")


@pytest.fixture(scope="module")
def touching(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a box of 2 m by 1 m at a pose touches in the surroundings of `walled`."""
    path = tmp_path_factory.mktemp("touching") / "walled.html"
    write_drive_page(walled(), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_function("window.skidpad?.world")
    yield lambda x, y, yaw: page.evaluate(
        """([x, y, yaw]) => {
        const { surroundings, parts } = skidpad.world;
        const box = parts[0].ring.constructor.through([[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]);
        return surroundings.touched([box.at(x, y, yaw)]);
        }""",
        [x, y, yaw],
    )
    page.close()
