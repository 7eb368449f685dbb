"""What arrives waits in order, and a flood pushes out only its own."""

from __future__ import annotations

import threading

from skidpad.ros2.node import Channel, Inbox
from waiting import PATIENCE


def drained(inbox: Inbox) -> list[object]:
    taken = []
    while (entry := inbox.take()) is not None:
        taken.append(entry[1])
    return taken


def test_the_order_is_that_of_arrival() -> None:
    inbox, a, b = Inbox(), Channel(print, 10), Channel(print, 10)
    for k in range(6):
        inbox.put(a if k % 2 else b, k)
    assert drained(inbox) == [0, 1, 2, 3, 4, 5]
    assert inbox.take() is None


def test_a_flood_pushes_out_its_own_oldest() -> None:
    inbox, flooded, other = Inbox(), Channel(print, 3), Channel(print, 3)
    inbox.put(other, "first")
    for k in range(100_000):
        inbox.put(flooded, k)
    inbox.put(other, "last")
    assert inbox.dropped == 99_997
    assert drained(inbox) == ["first", 99_997, 99_998, 99_999, "last"]


def test_a_flood_behind_one_that_waits_takes_no_room() -> None:
    inbox, flooded, other = Inbox(), Channel(print, 3), Channel(print, 3)
    inbox.put(other, "waits")
    for k in range(100_000):
        inbox.put(flooded, k)
    assert inbox.size < 1000


def test_waiting_ends_when_something_comes() -> None:
    inbox, channel = Inbox(), Channel(print, 3)
    assert not inbox.wait(0.0)
    threading.Timer(0.01, inbox.put, (channel, 1)).start()
    assert inbox.wait(PATIENCE)
    assert inbox.wait(0.0)
