"""A session with a clock of its own: frames of a machine that stalls."""

from __future__ import annotations

from itertools import pairwise
from threading import Event

from skidpad.view.live.messages import Frame, decode
from skidpad.view.live.session import Session
from view.live.worlds import ROBOT, arena
from waiting import PATIENCE

_FRAMES = 60


class StallingClock:
    """Looks are 0.1 ms apart, but for every fiftieth, which comes 50 ms late."""

    def __init__(self) -> None:
        self._looks, self._now = 0, 0.0

    def __call__(self) -> float:
        self._looks += 1
        self._now += 0.05 if self._looks % 50 == 0 else 1e-4
        return self._now


def test_no_moment_is_shown_twice_on_a_machine_that_stalls() -> None:
    place = arena(ROBOT)
    session, channels = Session(place, clock=StallingClock()), len(place.row())
    times: list[float] = []
    enough = Event()

    def take() -> None:
        frames = [one for one in session.outbox.take() if isinstance(one, Frame)]
        times.extend(decode(one.whole, channels).time for one in frames)
        if len(times) >= _FRAMES:
            enough.set()

    session.outbox.on_arrival(take)
    session.start()
    assert enough.wait(PATIENCE)
    session.stop()
    assert all(after > before for before, after in pairwise(times)), times
