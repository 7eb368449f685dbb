"""Spaces hold what comes, to the last bit."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest

from learn.small_tasks import small_task
from skidpad.core import record
from skidpad.learn import SkidpadVectorEnv
from skidpad.units import Allowed, one

# Of these, and of many others, the share of the bound itself is beyond 1 after rounding.
BOUNDS = [(0.41, 3.63), (-4.72, -3.76), (1.47, 1.71), (3.22, 3.52), (-3.5, -3.3), (-1.08, 3.9)]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_observations_at_their_bounds_are_in_the_space(precision: str) -> None:
    names = {f"f{k}": Annotated[one, Allowed(*bounds)] for k, bounds in enumerate(BOUNDS)}
    Observation = record.define("Observation", names, doc="Numbers with bounds of many digits.")
    task = small_task(
        Observation=Observation,
        # Far above in one half of the ring, far below in the other.
        observe=lambda pose: Observation(*(1e3 * pose.x for _ in BOUNDS)),
        noise={},
        lidar=None,
        tracks=(small_task().tracks[0],),
    )
    vector = SkidpadVectorEnv(task, 16, precision=precision)
    seen, _ = vector.reset(seed=0)
    assert vector.observation_space.contains(seen)
    assert np.array_equal(np.abs(seen), np.ones_like(seen))
    assert seen.min() < 0.0 < seen.max()
    assert vector.single_action_space.low.tolist() == [-1.0, -1.0]
