"""The wheel: one client has it, or nobody."""

from __future__ import annotations

from ...errors import InvalidValue
from ...units import s

SILENCE: s = 60.0
"""After which a driver who says nothing loses the wheel."""


class Wheel:
    """Who drives. Times are those of one clock, in s."""

    def __init__(self, silence: s = SILENCE) -> None:
        self.driver: int | None = None
        """Number of the client who has the wheel."""
        self._silence, self._heard = silence, 0.0

    def take(self, client: int, now: s) -> None:
        """Give the wheel to a client; raises if another one has it."""
        if self.driver not in (None, client):
            raise InvalidValue(f"viewer {self.driver} has the wheel; wait until they release it")
        self.driver, self._heard = client, now

    def check(self, client: int) -> None:
        """Raise unless this client has the wheel."""
        if self.driver is None:
            raise InvalidValue("nobody has the wheel: take it first")
        if self.driver != client:
            raise InvalidValue(f"viewer {self.driver} has the wheel; only they may do this")

    def hear(self, client: int, now: s) -> None:
        """Note that a client has said something."""
        if client == self.driver:
            self._heard = now

    def release(self, client: int) -> bool:
        """Take the wheel from a client; whether they had it."""
        had = self.driver == client
        if had:
            self.driver = None
        return had

    def expired(self, now: s) -> bool:
        """Take the wheel from a driver who has been silent for too long; whether there was one."""
        return (
            self.driver is not None
            and now - self._heard > self._silence
            and self.release(self.driver)
        )
