"""The live page in a real browser: keys drive the car, others watch, and it survives a restart."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from chromium import CHROMIUM, complaints
from skidpad.view.live.server import LiveServer
from skidpad.view.live.session import Session
from view.live.clients import served
from view.live.worlds import CAR, ROBOT, WALL, arena
from view.pages.conftest import browser as browser
from view.pages.films import SMALL
from waiting import PATIENCE

Open = Callable[[str], Any]
X = "skidpad.poseOf('car').x"
SPEED = "skidpad.film.series.get(skidpad.app.stage.bodies[0].channels.v_x, skidpad.film.series.count - 1)"  # noqa: E501


ALONG = """Number([...document.querySelectorAll('#figures div')]
  .find((tile) => tile.firstChild?.textContent === 'Along')
  .querySelector('b').textContent.replace('−', '-'))"""
"""What the page shows as acceleration along the car, in g."""
TOASTS = """window.said = [];
document.addEventListener("DOMContentLoaded", () => {
  const note = (changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) window.said.push(node.textContent);
  };
  new MutationObserver(note).observe(document.getElementById("toasts"), { childList: true, subtree: true });
});"""  # noqa: E501


@pytest.fixture
def session(request: pytest.FixtureRequest) -> Session:
    return Session(arena(CAR, ROBOT, WALL), factor=getattr(request, "param", 1.0))


@pytest.fixture
def server(session: Session) -> Iterator[LiveServer]:
    with served(session) as running:
        yield running


@pytest.fixture
def visit(browser: Any) -> Generator[Open]:
    """Opens the page of a server in a window of its own; an error on it fails the test."""
    said: list[list[str]] = []
    with ExitStack() as stack:

        def open_page(url: str) -> Any:
            page = stack.enter_context(CHROMIUM.empty_page(before=TOASTS, viewport=SMALL))
            said.append(
                stack.enter_context(
                    complaints(page, (url.partition("?")[0], "blob:", "data:", "ws:"))
                )
            )
            page.goto(url)
            until(page, "(window.skidpad?.film.series?.count ?? 0) > 3")
            return page

        yield open_page
    assert not any(said)


def until(page: Any, wanted: str) -> None:
    """Wait until an expression is true; the page allows no evaluation that comes from itself."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(wanted):
        assert time.monotonic() < end, f"{wanted} is not so; {X} = {page.evaluate(X)}"
        page.wait_for_timeout(20)


def toast(page: Any, text: str) -> None:
    """Wait until something was said; it may be gone again by now."""
    until(page, f"window.said.some((text) => text.includes({text!r}))")


@pytest.mark.slow
@pytest.mark.parametrize("session", [4.0], indirect=True, ids=["four times as fast"])
def test_keys_drive_the_car_into_the_wall_and_out_again(
    server: LiveServer, session: Session, visit: Open
) -> None:
    page = visit(server.url)
    assert abs(page.evaluate(X)) < 0.1
    page.keyboard.down("ArrowUp")
    until(page, f"{X} > 3")
    page.get_by_text("You drive").wait_for()
    until(page, f"{X} > 20 && {SPEED} < 0.5")
    assert page.evaluate(X) < 24.5, "the wall holds"
    until(page, f"Math.abs({ALONG}) < 0.1")
    touched = [{event.a, event.b} for event in session.arena.world.contact_events]
    assert {"car", "wall"} in touched
    page.keyboard.up("ArrowUp")
    page.keyboard.down("KeyS")
    until(page, f"{SPEED} < -1")
    page.keyboard.up("KeyS")
    until(page, f"Math.abs({SPEED}) < 0.1")
    stands = page.evaluate(X)
    assert stands < 23.0


def test_left_is_left_and_the_handbrake_stops(server: LiveServer, visit: Open) -> None:
    page = visit(server.url)
    page.keyboard.down("w")
    until(page, f"{SPEED} > 4")
    page.keyboard.down("a")
    until(page, "skidpad.poseOf('car').yaw > 0.4")
    page.keyboard.up("a")
    page.keyboard.up("w")
    page.keyboard.down(" ")
    until(page, f"{SPEED} < 0.3")
    page.keyboard.up(" ")


@pytest.mark.parametrize("session", [0.5], indirect=True, ids=["half as fast"])
def test_closing_the_page_stops_the_car(server: LiveServer, session: Session, visit: Open) -> None:
    """Far from the wall, however long a busy machine takes to close a page."""
    page, watcher = visit(server.url), visit(server.url)
    page.keyboard.down("ArrowUp")
    until(page, f"{SPEED} > 2")
    page.close()
    watcher.get_by_text("Nobody drives").wait_for()
    until(watcher, f"Math.abs({SPEED}) < 0.1")
    assert watcher.evaluate(X) < 23.0


@pytest.mark.slow
def test_two_watch_and_one_drives(server: LiveServer, visit: Open) -> None:
    one, two = visit(server.url), visit(server.url)
    one.keyboard.down("ArrowUp")
    one.get_by_text("You drive").wait_for()
    until(two, f"{X} > 2")
    two.get_by_text("Viewer 1 drives").wait_for()
    two.keyboard.press("ArrowDown")
    toast(two, "Viewer 1 has the wheel")
    one.keyboard.up("ArrowUp")
    one.get_by_role("button", name="Release the wheel").click()
    two.get_by_text("Nobody drives").wait_for()
    two.keyboard.down("ArrowDown")
    two.get_by_text("You drive").wait_for()
    one.get_by_text("Viewer 2 drives").wait_for()
    two.keyboard.up("ArrowDown")


def test_a_cone_is_dropped_by_a_click(server: LiveServer, session: Session, visit: Open) -> None:
    page = visit(server.url)
    page.locator("[data-drop=cone]").click()
    at = page.evaluate("skidpad.screenOf(6, 10)")
    box = page.locator("#front").bounding_box()
    page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])
    until(page, "skidpad.app.stage.bodies.some((body) => body.name === 'cone 1')")
    x, y = session.arena.world.block("cone 1")[:2]
    assert (x, y) == pytest.approx((6.0, 10.0), abs=0.5)


@pytest.mark.slow
def test_the_page_comes_back_after_a_restart(visit: Open) -> None:
    with served(Session(arena(CAR, ROBOT, WALL))) as first:
        page = visit(first.url)
        page.keyboard.down("ArrowUp")
        until(page, f"{X} > 2")
        page.keyboard.up("ArrowUp")
    page.get_by_text("The server is gone").wait_for()
    with served(Session(arena(CAR, ROBOT, WALL)), port=first.port):
        toast(page, "Connected again")
        until(page, f"Math.abs({X}) < 0.5")
        page.keyboard.down("ArrowUp")
        until(page, f"{X} > 2")
        page.keyboard.up("ArrowUp")
