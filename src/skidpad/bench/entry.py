"""One figure beside its peers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..brief import brief_repr

RATE = "steps/s"
EVALUATIONS = "evaluations/s"
TIME = "s"
REAL_TIME = "times real time"
"""Simulated time by the time that takes."""


class Measured(NamedTuple):
    """What a contender achieved."""

    value: float
    """Steps or evaluations per second, seconds, or times real time."""
    spread: float | None
    """Noise relative to the value, None for a single run: from the best run to the middle one where
    the best counts, between the quartiles where the median does."""
    error: float | None = None
    """Error of the end state against the reference, relative to each field's scale; the largest."""


@dataclass(frozen=True)
class Entry:
    """A figure of skidpad's under a stable dotted name, and the same work done by others."""

    name: str
    unit: str
    own: Measured
    peers: Mapping[str, Measured] = field(default_factory=dict[str, Measured])
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """Peers that could not be measured, and why."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else a reader may want to know: sizes, step, lanes, scaling."""

    __repr__ = brief_repr

    def ratio(self, peer: str) -> float:
        """How many times as fast as the peer; below 1 the peer is faster."""
        own, other = self.own.value, self.peers[peer].value
        return other / own if self.unit == TIME else own / other

    def as_json(self) -> dict[str, Any]:
        """The entry as plain values; numbers that are not finite become null."""
        return {
            "name": self.name,
            "value": _finite(self.own.value),
            "unit": self.unit,
            "spread": _finite(self.own.spread),
            "error": _finite(self.own.error),
            "peers": {name: _finite(peer.value) for name, peer in self.peers.items()},
            "ratios": {name: _finite(self.ratio(name)) for name in self.peers},
            "peer_errors": {name: _finite(peer.error) for name, peer in self.peers.items()},
            "peer_spreads": {name: _finite(peer.spread) for name, peer in self.peers.items()},
            "absent": dict(self.absent),
            "details": dict(self.details),
        }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
