"""The truck is put into states only that it can be in."""

from __future__ import annotations

import pytest

import skidpad as sp
from skidpad.compat.truck.engine import Engine
from skidpad.errors import InvalidValue


@pytest.mark.parametrize("beyond", [1.3, 2.0, 1e3])
def test_it_is_not_put_faster_than_it_goes(beyond: float) -> None:
    engine = Engine()
    p = engine.params
    engine.reset_base((1.0, 2.0, 0.3), 0.0, p.v_max)
    before = engine.rear
    for end in (p.v_min, p.v_max):
        with pytest.raises(InvalidValue, match="linear_velocity"):
            engine.reset_base((0.0, 0.0, 0.0), 0.0, beyond * end)
        with pytest.raises(InvalidValue):
            sp.Simulator(sp.vehicles.ackermann_truck(p), dt=0.01).reset(v_x=beyond * end)
    assert engine.rear == before
    engine.reset_base((0.0, 0.0, 0.0), 0.0, p.v_min)
