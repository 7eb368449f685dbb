"""How often a client may speak: a token bucket, and patience with those who empty it."""

from __future__ import annotations

from enum import Enum, auto

from ...units import per_s, s

RATE: per_s = 120.0
BURST = 240.0
"""Messages at once."""


class Verdict(Enum):
    """What to do with a message."""

    HEAR = auto()
    WARN = auto()
    """Drop it and tell the client, the first of many."""
    DROP = auto()
    CLOSE = auto()
    """Drop the client."""


class Bucket:
    """Fills with time and empties with messages; a client who goes on when it is empty must go.

    Args:
        now: the time in s.
    """

    def __init__(self, now: s, rate: per_s = RATE, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = burst, now
        self._refused = 0

    def take(self, now: s) -> Verdict:
        """Judge a message that arrives now."""
        self._level = min(self._burst, self._level + self._rate * (now - self._at))
        self._at = now
        if self._level >= 1.0:
            self._level -= 1.0
            if self._level >= 0.5 * self._burst:
                self._refused = 0
            return Verdict.HEAR
        self._refused += 1
        if self._refused == 1:
            return Verdict.WARN
        return Verdict.CLOSE if self._refused > self._burst else Verdict.DROP
