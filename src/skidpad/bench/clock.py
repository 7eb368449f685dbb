"""Timing: the best of several runs for throughput, the median for single calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median, quantiles
from time import perf_counter

from .entry import Measured


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes, in s."""
    begin = perf_counter()
    action()
    return perf_counter() - begin


def interleaved(actions: Sequence[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Times of each action in s, run in turns so that a disturbance hits all of them alike."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for action, own in zip(actions, times, strict=True):
            own.append(seconds(action))
    return times


def best_rate(work: float, times: Sequence[float]) -> Measured:
    """Work per second of the best run: what disturbs a run can only make it slower."""
    best = min(times)
    return Measured(work / best, median(times) / best - 1.0)


def typical(times: Sequence[float]) -> Measured:
    """The median time, with the distance between the quartiles as its spread."""
    middle = median(times)
    if len(times) < 2:
        return Measured(middle, None)
    low, _, high = quantiles(times, n=4, method="inclusive")
    return Measured(middle, (high - low) / middle)
