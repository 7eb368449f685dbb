"""A world that somebody else runs: to be watched on the page, and not to be driven there."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter

from ...stage.world_stage import WorldStage
from ...units import per_s, s
from ...world.world import World
from .frames import Frame, Moment, Ranges
from .messages import Message
from .outbox import Outbox
from .session import LetGo

_STATUS: s = 0.5
"""Between two status messages."""


class WatchedWorld:
    """The frames of a world, taken by the thread that steps it.

    Args:
        world: what is shown.
        reason: why it cannot be driven here, told to those who try.
        title: of what is shown.
        rate: frames a second.
        clock: a clock in s that never goes back.
    """

    def __init__(
        self,
        world: World,
        reason: str,
        *,
        title: str = "",
        rate: per_s = 30.0,
        clock: Callable[[], s] = perf_counter,
    ) -> None:
        self.outbox, self.rate = Outbox(), rate
        self._world, self._reason, self._title, self._clock = world, reason, title, clock
        self._sequence, self._seen = 0, dict[int, s]()
        self._next_frame = self._next_status = clock()
        self._noted = clock(), world.time
        self._view = WorldStage(world, title)
        self._stage = self._stage_text()

    def _stage_text(self) -> str:
        return json.dumps(self._view.stage.to_json(), separators=(",", ":"), allow_nan=False)

    def start(self) -> None:
        """Say what there is to see."""
        self.outbox.say("stage", stage=self._stage)
        self.outbox.say("vehicles", vehicles=[])
        self._report(0.0)

    def stop(self) -> None:
        """The world goes on without being watched."""

    def submit(self, client: int, message: Message) -> None:
        """Tell a client that this is not the place."""
        if not isinstance(message, LetGo):
            self.outbox.say("error", to=client, text=self._reason)

    def show(self) -> None:
        """Take a frame if it is time for one; from the thread that steps the world."""
        now = self._clock()
        if now >= self._next_frame:
            self._next_frame = max(self._next_frame + 1.0 / self.rate, now)
            self.outbox.frame(self._frame())
        if now >= self._next_status:
            self._next_status = now + _STATUS
            (then, before), self._noted = self._noted, (now, self._world.time)
            self._report((self._world.time - before) / (now - then) if now > then else 0.0)

    def renew(self) -> None:
        """The world began anew; from the thread that steps it."""
        self._view = WorldStage(self._world, self._title)
        self._seen.clear()
        self._noted = self._clock(), self._world.time
        self._next_frame = self._clock()

    def _frame(self) -> Frame:
        scans: list[Ranges] = []
        fresh: set[int] = set()
        for index, reading in enumerate(self._view.readings()):
            if reading is not None:
                scans.append(Ranges(index, reading.ranges))
                if self._seen.get(index) != reading.stamp:
                    self._seen[index] = reading.stamp
                    fresh.add(index)
        self._sequence += 1
        moment = Moment(self._sequence, 0, self._world.time, self._view.row(), scans)
        return Frame(moment, frozenset(fresh))

    def _report(self, reached: float) -> None:
        self.outbox.say(
            "status",
            paused=False,
            factor=1.0,
            real_time_factor=round(max(reached, 0.0), 3),
            recording=False,
            file=None,
            message="",
            watched=self._reason,
        )
