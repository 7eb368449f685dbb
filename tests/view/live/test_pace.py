"""Steps follow the clock without drift, and a slow world does not chase what it missed."""

from __future__ import annotations

import pytest

from skidpad.view.live.session import MOST_DEBT, Pace


def test_steps_are_due_as_time_passes() -> None:
    pace = Pace(0.01, now=100.0)
    assert pace.due(100.0) == 0
    assert pace.due(100.035) == 3
    pace.done(3, 100.035)
    assert pace.due(100.0399) == 0
    assert pace.wait(100.036) == pytest.approx(0.004)


@pytest.mark.parametrize("factor", [0.1, 1.0, 7.0])
def test_an_hour_of_uneven_turns_does_not_drift(factor: float) -> None:
    pace, steps, now = Pace(0.01, now=0.0, factor=factor), 0, 0.0
    for k in range(100_000):
        now += 0.02 + 0.03 * (k % 7) / 7.0
        due = pace.due(now)
        pace.done(due, now)
        steps += due
    assert steps * 0.01 == pytest.approx(now * factor, abs=0.011)


def test_a_world_that_is_too_slow_is_slower_and_not_ever_later() -> None:
    pace, now, done = Pace(0.01, now=0.0), 0.0, 0
    for _ in range(200):
        # Each step takes twice the time that it simulates.
        due = pace.due(now)
        assert due * 0.01 <= MOST_DEBT + 0.01
        now += max(0.02 * due, 0.01)
        pace.done(due, now)
        done += due
    assert done * 0.01 == pytest.approx(0.5 * now, rel=0.05)
    assert pace.reached == pytest.approx(0.5, rel=0.1)


def test_another_factor_counts_from_now_on() -> None:
    pace = Pace(0.01, now=0.0)
    pace.done(pace.due(0.05), 0.05)
    pace.restart(0.05, factor=2.0)
    assert pace.factor == 2.0
    assert pace.due(0.07) == 4


def test_after_a_pause_nothing_is_made_up_for() -> None:
    pace = Pace(0.01, now=0.0)
    pace.restart(60.0)
    assert pace.due(60.011) == 1
