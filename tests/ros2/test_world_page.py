"""The live page of a world that a node runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ros2.world_stand import TWO, Stand, scene
from skidpad.ros2.nodes.world import page_of
from skidpad.view.live.messages import Moment
from view.live.clients import Client
from view.pages.conftest import browser as browser
from waiting import PATIENCE


@contextmanager
def running(stand: Stand) -> Iterator[None]:
    """Let its loop turn in a thread of its own."""

    def turn() -> None:
        while not stand.loop.ending:
            stand.loop.turn()

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield
    finally:
        stand.loop.ending = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_world_is_watched_while_its_node_runs() -> None:
    stand = Stand(scene(*TWO))
    truths: dict[float, float] = {}
    with page_of(stand.program, port=0) as address:
        shown = stand.program.watch
        assert shown is not None
        take_frame = shown.show

        def show() -> None:
            truths[stand.world.time] = stand.world.vehicles["r1"].truth.x
            take_frame()

        shown.show = show  # type: ignore[method-assign]
        with running(stand), Client(address) as client:
            stand.twist("/r1/cmd_vel", 0.8, 0.5)
            # Scans are in the frames after a reading, which a busy server may skip.
            moment = client.until(
                lambda it: isinstance(it, Moment) and it.time > 0.3 and len(it.scans) == 2
            )
            assert client.value("x", "r1", moment) == pytest.approx(truths[moment.time], rel=1e-6)
            client.say("take")
            client.say("pause")
            said = client.text("error")["text"]
            assert said == "/mvsim is a node of ROS 2: drive it by its topics"
            status = client.text("status")
            assert status["paused"] is False
            assert status["watched"] == said
            before, done = stand.world.time, threading.Event()
            stand.exchange.call("/mvsim/reset", b"\0\1\0\0\0", lambda _: done.set())
            client.until(lambda it: isinstance(it, Moment) and it.time < before)
            assert done.wait(PATIENCE)
    assert stand.program.watch is None
    stand.run(1)


@pytest.mark.slow
def test_the_page_offers_nothing_that_it_would_refuse(browser: Any) -> None:
    stand = Stand(scene(*TWO))
    with page_of(stand.program, port=0) as address, running(stand):
        page = browser.new_page()
        page.set_default_timeout(1000.0 * PATIENCE)
        page.goto(address)
        page.get_by_text("/mvsim is a node of ROS 2: drive it by its topics").wait_for()
        for name in ("#wheel", "#record", "#reset"):
            assert page.locator(name).is_hidden()
        page.close()
