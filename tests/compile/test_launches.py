"""Launches in pieces of time: all steps once and in order, none long, and few."""

from __future__ import annotations

from itertools import pairwise

import pytest

from skidpad.compile.gpu import Pieces
from skidpad.core.progress import watching


class Device:
    """A device on which a step takes a known time, and what was launched on it."""

    def __init__(self, steps: int, count: int, step: float, launch: float = 1e-5) -> None:
        self.steps, self.count = steps, count
        self.step, self.overhead = step, launch
        self.now, self.busy_until = 50.0, 50.0
        self.launched: list[tuple[int, int]] = []
        self.waits = 0

    def __call__(self, begin: int, end: int) -> None:
        self.launched.append((begin, end))
        took = self.overhead + self.step * (end - begin)
        self.busy_until = max(self.now, self.busy_until) + took

    def wait(self) -> None:
        self.waits += 1
        self.now = max(self.now, self.busy_until)

    def clock(self) -> float:
        return self.now

    def pieces(self, operations: int = 1000) -> Pieces:
        return Pieces(operations, self.wait, self.clock)


@pytest.mark.parametrize("steps", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("step", [1e-7, 1e-5, 2e-4, 1e-3])
def test_every_step_is_launched_once_and_no_launch_is_long(steps: int, step: float) -> None:
    """A step of these operations is estimated to take 220 µs; the last device is slower."""
    device = Device(steps, 10_000, step)
    device.pieces(operations=1000).run(device)
    assert device.launched[0][0] == 0
    assert device.launched[-1][1] == steps
    assert all(a[1] == b[0] for a, b in pairwise(device.launched))
    longest = max(end - begin for begin, end in device.launched)
    assert longest * step <= 0.2
    assert len(device.launched) <= 5 + steps * step / 0.05


def test_short_work_is_one_launch_that_nobody_waits_for() -> None:
    device = Device(500, 100, 1e-6)
    device.pieces(operations=1000).run(device)
    assert device.launched == [(0, 500)]
    assert device.waits == 0


def test_work_queued_before_is_not_measured() -> None:
    device = Device(10**5, 10_000, 1e-5)
    device.busy_until += 1000.0
    device.pieces().run(device)
    assert len(device.launched) < 30


def test_what_was_measured_is_remembered() -> None:
    device = Device(10_000, 100_000, 1e-6)
    pieces = device.pieces()
    pieces.run(device)
    assert len(device.launched) > 1
    device.launched.clear()
    pieces.run(device)
    assert device.launched == [(0, 10_000)]


def test_progress_is_advanced_piece_by_piece() -> None:
    device = Device(10**5, 1000, 1e-5)
    calls: list[float] = []
    with watching(10**8, progress=lambda done, total: calls.append(done)) as bar:
        device.pieces().run(device, bar)
        assert bar.done == 10**8
    assert calls[-1] == 10**8


def test_an_interrupt_between_pieces_ends_the_work() -> None:
    device = Device(10**6, 10_000, 1e-5)

    def interrupt(done: float, total: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watching(1, progress=interrupt) as bar:
        device.pieces().run(device, bar)
    assert len(device.launched) == 1
