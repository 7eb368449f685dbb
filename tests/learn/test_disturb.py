"""The disturbance of a task acts in every period, the first included, and is said once."""

from __future__ import annotations

import numpy as np
import pytest

from learn.ring_tasks import task
from skidpad.errors import InvalidValue
from skidpad.learn import Environments
from skidpad.vehicles import four_wheel

CAR = four_wheel()
FORCE = 400.0
"""In N."""


def pushed(place):
    """Along the car, wherever it is on the track."""
    return CAR.model.Disturbance(F_x=FORCE + 0.0 * place.s)


def states(**changes):
    environments = Environments(task(vehicle=CAR, **changes), 2, precision="float64")
    environments.reset(seed=3)
    seen = [environments.state]
    for _ in range(5):
        environments.step(np.zeros((2, 2)))
        seen.append(environments.state)
    return np.array(seen)


def test_it_acts_from_the_first_period_on() -> None:
    """As a force does that is there all the time."""
    by_function = states(disturb=pushed)
    held = states(randomised={"disturbance.F_x": FORCE})
    calm = states()
    assert np.array_equal(by_function, held)
    v_x = CAR.State._fields.index("v_x")
    gained = by_function[1:, :, v_x] - calm[1:, :, v_x]
    # F t / m, but for what air and tyres take of it.
    time = 0.02 * np.arange(1, 6)[:, None]
    assert gained == pytest.approx(FORCE / CAR.params.m * time * np.ones((5, 2)), rel=0.05)


def test_it_is_said_by_a_function_or_drawn() -> None:
    with pytest.raises(InvalidValue, match=r"disturbance.F_x is drawn, but disturb says"):
        task(vehicle=CAR, disturb=pushed, randomised={"disturbance.F_x": FORCE})
