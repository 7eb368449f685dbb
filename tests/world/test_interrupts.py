"""Worlds that are interrupted, or in which a step fails, stand at a whole step."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

from run.simulator.interrupts import Interrupt
from skidpad.bench.world import crowd
from skidpad.core.threads import Deferred
from skidpad.errors import SimulationDiverged
from skidpad.world.world import World

from .worlds import world

PUSHED = (
    "<vehicle name='pusher'><init_pose>0 0 0</init_pose><init_vel>1 0 0</init_vel>"
    "<dynamics class='differential'/></vehicle>"
    "<block name='crate'><init_pose>0.8 0 0</init_pose><mass>5</mass>"
    "<shape><pt>-0.2 -0.2</pt><pt>-0.2 0.2</pt><pt>0.2 0.2</pt><pt>0.2 -0.2</pt></shape></block>"
)


def places(some: World) -> Any:
    blocks = [tuple(some.block(name)) for name in some.movable]
    return some.time, *(g.state.tobytes() for g in some.groups), *blocks


def test_a_step_is_made_or_not() -> None:
    robots = crowd("differential", 6)
    robots.run(0.5)
    start, before = robots.snapshot(), places(robots)
    robots.step()
    after, place, seen = places(robots), 0, set[bool]()
    while True:
        robots.restore(start)
        interrupted = Interrupt(place).call(robots.step)
        assert places(robots) in (before, after), place
        seen.add(places(robots) == after)
        if not interrupted:
            break
        place += 3
    assert seen == {False, True}


class Bell:
    """A sensor's place in the middle of a step, from which a signal comes."""

    def __init__(self, some: World, after: int) -> None:
        self.calls, self._after, self._sense = 0, after, some.sensing.sense

    def __call__(self, some: World) -> None:
        self.calls += 1
        if self.calls == self._after:
            signal.raise_signal(signal.SIGINT)
        self._sense(some)


def test_a_run_ends_after_the_step_in_which_a_signal_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pushed, alone = World(world(PUSHED)), World(world(PUSHED))
    bell = Bell(pushed, 20)
    monkeypatch.setattr(pushed.sensing, "sense", bell)
    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        pushed.run(10.0)
    assert signal.getsignal(signal.SIGINT) is usual
    assert bell.calls == 20
    for _ in range(20):
        alone.step()
    assert places(pushed) == places(alone)


def test_a_step_with_blocks_is_finished_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pushed, alone = World(world(PUSHED)), World(world(PUSHED))
    for some in (pushed, alone):
        some.run(0.4)
    monkeypatch.setattr(pushed.sensing, "sense", Bell(pushed, 1))
    with pytest.raises(KeyboardInterrupt):
        pushed.step()
    alone.step()
    assert places(pushed) == places(alone)


def test_a_group_that_fails_takes_the_others_back() -> None:
    mixed = World(
        world(
            "<vehicle name='a'><init_pose>0 0 0</init_pose><dynamics class='ackermann'/></vehicle>"
            "<vehicle name='b'><init_pose>9 0 0</init_pose>"
            "<dynamics class='differential'/></vehicle>"
        ),
        on_diverge="raise",
    )
    mixed.run(0.1)
    before = places(mixed)
    last = mixed.groups[-1]
    assert len(mixed.groups) == 2
    params = last.params.copy()
    last.params[:] = np.nan
    with pytest.raises(SimulationDiverged):
        mixed.step()
    assert places(mixed) == before
    last.params[:] = params
    mixed.step()


def interrupted_twice() -> None:
    with Deferred() as interrupt:
        assert not interrupt
        signal.raise_signal(signal.SIGINT)
        assert interrupt
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # the second does not wait


def failing() -> None:
    with Deferred():
        signal.raise_signal(signal.SIGINT)
        raise ZeroDivisionError


def test_what_is_deferred() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_twice()
    with Deferred() as interrupt:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupt.answer()
    with pytest.raises(ZeroDivisionError):
        failing()


def test_threads_have_nothing_to_defer() -> None:
    kept: list[Any] = []

    def work() -> None:
        with Deferred() as interrupt:
            kept.append(bool(interrupt))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert kept == [False]
