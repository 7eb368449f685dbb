"""A page that drives, in a browser and from disk: keys, fingers, parameters, failures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.control.car import abilities_of
from skidpad.control.keyboard import Axes, Memory, demand_of_keys, demand_to_stop
from skidpad.core import record
from view.pages.drives import CARS, LARGEST
from view.pages.films import SMALL

Open = Callable[..., Any]


def test_keys_drive_the_car_and_it_stops_when_they_are_let_go(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    path = pages("explicit")
    assert path.stat().st_size < LARGEST
    page = opened(path, viewport=SMALL)
    assert page.locator(".click-first").count() == 0, "only a page in a frame asks for a click"
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.poseOf('single_track').x > 1")
    page.keyboard.down("ArrowLeft")
    page.wait_for_function("skidpad.poseOf('single_track').yaw > 0.2")
    page.keyboard.up("ArrowLeft")
    page.keyboard.up("ArrowUp")
    page.keyboard.down("Space")
    page.wait_for_function(
        "skidpad.world.vehicle.motion(), Math.abs(skidpad.world.vehicle.velocity[0]) < 0.1"
    )
    page.keyboard.up("Space")
    assert "×" in page.text_content("#link-text")
    assert page.text_content("#link-text").endswith(("fused", "exact"))


def test_a_gamepad_drives(opened: Open, pages: Callable[[str], Path]) -> None:
    pad = """navigator.getGamepads = () => [{
      connected: true, mapping: "standard", axes: [-0.5, 0],
      buttons: Array.from({ length: 16 }, (_, k) => ({ value: k === 7 ? 1 : 0, pressed: k === 7 })),
    }];"""
    page = opened(pages("explicit"), before=pad)
    page.wait_for_function("skidpad.poseOf('single_track').yaw > 0.1")


def test_time_out_of_sight_is_not_caught_up(opened: Open, pages: Callable[[str], Path]) -> None:
    page = opened(pages("explicit"))
    owed = page.evaluate(
        """async () => {
        const { Pace } = await import("skidpad/pace.js");
        const pace = new Pace(0.01);
        const seen = [];
        for (const now of [5.0, 5.02, 20.0]) {
          pace.tick(now);
          seen.push(pace.owed);
          pace.owed = 0;
        }
        pace.tick(20.05);
        pace.restart();
        pace.tick(90.0);
        return [...seen, pace.owed];
        }"""
    )
    assert owed == pytest.approx([0.0, 0.02, 0.1, 0.0])


def test_a_damaged_page_says_so(opened: Open, pages: Callable[[str], Path], tmp_path: Path) -> None:
    whole = pages("explicit").read_text()
    at = whole.index('id="film">') + 2000
    damaged = tmp_path / "damaged.html"
    damaged.write_text(whole[:at] + "AAAA" + whole[at + 4 :])
    page = opened(damaged)
    assert page.text_content("#card h2") == "This vehicle cannot be driven"


def test_a_finger_drives_on_a_phone(opened: Open, pages: Callable[[str], Path]) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "touch": True}
    page = opened(pages("explicit"), **phone)
    box = page.locator(".stick").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.evaluate(
        """([x, y]) => {
        const stick = document.querySelector(".stick");
        stick.setPointerCapture = () => {};
        const touch = { pointerId: 7, pointerType: "touch", clientX: x, bubbles: true };
        stick.dispatchEvent(new PointerEvent("pointerdown", { ...touch, clientY: y }));
        stick.dispatchEvent(new PointerEvent("pointermove", { ...touch, clientY: y - 50 }));
        }""",
        middle,
    )
    page.wait_for_function("skidpad.poseOf('single_track').x > 2")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390, "nothing lies beyond the screen"


def test_commands_are_those_of_the_driver_of_live_pages(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    car = CARS["explicit"]()
    can, dt = abilities_of(car), 0.01
    plan: list[tuple[Axes, bool]] = [
        *[(Axes(1.0, 0.4), True)] * 60,
        *[(Axes(-1.0, -1.0), True)] * 40,
        *[(Axes(0.0, 0.0, True), True)] * 20,
        *[(Axes(), False)] * 20,
    ]
    page = opened(pages("explicit"))
    found = page.evaluate(
        """(plan) => {
        const { world } = skidpad;
        const { vehicle } = world;
        world.send({ type: "pause" });
        vehicle.reset();
        return plan.map(([[ahead, left, handbrake], held]) => {
          const command = vehicle.command({ ahead, left, handbrake }, held);
          vehicle.step(command);
          return Array.from(command);
        });
        }""",
        [[list(axes), held] for axes, held in plan],
    )
    sim, memory, expected = sp.Simulator(car, dt), Memory(), list[Any]()
    for axes, held in plan:
        now = car.body.velocity(sim.state, sim.input, car.params)
        if held:
            demand, memory = demand_of_keys(axes, memory, now, can, dt)
        else:
            demand, memory = demand_to_stop(memory, now, can, dt)
        command = car.body.command(sim.state, demand, car.params)
        expected.append(record.flatten(command))
        sim.step(command)
    assert np.array(found) == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_parameters_are_numbers_with_ranges_and_can_be_put_back(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    page.click("#all-params summary")
    page.fill("[data-param=m]", "1500")
    page.press("[data-param=m]", "Enter")
    place = record.names(CARS["explicit"]().model.Params).index("m")
    mass = f"skidpad.world.vehicle.p[{place}]"
    assert page.evaluate(mass) == 1500.0
    page.fill("[data-param=m]", "-3")
    page.press("[data-param=m]", "Enter")
    page.wait_for_function("document.querySelector('.toast.error')")
    assert "m = -3 must be greater than 0" in page.text_content(".toast.error")
    assert page.evaluate(mass) == 1500.0
    page.click("text=as at the start")
    assert page.evaluate(mass) == CARS["explicit"]().params.m
    assert page.input_value("[data-param=m]") == str(CARS["explicit"]().params.m).removesuffix(".0")


def test_a_step_that_fails_stops_the_car_and_reset_goes_on(
    opened: Open, pages: Callable[[str], Path]
) -> None:
    page = opened(pages("explicit"))
    page.evaluate("skidpad.world.vehicle.p.fill(1e300)")
    page.keyboard.down("ArrowUp")
    page.wait_for_function("skidpad.world.failed")
    assert "Reset to start again" in page.text_content("#banner")
    assert page.evaluate("Array.from(skidpad.world.vehicle.x).every(Number.isFinite)")
    assert page.evaluate("Number.isFinite(skidpad.poseOf('single_track').x)")
    page.keyboard.press("k")
    page.wait_for_function("document.querySelector('.toast.error')")
    page.evaluate("skidpad.world.vehicle.p.set(skidpad.world.head.vehicle.params)")
    page.keyboard.press("r")
    page.wait_for_function("skidpad.world.vehicle.time > 0.2 && !skidpad.world.failed")
    assert not page.is_visible("#banner")


def test_a_step_that_is_not_solved_is_not_made(opened: Open, pages: Callable[[str], Path]) -> None:
    page = opened(pages("implicit"))
    before, after, said = page.evaluate(
        """() => {
        const { world } = skidpad;
        const before = Array.from(world.vehicle.x);
        world.vehicle.about.tolerance = -1;
        world.stepWith(Float64Array.from(world.head.vehicle.input));
        return [before, Array.from(world.vehicle.x), document.getElementById("banner").textContent];
        }"""
    )
    assert after == before
    assert "could not be solved" in said
