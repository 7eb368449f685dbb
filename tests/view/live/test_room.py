"""The room with a clock of its own: who is told what, and who loses the wheel."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue, MissingExtra
from skidpad.view.live import messages as said
from skidpad.view.live.app import MOST_VIEWERS, STUCK, Room, Viewer
from skidpad.view.live.messages import Frame, Moment, Said
from skidpad.view.live.server import LiveServer
from skidpad.view.live.session import LetGo


class Place:
    """A room with nothing behind it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.submitted: list[tuple[int, said.Message]] = []
        self.room = Room(self.submit, 60.0, lambda: self.now)

    def submit(self, client: int, message: said.Message) -> None:
        self.submitted.append((client, message))


def texts(viewer: Viewer) -> list[dict[str, Any]]:
    return [json.loads(item) for item in iter(viewer.poll, None) if isinstance(item, str)]


def test_who_comes_in_is_told_everything_first() -> None:
    place = Place()
    status = {"paused": True, "factor": 2.0, "recording": True}
    place.room.deliver(
        [
            Said("stage", {"stage": '{"title":"yard"}'}),
            Said("vehicles", {"vehicles": [{"name": "car"}]}),
            Said("status", status),
            Frame(Moment(1, 0, 3.0, np.zeros(2), ()), frozenset()),
        ]
    )
    viewer = place.room.join()
    hello = json.loads(str(viewer.poll()))
    assert hello == {
        "type": "hello",
        "protocol": 1,
        "you": 1,
        "driver": None,
        "rate": 60.0,
        "vehicles": [{"name": "car"}],
        "paused": True,
        "recording": True,
        "factor": 2.0,
        "stage": {"title": "yard"},
    }
    assert json.loads(str(viewer.poll()))["viewers"] == 1
    assert isinstance(viewer.poll(), bytes), "the latest frame, though the world is paused"


def test_a_frame_of_the_stage_before_is_not_shown_after_the_new_one() -> None:
    place = Place()
    viewer = place.room.join()
    place.room.deliver(
        [
            Frame(Moment(1, 0, 0.0, np.zeros(2), ()), frozenset()),
            Said("stage", {"stage": "{}"}),
        ]
    )
    assert [text["type"] for text in texts(viewer)] == ["hello", "status", "stage"]
    assert viewer.poll() is None


def test_a_driver_who_says_nothing_for_a_minute_loses_the_wheel() -> None:
    place = Place()
    driver, other = place.room.join(), place.room.join()
    place.room.hear(driver, '{"type":"take"}')
    place.now = 59.0
    assert not place.room.tick()
    place.room.hear(other, '{"type":"take"}')
    assert "has the wheel" in texts(other)[-1]["text"]
    place.now = 61.0
    place.room.tick()
    assert isinstance(place.submitted[-1][1], LetGo)
    assert "the wheel is free" in "".join(t.get("text", "") for t in texts(driver))
    place.room.hear(other, '{"type":"take"}')
    assert texts(other)[-1]["driver"] == other.number


def test_only_the_driver_reaches_the_session() -> None:
    place = Place()
    driver, other = place.room.join(), place.room.join()
    place.room.hear(driver, '{"type":"take"}')
    place.room.hear(other, '{"type":"pause"}')
    assert place.submitted == []
    place.room.hear(driver, '{"type":"pause"}')
    assert place.submitted == [(driver.number, said.Pause())]
    place.room.leave(driver)
    assert isinstance(place.submitted[-1][1], LetGo)


def test_a_session_that_is_too_busy_is_an_error_for_the_driver_only() -> None:
    def busy(client: int, message: said.Message) -> None:
        raise InvalidValue("too busy")

    room = Room(busy, 60.0, lambda: 0.0)
    driver = room.join()
    room.hear(driver, '{"type":"take"}')
    room.hear(driver, '{"type":"pause"}')
    assert texts(driver)[-1]["text"] == "too busy"
    room.leave(driver)


def test_who_does_not_read_is_found_stuck() -> None:
    place = Place()
    viewer, other = place.room.join(), place.room.join()
    viewer.sending_since = other.sending_since = 0.0
    place.now = STUCK - 0.1
    assert place.room.tick() == []
    other.sending_since = None
    place.now = STUCK + 0.1
    assert place.room.tick() == [viewer]


def test_there_is_an_end_to_viewers() -> None:
    place = Place()
    for _ in range(MOST_VIEWERS):
        assert place.room.join().closing is None
    late = place.room.join()
    assert late.closing == 1013
    (error,) = texts(late)
    assert f"{MOST_VIEWERS} viewers" in error["text"]


@pytest.mark.parametrize("package", ["uvicorn", "starlette", "websockets"])
def test_what_is_not_installed_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf'needs {package}.*pip install "skidpad\[viewer\]"'):
        LiveServer(None)  # pyright: ignore[reportArgumentType]
