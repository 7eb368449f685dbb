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
    assert np.array_equal(by_function, held)
    gained = np.diff(by_function[:, :, CAR.State._fields.index("v_x")], axis=0)
    # F dt / m in each period, but for what resistance takes while the motors rise to it.
    assert gained == pytest.approx(np.full((5, 2), FORCE / CAR.params.m * 0.02), rel=0.2)


def test_it_is_said_by_a_function_or_drawn() -> None:
    with pytest.raises(InvalidValue, match=r"disturbance.F_x is sampled, but disturb returns"):
        task(vehicle=CAR, disturb=pushed, randomised={"disturbance.F_x": FORCE})
