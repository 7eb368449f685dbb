"""Outputs of many vehicles with parameters of their own: the same bits as of each alone."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue

COUNT = 40
SAMPLES = 3


@pytest.mark.parametrize("masks", [True, False])
def test_many_have_the_outputs_that_each_has(masks: bool) -> None:
    """Samples by vehicles, in either order in memory, and one that has diverged."""
    car = sp.vehicles.single_track()
    fleet = sp.Fleet(car, dt=0.001, on_diverge="mask" if masks else "raise")
    random = np.random.default_rng(3)
    x = random.uniform(0.1, 0.2, (SAMPLES, COUNT, len(car.State._fields)))
    x[..., car.State._fields.index("v_x")] += 20.0
    if masks:
        x[1, 7] = np.nan
    u = random.uniform(0.0, 0.1, (SAMPLES, COUNT, len(car.Input._fields)))
    masses = random.uniform(900.0, 1300.0, COUNT)
    found = fleet.outputs(x, u, params={"m": masses})
    turned = np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    np.testing.assert_array_equal(fleet.outputs(turned, u, params={"m": masses}), found)
    np.testing.assert_array_equal(fleet.outputs(x[0], u[0], params={"m": masses}), found[0])
    for k in range(COUNT):
        alone = fleet.outputs(x[:, k : k + 1], u[:, k : k + 1], params={"m": masses[k : k + 1]})
        np.testing.assert_array_equal(alone[:, 0], found[:, k])
    held = fleet.outputs(x, car.Input(), params={"m": masses})
    np.testing.assert_array_equal(held, fleet.outputs(x, 0.0 * u, params={"m": masses}))


def test_states_of_another_vehicle_are_refused() -> None:
    """With the shape that is expected."""
    fleet = sp.Fleet(sp.vehicles.single_track(), dt=0.001, on_diverge="mask")
    with pytest.raises(InvalidValue, match="x has shape"):
        fleet.outputs(np.zeros((2, COUNT, 3)), params={"m": np.full(COUNT, 1000.0)})
