"""What a vehicle of a page touches, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chromium import CHROMIUM
from skidpad.view.pages.drive import Place, Solid, plane_place, write_drive_page
from view.pages.drives import CARS
from view.pages.films import SMALL

Open = Callable[..., Any]


def walled() -> Place:
    """A car with a wall 5 m ahead, and a rail beside it."""
    wall = Solid("a wall", ((5.0, -30.0), (6.0, -30.0), (6.0, 30.0), (5.0, 30.0)))
    rail = Solid("a rail", ((-5.0, 2.0), (40.0, 6.0)), closed=False)
    return replace(plane_place(CARS["explicit"]()), solids=[wall, rail])


@pytest.fixture(scope="module")
def walled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("touching") / "walled.html"
    write_drive_page(walled(), path)
    return path


def test_a_touch_brings_the_car_to_rest_where_it_was_free(opened: Open, walled_file: Path) -> None:
    place = walled()
    page = opened(walled_file, viewport=SMALL)
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.touch.name === 'a wall'")
    page.keyboard.up("ArrowUp")
    x = page.evaluate("skidpad.world.free[0]")
    front = max(corner[0] for outline in place.vehicle.geometry.outlines for corner in outline)
    assert 5.0 - front - 0.3 < x < 5.0 - front
    assert "Touched a wall: reverse, or R to reset." in page.text_content("#toasts")
    page.keyboard.down("ArrowDown")
    page.wait_for_function(f"skidpad.poseOf('single_track').x < {x - 0.5}")


def test_a_car_at_a_wall_can_be_steered_away_without_reverse(
    opened: Open, walled_file: Path
) -> None:
    page = opened(walled_file)
    pushed, steered = page.evaluate(
        """() => {
        const { world } = skidpad;
        const { vehicle } = world;
        world.send({ type: "pause" });
        world.reset();
        const hold = (left, steps) => {
          for (let k = 0; k < steps; k++) {
            world.send({ type: "drive", ahead: 1, left, handbrake: false });
            world.stepWith(vehicle.command(world.axes, true));
          }
          vehicle.motion();
          return [...vehicle.pose, vehicle.velocity[0]];
        };
        return [hold(0, 600), hold(-1, 600)];
        }"""
    )
    assert abs(pushed[2]) < 0.01
    assert abs(pushed[3]) < 0.3, "the wall holds it"
    x, _, yaw, speed = steered
    assert x < 5.0, "it is on its side of the wall"
    assert yaw < -1.5
    assert speed > 1.0


def test_a_touch_keeps_steering_and_what_is_held(opened: Open, walled_file: Path) -> None:
    page = opened(walled_file)
    steer, held, after = page.evaluate(
        """() => {
        const { world } = skidpad;
        const { vehicle } = world;
        world.send({ type: "pause" });
        world.reset();
        const axes = { ahead: 1, left: 0.5, handbrake: false };
        for (let k = 0; k < 50; k++) vehicle.step(vehicle.command(axes, true));
        const steer = vehicle.x[vehicle.about.state_names.indexOf("steer")];
        const held = Array.from(vehicle.memory.subarray(0, 2));
        vehicle.rest(world.free);
        vehicle.motion();
        const now = vehicle.x[vehicle.about.state_names.indexOf("steer")];
        return [steer, held, [now, ...vehicle.memory.subarray(0, 2), ...vehicle.velocity]];
        }"""
    )
    assert steer > 0.1
    assert held == [1.0, 0.5]
    assert after == [steer, *held, 0.0, 0.0, 0.0]


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
    x: float, y: float, yaw: float, name: str, touching: Callable[..., str]
) -> None:
    assert touching(x, y, yaw) == name


@pytest.mark.slow_cases("-50.0-0.0-False", "3.0-1.2-False")
@pytest.mark.parametrize(
    ("x", "y", "occupied"), [(1.2, 1.2, True), (3.0, 1.2, False), (-50.0, 0.0, False)]
)
def test_a_body_on_an_occupied_cell_touches_it(
    x: float, y: float, occupied: bool, walled_page: Any
) -> None:
    name = walled_page.evaluate(
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
def walled_page(browser: Any, walled_file: Path) -> Generator[Any]:
    """The page of `walled`, for tests that leave it as it is."""
    with CHROMIUM.empty_page() as page:
        page.goto(walled_file.as_uri())
        page.wait_for_function("window.skidpad?.world")
        page.evaluate("skidpad.world.send({ type: 'pause' })")
        yield page


@pytest.fixture(scope="module")
def touching(walled_page: Any) -> Callable[..., str]:
    """What a box of 2 m by 1 m at a pose touches in the surroundings of `walled`."""
    return lambda x, y, yaw: walled_page.evaluate(
        """([x, y, yaw]) => {
        const { surroundings, parts } = skidpad.world;
        const box = parts[0].ring.constructor.through([[-1, -0.5], [1, -0.5], [1, 0.5], [-1, 0.5]]);
        return surroundings.touched([box.at(x, y, yaw)]);
        }""",
        [x, y, yaw],
    )
