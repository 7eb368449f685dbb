"""Logs whose columns have times of their own."""

from __future__ import annotations

import pytest

from skidpad.study.logs.log import Channel, Log
from study.identify.drives import TRUTH, drive, fit_of, log_of, noisy


def of_a_loop(scale: float) -> Log:
    """As the bag of a node has it: a command, and a period later what came of it."""
    columns = noisy(drive(), scale=scale)
    whole = log_of(columns)
    series = {
        name: Channel(s.t[:-1], s.values[:-1])
        if name.startswith("u_")
        else Channel(s.t[1:], s.values[1:])
        for name, s in whole.channels.items()
    }
    return Log("bag", series)


@pytest.mark.slow_cases("0.0")
@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_the_messages_of_one_loop_tell_its_parameters(scale: float) -> None:
    """They are as even as rows of a table: the simulator's own steps reproduce them."""
    found = fit_of(of_a_loop(scale))
    missed = [n for n, value in TRUTH.items() if not found[n].low <= value <= found[n].high]
    assert len(missed) <= 1, "95 % intervals of a few parameters"
    constant = found["steer_time_constant"]
    assert constant.value == pytest.approx(
        TRUTH["steer_time_constant"], rel=1e-6 if not scale else 0.05
    )
    assert not any("simulator's steps" in note for note in found.notes)
