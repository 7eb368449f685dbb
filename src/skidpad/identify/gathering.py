"""Numbers of messages gathered by name, whatever file they come from."""

from __future__ import annotations

from array import array

import numpy as np

from ..arrays import Array
from ..brief import counted

Signals = dict[str, tuple[Array, Array]]
"""Times in s and values by name."""


class Gathering:
    """Numbers as they come, with their times in ns, and what could not be read."""

    def __init__(self) -> None:
        self._numbers: dict[str, tuple[array[int], array[float]]] = {}
        self.unread: dict[str, str] = {}
        """Topics or fields, each with the reason."""
        self._refused: dict[str, tuple[int, str]] = {}

    def add(self, name: str, time: int, value: float) -> None:
        """One number."""
        if name not in self._numbers:
            self._numbers[name] = array("Q"), array("d")
        times, values = self._numbers[name]
        times.append(time)
        values.append(value)

    def refuse(self, topic: str, reason: str) -> None:
        """Note a message that cannot be read; others of its topic may be."""
        count, first = self._refused.get(topic, (0, reason))
        self._refused[topic] = count + 1, first
        self.unread[topic] = first + (f", and {counted(count, 'other')}" if count else "")

    def signals(self) -> Signals:
        """Sorted by time, which begins with the first message of all; of equal times the last."""
        begin = min((min(times) for times, _ in self._numbers.values()), default=0)
        return {name: _in_order(*numbers, begin) for name, numbers in self._numbers.items()}


def _in_order(times: array[int], values: array[float], begin: int) -> tuple[Array, Array]:
    ns = np.array(times, np.uint64) - np.uint64(begin)
    order = np.argsort(ns, kind="stable")
    ns = ns[order]
    last = np.append(ns[1:] != ns[:-1], True)
    return ns[last].astype(float) * 1e-9, np.array(values)[order][last]
